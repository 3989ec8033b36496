"""04.counterexample and 04.attention_weights: a padding mask that is read as something else.

The faulty program is handed out in a locked cell. Learners first find arrays on which it shows
(a test, written as data), then write the program as it should be.
"""

import numpy as np

from attnkit.numpy import masked_softmax as reference_softmax

from ..draw import normal, readable
from ..judges import shows
from ..laws import same
from ..model import Case, Contents, Exercise, Finding, Mistake, Part
from ..surface import Call
from .given import faulty_attention_weights, masked_softmax


def attention_weights(scores, keep):
    """The program as it should be, from the library's softmax."""
    return reference_softmax(scores, keep[:, None, :])


# ---------------------------------------------------------------- the counterexample


def a_counterexample():
    """Arrays on which the fault shows."""
    return np.zeros((2, 2, 3)), np.array([[True, True, True], [True, False, False]])


def judge_counterexample(request, value):
    """Whether the faulty program runs and gives visibly wrong weights on `value`."""
    scores, keep = value
    if scores.ndim != 3:
        return Finding(
            "shape",
            "not three axes",
            f"expected scores of three axes, (B, m, n), got shape {scores.shape}.",
        )
    batch, _, n = scores.shape
    if keep.shape != (batch, n):
        return Finding(
            "shape",
            "keep does not fit",
            f"scores are for {batch} sentences of {n} words, so expected keep of shape "
            f"({batch}, {n}), got {keep.shape}.",
        )
    if keep.dtype != bool:
        return Finding(
            "dtype", "keep is not boolean", f"expected keep of True and False, got {keep.dtype}."
        )
    if scores.dtype.kind not in "fiu":
        return Finding("dtype", "scores", f"expected numbers in scores, got {scores.dtype}.")
    if not np.isfinite(scores).all():
        return Finding("finite", "not finite", "scores must be ordinary finite numbers.")
    if scores.size == 0:
        return Finding("value", "empty", "without any scores there is nothing to see.")
    try:
        faulty = faulty_attention_weights(scores.astype(float), keep)
    except ValueError as error:
        return Finding(
            "value",
            "it stops",
            f"the faulty program stops on these arrays ({error}). Whoever sees an error is not "
            f"misled; find arrays on which it runs and is wrong.",
        )
    if shows(attention_weights(scores.astype(float), keep), faulty):
        return None
    return Finding("value", _why_hidden(keep), _HIDDEN)


_HIDDEN = (
    "on these arrays the faulty program and a right one give the same weights, so a test with "
    "them would let the fault through."
)


def _why_hidden(keep):
    if len(keep) == 1:
        return "one sentence"
    if keep.all():
        return "no padding"
    if not keep.any():
        return "no words"
    return "equal padding" if (keep == keep[0]).all() else "hidden"


def sentences_unlike_queries():
    return np.zeros((2, 3, 4)), np.array([[True, True, True, True], [True, False, False, False]])


def one_sentence():
    return np.zeros((1, 1, 3)), np.array([[True, True, False]])


def no_padding():
    return np.zeros((2, 2, 3)), np.ones((2, 3), bool)


def same_padding_everywhere():
    return np.zeros((2, 2, 3)), np.array([[True, True, False], [True, True, False]])


def no_words_at_all():
    return np.zeros((2, 2, 3)), np.zeros((2, 3), bool)


def keep_as_numbers():
    return np.zeros((2, 2, 3)), np.array([[1, 1, 1], [1, 0, 0]])


def keep_for_every_query():
    return np.zeros((2, 2, 3)), np.array([[[True, True, True]] * 2, [[True, False, False]] * 2])


def scores_of_one_sentence():
    return np.zeros((2, 3)), np.array([[True, True, True], [True, False, False]])


def scores_alone():
    return np.zeros((2, 2, 3))


def with_infinity():
    return np.full((2, 2, 3), -np.inf), np.array([[True, True, True], [True, False, False]])


COUNTEREXAMPLE_MISTAKES = (
    Mistake(
        "sizes that do not fit together",
        sentences_unlike_queries,
        "With B and m different the shapes do not broadcast, and NumPy says so. The silent case "
        "needs sizes for which (B, n) fits where (m, n) is expected.",
    ),
    Mistake(
        "one sentence",
        one_sentence,
        "With one sentence its mask is stretched over all queries, which happens to be right. Take "
        "a batch of several.",
    ),
    Mistake(
        "no padding",
        no_padding,
        "Everything may be looked at, so it does not matter how the mask is read. Mark some "
        "positions as padding.",
    ),
    Mistake(
        "the same padding everywhere",
        same_padding_everywhere,
        "All rows of the mask are equal, so it does not matter which one a query gets. Let the "
        "sentences differ in length.",
    ),
    Mistake(
        "no words at all",
        no_words_at_all,
        "Everything is padding, and both programs return only zeros. Leave some words.",
    ),
    Mistake(
        "numbers for a mask",
        keep_as_numbers,
        "A mask is True and False here, not 1 and 0.",
    ),
    Mistake(
        "a mask for every query",
        keep_for_every_query,
        "You already give every query its own mask, (B, m, n). The program is handed one mask for "
        "each sentence, (B, n).",
    ),
    Mistake(
        "scores without a batch",
        scores_of_one_sentence,
        "The scores need three axes: sentences, queries, words.",
    ),
    Mistake(
        "scores alone",
        scores_alone,
        "The program takes two things, scores and keep. Return both: return scores, keep.",
    ),
    Mistake(
        "infinite scores",
        with_infinity,
        "With infinity in them other things happen. This fault shows on quite ordinary numbers, "
        "zeros even.",
    ),
)

