"""04.predicted_leak: a guess about attention that falls on padding, made before it is measured."""

import numpy as np

from ..judges import judge_prediction
from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def an_accepted_guess():
    """One of the many predictions that are accepted; it is not what will be measured."""
    return np.array([0.1, 0.1, 0.1])


def in_percent():
    return np.array([5.0, 10.0, 20.0])


def below_zero():
    return np.array([0.0, -0.1, -0.2])


def a_single_guess():
    return np.array(0.1)


def for_each_position():
    return np.full((3, 20), 0.05)


def with_an_empty_place():
    return np.array([0.1, 0.2, np.nan])


def as_a_list_of_words():
    return ["little", "more", "most"]


def nothing_handed_back():
    np.array([0.1, 0.2, 0.3])


MISTAKES = (
    Mistake(
        "in percent",
        in_percent,
        "These look like percentages. A share of the weight is at most 1: write 0.1 for a tenth.",
    ),
    Mistake(
        "below zero",
        below_zero,
        "Weights are never negative, so no share of them is. Perhaps you guessed how much the "
        "result falls; the question is how much weight lies on padding.",
    ),
    Mistake(
        "a single guess",
        a_single_guess,
        "There are three sentences, with 15, 10 and 5 words, and each gets its own guess.",
    ),
    Mistake(
        "a guess for every position",
        for_each_position,
        "One number for each sentence is enough: all the weight on its padding together.",
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
    identifier="04.predicted_leak",
    assignment="04_translator",
    title="Predict: how much attention leaks into padding?",
    kind="prediction",
    answer="predicted_leak",
    points=1,
    difficulty=1,
    minutes=3,
    hints=(
        "Padding has a score too, like everything that takes part in the softmax.",
        "If all scores were equal, every position would get 1/20. How many positions are padding?",
        "With random parameters the scores differ only by a few units. Count the padding, think of "
        "equal weights, and write down three numbers: any will do.",
    ),
    returns=("predicted shares",),
    cases=lambda random: [Case("your guess", Call())],
    judge=judge_prediction(
        (3,),
        0.0,
        1.0,
        {"high": "a share of the weight is at most 1", "low": "a share is never negative"},
    ),
    contents=lambda: Contents(an_accepted_guess, MISTAKES),
    remark="your guess is noted. The cell below measures it.",
)
