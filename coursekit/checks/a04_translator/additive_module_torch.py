"""The torch half of 04.additive_attention: the reference and the known mistakes."""

import torch

from attnkit.torch import additive_scores, attend

from ..model import Mistake


class AdditiveAttention(torch.nn.Module):
    """The module as it should be, from the library's functions."""

    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.zeros(d_query, d_attention))
        self.w_key = torch.nn.Parameter(torch.zeros(d_key, d_attention))
        self.v = torch.nn.Parameter(torch.zeros(d_attention))

    def forward(self, query, key, value, mask):
        """Return the context (B, m, d_v)."""
        scores = additive_scores(query, key, self.w_query, self.w_key, self.v)
        return attend(scores, value, mask)


class PlainTensors(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.randn(d_query, d_attention)
        self.w_key = torch.randn(d_key, d_attention)
        self.v = torch.randn(d_attention)

    def forward(self, query, key, value, mask):
        hidden = (query @ self.w_query)[:, :, None, :] + (key @ self.w_key)[:, None, :, :]
        scores = (torch.tanh(hidden) @ self.v).masked_fill(~mask, -1e9)
        return scores.softmax(dim=-1).masked_fill(~mask, 0.0) @ value


class LinearLayers(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Linear(d_query, d_attention, bias=False)
        self.w_key = torch.nn.Linear(d_key, d_attention, bias=False)
        self.v = torch.nn.Linear(d_attention, 1, bias=False)

    def forward(self, query, key, value, mask):
        hidden = self.w_query(query)[:, :, None, :] + self.w_key(key)[:, None, :, :]
        scores = self.v(torch.tanh(hidden)).squeeze(-1).masked_fill(~mask, -1e9)
        return scores.softmax(dim=-1).masked_fill(~mask, 0.0) @ value


class Transposed(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_attention, d_query))
        self.w_key = torch.nn.Parameter(torch.randn(d_attention, d_key))
        self.v = torch.nn.Parameter(torch.randn(d_attention))

    def forward(self, query, key, value, mask):
        hidden = (query @ self.w_query.T)[:, :, None, :] + (key @ self.w_key.T)[:, None, :, :]
        scores = (torch.tanh(hidden) @ self.v).masked_fill(~mask, -1e9)
        return scores.softmax(dim=-1).masked_fill(~mask, 0.0) @ value


class SuperForgotten(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        self.w_query = torch.nn.Parameter(torch.randn(d_query, d_attention))
        self.w_key = torch.nn.Parameter(torch.randn(d_key, d_attention))
        self.v = torch.nn.Parameter(torch.randn(d_attention))

    def forward(self, query, key, value, mask):
        hidden = (query @ self.w_query)[:, :, None, :] + (key @ self.w_key)[:, None, :, :]
        scores = (torch.tanh(hidden) @ self.v).masked_fill(~mask, -1e9)
        return scores.softmax(dim=-1).masked_fill(~mask, 0.0) @ value


class TanhForgotten(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_query, d_attention))
        self.w_key = torch.nn.Parameter(torch.randn(d_key, d_attention))
        self.v = torch.nn.Parameter(torch.randn(d_attention))

    def forward(self, query, key, value, mask):
        hidden = (query @ self.w_query)[:, :, None, :] + (key @ self.w_key)[:, None, :, :]
        scores = (hidden @ self.v).masked_fill(~mask, -1e9)
        return scores.softmax(dim=-1).masked_fill(~mask, 0.0) @ value


class QueriesCompete(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_query, d_attention))
        self.w_key = torch.nn.Parameter(torch.randn(d_key, d_attention))
        self.v = torch.nn.Parameter(torch.randn(d_attention))

    def forward(self, query, key, value, mask):
        hidden = (query @ self.w_query)[:, :, None, :] + (key @ self.w_key)[:, None, :, :]
        scores = (torch.tanh(hidden) @ self.v).masked_fill(~mask, -1e9)
        return scores.softmax(dim=1).masked_fill(~mask, 0.0) @ value


