"""05.predicted_directions: a guess about how often an estimate points the right way, made beforehand."""

import numpy as np

from ..judges import judge_prediction
from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def an_accepted_guess():
    """One of the many predictions that are accepted; it is not what will be measured."""
    return np.array([0.5, 0.5, 0.5])


def in_percent():
    return np.array([50.0, 90.0, 100.0])


def below_zero():
    return np.array([-0.2, 0.4, 0.8])


def a_single_guess():
    return np.array(0.7)


def both_directions():
    return np.array([[0.5, 0.5], [0.8, 0.2], [0.9, 0.1]])


def with_an_empty_place():
    return np.array([0.5, 0.8, np.nan])


def as_a_list_of_words():
    return ["half", "mostly", "always"]


def nothing_handed_back():
    np.array([0.5, 0.8, 0.9])


MISTAKES = (
    Mistake(
        "in percent",
        in_percent,
        "These look like percentages. A share of all estimates is at most 1: write 0.9 for 90 "
        "percent.",
    ),
    Mistake(
        "below zero",
        below_zero,
        "Shares are never negative. If you think that an estimate usually points the *wrong* way, "
        "write a number below 0.5.",
    ),
    Mistake(
        "a single guess",
        a_single_guess,
        "There are three kinds of estimate, and each gets its own guess. Whether they differ is the "
        "question.",
    ),
    Mistake(
        "the right and the wrong way",
        both_directions,
        "An estimate points the right way or it does not, so the share of the right ones is enough: "
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
)

EXERCISE = Exercise(
    identifier="05.predicted_directions",
    assignment="05_soft_and_hard",
    title="Predict: how often does an estimate point the right way?",
    kind="prediction",
    answer="predicted_directions",
    points=1,
    difficulty=1,
    minutes=3,
    hints=(
        "An arrow that is thrown down blindly points the right way in half of all cases. Is one draw "
        "better than that?",
        "All rewards here are negative. Without a baseline, what does an estimate do to the score of "
        "the key that was drawn, be it a good key or a bad one?",
        "With a baseline, good keys are raised and bad ones are lowered. A mean over ten draws has a "
        "third of the spread of one draw. Then write down three numbers between 0 and 1: any will do.",
    ),
    returns=("predicted shares",),
    cases=lambda random: [Case("your guess", Call())],
    judge=judge_prediction(
        (3,),
        0.0,
        1.0,
        {"high": "a share of all estimates is at most 1", "low": "a share is at least 0"},
    ),
    contents=lambda: Contents(an_accepted_guess, MISTAKES),
    remark="your guess is noted. The cell below measures it.",
)
