"""What assignment 04 hands to learners in locked cells, word for word: helpers and a faulty program."""

import numpy as np


def masked_softmax(scores, mask):
    """Weights along the last axis where mask is True; a row with nothing to look at gets only 0."""
    scores = np.where(mask, scores, -np.inf)
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1), -inf where nothing may be looked at
    exponentials = np.exp(scores - np.where(np.isfinite(highest), highest, 0.0))  # (..., n)
    total = exponentials.sum(axis=-1, keepdims=True)  # (..., 1)
    return exponentials / np.where(total > 0, total, 1.0)


def gru_step(x, state, parameters):
    """One step of a gated recurrent unit: x (..., d_in) and state (..., h) give the new state."""
    from_input = x @ parameters["w_input"] + parameters["b_input"]  # (..., 3h)
    from_state = state @ parameters["w_state"] + parameters["b_state"]  # (..., 3h)
    reset_in, update_in, candidate_in = np.split(from_input, 3, axis=-1)  # (..., h) each
    reset_old, update_old, candidate_old = np.split(from_state, 3, axis=-1)
    reset = (1 + np.tanh((reset_in + reset_old) / 2)) / 2  # the logistic function, by tanh
    update = (1 + np.tanh((update_in + update_old) / 2)) / 2
    candidate = np.tanh(candidate_in + reset * candidate_old)
    return (1 - update) * candidate + update * state


def faulty_attention_weights(scores, keep):
    """Weights for scores (B, m, n); keep (B, n) marks each sentence's words. Something is wrong."""
    return masked_softmax(scores, keep)  # (B, m, n)
