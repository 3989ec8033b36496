"""06.masked_softmax: weights under a mask for any axes, with empty rows, NaN and half precision."""

import numpy as np

from attnkit.numpy import causal_mask, masked_softmax, padding_mask

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .given import softmax


def cases(random):
    each = np.array([[True, True, False], [False, True, True]])
    one_empty = np.array([[True, False, True], [False, False, False]])
    hidden_nan = readable(random, 2, 3)
    hidden_nan[:, 1] = np.nan
    far_above = normal(random, 3, 4)
    far_above[:, 2] += 5000
    return [
        Case(
            "two queries and three keys, a mask for each query",
            Call({"scores": readable(random, 2, 3), "mask": each}),
        ),
        Case(
            "three queries and four keys, one mask for all",
            Call({"scores": normal(random, 3, 4), "mask": np.array([True, False, True, True])}),
        ),
        Case(
            "a batch of two with a padding mask",
            Call({"scores": normal(random, 2, 3, 3), "mask": padding_mask([3, 2], 3)}),
        ),
        Case(
            "a query that may look at nothing",
            Call({"scores": readable(random, 2, 3), "mask": one_empty}),
            "empty",
        ),
        Case(
            "more queries than keys under a causal mask, in float32",
            Call({"scores": normal(random, 2, 5, 3, dtype=np.float32), "mask": causal_mask(5, 3)}),
            "empty",
        ),
        Case(
            "NaN at a hidden key",
            Call({"scores": hidden_nan, "mask": np.array([True, False, True])}),
            "care",
        ),
        Case(
            "a hidden key that scores far above the rest",
            Call({"scores": far_above, "mask": np.array([True, True, False, True])}),
            "care",
        ),
        Case(
            "scores near -2000000000",
            Call({"scores": normal(random, 2, 3) - 2e9, "mask": each}),
            "care",
        ),
        Case(
            "half precision, with a query that may look at nothing",
            Call({"scores": normal(random, 2, 3, dtype=np.float16), "mask": one_empty}),
            "care",
        ),
    ]


def _hidden_scores_exchanged(random):
    scores, mask = normal(random, 3, 5), random.random((3, 5)) < 0.6
    mask[:, 0], mask[:, 1] = True, False
    other = np.where(mask, scores, normal(random, 3, 5))
    return [Call({"scores": scores, "mask": mask}), Call({"scores": other, "mask": mask})]


def mask_ignored(scores, mask):
    return softmax(scores)


def mask_turned_round(scores, mask):
    hidden = np.broadcast_to(mask, scores.shape)
    weights = softmax(np.where(hidden, np.finfo(scores.dtype).min, scores))
    return np.where(hidden, 0.0, weights)


def multiplied_by_the_mask(scores, mask):
    return softmax(scores * mask)


def hidden_after_softmax(scores, mask):
    return softmax(scores) * mask


def rescaled_after_softmax(scores, mask):
    weights = np.where(mask, softmax(scores), 0.0)
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total > 0, total, 1.0)


def large_negative_score(scores, mask):
    return softmax(np.where(mask, scores, -1e9))


def large_negative_and_zeroed(scores, mask):
    return np.where(mask, softmax(np.where(mask, scores, -1e9)), 0.0)


def added_to_the_scores(scores, mask):
    hidden = np.where(mask, 0.0, -1e30)
    return np.where(mask, softmax(scores + hidden), 0.0)


def empty_rows_are_nan(scores, mask):
    return softmax(np.where(mask, scores, -np.inf))


def queries_compete(scores, mask):
    allowed = np.swapaxes(np.broadcast_to(mask, scores.shape), -1, -2)
    turned = np.where(allowed, np.swapaxes(scores, -1, -2), np.finfo(scores.dtype).min)
    return np.swapaxes(np.where(allowed, softmax(turned), 0.0), -1, -2)


def a_little_added_below(scores, mask):
    kept = np.where(mask, scores, -np.inf)
    highest = kept.max(axis=-1, keepdims=True)
    exponentials = np.exp(kept - np.where(np.isfinite(highest), highest, 0.0))
    return exponentials / (exponentials.sum(axis=-1, keepdims=True) + 1e-5)


def empty_rows_are_uniform(scores, mask):
    return softmax(np.where(mask, scores, np.finfo(scores.dtype).min))


def scores_overwritten(scores, mask):
    allowed = np.broadcast_to(mask, scores.shape)
    scores[~allowed] = np.finfo(scores.dtype).min
    return np.where(allowed, softmax(scores), 0.0)


def largest_of_the_whole_table(scores, mask):
    kept = np.where(mask, scores, -np.inf)
    exponentials = np.exp(kept - kept.max()) if np.any(mask) else np.zeros_like(scores)
    total = exponentials.sum()
    return exponentials / total


