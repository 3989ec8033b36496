"""The Transformer: its layers as functions of their parameters, and as modules that are trained.

A layer is a chain of sublayers (attention, feed-forward). Each adds what it finds to what it was
given (the residual connection), and the sum is normalised ("post", as in the paper) or the input
is ("pre"). The functions are the formula, twins of those in `attnkit.numpy.transformer`; the
modules give the same numbers on torch's fast paths.
"""

import math
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from .. import errors
from ..errors import (
    check_caches,
    check_choice,
    check_feed_forward,
    check_layer,
    check_leading,
    check_memory_length,
    check_norm,
    check_probability,
    check_size,
    check_source_mask,
)
from ._parameters import as_input, embed_tokens, floating_layer, shapes_of
from ._tensors import floating
from .cache import KVCache, _restored_on_error
from .generate import greedy
from .multihead import MultiHeadAttention, _affine, _project, multi_head_attention
from .positions import LearnedPositions, RotaryPositions, _add_sinusoids

__all__ = [
    "DecoderCache",
    "DecoderLayer",
    "EncoderLayer",
    "FeedForward",
    "LayerNorm",
    "Transformer",
    "decoder_layer",
    "encoder_layer",
    "feed_forward",
    "layer_norm",
]

ACTIVATIONS = {"relu": torch.relu, "gelu": F.gelu}
NORMS = ("post", "pre", "none")
POSITIONS = ("sinusoidal", "learned", "rotary", None)


@floating("x", "gain", "bias")
def layer_norm(x, gain=None, bias=None, *, eps=1e-5):
    """Give each row mean 0 and variance 1, then stretch and move its columns.

    Parameters
    ----------
    x : torch.Tensor, shape (..., d)
        Rows; each is normalised on its own, whatever stands beside it.
    gain : torch.Tensor, shape (d,), optional
        Each column's factor; 1 when not given.
    bias : torch.Tensor, shape (d,), optional
        What is added to each column; 0 when not given.
    eps : float
        Added to the variance, so that a row of equal numbers becomes 0.

    Returns
    -------
    torch.Tensor, shape (..., d)
        In the widest float dtype given.

    Raises
    ------
    ValueError
        When gain or bias does not have x's width, or eps is not above 0.
    TypeError
        When an argument is complex or holds no numbers.

    References
    ----------
    Ba, Kiros and Hinton (2016), "Layer Normalization", section 3.

    Examples
    --------
    >>> layer_norm(torch.tensor([[1.0, 3.0], [5.0, 5.0]])).round(decimals=4)
    tensor([[-1.,  1.],
            [ 0.,  0.]])
    """
    check_norm(
        x.shape,
        None if gain is None else gain.shape,
        None if bias is None else bias.shape,
        eps,
    )
    width = max(x.shape[-1], 1)  # a row without columns has no mean
    centred = x - x.sum(-1, keepdim=True) / width  # (..., d)
    variance = (centred**2).sum(-1, keepdim=True) / width  # (..., 1)
    normal = centred / (variance + eps).sqrt()  # (..., d)
    normal = normal if gain is None else normal * gain
    return normal if bias is None else normal + bias


@floating_layer("x")
def feed_forward(x, parameters, *, activation="relu"):
    """Send each position through one hidden layer, the same for all.

    Parameters
    ----------
    x : torch.Tensor, shape (..., n, d_model)
        Embeddings.
    parameters : mapping of str to torch.Tensor
        ``w_hidden (d_model, d_ff)``, ``w_output (d_ff, d_out)`` and, as far as there are any, their
        biases ``b_hidden`` and ``b_output``.
    activation : {"relu", "gelu"}
        What bends the hidden layer; gelu is the exact one.

    Returns
    -------
    torch.Tensor, shape (..., n, d_out)
        In the widest float dtype given.

    Raises
    ------
    ValueError
        When a parameter is missing, unknown or of the wrong shape, or activation another word.
    TypeError
        When parameters is no mapping or an argument is complex.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.3; Hendrycks and Gimpel (2016),
    "Gaussian Error Linear Units (GELUs)".

    Examples
    --------
    >>> hidden, output = torch.tensor([[1.0, -1.0]]), torch.tensor([[1.0], [1.0]])  # the modulus
    >>> feed_forward(torch.tensor([[3.0], [-2.0]]), {"w_hidden": hidden, "w_output": output})
    tensor([[3.],
            [2.]])
    """
    check_feed_forward(x.shape, shapes_of(parameters), activation)
    hidden = _project(x, parameters, "hidden")  # (..., n, d_ff)
    hidden = ACTIVATIONS[activation](hidden)
    return _project(hidden, parameters, "output")  # (..., n, d_out)


