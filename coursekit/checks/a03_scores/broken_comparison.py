"""03.counterexample and 03.weights_before_and_after: a program that changes its own input.

The faulty program is handed out in a locked cell. Learners first find arrays on which it shows
(a test, written as data), then write the program as it should be.
"""

import numpy as np

from attnkit.numpy import softmax as reference_softmax

from ..draw import normal, readable
from ..judges import shows
from ..laws import sums_to_one
from ..model import Case, Contents, Exercise, Finding, Mistake, Part
from ..surface import Call
from .given import faulty_before_and_after, softmax


def weights_before_and_after(scores, d_k):
    """The program as it should be, from the library's softmax."""
    dtype = np.result_type(scores, np.float16)
    root = np.sqrt(d_k).astype(dtype)
    return reference_softmax(scores), reference_softmax(scores / root)


# ---------------------------------------------------------------- the counterexample


def a_counterexample():
    """Arrays on which the fault shows."""
    return np.array([[0.0, 2.0, 4.0], [1.0, 0.0, 0.0]]), 4


def judge_counterexample(request, value):
    """Whether the faulty program gives visibly wrong weights on `value`."""
    scores, d_k = value
    if scores.ndim != 2:
        return Finding(
            "shape",
            "not two axes",
            f"expected scores of two axes, (m, n), got shape {scores.shape}.",
        )
    if d_k.ndim != 0:
        return Finding(
            "shape", "d_k is an array", f"expected d_k to be one number, got shape {d_k.shape}."
        )
    if scores.dtype.kind != "f":
        return Finding(
            "dtype",
            "whole numbers",
            f"expected floating-point scores, got {scores.dtype}. On whole numbers the program "
            f"stops with an error, so nobody is misled; the dangerous case is the silent one.",
        )
    if not np.isfinite(scores).all() or not np.isfinite(d_k):
        return Finding("finite", "not finite", "scores and d_k must be ordinary finite numbers.")
    if d_k <= 0:
        return Finding("value", "d_k not positive", f"d_k is a width: it cannot be {d_k:g}.")
    if scores.size == 0:
        return Finding("value", "empty", "without any scores there is nothing to see.")
    right, _ = weights_before_and_after(scores, d_k)
    faulty, _ = faulty_before_and_after(np.array(scores), d_k)
    if shows(right, faulty):
        return None
    return Finding("value", _why_hidden(scores, d_k, right), _HIDDEN)


_HIDDEN = (
    "on these arrays the faulty program and a right one give the same weights, so a test with "
    "them would let the fault through."
)


def _why_hidden(scores, d_k, weights):
    if scores.shape[-1] == 1:
        return "one key"
    if d_k == 1:
        return "d_k is 1"
    if np.ptp(scores, axis=-1).max() == 0:
        return "equal scores"
    return "saturated" if weights.max(axis=-1).min() > 0.999 else "hidden"


def width_one():
    return np.array([[0.0, 2.0, 4.0]]), 1


def equal_scores():
    return np.array([[3.0, 3.0, 3.0], [1.0, 1.0, 1.0]]), 4


def a_single_key():
    return np.array([[2.0], [5.0]]), 4


def enormous_scores():
    return np.array([[0.0, 1000.0, 5000.0]]), 4


def one_row_only():
    return np.array([0.0, 2.0, 4.0]), 4


def whole_numbers():
    return np.array([[0, 2, 4]]), 4


def scores_alone():
    return np.array([[0.0, 2.0, 4.0]])


def width_zero():
    return np.array([[0.0, 2.0, 4.0]]), 0


def a_width_for_each_row():
    return np.array([[0.0, 2.0, 4.0], [1.0, 0.0, 0.0]]), np.array([4, 16])


def with_infinity():
    return np.array([[0.0, 2.0, np.inf]]), 4


