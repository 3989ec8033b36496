"""05.exact_gradient: how the mean reward changes with each score, by trying every key."""

import numpy as np

from attnkit.numpy import exact_reward_gradient

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .given import softmax


def _request(draw, random, *shape, **options):
    return Call(
        {"scores": draw(random, *shape, **options), "reward": draw(random, *shape, **options)}
    )


def _hidden(request, *places):
    for place in places:
        request.arguments["scores"][place] = -np.inf
        request.arguments["reward"][place] = np.nan
    return request


def cases(random):
    far = _request(readable, random, 4)
    far.arguments["scores"][:] += 1000
    return [
        Case("three keys", _request(readable, random, 3)),
        Case("six keys", _request(normal, random, 6)),
        Case("a batch of three, with three keys each", _request(normal, random, 3, 3)),
        Case("two leading axes", _request(normal, random, 2, 3, 4)),
        Case("scores near 1000", far, "care"),
        Case(
            "a hidden key, whose reward is not known (NaN)",
            _hidden(_request(readable, random, 4), 1),
            "care",
        ),
        Case(
            "a hidden key in one row of two",
            _hidden(_request(normal, random, 2, 4), (1, 2)),
            "care",
        ),
        Case("float32 numbers", _request(normal, random, 2, 5, dtype=np.float32), "care"),
    ]


def _every_reward_raised(random):
    request = _request(normal, random, 2, 5)
    scores, reward = request.arguments.values()
    return [request, Call({"scores": scores, "reward": reward + 10})]


def mean_not_subtracted(scores, reward):
    return softmax(scores) * np.where(np.isinf(scores), 0.0, reward)


def probability_forgotten(scores, reward):
    p = softmax(scores)
    reward = np.where(p > 0, reward, 0.0)
    return reward - (p * reward).sum(axis=-1, keepdims=True)


def every_key_weighed_the_same(scores, reward):
    p = softmax(scores)
    return p * (np.where(p > 0, reward, 0.0) - np.nanmean(reward, axis=-1, keepdims=True))


def turned_round(scores, reward):
    p = softmax(scores)
    reward = np.where(p > 0, reward, 0.0)
    return p * ((p * reward).sum(axis=-1, keepdims=True) - reward)


def the_mean_reward_itself(scores, reward):
    p = softmax(scores)
    return (p * np.where(p > 0, reward, 0.0)).sum(axis=-1)


def its_own_score_only(scores, reward):
    p = softmax(scores)
    return p * (1 - p) * np.where(p > 0, reward, 0.0)


def one_mean_for_the_batch(scores, reward):
    p = softmax(scores)
    reward = np.where(p > 0, reward, 0.0)
    return p * (reward - (p * reward).sum())


def axis_not_kept(scores, reward):
    p = softmax(scores)
    reward = np.where(p > 0, reward, 0.0)
    return p * (reward - (p * reward).sum(axis=-1))


def multiplied_by_the_probability(scores, reward):
    p = softmax(scores)
    return p * (reward - (p * reward).sum(axis=-1, keepdims=True))


def hidden_reward_left_in_place(scores, reward):
    p = softmax(scores)
    return p * (reward - np.nansum(p * reward, axis=-1, keepdims=True))


def scores_for_probabilities(scores, reward):
    p = np.where(np.isinf(scores), 0.0, scores)
    reward = np.where(np.isinf(scores), 0.0, reward)
    return p * (reward - (p * reward).sum(axis=-1, keepdims=True))


def softmax_overflows(scores, reward):
    p = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    reward = np.where(p > 0, reward, 0.0)
    return p * (reward - (p * reward).sum(axis=-1, keepdims=True))


def reward_overwritten(scores, reward):
    p = softmax(scores)
    reward[p == 0] = 0.0
    return p * (reward - (p * reward).sum(axis=-1, keepdims=True))


def axis_not_kept_and_hidden_rewards(scores, reward):
    p = softmax(scores)
    return p * (reward - (p * reward).sum(axis=-1))


def one_mean_and_hidden_rewards(scores, reward):
    p = softmax(scores)
    return p * (reward - (p * reward).sum())


def product_of_vectors(scores, reward):
    p = softmax(scores)
    return p * (reward - p @ reward)


