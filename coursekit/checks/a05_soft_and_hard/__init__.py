"""Assignment 05, soft and hard, global and local: its graded answers in the order of the notebook."""

from . import (
    broken_baseline,
    by_hand,
    draw_loop,
    exact_gradient,
    local_m,
    local_p,
    prediction,
    reinforce,
    reinforce_baseline,
    sample_keys,
    straight_through,
)

EXERCISES = (
    prediction.EXERCISE,
    by_hand.EXERCISE,
    draw_loop.EXERCISE,
    sample_keys.EXERCISE,
    exact_gradient.EXERCISE,
    reinforce.EXERCISE,
    reinforce_baseline.EXERCISE,
    straight_through.EXERCISE,
    broken_baseline.COUNTEREXAMPLE,
    broken_baseline.MENDED,
    local_m.EXERCISE,
    local_p.EXERCISE,
)
