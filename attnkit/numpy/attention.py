"""Attention itself: weights over keys, then a weighted sum of values; soft, hard and local."""

import numpy as np

from ..errors import (
    check_attention,
    check_axes,
    check_broadcast,
    check_per_query,
    check_positive,
    check_value,
)
from ._arrays import as_mask, as_uniform, floating
from ._tiles import dense_tiles
from .masks import causal_mask, combine_masks
from .scores import scaled_dot_scores
from .weights import masked_softmax

__all__ = ["attend", "hard_attention", "local_p_weights", "scaled_dot_product_attention"]


@floating("scores", "value")
def attend(scores, value, mask=None, *, return_weights=False):
    """Look values up softly: softmax of each query's scores, then the weighted sum of values.

    Any score function goes in. A masked value has no influence, even if it is NaN or infinite.

    Parameters
    ----------
    scores : array_like, shape (..., m, n)
        How well each key answers each query; -inf counts as masked.
    value : array_like, shape (..., n, d_v)
        What is handed out.
    mask : array_like of bool, optional
        True means may attend; broadcasts against scores.
    return_weights : bool
        Return the weights too.

    Returns
    -------
    output : numpy.ndarray, shape (..., m, d_v)
        The weighted sums, in the wider float dtype; 0 where a query has nothing to attend to.
    weights : numpy.ndarray, shape (..., m, n)
        Only with ``return_weights=True``.

    Raises
    ------
    ValueError
        When scores and value differ in the number of keys, or shapes do not broadcast.
    TypeError
        When mask is not boolean, or an argument is complex or holds no numbers.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), "Neural Machine Translation by Jointly Learning to
    Align and Translate", section 3.1.

    Examples
    --------
    >>> attend([[0.0, 0.0, 9.0]], [[1.0, 0.0], [3.0, 1.0], [np.nan, 5.0]], [True, True, False])
    array([[2. , 0.5]])
    """
    check_value(scores.shape, value.shape)
    weights = masked_softmax(scores, mask)  # (..., m, n)
    output = _weighted_sum(weights, value)  # (..., m, d_v)
    return (output, weights) if return_weights else output


@floating("query", "key", "value", "bias")
def scaled_dot_product_attention(
    query, key, value, mask=None, *, causal=False, scale=None, bias=None, return_weights=False
):
    """Attend with scaled dot-product scores: ``softmax(query @ key.T / sqrt(d_k)) @ value``.

    Keys and values at masked positions have no influence, even if they are NaN or infinite.

    Parameters
    ----------
    query : array_like, shape (..., m, d_k)
        What is looked for.
    key : array_like, shape (..., n, d_k)
        What can be found.
    value : array_like, shape (..., n, d_v)
        What is handed out.
    mask : array_like of bool, optional
        True means may attend; broadcasts against ``(..., m, n)``.
    causal : bool
        Besides, let query i see only keys up to ``i + n - m``.
    scale : float, optional
        The factor of the scores; ``d_k ** -0.5`` when not given.
    bias : array_like, optional
        Added to the scaled scores; broadcasts against ``(..., m, n)``, -inf counts as masked.
    return_weights : bool
        Return the weights too.

    Returns
    -------
    output : numpy.ndarray, shape (..., m, d_v)
        The weighted sums, in the widest float dtype given; 0 where a query has nothing to attend
        to.
    weights : numpy.ndarray, shape (..., m, n)
        Only with ``return_weights=True``.

    Raises
    ------
    ValueError
        When query and key differ in width, key and value in length, or shapes do not broadcast.
    TypeError
        When mask is not boolean, bias is boolean, or an argument is complex or holds no numbers.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.1.

    Examples
    --------
    >>> query, key, value = np.zeros((2, 4)), np.ones((2, 4)), np.array([[1.0], [3.0]])
    >>> scaled_dot_product_attention(query, key, value, causal=True)
    array([[1.],
           [2.]])
    """
    shape = check_attention(query.shape, key.shape, value.shape)
    mask = as_mask(mask, shape)
    if bias is None and not return_weights:  # the same in tiles that stay in cache, where they can
        output = dense_tiles(query, key, value, mask, causal=causal, scale=scale)
        if output is not None:
            return output
    if causal:
        mask = combine_masks(mask, causal_mask(*shape[-2:]))  # (..., m, n)
    scores = scaled_dot_scores(query, key, scale)  # (..., m, n)
    if bias is not None:
        check_broadcast("bias", bias.shape, shape)
        mask = combine_masks(mask, bias != -np.inf)
        scores = scores + bias  # (..., m, n)
    return attend(scores, value, mask, return_weights=return_weights)


