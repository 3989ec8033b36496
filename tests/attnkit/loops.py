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


def scaled_dot_scores(query, key, scale=None):
    scores = dot_scores(query, key)
    return scores / math.sqrt(query.shape[1]) if scale is None else scores * scale


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


def scaled_dot_product_attention(
    query, key, value, mask=None, bias=None, *, causal=False, scale=None
):
    m, n = len(query), len(key)
    scores = scaled_dot_scores(query, key, scale)
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


def combine_masks(*masks):
    m, n = masks[0].shape
    both = np.zeros((m, n), bool)
    for i in range(m):
        for j in range(n):
            both[i, j] = all(mask[i, j] for mask in masks)
    return both


def from_drop_mask(mask):
    m, n = mask.shape
    keep = np.zeros((m, n), bool)
    for i in range(m):
        for j in range(n):
            keep[i, j] = not mask[i, j]
    return keep


def to_additive(mask):
    m, n = mask.shape
    bias = np.zeros((m, n))
    for i in range(m):
        for j in range(n):
            bias[i, j] = 0.0 if mask[i, j] else -math.inf
    return bias


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


def encoder_layer(x, parameters, n_heads, *, norm, activation, eps):
    for name in ("attention", "feed_forward"):
        entering = layer_norm(x, **parameters[f"{name}_norm"], eps=eps) if norm == "pre" else x
        if name == "attention":
            result = multi_head_attention(
                *[entering] * 3, None, None, parameters[name], n_heads, n_heads
            )
        else:
            result = feed_forward(entering, parameters[name], activation)
        x = x + result
        x = layer_norm(x, **parameters[f"{name}_norm"], eps=eps) if norm == "post" else x
    return x


def patchify(image, height, width):
    channels, tall, wide = image.shape
    rows, columns = tall // height, wide // width
    patches = np.zeros((rows * columns, channels * height * width))
    for row in range(rows):
        for column in range(columns):
            for c in range(channels):
                for y in range(height):
                    for x in range(width):
                        pixel = image[c, row * height + y, column * width + x]
                        patches[row * columns + column, (c * height + y) * width + x] = pixel
    return patches


def convolution(image, weight, bias=None, *, kernel, stride, padding):
    """Pairs of height and width; what lies outside the image is 0."""
    channels, tall, wide = image.shape
    rows = (tall + 2 * padding[0] - kernel[0]) // stride[0] + 1
    columns = (wide + 2 * padding[1] - kernel[1]) // stride[1] + 1
    maps = np.zeros((weight.shape[1], rows, columns))
    for unit in range(weight.shape[1]):
        for row in range(rows):
            for column in range(columns):
                total = 0.0 if bias is None else bias[unit]
                for c in range(channels):
                    for y in range(kernel[0]):
                        for x in range(kernel[1]):
                            top = row * stride[0] + y - padding[0]
                            left = column * stride[1] + x - padding[1]
                            if 0 <= top < tall and 0 <= left < wide:
                                number = (c * kernel[0] + y) * kernel[1] + x
                                total += image[c, top, left] * weight[number, unit]
                maps[unit, row, column] = total
    return maps


def pixels(maps):
    """Return the channels of each place, row by row."""
    channels, tall, wide = maps.shape
    places = np.zeros((tall * wide, channels))
    for y in range(tall):
        for x in range(wide):
            for c in range(channels):
                places[y * wide + x, c] = maps[c, y, x]
    return places


def maps_of(places, tall, wide):
    """Return the feature maps of places row by row: the way back from `pixels`."""
    maps = np.zeros((places.shape[1], tall, wide))
    for y in range(tall):
        for x in range(wide):
            for c in range(places.shape[1]):
                maps[c, y, x] = places[y * wide + x, c]
    return maps


def convolution_layer(image, parameters, *, eps):
    maps = convolution(
        image,
        parameters["w_convolution"],
        parameters.get("b_convolution"),
        kernel=(3, 3),
        stride=(2, 2),
        padding=(1, 1),
    )
    places = layer_norm(pixels(maps), **parameters["norm"], eps=eps)
    for place in range(len(places)):
        for c in range(places.shape[1]):
            if places[place, c] < 0:
                places[place, c] = 0.0
    return maps_of(places, *maps.shape[1:])


