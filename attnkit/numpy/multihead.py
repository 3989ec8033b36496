"""Multi-head attention: project, split into heads, attend in each, merge, project."""

import numpy as np

from ..errors import broadcast_shape, check_axes, check_heads, check_multi_head
from ._arrays import floating
from ._parameters import as_heads_mask, floating_layer, shapes_of
from .attention import scaled_dot_product_attention

__all__ = ["merge_heads", "multi_head_attention", "split_heads"]


@floating("x")
def split_heads(x, n_heads):
    """Cut the width into heads and put the heads before the length.

    Parameters
    ----------
    x : array_like, shape (..., n, d_model)
        Embeddings. The first ``d_model / n_heads`` columns are the first head's.
    n_heads : int
        The number of heads.

    Returns
    -------
    numpy.ndarray, shape (..., n_heads, n, d_model / n_heads)
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
    >>> split_heads(np.arange(8).reshape(2, 4), 2)
    array([[[0., 1.],
            [4., 5.]],
    <BLANKLINE>
           [[2., 3.],
            [6., 7.]]])
    """
    check_axes("x", x.shape, "(..., n, d_model)")
    width, n_heads, _ = check_heads(x.shape[-1], n_heads, name="the width of x")
    heads = x.reshape(*x.shape[:-1], n_heads, width // n_heads)  # (..., n, n_heads, d_head)
    return np.swapaxes(heads, -3, -2)  # (..., n_heads, n, d_head)


@floating("x")
def merge_heads(x):
    """Put the heads side by side again: the way back from `split_heads`.

    Parameters
    ----------
    x : array_like, shape (..., n_heads, n, d_head)
        One result for each head.

    Returns
    -------
    numpy.ndarray, shape (..., n, n_heads * d_head)
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
    >>> merge_heads([[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0], [6.0, 7.0]]])
    array([[0., 1., 2., 3.],
           [4., 5., 6., 7.]])
    """
    check_axes("x", x.shape, "(..., n_heads, n, d_head)")
    heads = np.swapaxes(x, -3, -2)  # (..., n, n_heads, d_head)
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
    query : array_like, shape (..., m, d_query)
        What looks.
    key : array_like, shape (..., n, d_key), optional
        What is looked at; query itself when not given (self-attention).
    value : array_like, shape (..., n, d_value), optional
        What is handed out; key when not given.
    mask : array_like of bool, optional
        True means may attend; broadcasts against ``(..., m, n)`` *without* a heads axis, which is
        inserted. A mask with one axis more than query is one for each head.
    parameters : mapping of str to array_like
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
    bias : array_like, optional
        Added to the scaled scores of each head; broadcasts against ``(..., n_heads, m, n)``.
    return_weights : bool
        Return the weights of each head too.

    Returns
    -------
    output : numpy.ndarray, shape (..., m, d_out)
        In the widest float dtype given. Where a query has nothing to attend to: ``b_output``.
    weights : numpy.ndarray, shape (..., n_heads, m, n)
        Only with ``return_weights=True``.

    Raises
    ------
    ValueError
        When n_heads or n_kv_heads does not divide what it should, a parameter is missing, unknown
        or of the wrong shape, or shapes do not broadcast.
    TypeError
        When mask is not boolean or bias is, parameters is no mapping, or an argument is complex.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.2; Ainslie et al. (2023), "GQA:
    Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints", section 2.

    Examples
    --------
    >>> parameters = {f"w_{name}": np.eye(4) for name in ("query", "key", "value", "output")}
    >>> multi_head_attention(np.eye(4)[:2], parameters=parameters, n_heads=2, causal=True)
    array([[1.        , 0.        , 0.        , 0.        ],
           [0.33023845, 0.66976155, 0.        , 0.        ]])
    """
    key = query if key is None else key
    value = key if value is None else value
    n_heads, n_kv_heads = check_multi_head(
        query.shape, key.shape, value.shape, shapes_of(parameters), n_heads, n_kv_heads
    )
    lead = broadcast_shape(query.shape[:-2], key.shape[:-2])
    mask = as_heads_mask(mask, query.ndim, (*lead, n_heads, query.shape[-2], key.shape[-2]))
    q = split_heads(_project(query, parameters, "query"), n_heads)  # (..., n_heads, m, d_head)
    k = split_heads(_project(key, parameters, "key"), n_kv_heads)  # (..., n_kv_heads, n, d_head)
    v = split_heads(_project(value, parameters, "value"), n_kv_heads)  # (..., n_kv_heads, n, d_v)
    k, v = (np.repeat(x, n_heads // n_kv_heads, -3) for x in (k, v))  # (..., n_heads, n, ·)
    context, weights = scaled_dot_product_attention(
        q, k, v, mask, causal=causal, bias=bias, return_weights=True
    )  # (..., n_heads, m, d_v) and (..., n_heads, m, n)
    output = _project(merge_heads(context), parameters, "output")  # (..., m, d_out)
    return (output, weights) if return_weights else output


def _project(x, parameters, name):
    """Return ``x @ w + b`` for the parameters of this name, without ``b`` where there is none."""
    projected = x @ parameters[f"w_{name}"]  # (..., length, d_out)
    return projected + parameters[f"b_{name}"] if f"b_{name}" in parameters else projected
