"""Exact attention without the matrix of scores: keys in chunks, joined by a running softmax."""

import numpy as np

from ..errors import check_attention, check_size
from ._arrays import as_mask, floating
from ._tiles import TILE, dense_tiles
from .attention import attend
from .masks import causal_mask, combine_masks
from .scores import scaled_dot_scores

__all__ = ["chunked_attention"]


@floating("query", "key", "value")
def chunked_attention(query, key, value, mask=None, *, causal=False, chunk=1024):
    """Attend with scaled dot-product scores, never holding more than a tile of them.

    The result is that of `scaled_dot_product_attention`; the memory beside it does not grow with the
    number of queries or keys. Each chunk of keys brings the scores' maximum, the sum of exponentials
    and the weighted sum of values up to date.

    Parameters
    ----------
    query : array_like, shape (..., m, d_k)
        What is looked for.
    key : array_like, shape (..., n, d_k)
        What can be found.
    value : array_like, shape (..., n, d_v)
        What is handed out.
    mask : array_like of bool, optional
        True means may attend; broadcasts against ``(..., m, n)``.
    causal : bool
        Besides, let query i see only keys up to ``i + n - m``.
    chunk : int
        How many keys are scored at a time; n need not be a multiple of it.

    Returns
    -------
    numpy.ndarray, shape (..., m, d_v)
        The weighted sums, in the widest float dtype given; 0 where a query has nothing to attend
        to.

    Raises
    ------
    ValueError
        When query and key differ in width, key and value in length, shapes do not broadcast, or
        chunk is below 1.
    TypeError
        When mask is not boolean, chunk is no whole number, or an argument is complex or holds no
        numbers.

    Notes
    -----
    Inputs with NaN, infinity or numbers so large that a score overflows are computed row by row
    with the plain formula: as exact, slower, and the rows of scores are as long as the keys.

    References
    ----------
    Milakov and Gimelshein (2018), "Online normalizer calculation for softmax", section 3;
    Rabe and Staats (2021), "Self-attention Does Not Need O(n²) Memory", section 2.

    Examples
    --------
    >>> query, key, value = np.zeros((2, 4)), np.ones((5, 4)), np.arange(5.0)[:, None]
    >>> chunked_attention(query, key, value, causal=True, chunk=2)
    array([[1.5],
           [2. ]])
    """
    shape = check_attention(query.shape, key.shape, value.shape)
    mask = as_mask(mask, shape)
    chunk = check_size("chunk", chunk, minimum=1)
    output = dense_tiles(query, key, value, mask, causal=causal, chunk=chunk)
    if output is None and mask is not None:  # it may be padding that is not finite
        key, value = _hide_unseen(key, mask), _hide_unseen(value, mask)
        output = dense_tiles(query, key, value, mask, causal=causal, chunk=chunk)
    return _careful(query, key, value, mask, causal) if output is None else output


def _hide_unseen(array, mask):
    """Return keys or values with 0 where the mask lets no query look."""
    seen = mask.any(-2) if mask.ndim > 1 else mask  # (..., n)
    return np.where(seen[..., None], array, 0)  # (..., n, width)


def _careful(query, key, value, mask, causal):
    """Attend with the plain formula, some rows at a time."""
    m, n = query.shape[-2], key.shape[-2]
    rows = max(TILE // max(n, 1), 1)
    parts = []
    for row in range(0, m, rows):
        end = min(row + rows, m)
        seen = (
            mask if mask is None or mask.ndim < 2 or mask.shape[-2] == 1 else mask[..., row:end, :]
        )
        if causal:  # the last of these queries stands at end + n - m - 1
            ahead = (
                causal_mask(end - row, end + n - m)
                if end + n > m
                else np.zeros((end - row, 0), bool)
            )
            later = np.zeros((end - row, n - ahead.shape[-1]), bool)
            seen = combine_masks(seen, np.concatenate([ahead, later], -1))
        parts.append(attend(scaled_dot_scores(query[..., row:end, :], key), value, seen))
    return np.concatenate(parts, -2)
