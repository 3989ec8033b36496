"""Linear attention: features in place of softmax, so that time grows with the length, not its square."""

import torch
from torch.nn import functional

from ..errors import broadcast_shape, check_attention, check_feature_map, check_key_mask, check_size
from ._tensors import _float_tensor, boolean_tensor, floating
from ._tiles import zero_output

__all__ = ["linear_attention"]


@floating("query", "key", "value")
def linear_attention(
    query, key, value, *, feature_map="elu", causal=False, chunk=64, key_mask=None
):
    """Attend with the weights ``features(query) @ features(key).T``, divided by their sum.

    The products associate: keys and values are first summed up into a state of fixed size, which
    every query then reads. Time and memory grow with the length, not with its square.

    Parameters
    ----------
    query : torch.Tensor, shape (..., m, d_k)
        What is looked for; query i stands at position ``i + n - m``.
    key : torch.Tensor, shape (..., n, d_k)
        What can be found.
    value : torch.Tensor, shape (..., n, d_v)
        What is handed out.
    feature_map : {"elu", "exp", "relu"} or callable
        "elu" is ``elu(x) + 1``; "exp" is ``exp(x)``, safe for large x; "relu" is ``max(x, 0)``. A
        function takes ``(..., d_k)`` to features ``(..., f)``, each row by itself, none
        negative; queries and keys are not scaled.
    causal : bool
        Only look back.
    chunk : int
        How many queries are computed at a time when causal; the width of a head is a good choice.
    key_mask : torch.Tensor of bool, shape (..., n), optional
        True where a key may be seen at all. Over split heads a mask ``(B, n)`` goes in as
        ``key_mask[:, None]``.

    Returns
    -------
    torch.Tensor, shape (..., m, d_v)
        The weighted sums, in the widest float dtype given; 0 where all weights of a query are 0.

    Raises
    ------
    ValueError
        When query and key differ in width, key and value in length, shapes do not broadcast, chunk
        is below 1, or the feature map is unknown or changes the number of rows.
    TypeError
        When key_mask is not boolean, chunk is no whole number, feature_map cannot be called, or an
        argument is complex or holds no numbers.

    Notes
    -----
    With "exp", what is some e^80 times smaller than the largest counts as 0 in float32, and what is
    e^700 times smaller in float64. A query that looks at nothing else has output 0.

    The derivative of a derivative needs all pairs of queries and keys when causal: memory for
    n × n numbers a head. `torch.func.jvp` and `torch.func.vmap` raise torch's errors there, unless
    feature_map is "exp".

    References
    ----------
    Katharopoulos et al. (2020), "Transformers are RNNs: Fast Autoregressive Transformers with Linear
    Attention", sections 3.2 and 3.3.

    Examples
    --------
    >>> query, key, value = torch.zeros(3, 2), torch.ones(3, 2), torch.arange(3.0)[:, None]
    >>> linear_attention(query, key, value, causal=True)
    tensor([[0.0000],
            [0.5000],
            [1.0000]])
    """
    shape = check_attention(query.shape, key.shape, value.shape)
    check_feature_map(feature_map, tuple(_FEATURE_MAPS))
    chunk = check_size("chunk", chunk, minimum=1)
    m, n = shape[-2:]
    lead = broadcast_shape(shape[:-2], value.shape[:-2])
    if key_mask is not None:
        key_mask = boolean_tensor("key_mask", key_mask)
        check_key_mask(key_mask.shape, lead, n)
        key = torch.where(key_mask[..., None], key, 0)  # padding may hold anything
        value = torch.where(key_mask[..., None], value, 0)
    heads = torch.Size(lead).numel()
    if heads == 0 or m == 0 or n == 0:
        return zero_output(query, key, value, lead)
    query, key, value = (
        x.expand(*lead, *x.shape[-2:]).reshape(heads, *x.shape[-2:]) for x in (query, key, value)
    )  # (heads, m, d_k), (heads, n, d_k) and (heads, n, d_v)
    if key_mask is not None:
        key_mask = key_mask.expand(*lead, n).reshape(heads, n, 1)
    if causal:
        output = _look_back(query, key, value, key_mask, feature_map, chunk)
    else:
        output = _look_everywhere(query, key, value, key_mask, feature_map)
    return output.reshape(*lead, m, value.shape[-1])


def _look_everywhere(query, key, value, key_mask, feature_map):
    """Return the output where each query sees all keys."""
    query, _ = _features(feature_map, query, None)  # (heads, m, f)
    key, logs = _features(feature_map, key, key_mask)  # (heads, n, f) and (heads, n)
    if logs is not None:
        key = key * (logs - _finite(logs.amax(-1, keepdim=True))).exp()[..., None]
    return _divide(query @ (key.mT @ value), query @ key.sum(-2)[..., None])