@floating_layer("x")
def encoder_layer(
    x,
    parameters,
    n_heads,
    mask=None,
    *,
    n_kv_heads=None,
    causal=False,
    norm="post",
    activation="relu",
    residual=True,
    eps=1e-5,
    return_weights=False,
):
    """Let positions look at each other, then think each for itself.

    Parameters
    ----------
    x : torch.Tensor, shape (..., n, d_model)
        Embeddings, or what the layer before gave.
    parameters : mapping of str to mapping
        ``attention`` as in `multi_head_attention`, ``feed_forward`` as in `feed_forward`, and for
        their norms ``attention_norm`` and ``feed_forward_norm``, each with a ``gain`` and a
        ``bias`` or without.
    n_heads : int
        Heads of queries.
    mask : torch.Tensor of bool, optional
        True means may attend; broadcasts against ``(..., n, n)`` without a heads axis.
    n_kv_heads : int, optional
        Heads of keys and values; n_heads when not given.
    causal : bool
        Besides, let no position see a later one.
    norm : {"post", "pre", "none"}
        Whether each sum is normalised, or what goes into each sublayer, or nothing.
    activation : {"relu", "gelu"}
        See `feed_forward`.
    residual : bool
        Whether a sublayer adds to x; without it x is replaced.
    eps : float
        See `layer_norm`.
    return_weights : bool
        Return the weights of each head too.

    Returns
    -------
    output : torch.Tensor, shape (..., n, d_model)
        In the widest float dtype given.
    weights : torch.Tensor, shape (..., n_heads, n, n)
        Only with ``return_weights=True``.

    Raises
    ------
    ValueError
        When a parameter is missing, unknown or of the wrong shape, or a word is another.
    TypeError
        When mask is not boolean, parameters is no mapping, or an argument is complex.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.1; Xiong et al. (2020), "On Layer
    Normalization in the Transformer Architecture", figure 1.

    Examples
    --------
    A layer whose projections are zero adds nothing.

    >>> zero = torch.zeros(2, 2)
    >>> attention = {f"w_{name}": zero for name in ("query", "key", "value", "output")}
    >>> parameters = {"attention": attention, "feed_forward": {"w_hidden": zero, "w_output": zero}}
    >>> encoder_layer(torch.tensor([[1.0, 2.0]]), parameters, n_heads=1, norm="none")
    tensor([[1., 2.]])
    """
    check_layer(x.shape, _nested_shapes(parameters), norm, ("attention", "feed_forward"))
    place = {"parameters": parameters, "norm": norm, "eps": eps}
    attended, weights = multi_head_attention(
        _before(x, "attention", **place),
        mask=mask,
        parameters=parameters["attention"],
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        causal=causal,
        return_weights=True,
    )  # (..., n, d_model) and (..., n_heads, n, n)
    x = _after(x, attended, "attention", residual=residual, **place)
    thought = feed_forward(
        _before(x, "feed_forward", **place), parameters["feed_forward"], activation=activation
    )  # (..., n, d_model)
    x = _after(x, thought, "feed_forward", residual=residual, **place)
    return (x, weights) if return_weights else x


@floating_layer("x", "memory")
def decoder_layer(
    x,
    memory,
    parameters,
    n_heads,
    mask=None,
    memory_mask=None,
    *,
    n_kv_heads=None,
    causal=True,
    norm="post",
    activation="relu",
    residual=True,
    eps=1e-5,
    return_weights=False,
):
    """Let positions look at those before them, then at the source, then think each for itself.

    Parameters
    ----------
    x : torch.Tensor, shape (..., m, d_model)
        Embeddings of the target, or what the layer before gave.
    memory : torch.Tensor, shape (..., n, d_memory)
        What the encoder gave.
    parameters : mapping of str to mapping
        As in `encoder_layer`, and ``memory_attention`` and ``memory_attention_norm``.
    n_heads : int
        Heads of queries.
    mask : torch.Tensor of bool, optional
        True means may attend; broadcasts against ``(..., m, m)`` without a heads axis.
    memory_mask : torch.Tensor of bool, optional
        The same against ``(..., m, n)``: which of the source may be seen.
    n_kv_heads : int, optional
        Heads of keys and values; n_heads when not given.
    causal : bool
        Whether no position sees a later one of the target.
    norm, activation, residual, eps
        As in `encoder_layer`.
    return_weights : bool
        Return the weights of each head too.

    Returns
    -------
    output : torch.Tensor, shape (..., m, d_model)
        In the widest float dtype given.
    weights : torch.Tensor, shape (..., n_heads, m, m)
        Over the target. Only with ``return_weights=True``.
    memory_weights : torch.Tensor, shape (..., n_heads, m, n)
        Over the source. Only with ``return_weights=True``.

    Raises
    ------
    ValueError
        When a parameter is missing, unknown or of the wrong shape, or a word is another.
    TypeError
        When a mask is not boolean, parameters is no mapping, or an argument is complex.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.1.

    Examples
    --------
    >>> zero = torch.zeros(2, 2)
    >>> attention = {f"w_{name}": zero for name in ("query", "key", "value", "output")}
    >>> parameters = {"attention": attention, "memory_attention": attention}
    >>> parameters["feed_forward"] = {"w_hidden": zero, "w_output": zero}
    >>> x, memory = torch.tensor([[1.0, 2.0]]), torch.ones(3, 2)
    >>> decoder_layer(x, memory, parameters, n_heads=1, norm="none")
    tensor([[1., 2.]])
    """
    sublayers = ("attention", "memory_attention", "feed_forward")
    check_layer(x.shape, _nested_shapes(parameters), norm, sublayers, memory.shape)
    place = {"parameters": parameters, "norm": norm, "eps": eps}
    heads = {"n_heads": n_heads, "n_kv_heads": n_kv_heads, "return_weights": True}
    attended, weights = multi_head_attention(
        _before(x, "attention", **place),
        mask=mask,
        parameters=parameters["attention"],
        causal=causal,
        **heads,
    )  # (..., m, d_model) and (..., n_heads, m, m)
    x = _after(x, attended, "attention", residual=residual, **place)
    found, memory_weights = multi_head_attention(
        _before(x, "memory_attention", **place),
        memory,
        mask=memory_mask,
        parameters=parameters["memory_attention"],
        **heads,
    )  # (..., m, d_model) and (..., n_heads, m, n)
    x = _after(x, found, "memory_attention", residual=residual, **place)
    thought = feed_forward(
        _before(x, "feed_forward", **place), parameters["feed_forward"], activation=activation
    )  # (..., m, d_model)
    x = _after(x, thought, "feed_forward", residual=residual, **place)
    return (x, weights, memory_weights) if return_weights else x


