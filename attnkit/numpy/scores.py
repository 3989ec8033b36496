"""Score functions: how well a key answers a query, before any softmax or mask."""

import numpy as np

from ..errors import check_additive, check_dot, check_general
from ._arrays import floating

__all__ = ["additive_scores", "dot_scores", "general_scores", "scaled_dot_scores"]


@floating("query", "key")
def dot_scores(query, key):
    """Score each query against each key by their dot product.

    Parameters
    ----------
    query : array_like, shape (..., m, d_k)
        What is looked for.
    key : array_like, shape (..., n, d_k)
        What can be found.

    Returns
    -------
    numpy.ndarray, shape (..., m, n)
        Entry ``[i, j]`` is ``query[i] @ key[j]``, in the wider float dtype of the two.

    Raises
    ------
    ValueError
        When the widths differ, an axis is missing, or the leading axes do not broadcast.
    TypeError
        When an argument is complex or holds no numbers.

    References
    ----------
    Luong, Pham and Manning (2015), "Effective Approaches to Attention-based Neural Machine
    Translation", section 3.1.

    Examples
    --------
    >>> dot_scores([[1.0, 2.0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    array([[1., 2., 3.]])
    """
    check_dot(query.shape, key.shape)
    return query @ np.swapaxes(key, -1, -2)  # (..., m, n)


@floating("query", "key")
def scaled_dot_scores(query, key, scale=None):
    """Score each query against each key by their dot product over the root of its width.

    Without the factor the variance of the scores grows with the width, and softmax saturates.

    Parameters
    ----------
    query : array_like, shape (..., m, d_k)
        What is looked for.
    key : array_like, shape (..., n, d_k)
        What can be found.
    scale : float, optional
        The factor; ``d_k ** -0.5`` when not given.

    Returns
    -------
    numpy.ndarray, shape (..., m, n)
        The scaled scores, in the wider float dtype of query and key.

    Raises
    ------
    ValueError
        When the widths differ, an axis is missing, or the leading axes do not broadcast.
    TypeError
        When an argument is complex or holds no numbers.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.1.

    Examples
    --------
    >>> scaled_dot_scores([[1.0, 2.0, 3.0, 4.0]], [[2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    array([[1., 2.]])
    """
    check_dot(query.shape, key.shape, scale)
    if scale is None:
        scale = max(query.shape[-1], 1) ** -0.5  # without any width there is nothing to scale
    return dot_scores(query, key) * scale  # (..., m, n)


@floating("query", "key", "weight")
def general_scores(query, key, weight):
    """Score each query against each key by a learned bilinear form; the widths may differ.

    Parameters
    ----------
    query : array_like, shape (..., m, d_q)
        What is looked for.
    key : array_like, shape (..., n, d_k)
        What can be found.
    weight : array_like, shape (d_q, d_k)
        The form; the identity gives `dot_scores`.

    Returns
    -------
    numpy.ndarray, shape (..., m, n)
        Entry ``[i, j]`` is ``query[i] @ weight @ key[j]``, in the widest float dtype of the three.

    Raises
    ------
    ValueError
        When weight does not fit the widths, an axis is missing, or the leading axes do not
        broadcast.
    TypeError
        When an argument is complex or holds no numbers.

    References
    ----------
    Luong, Pham and Manning (2015), "Effective Approaches to Attention-based Neural Machine
    Translation", section 3.1.

    Examples
    --------
    >>> query, key = [[1.0, 2.0]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    >>> general_scores(query, key, [[1.0, 0.0, 3.0], [2.0, 0.0, 0.0]])
    array([[5., 3.]])
    """
    check_general(query.shape, key.shape, weight.shape)
    return dot_scores(query @ weight, key)  # (..., m, d_k) with (..., n, d_k) -> (..., m, n)


@floating("query", "key", "w_query", "w_key", "v")
def additive_scores(query, key, w_query, w_key, v):
    """Score each query against each key by a small network; the widths may differ.

    Parameters
    ----------
    query : array_like, shape (..., m, d_q)
        What is looked for.
    key : array_like, shape (..., n, d_k)
        What can be found.
    w_query : array_like, shape (d_q, d_a)
        Takes a query to the hidden layer.
    w_key : array_like, shape (d_k, d_a)
        Takes a key to the hidden layer.
    v : array_like, shape (d_a,)
        Takes the hidden layer to one score.

    Returns
    -------
    numpy.ndarray, shape (..., m, n)
        Entry ``[i, j]`` is ``tanh(query[i] @ w_query + key[j] @ w_key) @ v``, in the widest float
        dtype given.

    Raises
    ------
    ValueError
        When a parameter does not fit the widths, an axis is missing, or the leading axes do not
        broadcast.
    TypeError
        When an argument is complex or holds no numbers.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), "Neural Machine Translation by Jointly Learning to
    Align and Translate", appendix A.1.2.

    Examples
    --------
    >>> additive_scores([[0.0]], [[0.0], [100.0]], [[1.0, 1.0]], [[1.0, -1.0]], [2.0, 1.0])
    array([[0., 1.]])
    """
    check_additive(query.shape, key.shape, w_query.shape, w_key.shape, v.shape)
    hidden = (query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]  # (..., m, n, d_a)
    return np.tanh(hidden, out=hidden) @ v  # (..., m, n)