def _look_back(query, key, value, key_mask, feature_map, chunk):
    """Return the output where each query sees the keys up to its own position."""
    m, n = query.shape[-2], key.shape[-2]
    blind = max(m - n, 0)  # so many early queries see nothing
    query = query[:, blind:]
    if n > m:  # one for each key
        query = functional.pad(query, (0, 0, n - m, 0))
    if feature_map == "exp":
        query, _ = _features(feature_map, query, None)
        key, logs = _features(feature_map, key, key_mask)
        output = _look_back_with_logs(query, key, value, logs, chunk)
    else:
        if feature_map not in _SLOPES:
            query, _ = _features(feature_map, query, None)
            key, _ = _features(feature_map, key, None)
            feature_map = None
        arguments = (query, key, value, key_mask, feature_map, chunk)
        wanted = torch.is_grad_enabled() and any(x.requires_grad for x in (query, key, value))
        output = _Causal.apply(*arguments)[0] if wanted else _through_chunks(*arguments)
    return functional.pad(output[:, max(n - m, 0) :], (0, 0, blind, 0)) if m != n else output


def _look_back_with_logs(query, key, value, logs, chunk):
    """Do so where the features of a key were divided by the exponential of its logarithm.

    The state is divided by the exponential of the largest logarithm so far, `level`.
    """
    heads, n, _ = key.shape
    value = functional.pad(value, (0, 1), value=1.0)  # one more column sums up the weights
    state = value.new_zeros(heads, key.shape[-1], value.shape[-1])
    level = logs.new_full((heads, 1), -torch.inf)
    parts = [value[:, :0]]
    for start in range(0, n, chunk):
        rows = slice(start, start + chunk)
        seen = torch.maximum(logs[:, rows].cummax(-1).values, level)  # (heads, c), by each query
        base = _finite(seen)
        relative = (
            (logs[:, None, rows] - base[..., None]).clamp(max=0).exp().tril()
        )  # (heads, c, c)
        weights = query[:, rows] @ key[:, rows].mT * relative
        past = query[:, rows] * (level - base).exp()[..., None]
        parts.append(weights @ value[:, rows] + past @ state)
        last = base[:, -1:]
        kept = key[:, rows] * (logs[:, rows] - last).exp()[..., None]
        state = state * (level - last).exp()[..., None] + kept.mT @ value[:, rows]
        level = seen[:, -1:]
    summed = torch.cat(parts, -2)  # (heads, n, d_v + 1)
    return _divide(summed[..., :-1], summed[..., -1:])


