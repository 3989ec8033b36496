"""06.predicted_reach: a guess about how far words reach, made before it is measured."""

import numpy as np

from ..judges import judge_prediction
from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def an_accepted_guess():
    """One of the many predictions that are accepted; it is not what will be measured."""
    return np.array([0.5, 0.5, 0.5])


def in_percent():
    return np.array([40.0, 20.0, 50.0])


def below_zero():
    return np.array([0.4, -0.1, 0.5])


def a_single_guess():
    return np.array(0.3)


def for_both_halves():
    return np.array([[0.3, 0.7], [0.1, 0.9], [0.5, 0.5]])


def with_an_empty_place():
    return np.array([0.4, 0.2, np.nan])


def as_a_list_of_words():
    return ["some", "little", "half"]


def nothing_handed_back():
    np.array([0.4, 0.2, 0.5])


MISTAKES = (
    Mistake(
        "in percent",
        in_percent,
        "These look like percentages. A share of the whole is at most 1: write 0.4 for 40 percent.",
    ),
    Mistake(
        "below zero",
        below_zero,
        "A share of something that is never negative cannot be negative. Where you think that "
        "nothing arrives at all, write 0.",
    ),
    Mistake(
        "a single guess",
        a_single_guess,
        "There are three guesses to make: the recurrent network with 8 and with 64 words, and "
        "self-attention with 64. Whether they differ is the question.",
    ),
    Mistake(
        "both halves",
        for_both_halves,
        "The two halves of a sentence share a total of 1, so the first half's share is enough: "
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
    identifier="06.predicted_reach",
    assignment="06_self_attention",
    title="Predict: how far does a word reach?",
    kind="prediction",
    answer="predicted_reach",
    points=1,
    difficulty=1,
    minutes=3,
    hints=(
        "If every word mattered the same for the last result, what would the first half's share be?",
        "Count steps: through how many updates does the first word have to pass before it arrives "
        "in the last result, in a recurrent network and in self-attention? And what does each "
        "update do to what was there before?",
        "Suppose every update keeps three quarters of the old state. Compare $0.75^{4}$ with "
        "$0.75^{32}$. Then write down three numbers between 0 and 1: any will do.",
    ),
    returns=("predicted shares",),
    cases=lambda random: [Case("your guess", Call())],
    judge=judge_prediction(
        (3,),
        0.0,
        1.0,
        {
            "high": "a share of the whole is at most 1",
            "low": "a share of something that is never negative is at least 0",
        },
    ),
    contents=lambda: Contents(an_accepted_guess, MISTAKES),
    remark="your guess is noted. The cells below measure it.",
)
