"""Checks of losses and marks: what was predicted against what is right, position by position."""

from .arguments import check_axes, check_probability

__all__ = [
    "NOT_CLASSES",
    "NOT_COUNTED",
    "check_alignment",
    "check_classes",
    "check_loss",
    "check_same_shape",
]

NOT_CLASSES = "a class, a token or a position is a whole number, counted from 0"
NOT_COUNTED = "True where a position counts (a 0/1 mask becomes one with mask == 1)"
SMOOTHING = "it is the share that is spread over all classes"


def check_same_shape(name, shape, other_name, other):
    """Refuse an array that has not the shape of the one it is compared with.

    Parameters
    ----------
    name, other_name : str
        The argument, and what it is compared with.
    shape, other : tuple of int
        Their shapes.

    Raises
    ------
    ValueError
        When they differ, even if they would broadcast.

    Examples
    --------
    >>> check_same_shape("mask", (1, 5), "target", (2, 5))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: mask has shape (1, 5) but target has shape (2, 5); they are compared position by ...
    """
    if tuple(shape) != tuple(other):
        raise ValueError(
            f"{name} has shape {tuple(shape)} but {other_name} has shape {tuple(other)}; they are compared "
            "position by position (a shorter one, stretched, would mark the wrong positions)"
        )


def check_loss(logits, target, mask, label_smoothing):
    """Refuse logits, targets and a mask that do not belong together.

    Parameters
    ----------
    logits, target, mask : tuple of int
        Shapes ``(..., T, V)``, ``(..., T)`` and ``(..., T)``.
    label_smoothing : float
        In [0, 1).

    Raises
    ------
    TypeError
        When label_smoothing is not a real number.
    ValueError
        When the shapes do not fit or label_smoothing leaves [0, 1).

    Examples
    --------
    >>> check_loss((2, 5, 7), (2, 4), (2, 4), 0.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: target has shape (2, 4) but logits without its classes has shape (2, 5); ...
    """
    check_axes("logits", logits, "(..., V)")
    check_same_shape("target", target, "logits without its classes", logits[:-1])
    check_same_shape("mask", mask, "target", target)
    check_probability("label_smoothing", label_smoothing, SMOOTHING)


def check_alignment(weights, alignment, largest):
    """Refuse an alignment that does not belong to the weights.

    Parameters
    ----------
    weights, alignment : tuple of int
        Shapes ``(..., T, n)`` and ``(..., T)``.
    largest : int
        The last source position that the alignment names.

    Raises
    ------
    ValueError
        When the shapes do not fit or the position is not there.

    Examples
    --------
    >>> check_alignment((3, 4), (3,), 4)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: alignment names source position 4 but weights has 4 of them, 0 to 3; ...
    """
    check_axes("weights", weights, "(..., n)")
    check_same_shape("alignment", alignment, "weights without its keys", weights[:-1])
    if largest >= weights[-1]:
        raise ValueError(
            f"alignment names source position {largest} but weights has {weights[-1]} of them, "
            f"0 to {weights[-1] - 1}; was the source cut off, or does alignment count from 1?"
        )


def check_classes(name, lowest, highest, n_classes):
    """Refuse targets that are no classes, where the mask is True.

    Parameters
    ----------
    name : str
        The argument.
    lowest, highest : int
        The range of what counts.
    n_classes : int
        The classes.

    Raises
    ------
    ValueError
        When the range leaves the classes.

    Examples
    --------
    >>> check_classes("target", -100, 3, 7)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: target must lie between 0 and 6 where mask is True but reaches from -100 to 3; ...
    """
    if lowest < 0 or highest >= n_classes:
        raise ValueError(
            f"{name} must lie between 0 and {n_classes - 1} where mask is True but reaches from {lowest} to "
            f"{highest}; is padding marked False in mask?"
        )
