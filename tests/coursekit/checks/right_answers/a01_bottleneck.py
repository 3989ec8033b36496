"""Right but unusual answers of assignment 01."""

import numpy as np
import torch

from tests.coursekit.checks.collect import answers


@answers("01.predicted_memory")
def whole_numbers_are_a_guess():
    return np.array([1, 1, 0])


@answers("01.predicted_memory")
def single_precision_is_a_guess():
    return np.array([1.0, 0.25, 0.1], dtype=np.float32)


@answers("01.loss_by_hand")
def as_fractions():
    return np.array([8 / 5, 1 / 2])


@answers("01.loss_by_hand")
def nearly_exact():
    return np.array([1.6001, 0.4999])


@answers("01.gru_step")
def gates_by_exponentials(x, state, parameters):
    a = np.split(x @ parameters["w_input"] + parameters["b_input"], 3, axis=-1)
    b = np.split(state @ parameters["w_state"] + parameters["b_state"], 3, axis=-1)
    with np.errstate(over="ignore"):
        reset, update = (1 / (1 + np.exp(-(a[i] + b[i]))) for i in (0, 1))
    return update * state + (1 - update) * np.tanh(a[2] + reset * b[2])


@answers("01.gru_step")
def gates_that_warn(x, state, parameters):
    h = state.shape[-1]
    w, u = parameters["w_input"], parameters["w_state"]
    b, c = parameters["b_input"], parameters["b_state"]
    r = 1 / (1 + np.exp(-(x @ w[:, :h] + b[:h] + state @ u[:, :h] + c[:h])))
    z = 1 / (1 + np.exp(-(x @ w[:, h:-h] + b[h:-h] + state @ u[:, h:-h] + c[h:-h])))
    n = np.tanh(x @ w[:, -h:] + b[-h:] + r * (state @ u[:, -h:] + c[-h:]))
    return n - z * n + z * state


@answers("01.gru_step")
def gru_by_einsum(x, state, parameters):
    a = np.einsum("...i,ij->...j", x, parameters["w_input"]) + parameters["b_input"]
    b = np.einsum("...i,ij->...j", state, parameters["w_state"]) + parameters["b_state"]
    a, b = (part.reshape(*part.shape[:-1], 3, -1) for part in (a, b))
    gates = 0.5 + 0.5 * np.tanh((a + b)[..., :2, :] / 2)
    new = np.tanh(a[..., 2, :] + gates[..., 0, :] * b[..., 2, :])
    return new + gates[..., 1, :] * (state - new)


@answers("01.last_state_loop")
def by_recursion(x, parameters):
    if len(x) == 0:
        return np.zeros(parameters["b_state"].shape)
    before = by_recursion(x[:-1], parameters)
    from_word = x[-1] @ parameters["w_input"] + parameters["b_input"]
    return np.tanh(from_word + before @ parameters["w_state"] + parameters["b_state"])


@answers("01.last_state_loop")
def words_first(x, parameters):
    state = 0 * parameters["b_input"]
    for from_word in x @ parameters["w_input"] + parameters["b_input"]:
        state = np.tanh(from_word + state.dot(parameters["w_state"]) + parameters["b_state"])
    return state


@answers("01.last_state")
def sentence_by_sentence(x, keep, parameters):
    states = np.zeros((len(x), len(parameters["w_state"])))
    for b in range(len(x)):
        for word in x[b][keep[b]]:
            from_word = word @ parameters["w_input"] + parameters["b_input"]
            old = states[b] @ parameters["w_state"] + parameters["b_state"]
            states[b] = np.tanh(from_word + old)
    return states


@answers("01.last_state")
def only_rows_that_move(x, keep, parameters):
    states = np.zeros((x.shape[0], parameters["b_state"].shape[0]), dtype=x.dtype)
    for t in range(keep.shape[1]):
        moving = np.flatnonzero(keep[:, t])
        old = states[moving] @ parameters["w_state"] + parameters["b_state"]
        states[moving] = np.tanh(x[moving, t] @ parameters["w_input"] + parameters["b_input"] + old)
    return states


@answers("01.masked_cross_entropy")
def token_by_token(logits, target, mask):
    costs = []
    for place in np.argwhere(mask):
        scores, right = logits[tuple(place)].astype(float), target[tuple(place)]
        costs.append(np.log(np.exp(scores - scores[right]).sum()))
    return sum(costs) / len(costs) if costs else 0


