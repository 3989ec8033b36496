"""Checks of sparse patterns, of masks over keys and of feature maps."""

from .arguments import broadcast_shape, check_size, refuse_type

__all__ = ["check_feature_map", "check_key_mask", "check_pattern"]


def check_key_mask(shape, lead, n):
    """Refuse a mask of keys that does not hold one entry for each key.

    Parameters
    ----------
    shape : tuple of int
        The shape of key_mask, to broadcast against ``(..., n)``.
    lead : tuple of int
        The leading axes of query, key and value together, which it must not enlarge.
    n : int
        The number of keys.

    Raises
    ------
    ValueError
        When the shapes do not fit.

    Examples
    --------
    >>> check_key_mask((2, 5), (2, 3), 5)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: key_mask has shape (2, 5), which does not broadcast against (2, 3, 5), ...
    """
    if not shape or shape[-1] != n or broadcast_shape(shape[:-1], lead) != tuple(lead):
        cause = "True where a key may be seen, one entry for each key"
        if len(shape) == len(lead):
            cause = "over split heads it goes in with a heads axis: key_mask[:, None]"
        elif len(shape) >= 2 and shape[-2:] == (1, n):
            cause = "padding_mask has an axis for the queries, key_mask has none: padding_mask(...)[..., 0, :]"
        raise ValueError(
            f"key_mask has shape {tuple(shape)}, which does not broadcast against {(*lead, n)}, leading axes and keys; {cause}"
        )


def check_pattern(window, n_global, stride):
    """Return the sizes of a sparse pattern as ints, None where a part is absent, or refuse them.

    Parameters
    ----------
    window, stride : int or None
        The largest distance of the band, and the step of the stride.
    n_global : int
        The number of global positions.

    Returns
    -------
    dict
        The three by name.

    Raises
    ------
    TypeError
        When one is no whole number.
    ValueError
        When one is negative, stride is below 1 or no part is given.

    Examples
    --------
    >>> check_pattern(None, 0, None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: window, n_global or stride must be given; ...
    """
    n_global = check_size("n_global", n_global)
    if window is not None:
        window = check_size("window", window)
    if stride is not None:
        stride = check_size("stride", stride, minimum=1)
    if window is None and stride is None and n_global == 0:
        raise ValueError(
            "window, n_global or stride must be given; a pattern without any part lets no query see a key "
            "(scaled_dot_product_attention sees all of them)"
        )
    return {"window": window, "n_global": n_global, "stride": stride}


def check_feature_map(feature_map, known, result=None, expected=None):
    """Refuse what is no feature map, or one whose features do not keep the axes of their input.

    Parameters
    ----------
    feature_map : str or callable
        What came.
    known : tuple of str
        The names that have a meaning.
    result, expected : tuple of int, optional
        The shape of its features and the shape of its input.

    Raises
    ------
    TypeError
        When it is neither a name nor callable.
    ValueError
        When the name is unknown or the shape is wrong.

    Examples
    --------
    >>> check_feature_map("tanh", ("elu", "exp"))
    Traceback (most recent call last):
    ValueError: feature_map must be 'elu' or 'exp' but is 'tanh'; another map goes in as a function
    """
    if isinstance(feature_map, str):
        if feature_map not in known:
            raise ValueError(
                f"feature_map must be {' or '.join(map(repr, known))} but is {feature_map!r}; "
                "another map goes in as a function"
            )
    elif not callable(feature_map):
        refuse_type(
            "feature_map",
            type(feature_map).__name__,
            f"a function or one of {', '.join(map(repr, known))}",
            "it takes (..., width) to (..., features), none negative",
        )
    if result is not None and (
        len(result) != len(expected) or tuple(result[:-1]) != tuple(expected[:-1])
    ):
        raise ValueError(
            f"feature_map returned the shape {tuple(result)} for an input of shape {tuple(expected)}; "
            "only the last axis, the width, may change"
        )
