"""09.label_smoothing: the loss of a batch with smoothed labels, without a loop."""

import numpy as np

from attnkit.numpy import masked_cross_entropy

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def smoothed_cross_entropy(logits, target, mask, epsilon):
    """The loss of a batch, from the library."""
    return masked_cross_entropy(logits, target, mask, label_smoothing=epsilon)


def _request(draw, random, lengths, n_classes, epsilon, **options):
    n = max(*lengths, 2)
    logits = draw(random, len(lengths), n, n_classes, **options)
    mask = np.arange(n) < np.array(lengths)[:, None]
    target = random.integers(n_classes, size=mask.shape)
    return Call({"logits": logits, "target": target, "mask": mask, "epsilon": epsilon})


def _with(request, **arguments):
    return Call({**request.arguments, **arguments})


def cases(random):
    scattered = np.array([[True, False, True, False], [False, False, True, True]])
    spoilt = _request(normal, random, [3, 1], 5, 0.1)
    mask = spoilt.arguments["mask"]
    spoilt = _with(spoilt, logits=np.where(mask[..., None], spoilt.arguments["logits"], np.nan))
    far = _request(normal, random, [2, 3], 4, 0.2)
    unlike = 900 * readable(random, *far.arguments["logits"].shape)
    nothing = _request(normal, random, [0, 0], 3, 0.1)
    return [
        Case("one sentence of two words, three classes", _request(readable, random, [2], 3, 0.3)),
        Case("two sentences of three words, epsilon = 0", _request(normal, random, [3, 3], 4, 0.0)),
        Case("two sentences of four words", _request(normal, random, [4, 4], 6, 0.1)),
        Case("three sentences with padding", _request(normal, random, [4, 1, 2], 5, 0.2), "mask"),
        Case(
            "padding in between",
            _with(_request(normal, random, [4, 4], 3, 0.1), mask=scattered),
            "mask",
        ),
        Case("float32 numbers", _request(normal, random, [3, 2], 7, 0.1, dtype=np.float32), "mask"),
        Case("NaN at the padding", spoilt, "care"),
        Case("logits near 1000", _with(far, logits=1000 + far.arguments["logits"]), "care"),
        Case("logits that lie thousands apart", _with(far, logits=unlike), "care"),
        Case("no word at all", nothing, "care"),
    ]


def _padding_exchanged(random):
    request = _request(normal, random, [4, 2, 3], 5, 0.2)
    given = request.arguments
    mask = given["mask"]
    logits = np.where(mask[..., None], given["logits"], normal(random, *given["logits"].shape))
    target = np.where(mask, given["target"], random.integers(5, size=mask.shape))
    return [request, _with(request, logits=logits, target=target)]


def not_smoothed(logits, target, mask, epsilon):
    logits, target = logits[mask], target[mask]
    if len(target) == 0:
        return 0.0
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    return -log_p[np.arange(len(target)), target].mean()


def shared_by_the_others(logits, target, mask, epsilon):
    logits, target = logits[mask], target[mask]
    if len(target) == 0:
        return 0.0
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    shares = np.full(log_p.shape, epsilon / (log_p.shape[-1] - 1))
    shares[np.arange(len(target)), target] = 1 - epsilon
    return -(shares * log_p).sum(axis=-1).mean()


def right_class_gets_no_share(logits, target, mask, epsilon):
    logits, target = logits[mask], target[mask]
    if len(target) == 0:
        return 0.0
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    shares = np.full(log_p.shape, epsilon / log_p.shape[-1])
    shares[np.arange(len(target)), target] = 1 - epsilon
    return -(shares * log_p).sum(axis=-1).mean()


def summed_over_the_classes(logits, target, mask, epsilon):
    logits, target = logits[mask], target[mask]
    if len(target) == 0:
        return 0.0
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    right = log_p[np.arange(len(target)), target]
    return -((1 - epsilon) * right + epsilon * log_p.sum(axis=-1)).mean()


