"""08.predicted_likeness: a guess about how alike two positions look, made before it is measured."""

import numpy as np

from ..judges import judge_prediction
from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def an_accepted_guess():
    """One of the many predictions that are accepted; it is not what will be measured."""
    return np.array([0.5, 0.0, 0.0])


def in_percent():
    return np.array([90.0, 50.0, 10.0])


def angles_in_degrees():
    return np.array([-5.0, -45.0, -90.0])


def a_single_guess():
    return np.array(0.5)


def distances_as_columns():
    return np.array([[0.9, 0.5, 0.1]])


def with_an_empty_place():
    return np.array([0.9, 0.5, np.nan])


def as_a_list_of_words():
    return ["very", "somewhat", "hardly"]


def nothing_handed_back():
    np.array([0.9, 0.5, 0.1])


MISTAKES = (
    Mistake(
        "in percent",
        in_percent,
        "These look like percentages. Equal rows have the likeness 1: write 0.9 for 90 percent.",
    ),
    Mistake(
        "below the opposite",
        angles_in_degrees,
        "The likeness of a row and its opposite is -1, and nothing can be less alike than that.",
    ),
    Mistake(
        "a single guess",
        a_single_guess,
        "There are three guesses to make: one for distance 1, one for 10 and one for 100. How fast "
        "the likeness falls is the question.",
    ),
    Mistake(
        "one pair of brackets too many",
        distances_as_columns,
        "Three numbers in one pair of brackets are asked for; yours are a table of one row.",
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
        "Words cannot be set beside a measurement. Put a number between -1 and 1 on each.",
    ),
    Mistake(
        "nothing returned",
        nothing_handed_back,
        "The guesses were made but not handed back: the last line must begin with return.",
    ),
)

EXERCISE = Exercise(
    identifier="08.predicted_likeness",
    assignment="08_position",
    title="Predict: how alike are two places?",
    kind="prediction",
    answer="predicted_likeness",
    points=1,
    difficulty=1,
    minutes=3,
    hints=(
        "How alike are two clocks of which one shows a second, a minute, an hour more?",
        "The likeness is the mean over all hands: a hand that has hardly moved counts nearly 1, one "
        "that has gone half a round counts -1. How many of the 32 hands are slow?",
        "A hand with a period of 10 000 positions hardly moves in 100. About half of the hands have "
        "periods above 600. Write down three numbers between -1 and 1: any will do.",
    ),
    returns=("predicted likenesses",),
    cases=lambda random: [Case("your guess", Call())],
    judge=judge_prediction(
        (3,),
        -1.0,
        1.0,
        {
            "high": "nothing is more alike than a row and itself, and that is 1",
            "low": "nothing is less alike than a row and its opposite, and that is -1",
        },
    ),
    contents=lambda: Contents(an_accepted_guess, MISTAKES),
    remark="your guess is noted. The cells below measure it.",
)
