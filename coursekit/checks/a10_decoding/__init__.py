"""Assignment 10, decoding and the cache: its graded answers in the order of the notebook."""

from . import (
    append,
    attention,
    beam,
    broken_rotary,
    by_hand,
    draw_loop,
    module,
    prediction,
    sampling,
)

EXERCISES = (
    prediction.EXERCISE,
    by_hand.EXERCISE,
    draw_loop.EXERCISE,
    sampling.EXERCISE,
    beam.EXERCISE,
    append.EXERCISE,
    attention.EXERCISE,
    module.EXERCISE,
    broken_rotary.COUNTEREXAMPLE,
    broken_rotary.MENDED,
)
