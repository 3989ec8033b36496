"""05.sample_keys: keys drawn with given numbers, for any axes and without a loop."""

import numpy as np

from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .draw_loop import draw_keys


def _weights(random, *shape):
    return random.dirichlet(np.ones(shape[-1]), shape[:-1])


def cases(random):
    hidden = np.zeros((2, 6))
    hidden[0, [1, 2, 4]] = random.permutation([0.5, 0.25, 0.25])
    hidden[1, [0, 3, 5]] = random.permutation([0.5, 0.25, 0.25])
    short = np.array([[0.333, 0.333, 0.333, 0.0], [0.0, 0.499, 0.5, 0.0]])
    return [
        Case(
            "four weights and six numbers",
            Call(
                {
                    "weights": random.permutation([0.1, 0.2, 0.3, 0.4]),
                    "uniform": random.permutation([0.05, 0.15, 0.35, 0.55, 0.75, 0.95]),
                }
            ),
        ),
        Case(
            "five weights and twelve numbers",
            Call({"weights": _weights(random, 5), "uniform": random.random(12)}),
        ),
        Case(
            "a batch of three, with three weights and three numbers each",
            Call({"weights": _weights(random, 3, 3), "uniform": random.random((3, 3))}),
            "axes",
        ),
        Case(
            "two leading axes",
            Call({"weights": _weights(random, 2, 3, 4), "uniform": random.random((2, 3, 8))}),
            "axes",
        ),
        Case(
            "numbers on the edge between two keys",
            Call(
                {
                    "weights": np.full((2, 4), 0.25),
                    "uniform": random.permuted([[0, 0.25, 0.5, 0.75]] * 2, axis=1),
                }
            ),
            "care",
        ),
        Case(
            "keys of weight 0",
            Call(
                {
                    "weights": hidden,
                    "uniform": random.permuted([[0.0, 0.2, 0.6, 0.9]] * 2, axis=1),
                }
            ),
            "care",
        ),
        Case(
            "weights that sum to 0.999, and a last key of weight 0",
            Call(
                {
                    "weights": short,
                    "uniform": random.permuted([[0.1, 0.5, 0.9995]] * 2, axis=1),
                }
            ),
            "care",
        ),
        Case(
            "float32 numbers",
            Call(
                {
                    "weights": _weights(random, 2, 5).astype(np.float32),
                    "uniform": random.random((2, 7)).astype(np.float32),
                }
            ),
            "care",
        ),
    ]


def _numbers_turned_round(random):
    weights, uniform = _weights(random, 5), random.random(7)
    return [
        Call({"weights": weights, "uniform": uniform}),
        Call({"weights": weights, "uniform": uniform[::-1]}),
    ]


def reaching_is_enough(weights, uniform):
    sums = np.cumsum(weights, axis=-1)[..., None, :]
    last = weights.shape[-1] - 1 - (weights[..., ::-1] > 0).argmax(axis=-1)
    return np.minimum((sums < uniform[..., None]).sum(axis=-1), last[..., None])


def the_best_key(weights, uniform):
    return np.broadcast_to(weights.argmax(axis=-1)[..., None], uniform.shape).copy()


def counted_from_one(weights, uniform):
    sums = np.cumsum(weights, axis=-1)[..., None, :]
    last = weights.shape[-1] - 1 - (weights[..., ::-1] > 0).argmax(axis=-1)
    return np.minimum((sums <= uniform[..., None]).sum(axis=-1), last[..., None]) + 1


def weights_not_added(weights, uniform):
    return (weights[..., None, :] > uniform[..., None]).argmax(axis=-1)


def first_key_where_the_sum_falls_short(weights, uniform):
    sums = np.cumsum(weights, axis=-1)[..., None, :]
    return (sums > uniform[..., None]).argmax(axis=-1)


def a_key_that_does_not_exist(weights, uniform):
    sums = np.cumsum(weights, axis=-1)[..., None, :]
    return (sums <= uniform[..., None]).sum(axis=-1)


def the_last_of_all_keys(weights, uniform):
    sums = np.cumsum(weights, axis=-1)[..., None, :]
    return np.minimum((sums <= uniform[..., None]).sum(axis=-1), weights.shape[-1] - 1)


