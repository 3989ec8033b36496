"""Keys and values kept from earlier steps, so that a new token meets them without their being made again."""

import contextlib
import copy

import torch

from .. import errors
from ..errors import check_cache_index, check_cache_rows, check_size
from ._tensors import _float_tensor

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
    dtype : torch.dtype, optional
        What numbers are stored as; the default dtype when not given.
    device : torch.device, optional
        Where they are stored.

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
    >>> cache.append(torch.ones(1, 2, 3, 4), torch.zeros(1, 2, 3, 4))
    >>> cache.length, cache.key.shape
    (3, torch.Size([1, 2, 3, 4]))
    """

    def __init__(self, batch, n_kv_heads, capacity, d_head, *, dtype=None, device=None):
        sizes = {"batch": batch, "n_kv_heads": n_kv_heads, "capacity": capacity, "d_head": d_head}
        shape = tuple(check_size(name, size) for name, size in sizes.items())
        dtype = torch.get_default_dtype() if dtype is None else dtype
        if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
            errors.refuse_type("dtype", dtype, "a float dtype", errors.STORED)
        batch, n_kv_heads, *rest = shape
        # Heads of keys, then those of values, as one product makes them: a step copies its row once.
        self._rows = torch.zeros((batch, 2 * n_kv_heads, *rest), dtype=dtype, device=device)
        self._length = 0

    @property
    def length(self):
        """The number of rows stored so far."""
        return self._length

    @property
    def capacity(self):
        """The number of rows there is room for."""
        return self._rows.shape[2]

    @property
    def key(self):
        """The keys stored so far, a view ``(batch, n_kv_heads, length, d_head)``."""
        return self._filled().chunk(2, 1)[0]

    @property
    def value(self):
        """The values stored so far, a view ``(batch, n_kv_heads, length, d_head)``."""
        return self._filled().chunk(2, 1)[1]

    def append(self, key, value):
        """Store the keys and values of new positions behind those stored already.

        Parameters
        ----------
        key, value : torch.Tensor, shape (batch, n_kv_heads, new, d_head)
            What is stored; copied, in the dtype of the cache. A view of this cache's own rows may
            be overwritten while it is read: clone it first.

        Raises
        ------
        ValueError
            When a shape does not fit or the rows overflow the cache, which is then left as it was;
            or when an argument asks for a gradient, which a cache cannot carry.
        TypeError
            When an argument is complex or holds no numbers.
        """
        key, value = _float_tensor("key", key), _float_tensor("value", value)
        check_cache_rows(key.shape, value.shape, self._sizes(), self._length)
        if torch.is_grad_enabled() and (key.requires_grad or value.requires_grad):
            errors.refuse_gradient()
        new = self._rows.narrow(2, self._length, key.shape[2])
        for room, rows in zip(new.chunk(2, 1), (key, value), strict=True):
            room.copy_(rows)
        self._length += key.shape[2]

    def clear(self):
        """Forget what is stored and keep the room."""
        self._length = 0

    def select(self, index):
        """Return a new cache with the given sequences of this one, in this order.

        Parameters
        ----------
        index : torch.Tensor of int, shape (new_batch,)
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
        chosen._rows = self._moved(index, self._room(index))
        return chosen

    def reorder(self, index):
        """Keep the given sequences, in this order, as `beam_search` asks for after every step.

        Only the rows stored are moved, a few heads at a time, so that hardly any is held twice.
        With as many sequences as before they are written into the same room, and views taken
        earlier show the new order; with more or fewer the cache takes a new room.

        Parameters
        ----------
        index : torch.Tensor of int, shape (new_batch,)
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
        >>> key = torch.tensor([3.0, 4.0]).reshape(2, 1, 1, 1)
        >>> cache.append(key, 10 * key)
        >>> cache.reorder(torch.tensor([1, 1, 0]))
        >>> cache.key.flatten(), cache.value.flatten()
        (tensor([4., 4., 3.]), tensor([40., 40., 30.]))
        """
        index = self._checked(index)
        stays = len(index) == len(self._rows)
        self._rows = self._moved(index, self._rows if stays else self._room(index))

    def _sizes(self):
        """Return the batch, the heads, the capacity and the width of a head."""
        batch, heads, capacity, d_head = self._rows.shape
        return batch, heads // 2, capacity, d_head

    def _filled(self):
        """Return the rows stored so far, ``(batch, 2 * n_kv_heads, length, d_head)``."""
        return self._rows.narrow(2, 0, self._length)

    def _with(self, row):
        """Write a row ``(batch, 2 * n_kv_heads, 1, d_head)`` that is known to fit; return all.

        Whoever asks for it counts it, once nothing can fail any more.
        """
        self._rows.narrow(2, self._length, 1).copy_(row)
        return self._rows.narrow(2, 0, self._length + 1).chunk(2, 1)

    def _moved(self, index, room):
        """Write the given sequences into a room, which may be this cache's own, and return it."""
        old, new = self._filled(), room.narrow(2, 0, self._length)
        n_parts = 1 + old.nbytes // 2**20  # of a mebibyte, or of one head
        for part, rows in zip(new.chunk(n_parts, 1), old.chunk(n_parts, 1), strict=True):
            part.copy_(rows.index_select(0, index))
        return room

    def _checked(self, index):
        """Return an index of sequences, or raise the error that explains it."""
        index = torch.as_tensor(index, device=self._rows.device)
        if index.numel() == 0:
            index = index.long()
        if index.is_floating_point() or index.is_complex() or index.dtype == torch.bool:
            errors.refuse_type("index", index.dtype, "integers", errors.NOT_ROWS)
        index = index.long()  # torch takes uint8 for a mask
        lowest, highest = (
            (0, -1) if index.numel() == 0 else (index.min().item(), index.max().item())
        )
        check_cache_index(index.shape, lowest, highest, len(self._rows))
        return index

    def _room(self, index):
        """Return empty room for as many sequences as the index has."""
        return self._rows.new_zeros((len(index), *self._rows.shape[1:]))


@contextlib.contextmanager
def _restored_on_error(*caches):
    """Take back what a call has stored if it fails: the next one would meet half a step."""
    lengths = [cache.length for cache in caches]
    try:
        yield
    except BaseException:  # out of memory, or interrupted, as well
        for cache, length in zip(caches, lengths, strict=True):
            cache._length = length
        raise
