"""Assignment 09, the Transformer: its graded answers in the order of the notebook."""

from . import (
    broken_switch,
    by_hand,
    decoder,
    encoder,
    feed_forward,
    module,
    norm,
    prediction,
    schedule,
    smoothing,
    smoothing_loop,
)

EXERCISES = (
    prediction.EXERCISE,
    by_hand.EXERCISE,
    norm.EXERCISE,
    feed_forward.EXERCISE,
    encoder.EXERCISE,
    decoder.EXERCISE,
    module.EXERCISE,
    schedule.EXERCISE,
    smoothing_loop.EXERCISE,
    smoothing.EXERCISE,
    broken_switch.COUNTEREXAMPLE,
    broken_switch.MENDED,
)
