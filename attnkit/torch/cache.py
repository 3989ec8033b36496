"""Keys and values kept from earlier steps, so that a new token meets them without their being made again."""

import torch

from .. import errors
from ..errors import check_cache_rows, check_size
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
        if not dtype.is_floating_point:
            errors.refuse_type("dtype", dtype, "a float dtype", errors.STORED)
        self._key = torch.zeros(shape, dtype=dtype, device=device)
        self._value = torch.zeros_like(self._key)
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
        key, value : torch.Tensor, shape (batch, n_kv_heads, new, d_head)
            What is stored; copied, in the dtype of the cache.

        Raises
        ------
        ValueError
            When a shape does not fit or the rows overflow the cache, which is then left as it was;
            or when an argument asks for a gradient, which a cache cannot carry.
        TypeError
            When an argument is complex or holds no numbers.
        """
        key, value = _float_tensor("key", key), _float_tensor("value", value)
        check_cache_rows(key.shape, value.shape, self._key.shape, self._length)
        if torch.is_grad_enabled() and (key.requires_grad or value.requires_grad):
            errors.refuse_gradient()
        end = self._length + key.shape[2]
        self._key[:, :, self._length : end] = key
        self._value[:, :, self._length : end] = value
        self._length = end

    def clear(self):
        """Forget what is stored and keep the room."""
        self._length = 0

    def select(self, rows):
        """Return a new cache with the given sequences of this one, in this order.

        Parameters
        ----------
        rows : torch.Tensor of int, shape (new_batch,)
            Sequences; one may come several times, as when a beam branches.

        Returns
        -------
        KVCache
            Of the same capacity; this one stays as it is.
        """
        chosen = KVCache(0, *self._key.shape[1:], dtype=self._key.dtype)  # on any device, then
        chosen._key, chosen._value = self._key[rows], self._value[rows]
        chosen._length = self._length
        return chosen
