"""Checks of a single argument: its axes, its size, its kind; every other file here builds on them."""

import operator
import sys

__all__ = [
    "BOOLEAN_BIAS",
    "COMPLEX",
    "NOT_BLOCKS",
    "NOT_BOOLEAN",
    "NOT_LENGTHS",
    "NO_INFINITY",
    "NO_NUMBERS",
    "NO_TENSOR",
    "broadcast_shape",
    "check_axes",
    "check_axis",
    "check_bias_kind",
    "check_choice",
    "check_even",
    "check_leading",
    "check_names",
    "check_parameter",
    "check_positive",
    "check_probability",
    "check_real",
    "check_rows",
    "check_size",
    "check_sizes",
    "keeps_last_axes",
    "refuse_type",
    "why_names_lack",
]

NOT_BOOLEAN = (
    "True means may attend. An additive mask (0 and -inf) goes into bias=, "
    "a mask whose True means drop through from_drop_mask, a 0/1 mask through mask == 1"
)
BOOLEAN_BIAS = (
    "a boolean belongs into mask=, which says who may attend; a bias is added to the scores"
)
COMPLEX = "scores are compared in size, which complex numbers cannot be; take their real part or their modulus first"
NO_INFINITY = "only floats have the -inf that masks a score"
NOT_BLOCKS = (
    "a position carries the number of its block: [0, 0, 1] puts the first two into one block"
)
NOT_LENGTHS = "a length counts keys (a boolean mask of real tokens has the lengths mask.sum(-1))"
NO_TENSOR = (
    "attnkit.torch takes tensors (torch.as_tensor makes one); attnkit.numpy takes arrays and lists"
)
NO_NUMBERS = "lists must be rectangular and hold numbers only"


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
    for axis in range(1, 1 + max([0, *(len(shape) for shape in shapes)])):
        common = 1
        for shape in shapes:
            # No sets: where torch traces a call, a size is a symbol, which has no hash.
            if len(shape) >= axis and shape[-axis] != 1:
                if common not in (1, shape[-axis]):
                    return None
                common = shape[-axis]
        result.append(common)
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
    axes, more = _axes_of(expected)
    if more and len(shape) < axes:
        hint = (
            f"is an axis missing? One vector becomes one row with {name}[None, :]"
            if axes == 2
            else "is an axis missing?"
        )
        plural = "axis" if axes == 1 else "axes"
        raise ValueError(
            f"{name} needs at least {axes} {plural}, {expected}, but has shape {tuple(shape)}; {hint}"
        )
    if not more and len(shape) != axes:
        raise ValueError(
            f"{name} needs the shape {expected} but has shape {tuple(shape)}; parameters carry no batch axes"
        )


def _axes_of(expected):
    """Return how many axes a shape in words names, and whether it allows more before them."""
    if expected not in _AXES:
        words = expected.strip("()").replace(" ", "").strip(",").split(",")
        more = "..." in words
        _AXES[expected] = len(words) - more, more
    return _AXES[expected]


# Asked at every call, about a few shapes. `functools.cache` would do, but `torch.compile` warns of it.
_AXES = {}


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


def check_size(name, number, minimum=0, reason=None):
    """Return a whole number as an int, or refuse it.

    Parameters
    ----------
    name : str
        The argument.
    number : int or integer scalar
        What came.
    minimum : int
        The smallest number that has a meaning.
    reason : str, optional
        Why it must be that large; otherwise what counts of things usually suffer from.

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
    ValueError: window must be at least 0 but is -1; it counts things (is it the result of a subtraction?)
    """
    # Python would count True as 1.
    if isinstance(number, bool) or str(getattr(number, "dtype", "")).endswith("bool"):
        raise TypeError(
            f"{name} must be a whole number but is {number!r} of type {type(number).__name__}; "
            "it counts things, such as tokens (was a switch meant for another argument?)"
        )
    try:
        whole = operator.index(number)
    except TypeError:
        raise TypeError(
            f"{name} must be a whole number but is {number!r} of type {type(number).__name__}; "
            "it counts things, such as tokens (is it the result of a division? // gives whole numbers)"
        ) from None
    if whole < minimum:
        if reason is None:
            reason = (
                "it counts things (is it the result of a subtraction?)"
                if whole < 0
                else "fewer have no meaning (did // round a small number down?)"
            )
        raise ValueError(f"{name} must be at least {minimum} but is {whole}; {reason}")
    return whole


