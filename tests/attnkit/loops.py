"""The specification: every mechanism as plain loops over numbers, to be read rather than run fast.

Nothing here imports the library. Functions take float64 arrays without leading axes; `over_leading`
carries them to any.
"""

import math

import numpy as np


def over_leading(function, arrays, own_axes):
    """Apply a function to each item of the broadcast leading axes.

    Parameters
    ----------
    function : callable
        Takes one item of each array.
    arrays : list of numpy.ndarray or None
        None is handed on.
    own_axes : list of int
        How many of its last axes each array keeps.
    """
    leads = [
        array.shape[: array.ndim - own]
        for array, own in zip(arrays, own_axes, strict=True)
        if array is not None
    ]
    lead = np.broadcast_shapes(*leads)
    full = [
        None if array is None else np.broadcast_to(array, lead + array.shape[array.ndim - own :])
        for array, own in zip(arrays, own_axes, strict=True)
    ]
    results = [
        function(*(None if array is None else array[index] for array in full))
        for index in np.ndindex(lead)
    ]
    return np.array(results).reshape(lead + results[0].shape)


def dot_scores(query, key):
    m, n = len(query), len(key)
    scores = np.zeros((m, n))
    for i in range(m):
        for j in range(n):
            for a in range(query.shape[1]):
                scores[i, j] += query[i, a] * key[j, a]
    return scores


def scaled_dot_scores(query, key):
    return dot_scores(query, key) / math.sqrt(query.shape[1])


def general_scores(query, key, weight):
    m, n = len(query), len(key)
    scores = np.zeros((m, n))
    for i in range(m):
        for j in range(n):
            for a in range(query.shape[1]):
                for b in range(key.shape[1]):
                    scores[i, j] += query[i, a] * weight[a, b] * key[j, b]
    return scores


def additive_scores(query, key, w_query, w_key, v):
    m, n = len(query), len(key)
    scores = np.zeros((m, n))
    for i in range(m):
        for j in range(n):
            for unit in range(len(v)):
                total = 0.0
                for a in range(query.shape[1]):
                    total += query[i, a] * w_query[a, unit]
                for b in range(key.shape[1]):
                    total += key[j, b] * w_key[b, unit]
                scores[i, j] += math.tanh(total) * v[unit]
    return scores


def masked_softmax(scores, mask=None):
    m, n = scores.shape
    weights = np.zeros((m, n))
    for i in range(m):
        seen = [j for j in range(n) if (mask is None or mask[i, j]) and scores[i, j] != -math.inf]
        if not seen:
            continue
        highest = max(scores[i, j] for j in seen)
        total = sum(math.exp(scores[i, j] - highest) for j in seen)
        for j in seen:
            weights[i, j] = math.exp(scores[i, j] - highest) / total
    return weights


def weighted_sum(weights, value):
    m, n = weights.shape
    output = np.zeros((m, value.shape[1]))
    for i in range(m):
        for j in range(n):
            if weights[i, j] != 0:
                for c in range(value.shape[1]):
                    output[i, c] += weights[i, j] * value[j, c]
    return output


def attend(scores, value, mask=None):
    return weighted_sum(masked_softmax(scores, mask), value)


def scaled_dot_product_attention(query, key, value, mask=None, bias=None, *, causal=False):
    m, n = len(query), len(key)
    scores = scaled_dot_scores(query, key)
    for i in range(m):
        for j in range(n):
            if bias is not None:
                scores[i, j] += bias[i, j]
            if causal and j > i + n - m:
                scores[i, j] = -math.inf
    return attend(scores, value, mask)


def hard_attention(scores, value, mask=None, uniform=None):
    m, n = scores.shape
    soft = masked_softmax(scores, mask)
    chosen = np.zeros((m, n))
    for i in range(m):
        seen = [j for j in range(n) if soft[i, j] > 0]
        if not seen:
            continue
        if uniform is None:
            taken = max(seen, key=lambda j: scores[i, j])
        else:
            total, taken = 0.0, seen[-1]
            for j in seen:
                total += soft[i, j]
                if total > uniform[i]:
                    taken = j
                    break
        chosen[i, taken] = 1
    return weighted_sum(chosen, value)


def local_p_weights(scores, centre, mask=None, *, window):
    m, n = scores.shape
    near = np.zeros((m, n), bool)
    for i in range(m):
        for j in range(n):
            near[i, j] = abs(j - centre[i]) <= window and (mask is None or mask[i, j])
    weights = masked_softmax(scores, near)
    sigma = window / 2
    for i in range(m):
        for j in range(n):
            weights[i, j] *= math.exp(-((j - centre[i]) ** 2) / (2 * sigma**2))
    return weights


def softmax_jacobian(weights):
    n = len(weights)
    jacobian = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            jacobian[i, j] = weights[i] * ((1.0 if i == j else 0.0) - weights[j])
    return jacobian


def mask_from(rule, m, n, *, start=False):
    """Return the mask of a rule on the positions of query and key."""
    mask = np.zeros((m, n), bool)
    for i in range(m):
        for j in range(n):
            mask[i, j] = rule(i if start else i + n - m, j)
    return mask


