"""05.estimates_by_hand: two keys, their exact gradient, and every estimate there can be, on paper."""

import numpy as np

from attnkit.numpy import exact_reward_gradient, reinforce_gradient

from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def on_paper():
    """Mean reward; then, of the first key: exact gradient, and two estimates without and with it."""
    probability, reward = np.array([0.75, 0.25]), np.array([1.0, 5.0])
    scores, draws, mean = np.log(probability), np.array([0.5, 0.9]), probability @ reward
    exact = exact_reward_gradient(scores, reward)[0]
    without = reinforce_gradient(scores, reward, draws)[:, 0]
    with_mean = reinforce_gradient(scores, reward, draws, baseline=mean)[:, 0]
    return np.array([mean, exact, *without, *with_mean])


def plain_mean():
    return np.array([3.0, -1.5, 0.25, -3.75, -0.5, -1.5])


def probability_not_subtracted():
    return np.array([2.0, -0.75, 1.0, 0.0, -1.0, 0.0])


def turned_round():
    return np.array([2.0, 0.75, -0.25, 3.75, 0.25, 2.25])


def its_own_component():
    return np.array([2.0, -0.75, 0.25, 3.75, -0.25, 2.25])


def factor_forgotten():
    return np.array([2.0, -1.0, 0.25, -3.75, -0.25, -2.25])


def reward_without_the_mean():
    return np.array([2.0, 0.75, 0.25, -3.75, -0.25, -2.25])


def weighed_with_the_probability():
    return np.array([2.0, -0.75, 0.1875, -0.9375, -0.1875, -0.5625])


def baseline_left_out():
    return np.array([2.0, -0.75, 0.25, -3.75, 0.25, -3.75])


def other_probability():
    return np.array([2.0, -0.75, 0.75, -1.25, -0.75, -0.75])


def other_probability_for_the_second():
    return np.array([2.0, -0.75, 0.25, -1.25, -0.25, -0.75])


def baseline_after_the_product():
    return np.array([2.0, -0.75, 0.25, -3.75, -1.75, -5.75])


MISTAKES = (
    Mistake(
        "every key weighed the same",
        plain_mean,
        "You took the plain mean of both rewards. The first key is drawn three times as often, so it "
        "counts three times as much.",
    ),
    Mistake(
        "the probability not subtracted",
        probability_not_subtracted,
        "Your estimates are reward times one-hot. The probabilities are subtracted from one-hot, so "
        "the first component moves whichever key was drawn.",
    ),
    Mistake(
        "all signs turned round",
        turned_round,
        "All signs but that of the mean are turned round. These are slopes of the *reward*, which is "
        "to grow: one-hot minus probability, reward minus mean. Or are these the numbers of the second "
        "key? With two keys they are just the opposite.",
    ),
    Mistake(
        "the component of the key drawn",
        its_own_component,
        "For the second draw you wrote down the second component. All questions are about the score "
        "of the first key, which falls when the other one is drawn and pays.",
    ),
    Mistake(
        "the probability forgotten in the exact gradient",
        factor_forgotten,
        "In the exact gradient, reward minus mean is still to be multiplied by the probability of "
        "the key.",
    ),
    Mistake(
        "the mean forgotten in the exact gradient",
        reward_without_the_mean,
        "In the exact gradient you multiplied probability and reward. First subtract the mean reward: "
        "a key gains score only if it pays more than that.",
    ),
    Mistake(
        "estimates weighed with their probability",
        weighed_with_the_probability,
        "Your estimates are multiplied by how likely they are. That is needed to find their mean (and "
        "the sum of yours is indeed the exact gradient), but a single estimate does not know it.",
    ),
    Mistake(
        "the baseline left out",
        baseline_left_out,
        "The last two estimates are those without a baseline. Subtract the mean reward from what was "
        "paid first.",
    ),
    Mistake(
        "the probability of the other key",
        other_probability,
        "You subtracted the probability of the second key. One-hot minus probability is taken in each "
        "component for itself; in the first one that is 1 - 0.75 or 0 - 0.75.",
    ),
    Mistake(
        "the probability of the other key for the second draw",
        other_probability_for_the_second,
        "For the second draw you subtracted the second key's probability. The first component always "
        "subtracts the first key's: 0 - 0.75 if the second key was drawn.",
    ),
    Mistake(
        "the baseline after the product",
        baseline_after_the_product,
        "You subtracted the mean reward from the estimate. It is subtracted from what was *paid*, before "
        "that is multiplied by one-hot minus probability.",
    ),
)

EXERCISE = Exercise(
    identifier="05.estimates_by_hand",
    assignment="05_soft_and_hard",
    title="By hand: every estimate there is",
    kind="by hand",
    answer="estimates_by_hand",
    points=2,
    difficulty=1,
    minutes=10,
    hints=(
        "The first number is a weighted mean of two rewards. Everything after it is about the first "
        "component of a vector with two components.",
        "The exact gradient is $p_1 (r_1 - \\text{mean})$. An estimate is what was paid, less the "
        "baseline, times (one-hot minus probability); in the first component one-hot is 1 if the "
        "first key was drawn and 0 if not.",
        "Check yourself: weigh your third and fourth number with 0.75 and 0.25 and add them. The "
        "second number must come out, and the same for the fifth and sixth.",
    ),
    returns=("answers",),
    cases=lambda random: [Case("your numbers", Call())],
    contents=lambda: Contents(on_paper, MISTAKES),
    whole_numbers_pass=True,
    absolute=0.005,
)