def one_and_epsilon(logits, target, mask, epsilon):
    logits, target = logits[mask], target[mask]
    if len(target) == 0:
        return 0.0
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    right = log_p[np.arange(len(target)), target]
    return -(right + epsilon * log_p.mean(axis=-1)).mean()


def probabilities_smoothed(logits, target, mask, epsilon):
    logits, target = logits[mask], target[mask]
    if len(target) == 0:
        return 0.0
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p = p / p.sum(axis=-1, keepdims=True)
    right = p[np.arange(len(target)), target]
    return -np.log((1 - epsilon) * right + epsilon / logits.shape[-1]).mean()


def mask_ignored(logits, target, mask, epsilon):
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    return -((1 - epsilon) * right + epsilon * log_p.mean(axis=-1)).mean()


def padding_counted(logits, target, mask, epsilon):
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    cost = -((1 - epsilon) * right + epsilon * log_p.mean(axis=-1))
    return np.where(mask, cost, 0.0).mean()


def padding_smoothed(logits, target, mask, epsilon):
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    count = max(mask.sum(), 1)
    plain = -np.where(mask, right, 0.0).sum() / count
    return (1 - epsilon) * plain - epsilon * log_p.mean()


def multiplied_by_the_mask(logits, target, mask, epsilon):
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    cost = -((1 - epsilon) * right + epsilon * log_p.mean(axis=-1))
    return (cost * mask).sum() / max(mask.sum(), 1)


def sentence_by_sentence(logits, target, mask, epsilon):
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    cost = -((1 - epsilon) * right + epsilon * log_p.mean(axis=-1))
    counts = np.maximum(mask.sum(axis=-1), 1)
    return (np.where(mask, cost, 0.0).sum(axis=-1) / counts).mean()


def not_divided(logits, target, mask, epsilon):
    logits, target = logits[mask], target[mask]
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    right = log_p[np.arange(len(target)), target]
    return -((1 - epsilon) * right + epsilon * log_p.mean(axis=-1)).sum()


def nothing_divided_by_nothing(logits, target, mask, epsilon):
    logits, target = logits[mask], target[mask]
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    right = log_p[np.arange(len(target)), target]
    return -((1 - epsilon) * right + epsilon * log_p.mean(axis=-1)).sum() / len(target)


def log_of_zero(logits, target, mask, epsilon):
    logits, target = logits[mask], target[mask]
    if len(target) == 0:
        return 0.0
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    log_p = np.log(p / p.sum(axis=-1, keepdims=True))
    right = log_p[np.arange(len(target)), target]
    return -((1 - epsilon) * right + epsilon * log_p.mean(axis=-1)).mean()


def overflowing(logits, target, mask, epsilon):
    logits, target = logits[mask], target[mask]
    if len(target) == 0:
        return 0.0
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    right = log_p[np.arange(len(target)), target]
    return -((1 - epsilon) * right + epsilon * log_p.mean(axis=-1)).mean()


def costs_returned(logits, target, mask, epsilon):
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    return np.where(mask, -((1 - epsilon) * right + epsilon * log_p.mean(axis=-1)), 0.0)


def mask_turned_round(logits, target, mask, epsilon):
    kept, right = logits[~mask], target[~mask]
    if len(right) == 0:
        return 0.0
    log_p = kept - kept.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    cost = (1 - epsilon) * log_p[np.arange(len(right)), right] + epsilon * log_p.mean(axis=-1)
    return -cost.mean()