COUNTEREXAMPLE_MISTAKES = (
    Mistake(
        "a width of one",
        width_one,
        "The root of 1 is 1, so scaling changes nothing and nothing can go wrong. Choose a larger "
        "width.",
    ),
    Mistake(
        "equal scores",
        equal_scores,
        "When all scores of a row are equal, the weights are equal too, scaled or not. Let the "
        "scores of a row differ.",
    ),
    Mistake(
        "a single key",
        a_single_key,
        "With one key its weight is 1, whatever the score. Give each row at least two scores.",
    ),
    Mistake(
        "enormous scores",
        enormous_scores,
        "The scores lie so far apart that one key takes all the weight, scaled or not. Take "
        "scores that differ by one or two.",
    ),
    Mistake(
        "one row without an axis for queries",
        one_row_only,
        "The program is meant for a table of scores, (m, n). Put a second pair of brackets around "
        "the row.",
    ),
    Mistake(
        "whole numbers",
        whole_numbers,
        "NumPy refuses to divide whole numbers in place. That is a hint at the fault, but the test "
        "should catch the silent case: write 2.0 instead of 2.",
    ),
    Mistake(
        "the scores alone",
        scores_alone,
        "The program takes two things, scores and d_k. Return both: return scores, d_k.",
    ),
    Mistake(
        "a width of zero",
        width_zero,
        "Vectors have at least one component. With 0 both versions divide by zero, which shows "
        "nothing about this fault.",
    ),
    Mistake(
        "a width for each row",
        a_width_for_each_row,
        "All rows of a table have the same width d_k: one number.",
    ),
    Mistake(
        "infinite scores",
        with_infinity,
        "With infinity in them even right programs may stumble. The fault shows on quite ordinary "
        "numbers.",
    ),
)

COUNTEREXAMPLE = Exercise(
    identifier="03.counterexample",
    assignment="03_scores",
    title="Find numbers on which the fault shows",
    kind="counterexample",
    answer="counterexample",
    points=2,
    difficulty=2,
    minutes=8,
    hints=(
        "Run the program on a small table and compare both results with what you expect. Then look "
        "at your table again.",
        "After `scaled = scores` there are two names, but how many arrays? And which of its lines "
        "writes into an array?",
        "Whatever is called *before* is computed from scores that were divided already. Choose a "
        "row of two or three scores that differ a little, and a width for which dividing by its "
        "root changes something.",
    ),
    returns=("scores", "d_k"),
    cases=lambda random: [Case("your arrays", Call())],
    judge=judge_counterexample,
    contents=lambda: Contents(a_counterexample, COUNTEREXAMPLE_MISTAKES),
)


# ---------------------------------------------------------------- the mended program


def cases(random):
    return [
        Case(
            "two rows of three scores, d_k = 4",
            Call({"scores": readable(random, 2, 3), "d_k": 4}),
        ),
        Case(
            "four rows of four scores, d_k = 10",
            Call({"scores": 3 * normal(random, 4, 4), "d_k": 10}),
        ),
        Case(
            "whole-number scores, d_k = 9",
            Call({"scores": random.integers(-3, 4, (2, 3)), "d_k": 9}),
            "care",
        ),
        Case(
            "a float32 batch of two tables, d_k = 16",
            Call({"scores": normal(random, 2, 3, 5, dtype=np.float32), "d_k": 16}),
            "care",
        ),
    ]


def _any_scores(random):
    return [Call({"scores": normal(random, 4, 6), "d_k": 9})]


def still_one_array(scores, d_k):
    scaled = scores[:]
    scaled /= np.sqrt(d_k)
    return softmax(scores), softmax(scaled)


def as_it_was(scores, d_k):
    scaled = scores
    scaled /= np.sqrt(d_k)
    return softmax(scores), softmax(scaled)


def before_taken_first(scores, d_k):
    before = softmax(scores)
    scores /= np.sqrt(d_k)
    return before, softmax(scores)


def copied_too_late(scores, d_k):
    scores /= np.sqrt(d_k)
    scaled = scores.copy()
    return softmax(scores), softmax(scaled)


