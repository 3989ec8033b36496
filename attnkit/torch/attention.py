"""Attention itself: weights over keys, then a weighted sum of values; soft, hard and local.

A hard choice has no derivative; `reinforce_gradient`, `straight_through_attention` and
`gumbel_weights` are three ways to learn in spite of it, `exact_reward_gradient` what they estimate.
"""

import torch

from ..errors import (
    HARD_LIMIT,
    check_attention,
    check_axes,
    check_broadcast,
    check_per_key,
    check_per_query,
    check_positive,
    check_real,
    check_reward,
    check_value,
)
from ._tensors import _float_tensor, as_mask, as_uniform, floating
from .masks import causal_mask, combine_masks
from .scores import scaled_dot_scores
from .weights import masked_softmax, softmax

__all__ = [
    "attend",
    "exact_reward_gradient",
    "gumbel_weights",
    "hard_attention",
    "local_p_weights",
    "reinforce_gradient",
    "scaled_dot_product_attention",
    "straight_through_attention",
]


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

    Notes
    -----
    `torch.func.vmap` raises torch's error, since the numbers decide how a NaN is silenced; leading
    axes do the same.

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
        taken = _best_key(scores, soft)  # (..., m, n)
    else:
        uniform = as_uniform(uniform)
        check_per_query("uniform", uniform.shape, soft.shape)
        taken = _drawn_keys(soft, uniform)  # (..., m, n)
    weights = torch.where(soft.isnan(), soft, taken.to(soft))  # (..., m, n)
    output = _weighted_sum(weights, value)  # (..., m, d_v)
    return (output, weights) if return_weights else output


@floating("scores", "value")
def straight_through_attention(
    scores, value, mask=None, *, uniform=None, temperature=1.0, return_weights=False
):
    """Look up one value for each query, with the derivative of the soft weights.

    Forward this is `hard_attention`. Backward the scores get the gradient that the weights
    ``softmax(scores / temperature)`` would have given them, as if nothing had been chosen; a value
    gets the gradient of the queries that took it.

    Parameters
    ----------
    scores : torch.Tensor, shape (..., m, n)
        How well each key answers each query; -inf counts as masked.
    value : torch.Tensor, shape (..., n, d_v)
        What is handed out.
    mask : torch.Tensor of bool, optional
        True means may attend; broadcasts against scores.
    uniform : torch.Tensor, shape (..., m), optional
        One number in [0, 1) for each query, as in `hard_attention`; the best key is taken without
        them.
    temperature : float
        Above 0. It divides the scores on the way back only; the choice does not depend on it.
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
        When scores and value differ in the number of keys, shapes do not broadcast, uniform leaves
        [0, 1], or temperature is not above 0.
    TypeError
        When mask is not boolean, or an argument is complex or holds no numbers.

    References
    ----------
    Bengio, Léonard and Courville (2013), "Estimating or Propagating Gradients Through Stochastic
    Neurons for Conditional Computation"; over softmax Jang, Gu and Poole (2017), "Categorical
    Reparameterization with Gumbel-Softmax", section 2.2.

    Examples
    --------
    >>> scores = torch.zeros(1, 2, requires_grad=True)
    >>> output = straight_through_attention(scores, torch.tensor([[10.0], [20.0]]))
    >>> output.sum().backward()
    >>> output.detach(), scores.grad
    (tensor([[10.]]), tensor([[-2.5000,  2.5000]]))
    """
    check_positive("temperature", temperature, HARD_LIMIT)
    hard = hard_attention(scores, value, mask, uniform=uniform, return_weights=True)[1].detach()
    soft = _softmax_at(temperature, scores, as_mask(mask, scores.shape))  # (..., m, n)
    weights = hard + (soft - soft.detach())  # (..., m, n): the numbers of hard, the slope of soft
    output = _weighted_sum(weights, value)  # (..., m, d_v)
    return (output, weights) if return_weights else output


