"""Right but unusual answers of assignment 03."""

import numpy as np

from tests.coursekit.checks.collect import answers


@answers("03.predicted_largest_weight")
def the_extremes():
    return np.array([1 / 16, 1.0, 1.0])


@answers("03.predicted_largest_weight")
def falling():
    return np.array([0.9, 0.5, 0.2])


@answers("03.scores_by_hand")
def whole_numbers_by_hand():
    return np.array([2, 1, 3])


@answers("03.scores_by_hand")
def rounded_by_hand():
    return np.array([2.0, 0.999, 3.001])


@answers("03.scaled_dot_scores_loop")
@answers("03.scaled_dot_scores")
def scaled_by_einsum(query, key):
    return np.einsum("...md,...nd->...mn", query, key) * query.shape[-1] ** -0.5


@answers("03.scaled_dot_scores_loop")
@answers("03.scaled_dot_scores")
def scaled_beforehand(query, key):
    root = np.sqrt(query.shape[-1]).astype(np.result_type(query, np.float16))
    return np.matmul(query / root, key.swapaxes(-1, -2))  # float32 stays float32


@answers("03.scaled_dot_scores")
def component_by_component(query, key):
    total = 0
    for c in reversed(range(query.shape[-1])):
        total = total + query[..., :, None, c] * key[..., None, :, c]
    return total / np.sqrt(query.shape[-1])


@answers("03.general_scores")
def weight_on_the_keys(query, key, weight):
    return query @ np.swapaxes(key @ weight.T, -1, -2)


@answers("03.general_scores")
def general_by_einsum(query, key, weight):
    return np.einsum("...ia,ab,...jb->...ij", query, weight, key)


@answers("03.additive_scores")
def concatenated_form(query, key, w_query, w_key, v):
    m, n = query.shape[-2], key.shape[-2]
    pairs = np.concatenate(
        [np.repeat(query[..., :, None, :], n, -2), np.repeat(key[..., None, :, :], m, -3)], axis=-1
    )
    return np.tanh(pairs @ np.concatenate([w_query, w_key])) @ v


@answers("03.additive_scores")
def query_by_query(query, key, w_query, w_key, v):
    rows = [
        np.tanh(query[..., i : i + 1, :] @ w_query + key @ w_key) @ v
        for i in range(query.shape[-2])
    ]
    return np.stack(rows, axis=-2)


@answers("03.score_variances")
def variance_by_moments(components, widths):
    dots = np.cumsum(components.astype(float).prod(axis=0), axis=-1)[:, np.asarray(widths) - 1]
    variance = ((dots - dots.mean(axis=0)) ** 2).mean(axis=0)
    return np.stack([variance, variance / widths], axis=-1)


@answers("03.score_variances")
def variance_from_the_diagonal(components, widths):
    rows = []
    for d in widths:
        dots = np.diag(components[0, :, :d] @ components[1, :, :d].T)
        rows.append((np.var(dots), np.var(dots / d**0.5)))
    return np.asarray(rows)


@answers("03.counterexample")
def numpy_numbers():
    return np.array([[0.5, -0.5]], dtype=np.float32), np.int64(16)


@answers("03.counterexample")
def width_as_an_array():
    return np.random.default_rng(0).standard_normal((5, 7)), np.array(9.0)


@answers("03.weights_before_and_after")
def copied_first(scores, d_k):
    scores = scores.astype(float)
    before = np.exp(scores - scores.max(-1, keepdims=True))
    scores /= np.sqrt(d_k)
    after = np.exp(scores - scores.max(-1, keepdims=True))
    return before / before.sum(-1, keepdims=True), after / after.sum(-1, keepdims=True)


@answers("03.weights_before_and_after")
def as_a_power(scores, d_k):
    # softmax(s / r) is softmax(s) to the power 1 / r, normalised again
    before = np.exp(scores - scores.max(-1, keepdims=True))
    after = before ** (d_k**-0.5)
    return before / before.sum(-1, keepdims=True), after / after.sum(-1, keepdims=True)


@answers("03.scaled_dot_scores")
def scaled_and_widened(query, key):
    return query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