class LayerNorm(nn.Module):
    """`layer_norm` with a gain and a bias that are learned.

    Parameters
    ----------
    d_model : int
        The width.
    eps : float
        Added to the variance.
    bias : bool
        Whether there is a bias.

    Attributes
    ----------
    gain, bias : torch.nn.Parameter, shape (d_model,)
        Ones and zeros at first; bias is None without one.

    Raises
    ------
    ValueError
        When d_model is negative or eps not above 0.
    TypeError
        When d_model is not a whole number or eps not real.

    Examples
    --------
    >>> LayerNorm(2)(torch.tensor([[1.0, 3.0]])).detach().round(decimals=4)
    tensor([[-1.,  1.]])
    """

    def __init__(self, d_model, *, eps=1e-5, bias=True):
        super().__init__()
        d_model = check_size("d_model", d_model)
        check_norm((d_model,), None, None, eps)
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model)) if bias else None

    def forward(self, x):
        """Return the rows of x, normalised, ``(..., d_model)``."""
        x = as_input("x", x, self.gain)
        check_norm(x.shape, self.gain.shape, None, self.eps)
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.layer_norm(x, self.gain.shape, self.gain.to(x.dtype), bias, self.eps)

    def parameter_mapping(self):
        """Return the parameters as the functions take them."""
        mapping = {"gain": self.gain}
        return mapping if self.bias is None else mapping | {"bias": self.bias}


