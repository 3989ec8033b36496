"""08.sinusoidal_positions: the table of sines and cosines."""

import numpy as np

from attnkit.numpy import sinusoidal_positions

from ..compare import TOLERANCE, same_values
from ..model import Case, Contents, Exercise, Law, Mistake, Part
from ..surface import Call


def _request(random, lengths, widths):
    return Call({"length": int(random.choice(lengths)), "d_model": int(random.choice(widths))})


def cases(random):
    return [
        Case("a few positions of width 4", _request(random, [3, 4, 5], [4])),
        Case("a single pair of columns", _request(random, [4, 5, 6], [2])),
        Case("three pairs or more", _request(random, range(6, 10), [6, 8, 10])),
        Case("hundreds of positions", _request(random, range(200, 300), [8, 12]), "care"),
        Case("one position", _request(random, [1], [4, 6, 8]), "care"),
        Case("no positions at all", _request(random, [0], [4, 6, 8]), "care"),
    ]


def _two_lengths(random):
    length = int(random.integers(5, 9))
    return [Call({"length": length, "d_model": 6}), Call({"length": length + 3, "d_model": 6})]


def _shorter(requests, values):
    ((one,), (other,)) = values
    if same_values(one, other[: len(one)], TOLERANCE["float64"]):
        return None
    return "in a longer table the first positions have other rows."


def _one_table(random):
    return [Call({"length": int(random.integers(6, 10)), "d_model": 8})]


def _by_distance(requests, values):
    ((table,),) = values
    products = table @ table.T
    if same_values(products[1:, 1:], products[:-1, :-1], TOLERANCE["float64"]):
        return None
    return "two pairs of rows at the same distance have different products."


def in_two_blocks(length, d_model):
    frequency = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    angle = np.arange(length)[:, None] * frequency
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)


def cosine_first(length, d_model):
    frequency = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    angle = np.arange(length)[:, None] * frequency
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1).reshape(length, d_model)


def a_frequency_for_each_column(length, d_model):
    angle = np.arange(length)[:, None] * 10000.0 ** (-np.arange(d_model) / d_model)
    table = np.sin(angle)
    table[:, 1::2] = np.cos(angle[:, 1::2])
    return table


def factor_two_forgotten(length, d_model):
    frequency = 10000.0 ** (-np.arange(d_model // 2) / d_model)
    angle = np.arange(length)[:, None] * frequency
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, d_model)


def factor_two_twice(length, d_model):
    frequency = 10000.0 ** (-2 * np.arange(0, d_model, 2) / d_model)
    angle = np.arange(length)[:, None] * frequency
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, d_model)


def multiplied_in_place_of_divided(length, d_model):
    angle = np.arange(length)[:, None] * 10000.0 ** (np.arange(0, d_model, 2) / d_model)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, d_model)


def slowest_reaches_the_base(length, d_model):
    steps = max(d_model // 2 - 1, 1)
    frequency = 10000.0 ** (-np.arange(d_model // 2) / steps)
    angle = np.arange(length)[:, None] * frequency
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, d_model)


def whole_division(length, d_model):
    frequency = 1 / 10000.0 ** (np.arange(0, d_model, 2) // d_model)
    angle = np.arange(length)[:, None] * frequency
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, d_model)


def sines_only(length, d_model):
    frequency = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    angle = np.arange(length)[:, None] * frequency
    return np.repeat(np.sin(angle), 2, axis=1)


def counted_from_one(length, d_model):
    frequency = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    angle = np.arange(1, length + 1)[:, None] * frequency
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, d_model)


def positions_as_shares(length, d_model):
    frequency = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    angle = np.linspace(0, 1, length)[:, None] * frequency
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, d_model)


def columns_first(length, d_model):
    frequency = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    angle = np.arange(length)[:, None] * frequency
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, d_model).T


def a_table_of_whole_numbers(length, d_model):
    frequency = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    angle = np.arange(length)[:, None] * frequency
    table = np.zeros((length, d_model), dtype=int)
    table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
    return table


def frequencies_in_single_precision(length, d_model):
    frequency = np.float32(10000.0) ** (-np.arange(0, d_model, 2, dtype=np.float32) / d_model)
    angle = np.arange(length)[:, None] * frequency
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, d_model)


