"""05.local_m_mask: a window that runs in step with the queries."""

import numpy as np

from attnkit.numpy import local_m_mask

from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def _call(m, n, window):
    return Call({"m": int(m), "n": int(n), "window": int(window)})


def cases(random):
    size = random.integers(6, 9)
    return [
        Case("as many queries as keys", _call(size, size, 1)),
        Case("as many queries as keys, and a wider window", _call(size + 1, size + 1, 2)),
        Case("fewer queries than keys", _call(random.integers(3, 5), size, 2), "care"),
        Case("more queries than keys", _call(size + 3, random.integers(3, 5), 1), "care"),
        Case("a window of width 0", _call(4, random.integers(5, 8), 0), "care"),
        Case("a window wider than the sentence", _call(3, 4, random.integers(4, 9)), "care"),
    ]


def _languages_exchanged(random):
    m, n = random.integers(3, 6), random.integers(6, 9)
    return [_call(m, n, 2), _call(n, m, 2)]


def strictly_nearer(m, n, window):
    return np.abs(np.arange(m)[:, None] - np.arange(n)) < window


def ends_aligned(m, n, window):
    return np.abs(np.arange(m)[:, None] + n - m - np.arange(n)) <= window


def in_proportion(m, n, window):
    centre = np.arange(m)[:, None] * (n - 1) / max(m - 1, 1)
    return np.abs(centre - np.arange(n)) <= window


def backwards_only(m, n, window):
    distance = np.arange(m)[:, None] - np.arange(n)
    return (distance >= 0) & (distance <= window)


def sign_forgotten(m, n, window):
    return np.arange(m)[:, None] - np.arange(n) <= window


def half_the_window(m, n, window):
    return np.abs(np.arange(m)[:, None] - np.arange(n)) <= window // 2


def true_outside(m, n, window):
    return np.abs(np.arange(m)[:, None] - np.arange(n)) > window


def keys_down_the_side(m, n, window):
    return np.abs(np.arange(n)[:, None] - np.arange(m)) <= window


def numbers_for_a_mask(m, n, window):
    return np.tri(m, n, window) - np.tri(m, n, -window - 1)


def always_square(m, n, window):
    return np.abs(np.arange(n)[:, None] - np.arange(n)) <= window


def window_kept_inside(m, n, window):
    centre = np.minimum(np.arange(m), n - 1)[:, None]
    return np.abs(centre - np.arange(n)) <= window


def counted_from_one(m, n, window):
    return np.abs(np.arange(m)[:, None] + 1 - np.arange(n)) <= window


def slice_from_the_end(m, n, window):
    mask = np.zeros((m, n), bool)
    for i in range(m):
        mask[i, i - window : i + window + 1] = True
    return mask


MISTAKES = (
    Mistake(
        "strictly nearer than the window",
        strictly_nearer,
        "A key exactly `window` places away belongs to the window: <=. So 2 window + 1 keys are seen.",
    ),
    Mistake(
        "aligned at the end",
        ends_aligned,
        "You put the last query at the last key, as a causal mask does. Here queries and keys are two "
        "sentences; both are counted from their beginning.",
    ),
    Mistake(
        "in proportion",
        in_proportion,
        "You stretch the queries over the whole source. That is a sensible idea, but local-m is "
        "simpler: query i looks around key i.",
    ),
    Mistake(
        "backwards only",
        backwards_only,
        "Your window ends at the query's own place. Nothing here is causal: it reaches as far forwards "
        "as back.",
    ),
    Mistake(
        "the sign left in",
        sign_forgotten,
        "You compare i - j itself, so all keys further on count as near. Compare the distance, "
        "np.abs.",
    ),
    Mistake(
        "the window taken as the whole width",
        half_the_window,
        "`window` is how far one sees to *each* side; you halve it.",
    ),
    Mistake(
        "True outside the window",
        true_outside,
        "The mask is turned round. True means *may be looked at*.",
    ),
    Mistake(
        "keys down the side",
        keys_down_the_side,
        "Your mask has a row for each key. Queries look, so they stand down the side: (m, n).",
    ),
    Mistake(
        "numbers for a mask",
        numbers_for_a_mask,
        "These are the numbers 0 and 1. A mask holds True and False: compare.",
    ),
    Mistake(
        "always square",
        always_square,
        "Your mask has n rows whatever m is. There is a row for each query.",
    ),
    Mistake(
        "the window kept inside",
        window_kept_inside,
        "For queries beyond the last key you keep the window at the end of the source. Local-m does "
        "not: such a query sees what is left of its window, perhaps nothing.",
    ),
    Mistake(
        "counted from one",
        counted_from_one,
        "Your windows are one key too far on. Query 0 looks around key 0.",
    ),
    Mistake(
        "a slice that begins before the first key",
        slice_from_the_end,
        "A slice that begins at a negative number begins counted from the *end*, so the first rows are "
        "empty or wrong. Begin at max(i - window, 0), or compare distances.",
    ),
)

EXERCISE = Exercise(
    identifier="05.local_m_mask",
    assignment="05_soft_and_hard",
    title="The window of local-m",
    kind="vectorised",
    answer="local_m_mask",
    points=2,
    difficulty=1,
    minutes=6,
    hints=(
        "How far is key j from the key that query i stands at?",
        "Put the places of the queries in a column and those of the keys in a row. The difference of "
        "both is a table, (m, n).",
        "`np.arange(m)[:, None]` is the column and `np.arange(n)` the row. Take `np.abs` of the "
        "difference, and compare with `<=`. Nothing special is needed for m > n.",
    ),
    returns=("mask",),
    cases=cases,
    laws=(
        same(
            "If queries and keys change places, rows and columns do",
            _languages_exchanged,
            "with n queries and m keys, the mask was not just turned on its side.",
            undo=lambda mask: mask.T,
            part="care",
        ),
    ),
    parts=(
        Part("plain", "the cases with as many queries as keys", 0.5),
        Part("care", "those with fewer or more queries, or an extreme window", 0.5),
    ),
    contents=lambda: Contents(local_m_mask, MISTAKES),
)
