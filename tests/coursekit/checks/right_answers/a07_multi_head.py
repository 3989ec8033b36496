"""Right but unusual answers of assignment 07."""

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from attnkit.torch import MultiHeadAttention
from coursekit.checks.a07_multi_head.given import softmax
from tests.coursekit.checks.collect import answers


@answers("07.predicted_readers")
def whole_numbers_are_a_guess():
    return np.array([0, 1, 1])


@answers("07.predicted_readers")
def single_precision_is_a_guess():
    return np.array([0.3, 0.1, 0.5], dtype=np.float32)


@answers("07.merged_by_hand")
def floats_by_hand():
    return np.array([[2.0, 6.0, 9.0, 13.0], [3.0, 3.0, 7.0, 11.0]])


@answers("07.merged_by_hand")
def sums_by_hand():
    first = np.array([[1, 0], [0.5, 0.5]]) @ [[2, 6], [4, 0]]
    return np.hstack([first, np.array([[0, 1], [0.25, 0.75]]) @ [[1, 5], [9, 13]]])


@answers("07.split_heads")
def split_and_stacked(x, n_heads):
    return np.stack(np.split(x, n_heads, axis=-1), axis=-3)


@answers("07.split_heads")
def split_by_einsum(x, n_heads):
    cut = x.reshape((*x.shape[:-1], n_heads, -1))
    return np.einsum("...thd->...htd", cut)


@answers("07.split_heads")
def split_number_by_number(x, n_heads):
    *lead, length, d_model = x.shape
    d_head = d_model // n_heads
    heads = np.empty((*lead, n_heads, length, d_head), dtype=x.dtype)
    for column in range(d_model):
        heads[..., column // d_head, :, column % d_head] = x[..., column]
    return heads


@answers("07.merge_heads")
def heads_side_by_side(heads):
    return np.concatenate([heads[..., h, :, :] for h in range(heads.shape[-3])], axis=-1)


@answers("07.merge_heads")
def merged_by_einsum(heads):
    by_word = np.einsum("...htd->...thd", heads)
    return by_word.reshape((*by_word.shape[:-2], -1))


@answers("07.merge_heads")
def merged_from_columns(heads):
    *lead, n_heads, length, d_head = heads.shape
    columns = np.swapaxes(heads, -1, -2).reshape(*lead, n_heads * d_head, length)
    return np.swapaxes(columns, -1, -2)


@answers("07.multi_head_loop")
def output_added_up_head_by_head(x, w_query, w_key, w_value, w_output, n_heads):
    total = 0
    blocks = zip(*(np.split(w, n_heads, axis=1) for w in (w_query, w_key, w_value)), strict=True)
    for (query, key, value), rows in zip(blocks, np.split(w_output, n_heads), strict=True):
        scores = x @ (query @ key.T) @ x.T * query.shape[1] ** -0.5
        total = total + softmax(scores) @ (x @ (value @ rows))
    return total


@answers("07.multi_head_loop")
def word_by_word(x, w_query, w_key, w_value, w_output, n_heads):
    width = x.shape[1] // n_heads
    merged = np.zeros_like(x)
    for h in range(n_heads):
        mine = range(h * width, h * width + width)
        for i in range(len(x)):
            scores = np.array([x[i] @ w_query[:, mine] @ (y @ w_key[:, mine]) for y in x])
            e = np.exp(scores / width**0.5)
            merged[i, mine] = e / e.sum() @ (x @ w_value[:, mine])
    return merged @ w_output


@answers("07.multi_head_attention")
def heads_by_einsum(query, key, mask, parameters, n_heads):
    d_model = query.shape[-1]
    w = {name: p.reshape(d_model, n_heads, -1) for name, p in parameters.items()}
    q = np.einsum("...ia,ahc->...hic", query, w["w_query"])
    k = np.einsum("...ja,ahc->...hjc", key, w["w_key"])
    v = np.einsum("...ja,ahc->...hjc", key, w["w_value"])
    scores = np.einsum("...hic,...hjc->...hij", q, k) / q.shape[-1] ** 0.5
    weights = softmax(scores, np.expand_dims(mask, -3))
    out = parameters["w_output"].reshape(n_heads, -1, d_model)
    return np.einsum("...hij,...hjc,hca->...ia", weights, v, out)


@answers("07.multi_head_attention")
def head_by_head(query, key, mask, parameters, n_heads):
    cut = {name: np.split(p, n_heads, axis=1) for name, p in parameters.items()}
    heads = []
    for h in range(n_heads):
        q = query @ cut["w_query"][h]
        k = key @ cut["w_key"][h]
        scores = np.where(mask, q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), -np.inf)
        e = np.exp(scores - scores.max(-1, keepdims=True, where=mask, initial=-1e30)) * mask
        total = e.sum(-1, keepdims=True)
        heads.append(e / np.where(total > 0, total, 1) @ (key @ cut["w_value"][h]))
    return np.concatenate(heads, -1) @ parameters["w_output"]


