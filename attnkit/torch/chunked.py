"""Exact attention without the matrix of scores: keys in chunks, joined by a running softmax."""

import torch

from ..errors import check_attention, check_size
from ..tiles import chunk_tiles
from ._tensors import as_mask, floating
from ._tiles import attend_in_tiles
from .masks import causal_mask, combine_masks

__all__ = ["chunked_attention"]


@floating("query", "key", "value")
def chunked_attention(query, key, value, mask=None, *, causal=False, chunk=1024):
    """Attend with scaled dot-product scores, never holding more than a tile of them.

    The result is that of `scaled_dot_product_attention`; the memory beside it does not grow with the
    number of queries or keys. Each chunk of keys brings the scores' maximum, the sum of exponentials
    and the weighted sum of values up to date.

    Parameters
    ----------
    query : torch.Tensor, shape (..., m, d_k)
        What is looked for.
    key : torch.Tensor, shape (..., n, d_k)
        What can be found.
    value : torch.Tensor, shape (..., n, d_v)
        What is handed out.
    mask : torch.Tensor of bool, optional
        True means may attend; broadcasts against ``(..., m, n)``.
    causal : bool
        Besides, let query i see only keys up to ``i + n - m``.
    chunk : int
        How many keys are scored at a time; n need not be a multiple of it.

    Returns
    -------
    torch.Tensor, shape (..., m, d_v)
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
    The derivative of a derivative needs all pairs of queries and keys: memory for m × n numbers a
    head. Of `torch.func`, `grad` works; forward derivatives and `vmap` raise torch's errors.

    References
    ----------
    Milakov and Gimelshein (2018), "Online normalizer calculation for softmax", section 3;
    Rabe and Staats (2021), "Self-attention Does Not Need O(n²) Memory", section 2.

    Examples
    --------
    >>> query, key, value = torch.zeros(2, 4), torch.ones(5, 4), torch.arange(5.0)[:, None]
    >>> chunked_attention(query, key, value, causal=True, chunk=2)
    tensor([[1.5000],
            [2.0000]])
    """
    shape = check_attention(query.shape, key.shape, value.shape)
    mask = as_mask(mask, shape)
    chunk = check_size("chunk", chunk, minimum=1)
    m, n = shape[-2:]
    if mask is not None:
        key, value = _hide_unseen(key, mask, causal), _hide_unseen(value, mask, causal)
    groups = chunk_tiles(m, n, chunk, causal=causal, together=mask is None)
    return attend_in_tiles(query, key, value, groups, joined=n > chunk, mask=mask)


def _hide_unseen(tensor, mask, causal):
    """Return keys or values with 0 where no query may look, so that a NaN there reaches nothing."""
    if mask.dim() > 1:
        if causal and mask.shape[-2] > 1:
            mask = combine_masks(
                mask, causal_mask(mask.shape[-2], tensor.shape[-2], device=mask.device)
            )
        mask = mask.any(-2)  # (..., n)
    return torch.where(mask[..., None], tensor, 0)  # (..., n, width)
