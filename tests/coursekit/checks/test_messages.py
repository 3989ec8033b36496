"""What a learner reads: question, case, expected, got, cause; little where there is little to say."""

import dataclasses
import itertools

import numpy as np
import pytest

from coursekit.checks import CheckFailure, check, exercise, exercises
from coursekit.checks.engine import examine
from coursekit.checks.messages import QUESTIONS, describe
from coursekit.checks.model import Finding
from coursekit.checks.seeds import PUBLIC_SEED
from coursekit.checks.surface import run

PAIRS = [(entry, mistake) for entry in exercises() for mistake in entry.mistakes]


@pytest.mark.parametrize(
    ("entry", "mistake"), PAIRS, ids=[f"{e.identifier}-{m.name}" for e, m in PAIRS]
)
def test_every_message_is_complete_and_of_bearable_length(entry, mistake):
    report = examine(entry, mistake.function, PUBLIC_SEED)
    message = describe(report)
    failure = next(iter(report.failures.values()))
    assert message.startswith(f"{entry.identifier}: ")
    assert any(question in message for question in QUESTIONS.values())
    assert report.mistake.explanation.split()[0] in message
    assert f"A known mistake: {report.mistake.name}.\n" in message
    assert f'hint("{entry.identifier}", level=1)' in message
    assert len(message) < 3500
    assert len(message.splitlines()) < 75
    assert all(len(line) <= 110 for line in message.splitlines())
    question = failure.finding.question
    if question in {"shape", "dtype"}:
        assert "xpected" in message
        assert "got" in message
    if question == "value" and entry.kind not in {"by hand", "prediction", "counterexample"}:
        assert f"your {failure.finding.result}" in message or "largest difference" in message
        assert "xpected" in message


@pytest.mark.parametrize(
    "identifier", ["02.lookup_by_hand", "03.scores_by_hand", "04.greedy_by_hand"]
)
def test_no_message_gives_the_answer_of_a_paper_exercise_away(identifier):
    entry = exercise(identifier)
    wanted = entry.reference()
    several = isinstance(wanted, tuple)
    wrong = tuple(np.full_like(w, 99) for w in wanted) if several else np.full_like(wanted, 99)
    message = describe(examine(entry, lambda: wrong, PUBLIC_SEED))
    assert "not right at [0], [1]" in message
    numbers = np.concatenate([np.ravel(w) for w in (wanted if several else [wanted])])
    words = message.partition("\n\n")[2].replace(",", " ").split()
    assert not {f"{number:g}" for number in numbers} & set(words) - {"2", "3"}  # levels of hints


def test_a_small_case_prints_its_numbers():
    with pytest.raises(CheckFailure) as failure:
        check("03.scaled_dot_scores", lambda query, key: 0 * (query @ key.T))
    text = str(failure.value)
    assert "On two queries and three keys of width 4" in text
    for line in ("query, shape (2, 4):", "key, shape (3, 4):", "expected scores, shape (2, 3):"):
        assert line in text
    assert "your scores, shape (2, 3):" in text
    assert "largest difference in scores: " in text


def test_what_stops_between_cases_and_law_is_shown_with_its_numbers():
    def six_keys_at_most(scores, reward):
        if scores.shape[-1] == 5 and scores.dtype == np.float64:
            raise ValueError("five keys")
        return exercise("05.exact_gradient").reference(scores, reward)

    text = describe(examine(exercise("05.exact_gradient"), six_keys_at_most, PUBLIC_SEED))
    assert "On numbers that a law is tried on: exact_gradient stopped with ValueError" in text
    assert "scores, shape (2, 5):" in text


def test_numbers_from_paper_are_counted_as_on_paper():
    def slips():
        return np.array([2.0, -0.75, 0.25, -3.5, -0.25, -2.5])

    text = describe(examine(exercise("05.estimates_by_hand"), slips, PUBLIC_SEED))
    assert "answers: not right at [3], [5] (the 4th, 6th)" in text


