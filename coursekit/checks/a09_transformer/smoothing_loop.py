"""09.smoothed_cost_loop: what one position costs under label smoothing, class by class."""

import numpy as np

from attnkit.numpy import masked_cross_entropy

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def smoothed_cost_loop(logits, target, epsilon):
    """The cost of one position, from the library's loss."""
    return masked_cross_entropy(logits[None], [target], [True], label_smoothing=epsilon)


def _request(logits, target, epsilon):
    return Call({"logits": logits, "target": int(target), "epsilon": epsilon})


def cases(random):
    return [
        Case(
            "three classes, epsilon = 0.3",
            _request(readable(random, 3), random.integers(3), 0.3),
        ),
        Case("four classes, epsilon = 0", _request(readable(random, 4), random.integers(4), 0.0)),
        Case("seven classes, epsilon = 0.1", _request(normal(random, 7), random.integers(7), 0.1)),
        Case(
            "logits near 1000",
            _request(1000 + readable(random, 4), random.integers(4), 0.2),
            "care",
        ),
        Case(
            "a class far below the others",
            _request(np.append(readable(random, 3), -800.0), random.integers(3), 0.2),
            "care",
        ),
    ]


def _moved_alike(random):
    logits, target = normal(random, 5), random.integers(5)
    return [_request(logits, target, 0.2), _request(logits + 3.0, target, 0.2)]


def not_smoothed(logits, target, epsilon):
    log_p = logits - logits.max()
    log_p = log_p - np.log(np.exp(log_p).sum())
    return -log_p[target]


def shared_by_the_others(logits, target, epsilon):
    n_classes = len(logits)
    log_p = logits - logits.max()
    log_p = log_p - np.log(np.exp(log_p).sum())
    cost = 0.0
    for c in range(n_classes):
        share = 1 - epsilon if c == target else epsilon / (n_classes - 1)
        cost -= share * log_p[c]
    return cost


def right_class_gets_no_share(logits, target, epsilon):
    log_p = logits - logits.max()
    log_p = log_p - np.log(np.exp(log_p).sum())
    cost = 0.0
    for c in range(len(logits)):
        share = 1 - epsilon if c == target else epsilon / len(logits)
        cost -= share * log_p[c]
    return cost


def epsilon_for_each(logits, target, epsilon):
    log_p = logits - logits.max()
    log_p = log_p - np.log(np.exp(log_p).sum())
    cost = 0.0
    for c in range(len(logits)):
        cost -= ((1 - epsilon) * (c == target) + epsilon) * log_p[c]
    return cost


def one_and_epsilon(logits, target, epsilon):
    log_p = logits - logits.max()
    log_p = log_p - np.log(np.exp(log_p).sum())
    cost = 0.0
    for c in range(len(logits)):
        cost -= ((c == target) + epsilon / len(logits)) * log_p[c]
    return cost


def shares_exchanged(logits, target, epsilon):
    log_p = logits - logits.max()
    log_p = log_p - np.log(np.exp(log_p).sum())
    cost = 0.0
    for c in range(len(logits)):
        cost -= (epsilon * (c == target) + (1 - epsilon) / len(logits)) * log_p[c]
    return cost


def probabilities_smoothed(logits, target, epsilon):
    p = np.exp(logits - logits.max())
    p = p / p.sum()
    return -np.log((1 - epsilon) * p[target] + epsilon / len(logits))


def sign_forgotten(logits, target, epsilon):
    log_p = logits - logits.max()
    log_p = log_p - np.log(np.exp(log_p).sum())
    return (1 - epsilon) * log_p[target] + epsilon * log_p.mean()


def logarithm_forgotten(logits, target, epsilon):
    p = np.exp(logits - logits.max())
    p = p / p.sum()
    return -(1 - epsilon) * p[target] - epsilon * p.mean()


def softmax_forgotten(logits, target, epsilon):
    return -(1 - epsilon) * logits[target] - epsilon * logits.mean()


def overflowing(logits, target, epsilon):
    p = np.exp(logits) / np.exp(logits).sum()
    cost = 0.0
    for c in range(len(logits)):
        cost -= ((1 - epsilon) * (c == target) + epsilon / len(logits)) * np.log(p[c])
    return cost


def log_of_zero(logits, target, epsilon):
    p = np.exp(logits - logits.max())
    p = p / p.sum()
    cost = 0.0
    for c in range(len(logits)):
        cost -= ((1 - epsilon) * (c == target) + epsilon / len(logits)) * np.log(p[c])
    return cost


def floor_under_the_logarithm(logits, target, epsilon):
    p = np.exp(logits - logits.max())
    p = p / p.sum()
    cost = 0.0
    for c in range(len(logits)):
        share = (1 - epsilon) * (c == target) + epsilon / len(logits)
        cost -= share * np.log(p[c] + 1e-12)
    return cost


