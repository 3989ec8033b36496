"""The twins task and a small reader together: how chapter 7 compares one head with several."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from attnkit.tasks.twins import N_DIGITS, N_LETTERS, RELATIONS, draw_twins

from ..errors import check_choice, check_size, check_sizes
from ._examples import placed, tensors
from .multihead import MultiHeadAttention
from .positions import LearnedPositions
from .training import fit_on_draws

__all__ = ["TwinReader", "TwinScores", "relation_shares", "score_twins", "train_twins"]


class TwinReader(nn.Module):
    """Layers of multi-head attention, what they found added to what was there, and a linear answer.

    No token looks at itself, whose digit is not asked for.

    Parameters
    ----------
    n_heads : int
        Heads of each layer; they share the width.
    d_model : int
        The width, whatever the number of heads.
    d_hidden : int
        Hidden units of a layer after each attention; without any (0) all but attention is linear.
    n_layers : int
        Layers.
    longest : int
        Rows of the table of learned positions.

    Raises
    ------
    ValueError
        When n_heads does not divide d_model, or a size is below one (d_hidden below zero).
    TypeError
        When a size is not a whole number.

    Examples
    --------
    >>> letters = digits = torch.zeros(3, 12, dtype=torch.long)
    >>> TwinReader(4)(letters, digits).shape
    torch.Size([3, 12, 2, 8])
    """

    def __init__(self, n_heads, *, d_model=32, d_hidden=0, n_layers=1, longest=12):
        super().__init__()
        n_heads, d_model = check_sizes(n_heads=n_heads, d_model=d_model)
        n_layers, longest = check_sizes(n_layers=n_layers, longest=longest)
        d_hidden = check_size("d_hidden", d_hidden)
        self.letter = nn.Embedding(N_LETTERS, d_model)
        self.digit = nn.Embedding(N_DIGITS, d_model)
        self.position = LearnedPositions(longest, d_model)
        self.attention = nn.ModuleList(
            MultiHeadAttention(d_model, n_heads) for _ in range(n_layers)
        )
        self.hidden = nn.ModuleList(
            nn.Sequential(nn.Linear(d_model, d_hidden), nn.ReLU(), nn.Linear(d_hidden, d_model))
            for _ in range(n_layers if d_hidden else 0)
        )
        self.answer = nn.Linear(d_model, len(RELATIONS) * N_DIGITS)

    def forward(self, letters, digits, *, return_weights=False):
        """Score the digits of the token before and of the twin, at each token.

        Parameters
        ----------
        letters, digits : torch.Tensor of int, shape (N, T)
            Sequences.
        return_weights : bool
            Return the weights of each layer too.

        Returns
        -------
        logits : torch.Tensor, shape (N, T, 2, 8)
        weights : torch.Tensor, shape (N, n_layers, n_heads, T, T)
            Only with ``return_weights=True``.
        """
        x = self.position(self.letter(letters) + self.digit(digits))  # (N, T, d_model)
        others = ~torch.eye(x.shape[-2], dtype=torch.bool, device=x.device)  # (T, T)
        looks = []
        for layer, attention in enumerate(self.attention):
            heard = attention(x, mask=others, return_weights=return_weights)
            if return_weights:
                heard, weights = heard
                looks.append(weights)
            x = x + heard
            if self.hidden:
                x = x + self.hidden[layer](x)
        logits = self.answer(x).unflatten(-1, (len(RELATIONS), N_DIGITS))  # (N, T, 2, 8)
        return (logits, torch.stack(looks, 1)) if return_weights else logits


@dataclass(frozen=True)
class TwinScores:
    """Shares of right answers, each between 0 and 1; guessing gives 1/8.

    Attributes
    ----------
    before, twin : float
        Of the digits of the token before, and of the twin.
    both : float
        Of the tokens at which both digits are right.
    """

    before: float
    twin: float
    both: float


def train_twins(
    model,
    asked=RELATIONS,
    *,
    n_steps=400,
    batch_size=32,
    learning_rate=1e-2,
    seed=0,
    label="training",
):
    """Train a reader; each batch is drawn anew.

    Parameters
    ----------
    model : TwinReader
        Changed in place, on the device where it lies.
    asked : sequence of {"before", "twin"}
        The relations whose digit it has to give.
    n_steps, batch_size : int
        How many batches, and sequences in each.
    learning_rate : float or callable
        See `fit`.
    seed : int
        Decides the sequences, the same for every model.
    label : str
        See `fit`.

    Returns
    -------
    History

    Raises
    ------
    ValueError
        If a relation is another word.

    Examples
    --------
    >>> len(train_twins(TwinReader(2, d_model=8), ["twin"], n_steps=2).loss)
    2
    """
    for relation in asked:
        check_choice("asked", relation, RELATIONS)
    (is_asked,) = placed(model, torch.tensor([relation in asked for relation in RELATIONS]))  # (2,)

    def draw(generator):
        letters, digits, target, _, counts = _draw(model, batch_size, generator)
        return [letters, digits], target, counts[:, :, None] & is_asked  # (N, T, 2)

    return fit_on_draws(
        model, draw, n_steps=n_steps, learning_rate=learning_rate, seed=seed, label=label
    )


@torch.no_grad()
def score_twins(model, *, n_sequences=500, seed=1_000_000):
    """Return the shares of right answers on fresh sequences.

    Parameters
    ----------
    model : TwinReader
        Asked as it is.
    n_sequences, seed : int
        How many sequences, and which, the same for every model.

    Returns
    -------
    TwinScores

    Examples
    --------
    >>> 0 <= score_twins(TwinReader(2)).both <= 1
    True
    """
    letters, digits, target, _, counts = _draw(model, n_sequences, np.random.default_rng(seed))
    right = (model(letters, digits).argmax(-1) == target)[counts].cpu()  # (counted, 2)
    return TwinScores(*right.double().mean(0).tolist(), right.all(-1).double().mean().item())


@torch.no_grad()
def relation_shares(model, *, n_sequences=500, seed=1_000_000):
    """Return how much of its weight each head puts on the token before, and on the twin.

    Parameters
    ----------
    model : TwinReader
        Asked as it is.
    n_sequences, seed : int
        How many sequences, and which: those of `score_twins`.

    Returns
    -------
    torch.Tensor, shape (n_layers, n_heads, 2)
        Means over the tokens at which the two relations differ. Weights all alike would give
        1/11 in each column, for sequences of 12.

    Examples
    --------
    >>> shares = relation_shares(TwinReader(2))
    >>> shares.shape, bool((shares.sum(-1) <= 1).all())
    (torch.Size([1, 2, 2]), True)
    """
    letters, digits, _, places, counts = _draw(model, n_sequences, np.random.default_rng(seed))
    _, weights = model(letters, digits, return_weights=True)  # (N, layers, heads, T, T)
    index = places[:, None, None].expand(-1, *weights.shape[1:3], -1, -1)
    on_them = weights.gather(-1, index)  # (N, layers, heads, T, 2)
    return on_them.movedim(3, 1)[counts].mean(0)


def _draw(model, n_sequences, generator):
    """Return letters, digits, the right answers, their places, and where they are asked for, where a model lies."""
    batch = draw_twins(n_sequences, generator=generator)
    arrays = batch.letters, batch.digits, batch.target, batch.places, batch.counts
    return placed(model, *tensors(*arrays))
