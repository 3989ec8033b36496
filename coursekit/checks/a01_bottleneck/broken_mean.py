"""01.counterexample and 01.mean_loss: a mean of means that lets short sentences count more.

The faulty program is handed out in a locked cell. Learners first find numbers on which it shows
(a test, written as data), then write the program as it should be.
"""

import numpy as np

from attnkit.numpy import masked_cross_entropy

from ..draw import normal, readable
from ..judges import shows
from ..laws import same
from ..model import Case, Contents, Exercise, Finding, Mistake, Part
from ..surface import Call
from .given import faulty_mean_loss


def mean_loss(cost, mask):
    """The program as it should be: the library's loss, on logits that cost what `cost` says."""
    # Two classes, and the chance of the right one, class 1, is exp(-cost).
    wrong = np.log(-np.expm1(-cost))
    logits = np.stack([wrong, -cost], axis=-1)
    return masked_cross_entropy(logits, np.ones(cost.shape, int), mask)


# ---------------------------------------------------------------- the counterexample


def a_counterexample():
    """Numbers on which the fault shows."""
    return np.array([[1.0, 1.0, 1.0], [4.0, 0.0, 0.0]]), np.array(
        [[True] * 3, [True, False, False]]
    )


def judge_counterexample(request, value):
    """Whether the faulty program gives a visibly wrong mean on `value`."""
    cost, mask = value
    if cost.ndim != 2:
        return Finding(
            "shape", "cost", f"expected cost of two axes, (B, T), got shape {cost.shape}."
        )
    if mask.shape != cost.shape:
        return Finding(
            "shape",
            "mask",
            f"expected mask of the shape of cost, {cost.shape}, got {mask.shape}.",
        )
    if mask.dtype != bool:
        return Finding("dtype", "mask", f"expected mask of True and False, got {mask.dtype}.")
    if cost.dtype.kind not in "fiu":
        return Finding("dtype", "cost", f"expected numbers in cost, got {cost.dtype}.")
    if not np.isfinite(cost).all():
        return Finding("finite", "not finite", "cost must hold ordinary finite numbers.")
    if (cost < 0).any():
        return Finding(
            "value", "negative", "a cost is minus the logarithm of a chance: it is never negative."
        )
    if not mask.any(axis=1).all() or cost.size == 0:
        return Finding(
            "value",
            "empty sentence",
            "a sentence without any token makes the faulty program divide by zero and return NaN. "
            "Whoever sees NaN is not misled; find numbers on which it looks fine and is wrong.",
        )
    if shows(cost[mask].mean(), np.asarray(faulty_mean_loss(cost, mask))):
        return None
    return Finding(
        "value",
        _why_hidden(cost, mask),
        "on these numbers the faulty program and a right one give the same mean, so a test with "
        "them would let the fault through.",
    )


def _why_hidden(cost, mask):
    if len(cost) == 1:
        return "one sentence"
    if np.ptp(mask.sum(axis=1)) == 0:
        return "equal lengths"
    return "equal costs" if np.ptp(cost[mask]) == 0 else "equal means"


def one_sentence():
    return np.array([[1.0, 4.0, 0.0]]), np.array([[True, True, False]])


def equal_lengths():
    return np.array([[1.0, 2.0, 0.0], [4.0, 3.0, 0.0]]), np.array([[True, True, False]] * 2)


def no_padding():
    return np.array([[1.0, 2.0, 3.0], [4.0, 3.0, 5.0]]), np.ones((2, 3), bool)


def equal_costs():
    return np.ones((2, 3)), np.array([[True, True, True], [True, False, False]])


def equal_means():
    cost = np.array([[1.0, 2.0, 3.0], [2.0, 0.0, 0.0]])
    return cost, np.array([[True, True, True], [True, False, False]])


def an_empty_sentence():
    return np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[True, True], [False, False]])


def numbers_for_a_mask():
    return np.array([[1.0, 1.0, 1.0], [4.0, 0.0, 0.0]]), np.array([[1, 1, 1], [1, 0, 0]])


def lengths_for_a_mask():
    return np.array([[1.0, 1.0, 1.0], [4.0, 0.0, 0.0]]), np.array([3, 1])


def cost_alone():
    return np.array([[1.0, 1.0, 1.0], [4.0, 0.0, 0.0]])


