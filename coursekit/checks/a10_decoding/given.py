"""What assignment 10 hands to learners in locked cells, word for word: helpers and a faulty program."""

import numpy as np


def softmax(scores):
    """Weights along the last axis: positive, and they sum to one. A score of -inf gets weight 0."""
    highest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - highest)  # (..., n), at most 1: nothing overflows
    return exponentials / exponentials.sum(axis=-1, keepdims=True)  # (..., n)


def rotary(x, positions):
    """Turn the pairs of numbers in each row of x (n, d) by angles that grow with positions (n,)."""
    d = x.shape[-1]
    angle = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)  # (n, d / 2)
    first, second = x[:, 0::2], x[:, 1::2]  # (n, d / 2) each
    turned = np.empty(x.shape)
    turned[:, 0::2] = first * np.cos(angle) - second * np.sin(angle)
    turned[:, 1::2] = first * np.sin(angle) + second * np.cos(angle)
    return turned


def faulty_rotary_step(query, key, value, past_key, past_value):
    """Attention of m new tokens, past_key turned already: (m, d_v). Something is wrong here."""
    m, n_past = len(query), len(past_key)
    positions = np.arange(m)  # (m,)
    query, key = rotary(query, positions), rotary(key, positions)  # (m, d) each
    key = np.concatenate([past_key, key])  # (n_past + m, d)
    value = np.concatenate([past_value, value])  # (n_past + m, d_v)
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]  # (m, n_past + m)
    scores = query @ key.T / np.sqrt(key.shape[-1])  # (m, n_past + m)
    return softmax(np.where(allowed, scores, -np.inf)) @ value  # (m, d_v)
