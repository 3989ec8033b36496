"""Right but unusual answers of assignment 04."""

import numpy as np
import torch

from tests.coursekit.checks.collect import answers


@answers("04.predicted_leak")
def nothing_leaks():
    return np.zeros(3)


@answers("04.predicted_leak")
def everything_leaks():
    return np.ones(3, dtype=int)


@answers("04.greedy_by_hand")
def exact():
    return np.array([0.6 * 0.5, 0.4 * 0.9])


@answers("04.greedy_by_hand")
def nearly_exact():
    return np.array([0.301, 0.36])


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _gru(x, state, p):
    h = state.shape[-1]
    a, b = x @ p["w_input"] + p["b_input"], state @ p["w_state"] + p["b_state"]
    reset, update = (
        _sigmoid(a[..., : 2 * h] + b[..., : 2 * h]).reshape(*x.shape[:-1], 2, h).swapaxes(0, 1)
    )
    return update * state + (1 - update) * np.tanh(a[..., 2 * h :] + reset * b[..., 2 * h :])


def _weights(scores, keep):
    weights = np.zeros_like(scores)
    for b in range(len(scores)):
        if keep[b].any():
            e = np.exp(scores[b, keep[b]] - scores[b, keep[b]].max())
            weights[b, keep[b]] = e / e.sum()
    return weights


@answers("04.bahdanau_step")
def bahdanau_by_einsum(embedded, state, encoder_states, p, keep):
    hidden = np.tanh(
        (state @ p["w_query"])[:, None] + np.einsum("bnd,da->bna", encoder_states, p["w_key"])
    )
    weights = _weights(np.einsum("bna,a->bn", hidden, p["v"]), keep)
    context = np.einsum("bn,bnd->bd", weights, encoder_states)
    return _gru(np.hstack([embedded, context]), state, p), context, weights


@answers("04.bahdanau_step")
def bahdanau_word_by_word(embedded, state, encoder_states, p, keep):
    scores = np.stack(
        [
            np.tanh(state @ p["w_query"] + encoder_states[:, j] @ p["w_key"]) @ p["v"]
            for j in range(keep.shape[1])
        ],
        axis=1,
    )
    weights = _weights(scores, keep)
    context = sum(weights[:, j, None] * encoder_states[:, j] for j in range(keep.shape[1]))
    return _gru(np.concatenate([embedded, context], 1), state, p), context, weights


@answers("04.luong_step")
def luong_by_einsum(embedded, state, attentional, encoder_states, p, keep):
    state = _gru(np.hstack([embedded, attentional]), state, p)
    weights = _weights(np.einsum("bh,hd,bnd->bn", state, p["w_general"], encoder_states), keep)
    context = np.einsum("bn,bnd->bd", weights, encoder_states)
    return state, np.tanh(np.hstack([context, state]) @ p["w_combine"]), weights


@answers("04.luong_step")
def luong_sentence_by_sentence(embedded, state, attentional, encoder_states, p, keep):
    state = _gru(np.concatenate([embedded, attentional], -1), state, p)
    scores = np.stack(
        [e @ (p["w_general"].T @ s) for e, s in zip(encoder_states, state, strict=True)]
    )
    weights = _weights(scores, keep)
    context = np.stack([w @ e for w, e in zip(weights, encoder_states, strict=True)])
    d = context.shape[-1]
    attentional = np.tanh(context @ p["w_combine"][:d] + state @ p["w_combine"][d:])
    return state, attentional, weights


@answers("04.alignment_error_loop")
@answers("04.alignment_error")
def one_minus_accuracy(weights, alignment):
    scored = alignment != -1
    if not scored.any():
        return 0
    return 1 - np.mean(weights.argmax(-1)[scored] == alignment[scored])


@answers("04.alignment_error_loop")
@answers("04.alignment_error")
def by_a_list(weights, alignment):
    n = weights.shape[-1]
    rows = zip(weights.reshape(-1, n), alignment.ravel(), strict=True)
    marks = [int(row.tolist().index(max(row)) != a) for row, a in rows if a >= 0]
    return np.array(sum(marks) / (len(marks) or 1))


@answers("04.greedy_decode")
def one_sequence_at_a_time(table, start, end, max_length):
    rows = []
    for token in start:
        row = []
        while len(row) < max_length and end not in row:
            token = int(np.argmax(table[token]))
            row.append(token)
        rows.append(row)
    longest = max(map(len, rows))
    return np.array([row + [end] * (longest - len(row)) for row in rows])


@answers("04.greedy_decode")
def filled_from_the_end(table, start, end, max_length):
    best = table.argmax(axis=1).astype(np.int32)
    best[end] = end  # whoever has ended stays there
    tokens = np.full((len(start), max_length), end, dtype=np.int32)
    for t in range(max_length):
        tokens[:, t] = best[start if t == 0 else tokens[:, t - 1]]
    ended = (tokens == end).all(axis=0)
    return tokens[:, : int(ended.argmax()) + 1 if ended.any() else max_length]


@answers("04.counterexample")
def no_queries_axis():
    # with one query the faulty program even returns another shape
    return np.zeros((2, 1, 2)), np.array([[True, True], [True, False]])


@answers("04.counterexample")
def whole_number_scores():
    return np.arange(27).reshape(3, 3, 3), np.tri(3, dtype=bool)


@answers("04.attention_weights")
def weights_sentence_by_sentence(scores, keep):
    return np.stack(
        [_weights(s, np.tile(k, (len(s), 1))) for s, k in zip(scores, keep, strict=True)]
    )


@answers("04.attention_weights")
def weights_by_expanding(scores, keep):
    allowed = np.repeat(keep[:, None], scores.shape[1], axis=1)
    highest = np.max(scores, axis=-1, where=allowed, initial=-np.inf, keepdims=True)
    exponentials = np.where(allowed, np.exp(np.minimum(scores - highest, 0)), 0)
    return exponentials / np.maximum(exponentials.sum(-1, keepdims=True), np.finfo(float).tiny)


@answers("04.additive_attention")
class FilledWithInfinityFirst(torch.nn.Module):
    """masked_fill lets no gradient through, so the NaN of an empty row stays behind."""

    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.v = torch.nn.Parameter(torch.ones(d_attention))
        self.register_parameter("w_key", torch.nn.Parameter(torch.ones(d_key, d_attention)))
        self.w_query = torch.nn.Parameter(torch.ones(d_query, d_attention))

    def forward(self, query, key, value, mask):
        pair = (query @ self.w_query).unsqueeze(2) + (key @ self.w_key).unsqueeze(1)
        scores = torch.einsum("bmna,a->bmn", pair.tanh(), self.v)
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        return torch.bmm(weights.masked_fill(~mask, 0.0), value)


@answers("04.additive_attention")
class OneQueryAtATime(torch.nn.Module):
    def __init__(self, a, b, c):
        super().__init__()
        shapes = {"w_query": (a, c), "w_key": (b, c), "v": (c,)}
        for name, shape in shapes.items():
            setattr(self, name, torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)))

    def forward(self, query, key, value, mask):
        mask = mask.expand(-1, query.shape[1], -1)
        rows = []
        for i in range(query.shape[1]):
            scores = torch.tanh(query[:, i : i + 1] @ self.w_query + key @ self.w_key) @ self.v
            e = torch.exp(scores - scores.detach().amax(-1, keepdim=True)) * mask[:, i]
            total = e.sum(-1, keepdim=True)
            rows.append((e / torch.where(total > 0, total, 1.0)).unsqueeze(1) @ value)
        return torch.cat(rows, dim=1)
