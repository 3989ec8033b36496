"""Masks: who may attend to whom. Boolean, True means may attend, broadcast against (..., m, n).

Query ``i`` of ``m`` stands at position ``i + n - m``, so that the last query meets the last key;
only `local_m_mask` and ``causal_mask(..., align="start")`` count queries from the start.
"""

import functools

import torch

from .. import errors
from ..errors import check_choice, check_size
from ._tensors import boolean_tensor

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
    lengths : torch.Tensor or list of int, shape (B,)
        The number of real keys of each sequence, 0 to n; any leading axes.
    n : int
        The padded length.

    Returns
    -------
    torch.Tensor of bool, shape (B, 1, n)
        True where the key is real. Over split heads write ``padding_mask(lengths, n)[:, None]``.

    Raises
    ------
    ValueError
        When a length is negative or longer than n.
    TypeError
        When lengths are not whole numbers.

    Examples
    --------
    >>> padding_mask(torch.tensor([2, 0]), 3)
    tensor([[[ True,  True, False]],
    <BLANKLINE>
            [[False, False, False]]])
    """
    n = check_size("n", n)
    lengths = torch.as_tensor(lengths)
    if lengths.numel() == 0:
        lengths = lengths.long()  # an empty list has no integer dtype of its own
    if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool:
        errors.refuse_type("lengths", lengths.dtype, "integers", errors.NOT_LENGTHS)
    if torch.any((lengths < 0) | (lengths > n)):
        errors.refuse_lengths(lengths.min().item(), lengths.max().item(), n)
    return torch.arange(n, device=lengths.device) < lengths[..., None, None]  # (B, 1, n)


def causal_mask(m, n, *, align="end", device=None):
    """Let each query see the keys up to its own position: no look into the future.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    align : {"end", "start"}
        "end": query i stands at position ``i + n - m``, as when the first keys come from a cache.
        "start": query i stands at position i.
    device : torch.device, optional
        Where the mask lives.

    Returns
    -------
    torch.Tensor of bool, shape (m, n)
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
    tensor([[ True,  True,  True, False],
            [ True,  True,  True,  True]])
    """
    check_choice("align", align, ("end", "start"))
    query, key = _positions(m, n, device) if align == "end" else _start_positions(m, n, device)
    return key <= query  # (m, n)


def local_mask(m, n, window, *, causal=False, device=None):
    """Let each query see the keys at most `window` away: ``2 * window + 1`` with its own.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    window : int
        The largest distance.
    causal : bool
        Only look back: ``0 <= i - j <= window``, ``window + 1`` keys.
    device : torch.device, optional
        Where the mask lives.

    Returns
    -------
    torch.Tensor of bool, shape (m, n)
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
    tensor([[ True,  True, False],
            [ True,  True,  True],
            [False,  True,  True]])
    """
    window = check_size("window", window)
    query, key = _positions(m, n, device)
    near = (query - key).abs() <= window  # (m, n)
    return near & (key <= query) if causal else near


def strided_mask(m, n, stride, *, causal=False, device=None):
    """Let each query see itself and every `stride`-th key from there, in both directions.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    stride : int
        The step, at least 1.
    causal : bool
        Only look back.
    device : torch.device, optional
        Where the mask lives.

    Returns
    -------
    torch.Tensor of bool, shape (m, n)
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
    tensor([[False,  True, False,  True],
            [ True, False,  True, False],
            [False,  True, False,  True]])
    """
    stride = check_size("stride", stride, minimum=1)
    query, key = _positions(m, n, device)
    in_step = (query - key) % stride == 0  # (m, n)
    return in_step & (key <= query) if causal else in_step


def global_mask(m, n, n_global, *, device=None):
    """Let the first `n_global` positions be seen by all queries, and see all keys.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    n_global : int
        How many positions are global.
    device : torch.device, optional
        Where the mask lives.

    Returns
    -------
    torch.Tensor of bool, shape (m, n)
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
    tensor([[ True,  True,  True],
            [ True, False, False],
            [ True, False, False]])
    """
    n_global = check_size("n_global", n_global)
    query, key = _positions(m, n, device)
    # If m > n, the queries before position 0 are not among the first positions.
    sees_all = (query >= 0) & (query < n_global)  # (m, 1)
    return sees_all | (key < n_global)  # (m, n)


def block_mask(query_block, key_block=None):
    """Let each query see the keys of its own block: several texts in one row, or pieces of one.

    Parameters
    ----------
    query_block : torch.Tensor or list of int, shape (..., m)
        For each query the number of its block.
    key_block : torch.Tensor or list of int, shape (..., n), optional
        For each key the number of its block; query_block when not given, as in self-attention.

    Returns
    -------
    torch.Tensor of bool, shape (..., m, n)
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
    >>> block_mask(torch.tensor([0, 0, 1]))
    tensor([[ True,  True, False],
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
    *masks : torch.Tensor of bool or None
        Masks that broadcast against each other; None, "no mask", is skipped.

    Returns
    -------
    torch.Tensor of bool or None
        The *and* of the masks, None if there are none. A union is written ``a | b``.

    Raises
    ------
    ValueError
        When the masks do not broadcast.
    TypeError
        When a mask is not boolean.

    Examples
    --------
    >>> combine_masks(torch.tensor([[True, False, True]]), None, causal_mask(2, 3))
    tensor([[ True, False, False],
            [ True, False,  True]])
    """
    masks = [
        boolean_tensor(f"mask {place}", mask)
        for place, mask in enumerate(masks)
        if mask is not None
    ]
    errors.check_masks([mask.shape for mask in masks])
    if not masks:
        return None
    return functools.reduce(torch.logical_and, masks, torch.ones_like(masks[0]))  # (..., m, n)


def from_drop_mask(mask):
    """Turn a foreign mask whose True means *drop* into one of ours, whose True means *may attend*.

    Parameters
    ----------
    mask : torch.Tensor of bool
        For example the ``key_padding_mask`` or boolean ``attn_mask`` of
        ``torch.nn.MultiheadAttention``.

    Returns
    -------
    torch.Tensor of bool, shape of mask
        The opposite.

    Raises
    ------
    TypeError
        When the mask is not boolean.

    Examples
    --------
    >>> from_drop_mask(torch.tensor([False, False, True]))
    tensor([ True,  True, False])
    """
    return ~boolean_tensor("mask", mask)


def to_additive(mask, dtype):
    """Turn a mask into numbers to add to scores: 0 where it is True, -inf where it is False.

    Parameters
    ----------
    mask : torch.Tensor of bool
        True means may attend.
    dtype : dtype
        A float dtype.

    Returns
    -------
    torch.Tensor, shape of mask
        The additive mask.

    Raises
    ------
    TypeError
        When the mask is not boolean or dtype is no float dtype.

    Examples
    --------
    >>> to_additive(torch.tensor([True, False]), torch.float32)
    tensor([0., -inf])
    """
    mask = boolean_tensor("mask", mask)
    if not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        errors.refuse_type("dtype", dtype, "a float dtype of torch", errors.NO_INFINITY)
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -torch.inf)


def local_m_mask(m, n, window, *, device=None):
    """Let query i see the keys at most `window` away from key i, counted from the start.

    This is local-m, the monotonic one of Luong's two local forms.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    window : int
        The largest distance.
    device : torch.device, optional
        Where the mask lives.

    Returns
    -------
    torch.Tensor of bool, shape (m, n)
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
    tensor([[ True,  True, False, False],
            [ True,  True,  True, False]])
    """
    window = check_size("window", window)
    query, key = _start_positions(m, n, device)
    return (query - key).abs() <= window  # (m, n)


def _blocks(name, blocks):
    """Return the numbers of blocks as a tensor of integers with at least one axis."""
    blocks = torch.as_tensor(blocks)
    if blocks.numel() == 0:
        blocks = blocks.long()  # an empty list has no integer dtype of its own
    if blocks.is_floating_point() or blocks.is_complex() or blocks.dtype == torch.bool:
        errors.refuse_type(name, blocks.dtype, "integers", errors.NOT_BLOCKS)
    errors.check_axes(name, blocks.shape, "(..., length)")
    return blocks


def _start_positions(m, n, device):
    """Return the positions of queries and keys, both counted from the start."""
    m, n = check_size("m", m), check_size("n", n)
    query = torch.arange(m, device=device)[:, None]  # (m, 1)
    return query, torch.arange(n, device=device)  # (n,)


def _positions(m, n, device):
    """Return the positions of queries and keys, the last query at the last key."""
    query, key = _start_positions(m, n, device)
    return query + (n - m), key  # (m, 1) and (n,)
