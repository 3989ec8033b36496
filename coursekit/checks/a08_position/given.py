"""What assignment 08 hands to learners in locked cells, word for word: a helper and a faulty program."""

import numpy as np


def softmax(scores):
    """Weights along the last axis: positive, and they sum to one."""
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - highest)  # (..., n), at most 1: nothing overflows
    return exponentials / exponentials.sum(axis=-1, keepdims=True)  # (..., n)


def faulty_relative_weights(scores, table):
    """Weights (T, T) from scores (T, T) and a table of distances (2L - 1,). Something is wrong here."""
    query, key = np.arange(len(scores))[:, None], np.arange(len(scores))  # (T, 1) and (T,)
    distance = key - query  # (T, T)
    row = distance - distance.min()  # so that the smallest distance has row 0
    return softmax(scores + table[row])