class MaskIgnored(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_query, d_attention))
        self.w_key = torch.nn.Parameter(torch.randn(d_key, d_attention))
        self.v = torch.nn.Parameter(torch.randn(d_attention))

    def forward(self, query, key, value, mask):
        hidden = (query @ self.w_query)[:, :, None, :] + (key @ self.w_key)[:, None, :, :]
        return (torch.tanh(hidden) @ self.v).softmax(dim=-1) @ value


class MaskTurnedRound(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_query, d_attention))
        self.w_key = torch.nn.Parameter(torch.randn(d_key, d_attention))
        self.v = torch.nn.Parameter(torch.randn(d_attention))

    def forward(self, query, key, value, mask):
        hidden = (query @ self.w_query)[:, :, None, :] + (key @ self.w_key)[:, None, :, :]
        scores = (torch.tanh(hidden) @ self.v).masked_fill(mask, -1e9)
        return scores.softmax(dim=-1).masked_fill(mask, 0.0) @ value


class LargeNegativeScore(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_query, d_attention))
        self.w_key = torch.nn.Parameter(torch.randn(d_key, d_attention))
        self.v = torch.nn.Parameter(torch.randn(d_attention))

    def forward(self, query, key, value, mask):
        hidden = (query @ self.w_query)[:, :, None, :] + (key @ self.w_key)[:, None, :, :]
        scores = (torch.tanh(hidden) @ self.v).masked_fill(~mask, -1e9)
        return scores.softmax(dim=-1) @ value


class EmptyRowsAreNaN(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_query, d_attention))
        self.w_key = torch.nn.Parameter(torch.randn(d_key, d_attention))
        self.v = torch.nn.Parameter(torch.randn(d_attention))

    def forward(self, query, key, value, mask):
        hidden = (query @ self.w_query)[:, :, None, :] + (key @ self.w_key)[:, None, :, :]
        scores = (torch.tanh(hidden) @ self.v).masked_fill(~mask, float("-inf"))
        return scores.softmax(dim=-1) @ value


class NaNPaintedOver(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_query, d_attention))
        self.w_key = torch.nn.Parameter(torch.randn(d_key, d_attention))
        self.v = torch.nn.Parameter(torch.randn(d_attention))

    def forward(self, query, key, value, mask):
        hidden = (query @ self.w_query)[:, :, None, :] + (key @ self.w_key)[:, None, :, :]
        scores = torch.tanh(hidden) @ self.v + torch.where(mask, 0.0, float("-inf"))
        return torch.nan_to_num(scores.softmax(dim=-1)) @ value


class GradientCutOff(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_query, d_attention))
        self.w_key = torch.nn.Parameter(torch.randn(d_key, d_attention))
        self.v = torch.nn.Parameter(torch.randn(d_attention))

    def forward(self, query, key, value, mask):
        hidden = (query @ self.w_query)[:, :, None, :] + (key @ self.w_key)[:, None, :, :]
        scores = (torch.tanh(hidden) @ self.v).masked_fill(~mask, -1e9)
        return scores.softmax(dim=-1).masked_fill(~mask, 0.0).detach() @ value


class PairReturned(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_query, d_attention))
        self.w_key = torch.nn.Parameter(torch.randn(d_key, d_attention))
        self.v = torch.nn.Parameter(torch.randn(d_attention))

    def forward(self, query, key, value, mask):
        hidden = (query @ self.w_query)[:, :, None, :] + (key @ self.w_key)[:, None, :, :]
        scores = (torch.tanh(hidden) @ self.v).masked_fill(~mask, -1e9)
        weights = scores.softmax(dim=-1).masked_fill(~mask, 0.0)
        return weights @ value, weights


class WeightsReturned(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_query, d_attention))
        self.w_key = torch.nn.Parameter(torch.randn(d_key, d_attention))
        self.v = torch.nn.Parameter(torch.randn(d_attention))

    def forward(self, query, key, value, mask):
        hidden = (query @ self.w_query)[:, :, None, :] + (key @ self.w_key)[:, None, :, :]
        scores = (torch.tanh(hidden) @ self.v).masked_fill(~mask, -1e9)
        return scores.softmax(dim=-1).masked_fill(~mask, 0.0)