@floating("scores", "value")
def hard_attention(scores, value, mask=None, *, uniform=None, return_weights=False):
    """Look up one value for each query: the best key's, or one drawn by softmax.

    Parameters
    ----------
    scores : array_like, shape (..., m, n)
        How well each key answers each query; -inf counts as masked.
    value : array_like, shape (..., n, d_v)
        What is handed out.
    mask : array_like of bool, optional
        True means may attend; broadcasts against scores.
    uniform : array_like, shape (..., m), optional
        One number in [0, 1) for each query: the first key is taken at which the sum of the weights
        so far exceeds it (the inverse distribution function). Without them the best key is taken,
        of equal ones the first.
    return_weights : bool
        Return the weights too.

    Returns
    -------
    output : numpy.ndarray, shape (..., m, d_v)
        The values taken, in the wider float dtype; 0 where a query has nothing to attend to.
    weights : numpy.ndarray, shape (..., m, n)
        One 1 a row. Only with ``return_weights=True``.

    Raises
    ------
    ValueError
        When scores and value differ in the number of keys, shapes do not broadcast, or uniform
        leaves [0, 1].
    TypeError
        When mask is not boolean, or an argument is complex or holds no numbers.

    References
    ----------
    Xu et al. (2015), "Show, Attend and Tell: Neural Image Caption Generation with
    Visual Attention", section 4.1.

    Examples
    --------
    >>> hard_attention([[0.0, 2.0, 1.0]], [[10.0], [20.0], [30.0]])
    array([[20.]])
    >>> hard_attention([[0.0, 0.0], [0.0, 0.0]], [[10.0], [20.0]], uniform=[0.49, 0.51])
    array([[10.],
           [20.]])
    """
    check_value(scores.shape, value.shape)
    if scores.shape[-1] == 0:  # no key, no choice: the soft lookup gives the same nothing
        return attend(scores, value, mask, return_weights=return_weights)
    soft = masked_softmax(scores, mask)  # (..., m, n)
    if uniform is None:
        key = _best_key(scores, soft)  # (..., m)
    else:
        key = _drawn_key(soft, as_uniform(uniform, soft.shape))  # (..., m)
    one_hot = np.arange(soft.shape[-1]) == key[..., None]  # (..., m, n)
    weights = np.where(np.isnan(soft), soft, one_hot & (soft > 0))  # an empty row stays empty
    output = _weighted_sum(weights, value)  # (..., m, d_v)
    return (output, weights) if return_weights else output


@floating("scores", "centre")
def local_p_weights(scores, centre, window, *, mask=None):
    """Weigh the keys near a predicted centre: softmax inside a window, times a bell curve.

    This is local-p, the predictive one of Luong's two local forms. As in the paper the product is
    not normalised again, so that rows do not sum to one.

    Parameters
    ----------
    scores : array_like, shape (..., m, n)
        How well each key answers each query; -inf counts as masked.
    centre : array_like, shape (..., m)
        For each query a position among the keys, counted from 0; any real number.
    window : float
        Keys with ``|j - centre| <= window`` take part; the bell curve has the standard deviation
        ``window / 2``.
    mask : array_like of bool, optional
        True means may attend; broadcasts against scores.

    Returns
    -------
    numpy.ndarray, shape (..., m, n)
        The weights, in the wider float dtype; 0 outside the window.

    Raises
    ------
    ValueError
        When centre does not fit scores, mask does not broadcast, or window is not above 0.
    TypeError
        When mask is not boolean, or an argument is complex or holds no numbers.

    References
    ----------
    Luong, Pham and Manning (2015), "Effective Approaches to Attention-based Neural Machine
    Translation", section 3.2, equation 10.

    Examples
    --------
    >>> local_p_weights([[0.0, 0.0, 0.0, 0.0]], [1.0], 1).round(3)
    array([[0.045, 0.333, 0.045, 0.   ]])
    """
    check_axes("scores", scores.shape, "(..., m, n)")
    check_per_query("centre", centre.shape, scores.shape)
    check_positive("window", window, "the bell curve has the standard deviation window / 2")
    distance = np.arange(scores.shape[-1], dtype=scores.dtype) - centre[..., None]  # (..., m, n)
    inside = combine_masks(as_mask(mask, scores.shape), np.abs(distance) <= window)
    bell = np.exp(-(distance**2) / (2 * (window / 2) ** 2))  # (..., m, n)
    return masked_softmax(scores, inside) * bell


def _best_key(scores, soft):
    """Return the first key with the highest score among those that have weight."""
    return np.argmax(np.where(soft > 0, scores, -np.inf), -1)  # (..., m)


def _drawn_key(soft, uniform):
    """Return the first key at which the weights so far exceed the uniform number."""
    so_far = np.cumsum(soft, -1)  # (..., m, n)
    exceeds = so_far > uniform[..., None]  # (..., m, n)
    is_last = so_far == so_far[..., -1:]  # where rounding leaves the sum below 1
    return np.argmax(exceeds | is_last, -1)  # (..., m)


def _weighted_sum(weights, value):
    """Return ``weights @ value``; a weight of 0 silences its value, even NaN and infinity."""
    finite = np.isfinite(value)  # (..., n, d_v)
    if finite.all():
        return weights @ value  # (..., m, d_v)
    output = weights @ np.where(finite, value, 0)  # (..., m, d_v)
    seen = (weights != 0).astype(value.dtype)  # (..., m, n)
    for bad, found in (
        (np.nan, np.isnan(value)),
        (np.inf, value == np.inf),
        (-np.inf, value == -np.inf),
    ):
        shows = seen @ found > 0  # (..., m, d_v)
        output = np.where(shows, output + bad, output)
    return output
