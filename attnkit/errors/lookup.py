"""Checks of one lookup: query, key and value, scores, masks and random numbers."""

from .arguments import (
    broadcast_shape,
    check_axes,
    check_leading,
    check_parameter,
    check_real,
    keeps_last_axes,
)

__all__ = [
    "HARD_LIMIT",
    "check_additive",
    "check_attention",
    "check_broadcast",
    "check_dot",
    "check_general",
    "check_masks",
    "check_per_key",
    "check_per_query",
    "check_reward",
    "check_value",
    "refuse_lengths",
    "refuse_uniform",
]

HARD_LIMIT = "towards 0 the weights become those of hard_attention, which takes no temperature"


def check_dot(query, key, scale=None):
    """Refuse shapes of query and key that have no dot product.

    Parameters
    ----------
    query, key : tuple of int
        Shapes ``(..., m, d_k)`` and ``(..., n, d_k)``.
    scale : float, optional
        The factor of the scores.

    Raises
    ------
    TypeError
        When scale is not a real number.
    ValueError
        When an axis is missing, the widths differ or the leading axes do not broadcast.

    Examples
    --------
    >>> check_dot((2, 64), (5, 32))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: key has width 32 but query has width 64; ...
    """
    check_axes("query", query, "(..., m, d_k)")
    check_axes("key", key, "(..., n, d_k)")
    if query[-1] != key[-1]:
        raise ValueError(
            f"key has width {key[-1]} but query has width {query[-1]}; "
            "dot-product scores need equal widths (additive attention does not)"
        )
    check_leading(query=query[:-2], key=key[:-2])
    if scale is not None:
        check_real("scale", scale)


def check_general(query, key, weight):
    """Refuse shapes for which ``query @ weight @ key.T`` has no meaning.

    Parameters
    ----------
    query, key, weight : tuple of int
        Shapes ``(..., m, d_q)``, ``(..., n, d_k)`` and ``(d_q, d_k)``.

    Raises
    ------
    ValueError
        When an axis is missing, weight does not fit or the leading axes do not broadcast.
    """
    check_axes("query", query, "(..., m, d_q)")
    check_axes("key", key, "(..., n, d_k)")
    check_parameter("weight", weight, d_q=query[-1], d_k=key[-1])
    check_leading(query=query[:-2], key=key[:-2])


def check_additive(query, key, w_query, w_key, v):
    """Refuse shapes for which ``tanh(query @ w_query + key @ w_key) @ v`` has no meaning.

    Parameters
    ----------
    query, key, w_query, w_key, v : tuple of int
        Shapes ``(..., m, d_q)``, ``(..., n, d_k)``, ``(d_q, d_a)``, ``(d_k, d_a)`` and ``(d_a,)``.

    Raises
    ------
    ValueError
        When an axis is missing, a parameter does not fit or the leading axes do not broadcast.
    """
    check_axes("query", query, "(..., m, d_q)")
    check_axes("key", key, "(..., n, d_k)")
    check_axes("v", v, "(d_a,)")
    check_parameter("w_query", w_query, d_q=query[-1], d_a=v[0])
    check_parameter("w_key", w_key, d_k=key[-1], d_a=v[0])
    check_leading(query=query[:-2], key=key[:-2])


def check_value(scores, value):
    """Refuse a value array that does not hold one row for each key that was scored.

    Parameters
    ----------
    scores, value : tuple of int
        Shapes ``(..., m, n)`` and ``(..., n, d_v)``.

    Raises
    ------
    ValueError
        When an axis is missing, the lengths differ or the leading axes do not broadcast.
    """
    check_axes("scores", scores, "(..., m, n)")
    check_axes("value", value, "(..., n, d_v)")
    if scores[-1] != value[-2]:
        raise ValueError(
            f"value has length {value[-2]} but scores has {scores[-1]} keys; "
            "every key needs one value (are scores transposed, or did key and value come from different sequences?)"
        )
    check_leading(scores=scores[:-2], value=value[:-2])


def check_attention(query, key, value):
    """Return the shape of the scores, or refuse shapes that do not make one lookup.

    Parameters
    ----------
    query, key, value : tuple of int
        The three shapes: ``(..., m, d_k)``, ``(..., n, d_k)`` and ``(..., n, d_v)``.

    Returns
    -------
    tuple of int
        The shape of the scores, ``(..., m, n)``.

    Raises
    ------
    ValueError
        When an axis is missing, widths or lengths differ or the leading axes do not broadcast.

    Examples
    --------
    >>> check_attention((8, 1, 2, 64), (3, 5, 64), (3, 5, 7))
    (8, 3, 2, 5)
    """
    check_dot(query, key)
    check_axes("value", value, "(..., n, d_v)")
    if key[-2] != value[-2]:
        raise ValueError(
            f"value has length {value[-2]} but key has length {key[-2]}; "
            "every key needs one value (did key and value come from different sequences?)"
        )
    check_leading(query=query[:-2], key=key[:-2], value=value[:-2])
    return (*broadcast_shape(query[:-2], key[:-2]), query[-2], key[-2])


