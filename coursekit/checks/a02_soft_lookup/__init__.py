"""Assignment 02, a soft lookup: its graded answers in the order of the notebook."""

from . import (
    broken_mean,
    by_hand,
    jacobian,
    kernel_regression,
    lookup,
    lookup_loop,
    prediction,
    softmax,
)

EXERCISES = (
    prediction.EXERCISE,
    by_hand.EXERCISE,
    softmax.EXERCISE,
    lookup_loop.EXERCISE,
    lookup.EXERCISE,
    kernel_regression.EXERCISE,
    jacobian.EXERCISE,
    broken_mean.COUNTEREXAMPLE,
    broken_mean.MENDED,
)
