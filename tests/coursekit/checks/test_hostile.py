"""Whatever an answer returns or does, a learner gets a sentence: never a traceback, never a pass."""

import sys
import warnings

import numpy as np
import pytest

from coursekit.checks import CheckFailure, check, exercise, exercises, mark
from coursekit.checks.engine import examine
from coursekit.checks.messages import describe
from coursekit.checks.seeds import PUBLIC_SEED, generator

IDENTIFIER = "03.scaled_dot_scores"


def right(query, key):
    return query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])


class Subclass(np.ndarray):
    def __eq__(self, other):
        return np.ones(self.shape, bool)


def equal_to_everything():
    """Made inside a function, or pytest would look at it while collecting, and it would object."""

    class EqualToEverything:
        shape, dtype, ndim, size = (2, 3), np.dtype(float), 2, 6

        def __eq__(self, other):
            return True

        def __array__(self, dtype=None, copy=None):
            raise AssertionError("nobody may ask for this")

        def __getattr__(self, name):
            raise AssertionError(f"nobody may ask for {name}")

        def __repr__(self):
            raise AssertionError("nobody may print this")

    return EqualToEverything()


def lie_about_the_class():
    class Shy(type):
        def __getattribute__(cls, name):
            raise RuntimeError("nothing to be learnt here")

    class Nameless(metaclass=Shy):
        @property
        def __class__(self):
            return np.ndarray

    return Nameless()


def list_that_hides_its_length():
    class Lists(list):
        def __len__(self):
            raise AssertionError("nobody may ask for this")

    return Lists()


RETURNS = {
    "a subclass": (lambda a: a.view(Subclass), "Subclass, a relative of the NumPy array"),
    "a matrix": (lambda a: np.asmatrix(a[0] if a.ndim > 2 else a), "matrix, a relative"),
    "a masked array": (np.ma.masked_array, "MaskedArray, a relative"),
    "objects": (lambda a: a.astype(object), "dtype object"),
    "texts": (lambda a: a.astype(str), "are no numbers"),
    "dates": (lambda a: a.astype("datetime64[s]"), "are no numbers"),
    "records": (lambda a: a.astype([("x", float)]), "are no numbers"),
    "a list of lists": (lambda a: a.tolist(), "a list with 2 entries"),
    "a list of its own kind": (lambda a: list_that_hides_its_length(), "a Lists"),
    "a number": (lambda a: float(a.sum()), "a single number"),
    "a NumPy number": (lambda a: a.sum(), "a single number"),
    "None": (lambda a: None, "nothing (None)"),
    "NotImplemented": (lambda a: NotImplemented, "NotImplementedType"),
    "a pair": (lambda a: (a, a), "a tuple of 2"),
    "a pair with None": (lambda a: (a, None), "a NoneType"),
    "an empty tuple": (lambda a: (), "a tuple of 0"),
    "a tuple of one": (lambda a: (a,), "a tuple of 1"),
    "a generator": (lambda a: (row for row in a), "a generator"),
    "a dictionary": (lambda a: {"scores": a}, "a dict"),
    "a text": (lambda a: "scores", "a text"),
    "a function": (lambda a: right, "are the brackets of a call missing"),
    "a type": (lambda a: np.ndarray, "are the brackets of a call missing"),
    "equal to everything": (lambda a: equal_to_everything(), "a EqualToEverything"),
    "a lie about its class": (lambda a: lie_about_the_class(), "a Nameless"),
    "complex numbers": (lambda a: a + 0j, "got complex128"),
    "truths": (lambda a: a > 0, "got bool"),
    "whole numbers": (lambda a: a.astype(int), "got int64"),
    "half the digits": (lambda a: a.astype(np.float32), "narrower float32"),
    "NaN": (lambda a: a * np.nan, "are NaN"),
    "infinity": (lambda a: a / 0.0, "infinity"),
    "an axis too many": (lambda a: a[None], "an axis of size 1 too many"),
    "an axis too few": (lambda a: a[0], "an axis is gone"),
    "swapped axes": (lambda a: np.swapaxes(a, -1, -2), "two axes are swapped"),
    "something that would broadcast": (lambda a: a[..., :1], "got shape (2, 1)"),
    "endless zeros": (lambda a: np.broadcast_to(0.0, (10**9, 10**9)), "far too large"),
    "nothing at all": (lambda a: a[:0], "got shape (0, 3)"),
}


