"""Assignment 07, multi-head attention: its graded answers in the order of the notebook."""

from . import (
    broken_merge,
    by_hand,
    cost,
    heads_loop,
    merge,
    module,
    multi_head,
    prediction,
    split,
)

EXERCISES = (
    prediction.EXERCISE,
    by_hand.EXERCISE,
    split.EXERCISE,
    merge.EXERCISE,
    heads_loop.EXERCISE,
    multi_head.EXERCISE,
    module.EXERCISE,
    cost.EXERCISE,
    broken_merge.COUNTEREXAMPLE,
    broken_merge.MENDED,
)