def least_cost_subtracted(logits, target, epsilon):
    log_p = logits - logits.max()
    log_p = log_p - np.log(np.exp(log_p).sum())
    cost = 0.0
    for c in range(len(logits)):
        share = (1 - epsilon) * (c == target) + epsilon / len(logits)
        if share > 0:
            cost += share * (np.log(share) - log_p[c])
    return cost


def binary_logarithm(logits, target, epsilon):
    log_p = logits - logits.max()
    log_p = log_p - np.log(np.exp(log_p).sum())
    cost = 0.0
    for c in range(len(logits)):
        share = epsilon / len(logits) + (1 - epsilon) * (c == target)
        cost -= share * log_p[c] / np.log(2)
    return cost


def mean_over_the_classes(logits, target, epsilon):
    log_p = logits - logits.max()
    log_p = log_p - np.log(np.exp(log_p).sum())
    cost = 0.0
    for c in range(len(logits)):
        share = epsilon / len(logits) + (1 - epsilon) * (c == target)
        cost -= share * log_p[c]
    return cost / len(logits)


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
        "to one. It gets both: 1 - epsilon, and epsilon / V like every class.",
    ),
    Mistake(
        "epsilon for each class",
        epsilon_for_each,
        "Every class gets all of epsilon. It is divided among the V classes.",
    ),
    Mistake(
        "one and a share",
        one_and_epsilon,
        "The right class still counts with 1. What the others are given is taken from it: 1 - epsilon.",
    ),
    Mistake(
        "shares exchanged",
        shares_exchanged,
        "epsilon and 1 - epsilon are exchanged: the right class keeps nearly all, not nearly nothing.",
    ),
    Mistake(
        "probabilities smoothed",
        probabilities_smoothed,
        "You mixed the model's probabilities with equal ones and took one logarithm. It is the "
        "*target* that is mixed: each class costs its share times its own logarithm.",
    ),
    Mistake(
        "the minus forgotten",
        sign_forgotten,
        "The logarithm of a probability is negative, a cost is not: the minus is missing.",
    ),
    Mistake(
        "the logarithm forgotten",
        logarithm_forgotten,
        "You weighted the probabilities. A cost is minus their logarithm.",
    ),
    Mistake(
        "the softmax forgotten",
        softmax_forgotten,
        "You used logits as if they were logarithms of probabilities. They must first be made so: "
        "subtract the logarithm of the sum of their exponentials.",
    ),
    Mistake(
        "overflow",
        overflowing,
        "exp(1000) is infinity. Subtract the largest logit first: the probabilities do not change.",
    ),
    Mistake(
        "the logarithm of nothing",
        log_of_zero,
        "The probability of the last class is so small that it is rounded to 0, and log(0) is "
        "-infinity. With smoothing every class counts. Do not take exp first and log afterwards: the "
        "logarithm of a softmax is the logit minus log(sum(exp)).",
    ),
    Mistake(
        "a floor under the logarithm",
        floor_under_the_logarithm,
        "The small number inside the logarithm keeps off infinity and gives a wrong cost where a "
        "probability is smaller than it. The logarithm of a softmax is the logit minus "
        "log(sum(exp)); nothing has to be added.",
    ),
    Mistake(
        "the least possible cost subtracted",
        least_cost_subtracted,
        "You subtracted what even a perfect model pays. Cross-entropy does not: with smoothing it "
        "never reaches 0.",
    ),
    Mistake(
        "the logarithm to base 2",
        binary_logarithm,
        "You count in bits. log is the natural logarithm here, np.log.",
    ),
    Mistake(
        "a mean over the classes",
        mean_over_the_classes,
        "You divided by the number of classes at the end. The shares sum to one already, so their "
        "sum is a mean.",
    ),
)

EXERCISE = Exercise(
    identifier="09.smoothed_cost_loop",
    assignment="09_transformer",
    title="Label smoothing at one position, by a loop",
    kind="loop",
    answer="smoothed_cost_loop",
    points=2,
    difficulty=2,
    minutes=12,
    hints=(
        "Write down the shares for three classes and epsilon = 0.3. Do they add up to one?",
        "First the logarithms of the probabilities: each logit minus the logarithm of the sum of all "
        "exponentials. Then a sum over the classes, each with its share.",
        "`highest = logits.max()`; the logarithm of the sum is `highest` plus `np.log` of the summed "
        "`np.exp(logit - highest)`. The share of every class is `epsilon / len(logits)`; the right "
        "class has `1 - epsilon` more.",
    ),
    returns=("cost",),
    cases=cases,
    laws=(
        same(
            "The same number added to all logits changes nothing",
            _moved_alike,
            "with all logits larger by 3, another cost came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with very large or very unlike logits", 0.5),
    ),
    contents=lambda: Contents(smoothed_cost_loop, MISTAKES),
)
