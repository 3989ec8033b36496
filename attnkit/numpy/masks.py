"""Masks: who may attend to whom. Boolean, True means may attend, broadcast against (..., m, n).

Query ``i`` of ``m`` stands at position ``i + n - m``, so that the last query meets the last key;
only `local_m_mask` and ``causal_mask(..., align="start")`` count queries from the start.
"""

import functools

import numpy as np

from .. import errors
from ..errors import check_choice, check_size
from ._arrays import as_array, boolean_array, float_dtype

__all__ = [
    "block_mask",
    "causal_mask",
    "combine_masks",
    "from_drop_mask",
    "global_mask",
    "local_m_mask",
    "local_mask",
    "padding_mask",
    "strided_mask",
    "to_additive",
]


def padding_mask(lengths, n):
    """Let every query see the first `lengths` keys of its sequence, and no padding.

    Parameters
    ----------
    lengths : array_like of int, shape (B,)
        The number of real keys of each sequence, 0 to n; any leading axes.
    n : int
        The padded length.

    Returns
    -------
    numpy.ndarray of bool, shape (B, 1, n)
        True where the key is real. Over split heads write ``padding_mask(lengths, n)[:, None]``.

    Raises
    ------
    ValueError
        When a length is negative or longer than n.
    TypeError
        When lengths are not whole numbers.

    Examples
    --------
    >>> padding_mask([2, 0], 3)
    array([[[ True,  True, False]],
    <BLANKLINE>
           [[False, False, False]]])
    """
    n = check_size("n", n)
    lengths = as_array("lengths", lengths)
    if lengths.size == 0:
        lengths = lengths.astype(int)  # an empty list has no integer dtype of its own
    if lengths.dtype.kind not in "iu":
        errors.refuse_type("lengths", lengths.dtype, "integers", errors.NOT_LENGTHS)
    if np.any((lengths < 0) | (lengths > n)):
        errors.refuse_lengths(lengths.min(), lengths.max(), n)
    return np.arange(n) < lengths[..., None, None]  # (B, 1, n)


def causal_mask(m, n, *, align="end"):
    """Let each query see the keys up to its own position: no look into the future.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    align : {"end", "start"}
        "end": query i stands at position ``i + n - m``, as when the first keys come from a cache.
        "start": query i stands at position i.

    Returns
    -------
    numpy.ndarray of bool, shape (m, n)
        True where the key is not in the future. If m > n, early queries see nothing.

    Raises
    ------
    ValueError
        When a size is negative or align is another word.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.3.

    Examples
    --------
    >>> causal_mask(2, 4)
    array([[ True,  True,  True, False],
           [ True,  True,  True,  True]])
    """
    check_choice("align", align, ("end", "start"))
    query, key = _positions(m, n) if align == "end" else _start_positions(m, n)
    return key <= query  # (m, n)


def local_mask(m, n, window, *, causal=False):
    """Let each query see the keys at most `window` away: ``2 * window + 1`` with its own.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    window : int
        The largest distance.
    causal : bool
        Only look back: ``0 <= i - j <= window``, ``window + 1`` keys.

    Returns
    -------
    numpy.ndarray of bool, shape (m, n)
        True where the key is near.

    Raises
    ------
    ValueError
        When a size is negative.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Beltagy, Peters and Cohan (2020), "Longformer: The Long-Document Transformer", section 3.1.

    Examples
    --------
    >>> local_mask(3, 3, 1)
    array([[ True,  True, False],
           [ True,  True,  True],
           [False,  True,  True]])
    """
    window = check_size("window", window)
    query, key = _positions(m, n)
    near = np.abs(query - key) <= window  # (m, n)
    return near & (key <= query) if causal else near


def strided_mask(m, n, stride, *, causal=False):
    """Let each query see itself and every `stride`-th key from there, in both directions.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    stride : int
        The step, at least 1.
    causal : bool
        Only look back.

    Returns
    -------
    numpy.ndarray of bool, shape (m, n)
        True where ``(i - j) % stride == 0``.

    Raises
    ------
    ValueError
        When a size is negative or stride is below 1.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Child et al. (2019), "Generating Long Sequences with Sparse Transformers", section 4.3.

    Examples
    --------
    >>> strided_mask(3, 4, 2)
    array([[False,  True, False,  True],
           [ True, False,  True, False],
           [False,  True, False,  True]])
    """
    stride = check_size("stride", stride, minimum=1)
    query, key = _positions(m, n)
    in_step = (query - key) % stride == 0  # (m, n)
    return in_step & (key <= query) if causal else in_step


def global_mask(m, n, n_global):
    """Let the first `n_global` positions be seen by all queries, and see all keys.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    n_global : int
        How many positions are global.

    Returns
    -------
    numpy.ndarray of bool, shape (m, n)
        True where the key or the query is global. Meant for a union: ``local_mask(...) |
        global_mask(...)``.

    Raises
    ------
    ValueError
        When a size is negative.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Beltagy, Peters and Cohan (2020), "Longformer: The Long-Document Transformer", section 3.1.

    Examples
    --------
    >>> global_mask(3, 3, 1)
    array([[ True,  True,  True],
           [ True, False, False],
           [ True, False, False]])
    """
    n_global = check_size("n_global", n_global)
    query, key = _positions(m, n)
    # If m > n, the queries before position 0 are not among the first positions.
    sees_all = (query >= 0) & (query < n_global)  # (m, 1)
    return sees_all | (key < n_global)  # (m, n)