def negative_costs():
    cost = np.array([[-1.0, -1.0, -1.0], [-4.0, 0.0, 0.0]])
    return cost, np.array([[True, True, True], [True, False, False]])


def infinite_cost():
    cost = np.array([[1.0, 1.0, 1.0], [np.inf, 0.0, 0.0]])
    return cost, np.array([[True, True, True], [True, False, False]])


COUNTEREXAMPLE_MISTAKES = (
    Mistake(
        "one sentence",
        one_sentence,
        "With one sentence the mean of the means is that one mean. Take several.",
    ),
    Mistake(
        "equal lengths",
        equal_lengths,
        "Where all sentences have the same number of tokens, the mean of their means *is* the mean "
        "of all tokens. That is why the fault is so rarely noticed. Let the lengths differ.",
    ),
    Mistake(
        "no padding",
        no_padding,
        "Without padding all sentences have the same length.",
        same_as="equal lengths",
    ),
    Mistake(
        "equal costs",
        equal_costs,
        "If every token costs the same, any kind of mean gives that number. Let the costs differ.",
    ),
    Mistake(
        "equal means",
        equal_means,
        "The lengths differ and so do the costs, but each sentence has the same mean, so it does not "
        "matter how they are weighed. Let the short sentence cost more, or less, a token.",
    ),
    Mistake(
        "an empty sentence",
        an_empty_sentence,
        "A sentence without tokens shows another fault, a loud one. Give each at least one token.",
    ),
    Mistake(
        "numbers for a mask",
        numbers_for_a_mask,
        "A mask holds True and False. Write them out.",
    ),
    Mistake(
        "lengths for a mask",
        lengths_for_a_mask,
        "The mask has an entry for every position, (B, T), not a number for every sentence.",
    ),
    Mistake(
        "the costs alone",
        cost_alone,
        "The program takes two things, cost and mask. Return both.",
    ),
    Mistake(
        "negative costs",
        negative_costs,
        "The fault would show, but no token can cost less than nothing.",
    ),
    Mistake(
        "an infinite cost",
        infinite_cost,
        "With infinity in it every mean is infinite. Ordinary numbers are enough.",
    ),
)

COUNTEREXAMPLE = Exercise(
    identifier="01.counterexample",
    assignment="01_bottleneck",
    title="Find numbers on which the fault shows",
    kind="counterexample",
    answer="counterexample",
    points=2,
    difficulty=2,
    minutes=8,
    hints=(
        "Work it out for two sentences: what does one token of a long sentence weigh in the result, "
        "and what one of a short sentence?",
        "The program takes a mean within each sentence, then the mean of these. When is that the mean "
        "of all tokens, and when not?",
        "Take two sentences of different length, say three tokens and one, and let the tokens of the "
        "short one cost more.",
    ),
    returns=("cost", "mask"),
    cases=lambda random: [Case("your numbers", Call())],
    judge=judge_counterexample,
    contents=lambda: Contents(a_counterexample, COUNTEREXAMPLE_MISTAKES),
)


# ---------------------------------------------------------------- the mended program


def _request(draw, random, mask, **options):
    mask = np.array(mask, bool)
    return Call({"cost": np.abs(draw(random, *mask.shape, **options)), "mask": mask})


def cases(random):
    ragged = [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]]
    unknown = _request(readable, random, [[1, 1, 0], [1, 0, 0]])
    unknown.arguments["cost"][~unknown.arguments["mask"]] = np.nan
    return [
        Case(
            "two sentences of three and of one token",
            _request(readable, random, [[1, 1, 1], [1, 0, 0]]),
        ),
        Case("three sentences of unequal length", _request(normal, random, ragged)),
        Case(
            "padding at the beginning and in between",
            _request(normal, random, [[0, 1, 1, 0, 1], [1, 0, 0, 0, 1]]),
            "care",
        ),
        Case(
            "two sentences, the second without any token",
            _request(readable, random, [[1, 1, 0], [0, 0, 0]]),
            "care",
        ),
        Case(
            "a batch in which nothing counts", _request(readable, random, [[0, 0], [0, 0]]), "care"
        ),
        Case("NaN in the padding", unknown, "care"),
    ]


def _sentences_turned_round(random):
    request = _request(normal, random, [[1, 1, 1], [1, 0, 0], [1, 1, 0]])
    return [request, Call({name: array[::-1] for name, array in request.arguments.items()})]