def check_sizes(**sizes):
    """Return whole numbers of at least 1 as ints, or refuse the first that is none.

    Parameters
    ----------
    **sizes : int or integer scalar
        What came, by the name of the argument.

    Returns
    -------
    list of int
        The sizes, in their order.

    Raises
    ------
    TypeError
        When one is no whole number.
    ValueError
        When one is below 1.

    Examples
    --------
    >>> check_sizes(d_model=32, n_layers=0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: n_layers must be at least 1 but is 0; fewer have no meaning ...
    """
    return [check_size(name, size, 1) for name, size in sizes.items()]


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
    ValueError: align must be 'end' or 'start' but is 'left'; is it misspelt, or another library's word?
    """
    if choice not in choices:
        raise ValueError(
            f"{name} must be {' or '.join(map(repr, choices))} but is {choice!r}; "
            "is it misspelt, or another library's word?"
        )


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
    >>> check_real("scale", "sqrt")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: scale must be a real number but is 'sqrt' of type str; one number is needed ...
    """
    if isinstance(number, int | float):
        return
    if (
        isinstance(number, str | complex | list | tuple | dict)
        or callable(number)
        or number is None
        or tuple(getattr(number, "shape", ()))
        or "complex" in str(getattr(number, "dtype", ""))
    ):
        raise TypeError(
            f"{name} must be a real number but is {number!r} of type {type(number).__name__}; "
            "one number is needed (an array that holds one gives it with .item())"
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
    if not 0 < number <= sys.float_info.max:  # a whole number may lie beyond
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


def check_bias_kind(name, kind, beside):
    """Refuse a boolean bias of scores, which was meant as a mask; elsewhere a boolean is 0 or 1.

    Parameters
    ----------
    name : str
        An argument.
    kind : object
        Its dtype.
    beside : iterable of str
        The arguments that hold numbers. A bias beside a query is one of scores.

    Raises
    ------
    TypeError
        When it is such a bias and boolean.

    Examples
    --------
    >>> check_bias_kind("bias", "bool", ("x", "gain", "bias"))
    >>> check_bias_kind("bias", "bool", ("query", "key", "value", "bias"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: bias must be real but is bool; a boolean belongs into mask=, which says who may ...
    """
    if name == "bias" and "query" in beside and str(kind).endswith("bool"):
        refuse_type(name, kind, "real", BOOLEAN_BIAS)


def keeps_last_axes(shape, target, kept):
    """Whether `shape` broadcasts against `target` and leaves its last axes as they are."""
    result = broadcast_shape(shape, target)
    kept = min(kept, len(target))
    return result is not None and result[len(result) - kept :] == target[len(target) - kept :]


def check_parameter(name, shape, **sizes):
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
    >>> check_names("parameters", ["w_querry"], ("w_query",), "w_")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: parameters lacks w_query; it needs w_query, and may hold b_query; it holds w_querry, ...
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
    unknown = [str(name) for name in given if name not in (*needed, *optional)]
    if missing:
        raise ValueError(f"{owner} lacks {', '.join(missing)}; {told}; {why_names_lack(unknown)}")
    if unknown:
        raise ValueError(f"{owner} holds {', '.join(unknown)}, which nobody reads; {told}")


def why_names_lack(unknown):
    """Return why a mapping may lack a name: one that nobody reads stands in its place, or none does.

    Parameters
    ----------
    unknown : list of str
        The names that nobody reads.

    Returns
    -------
    str
        The likely cause.

    Examples
    --------
    >>> why_names_lack(["w_querry"])
    'it holds w_querry, which nobody reads (is a name misspelt?)'
    """
    if unknown:
        return f"it holds {', '.join(unknown)}, which nobody reads (is a name misspelt?)"
    return "was a part of a mapping handed over, or one of another layer?"


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


def check_probability(name, number, reason="it is the share that is dropped"):
    """Return a probability below 1 as a float, or refuse it.

    Parameters
    ----------
    name : str
        The argument.
    number : float
        What came.
    reason : str
        What it is a share of.

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
        raise ValueError(f"{name} must be at least 0 and below 1 but is {number}; {reason}")
    return float(number)
