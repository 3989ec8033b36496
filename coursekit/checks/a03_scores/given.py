"""What assignment 03 hands to learners in locked cells, word for word: a helper and a faulty program."""

import numpy as np


def softmax(scores):
    """Weights along the last axis: positive, and they sum to one."""
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - highest)  # (..., n), at most 1: nothing overflows
    return exponentials / exponentials.sum(axis=-1, keepdims=True)  # (..., n)


def faulty_before_and_after(scores, d_k):
    """Weights before and after scaling, to be compared side by side. Something is wrong here."""
    scaled = scores
    scaled /= np.sqrt(d_k)  # (..., m, n)
    before = softmax(scores)  # (..., m, n)
    after = softmax(scaled)  # (..., m, n)
    return before, after
