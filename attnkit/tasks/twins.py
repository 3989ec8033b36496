"""A task in which every token has two relations at once: to the token before it and to its twin.

A token is a letter with a digit, such as B3. Each letter of a sequence stands there twice; the other
token with the same letter is the *twin*. At each token two digits are asked for: that of the token
before, and that of the twin. The first relation is one of places, the second one of contents.
"""

from dataclasses import dataclass

import numpy as np

from attnkit.errors import check_size

__all__ = ["N_DIGITS", "N_LETTERS", "RELATIONS", "TwinBatch", "draw_twins"]

RELATIONS = ("before", "twin")
N_LETTERS = 8  # of which each sequence has n_pairs, each twice
N_DIGITS = 8  # what may be an answer: 0 to 7


@dataclass(frozen=True)
class TwinBatch:
    """Sequences and their relations: `N` sequences of length `T`.

    Attributes
    ----------
    letters, digits : ndarray of int64, (N, T)
        What is read, 0 to 7 each.
    places : ndarray of int64, (N, T, 2)
        Where the token before stands, and where the twin does. The first token has none before it;
        there the place is 0.
    counts : ndarray of bool, (N, T)
        True where there is a token before and it is not the twin, so that the two relations differ.

    Examples
    --------
    >>> batch = draw_twins(2, 3, generator=np.random.default_rng(0))
    >>> batch.letters.shape, batch.places.shape
    ((2, 6), (2, 6, 2))
    """

    letters: np.ndarray
    digits: np.ndarray
    places: np.ndarray
    counts: np.ndarray

    @property
    def target(self) -> np.ndarray:
        """The right digits, (N, T, 2); they mean something where `counts` is True."""
        return np.take_along_axis(self.digits[:, :, None], self.places, axis=1)

    def words(self, row: int) -> list[str]:
        """Return the tokens of one sequence as they are written, such as B3."""
        pairs = zip(self.letters[row], self.digits[row], strict=True)
        return [f"{chr(ord('A') + letter)}{digit}" for letter, digit in pairs]


def draw_twins(n_sequences: int, n_pairs: int = 6, *, generator: np.random.Generator) -> TwinBatch:
    """Draw random sequences of ``2 * n_pairs`` tokens.

    Parameters
    ----------
    n_sequences : int
        How many; zero is allowed.
    n_pairs : int
        Letters in a sequence, each of which stands there twice; 1 to 8.
    generator : numpy.random.Generator
        Where chance comes from; it moves on.

    Returns
    -------
    TwinBatch

    Raises
    ------
    ValueError
        If there are fewer sequences than none or more pairs than letters.
    TypeError
        If a size is not a whole number.

    Examples
    --------
    >>> batch = draw_twins(1, 3, generator=np.random.default_rng(9))
    >>> batch.words(0)
    ['D6', 'H5', 'F7', 'D0', 'H0', 'F6']
    >>> batch.places[0, :, 1]  # the twins
    array([3, 4, 5, 0, 1, 2])
    >>> batch.target[0, 4]  # at H0: before it stands D0, and its twin is H5
    array([0, 5])
    """
    n_sequences, n_pairs = check_size("n_sequences", n_sequences), check_size("n_pairs", n_pairs)
    if not 1 <= n_pairs <= N_LETTERS:
        raise ValueError(
            f"n_pairs must be between 1 and {N_LETTERS}, got {n_pairs}; "
            "each pair shares a letter of its own"
        )
    length = 2 * n_pairs
    alphabets = np.tile(np.arange(N_LETTERS), (n_sequences, 1))  # (N, 8)
    chosen = generator.permuted(alphabets, axis=1)[:, :n_pairs]
    letters = generator.permuted(np.repeat(chosen, 2, axis=1), axis=1)  # (N, T)
    digits = generator.integers(N_DIGITS, size=(n_sequences, length))
    # Sorted by letter, twins are neighbours; each gets the place of the other.
    order = np.argsort(letters, axis=1, kind="stable")
    swapped = order.reshape(n_sequences, n_pairs, 2)[:, :, ::-1].reshape(n_sequences, length)
    twin = np.empty_like(order)
    np.put_along_axis(twin, order, swapped, axis=1)
    position = np.arange(length)
    before = np.broadcast_to(np.maximum(position - 1, 0), letters.shape)
    places = np.stack([before, twin], axis=-1)  # (N, T, 2)
    counts = (position > 0) & (before != twin)
    return TwinBatch(letters, digits, places, counts)
