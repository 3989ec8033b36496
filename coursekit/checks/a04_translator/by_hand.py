"""04.greedy_by_hand: the best first step is not always the best sequence, worked out on paper."""

import numpy as np

from attnkit.numpy import greedy

from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call

START, HE, SHE, SLEEPS, RUNS, SINGS, END = range(7)
PROBABILITIES = np.zeros((7, 7))
PROBABILITIES[START, [HE, SHE]] = 0.6, 0.4
PROBABILITIES[HE, [SLEEPS, RUNS, SINGS]] = 0.5, 0.3, 0.2
PROBABILITIES[SHE, [SLEEPS, RUNS, SINGS]] = 0.0, 0.1, 0.9
PROBABILITIES[[SLEEPS, RUNS, SINGS, END], END] = 1.0


def on_paper():
    """The probability of what greedy decoding finds, and of the best sequence of all."""
    tokens = greedy(
        lambda token, state: (PROBABILITIES[token], state), [START], end=END, max_length=3
    )
    path = [START, *tokens[0]]
    found = np.prod(PROBABILITIES[path[:-1], path[1:]])
    best = max(
        PROBABILITIES[START, first] * PROBABILITIES[first, second]
        for first in (HE, SHE)
        for second in (SLEEPS, RUNS, SINGS)
    )
    return np.array([found, best])


def added_up():
    return np.array([1.1, 1.3])


def greedy_taken_for_best():
    return np.array([0.30, 0.30])


def best_taken_for_greedy():
    return np.array([0.36, 0.36])


def exchanged():
    return np.array([0.36, 0.30])


def last_steps_alone():
    return np.array([0.5, 0.9])


def first_steps_alone():
    return np.array([0.6, 0.4])


def in_percent():
    return np.array([30.0, 36.0])


def best_pieces_mixed():
    return np.array([0.30, 0.54])


MISTAKES = (
    Mistake(
        "added up",
        added_up,
        "Probabilities of steps were added. A sequence happens only if every step does, so they "
        "are multiplied (their logarithms are what is added).",
    ),
    Mistake(
        "greedy taken for the best",
        greedy_taken_for_best,
        "You give the greedy sequence twice. Work out the six complete sequences: one that begins "
        "with the worse word does better in the end.",
    ),
    Mistake(
        "the best taken for greedy",
        best_taken_for_greedy,
        "Greedy decoding does not look ahead. At the first step it takes the more probable word, "
        "and cannot take that back.",
    ),
    Mistake(
        "exchanged",
        exchanged,
        "The two numbers stand in the wrong order: first what greedy decoding finds, then the best.",
    ),
    Mistake(
        "the last step alone",
        last_steps_alone,
        "You give the probability of the second word alone. The first step has a probability too: "
        "multiply by it.",
    ),
    Mistake(
        "the first step alone",
        first_steps_alone,
        "You give the probability of the first word alone. Multiply by that of the second.",
    ),
    Mistake(
        "in percent",
        in_percent,
        "Probabilities are shares of one: 0.3 in place of 30.",
    ),
    Mistake(
        "pieces of different sequences",
        best_pieces_mixed,
        "You multiplied the best first step by the best second step, but 0.9 belongs to sequences "
        "that begin with the other word. Follow one row at a time.",
    ),
)

EXERCISE = Exercise(
    identifier="04.greedy_by_hand",
    assignment="04_translator",
    title="By hand: greedy is not always best",
    kind="by hand",
    answer="greedy_by_hand",
    points=2,
    difficulty=1,
    minutes=8,
    hints=(
        "Draw a tree: two branches at the start, three at each of them.",
        "Greedy decoding takes the larger branch at every fork. The probability of a path is the "
        "product of its branches.",
        "From the start take the branch with 0.6, then the largest branch there. For the second "
        "number multiply along all six paths and take the largest product.",
    ),
    returns=("probabilities",),
    cases=lambda random: [Case("your numbers", Call())],
    contents=lambda: Contents(on_paper, MISTAKES),
    whole_numbers_pass=True,
    absolute=0.002,
)