MISTAKES = (
    Mistake(
        "the mean reward not subtracted",
        mean_not_subtracted,
        "You return probability times reward. When one score rises the others lose probability; "
        "that is what subtracting the mean reward takes care of.",
    ),
    Mistake(
        "the probability forgotten",
        probability_forgotten,
        "You return how much better than the mean each key is. A key that is hardly ever drawn "
        "hardly matters: multiply by its probability.",
    ),
    Mistake(
        "every key weighed the same",
        every_key_weighed_the_same,
        "You subtract the plain mean of the rewards. The mean reward of the draws weighs each key "
        "with its probability.",
    ),
    Mistake(
        "the sign turned round",
        turned_round,
        "Your gradient points to *less* reward. A key that pays more than the mean gains score: "
        "reward minus mean.",
    ),
    Mistake(
        "the mean reward itself",
        the_mean_reward_itself,
        "You return the mean reward. Asked for is its derivative by each score, one number a key.",
    ),
    Mistake(
        "its own score only",
        its_own_score_only,
        "p (1 - p) is how a key's own probability changes with its own score. The probabilities of "
        "all other keys change too, and with them what they pay.",
    ),
    Mistake(
        "one mean for the whole batch",
        one_mean_for_the_batch,
        "You sum over all axes. Each row has its own mean reward: axis=-1.",
    ),
    Mistake(
        "the axis not kept",
        axis_not_kept,
        "For one row this is right. With leading axes, a sum without its axis is lined up with the "
        "keys of all rows: keepdims=True leaves the axis in place.",
    ),
    Mistake(
        "a hidden reward multiplied by 0",
        multiplied_by_the_probability,
        "A hidden key has probability 0, but 0 times NaN is NaN, and the mean spreads it over the "
        "whole row. Choose with np.where before you multiply.",
    ),
    Mistake(
        "a hidden reward left in its place",
        hidden_reward_left_in_place,
        "The mean is right, but at the hidden key itself you still multiply 0 by NaN. Its gradient "
        "is 0. Put another number for the reward of hidden keys first.",
    ),
    Mistake(
        "scores taken for probabilities",
        scores_for_probabilities,
        "You weigh with the scores. The probabilities are their softmax.",
    ),
    Mistake(
        "a softmax that overflows",
        softmax_overflows,
        "exp(1000) is infinity. Use the softmax you are given, which subtracts the largest score.",
    ),
    Mistake(
        "the rewards overwritten",
        reward_overwritten,
        "The gradient is right, but reward[…] = 0 writes into the caller's array. np.where makes a "
        "new one.",
    ),
    Mistake(
        "the axis not kept, and hidden rewards multiplied by 0",
        axis_not_kept_and_hidden_rewards,
        "For one row without hidden keys this is right. With leading axes the sum has to keep its axis "
        "(keepdims=True); and 0 times NaN is NaN, so hidden rewards must be replaced first.",
    ),
    Mistake(
        "one mean for the whole batch, and hidden rewards multiplied by 0",
        one_mean_and_hidden_rewards,
        "For one row without hidden keys this is right. Each row has its own mean, axis=-1 with the "
        "axis kept; and 0 times NaN is NaN, so hidden rewards must be replaced first.",
    ),
    Mistake(
        "a product of vectors",
        product_of_vectors,
        "For two vectors `@` is the weighted sum. With more axes it is a product of matrices: multiply "
        "and sum over the last axis, which is kept.",
    ),
)

EXERCISE = Exercise(
    identifier="05.exact_gradient",
    assignment="05_soft_and_hard",
    title="The exact gradient, by trying every key",
    kind="vectorised",
    answer="exact_gradient",
    points=3,
    difficulty=2,
    minutes=10,
    hints=(
        "Which key should gain score: one that pays well, or one that pays better than the others on "
        "average?",
        "Find the probabilities, then the mean reward of each row: each reward weighed with its "
        "probability, summed over the last axis, the axis kept. A key's derivative is its probability "
        "times how much more than that it pays.",
        "`softmax(scores)` is the probability; it is 0 where the score is -inf. Replace the rewards "
        "of these keys by 0 with `np.where` before anything is multiplied, and use `keepdims=True` "
        "in the sum.",
    ),
    returns=("gradient",),
    cases=cases,
    laws=(
        same(
            "If every key pays 10 more, the gradient stays",
            _every_reward_raised,
            "with 10 more for every key, another gradient came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 2 / 3),
        Part("care", "those with hidden keys, large scores or float32", 1 / 3),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(exact_reward_gradient, MISTAKES),
)
