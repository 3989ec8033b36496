"""06.masked_weights_loop: the weights of one query under a mask, one key at a time."""

import numpy as np

from attnkit.numpy import masked_softmax

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def cases(random):
    last_hidden = np.array([True, True, True, False])
    scattered = np.array([False, True, False, True, True, False])
    scattered = np.roll(scattered, int(random.integers(0, 3)))
    far_above = readable(random, 4)
    far_above[1] += 5000
    return [
        Case(
            "four scores, the last one hidden",
            Call({"scores": readable(random, 4), "mask": last_hidden}),
        ),
        Case(
            "three scores, nothing hidden",
            Call({"scores": readable(random, 3), "mask": np.ones(3, bool)}),
        ),
        Case(
            "six scores, three of them hidden",
            Call({"scores": normal(random, 6), "mask": scattered}),
        ),
        Case(
            "three scores, all hidden",
            Call({"scores": readable(random, 3), "mask": np.zeros(3, bool)}),
            "care",
        ),
        Case(
            "a hidden score far above the rest",
            Call({"scores": far_above, "mask": np.array([True, False, True, True])}),
            "care",
        ),
        Case(
            "scores near 1000",
            Call({"scores": 1000 + readable(random, 4), "mask": last_hidden}),
            "care",
        ),
        Case(
            "scores near -2000000000",
            Call({"scores": readable(random, 3) - 2e9, "mask": np.array([True, False, True])}),
            "care",
        ),
    ]


def _hidden_score_exchanged(random):
    scores, mask = normal(random, 5), np.array([True, False, True, True, False])
    other = np.where(mask, scores, normal(random, 5))
    return [Call({"scores": scores, "mask": mask}), Call({"scores": other, "mask": mask})]


def mask_ignored(scores, mask):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def mask_turned_round(scores, mask):
    weights = np.zeros(len(scores))
    if (~mask).any():
        highest = max(scores[~mask])
        total = sum(np.exp(scores[~mask] - highest))
        for j in range(len(scores)):
            if not mask[j]:
                weights[j] = np.exp(scores[j] - highest) / total
    return weights


def hidden_scores_zero(scores, mask):
    kept = np.where(mask, scores, 0.0)
    exponentials = np.exp(kept - kept.max())
    return exponentials / exponentials.sum()


def hidden_after_softmax(scores, mask):
    exponentials = np.exp(scores - scores.max())
    weights = exponentials / exponentials.sum()
    for j in range(len(scores)):
        if not mask[j]:
            weights[j] = 0.0
    return weights


def large_negative_score(scores, mask):
    kept = np.where(mask, scores, -1e9)
    exponentials = np.exp(kept - kept.max())
    return exponentials / exponentials.sum()


def nothing_divided_by_nothing(scores, mask):
    kept = np.where(mask, scores, -np.inf)
    exponentials = np.exp(kept - kept.max())
    return exponentials / exponentials.sum()


def stops_on_an_empty_row(scores, mask):
    highest = max(score for score, keep in zip(scores, mask, strict=True) if keep)
    weights = np.where(mask, np.exp(np.minimum(scores - highest, 0.0)), 0.0)
    return weights / weights.sum()


def largest_of_all(scores, mask):
    weights = np.zeros(len(scores))
    for j in range(len(scores)):
        if mask[j]:
            weights[j] = np.exp(scores[j] - scores.max())
    total = weights.sum()
    return weights / total if total > 0 else weights


def largest_not_subtracted(scores, mask):
    weights = np.zeros(len(scores))
    for j in range(len(scores)):
        if mask[j]:
            weights[j] = np.exp(scores[j])
    total = weights.sum()
    return weights / total if total > 0 else weights


def allowed_only(scores, mask):
    kept = scores[mask]
    if len(kept) == 0:
        return kept
    exponentials = np.exp(kept - kept.max())
    return exponentials / exponentials.sum()


def not_divided(scores, mask):
    weights = np.zeros(len(scores))
    for j in range(len(scores)):
        if mask[j]:
            weights[j] = np.exp(scores[j] - scores[mask].max())
    return weights


def scores_overwritten(scores, mask):
    for j in range(len(scores)):
        if not mask[j]:
            scores[j] = -np.inf
    if not mask.any():
        return np.zeros(len(scores))
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def uniform_when_empty(scores, mask):
    if not mask.any():
        return np.ones(len(scores)) / len(scores)
    kept = np.where(mask, scores, -np.inf)
    exponentials = np.exp(kept - kept.max())
    return exponentials / exponentials.sum()


