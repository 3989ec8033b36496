"""09.predicted_remainder: a guess about how much of a word is left at the top of a stack."""

import numpy as np

from ..judges import judge_prediction
from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def an_accepted_guess():
    """One of the many predictions that are accepted; it is not what will be measured."""
    return np.array([0.5, 0.5, 0.5])


def in_percent():
    return np.array([80.0, 60.0, 20.0])


def an_angle():
    return np.array([-45.0, -60.0, -90.0])


def a_single_guess():
    return np.array(0.3)


def with_an_empty_place():
    return np.array([0.8, np.nan, 0.2])


def as_a_list_of_words():
    return ["much", "less", "nothing"]


def nothing_handed_back():
    np.array([0.8, 0.5, 0.2])


MISTAKES = (
    Mistake(
        "in percent",
        in_percent,
        "These look like percentages or angles. A cosine is at most 1: write 0.8 for 80 percent.",
    ),
    Mistake(
        "below -1",
        an_angle,
        "A cosine lies between -1 (opposite direction) and 1 (same direction); 0 is a right angle.",
    ),
    Mistake(
        "a single guess",
        a_single_guess,
        "There are three guesses to make: pre-norm, post-norm and no residual connections. Whether "
        "they differ is the question.",
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
    identifier="09.predicted_remainder",
    assignment="09_transformer",
    title="Predict: what is left of a word?",
    kind="prediction",
    answer="predicted_remainder",
    points=1,
    difficulty=1,
    minutes=3,
    hints=(
        "If each layer replaced a word by something that has nothing to do with it, what would the "
        "cosine be?",
        "On the way through a residual connection the word itself is one term of every sum. How many "
        "other terms are there after eight layers with two sublayers each, and how long is each of "
        "them beside the word?",
        "With pre-norm the word is never rescaled, with post-norm it is, at every sum, together with "
        "what was added. Then write down three numbers between -1 and 1: any will do.",
    ),
    returns=("predicted cosines",),
    cases=lambda random: [Case("your guess", Call())],
    judge=judge_prediction(
        (3,),
        -1.0,
        1.0,
        {
            "high": "a cosine is at most 1",
            "low": "a cosine is at least -1",
        },
    ),
    contents=lambda: Contents(an_accepted_guess, MISTAKES),
    remark="your guess is noted. The cells below measure it.",
)
