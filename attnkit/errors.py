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
    if x[-1] != table[1]:
        raise ValueError(
            f"x has width {x[-1]} but the table has width {table[1]}; is d_model the same?"
        )
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
        The leading axes of the scores.
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
    if not shape or shape[-1] != n or broadcast_shape(shape[:-1], lead) is None:
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
