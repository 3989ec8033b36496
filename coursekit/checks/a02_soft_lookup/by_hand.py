"""02.lookup_by_hand: weights and context of a three-word lookup, worked out on paper."""

import numpy as np

from attnkit.numpy import attend

from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call

SCORES = np.log([[1.0, 2.0, 5.0]])
VALUE = np.array([[8.0, 0.0], [4.0, 4.0], [0.0, 8.0]])


def on_paper():
    """The weights and the context, from the library."""
    context, weights = attend(SCORES, VALUE, return_weights=True)
    return weights[0], context[0]


def exponentials_not_normalised():
    return np.array([1.0, 2.0, 5.0]), np.array([16.0, 48.0])


def context_of_exponentials():
    return np.array([0.125, 0.25, 0.625]), np.array([16.0, 48.0])


def scores_taken_for_weights():
    scores = np.log([1.0, 2.0, 5.0])
    weights = scores / scores.sum()
    return weights, weights @ np.array([[8.0, 0.0], [4.0, 4.0], [0.0, 8.0]])


def winner_takes_all():
    return np.array([0.0, 0.0, 1.0]), np.array([0.0, 8.0])


def plain_mean():
    return np.array([1 / 3, 1 / 3, 1 / 3]), np.array([4.0, 4.0])


def order_reversed():
    return np.array([0.625, 0.25, 0.125]), np.array([6.0, 2.0])


def weights_in_percent():
    return np.array([12.5, 25.0, 62.5]), np.array([2.0, 6.0])


def all_in_one_array():
    return np.array([0.125, 0.25, 0.625, 2.0, 6.0])


MISTAKES = (
    Mistake(
        "not normalised",
        exponentials_not_normalised,
        "1, 2 and 5 are the exponentials of the scores, but weights sum to one: divide each by "
        "their total, 8. The context then shrinks with them.",
    ),
    Mistake(
        "the context from other weights",
        context_of_exponentials,
        "Your weights are right, but the context was summed with 1, 2 and 5. Use the weights: no "
        "context can leave the range of the values, and here no value is above 8.",
    ),
    Mistake(
        "scores taken for weights",
        scores_taken_for_weights,
        "You divided the scores by their sum. Softmax takes the exponential first, and that of "
        "ln 2 is 2. (A score of 0 does not mean a weight of 0.)",
    ),
    Mistake(
        "the winner takes all",
        winner_takes_all,
        "That is a hard lookup: only the best key counts. In a soft one every key has a share, "
        "here 1, 2 and 5 parts of 8.",
    ),
    Mistake(
        "a plain mean",
        plain_mean,
        "You gave every word the same weight. The scores differ, so the weights do: they are in "
        "the ratio 1 : 2 : 5.",
    ),
    Mistake(
        "order reversed",
        order_reversed,
        "The weights stand in the wrong order: the first word has the smallest score, so the "
        "smallest weight.",
    ),
    Mistake(
        "weights in percent",
        weights_in_percent,
        "The weights are shares of one: 0.125 in place of 12.5.",
    ),
    Mistake(
        "all in one array",
        all_in_one_array,
        "The numbers are right. Return two arrays: return weights, context.",
    ),
)

EXERCISE = Exercise(
    identifier="02.lookup_by_hand",
    assignment="02_soft_lookup",
    title="By hand: look up among three words",
    kind="by hand",
    answer="lookup_by_hand",
    points=2,
    difficulty=1,
    minutes=8,
    hints=(
        "No calculator is needed: what is the exponential of ln 5?",
        "The three exponentials are 1, 2 and 5. Divide each by their total to get the weights, then "
        "add up the value rows, each times its weight.",
        "The total is 8, so the weights are eighths. First component of the context: 8 times the "
        "first weight, plus 4 times the second, plus 0 times the third; the second likewise.",
    ),
    returns=("weights", "context"),
    cases=lambda random: [Case("your numbers", Call())],
    contents=lambda: Contents(on_paper, MISTAKES),
    whole_numbers_pass=True,
    absolute=0.002,
)