def test_a_large_case_prints_shapes_and_the_largest_difference():
    def wrong_when_large(components, widths):
        right = exercise("03.score_variances").reference(components, widths)
        return right * (1 if components.size < 100 else 1.5)

    text = describe(examine(exercise("03.score_variances"), wrong_when_large, PUBLIC_SEED))
    assert "components: shape (2, 200, 64)" in text
    assert "largest difference in variances" in text
    assert text.count("\n") < 30


def test_a_dictionary_of_dictionaries_is_shown_by_what_it_holds():
    def the_input_again(x, parameters, n_heads, mask, norm):
        return x

    text = describe(examine(exercise("09.encoder_layer"), the_input_again, PUBLIC_SEED))
    assert "parameters: attention (8 arrays), feed_forward (4 arrays)," in text


def test_an_unknown_mistake_gets_no_name():
    report = examine(exercise("02.softmax"), lambda scores: scores * 0 + 0.123, PUBLIC_SEED)
    assert report.mistake is None
    assert "A known mistake" not in describe(report)


def test_of_two_mistakes_the_one_that_shows_first_is_named():
    report = examine(
        exercise("03.scaled_dot_scores"), lambda query, key: query @ key.T, PUBLIC_SEED
    )
    assert report.mistake.name == "scale forgotten"  # .T fails with leading axes only


def test_two_mistakes_in_the_same_cases_are_not_taken_for_one():
    report = examine(
        exercise("03.scaled_dot_scores"), lambda query, key: (query @ key.T).T, PUBLIC_SEED
    )
    assert report.mistake is None


def test_a_failing_answer_that_raises_everywhere_is_named_only_for_the_same_reason():
    def other_reason(query, key, weight):
        raise ValueError("something of my own")

    assert examine(exercise("03.general_scores"), other_reason, PUBLIC_SEED).mistake is None


def without_one_right_value(entry):
    """The same exercise, judged by whether the numbers are the reference's and not compared."""

    def judge(request, value):
        right = run(entry.reference, request).value
        if all(w.dtype == g.dtype and np.allclose(w, g) for w, g in zip(right, value, strict=True)):
            return None
        return Finding("value", "other numbers", "the numbers are not right.")

    return dataclasses.replace(entry, judge=judge)


def broken_after(entry, n_calls):
    """Return an answer that is right `n_calls` times, then breaks every law, and changes nothing."""
    calls = itertools.count()

    def answer(*arguments):
        result = entry.reference(*arguments)
        if next(calls) < n_calls:
            return result
        several = result if isinstance(result, tuple) else (result,)
        bent = tuple(np.asarray(array) * 0 for array in several)
        return bent if isinstance(result, tuple) else bent[0]

    return answer


SILENT = [
    ("01.gru_step", "the state overwritten"),
    ("02.softmax", "subtracted in place"),
    ("06.masked_softmax", "scores overwritten"),
    ("06.allowed_pairs", "padding turned round in place"),
]


@pytest.mark.parametrize("judged", [False, True])
@pytest.mark.parametrize(("identifier", "name"), SILENT)
def test_a_mistake_that_only_changes_its_arguments_is_named_only_where_they_are_changed(
    identifier, name, judged
):
    entry = exercise(identifier)
    entry = without_one_right_value(entry) if judged else entry
    (mistake,) = [mistake for mistake in entry.mistakes if mistake.name == name]
    assert examine(entry, mistake.function, PUBLIC_SEED).mistake.name == name
    n_cases = examine(entry, entry.reference, PUBLIC_SEED).n_cases
    report = examine(entry, broken_after(entry, n_cases), PUBLIC_SEED)
    assert not report.passed
    assert report.mistake is None


