"""What assignment 09 hands to learners in locked cells, word for word: sublayers and a faulty program."""

import numpy as np


def attend(x, memory, parameters, n_heads, mask=None):
    """Multi-head attention of x (..., m, d) to memory (..., n, d); mask is True at what may be seen."""

    def heads(rows, name):
        rows = rows @ parameters[f"w_{name}"] + parameters[f"b_{name}"]
        return np.swapaxes(rows.reshape(*rows.shape[:-1], n_heads, -1), -2, -3)

    query, key, value = heads(x, "query"), heads(memory, "key"), heads(memory, "value")
    scores = query @ np.swapaxes(key, -1, -2) / key.shape[-1] ** 0.5  # (..., n_heads, m, n)
    seen = np.bool_(True) if mask is None else np.expand_dims(mask, -3)  # the same in all heads
    scores = np.where(seen, scores, np.finfo(scores.dtype).min)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True)) * seen
    total = weights.sum(axis=-1, keepdims=True)
    found = weights / np.where(total > 0, total, 1) @ value  # (..., n_heads, m, d_k)
    found = np.swapaxes(found, -2, -3)  # (..., m, n_heads, d_k)
    found = found.reshape(*found.shape[:-2], -1)  # (..., m, d)
    return found @ parameters["w_output"] + parameters["b_output"]


def think(x, parameters):
    """The feed-forward sublayer: each position of x (..., n, d) by itself."""
    hidden = np.maximum(x @ parameters["w_hidden"] + parameters["b_hidden"], 0)
    return hidden @ parameters["w_output"] + parameters["b_output"]


def normalise(x, parameters):
    """Layer norm of the rows of x (..., d), with the gain and the bias in parameters."""
    deviation = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    normal = (x - x.mean(axis=-1, keepdims=True)) / deviation
    return normal * parameters["gain"] + parameters["bias"]


def softmax(scores):
    """Weights along the last axis: positive, and they sum to one."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def dropout(x, uniform, rate, training=True):
    """In training zero where uniform < rate, and the rest larger by 1 / (1 - rate); else x itself."""
    if not training:
        return x
    return np.where(uniform < rate, 0.0, x / (1 - rate))


def faulty_attention_sublayer(x, uniform_weights, uniform_found, rate, training):
    """Bare self-attention (Q = K = V = x) with dropout and a residual. Something is wrong here."""
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))  # (n, n)
    weights = dropout(weights, uniform_weights, rate)  # (n, n)
    found = weights @ x  # (n, d)
    return x + dropout(found, uniform_found, rate, training)
