"""Assignment 06, self-attention and masks: its graded answers in the order of the notebook."""

from . import (
    broken_polarity,
    by_hand,
    causal,
    combining,
    masked_loop,
    masked_softmax,
    module,
    padding,
    prediction,
    self_attention,
)

EXERCISES = (
    prediction.EXERCISE,
    by_hand.EXERCISE,
    padding.EXERCISE,
    causal.EXERCISE,
    combining.EXERCISE,
    masked_loop.EXERCISE,
    masked_softmax.EXERCISE,
    self_attention.EXERCISE,
    module.EXERCISE,
    broken_polarity.COUNTEREXAMPLE,
    broken_polarity.MENDED,
)