@answers("01.masked_cross_entropy")
def by_log_add_exp(logits, target, mask):
    if not mask.any():
        return np.float64(0)
    kept = logits[mask]
    right = np.take_along_axis(kept, target[mask][:, None], axis=1)[:, 0]
    return np.mean(np.logaddexp.reduce(kept, axis=1) - right)


@answers("01.masked_cross_entropy")
def by_choosing(logits, target, mask):
    logits = np.where(mask[..., None], logits, 0.0)
    onehot = np.arange(logits.shape[-1]) == target[..., None]
    shifted = logits - logits.max(axis=-1, keepdims=True)
    cost = np.log(np.exp(shifted).sum(axis=-1)) - np.where(onehot, shifted, 0).sum(axis=-1)
    return np.where(mask, cost, 0).sum() / max(1, mask.sum())


@answers("01.exact_match")
def sentence_for_sentence(predicted, target, mask):
    marks = [
        np.array_equal(p[m], t[m])
        for p, t, m in zip(predicted, target, mask, strict=True)
        if m.any()
    ]
    return sum(marks) / len(marks) if marks else 0


@answers("01.exact_match")
def by_counting(predicted, target, mask):
    right = ((predicted == target) & mask).sum(axis=-1)
    lengths = mask.sum(axis=-1)
    return ((right == lengths) & (lengths > 0)).sum() / max((lengths > 0).sum(), 1)


@answers("01.gru_encoder")
class OneSentenceAtATime(torch.nn.Module):
    def __init__(self, a, b):
        super().__init__()
        for name, shape in {"w_input": (a, 3 * b), "w_state": (b, 3 * b)}.items():
            self.register_parameter(name, torch.nn.Parameter(torch.ones(shape)))
        self.b_state = torch.nn.Parameter(torch.ones(3 * b, dtype=torch.float64))
        self.b_input = torch.nn.Parameter(torch.ones(3 * b))
        self.h = b

    def forward(self, x, keep):
        h, states = self.h, []
        for sentence, words in zip(x, keep, strict=True):
            state = torch.zeros(h, dtype=x.dtype)
            for word in sentence[words]:
                a, b = word @ self.w_input + self.b_input, state @ self.w_state + self.b_state
                r, z = torch.sigmoid(a[: 2 * h] + b[: 2 * h]).split(h)
                state = z * state + (1 - z) * torch.tanh(a[2 * h :] + r * b[2 * h :])
            states.append(state)
        return torch.stack(states)


@answers("01.gru_encoder")
class TorchsFormula(torch.nn.Module):
    """torch's own cell, functionally, with the parameters turned as it wants them."""

    def __init__(self, d_in, d_state):
        super().__init__()
        self.w_input = torch.nn.Parameter(torch.rand(d_in, 3 * d_state))
        self.w_state = torch.nn.Parameter(torch.rand(d_state, 3 * d_state))
        self.b_input = torch.nn.Parameter(torch.rand(3 * d_state))
        self.b_state = torch.nn.Parameter(torch.rand(3 * d_state))

    def forward(self, x, keep):
        parameters = self.w_input.T, self.w_state.T, self.b_input, self.b_state
        state = x.new_zeros(x.shape[0], self.w_state.shape[0])
        for word, words in zip(x.unbind(dim=1), keep.unbind(dim=1), strict=True):
            moved = torch.gru_cell(word, state, *parameters)
            state = torch.where(words[:, None], moved, state)
        return state


@answers("01.counterexample")
def whole_number_costs():
    return np.array([[0, 0, 0], [3, 9, 9]]), np.array([[True, True, True], [True, False, False]])


@answers("01.counterexample")
def padding_in_front():
    return np.array([[5.0, 1.0], [2.0, 2.0]]), np.array([[False, True], [True, True]])


@answers("01.mean_loss")
def by_where(cost, mask):
    return np.where(mask, cost, 0).sum() / np.maximum(mask.sum(), 1)


@answers("01.mean_loss")
def weighed_by_lengths(cost, mask):
    lengths = mask.sum(axis=1)
    means = [row[words].mean() for row, words in zip(cost, mask, strict=True) if words.any()]
    return np.average(means, weights=lengths[lengths > 0]) if means else 0
