"""Losses and marks for sequences, in NumPy: what a position costs, and what counts as right.

There is no training here; the loop that trains is `attnkit.torch.fit`.
"""

import numpy as np

from attnkit import errors
from attnkit.errors import check_alignment, check_classes, check_loss, check_same_shape
from attnkit.schedules import warmup_schedule

from ._arrays import _float_array, as_array

__all__ = ["alignment_accuracy", "exact_match", "masked_cross_entropy", "warmup_schedule"]


def masked_cross_entropy(logits, target, mask, *, label_smoothing=0.0):
    r"""Mean cross-entropy over the positions where the mask is True.

    A padded position costs nothing, and whatever stands there (NaN included) has no influence:
    it is left out of the sum and of the count.

    Parameters
    ----------
    logits : array_like, (..., T, V)
        Scores of `V` classes before softmax.
    target : array_like of int, (..., T)
        The right class of each position.
    mask : array_like of bool, (..., T)
        True where a position counts.
    label_smoothing : float
        ε in [0, 1): the right class is worth 1 − ε, and ε is spread over all `V` classes alike.

    Returns
    -------
    float
        A NumPy scalar, float32 or wider; 0 where no position counts.

    Raises
    ------
    ValueError
        If shapes do not fit together or a counted target is no class.
    TypeError
        If `target` does not hold whole numbers, `mask` is not boolean or `logits` is complex.

    Notes
    -----
    A position with right class `c` costs :math:`-\log p_c`, where `p` is the softmax of its
    logits; label smoothing as in section 7 of Szegedy et al., "Rethinking the Inception
    Architecture for Computer Vision" (2016).

    Examples
    --------
    >>> logits = np.array([[0.0, 0.0], [np.nan, np.nan]])
    >>> float(masked_cross_entropy(logits, [1, 0], [True, False]))  # log 2
    0.6931471805599453
    """
    logits, target, mask = _wide(logits), as_array("target", target), as_array("mask", mask)
    check_loss(logits.shape, target.shape, mask.shape, label_smoothing)
    _check_boolean("mask", mask)
    logits, target = logits[mask], _whole("target", target)[mask]  # (counted, V), (counted,)
    if target.size == 0:
        return logits.dtype.type(0)
    check_classes("target", target.min(), target.max(), logits.shape[-1])
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))  # (counted, V)
    right = np.take_along_axis(log_p, target[:, None], axis=-1)[:, 0]  # (counted,)
    cost = (
        -right
        if label_smoothing == 0
        else -(1 - label_smoothing) * right - label_smoothing * log_p.mean(axis=-1)
    )
    return cost.mean()


def exact_match(predicted, target, mask):
    """Share of sequences in which every position that counts is right.

    One wrong token makes the whole sequence wrong: a date with a wrong year is a wrong date.

    Parameters
    ----------
    predicted, target : array_like of int, (..., T)
        Tokens, position by position.
    mask : array_like of bool, (..., T)
        True where a position counts. A sequence without such a position is left out.

    Returns
    -------
    float
        Between 0 and 1; 0 where there is no sequence to score.

    Raises
    ------
    ValueError
        If the shapes differ.
    TypeError
        If tokens are no whole numbers or `mask` is not boolean.

    Examples
    --------
    >>> mask = [[True, True, False], [True, True, True]]
    >>> exact_match([[1, 2, 9], [1, 3, 3]], [[1, 2, 0], [1, 2, 3]], mask)
    0.5
    """
    predicted, target = as_array("predicted", predicted), as_array("target", target)
    mask = as_array("mask", mask)
    check_same_shape("predicted", predicted.shape, "target", target.shape)
    check_same_shape("mask", mask.shape, "target", target.shape)
    _check_boolean("mask", mask)
    right = (_whole("predicted", predicted) == _whole("target", target)) | ~mask
    return _share(right.all(axis=-1), mask.any(axis=-1))


def alignment_accuracy(weights, alignment):
    """Share of target positions that put their largest attention weight on their source position.

    Parameters
    ----------
    weights : array_like, (..., T, n)
        Attention weights of `T` decoding steps over `n` source positions.
    alignment : array_like of int, (..., T)
        The right source position; -1 where there is none (function words, padding): not scored.

    Returns
    -------
    float
        Between 0 and 1; 0 where there is nothing to score. Of equal weights the first counts.

    Raises
    ------
    ValueError
        If shapes do not fit together or `alignment` names a position that `weights` does not have.
    TypeError
        If `alignment` does not hold whole numbers or `weights` no real ones.

    Examples
    --------
    >>> alignment_accuracy([[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]], [0, 1, -1])
    0.5
    """
    weights, alignment = _float_array("weights", weights), as_array("alignment", alignment)
    alignment = _whole("alignment", alignment)
    check_alignment(weights.shape, alignment.shape, alignment.max(initial=-1))
    scored = alignment >= 0
    if weights.shape[-1] == 0:  # argmax over nothing is undefined; nothing can be scored either
        return 0.0
    return _share(weights.argmax(axis=-1) == alignment, scored)


def _share(right, counts):
    """Mean of `right` over the entries that count; 0 where none does."""
    total = int(counts.sum())
    return float((right & counts).sum() / total) if total else 0.0


def _wide(logits):
    """Single precision at least: a loss summed in half precision loses its small terms."""
    logits = _float_array("logits", logits)
    return logits.astype(np.promote_types(logits.dtype, np.float32), copy=False)


def _check_boolean(name, mask):
    """Refuse a mask that is not boolean: one of 0.0 and 1.0 would pick positions, not mark them."""
    if mask.dtype != bool:
        errors.refuse_type(name, mask.dtype, "boolean", errors.NOT_COUNTED)


def _whole(name, array):
    # An empty list arrives as float64; it holds no number that could be anything but whole.
    if array.size and array.dtype.kind not in "iu":
        errors.refuse_type(name, array.dtype, "integers", errors.NOT_CLASSES)
    return array.astype(np.int64, copy=False)
