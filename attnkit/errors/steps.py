"""Checks of recurrent steps: the vectors they read, the parameters of their gates, the source they attend to."""

from .arguments import check_axes, check_leading, check_names, check_parameter, keeps_last_axes
from .heads import check_bias
from .lookup import check_additive

__all__ = [
    "check_additive_step",
    "check_gru_step",
    "check_lstm_step",
    "check_luong_step",
    "check_right_padding",
    "check_rnn_step",
]

ATTENTION = {"additive_step": ("w_query", "w_key", "v"), "luong_step": ("w_general", "w_combine")}
GATES = ("w_input", "w_state", "b_input", "b_state")


def check_rnn_step(x, state, parameters):
    """Refuse shapes that do not make a step of a plain recurrent network.

    Parameters
    ----------
    x, state : tuple of int
        Shapes ``(..., d_in)`` and ``(..., h)``.
    parameters : mapping from str to tuple of int
        Shapes by name. Names that the step does not read are left alone: one mapping may serve
        several steps.

    Raises
    ------
    ValueError
        When an axis or a parameter is missing, one has another shape, or leading axes do not
        broadcast.

    Examples
    --------
    >>> check_rnn_step((2, 3), (2, 4), {"w_input": (3, 4)})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: parameters of rnn_step lacks w_state, b_input, b_state; it needs ...
    """
    _check_unit("rnn_step", 1, parameters, x=x, state=state)


def check_gru_step(x, state, parameters):
    """Refuse shapes that do not make a step of a GRU, as `check_rnn_step` does.

    Examples
    --------
    >>> shapes = {"w_input": (12, 3), "w_state": (4, 12), "b_input": (12,), "b_state": (12,)}
    >>> check_gru_step((2, 3), (2, 4), shapes)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: w_input has shape (12, 3) but (x, 3 * state) is (3, 12) here; it is transposed ...
    """
    _check_unit("gru_step", 3, parameters, x=x, state=state)


def check_lstm_step(x, state, cell, parameters):
    """Refuse shapes that do not make a step of an LSTM, as `check_rnn_step` does.

    Examples
    --------
    >>> check_lstm_step((2, 3), (2, 4), (2, 5), {})
    Traceback (most recent call last):
    ValueError: cell has width 5 but state has width 4; an LSTM has one cell for each number of its state
    """
    _check_vectors(state=state, cell=cell)
    if cell[-1] != state[-1]:
        raise ValueError(
            f"cell has width {cell[-1]} but state has width {state[-1]}; "
            "an LSTM has one cell for each number of its state"
        )
    _check_unit("lstm_step", 4, parameters, x=x, state=state, cell=cell)


def check_additive_step(embedded, state, encoder_states, parameters, key_mask=None):
    """Refuse shapes that do not make a step of Bahdanau's decoder.

    Parameters
    ----------
    embedded, state : tuple of int
        Shapes ``(..., d_embedded)`` and ``(..., h)``.
    encoder_states : tuple of int
        Shape ``(..., n, d)``.
    parameters : mapping from str to tuple of int
        Shapes by name.
    key_mask : tuple of int, optional
        Shape ``(..., n)``.

    Raises
    ------
    ValueError
        As `check_rnn_step`, and when key_mask has not one entry for each source position.

    Examples
    --------
    >>> check_additive_step((2, 3), (2, 4), (6,), {})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: encoder_states needs at least 2 axes, (..., n, d), but has shape (6,); ...
    """
    _check_source(encoder_states, key_mask, embedded=embedded, state=state)
    _check_there("additive_step", parameters)
    of_attention = (parameters[name] for name in ATTENTION["additive_step"])
    check_additive((*state[:-1], 1, state[-1]), encoder_states, *of_attention)
    _check_gates(3, parameters, state[-1], embedded=embedded[-1], context=encoder_states[-1])


