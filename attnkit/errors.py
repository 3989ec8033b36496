"""Checks of shapes and numbers whose errors teach; used by both back ends, imports neither.

Every message names the argument, says what was expected and what came, and ends with the likely
cause. The checks take shapes (tuples) and plain numbers, so NumPy arrays and torch tensors share
them.
"""

import operator


def broadcast_shape(*shapes):
    """Return the shape that the given shapes broadcast to, or None where they do not.

    Parameters
    ----------
    *shapes : tuple of int
        Any number of shapes.

    Returns
    -------
    tuple of int or None
        The common shape; None when two axes differ and neither is 1.

    Examples
    --------
    >>> broadcast_shape((4, 1, 5), (3, 1))
    (4, 3, 5)
    >>> broadcast_shape((4, 5), (3, 5)) is None
    True
    """
    result = []
    for axis in range(1, 1 + max(map(len, shapes), default=0)):
        sizes = {shape[-axis] for shape in shapes if len(shape) >= axis} - {1}
        if len(sizes) > 1:
            return None
        result.append(sizes.pop() if sizes else 1)
    return tuple(reversed(result))


def check_axes(name, shape, expected):
    """Refuse a shape with fewer axes than `expected` names, or more where it has no ``...``.

    Parameters
    ----------
    name : str
        The argument, as the caller wrote it.
    shape : tuple of int
        What came.
    expected : str
        The shape in words, such as ``"(..., m, d_k)"`` (at least two axes) or ``"(d_q, d_k)"``
        (exactly two).

    Raises
    ------
    ValueError
        When the number of axes does not fit.

    Examples
    --------
    >>> check_axes("query", (3,), "(..., m, d_k)")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: query needs at least 2 axes, (..., m, d_k), but has shape (3,); ...
    """
    words = expected.strip("()").replace(" ", "").strip(",").split(",")
    axes = len(words) - ("..." in words)
    if "..." in words and len(shape) < axes:
        hint = (
            f"is an axis missing? One vector becomes one row with {name}[None, :]"
            if axes == 2
            else "is an axis missing?"
        )
        plural = "axis" if axes == 1 else "axes"
        raise ValueError(
            f"{name} needs at least {axes} {plural}, {expected}, but has shape {tuple(shape)}; {hint}"
        )
    if "..." not in words and len(shape) != axes:
        raise ValueError(
            f"{name} needs the shape {expected} but has shape {tuple(shape)}; parameters carry no batch axes"
        )


def check_leading(**shapes):
    """Refuse arguments whose leading axes (batch, heads) do not broadcast.

    Parameters
    ----------
    **shapes : tuple of int
        The leading axes of each argument, by its name.

    Raises
    ------
    ValueError
        When the leading axes do not broadcast.

    Examples
    --------
    >>> check_leading(query=(2, 3), key=(2, 4))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: the leading axes of query (2, 3) and key (2, 4) do not broadcast; ...
    """
    if broadcast_shape(*shapes.values()) is None:
        listed = " and ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items())
        raise ValueError(
            f"the leading axes of {listed} do not broadcast; "
            "batch and heads must be equal or 1 (is an axis missing or in another place?)"
        )


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
    _check_parameter("weight", weight, d_q=query[-1], d_k=key[-1])
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
    _check_parameter("w_query", w_query, d_q=query[-1], d_a=v[0])
    _check_parameter("w_key", w_key, d_k=key[-1], d_a=v[0])
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
    if _keeps_last_axes(shape, scores, 2):
        return
    cause = "its last axes are queries and keys, in this order, each of full size or 1"
    if len(shape) == len(scores) - 1 >= 3:
        cause = "over split heads a mask without a heads axis goes in as mask[:, None]"
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
    if not _keeps_last_axes(shape, scores[:-1], 1):
        raise ValueError(
            f"{name} has shape {tuple(shape)} but scores of shape {tuple(scores)} have the queries {tuple(scores[:-1])}; "
            "one number for each query is needed"
        )


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