MISTAKES = (
    Mistake(
        "sines and cosines in two blocks",
        in_two_blocks,
        "All sines come first, then all cosines. Much code does so, and a model that is trained with "
        "it does not mind; asked for here is the paper's order: a sine and its cosine side by side.",
    ),
    Mistake(
        "the cosine first",
        cosine_first,
        "Sine and cosine have changed places: even columns hold sines. The row of position 0 begins "
        "with sin 0 = 0.",
    ),
    Mistake(
        "a frequency for each column",
        a_frequency_for_each_column,
        "You use the column's own number in the exponent, so a sine and the cosine beside it have "
        "different speeds. Both hands of a pair share the exponent 2i / d_model: only then does a "
        "shift turn the pair as a whole.",
    ),
    Mistake(
        "the factor 2 forgotten",
        factor_two_forgotten,
        "Your exponents are i / d_model, so they end at one half and the slowest hand is a hundred "
        "times too fast. The exponent is 2i / d_model, where i numbers the pairs.",
    ),
    Mistake(
        "the factor 2 twice",
        factor_two_twice,
        "np.arange(0, d_model, 2) is already 2i. You multiplied it by 2 once more, so the hands slow "
        "down too fast.",
    ),
    Mistake(
        "multiplied in place of divided",
        multiplied_in_place_of_divided,
        "The hands get faster from pair to pair: the angle is the position *divided* by 10000 to the "
        "power of 2i / d_model.",
    ),
    Mistake(
        "the slowest hand reaches the base",
        slowest_reaches_the_base,
        "Your exponents are spread from 0 to 1, the last one included. Some libraries do so. By the "
        "formula the last exponent is (d_model - 2) / d_model.",
    ),
    Mistake(
        "whole division in the exponent",
        whole_division,
        "2i // d_model is 0 for every pair, so all hands have one speed. The exponent is a fraction: "
        "/, not //.",
    ),
    Mistake(
        "sines only",
        sines_only,
        "Every column is a sine. Without its cosine, a sine has the same value at many angles, and a "
        "shift can no longer be written as a turn.",
    ),
    Mistake(
        "counted from one",
        counted_from_one,
        "The first row belongs to position 0: sines of 0 and cosines of 1.",
    ),
    Mistake(
        "positions as shares of the length",
        positions_as_shares,
        "Positions run from 0 to 1 whatever the length, so the same place has another row in a "
        "longer sequence, and one step is never the same step. Count 0, 1, 2, … instead.",
    ),
    Mistake(
        "columns first",
        columns_first,
        "Your table is (d_model, length). There is a row for each position.",
    ),
    Mistake(
        "a table of whole numbers",
        a_table_of_whole_numbers,
        "np.zeros with dtype=int (or np.zeros_like of positions) makes an array of whole numbers, and "
        "every sine that is put into it becomes 0.",
    ),
    Mistake(
        "frequencies in single precision",
        frequencies_in_single_precision,
        "The frequencies are float32 numbers, right to seven digits. Times a position of some "
        "hundreds, the angle is off in the fifth. Compute angles in float64, and narrow the table at "
        "the end if you must.",
    ),
)

EXERCISE = Exercise(
    identifier="08.sinusoidal_positions",
    assignment="08_position",
    title="The sinusoidal table",
    kind="vectorised",
    answer="sinusoidal_positions",
    points=3,
    difficulty=2,
    minutes=15,
    hints=(
        "First make the table of angles: a row for each position, a column for each *pair*. What is "
        "in its columns?",
        "`np.arange(0, d_model, 2)` are the numbers $2i$. Positions as a column times frequencies as "
        "a row give all angles. Then the sines go into the even columns, the cosines into the odd.",
        "Begin with `np.zeros((length, d_model))`. `table[:, 0::2]` are its even columns and "
        "`table[:, 1::2]` its odd ones; each takes an array of shape `(length, d_model // 2)`.",
    ),
    returns=("table",),
    cases=cases,
    laws=(
        Law("A longer table begins with the shorter one", _two_lengths, _shorter),
        Law("The product of two rows depends on their distance only", _one_table, _by_distance),
    ),
    parts=(
        Part("plain", "the plain cases", 2 / 3),
        Part("care", "those with hundreds of positions, one or none", 1 / 3),
    ),
    contents=lambda: Contents(sinusoidal_positions, MISTAKES),
)
