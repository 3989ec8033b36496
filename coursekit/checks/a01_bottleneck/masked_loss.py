"""01.masked_cross_entropy: what a batch of padded sentences costs, a token."""

import numpy as np

from attnkit.numpy import masked_cross_entropy as library_loss

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def masked_cross_entropy(logits, target, mask):
    """The library's loss; where nothing counts, whatever stands in target is no class."""
    return library_loss(logits, np.where(mask, target, 0), mask)


def _request(draw, random, mask, n_classes, **options):
    mask = np.array(mask, bool)
    return Call(
        {
            "logits": draw(random, *mask.shape, n_classes, **options),
            "target": random.integers(0, n_classes, mask.shape),
            "mask": mask,
        }
    )


def cases(random):
    ragged = [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]]
    unknown, large = (_request(normal, random, ragged, 5) for _ in range(2))
    hidden = ~unknown.arguments["mask"]
    unknown.arguments["logits"][hidden] = np.nan
    unknown.arguments["target"][hidden] = -1
    large.arguments["logits"][0] += 2000
    large.arguments["logits"][1] -= 2000
    return [
        Case(
            "one sentence of two tokens, three classes",
            _request(readable, random, [[1, 1]], 3),
        ),
        Case(
            "two sentences of three and of one token",
            _request(readable, random, [[1, 1, 1], [1, 0, 0]], 2),
        ),
        Case(
            "three sentences of unequal length, four classes",
            _request(normal, random, ragged, 4),
        ),
        Case("NaN and a target of -1 in the padding", unknown, "care"),
        Case("logits near 2000 and near -2000", large, "care"),
        Case(
            "a batch in which nothing counts", _request(normal, random, np.zeros((2, 3)), 4), "care"
        ),
        Case(
            "float32 logits, and a sentence without tokens",
            _request(normal, random, [[1, 0, 1], [0, 0, 0]], 6, dtype=np.float32),
            "care",
        ),
    ]


def _logits_shifted(random):
    request = _request(normal, random, [[1, 1, 1], [1, 1, 0]], 4)
    logits = request.arguments["logits"]
    return [request, Call({**request.arguments, "logits": logits + 5 * normal(random, 2, 3, 1)})]


def padding_counted(logits, target, mask):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(log_p, target[..., None], axis=-1).mean()


def divided_by_all_positions(logits, target, mask):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    cost = -np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    return np.where(mask, cost, 0.0).mean()


def divided_by_sentences(logits, target, mask):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    cost = -np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    return np.where(mask, cost, 0.0).sum() / len(logits)


def added_up(logits, target, mask):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    cost = -np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    return np.where(mask, cost, 0.0).sum()


def mean_of_the_means(logits, target, mask):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    cost = -np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    each = np.where(mask, cost, 0.0).sum(axis=1) / np.maximum(mask.sum(axis=1), 1)
    return each.mean()


def minus_forgotten(logits, target, mask):
    if not mask.any():
        return 0.0
    logits, target = logits[mask], target[mask]
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return log_p[np.arange(len(target)), target].mean()


def chances_averaged(logits, target, mask):
    if not mask.any():
        return 0.0
    logits, target = logits[mask], target[mask]
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return -np.log(p[np.arange(len(target)), target].mean())


def logits_taken_for_log_chances(logits, target, mask):
    if not mask.any():
        return 0.0
    return -logits[mask][np.arange(mask.sum()), target[mask]].mean()


def in_bits(logits, target, mask):
    if not mask.any():
        return 0.0
    logits, target = logits[mask], target[mask]
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -log_p[np.arange(len(target)), target].mean() / np.log(2)


def largest_not_subtracted(logits, target, mask):
    if not mask.any():
        return 0.0
    logits, target = logits[mask], target[mask]
    p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    return -np.log(p[np.arange(len(target)), target]).mean()


def nothing_divided_by_nothing(logits, target, mask):
    logits, target = logits[mask], target[mask]
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -np.sum(log_p[np.arange(len(target)), target]) / mask.sum()


def multiplied_by_the_mask(logits, target, mask):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    cost = -np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    return (cost * mask).sum() / max(mask.sum(), 1)


def softmax_over_the_sentence(logits, target, mask):
    if not mask.any():
        return 0.0
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -log_p[mask][np.arange(mask.sum()), target[mask]].mean()


