"""The fast structure behind chunked and sparse attention: fused tiles, joined by their log-sum-exp.

One call of the fused kernel serves a group of equal tiles (`attnkit.tiles`): windows are views of
the keys, which lie in the batch axis without being copied, under one small mask. Where several
tiles meet a query, their softmaxes are joined by the logarithms of their sums. The backward pass
computes each tile's weights again, so that no more is kept than the inputs, the output and those
logarithms. A backward pass that is to be differentiated itself is written out over all pairs instead.
"""

import torch
from torch.nn import functional

from ..errors import broadcast_shape
from .weights import masked_softmax

MASK_SIZE = 2**22  # entries of the masks that a key mask makes for some windows at a time


def attend_in_tiles(query, key, value, groups, *, joined, mask=None, key_mask=None):
    """Attend to the keys that groups of `attnkit.tiles.Tiles` show.

    Parameters
    ----------
    query, key, value : torch.Tensor
        Shapes ``(..., m, d_k)``, ``(..., n, d_k)`` and ``(..., n, d_v)``, checked, of one float dtype.
    groups : list of Tiles
        What is seen, every pair once.
    joined : bool
        Whether a query may be in several tiles.
    mask : torch.Tensor of bool, optional
        Broadcasts against ``(..., m, n)``; only for groups of one tile.
    key_mask : torch.Tensor of bool, optional
        Shape ``(..., n)``.

    Returns
    -------
    torch.Tensor
        The output ``(..., m, d_v)``.
    """
    (m, d_k), (n, d_v) = query.shape[-2:], value.shape[-2:]
    leads = [tensor.shape[:-2] for tensor in (query, key, value)]
    leads += [] if mask is None else [mask.shape[:-2]]
    lead = broadcast_shape(*leads)
    heads = torch.Size(lead).numel()
    if heads == 0 or m == 0 or n == 0 or d_v == 0:
        return zero_output(query, key, value, lead)
    width = max(d_k, d_v)  # the kernel wants equal widths; zeros change neither scores nor sums
    query, key, value = (
        functional.pad(tensor, (0, width - tensor.shape[-1]))
        if tensor.shape[-1] < width
        else tensor
        for tensor in (query, key, value)
    )
    query, key, value = (
        _last_axis_dense(tensor.expand(*lead, *tensor.shape[-2:]).reshape(heads, -1, width))
        for tensor in (query, key, value)
    )
    scale = max(d_k, 1) ** -0.5
    output, *_ = _Tiled.apply(query, key, value, mask, key_mask, groups, lead, joined, scale)
    return output[..., :d_v].reshape(*lead, m, d_v)


def zero_output(query, key, value, lead):
    """Return the output where there is nothing to see or to show: zeros that are part of the graph."""
    nothing = sum(tensor[..., :0].sum() for tensor in (query, key, value))
    return nothing + query.new_zeros(*lead, query.shape[-2], value.shape[-1])


