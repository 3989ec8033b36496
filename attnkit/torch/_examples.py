"""What small models share: a layer, where their examples lie, batches of them, the share of right answers."""

import torch
from torch import nn
from torch.nn import functional as F

from ..errors import check_size
from ._parameters import as_input

__all__ = ["Linear", "draw_rows", "placed", "share_right", "tensors"]


class Linear(nn.Linear):
    """The layer of torch, computed in the wider dtype of its input and its weights."""

    def forward(self, x):
        """Return ``x @ weight.T + bias``, ``(..., in_features)`` to ``(..., out_features)``."""
        x = as_input("x", x, self.weight)
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, self.weight.to(x.dtype), bias)


def tensors(*arrays):
    """Return NumPy arrays as tensors that share their memory."""
    return [torch.from_numpy(array) for array in arrays]


def placed(model, *examples):
    """Return tensors where the parameters of a model lie; as they are for one without any."""
    parameter = next(model.parameters(), None)
    return [x if parameter is None else x.to(parameter.device) for x in examples]


def draw_rows(inputs, target, batch_size):
    """Return what `fit_on_draws` asks for batches: rows of a table, drawn with replacement.

    Parameters
    ----------
    inputs : list of torch.Tensor, each (N, ...)
        What is read.
    target : torch.Tensor of int, shape (N, ...)
        The right classes; all are asked for.
    batch_size : int
        How many rows.

    Returns
    -------
    callable
        ``draw(generator) -> inputs, target, counts``.

    Raises
    ------
    ValueError
        When batch_size is below one or there is no row.
    TypeError
        When batch_size is not a whole number.
    """
    batch_size = check_size("batch_size", batch_size, 1)
    if not len(target):
        raise ValueError(
            "there is no example to draw batches from; was the table drawn with size 0?"
        )

    def draw(generator):
        rows = torch.from_numpy(generator.integers(len(target), size=batch_size)).to(target.device)
        wanted = target[rows]
        return [whole[rows] for whole in inputs], wanted, torch.ones_like(wanted, dtype=torch.bool)

    return draw


def share_right(logits, target):
    """Return the share of rows whose largest logit is that of the right class, 0 without any row."""
    return int((logits.argmax(-1) == target).sum()) / max(target.numel(), 1)
