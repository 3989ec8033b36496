"""Small models on a table of examples: batches of its rows, and the share of right answers."""

import torch

from ..errors import check_size

__all__ = ["draw_rows", "share_right", "tensors"]


def tensors(*arrays):
    """Return NumPy arrays as tensors that share their memory."""
    return [torch.from_numpy(array) for array in arrays]


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
        rows = torch.from_numpy(generator.integers(len(target), size=batch_size))
        wanted = target[rows]
        return [whole[rows] for whole in inputs], wanted, torch.ones_like(wanted, dtype=torch.bool)

    return draw


def share_right(logits, target):
    """Return the share of rows whose largest logit is that of the right class, 0 without any row."""
    return int((logits.argmax(-1) == target).sum()) / max(target.numel(), 1)