def allowed_scores_hidden(scores, mask):
    hidden = np.where(mask, -np.inf, scores)
    exponentials = np.exp(hidden - hidden.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


MISTAKES = (
    Mistake(
        "the mask ignored",
        mask_ignored,
        "Hidden keys get weight: the mask is never used. They must not take part in the softmax.",
    ),
    Mistake(
        "the mask turned round",
        mask_turned_round,
        "All the weight lies on hidden keys. True means *may look*: where the mask is True, the "
        "score stays.",
    ),
    Mistake(
        "scores multiplied by the mask",
        multiplied_by_the_mask,
        "Multiplying by the mask sets hidden scores to 0, and exp(0) is 1, an ordinary share. (And "
        "0 times NaN is NaN.) Hidden scores must be replaced by something very low.",
    ),
    Mistake(
        "hidden after the softmax",
        hidden_after_softmax,
        "You set hidden weights to 0 after the softmax. They have already taken their share, so the "
        "rest of the row sums to less than one.",
    ),
    Mistake(
        "rescaled after the softmax",
        rescaled_after_softmax,
        "Right on paper. But a hidden key far above the rest (or a NaN there) has already ruined the "
        "row: the allowed weights are rounded to 0, and nothing is left to divide. Replace scores "
        "before the softmax.",
    ),
    Mistake(
        "a large negative score",
        large_negative_score,
        "-1e9 fails three times: real scores can lie below it; a row with nothing to look at becomes "
        "equal weights on hidden keys; and half precision has no number as large, so it turns into "
        "-inf and an empty row into NaN.",
    ),
    Mistake(
        "a large negative score, zeroed afterwards",
        large_negative_and_zeroed,
        "Setting hidden weights to 0 at the end mends the empty rows. Left is the size: scores of "
        "-2e9 lie below -1e9, so the hidden key still takes the weight before it is removed, and "
        "float16 cannot hold -1e9. np.finfo(scores.dtype).min is the lowest number there is.",
    ),
    Mistake(
        "something added to the scores",
        added_to_the_scores,
        "You *add* a large negative number to hidden scores. NaN plus anything is NaN, so what "
        "stands in the padding still matters. np.where replaces it.",
    ),
    Mistake(
        "NaN where nothing may be looked at",
        empty_rows_are_nan,
        "-inf hides perfectly until a whole row is hidden: then softmax subtracts -inf from -inf, "
        "and one NaN spoils the loss of the batch. Use the lowest *finite* number, and set hidden "
        "weights to 0 afterwards.",
    ),
    Mistake(
        "equal weights where nothing may be looked at",
        empty_rows_are_uniform,
        "Where a whole row is hidden, all its scores are the same lowest number, and softmax makes "
        "equal weights of them. Nothing may be looked at, so they must be 0: one more np.where, "
        "after the softmax.",
    ),
    Mistake(
        "queries compete",
        queries_compete,
        "Softmax went over the queries: your columns sum to one. Each query spreads its own weight "
        "over the keys, the last axis.",
    ),
    Mistake(
        "a little added below",
        a_little_added_below,
        "The small number in the denominator keeps empty rows from NaN, but makes every other row "
        "sum to less than one. Guard only the rows whose sum is 0.",
    ),
    Mistake(
        "the sum of the whole table",
        largest_of_the_whole_table,
        "The largest score and the sum were taken over the whole table. Each row has its own: "
        "axis=-1 with keepdims=True.",
    ),
    Mistake(
        "scores overwritten",
        scores_overwritten,
        "The weights are right, but scores[…] = … writes into the caller's own array, who finds "
        "other numbers in it afterwards.",
    ),
    Mistake(
        "the allowed scores hidden",
        allowed_scores_hidden,
        "The mask is turned round: you hide what may be looked at, and a row that may look at everything "
        "is NaN. True means *may be looked at*.",
    ),
)

EXERCISE = Exercise(
    identifier="06.masked_softmax",
    assignment="06_self_attention",
    title="Masked softmax",
    kind="vectorised",
    answer="masked_softmax",
    points=4,
    difficulty=3,
    minutes=20,
    hints=(
        "What could stand in place of a hidden score so that its exponential is 0, and what does "
        "that do to a row in which everything is hidden?",
        "Two replacements: hidden *scores* before the softmax, by a number lower than any score; "
        "hidden *weights* after it, by 0. The second looks useless and is there for empty rows.",
        "`np.finfo(scores.dtype).min` is the lowest finite number of the type at hand. `np.where` "
        "chooses between two arrays without touching what it leaves behind, NaN included; use it "
        "before and after `softmax`.",
    ),
    returns=("weights",),
    cases=cases,
    laws=(
        same(
            "The scores of hidden keys do not matter",
            _hidden_scores_exchanged,
            "with other scores at hidden keys, other weights came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("empty", "those with an empty row", 0.25),
        Part("care", "those with NaN, extreme scores or half precision", 0.25),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(masked_softmax, MISTAKES),
)