def check_broadcast(name, shape, scores):
    """Refuse a mask or bias that does not broadcast against scores or enlarges their last axes.

    Parameters
    ----------
    name : str
        The argument.
    shape : tuple of int
        Its shape.
    scores : tuple of int
        The shape of the scores, ``(..., m, n)``; their leading axes may grow.

    Raises
    ------
    ValueError
        When the shapes do not fit.

    Examples
    --------
    >>> check_broadcast("mask", (5, 2), (2, 5))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: mask has shape (5, 2), which does not broadcast against scores of shape (2, 5); ...
    """
    if keeps_last_axes(shape, scores, 2):
        return
    cause = "its last axes are queries and keys, in this order, each of full size or 1"
    with_heads = (*shape[:1], 1, *shape[1:])
    if len(shape) == 2 < len(scores) and tuple(shape) == (scores[0], scores[-1]):
        axes = ", ".join(["None"] * (len(scores) - 2))
        cause = f"one entry for each key, (B, n), goes in as {name}[:, {axes}, :]"
    elif len(shape) == len(scores) - 1 >= 3 and keeps_last_axes(with_heads, scores, 2):
        cause = f"over split heads a {name} without a heads axis goes in as {name}[:, None]"
    elif len(shape) >= 2 and len(scores) >= 2 and shape[-2:] == (scores[-1], scores[-2]):
        cause = "queries and keys seem to be swapped"
    raise ValueError(
        f"{name} has shape {tuple(shape)}, which does not broadcast against scores of shape {tuple(scores)}; {cause}"
    )


def check_per_query(name, shape, scores):
    """Refuse an array that does not hold one number for each query.

    Parameters
    ----------
    name : str
        The argument.
    shape : tuple of int
        Its shape, to broadcast against ``(..., m)``.
    scores : tuple of int
        The shape of the scores, ``(..., m, n)``; their leading axes may grow.

    Raises
    ------
    ValueError
        When the shapes do not fit.

    Examples
    --------
    >>> check_per_query("centre", (5,), (2, 5))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: centre has shape (5,) but scores of shape (2, 5) have the queries (2,); ...
    """
    if not keeps_last_axes(shape, scores[:-1], 1):
        raise ValueError(
            f"{name} has shape {tuple(shape)} but scores of shape {tuple(scores)} have the queries {tuple(scores[:-1])}; "
            "one number for each query is needed"
        )


def check_per_key(name, shape, scores):
    """Refuse an array that does not hold one number for each key.

    Parameters
    ----------
    name : str
        The argument.
    shape : tuple of int
        Its shape, to broadcast against ``(..., n)``.
    scores : tuple of int
        The shape of the scores, ``(..., n)``; their leading axes may grow.

    Raises
    ------
    ValueError
        When the shapes do not fit.

    Examples
    --------
    >>> check_per_key("uniform", (2, 1), (2, 5))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: uniform has shape (2, 1) but scores of shape (2, 5) have 5 keys; ...
    """
    if not shape or shape[-1] != scores[-1]:
        raise ValueError(
            f"{name} has shape {tuple(shape)} but scores of shape {tuple(scores)} have {scores[-1]} keys; "
            "one number for each key is needed"
        )
    check_leading(**{name: shape[:-1], "scores": scores[:-1]})


def check_reward(scores, reward, uniform=None, baseline=()):
    """Refuse rewards that are not one for each key, and draws or a baseline that do not belong to them.

    Parameters
    ----------
    scores, reward : tuple of int
        Shapes ``(..., n)``.
    uniform : tuple of int, optional
        Shape ``(..., s)``, one number for each draw.
    baseline : tuple of int
        Shape ``(...)``.

    Raises
    ------
    ValueError
        When an axis is missing, the numbers of keys differ or leading axes do not broadcast.

    Examples
    --------
    >>> check_reward((2, 5), (2, 4))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: reward has 4 entries but scores has 5 keys; every key needs one reward ...
    """
    check_axes("scores", scores, "(..., n)")
    check_axes("reward", reward, "(..., n)")
    if scores[-1] != reward[-1]:
        raise ValueError(
            f"reward has {reward[-1]} entries but scores has {scores[-1]} keys; every key needs one reward "
            "(a reward for each draw is that of the key drawn)"
        )
    leading = {"scores": scores[:-1], "reward": reward[:-1]}
    if uniform is not None:
        check_axes("uniform", uniform, "(..., s)")
        leading |= {"uniform": uniform[:-1], "baseline": baseline}
    check_leading(**leading)


def check_masks(shapes):
    """Refuse masks that do not broadcast against each other.

    Parameters
    ----------
    shapes : list of tuple of int
        The shapes of the masks.

    Raises
    ------
    ValueError
        When they do not broadcast.
    """
    if broadcast_shape(*shapes) is None:
        listed = " and ".join(str(tuple(shape)) for shape in shapes)
        raise ValueError(
            f"masks of shapes {listed} do not broadcast; the last two axes of a mask are queries and keys, "
            "each of full size or 1 (a key mask (B, n) needs its query axis: key_mask[:, None, :])"
        )


def refuse_uniform(lowest, highest):
    """Raise the ValueError for random numbers that leave the unit interval.

    Parameters
    ----------
    lowest, highest : float
        The range of what came.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        f"uniform must lie in [0, 1) but reaches from {lowest} to {highest}; were normal numbers drawn, or logits given?"
    )


def refuse_lengths(lowest, highest, n):
    """Raise the ValueError for sequence lengths that do not fit the padded length.

    Parameters
    ----------
    lowest, highest : int
        The range of what came.
    n : int
        The padded length.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        f"lengths must lie between 0 and n = {n} but reach from {lowest} to {highest}; "
        "n is the padded length, at least that of the longest sequence"
    )
