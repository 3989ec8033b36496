"""Multi-head attention: project, split into heads, attend in each, merge, project.

`multi_head_attention` is the formula; the module `MultiHeadAttention` holds the parameters, joins
what can be one product, and hands over to torch's fused kernel where nobody asks for the weights.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .. import errors
from ..errors import (
    broadcast_shape,
    check_axes,
    check_heads,
    check_multi_head,
    check_probability,
    check_sequences,
)
from ._parameters import as_heads_mask, as_input, floating_layer, shapes_of
from ._tensors import floating
from .attention import _weighted_sum, scaled_dot_product_attention
from .cache import KVCache
from .masks import causal_mask, combine_masks

__all__ = ["MultiHeadAttention", "merge_heads", "multi_head_attention", "split_heads"]


@floating("x")
def split_heads(x, n_heads):
    """Cut the width into heads and put the heads before the length.

    Parameters
    ----------
    x : torch.Tensor, shape (..., n, d_model)
        Embeddings. The first ``d_model / n_heads`` columns are the first head's.
    n_heads : int
        The number of heads.

    Returns
    -------
    torch.Tensor, shape (..., n_heads, n, d_model / n_heads)
        The same numbers (a view of x where no dtype changes); `merge_heads` is the way back.

    Raises
    ------
    ValueError
        When n_heads does not divide the width, or an axis is missing.
    TypeError
        When n_heads is not a whole number, or x is complex or holds no numbers.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.2.

    Examples
    --------
    >>> split_heads(torch.arange(8).reshape(2, 4), 2)
    tensor([[[0., 1.],
             [4., 5.]],
    <BLANKLINE>
            [[2., 3.],
             [6., 7.]]])
    """
    check_axes("x", x.shape, "(..., n, d_model)")
    width, n_heads, _ = check_heads(x.shape[-1], n_heads, name="the width of x")
    heads = x.reshape(*x.shape[:-1], n_heads, width // n_heads)  # (..., n, n_heads, d_head)
    return heads.transpose(-3, -2)  # (..., n_heads, n, d_head)


@floating("x")
def merge_heads(x):
    """Put the heads side by side again: the way back from `split_heads`.

    Parameters
    ----------
    x : torch.Tensor, shape (..., n_heads, n, d_head)
        One result for each head.

    Returns
    -------
    torch.Tensor, shape (..., n, n_heads * d_head)
        The first ``d_head`` columns are the first head's.

    Raises
    ------
    ValueError
        When an axis is missing.
    TypeError
        When x is complex or holds no numbers.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.2.

    Examples
    --------
    >>> merge_heads(torch.tensor([[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0], [6.0, 7.0]]]))
    tensor([[0., 1., 2., 3.],
            [4., 5., 6., 7.]])
    """
    check_axes("x", x.shape, "(..., n_heads, n, d_head)")
    heads = x.transpose(-3, -2)  # (..., n, n_heads, d_head)
    return heads.reshape(*heads.shape[:-2], heads.shape[-2] * heads.shape[-1])


@floating_layer("query", "key", "value", "bias")
def multi_head_attention(
    query,
    key=None,
    value=None,
    mask=None,
    *,
    parameters,
    n_heads,
    n_kv_heads=None,
    causal=False,
    bias=None,
    return_weights=False,
):
    """Attend several times at once, each time between projections of its own.

    Parameters
    ----------
    query : torch.Tensor, shape (..., m, d_query)
        What looks.
    key : torch.Tensor, shape (..., n, d_key), optional
        What is looked at; query itself when not given (self-attention).
    value : torch.Tensor, shape (..., n, d_value), optional
        What is handed out; key when not given.
    mask : torch.Tensor of bool, optional
        True means may attend; broadcasts against ``(..., m, n)`` *without* a heads axis, which is
        inserted. A mask with one axis more than query is one for each head.
    parameters : mapping of str to torch.Tensor
        ``w_query (d_query, n_heads * d_head)``, ``w_key (d_key, n_kv_heads * d_head)``,
        ``w_value (d_value, n_kv_heads * d_v)``, ``w_output (n_heads * d_v, d_out)``, and, as far as
        there are any, their biases ``b_query``, ``b_key``, ``b_value``, ``b_output``.
    n_heads : int
        Heads of queries.
    n_kv_heads : int, optional
        Heads of keys and values, each shared by ``n_heads / n_kv_heads`` neighbouring heads of
        queries; n_heads when not given.
    causal : bool
        Besides, let query i see only keys up to ``i + n - m``.
    bias : torch.Tensor, optional
        Added to the scaled scores of each head; broadcasts against ``(..., n_heads, m, n)``.
    return_weights : bool
        Return the weights of each head too.

    Returns
    -------
    output : torch.Tensor, shape (..., m, d_out)
        In the widest float dtype given. Where a query has nothing to attend to: ``b_output``.
    weights : torch.Tensor, shape (..., n_heads, m, n)
        Only with ``return_weights=True``.

    Raises
    ------
    ValueError
        When n_heads or n_kv_heads does not divide what it should, a parameter is missing, unknown
        or of the wrong shape, or shapes do not broadcast.
    TypeError
        When mask is not boolean, parameters is no mapping, or an argument is complex.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.2; Ainslie et al. (2023), "GQA:
    Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints", section 2.

    Examples
    --------
    >>> parameters = {f"w_{name}": torch.eye(4) for name in ("query", "key", "value", "output")}
    >>> multi_head_attention(torch.eye(4)[:2], parameters=parameters, n_heads=2, causal=True)
    tensor([[1.0000, 0.0000, 0.0000, 0.0000],
            [0.3302, 0.6698, 0.0000, 0.0000]])
    """
    key = query if key is None else key
    value = key if value is None else value
    n_heads, n_kv_heads = check_multi_head(
        query.shape, key.shape, value.shape, shapes_of(parameters), n_heads, n_kv_heads
    )
    lead = broadcast_shape(query.shape[:-2], key.shape[:-2])
    mask = as_heads_mask(mask, query.dim(), (*lead, n_heads, query.shape[-2], key.shape[-2]))
    if mask is not None:
        # What nobody may see is silenced before it meets a weight: no NaN reaches a gradient.
        seen = _seen_by_any_head(mask)
        key, value = _hide(key, seen), _hide(value, seen)
    q = split_heads(_project(query, parameters, "query"), n_heads)  # (..., n_heads, m, d_head)
    k = split_heads(_project(key, parameters, "key"), n_kv_heads)  # (..., n_kv_heads, n, d_head)
    v = split_heads(_project(value, parameters, "value"), n_kv_heads)  # (..., n_kv_heads, n, d_v)
    k, v = (x.repeat_interleave(n_heads // n_kv_heads, -3) for x in (k, v))  # (..., n_heads, n, ·)
    context, weights = scaled_dot_product_attention(
        q, k, v, mask, causal=causal, bias=bias, return_weights=True
    )  # (..., n_heads, m, d_v) and (..., n_heads, m, n)
    output = _project(merge_heads(context), parameters, "output")  # (..., m, d_out)
    return (output, weights) if return_weights else output


class MultiHeadAttention(nn.Module):
    """Attend several times at once, each time between learned projections.

    Self-attention makes queries, keys and values in one product. Where the weights are not asked
    for, torch's fused kernel does the rest.

    Parameters
    ----------
    d_model : int
        The width of what goes in and comes out.
    n_heads : int
        Heads of queries.
    n_kv_heads : int, optional
        Heads of keys and values, each shared by ``n_heads / n_kv_heads`` neighbouring heads of
        queries; n_heads when not given.
    bias : bool
        Whether projections add a bias.
    dropout : float
        The share of the weights that is dropped, in training only.
    positions : HeadPositions, optional
        A scheme of positions, such as `RotaryPositions` or `AlibiPositions`.

    Attributes
    ----------
    w_input : torch.nn.Parameter, shape (d_model, (n_heads + 2 * n_kv_heads) * d_head)
        The projections to queries, keys and values, side by side.
    w_output : torch.nn.Parameter, shape (d_model, d_model)
        The projection of the merged heads.
    b_input, b_output : torch.nn.Parameter or None
        Their biases, zeros at first.

    Raises
    ------
    ValueError
        When n_heads does not divide d_model, n_kv_heads not n_heads, or dropout is no share.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.2; Ainslie et al. (2023), "GQA:
    Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints", section 2.

    Examples
    --------
    >>> attention = MultiHeadAttention(8, 4, n_kv_heads=2)
    >>> output, weights = attention(torch.ones(3, 5, 8), causal=True, return_weights=True)
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 4, 5, 5]))
    """

    def __init__(
        self, d_model, n_heads, *, n_kv_heads=None, bias=True, dropout=0.0, positions=None
    ):
        super().__init__()
        self.d_model, self.n_heads, self.n_kv_heads = check_heads(d_model, n_heads, n_kv_heads)
        self.d_head = self.d_model // self.n_heads
        self.dropout = check_probability("dropout", dropout)
        if positions is not None:
            expected = "a scheme of positions"
            errors.check_kind("positions", positions, "turn", expected, errors.NOT_A_SCHEME)
        self.positions = positions
        d_input = self.d_model + 2 * self.n_kv_heads * self.d_head
        self.w_input = nn.Parameter(torch.empty(self.d_model, d_input))
        self.w_output = nn.Parameter(torch.empty(self.d_model, self.d_model))
        self.b_input = nn.Parameter(torch.zeros(d_input)) if bias else None
        self.b_output = nn.Parameter(torch.zeros(self.d_model)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Draw each projection anew (Glorot and Bengio, 2010) and set biases to zero."""
        with torch.no_grad():
            for weight in (*self.w_input.split(self._widths(), 1), self.w_output):
                bound = (6 / max(sum(weight.shape), 1)) ** 0.5
                weight.uniform_(-bound, bound)
            if self.b_input is not None:
                self.b_input.zero_()
                self.b_output.zero_()

    def extra_repr(self):
        """What is printed between the brackets."""
        return (
            f"{self.d_model}, {self.n_heads}, n_kv_heads={self.n_kv_heads}, "
            f"bias={self.b_input is not None}, dropout={self.dropout}"
        )

    def forward(
        self,
        query,
        key=None,
        value=None,
        mask=None,
        *,
        causal=False,
        return_weights=False,
        cache=None,
    ):
        """Attend.

        Parameters
        ----------
        query : torch.Tensor, shape (..., m, d_model)
            What looks.
        key : torch.Tensor, shape (..., n, d_model), optional
            What is looked at; query itself when not given (self-attention).
        value : torch.Tensor, shape (..., n, d_model), optional
            What is handed out; key when not given.
        mask : torch.Tensor of bool, optional
            True means may attend; broadcasts against ``(..., m, n)`` *without* a heads axis, which
            is inserted. A mask with one axis more than query is one for each head. With a cache n
            counts what is stored, too.
        causal : bool
            Besides, let query i see only keys up to ``i + n - m``.
        return_weights : bool
            Return the weights of each head too.
        cache : KVCache, optional
            The keys and values of this call are appended to it, and all that it then holds are
            attended to. Needs ``(batch, length, d_model)`` and ``torch.no_grad()``.

        Returns
        -------
        output : torch.Tensor, shape (..., m, d_model)
            In the wider dtype of inputs and parameters. Where a query has nothing to attend to:
            ``b_output``.
        weights : torch.Tensor, shape (..., n_heads, m, n)
            Only with ``return_weights=True``; those that made the output, so after dropout.

        Raises
        ------
        ValueError
            When a width is not d_model, lengths or leading axes do not fit, mask does not
            broadcast, or the cache does not fit or is full.
        TypeError
            When mask is not boolean, or an argument is complex or no tensor.
        """
        if key is value is mask is None and not return_weights and type(cache) is KVCache:
            # A cache of another kind may store in its own way.
            output = self._step(query, cache)
            if output is not None:
                return output
        joined = (key is None or key is query) and (value is None or value is query)
        key = query if key is None else key
        value = key if value is None else value
        shared = value is key
        query = self._input("query", query)
        key = query if joined else self._input("key", key)
        value = key if shared else self._input("value", value)
        shape = query.shape
        key_shape = shape if joined else key.shape
        check_sequences(shape, key_shape, shape if joined else value.shape, self.d_model)
        stored = 0 if cache is None else _length_of(cache)
        m, n = shape[-2], stored + key_shape[-2]
        lead = shape[:-2] if joined else broadcast_shape(shape[:-2], key_shape[:-2])
        mask, causal = _full_mask(mask, causal, query, (*lead, self.n_heads, m, n))
        if joined:
            q, k, v = self._project(query, 0, 3)  # (..., heads, length, d_head) each
        else:
            if cache is None and mask is not None:
                # Padding of another sequence is silenced before it meets a weight, so that a NaN
                # there reaches no gradient either. What is stored may be seen by later calls.
                seen = _seen_by_any_head(mask)
                key, value = _hide(key, seen), None if shared else _hide(value, seen)
            (q,) = self._project(query, 0, 1)
            if shared:
                k, v = self._project(key, 1, 3)
            else:
                (k,), (v,) = self._project(key, 1, 2), self._project(value, 2, 3)
        if self.positions is not None:
            q, k = self.positions.turn(q, n - m), self.positions.turn(k, stored)
        if cache is None:
            return self._look_up(q, k, v, mask, causal, return_weights)
        cache.append(k, v)
        k, v = cache.key, cache.value
        try:
            return self._look_up(q, k, v, mask, causal, return_weights)
        except BaseException:  # out of memory, or interrupted, as well
            cache._length = stored  # the next call would meet half a step
            raise

    def store(self, key, value=None, *, cache):
        """Append the keys and values of a sequence to a cache, for `read`.

        Parameters
        ----------
        key : torch.Tensor, shape (batch, n, d_model)
            What will be looked at.
        value : torch.Tensor, shape (batch, n, d_model), optional
            What will be handed out; key when not given.
        cache : KVCache
            See `new_cache`.

        Raises
        ------
        ValueError
            When a shape does not fit or the cache is full.
        """
        start = _length_of(cache)
        key = self._input("key", key)
        value = key if value is None else self._input("value", value)
        check_sequences(key.shape, key.shape, value.shape, self.d_model)
        if value is key:
            k, v = self._project(key, 1, 3)
        else:
            (k,), (v,) = self._project(key, 1, 2), self._project(value, 2, 3)
        if self.positions is not None:
            k = self.positions.turn(k, start)
        cache.append(k, v)

    def read(self, query, cache, mask=None, *, return_weights=False):
        """Attend to what a cache holds and leave it as it is.

        This is how a decoder looks at its source again and again without projecting it again.

        Parameters
        ----------
        query : torch.Tensor, shape (batch, m, d_model)
            What looks.
        cache : KVCache
            Filled by `store`.
        mask : torch.Tensor of bool, optional
            As in `forward`.
        return_weights : bool
            Return the weights of each head too.

        Returns
        -------
        output : torch.Tensor, shape (batch, m, d_model)
        weights : torch.Tensor, shape (batch, n_heads, m, n)
            Only with ``return_weights=True``.

        Raises
        ------
        ValueError
            When a shape does not fit.
        """
        n = _length_of(cache)
        query = self._input("query", query)
        shape = query.shape
        check_sequences(shape, shape, shape, self.d_model)
        errors.check_leading(query=shape[:-2], cache=cache.key.shape[:1])
        m = shape[-2]
        lead = broadcast_shape(shape[:-2], cache.key.shape[:1])
        mask, causal = _full_mask(mask, False, query, (*lead, self.n_heads, m, n))
        (q,) = self._project(query, 0, 1)
        if self.positions is not None:
            q = self.positions.turn(q, n - m)
        return self._look_up(q, cache.key, cache.value, mask, causal, return_weights)

    def new_cache(self, batch, capacity):
        """Return an empty `KVCache` for this layer, in its dtype and on its device."""
        return KVCache(
            batch,
            self.n_kv_heads,
            capacity,
            self.d_head,
            dtype=self.w_input.dtype,
            device=self.w_input.device,
        )

    def parameter_mapping(self):
        """Return the parameters as `multi_head_attention` takes them: views, not copies."""
        names = ("query", "key", "value")
        mapping = {
            f"w_{name}": weight
            for name, weight in zip(names, self.w_input.split(self._widths(), 1), strict=True)
        } | {"w_output": self.w_output}
        if self.b_input is not None:
            biases = zip(names, self.b_input.split(self._widths()), strict=True)
            mapping |= {f"b_{name}": bias for name, bias in biases} | {"b_output": self.b_output}
        return mapping

    @classmethod
    def from_torch(cls, module):
        """Make one that gives the numbers of a `torch.nn.MultiheadAttention`.

        Sequences go in as ``(batch, length, d_model)``, whatever its ``batch_first``, and masks in
        our sense (`from_drop_mask`).

        Parameters
        ----------
        module : torch.nn.MultiheadAttention
            Its parameters are copied.

        Returns
        -------
        MultiHeadAttention
            In its dtype, on its device, in its training mode.

        Raises
        ------
        ValueError
            When module has keys or values of another width, or adds keys of its own.
        TypeError
            When it is something else.

        Examples
        --------
        >>> foreign, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.ones(3, 5, 8)
        >>> ours = MultiHeadAttention.from_torch(foreign)
        >>> torch.allclose(ours(x), foreign(x, x, x, need_weights=False)[0], atol=1e-6)
        True
        """
        if not isinstance(module, nn.MultiheadAttention):
            name = "torch.nn.MultiheadAttention"
            errors.refuse_type("module", type(module).__name__, f"a {name}", errors.NOT_LOADABLE)
        if module.in_proj_weight is None:
            errors.refuse_widths(module.embed_dim, module.kdim, module.vdim)
        if module.bias_k is not None or module.add_zero_attn:
            errors.refuse_added_keys()
        ours = cls(
            module.embed_dim,
            module.num_heads,
            bias=module.in_proj_bias is not None,
            dropout=module.dropout,
        ).to(module.in_proj_weight)
        with torch.no_grad():
            ours.w_input.copy_(module.in_proj_weight.T)  # nn.Linear stores the transpose
            ours.w_output.copy_(module.out_proj.weight.T)
            if ours.b_input is not None:
                ours.b_input.copy_(module.in_proj_bias)
                ours.b_output.copy_(module.out_proj.bias)
        return ours.train(module.training)

    def _widths(self):
        """Return the widths of queries, keys and values."""
        d_kv = self.n_kv_heads * self.d_head
        return [self.d_model, d_kv, d_kv]

    def _input(self, name, tensor):
        """Return an input in the wider dtype of its own and the parameters'."""
        return as_input(name, tensor, self.w_input)

    def _project(self, x, first, last):
        """Return the heads of some of queries (0), keys (1) and values (2), made in one product."""
        weight, bias = self.w_input, self.b_input
        if (first, last) != (0, 3):  # a slice costs time, most of all in the backward pass
            widths = self._widths()
            columns = slice(sum(widths[:first]), sum(widths[:last]))
            weight, bias = weight[:, columns], None if bias is None else bias[columns]
        heads = [self.n_heads, self.n_kv_heads, self.n_kv_heads][first:last]
        joint = _affine(x, weight, bias)  # (..., length, width)
        joint = joint.unflatten(-1, (sum(heads), self.d_head)).transpose(-3, -2)
        return torch.split_with_sizes(joint, heads, -3)  # (..., heads, length, d_head) each

    def _step(self, x, cache):
        """Attend from one new token for each sequence; None where it is none, or needs more care.

        Why it is fast: the arithmetic of one token takes little longer than the calls around it,
        so there are no more of them than it needs. With one row no axes change places, and the last
        query sees every key.
        """
        if self.training or torch.is_grad_enabled() or self.positions is not None:
            return None
        weight, rows, length = self.w_input, cache._rows, cache._length
        batch, n_rows, capacity, d_head = rows.shape
        fits = (
            isinstance(x, torch.Tensor)
            and x.shape == (batch, 1, self.d_model)
            and (n_rows, d_head) == (2 * self.n_kv_heads, self.d_head)
            and length < capacity
            and x.dtype == rows.dtype == weight.dtype
        )
        if not fits:
            return None
        n_heads = self.n_heads
        joint = F.linear(x, weight.T, self.b_input)  # (batch, 1, width)
        joint = joint.view(batch, n_heads + n_rows, 1, d_head)
        q, row = joint.split_with_sizes((n_heads, n_rows), 1)  # (batch, ..., 1, d_head)
        if 2 * n_heads != n_rows:  # as `_as_rows`
            q = q.view(batch, self.n_kv_heads, n_heads // self.n_kv_heads, d_head)
        k, v = cache._with(row)  # (batch, n_kv_heads, n, d_head) each
        context = F.scaled_dot_product_attention(q, k, v)  # (batch, n_kv_heads, group, d_head)
        output = _affine(context.reshape(x.shape), self.w_output, self.b_output)
        cache._length = length + 1  # last: a step that fails leaves the cache as it was
        return output

    def _look_up(self, q, k, v, mask, causal, return_weights):
        """Attend in each head, merge and project."""
        if not q.dtype == k.dtype == v.dtype:  # what is looked at, or stored, may be wider
            dtype = torch.promote_types(torch.promote_types(q.dtype, k.dtype), v.dtype)
            q, k, v = q.to(dtype), k.to(dtype), v.to(dtype)
        dropout = self.dropout if self.training else 0.0
        scheme = self.positions
        bias = None if scheme is None else scheme.bias(q, k.shape[-2])
        if bias is not None:
            errors.check_broadcast("positions.bias", bias.shape, (*q.shape[:-1], k.shape[-2]))
        if mask is not None:
            seen = _seen_by_kv_head(mask, self.n_kv_heads)
            k, v = _hide(k, seen), _hide(v, seen)
        if return_weights or (scheme is not None and scheme.needs_weights):
            context, weights = _explicit(q, k, v, mask, causal, bias, dropout)
            added = None if scheme is None else scheme.context(weights)
            context = context if added is None else context + added  # (..., n_heads, m, d_head)
        else:
            context = _fused(q, k, v, mask, causal, bias, dropout)  # (..., n_heads, m, d_head)
        merged = context.transpose(-3, -2).flatten(-2)  # (..., m, d_model)
        output = _affine(merged, self.w_output, self.b_output)  # (..., m, d_model)
        return (output, weights) if return_weights else output


def _length_of(cache):
    """Return how many rows a cache holds, or refuse what is none."""
    errors.check_kind("cache", cache, "length", "a KVCache", errors.NOT_A_CACHE)
    return cache.length


def _project(x, parameters, name):
    """Return ``x @ w + b`` for the parameters of this name, without ``b`` where there is none."""
    projected = x @ parameters[f"w_{name}"]  # (..., length, d_out)
    return projected + parameters[f"b_{name}"] if f"b_{name}" in parameters else projected


def _affine(x, weight, bias):
    """Return ``x @ weight + bias`` in the wider dtype, as one call that adds the bias on the way."""
    if weight.dtype != x.dtype:
        weight, bias = weight.to(x.dtype), None if bias is None else bias.to(x.dtype)
    return F.linear(x, weight.T, bias)


def _full_mask(mask, causal, query, scores):
    """Return one mask for everything, or none and whether the kernel's own causal mask will do.

    The kernel's own is aligned to the start, which is our alignment where m == n only.
    """
    if mask is not None:
        mask = as_heads_mask(mask, query.dim(), scores)
    m, n = scores[-2:]
    if not causal or (m == 1 and n > 0):  # one query, the last, sees every key
        return mask, False
    if mask is None and m == n:
        return None, True
    return combine_masks(mask, causal_mask(m, n, device=query.device)), False


def _seen_by_any_head(mask):
    """Return which keys some query of some head may see, ``(..., n)``."""
    seen = mask.any(-2) if mask.dim() > 1 else mask  # (..., heads, n)
    return seen.any(-2) if mask.dim() > 2 else seen  # (..., n)


def _seen_by_kv_head(mask, n_kv_heads):
    """Return which keys of each head some query may see, ``(..., n_kv_heads or 1, n)``."""
    seen = mask.any(-2) if mask.dim() > 1 else mask  # (..., heads, n)
    if mask.dim() < 3 or seen.shape[-2] == 1 or seen.shape[-2] == n_kv_heads:
        return seen
    return seen.unflatten(-2, (n_kv_heads, -1)).any(-2)  # (..., n_kv_heads, n)


def _hide(x, seen):
    """Return rows with 0 where no query may see them."""
    return torch.where(seen[..., None], x, 0)


def _explicit(q, k, v, mask, causal, bias, dropout):
    """Attend and return the weights too: the formula, with dropout on the weights."""
    group = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(group, -3), v.repeat_interleave(group, -3)
    output, weights = scaled_dot_product_attention(
        q, k, v, mask, causal=causal, bias=bias, return_weights=True
    )
    if dropout > 0:
        weights = F.dropout(weights, dropout)
        output = _weighted_sum(weights, v)
    return output, weights


def _fused(q, k, v, mask, causal, bias, dropout):
    """Attend in torch's fused kernel, which takes ``(batch, heads, length, d_head)``.

    Why it is fast: the kernel never holds all scores, and a mask without a heads axis goes in as a
    view. A row with nothing to attend to has output 0 there too; a NaN that some query may not see
    has to be hidden beforehand.
    """
    m, n = q.shape[-2], k.shape[-2]
    if bias is not None:
        mask = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
        if causal:
            mask = mask.masked_fill(~causal_mask(m, n, device=q.device), -torch.inf)
            causal = False
    n_heads, n_kv_heads = q.shape[-3], k.shape[-3]
    grouped = bool(n_heads != n_kv_heads)
    by_group = grouped and m == 1 and n >= 512  # for few keys the way there is longer
    if by_group:
        q = _as_rows(q, n_kv_heads)
        if mask is not None and mask.dim() > 2 and mask.shape[-3] == n_heads:
            mask = _as_rows(mask, n_kv_heads)
        m = q.shape[-2]
    if mask is not None:
        mask = mask.expand(*mask.shape[:-2], m, n)  # a view
    leads = [x.shape[:-3] for x in (q, k, v)]
    if mask is not None and mask.dim() > 3:
        leads.append(mask.shape[:-3])
    one_batch = len(leads[0]) == 1 and all(lead == leads[0] for lead in leads)
    if not one_batch:
        lead = broadcast_shape(*leads)
        q, k, v = (_one_batch_axis(x, lead) for x in (q, k, v))
        mask = mask if mask is None or mask.dim() < 4 else _one_batch_axis(mask, lead)
    context = F.scaled_dot_product_attention(
        q, k, v, mask, dropout_p=dropout, is_causal=causal, enable_gqa=grouped and not by_group
    )
    if by_group:
        context = context.reshape(len(context), n_heads, 1, context.shape[-1])
    return context if one_batch else context.reshape(*lead, *context.shape[1:])


def _as_rows(x, n_kv_heads):
    """Return ``(..., n_heads, 1, ·)`` as ``(..., n_kv_heads, group, ·)``.

    Heads that share keys and have one query each are rows of one product. The kernel's own way
    with shared keys reads them again for each head.
    """
    group = x.shape[-3] // n_kv_heads
    return x.reshape(*x.shape[:-3], n_kv_heads, group, x.shape[-1])


def _one_batch_axis(x, lead):
    """Return ``(..., heads, length, width)`` with its leading axes made equal, then one."""
    x = x.expand(*lead, *x.shape[-3:])
    return x.reshape(math.prod(lead), *x.shape[-3:])
