"""Attention itself: weights over keys, then a weighted sum of values; soft, hard and local."""

import torch

from ..errors import (
    check_attention,
    check_axes,
    check_broadcast,
    check_per_query,
    check_positive,
    check_value,
)
from ._tensors import as_mask, as_uniform, floating
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
    scores : torch.Tensor, shape (..., m, n)
        How well each key answers each query; -inf counts as masked.
    value : torch.Tensor, shape (..., n, d_v)
        What is handed out.
    mask : torch.Tensor of bool, optional
        True means may attend; broadcasts against scores.
    return_weights : bool
        Return the weights too.

    Returns
    -------
    output : torch.Tensor, shape (..., m, d_v)
        The weighted sums, in the wider float dtype; 0 where a query has nothing to attend to.
    weights : torch.Tensor, shape (..., m, n)
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
    >>> scores, value = torch.zeros(1, 3), torch.tensor([[1.0, 0.0], [3.0, 1.0], [torch.nan, 5.0]])
    >>> attend(scores, value, torch.tensor([True, True, False]))
    tensor([[2.0000, 0.5000]])
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
    scale : float, optional
        The factor of the scores; ``d_k ** -0.5`` when not given.
    bias : torch.Tensor, optional
        Added to the scaled scores; broadcasts against ``(..., m, n)``, -inf counts as masked.
    return_weights : bool
        Return the weights too.

    Returns
    -------
    output : torch.Tensor, shape (..., m, d_v)
        The weighted sums, in the widest float dtype given; 0 where a query has nothing to attend
        to.
    weights : torch.Tensor, shape (..., m, n)
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
    >>> query, key, value = torch.zeros(2, 4), torch.ones(2, 4), torch.tensor([[1.0], [3.0]])
    >>> scaled_dot_product_attention(query, key, value, causal=True)
    tensor([[1.],
            [2.]])
    """
    shape = check_attention(query.shape, key.shape, value.shape)
    mask = as_mask(mask, shape)
    if causal:
        mask = combine_masks(mask, causal_mask(*shape[-2:], device=query.device))  # (..., m, n)
    if bias is not None:
        check_broadcast("bias", bias.shape, shape)
        mask = combine_masks(mask, bias != -torch.inf)
    scores = scaled_dot_scores(query, _hide_unseen(key, mask), scale)  # (..., m, n)
    if bias is not None:
        scores = scores + bias  # (..., m, n)
    return attend(scores, value, mask, return_weights=return_weights)


@floating("scores", "value")
def hard_attention(scores, value, mask=None, *, uniform=None, return_weights=False):
    """Look up one value for each query: the best key's, or one drawn by softmax.

    Parameters
    ----------
    scores : torch.Tensor, shape (..., m, n)
        How well each key answers each query; -inf counts as masked.
    value : torch.Tensor, shape (..., n, d_v)
        What is handed out.
    mask : torch.Tensor of bool, optional
        True means may attend; broadcasts against scores.
    uniform : torch.Tensor, shape (..., m), optional
        One number in [0, 1) for each query: the first key is taken at which the sum of the weights
        so far exceeds it (the inverse distribution function). Without them the best key is taken,
        of equal ones the first.
    return_weights : bool
        Return the weights too.

    Returns
    -------
    output : torch.Tensor, shape (..., m, d_v)
        The values taken, in the wider float dtype; 0 where a query has nothing to attend to.
    weights : torch.Tensor, shape (..., m, n)
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
    >>> hard_attention(torch.tensor([[0.0, 2.0, 1.0]]), torch.tensor([[10.0], [20.0], [30.0]]))
    tensor([[20.]])
    >>> scores, value = torch.zeros(2, 2), torch.tensor([[10.0], [20.0]])
    >>> hard_attention(scores, value, uniform=torch.tensor([0.49, 0.51]))
    tensor([[10.],
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
    one_hot = torch.arange(soft.shape[-1], device=soft.device) == key[..., None]  # (..., m, n)
    taken = (one_hot & (soft > 0)).to(soft)  # an empty row stays empty
    weights = torch.where(soft.isnan(), soft, taken)  # (..., m, n)
    output = _weighted_sum(weights, value)  # (..., m, d_v)
    return (output, weights) if return_weights else output


@floating("scores", "centre")
def local_p_weights(scores, centre, window, *, mask=None):
    """Weigh the keys near a predicted centre: softmax inside a window, times a bell curve.

    This is local-p, the predictive one of Luong's two local forms. As in the paper the product is
    not normalised again, so that rows do not sum to one.

    Parameters
    ----------
    scores : torch.Tensor, shape (..., m, n)
        How well each key answers each query; -inf counts as masked.
    centre : torch.Tensor, shape (..., m)
        For each query a position among the keys, counted from 0; any real number.
    window : float
        Keys with ``|j - centre| <= window`` take part; the bell curve has the standard deviation
        ``window / 2``.
    mask : torch.Tensor of bool, optional
        True means may attend; broadcasts against scores.

    Returns
    -------
    torch.Tensor, shape (..., m, n)
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
    >>> local_p_weights(torch.zeros(1, 4), torch.tensor([1.0]), 1)
    tensor([[0.0451, 0.3333, 0.0451, 0.0000]])
    """
    check_axes("scores", scores.shape, "(..., m, n)")
    check_per_query("centre", centre.shape, scores.shape)
    check_positive("window", window, "the bell curve has the standard deviation window / 2")
    keys = torch.arange(scores.shape[-1]).to(scores)  # (n,)
    distance = keys - centre[..., None]  # (..., m, n)
    inside = combine_masks(as_mask(mask, scores.shape), distance.abs() <= window)
    bell = torch.exp(-(distance**2) / (2 * (window / 2) ** 2))  # (..., m, n)
    return masked_softmax(scores, inside) * bell


def _best_key(scores, soft):
    """Return the first key with the highest score among those that have weight."""
    return torch.where(soft > 0, scores, -torch.inf).argmax(-1)  # (..., m)


def _drawn_key(soft, uniform):
    """Return the first key at which the weights so far exceed the uniform number."""
    so_far = soft.cumsum(-1)  # (..., m, n)
    exceeds = so_far > uniform[..., None]  # (..., m, n)
    is_last = so_far == so_far[..., -1:]  # where rounding leaves the sum below 1
    return (exceeds | is_last).int().argmax(-1)  # (..., m)


def _hide_unseen(key, mask):
    """Return key with 0 where no query may see it, so that a NaN there reaches no gradient."""
    if mask is None:
        return key
    seen = mask.any(-2) if mask.dim() > 1 else mask  # (..., n)
    return torch.where(seen[..., None], key, 0)  # (..., n, d_k)


def _weighted_sum(weights, value):
    """Return ``weights @ value``; a weight of 0 silences its value, even NaN and infinity."""
    output = weights @ value  # (..., m, d_v)
    if output.isfinite().all():  # 0 times NaN or infinity is NaN: nothing has to be silenced
        return output
    output = weights @ torch.where(value.isfinite(), value, 0)  # (..., m, d_v)
    seen = (weights != 0).to(value)  # (..., m, n)
    for bad, found in (
        (torch.nan, value.isnan()),
        (torch.inf, value == torch.inf),
        (-torch.inf, value == -torch.inf),
    ):
        shows = seen @ found.to(value) > 0  # (..., m, d_v)
        output = torch.where(shows, output + bad, output)
    return output