COUNTEREXAMPLE = Exercise(
    identifier="04.counterexample",
    assignment="04_translator",
    title="Find numbers on which the fault shows",
    kind="counterexample",
    answer="counterexample",
    points=2,
    difficulty=2,
    minutes=10,
    hints=(
        "Write the shapes of scores and mask under each other, lined up at the right, as NumPy "
        "does when it broadcasts.",
        "`(B, n)` is lined up with the last two axes of `(B, m, n)`. When does that fit without an "
        "error, and whose mask does query `i` then get?",
        "Take as many queries as sentences, and give the sentences different lengths. The scores "
        "may all be zero.",
    ),
    returns=("scores", "keep"),
    cases=lambda random: [Case("your arrays", Call())],
    judge=judge_counterexample,
    contents=lambda: Contents(a_counterexample, COUNTEREXAMPLE_MISTAKES),
)


# ---------------------------------------------------------------- the mended program


def cases(random):
    return [
        Case(
            "two sentences of three words, two queries",
            Call(
                {
                    "scores": readable(random, 2, 2, 3),
                    "keep": np.array([[True, True, True], [True, False, False]]),
                }
            ),
        ),
        Case(
            "two sentences of four words, one query",
            Call(
                {
                    "scores": readable(random, 2, 1, 4),
                    "keep": np.array([[True, True, False, False], [True, True, True, False]]),
                }
            ),
        ),
        Case(
            "three sentences of three words, three queries",
            Call(
                {
                    "scores": normal(random, 3, 3, 3),
                    "keep": np.array(
                        [[True, True, True], [True, False, False], [True, True, False]]
                    ),
                }
            ),
        ),
        Case(
            "two sentences, the second without any words",
            Call(
                {
                    "scores": readable(random, 2, 3, 2),
                    "keep": np.array([[True, False], [False, False]]),
                }
            ),
            "care",
        ),
        Case(
            "scores far below zero",
            Call(
                {
                    "scores": normal(random, 2, 4, 3) - 2e9,
                    "keep": np.array([[True, True, False], [True, False, False]]),
                }
            ),
            "care",
        ),
        Case(
            "padding that scores far above the words",
            Call(
                {
                    "scores": normal(random, 2, 4, 3) + np.array([[[0, 0, 5e3]], [[0, 5e3, 5e3]]]),
                    "keep": np.array([[True, True, False], [True, False, False]]),
                }
            ),
            "care",
        ),
        Case(
            "float32 scores, padding at the beginning and in between",
            Call(
                {
                    "scores": normal(random, 2, 4, 5, dtype=np.float32),
                    "keep": np.array(
                        [[False, False, True, True, True], [True, False, True, True, False]]
                    ),
                }
            ),
            "care",
        ),
    ]


def _sentences_turned_round(random):
    scores = normal(random, 3, 2, 4)
    keep = np.array([[True] * 4, [True, False, False, False], [True, True, False, False]])
    return [
        Call({"scores": scores, "keep": keep}),
        Call({"scores": scores[::-1], "keep": keep[::-1]}),
    ]


def as_it_was(scores, keep):
    return masked_softmax(scores, keep)


def new_axis_at_the_end(scores, keep):
    return masked_softmax(scores, keep[:, :, None])


def mask_turned_round(scores, keep):
    return masked_softmax(scores, ~keep[:, None, :])


def mask_of_the_first_sentence(scores, keep):
    return masked_softmax(scores, keep[0])


def mask_after_softmax(scores, keep):
    return masked_softmax(scores, np.ones_like(keep[:, None, :])) * keep[:, None, :]


def rescaled_after_softmax(scores, keep):
    weights = masked_softmax(scores, np.ones_like(keep[:, None, :])) * keep[:, None, :]
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total > 0, total, 1.0)


def padding_at_the_end(scores, keep):
    weights = np.zeros_like(scores)
    for b, n in enumerate(keep.sum(axis=-1)):
        weights[b, :, :n] = masked_softmax(scores[b, :, :n], True) if n else 0.0
    return weights


def masked_scores_zero(scores, keep):
    return masked_softmax(scores * keep[:, None, :], np.ones_like(keep[:, None, :]))


