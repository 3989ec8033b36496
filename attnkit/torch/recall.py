"""Associative recall by one lookup (chapter 5) and by three ways of mixing tokens (chapter 6)."""

import numpy as np
import torch
from torch import nn

from attnkit.tasks.recall import N_KEYS, N_VALUES, draw_recall

from ..errors import check_size, check_sizes, check_width, refuse_type
from ._examples import Linear, placed, share_right, tensors
from ._parameters import as_input
from .scores import scaled_dot_scores
from .training import fit_on_draws

__all__ = [
    "PositionMix",
    "RecallLookups",
    "RecallReader",
    "SideBySideMix",
    "score_recall",
    "train_recall",
]


class RecallLookups(nn.Module):
    """One lookup for each list, the way of looking up left open; several models side by side.

    Each model has tables of its own: what a key asks for, what a key answers to, what a value is,
    and how a value is read. So one call trains as many models as there are, each on its own lists.

    Parameters
    ----------
    n_models : int
        Models, which have the first axis.
    d_model : int
        The width of queries, keys and values.

    Raises
    ------
    ValueError
        When a size is below one.
    TypeError
        When a size is not a whole number.

    Examples
    --------
    >>> models = RecallLookups(5)
    >>> asked, lists = torch.zeros(5, 3, dtype=torch.long), torch.zeros(5, 3, 8, dtype=torch.long)
    >>> scores, value = models(asked, lists, lists)
    >>> scores.shape, value.shape
    (torch.Size([5, 3, 1, 8]), torch.Size([5, 3, 8, 16]))
    """

    def __init__(self, n_models, d_model=16):
        super().__init__()
        n_models, d_model = check_sizes(n_models=n_models, d_model=d_model)
        self.query = nn.Parameter(torch.randn(n_models, N_KEYS, d_model))
        self.key = nn.Parameter(torch.randn(n_models, N_KEYS, d_model))
        self.value = nn.Parameter(torch.randn(n_models, N_VALUES, d_model))
        self.answer = nn.Parameter(torch.randn(n_models, d_model, N_VALUES) / d_model**0.5)

    def forward(self, asked, keys, values):
        """Return what a lookup needs: a score for each entry of a list, and its value as a vector.

        Parameters
        ----------
        asked : torch.Tensor of int, shape (n_models, N)
            A key of each list.
        keys, values : torch.Tensor of int, shape (n_models, N, T)
            Lists.

        Returns
        -------
        scores : torch.Tensor, shape (n_models, N, 1, T)
        value : torch.Tensor, shape (n_models, N, T, d_model)
        """
        model = torch.arange(len(self.query), device=asked.device)[:, None, None]
        query = self.query[model, asked[..., None]]  # (n_models, N, 1, d_model)
        scores = scaled_dot_scores(query, self.key[model, keys])
        return scores, self.value[model, values]

    def log_probabilities(self, context):
        """Read what was looked up, ``(n_models, N, k, d_model)`` to ``(n_models, N, k, 10)``."""
        context = as_input("context", context, self.answer)
        return (context @ self.answer[:, None].to(context.dtype)).log_softmax(dim=-1)

    def rewards(self, context, answer):
        """Return the log-probability of the right answer in each of k contexts.

        Parameters
        ----------
        context : torch.Tensor, shape (n_models, N, k, d_model)
            What was looked up.
        answer : torch.Tensor of int, shape (n_models, N)
            The right values.

        Returns
        -------
        torch.Tensor, shape (n_models, N, k)
        """
        right = answer[..., None, None].expand(*context.shape[:-1], 1)
        return self.log_probabilities(context).gather(-1, right)[..., 0]


class PositionMix(nn.Module):
    r"""A fully connected layer over positions: each output is a fixed mixture of all tokens.

    Parameters
    ----------
    length : int
        Tokens that it mixes, no more and no fewer.
    d_model : int
        Their width.

    Raises
    ------
    ValueError
        When a size is below one.
    TypeError
        When a size is not a whole number.

    Notes
    -----
    :math:`y_i = \sum_j w_{ij} V x_j + b_i`, where `w` and `V` are parameters: what mixes is the same
    for every input.

    Examples
    --------
    >>> PositionMix(9, 32)(torch.zeros(2, 9, 32)).shape
    torch.Size([2, 9, 32])
    """

    def __init__(self, length, d_model):
        super().__init__()
        self.length, self.d_model = check_sizes(length=length, d_model=d_model)
        self.value = Linear(d_model, d_model, bias=False)
        self.mix = Linear(length, length)

    def forward(self, x):
        """Mix tokens, ``(..., length, d_model)`` to the same shape, in the wider dtype of x and weights.

        Raises
        ------
        ValueError
            When there are more or fewer tokens, or they are of another width.
        """
        _check_tokens(x, self.length, self.d_model)
        return self.mix(self.value(x).mT).mT  # along the positions