@floating("scores")
def gumbel_weights(scores, uniform, mask=None, *, temperature=1.0):
    """Relax a random choice to weights that have a derivative: softmax of scores plus Gumbel noise.

    With ``g = -log(-log(uniform))`` the highest of ``scores + g`` is key j with the probability
    ``masked_softmax(scores)[j]``. The weights are the softmax of ``(scores + g) / temperature``:
    nearly one 1 a row where the temperature is low, nearly equal where it is high.

    Parameters
    ----------
    scores : torch.Tensor, shape (..., n)
        How well each key answers; -inf counts as masked.
    uniform : torch.Tensor, shape (..., n)
        One number in [0, 1) for each key; the leading axes broadcast against those of scores. 0
        and 1 are taken as the nearest numbers between them.
    mask : torch.Tensor of bool, optional
        True means may attend; broadcasts against scores.
    temperature : float
        Above 0.

    Returns
    -------
    torch.Tensor, shape (..., n)
        The weights, in the dtype of scores; masked keys exactly 0, a row with nothing to attend to
        all 0.

    Raises
    ------
    ValueError
        When uniform does not hold one number in [0, 1] for each key, shapes do not broadcast, or
        temperature is not above 0.
    TypeError
        When mask is not boolean, or an argument is complex or holds no numbers.

    References
    ----------
    Jang, Gu and Poole (2017), "Categorical Reparameterization with Gumbel-Softmax", section 2;
    Maddison et al. (2017), "The Concrete Distribution: A Continuous Relaxation of Discrete
    Random Variables", section 3.

    Examples
    --------
    >>> scores, uniform = torch.tensor([0.0, 1.0, 5.0]), torch.tensor([0.5, 0.5, 0.5])
    >>> gumbel_weights(scores, uniform, torch.tensor([True, True, False]))
    tensor([0.2689, 0.7311, 0.0000])
    """
    check_axes("scores", scores.shape, "(..., n)")
    check_positive("temperature", temperature, HARD_LIMIT)
    uniform = as_uniform(uniform)
    check_per_key("uniform", uniform.shape, scores.shape)
    uniform = uniform.to(torch.promote_types(uniform.dtype, scores.dtype))
    limits = torch.finfo(uniform.dtype)
    uniform = uniform.clamp(limits.tiny, 1 - limits.eps / 2)  # both logarithms stay finite
    noise = -torch.log(-torch.log(uniform))  # (..., n)
    noisy = scores + noise.to(scores.dtype)  # (..., n)
    return _softmax_at(temperature, noisy, as_mask(mask, noisy.shape))


@floating("scores", "reward")
def exact_reward_gradient(scores, reward, mask=None):
    """Return how the expected reward of a random choice changes with each score, by enumeration.

    One key is drawn by softmax, and key j pays ``reward[j]``. The expected reward is
    ``sum(p * reward)`` with ``p = masked_softmax(scores, mask)``; its derivative is
    ``p * (reward - sum(p * reward))``: a key gains score if it pays more than the mean.

    Parameters
    ----------
    scores : torch.Tensor, shape (..., n)
        How well each key answers; -inf counts as masked.
    reward : torch.Tensor, shape (..., n)
        What each key pays; the leading axes broadcast against those of scores. Masked keys have no
        influence, even if theirs is NaN or infinite.
    mask : torch.Tensor of bool, optional
        True means may be drawn; broadcasts against scores.

    Returns
    -------
    torch.Tensor, shape (..., n)
        The derivative, in the wider float dtype; 0 for masked keys and where there is no key to
        draw.

    Raises
    ------
    ValueError
        When scores and reward differ in the number of keys, or shapes do not broadcast.
    TypeError
        When mask is not boolean, or an argument is complex or holds no numbers.

    References
    ----------
    Williams (1992), "Simple Statistical Gradient-Following Algorithms for Connectionist
    Reinforcement Learning", sections 3 and 4 (what the estimates of `reinforce_gradient` have as
    their mean).

    Examples
    --------
    >>> exact_reward_gradient(torch.zeros(2), torch.tensor([1.0, 3.0]))
    tensor([-0.5000,  0.5000])
    """
    check_reward(scores.shape, reward.shape)
    weights = masked_softmax(scores, mask)  # (..., n)
    reward = torch.where(weights != 0, reward, 0)  # (..., n)
    expected = (weights * reward).sum(-1, keepdim=True)  # (..., 1)
    return weights * (reward - expected)


