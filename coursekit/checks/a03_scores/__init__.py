"""Assignment 03, scores and scaling: its graded answers in the order of the notebook."""

from . import (
    additive,
    broken_comparison,
    by_hand,
    general,
    prediction,
    scaled_dot,
    scaled_dot_loop,
    variance,
)

EXERCISES = (
    prediction.EXERCISE,
    by_hand.EXERCISE,
    scaled_dot_loop.EXERCISE,
    scaled_dot.EXERCISE,
    general.EXERCISE,
    additive.EXERCISE,
    variance.EXERCISE,
    broken_comparison.COUNTEREXAMPLE,
    broken_comparison.MENDED,
)
