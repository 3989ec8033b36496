"""08.rows_by_hand: rows of a table of distances, and a bias, counted on paper."""

import numpy as np

from attnkit.numpy import alibi_bias, relative_index

from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def on_paper():
    """Rows and row of distance 0 (L = 6, four tokens), rows and two rows with clip 3, a bias."""
    six, clipped = relative_index(6, 6, clip=5), relative_index(8, 8, clip=3)
    distance_zero = relative_index(4, 4, clip=5)[2, 2]
    five_before, two_after = clipped[6, 1], clipped[2, 4]
    numbers = (six.max() + 1, distance_zero, clipped.max() + 1, five_before, two_after)
    return np.array([*numbers, alibi_bias(1, 33, 4)[2, 0, 0]])


def two_rows_a_token():
    return np.array([12.0, 5.0, 7.0, 0.0, 5.0, -0.5])


def one_row_too_many_on_each_side():
    return np.array([13.0, 6.0, 7.0, 0.0, 5.0, -0.5])


def offset_of_the_sequence():
    return np.array([11.0, 3.0, 7.0, 0.0, 5.0, -0.5])


def counted_from_one():
    return np.array([11.0, 6.0, 7.0, 1.0, 6.0, -0.5])


def zero_forgotten():
    return np.array([11.0, 5.0, 6.0, 0.0, 5.0, -0.5])


def clip_forgotten():
    return np.array([11.0, 5.0, 7.0, -2.0, 5.0, -0.5])


def query_minus_key():
    return np.array([11.0, 5.0, 7.0, 6.0, 1.0, -0.5])


def bias_as_a_reward():
    return np.array([11.0, 5.0, 7.0, 0.0, 5.0, 0.5])


def heads_from_zero():
    return np.array([11.0, 5.0, 7.0, 0.0, 5.0, -2.0])


def slope_of_eight_heads():
    return np.array([11.0, 5.0, 7.0, 0.0, 5.0, -4.0])


def a_row_for_each_token():
    return np.array([6.0, 5.0, 7.0, 0.0, 5.0, -0.5])


def distance_as_a_row():
    return np.array([11.0, 0.0, 7.0, 0.0, 5.0, -0.5])


def one_side_only():
    return np.array([11.0, 5.0, 4.0, 0.0, 5.0, -0.5])


def offset_forgotten():
    return np.array([11.0, 5.0, 7.0, -3.0, 2.0, -0.5])


def slope_for_the_bias():
    return np.array([11.0, 5.0, 7.0, 0.0, 5.0, -0.015625])


MISTAKES = (
    Mistake(
        "two rows a token",
        two_rows_a_token,
        "In the first question you counted two rows a token. A token is at most 5 away from another: "
        "five distances before, five after, and zero *once*.",
    ),
    Mistake(
        "one row too many on each side",
        one_row_too_many_on_each_side,
        "Among 6 tokens the largest distance is 5, not 6: from the first to the last there are five "
        "steps. So the table has a row less on each side, and its middle lies one earlier.",
    ),
    Mistake(
        "the offset of the sequence at hand",
        offset_of_the_sequence,
        "In the second question you counted the distances of the four tokens at hand. The table was "
        "made for six, and distance 0 has its middle row however long the sequence is.",
    ),
    Mistake(
        "counted from one",
        counted_from_one,
        "Rows are counted from 0 here, as arrays are: the first is row 0.",
    ),
    Mistake(
        "distance zero forgotten",
        zero_forgotten,
        "In the third question a row is missing: three before, three after, and one for distance 0.",
    ),
    Mistake(
        "the clip forgotten",
        clip_forgotten,
        "In the fourth question you let distance -5 be itself. With clip 3 it counts as -3. There is "
        "no row -2; NumPy would take one from the end instead, and say nothing.",
    ),
    Mistake(
        "query minus key",
        query_minus_key,
        "You counted distances from the key. A distance is the position of the key minus that of the "
        "query, so a key *before* its query has a negative one, and rows begin with those.",
    ),
    Mistake(
        "a bias that rewards distance",
        bias_as_a_reward,
        "The last sign is turned round. ALiBi lowers a score with distance.",
    ),
    Mistake(
        "heads counted from zero",
        heads_from_zero,
        "In the last question you took the second head. The slopes of four heads are 2 to the power "
        "of -2, -4, -6, -8; the third is 1/64.",
    ),
    Mistake(
        "the slope of eight heads",
        slope_of_eight_heads,
        "In the last question you took 2 to the power of -3, the third slope of *eight* heads. With "
        "four the exponents go in steps of 8/4 = 2.",
    ),
    Mistake(
        "a row for each token",
        a_row_for_each_token,
        "In the first question you counted tokens. The table has a row for each *distance*, and "
        "there are distances on both sides: -5 to 5.",
    ),
    Mistake(
        "the distance for the row",
        distance_as_a_row,
        "In the second question you gave the distance itself. Rows are counted from the smallest "
        "distance, -5, which has row 0.",
    ),
    Mistake(
        "one side only",
        one_side_only,
        "In the third question you counted one side. Keys stand before the query and after it: "
        "the distances -3 to 3.",
    ),
    Mistake(
        "the offset forgotten",
        offset_forgotten,
        "In the fourth and fifth question you gave the clipped distance. The smallest distance, "
        "-3, has row 0: add 3.",
    ),
    Mistake(
        "the slope for the bias",
        slope_for_the_bias,
        "In the last question you left the distance out, or clipped it. The bias is minus the slope "
        "times the distance, 32: the clip belongs to the table, and ALiBi has none.",
    ),
)

EXERCISE = Exercise(
    identifier="08.rows_by_hand",
    assignment="08_position",
    title="By hand: count the rows",
    kind="by hand",
    answer="rows_by_hand",
    points=2,
    difficulty=1,
    minutes=8,
    hints=(
        "Write the distances down from the smallest to the largest, and number them from 0.",
        "Without a clip, 6 tokens have the distances -5 to 5. With clip 3, a table has the distances "
        "-3 to 3, and everything beyond counts as the end. The table stays as it is, whatever "
        "sequence is looked up in it.",
        "A distance's row is the distance (clipped, if there is a clip) plus that of the largest "
        "distance. The slope of head h of 4 is $2^{-8h/4}$; the bias is minus slope times distance.",
    ),
    returns=("numbers",),
    cases=lambda random: [Case("your numbers", Call())],
    contents=lambda: Contents(on_paper, MISTAKES),
    whole_numbers_pass=True,
    absolute=0.005,
)