def neither_guarded_nor_subtracted(scores, mask):
    weights = np.zeros(len(scores))
    for j in range(len(scores)):
        if mask[j]:
            weights[j] = np.exp(scores[j])
    return weights / weights.sum()


MISTAKES = (
    Mistake(
        "the mask ignored",
        mask_ignored,
        "Hidden keys get weight: the mask is never used. They must not take part in the softmax.",
    ),
    Mistake(
        "the mask turned round",
        mask_turned_round,
        "All the weight lies on hidden keys. True means *may look* here.",
    ),
    Mistake(
        "hidden scores set to zero",
        hidden_scores_zero,
        "A score of 0 is no mask: its exponential is 1, an ordinary share. A hidden key must not be "
        "in the sum at all.",
    ),
    Mistake(
        "hidden after the softmax",
        hidden_after_softmax,
        "You set hidden weights to 0 after the softmax. They have already taken their share of the "
        "total, so the rest sums to less than one. Leave them out of the sum.",
    ),
    Mistake(
        "a large negative score",
        large_negative_score,
        "-1e9 in place of -infinity works until it does not: when everything is hidden all scores "
        "are equal again and the padding shares the weight, and real scores can lie below -1e9.",
    ),
    Mistake(
        "nothing divided by nothing",
        nothing_divided_by_nothing,
        "When everything is hidden you compute -inf minus -inf, which is NaN. One NaN spoils the "
        "loss of a whole batch. Such a query gets weights of 0: return early, or guard the division.",
    ),
    Mistake(
        "it stops where nothing may be looked at",
        stops_on_an_empty_row,
        "The largest of no scores does not exist, so Python stops. A query with nothing to look at "
        "is no error: it happens to padding and to early queries. Its weights are 0.",
    ),
    Mistake(
        "the largest of all scores",
        largest_of_all,
        "You subtract the largest score, hidden ones included. If a hidden score lies far above the "
        "rest, every exponential rounds to 0. Take the largest among those that may be looked at.",
    ),
    Mistake(
        "the largest not subtracted",
        largest_not_subtracted,
        "exp(1000) is infinity, and infinity by infinity is NaN; exp(-1000) is 0. Subtract the "
        "largest allowed score before exp: the weights do not change.",
    ),
    Mistake(
        "only the allowed keys returned",
        allowed_only,
        "Your result is shorter than the scores. Each key keeps its place: hidden ones have the "
        "weight 0.",
    ),
    Mistake(
        "not divided by the sum",
        not_divided,
        "These are exponentials. Divide by their sum over the allowed keys.",
    ),
    Mistake(
        "scores overwritten",
        scores_overwritten,
        "The weights are right, but scores[j] = … writes into the caller's array.",
    ),
    Mistake(
        "equal weights where nothing may be looked at",
        uniform_when_empty,
        "A query with nothing to look at spreads its weight evenly over keys that are all hidden. "
        "It should get nothing from them: weights of 0.",
    ),
    Mistake(
        "nothing subtracted, and nothing divided by nothing",
        neither_guarded_nor_subtracted,
        "The formula is right; two things remain. When everything is hidden the sum is 0, and 0 / 0 "
        "is NaN: return zeros there. And exp(1000) is infinity: subtract the largest *allowed* score "
        "before exp; the weights do not change.",
    ),
)

EXERCISE = Exercise(
    identifier="06.masked_weights_loop",
    assignment="06_self_attention",
    title="Weights under a mask, by a loop",
    kind="loop",
    answer="masked_weights_loop",
    points=2,
    difficulty=1,
    minutes=10,
    hints=(
        "Which keys take part in the sum, and what remains for the others?",
        "Find the largest score among the allowed keys, add up their exponentials, then divide. A "
        "hidden key is skipped in all three steps.",
        "Start with `np.zeros(len(scores))` and return it at once if no entry of `mask` is True. "
        "Otherwise go over the keys with `if mask[j]:`, and subtract the largest *allowed* score "
        "before `np.exp`.",
    ),
    returns=("weights",),
    cases=cases,
    laws=(
        same(
            "The score of a hidden key does not matter",
            _hidden_score_exchanged,
            "with other scores at hidden keys, other weights came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with everything hidden or with extreme scores", 0.5),
    ),
    contents=lambda: Contents(masked_softmax, MISTAKES),
)