def check_size(name, number, minimum=0):
    """Return a whole number as an int, or refuse it.

    Parameters
    ----------
    name : str
        The argument.
    number : int or integer scalar
        What came.
    minimum : int
        The smallest number that has a meaning.

    Returns
    -------
    int
        The number.

    Raises
    ------
    TypeError
        When it is no whole number.
    ValueError
        When it is below `minimum`.

    Examples
    --------
    >>> check_size("window", -1)
    Traceback (most recent call last):
    ValueError: window must be at least 0 but is -1
    """
    try:
        whole = operator.index(number)
    except TypeError:
        raise TypeError(
            f"{name} must be a whole number but is {number!r} of type {type(number).__name__}; is it a size in tokens?"
        ) from None
    if whole < minimum:
        raise ValueError(f"{name} must be at least {minimum} but is {whole}")
    return whole


def check_axis(name, shape, axis):
    """Refuse an axis that an array does not have.

    Parameters
    ----------
    name : str
        The array.
    shape : tuple of int
        Its shape.
    axis : int
        The axis that was asked for.

    Raises
    ------
    TypeError
        When `axis` is no whole number.
    ValueError
        When the array has no such axis.
    """
    axis = check_size("axis", axis, minimum=-(10**9))
    if not -len(shape) <= axis < len(shape):
        raise ValueError(
            f"{name} has shape {tuple(shape)} and no axis {axis}; axes count from 0, or from the end with -1"
        )


def check_choice(name, choice, choices):
    """Refuse a word that is not one of the choices.

    Parameters
    ----------
    name : str
        The argument.
    choice : object
        What came.
    choices : tuple of str
        What has a meaning.

    Raises
    ------
    ValueError
        When `choice` is none of them.

    Examples
    --------
    >>> check_choice("align", "left", ("end", "start"))
    Traceback (most recent call last):
    ValueError: align must be 'end' or 'start' but is 'left'
    """
    if choice not in choices:
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))} but is {choice!r}")


def check_real(name, number):
    """Refuse what is not a real number.

    Parameters
    ----------
    name : str
        The argument.
    number : float or scalar of a back end
        What came.

    Raises
    ------
    TypeError
        When it is complex, text, a list or the like.

    Examples
    --------
    >>> check_real("scale", "sqrt")
    Traceback (most recent call last):
    TypeError: scale must be a real number but is 'sqrt' of type str
    """
    if (
        isinstance(number, str | complex | list | tuple | dict)
        or callable(number)
        or number is None
    ):
        raise TypeError(
            f"{name} must be a real number but is {number!r} of type {type(number).__name__}"
        )


def check_positive(name, number, reason):
    """Refuse a number that is not above zero and finite.

    Parameters
    ----------
    name : str
        The argument.
    number : float
        What came.
    reason : str
        Why it must be above zero.

    Raises
    ------
    TypeError
        When it is not a real number.
    ValueError
        When it is zero, negative, infinite or NaN.

    Examples
    --------
    >>> check_positive("window", 0, "the bell curve has the width window / 2")
    Traceback (most recent call last):
    ValueError: window must be above 0 and finite but is 0; the bell curve has the width window / 2
    """
    check_real(name, number)
    if not 0 < number < float("inf"):
        raise ValueError(f"{name} must be above 0 and finite but is {number}; {reason}")


def refuse_type(name, kind, expected, cause):
    """Raise the TypeError for an argument of the wrong kind.

    Parameters
    ----------
    name : str
        The argument.
    kind : object
        What came, a type or dtype; shown as it prints.
    expected : str
        What was expected.
    cause : str
        The likely cause.

    Raises
    ------
    TypeError
        Always.

    Examples
    --------
    >>> refuse_type("mask", "int64", "boolean", "a 0/1 mask becomes one with mask == 1")
    Traceback (most recent call last):
    TypeError: mask must be boolean but is int64; a 0/1 mask becomes one with mask == 1
    """
    raise TypeError(f"{name} must be {expected} but is {kind}; {cause}")


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


NOT_BOOLEAN = (
    "True means may attend. An additive mask (0 and -inf) goes into bias=, "
    "a mask whose True means drop through from_drop_mask, a 0/1 mask through mask == 1"
)
BOOLEAN_BIAS = (
    "a boolean belongs into mask=, which says who may attend; a bias is added to the scores"
)
COMPLEX = "scores are compared in size, which complex numbers cannot be; take their real part or their modulus first"
NO_INFINITY = "only floats have the -inf that masks a score"
NOT_LENGTHS = "a length counts keys (a boolean mask of real tokens has the lengths mask.sum(-1))"
NO_TENSOR = (
    "attnkit.torch takes tensors (torch.as_tensor makes one); attnkit.numpy takes arrays and lists"
)
NO_NUMBERS = "lists must be rectangular and hold numbers only"


