"""Right but unusual answers pass: loops, einsum, other orders of summation, wider types, torch's ways."""

import numpy as np
import pytest

from coursekit.checks import exercise, exercises
from coursekit.checks.engine import examine
from coursekit.checks.seeds import DEFAULT_HIDDEN_SEED, PUBLIC_SEED

ANSWERS = {}


def answers(identifier):
    """Collect the functions decorated with it as right answers of an exercise."""

    def collect(function):
        ANSWERS.setdefault(identifier, []).append(function)
        return function

    return collect


# ---------------------------------------------------------------- 02


@answers("02.predicted_sharpness")
def whole_numbers_are_a_guess():
    return np.array([1, 1, 1])


@answers("02.predicted_sharpness")
def single_precision_is_a_guess():
    return np.array([1 / 3, 0.5, 1.0], dtype=np.float32)


@answers("02.lookup_by_hand")
def three_digits():
    return np.array([0.125, 0.25, 0.625]), np.array([2, 6])


@answers("02.lookup_by_hand")
def as_fractions():
    return np.array([1, 2, 5]) / 8, np.array([16, 48]) / 8


@answers("02.softmax")
def softmax_by_log_sum_exp(scores):
    highest = scores.max(-1)[..., None]
    return np.exp(scores - (highest + np.log(np.exp(scores - highest).sum(-1)[..., None])))


@answers("02.softmax")
def softmax_row_by_row(scores):
    if scores.ndim > 1:
        return np.array([softmax_row_by_row(row) for row in scores])
    total = sum(np.exp(s - max(scores)) for s in reversed(scores))
    return np.array([np.exp(s - max(scores)) / total for s in scores])


@answers("02.softmax")
def softmax_by_pairs(scores):
    # exp overflows to infinity for hopeless scores, and 1 / infinity is the right weight, 0
    return 1 / np.exp(scores[..., None, :] - scores[..., :, None]).sum(axis=-1)


@answers("02.soft_lookup_loop")
@answers("02.soft_lookup")
def lookup_by_einsum(query, key, value):
    scores = np.einsum("...id,...jd->...ij", query, key).astype(float)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("...ij,...jv->...iv", weights, value) / weights.sum(-1, keepdims=True)


@answers("02.soft_lookup_loop")
@answers("02.soft_lookup")
def lookup_by_recursion(query, key, value):
    if query.ndim > 2:
        return np.stack(
            [lookup_by_recursion(*each) for each in zip(query, key, value, strict=True)]
        )
    rows = []
    for q in query:
        scores = [sum(q * k) for k in key]
        weights = [np.exp(s - max(scores)) for s in scores]
        rows.append(sum(w * v for w, v in zip(weights, value, strict=True)) / sum(weights))
    return np.array(rows)


@answers("02.kernel_regression")
def regression_place_by_place(x, x_train, y_train, kernel, bandwidth):
    out = []
    for place in x:
        u = (place - x_train) / bandwidth
        if kernel == "gaussian":
            scores = -(u**2) / 2
        elif kernel == "boxcar":
            scores = np.array([0.0 if abs(v) <= 1 else -np.inf for v in u])
        else:
            scores = np.array([np.log(1 - abs(v)) if abs(v) < 1 else -np.inf for v in u])
        if scores.max() == -np.inf:
            out.append(0.0)
            continue
        weights = np.exp(scores - scores.max())
        out.append((weights * y_train).sum() / weights.sum())
    return np.array(out)


@answers("02.kernel_regression")
def regression_with_nan_replaced(x, x_train, y_train, kernel, bandwidth):
    u = np.subtract.outer(x, x_train) / bandwidth
    shift = (u**2).min(axis=1, keepdims=True)
    k = {
        "gaussian": np.exp(-0.5 * (u**2 - shift)),
        "boxcar": (np.abs(u) <= 1).astype(float),
        "triangular": np.clip(1 - np.abs(u), 0, None),
    }[kernel]
    return np.nan_to_num((k * y_train).sum(axis=1) / k.sum(axis=1))  # warns: a remark, no failure


@answers("02.softmax_jacobian")
def jacobian_in_place(weights):
    jacobian = -np.einsum("...i,...j->...ij", weights, weights)
    i = np.arange(weights.shape[-1])
    jacobian[..., i, i] += weights
    return jacobian


@answers("02.softmax_jacobian")
def jacobian_row_by_row(weights):
    if weights.ndim > 1:
        return np.stack([jacobian_row_by_row(row) for row in weights])
    return np.diag(weights) - np.outer(weights, weights)


@answers("02.counterexample")
def whole_number_values():
    return np.array([[4, 2], [7, 7]]), np.array([False, True])


@answers("02.counterexample")
def many_rows():
    return np.ones((9, 1)), np.arange(9) < 5


@answers("02.mean_value")
def mean_row_by_row(value, keep):
    if value.ndim > 2:
        return np.array([mean_row_by_row(v, k) for v, k in zip(value, keep, strict=True)])
    return value[keep].mean(axis=0) if keep.any() else np.zeros(value.shape[-1])


@answers("02.mean_value")
def mean_by_weights(value, keep):
    weights = keep / np.maximum(keep.sum(-1, keepdims=True), 1)
    clean = np.where(keep[..., None], value, 0)
    return np.einsum("...n,...nd->...d", weights, clean)


# ---------------------------------------------------------------- 03


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


# ---------------------------------------------------------------- 04


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


EVERY = [(identifier, function) for identifier, group in ANSWERS.items() for function in group]


@pytest.mark.parametrize(
    ("identifier", "answer"), EVERY, ids=[f"{name}-{f.__name__}" for name, f in EVERY]
)
def test_a_right_answer_passes(identifier, answer):
    for seed in (PUBLIC_SEED, DEFAULT_HIDDEN_SEED, 5):
        report = examine(exercise(identifier), answer, seed)
        assert report.passed, (seed, report.failures)


def test_every_numpy_exercise_has_two_unusual_answers():
    for entry in exercises():
        if entry.needs == "numpy":
            assert len(ANSWERS[entry.identifier]) >= 2, entry.identifier


# ---------------------------------------------------------------- torch


def test_right_modules_pass():
    import torch

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

    entry = exercise("04.additive_attention")
    for answer in (FilledWithInfinityFirst, OneQueryAtATime):
        report = examine(entry, answer, PUBLIC_SEED)
        assert report.passed, (answer, report.failures)


# ---------------------------------------------------------------- remarks


def test_a_wider_type_is_a_remark():
    report = examine(exercise("03.scaled_dot_scores"), scaled_beforehand, PUBLIC_SEED)
    assert report.passed
    assert report.remarks == ()

    def widened(query, key):
        return query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])

    report = examine(exercise("03.scaled_dot_scores"), widened, PUBLIC_SEED)
    assert report.passed
    assert ["float64 came out" in remark for remark in report.remarks] == [True]


def test_a_warning_is_a_remark():
    report = examine(exercise("02.kernel_regression"), regression_with_nan_replaced, PUBLIC_SEED)
    assert report.passed
    assert any("Python warned" in remark and "divide" in remark for remark in report.remarks)
