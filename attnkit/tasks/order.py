"""Small tasks in which nothing but the order of tokens decides what is right, at any length.

In two of them a *relation* counts (so many tokens back, the last one of a kind), in the third a
*place* (the third token, whoever asks). Answers never lie ahead, so a causal model can give them.
"""

from dataclasses import dataclass

import numpy as np

from attnkit.errors import check_size

__all__ = ["BACK", "BLANK", "KINDS", "N_SYMBOLS", "N_TOKENS", "PLACE", "OrderBatch", "draw_order"]

KINDS = ("back", "nearest", "place")
N_SYMBOLS = 8  # what may be an answer: 0 to 7
BLANK = N_SYMBOLS  # the token without a symbol, in "nearest" only
N_TOKENS = N_SYMBOLS + 1
BACK = 3  # "back" asks for the symbol so many tokens earlier
PLACE = 2  # "place" asks for the symbol at this position, counted from 0
BLANK_SHARE = 0.7


@dataclass(frozen=True)
class OrderBatch:
    """Sequences and their right answers: `N` sequences of length `T`.

    Attributes
    ----------
    tokens : ndarray of int64, (N, T)
        What is read: symbols 0 to 7, and 8 for a blank.
    target : ndarray of int64, (N, T)
        The right symbol for each position; 0 where there is none.
    counts : ndarray of bool, (N, T)
        True where there is a right answer.

    Examples
    --------
    >>> batch = draw_order("place", 2, 5, generator=np.random.default_rng(0))
    >>> batch.tokens.shape, batch.counts[0].tolist()
    ((2, 5), [False, False, True, True, True])
    """

    tokens: np.ndarray
    target: np.ndarray
    counts: np.ndarray


def draw_order(
    kind: str, n_sequences: int, length: int, *, generator: np.random.Generator
) -> OrderBatch:
    """Draw random sequences of one length and say what is right at each position.

    Parameters
    ----------
    kind : {"back", "nearest", "place"}
        What is asked for: the symbol three tokens back; in a sequence that is mostly blanks the
        last symbol, at each blank; the symbol at position 2, the third.
    n_sequences, length : int
        How many sequences, and how long they are; zero is allowed.
    generator : numpy.random.Generator
        Where chance comes from; it moves on.

    Returns
    -------
    OrderBatch
        Positions without an answer do not count: too early in the sequence, or no blank.

    Raises
    ------
    ValueError
        If kind is another word or a size is negative.
    TypeError
        If a size is not a whole number.

    Examples
    --------
    >>> batch = draw_order("back", 1, 6, generator=np.random.default_rng(0))
    >>> batch.tokens
    array([[6, 5, 4, 2, 2, 0]])
    >>> batch.target, batch.counts.astype(int)
    (array([[0, 0, 0, 6, 5, 4]]), array([[0, 0, 0, 1, 1, 1]]))
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}; is it misspelt?")
    n_sequences, length = check_size("n_sequences", n_sequences), check_size("length", length)
    tokens = generator.integers(N_SYMBOLS, size=(n_sequences, length))  # (N, T)
    position = np.arange(length)
    if kind == "nearest":
        blank = generator.random((n_sequences, length)) < BLANK_SHARE
        blank[:, :1] = False  # so that every blank has a symbol before it
        source = np.maximum.accumulate(np.where(blank, 0, position), axis=1)  # (N, T)
        target = np.take_along_axis(tokens, source, axis=1)
        tokens = np.where(blank, BLANK, tokens)
        return OrderBatch(tokens, np.where(blank, target, 0), blank)
    if kind == "back":
        source, asked = position - BACK, position >= BACK
    else:
        source, asked = np.full(length, PLACE), position >= PLACE
    target = np.zeros_like(tokens)
    target[:, asked] = tokens[:, source[asked]]
    return OrderBatch(tokens, target, np.broadcast_to(asked, tokens.shape).copy())