def summed_over_everything(weights, uniform):
    sums = np.cumsum(weights).reshape(weights.shape)[..., None, :]
    return (sums > uniform[..., None]).argmax(axis=-1)


def summed_along_the_first_axis(weights, uniform):
    sums = np.cumsum(weights, axis=0)[..., None, :]
    return (sums > uniform[..., None]).argmax(axis=-1)


def one_hot_rows(weights, uniform):
    sums = np.cumsum(weights, axis=-1)[..., None, :]
    enough = sums > uniform[..., None]
    return (enough & (np.cumsum(enough, axis=-1) == 1)).astype(float)


def one_number_for_all(weights, uniform):
    sums = np.cumsum(weights, axis=-1)[..., None, :]
    last = weights.shape[-1] - 1 - (weights[..., ::-1] > 0).argmax(axis=-1)
    keys = np.minimum((sums <= uniform[..., :1, None]).sum(axis=-1), last[..., None])
    return np.broadcast_to(keys, uniform.shape).copy()


def one_axis_only(weights, uniform):
    return np.searchsorted(np.cumsum(weights), uniform, side="right")


def numbers_along_the_keys(weights, uniform):
    sums = np.cumsum(weights, axis=-1)[..., None]
    last = weights.shape[-1] - 1 - (weights[..., ::-1] > 0).argmax(axis=-1)
    keys = np.minimum((sums <= uniform[..., None, :]).sum(axis=-1), last[..., None])
    return keys


def sorted_numbers(weights, uniform):
    sums = np.cumsum(weights, axis=-1)[..., None, :]
    last = weights.shape[-1] - 1 - (weights[..., ::-1] > 0).argmax(axis=-1)
    passed = (sums <= np.sort(uniform, axis=-1)[..., None]).sum(axis=-1)
    return np.minimum(passed, last[..., None])


def scaled_in_place(weights, uniform):
    weights /= weights.sum(axis=-1, keepdims=True)
    sums = np.cumsum(weights, axis=-1)[..., None, :]
    last = weights.shape[-1] - 1 - (weights[..., ::-1] > 0).argmax(axis=-1)
    return np.minimum((sums <= uniform[..., None]).sum(axis=-1), last[..., None])


def reaching_and_the_first_key(weights, uniform):
    sums = np.cumsum(weights, axis=-1)[..., None, :]
    return (sums >= uniform[..., None]).argmax(axis=-1)


def one_row_of_sums_for_all(weights, uniform):
    return (np.cumsum(weights) > uniform[..., None]).argmax(axis=-1)


def sums_without_an_axis_for_the_numbers(weights, uniform):
    return (np.cumsum(weights, axis=-1) > uniform[..., None]).argmax(axis=-1)