def test_the_line_of_an_error_is_shown():
    def answer(query, key):
        return np.linalg.inv(query)

    text = describe(examine(exercise("03.scaled_dot_scores"), answer, PUBLIC_SEED))
    assert "LinAlgError" in text
    assert "\n    return np.linalg.inv(query)" in text


def test_a_blank_answer_hears_only_that():
    def scaled_dot_scores(query, key):
        raise NotImplementedError

    text = describe(examine(exercise("03.scaled_dot_scores"), scaled_dot_scores, PUBLIC_SEED))
    assert (
        text.splitlines()[-1] == ("Scaled_dot_scores is not written yet: its body still says so.")
        or "scaled_dot_scores is not written yet" in text
    )
    assert len(text.splitlines()) < 6


def test_the_cause_is_reported_before_what_follows_from_it():
    """With wrong weights, context and state are wrong too; the weights are what to look at."""
    entry = exercise("04.bahdanau_step")
    ignored = next(m for m in entry.mistakes if m.name == "the mask ignored")
    report = examine(entry, ignored.function, PUBLIC_SEED)
    assert report.failures["mask"].finding.result == "weights"
    assert "the other results: state wrong, context wrong" in describe(report)


def test_a_nearly_right_number_hears_what_makes_such_a_difference():
    def with_a_little_added(scores):
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exponentials / (exponentials.sum(axis=-1, keepdims=True) + 1e-6)

    text = describe(examine(exercise("02.softmax"), with_a_little_added, PUBLIC_SEED))
    assert "a small number that was added" in " ".join(text.split())
    far_off = describe(examine(exercise("02.softmax"), lambda scores: scores * 0, PUBLIC_SEED))
    assert "a small number that was added" not in " ".join(far_off.split())


def test_a_list_is_told_to_become_what_is_expected_and_nothing_else():
    def two(scores, d_k):
        return [scores, scores]

    text = describe(examine(exercise("03.weights_before_and_after"), two, PUBLIC_SEED))
    assert "returned a list with 2 entries. Expected: a tuple of 2" in " ".join(text.split())
    one = describe(examine(exercise("02.softmax"), lambda scores: scores.tolist(), PUBLIC_SEED))
    assert "a list with 3 entries" in one
    assert "np.array(…) makes one of it" in " ".join(one.split())


def test_lists_and_numbers_in_a_tuple_are_called_what_they_are():
    by_hand = exercise("02.lookup_by_hand")
    lists = describe(examine(by_hand, lambda: (np.ones(3), [2, 6]), PUBLIC_SEED))
    assert "returned a tuple of 2, of which part 2 is a list with 2 entries" in " ".join(
        lists.split()
    )
    assert "of plain NumPy arrays (np.array(…) makes one of a list)" in " ".join(lists.split())
    guess = exercise("02.predicted_sharpness")
    numbers = describe(examine(guess, lambda: (0.4, 0.5, 0.9), PUBLIC_SEED))
    assert "np.array([…]) makes one of several numbers" in " ".join(numbers.split())
    arrays = describe(examine(guess, lambda: (np.ones(3), np.ones(3)), PUBLIC_SEED))
    assert "makes one" not in arrays


def test_the_line_of_an_error_in_a_module_is_the_learners_own():
    torch = pytest.importorskip("torch")
    parent = exercise("04.additive_attention").reference

    class Narrow(parent):
        def forward(self, query, key, value, mask):
            return query.float() @ self.w_query

    class TooFew(parent):
        def forward(self, query, key, value):
            return query

    class Through(parent):
        def forward(self, query, key, value, mask):
            return torch.nn.functional.softmax(query, dim=9)

    def told(answer):
        return " ".join(
            describe(examine(exercise("04.additive_attention"), answer, PUBLIC_SEED)).split()
        )

    assert "at the line return query.float() @ self.w_query" in told(Narrow)
    assert "at the line return torch.nn.functional.softmax(query, dim=9)" in told(Through)
    assert "could not be called with (query, key, value, mask)" in told(TooFew)
