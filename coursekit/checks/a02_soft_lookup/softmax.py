"""02.softmax: from scores to weights, without overflow and for any leading axes."""

import numpy as np

from attnkit.numpy import softmax

from ..draw import normal, readable
from ..laws import same, sums_to_one
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def cases(random):
    far = 1000 + random.integers(-3, 4, 4).astype(float)
    return [
        Case("three scores", Call({"scores": readable(random, 3)})),
        Case("two rows of four scores", Call({"scores": readable(random, 2, 4)})),
        Case("three rows of three scores", Call({"scores": readable(random, 3, 3)})),
        Case("scores near 1000", Call({"scores": far}), "care"),
        Case("scores near -1000", Call({"scores": far - 2000}), "care"),
        Case(
            "two rows that lie far apart",
            Call({"scores": np.stack([readable(random, 3) + 900, readable(random, 3) - 900])}),
            "care",
        ),
        Case(
            "one score far above the rest",
            Call({"scores": np.array([0.0, 3000.0, float(random.integers(1, 9)), 0.0])}),
            "care",
        ),
        Case("whole numbers", Call({"scores": random.integers(-2, 3, (2, 3))}), "care"),
        Case("leading axes (2, 3)", Call({"scores": normal(random, 2, 3, 5)}), "care"),
        Case("float32 scores", Call({"scores": normal(random, 4, 6, dtype=np.float32)}), "care"),
    ]


def _shifted(random):
    scores = normal(random, 3, 5)
    return [Call({"scores": scores}), Call({"scores": scores + np.array([[7.0], [-3.0], [100.0]])})]


def _rows(random):
    return [Call({"scores": normal(random, 4, 6)})]