MISTAKES = (
    Mistake(
        "reaching the number is enough",
        reaching_is_enough,
        "The sum must *exceed* the number. With >= (or searchsorted as it is by default) the number 0 "
        "draws the first key even if its weight is 0: a hidden key is looked up.",
    ),
    Mistake(
        "always the best key",
        the_best_key,
        "This is argmax: every number draws the key with the largest weight.",
    ),
    Mistake(
        "counted from one",
        counted_from_one,
        "Every key is one too high. The first key has the number 0; the sums that do not exceed the "
        "number belong to the keys *before* the one that is drawn.",
    ),
    Mistake(
        "the weights not added up",
        weights_not_added,
        "You compare each weight by itself with the number. Compare the sum of all weights so far: "
        "np.cumsum.",
    ),
    Mistake(
        "the first key where the sum falls short",
        first_key_where_the_sum_falls_short,
        "Where rounding leaves all sums below the number nothing is True, and argmax of nothing but "
        "False is 0: the first key. Take the last key whose weight is above 0.",
    ),
    Mistake(
        "a key that does not exist",
        a_key_that_does_not_exist,
        "Where rounding leaves all sums below the number you return n, and the keys end at n - 1. Take "
        "the last key whose weight is above 0.",
    ),
    Mistake(
        "the last of all keys where the sum falls short",
        the_last_of_all_keys,
        "Where the sum falls short you take key n - 1, even if it has the weight 0. A hidden key must "
        "never be drawn: take the last one with a weight above 0.",
    ),
    Mistake(
        "summed over everything",
        summed_over_everything,
        "Without axis=-1, np.cumsum runs on from row to row. Each row has its own sum.",
    ),
    Mistake(
        "summed along the first axis",
        summed_along_the_first_axis,
        "You sum along the first axis. The keys are the last one: axis=-1.",
    ),
    Mistake(
        "rows of 0 and 1",
        one_hot_rows,
        "You return a row of 0 and 1 for each draw. Asked for is the key's number: argmax over the "
        "last axis makes one of it.",
    ),
    Mistake(
        "one number for all draws",
        one_number_for_all,
        "You use the first number of a row for all its draws.",
    ),
    Mistake(
        "for one axis only",
        one_axis_only,
        "Without axis=-1, np.cumsum makes one long row of all weights, and every number is looked up in "
        "it. Each row has its own sums. (np.searchsorted takes one row only: compare with "
        "broadcasting.)",
    ),
    Mistake(
        "numbers along the keys",
        numbers_along_the_keys,
        "Your new axes meet the wrong way: you count, for each *key*, how many numbers lie above. The "
        "sums need an axis for the numbers, (..., 1, n), and the numbers one for the keys, "
        "(..., s, 1).",
    ),
    Mistake(
        "the numbers sorted",
        sorted_numbers,
        "You sort the numbers first. The keys are right, but each has to stand at the place of the "
        "number that drew it.",
    ),
    Mistake(
        "the weights scaled in place",
        scaled_in_place,
        "The keys are right. But weights /= … writes into the caller's array.",
    ),
    Mistake(
        "reaching is enough, and the first key where the sum falls short",
        reaching_and_the_first_key,
        "Two things. The sum must exceed the number, >, or 0 draws a first key of weight 0. And where "
        "no sum does, argmax of nothing but False is 0: the last key with a weight above 0 is wanted.",
    ),
    Mistake(
        "one row of sums for all",
        one_row_of_sums_for_all,
        "Without axis=-1, np.cumsum makes one long row of all weights, and every row is drawn from it. "
        "Each row has its own sum, which needs an axis for the numbers besides, (..., 1, n).",
        same_as="for one axis only",
    ),
    Mistake(
        "sums without an axis for the numbers",
        sums_without_an_axis_for_the_numbers,
        "With one row of weights this is right but for rounding. With leading axes the sums need an "
        "axis for the numbers, (..., 1, n), or the rows of weights are lined up with the numbers.",
    ),
)

EXERCISE = Exercise(
    identifier="05.sample_keys",
    assignment="05_soft_and_hard",
    title="Draw keys for any axes, without a loop",
    kind="vectorised",
    answer="sample_keys",
    points=4,
    difficulty=2,
    minutes=15,
    hints=(
        "The running sums of a row never fall. So how many of them are not above the number?",
        "`np.cumsum(weights, axis=-1)` are the sums, `(..., n)`. Give them an axis for the numbers, "
        "`(..., 1, n)`, and the numbers one for the keys, `(..., s, 1)`, and compare. Where nothing "
        "exceeds the number, the last key with a weight above 0 is wanted.",
        "Count with `.sum(axis=-1)` how many sums are `<=` the number: that is the key drawn. To find "
        "the last key with weight, turn the keys round with `weights[..., ::-1] > 0` and take "
        "`argmax`; `np.minimum` of both, with an axis added, is the answer.",
    ),
    returns=("keys",),
    cases=cases,
    laws=(
        same(
            "Each number draws for itself",
            _numbers_turned_round,
            "with the numbers in reverse order, the keys were not just reversed.",
            undo=lambda keys: keys[::-1],
        ),
    ),
    parts=(
        Part("plain", "the cases with one row of weights", 0.25),
        Part("axes", "those with leading axes", 0.25),
        Part("care", "those with weights of 0, numbers on an edge or a sum below 1", 0.5),
    ),
    contents=lambda: Contents(draw_keys, MISTAKES),
)
