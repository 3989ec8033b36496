"""01.loss_by_hand: a masked loss and an exact match, worked out on paper."""

import numpy as np

from attnkit.numpy import exact_match, masked_cross_entropy

from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call

CHANCE = np.array([[1 / 2, 1 / 4, 1 / 2], [1 / 2, 1 / 2, 1 / 8]])  # of the right token
RIGHT = np.array([[True, True, False], [True, True, False]])  # whether the likeliest was right
MASK = np.array([[True, True, False], [True, True, True]])


def on_paper():
    """The loss in bits, and the share of sentences that are right."""
    logits = np.log(np.stack([1 - CHANCE, CHANCE], axis=-1))
    loss = masked_cross_entropy(logits, np.ones_like(MASK, int), MASK) / np.log(2)
    match = exact_match(RIGHT.astype(int), np.ones_like(MASK, int), MASK)
    return np.array([loss, match])


def padding_counted():
    return np.array([9 / 6, 0.0])


def mean_of_the_means():
    return np.array([(3 / 2 + 5 / 3) / 2, 0.5])


def divided_by_all_positions():
    return np.array([8 / 6, 0.5])


def added_up():
    return np.array([8.0, 0.5])


def divided_by_sentences():
    return np.array([4.0, 0.5])


def tokens_counted():
    return np.array([1.6, 0.8])


def natural_logarithm():
    return np.array([1.109, 0.5])


def log_of_the_mean():
    return np.array([1.415, 0.5])


MISTAKES = (
    Mistake(
        "padding counted",
        padding_counted,
        "You counted the padded position as well, in the loss and in the match. There is no right "
        "token there: leave it out.",
    ),
    Mistake(
        "the mean of two means",
        mean_of_the_means,
        "You took a mean within each sentence and then the mean of both. Every *token* counts the "
        "same here: add up all five costs and divide once.",
    ),
    Mistake(
        "divided by all positions",
        divided_by_all_positions,
        "The padded position was left out of the sum but not out of the count: divide by 5, not "
        "by 6.",
    ),
    Mistake(
        "added up",
        added_up,
        "This is the sum of the costs. The loss is their mean over the tokens that count.",
    ),
    Mistake(
        "divided by the number of sentences",
        divided_by_sentences,
        "You divided the sum by the number of sentences. It is the mean over tokens.",
    ),
    Mistake(
        "tokens counted as matches",
        tokens_counted,
        "The loss is right. 0.8 is the share of right *tokens*; exact match asks for sentences in "
        "which every token is right.",
    ),
    Mistake(
        "the natural logarithm",
        natural_logarithm,
        "You used the natural logarithm. In bits the logarithm has base 2: a chance of 1/2 costs 1, "
        "a chance of 1/4 costs 2.",
    ),
    Mistake(
        "the logarithm of the mean",
        log_of_the_mean,
        "You averaged the chances and then took the logarithm. Take the logarithm of each chance "
        "first: a single very unlikely token must cost a lot.",
    ),
)

EXERCISE = Exercise(
    identifier="01.loss_by_hand",
    assignment="01_bottleneck",
    title="By hand: a loss and a match",
    kind="by hand",
    answer="loss_by_hand",
    points=2,
    difficulty=1,
    minutes=8,
    hints=(
        "How many positions count? And what does a token cost that had a chance of 1/2?",
        "A chance of 1/2 costs 1 bit, 1/4 costs 2, 1/8 costs 3. Add up the costs of the tokens that "
        "count, and divide by how many they are.",
        "The first sentence costs 1 + 2, the second 1 + 1 + 3. For the match: which sentence has "
        '"yes" at every position that counts?',
    ),
    returns=("numbers",),
    cases=lambda random: [Case("your numbers", Call())],
    contents=lambda: Contents(on_paper, MISTAKES),
    whole_numbers_pass=True,
    absolute=0.005,
)