def largest_not_subtracted(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def mean_subtracted(scores):
    exponentials = np.exp(scores - scores.mean(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def largest_size_subtracted(scores):
    exponentials = np.exp(scores - np.abs(scores).max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def one_maximum_for_all(scores):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def down_the_columns(scores):
    exponentials = np.exp(scores - scores.max(axis=0, keepdims=True))
    return exponentials / exponentials.sum(axis=0, keepdims=True)


def one_total_for_all(scores):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def not_normalised(scores):
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


def no_exponential(scores):
    return scores / scores.sum(axis=-1, keepdims=True)


def axis_dropped(scores):
    exponentials = np.exp(scores - scores.max(axis=-1))
    return exponentials / exponentials.sum(axis=-1)


def powers_of_two(scores):
    powers = 2.0 ** (scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def logarithm_of_the_weights(scores):
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def winner_takes_all(scores):
    return (scores == scores.max(axis=-1, keepdims=True)).astype(float)


def largest_subtracted_in_place(scores):
    scores -= scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def array_like_the_scores(scores):
    weights = np.zeros_like(scores)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights[...] = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights


def signs_turned(scores):
    exponentials = np.exp(scores.min(axis=-1, keepdims=True) - scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def nothing_subtracted_one_total(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum()


def nothing_subtracted_axis_dropped(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1)


MISTAKES = (
    Mistake(
        "the largest score not subtracted",
        largest_not_subtracted,
        "The formula is right, but np.exp(1000) is infinity and infinity / infinity is NaN. Adding "
        "a number to all scores of a row changes no weight, so subtract the row's largest score "
        "first: then the largest exponential is 1.",
    ),
    Mistake(
        "the mean subtracted",
        mean_subtracted,
        "You subtract the mean of each row. That helps when all scores are large, not when one "
        "stands far above the rest. After subtracting the *largest*, no score is above 0.",
    ),
    Mistake(
        "the largest size subtracted",
        largest_size_subtracted,
        "You subtract the largest number without its sign. A row of scores near -1000 then has only "
        "exponentials of 0, and 0 / 0 is NaN. Take the largest score itself, negative or not.",
    ),
    Mistake(
        "one maximum for all rows",
        one_maximum_for_all,
        "The largest score of the whole array was subtracted from every row. A row far below it "
        "then has only exponentials of 0, and 0 / 0 is NaN. Take the maximum of each row.",
    ),
    Mistake(
        "down the columns",
        down_the_columns,
        "Your columns sum to one, not your rows. A row holds the scores of one query, and they "
        "compete with each other: the axis is the last one, -1.",
    ),
    Mistake(
        "one total for all rows",
        one_total_for_all,
        "All weights of the array together sum to one. Each row has its own total: sum over the "
        "last axis and keep it, so that it can be divided by.",
    ),
    Mistake(
        "not normalised",
        not_normalised,
        "These are exponentials; they are positive but do not sum to one. Divide each row by its "
        "total.",
    ),
    Mistake(
        "no exponential",
        no_exponential,
        "You divided scores by their sum. Scores may be negative or sum to zero, so this gives "
        "negative weights or worse. The exponential makes all of them positive first.",
    ),
    Mistake(
        "the summed axis dropped",
        axis_dropped,
        "For one row this is right. With several, max and sum drop the last axis, and the result "
        "lines up with the wrong axis or none. keepdims=True keeps it with size 1.",
    ),
    Mistake(
        "powers of two",
        powers_of_two,
        "Your weights are too even: they are powers of 2, and softmax takes powers of e (np.exp).",
    ),
    Mistake(
        "the logarithm of the weights",
        logarithm_of_the_weights,
        "All your numbers are negative: these are the logarithms of the weights, as a loss needs "
        "them. The weights themselves are asked for.",
    ),
    Mistake(
        "the winner takes all",
        winner_takes_all,
        "You give the largest score the weight 1 and the others 0. That is the hard maximum; the "
        "soft one leaves something for every score.",
    ),
    Mistake(
        "subtracted in place",
        largest_subtracted_in_place,
        "The weights are right, but scores -= … writes into the caller's own array, who finds "
        "other scores in it afterwards. scores - … makes a new one.",
    ),
    Mistake(
        "an array of the scores' type",
        array_like_the_scores,
        "When the scores are whole numbers, zeros_like makes an array of whole numbers, and every "
        "weight below 1 is cut to 0. Return what the division gives.",
    ),
    Mistake(
        "signs turned",
        signs_turned,
        "The smallest score gets the largest weight: the sign in the exponential is turned round. "
        "Subtract the largest score from the scores, not the scores from something.",
    ),
    Mistake(
        "one total for all rows, and nothing subtracted",
        nothing_subtracted_one_total,
        "For one row of small scores this is right. With several rows, all weights of the array "
        "together sum to one: sum over the last axis and keep it (keepdims=True). And np.exp(1000) "
        "is infinity: subtract each row's largest score first.",
    ),
    Mistake(
        "the summed axis dropped, and nothing subtracted",
        nothing_subtracted_axis_dropped,
        "For one row of small scores this is right. With several rows, sum drops the last axis, and "
        "the result lines up with the wrong axis or none: keepdims=True keeps it with size 1. And "
        "np.exp(1000) is infinity: subtract each row's largest score first.",
    ),
)

EXERCISE = Exercise(
    identifier="02.softmax",
    assignment="02_soft_lookup",
    title="Softmax",
    kind="function",
    answer="softmax",
    points=3,
    difficulty=1,
    minutes=12,
    hints=(
        "Three steps: make every score positive, add up each row, divide. Then try a score of 1000.",
        "Subtracting the same number from all scores of a row changes no weight. Which number makes "
        "sure that nothing overflows? And what must `max` and `sum` keep, so that rows still line "
        "up?",
        "`scores.max(axis=-1, keepdims=True)` is the largest score of each row, with its axis kept. "
        "Subtract it, take `np.exp`, and divide by the sum over the same axis, kept in the same way.",
    ),
    returns=("weights",),
    cases=cases,
    laws=(
        sums_to_one(_rows),
        same(
            "Adding a number to all scores of a row changes nothing",
            _shifted,
            "after the same number was added to all scores of a row, other weights came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with large scores, whole numbers, float32 or leading axes", 0.5),
    ),
    contents=lambda: Contents(softmax, MISTAKES),
)
