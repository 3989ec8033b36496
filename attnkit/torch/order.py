"""The order tasks and a small causal model together: how chapter 8 compares schemes of positions."""

import numpy as np
import torch
from torch import nn

from attnkit.tasks.order import N_SYMBOLS, N_TOKENS, draw_order

from ..errors import check_choice, check_size, check_sizes
from ._examples import placed, tensors
from .positions import (
    AlibiPositions,
    LearnedPositions,
    RotaryPositions,
    ShawPositions,
    T5Positions,
    sinusoidal_positions,
)
from .training import fit_on_draws
from .transformer import EncoderLayer, LayerNorm

__all__ = ["SCHEMES", "OrderReader", "score_order", "train_order"]

SCHEMES = ("none", "sinusoidal", "learned", "shaw", "t5", "alibi", "rotary")


class OrderReader(nn.Module):
    """A causal model of one or more layers in which only the scheme of positions differs.

    Parameters
    ----------
    scheme : {"none", "sinusoidal", "learned", "shaw", "t5", "alibi", "rotary"}
        How it is told where tokens stand.
    d_model, n_heads, n_layers : int
        Width, heads, layers. The hidden layer of the feed-forward network is twice as wide.
    trained_length : int
        The longest sequence of the training. Shaw's tables clip at half of it, T5's buckets end
        with it, so that a longer distance meets a row that was trained.
    longest : int
        Rows of the table of learned positions; those beyond trained_length are never trained.

    Raises
    ------
    ValueError
        When scheme is another word, a size is below one or sizes do not divide.
    TypeError
        When a size is not a whole number.

    Examples
    --------
    >>> OrderReader("rotary")(torch.zeros(2, 5, dtype=torch.long)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(
        self, scheme, *, d_model=32, n_heads=4, n_layers=1, trained_length=16, longest=128
    ):
        super().__init__()
        check_choice("scheme", scheme, SCHEMES)
        d_model, n_heads = check_sizes(d_model=d_model, n_heads=n_heads)
        n_layers = check_size("n_layers", n_layers, 1)
        trained_length, longest = check_sizes(trained_length=trained_length, longest=longest)
        self.scheme = scheme
        self.embedding = nn.Embedding(N_TOKENS, d_model)
        if scheme == "learned":
            self.learned = LearnedPositions(longest, d_model)

        def positions():  # each layer has its own
            if scheme == "shaw":
                return ShawPositions(d_model // n_heads, trained_length // 2, values=False)
            if scheme == "t5":
                return T5Positions(n_heads, 16, trained_length, bidirectional=False)
            if scheme == "alibi":
                return AlibiPositions(n_heads)
            return RotaryPositions() if scheme == "rotary" else None

        self.layers = nn.ModuleList(
            EncoderLayer(d_model, n_heads, 2 * d_model, norm="pre", positions=positions())
            for _ in range(n_layers)
        )
        self.norm = LayerNorm(d_model)
        self.output = nn.Linear(d_model, N_SYMBOLS)

    def forward(self, tokens, *, return_weights=False):
        """Score the symbols at each position, from the tokens up to it.

        Parameters
        ----------
        tokens : torch.Tensor of int, shape (N, T)
            Sequences.
        return_weights : bool
            Return the weights of each layer too.

        Returns
        -------
        logits : torch.Tensor, shape (N, T, 8)
        weights : torch.Tensor, shape (N, n_layers, n_heads, T, T)
            Only with ``return_weights=True``.
        """
        x = self.embedding(tokens)  # (N, T, d_model)
        if self.scheme == "sinusoidal":
            x = x + sinusoidal_positions(*x.shape[1:], dtype=x.dtype, device=x.device)
        elif self.scheme == "learned":
            x = self.learned(x)
        looks = []
        for layer in self.layers:
            if return_weights:
                x, weights = layer(x, causal=True, return_weights=True)
                looks.append(weights)
            else:
                x = layer(x, causal=True)
        logits = self.output(self.norm(x))  # (N, T, 8)
        return (logits, torch.stack(looks, 1)) if return_weights else logits


def train_order(
    model,
    kind,
    *,
    lengths=(4, 16),
    n_steps=300,
    batch_size=32,
    learning_rate=1e-2,
    seed=0,
    label="training",
):
    """Train a model on an order task; each batch has one length, drawn anew.

    Parameters
    ----------
    model : OrderReader
        Changed in place, on the device where it lies.
    kind : {"back", "nearest", "place"}
        The task, see `attnkit.tasks.order.draw_order`.
    lengths : tuple of int
        The shortest and the longest sequences.
    n_steps, batch_size : int
        How many batches, and sequences in each.
    learning_rate : float or callable
        See `fit`.
    seed : int
        Decides lengths and sequences, the same for every model.
    label : str
        See `fit`.

    Returns
    -------
    History

    Examples
    --------
    >>> len(train_order(OrderReader("alibi", d_model=8), "nearest", n_steps=2).loss)
    2
    """

    def draw(generator):
        length = int(generator.integers(lengths[0], lengths[1] + 1))
        return _draw(model, kind, batch_size, length, generator)

    return fit_on_draws(
        model, draw, n_steps=n_steps, learning_rate=learning_rate, seed=seed, label=label
    )


@torch.no_grad()
def score_order(model, kind, length, *, n_sequences=100, seed=1_000_000):
    """Return the share of right answers on fresh sequences of one length.

    Parameters
    ----------
    model : OrderReader
        Asked as it is.
    kind : {"back", "nearest", "place"}
        The task.
    length, n_sequences : int
        How long the sequences are, and how many.
    seed : int
        Decides the sequences, the same for every model.

    Returns
    -------
    float
        Between 0 and 1; guessing would give 1/8.

    Examples
    --------
    >>> 0 <= score_order(OrderReader("none"), "place", 20) <= 1
    True
    """
    generator = np.random.default_rng([seed, length])
    inputs, target, counts = _draw(model, kind, n_sequences, length, generator)
    right = (model(*inputs).argmax(-1) == target) & counts
    return int(right.sum()) / max(int(counts.sum()), 1)


def _draw(model, kind, n_sequences, length, generator):
    """Return the inputs of a model, the right answers, and where they are asked for, where it lies."""
    batch = draw_order(kind, n_sequences, length, generator=generator)
    arrays = batch.tokens, batch.target, batch.counts
    tokens, target, counts = placed(model, *tensors(*arrays))
    return [tokens], target, counts
