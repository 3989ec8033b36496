"""What assignment 07 hands to learners in locked cells, word for word: a helper and a faulty program."""

import numpy as np


def softmax(scores, mask=None):
    """Weights along the last axis, 0 where mask is False; a row that may look at nothing is all 0."""
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)  # (..., n)
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - np.where(highest == -np.inf, 0, highest))  # (..., n)
    total = exponentials.sum(axis=-1, keepdims=True)  # (..., 1)
    return exponentials / np.where(total == 0, 1, total)  # (..., n)


def faulty_heads(x, n_heads):
    """Causal self-attention in heads, from x (T, d_model) to (T, d_model). Something is wrong here."""
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(length, n_heads, d_head)  # (T, H, d_head)
    heads = heads.swapaxes(0, 1)  # (H, T, d_head)
    scores = heads @ heads.swapaxes(1, 2) / d_head**0.5  # (H, T, T)
    context = softmax(scores, np.tri(length, dtype=bool)) @ heads  # (H, T, d_head)
    return context.reshape(length, d_model)
