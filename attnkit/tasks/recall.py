"""Associative recall: lists of keys with values, and one key whose value is asked for.

In the list "c7 a3 f1", asked for "a", the answer is 3. Where the answer stands changes from list to
list, so nothing that looks at fixed places can find it.
"""

from dataclasses import dataclass

import numpy as np

from attnkit.errors import check_size

__all__ = ["N_KEYS", "N_VALUES", "RecallBatch", "draw_recall"]

N_KEYS = 16
N_VALUES = 10  # what may be an answer: 0 to 9


@dataclass(frozen=True)
class RecallBatch:
    """Lists with a question each: `N` lists of length `T`.

    Attributes
    ----------
    keys : ndarray of int64, (N, T)
        0 to 15, all different within a list.
    values : ndarray of int64, (N, T)
        0 to 9.
    place : ndarray of int64, (N,)
        Where the key stands that is asked for.

    Examples
    --------
    >>> batch = draw_recall(2, 3, generator=np.random.default_rng(0))
    >>> batch.keys.shape, batch.asked.shape, batch.answer.shape
    ((2, 3), (2,), (2,))
    """

    keys: np.ndarray
    values: np.ndarray
    place: np.ndarray

    @property
    def asked(self) -> np.ndarray:
        """The key whose value is asked for, (N,)."""
        return np.take_along_axis(self.keys, self.place[:, None], axis=1)[:, 0]

    @property
    def answer(self) -> np.ndarray:
        """The right answers, (N,): the value that stands with that key."""
        return np.take_along_axis(self.values, self.place[:, None], axis=1)[:, 0]

    def words(self, row: int) -> list[str]:
        """Return the entries of one list as they are written, such as c7."""
        pairs = zip(self.keys[row], self.values[row], strict=True)
        return [f"{chr(ord('a') + key)}{value}" for key, value in pairs]


def draw_recall(n_lists: int, length: int = 8, *, generator: np.random.Generator) -> RecallBatch:
    """Draw random lists, and in each one key to ask for.

    Parameters
    ----------
    n_lists : int
        How many; zero is allowed.
    length : int
        Entries of a list, 1 to 16.
    generator : numpy.random.Generator
        Where chance comes from; it moves on.

    Returns
    -------
    RecallBatch

    Raises
    ------
    ValueError
        If there are fewer lists than none, or no entry, or more entries than keys.
    TypeError
        If a size is not a whole number.

    Examples
    --------
    >>> batch = draw_recall(1, 4, generator=np.random.default_rng(0))
    >>> batch.words(0), batch.asked, batch.answer  # key 10 is k
    (['c5', 'l0', 'd7', 'k7'], array([10]), array([7]))
    """
    n_lists, length = check_size("n_lists", n_lists), check_size("length", length)
    if not 1 <= length <= N_KEYS:
        raise ValueError(
            f"length must be between 1 and {N_KEYS}, got {length}; "
            f"there are {N_KEYS} keys, and those of a list are all different"
        )
    all_keys = np.tile(np.arange(N_KEYS), (n_lists, 1))  # (N, 16)
    keys = generator.permuted(all_keys, axis=1)[:, :length]
    values = generator.integers(N_VALUES, size=(n_lists, length))
    return RecallBatch(keys, values, generator.integers(length, size=n_lists))