MISTAKES = (
    Mistake(
        "no smoothing",
        not_smoothed,
        "This is the plain cross-entropy: epsilon is never used.",
    ),
    Mistake(
        "shared by the other classes only",
        shared_by_the_others,
        "You spread epsilon over the other V - 1 classes. Here it is spread over *all* V, the right "
        "one included, as in the paper and in torch.",
    ),
    Mistake(
        "no share for the right class",
        right_class_gets_no_share,
        "The right class gets 1 - epsilon and no share of epsilon, so that the shares do not add up "
        "to one. It gets both.",
    ),
    Mistake(
        "a sum over the classes for their mean",
        summed_over_the_classes,
        "epsilon times the *sum* over the classes gives every class all of epsilon. Each gets "
        "epsilon / V: that is epsilon times their mean.",
    ),
    Mistake(
        "one and a share",
        one_and_epsilon,
        "The right class still counts with 1. What the others are given is taken from it: 1 - epsilon.",
    ),
    Mistake(
        "probabilities smoothed",
        probabilities_smoothed,
        "You mixed the model's probabilities with equal ones and took one logarithm. It is the "
        "*target* that is mixed: each class costs its share times its own logarithm.",
    ),
    Mistake(
        "the mask ignored",
        mask_ignored,
        "Padding costs as much as a word: the mask is never used.",
    ),
    Mistake(
        "padding counted",
        padding_counted,
        "Padding costs nothing but is counted when you divide, so a batch with much padding looks "
        "cheap. Divide by the number of True entries.",
    ),
    Mistake(
        "smoothing at the padding",
        padding_smoothed,
        "The plain part obeys the mask, but the share of epsilon is a mean over all positions, "
        "padding included. Both parts belong to a position: put them together before the mask.",
    ),
    Mistake(
        "multiplied by the mask",
        multiplied_by_the_mask,
        "0 times NaN is NaN. Take out what does not count, by indexing or by np.where; do not "
        "multiply it away.",
    ),
    Mistake(
        "sentence by sentence",
        sentence_by_sentence,
        "You averaged each sentence first, so that a word of a short sentence weighs more. All words "
        "that count weigh the same.",
    ),
    Mistake(
        "a sum for a mean",
        not_divided,
        "You return the sum over all positions. Divide by how many count, so that batches of unlike "
        "size can be compared.",
    ),
    Mistake(
        "nothing divided by nothing",
        nothing_divided_by_nothing,
        "Where no position counts, the loss is 0 by our rule. You divide by 0.",
    ),
    Mistake(
        "the logarithm of nothing",
        log_of_zero,
        "A small probability is rounded to 0, and log(0) is -infinity. With smoothing every class "
        "counts. The logarithm of a softmax is the logit minus log(sum(exp)): no exp is left on the "
        "way.",
    ),
    Mistake(
        "overflow",
        overflowing,
        "exp(1000) is infinity. Subtract each row's largest logit first: the probabilities do not "
        "change.",
    ),
    Mistake(
        "a cost for each position returned",
        costs_returned,
        "These are the costs of the positions. Asked for is one number, their mean over those that "
        "count.",
    ),
    Mistake(
        "the mask turned round",
        mask_turned_round,
        "You kept what does not count. The mask is True where a position counts.",
    ),
)

EXERCISE = Exercise(
    identifier="09.label_smoothing",
    assignment="09_transformer",
    title="Label smoothing",
    kind="vectorised",
    answer="smoothed_cross_entropy",
    points=3,
    difficulty=2,
    minutes=12,
    hints=(
        "The sum over the classes in the loop has two parts: one in which only the right class "
        "counts, and one in which all count alike.",
        "Each position costs `1 - epsilon` times the plain cross-entropy and `epsilon` times the "
        "*mean* of minus the logarithms. Then take the mean over the positions that count, and think "
        "of the batch in which none does.",
        "`logits[mask]` is `(counted, V)`: what does not count is out before anything is computed. "
        "Subtract each row's largest, then the logarithm of its sum of exponentials. The right one of "
        "each row is picked by `[np.arange(counted), target[mask]]`.",
    ),
    returns=("loss",),
    cases=cases,
    laws=(
        same(
            "What stands at the padding does not matter",
            _padding_exchanged,
            "with other logits and targets at the padding, another loss came out.",
            part="mask",
        ),
    ),
    parts=(
        Part("plain", "the cases without padding", 1 / 3),
        Part("mask", "those with padding", 1 / 3),
        Part("care", "those with NaN, extreme logits or nothing that counts", 1 / 3),
    ),
    contents=lambda: Contents(smoothed_cross_entropy, MISTAKES),
)