def likeliest_class(logits, target, mask):
    if not mask.any():
        return 0.0
    logits = logits[mask]
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -log_p.max(axis=-1).mean()


def cost_of_each_token(logits, target, mask):
    if not mask.any():
        return 0.0
    logits, target = logits[mask], target[mask]
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -log_p[np.arange(len(target)), target]


MISTAKES = (
    Mistake(
        "padding counted",
        padding_counted,
        "The padding is counted like tokens: the mask is never used. A network can then lower its "
        "loss by learning to predict padding.",
    ),
    Mistake(
        "divided by all positions",
        divided_by_all_positions,
        "Padding was left out of the sum but not out of the count, so a batch seems cheaper the more "
        "it is padded. Divide by how many positions count, mask.sum().",
    ),
    Mistake(
        "divided by the number of sentences",
        divided_by_sentences,
        "The sum was divided by the number of sentences, so long sentences make a batch dear. The "
        "mean is over tokens.",
    ),
    Mistake(
        "added up",
        added_up,
        "This is the sum. Divide by the number of positions that count.",
    ),
    Mistake(
        "the mean of the sentences' means",
        mean_of_the_means,
        "A mean within each sentence and then a mean over sentences lets a token of a short sentence "
        "count more than one of a long sentence. Every token counts the same: one sum, one count.",
    ),
    Mistake(
        "the minus forgotten",
        minus_forgotten,
        "Logarithms of chances are negative, and a cost is positive: a minus is missing.",
    ),
    Mistake(
        "chances averaged",
        chances_averaged,
        "You averaged the chances of the right tokens and took the logarithm of that. Take the "
        "logarithm of each, then the mean.",
    ),
    Mistake(
        "logits taken for logarithms of chances",
        logits_taken_for_log_chances,
        "Logits are scores before softmax. Without the logarithm of the softmax's denominator, adding "
        "7 to all logits would seem to lower the cost by 7.",
    ),
    Mistake(
        "in bits",
        in_bits,
        "You took the logarithm with base 2, as on paper. A loss is computed with the natural "
        "logarithm, np.log.",
    ),
    Mistake(
        "the largest not subtracted",
        largest_not_subtracted,
        "exp(2000) is infinity. Subtract the largest logit of each position first; the chances stay "
        "the same.",
    ),
    Mistake(
        "nothing divided by nothing",
        nothing_divided_by_nothing,
        "A batch in which nothing counts costs nothing: 0, not 0 divided by 0. One NaN is enough to "
        "spoil all parameters.",
    ),
    Mistake(
        "multiplied by the mask",
        multiplied_by_the_mask,
        "Right for ordinary numbers. But 0 times NaN is NaN, so what stands in the padding gets in "
        "after all. Pick the positions that count, logits[mask], or choose by np.where.",
    ),
    Mistake(
        "softmax over the sentence",
        softmax_over_the_sentence,
        "Softmax went along the sentence. At each position the classes compete with each other: the "
        "last axis.",
    ),
    Mistake(
        "the likeliest class",
        likeliest_class,
        "You took the cost of the likeliest class. It must be that of the *right* class, however "
        "unlikely the network held it: that is where learning comes from.",
    ),
    Mistake(
        "a cost for each token",
        cost_of_each_token,
        "These are the costs of all tokens that count. Their mean is asked for, one number.",
    ),
)

EXERCISE = Exercise(
    identifier="01.masked_cross_entropy",
    assignment="01_bottleneck",
    title="Masked cross-entropy",
    kind="function",
    answer="masked_cross_entropy",
    points=4,
    difficulty=2,
    minutes=20,
    hints=(
        "Which positions count? If you keep only those, is there anything left to mask?",
        "`logits[mask]` holds the positions that count, one row each, and `target[mask]` their right "
        "classes. For each row take minus the logarithm of the softmax at the right class, then the "
        "mean.",
        "The logarithm of a softmax is the shifted logit minus `np.log` of the sum of the "
        "exponentials. With `k` rows, the right entries are found by `[np.arange(k), target]`. "
        "Return 0.0 first of all if `mask` has no True in it.",
    ),
    returns=("loss",),
    cases=cases,
    laws=(
        same(
            "Adding a number to all logits of a position changes nothing",
            _logits_shifted,
            "after each position's logits were raised or lowered as a whole, another loss came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with NaN, large logits, nothing that counts or float32", 0.5),
    ),
    contents=lambda: Contents(masked_cross_entropy, MISTAKES),
)
