"""From scores to weights: softmax, softmax under a mask, and the derivative of both."""

import numpy as np

from ..errors import check_axes, check_axis
from ._arrays import as_mask, floating

__all__ = ["masked_softmax", "softmax", "softmax_jacobian"]


@floating("x")
def softmax(x, axis=-1):
    """Turn scores into weights that are positive and sum to one.

    A score of -inf counts as masked: its weight is 0, and scores that are all masked have only
    weights 0, not NaN. +inf counts as the largest finite number: it takes all the weight, and
    several share it equally. NaN stays NaN.

    Parameters
    ----------
    x : array_like, shape (..., n, ...)
        The scores.
    axis : int, optional
        The axis along which the weights sum to one.

    Returns
    -------
    numpy.ndarray, shape of x
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
    >>> softmax([0.0, 0.0, -np.inf, 0.0, 0.0])
    array([0.25, 0.25, 0.  , 0.25, 0.25])
    """
    check_axis("x", x.shape, axis)
    x = np.minimum(x, np.finfo(x.dtype).max)  # +inf becomes the largest number
    highest = np.max(x, axis, keepdims=True, initial=-np.inf)  # (..., 1)
    masked = x == -np.inf  # (..., n)
    exponentials = np.where(masked, 0, np.exp(x - highest))  # (..., n), none above 1
    total = np.sum(exponentials, axis, keepdims=True)  # (..., 1)
    return np.where(masked, 0, exponentials / total)  # (..., n), also 0 in place of 0 / 0


@floating("scores")
def masked_softmax(scores, mask=None, axis=-1):
    """Turn scores into weights that sum to one over the keys that may be attended to.

    Parameters
    ----------
    scores : array_like, shape (..., m, n)
        The scores; one of -inf counts as masked, NaN at a masked position is harmless.
    mask : array_like of bool, optional
        True means may attend; broadcasts against scores.
    axis : int, optional
        The axis along which the weights sum to one.

    Returns
    -------
    numpy.ndarray, shape (..., m, n)
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
    >>> scores, mask = np.ones((2, 3)), [[True, True, False], [False, False, False]]
    >>> masked_softmax(scores, mask)
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    """
    if mask is not None:
        scores = np.where(as_mask(mask, scores.shape), scores, -np.inf)  # (..., m, n)
    return softmax(scores, axis)


@floating("weights")
def softmax_jacobian(weights):
    """Return how each weight changes with each score, ``d weights[i] / d scores[j]``.

    The derivative of softmax needs only its result: ``diag(weights) - outer(weights, weights)``. A
    masked position has row and column 0.

    Parameters
    ----------
    weights : array_like, shape (..., n)
        The result of `softmax` or `masked_softmax` along the last axis.

    Returns
    -------
    numpy.ndarray, shape (..., n, n)
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
    >>> softmax_jacobian([0.5, 0.5, 0.0])
    array([[ 0.25, -0.25,  0.  ],
           [-0.25,  0.25,  0.  ],
           [ 0.  ,  0.  ,  0.  ]])
    """
    check_axes("weights", weights.shape, "(..., n)")
    row, column = weights[..., :, None], weights[..., None, :]  # (..., n, 1) and (..., 1, n)
    return row * np.eye(weights.shape[-1], dtype=weights.dtype) - row * column  # (..., n, n)
