"""Right but unusual answers of assignment 10."""

import bisect
import heapq
import itertools

import numpy as np
import torch

from tests.coursekit.checks.collect import answers


def weights_of(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def turned(x, positions):
    """Rotary by complex numbers."""
    pairs = x[..., 0::2] + 1j * x[..., 1::2]
    frequency = 10000.0 ** (-2 * np.arange(pairs.shape[-1]) / x.shape[-1])
    pairs = pairs * np.exp(1j * np.multiply.outer(positions, frequency))
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)


@answers("10.predicted_survivors")
def whole_numbers_are_a_guess():
    return np.array([1, 10_000, 500])


@answers("10.predicted_survivors")
def single_precision_is_a_guess():
    return np.array([9000.5, 1.0, 10000.0], dtype=np.float32)


@answers("10.beam_by_hand")
def rounded_by_hand():
    return np.array([0.216, 0.27, 0.24, 0.25, 0.6])


@answers("10.beam_by_hand")
def by_logarithms():
    greedy = np.log([0.45, 0.6, 0.8])
    return np.exp([greedy.sum(), greedy[:2].sum(), np.log(0.24), np.log(0.25), greedy.mean()])


@answers("10.draw_loop")
def draw_by_search(weights, uniform):
    sums = np.cumsum(weights)
    return np.searchsorted(sums, uniform * sums[-1], side="right")


@answers("10.draw_loop")
def draw_by_bisection(weights, uniform):
    shares = [float(w) for w in weights / np.sum(weights)]
    return bisect.bisect_right(list(itertools.accumulate(shares)), uniform)


@answers("10.draw_loop")
def draw_by_taking_away(weights, uniform):
    left = uniform * weights.sum()
    for token, weight in enumerate(weights):
        if left < weight:
            return np.int64(token)
        left -= weight


@answers("10.sample_tokens")
def tokens_row_by_row(logits, uniform, temperature, top_k, top_p):
    tokens = []
    for row, number in zip(logits, uniform, strict=True):
        weights = weights_of(row / temperature)
        best = sorted(range(len(row)), key=lambda i: -weights[i])[:top_k]
        total, kept = sum(weights[i] for i in best), []
        for i in best:
            if sum(weights[j] for j in kept) >= top_p * total:
                break
            kept.append(i)
        kept.sort()
        sums = np.cumsum(weights[kept])
        tokens.append(kept[np.searchsorted(sums, number * sums[-1], side="right")])
    return np.array(tokens)


@answers("10.sample_tokens")
def tokens_by_thresholds(logits, uniform, temperature, top_k, top_p):
    """Nothing is put back: who stays is told from the smallest logit that does."""
    ordered = -np.sort(-logits, axis=-1)
    logits = np.where(logits >= ordered[:, top_k - 1, None], logits, -np.inf)
    weights = weights_of(logits / temperature)
    best = -np.sort(-weights, axis=-1)
    # (B, V, V): how much all heavier tokens have together
    heavier = np.where(weights[:, None, :] > weights[:, :, None], weights[:, None, :], 0)
    weights = weights * (heavier.sum(axis=-1) < top_p)
    assert (weights.max(axis=-1) == best[:, 0]).all()
    sums = np.cumsum(weights / weights.sum(axis=-1, keepdims=True), axis=-1)
    return (sums <= uniform[:, None]).sum(axis=-1)


@answers("10.beam_decode")
def beam_of_tuples(table, start, end, max_length, beam_width, length_penalty):
    beam, n_steps = [((), 0.0)], 0
    while n_steps < max_length and not all(text and text[-1] == end for text, _ in beam):
        candidates = []
        for text, score in beam:
            if text and text[-1] == end:
                candidates.append((text, score))
                continue
            row = table[text[-1] if text else start]
            candidates += [((*text, token), score + row[token]) for token in range(len(row))]
        beam = heapq.nlargest(
            beam_width, candidates, key=lambda pair: pair[1] / len(pair[0]) ** length_penalty
        )
        n_steps += 1
    tokens = np.full((len(beam), n_steps), end)
    for row, (text, _) in zip(tokens, beam, strict=True):
        row[: len(text)] = text
    return tokens, np.array([score for _, score in beam])


@answers("10.beam_decode")
def beam_that_begins_with_one_live_row(table, start, end, max_length, beam_width, length_penalty):
    n_tokens = len(table)
    tokens, last = np.zeros((beam_width, 0), int), np.full(beam_width, start)
    scores, length = np.full(beam_width, -np.inf), np.zeros(beam_width)
    scores[0], ended = 0, np.zeros(beam_width, bool)
    while tokens.shape[1] < max_length and not ended.all():
        step = table[last].copy()
        step[ended], step[ended, end] = -np.inf, 0
        grown = np.add(scores[:, None], step)
        length[~ended] += 1
        order = np.lexsort((-(grown / length[:, None] ** length_penalty).ravel(),))[:beam_width]
        row, last = order // n_tokens, order % n_tokens
        tokens, scores = np.column_stack([tokens[row], last]), grown.ravel()[order]
        length, ended = length[row], last == end
    return tokens, scores


@answers("10.cache_append")
def append_to_a_copy(key_room, value_room, length, key, value):
    if key.shape[2] > key_room.shape[2] - length:
        return key_room, value_room, length
    rooms = []
    for room, new in ((key_room, key), (value_room, value)):
        behind = room[:, :, length + new.shape[2] :]
        joined = np.concatenate([room[:, :, :length], new, behind], axis=2)
        rooms.append(joined.astype(room.dtype))
    return rooms[0], rooms[1], length + key.shape[2]