def block_mask(query_block, key_block=None):
    """Let each query see the keys of its own block: several texts in one row, or pieces of one.

    Parameters
    ----------
    query_block : array_like of int, shape (..., m)
        For each query the number of its block.
    key_block : array_like of int, shape (..., n), optional
        For each key the number of its block; query_block when not given, as in self-attention.

    Returns
    -------
    numpy.ndarray of bool, shape (..., m, n)
        True where query and key have the same number. The numbers need not be in order.

    Raises
    ------
    ValueError
        When a row of blocks has no axis, or leading axes do not broadcast.
    TypeError
        When the numbers of blocks are not whole numbers.

    References
    ----------
    Krell et al. (2021), "Efficient Sequence Packing without Cross-contamination", section 3.2.

    Examples
    --------
    >>> block_mask([0, 0, 1])
    array([[ True,  True, False],
           [ True,  True, False],
           [False, False,  True]])
    """
    query_block = _blocks("query_block", query_block)  # (..., m)
    key_block = query_block if key_block is None else _blocks("key_block", key_block)  # (..., n)
    errors.check_masks([(*query_block.shape, 1), (*key_block.shape[:-1], 1, key_block.shape[-1])])
    return query_block[..., :, None] == key_block[..., None, :]  # (..., m, n)


def combine_masks(*masks):
    """Return the mask that allows what all the given masks allow.

    Parameters
    ----------
    *masks : array_like of bool or None
        Masks that broadcast against each other; None, "no mask", is skipped.

    Returns
    -------
    numpy.ndarray of bool or None
        The *and* of the masks, None if there are none. A union is written ``a | b``.

    Raises
    ------
    ValueError
        When the masks do not broadcast.
    TypeError
        When a mask is not boolean.

    Examples
    --------
    >>> combine_masks([[True, False, True]], None, causal_mask(2, 3))
    array([[ True, False, False],
           [ True, False,  True]])
    """
    masks = [
        boolean_array(f"mask {place}", mask) for place, mask in enumerate(masks) if mask is not None
    ]
    errors.check_masks([mask.shape for mask in masks])
    return functools.reduce(np.logical_and, masks, True) if masks else None  # (..., m, n)


def from_drop_mask(mask):
    """Turn a foreign mask whose True means *drop* into one of ours, whose True means *may attend*.

    Parameters
    ----------
    mask : array_like of bool
        For example the ``key_padding_mask`` or boolean ``attn_mask`` of
        ``torch.nn.MultiheadAttention``.

    Returns
    -------
    numpy.ndarray of bool, shape of mask
        The opposite.

    Raises
    ------
    TypeError
        When the mask is not boolean.

    Examples
    --------
    >>> from_drop_mask([False, False, True])
    array([ True,  True, False])
    """
    return np.logical_not(boolean_array("mask", mask))


def to_additive(mask, dtype):
    """Turn a mask into numbers to add to scores: 0 where it is True, -inf where it is False.

    Parameters
    ----------
    mask : array_like of bool
        True means may attend.
    dtype : dtype
        A float dtype.

    Returns
    -------
    numpy.ndarray, shape of mask
        The additive mask.

    Raises
    ------
    TypeError
        When the mask is not boolean or dtype is no float dtype.

    Examples
    --------
    >>> to_additive([True, False], np.float32)
    array([  0., -inf], dtype=float32)
    """
    mask, dtype = boolean_array("mask", mask), float_dtype(dtype, errors.NO_INFINITY)
    return np.where(mask, 0.0, -np.inf).astype(dtype)


def local_m_mask(m, n, window):
    """Let query i see the keys at most `window` away from key i, counted from the start.

    This is local-m, the monotonic one of Luong's two local forms.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    window : int
        The largest distance.

    Returns
    -------
    numpy.ndarray of bool, shape (m, n)
        True where ``|i - j| <= window``. If m > n + window, late queries see nothing.

    Raises
    ------
    ValueError
        When a size is negative.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Luong, Pham and Manning (2015), "Effective Approaches to Attention-based Neural Machine
    Translation", section 3.2.

    Examples
    --------
    >>> local_m_mask(2, 4, 1)
    array([[ True,  True, False, False],
           [ True,  True,  True, False]])
    """
    window = check_size("window", window)
    query, key = _start_positions(m, n)
    return np.abs(query - key) <= window  # (m, n)


def _blocks(name, blocks):
    """Return the numbers of blocks as an array of integers with at least one axis."""
    blocks = as_array(name, blocks)
    if blocks.size == 0:
        blocks = blocks.astype(int)  # an empty list has no integer dtype of its own
    if blocks.dtype.kind not in "iu":
        errors.refuse_type(name, blocks.dtype, "integers", errors.NOT_BLOCKS)
    errors.check_axes(name, blocks.shape, "(..., length)")
    return blocks


def _start_positions(m, n):
    """Return the positions of queries and keys, both counted from the start."""
    m, n = check_size("m", m), check_size("n", n)
    return np.arange(m)[:, None], np.arange(n)  # (m, 1) and (n,)


def _positions(m, n):
    """Return the positions of queries and keys, the last query at the last key."""
    query, key = _start_positions(m, n)
    return query + (n - m), key  # (m, 1) and (n,)
