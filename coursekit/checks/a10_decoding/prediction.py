"""10.predicted_survivors: a guess how many words top-p leaves, made before they are counted."""

import numpy as np

from ..judges import judge_prediction
from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def an_accepted_guess():
    """One of the many predictions that are accepted; it is not what will be counted."""
    return np.array([9000.0, 5000.0, 1000.0])


def as_shares():
    return np.array([0.9, 0.45, 0.95])


def more_than_there_are():
    return np.array([9000.0, 4000.0, 20000.0])


def a_single_guess():
    return np.array(9000.0)


def with_an_empty_place():
    return np.array([9000.0, np.nan, 9500.0])


def words_kept_and_words_lost():
    return np.array([[9000.0, 1000.0], [4000.0, 6000.0], [9500.0, 500.0]])


def in_words():
    return ["most", "half", "all"]


def nothing_handed_back():
    np.array([9000.0, 4000.0, 9500.0])


MISTAKES = (
    Mistake(
        "shares of the words",
        as_shares,
        "These look like shares. Count words: of 10,000 words at least 1 stays, and at most all.",
    ),
    Mistake(
        "more words than there are",
        more_than_there_are,
        "There are 10,000 words in all, and top-p adds none. However flat a temperature makes the "
        "distribution, no more than these can stay.",
    ),
    Mistake(
        "a single guess",
        a_single_guess,
        "There are three guesses to make, one for each temperature: 1, then 0.5, then 2. How much "
        "they differ is the question.",
    ),
    Mistake(
        "an empty place",
        with_an_empty_place,
        "NaN stands for a place that was left open. Any guess is welcome here, a wrong one too: "
        "it earns the same point.",
    ),
    Mistake(
        "words that stay and words that go",
        words_kept_and_words_lost,
        "What goes is what does not stay: one number for each temperature is enough, three numbers "
        "in one pair of brackets.",
    ),
    Mistake(
        "words instead of numbers",
        in_words,
        "Words cannot be set beside a count. Put a number between 1 and 10,000 on each.",
    ),
    Mistake(
        "nothing returned",
        nothing_handed_back,
        "The guesses were made but not handed back: the last line must begin with return.",
    ),
)

EXERCISE = Exercise(
    identifier="10.predicted_survivors",
    assignment="10_decoding",
    title="Predict: how many words does top-p leave?",
    kind="prediction",
    answer="predicted_survivors",
    points=1,
    difficulty=1,
    minutes=3,
    hints=(
        "The first word is ten times as probable as the tenth, and a thousand times as probable as "
        "the thousandth. But of words like the thousandth there are many.",
        "The probabilities of the ranks 1 to 10 sum to about as much as those of 10 to 100, or of "
        "100 to 1,000 (nearly): each tenfold step adds the same. A temperature of 0.5 squares the "
        "probabilities before they are normalised, a temperature of 2 takes their roots.",
        "At temperature 1 there are four tenfold steps from 1 to 10,000, and top-p with 0.9 leaves "
        "out a tenth of all probability: about what share of the last step? Squares "
        "fall off fast, roots hardly at all. Then write down three numbers: any will do.",
    ),
    returns=("predicted counts",),
    cases=lambda random: [Case("your guess", Call())],
    judge=judge_prediction(
        (3,),
        1.0,
        10000.0,
        {
            "high": "there are only 10,000 words",
            "low": "top-p always leaves the best word",
        },
    ),
    contents=lambda: Contents(an_accepted_guess, MISTAKES),
    remark="your guess is noted. The cell below counts.",
)