@floating("scores", "reward")
def reinforce_gradient(scores, reward, uniform, mask=None, *, baseline=0.0):
    """Estimate the gradient of an expected reward from draws: one score-function estimate each.

    A draw of key j gives ``(reward[j] - baseline) * (one_hot(j) - p)`` with
    ``p = masked_softmax(scores, mask)``. The mean over many draws is `exact_reward_gradient`,
    whatever the baseline; how far single estimates lie apart depends on it.

    Parameters
    ----------
    scores : torch.Tensor, shape (..., n)
        How well each key answers; -inf counts as masked.
    reward : torch.Tensor, shape (..., n)
        What each key pays; only that of the key drawn is looked at.
    uniform : torch.Tensor, shape (..., s)
        One number in [0, 1) for each draw, made a key as in `hard_attention`: the first at which
        the sum of the weights so far exceeds it.
    mask : torch.Tensor of bool, optional
        True means may be drawn; broadcasts against scores.
    baseline : float or torch.Tensor, shape (...)
        Subtracted from the reward. It must not depend on the draw, or the mean changes.

    Returns
    -------
    torch.Tensor, shape (..., s, n)
        The estimates, in the wider float dtype of scores and reward; 0 for masked keys and where
        there is no key to draw. The leading axes of all arguments broadcast.

    Raises
    ------
    ValueError
        When scores and reward differ in the number of keys, leading axes do not broadcast, or
        uniform leaves [0, 1].
    TypeError
        When mask is not boolean, or an argument is complex or holds no numbers.

    References
    ----------
    Williams (1992), "Simple Statistical Gradient-Following Algorithms for Connectionist
    Reinforcement Learning", section 4; for attention Xu et al. (2015), "Show, Attend and Tell:
    Neural Image Caption Generation with Visual Attention", section 4.1.

    Examples
    --------
    >>> reward, uniform = torch.tensor([1.0, 3.0]), torch.tensor([0.25, 0.75])
    >>> reinforce_gradient(torch.zeros(2), reward, uniform)
    tensor([[ 0.5000, -0.5000],
            [-1.5000,  1.5000]])
    """
    if not isinstance(baseline, torch.Tensor):
        check_real("baseline", baseline)
        baseline = torch.tensor(float(baseline), dtype=scores.dtype, device=scores.device)
    uniform, baseline = as_uniform(uniform), _float_tensor("baseline", baseline)
    check_reward(scores.shape, reward.shape, uniform=uniform.shape, baseline=baseline.shape)
    weights = masked_softmax(scores, mask)[..., None, :]  # (..., 1, n)
    drawn = _drawn_keys(weights, uniform)  # (..., s, n)
    paid = torch.where(drawn, reward[..., None, :], 0).sum(-1)  # (..., s)
    advantage = paid - baseline[..., None].to(scores)  # (..., s)
    return advantage[..., None] * (drawn.to(scores) - weights)


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
    keys = torch.arange(scores.shape[-1], dtype=scores.dtype, device=scores.device)  # (n,)
    distance = keys - centre[..., None]  # (..., m, n)
    inside = combine_masks(as_mask(mask, scores.shape), distance.abs() <= window)
    deviation = max(window / 2, torch.finfo(distance.dtype).tiny)
    near = torch.where(distance.abs() > window, 0, distance)  # (..., m, n), no square overflows
    bell = torch.exp(-((near / deviation) ** 2) / 2)  # (..., m, n)
    return masked_softmax(scores, inside) * bell


def _best_key(scores, soft):
    """Return, one-hot, the first key with the highest score among those that have weight."""
    key = torch.where(soft > 0, scores, -torch.inf).argmax(-1)  # (..., m)
    keys = torch.arange(soft.shape[-1], device=soft.device)  # (n,)
    return (keys == key[..., None]) & (soft > 0)  # (..., m, n)


def _drawn_keys(soft, uniform):
    """Return, one-hot, the first key at which the weights so far exceed the uniform number."""
    seen = soft > 0  # (..., m, n): no number draws a key without weight
    exceeds = soft.cumsum(-1) > uniform[..., None]  # (..., m, n)
    count = seen.cumsum(-1)  # (..., m, n)
    is_last = count == count[..., -1:]  # where rounding leaves the sum below the number
    enough = seen & (exceeds | is_last)  # (..., m, n)
    return enough & (enough.cumsum(-1) == 1)


def _softmax_at(temperature, scores, mask):
    """Return the softmax of ``scores / temperature``, shifted first so that no quotient overflows."""
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)  # (..., n)
    if scores.shape[-1] == 0:
        return softmax(scores)
    scores = scores.clamp(max=torch.finfo(scores.dtype).max)  # as softmax does
    limits = torch.finfo(scores.dtype)
    below = scores - scores.detach().amax(-1, keepdim=True)  # (..., n), none above 0
    below = below.clamp(min=-limits.max)
    temperature = min(max(temperature, limits.tiny), limits.max)
    return softmax(torch.where(scores == -torch.inf, scores, below / temperature))


def _hide_unseen(key, mask):
    """Return key with 0 where no query may see it, so that a NaN there reaches no gradient."""
    if mask is None:
        return key
    seen = mask.any(-2) if mask.dim() > 1 else mask  # (..., n)
    return torch.where(seen[..., None], key, 0)  # (..., n, d_k)


def _weighted_sum(weights, value):
    """Return ``weights @ value``; a weight of 0 silences its value, even NaN and infinity."""
    output = weights @ value  # (..., m, d_v)
    # 0 times NaN or infinity is NaN: nothing has to be silenced where all is finite. An exported
    # graph has no such branch and takes the long way, which is always right.
    if not torch.compiler.is_exporting() and output.isfinite().all():
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
