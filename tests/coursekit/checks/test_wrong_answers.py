"""Wrong answers that are no known mistake: they fail, and nobody is told a cause that is not theirs."""

import numpy as np
import pytest

from coursekit.checks import exercise
from coursekit.checks.engine import examine
from coursekit.checks.messages import describe
from coursekit.checks.seeds import DEFAULT_HIDDEN_SEED, PUBLIC_SEED

ANSWERS = []


def wrong(*identifiers):
    """Collect a function as a wrong answer to these exercises."""

    def collect(function):
        ANSWERS.extend((identifier, function) for identifier in identifiers)
        return function

    return collect


def weights_of(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@wrong("03.scaled_dot_scores")
def keys_may_lack_axes_but_not_differ(query, key):
    key = np.broadcast_to(key, query.shape[:-2] + key.shape[-2:])
    return query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])


@wrong("02.soft_lookup")
def lookup_of_two_axes_only(query, key, value):
    _m, d_k = query.shape
    return weights_of(query @ key.reshape(-1, d_k).T) @ value


@wrong("02.softmax_jacobian")
def jacobian_of_one_axis_only(weights):
    (n,) = weights.shape
    return weights[:, None] * (np.eye(n) - weights)


@wrong("03.general_scores")
def general_scores_of_two_axes_only(query, key, weight):
    _m, _d_q = query.shape
    return query @ weight @ key.T


@wrong("03.additive_scores")
def additive_scores_of_two_axes_only(query, key, w_query, w_key, v):
    _m, _d_q = query.shape
    return np.tanh((query @ w_query)[:, None] + key @ w_key) @ v


@wrong("04.alignment_error_loop")
def an_error_where_nothing_is_to_be_scored(weights, alignment):
    steps = [step for step in range(len(alignment)) if alignment[step] >= 0]
    if not steps:
        raise ZeroDivisionError("no steps")
    return np.mean([weights[step].argmax() != alignment[step] for step in steps])


@wrong("01.gru_step")
def gru_of_two_axes_only(x, state, parameters):
    _b, h = state.shape
    a = x @ parameters["w_input"] + parameters["b_input"]
    b = state @ parameters["w_state"] + parameters["b_state"]
    gates = (1 + np.tanh((a[:, : 2 * h] + b[:, : 2 * h]) / 2)) / 2
    new = np.tanh(a[:, 2 * h :] + gates[:, :h] * b[:, 2 * h :])
    return new + gates[:, h:] * (state - new)


@wrong("01.masked_cross_entropy")
def loss_of_the_first_sentence(logits, target, mask):
    kept, right = logits[0][mask[0]], target[0][mask[0]]
    if len(right) == 0:
        return 0.0
    log_p = kept - np.logaddexp.reduce(kept, axis=1)[:, None]
    return -log_p[np.arange(len(right)), right].mean()


@wrong("05.sample_keys")
def keys_drawn_with_its_own_numbers(weights, uniform):
    numbers = np.random.default_rng(0).random(uniform.shape)
    sums = np.cumsum(weights, axis=-1)[..., None, :]
    return np.minimum((sums <= numbers[..., None]).sum(axis=-1), weights.shape[-1] - 1)


@wrong("05.local_p_weights")
def local_p_of_two_axes_only(scores, centre, window):
    _m, n = scores.shape
    weights = np.zeros(scores.shape)
    for row, score, place in zip(weights, scores, centre, strict=True):
        near = np.abs(np.arange(n) - place) <= window
        if near.any():
            row[near] = weights_of(score[near])
            row[near] *= np.exp(-2 * ((np.arange(n)[near] - place) / window) ** 2)
    return weights


@wrong("06.masked_softmax")
def an_error_where_nothing_may_be_looked_at(scores, mask):
    if not np.broadcast_to(mask, scores.shape).any(axis=-1).all():
        raise ValueError("an empty row")
    return weights_of(np.where(mask, scores, -np.inf))


@wrong("06.self_attention")
def attention_to_the_first_two_words(x, w_query, w_key, w_value):
    scores = (x @ w_query) @ np.swapaxes(x[..., :2, :] @ w_key, -1, -2)
    return weights_of(scores / np.sqrt(w_key.shape[1])) @ (x[..., :2, :] @ w_value)


@wrong("07.split_heads")
def heads_of_one_sentence_only(x, n_heads):
    length, _width = x.shape
    return x.reshape(length, n_heads, -1).transpose(1, 0, 2)


