"""03.predicted_largest_weight: a guess about saturation, made before it is measured."""

import numpy as np

from ..judges import judge_prediction
from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def an_accepted_guess():
    """One of the many predictions that are accepted; it is not what will be measured."""
    return np.array([0.3, 0.3, 0.3])


def in_percent():
    return np.array([20.0, 50.0, 90.0])


def below_one_in_sixteen():
    return np.array([0.5, 0.1, 0.01])


def a_single_guess():
    return np.array(0.5)


def with_an_empty_place():
    return np.array([0.2, 0.5, np.nan])


def as_a_list_of_words():
    return ["small", "larger", "nearly one"]


def nothing_handed_back():
    np.array([0.2, 0.5, 0.9])


def as_a_column():
    return np.array([[0.2], [0.5], [0.9]])


MISTAKES = (
    Mistake(
        "in percent",
        in_percent,
        "These look like percentages. Weights are shares of one: write 0.5 for a half, and "
        "nothing can exceed 1.",
    ),
    Mistake(
        "below one in sixteen",
        below_one_in_sixteen,
        "Sixteen weights share a total of 1. If the largest were below 1/16, all of them together "
        "could not reach 1. Perhaps you guessed the size of a typical weight; the question is "
        "about the largest.",
    ),
    Mistake(
        "a single guess",
        a_single_guess,
        "There are three widths, 2, 64 and 2048, and each gets its own guess. Whether the three "
        "differ, and in which direction, is the point of the question.",
    ),
    Mistake(
        "an empty place",
        with_an_empty_place,
        "NaN stands for a place that was left open. Any guess is welcome here, a wrong one too: "
        "it earns the same point.",
    ),
    Mistake(
        "words instead of numbers",
        as_a_list_of_words,
        "Words cannot be set beside a measurement. Put a number between 1/16 and 1 on each.",
    ),
    Mistake(
        "nothing returned",
        nothing_handed_back,
        "The guesses were made but not handed back: the last line must begin with return.",
    ),
    Mistake(
        "a column",
        as_a_column,
        "The inner brackets make three rows of one number each. One pair of brackets with three "
        "numbers in it is enough.",
    ),
)

EXERCISE = Exercise(
    identifier="03.predicted_largest_weight",
    assignment="03_scores",
    title="Predict: how large is the largest weight?",
    kind="prediction",
    answer="predicted_largest_weight",
    points=1,
    difficulty=1,
    minutes=3,
    hints=(
        "With all sixteen scores equal, every weight is 1/16. What happens to the largest one as "
        "the scores spread out?",
        "A dot product of width `d_k` is a sum of `d_k` random products. Does such a sum get more "
        "or less spread out as it gets longer?",
        "Think of two scores that differ by 1, by 8 and by 45, and of $e^1$, $e^8$ and $e^{45}$. "
        "Then write down three numbers between 1/16 and 1: any will do.",
    ),
    returns=("predicted largest weights",),
    cases=lambda random: [Case("your guess", Call())],
    judge=judge_prediction(
        (3,),
        1 / 16,
        1.0,
        {
            "high": "a weight is a share of one",
            "low": "the largest of sixteen weights that sum to one is at least 1/16 = 0.0625",
        },
    ),
    contents=lambda: Contents(an_accepted_guess, MISTAKES),
    remark="your guess is noted. The cells below measure it.",
)
