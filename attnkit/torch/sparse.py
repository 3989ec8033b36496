"""Sparse attention: near keys, keys in steps, a few global ones, and their union; never a dense mask."""

import torch

from ..errors import broadcast_shape, check_attention, check_key_mask, check_pattern, check_size
from ..tiles import sparse_tiles
from ._tensors import boolean_tensor, floating
from ._tiles import attend_in_tiles

__all__ = ["local_attention", "sparse_attention", "strided_attention"]

_BLOCK = 64  # queries in an inner tile of the band: more would score more hidden keys


@floating("query", "key", "value")
def local_attention(query, key, value, window, *, causal=False, key_mask=None):
    """Attend to the keys at most `window` away: ``2 * window + 1`` with the query's own.

    Time and memory grow with the length times the window, not with the length squared. Query i of
    m stands at position ``i + n - m``.

    Parameters
    ----------
    query : torch.Tensor, shape (..., m, d_k)
        What is looked for.
    key : torch.Tensor, shape (..., n, d_k)
        What can be found.
    value : torch.Tensor, shape (..., n, d_v)
        What is handed out.
    window : int
        The largest distance.
    causal : bool
        Only look back: ``0 <= i - j <= window``, ``window + 1`` keys.
    key_mask : torch.Tensor of bool, shape (..., n), optional
        True where a key may be seen at all. Over split heads a mask ``(B, n)`` goes in as
        ``key_mask[:, None]``.

    Returns
    -------
    torch.Tensor, shape (..., m, d_v)
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

    Notes
    -----
    The derivative of a derivative needs all pairs of queries and keys: memory for m × n numbers a
    head. Of `torch.func`, `grad` works; forward derivatives and `vmap` raise torch's errors.

    References
    ----------
    Beltagy, Peters and Cohan (2020), "Longformer: The Long-Document Transformer", section 3.1.

    Examples
    --------
    >>> query, key, value = torch.zeros(4, 2), torch.ones(4, 2), torch.arange(4.0)[:, None]
    >>> local_attention(query, key, value, 1, causal=True)
    tensor([[0.0000],
            [0.5000],
            [1.5000],
            [2.5000]])
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
    query : torch.Tensor, shape (..., m, d_k)
        What is looked for.
    key : torch.Tensor, shape (..., n, d_k)
        What can be found.
    value : torch.Tensor, shape (..., n, d_v)
        What is handed out.
    stride : int
        The step, at least 1; the lengths need not be multiples of it.
    causal : bool
        Only look back.
    key_mask : torch.Tensor of bool, shape (..., n), optional
        True where a key may be seen at all. Over split heads a mask ``(B, n)`` goes in as
        ``key_mask[:, None]``.

    Returns
    -------
    torch.Tensor, shape (..., m, d_v)
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

    Notes
    -----
    The derivative of a derivative needs all pairs of queries and keys: memory for m × n numbers a
    head. Of `torch.func`, `grad` works; forward derivatives and `vmap` raise torch's errors.

    References
    ----------
    Child et al. (2019), "Generating Long Sequences with Sparse Transformers", section 4.3.

    Examples
    --------
    >>> query, key, value = torch.zeros(4, 2), torch.ones(4, 2), torch.arange(4.0)[:, None]
    >>> strided_attention(query, key, value, 2)
    tensor([[1.],
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
    query : torch.Tensor, shape (..., m, d_k)
        What is looked for; query i stands at position ``i + n - m``.
    key : torch.Tensor, shape (..., n, d_k)
        What can be found.
    value : torch.Tensor, shape (..., n, d_v)
        What is handed out.
    window : int, optional
        Keys at most so far away are seen.
    n_global : int
        The first so many positions are seen by all and see all.
    stride : int, optional
        Keys a multiple of this away are seen.
    causal : bool
        Only look back, global positions too.
    key_mask : torch.Tensor of bool, shape (..., n), optional
        True where a key may be seen at all. Over split heads a mask ``(B, n)`` goes in as
        ``key_mask[:, None]``.

    Returns
    -------
    torch.Tensor, shape (..., m, d_v)
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

    Notes
    -----
    The derivative of a derivative needs all pairs of queries and keys: memory for m × n numbers a
    head. Of `torch.func`, `grad` works; forward derivatives and `vmap` raise torch's errors.

    References
    ----------
    Beltagy, Peters and Cohan (2020), "Longformer: The Long-Document Transformer", section 3.1;
    Child et al. (2019), "Generating Long Sequences with Sparse Transformers", section 4.

    Examples
    --------
    >>> query, key, value = torch.zeros(4, 2), torch.ones(4, 2), torch.arange(4.0)[:, None]
    >>> sparse_attention(query, key, value, window=0, n_global=1)
    tensor([[1.5000],
            [0.5000],
            [1.0000],
            [1.5000]])
    """
    check_attention(query.shape, key.shape, value.shape)
    pattern = check_pattern(window, n_global, stride)
    return _attend(query, key, value, key_mask, causal, **pattern)


def _attend(query, key, value, key_mask, causal, **pattern):
    """Attend along a pattern, in tiles."""
    shape = check_attention(query.shape, key.shape, value.shape)
    m, n = shape[-2:]
    if key_mask is not None:
        key_mask = boolean_tensor("key_mask", key_mask)
        lead = broadcast_shape(shape[:-2], value.shape[:-2])
        check_key_mask(key_mask.shape, lead, n)
        key = torch.where(key_mask[..., None], key, 0)  # padding may hold anything
        value = torch.where(key_mask[..., None], value, 0)
    groups = sparse_tiles(m, n, causal=causal, block=_BLOCK, **pattern)
    given = [pattern.get(name) is not None for name in ("window", "stride")]
    parts = sum(given) + (pattern.get("n_global", 0) > 0)
    return attend_in_tiles(query, key, value, groups, joined=parts > 1, key_mask=key_mask)