class _Masks:
    """The groups of tiles, each with the mask of its entries, made when it is asked for."""

    def __init__(self, groups, lead, m, n, mask, key_mask):
        self.groups, self.lead, self.m, self.n = groups, lead, m, n
        self.mask, self.key_mask = mask, key_mask
        if mask is not None:
            self.mask = mask.expand(*mask.shape[:-2], m, n) if mask.dim() > 1 else mask.expand(m, n)
        if key_mask is not None:
            self.key_mask = self._heads(key_mask, 1)  # (heads or 1, n)

    def of(self, device):
        """Yield each group with None or a mask ``(r, c)`` or ``(count or 1, heads or 1, r, c)``."""
        for group in self.groups:
            visible = None
            if group.hides:
                rows = torch.arange(group.queries.size, device=device)[:, None]
                visible = group.visible(rows, torch.arange(group.keys.size, device=device))
            if self.mask is not None:
                (row, _, rows, *_), (column, _, columns, *_) = group.queries, group.keys
                own = self._heads(self.mask[..., row : row + rows, column : column + columns], 2)
                yield group, own[None] if visible is None else own[None] & visible
            elif self.key_mask is not None:
                size = len(self.key_mask) * group.queries.size * group.keys.size
                together = max(MASK_SIZE // size, 1)
                for first in range(0, group.queries.count, together):
                    part = group.part(first, min(first + together, group.queries.count))
                    own = view(self.key_mask[..., None], part.keys).transpose(-1, -2)
                    rows = own.expand(-1, -1, group.queries.size, -1)
                    yield part, rows if visible is None else rows & visible
            else:
                yield group, visible

    def of_all_pairs(self, device):
        """Return the mask of all queries and keys, ``(heads or 1, m, n)``."""
        visible = torch.zeros(1, self.m, self.n, dtype=torch.bool, device=device)
        for group in self.groups:
            rows = torch.arange(group.queries.size, device=device)[:, None]
            shown = group.visible(rows, torch.arange(group.keys.size, device=device))  # (r, c)
            for window in range(group.queries.count):
                visible[:, group.queries.places(window), group.keys.places(window)] |= shown
        if self.mask is not None:
            visible = visible & self._heads(self.mask, 2)
        if self.key_mask is not None:
            visible = visible & self.key_mask[:, None]
        return visible

    def _heads(self, mask, own_axes):
        """Return a mask with its leading axes as one, of size 1 where all heads share it."""
        own = mask.shape[mask.dim() - own_axes :]
        if mask.shape[: mask.dim() - own_axes].numel() == 1:
            return mask.reshape(1, *own)
        return mask.expand(*self.lead, *own).reshape(-1, *own)


class _Tiled(torch.autograd.Function):
    """Attention over tiles, forward and backward, on tensors (heads, length, width).

    Why it is fast: one call computes all windows of a group, views that copy no key, with one mask
    for them all; their scores stay in the kernel's cache and are computed again on the way back,
    instead of being written to memory and read.
    """

    @staticmethod
    def forward(query, key, value, mask, key_mask, groups, lead, joined, scale):
        masks = _Masks(groups, lead, query.shape[1], key.shape[1], mask, key_mask)
        output = query.new_zeros(query.shape)
        logs = query.new_full(query.shape[:2], -torch.inf) if joined else None  # (heads, m)
        parts = []
        for group, visible in masks.of(query.device):
            bias, empty = _bias(visible, query.dtype)
            of_tile, log = _attend(
                view(query, group.queries),
                view(key, group.keys),
                view(value, group.keys),
                bias,
                scale,
                joined,
            )  # (count, heads, r, width) and (count, heads, r)
            if empty is not None:
                of_tile = of_tile.masked_fill(empty, 0)
            if not joined:
                view(output, group.queries).copy_(of_tile)
                continue
            if empty is not None:
                log = log.masked_fill(empty[..., 0], -torch.inf)
            _join(view(output, group.queries), view(logs[..., None], group.queries), of_tile, log)
            parts.append(log)
        return output, *([logs, *parts] if joined else [])

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        *tensors, ctx.groups, ctx.lead, ctx.joined, ctx.scale = inputs
        ctx.save_for_backward(*tensors, *outputs)
        ctx.mark_non_differentiable(*outputs[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, of_output, *_):
        if of_output is None:  # nothing depends on the output
            return (None,) * 9
        query, key, value, mask, key_mask, output, *logs = ctx.saved_tensors
        masks = _Masks(ctx.groups, ctx.lead, query.shape[1], key.shape[1], mask, key_mask)
        if torch.is_grad_enabled():  # somebody wants the derivative of what follows
            visible = masks.of_all_pairs(query.device)
            gradients = _gradients(query, key, value, of_output, visible, ctx.scale)
            return *gradients, *[None] * 6
        of_output = _last_axis_dense(of_output)
        of_query, of_key, of_value = map(torch.zeros_like, (query, key, value))
        mean = (of_output * output).sum(-1, keepdim=True)  # (heads, m, 1), for softmax's derivative
        for place, (group, visible) in enumerate(masks.of(query.device)):
            bias, empty = _bias(visible, query.dtype)
            share = None
            if ctx.joined:  # the tile's part of all the weight of a query
                share = (logs[1 + place] - view(logs[0][..., None], group.queries)[..., 0]).exp()
                share = share.nan_to_num(nan=0.0)[..., None]
            elif empty is not None:
                share = (~empty).to(query.dtype)
            rows = [view(tensor, group.queries) for tensor in (query, of_output, mean, of_query)]
            keys = [view(tensor, group.keys) for tensor in (key, value, of_key, of_value)]
            for window in range(group.queries.count):
                _backward_of_tile(
                    *(tensor[window] for tensor in (*rows, *keys)),
                    _pick(bias, window),
                    _pick(share, window),
                    ctx.scale,
                )
        return of_query, of_key, of_value, *[None] * 6


def _gradients(query, key, value, of_output, visible, scale):
    """Return the gradients of query, key and value, in operations that have derivatives of their own."""
    weights = masked_softmax(query @ key.mT * scale, visible)  # (heads, m, n)
    of_weights = of_output @ value.mT  # (heads, m, n)
    mean = (of_weights * weights).sum(-1, keepdim=True)  # (heads, m, 1)
    of_scores = weights * (of_weights - mean) * scale  # (heads, m, n)
    return of_scores @ key, of_scores.mT @ query, weights.mT @ of_output


def _backward_of_tile(q, of_out, mean, of_q, k, v, of_k, of_v, bias, share, scale):
    """Add a tile's part of the gradients to `of_q`, `of_k` and `of_v`; all are (heads, length, width).

    Why it is fast: a tile's scores stay in cache, softmax is the fused one, and the products add
    into the gradients in place.
    """
    if bias is None:
        weights = torch.softmax(torch.bmm(q * scale, k.mT), -1)  # (heads, r, c)
    else:
        weights = torch.softmax(torch.baddbmm(bias, q, k.mT, alpha=scale), -1)
    if share is not None:
        weights *= share
    of_v.baddbmm_(weights.mT, of_out)
    of_scores = torch.bmm(of_out, v.mT).sub_(mean).mul_(weights)  # (heads, r, c)
    of_q.baddbmm_(of_scores, k, alpha=scale)
    of_k.baddbmm_(of_scores.mT, q, alpha=scale)


def _attend(query, key, value, bias, scale, with_log):
    """Return the output of tiles and, if asked for, the logarithm of the sum of exponentials."""
    if not with_log:
        return functional.scaled_dot_product_attention(query, key, value, bias, scale=scale), None
    if query.device.type == "cpu":
        # The public function keeps this logarithm to itself.
        return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, attn_mask=bias, scale=scale
        )
    return _attend_unfused(query, key, value, bias, scale)


def _attend_unfused(query, key, value, bias, scale):
    """Return the same where the kernel is not to be had: on other devices than the processor."""
    scores = query @ key.mT * scale  # (count, heads, r, c)
    scores = scores if bias is None else scores + bias
    log = scores.logsumexp(-1)  # (count, heads, r)
    return (scores - log[..., None]).exp() @ value, log


def _join(output, logs, of_tile, log):
    """Bring output and logarithms up to date, in place, with those of further keys."""
    before = logs[..., 0]  # (count, heads, r)
    share = torch.sigmoid(log - before).nan_to_num(nan=0.0)  # NaN where neither has seen a key
    output.lerp_(of_tile, share[..., None])
    before.copy_(torch.logaddexp(before, log))


def _bias(visible, dtype):
    """Return a mask as numbers to add, and which rows it leaves empty; None where there are none.

    An empty row is opened, so that no kernel meets it, and its result is thrown away.
    """
    if visible is None:
        return None, None
    empty = ~visible.any(-1, keepdim=True)  # (..., r, 1)
    bias = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    bias.masked_fill_(~(visible | empty), -torch.inf)
    return bias, empty if empty.any() else None


def _pick(tensor, window):
    """Return what belongs to one window: (r, c) is for all, (count or 1, heads or 1, r, c) is not."""
    if tensor is None or tensor.dim() == 2:
        return tensor
    return tensor[window] if len(tensor) > 1 else tensor[0]


def view(tensor, windows):
    """Return windows (count, heads, size, width) on a tensor (heads, length, width), without a copy."""
    of_head, row, item = tensor.stride()
    return tensor.as_strided(
        (windows.count, len(tensor), windows.size, tensor.shape[-1]),
        (windows.hop * row, of_head, windows.step * row, item),
        tensor.storage_offset() + windows.start * row,
    )


def _last_axis_dense(tensor):
    """Return the tensor, copied if its rows are not laid out as kernels need them."""
    return tensor if tensor.stride(-1) == 1 and tensor.stride(-2) else tensor.contiguous()
