"""The torch half of 06.self_attention_module: the known mistakes."""

import torch

from ..model import Mistake


class PlainTensors(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.randn(d_model, d_k)
        self.w_key = torch.randn(d_model, d_k)
        self.w_value = torch.randn(d_model, d_v)

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        return scores.masked_fill(~mask, -1e9).softmax(dim=-1).masked_fill(~mask, 0.0) @ value


class LinearLayers(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Linear(d_model, d_k, bias=False)
        self.w_key = torch.nn.Linear(d_model, d_k, bias=False)
        self.w_value = torch.nn.Linear(d_model, d_v, bias=False)

    def forward(self, x, mask):
        query, key, value = self.w_query(x), self.w_key(x), self.w_value(x)
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        return scores.masked_fill(~mask, -1e9).softmax(dim=-1).masked_fill(~mask, 0.0) @ value


class SuperForgotten(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        return scores.masked_fill(~mask, -1e9).softmax(dim=-1).masked_fill(~mask, 0.0) @ value


class MadeInForward(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.d_model, self.d_k, self.d_v = d_model, d_k, d_v

    def forward(self, x, mask):
        w_query = torch.nn.Parameter(torch.randn(self.d_model, self.d_k))
        w_key = torch.nn.Parameter(torch.randn(self.d_model, self.d_k))
        w_value = torch.nn.Parameter(torch.randn(self.d_model, self.d_v))
        query, key, value = x @ w_query, x @ w_key, x @ w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        return scores.masked_fill(~mask, -1e9).softmax(dim=-1).masked_fill(~mask, 0.0) @ value


class ScaleForgotten(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2)
        return scores.masked_fill(~mask, -1e9).softmax(dim=-1).masked_fill(~mask, 0.0) @ value


class RootOfTheModelWidth(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / x.shape[-1] ** 0.5
        return scores.masked_fill(~mask, -1e9).softmax(dim=-1).masked_fill(~mask, 0.0) @ value


class QueriesCompete(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        return scores.masked_fill(~mask, -1e9).softmax(dim=1).masked_fill(~mask, 0.0) @ value


class MaskIgnored(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        return scores.softmax(dim=-1) @ value


class MaskTurnedRound(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        return scores.masked_fill(mask, -1e9).softmax(dim=-1).masked_fill(mask, 0.0) @ value


class MaskAdded(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        return (scores + mask).softmax(dim=-1) @ value


class HiddenAfterSoftmax(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        return scores.softmax(dim=-1).masked_fill(~mask, 0.0) @ value


class LargeNegativeScore(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        return scores.masked_fill(~mask, -1e9).softmax(dim=-1) @ value


class EmptyRowsAreNaN(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        return scores.masked_fill(~mask, float("-inf")).softmax(dim=-1) @ value


class NaNPaintedOver(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        scores = scores + torch.where(mask, 0.0, float("-inf"))
        return torch.nan_to_num(scores.softmax(dim=-1)) @ value


class GradientCutOff(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        weights = scores.masked_fill(~mask, -1e9).softmax(dim=-1)
        return weights.masked_fill(~mask, 0.0).detach() @ value


class KeysNotProjected(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_query, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        return scores.masked_fill(~mask, -1e9).softmax(dim=-1).masked_fill(~mask, 0.0) @ value


class PairReturned(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask):
        query, key, value = x @ self.w_query, x @ self.w_key, x @ self.w_value
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        weights = scores.masked_fill(~mask, -1e9).softmax(dim=-1).masked_fill(~mask, 0.0)
        return weights @ value, weights


class LinearLayersWithBiases(torch.nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Linear(d_model, d_k)
        self.w_key = torch.nn.Linear(d_model, d_k)
        self.w_value = torch.nn.Linear(d_model, d_v)

    def forward(self, x, mask):
        query, key, value = self.w_query(x), self.w_key(x), self.w_value(x)
        scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        weights = scores.masked_fill(~mask, -1e9).softmax(dim=-1)
        return weights.masked_fill(~mask, 0.0) @ value


MISTAKES = (
    Mistake(
        "tensors that are no parameters",
        PlainTensors,
        "torch does not know these tensors: they are neither saved nor trained, and an optimiser "
        "never sees them. Wrap each in torch.nn.Parameter, once, in __init__. (Parameters that are "
        "made in forward are no better: they are new at every call, and nothing is ever learnt.)",
    ),
    Mistake(
        "layers in place of parameters",
        LinearLayers,
        "With torch.nn.Linear the parameters are called w_query.weight and so on, and are stored "
        "transposed. Here w_query, w_key and w_value are themselves torch.nn.Parameter.",
    ),
    Mistake(
        "super().__init__() forgotten",
        SuperForgotten,
        "A module must be prepared before it can hold parameters: super().__init__() is the first "
        "line of __init__.",
    ),
    Mistake(
        "parameters made in forward",
        MadeInForward,
        "The matrices are made anew at every call.",
        same_as="tensors that are no parameters",
    ),
    Mistake(
        "the scale forgotten",
        ScaleForgotten,
        "The scores are not scaled: divide by the square root of d_k, the width of queries and keys.",
    ),
    Mistake(
        "the root of the model width",
        RootOfTheModelWidth,
        "You divide by the square root of d_model. A score is a sum over the components of query "
        "and key, and these have width d_k.",
    ),
    Mistake(
        "one projection twice",
        KeysNotProjected,
        "Query and key come from the same matrix; w_key is never used and its gradient is zero.",
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
        "Without a mask all is well, but hidden words get weight: the mask is never used.",
    ),
    Mistake(
        "the mask turned round",
        MaskTurnedRound,
        "masked_fill fills where its mask is True, and here True means *may be looked at*. Fill "
        "where it is not: ~mask.",
    ),
    Mistake(
        "the mask added",
        MaskAdded,
        "The boolean mask was added as 0 and 1, so hidden words score one less than others: they are "
        "a little less likely and far from hidden. Replace their scores.",
    ),
    Mistake(
        "hidden after the softmax",
        HiddenAfterSoftmax,
        "Hidden weights were set to 0 after the softmax only. They have already taken their share, "
        "so the rest sums to less than one: hide the scores before the softmax as well.",
    ),
    Mistake(
        "a large negative score",
        LargeNegativeScore,
        "A large negative score works until everything is hidden: then all scores are equal again "
        "and hidden words share the weight. Fill the hidden weights with 0 after the softmax.",
    ),
    Mistake(
        "NaN where nothing may be looked at",
        EmptyRowsAreNaN,
        "A softmax over nothing but -inf is NaN, and so is every gradient it touches. Fill with a "
        "large finite number before the softmax and with 0 after it.",
    ),
    Mistake(
        "NaN painted over",
        NaNPaintedOver,
        "nan_to_num repairs what comes out, but not the gradient: on the way back torch still meets "
        "the NaN inside the softmax and passes it on to every parameter, so one empty row in a batch "
        "ends the training. Fill with a finite number, so that no NaN ever arises.",
    ),
    Mistake(
        "the gradient cut off",
        GradientCutOff,
        "The output is right, but detach() (or .data, or torch.no_grad) cuts the weights off from "
        "the parameters: w_query and w_key get no gradient and never learn.",
    ),
    Mistake(
        "output and weights returned",
        PairReturned,
        "Both came back. The output alone is asked for; whoever calls this would take the pair for "
        "one tensor.",
    ),
    Mistake(
        "layers with biases in place of parameters",
        LinearLayersWithBiases,
        "With torch.nn.Linear the parameters are called w_query.weight and so on, are stored "
        "transposed, and each layer adds a bias that the formula lacks. The exercise asks for three "
        "parameters under the given names: torch.nn.Parameter(torch.empty(…)).",
    ),
)