def _keeps_last_axes(shape, target, kept):
    """Whether `shape` broadcasts against `target` and leaves its last axes as they are."""
    result = broadcast_shape(shape, target)
    kept = min(kept, len(target))
    return result is not None and result[len(result) - kept :] == target[len(target) - kept :]


def _check_parameter(name, shape, **sizes):
    """Refuse a parameter matrix of the wrong shape, and say so if it is merely transposed."""
    names, expected = f"({', '.join(sizes)})", tuple(sizes.values())
    check_axes(name, shape, names)
    if shape != expected:
        transposed = shape == expected[::-1]
        cause = (
            "it is transposed (nn.Linear stores the transpose)"
            if transposed
            else "weights multiply from the right"
        )
        raise ValueError(
            f"{name} has shape {tuple(shape)} but {names} is {expected} here; {cause}: x @ {name}"
        )


def check_even(name, size, reason):
    """Refuse an odd width where numbers come in pairs.

    Parameters
    ----------
    name : str
        The argument.
    size : int
        Its width.
    reason : str
        What pairs them.

    Raises
    ------
    ValueError
        When the width is odd.

    Examples
    --------
    >>> check_even("d_model", 7, "sine and cosine share a frequency")
    Traceback (most recent call last):
    ValueError: d_model must be even but is 7; sine and cosine share a frequency, so 6 or 8 would do
    """
    if size % 2:
        raise ValueError(
            f"{name} must be even but is {size}; {reason}, so {size - 1} or {size + 1} would do"
        )


def check_rotary(x, positions):
    """Refuse an odd width, or positions that do not belong to the rows of x.

    Parameters
    ----------
    x, positions : tuple of int
        Shapes ``(..., m, d)`` and one that broadcasts against ``(..., m)``.

    Raises
    ------
    ValueError
        When the width is odd, an axis is missing or the shapes do not fit.

    Examples
    --------
    >>> check_rotary((2, 5, 4), (3,))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: positions has shape (3,) but x of shape (2, 5, 4) has the rows (2, 5); ...
    """
    check_axes("x", x, "(..., m, d)")
    if x[-1] % 2:
        raise ValueError(
            f"x has the odd width {x[-1]} in shape {tuple(x)}; rotary turns pairs of numbers, "
            f"so the width of a head must be even ({x[-1] - 1} or {x[-1] + 1} would do)"
        )
    if not _keeps_last_axes(positions, x[:-1], 1):
        raise ValueError(
            f"positions has shape {tuple(positions)} but x of shape {tuple(x)} has the rows {tuple(x[:-1])}; "
            "one position for each row is needed (with a cache, those of the new rows only: "
            "start at the number of rows stored)"
        )


def check_buckets(n_buckets, max_distance, bidirectional):
    """Return the buckets of one direction and how many of them hold a single distance.

    Parameters
    ----------
    n_buckets, max_distance : int
        What came.
    bidirectional : bool
        Whether half of the buckets are for keys after the query.

    Returns
    -------
    n_side, n_single : int
        Buckets on one side, and those of one distance each.

    Raises
    ------
    TypeError
        When a size is no whole number.
    ValueError
        When there are too few buckets, or max_distance leaves nothing for the wide ones.

    Examples
    --------
    >>> check_buckets(32, 128, True)
    (16, 8)
    >>> check_buckets(32, 16, False)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: max_distance must be above 16 but is 16; ...
    """
    n_buckets = check_size("n_buckets", n_buckets, minimum=4 if bidirectional else 2)
    n_side = n_buckets // 2 if bidirectional else n_buckets
    n_single = n_side // 2
    if check_size("max_distance", max_distance) <= n_single:
        raise ValueError(
            f"max_distance must be above {n_single} but is {max_distance}; of {n_buckets} buckets, "
            f"{n_single} hold one distance each, and the wide ones begin after them"
        )
    return n_side, n_single


def check_table_width(name, width, table_width):
    """Refuse rows that are not as wide as the learned table they meet.

    Parameters
    ----------
    name : str
        The argument.
    width, table_width : int
        Its width and the table's.

    Raises
    ------
    ValueError
        When they differ.

    Examples
    --------
    >>> check_table_width("x", 3, 4)
    Traceback (most recent call last):
    ValueError: x has width 3 but the table has width 4; was it made for another d_model or d_head?
    """
    if width != table_width:
        raise ValueError(
            f"{name} has width {width} but the table has width {table_width}; "
            "was it made for another d_model or d_head?"
        )