@pytest.mark.parametrize(("change", "words"), RETURNS.values(), ids=RETURNS)
def test_a_hostile_return_gives_a_sentence(change, words, capsys):
    def answer(query, key):
        return change(right(query, key))

    with pytest.raises(CheckFailure) as failure:
        check(IDENTIFIER, answer)
    assert words in " ".join(str(failure.value).split())
    assert mark(IDENTIFIER, answer, points=4) == 0.0
    assert words.split()[0] in capsys.readouterr().out


def test_a_torch_tensor_for_a_numpy_exercise():
    import torch

    with pytest.raises(CheckFailure, match="a torch tensor"):
        check(IDENTIFIER, lambda query, key: torch.from_numpy(right(query, key)))


def test_a_numpy_array_for_a_torch_exercise():
    from coursekit.checks.a04_translator.additive_module_torch import AdditiveAttention

    class ToNumPy(AdditiveAttention):
        def forward(self, *inputs):
            return super().forward(*inputs).detach().numpy()

    report = examine(exercise("04.additive_attention"), ToNumPy, PUBLIC_SEED)
    assert "a NumPy array" in report.failures["plain"].finding.sentence


def test_a_class_that_is_no_module():
    class NoModule:
        def __init__(self, d_query, d_key, d_attention):
            pass

    report = examine(exercise("04.additive_attention"), NoModule, PUBLIC_SEED)
    assert report.failures["plain"].finding.question == "ran"


class Odd(BaseException):
    def __str__(self):
        raise ValueError("no text")


class Hidden(Exception):
    __traceback__ = property(lambda self: None)


def _recurse(*arguments):
    return _recurse(*arguments)


def _raiser(error):
    def answer(query, key):
        raise error

    return answer


RAISES = {
    "an error": (_raiser(ValueError("shapes do not fit")), "ValueError: shapes do not fit"),
    "a text of a thousand letters": (_raiser(ValueError("x" * 10**6)), "ValueError: xxx"),
    "leaving Python": (lambda *a: sys.exit(0), "tried to stop Python (SystemExit: 0)"),
    "closing a generator": (_raiser(GeneratorExit()), "tried to stop Python (GeneratorExit)"),
    "no error at all": (_raiser(Odd()), "Odd: (its text cannot be read)"),
    "an error without a trace": (_raiser(Hidden("gone")), "Hidden: gone"),
    "endless recursion": (_recurse, "RecursionError"),
    "no memory": (_raiser(MemoryError()), "MemoryError"),
    "a failed assertion": (_raiser(AssertionError("mine")), "AssertionError: mine"),
    "a failed check of its own": (_raiser(CheckFailure("mine")), "CheckFailure: mine"),
    "StopIteration": (lambda *a: next(iter(())), "StopIteration"),
    "too few parameters": (lambda query: query, "could not be called with (query, key)"),
    "too many parameters": (lambda q, k, v: q, "could not be called with (query, key)"),
    "not written": (_raiser(NotImplementedError()), "is not written yet"),
}


@pytest.mark.parametrize(("answer", "words"), RAISES.values(), ids=RAISES)
def test_whatever_is_raised_gives_a_sentence(answer, words, capsys):
    with pytest.raises(CheckFailure) as failure:
        check(IDENTIFIER, answer)
    assert words in " ".join(str(failure.value).split())
    assert len(str(failure.value)) < 3000
    assert mark(IDENTIFIER, answer, points=4) == 0.0
    assert "0 of 4 points" in capsys.readouterr().out