def sinusoidal_positions(length, d_model):
    table = np.zeros((length, d_model))
    for position in range(length):
        for column in range(d_model):
            angle = position / 10000 ** (2 * (column // 2) / d_model)
            table[position, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return table


def relative_index(m, n, clip):
    index = np.zeros((m, n), int)
    for i in range(m):
        for j in range(n):
            distance = j - (i + n - m)
            index[i, j] = max(-clip, min(distance, clip)) + clip
    return index


def t5_bucket(distance, n_buckets, max_distance, *, bidirectional=True):
    """The definition in whole numbers, so that no rounding decides where a bucket begins.

    Of the buckets of one direction the first half hold one distance each. Of the wide ones, bucket
    number k begins where ``(away / single) ** wide`` reaches ``(max_distance / single) ** k``.
    """
    buckets, first = n_buckets, 0
    if bidirectional:
        buckets = n_buckets // 2
        if distance > 0:
            first = buckets
        away = abs(distance)
    else:
        away = -distance if distance < 0 else 0
    single = buckets // 2
    wide = buckets - single
    if away < single:
        return first + away
    k = 0
    while k + 1 < wide and (
        away**wide * single ** (k + 1) >= max_distance ** (k + 1) * single**wide
    ):
        k += 1
    return first + single + k


def alibi_slopes(n_heads):
    """The recursion of the paper's code."""
    if n_heads & (n_heads - 1) == 0:
        ratio = 2 ** (-8 / n_heads)
        slopes = [ratio]
        while len(slopes) < n_heads:
            slopes.append(slopes[-1] * ratio)
        return slopes
    below = 1
    while 2 * below <= n_heads:
        below *= 2
    return alibi_slopes(below) + alibi_slopes(2 * below)[::2][: n_heads - below]


def alibi_bias(m, n, n_heads):
    bias = np.zeros((n_heads, m, n))
    for head, slope in enumerate(alibi_slopes(n_heads)):
        for i in range(m):
            for j in range(n):
                bias[head, i, j] = -slope * abs(j - (i + n - m))
    return bias


def rotary(x, positions, *, base=10000.0, layout="interleaved"):
    """Pairs as complex numbers, and turning as a product."""
    m, d = x.shape
    turned = np.zeros((m, d))
    for row in range(m):
        for pair in range(d // 2):
            a, b = (2 * pair, 2 * pair + 1) if layout == "interleaved" else (pair, pair + d // 2)
            angle = positions[row] * base ** (-2 * pair / d)
            number = complex(x[row, a], x[row, b]) * complex(math.cos(angle), math.sin(angle))
            turned[row, a], turned[row, b] = number.real, number.imag
    return turned


def affine(x, weight, bias=None):
    result = np.zeros((len(x), weight.shape[1]))
    for row in range(len(x)):
        for column in range(weight.shape[1]):
            result[row, column] = 0.0 if bias is None else bias[column]
            for a in range(x.shape[1]):
                result[row, column] += x[row, a] * weight[a, column]
    return result


def multi_head_attention(
    query, key, value, mask, bias, parameters, n_heads, n_kv_heads, *, causal=False
):
    """One head after the other; `mask` is (m, n) or (n_heads, m, n), `bias` (n_heads, m, n)."""
    projected = {
        name: affine(x, parameters[f"w_{name}"], parameters.get(f"b_{name}"))
        for name, x in (("query", query), ("key", key), ("value", value))
    }
    d_head, d_v = projected["query"].shape[1] // n_heads, projected["value"].shape[1] // n_kv_heads
    merged = np.zeros((len(query), n_heads * d_v))
    for head in range(n_heads):
        of_key = head // (n_heads // n_kv_heads)
        merged[:, head * d_v : (head + 1) * d_v] = scaled_dot_product_attention(
            projected["query"][:, head * d_head : (head + 1) * d_head],
            projected["key"][:, of_key * d_head : (of_key + 1) * d_head],
            projected["value"][:, of_key * d_v : (of_key + 1) * d_v],
            mask[head] if mask is not None and mask.ndim == 3 else mask,
            None if bias is None else bias[head],
            causal=causal,
        )
    return affine(merged, parameters["w_output"], parameters.get("b_output"))


def sparse_attention(
    query, key, value, key_mask=None, *, window=None, n_global=0, stride=None, causal=False
):
    m, n = len(query), len(key)

    def sees(i, j):
        near = window is not None and abs(i - j) <= window
        in_step = stride is not None and (i - j) % stride == 0
        is_global = j < n_global or 0 <= i < n_global
        allowed = (j <= i or not causal) and (key_mask is None or key_mask[j])
        return allowed and (near or in_step or is_global)

    return attend(scaled_dot_scores(query, key), value, mask_from(sees, m, n))


def linear_attention(query, key, value, key_mask=None, *, features, causal=False):
    m, n = len(query), len(key)
    weights = np.zeros((m, n))
    for i in range(m):
        total = 0.0
        for j in range(n):
            if (causal and j > i + n - m) or (key_mask is not None and not key_mask[j]):
                continue
            for a, b in zip(features(query[i]), features(key[j]), strict=True):
                weights[i, j] += a * b
            total += weights[i, j]
        if total != 0:
            weights[i] /= total
    return weighted_sum(weights, value)


def layer_norm(x, gain=None, bias=None, *, eps=1e-5):
    n, d = x.shape
    normal = np.zeros((n, d))
    for row in range(n):
        mean = sum(x[row]) / d
        variance = sum((number - mean) ** 2 for number in x[row]) / d
        for column in range(d):
            normal[row, column] = (x[row, column] - mean) / math.sqrt(variance + eps)
            if gain is not None:
                normal[row, column] *= gain[column]
            if bias is not None:
                normal[row, column] += bias[column]
    return normal


def feed_forward(x, parameters, activation):
    hidden = affine(x, parameters["w_hidden"], parameters.get("b_hidden"))
    for row in range(len(hidden)):
        for unit in range(hidden.shape[1]):
            number = hidden[row, unit]
            if activation == "relu":
                hidden[row, unit] = number if number > 0 else 0.0
            else:
                hidden[row, unit] = number * (1 + math.erf(number / math.sqrt(2))) / 2
    return affine(hidden, parameters["w_output"], parameters.get("b_output"))