@answers("10.cache_append")
def append_row_by_row(key_room, value_room, length, key, value):
    capacity = key_room.shape[-2]
    if length + key.shape[-2] <= capacity:
        for row in range(key.shape[-2]):
            np.copyto(key_room[..., length, :], key[..., row, :])
            value_room[..., length, :] = value[..., row, :]
            length += 1
    return key_room, value_room, np.int64(length)


@answers("10.cached_attention")
def token_by_token(query, key, value, past_key, past_value):
    rows = []
    for i in range(query.shape[-2]):
        keys = np.concatenate([past_key, key[..., : i + 1, :]], axis=-2)
        values = np.concatenate([past_value, value[..., : i + 1, :]], axis=-2)
        scores = np.einsum("...d,...nd->...n", query[..., i, :], keys) * keys.shape[-1] ** -0.5
        rows.append(np.einsum("...n,...nv->...v", weights_of(scores), values))
    return np.stack(rows, axis=-2)


@answers("10.cached_attention")
def old_and_new_scores_apart(query, key, value, past_key, past_value):
    root = np.sqrt(query.shape[-1])
    old = query @ np.swapaxes(past_key, -1, -2) / root
    new = query @ np.swapaxes(key, -1, -2) / root
    new = np.where(np.tri(new.shape[-1], dtype=bool), new, -np.inf)
    highest = np.maximum(old.max(-1, initial=-np.inf), new.max(-1))[..., None]
    old, new = np.exp(old - highest), np.exp(new - highest)
    total = old.sum(-1, keepdims=True) + new.sum(-1, keepdims=True)
    return (old @ past_value + new @ value) / total


@answers("10.cached_self_attention")
class JoinedInsteadOfWritten(torch.nn.Module):
    """Right results; the buffers are replaced at each call, which copies them."""

    def __init__(self, b, n, d, k, v):
        super().__init__()
        for name, width in {"w_query": k, "w_key": k, "w_value": v}.items():
            self.register_parameter(name, torch.nn.Parameter(torch.rand(d, width)))
        self.register_buffer("length", torch.zeros((), dtype=torch.long))
        self.register_buffer("value_room", torch.zeros(b, n, v))
        self.register_buffer("key_room", torch.zeros(b, n, k))

    def forward(self, x):
        past = self.length.item()
        key = torch.cat([self.key_room[:, :past], x @ self.w_key], dim=1)
        value = torch.cat([self.value_room[:, :past], x @ self.w_value], dim=1)
        stored = key.shape[1]
        self.key_room = torch.cat([key, self.key_room[:, stored:]], dim=1).detach()
        self.value_room = torch.cat([value, self.value_room[:, stored:]], dim=1).detach()
        self.length = torch.tensor(stored)
        scores = torch.einsum("bmk,bnk->bmn", x @ self.w_query, key) / key.shape[2] ** 0.5
        allowed = torch.ones(scores.shape[1:], dtype=torch.bool).tril(past)
        weights = torch.where(allowed, scores, torch.finfo(scores.dtype).min).softmax(-1)
        return torch.bmm(weights, value)


@answers("10.cached_self_attention")
class WithTheFusedKernel(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.zeros(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.zeros(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.zeros(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        start, end = self.length.item(), self.length.item() + x.shape[1]
        self.key_room.narrow(1, start, x.shape[1]).copy_(x @ self.w_key)
        self.value_room.narrow(1, start, x.shape[1]).copy_(x @ self.w_value)
        self.length += x.shape[1]
        mask = torch.arange(end) <= torch.arange(start, end)[:, None]
        return torch.nn.functional.scaled_dot_product_attention(
            x @ self.w_query, self.key_room[:, :end], self.value_room[:, :end], attn_mask=mask
        )


@answers("10.counterexample")
def many_tokens():
    x = np.arange(24.0).reshape(6, 4) / 10
    return x[4:], x[4:], x[4:, :1], x[:4], x[:4, :1]


@answers("10.counterexample")
def whole_numbers_and_late_tokens():
    x = np.array([[2, 0], [0, 1], [1, 1]])
    return x[2:], x[1:2], np.array([[5, 0, 1]]), x[:2], np.array([[0, 1, 2], [3, 3, 0]])


@answers("10.rotary_step")
def step_by_complex_numbers(query, key, value, past_key, past_value):
    n_past, m = past_key.shape[0], query.shape[0]
    positions = np.arange(n_past, n_past + m)
    keys = np.vstack([past_key, turned(key, positions)])
    scores = turned(query, positions) @ keys.T * keys.shape[1] ** -0.5
    scores[~np.tri(m, n_past + m, n_past, dtype=bool)] = -np.inf
    return weights_of(scores) @ np.vstack([past_value, value])


@answers("10.rotary_step")
def old_keys_moved_instead(query, key, value, past_key, past_value):
    # Only distances count: new tokens may begin at 0 if the old keys are turned back.
    m, n_past = len(query), len(past_key)
    old = turned(past_key, np.full(n_past, -n_past))
    keys = np.concatenate([old, turned(key, np.arange(m))])
    scores = turned(query, np.arange(m)) @ keys.T / np.sqrt(keys.shape[1])
    weights = weights_of(np.where(np.tri(m, n_past + m, n_past) > 0, scores, -np.inf))
    return weights @ np.concatenate([past_value, value])