def test_an_interrupt_stops_a_check_but_not_a_mark(capsys):
    answer = _raiser(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        check(IDENTIFIER, answer)
    assert mark(IDENTIFIER, answer, points=4) == 0.0
    assert "An endless loop?" in capsys.readouterr().out


def test_an_interrupt_is_not_followed_by_more_calls():
    calls = []

    def answer(query, key):
        calls.append(1)
        raise KeyboardInterrupt

    mark(IDENTIFIER, answer, points=4)
    assert len(calls) == 1


def test_an_error_late_in_the_cases_keeps_the_first_part():
    def two_axes_only(query, key):
        m, _ = query.shape
        return right(query, key)[:m]

    assert mark(IDENTIFIER, two_axes_only, points=4) == 2.0


@pytest.mark.parametrize(
    "make", [lambda: None, lambda: 3, lambda: np.zeros(3), str, list, equal_to_everything]
)
def test_something_that_is_no_function(make, capsys):
    thing = make()
    with pytest.raises(CheckFailure, match=r"Give\s+it\s+the\s+name\s+without\s+brackets"):
        check(IDENTIFIER, thing)
    assert mark(IDENTIFIER, thing, points=4) == 0.0
    assert "The check takes scaled_dot_scores itself" in " ".join(capsys.readouterr().out.split())


def test_changing_the_arguments_costs_the_last_part_only():
    def in_place(query, key):
        result = right(query, key)
        query[...] = 0
        key[0] = 7
        return result

    report = examine(exercise(IDENTIFIER), in_place, PUBLIC_SEED)
    assert list(report.failures) == ["axes"]
    sentence = report.failures["axes"].finding.sentence
    assert "changed its caller's query and key" in sentence
    assert report.earned(4) == 2.0


def test_changing_a_parameter_inside_a_dictionary_is_noticed():
    step = exercise("04.bahdanau_step")

    def rude(embedded, state, encoder_states, parameters, key_mask):
        result = step.reference(embedded, state, encoder_states, parameters, key_mask)
        parameters["v"] = parameters.pop("v") * 1
        parameters["extra"] = 1
        return result

    report = examine(step, rude, PUBLIC_SEED)
    assert report.failures["mask"].finding.code == "changed parameters"


def test_every_call_gets_fresh_arguments():
    seen = []

    def keeps_them(query, key):
        seen.append(query)
        return right(query, key)

    assert examine(exercise(IDENTIFIER), keeps_them, PUBLIC_SEED).passed
    assert all(array.flags.owndata and array.flags.writeable for array in seen)
    assert len({id(array) for array in seen}) == len(seen)


def test_an_answer_that_remembers_is_found():
    calls = []

    def forgetful(query, key):
        calls.append(1)
        return right(query, key) * (1 if len(calls) < 9 else 2)

    report = examine(exercise(IDENTIFIER), forgetful, PUBLIC_SEED)
    assert report.failures["plain"].finding.question == "law"


def test_an_answer_that_draws_random_numbers_is_found():
    generator = np.random.default_rng(0)
    report = examine(
        exercise(IDENTIFIER),
        lambda query, key: right(query, key) + 1e-3 * generator.random(),
        PUBLIC_SEED,
    )
    assert report.failures["plain"].finding.question == "value"


def test_an_answer_is_asked_the_same_thing_twice():
    generator = np.random.default_rng(0)
    report = examine(
        exercise("03.predicted_largest_weight"), lambda: generator.uniform(0.1, 1, 3), PUBLIC_SEED
    )
    assert report.failures["plain"].finding.code == "not repeatable"


def test_a_law_is_asked_when_all_values_are_right():
    """A table of the cases alone would pass the first four questions."""
    entry = exercise(IDENTIFIER)
    known = {
        case.request.arguments["query"].tobytes(): right(*case.request.arguments.values())
        for case in entry.cases(generator(PUBLIC_SEED, IDENTIFIER, "cases"))
    }

    def learnt_by_heart(query, key):
        return known.get(query.tobytes(), np.arange(12.0).reshape(3, 4))

    report = examine(entry, learnt_by_heart, PUBLIC_SEED)
    assert report.failures["plain"].finding.question == "law"
    assert (
        "Each column of the scores belongs to one key" in report.failures["plain"].finding.sentence
    )
    assert mark(IDENTIFIER, learnt_by_heart, points=4) == 0.0  # other numbers, same families


def test_what_an_answer_prints_is_left_alone_and_warnings_do_not_reach_stderr(capsys):
    def talkative(query, key):
        print("here I am")
        warnings.warn("something is old", DeprecationWarning, stacklevel=1)
        np.log(np.zeros(1))
        return right(query, key)

    check(IDENTIFIER, talkative)
    printed = capsys.readouterr()
    assert "here I am" in printed.out
    assert "Python warned while your code ran: something is old" in printed.out
    assert "divide by zero" in printed.out
    assert printed.err == ""


def test_settings_of_numpy_do_not_change_the_verdict():
    with np.errstate(all="raise"):
        assert examine(exercise("02.softmax"), exercise("02.softmax").reference, 3).passed
        report = examine(exercise("02.softmax"), exercise("02.softmax").mistakes[0].function, 3)
    assert report.failures["care"].finding.question == "finite"  # an infinity, not an exception
    assert report.mistake.name == "the largest score not subtracted"


def test_a_check_that_breaks_is_not_a_learners_fault(monkeypatch, capsys):
    monkeypatch.setattr("coursekit.checks.public.examine", lambda *a: 1 / 0)
    assert mark(IDENTIFIER, right, points=4) == 0.0
    assert "NOT MARKED" in capsys.readouterr().out


TORCH = [entry for entry in exercises() if entry.needs == "torch"]
each_module = pytest.mark.parametrize("entry", TORCH, ids=[entry.identifier for entry in TORCH])


def has_gradients(entry):
    cases = entry.cases(generator(PUBLIC_SEED, entry.identifier, "cases"))
    return cases[0].request.cotangent is not None


@each_module
def test_parameters_that_are_none_get_no_points(entry):
    """A buffer is loaded like a parameter, and never trained."""

    class Buffers(entry.reference):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            for module in self.modules():
                for name in list(module._parameters):
                    module.register_buffer(name, module._parameters.pop(name).detach())

    class Frozen(entry.reference):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.requires_grad_(False)

    if not has_gradients(entry):
        pytest.skip("nothing is trained here")
    report = examine(entry, Buffers, PUBLIC_SEED)
    assert report.earned(entry.points) == 0
    finding = report.failures[entry.parts[0].name].finding
    # One reference asks itself for its parameters, and finds none.
    assert finding.question == "ran" or "no torch.nn.Parameter" in finding.sentence
    report = examine(entry, Frozen, PUBLIC_SEED)
    assert report.earned(entry.points) == 0
    text = " ".join(describe(report).split())
    assert "going back from it to the parameters failed" in text
    assert "at the line" not in text


@each_module
def test_a_module_is_no_class(entry):
    request = entry.cases(generator(PUBLIC_SEED, entry.identifier, "cases"))[0].request
    built = entry.reference(*request.construct.values())
    report = examine(entry, built, PUBLIC_SEED)
    assert "Give it the name without brackets" in describe(report).replace("\n", " ")


@each_module
def test_a_class_that_is_no_module_is_told_so(entry):
    class Plain:
        def __init__(self, *arguments):
            pass

    text = " ".join(describe(examine(entry, Plain, PUBLIC_SEED)).split())
    assert "what came is no torch.nn.Module, but a Plain" in text


def test_the_only_line_of_an_error_while_loading_is_kept():
    class Stubborn(exercise("05.straight_through").reference):
        def load_state_dict(self, state):
            raise RuntimeError("not today")

    text = describe(examine(exercise("05.straight_through"), Stubborn, PUBLIC_SEED))
    assert "RuntimeError: not today" in " ".join(text.split())


def test_a_cause_is_named_only_where_it_can_be_one():
    def complex_numbers(scores, reward):
        return exercise("05.exact_gradient").reference(scores, reward) + 0j

    report = examine(exercise("05.exact_gradient"), complex_numbers, PUBLIC_SEED)
    assert report.failures["plain"].finding.sentence.endswith("got complex128.")

    def floats(weights, uniform):
        return exercise("05.draw_loop").reference(weights, uniform).astype(float)

    report = examine(exercise("05.draw_loop"), floats, PUBLIC_SEED)
    assert "dtype=int" in report.failures["plain"].finding.sentence
    report = examine(
        exercise("05.predicted_directions"), lambda: np.array([np.inf, 0.5, 0.5]), PUBLIC_SEED
    )
    assert "infinity is none" in report.failures["plain"].finding.sentence
    assert report.mistake is None


BY_HAND = [entry for entry in exercises() if entry.kind == "by hand"]


@pytest.mark.parametrize("entry", BY_HAND, ids=[entry.identifier for entry in BY_HAND])
def test_numbers_from_paper_may_come_in_any_width(entry):
    def narrow():
        right = entry.reference()
        if isinstance(right, tuple):
            return tuple(array.astype(np.float32) for array in right)
        return right.astype(np.float32)

    assert examine(entry, narrow, PUBLIC_SEED).passed


NUMPY = [entry for entry in exercises() if entry.needs == "numpy"]
SPOILT = {
    "objects": lambda array: array.astype(object),
    "a list": lambda array: array.tolist() if array.ndim else [array.item()],
    "complex": lambda array: array + 0j,
    "NaN": lambda array: array * np.nan,
    "an axis too many": lambda array: np.asarray(array)[None],
    "a text": str,
    "nothing": lambda array: None,
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
@pytest.mark.parametrize("entry", NUMPY, ids=[entry.identifier for entry in NUMPY])
def test_no_right_answer_passes_spoilt(entry, spoil, capsys):
    def answer(*arguments):
        right = entry.reference(*arguments)
        several = right if isinstance(right, tuple) else (right,)
        spoilt = tuple(spoil(np.asarray(array)) for array in several)
        return spoilt if isinstance(right, tuple) else spoilt[0]

    assert mark(entry.identifier, answer, points=entry.points) == 0.0
    said = capsys.readouterr().out
    assert f"{entry.identifier}: not yet." in said
    assert "coursekit" not in said.replace(entry.answer, "")
