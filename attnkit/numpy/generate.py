"""Turning next-token scores into sequences, in NumPy."""

import numpy as np

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
    start : array_like of int, (B,)
        The token that each sequence begins with; it is not part of the result.
    end : int
        The token that closes a sequence.
    max_length : int
        Decoding stops here even if a sequence has not ended.
    state : object
        Handed to the first step; what a step returns is handed to the next. Never looked into.

    Returns
    -------
    ndarray of int64, (B, L)
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

    >>> table = np.array([[9, 0, 0], [1, 0, 2], [5, 1, 0]])
    >>> greedy(lambda token, state: (table[token], state), [1, 2], end=0, max_length=5)
    array([[2, 0],
           [0, 0]])
    """
    token = np.asarray(start)
    step_errors.decoding(token.shape, max_length)
    step_errors.whole_numbers(
        "start", token.size == 0 or np.issubdtype(token.dtype, np.integer), token.dtype
    )
    token = token.astype(np.int64)
    finished = np.zeros(len(token), dtype=bool)
    tokens = []
    while len(tokens) < max_length and not finished.all():
        scores, state = step(token, state)
        scores = np.asarray(scores)
        step_errors.step_scores(scores.shape, len(token), bool(np.isnan(scores).any()))
        token = np.where(finished, end, scores.argmax(axis=-1))
        finished = token == end  # once ended, a sequence is fed its end again
        tokens.append(token)
    return np.stack(tokens, axis=-1) if tokens else np.empty((len(token), 0), dtype=np.int64)