class LinearLayersWithBiases(torch.nn.Module):
    def __init__(self, d_query, d_key, d_attention):
        super().__init__()
        self.w_query = torch.nn.Linear(d_query, d_attention)
        self.w_key = torch.nn.Linear(d_key, d_attention)
        self.v = torch.nn.Linear(d_attention, 1)

    def forward(self, query, key, value, mask):
        hidden = self.w_query(query)[:, :, None, :] + self.w_key(key)[:, None, :, :]
        scores = self.v(torch.tanh(hidden)).squeeze(-1).masked_fill(~mask, -1e9)
        return scores.softmax(dim=-1).masked_fill(~mask, 0.0) @ value


MISTAKES = (
    Mistake(
        "tensors that are no parameters",
        PlainTensors,
        "torch does not know these tensors: they are neither saved nor trained, and an optimiser "
        "never sees them. Wrap each in torch.nn.Parameter.",
    ),
    Mistake(
        "layers in place of parameters",
        LinearLayers,
        "With torch.nn.Linear the parameters are called w_query.weight and so on, and are stored "
        "transposed. Here w_query, w_key and v are themselves torch.nn.Parameter.",
    ),
    Mistake(
        "parameters transposed",
        Transposed,
        "The matrices lie the wrong way round. In this course weights multiply from the right, "
        "x @ w, so w_query has d_query rows and d_attention columns.",
    ),
    Mistake(
        "super().__init__() forgotten",
        SuperForgotten,
        "A module must be prepared before it can hold parameters: super().__init__() is the first "
        "line of __init__.",
    ),
    Mistake(
        "tanh forgotten",
        TanhForgotten,
        "Without the tanh the query adds the same number to all its scores, and softmax removes "
        "it: its gradient is zero, so it can never learn to ask.",
    ),
    Mistake(
        "queries compete",
        QueriesCompete,
        "Softmax went over the queries. Each query spreads its own weight over the keys: the last "
        "axis, dim=-1.",
    ),
    Mistake(
        "the mask ignored",
        MaskIgnored,
        "Masked positions get weight: the mask is never used. They must not take part in the softmax.",
    ),
    Mistake(
        "the mask turned round",
        MaskTurnedRound,
        "masked_fill fills where its mask is True, and here True means *may be looked at*. Fill "
        "where it is not: ~mask.",
    ),
    Mistake(
        "a large negative score",
        LargeNegativeScore,
        "A large negative score works until every position is masked: then all scores are equal "
        "again and padding shares the weight. Fill the masked weights with 0 after the softmax.",
    ),
    Mistake(
        "NaN where nothing may be looked at",
        EmptyRowsAreNaN,
        "A softmax over nothing but -inf is NaN. Such a row must get weights of 0: fill with a "
        "large finite number before the softmax and with 0 after it.",
    ),
    Mistake(
        "NaN painted over",
        NaNPaintedOver,
        "nan_to_num repairs what comes out, but not the gradient: on the way back torch still meets "
        "the NaN inside the softmax, and a sum with -inf passes it on to every parameter. Replace "
        "masked scores instead of adding to them, by a large finite number.",
    ),
    Mistake(
        "the gradient cut off",
        GradientCutOff,
        "The context is right, but detach() (or .data, or torch.no_grad) cuts the weights off from "
        "the parameters: their gradients are zero, and nothing is ever learnt.",
    ),
    Mistake(
        "context and weights returned",
        PairReturned,
        "Both context and weights came back. The context alone is asked for; whoever calls this "
        "would take the pair for one tensor.",
    ),
    Mistake(
        "weights returned",
        WeightsReturned,
        "These are the weights. One step is missing: their product with the values.",
    ),
    Mistake(
        "layers with biases in place of parameters",
        LinearLayersWithBiases,
        "With torch.nn.Linear the parameters are called w_query.weight and so on, are stored "
        "transposed, and each layer adds a bias that the formula lacks. The exercise asks for three "
        "parameters under the given names: torch.nn.Parameter(torch.empty(…)).",
    ),
)