@wrong("07.multi_head_attention")
def heads_that_see_two_keys(query, key, mask, parameters, n_heads):
    def heads(x, name):
        return np.stack(np.split(x @ parameters[name], n_heads, axis=-1), axis=-3)

    key, mask = key[..., :2, :], mask[..., None, :, :2]
    q, k, v = heads(query, "w_query"), heads(key, "w_key"), heads(key, "w_value")
    scores = np.where(mask, q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5, -1e9)
    merged = np.swapaxes(weights_of(scores) @ v, -3, -2).reshape(query.shape)
    return merged @ parameters["w_output"]


@wrong("07.multi_head_cost")
def cost_of_a_layer_without_biases_and_groups(m, n, d_model, n_heads, n_kv_heads):
    return 4 * d_model**2, 8 * m * d_model**2 + 4 * m * n * d_model, n_heads * m * n


@wrong("08.rotary")
def turned_in_another_layout_farther_on(x, positions):
    d = x.shape[-1]
    far = positions[0] > 25
    pairs = x.reshape(*x.shape[:-1], -1, 2) if far else np.stack(np.split(x, 2, axis=-1), axis=-1)
    hands = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(
        1j * positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    )
    turned = np.stack([hands.real, hands.imag], axis=-1 if far else -2)
    return turned.reshape(x.shape)


@wrong("08.alibi_slopes")
def an_error_where_heads_are_no_power_of_two(n_heads):
    if n_heads & (n_heads - 1):
        raise ValueError("no power of two")
    return 2.0 ** (-8 * np.arange(1, n_heads + 1) / n_heads)


@wrong("09.layer_norm")
def layer_norm_of_two_axes_only(x, gain, bias, eps):
    _n, _d = x.shape
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps) * gain + bias


@wrong("09.warmup_schedule")
def the_rate_of_one_step(step, d_model, warmup):
    return d_model**-0.5 * min(float(step[0]) ** -0.5, float(step[0]) * warmup**-1.5)


@wrong("09.label_smoothing")
def smoothed_loss_of_the_first_sentence(logits, target, mask, epsilon):
    kept, right = logits[0][mask[0]], target[0][mask[0]]
    if len(right) == 0:
        return 0.0
    log_p = kept - np.logaddexp.reduce(kept, axis=1)[:, None]
    mean = log_p.mean(axis=1)
    return -((1 - epsilon) * log_p[np.arange(len(right)), right] + epsilon * mean).mean()


@wrong("10.cached_attention")
def a_cache_of_two_axes_only(query, key, value, past_key, past_value):
    m, _d_k = query.shape
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    allowed = np.tri(m, len(key), len(key) - m, dtype=bool)
    scores = np.where(allowed, query @ key.T / key.shape[1] ** 0.5, -np.inf)
    return weights_of(scores) @ value


@wrong("10.cache_append")
def an_error_where_the_rows_do_not_fit(key_room, value_room, length, key, value):
    end = length + key.shape[2]
    if end > key_room.shape[2]:
        raise ValueError("the cache is full")
    key_room[:, :, length:end], value_room[:, :, length:end] = key, value
    return key_room, value_room, end


@wrong("10.cache_append")
def new_rows_cleared_away(key_room, value_room, length, key, value):
    """The rooms may be written into, and nothing else."""
    end = length + key.shape[2]
    if end <= key_room.shape[2]:
        key_room[:, :, length:end], value_room[:, :, length:end] = key, value
        key[...] = 0
        length = end
    return key_room, value_room, length


@wrong("10.beam_decode")
def what_has_ended_is_out(table, start, end, max_length, beam_width, length_penalty):
    beam = [([], 0.0)]
    for _ in range(max_length):
        grown = [
            ([*text, token], score + step)
            for text, score in beam
            for token, step in enumerate(table[text[-1] if text else start])
            if not text or text[-1] != end
        ]
        beam = sorted(grown, key=lambda pair: -pair[1] / len(pair[0]) ** length_penalty)
        beam = beam[:beam_width]
    return np.array([text for text, _ in beam]), np.array([score for _, score in beam])


@pytest.mark.parametrize("seed", [PUBLIC_SEED, DEFAULT_HIDDEN_SEED, 1, 2, 3])
@pytest.mark.parametrize(
    ("identifier", "answer"), ANSWERS, ids=[f"{i}-{f.__name__}" for i, f in ANSWERS]
)
def test_a_wrong_answer_fails_and_gets_no_false_name(identifier, answer, seed):
    report = examine(exercise(identifier), answer, seed)
    assert not report.passed
    assert report.mistake is None
    assert "A known mistake" not in describe(report)
