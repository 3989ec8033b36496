"""Turning next-token scores into sequences, in PyTorch."""

import torch

from attnkit import step_errors

__all__ = ["greedy"]


def greedy(step, start, *, end, max_length, state=None):
    """Decode by taking the best next token again and again.

    Parameters
    ----------
    step : callable
        ``step(token, state) -> (scores, state)`` with `token (B,)` and `scores (B, V)`: what may
        follow each sequence's last token. For a table of transition scores `table (V, V)` it is
        ``lambda token, state: (table[token], state)``.
    start : Tensor of int, (B,)
        The token that each sequence begins with; it is not part of the result.
    end : int
        The token that closes a sequence.
    max_length : int
        Decoding stops here even if a sequence has not ended.
    state : object
        Handed to the first step; what a step returns is handed to the next. Never looked into.

    Returns
    -------
    Tensor of int64, (B, L)
        `L <= max_length`: as many steps as the longest sequence took. After its first `end` a
        sequence holds nothing but `end`. Of equal scores the lower token wins.

    Raises
    ------
    ValueError
        If `start` has not one axis, `max_length` is negative, or `step` returns scores of another
        shape or NaN.
    TypeError
        If `start` does not hold whole numbers.

    Notes
    -----
    Each step is the best one, the whole need not be: a sequence that begins with a worse token may
    end with a better total.

    Examples
    --------
    Token 0 ends. From token 1 the best next token is 2, from 2 it is 0.

    >>> table = torch.tensor([[9, 0, 0], [1, 0, 2], [5, 1, 0]])
    >>> start = torch.tensor([1, 2])
    >>> greedy(lambda token, state: (table[token], state), start, end=0, max_length=5)
    tensor([[2, 0],
            [0, 0]])
    """
    step_errors.decoding(start.shape, max_length)
    is_whole = not (start.is_floating_point() or start.is_complex() or start.dtype == torch.bool)
    step_errors.whole_numbers("start", is_whole or len(start) == 0, start.dtype)
    token = start.long()
    finished = torch.zeros_like(token, dtype=torch.bool)
    tokens = []
    while len(tokens) < max_length and not finished.all():
        scores, state = step(token, state)
        step_errors.step_scores(scores.shape, len(token), bool(scores.isnan().any()))
        token = scores.argmax(dim=-1).masked_fill(finished, end)
        finished = token == end  # once ended, a sequence is fed its end again
        tokens.append(token)
    return torch.stack(tokens, dim=-1) if tokens else token.new_empty((len(token), 0))
