"""What assignment 06 hands to learners in locked cells, word for word: a helper and a faulty program."""

import numpy as np


def softmax(scores):
    """Weights along the last axis: positive, and they sum to one. It knows nothing of masks."""
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - highest)  # (..., n), at most 1: nothing overflows
    return exponentials / exponentials.sum(axis=-1, keepdims=True)  # (..., n)


def faulty_allowed_pairs(causal, padding):
    """Who may look at whom, (B, m, n), from two masks of unlike meaning. Something is wrong here."""
    future = ~causal  # (m, n), True where a query must not look
    hidden = future & padding[:, None, :]  # (B, m, n)
    return ~hidden