def check_heads(d_model, n_heads, n_kv_heads=None, *, name="d_model"):
    """Return the three sizes, or refuse heads that do not share the width evenly.

    Parameters
    ----------
    d_model, n_heads : int
        The width and the number of heads that share it.
    n_kv_heads : int, optional
        The heads of keys and values, each shared by a group of query heads; n_heads if None.
    name : str
        What the width is called.

    Returns
    -------
    d_model, n_heads, n_kv_heads : int
        The sizes.

    Raises
    ------
    TypeError
        When a size is no whole number.
    ValueError
        When a size is below 1 or one does not divide the other.

    Examples
    --------
    >>> check_heads(10, 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: d_model is 10, not a multiple of n_heads, 3; ...
    """
    d_model = check_size(name, d_model)
    n_heads = check_size("n_heads", n_heads, minimum=1)
    n_kv_heads = n_heads if n_kv_heads is None else check_size("n_kv_heads", n_kv_heads, minimum=1)
    if d_model % n_heads:
        raise ValueError(
            f"{name} is {d_model}, not a multiple of n_heads, {n_heads}; "
            f"the heads share the width evenly (each would get {d_model / n_heads:.4g})"
        )
    if n_heads % n_kv_heads:
        raise ValueError(
            f"n_heads is {n_heads}, not a multiple of n_kv_heads, {n_kv_heads}; "
            "each head of keys and values serves a group of query heads, all groups equally large"
        )
    return d_model, n_heads, n_kv_heads


def check_learned_positions(x, start, table):
    """Refuse embeddings that reach beyond a learned table, or of another width.

    Parameters
    ----------
    x : tuple of int
        Shape ``(..., n, d_model)``.
    start : int
        The position of the first row.
    table : tuple of int
        Shape ``(length, d_model)``.

    Raises
    ------
    ValueError
        When they do not fit.

    Examples
    --------
    >>> check_learned_positions((2, 5, 4), 4, (8, 4))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: x has length 5 from position 4 on but the table has 8 positions; ...
    """
    check_axes("x", x, "(..., n, d_model)")
    check_table_width("x", x[-1], table[1])
    if start + x[-2] > table[0]:
        raise ValueError(
            f"x has length {x[-2]} from position {start} on but the table has {table[0]} positions; "
            "a learned table knows nothing beyond the positions it was made for"
        )


BETWEEN = "sines and cosines lie between -1 and 1"
NOT_POSITIONS = "a position is a number, counted from 0 (np.arange(m), torch.arange(m))"
NOT_DISTANCES = "a distance is the position of a key minus that of a query, both counted in tokens"


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


def check_cache_rows(key, value, stored, length):
    """Refuse keys and values that do not belong into a cache, or more of them than it has room for.

    Parameters
    ----------
    key, value : tuple of int
        Shapes ``(batch, n_kv_heads, new, d_head)``.
    stored : tuple of int
        The shape of the cache, ``(batch, n_kv_heads, capacity, d_head)``.
    length : int
        The rows stored so far.

    Raises
    ------
    ValueError
        When a shape does not fit or the rows overflow the cache.

    Examples
    --------
    >>> check_cache_rows((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 8, 4), 6)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: the cache holds 6 of at most 8 rows and has no room for 3 more; ...
    """
    batch, n_kv_heads, capacity, d_head = stored
    for name, shape in (("key", key), ("value", value)):
        if len(shape) != 4 or (shape[0], shape[1], shape[3]) != (batch, n_kv_heads, d_head):
            raise ValueError(
                f"{name} has shape {tuple(shape)} but the cache takes (batch, n_kv_heads, new, d_head) = "
                f"({batch}, {n_kv_heads}, new, {d_head}); split heads first (split_heads), and "
                "make one cache for each layer and batch size"
            )
    if key[2] != value[2]:
        raise ValueError(
            f"value has length {value[2]} but key has length {key[2]}; every key needs one value"
        )
    if length + key[2] > capacity:
        raise ValueError(
            f"the cache holds {length} of at most {capacity} rows and has no room for {key[2]} more; "
            "make it with the length of the whole sequence, prompt included"
        )


