"""08.relative_index: the row of a table of distances that each pair of query and key reads."""

import numpy as np

from attnkit.numpy import relative_index

from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def cases(random):
    size, m = int(random.integers(3, 5)), int(random.integers(2, 4))
    return [
        Case(
            "as many queries as keys, nothing clipped",
            Call({"m": size, "n": size, "clip": size - 1}),
        ),
        Case(
            "as many queries as keys, far distances clipped",
            Call({"m": 4, "n": 4, "clip": int(random.integers(1, 3))}),
        ),
        Case(
            "a clip beyond every distance",
            Call({"m": 3, "n": 3, "clip": int(random.integers(4, 8))}),
        ),
        Case("clip 0", Call({"m": size, "n": size, "clip": 0}), "care"),
        Case("fewer queries than keys", Call({"m": m, "n": m + 3, "clip": 2}), "care"),
        Case("one query and many keys", Call({"m": 1, "n": size + 3, "clip": size}), "care"),
        Case("more queries than keys", Call({"m": m + 3, "n": m, "clip": 2}), "care"),
    ]


def _one_position_more(random):
    m, n, clip = (int(random.integers(3, 7)) for _ in range(3))
    return [
        Call({"m": m, "n": n, "clip": clip}),
        Call({"m": m + 1, "n": n + 1, "clip": clip}),
    ]


def query_minus_key(m, n, clip):
    distance = np.arange(m)[:, None] + n - m - np.arange(n)
    return np.clip(distance, -clip, clip) + clip


def counted_from_the_start(m, n, clip):
    distance = np.arange(n) - np.arange(m)[:, None]
    return np.clip(distance, -clip, clip) + clip


def offset_turned_round(m, n, clip):
    distance = np.arange(n) - (np.arange(m)[:, None] + m - n)
    return np.clip(distance, -clip, clip) + clip


def offset_forgotten(m, n, clip):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return np.clip(distance, -clip, clip)


def offset_of_the_sequence(m, n, clip):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return np.clip(distance, -clip, clip) + n - 1


def one_row_off(m, n, clip):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return np.clip(distance, -clip, clip) + clip + 1


def clip_forgotten(m, n, clip):
    return np.arange(n) - (np.arange(m)[:, None] + n - m) + clip


def clipped_on_one_side(m, n, clip):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return np.minimum(distance, clip) + clip


def moved_and_clipped_to_the_clip(m, n, clip):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return np.clip(distance + clip, 0, clip)


def an_even_number_of_rows(m, n, clip):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return np.clip(distance, -clip, clip - 1) + clip


def sides_not_told_apart(m, n, clip):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return np.minimum(np.abs(distance), clip)


def wrapped_round(m, n, clip):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return (distance + clip) % (2 * clip + 1)


def keys_down_the_side(m, n, clip):
    distance = np.arange(n)[:, None] - (np.arange(m) + n - m)
    return np.clip(distance, -clip, clip) + clip


def floating_point_rows(m, n, clip):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return np.clip(distance, -float(clip), float(clip)) + clip


def smallest_subtracted(m, n, clip):
    distance = np.clip(np.arange(n) - (np.arange(m)[:, None] + n - m), -clip, clip)
    return distance - distance.min()


def never_before_the_first(m, n, clip):
    distance = np.arange(n) - (np.arange(m)[:, None] + max(n - m, 0))
    return np.clip(distance, -clip, clip) + clip