class SideBySideMix(nn.Module):
    """A network over all tokens side by side, as one long vector, with a hidden layer.

    Parameters
    ----------
    length : int
        Tokens that it mixes, no more and no fewer.
    d_model : int
        Their width.
    d_hidden : int
        Hidden units.

    Raises
    ------
    ValueError
        When a size is below one.
    TypeError
        When a size is not a whole number.

    Examples
    --------
    >>> SideBySideMix(9, 32)(torch.zeros(2, 9, 32)).shape
    torch.Size([2, 9, 32])
    """

    def __init__(self, length, d_model, d_hidden=256):
        super().__init__()
        self.length, self.d_model = check_sizes(length=length, d_model=d_model)
        d_hidden = check_size("d_hidden", d_hidden, 1)
        self.hidden = Linear(length * d_model, d_hidden)
        self.output = Linear(d_hidden, length * d_model)

    def forward(self, x):
        """Mix tokens, ``(..., length, d_model)`` to the same shape, in the wider dtype of x and weights.

        Raises
        ------
        ValueError
            When there are more or fewer tokens, or they are of another width.
        """
        _check_tokens(x, self.length, self.d_model)
        hidden = torch.relu(self.hidden(x.flatten(-2)))  # (..., d_hidden)
        return self.output(hidden).unflatten(-1, x.shape[-2:])


class RecallReader(nn.Module):
    """Reads a list and a question, mixes the tokens once in a given way, and answers at the last.

    Parameters
    ----------
    mix : torch.nn.Module
        ``mix(x)`` takes ``(N, T + 1, d_model)`` to the same shape: `SelfAttention`, `PositionMix`,
        `SideBySideMix` or another.
    d_model : int
        The width of the tokens.

    Raises
    ------
    ValueError
        When a size is below one.
    TypeError
        When a size is not a whole number, or mix nothing that can be called.

    Examples
    --------
    >>> reader = RecallReader(PositionMix(9, 32))
    >>> keys = values = torch.zeros(2, 8, dtype=torch.long)
    >>> reader(keys, values, torch.tensor([3, 4])).shape
    torch.Size([2, 10])
    """

    def __init__(self, mix, d_model=32):
        super().__init__()
        d_model = check_size("d_model", d_model, 1)
        if not callable(mix):
            refuse_type(
                "mix", type(mix).__name__, "a module", "it mixes tokens, as SelfAttention does"
            )
        self.key = nn.Embedding(N_KEYS, d_model)
        self.value = nn.Embedding(N_VALUES + 1, d_model)  # one more: without a value
        self.mix = mix
        self.answer = nn.Sequential(Linear(d_model, 64), nn.ReLU(), Linear(64, N_VALUES))

    def forward(self, keys, values, asked):
        """Score the values that may stand with the key that is asked for.

        Parameters
        ----------
        keys, values : torch.Tensor of int, shape (N, T)
            Lists.
        asked : torch.Tensor of int, shape (N,)
            A key of each.

        Returns
        -------
        torch.Tensor, shape (N, 10)
        """
        no_value = torch.full_like(asked, N_VALUES)
        keys = torch.cat([keys, asked[:, None]], dim=1)  # (N, T + 1)
        values = torch.cat([values, no_value[:, None]], dim=1)
        x = self.key(keys) + self.value(values)  # (N, T + 1, d_model)
        last = (x + self.mix(x))[:, -1]  # (N, d_model)
        return self.answer(last)  # (N, 10)


def train_recall(
    model,
    *,
    length=8,
    n_steps=500,
    batch_size=128,
    learning_rate=1e-2,
    seed=0,
    label="training",
):
    """Train a reader; each batch is drawn anew.

    Parameters
    ----------
    model : RecallReader
        Changed in place, on the device where it lies.
    length : int
        Entries of a list.
    n_steps, batch_size : int
        How many batches, and lists in each.
    learning_rate : float or callable
        See `fit`.
    seed : int
        Decides the lists, the same for every model.
    label : str
        See `fit`.

    Returns
    -------
    History

    Examples
    --------
    >>> len(train_recall(RecallReader(PositionMix(5, 32)), length=4, n_steps=2).loss)
    2
    """

    def draw(generator):
        inputs, answer = _draw(model, batch_size, length, generator)
        return inputs, answer, torch.ones_like(answer, dtype=torch.bool)

    return fit_on_draws(
        model, draw, n_steps=n_steps, learning_rate=learning_rate, seed=seed, label=label
    )


@torch.no_grad()
def score_recall(model, *, length=8, n_lists=2000, seed=1_000_000):
    """Return the share of right answers about fresh lists.

    Parameters
    ----------
    model : RecallReader
        Asked as it is.
    length, n_lists : int
        Entries of a list, and how many lists.
    seed : int
        Decides the lists, the same for every model.

    Returns
    -------
    float
        Between 0 and 1; guessing would give 1/10.

    Examples
    --------
    >>> 0 <= score_recall(RecallReader(PositionMix(9, 32))) <= 1
    True
    """
    inputs, answer = _draw(model, n_lists, length, np.random.default_rng(seed))
    return share_right(model(*inputs), answer)


def _draw(model, n_lists, length, generator):
    """Return the inputs of a model and the right answers, where it lies."""
    batch = draw_recall(n_lists, length, generator=generator)
    arrays = batch.keys, batch.values, batch.asked, batch.answer
    *inputs, answer = placed(model, *tensors(*arrays))
    return inputs, answer


def _check_tokens(x, length, d_model):
    """Refuse tokens of another width or number than the matrices were made for."""
    check_width("x", x.shape, "(..., length, d_model)", d_model)
    if x.shape[-2] != length:
        raise ValueError(
            f"x has {x.shape[-2]} tokens but this layer mixes {length}: its matrix has a number for "
            "each place, and none for others"
        )