def copy_never_scaled(scores, d_k):
    scaled = scores.copy()
    return softmax(scores), softmax(scaled)


def results_exchanged(scores, d_k):
    return softmax(scores / np.sqrt(d_k)), softmax(scores)


def divided_by_d_k(scores, d_k):
    return softmax(scores), softmax(scores / d_k)


def weights_scaled(scores, d_k):
    before = softmax(scores)
    return before, before / np.sqrt(d_k)


def softmax_twice(scores, d_k):
    before = softmax(scores)
    return before, softmax(before / np.sqrt(d_k))


def scores_returned(scores, d_k):
    return scores, scores / np.sqrt(d_k)


def only_the_scaled(scores, d_k):
    return softmax(scores / np.sqrt(d_k))


def copied_but_divided_in_place(scores, d_k):
    scaled = scores.copy()
    scaled /= np.sqrt(d_k)
    return softmax(scores), softmax(scaled)


MENDED_MISTAKES = (
    Mistake(
        "still the same array",
        as_it_was,
        "Both results are the scaled ones. scaled = scores gives the array a second name and "
        "copies nothing (scores[:] does not copy either), so dividing one in place divides both.",
    ),
    Mistake(
        "a slice instead of a copy",
        still_one_array,
        "A slice of an array is a view of the same numbers.",
        same_as="still the same array",
    ),
    Mistake(
        "copied too late",
        copied_too_late,
        "The copy is made after the scores were divided.",
        same_as="still the same array",
    ),
    Mistake(
        "the caller's scores still change",
        before_taken_first,
        "Both results are right now, but the caller's array is still divided in place, and on whole "
        "numbers the program stops. Compute the scaled scores as a new array: no /= anywhere.",
    ),
    Mistake(
        "divided in place, in a copy",
        copied_but_divided_in_place,
        "The copy cures the fault. But a copy of whole numbers holds whole numbers, and NumPy "
        "refuses to divide them in place; scores / … makes a new array of the right kind, and no "
        "copy is needed.",
    ),
    Mistake(
        "the copy never scaled",
        copy_never_scaled,
        "Both results are the unscaled ones: the copy was made but never divided.",
    ),
    Mistake(
        "results exchanged",
        results_exchanged,
        "The numbers are right, but the scaled ones come first. Return before, then after.",
    ),
    Mistake(
        "divided by d_k",
        divided_by_d_k,
        "The second result is too even: the scores were divided by d_k. The divisor is its square "
        "root.",
    ),
    Mistake(
        "the weights scaled",
        weights_scaled,
        "In the second result the *weights* were divided, so they no longer sum to one. Scale the "
        "scores, then apply softmax.",
    ),
    Mistake(
        "softmax of a softmax",
        softmax_twice,
        "The second result starts from the weights of the first. Start from the scores again.",
    ),
    Mistake(
        "scores returned",
        scores_returned,
        "These are the scores. What is compared are the weights: apply softmax to both.",
    ),
    Mistake(
        "one result only",
        only_the_scaled,
        "Two results are asked for, to be compared: return before, after.",
    ),
)

MENDED = Exercise(
    identifier="03.weights_before_and_after",
    assignment="03_scores",
    title="Mend the program",
    kind="mended",
    answer="weights_before_and_after",
    points=2,
    difficulty=2,
    minutes=7,
    hints=(
        "Which lines write into an array that existed before?",
        "`x /= y` changes the array that `x` names, under all its names. `x / y` makes a new one.",
        "Two lines are enough: the softmax of `scores`, and the softmax of `scores` divided by the "
        "root of `d_k`, with `/` and not with `/=`.",
    ),
    returns=("weights before scaling", "weights after scaling"),
    cases=cases,
    laws=(sums_to_one(_any_scores),),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with whole numbers or float32", 0.5),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(weights_before_and_after, MENDED_MISTAKES),
)
