"""Assignment 08, position: its graded answers in the order of the notebook."""

from . import (
    alibi,
    broken_offset,
    by_hand,
    module,
    prediction,
    relative,
    relative_loop,
    rotary,
    sinusoidal,
    slopes,
)

EXERCISES = (
    prediction.EXERCISE,
    by_hand.EXERCISE,
    sinusoidal.EXERCISE,
    relative.EXERCISE,
    relative_loop.EXERCISE,
    module.EXERCISE,
    slopes.EXERCISE,
    alibi.EXERCISE,
    rotary.EXERCISE,
    broken_offset.COUNTEREXAMPLE,
    broken_offset.MENDED,
)
