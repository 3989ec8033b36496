"""The layers of a Transformer as functions of their parameters: the reference that torch must equal.

A layer is a chain of sublayers (attention, feed-forward). Each adds what it finds to what it was
given (the residual connection), and the sum is normalised ("post", as in the paper) or the input
is ("pre"). The modules that are trained live in `attnkit.torch.transformer`.
"""

import math

import numpy as np

from ..errors import check_feed_forward, check_layer, check_norm
from ._arrays import floating
from ._parameters import floating_layer, shapes_of
from .multihead import _project, multi_head_attention

__all__ = ["decoder_layer", "encoder_layer", "feed_forward", "layer_norm"]


@floating("x", "gain", "bias")
def layer_norm(x, gain=None, bias=None, *, eps=1e-5):
    """Give each row mean 0 and variance 1, then stretch and move its columns.

    Parameters
    ----------
    x : array_like, shape (..., d)
        Rows; each is normalised on its own, whatever stands beside it.
    gain : array_like, shape (d,), optional
        Each column's factor; 1 when not given.
    bias : array_like, shape (d,), optional
        What is added to each column; 0 when not given.
    eps : float
        Added to the variance, so that a row of equal numbers becomes 0.

    Returns
    -------
    numpy.ndarray, shape (..., d)
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
    >>> layer_norm([[1.0, 3.0], [5.0, 5.0]]).round(4)
    array([[-1.,  1.],
           [ 0.,  0.]])
    """
    check_norm(
        x.shape,
        None if gain is None else gain.shape,
        None if bias is None else bias.shape,
        eps,
    )
    width = max(x.shape[-1], 1)  # a row without columns has no mean
    centred = x - x.sum(-1, keepdims=True) / width  # (..., d)
    variance = (centred**2).sum(-1, keepdims=True) / width  # (..., 1)
    normal = centred / np.sqrt(variance + eps)  # (..., d)
    normal = normal if gain is None else normal * gain
    return normal if bias is None else normal + bias


@floating_layer("x")
def feed_forward(x, parameters, *, activation="relu"):
    """Send each position through one hidden layer, the same for all.

    Parameters
    ----------
    x : array_like, shape (..., n, d_model)
        Embeddings.
    parameters : mapping of str to array_like
        ``w_hidden (d_model, d_ff)``, ``w_output (d_ff, d_out)`` and, as far as there are any, their
        biases ``b_hidden`` and ``b_output``.
    activation : {"relu", "gelu"}
        What bends the hidden layer; gelu is the exact one.

    Returns
    -------
    numpy.ndarray, shape (..., n, d_out)
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
    >>> parameters = {"w_hidden": [[1.0, -1.0]], "w_output": [[1.0], [1.0]]}  # the modulus
    >>> feed_forward([[3.0], [-2.0]], parameters)
    array([[3.],
           [2.]])
    """
    check_feed_forward(x.shape, shapes_of(parameters), activation)
    hidden = _project(x, parameters, "hidden")  # (..., n, d_ff)
    hidden = np.maximum(hidden, 0) if activation == "relu" else _gelu(hidden)
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
    x : array_like, shape (..., n, d_model)
        Embeddings, or what the layer before gave.
    parameters : mapping of str to mapping
        ``attention`` as in `multi_head_attention`, ``feed_forward`` as in `feed_forward`, and for
        their norms ``attention_norm`` and ``feed_forward_norm``, each with a ``gain`` and a
        ``bias`` or without.
    n_heads : int
        Heads of queries.
    mask : array_like of bool, optional
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
    output : numpy.ndarray, shape (..., n, d_model)
        In the widest float dtype given.
    weights : numpy.ndarray, shape (..., n_heads, n, n)
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

    >>> zero = np.zeros((2, 2))
    >>> attention = {f"w_{name}": zero for name in ("query", "key", "value", "output")}
    >>> parameters = {"attention": attention, "feed_forward": {"w_hidden": zero, "w_output": zero}}
    >>> encoder_layer([[1.0, 2.0]], parameters, n_heads=1, norm="none")
    array([[1., 2.]])
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
    x : array_like, shape (..., m, d_model)
        Embeddings of the target, or what the layer before gave.
    memory : array_like, shape (..., n, d_memory)
        What the encoder gave.
    parameters : mapping of str to mapping
        As in `encoder_layer`, and ``memory_attention`` and ``memory_attention_norm``.
    n_heads : int
        Heads of queries.
    mask : array_like of bool, optional
        True means may attend; broadcasts against ``(..., m, m)`` without a heads axis.
    memory_mask : array_like of bool, optional
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
    output : numpy.ndarray, shape (..., m, d_model)
        In the widest float dtype given.
    weights : numpy.ndarray, shape (..., n_heads, m, m)
        Over the target. Only with ``return_weights=True``.
    memory_weights : numpy.ndarray, shape (..., n_heads, m, n)
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
    >>> zero = np.zeros((2, 2))
    >>> attention = {f"w_{name}": zero for name in ("query", "key", "value", "output")}
    >>> parameters = {"attention": attention, "memory_attention": attention}
    >>> parameters["feed_forward"] = {"w_hidden": zero, "w_output": zero}
    >>> decoder_layer([[1.0, 2.0]], np.ones((3, 2)), parameters, n_heads=1, norm="none")
    array([[1., 2.]])
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


def _before(x, sublayer, *, parameters, norm, eps):
    """Return what goes into a sublayer."""
    return layer_norm(x, **parameters[f"{sublayer}_norm"], eps=eps) if norm == "pre" else x


def _after(x, result, sublayer, *, parameters, norm, eps, residual):
    """Return what leaves a sublayer: the sum, normalised in a "post" layer."""
    x = x + result if residual else result
    return layer_norm(x, **parameters[f"{sublayer}_norm"], eps=eps) if norm == "post" else x


def _gelu(x):
    """Return ``x`` times the share of a standard normal distribution that lies below ``x``."""
    return x * (1 + _erf(x / math.sqrt(2))) / 2


def _erf(x):
    """Return the error function; NumPy has none, so Python's is asked number by number."""
    return np.array([math.erf(number) for number in x.ravel()], x.dtype).reshape(x.shape)


def _nested_shapes(parameters):
    """Return the shapes of the arrays of a mapping of mappings."""
    return {
        name: shapes_of(value) if isinstance(value, dict) else value.shape
        for name, value in parameters.items()
    }
