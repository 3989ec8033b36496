"""Checks of decoding: where it starts, what a step returns, and what a token is drawn from."""

from .arguments import check_axes, check_leading, check_real, check_size

__all__ = [
    "NOT_A_TOKEN",
    "NOT_ROWS",
    "NO_STATE",
    "ONE_TOKEN",
    "check_decoding",
    "check_exponent",
    "check_sampling",
    "check_state_rows",
    "check_step",
    "check_top_p",
    "refuse_log_probability",
    "refuse_logits",
]

NOT_A_TOKEN = "a token is a number of the vocabulary, counted from 0"
NOT_ROWS = "a row is the number of a sequence, counted from 0"
NO_STATE = "what does not follow its sequences when they are reordered would mix them up"
ONE_TOKEN = "towards 0 only the best token is left, which greedy takes without any draw"
_LARGEST_EXPONENT = 16  # lengths of many millions to this power are still numbers


def check_decoding(start, end, max_length, beam_width=1):
    """Return the whole numbers of a decoding, or refuse them or the shape of its first tokens.

    Parameters
    ----------
    start : tuple of int
        The shape of the first tokens, ``(B,)``.
    end, max_length, beam_width : int
        The token that closes a sequence (-1 for none), the largest number of steps, and the
        hypotheses kept for each sequence.

    Returns
    -------
    end, max_length, beam_width : int
        The numbers.

    Raises
    ------
    TypeError
        When one is not a whole number.
    ValueError
        When start has not one axis or a number is too small.

    Examples
    --------
    >>> check_decoding((2, 1), 0, 5)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: start must have the shape (B,) but has shape (2, 1); one token begins each sequence ...
    """
    if len(start) != 1:
        raise ValueError(
            f"start must have the shape (B,) but has shape {tuple(start)}; one token begins each sequence "
            "(a longer prompt goes into state: run it first)"
        )
    end = check_size("end", end, -1, f"{NOT_A_TOKEN} (-1 if none ends)")
    if end >= 2**63:
        raise ValueError(f"end must be below 2 ** 63 but is {end}; {NOT_A_TOKEN} (-1 if none ends)")
    return (
        end,
        check_size("max_length", max_length),
        check_size("beam_width", beam_width, minimum=1),
    )


def check_step(scores, n_rows, any_nan):
    """Refuse scores of a step that are not one row of numbers for each sequence.

    Parameters
    ----------
    scores : tuple of int
        The shape of what the step returned.
    n_rows : int
        The tokens it was asked about.
    any_nan : bool
        Whether a score is NaN.

    Raises
    ------
    ValueError
        When the shape is another or a score is NaN.

    Examples
    --------
    >>> check_step((3, 9), 2, False)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: step must return scores of shape (2, V) but returned (3, 9); one row ...
    """
    if len(scores) != 2 or scores[0] != n_rows or scores[1] == 0:
        raise ValueError(
            f"step must return scores of shape ({n_rows}, V) but returned {tuple(scores)}; "
            "one row of at least one next token belongs to each token it was asked about"
        )
    if any_nan:
        raise ValueError(
            "step must return numbers but returned NaN; no token is the best then "
            "(did a row with nothing to attend to become NaN?)"
        )


def check_state_rows(shape, n_rows):
    """Refuse an array of a state that does not hold one row for each sequence.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    n_rows : int
        The sequences.

    Raises
    ------
    ValueError
        When its first axis is another.

    Examples
    --------
    >>> check_state_rows((1, 6, 4), 6)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: state holds an array of shape (1, 6, 4) but its first axis must be the 6 sequences; ...
    """
    if shape[0] != n_rows:
        raise ValueError(
            f"state holds an array of shape {tuple(shape)} but its first axis must be the {n_rows} sequences; "
            "is the batch on another axis, or an array in the state that all sequences share?"
        )


def check_exponent(name, number):
    """Refuse what is not a finite real number.

    Parameters
    ----------
    name : str
        The argument.
    number : float
        What came.

    Raises
    ------
    TypeError
        When it is not a real number.
    ValueError
        When it is infinite or NaN, or so large that the power may overflow.

    Examples
    --------
    >>> check_exponent("length_penalty", float("nan"))
    Traceback (most recent call last):
    ValueError: length_penalty must be finite but is nan; it is the power of the length that a score is divided by
    """
    check_real(name, number)
    if not -float("inf") < number < float("inf"):
        raise ValueError(
            f"{name} must be finite but is {number}; it is the power of the length that a score is divided by"
        )
    if not -_LARGEST_EXPONENT <= number <= _LARGEST_EXPONENT:
        raise ValueError(
            f"{name} must lie between {-_LARGEST_EXPONENT} and {_LARGEST_EXPONENT} but is {number}; "
            "it is the power of the length that a score is divided by, which would overflow "
            "(usual are 0 to 1)"
        )


def check_sampling(logits, uniform):
    """Refuse logits without tokens, or random numbers that are not one for each row of them.

    Parameters
    ----------
    logits, uniform : tuple of int
        Shapes ``(..., V)`` and one that broadcasts against ``(...)``.

    Raises
    ------
    ValueError
        When an axis is missing, there is no token or the shapes do not fit.

    Examples
    --------
    >>> check_sampling((3, 0), (3,))
    Traceback (most recent call last):
    ValueError: logits has shape (3, 0) but needs at least one token to draw; the last axis is the vocabulary
    """
    check_axes("logits", logits, "(..., V)")
    if logits[-1] == 0:
        raise ValueError(
            f"logits has shape {tuple(logits)} but needs at least one token to draw; "
            "the last axis is the vocabulary"
        )
    check_leading(logits=logits[:-1], uniform=uniform)


def check_top_p(top_p):
    """Refuse a share of the probability that is not above 0 and at most 1.

    Parameters
    ----------
    top_p : float
        What came.

    Raises
    ------
    TypeError
        When it is not a real number.
    ValueError
        When it leaves (0, 1].

    Examples
    --------
    >>> check_top_p(90)
    Traceback (most recent call last):
    ValueError: top_p must be above 0 and at most 1 but is 90; it is a share of the probability, 0.9 for 90 %
    """
    check_real("top_p", top_p)
    if not 0 < top_p <= 1:
        raise ValueError(
            f"top_p must be above 0 and at most 1 but is {top_p}; it is a share of the probability, 0.9 for 90 %"
        )


def refuse_log_probability(highest):
    """Raise the ValueError for what cannot be the logarithm of a probability.

    Parameters
    ----------
    highest : float
        The largest number that came.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        f"step must return log-probabilities, none above 0, but the largest is {highest:.6g}; were logits or "
        "probabilities returned? Sums of them rank no sequences (logits become log-probabilities with log_softmax)"
    )


def refuse_logits(is_nan):
    """Raise the ValueError for logits from which no token can be drawn.

    Parameters
    ----------
    is_nan : bool
        Whether there is a NaN; else a row is -inf throughout.

    Raises
    ------
    ValueError
        Always.
    """
    came = "holds NaN" if is_nan else "has a row of -inf only"
    raise ValueError(
        f"logits must leave each row a token to draw but {came}; -inf forbids a token, and one must be allowed"
    )