def vision_transformer(image, parameters, patch, n_heads, *, norm, activation, eps):
    """`patch` is the height and width of a patch of the whole image."""
    for layer in parameters.get("convolutions", []):
        image = convolution_layer(image, layer, eps=eps)
        patch = (patch[0] // 2, patch[1] // 2)
    x = affine(patchify(image, *patch), parameters["w_patch"], parameters.get("b_patch"))
    if "class_token" in parameters:
        x = np.array([parameters["class_token"], *x])
    for row in range(len(x)):
        for column in range(x.shape[1]):
            x[row, column] += parameters["positions"][row, column]
    for layer in parameters["layers"]:
        x = encoder_layer(x, layer, n_heads, norm=norm, activation=activation, eps=eps)
    if norm == "pre":
        x = layer_norm(x, **parameters["output_norm"], eps=eps)
    answer = x[:1] if "class_token" in parameters else sum(x)[None] / len(x)
    if "w_pool" in parameters:
        answer = affine(answer, parameters["w_pool"], parameters.get("b_pool"))
        answer = np.array([[math.tanh(number) for number in answer[0]]])
    if "w_head" in parameters:
        answer = affine(answer, parameters["w_head"], parameters.get("b_head"))
    return answer[0]


def non_local_block(maps, parameters, *, scale):
    places = pixels(maps)
    query, key, value = (
        affine(places, parameters[f"w_{name}"], parameters.get(f"b_{name}"))
        for name in ("query", "key", "value")
    )
    found = attend(scale * dot_scores(query, key), value)
    found = affine(found, parameters["w_output"], parameters.get("b_output"))
    return maps + maps_of(found, *maps.shape[1:])


def attention_rollout(layers, residual, fuse):
    """`layers` are (n_heads, n, n); `fuse` makes one number of a list of them."""
    n = layers[0].shape[-1]
    rollout = np.eye(n)
    for layer in layers:
        mixed = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                seen = fuse([head[i, j] for head in layer])
                mixed[i, j] = (1 - residual) * seen + (residual if i == j else 0.0)
            total = sum(mixed[i])
            if total != 0:
                mixed[i] /= total
        rollout = weighted_sum(mixed, rollout)
    return rollout


def first_drawn(weights, uniform):
    """Return the first place at which the sum of the weights so far exceeds the number, else the last."""
    seen = [j for j in range(len(weights)) if weights[j] > 0]
    total = 0.0
    for j in seen:
        total += weights[j]
        if total > uniform:
            return j
    return seen[-1] if seen else None


def exact_reward_gradient(scores, reward, mask=None):
    """The derivative by its definition: each reward times how its probability moves."""
    weights = masked_softmax(scores[None], None if mask is None else mask[None])[0]
    jacobian = softmax_jacobian(weights)
    gradient = np.zeros(len(scores))
    for i in range(len(scores)):
        for j in range(len(scores)):
            if weights[j] != 0:
                gradient[i] += jacobian[i, j] * reward[j]
    return gradient


def reinforce_gradient(scores, reward, uniform, mask=None, baseline=0.0):
    weights = masked_softmax(scores[None], None if mask is None else mask[None])[0]
    estimates = np.zeros((len(uniform), len(scores)))
    for draw in range(len(uniform)):
        taken = first_drawn(weights, uniform[draw])
        if taken is None:
            continue
        for j in range(len(scores)):
            slope = (1.0 if j == taken else 0.0) - weights[j]
            estimates[draw, j] = (reward[taken] - baseline) * slope
    return estimates


def gumbel_weights(scores, uniform, mask=None, *, temperature=1.0):
    noisy = np.zeros((1, len(scores)))
    for j in range(len(scores)):
        between = min(max(uniform[j], 2.0**-1022), 1 - 2.0**-53)
        noisy[0, j] = (scores[j] - math.log(-math.log(between))) / temperature
    return masked_softmax(noisy, None if mask is None else mask[None])[0]


def sample(logits, uniform, *, temperature=1.0, top_k=None, top_p=None):
    """One row: sort the tokens, cross out, draw."""
    allowed = [token for token in range(len(logits)) if logits[token] != -math.inf]
    highest = max(logits[token] for token in allowed)
    weight = {token: math.exp((logits[token] - highest) / temperature) for token in allowed}
    kept = sorted(allowed, key=lambda token: -logits[token])[:top_k]  # stable: lower tokens first
    if top_p is not None and top_p < 1:
        total, so_far, best = sum(weight[token] for token in kept), 0.0, []
        for token in kept:
            if so_far >= top_p:
                break
            best.append(token)
            so_far += weight[token] / total
        kept = best
    total = sum(weight[token] for token in kept)
    left = [weight[token] / total if token in kept else 0.0 for token in range(len(logits))]
    return first_drawn(left, uniform)


def every_sequence(table, start, *, end, max_length):
    """Return all sequences of a table of log-probabilities with their scores, as pairs.

    A sequence is closed by its first `end` or by `max_length`.
    """
    done, growing = [], [((), 0.0)]
    for _ in range(max_length):
        longer = []
        for tokens, score in growing:
            last = tokens[-1] if tokens else start
            for token in range(len(table)):
                step = table[last, token]
                if step != -math.inf:
                    grown = ((*tokens, token), score + step)
                    (done if token == end else longer).append(grown)
        growing = longer
    return done + growing


def beam_search(table, start, *, end, max_length, beam_width, length_penalty=0.0):
    """One sequence: Python lists of hypotheses, sorted anew at every step."""
    beams = [((), 0.0)]
    for _ in range(max_length):
        if all(end in tokens for tokens, _ in beams):
            break
        candidates = []
        for tokens, score in beams:
            if end in tokens:
                candidates.append((tokens, score))
                continue
            last = tokens[-1] if tokens else start
            for token in range(len(table)):
                step = table[last, token]
                if step != -math.inf:
                    candidates.append(((*tokens, token), score + step))
        beams = sorted(candidates, key=lambda one: -one[1] / len(one[0]) ** length_penalty)
        beams = beams[:beam_width]
    return beams