def _through_chunks(query, key, value, key_mask, feature_map, chunk, keep=None):
    """Return the output of causal attention, a chunk of queries (c) at a time.

    Why it is fast: the chunks are met one by one, so that features, weights and state stay in
    cache, and products add into the results in place. Before each chunk `keep` is given its place,
    the state and the sum so far, and after it the totals of its queries' weights.
    """
    heads, n, d_v = value.shape
    output = value.new_empty(heads, n, d_v)
    state = value.new_zeros(heads, key.shape[-1], d_v)
    summed = value.new_zeros(heads, key.shape[-1], 1)
    for start in range(0, n, chunk):
        rows = slice(start, start + chunk)
        q = _rows(query, None, feature_map, rows)
        k, v = _rows(key, key_mask, feature_map, rows), value[:, rows]
        weights = torch.bmm(q, k.mT).tril_()  # (heads, c, c)
        total = weights.sum(-1, keepdim=True).baddbmm_(q, summed)  # (heads, c, 1)
        weighted = torch.bmm(weights, v).baddbmm_(q, state)  # (heads, c, d_v)
        if keep is not None:
            keep(start // chunk, rows, state, summed, total)
        torch.div(weighted, total.masked_fill_(total == 0, 1), out=output[:, rows])
        state.baddbmm_(k.mT, v)
        summed.add_(k.sum(-2)[..., None])
    return output


class _Causal(torch.autograd.Function):
    """`_through_chunks` with a backward pass that meets the chunks in the reverse order.

    Why it is fast: what automatic differentiation would keep of each chunk (weights, features,
    products) is computed again while it is in cache. It needs no more than the inputs, the output,
    the totals and the state before each chunk.
    """

    @staticmethod
    def forward(query, key, value, key_mask, feature_map, chunk):
        heads, n, d_v = value.shape
        states = value.new_empty(-(-n // chunk), heads, key.shape[-1], d_v)
        sums = value.new_empty(*states.shape[:-1], 1)
        totals = value.new_empty(heads, n, 1)

        def keep(place, rows, state, summed, total):
            states[place], sums[place], totals[:, rows] = state, summed, total

        output = _through_chunks(query, key, value, key_mask, feature_map, chunk, keep)
        inverse = totals.reciprocal_()  # 0 where that overflows, as it does where all weights are 0
        return output, inverse.masked_fill_(inverse == torch.inf, 0), states, sums

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        *tensors, ctx.feature_map, ctx.chunk = inputs
        ctx.save_for_backward(*tensors, *outputs)
        ctx.mark_non_differentiable(*outputs[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, of_output, *_):
        if of_output is None:  # nothing depends on the output
            return (None,) * 6
        query, key, value, key_mask, output, inverse, states, sums = ctx.saved_tensors
        if torch.is_grad_enabled():  # somebody wants the derivative of what follows
            gradients = _gradients(query, key, value, key_mask, of_output, ctx.feature_map)
            return *gradients, None, None, None
        of_query, of_key, of_value = map(torch.empty_like, (query, key, value))
        of_state, of_sum = torch.zeros_like(states[0]), torch.zeros_like(sums[0])
        for place in reversed(range(len(states))):
            rows = slice(place * ctx.chunk, (place + 1) * ctx.chunk)
            q = _rows(query, None, ctx.feature_map, rows)
            k = _rows(key, key_mask, ctx.feature_map, rows)
            v = value[:, rows]
            of_weighted = of_output[:, rows] * inverse[:, rows]  # (heads, c, d_v)
            of_total = (of_weighted * output[:, rows]).sum(-1, keepdim=True).neg_()  # (heads, c, 1)
            weights = torch.bmm(q, k.mT).tril_()  # (heads, c, c)
            of_weights = torch.baddbmm(of_total, of_weighted, v.mT).tril_()  # (heads, c, c)
            of_q = torch.bmm(of_weights, k).baddbmm_(of_weighted, states[place].mT)
            of_q.addcmul_(of_total, sums[place].mT)
            of_k = torch.bmm(of_weights.mT, q).baddbmm_(v, of_state.mT).add_(of_sum.mT)
            of_value[:, rows] = torch.bmm(weights.mT, of_weighted).baddbmm_(k, of_state)
            of_state.baddbmm_(q.mT, of_weighted)
            of_sum.baddbmm_(q.mT, of_total)
            if ctx.feature_map is not None:
                of_q *= _SLOPES[ctx.feature_map](q)
                of_k *= _SLOPES[ctx.feature_map](k)
            of_query[:, rows], of_key[:, rows] = of_q, of_k
        return of_query, of_key, of_value, None, None, None


def _gradients(query, key, value, key_mask, of_output, feature_map):
    """Return the gradients of query, key and value, in operations that have derivatives of their own."""
    q = _rows(query, None, feature_map, slice(None))
    k = _rows(key, key_mask, feature_map, slice(None))
    weights = (q @ k.mT).tril()  # (heads, n, n)
    total = weights.sum(-1, keepdim=True)  # (heads, n, 1)
    of_weighted = _divide(of_output, total)  # (heads, n, d_v)
    output = _divide(weights @ value, total)  # (heads, n, d_v)
    of_total = (of_weighted * output).sum(-1, keepdim=True)  # (heads, n, 1)
    of_weights = (of_weighted @ value.mT - of_total).tril()  # (heads, n, n)
    of_q, of_k = of_weights @ k, of_weights.mT @ q
    if feature_map is not None:
        of_q = of_q * _SLOPES[feature_map](q)
        of_k = of_k * _SLOPES[feature_map](k)
    return of_q, of_k, weights.mT @ of_weighted


def _rows(x, key_mask, feature_map, rows):
    """Return the features of some rows, 0 where the mask hides a key; without a map, the rows."""
    features = x[:, rows] if feature_map is None else _FEATURE_MAPS[feature_map](x[:, rows])[0]
    return features if key_mask is None else features * key_mask[:, rows]


def _divide(weighted, total):
    """Return weighted sums over totals; 0, with the gradient 0, where all weights are 0."""
    empty = total == 0
    return (weighted / total.masked_fill(empty, 1)).masked_fill(empty, 0)


def _finite(level):
    """Return logarithms with 0 where there is none yet, since -inf - -inf is NaN."""
    return torch.where(level == -torch.inf, 0, level)


def _features(feature_map, x, key_mask):
    """Return the features of rows, and the logarithms by which they were divided, or None."""
    if isinstance(feature_map, str):
        features, logs = _FEATURE_MAPS[feature_map](x)
    else:
        features, logs = _float_tensor("the result of feature_map", feature_map(x)), None
        check_feature_map(feature_map, (), features.shape, x.shape)
        features = features.to(x.dtype, copy=True)  # the function may use its own tensor again
    if key_mask is not None:
        features = features * key_mask
        logs = None if logs is None else torch.where(key_mask[..., 0], logs, -torch.inf)
    return features, logs


def _elu(x):
    """Return ``elu(x) + 1``, as ``max(x, 0) + exp(min(x, 0))``: torch's own `elu` takes four times as long."""
    return functional.relu(x) + x.clamp(max=0).exp(), None


def _exp(x):
    """Return ``exp(x)`` over its largest entry in each row, and the logarithm of that."""
    if x.shape[-1] == 0:
        return x, x.new_zeros(x.shape[:-1])
    logs = x.detach().amax(-1)
    logs = torch.where(logs.isfinite(), logs, 0)
    return (x - logs[..., None]).exp(), logs


def _relu(x):
    """Return ``max(x, 0)``."""
    return functional.relu(x), None


_FEATURE_MAPS = {"elu": _elu, "exp": _exp, "relu": _relu}
# The derivative of a map, told from its features, which are 0 for hidden keys.
_SLOPES = {"elu": lambda features: features.clamp(max=1), "relu": torch.sign}
