"""06.counterexample and 06.allowed_pairs: two masks of opposite meaning, joined by the wrong word.

The faulty program is handed out in a locked cell. Learners first find masks on which it shows
(a test, written as data), then write the program as it should be.
"""

import numpy as np

from attnkit.numpy import causal_mask, combine_masks, from_drop_mask

from ..laws import same
from ..model import Case, Contents, Exercise, Finding, Mistake, Part
from ..surface import Call
from .given import faulty_allowed_pairs


def allowed_pairs(causal, padding):
    """The program as it should be, from the library's masks."""
    return combine_masks(causal, from_drop_mask(padding)[:, None, :])


# ---------------------------------------------------------------- the counterexample


def a_counterexample():
    """Masks on which the fault shows."""
    return np.tri(3, dtype=bool), np.array([[False, False, False], [False, False, True]])


def judge_counterexample(request, value):
    """Whether the faulty program runs and lets the wrong pairs through on `value`."""
    causal, padding = value
    if causal.ndim != 2:
        return Finding(
            "shape",
            "causal",
            f"expected causal to be a table of two axes, (m, n), got shape {causal.shape}.",
        )
    n = causal.shape[1]
    if padding.ndim != 2 or padding.shape[1] != n:
        return Finding(
            "shape",
            f"padding of {padding.ndim} axes",
            f"causal is about {n} keys, so expected padding of shape (B, {n}), got "
            f"{padding.shape}.",
        )
    for name, mask in (("causal", causal), ("padding", padding)):
        if mask.dtype != bool:
            return Finding("dtype", name, f"expected {name} of True and False, got {mask.dtype}.")
    if causal.size == 0 or padding.size == 0:
        return Finding("value", "empty", "without any pairs there is nothing to see.")
    if not (causal == causal_mask(*causal.shape)).all():
        turned = (causal == ~causal_mask(*causal.shape)).all()
        return Finding(
            "value",
            "turned round" if turned else "not causal",
            "causal is no causal mask. With invented masks anything can be shown; the fault must "
            "show on what the program is meant for: np.tri(3, dtype=bool), say.",
        )
    leaks = faulty_allowed_pairs(causal, padding) & ~allowed_pairs(causal, padding)
    future, past = leaks & ~causal, leaks & causal
    if future.any() and past.any():
        return None
    if future.any():
        return Finding("value", "only the future", _HALF.format("words of the future", "padding"))
    if past.any():
        return Finding("value", "only padding", _HALF.format("padding", "the future"))
    return Finding(
        "value",
        "nothing hidden",
        "on these masks the faulty program and a right one allow the same pairs, so a test with "
        "them would let the fault through.",
    )


_HALF = (
    "on these masks the faulty program lets {0} through, but {1} stays hidden. A program that is "
    "mended by half would pass a test with them; let both show."
)


def last_query_without_padding():
    return np.ones((1, 4), bool), np.zeros((2, 4), bool)


def no_padding():
    return np.tri(3, dtype=bool), np.zeros((1, 3), bool)


def one_query():
    return np.ones((1, 3), bool), np.array([[False, False, True]])


def first_rows_only():
    return np.array([[True, False, False], [True, True, False]]), np.array([[False, False, True]])


def numbers_for_masks():
    return np.tri(3), np.array([[0, 0, 0], [0, 0, 1]])


def padding_of_one_sentence():
    return np.tri(3, dtype=bool), np.array([False, False, True])


def padding_with_an_axis_for_queries():
    return np.tri(3, dtype=bool), np.array([[[False, False, True]]])


def sizes_that_do_not_fit():
    return np.tri(3, dtype=bool), np.array([[False, False, False, True]])


def causal_alone():
    return np.tri(3, dtype=bool)


def true_for_the_future():
    return ~np.tri(3, dtype=bool), np.array([[False, False, True]])


def causal_for_each_sentence():
    return np.ones((2, 3, 3), bool) & np.tri(3, dtype=bool), np.array([[False, False, True]] * 2)


def no_sentences():
    return np.tri(3, dtype=bool), np.zeros((0, 3), bool)