def check_luong_step(embedded, state, attentional, encoder_states, parameters, key_mask=None):
    """Refuse shapes that do not make a step of Luong's decoder, as `check_additive_step` does.

    Examples
    --------
    >>> check_luong_step((2, 3), (2, 4), (2, 5), (2, 7, 6), {}, (2, 6))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: key_mask has shape (2, 6) but encoder_states has 7 source positions; ...
    """
    vectors = {"embedded": embedded, "state": state, "attentional": attentional}
    _check_source(encoder_states, key_mask, **vectors)
    _check_there("luong_step", parameters)
    h, d = state[-1], encoder_states[-1]
    check_parameter("w_general", parameters["w_general"], state=h, encoder_states=d)
    combined = {"encoder_states + state": d + h, "attentional": attentional[-1]}
    check_parameter("w_combine", parameters["w_combine"], **combined)
    _check_gates(3, parameters, h, embedded=embedded[-1], attentional=attentional[-1])


def check_right_padding(is_right, shortest, name="source_mask"):
    """Refuse a source whose padding does not stand behind its tokens, or that has no token.

    Parameters
    ----------
    is_right : bool
        Whether every row holds tokens first and padding after them.
    shortest : int
        The tokens of the shortest row.
    name : str
        The argument that has been counted.

    Raises
    ------
    ValueError
        When one of the two is not as it should be.

    Examples
    --------
    >>> check_right_padding(True, 0)
    Traceback (most recent call last):
    ValueError: source_mask holds a row without any token; a sentence has at least one
    """
    if not is_right:
        raise ValueError(
            "source_mask must be True from the first token to the last and False after it; "
            "pad on the right: a reader that starts in padding begins with noise"
        )
    if shortest == 0:
        raise ValueError(f"{name} holds a row without any token; a sentence has at least one")


def _check_vectors(**vectors):
    """Refuse vectors without a width, or whose leading axes do not broadcast."""
    for name, shape in vectors.items():
        check_axes(name, shape, "(..., width)")
    check_leading(**{name: shape[:-1] for name, shape in vectors.items()})


def _check_source(encoder_states, key_mask, **vectors):
    """Refuse what a step reads if it does not belong to one source."""
    _check_vectors(**vectors)
    check_axes("encoder_states", encoder_states, "(..., n, d)")
    leading = {name: shape[:-1] for name, shape in vectors.items()}
    leading["encoder_states"] = encoder_states[:-2]
    if key_mask is not None:
        n = encoder_states[-2]
        if not key_mask or not keeps_last_axes(key_mask[-1:], (n,), 1):
            raise ValueError(
                f"key_mask has shape {tuple(key_mask)} but encoder_states has {n} source positions; "
                "it needs the shape (..., n), one entry for each"
            )
        leading["key_mask"] = key_mask[:-1]
    check_leading(**leading)


def _check_there(step, parameters):
    """Refuse parameters that lack a name which the step reads; others may be there."""
    needed = (*ATTENTION.get(step, ()), *GATES)
    check_names(f"parameters of {step}", [name for name in parameters if name in needed], needed)


def _check_gates(gates, parameters, h, **inputs):
    """Refuse parameters of a unit with so many gates of width `h` side by side, for these inputs."""
    wide = {f"{gates} * state" if gates > 1 else "state": gates * h}
    read = {" + ".join(inputs): sum(inputs.values())}
    check_parameter("w_input", parameters["w_input"], **read, **wide)
    if gates == 1:
        wide = {"new state": h}  # beside the state that comes in
    check_parameter("w_state", parameters["w_state"], state=h, **wide)
    check_bias("b_input", parameters, gates * h)
    check_bias("b_state", parameters, gates * h)


def _check_unit(step, gates, parameters, **vectors):
    """Refuse shapes that do not make a step of a unit without attention."""
    _check_vectors(**vectors)
    _check_there(step, parameters)
    _check_gates(gates, parameters, vectors["state"][-1], x=vectors["x"][-1])
