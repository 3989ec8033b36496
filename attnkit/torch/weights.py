"""From scores to weights: softmax, softmax under a mask, and the derivative of both."""

import torch

from ..errors import check_axes, check_axis
from ._tensors import as_mask, floating

__all__ = ["masked_softmax", "softmax", "softmax_jacobian"]


@floating("x")
def softmax(x, axis=-1):
    """Turn scores into weights that are positive and sum to one.

    A score of -inf counts as masked: its weight is 0, and scores that are all masked have only
    weights 0, not NaN. +inf counts as the largest finite number: it takes all the weight, and
    several share it equally. NaN stays NaN.

    Parameters
    ----------
    x : torch.Tensor, shape (..., n, ...)
        The scores.
    axis : int, optional
        The axis along which the weights sum to one.

    Returns
    -------
    torch.Tensor, shape of x
        The weights, in the dtype of x; sums are taken in float32 or wider.

    Raises
    ------
    ValueError
        When x has no such axis.
    TypeError
        When x is complex or holds no numbers.

    References
    ----------
    Bridle (1990), "Training Stochastic Model Recognition Algorithms as Networks can
    Lead to Maximum Mutual Information Estimation of Parameters", section 3.

    Examples
    --------
    >>> softmax(torch.tensor([0.0, 0.0, -torch.inf, 0.0, 0.0]))
    tensor([0.2500, 0.2500, 0.0000, 0.2500, 0.2500])
    """
    check_axis("x", x.shape, axis)
    x = x.clamp(max=torch.finfo(x.dtype).max)  # +inf becomes the largest number
    masked = x == -torch.inf  # (..., n)
    empty = masked.all(axis, keepdim=True)  # (..., 1)
    weights = torch.softmax(x.masked_fill(empty, 0), axis)  # (..., n), without NaN, then
    return weights.masked_fill(masked, 0)  # 0 where masked, with the gradient 0


@floating("scores")
def masked_softmax(scores, mask=None, axis=-1):
    """Turn scores into weights that sum to one over the keys that may be attended to.

    Parameters
    ----------
    scores : torch.Tensor, shape (..., m, n)
        The scores; one of -inf counts as masked, NaN at a masked position is harmless.
    mask : torch.Tensor of bool, optional
        True means may attend; broadcasts against scores.
    axis : int, optional
        The axis along which the weights sum to one.

    Returns
    -------
    torch.Tensor, shape (..., m, n)
        The weights, in the dtype of scores; masked positions 0, a row with nothing to attend to
        all 0.

    Raises
    ------
    ValueError
        When mask does not broadcast against scores, or scores has no such axis.
    TypeError
        When mask is not boolean, or scores is complex or holds no numbers.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.3.

    Examples
    --------
    >>> scores, mask = torch.ones(2, 3), torch.tensor([[True, True, False], [False, False, False]])
    >>> masked_softmax(scores, mask)
    tensor([[0.5000, 0.5000, 0.0000],
            [0.0000, 0.0000, 0.0000]])
    """
    if mask is not None:
        scores = torch.where(as_mask(mask, scores.shape), scores, -torch.inf)  # (..., m, n)
    return softmax(scores, axis)


@floating("weights")
def softmax_jacobian(weights):
    """Return how each weight changes with each score, ``d weights[i] / d scores[j]``.

    The derivative of softmax needs only its result: ``diag(weights) - outer(weights, weights)``. A
    masked position has row and column 0.

    Parameters
    ----------
    weights : torch.Tensor, shape (..., n)
        The result of `softmax` or `masked_softmax` along the last axis.

    Returns
    -------
    torch.Tensor, shape (..., n, n)
        One symmetric matrix for each row of weights, in their dtype; its rows sum to zero.

    Raises
    ------
    ValueError
        When weights has no axis.
    TypeError
        When weights is complex or holds no numbers.

    References
    ----------
    Bridle (1990), "Training Stochastic Model Recognition Algorithms as Networks can
    Lead to Maximum Mutual Information Estimation of Parameters", section 3.

    Examples
    --------
    >>> softmax_jacobian(torch.tensor([0.5, 0.5, 0.0]))
    tensor([[ 0.2500, -0.2500,  0.0000],
            [-0.2500,  0.2500,  0.0000],
            [ 0.0000,  0.0000,  0.0000]])
    """
    check_axes("weights", weights.shape, "(..., n)")
    row, column = weights[..., :, None], weights[..., None, :]  # (..., n, 1) and (..., 1, n)
    itself = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)  # (n, n)
    return row * itself - row * column  # (..., n, n)