COUNTEREXAMPLE_MISTAKES = (
    Mistake(
        "one query that may see everything, no padding",
        last_query_without_padding,
        "Neither mask hides anything, so it does not matter how they are joined. Let one of them "
        "hide something.",
    ),
    Mistake(
        "no padding",
        no_padding,
        "Without padding you show that the future leaks, and only that. Add a sentence that is "
        "shorter than the others.",
    ),
    Mistake(
        "one query",
        one_query,
        "The last query has no future, so you show that padding leaks, and only that. Take a causal "
        "mask with several rows.",
    ),
    Mistake(
        "the first rows only",
        first_rows_only,
        "Fewer queries than keys are the *last* positions; these are the first. Take a whole causal "
        "mask, with a row for every position.",
    ),
    Mistake(
        "numbers for masks",
        numbers_for_masks,
        "np.tri makes floating-point numbers, and `~` refuses them. Masks hold True and False: "
        "np.tri(3, dtype=bool).",
    ),
    Mistake(
        "the padding of one sentence",
        padding_of_one_sentence,
        "padding has a row for each sentence, (B, n). Put a second pair of brackets around it.",
    ),
    Mistake(
        "an axis too many in padding",
        padding_with_an_axis_for_queries,
        "The axis for the queries is added inside the program. Hand in (B, n).",
    ),
    Mistake(
        "sizes that do not fit together",
        sizes_that_do_not_fit,
        "Both masks are about the same n keys: as many columns in padding as in causal.",
    ),
    Mistake(
        "the causal mask alone",
        causal_alone,
        "The program takes two things, causal and padding. Return both.",
    ),
    Mistake(
        "True for the future",
        true_for_the_future,
        "Your causal mask is True for the future. Read the docstrings again: the two masks that meet "
        "in this program do not mean the same by True, and that is where to look.",
    ),
    Mistake(
        "a causal mask for each sentence",
        causal_for_each_sentence,
        "One causal mask, (m, n), serves all sentences.",
    ),
    Mistake(
        "no sentences",
        no_sentences,
        "Without a sentence nothing is computed, so nothing can be wrong.",
    ),
)

COUNTEREXAMPLE = Exercise(
    identifier="06.counterexample",
    assignment="06_self_attention",
    title="Find masks on which the fault shows",
    kind="counterexample",
    answer="counterexample",
    points=2,
    difficulty=2,
    minutes=8,
    hints=(
        "Write down, for one query and one key, the four combinations of *in the future or not* and "
        "*padding or not*. Which of the four does the program hide, and which should it hide?",
        "It hides only what both masks would hide. So look for a pair that must be hidden because of "
        "the future alone, and for one that must be hidden because of padding alone.",
        "A causal mask of three rows and columns, and one sentence of two words. The first query may "
        "not see the second word, which is no padding; the last query may not see its own position, "
        "which is padding.",
    ),
    returns=("causal", "padding"),
    cases=lambda random: [Case("your masks", Call())],
    judge=judge_counterexample,
    contents=lambda: Contents(a_counterexample, COUNTEREXAMPLE_MISTAKES),
)


# ---------------------------------------------------------------- the mended program


def _padding(lengths, n):
    return np.arange(n) >= np.asarray(lengths)[:, None]


def cases(random):
    n = int(random.integers(4, 6))
    scattered = random.random((2, 6)) < 0.4
    scattered[0, :3], scattered[1, :3] = (False, True, False), (True, False, False)
    scattered[:, 3] = False, True
    return [
        Case(
            "two sentences of unequal length",
            Call({"causal": causal_mask(n, n), "padding": _padding([n - 1, 2], n)}),
        ),
        Case(
            "three sentences of three positions",
            Call(
                {
                    "causal": causal_mask(3, 3),
                    "padding": _padding(random.permutation(3) + 1, 3),
                }
            ),
        ),
        Case(
            "two queries at the end of five positions",
            Call({"causal": causal_mask(2, 5), "padding": _padding(random.permutation(2) + 3, 5)}),
            "care",
        ),
        Case(
            "padding at the beginning and in between",
            Call({"causal": causal_mask(4, 6), "padding": scattered}),
            "care",
        ),
        Case(
            "a sentence without any words",
            Call({"causal": causal_mask(n, n), "padding": _padding([0, 3, n], n)}),
            "care",
        ),
    ]


def _sentences_turned_round(random):
    padding = _padding(random.permutation(4)[:3] + 1, 5)
    return [
        Call({"causal": causal_mask(3, 5), "padding": padding}),
        Call({"causal": causal_mask(3, 5), "padding": padding[::-1]}),
    ]


def as_it_was(causal, padding):
    hidden = ~causal & padding[:, None, :]
    return ~hidden


def padding_not_turned(causal, padding):
    return causal & padding[:, None, :]


def either_allows(causal, padding):
    return causal | ~padding[:, None, :]


def joined_by_or(causal, padding):
    return causal | padding[:, None, :]


def hidden_returned(causal, padding):
    return ~causal | padding[:, None, :]


