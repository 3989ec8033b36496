"""Right but unusual answers of assignment 06."""

import numpy as np
import torch

from tests.coursekit.checks.collect import answers


@answers("06.predicted_reach")
def whole_numbers_are_a_guess():
    return np.array([1, 0, 1])


@answers("06.predicted_reach")
def single_precision_is_a_guess():
    return np.array([0.3, 0.1, 0.5], dtype=np.float32)


@answers("06.pairs_by_hand")
def floats_by_hand():
    return np.array([10.0, 12.0, 9.0, 7.0])


@answers("06.pairs_by_hand")
def sums_by_hand():
    return np.array([1 + 2 + 3 + 4, 4 * 3, 1 + 2 + 3 + 3, 3 + 4])


@answers("06.padding_mask")
def mask_sentence_by_sentence(lengths, n):
    mask = np.zeros((len(lengths), 1, n), dtype=bool)
    for row, length in zip(mask, lengths, strict=True):
        row[0, :length] = True
    return mask


@answers("06.padding_mask")
def mask_by_a_table(lengths, n):
    return np.tri(n + 1, n, -1, dtype=bool)[lengths][:, None]


@answers("06.causal_mask")
def mask_by_tri(m, n):
    return np.tri(m, n, n - m, dtype=bool)


@answers("06.causal_mask")
def mask_query_by_query(m, n):
    rows = [[j - i <= n - m for j in range(n)] for i in range(m)]
    return np.array(rows)


@answers("06.causal_mask")
def mask_from_the_opposite(m, n):
    future = np.triu(np.ones((m, n)), k=n - m + 1)
    return future == 0


@answers("06.combine_masks")
def masks_by_reduce(*masks):
    present = np.broadcast_arrays(*(mask for mask in masks if mask is not None))
    return np.logical_and.reduce(present)


@answers("06.combine_masks")
def masks_by_what_is_hidden(*masks):
    hidden = False
    for mask in masks:
        hidden = hidden if mask is None else hidden | ~mask
    return ~hidden


@answers("06.combine_masks")
def masks_by_products(*masks):
    result = True
    for mask in filter(lambda mask: mask is not None, masks):
        result = result * mask  # of truth values: still truth values
    return result


@answers("06.masked_weights_loop")
def weights_of_what_is_left(scores, mask):
    weights = np.zeros_like(scores)
    if mask.any():
        kept = np.exp(scores[mask] - scores[mask].max())
        weights[mask] = kept / kept.sum()
    return weights


@answers("06.masked_weights_loop")
def weights_by_pairs(scores, mask):
    # each weight is 1 over the sum of exp(other - own); an overflow to infinity is a weight of 0
    weights = np.zeros(len(scores))
    for j in np.flatnonzero(mask):
        with np.errstate(over="ignore"):
            weights[j] = 1 / sum(np.exp(scores[k] - scores[j]) for k in np.flatnonzero(mask))
    return weights