class FeedForward(nn.Module):
    """`feed_forward` with parameters that are learned.

    Parameters
    ----------
    d_model : int
        The width of what goes in and comes out.
    d_ff : int
        The width of the hidden layer.
    activation : {"relu", "gelu"}
        What bends it.
    dropout : float
        The share of the hidden layer that is dropped, in training only.
    bias : bool
        Whether both products add a bias.

    Raises
    ------
    ValueError
        When a size is negative, activation another word or dropout no share.
    TypeError
        When a size is not a whole number.

    Examples
    --------
    >>> FeedForward(4, 16)(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, d_model, d_ff, *, activation="relu", dropout=0.0, bias=True):
        super().__init__()
        d_model, d_ff = check_size("d_model", d_model), check_size("d_ff", d_ff)
        check_choice("activation", activation, tuple(ACTIVATIONS))
        self.activation, self.dropout = activation, check_probability("dropout", dropout)
        self.w_hidden, self.w_output = _drawn(d_model, d_ff), _drawn(d_ff, d_model)
        self.b_hidden = nn.Parameter(torch.zeros(d_ff)) if bias else None
        self.b_output = nn.Parameter(torch.zeros(d_model)) if bias else None

    def forward(self, x):
        """Return what the hidden layer makes of each position, ``(..., n, d_model)``."""
        x = as_input("x", x, self.w_hidden)
        check_feed_forward(x.shape, shapes_of(self.parameter_mapping()), self.activation)
        hidden = ACTIVATIONS[self.activation](_affine(x, self.w_hidden, self.b_hidden))
        hidden = F.dropout(hidden, self.dropout, self.training)  # (..., n, d_ff)
        return _affine(hidden, self.w_output, self.b_output)  # (..., n, d_model)

    def parameter_mapping(self):
        """Return the parameters as the functions take them."""
        names = ("w_hidden", "b_hidden", "w_output", "b_output")
        given = ((name, getattr(self, name)) for name in names)
        return {name: parameter for name, parameter in given if parameter is not None}


class _Layer(nn.Module):
    """What the two kinds of layer share: norms and residual connections around sublayers."""

    sublayers = ()

    def __init__(
        self,
        d_model,
        n_heads,
        d_ff=None,
        *,
        n_kv_heads=None,
        norm="post",
        activation="relu",
        dropout=0.0,
        residual=True,
        bias=True,
        positions=None,
        eps=1e-5,
    ):
        super().__init__()
        check_choice("norm", norm, NORMS)
        self.norm, self.residual = norm, residual
        self.dropout = check_probability("dropout", dropout)
        heads = {"n_kv_heads": n_kv_heads, "dropout": dropout, "bias": bias}
        for name in self.sublayers:
            if name == "feed_forward":
                d_ff = 4 * d_model if d_ff is None else d_ff
                made = FeedForward(d_model, d_ff, activation=activation, dropout=dropout, bias=bias)
            else:
                scheme = positions if name == "attention" else None  # sources have no distance
                made = MultiHeadAttention(d_model, n_heads, **heads, positions=scheme)
            self.add_module(name, made)
            if norm != "none":
                self.add_module(f"{name}_norm", LayerNorm(d_model, eps=eps, bias=bias))

    def parameter_mapping(self):
        """Return the parameters as `encoder_layer` and `decoder_layer` take them."""
        norms = [] if self.norm == "none" else [f"{name}_norm" for name in self.sublayers]
        return {name: getattr(self, name).parameter_mapping() for name in (*self.sublayers, *norms)}

    def _enter(self, name, x):
        """Return an input in the dtype that this layer computes in."""
        x = as_input(name, x, self.attention.w_input)
        length = "n" if name == "x" else "n_memory"
        errors.check_width(name, x.shape, f"(..., {length}, d_model)", self.attention.d_model)
        return x

    def _before(self, x, sublayer):
        """Return what goes into a sublayer."""
        return getattr(self, f"{sublayer}_norm")(x) if self.norm == "pre" else x

    def _after(self, x, result, sublayer):
        """Return what leaves a sublayer: the sum, normalised in a "post" layer."""
        result = F.dropout(result, self.dropout, self.training)
        x = x + result if self.residual else result
        return getattr(self, f"{sublayer}_norm")(x) if self.norm == "post" else x

    def _take_over(self, module, pairs):
        """Copy the feed-forward network and the norms of a foreign layer."""
        with torch.no_grad():
            for ours, theirs in (("hidden", module.linear1), ("output", module.linear2)):
                # nn.Linear stores the transpose
                getattr(self.feed_forward, f"w_{ours}").copy_(theirs.weight.T)
                if theirs.bias is not None:
                    getattr(self.feed_forward, f"b_{ours}").copy_(theirs.bias)
            for sublayer, foreign in pairs.items():
                norm = getattr(self, f"{sublayer}_norm")
                norm.gain.copy_(foreign.weight)
                norm.eps = foreign.eps
                if foreign.bias is not None:
                    norm.bias.copy_(foreign.bias)
        return self.train(module.training)


class EncoderLayer(_Layer):
    """`encoder_layer` with parameters that are learned.

    Parameters
    ----------
    d_model : int
        The width.
    n_heads : int
        Heads of queries.
    d_ff : int, optional
        The width of the hidden layer; ``4 * d_model`` when not given. With 0 the feed-forward
        network adds no more than a constant.
    n_kv_heads : int, optional
        Heads of keys and values; n_heads when not given.
    norm : {"post", "pre", "none"}
        Whether each sum is normalised, or what goes into each sublayer, or nothing.
    activation : {"relu", "gelu"}
        See `feed_forward`.
    dropout : float
        The share that is dropped of weights, hidden layer and results, in training only.
    residual : bool
        Whether a sublayer adds to x; without it x is replaced.
    bias : bool
        Whether projections and norms have biases.
    positions : HeadPositions, optional
        A scheme of positions for the attention.
    eps : float
        See `layer_norm`.

    Raises
    ------
    ValueError
        When sizes do not divide, a word is another or dropout is no share.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.1; Xiong et al. (2020), "On Layer
    Normalization in the Transformer Architecture", figure 1.

    Examples
    --------
    >>> EncoderLayer(8, 2, norm="pre")(torch.zeros(3, 5, 8), causal=True).shape
    torch.Size([3, 5, 8])
    """

    sublayers = ("attention", "feed_forward")

    def forward(self, x, mask=None, *, causal=False, return_weights=False, cache=None):
        """Run the layer.

        Parameters
        ----------
        x : torch.Tensor, shape (..., n, d_model)
            Embeddings, or what the layer before gave.
        mask, causal, return_weights, cache
            As in `MultiHeadAttention.forward`.

        Returns
        -------
        output : torch.Tensor, shape (..., n, d_model)
        weights : torch.Tensor, shape (..., n_heads, n, n)
            Only with ``return_weights=True``; without it the fused kernel does the work, whose
            derivative has no derivative (torch raises an error).

        Raises
        ------
        ValueError
            When a width is not d_model, or mask or cache do not fit.
        TypeError
            When mask is not boolean, or x is complex or no tensor.
        """
        x = self._enter("x", x)
        attended, weights = _with_weights(
            self.attention(
                self._before(x, "attention"),
                mask=mask,
                causal=causal,
                return_weights=return_weights,
                cache=cache,
            )
        )  # (..., n, d_model)
        x = self._after(x, attended, "attention")
        thought = self.feed_forward(self._before(x, "feed_forward"))  # (..., n, d_model)
        x = self._after(x, thought, "feed_forward")
        return (x, weights) if return_weights else x

    def new_cache(self, batch, capacity):
        """Return an empty `KVCache` for this layer."""
        return self.attention.new_cache(batch, capacity)

    @classmethod
    def from_torch(cls, module):
        """Make one that gives the numbers of a `torch.nn.TransformerEncoderLayer`.

        Sequences go in as ``(batch, length, d_model)``, whatever its ``batch_first``, and masks in
        our sense (`from_drop_mask`).

        Parameters
        ----------
        module : torch.nn.TransformerEncoderLayer
            Its parameters are copied.

        Returns
        -------
        EncoderLayer
            In its dtype, on its device, in its training mode.

        Raises
        ------
        ValueError
            When its activation is neither relu nor exact gelu.
        TypeError
            When it is something else.

        Examples
        --------
        >>> foreign, x = nn.TransformerEncoderLayer(8, 2, batch_first=True).eval(), torch.ones(3, 5, 8)
        >>> torch.allclose(EncoderLayer.from_torch(foreign)(x), foreign(x), atol=1e-6)
        True
        """
        if not isinstance(module, nn.TransformerEncoderLayer):
            name = "torch.nn.TransformerEncoderLayer"
            errors.refuse_type("module", type(module).__name__, f"a {name}", errors.NOT_LOADABLE)
        ours = cls(**_foreign_sizes(module)).to(module.linear1.weight)
        ours.attention = MultiHeadAttention.from_torch(module.self_attn)
        return ours._take_over(module, {"attention": module.norm1, "feed_forward": module.norm2})


class DecoderCache(NamedTuple):
    """What a decoder layer keeps between steps.

    Attributes
    ----------
    own : KVCache
        Keys and values of the target so far.
    memory : KVCache
        Keys and values of the source, made once.

    Examples
    --------
    >>> from attnkit.torch import KVCache
    >>> cache = DecoderCache(own=KVCache(1, 2, 8, 4), memory=KVCache(1, 2, 5, 4))
    >>> cache.own.capacity, cache.memory.length
    (8, 0)
    """

    own: KVCache
    memory: KVCache

    def select(self, rows):
        """Return a new cache with the given sequences of this one, as `KVCache.select` does."""
        return DecoderCache(self.own.select(rows), self.memory.select(rows))

    def reorder(self, index):
        """Keep the given sequences, in this order, as `KVCache.reorder` does."""
        self.own.reorder(index)
        self.memory.reorder(index)


class DecoderLayer(_Layer):
    """`decoder_layer` with parameters that are learned.

    Parameters
    ----------
    d_model, n_heads, d_ff, n_kv_heads, norm, activation, dropout, residual, bias, positions, eps
        As in `EncoderLayer`; positions are those of the target.

    Raises
    ------
    ValueError
        When sizes do not divide, a word is another or dropout is no share.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.1.

    Examples
    --------
    >>> DecoderLayer(8, 2)(torch.zeros(3, 5, 8), torch.zeros(3, 7, 8)).shape
    torch.Size([3, 5, 8])
    """

    sublayers = ("attention", "memory_attention", "feed_forward")

    def forward(
        self,
        x,
        memory,
        mask=None,
        memory_mask=None,
        *,
        causal=True,
        return_weights=False,
        cache=None,
    ):
        """Run the layer.

        Parameters
        ----------
        x : torch.Tensor, shape (..., m, d_model)
            Embeddings of the target, or what the layer before gave.
        memory : torch.Tensor, shape (..., n, d_model)
            What the encoder gave.
        mask : torch.Tensor of bool, optional
            True means may attend; broadcasts against ``(..., m, m)`` without a heads axis. With a
            cache the second m counts what is stored, too.
        memory_mask : torch.Tensor of bool, optional
            The same against ``(..., m, n)``: which of the source may be seen.
        causal : bool
            Whether no position sees a later one of the target.
        return_weights : bool
            Return the weights of each head too.
        cache : DecoderCache, optional
            From `new_cache`. The first call stores the keys and values of memory in it.

        Returns
        -------
        output : torch.Tensor, shape (..., m, d_model)
        weights : torch.Tensor, shape (..., n_heads, m, m)
            Over the target. Only with ``return_weights=True``.
        memory_weights : torch.Tensor, shape (..., n_heads, m, n)
            Over the source. Only with ``return_weights=True``, as in `EncoderLayer.forward`.

        Raises
        ------
        ValueError
            When a width is not d_model, or masks or cache do not fit.
        TypeError
            When a mask is not boolean, or an argument is complex or no tensor.
        """
        x, memory = self._enter("x", x), self._enter("memory", memory)
        check_leading(x=x.shape[:-2], memory=memory.shape[:-2])
        if cache is not None:
            errors.check_kind("cache", cache, "own", "a DecoderCache", errors.NOT_A_CACHE)
        caches = () if cache is None else (cache.own, cache.memory)
        with _restored_on_error(*caches):
            if cache is not None:
                self._remember(memory, cache.memory)
            attended, weights = _with_weights(
                self.attention(
                    self._before(x, "attention"),
                    mask=mask,
                    causal=causal,
                    return_weights=return_weights,
                    cache=None if cache is None else cache.own,
                )
            )  # (..., m, d_model)
            x = self._after(x, attended, "attention")
            query = self._before(x, "memory_attention")
            options = {"mask": memory_mask, "return_weights": return_weights}
            if cache is None:
                result = self.memory_attention(query, memory, **options)
            else:
                result = self.memory_attention.read(query, cache.memory, **options)
        found, memory_weights = _with_weights(result)  # (..., m, d_model)
        x = self._after(x, found, "memory_attention")
        thought = self.feed_forward(self._before(x, "feed_forward"))  # (..., m, d_model)
        x = self._after(x, thought, "feed_forward")
        return (x, weights, memory_weights) if return_weights else x

    def _remember(self, memory, cache):
        """Store the keys and values of memory at the first call, and see that it stays the same."""
        if cache.length == 0:
            self.memory_attention.store(memory, cache=cache)
        check_memory_length(memory.shape[-2], cache.length)

    def new_cache(self, batch, capacity, memory_length):
        """Return an empty `DecoderCache` for this layer."""
        return DecoderCache(
            self.attention.new_cache(batch, capacity),
            self.memory_attention.new_cache(batch, memory_length),
        )

    @classmethod
    def from_torch(cls, module):
        """Make one that gives the numbers of a `torch.nn.TransformerDecoderLayer`.

        Sequences go in as ``(batch, length, d_model)``, whatever its ``batch_first``, and masks in
        our sense (`from_drop_mask`); ours is causal unless told otherwise.

        Parameters
        ----------
        module : torch.nn.TransformerDecoderLayer
            Its parameters are copied.

        Returns
        -------
        DecoderLayer
            In its dtype, on its device, in its training mode.

        Raises
        ------
        ValueError
            When its activation is neither relu nor exact gelu.
        TypeError
            When it is something else.

        Examples
        --------
        >>> foreign = nn.TransformerDecoderLayer(8, 2, batch_first=True).eval()
        >>> x, memory = torch.ones(3, 5, 8), torch.ones(3, 7, 8)
        >>> ours = DecoderLayer.from_torch(foreign)(x, memory, causal=False)
        >>> torch.allclose(ours, foreign(x, memory), atol=1e-6)
        True
        """
        if not isinstance(module, nn.TransformerDecoderLayer):
            name = "torch.nn.TransformerDecoderLayer"
            errors.refuse_type("module", type(module).__name__, f"a {name}", errors.NOT_LOADABLE)
        ours = cls(**_foreign_sizes(module)).to(module.linear1.weight)
        ours.attention = MultiHeadAttention.from_torch(module.self_attn)
        ours.memory_attention = MultiHeadAttention.from_torch(module.multihead_attn)
        norms = {
            "attention": module.norm1,
            "memory_attention": module.norm2,
            "feed_forward": module.norm3,
        }
        return ours._take_over(module, norms)


class Transformer(nn.Module):
    """Encoder and decoder over tokens: attention alone translates.

    It takes the place of `Translator`: `forward` and `translate` are called alike.

    Parameters
    ----------
    n_source, n_target : int
        Sizes of the vocabularies.
    d_model, n_heads, d_ff : int
        Width, heads, width of the hidden layers (``4 * d_model`` when not given).
    n_layers : int
        Layers of the encoder, and of the decoder.
    n_kv_heads : int, optional
        Heads of keys and values; n_heads when not given.
    norm, activation, dropout, residual
        As in `EncoderLayer`. With "pre" a last norm follows each stack.
    positions : {"sinusoidal", "learned", "rotary", None}
        Added to the embeddings, or turned into queries and keys, or left out.
    max_length : int
        Rows of the table of learned positions.
    scale_embedding : bool
        Whether embeddings, drawn with variance ``1 / d_model``, are multiplied by
        ``sqrt(d_model)``, so that positions do not drown them.

    Raises
    ------
    ValueError
        When sizes do not divide, a word is another or dropout is no share.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.

    Examples
    --------
    >>> model = Transformer(11, 13, d_model=8, n_heads=2)
    >>> logits, _ = model(torch.tensor([[3, 5, 7]]), torch.tensor([[0, 4]]))
    >>> logits.shape
    torch.Size([1, 2, 13])
    """

    def __init__(
        self,
        n_source,
        n_target,
        *,
        d_model=64,
        n_heads=4,
        d_ff=None,
        n_layers=2,
        n_kv_heads=None,
        norm="post",
        activation="relu",
        dropout=0.0,
        residual=True,
        positions="sinusoidal",
        max_length=512,
        scale_embedding=True,
    ):
        super().__init__()
        check_choice("positions", positions, POSITIONS)
        n_source, n_target = (
            check_size("n_source", n_source, 1),
            check_size("n_target", n_target, 1),
        )
        n_layers = check_size("n_layers", n_layers, 1)
        self.d_model, self.scale_embedding = check_size("d_model", d_model, 1), scale_embedding
        self.positions, self.dropout = positions, check_probability("dropout", dropout)
        options = {
            "n_kv_heads": n_kv_heads,
            "norm": norm,
            "activation": activation,
            "dropout": dropout,
            "residual": residual,
        }

        def layer(kind):
            scheme = RotaryPositions() if positions == "rotary" else None
            return kind(d_model, n_heads, d_ff, **options, positions=scheme)

        self.source_embedding = _embedding(n_source, d_model)
        self.target_embedding = _embedding(n_target, d_model)
        if positions == "learned":
            self.source_positions = LearnedPositions(max_length, d_model)
            self.target_positions = LearnedPositions(max_length, d_model)
        self.encoder = nn.ModuleList(layer(EncoderLayer) for _ in range(n_layers))
        self.decoder = nn.ModuleList(layer(DecoderLayer) for _ in range(n_layers))
        self.encoder_norm = LayerNorm(d_model) if norm == "pre" else nn.Identity()
        self.decoder_norm = LayerNorm(d_model) if norm == "pre" else nn.Identity()
        self.output = nn.Linear(d_model, n_target)

    def forward(self, source, target, source_mask=None, *, return_weights=False):
        """Scores of each next token while the right previous ones are given (teacher forcing).

        All positions of the target are computed at once.

        Parameters
        ----------
        source : torch.Tensor of int, shape (B, S)
            Source tokens, padded on either side.
        target : torch.Tensor of int, shape (B, T)
            The start token, then the target without its last token.
        source_mask : torch.Tensor of bool, shape (B, S), optional
            True where there is a source token.
        return_weights : bool
            Return the attention to the source too.

        Returns
        -------
        logits : torch.Tensor, shape (B, T, n_target)
        weights : torch.Tensor, shape (B, n_layers, n_heads, T, S), or None
            None without ``return_weights=True``: then the fused kernel does the work, whose
            derivative has no derivative (torch raises an error).

        Raises
        ------
        ValueError
            When shapes do not fit.
        TypeError
            When tokens are not whole numbers or source_mask is not boolean.
        """
        memory = self.encode(source, source_mask)
        return self.decode(target, memory, source_mask, return_weights=return_weights)

    def encode(self, source, source_mask=None):
        """Return what the encoder makes of a source, ``(B, S, d_model)``."""
        mask = _key_mask(source_mask, source)
        x = self._embed(source, "source", 0)  # (B, S, d_model)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, target, memory, source_mask=None, *, return_weights=False, caches=None):
        """Scores of each next token, given what the encoder made of the source.

        Parameters
        ----------
        target : torch.Tensor of int, shape (B, T)
            Target tokens; with caches those that follow the ones already read.
        memory : torch.Tensor, shape (B, S, d_model)
            From `encode`.
        source_mask : torch.Tensor of bool, shape (B, S), optional
            True where there is a source token.
        return_weights : bool
            Return the attention to the source too.
        caches : list of DecoderCache, optional
            From `new_caches`; needs ``torch.no_grad()``.

        Returns
        -------
        logits : torch.Tensor, shape (B, T, n_target)
        weights : torch.Tensor, shape (B, n_layers, n_heads, T, S), or None
        """
        memory_mask = _key_mask(source_mask, memory)
        check_caches(caches, len(self.decoder), "own")
        start = caches[0].own.length if caches else 0
        x = self._embed(target, "target", start)  # (B, T, d_model)
        looks = []
        kept = [part for cache in caches or () for part in (cache.own, cache.memory)]
        with _restored_on_error(*kept):
            for number, layer in enumerate(self.decoder):
                result = layer(
                    x,
                    memory,
                    memory_mask=memory_mask,
                    return_weights=return_weights,
                    cache=caches[number] if caches else None,
                )
                x, _, look = result if return_weights else (result, None, None)
                looks.append(look)
        logits = self.output(self.decoder_norm(x))  # (B, T, n_target)
        return logits, torch.stack(looks, 1) if return_weights else None

    def new_caches(self, batch, capacity, memory_length):
        """Return an empty `DecoderCache` for each layer of the decoder."""
        return [layer.new_cache(batch, capacity, memory_length) for layer in self.decoder]

    @torch.no_grad()
    def translate(
        self, source, source_mask=None, *, start, end, max_length, return_weights=False, cached=True
    ):
        """Translate greedily: the decoder reads what it has just written.

        Parameters
        ----------
        source : torch.Tensor of int, shape (B, S)
            Source tokens.
        source_mask : torch.Tensor of bool, shape (B, S), optional
            True where there is a source token.
        start, end : int
            The tokens that open and close a target.
        max_length : int
            Number of tokens to write.
        return_weights : bool
            Return the attention to the source too.
        cached : bool
            Whether keys and values are kept from step to step, or all made anew at each.

        Returns
        -------
        tokens : torch.Tensor of int64, shape (B, max_length)
            After its first `end` a row holds nothing but `end`.
        weights : torch.Tensor, shape (B, n_layers, n_heads, max_length, S), or None
            Attention of each step; zero in steps that were not needed because all had ended.
        """
        memory = self.encode(source, source_mask)
        caches = None
        if cached:
            caches = self.new_caches(len(source), max_length, memory.shape[1])
        looks = []

        def step(token, read):
            new = token[:, None]  # (B, 1), or all tokens so far
            if read is not None and not cached:
                new = torch.cat([read, new], 1)
            logits, look = self.decode(
                new, memory, source_mask, return_weights=return_weights, caches=caches
            )
            if return_weights:
                looks.append(look[..., -1, :])  # (B, n_layers, n_heads, S)
            return logits[:, -1], new

        first = torch.full((len(source),), start, device=source.device)
        written = greedy(step, first, end=end, max_length=max_length)  # (B, L)
        tokens = F.pad(written, (0, max_length - written.shape[1]), value=end)
        if not return_weights:
            return tokens, None
        shape = (len(source), len(self.decoder), self.decoder[0].attention.n_heads)
        weights = memory.new_zeros(*shape, max_length, memory.shape[1])
        for position, look in enumerate(looks):
            weights[..., position, :] = look
        return tokens, weights

    def _embed(self, tokens, side, start):
        """Return the embeddings of tokens with their positions, ``(B, n, d_model)``."""
        x = embed_tokens(side, tokens, getattr(self, f"{side}_embedding"))
        if self.scale_embedding:
            x = x * math.sqrt(self.d_model)
        if self.positions == "sinusoidal":
            x = _add_sinusoids(x, start)
        elif self.positions == "learned":
            x = getattr(self, f"{side}_positions")(x, start)
        return F.dropout(x, self.dropout, self.training)


def _before(x, sublayer, *, parameters, norm, eps):
    """Return what goes into a sublayer."""
    return layer_norm(x, **parameters[f"{sublayer}_norm"], eps=eps) if norm == "pre" else x


def _after(x, result, sublayer, *, parameters, norm, eps, residual):
    """Return what leaves a sublayer: the sum, normalised in a "post" layer."""
    x = x + result if residual else result
    return layer_norm(x, **parameters[f"{sublayer}_norm"], eps=eps) if norm == "post" else x


def _nested_shapes(parameters):
    """Return the shapes of the arrays of a mapping of mappings."""
    return {
        name: shapes_of(value) if isinstance(value, dict) else value.shape
        for name, value in parameters.items()
    }


def _with_weights(result):
    """Return output and weights of a call that gave both, or the output and None."""
    return result if isinstance(result, tuple) else (result, None)


def _key_mask(mask, sequence):
    """Return a mask of keys ``(B, n)`` with its query axis, ``(B, 1, n)``, None as None."""
    if mask is None:
        return None
    check_source_mask("source_mask", tuple(mask.shape), tuple(sequence.shape[:2]))
    return mask[:, None]


def _drawn(d_in, d_out):
    """Return a weight drawn as Glorot and Bengio (2010) draw it."""
    bound = (6 / max(d_in + d_out, 1)) ** 0.5
    return nn.Parameter(torch.empty(d_in, d_out).uniform_(-bound, bound))


def _embedding(n_tokens, d_model):
    """Return an embedding whose rows have length one on average."""
    embedding = nn.Embedding(n_tokens, d_model)
    nn.init.normal_(embedding.weight, std=d_model**-0.5)
    return embedding


def _foreign_sizes(module):
    """Return what a foreign layer was made with, in our words."""
    foreign = module.activation
    if foreign is F.relu or isinstance(foreign, nn.ReLU):
        activation = "relu"
    elif foreign is F.gelu or (isinstance(foreign, nn.GELU) and foreign.approximate == "none"):
        activation = "gelu"
    else:
        errors.refuse_activation(foreign)
    return {
        "d_model": module.self_attn.embed_dim,
        "n_heads": module.self_attn.num_heads,
        "d_ff": module.linear1.out_features,
        "norm": "pre" if module.norm_first else "post",
        "activation": activation,
        "dropout": module.dropout.p,
        "bias": module.linear1.bias is not None,
    }