def check_layer_mask(shape, query_axes, scores):
    """Return whether a mask given to multi-head attention is one per head, or refuse its shape.

    Parameters
    ----------
    shape : tuple of int
        The shape of the mask.
    query_axes : int
        The number of axes of query, heads not split.
    scores : tuple of int
        The shape of the scores, ``(..., n_heads, m, n)``.

    Returns
    -------
    bool
        True for a mask with one axis more than query; False for one without a heads axis.

    Raises
    ------
    ValueError
        When the mask does not broadcast against ``(..., m, n)``, or with its heads axis against
        the scores.

    Examples
    --------
    >>> check_layer_mask((2, 1, 5), 3, (2, 8, 4, 5)), check_layer_mask((1, 8, 4, 5), 3, (2, 8, 4, 5))
    (False, True)
    """
    per_head = len(shape) == query_axes + 1
    target = scores if per_head else scores[:-3] + scores[-2:]
    if _keeps_last_axes(shape, target, 3 if per_head else 2):
        return per_head
    if per_head:
        raise ValueError(
            f"mask has shape {tuple(shape)}, one axis more than query, so it is one mask for each head, "
            f"but does not broadcast against scores of shape {tuple(scores)}; "
            "a mask for all heads goes in without a heads axis, as (..., m, n)"
        )
    cause = "its last axes are queries and keys, in this order, each of full size or 1"
    if len(shape) == 2 and len(target) > 2 and shape == (target[0], target[-1]):
        cause = (
            "a mask of keys (B, n) needs its query axis: mask[:, None, :], as padding_mask gives it"
        )
    elif len(shape) >= 2 and shape[-2:] == (target[-1], target[-2]):
        cause = "queries and keys seem to be swapped"
    raise ValueError(
        f"mask has shape {tuple(shape)}, which does not broadcast against (..., m, n) = {tuple(target)} "
        f"(the heads axis is inserted); {cause}"
    )


