"""02.predicted_sharpness: a guess about what factors do to softmax, made before it is measured."""

import numpy as np

from ..judges import judge_prediction
from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def an_accepted_guess():
    """One of the many predictions that are accepted; it is not what will be measured."""
    return np.array([0.6, 0.6, 0.6])


def in_percent():
    return np.array([33.0, 60.0, 95.0])


def below_one_third():
    return np.array([0.0, 0.5, 0.9])


def a_single_guess():
    return np.array(0.6)


def all_nine_weights():
    return np.array([[0.3, 0.3, 0.4], [0.1, 0.3, 0.6], [0.0, 0.1, 0.9]])


def with_an_empty_place():
    return np.array([0.4, 0.6, np.nan])


def as_a_list_of_words():
    return ["even", "sharper", "sharpest"]


def nothing_handed_back():
    np.array([0.4, 0.6, 0.9])


MISTAKES = (
    Mistake(
        "in percent",
        in_percent,
        "These look like percentages. Weights are shares of one: write 0.5 for a half, and "
        "nothing can exceed 1.",
    ),
    Mistake(
        "below one third",
        below_one_third,
        "Three weights share a total of 1. If the largest were below 1/3, all three together could "
        "not reach 1. Scores that are all zero do not give weights of zero: think of three scores "
        "that are equal.",
    ),
    Mistake(
        "a single guess",
        a_single_guess,
        "There are three factors, 0, 1 and 10, and each gets its own guess.",
    ),
    Mistake(
        "all nine weights",
        all_nine_weights,
        "You guessed every weight. Only the largest of each row is asked for: three numbers.",
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
        "Words cannot be set beside a measurement. Put a number between 1/3 and 1 on each.",
    ),
    Mistake(
        "nothing returned",
        nothing_handed_back,
        "The guesses were made but not handed back: the last line must begin with return.",
    ),
)

EXERCISE = Exercise(
    identifier="02.predicted_sharpness",
    assignment="02_soft_lookup",
    title="Predict: how sharp is the lookup?",
    kind="prediction",
    answer="predicted_sharpness",
    points=1,
    difficulty=1,
    minutes=3,
    hints=(
        "Softmax looks at differences between scores. What happens to differences when every score "
        "is multiplied by 10? By 0?",
        "The weights stand in the ratio $e^{s_1} : e^{s_2} : e^{s_3}$. For the factor 1 that is "
        "roughly 1 : 2.7 : 7.4.",
        "With equal scores the three weights are equal. With a factor of 10 the best score is ahead "
        "by 10, and $e^{10}$ is about 22 000. Write down three numbers: any will do.",
    ),
    returns=("predicted largest weights",),
    cases=lambda random: [Case("your guess", Call())],
    judge=judge_prediction(
        (3,),
        0.333,  # one third as people write it
        1.0,
        {
            "high": "a weight is a share of one",
            "low": "the largest of three weights that sum to one is at least 1/3",
        },
    ),
    contents=lambda: Contents(an_accepted_guess, MISTAKES),
    remark="your guess is noted. The cell below measures it.",
)