def causal_turned_too(causal, padding):
    return ~causal & ~padding[:, None, :]


def one_or_the_other(causal, padding):
    return ~(~causal ^ padding[:, None, :])


def axis_at_the_end(causal, padding):
    return causal & ~padding[:, :, None]


def axis_forgotten(causal, padding):
    return causal & ~padding


def padding_dropped(causal, padding):
    return np.broadcast_to(causal, (len(padding), *causal.shape)).copy()


def causal_dropped(causal, padding):
    return np.repeat(~padding[:, None, :], len(causal), axis=1)


def numbers_subtracted(causal, padding):
    return causal * (1 - padding[:, None, :])


def padding_at_the_end(causal, padding):
    n = padding.shape[1]
    lengths = n - padding.sum(axis=1)
    return causal & (np.arange(n) < lengths[:, None, None])


def padding_turned_in_place(causal, padding):
    np.logical_not(padding, out=padding)
    return causal & padding[:, None, :]


MENDED_MISTAKES = (
    Mistake(
        "as it was",
        as_it_was,
        "Only pairs that lie in the future *and* are padding are hidden. A pair must be hidden if "
        "either is the case. When masks are turned round, *and* and *or* change places.",
    ),
    Mistake(
        "either mask allows",
        either_allows,
        "This is the same program in other words: not (future and padding) is (not future) or (not "
        "padding). A pair must be allowed by both.",
        same_as="as it was",
    ),
    Mistake(
        "padding not turned round",
        padding_not_turned,
        "padding is True where nothing stands, and you let queries look exactly there. Turn it round "
        "first: ~padding.",
    ),
    Mistake(
        "joined by or",
        joined_by_or,
        "Masks of opposite meaning were joined as they are. Give both the same meaning first, then "
        "think about *and* and *or*.",
    ),
    Mistake(
        "hidden pairs returned",
        hidden_returned,
        "You return what is hidden. Asked for is what may be looked at: turn the result round.",
    ),
    Mistake(
        "the causal mask turned round too",
        causal_turned_too,
        "causal is True where a query may look; only padding has the other meaning. You turned both.",
    ),
    Mistake(
        "one or the other, but not both",
        one_or_the_other,
        "^ is *either or*: padding that lies in the future is hidden twice and so let through again.",
    ),
    Mistake(
        "the new axis at the end",
        axis_at_the_end,
        "(B, n, 1) lets the padding choose among the queries. It is about keys: (B, 1, n).",
    ),
    Mistake(
        "the new axis forgotten",
        axis_forgotten,
        "(B, n) is lined up with (m, n): sentence i's padding meets query i. It needs an axis for "
        "the queries.",
    ),
    Mistake(
        "padding left out",
        padding_dropped,
        "Only the causal mask is left. Padding that lies in the past must be hidden as well.",
    ),
    Mistake(
        "the causal mask left out",
        causal_dropped,
        "Only the padding is hidden; every query sees its future.",
    ),
    Mistake(
        "numbers in place of True and False",
        numbers_subtracted,
        "1 - padding makes numbers of truth values. They look right until somebody writes ~ before "
        "them: ~1 is -2, which is true.",
    ),
    Mistake(
        "padding taken to be at the end",
        padding_at_the_end,
        "You count the padding and hide that many keys at the end. padding says *which* positions "
        "are empty; they may stand in front or in between.",
    ),
    Mistake(
        "padding turned round in place",
        padding_turned_in_place,
        "The pairs are right, but the caller's padding is turned round afterwards. ~padding makes a "
        "new array.",
    ),
)

MENDED = Exercise(
    identifier="06.allowed_pairs",
    assignment="06_self_attention",
    title="Mend the program",
    kind="mended",
    answer="allowed_pairs",
    points=2,
    difficulty=2,
    minutes=6,
    hints=(
        "What does True mean in each of the two masks? And in the result?",
        "Either give both the meaning *may look* and join them by *and*, or give both the meaning "
        "*hidden* and join them by *or*.",
        "Only `padding` has to be turned round, by `~`. It needs an axis for the queries, as before.",
    ),
    returns=("allowed pairs",),
    cases=cases,
    laws=(
        same(
            "Sentences do not influence each other",
            _sentences_turned_round,
            "with the sentences in reverse order, the masks were not just reversed.",
            undo=lambda allowed: allowed[::-1],
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with few queries, scattered padding or an empty sentence", 0.5),
    ),
    contents=lambda: Contents(allowed_pairs, MENDED_MISTAKES),
)
