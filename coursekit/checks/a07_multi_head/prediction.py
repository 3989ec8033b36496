"""07.predicted_readers: a guess about one head, four and sixteen, made before they are trained."""

import numpy as np

from ..judges import judge_prediction
from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def an_accepted_guess():
    """One of the many predictions that are accepted; it is not what will be measured."""
    return np.array([0.5, 0.5, 0.5])


def in_percent():
    return np.array([40.0, 80.0, 90.0])


def below_zero():
    return np.array([-0.1, 0.8, 0.9])


def a_single_guess():
    return np.array(0.8)


def both_relations():
    return np.array([[0.5, 0.5], [0.8, 0.9], [0.9, 0.9]])


def with_an_empty_place():
    return np.array([0.4, np.nan, 0.9])


def as_a_list_of_words():
    return ["badly", "well", "very well"]


def nothing_handed_back():
    np.array([0.4, 0.8, 0.9])


def the_best_one():
    return np.array([True, False, False])


MISTAKES = (
    Mistake(
        "in percent",
        in_percent,
        "These look like percentages. A share is at most 1: write 0.4 for 40 percent.",
    ),
    Mistake(
        "below zero",
        below_zero,
        "Nobody can be right less often than never. Who guesses both digits blindly still has a "
        "little luck.",
    ),
    Mistake(
        "a single guess",
        a_single_guess,
        "There are three guesses to make: 1 head, 4 heads and 16 heads. Whether they differ is the "
        "question.",
    ),
    Mistake(
        "both relations apart",
        both_relations,
        "An answer counts only if both digits are right, so there is one share for each reader: "
        "three numbers in one pair of brackets.",
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
        "Words cannot be set beside a measurement. Put a number between 0 and 1 on each.",
    ),
    Mistake(
        "nothing returned",
        nothing_handed_back,
        "The guesses were made but not handed back: the last line must begin with return.",
    ),
    Mistake(
        "which one is best",
        the_best_one,
        "True and False say which reader you expect to win, not by how much. Guess a share for each.",
    ),
)

EXERCISE = Exercise(
    identifier="07.predicted_readers",
    assignment="07_multi_head",
    title="Predict: one head, four, or sixteen?",
    kind="prediction",
    answer="predicted_readers",
    points=1,
    difficulty=1,
    minutes=3,
    hints=(
        "What would a reader score that finds one of the two digits always and guesses the other?",
        "A row of weights sums to one. What does a single head hear if it looks half at one token and "
        "half at another, and could it tell that from the two tokens exchanged? And with 16 heads in "
        "a width of 32: by how many numbers does a head tell tokens apart?",
        "Finding one digit and guessing the other gives 1/8. Beyond that, nobody can work it out on "
        "paper: write down three numbers between 0 and 1, any will do.",
    ),
    returns=("predicted shares",),
    cases=lambda random: [Case("your guess", Call())],
    judge=judge_prediction(
        (3,),
        0.0,
        1.0,
        {
            "high": "a share of right answers is at most 1",
            "low": "a share of right answers is at least 0",
        },
    ),
    contents=lambda: Contents(an_accepted_guess, MISTAKES),
    remark="your guess is noted. The cells below measure it.",
)
