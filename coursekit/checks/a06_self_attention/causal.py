"""06.causal_mask: no look into the future, also when the queries are the last of many positions."""

import numpy as np

from attnkit.numpy import causal_mask

from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def _fewer(random):
    m = int(random.integers(2, 7))
    return {"m": m, "n": m + int(random.integers(2, 5))}


def cases(random):
    size = int(random.integers(3, 8))
    fewer, more = _fewer(random), _fewer(random)
    return [
        Case("as many queries as keys", Call({"m": size, "n": size})),
        Case("one query and one key more than that", Call({"m": size + 1, "n": size + 1})),
        Case("fewer queries than keys", Call(fewer), "end"),
        Case("one query and many keys", Call({"m": 1, "n": size + 2}), "end"),
        Case("more queries than keys", Call({"m": more["n"], "n": more["m"]}), "end"),
    ]


def _one_position_more(random):
    size = int(random.integers(3, 8))
    return [Call({"m": size, "n": size}), Call({"m": size + 1, "n": size + 1})]


def counted_from_the_start(m, n):
    return np.arange(n) <= np.arange(m)[:, None]


def not_at_itself(m, n):
    return np.arange(n) < np.arange(m)[:, None] + n - m


def only_the_future(m, n):
    return np.arange(n) >= np.arange(m)[:, None] + n - m


def true_for_the_future(m, n):
    return np.arange(n) > np.arange(m)[:, None] + n - m


def keys_down_the_side(m, n):
    return np.arange(n)[:, None] <= np.arange(m) + n - m


def numbers_for_a_mask(m, n):
    return np.tri(m, n, n - m)


def numbers_to_add(m, n):
    return np.where(np.tri(m, n, n - m) > 0, 0.0, -np.inf)


def always_square(m, n):
    return np.tri(n, dtype=bool)


def offset_turned_round(m, n):
    return np.arange(n) <= np.arange(m)[:, None] + m - n


def offset_never_negative(m, n):
    return np.arange(n) <= np.arange(m)[:, None] + max(n - m, 0)


def last_rows_of_a_square(m, n):
    return np.tri(n, dtype=bool)[-m:]


def own_position_only(m, n):
    return np.arange(n) == np.arange(m)[:, None] + n - m


def numbers_counted_from_the_start(m, n):
    return np.tril(np.ones((m, n)))


def upper_triangle(m, n):
    return np.triu(np.ones((m, n), bool))


MISTAKES = (
    Mistake(
        "counted from the start",
        counted_from_the_start,
        "For as many queries as keys this is right. With fewer, your first query stands at the first "
        "key. When a model writes word by word, the queries are the *last* positions and the earlier "
        "keys come from a cache: query i stands at position i + n - m, so the last query sees all.",
    ),
    Mistake(
        "no look at itself",
        not_at_itself,
        "The diagonal is hidden. A query may look at its own position; without it, the first query "
        "could look at nothing at all.",
    ),
    Mistake(
        "the future instead of the past",
        only_the_future,
        "Your queries see what comes after them and not what came before. Key j may be looked at if "
        "j is at most the query's own position.",
    ),
    Mistake(
        "True for the future",
        true_for_the_future,
        "The mask is turned round: it is True where a query must *not* look. That is how some "
        "libraries want it. Here True means *may look*.",
    ),
    Mistake(
        "keys down the side",
        keys_down_the_side,
        "Your mask has a row for each key. Queries look, so they stand down the side: (m, n).",
    ),
    Mistake(
        "numbers for a mask",
        numbers_for_a_mask,
        "np.tri and np.tril(np.ones(…)) make floating-point numbers. A mask holds True and False: "
        "give dtype=bool, or compare.",
    ),
    Mistake(
        "numbers to add to the scores",
        numbers_to_add,
        "This is the additive form, 0 and -inf. A boolean mask is asked for.",
    ),
    Mistake(
        "always square",
        always_square,
        "Your mask has n rows whatever m is. There is a row for each query.",
    ),
    Mistake(
        "the offset turned round",
        offset_turned_round,
        "You moved the queries the wrong way. The last query, i = m - 1, must stand at the last key, "
        "j = n - 1: add n - m.",
    ),
    Mistake(
        "an offset that is never negative",
        offset_never_negative,
        "With more queries than keys, n - m is negative and has to stay so: the last query still "
        "meets the last key, and the first ones see nothing. An empty row is no error.",
    ),
    Mistake(
        "the last rows of a square",
        last_rows_of_a_square,
        "The last m rows of an n by n mask are right as long as there are n of them. With more "
        "queries than keys you return too few rows; the first queries need empty ones.",
    ),
    Mistake(
        "its own position only",
        own_position_only,
        "Each query sees exactly one key, its own. Everything before it is allowed too: <=, not ==.",
    ),
    Mistake(
        "numbers for a mask, counted from the start",
        numbers_counted_from_the_start,
        "np.tril(np.ones(…)) makes floating-point numbers; a mask holds True and False: give "
        "dtype=bool. And with fewer queries than keys the queries are the *last* positions, so the "
        "triangle must reach the last key: query i stands at position i + n - m.",
    ),
    Mistake(
        "the upper triangle",
        upper_triangle,
        "The upper triangle is where a key comes *later* than the query: the future. And both are counted "
        "from the start, while the last query stands at the last key.",
    ),
)

EXERCISE = Exercise(
    identifier="06.causal_mask",
    assignment="06_self_attention",
    title="The causal mask",
    kind="vectorised",
    answer="causal_mask",
    points=3,
    difficulty=2,
    minutes=10,
    hints=(
        "At which position does the last query stand, and at which the first?",
        "Write the positions of the queries as a column and those of the keys as a row, and compare "
        "them. Key positions are 0 to n - 1; the queries are the *last* m of these positions.",
        "`np.arange(m)[:, None] + (n - m)` are the query positions, `np.arange(n)` the key "
        "positions. A key may be looked at if its position is not larger. Nothing special is needed "
        "for m > n: positions below 0 see nothing.",
    ),
    returns=("mask",),
    cases=cases,
    laws=(
        same(
            "A later query and a later key change nothing for the earlier ones",
            _one_position_more,
            "in the larger mask the earlier queries may look at other keys.",
            undo=lambda mask: mask[:-1, :-1],
        ),
    ),
    parts=(
        Part("plain", "the cases with as many queries as keys", 1 / 3),
        Part("end", "those with fewer or more queries", 2 / 3),
    ),
    contents=lambda: Contents(causal_mask, MISTAKES),
)
