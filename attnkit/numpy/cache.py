"""Keys and values kept from earlier steps, so that a new token meets them without their being made again."""

import copy

import numpy as np

from .. import errors
from ..errors import check_cache_index, check_cache_rows, check_size
from ._arrays import _float_array

__all__ = ["KVCache"]


class KVCache:
    """Room for the keys and values of a whole sequence, filled from the front.

    The room is taken once. Appending writes into it and copies nothing that is stored already,
    which joining arrays anew at each step would do.

    Parameters
    ----------
    batch : int
        The number of sequences.
    n_kv_heads : int
        Heads of keys and values.
    capacity : int
        The rows that each head has room for: the length of prompt and continuation together.
    d_head : int
        The width of a head.
    dtype : dtype, optional
        What numbers are stored as; float64 when not given.

    Raises
    ------
    ValueError
        When a size is negative.
    TypeError
        When a size is not a whole number or dtype is no float dtype.

    References
    ----------
    Shazeer (2019), "Fast Transformer Decoding: One Write-Head is All You Need", section 2.4.

    Examples
    --------
    >>> cache = KVCache(1, 2, capacity=8, d_head=4)
    >>> cache.append(np.ones((1, 2, 3, 4)), np.zeros((1, 2, 3, 4)))
    >>> cache.length, cache.key.shape
    (3, (1, 2, 3, 4))
    """

    def __init__(self, batch, n_kv_heads, capacity, d_head, *, dtype=None):
        sizes = {"batch": batch, "n_kv_heads": n_kv_heads, "capacity": capacity, "d_head": d_head}
        shape = tuple(check_size(name, size) for name, size in sizes.items())
        dtype = np.dtype(np.float64 if dtype is None else dtype)
        if dtype.kind != "f":
            errors.refuse_type("dtype", dtype, "a float dtype", errors.STORED)
        self._key, self._value = np.zeros(shape, dtype), np.zeros(shape, dtype)
        self._length = 0

    @property
    def length(self):
        """The number of rows stored so far."""
        return self._length

    @property
    def capacity(self):
        """The number of rows there is room for."""
        return self._key.shape[2]

    @property
    def key(self):
        """The keys stored so far, a view ``(batch, n_kv_heads, length, d_head)``."""
        return self._key[:, :, : self._length]

    @property
    def value(self):
        """The values stored so far, a view ``(batch, n_kv_heads, length, d_head)``."""
        return self._value[:, :, : self._length]

    def append(self, key, value):
        """Store the keys and values of new positions behind those stored already.

        Parameters
        ----------
        key, value : array_like, shape (batch, n_kv_heads, new, d_head)
            What is stored; copied, in the dtype of the cache. A view of this cache's own rows may
            be overwritten while it is read: copy it first.

        Raises
        ------
        ValueError
            When a shape does not fit or the rows overflow the cache, which is then left as it was.
        TypeError
            When an argument is complex or holds no numbers.
        """
        key, value = _float_array("key", key), _float_array("value", value)
        check_cache_rows(key.shape, value.shape, self._key.shape, self._length)
        end = self._length + key.shape[2]
        with np.errstate(all="ignore"):  # a narrower dtype may overflow to infinity
            self._key[:, :, self._length : end] = key
            self._value[:, :, self._length : end] = value
        self._length = end

    def clear(self):
        """Forget what is stored and keep the room."""
        self._length = 0

    def select(self, index):
        """Return a new cache with the given sequences of this one, in this order.

        Parameters
        ----------
        index : array_like of int, shape (new_batch,)
            Sequences; one may come several times, as when a beam branches.

        Returns
        -------
        KVCache
            Of the same capacity; this one stays as it is.

        Raises
        ------
        ValueError
            When the index has not one axis or names a sequence that is not there.
        TypeError
            When it does not hold whole numbers.
        """
        index = self._checked(index)
        chosen = copy.copy(self)
        chosen._key = self._moved(self._key, index, self._room(index))
        chosen._value = self._moved(self._value, index, self._room(index))
        return chosen

    def reorder(self, index):
        """Keep the given sequences, in this order, as `beam_search` asks for after every step.

        Only the rows stored are moved, one head at a time, so that hardly any is held twice. With
        as many sequences as before they are written into the same room, and views taken earlier
        show the new order; with more or fewer the cache takes a new room.

        Parameters
        ----------
        index : array_like of int, shape (new_batch,)
            For each new sequence the one that it continues; one may come several times.

        Raises
        ------
        ValueError
            When the index has not one axis or names a sequence that is not there; the cache is
            then left as it was.
        TypeError
            When it does not hold whole numbers.

        Examples
        --------
        >>> cache = KVCache(2, 1, capacity=8, d_head=1)
        >>> cache.append([[[[3.0]]], [[[4.0]]]], [[[[5.0]]], [[[6.0]]]])
        >>> cache.reorder([1, 1, 0])
        >>> cache.key.ravel(), cache.value.ravel()
        (array([4., 4., 3.]), array([6., 6., 5.]))
        """
        index = self._checked(index)
        stays = len(index) == len(self._key)
        key = self._key if stays else self._room(index)
        value = self._value if stays else self._room(index)
        self._key = self._moved(self._key, index, key)
        self._value = self._moved(self._value, index, value)

    def _moved(self, rows, index, room):
        """Write the given sequences into a room, which may be that of these rows, and return it."""
        for head in range(rows.shape[1]):
            room[:, head, : self._length] = rows[index, head, : self._length]
        return room

    def _checked(self, index):
        """Return an index of sequences, or raise the error that explains it."""
        index = np.asarray(index)
        if index.size == 0:
            index = index.astype(np.int64)
        if index.dtype.kind not in "iu":
            errors.refuse_type("index", index.dtype, "integers", errors.NOT_ROWS)
        index = index.astype(np.int64)  # unsigned numbers have no -1
        lowest, highest = (index.min(), index.max()) if index.size else (0, -1)
        check_cache_index(index.shape, lowest, highest, len(self._key))
        return index

    def _room(self, index):
        """Return empty room for as many sequences as the index has."""
        return np.zeros((len(index), *self._key.shape[1:]), self._key.dtype)