MISTAKES = (
    Mistake(
        "query minus key",
        query_minus_key,
        "The distances have the wrong sign. A distance is the position of the key minus that of the "
        "query: what comes before the query is negative and has the first rows.",
    ),
    Mistake(
        "counted from the start",
        counted_from_the_start,
        "For as many queries as keys this is right. With fewer, they are the *last* positions: query "
        "i stands at i + n - m, so that the last query meets the last key at distance 0.",
    ),
    Mistake(
        "the queries moved the wrong way",
        offset_turned_round,
        "You moved the queries by m - n. The last query, i = m - 1, must stand at the last key, "
        "j = n - 1: add n - m.",
    ),
    Mistake(
        "the offset forgotten",
        offset_forgotten,
        "These are clipped distances, and some are negative. As rows of an array they would count "
        "from its end, without any error. Add clip, so that the smallest is 0.",
    ),
    Mistake(
        "the offset of the sequence at hand",
        offset_of_the_sequence,
        "You add n - 1, so distance 0 has another row in a longer sequence. The table is the same "
        "for every sequence; its middle row is number clip.",
    ),
    Mistake(
        "one row off",
        one_row_off,
        "Every row number is one too large: row 0 is never used, and 2 * clip + 1 lies behind the "
        "end of the table. The smallest distance, -clip, has row 0.",
    ),
    Mistake(
        "the clip forgotten",
        clip_forgotten,
        "As long as all distances are small this is right. Beyond clip, row numbers become negative "
        "(and NumPy counts from the end) or too large. Clip distances before you add.",
    ),
    Mistake(
        "clipped on one side",
        clipped_on_one_side,
        "Keys far after the query are clipped, keys far before it are not: their row numbers are "
        "negative, and NumPy takes rows from the other end of the table. Clip on both sides.",
    ),
    Mistake(
        "row numbers clipped to the clip",
        moved_and_clipped_to_the_clip,
        "You added clip first and then clipped to 0 … clip, so every key after the query shares the "
        "row of distance 0. Row numbers go up to 2 * clip.",
    ),
    Mistake(
        "an even number of rows",
        an_even_number_of_rows,
        "The farthest row on the right is missing: distance clip shares a row with clip - 1. There "
        "are clip rows on *each* side and one for distance 0.",
    ),
    Mistake(
        "before and after not told apart",
        sides_not_told_apart,
        "You took the absolute distance. Whether a word stands before or after is what a relative "
        "table is there to know.",
    ),
    Mistake(
        "wrapped round",
        wrapped_round,
        "% wraps distances beyond the table round to its other end: a key far after the query reads "
        "a row of the keys before it. Far distances count as the farthest, so clip.",
    ),
    Mistake(
        "keys down the side",
        keys_down_the_side,
        "Your table has a row for each key. Queries look, so they stand down the side: (m, n).",
    ),
    Mistake(
        "floating-point rows",
        floating_point_rows,
        "Rows of an array are looked up with whole numbers; NumPy refuses 2.0 as a row.",
    ),
    Mistake(
        "the smallest distance at hand",
        smallest_subtracted,
        "You number rows from the smallest distance of *this* call, so distance 0 has another row "
        "in a longer sequence. The smallest distance of the table is -clip, always: add clip.",
    ),
    Mistake(
        "no query before the first key",
        never_before_the_first,
        "With more queries than keys n - m is negative, and so it should be: the first queries "
        "stand *before* all keys. You made it 0, as if they began at the first key.",
    ),
)

EXERCISE = Exercise(
    identifier="08.relative_index",
    assignment="08_position",
    title="The relative index",
    kind="vectorised",
    answer="relative_index",
    points=3,
    difficulty=2,
    minutes=12,
    hints=(
        "Write the positions of the queries as a column and those of the keys as a row. What is "
        "their difference? And which row has the smallest distance?",
        "Three steps: the distance of each pair, key minus query; clipped on both sides; moved so "
        "that the smallest possible one becomes 0. The queries are the *last* m of the n positions.",
        "`np.arange(m)[:, None] + (n - m)` are the positions of the queries. `np.clip(distance, "
        "lowest, highest)` clips. What is added is the same number for every m and n.",
    ),
    returns=("index",),
    cases=cases,
    laws=(
        same(
            "A later query and a later key change nothing for the earlier ones",
            _one_position_more,
            "in the larger table the earlier pairs read other rows.",
            undo=lambda index: index[:-1, :-1],
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 2 / 3),
        Part("care", "those with clip 0, fewer or more queries", 1 / 3),
    ),
    contents=lambda: Contents(relative_index, MISTAKES),
)
