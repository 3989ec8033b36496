"""Sparse attention: near keys, keys in steps, a few global ones, and their union; never a dense mask."""

import numpy as np

from ..errors import broadcast_shape, check_attention, check_key_mask, check_pattern, check_size
from ..tiles import sparse_tiles, visible_keys
from ._arrays import boolean_array, floating
from ._tiles import sparse_in_tiles
from .attention import scaled_dot_product_attention

__all__ = ["local_attention", "sparse_attention", "strided_attention"]

_BLOCK = 64  # queries in an inner tile of the band: more would score more hidden keys


@floating("query", "key", "value")
def local_attention(query, key, value, window, *, causal=False, key_mask=None):
    """Attend to the keys at most `window` away: ``2 * window + 1`` with the query's own.

    Time and memory grow with the length times the window, not with the length squared. Query i of
    m stands at position ``i + n - m``.

    Parameters
    ----------
    query : array_like, shape (..., m, d_k)
        What is looked for.
    key : array_like, shape (..., n, d_k)
        What can be found.
    value : array_like, shape (..., n, d_v)
        What is handed out.
    window : int
        The largest distance.
    causal : bool
        Only look back: ``0 <= i - j <= window``, ``window + 1`` keys.
    key_mask : array_like of bool, shape (..., n), optional
        True where a key may be seen at all. Over split heads a mask ``(B, n)`` goes in as
        ``key_mask[:, None]``.

    Returns
    -------
    numpy.ndarray, shape (..., m, d_v)
        The weighted sums, in the widest float dtype given; 0 where a query has nothing to attend
        to.

    Raises
    ------
    ValueError
        When query and key differ in width, key and value in length, shapes do not broadcast, or
        window is negative.
    TypeError
        When key_mask is not boolean, window is no whole number, or an argument is complex or holds
        no numbers.

    References
    ----------
    Beltagy, Peters and Cohan (2020), "Longformer: The Long-Document Transformer", section 3.1.

    Examples
    --------
    >>> query, key, value = np.zeros((4, 2)), np.ones((4, 2)), np.arange(4.0)[:, None]
    >>> local_attention(query, key, value, 1, causal=True)
    array([[0. ],
           [0.5],
           [1.5],
           [2.5]])
    """
    check_attention(query.shape, key.shape, value.shape)
    window = check_size("window", window)
    return _attend(query, key, value, key_mask, causal, window=window)


@floating("query", "key", "value")
def strided_attention(query, key, value, stride, *, causal=False, key_mask=None):
    """Attend to the query's own position and every `stride`-th one from there.

    Time grows with the length squared over the stride. Query i of m stands at position
    ``i + n - m``.

    Parameters
    ----------
    query : array_like, shape (..., m, d_k)
        What is looked for.
    key : array_like, shape (..., n, d_k)
        What can be found.
    value : array_like, shape (..., n, d_v)
        What is handed out.
    stride : int
        The step, at least 1; the lengths need not be multiples of it.
    causal : bool
        Only look back.
    key_mask : array_like of bool, shape (..., n), optional
        True where a key may be seen at all. Over split heads a mask ``(B, n)`` goes in as
        ``key_mask[:, None]``.

    Returns
    -------
    numpy.ndarray, shape (..., m, d_v)
        The weighted sums, in the widest float dtype given; 0 where a query has nothing to attend
        to.

    Raises
    ------
    ValueError
        When query and key differ in width, key and value in length, shapes do not broadcast, or
        stride is below 1.
    TypeError
        When key_mask is not boolean, stride is no whole number, or an argument is complex or holds
        no numbers.

    References
    ----------
    Child et al. (2019), "Generating Long Sequences with Sparse Transformers", section 4.3.

    Examples
    --------
    >>> query, key, value = np.zeros((4, 2)), np.ones((4, 2)), np.arange(4.0)[:, None]
    >>> strided_attention(query, key, value, 2)
    array([[1.],
           [2.],
           [1.],
           [2.]])
    """
    check_attention(query.shape, key.shape, value.shape)
    stride = check_size("stride", stride, minimum=1)
    return _attend(query, key, value, key_mask, causal, stride=stride)


