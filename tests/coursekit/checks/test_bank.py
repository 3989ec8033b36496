"""The bank of known mistakes: each is caught on every seed, and told apart from all the others."""

import itertools

import numpy as np
import pytest

from coursekit.checks import exercises
from coursekit.checks.engine import TRIED_ON, examine
from coursekit.checks.registry import ASSIGNMENTS
from coursekit.checks.seeds import DEFAULT_HIDDEN_SEED, PUBLIC_SEED, generator
from coursekit.checks.surface import run

EXERCISES = {entry.identifier: entry for entry in exercises()}
TRIVIAL = {"prediction", "by hand"}
CORE = {"02", "03", "04", "06", "07", "08", "09"}
"""Chapters whose functions keep a bank of eight wrong answers; elsewhere it is five."""

GRADED = {
    "01": {"gru_step", "last_state", "masked_cross_entropy", "exact_match"},
    "02": {"softmax", "soft_lookup", "kernel_regression", "softmax_jacobian"},
    "03": {"scaled_dot_scores", "additive_scores", "general_scores", "score_variances"},
    "04": {"bahdanau_step", "luong_step", "alignment_error", "greedy_decode"},
    "05": {
        "sample_keys",
        "exact_gradient",
        "reinforce_estimates",
        "reinforce_with_baseline",
        "local_m_mask",
        "local_p_weights",
        "mended_estimates",
    },
    "06": {"padding_mask", "causal_mask", "combine_masks", "masked_softmax", "self_attention"},
    "07": {
        "split_heads",
        "merge_heads",
        "multi_head_attention",
        "multi_head_module",
        "multi_head_cost",
        "heads_together",
    },
    "08": {
        "sinusoidal_positions",
        "relative_index",
        "rotary",
        "alibi_slopes",
        "alibi_bias",
        "relative_weights",
    },
    "09": {
        "layer_norm",
        "feed_forward",
        "encoder_layer",
        "decoder_layer",
        "warmup_schedule",
        "label_smoothing",
    },
    "10": {
        "cache_append",
        "cached_attention",
        "cached_self_attention",
        "beam_decode",
        "draw_loop",
        "sample_tokens",
        "rotary_step",
    },
}
"""By chapter: what an assignment must at least ask for. A line for every assignment."""


def seeds(exercise):
    """A module costs a hundred times what a function does; two seeds still tell it apart."""
    return (PUBLIC_SEED, DEFAULT_HIDDEN_SEED, *(() if exercise.needs == "torch" else (1, 2, 3)))


each_exercise = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)


@each_exercise
def test_the_reference_passes_its_own_check(exercise):
    for seed in (*seeds(exercise), *(() if exercise.needs == "torch" else range(10, 20))):
        report = examine(exercise, exercise.reference, seed)
        assert report.passed, (seed, report.failures)
        assert report.earned(exercise.points) == exercise.points


@each_exercise
def test_every_known_mistake_is_killed_and_named(exercise):
    for seed, mistake in itertools.product(seeds(exercise), exercise.mistakes):
        report = examine(exercise, mistake.function, seed)
        assert not report.passed, (seed, mistake.name)
        named = report.mistake and report.mistake.name
        assert named == (mistake.same_as or mistake.name), (seed, mistake.name)


BY_HAND = [entry for entry in EXERCISES.values() if entry.kind == "by hand"]


@pytest.mark.parametrize("exercise", BY_HAND, ids=[entry.identifier for entry in BY_HAND])
def test_a_mistake_on_paper_is_named_in_whole_numbers_too(exercise):
    for mistake in exercise.mistakes:
        given = mistake.function()
        given = given if isinstance(given, tuple) else (given,)
        if not all(np.array_equal(array, np.rint(array)) for array in given):
            continue
        whole = tuple(np.asarray(array).astype(int) for array in given)
        report = examine(exercise, lambda w=whole: w if len(w) > 1 else w[0], PUBLIC_SEED)
        assert report.mistake, mistake.name


@each_exercise
def test_what_is_declared_the_same_is_an_earlier_mistake(exercise):
    """Each of the others is named by its own name (above), so no two of them are alike."""
    earlier = {}
    for mistake in exercise.mistakes:
        assert mistake.name not in earlier
        if mistake.same_as is not None:
            assert earlier[mistake.same_as].same_as is None
        earlier[mistake.name] = mistake


@each_exercise
def test_banks_are_large_enough(exercise):
    distinct = [mistake for mistake in exercise.mistakes if mistake.same_as is None]
    core = exercise.assignment[:2] in CORE and exercise.kind not in TRIVIAL
    assert len(distinct) >= (8 if core else 5)
    assert len({mistake.name for mistake in exercise.mistakes}) == len(exercise.mistakes)


@each_exercise
def test_explanations_are_for_a_person(exercise):
    for mistake in exercise.mistakes:
        text = mistake.explanation
        assert text[-1] in ".)", mistake.name
        assert mistake.same_as or len(text) > 40, mistake.name
        assert not mistake.name.endswith("."), mistake.name


