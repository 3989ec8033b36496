"""06.padding_mask: which keys of each sentence are real, for every query."""

import numpy as np

from attnkit.numpy import padding_mask

from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def cases(random):
    n = int(random.integers(4, 7))
    shorter = random.permutation(n - 1)[:3] + 1  # three different lengths, none of them full
    return [
        Case(
            "three sentences of different lengths, all shorter than n",
            Call({"lengths": shorter, "n": n + 1}),
        ),
        Case(
            "as many sentences as positions",
            Call({"lengths": random.permutation(3) % 2 + 1, "n": 3}),
        ),
        Case(
            "a sentence that fills its row",
            Call({"lengths": np.array([n, *shorter[:1]]), "n": n}),
            "care",
        ),
        Case(
            "a sentence without any words",
            Call({"lengths": np.array([*shorter[:2], 0]), "n": n}),
            "care",
        ),
        Case(
            "one sentence only",
            Call({"lengths": shorter[:1].astype(np.int32), "n": n + 3}),
            "care",
        ),
    ]


def _sentences_turned_round(random):
    lengths = random.permutation(6)[:4]
    return [Call({"lengths": lengths, "n": 6}), Call({"lengths": lengths[::-1], "n": 6})]


def no_axis_for_queries(lengths, n):
    return np.arange(n) < lengths[:, None]


def axis_at_the_end(lengths, n):
    return (np.arange(n) < lengths[:, None])[:, :, None]


def true_for_padding(lengths, n):
    return np.arange(n) >= lengths[:, None, None]


def one_too_many(lengths, n):
    return np.arange(n) <= lengths[:, None, None]


def one_too_few(lengths, n):
    return np.arange(1, n + 1) < lengths[:, None, None]


def words_at_the_end(lengths, n):
    return np.arange(n) >= n - lengths[:, None, None]


def numbers_for_a_mask(lengths, n):
    return (np.arange(n) < lengths[:, None, None]).astype(int)


def numbers_to_add(lengths, n):
    return np.where(np.arange(n) < lengths[:, None, None], 0.0, -np.inf)


def as_wide_as_the_longest(lengths, n):
    return np.arange(lengths.max()) < lengths[:, None, None]


def last_word_only(lengths, n):
    return np.arange(n) == lengths[:, None, None] - 1


def queries_masked_too(lengths, n):
    keep = np.arange(n) < lengths[:, None]
    return keep[:, :, None] & keep[:, None, :]


def for_every_query(lengths, n):
    return np.repeat((np.arange(n) < lengths[:, None])[:, None, :], n, axis=1)


def lengths_in_a_row(lengths, n):
    return (np.arange(n) < lengths)[:, None, None]


def cut_from_the_end(lengths, n):
    mask = np.ones((len(lengths), 1, n), bool)
    for b, length in enumerate(lengths):
        mask[b, 0, -(n - length) :] = False
    return mask


MISTAKES = (
    Mistake(
        "no axis for the queries",
        no_axis_for_queries,
        "Your mask is (B, n). Next to scores (B, m, n) NumPy would line it up with (m, n), and when "
        "B happens to equal m nobody would notice that query i got sentence i's mask. The axis of "
        "size 1 in the middle stands for *every query*.",
    ),
    Mistake(
        "the new axis at the end",
        axis_at_the_end,
        "(B, n, 1) would let the mask choose among the queries. It is about keys, the last axis: "
        "the axis of size 1 stands before it, (B, 1, n).",
    ),
    Mistake(
        "True for padding",
        true_for_padding,
        "The mask is turned round: it is True at the padding. In this course True means *may be "
        "looked at*. Other libraries do it the other way, so look at this first whenever masks "
        "from two places meet.",
    ),
    Mistake(
        "one key too many",
        one_too_many,
        "The first position after each sentence is let in as well. Positions count from 0, so a "
        "sentence of 3 words has the positions 0, 1 and 2: less than the length, not equal to it.",
    ),
    Mistake(
        "one key too few",
        one_too_few,
        "The last word of each sentence is hidden. Positions count from 0 here: the last word of "
        "a sentence of 3 stands at position 2.",
    ),
    Mistake(
        "words at the end",
        words_at_the_end,
        "You expect the padding in front. Here the words come first and the padding follows.",
    ),
    Mistake(
        "numbers for a mask",
        numbers_for_a_mask,
        "The mask holds 0 and 1. They look harmless, but ~1 is -2, which still counts as true, so "
        "the first `~mask` hides everything or nothing. A comparison gives booleans; leave them.",
    ),
    Mistake(
        "numbers to add to the scores",
        numbers_to_add,
        "This is the additive form, 0 and -inf, to be added to scores. A boolean mask is asked for: "
        "it can be combined with others by & and does not depend on a number format.",
    ),
    Mistake(
        "as wide as the longest sentence",
        as_wide_as_the_longest,
        "Your mask ends with the longest sentence. The array has n positions; a batch may be padded "
        "further than its longest sentence.",
    ),
    Mistake(
        "the last word only",
        last_word_only,
        "You mark one position in each sentence, that of its last word. All positions up to it are "
        "real: compare with <, not with ==.",
    ),
    Mistake(
        "queries masked too",
        queries_masked_too,
        "You hid the rows of padding queries as well. A padding mask hides keys only; a hidden row "
        "is an empty row, and it is nobody's business what a padding position computes.",
    ),
    Mistake(
        "a row for every query",
        for_every_query,
        "The same row is repeated for n queries. That fits only if there are as many queries as "
        "keys, and it takes memory for nothing: an axis of size 1 is stretched to any number of "
        "queries.",
    ),
    Mistake(
        "lengths in a row",
        lengths_in_a_row,
        "Positions and lengths were compared one to one, as if sentence i had only position i. "
        "Let each length meet all positions: give the lengths axes of size 1 behind them.",
    ),
    Mistake(
        "cut from the end",
        cut_from_the_end,
        "For a sentence without padding, -(n - length) is -0, which is 0: the slice begins at the "
        "front and hides the whole sentence. Compare positions with lengths instead of counting "
        "backwards.",
    ),
)

EXERCISE = Exercise(
    identifier="06.padding_mask",
    assignment="06_self_attention",
    title="The padding mask",
    kind="vectorised",
    answer="padding_mask",
    points=2,
    difficulty=1,
    minutes=8,
    hints=(
        "For one sentence: how do you find out from a position and a length whether a word stands "
        "there?",
        "`np.arange(n)` holds all positions. Each sentence's length must be compared with every one "
        "of them; axes of size 1 make NumPy do that.",
        "`lengths[:, None, None]` has shape `(B, 1, 1)`. Compared with the positions, shape `(n,)`, "
        "it gives `(B, 1, n)`. The comparison is `<`.",
    ),
    returns=("mask",),
    cases=cases,
    laws=(
        same(
            "Sentences do not influence each other",
            _sentences_turned_round,
            "with the lengths in reverse order, the rows of the mask were not just reversed.",
            undo=lambda mask: mask[::-1],
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with a full, an empty or a single sentence", 0.5),
    ),
    contents=lambda: Contents(padding_mask, MISTAKES),
)
