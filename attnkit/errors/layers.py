"""Checks of Transformer layers, of their parameters and of their tokens."""

from .arguments import (
    check_axes,
    check_choice,
    check_leading,
    check_names,
    check_positive,
    check_rows,
    refuse_type,
)
from .heads import NOT_PARAMETERS, check_bias

__all__ = [
    "NOT_TOKENS",
    "check_feed_forward",
    "check_layer",
    "check_memory_length",
    "check_norm",
    "check_source_mask",
    "check_tokens",
    "check_width",
    "refuse_activation",
    "refuse_vocabulary",
]

NOT_TOKENS = "tokens are numbers of a vocabulary; embeddings are made of them inside"


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
    >>> check_layer((2, 5, 8), {}, "post", ("feed_forward",))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: parameters lacks feed_forward, feed_forward_norm; it needs feed_forward, ...
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


def refuse_vocabulary(name, lowest, highest, n_tokens):
    """Raise the ValueError for tokens that are not in the vocabulary.

    Parameters
    ----------
    name : str
        The argument.
    lowest, highest : int
        The range that came.
    n_tokens : int
        The size of the vocabulary.

    Raises
    ------
    ValueError
        Always.

    Examples
    --------
    >>> refuse_vocabulary("source", 1, 11, 11)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: source must lie between 0 and 10 but reaches from 1 to 11; ...
    """
    raise ValueError(
        f"{name} must lie between 0 and {n_tokens - 1} but reaches from {lowest} to {highest}; "
        "was it written in another vocabulary, or is padding marked by a number outside?"
    )


def check_width(name, shape, expected, d_model):
    """Refuse an input with an axis too few, or of another width than the layer's.

    Parameters
    ----------
    name : str
        The argument.
    shape : tuple of int
        What came.
    expected : str
        The shape in words, see `check_axes`.
    d_model : int
        The width of the layer.

    Raises
    ------
    ValueError
        When an axis is missing or the width is another.

    Examples
    --------
    >>> check_width("x", (2, 5, 6), "(..., T, d_model)", 8)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: x has width 6 but d_model is 8; whole embeddings go in, ...
    """
    check_axes(name, shape, expected)
    if shape[-1] != d_model:
        raise ValueError(
            f"{name} has width {shape[-1]} but d_model is {d_model}; whole embeddings go in, "
            "(..., length, d_model)"
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