@floating("query", "key", "value")
def sparse_attention(
    query, key, value, *, window=None, n_global=0, stride=None, causal=False, key_mask=None
):
    """Attend to the union of a window, some global positions and a stride; each key counts once.

    Parameters
    ----------
    query : array_like, shape (..., m, d_k)
        What is looked for; query i stands at position ``i + n - m``.
    key : array_like, shape (..., n, d_k)
        What can be found.
    value : array_like, shape (..., n, d_v)
        What is handed out.
    window : int, optional
        Keys at most so far away are seen.
    n_global : int
        The first so many positions are seen by all and see all.
    stride : int, optional
        Keys a multiple of this away are seen.
    causal : bool
        Only look back, global positions too.
    key_mask : array_like of bool, shape (..., n), optional
        True where a key may be seen at all. Over split heads a mask ``(B, n)`` goes in as
        ``key_mask[:, None]``.

    Returns
    -------
    numpy.ndarray, shape (..., m, d_v)
        The weighted sums, in the widest float dtype given; 0 where a query has nothing to attend
        to.

    Raises
    ------
    ValueError
        When query and key differ in width, key and value in length, shapes do not broadcast, a size
        is too small, or no part of the pattern is given.
    TypeError
        When key_mask is not boolean, a size is no whole number, or an argument is complex or holds
        no numbers.

    References
    ----------
    Beltagy, Peters and Cohan (2020), "Longformer: The Long-Document Transformer", section 3.1;
    Child et al. (2019), "Generating Long Sequences with Sparse Transformers", section 4.

    Examples
    --------
    >>> query, key, value = np.zeros((4, 2)), np.ones((4, 2)), np.arange(4.0)[:, None]
    >>> sparse_attention(query, key, value, window=0, n_global=1)
    array([[1.5],
           [0.5],
           [1. ],
           [1.5]])
    """
    check_attention(query.shape, key.shape, value.shape)
    pattern = check_pattern(window, n_global, stride)
    return _attend(query, key, value, key_mask, causal, **pattern)


def _attend(query, key, value, key_mask, causal, **pattern):
    """Attend along a pattern: in tiles, or one query at a time where a number is not finite."""
    shape = check_attention(query.shape, key.shape, value.shape)
    m, n = shape[-2:]
    if key_mask is not None:
        key_mask = boolean_array("key_mask", key_mask)
        lead = broadcast_shape(shape[:-2], value.shape[:-2])
        check_key_mask(key_mask.shape, lead, n)
        key = np.where(key_mask[..., None], key, 0)  # padding may hold anything
        value = np.where(key_mask[..., None], value, 0)
    groups = sparse_tiles(m, n, causal=causal, block=_BLOCK, **pattern)
    scale = query.dtype.type(max(query.shape[-1], 1) ** -0.5)
    output = sparse_in_tiles(query, key, value, groups, key_mask, scale)
    if output is not None:
        return output
    return _one_query_at_a_time(query, key, value, key_mask, causal, **pattern)


def _one_query_at_a_time(query, key, value, key_mask, causal, **pattern):
    """Attend along a pattern as it is defined: each query looks at the keys it sees and no others."""
    m, n = query.shape[-2], key.shape[-2]
    outputs = []
    for i in range(m):
        seen = visible_keys(i, m, n, causal=causal, **pattern)
        mask = None if key_mask is None else key_mask[..., None, seen]  # (..., 1, seen)
        row = scaled_dot_product_attention(
            query[..., i : i + 1, :], key[..., seen, :], value[..., seen, :], mask
        )
        outputs.append(row)
    return np.concatenate(outputs, -2)  # (..., m, d_v)