def check_multi_head(query, key, value, parameters, n_heads, n_kv_heads):
    """Return the number of heads of keys, or refuse shapes that make no multi-head attention.

    Parameters
    ----------
    query, key, value : tuple of int
        Shapes ``(..., m, d_query)``, ``(..., n, d_key)`` and ``(..., n, d_value)``.
    parameters : mapping from str to tuple of int
        Shapes of ``w_query (d_query, n_heads * d_head)``, ``w_key (d_key, n_kv_heads * d_head)``,
        ``w_value (d_value, n_kv_heads * d_v)``, ``w_output (n_heads * d_v, d_out)`` and their
        biases ``b_…``, which may be left out.
    n_heads : int
        Heads of queries.
    n_kv_heads : int or None
        Heads of keys and values; n_heads if None.

    Returns
    -------
    n_heads, n_kv_heads : int
        The heads of queries, and of keys and values.

    Raises
    ------
    TypeError
        When a number of heads is no whole number.
    ValueError
        When a shape does not fit, a weight is missing or a name unknown.
    """
    check_sequences(query, key, value)
    check_names("parameters", parameters, ("w_query", "w_key", "w_value", "w_output"), "w_")
    for name in ("w_query", "w_key", "w_value", "w_output"):
        check_axes(name, parameters[name], "(d_in, d_out)")
    width, n_heads, n_kv_heads = check_heads(
        parameters["w_query"][1], n_heads, n_kv_heads, name="the width of query @ w_query"
    )
    if parameters["w_value"][1] % n_kv_heads:
        raise ValueError(
            f"the width of value @ w_value is {parameters['w_value'][1]}, not a multiple of n_kv_heads, "
            f"{n_kv_heads}; the heads share the width evenly"
        )
    d_v = parameters["w_value"][1] // n_kv_heads
    expected = {
        "query": {"d_query": query[-1], "n_heads * d_head": width},
        "key": {"d_key": key[-1], "n_kv_heads * d_head": width // n_heads * n_kv_heads},
        "value": {"d_value": value[-1], "n_kv_heads * d_v": n_kv_heads * d_v},
    }
    for name, sizes in expected.items():
        _check_parameter(f"w_{name}", parameters[f"w_{name}"], **sizes)
        check_bias(f"b_{name}", parameters, list(sizes.values())[1])
    check_rows("w_output", parameters["w_output"], "n_heads * d_v", n_heads * d_v)
    check_bias("b_output", parameters, parameters["w_output"][1])
    return n_heads, n_kv_heads


def check_sequences(query, key, value, d_model=None):
    """Refuse three sequences that cannot be attended together.

    Parameters
    ----------
    query, key, value : tuple of int
        Shapes ``(..., m, d)`` and twice ``(..., n, d)``; widths may differ.
    d_model : int, optional
        The width that all must have.

    Raises
    ------
    ValueError
        When an axis is missing, a width is not d_model, the lengths of key and value differ, or
        leading axes do not broadcast.

    Examples
    --------
    >>> check_sequences((2, 5, 8), (2, 5, 6), (2, 5, 8), d_model=8)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: key has width 6 but d_model is 8; ...
    """
    for name, shape in (("query", query), ("key", key), ("value", value)):
        if shape is query and name != "query":
            continue  # the same sequence again, as in self-attention
        check_axes(name, shape, f"(..., {'m' if name == 'query' else 'n'}, d_model)")
        if d_model is not None and shape[-1] != d_model:
            raise ValueError(
                f"{name} has width {shape[-1]} but d_model is {d_model}; "
                "heads are split inside, so whole embeddings go in, (..., length, d_model)"
            )
    if key[-2] != value[-2]:
        raise ValueError(
            f"value has length {value[-2]} but key has length {key[-2]}; "
            "every key needs one value (did key and value come from different sequences?)"
        )
    if not (query is key is value):
        check_leading(query=query[:-2], key=key[:-2], value=value[:-2])


def check_names(owner, given, needed, weight_prefix=None):
    """Refuse a mapping of parameters that lacks a name, or holds one that nobody reads.

    Parameters
    ----------
    owner : str
        What the mapping is called.
    given : iterable of str
        The names that came.
    needed : tuple of str
        The names that must be there.
    weight_prefix : str, optional
        Names that begin with it have a bias, which may be there too, under ``b_`` and the rest.

    Raises
    ------
    ValueError
        When a name is missing or unknown.

    Examples
    --------
    >>> check_names("parameters", ["w_querry"], ("w_query",), "w_")
    Traceback (most recent call last):
    ValueError: parameters lacks w_query; it needs w_query, and may hold b_query
    """
    optional = ()
    if weight_prefix is not None:
        optional = tuple(
            "b_" + name.removeprefix(weight_prefix)
            for name in needed
            if name.startswith(weight_prefix)
        )
    told = f"it needs {', '.join(needed)}" + (
        f", and may hold {', '.join(optional)}" if optional else ""
    )
    missing = [name for name in needed if name not in given]
    if missing:
        raise ValueError(f"{owner} lacks {', '.join(missing)}; {told}")
    unknown = [name for name in given if name not in (*needed, *optional)]
    if unknown:
        raise ValueError(
            f"{owner} holds {', '.join(map(str, unknown))}, which nobody reads; {told}"
        )


def check_rows(name, shape, words, width):
    """Refuse a weight whose rows are not as many as what it multiplies is wide.

    Parameters
    ----------
    name : str
        The weight.
    shape : tuple of int
        Its shape ``(d_in, d_out)``; d_out is free.
    words : str
        What d_in is.
    width : int
        How large it is.

    Raises
    ------
    ValueError
        When the first axis is another.

    Examples
    --------
    >>> check_rows("w_output", (9, 18), "n_heads * d_v", 18)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: w_output has shape (9, 18) but n_heads * d_v is 18; it seems to be transposed ...
    """
    check_axes(name, shape, "(d_in, d_out)")
    if shape[0] != width:
        transposed = shape[1] == width
        cause = (
            "it seems to be transposed (nn.Linear stores the transpose)"
            if transposed
            else "weights multiply from the right"
        )
        raise ValueError(
            f"{name} has shape {tuple(shape)} but {words} is {width}; {cause}: x @ {name}"
        )


def check_bias(name, parameters, width):
    """Refuse a bias of the wrong shape; one that is not there is no bias.

    Parameters
    ----------
    name : str
        Its name in the mapping.
    parameters : mapping from str to tuple of int
        Shapes by name.
    width : int
        The width it is added to.

    Raises
    ------
    ValueError
        When its shape is not ``(width,)``.
    """
    if name in parameters and tuple(parameters[name]) != (width,):
        raise ValueError(
            f"{name} has shape {tuple(parameters[name])} but is added to rows of width {width}; "
            f"it needs the shape ({width},)"
        )


def check_probability(name, number):
    """Return a probability below 1 as a float, or refuse it.

    Parameters
    ----------
    name : str
        The argument.
    number : float
        What came.

    Returns
    -------
    float
        The number.

    Raises
    ------
    TypeError
        When it is not a real number.
    ValueError
        When it is negative, 1 or more, or NaN.

    Examples
    --------
    >>> check_probability("dropout", 1.0)
    Traceback (most recent call last):
    ValueError: dropout must be at least 0 and below 1 but is 1.0; it is the share that is dropped
    """
    check_real(name, number)
    if not 0 <= number < 1:
        raise ValueError(
            f"{name} must be at least 0 and below 1 but is {number}; it is the share that is dropped"
        )
    return float(number)


def refuse_gradient():
    """Raise the ValueError for keys or values that ask for a gradient on their way into a cache.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        "key or value asks for a gradient, but a cache keeps numbers, not what gradients need; "
        "generate under torch.no_grad(), train without a cache"
    )


def refuse_widths(d_model, d_key, d_value):
    """Raise the ValueError for a foreign module whose keys or values have another width.

    Parameters
    ----------
    d_model, d_key, d_value : int
        Its widths.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        f"module has embed_dim {d_model}, kdim {d_key} and vdim {d_value}; only equal widths can be loaded "
        "(multi_head_attention takes unequal ones, as parameters)"
    )