@answers("07.multi_head_attention")
def sentence_by_sentence(query, key, mask, parameters, n_heads):
    if query.ndim > 2:
        masks = mask if mask.ndim == query.ndim else [mask] * len(query)
        return np.stack(
            [
                sentence_by_sentence(*one, parameters, n_heads)
                for one in zip(query, key, masks, strict=True)
            ]
        )
    q, k, v = (
        np.stack(np.split(x @ parameters[name], n_heads, axis=1))
        for x, name in ((query, "w_query"), (key, "w_key"), (key, "w_value"))
    )
    weights = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[2]), mask)
    return np.hstack(weights @ v) @ parameters["w_output"]


@answers("07.multi_head_module")
class FusedProjection(torch.nn.Module):
    """One product makes all three where query and key are projected with the whole matrix."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model, self.n_heads = d_model, n_heads
        self.register_parameter("in_proj_bias", torch.nn.Parameter(torch.ones(3 * d_model)))
        self.in_proj_weight = torch.nn.Parameter(torch.ones(3 * d_model, d_model).double())
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        of_query = torch.nn.functional.linear(query, self.in_proj_weight, self.in_proj_bias)
        of_key = torch.nn.functional.linear(key, self.in_proj_weight, self.in_proj_bias)
        q, (_, k, v) = of_query[..., : self.d_model], of_key.split(self.d_model, dim=-1)
        q, k, v = (x.reshape(*x.shape[:2], self.n_heads, -1) for x in (q, k, v))
        scores = torch.einsum("bmhd,bnhd->bhmn", q, k) * q.shape[-1] ** -0.5
        mask = mask.unsqueeze(1)
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)
        merged = torch.einsum("bhmn,bnhd->bmhd", weights, v)
        return self.out_proj(merged.reshape(query.shape))


@answers("07.multi_head_module")
class OneHeadAtATime(torch.nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.heads = b
        self.in_proj_weight = torch.nn.Parameter(torch.rand(3 * a, a))
        self.in_proj_bias = torch.nn.Parameter(torch.rand(3 * a))
        self.out_proj = torch.nn.Module()
        self.out_proj.weight = torch.nn.Parameter(torch.rand(a, a))
        self.out_proj.bias = torch.nn.Parameter(torch.rand(a))

    def forward(self, query, key, mask):
        rows = self.in_proj_weight.view(3, self.heads, -1, query.shape[-1])
        biases = self.in_proj_bias.view(3, self.heads, -1)
        out = self.out_proj.weight.chunk(self.heads, dim=1)
        total = self.out_proj.bias
        for h in range(self.heads):
            q = query @ rows[0, h].T + biases[0, h]
            k, v = (key @ rows[i, h].T + biases[i, h] for i in (1, 2))
            e = torch.exp(q @ k.mT / q.shape[-1] ** 0.5) * mask
            weights = e / torch.where(e.sum(-1, keepdim=True) > 0, e.sum(-1, keepdim=True), 1.0)
            total = total + weights @ v @ out[h].T
        return total


@answers("07.multi_head_cost")
def counted_by_torch(m, n, d_model, n_heads, n_kv_heads):
    """The parameters of the library's module, and what torch's own counter sees."""
    layer = MultiHeadAttention(d_model, n_heads, n_kv_heads=n_kv_heads)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        _, weights = layer(torch.zeros(m, d_model), torch.zeros(n, d_model), return_weights=True)
    parameters = sum(parameter.numel() for parameter in layer.parameters())
    return parameters, counter.get_total_flops(), weights.numel()


@answers("07.multi_head_cost")
def products_one_by_one(m, n, d_model, n_heads, n_kv_heads):
    d_head = d_model / n_heads  # floats are counts as well
    products = [(m, d_model, d_head)] * n_heads
    products += [(n, d_model, d_head)] * n_kv_heads * 2
    products += [(m, d_head, n), (m, n, d_head)] * n_heads
    products += [(m, d_model, d_model)]
    columns = d_model + 2 * n_kv_heads * d_head + d_model
    return (d_model + 1) * columns, sum(2 * a * b * c for a, b, c in products), m * n * n_heads


@answers("07.counterexample")
def whole_numbers_and_two_words():
    return np.array([[1, 2], [3, 4]]), np.array([[1, 2], [7, 4]]), 2


@answers("07.counterexample")
def heads_of_width_one():
    x = np.linspace(-1, 1, 20).reshape(5, 4)
    return x, np.vstack([x[:4], -x[4:]]), np.int64(4)


@answers("07.heads_together")
def side_by_side(x, n_heads):
    heads = []
    for columns in np.split(x, n_heads, axis=1):
        scores = columns @ columns.T / np.sqrt(columns.shape[1])
        heads.append(softmax(scores, np.tri(len(x), dtype=bool)) @ columns)
    return np.hstack(heads)


@answers("07.heads_together")
def by_einsum(x, n_heads):
    cut = x.reshape(len(x), n_heads, -1)
    scores = np.einsum("ihd,jhd->hij", cut, cut) / cut.shape[2] ** 0.5
    scores[:, np.triu_indices(len(x), 1)[0], np.triu_indices(len(x), 1)[1]] = -np.inf
    return np.einsum("hij,jhd->ihd", softmax(scores), cut).reshape(x.shape)