@each_exercise
def test_records_are_complete(exercise):
    assert exercise.identifier.startswith(exercise.assignment[:2] + ".")
    assert exercise.points > 0
    assert exercise.difficulty in (1, 2, 3)
    assert exercise.minutes > 0
    assert len(exercise.hints) == 3
    assert all(len(hint) > 20 for hint in exercise.hints)
    assert sum(part.share for part in exercise.parts) == pytest.approx(1)
    parts = {part.name for part in exercise.parts}
    for seed in (PUBLIC_SEED, DEFAULT_HIDDEN_SEED):
        cases = _cases(exercise, seed)
        assert {case.part for case in cases} | {exercise.parts[-1].name} == parts
        assert cases[0].part == exercise.parts[0].name
        assert len({case.name for case in cases}) == len(cases)


@each_exercise
def test_shares_give_points_a_person_can_read(exercise):
    worth = [round(exercise.points * part.share, 6) for part in exercise.parts]
    assert all((2 * points).is_integer() for points in worth), worth


@each_exercise
def test_public_and_hidden_cases_are_other_numbers_of_the_same_families(exercise):
    public, hidden = (_cases(exercise, seed) for seed in (PUBLIC_SEED, DEFAULT_HIDDEN_SEED))
    assert [case.name for case in public] == [case.name for case in hidden]
    if not public[0].request.arguments:
        return  # an answer without arguments is asked one thing only
    assert repr(public) != repr(hidden)
    assert repr(public) == repr(_cases(exercise, PUBLIC_SEED))


def _cases(exercise, seed):
    return exercise.cases(generator(seed, exercise.identifier, "cases"))


LAWS = [(entry, law) for entry in EXERCISES.values() for law in entry.laws]


@pytest.mark.parametrize(
    ("exercise", "law"), LAWS, ids=[f"{e.identifier}-{law.statement}" for e, law in LAWS]
)
def test_a_law_holds_for_the_reference_and_can_be_broken(exercise, law):
    for seed in (PUBLIC_SEED, DEFAULT_HIDDEN_SEED):
        requests = law.requests(generator(seed, exercise.identifier, law.statement))
        values = [run(exercise.reference, request).value for request in requests]
        assert law.broken(requests, values) is None
        bent = [*values[:-1], tuple(value - 100 - np.abs(value) for value in values[-1])]
        assert law.broken(requests, bent).endswith(".")


@pytest.mark.parametrize(
    ("exercise", "law"), LAWS, ids=[f"{e.identifier}-{law.statement}" for e, law in LAWS]
)
def test_a_law_asks_for_no_more_axes_than_the_cases_of_its_part(exercise, law):
    most = {}
    for case in _cases(exercise, PUBLIC_SEED):
        if case.part == law.part:
            for name, axes in _axes(case.request).items():
                most[name] = max(most.get(name, 0), axes)
    for request in law.requests(generator(PUBLIC_SEED, exercise.identifier, law.statement)):
        assert all(axes <= most[name] for name, axes in _axes(request).items())


def _axes(request):
    return {
        name: value.ndim
        for name, value in request.arguments.items()
        if isinstance(value, np.ndarray)
    }


@each_exercise
def test_a_mistake_in_later_parts_keeps_the_points_of_the_first(exercise):
    first = exercise.parts[0].name
    for mistake in exercise.mistakes:
        report = examine(exercise, mistake.function, PUBLIC_SEED)
        if len(report.failures) > 1 and first in report.failures:
            failure = report.failures[first]
            assert failure.finding.question != "law", mistake.name
            assert failure.case_name != TRIED_ON, mistake.name


@each_exercise
def test_every_function_that_is_asked_with_arguments_keeps_a_law(exercise):
    asked_nothing = exercise.kind in {"prediction", "by hand", "counterexample"}
    assert bool(exercise.laws) is not asked_nothing
    assert {law.part for law in exercise.laws} <= {part.name for part in exercise.parts}


each_chapter = pytest.mark.parametrize("chapter", ASSIGNMENTS)


@each_chapter
def test_the_graded_functions_of_the_course_are_there(chapter):
    there = {identifier[3:] for identifier in EXERCISES if identifier[:2] == chapter}
    assert len(GRADED[chapter]) >= 4
    assert GRADED[chapter] <= there


def test_no_assignment_is_gone():
    assert GRADED.keys() == ASSIGNMENTS.keys()
    assert list(ASSIGNMENTS) == sorted(ASSIGNMENTS)


@each_chapter
def test_each_assignment_has_every_kind_of_exercise(chapter):
    kinds = [entry.kind for entry in EXERCISES.values() if entry.identifier[:2] == chapter]
    for kind in ("prediction", "by hand", "loop", "vectorised", "counterexample", "mended"):
        assert kind in kinds, kind
    assert kinds.count("counterexample") == kinds.count("mended")


@each_exercise
def test_a_mistake_can_be_handed_in_as_an_answer(exercise):
    namespace = {"np": np}
    if exercise.needs == "torch":
        import torch

        namespace = {"torch": torch}
    for mistake in exercise.mistakes:
        source = mistake.as_answer(exercise.answer)
        assert source.startswith((f"def {exercise.answer}(", f"class {exercise.answer}("))
        local = dict(namespace)
        exec(source, local)
        assert callable(local[exercise.answer])
