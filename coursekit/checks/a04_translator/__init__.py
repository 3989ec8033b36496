"""Assignment 04, attention in the translator: its graded answers in the order of the notebook."""

from . import (
    additive_module,
    alignment,
    alignment_loop,
    bahdanau,
    broken_mask,
    by_hand,
    greedy,
    luong,
    prediction,
)

EXERCISES = (
    prediction.EXERCISE,
    by_hand.EXERCISE,
    bahdanau.EXERCISE,
    luong.EXERCISE,
    alignment_loop.EXERCISE,
    alignment.EXERCISE,
    greedy.EXERCISE,
    additive_module.EXERCISE,
    broken_mask.COUNTEREXAMPLE,
    broken_mask.MENDED,
)
