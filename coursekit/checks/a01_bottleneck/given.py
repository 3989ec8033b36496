"""What assignment 01 hands to learners in locked cells, word for word: a helper and a faulty program."""

import numpy as np


def rnn_step(x, state, parameters):
    """One step of a recurrent network without gates: x (..., d_in), state (..., h) to (..., h)."""
    from_input = x @ parameters["w_input"] + parameters["b_input"]  # (..., h)
    from_state = state @ parameters["w_state"] + parameters["b_state"]  # (..., h)
    return np.tanh(from_input + from_state)


def faulty_mean_loss(cost, mask):
    """What a token costs on average: cost (B, T), mask (B, T). Something is wrong here."""
    total = (cost * mask).sum(axis=1)  # (B,)
    each = total / mask.sum(axis=1)  # (B,)
    return each.mean()
