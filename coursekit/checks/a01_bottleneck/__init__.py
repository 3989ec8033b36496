"""Assignment 01, the bottleneck: its graded answers in the order of the notebook."""

from . import (
    broken_mean,
    by_hand,
    encoder_module,
    exact,
    gru,
    last_state,
    last_state_loop,
    masked_loss,
    prediction,
)

EXERCISES = (
    prediction.EXERCISE,
    gru.EXERCISE,
    last_state_loop.EXERCISE,
    last_state.EXERCISE,
    by_hand.EXERCISE,
    masked_loss.EXERCISE,
    exact.EXERCISE,
    encoder_module.EXERCISE,
    broken_mean.COUNTEREXAMPLE,
    broken_mean.MENDED,
)
