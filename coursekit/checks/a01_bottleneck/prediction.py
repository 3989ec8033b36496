"""01.predicted_memory: a guess about what a state remembers, made before it is measured."""

import numpy as np

from ..judges import judge_prediction
from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def an_accepted_guess():
    """One of the many predictions that are accepted; it is not what will be measured."""
    return np.array([0.6, 0.6, 0.6])


def in_percent():
    return np.array([100.0, 60.0, 20.0])


def below_zero():
    return np.array([1.0, 0.5, -0.1])


def a_single_guess():
    return np.array(0.5)


def digits_remembered():
    return np.array([1.0, 3.0, 2.0])


def with_an_empty_place():
    return np.array([1.0, np.nan, 0.1])


def as_a_list_of_words():
    return ["always", "often", "rarely"]


def nothing_handed_back():
    np.array([1.0, 0.6, 0.2])


def as_a_column():
    return np.array([[1.0], [0.6], [0.2]])


MISTAKES = (
    Mistake(
        "in percent",
        in_percent,
        "These look like percentages. A share is at most 1: write 0.6 for 60 percent.",
    ),
    Mistake(
        "digits counted instead of shares",
        digits_remembered,
        "These look like numbers of digits. Asked for is how often the *first* digit is read out "
        "rightly, as a share of all sequences.",
        same_as="in percent",
    ),
    Mistake(
        "below zero",
        below_zero,
        "No share is negative. Pure guessing among ten digits is right in a tenth of all cases, so "
        "even a state that remembers nothing gets about 0.1.",
    ),
    Mistake(
        "a single guess",
        a_single_guess,
        "There are three lengths, 1, 4 and 16 digits, and each gets its own guess.",
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
        "a column",
        as_a_column,
        "The inner brackets make three rows of one number each. One pair of brackets with three "
        "numbers in it is enough.",
    ),
)

EXERCISE = Exercise(
    identifier="01.predicted_memory",
    assignment="01_bottleneck",
    title="Predict: what does the last state remember?",
    kind="prediction",
    answer="predicted_memory",
    points=1,
    difficulty=1,
    minutes=3,
    hints=(
        "After one digit, what could be in the state but this digit? And after sixteen?",
        "Every step mixes the new digit into the same 32 numbers. Nobody has trained this network to "
        "keep the first one.",
        "A state that remembers everything scores 1, one that remembers nothing about 0.1. Write "
        "down three numbers in between: any will do.",
    ),
    returns=("predicted shares",),
    cases=lambda random: [Case("your guess", Call())],
    judge=judge_prediction(
        (3,),
        0.0,
        1.0,
        {"high": "a share is at most 1", "low": "a share is at least 0"},
    ),
    contents=lambda: Contents(an_accepted_guess, MISTAKES),
    remark="your guess is noted. The cells below measure it.",
)