def large_negative_score(scores, keep):
    masked = np.where(keep[:, None, :], scores, -1e9)
    return masked_softmax(masked, np.ones_like(keep[:, None, :]))


def empty_rows_are_nan(scores, keep):
    masked = np.where(keep[:, None, :], scores, -np.inf)
    exponentials = np.exp(masked - masked.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def mask_ignored(scores, keep):
    return masked_softmax(scores, np.ones_like(keep[:, None, :]))


def queries_compete(scores, keep):
    turned = np.swapaxes(scores, -1, -2)
    allowed = np.broadcast_to(keep[:, :, None], turned.shape)
    return np.swapaxes(masked_softmax(turned, allowed), -1, -2)


def padding_overwritten(scores, keep):
    scores[~np.broadcast_to(keep[:, None, :], scores.shape)] = -np.inf
    return masked_softmax(scores, np.ones(scores.shape, bool))


def rows_shuffled(scores, keep):
    batch, m, n = scores.shape
    return masked_softmax(scores, np.tile(keep, (m, 1)).reshape(batch, m, n))


MENDED_MISTAKES = (
    Mistake(
        "as it was",
        as_it_was,
        "The mask still has two axes. NumPy lines it up with the last two axes of the scores, "
        "(m, n), so query i gets the mask of sentence i. Give it an axis for the queries.",
    ),
    Mistake(
        "the new axis at the end",
        new_axis_at_the_end,
        "(B, n, 1) lets the mask choose among the *queries*. The mask is about words, the last "
        "axis: the new one belongs before it, (B, 1, n).",
    ),
    Mistake(
        "the mask turned round",
        mask_turned_round,
        "The weight lies on the padding and nowhere else. True means *may be looked at* here.",
    ),
    Mistake(
        "the mask of the first sentence",
        mask_of_the_first_sentence,
        "Every sentence is masked like the first one. Each has its own row of keep.",
    ),
    Mistake(
        "the mask applied after softmax",
        mask_after_softmax,
        "You set the padding's weights to 0 after the softmax. They have already taken their share, "
        "so the rest sums to less than one.",
    ),
    Mistake(
        "rescaled after softmax",
        rescaled_after_softmax,
        "Masking after the softmax and dividing again is right on paper. But where the padding "
        "scores far above the words, the words' weights have already been rounded to 0, and nothing "
        "is left to divide. Mask the scores, before the softmax.",
    ),
    Mistake(
        "padding taken to be at the end",
        padding_at_the_end,
        "You count the words and take that many from the front. keep says *which* positions are "
        "words; padding may stand at the beginning or between them.",
    ),
    Mistake(
        "masked scores set to zero",
        masked_scores_zero,
        "A score of 0 is no mask: its exponential is 1, an ordinary share.",
    ),
    Mistake(
        "a large negative score",
        large_negative_score,
        "-1e9 is not below every score: scores of -2e9 lose against it, and the padding wins. And "
        "where everything is masked, padding shares the weight. masked_softmax has neither fault.",
    ),
    Mistake(
        "NaN where nothing may be looked at",
        empty_rows_are_nan,
        "A sentence without words gives -inf minus -inf, which is NaN, and one NaN spoils the whole "
        "batch in training. Use masked_softmax: such a row gets weights of 0.",
    ),
    Mistake(
        "the mask ignored",
        mask_ignored,
        "Padding gets weight: keep is never used. Masked words must not take part in the softmax.",
    ),
    Mistake(
        "queries compete",
        queries_compete,
        "Softmax went over the queries, so the columns sum to one. Each query spreads its own "
        "weight over the words.",
    ),
    Mistake(
        "scores overwritten",
        padding_overwritten,
        "The weights are right, but scores[…] = -np.inf writes into the caller's own array.",
    ),
    Mistake(
        "rows shuffled",
        rows_shuffled,
        "Repeating the mask m times and reshaping mixes the sentences: after the first copy comes "
        "the next sentence, not the next query. A new axis repeats each row in place.",
    ),
)

MENDED = Exercise(
    identifier="04.attention_weights",
    assignment="04_translator",
    title="Mend the program",
    kind="mended",
    answer="attention_weights",
    points=2,
    difficulty=2,
    minutes=5,
    hints=(
        "What shape must the mask have, so that each sentence's row reaches all its queries?",
        "`(B, 1, n)` broadcasts against `(B, m, n)` as it should.",
        "An index with `None` makes a new axis: one between the sentences and the words. The rest "
        "of the program stays.",
    ),
    returns=("weights",),
    cases=cases,
    laws=(
        same(
            "Sentences do not influence each other",
            _sentences_turned_round,
            "with the sentences in reverse order, the weights were not just reversed.",
            undo=lambda weights: weights[::-1],
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part(
            "care",
            "those without words, with scattered padding, with extreme scores or in float32",
            0.5,
        ),
    ),
    helpers=("imports", "masked-softmax"),
    contents=lambda: Contents(attention_weights, MENDED_MISTAKES),
)