def refuse_added_keys():
    """Raise the ValueError for a foreign module that adds keys of its own.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        "module adds keys of its own (add_bias_kv or add_zero_attn); attention here sees only what is given"
    )


NOT_LOADABLE = "from_torch copies the parameters of this one class; others differ in layout"
NOT_PARAMETERS = "weights and biases go in by name, such as {'w_query': ..., 'b_query': ...}"
STORED = "keys and values are stored as floats"


def check_norm(x, gain, bias, eps):
    """Refuse a gain or bias that is not as wide as x, or an eps that is no small positive number.

    Parameters
    ----------
    x : tuple of int
        Shape ``(..., d)``.
    gain, bias : tuple of int or None
        Shapes ``(d,)``.
    eps : float
        What is added to the variance.

    Raises
    ------
    TypeError
        When eps is no real number.
    ValueError
        When a shape does not fit or eps is not above 0.

    Examples
    --------
    >>> check_norm((2, 5, 8), (5,), None, 1e-5)
    Traceback (most recent call last):
    ValueError: gain has shape (5,) but x has width 8; each column has its own, so it needs the shape (8,)
    """
    check_axes("x", x, "(..., d)")
    for name, shape in (("gain", gain), ("bias", bias)):
        if shape is not None and tuple(shape) != (x[-1],):
            raise ValueError(
                f"{name} has shape {tuple(shape)} but x has width {x[-1]}; "
                f"each column has its own, so it needs the shape ({x[-1]},)"
            )
    check_positive("eps", eps, "it keeps the variance of equal numbers from being divided by")


def check_feed_forward(x, parameters, activation, owner="parameters"):
    """Refuse parameters that make no feed-forward network for x.

    Parameters
    ----------
    x : tuple of int
        Shape ``(..., n, d_model)``.
    parameters : mapping from str to tuple of int
        Shapes of ``w_hidden (d_model, d_ff)`` and ``w_output (d_ff, d_out)``, and as far as there
        are any ``b_hidden`` and ``b_output``.
    activation : str
        "relu" or "gelu".
    owner : str
        What the mapping is called.

    Raises
    ------
    ValueError
        When a shape does not fit, a weight is missing, a name unknown or activation another word.
    """
    check_axes("x", x, "(..., n, d_model)")
    check_choice("activation", activation, ("relu", "gelu"))
    check_names(owner, parameters, ("w_hidden", "w_output"), "w_")
    check_rows("w_hidden", parameters["w_hidden"], "the width of x", x[-1])
    d_ff = parameters["w_hidden"][1]
    check_bias("b_hidden", parameters, d_ff)
    check_rows("w_output", parameters["w_output"], "d_ff (the width of w_hidden)", d_ff)
    check_bias("b_output", parameters, parameters["w_output"][1])


def check_layer(x, parameters, norm, sublayers, memory=None):
    """Refuse what makes no Transformer layer; what a sublayer alone can tell, it checks itself.

    Parameters
    ----------
    x : tuple of int
        Shape ``(..., n, d_model)``.
    parameters : mapping from str to mapping
        For each sublayer a mapping with a ``w_output``, and, unless norm is "none", one for its
        norm under its name and ``_norm``; arrays as their shapes.
    norm : str
        "post", "pre" or "none".
    sublayers : tuple of str
        The names of the sublayers.
    memory : tuple of int, optional
        Shape ``(..., n_memory, d_memory)``.

    Raises
    ------
    TypeError
        When a sublayer's parameters are no mapping.
    ValueError
        When a shape does not fit, a name is missing or unknown, or norm is another word.

    Examples
    --------
    >>> check_layer((2, 5, 8), {}, "post", ("feed_forward",))
    Traceback (most recent call last):
    ValueError: parameters lacks feed_forward, feed_forward_norm; it needs feed_forward, feed_forward_norm
    """
    check_axes("x", x, "(..., n, d_model)")
    if memory is not None:
        check_axes("memory", memory, "(..., n_memory, d_memory)")
        check_leading(x=x[:-2], memory=memory[:-2])
    check_choice("norm", norm, ("post", "pre", "none"))
    needed = [name for sublayer in sublayers for name in (sublayer, f"{sublayer}_norm")]
    if norm == "none":
        needed = list(sublayers)
    check_names("parameters", parameters, tuple(needed))
    for name in needed:
        held = parameters[name]
        if not hasattr(held, "items"):
            refuse_type(f"parameters[{name!r}]", "an array", "a mapping", NOT_PARAMETERS)
        if name.endswith("_norm"):
            unknown = set(held) - {"gain", "bias"}
            if unknown:
                raise ValueError(
                    f"parameters[{name!r}] holds {', '.join(sorted(unknown))}, which nobody reads; "
                    "a norm has a gain and a bias"
                )
        elif "w_output" in held and len(held["w_output"]) == 2 and held["w_output"][1] != x[-1]:
            raise ValueError(
                f"parameters[{name!r}] gives rows of width {held['w_output'][1]} but x has width {x[-1]}; "
                "what a sublayer gives is added to x, so both are d_model wide"
            )


def check_memory_length(n, stored):
    """Refuse a memory of another length than the one that was stored at the first step.

    Parameters
    ----------
    n, stored : int
        Its length, and how much of the memory a cache holds.

    Raises
    ------
    ValueError
        When they differ.
    """
    if n != stored:
        raise ValueError(
            f"memory has length {n} but the cache holds one of length {stored}; "
            "a cache belongs to one batch of sources, make a new one for the next"
        )


def check_tokens(name, shape):
    """Refuse tokens that are not one row for each sequence.

    Parameters
    ----------
    name : str
        The argument.
    shape : tuple of int
        What came.

    Raises
    ------
    ValueError
        When there are not two axes.
    """
    if len(shape) != 2:
        raise ValueError(
            f"{name} needs the shape (B, length), one row of tokens for each sequence, "
            f"but has shape {tuple(shape)}; a single sequence goes in as {name}[None]"
        )


def check_source_mask(name, shape, sequence):
    """Refuse a mask of source tokens that is not one row for each source.

    Parameters
    ----------
    name : str
        The argument.
    shape : tuple of int
        What came.
    sequence : tuple of int
        Batch and length of the sequence.

    Raises
    ------
    ValueError
        When the shapes differ.

    Examples
    --------
    >>> check_source_mask("source_mask", (3, 1, 5), (3, 5))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: source_mask has shape (3, 1, 5) but the source has shape (3, 5); ...
    """
    if shape != sequence:
        raise ValueError(
            f"{name} has shape {shape} but the source has shape {sequence}; "
            "it says of each source token whether it is one, and has no query axis"
        )


def refuse_width(name, width, d_model):
    """Raise the ValueError for an input of another width than the layer's.

    Parameters
    ----------
    name : str
        The argument.
    width, d_model : int
        Its width and the layer's.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        f"{name} has width {width} but d_model is {d_model}; whole embeddings go in, (..., length, d_model)"
    )


def refuse_activation(activation):
    """Raise the ValueError for a foreign layer whose activation has no counterpart here.

    Parameters
    ----------
    activation : object
        What the layer uses.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        f"module has the activation {activation}; only relu and the exact gelu can be loaded"
    )


NOT_TOKENS = "tokens are numbers of a vocabulary; embeddings are made of them inside"
