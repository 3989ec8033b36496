"""The torch half of 10.cached_self_attention: the reference and the known mistakes."""

import torch

from attnkit.torch import scaled_dot_product_attention

from ..model import Mistake


class CachedSelfAttention(torch.nn.Module):
    """The module as it should be, from the library's attention."""

    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.zeros(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.zeros(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.zeros(d_model, d_v))
        for name, width in (("key_room", d_k), ("value_room", d_v)):
            self.register_buffer(name, torch.zeros(batch, capacity, width))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        """Return the output (B, m, d_v) and keep the keys and values."""
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        return scaled_dot_product_attention(x @ self.w_query, key, value, causal=True)


class RoomsArePlainTensors(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.key_room = torch.zeros(batch, capacity, d_k)
        self.value_room = torch.zeros(batch, capacity, d_v)
        self.length = torch.tensor(0)

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class RoomsAreParameters(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.key_room = torch.nn.Parameter(torch.zeros(batch, capacity, d_k))
        self.value_room = torch.nn.Parameter(torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class SuperForgotten(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class LinearLayers(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Linear(d_model, d_k, bias=False)
        self.w_key = torch.nn.Linear(d_model, d_k, bias=False)
        self.w_value = torch.nn.Linear(d_model, d_v, bias=False)
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = self.w_key(x)
        self.value_room[:, length:end] = self.w_value(x)
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = self.w_query(x) @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class WholeRoomRead(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room, self.value_room
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(key.shape[1]) >= key.shape[1]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class WrongCorner(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class NoMask(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        return scores.softmax(dim=-1) @ value


class NotAtItself(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length - 1 + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -1e9).softmax(dim=-1) @ value


class CacheIgnored(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        key, value = x @ self.w_key, x @ self.w_value
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(x.shape[1]) > torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class AlwaysFromTheFront(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, : x.shape[1]] = x @ self.w_key
        self.value_room[:, : x.shape[1]] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class NewTokensNotWritten(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class ScaleForgotten(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2)
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class RootOfTheModelWidth(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / x.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class OneProjectionTwice(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_query
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class StoredWithoutGradient(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = (x @ self.w_key).detach()
        self.value_room[:, length:end] = (x @ self.w_value).detach()
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class WrittenThroughData(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        with torch.no_grad():
            self.key_room[:, length:end] = x @ self.w_key
            self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class PairReturned(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        output = scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value
        return output, end


class NothingKept(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        key = torch.cat([self.key_room[:, :length], x @ self.w_key], dim=1)
        value = torch.cat([self.value_room[:, :length], x @ self.w_value], dim=1)
        self.length.fill_(end)
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class LengthNotMoved(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class LengthCountsTheNewAlone(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(x.shape[1])
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


class ZeroForTheHidden(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.register_buffer("length", torch.tensor(0))

    def forward(self, x):
        length = int(self.length)
        end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        self.length.fill_(end)
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, 0.0).softmax(dim=-1) @ value


class LengthIsAPlainNumber(torch.nn.Module):
    def __init__(self, batch, capacity, d_model, d_k, d_v):
        super().__init__()
        self.w_query = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_key = torch.nn.Parameter(torch.randn(d_model, d_k))
        self.w_value = torch.nn.Parameter(torch.randn(d_model, d_v))
        self.register_buffer("key_room", torch.zeros(batch, capacity, d_k))
        self.register_buffer("value_room", torch.zeros(batch, capacity, d_v))
        self.length = 0

    def forward(self, x):
        length = self.length
        self.length = end = length + x.shape[1]
        self.key_room[:, length:end] = x @ self.w_key
        self.value_room[:, length:end] = x @ self.w_value
        key, value = self.key_room[:, :end], self.value_room[:, :end]
        scores = x @ self.w_query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
        future = torch.arange(end) > length + torch.arange(x.shape[1])[:, None]
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value


MISTAKES = (
    Mistake(
        "rooms that are plain tensors",
        RoomsArePlainTensors,
        "torch does not know these tensors: they are neither saved with the module nor moved with "
        "it to another device or dtype. self.register_buffer makes them part of its state.",
    ),
    Mistake(
        "rooms that are parameters",
        RoomsAreParameters,
        "A parameter is something to be trained, and torch does not let you write into one that "
        "waits for a gradient. What is only kept is a buffer: self.register_buffer.",
    ),
    Mistake(
        "super().__init__() forgotten",
        SuperForgotten,
        "A module must be prepared before it can hold parameters: super().__init__() is the first "
        "line of __init__.",
    ),
    Mistake(
        "layers in place of parameters",
        LinearLayers,
        "With torch.nn.Linear the parameters are called w_query.weight and so on, and are stored "
        "transposed. Here w_query, w_key and w_value are themselves torch.nn.Parameter.",
    ),
    Mistake(
        "the whole room read",
        WholeRoomRead,
        "You attend to the whole room. Behind the stored rows stands whatever an earlier text has "
        "left there: read the first rows only, as many as are stored now.",
    ),
    Mistake(
        "the mask in the wrong corner",
        WrongCorner,
        "Your first query stands at the very first key. The new tokens are the last ones: query i "
        "stands at position length + i and sees everything up to there.",
    ),
    Mistake(
        "no mask",
        NoMask,
        "One new token may see everything. Of several the first must not see the second.",
    ),
    Mistake(
        "no look at itself",
        NotAtItself,
        "Each query sees what came before it and not its own position, length + i.",
    ),
    Mistake(
        "the cache ignored",
        CacheIgnored,
        "The new tokens see each other and nothing else. Write their keys and values into the rooms, "
        "then attend to all rows that are stored.",
    ),
    Mistake(
        "always from the front",
        AlwaysFromTheFront,
        "You write at the front of the rooms, over what is stored. The first free place is length.",
    ),
    Mistake(
        "new tokens not written",
        NewTokensNotWritten,
        "You read rows that were never written: the keys and values of the new tokens must stand in "
        "the rooms before you attend to them.",
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
        OneProjectionTwice,
        "The stored keys come from w_query; w_key is never used.",
    ),
    Mistake(
        "stored without a gradient",
        StoredWithoutGradient,
        "The output is right, but detach() (or .data, or torch.no_grad) cuts the new keys and values "
        "off from the parameters: w_key and w_value get no gradient. When only decoding, that is what "
        "one wants; a module must leave it to its caller.",
    ),
    Mistake(
        "written without a gradient",
        WrittenThroughData,
        "Written under torch.no_grad, keys and values have no gradient.",
        same_as="stored without a gradient",
    ),
    Mistake(
        "output and length returned",
        PairReturned,
        "Two things came back. The output alone is asked for; the length is kept in the module.",
    ),
    Mistake(
        "nothing kept for the next call",
        NothingKept,
        "Each call by itself is right: it reads the rooms and joins the new rows behind. But it never "
        "writes them into the rooms, so the next call finds nothing of them.",
    ),
    Mistake(
        "the length not moved",
        LengthNotMoved,
        "The new rows are written, and then length stays as it was: the next call writes over them. "
        "At the end, length is to be the number of rows that are stored by then.",
    ),
    Mistake(
        "the length of the last call",
        LengthCountsTheNewAlone,
        "length holds how many tokens came in *this* call. It counts all rows that are stored: the "
        "old ones and the new.",
    ),
    Mistake(
        "a score of 0 for the hidden",
        ZeroForTheHidden,
        "What a query may not see got the score 0, and exp(0) is 1: a weight like others. The score "
        "that gets no weight is -infinity.",
    ),
    Mistake(
        "a length that is a plain number",
        LengthIsAPlainNumber,
        "As a plain number of Python the length is neither saved nor loaded with the module, while "
        "the rooms are. Register torch.tensor(0) as a buffer, read it with int(self.length), and "
        "change it with self.length.fill_(…).",
    ),
)