@answers("06.masked_softmax")
def softmax_with_infinity(scores, mask):
    kept = np.where(mask, scores, -np.inf)
    highest = kept.max(axis=-1, keepdims=True)
    exponentials = np.exp(kept - np.where(highest == -np.inf, 0, highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    return np.divide(exponentials, total, out=np.zeros_like(exponentials), where=total > 0)


@answers("06.masked_softmax")
def softmax_with_nan_replaced(scores, mask):
    kept = np.where(mask, scores, -np.inf)
    exponentials = np.exp(kept - kept.max(axis=-1, keepdims=True))
    return np.nan_to_num(exponentials / exponentials.sum(axis=-1, keepdims=True))  # warns


@answers("06.masked_softmax")
def softmax_row_by_row(scores, mask):
    weights = np.zeros(scores.shape)
    for place in np.ndindex(scores.shape[:-1]):
        allowed = np.broadcast_to(mask, scores.shape)[place]
        if allowed.any():
            kept = scores[place][allowed].astype(float)
            kept = np.exp(kept - kept.max())
            weights[place][allowed] = kept / kept.sum()
    return weights


@answers("06.masked_softmax")
def softmax_with_where(scores, mask):
    allowed = np.broadcast_to(mask, scores.shape)
    highest = np.max(scores, axis=-1, where=allowed, initial=-np.inf, keepdims=True)
    difference = np.where(allowed, scores, 0) - np.where(allowed.any(-1, keepdims=True), highest, 0)
    exponentials = np.where(allowed, np.exp(np.minimum(difference, 0)), 0)
    return exponentials / np.maximum(exponentials.sum(axis=-1, keepdims=True), 1e-4)


@answers("06.self_attention")
def attention_by_einsum(x, w_query, w_key, w_value):
    scores = np.einsum("...ia,ab,cb,...jc->...ij", x, w_query, w_key, x, optimize=True)
    weights = np.exp(scores / w_key.shape[1] ** 0.5)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("...ij,...jc,cv->...iv", weights, x, w_value, optimize=True)


@answers("06.self_attention")
def values_last(x, w_query, w_key, w_value):
    if x.ndim > 2:
        return np.stack([values_last(sentence, w_query, w_key, w_value) for sentence in x])
    rows = []
    for word in x:
        scores = (x @ w_key) @ (word @ w_query) / np.sqrt(w_query.shape[-1])
        weights = np.exp(scores - scores.max())
        rows.append(weights @ x / weights.sum() @ w_value)
    return np.array(rows)


@answers("06.self_attention_module")
class FilledWithInfinityFirst(torch.nn.Module):
    """masked_fill lets no gradient through, so the NaN of an empty row stays behind."""

    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.register_parameter("w_value", torch.nn.Parameter(torch.ones(d_model, d_v)))
        self.w_key = torch.nn.Parameter(torch.zeros(d_model, d_k))
        self.w_query = torch.nn.Parameter(torch.zeros(d_model, d_k, dtype=torch.float64))

    def forward(self, x, mask):
        query, key = x @ self.w_query, x @ self.w_key
        scores = torch.einsum("btd,bsd->bts", query, key) * key.shape[-1] ** -0.5
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        return torch.bmm(weights.masked_fill(~mask, 0.0), x) @ self.w_value


@answers("06.self_attention_module")
class OneWordAtATime(torch.nn.Module):
    def __init__(self, a, b, c):
        super().__init__()
        for name, width in {"w_query": b, "w_key": b, "w_value": c}.items():
            setattr(self, name, torch.nn.Parameter(torch.rand(a, width)))
        self.root = b**0.5

    def forward(self, x, mask):
        mask = mask.expand(-1, x.shape[1], -1)
        rows = []
        for i in range(x.shape[1]):
            scores = ((x[:, i : i + 1] @ self.w_query) * (x @ self.w_key)).sum(-1) / self.root
            e = torch.exp(scores - scores.detach().amax(-1, keepdim=True)) * mask[:, i]
            total = e.sum(-1, keepdim=True)
            rows.append((e / torch.where(total > 0, total, 1.0)).unsqueeze(1) @ x @ self.w_value)
        return torch.cat(rows, dim=1)


@answers("06.counterexample")
def a_late_padding():
    return np.tri(5, dtype=bool), np.arange(5) >= np.array([[3], [5]])


@answers("06.counterexample")
def two_of_five_queries():
    return np.tri(2, 5, 3, dtype=bool), np.array([[True, False, False, False, False]])


@answers("06.allowed_pairs")
def by_what_is_hidden(causal, padding):
    return ~(~causal | padding[:, None, :])


@answers("06.allowed_pairs")
def pairs_sentence_by_sentence(causal, padding):
    return np.stack([np.logical_and(causal, np.logical_not(row)) for row in padding])


@answers("06.allowed_pairs")
def by_comparison(causal, padding):
    return causal > padding[:, None, :]  # True above False: may look and is no padding