def as_it_was(cost, mask):
    return ((cost * mask).sum(axis=1) / mask.sum(axis=1)).mean()


def mean_over_all(cost, mask):
    return (cost * mask).mean()


def mask_ignored(cost, mask):
    return cost.mean()


def divided_by_sentences(cost, mask):
    return (cost * mask).sum() / len(cost)


def sum_of_all(cost, mask):
    return np.where(mask, cost, 0.0).sum()


def multiplied_by_the_mask(cost, mask):
    return (cost * mask).sum() / max(mask.sum(), 1)


def nothing_divided_by_nothing(cost, mask):
    return np.where(mask, cost, 0.0).sum() / mask.sum()


def one_added_below(cost, mask):
    return np.where(mask, cost, 0.0).sum() / (mask.sum() + 1)


def lengths_weighed_twice(cost, mask):
    lengths = mask.sum(axis=1)
    return (np.where(mask, cost, 0.0).sum(axis=1) * lengths).sum() / max(lengths.sum(), 1)


def a_mean_for_each_sentence(cost, mask):
    return np.where(mask, cost, 0.0).sum(axis=1) / np.maximum(mask.sum(axis=1), 1)


def empty_sentences_mended_only(cost, mask):
    each = np.where(mask, cost, 0.0).sum(axis=1) / np.maximum(mask.sum(axis=1), 1)
    return each[mask.any(axis=1)].mean() if mask.any() else 0.0


MENDED_MISTAKES = (
    Mistake(
        "as it was",
        as_it_was,
        "Still a mean of means: a token of a short sentence weighs more. Add up all tokens of the "
        "batch and divide once.",
    ),
    Mistake(
        "only the empty sentences mended",
        empty_sentences_mended_only,
        "Empty sentences no longer make NaN, but it is still a mean of means.",
    ),
    Mistake(
        "divided by all positions",
        mean_over_all,
        "Padding is in the count: the more a batch is padded, the cheaper it seems. Divide by "
        "mask.sum().",
    ),
    Mistake(
        "the mask ignored",
        mask_ignored,
        "Whatever stands in the padding is counted as a cost.",
    ),
    Mistake(
        "divided by the number of sentences",
        divided_by_sentences,
        "This is what a *sentence* costs on average. Asked for is a token: divide by how many count.",
    ),
    Mistake(
        "the sum of all",
        sum_of_all,
        "This is the sum. Divide it by the number of tokens.",
    ),
    Mistake(
        "multiplied by the mask",
        multiplied_by_the_mask,
        "Right for ordinary numbers. But 0 times NaN is NaN: what stands in the padding gets in "
        "after all. cost[mask] picks, np.where chooses.",
    ),
    Mistake(
        "nothing divided by nothing",
        nothing_divided_by_nothing,
        "A batch in which nothing counts costs nothing: 0, not NaN.",
    ),
    Mistake(
        "one added below",
        one_added_below,
        "Adding 1 to the count avoids the division by zero and makes every other result too small. "
        "Guard only the count of 0: max(count, 1).",
    ),
    Mistake(
        "lengths weighed twice",
        lengths_weighed_twice,
        "The sums of the sentences already grow with their lengths; multiplying by the lengths weighs "
        "long sentences twice.",
    ),
    Mistake(
        "a mean for each sentence",
        a_mean_for_each_sentence,
        "These are the sentences' means. One number for the whole batch is asked for.",
    ),
)

MENDED = Exercise(
    identifier="01.mean_loss",
    assignment="01_bottleneck",
    title="Mend the program",
    kind="mended",
    answer="mean_loss",
    points=2,
    difficulty=1,
    minutes=6,
    hints=(
        "How many divisions should there be?",
        "One sum over all positions that count, one count of them, one division.",
        "`cost[mask]` holds the costs of all tokens that count, in one row. What is its mean, and "
        "what should come out if it is empty?",
    ),
    returns=("mean",),
    cases=cases,
    laws=(
        same(
            "The order of the sentences does not matter",
            _sentences_turned_round,
            "with the sentences in reverse order, another mean came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with scattered padding, nothing that counts or NaN", 0.5),
    ),
    contents=lambda: Contents(mean_loss, MENDED_MISTAKES),
)
