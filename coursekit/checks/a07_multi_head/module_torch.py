"""The torch half of 07.multi_head_module: the reference and the known mistakes."""

import torch

from attnkit.torch import multi_head_attention

from ..model import Mistake


class MultiHeadAttention(torch.nn.Module):
    """The module as it should be, from the library's attention, with torch's names and layout."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.zeros(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        """Return the output (B, m, d_model)."""
        parameters = {"w_output": self.out_proj.weight.T, "b_output": self.out_proj.bias}
        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        for name, weight, bias in zip(("query", "key", "value"), weights, biases, strict=True):
            parameters |= {f"w_{name}": weight.T, f"b_{name}": bias}
        return multi_head_attention(
            query, key, mask=mask, parameters=parameters, n_heads=self.n_heads
        )


class NotTransposed(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class KeysFirst(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        weights, biases = [weights[i] for i in (1, 0, 2)], [biases[i] for i in (1, 0, 2)]
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class BlocksOfEachHead(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights = self.in_proj_weight.unflatten(0, (self.n_heads, 3, -1)).unbind(1)
        weights = [weight.flatten(0, 1) for weight in weights]
        biases = self.in_proj_bias.unflatten(0, (self.n_heads, 3, -1)).unbind(1)
        biases = [bias.flatten() for bias in biases]
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class BiasForgotten(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight):
            return (x @ weight.T).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        q, k, v = map(heads, (query, key, key), self.in_proj_weight.chunk(3))
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class MergedByReshape(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).reshape(query.shape))


class SplitByReshape(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).reshape(len(x), self.n_heads, x.shape[1], -1)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class BothByReshape(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).reshape(len(x), self.n_heads, x.shape[1], -1)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).reshape(query.shape))


class ScaleForgotten(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2), ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class RootOfTheModelWidth(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / query.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class MaskIgnored(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        looks = scores.softmax(dim=-1)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class MaskTurnedRound(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class MaskMeetsTheHeads(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class EmptyRowsAreNaN(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class NaNPaintedOver(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        scores = scores + torch.where(hidden, float("-inf"), 0.0)
        looks = torch.nan_to_num(scores.softmax(dim=-1))
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class LargeNegativeScore(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class OutputForgotten(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return (looks @ v).transpose(1, 2).flatten(2)


class OtherNames(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.query = torch.nn.Linear(d_model, d_model)
        self.key = torch.nn.Linear(d_model, d_model)
        self.value = torch.nn.Linear(d_model, d_model)
        self.output = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x):
            return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        q, k, v = heads(self.query(query)), heads(self.key(key)), heads(self.value(key))
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.output((looks @ v).transpose(1, 2).flatten(2))


class KeysIgnored(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, query, query), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class HeadsCompete(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class GradientCutOff(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks.detach() @ v).transpose(1, 2).flatten(2))


class PairReturned(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2)), looks


class OutputNotTransposed(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        merged = (looks @ v).transpose(1, 2).flatten(2)
        return merged @ self.out_proj.weight + self.out_proj.bias


class ScoresHiddenByZero(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, 0.0).softmax(dim=-1)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class MaskAfterSoftmax(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class InFirst(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(d_model, 3 * d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3, dim=1), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class OneLinearLayer(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj = torch.nn.Linear(d_model, 3 * d_model)
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, part):
            y = self.in_proj(x).chunk(3, dim=-1)[part]
            return y.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        q, k, v = heads(query, 0), heads(key, 1), heads(key, 2)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


class ZeroBeforeAndAfter(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj_weight = torch.nn.Parameter(torch.randn(3 * d_model, d_model))
        self.in_proj_bias = torch.nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, mask):
        def heads(x, weight, bias):
            return (x @ weight.T + bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = map(heads, (query, key, key), weights, biases)
        scores, hidden = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, ~mask[:, None]
        looks = scores.masked_fill(hidden, 0.0).softmax(dim=-1).masked_fill(hidden, 0.0)
        return self.out_proj((looks @ v).transpose(1, 2).flatten(2))


MISTAKES = (
    Mistake(
        "not transposed",
        NotTransposed,
        "torch's weights are stored as (out, in), so words multiply their *transpose*: x @ "
        "weight.T. The blocks are square, so no shape warns you.",
    ),
    Mistake(
        "keys before queries",
        KeysFirst,
        "The three blocks are those of query, key and value, in this order. You took the first for "
        "the keys.",
    ),
    Mistake(
        "query, key and value head by head",
        BlocksOfEachHead,
        "You read the rows head by head: query, key and value of the first head, then of the "
        "second. Some models are stored so; torch's has all queries first, then all keys, then all "
        "values.",
    ),
    Mistake(
        "the bias forgotten",
        BiasForgotten,
        "in_proj_bias is loaded and never used. Each of the three projections adds its third of it.",
    ),
    Mistake(
        "merged by a plain reshape",
        MergedByReshape,
        "The heads were merged with a plain reshape, so rows hold several words of one head. Let "
        "heads and length change places before you flatten.",
    ),
    Mistake(
        "split by a plain reshape",
        SplitByReshape,
        "The width was split with a plain reshape straight to (B, H, length, d_head): whole words "
        "went to the first head. Cut the last axis in two, then let heads and length change places.",
    ),
    Mistake(
        "split and merged by a plain reshape",
        BothByReshape,
        "Split and merge undo each other, but both are plain reshapes: between them a head holds "
        "whole words in place of its columns of every word. Heads and length must change places, "
        "after the cut and before the merge.",
    ),
    Mistake(
        "the scale forgotten",
        ScaleForgotten,
        "The scores are not scaled: divide by the square root of d_head.",
    ),
    Mistake(
        "the root of the model width",
        RootOfTheModelWidth,
        "You divide by the square root of d_model. A score of a head is a sum over d_head "
        "components.",
    ),
    Mistake(
        "the mask ignored",
        MaskIgnored,
        "Hidden keys get weight: the mask is never used.",
    ),
    Mistake(
        "the mask turned round",
        MaskTurnedRound,
        "You hide what may be looked at. torch's own module means the opposite by True; here True "
        "means *may look*.",
    ),
    Mistake(
        "the mask meets the heads",
        MaskMeetsTheHeads,
        "The scores are (B, H, m, n) and the mask is (B, 1 or m, n): its first axis is lined up "
        "with the heads. With as many sentences as heads nobody notices. The mask needs an axis of "
        "size 1 for the heads.",
    ),
    Mistake(
        "NaN where nothing may be looked at",
        EmptyRowsAreNaN,
        "A row in which everything is -inf gives NaN after the softmax. Such a query finds nothing: "
        "weights of 0, so that its output is out_proj.bias.",
    ),
    Mistake(
        "NaN painted over",
        NaNPaintedOver,
        "The output is right, but the gradient is not: nan_to_num replaces NaN on the way forward, "
        "and on the way back softmax makes it again. Hide scores by a finite number, so that no NaN "
        "arises at all.",
    ),
    Mistake(
        "equal weights where nothing may be looked at",
        LargeNegativeScore,
        "When all scores of a row are -1e9 they are equal again, and the hidden keys share the "
        "weight. Set the weights of hidden keys to 0 after the softmax.",
    ),
    Mistake(
        "the output projection forgotten",
        OutputForgotten,
        "out_proj is loaded and never used. It is the last step: it mixes what the heads have "
        "found.",
    ),
    Mistake(
        "other names",
        OtherNames,
        "Whoever loads parameters finds them by name. torch calls them in_proj_weight, "
        "in_proj_bias, out_proj.weight and out_proj.bias, and the first two hold query, key and "
        "value together.",
    ),
    Mistake(
        "keys and values made of the queries",
        KeysIgnored,
        "Keys and values are made of `key`. This is self-attention, whatever is handed in.",
    ),
    Mistake(
        "heads compete",
        HeadsCompete,
        "Softmax went over axis 1, the heads. Each head spreads its own weight over the keys, the "
        "last axis.",
    ),
    Mistake(
        "the gradient cut off",
        GradientCutOff,
        "The output is right, but detach() (or .data, or torch.no_grad) cuts the weights off from "
        "the parameters: queries and keys get no gradient and never learn.",
    ),
    Mistake(
        "output and weights returned",
        PairReturned,
        "Both came back, as from torch's own module. The output alone is asked for.",
    ),
    Mistake(
        "the output not transposed",
        OutputNotTransposed,
        "torch's weights are stored as (out, in): multiply with out_proj.weight.T, or just call "
        "self.out_proj.",
    ),
    Mistake(
        "hidden scores set to zero",
        ScoresHiddenByZero,
        "A score of 0 is an ordinary score, and its exponential takes a share of 1. Hide scores by a "
        "large negative number before the softmax, and set the weights to 0 after it.",
    ),
    Mistake(
        "the mask after the softmax only",
        MaskAfterSoftmax,
        "Hidden keys have taken their share before you set them to 0, so a row sums to less than one. "
        "Hide the scores before the softmax as well.",
    ),
    Mistake(
        "in_proj_weight lying on its side",
        InFirst,
        "in_proj_weight is (3 * d_model, d_model): a row for each column that comes out, as torch keeps "
        "all its weights.",
    ),
    Mistake(
        "one linear layer for the three projections",
        OneLinearLayer,
        "With torch.nn.Linear the names are in_proj.weight and in_proj.bias. torch's own module has them "
        "with an underscore, in_proj_weight and in_proj_bias: two torch.nn.Parameter.",
    ),
    Mistake(
        "zero before and after the softmax",
        ZeroBeforeAndAfter,
        "The weights of hidden keys are 0, but their scores of 0 have taken a share of 1 each in the sum, "
        "so a row sums to less than one. Hide scores by a large negative number.",
    ),
)
