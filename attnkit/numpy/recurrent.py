"""One step of each recurrent network in the course, in NumPy: the reference that torch must equal.

The plain network, GRU and LSTM, and the two decoder steps that added attention to them:
Bahdanau's, where the previous state asks, and Luong's, where the current one does. Whole encoders
and decoders, which are trained, live in `attnkit.torch.recurrent`.
"""

import functools
import inspect

import numpy as np

from .. import errors
from ._arrays import _float_array, boolean_array
from .attention import attend
from .scores import additive_scores, general_scores

__all__ = ["additive_step", "gru_step", "lstm_step", "luong_step", "rnn_step"]


def _step(check):
    """Let a step compute on arrays of one float type, at least single, and answer in the given one.

    Whole numbers count as float64, and the widest type wins. Before anything is computed, `check`
    sees the shapes; so the step itself is nothing but its formula.
    """

    def decorate(function):
        signature = inspect.signature(function)

        @functools.wraps(function)
        def wrapper(*arguments, **keywords):
            given = signature.bind(*arguments, **keywords).arguments
            parameters = given.pop("parameters")
            if not hasattr(parameters, "items"):
                kind = type(parameters).__name__
                errors.refuse_type("parameters", kind, "a mapping", errors.NOT_PARAMETERS)
            parameters = {name: _float_array(name, array) for name, array in parameters.items()}
            key_mask = given.pop("key_mask", None)
            masks = {} if key_mask is None else {"key_mask": boolean_array("key_mask", key_mask)}
            arrays = {name: _float_array(name, array) for name, array in given.items()}
            check(parameters=_shapes(parameters), **_shapes(arrays), **_shapes(masks))
            types = [array.dtype for array in (*arrays.values(), *parameters.values())]
            dtype = np.result_type(*types)
            wide = np.result_type(dtype, np.float32)
            arrays = {name: array.astype(wide, copy=False) for name, array in arrays.items()}
            parameters = {
                name: array.astype(wide, copy=False) for name, array in parameters.items()
            }
            result = function(**arrays, parameters=parameters, **masks)
            if isinstance(result, tuple):
                return tuple(part.astype(dtype, copy=False) for part in result)
            return result.astype(dtype, copy=False)

        return wrapper

    return decorate


@_step(errors.check_rnn_step)
def rnn_step(x, state, parameters):
    r"""Move the state of a plain recurrent network by one step.

    Parameters
    ----------
    x : array_like, (..., d_in)
        Input of this step.
    state : array_like, (..., h)
        State after the previous step.
    parameters : mapping of str to array_like
        `w_input (d_in, h)`, `w_state (h, h)`, `b_input (h,)`, `b_state (h,)`.

    Returns
    -------
    ndarray, (..., h)
        The new state, in the widest float type among the arguments.

    Raises
    ------
    ValueError
        If a parameter is missing or its shape does not fit `x` and `state`.
    TypeError
        If anything is complex.

    Notes
    -----
    Elman, "Finding Structure in Time" (1990). The old state is always passed through a matrix and
    tanh; nothing can be kept as it was, which is what the gates of `gru_step` allow.

    Examples
    --------
    >>> parameters = {"w_input": [[1.0], [1.0]], "w_state": [[2.0]],
    ...               "b_input": [0.0], "b_state": [0.0]}
    >>> rnn_step([3.0, 1.0], [-2.0], parameters)
    array([0.])
    """
    from_input = x @ parameters["w_input"] + parameters["b_input"]  # (..., h)
    from_state = state @ parameters["w_state"] + parameters["b_state"]  # (..., h)
    return np.tanh(from_input + from_state)


@_step(errors.check_gru_step)
def gru_step(x, state, parameters):
    r"""Move the state of a gated recurrent unit by one step.

    Parameters
    ----------
    x : array_like, (..., d_in)
        Input of this step.
    state : array_like, (..., h)
        State after the previous step.
    parameters : mapping of str to array_like
        `w_input (d_in, 3h)`, `w_state (h, 3h)`, `b_input (3h,)`, `b_state (3h,)`. The three
        blocks of columns are reset gate, update gate and candidate, in torch's order.

    Returns
    -------
    ndarray, (..., h)
        The new state, in the widest float type among the arguments.

    Raises
    ------
    ValueError
        If a parameter is missing or its shape does not fit `x` and `state`.
    TypeError
        If anything is complex.

    Notes
    -----
    Cho et al., "Learning Phrase Representations using RNN Encoder–Decoder for Statistical Machine
    Translation" (2014), in the form that torch computes: the reset gate acts on the transformed
    state, and the update gate says how much of the *old* state stays.

    Examples
    --------
    With all weights zero both gates are one half and the candidate is zero: half the state stays.

    >>> zeros = {"w_input": np.zeros((3, 6)), "w_state": np.zeros((2, 6)),
    ...          "b_input": np.zeros(6), "b_state": np.zeros(6)}
    >>> gru_step([1.0, 2.0, 3.0], [4.0, -8.0], zeros)
    array([ 2., -4.])
    """
    from_input = x @ parameters["w_input"] + parameters["b_input"]  # (..., 3h)
    from_state = state @ parameters["w_state"] + parameters["b_state"]  # (..., 3h)
    reset_in, update_in, candidate_in = np.split(from_input, 3, axis=-1)  # (..., h) each
    reset_old, update_old, candidate_old = np.split(from_state, 3, axis=-1)
    reset = _sigmoid(reset_in + reset_old)
    update = _sigmoid(update_in + update_old)
    candidate = np.tanh(candidate_in + reset * candidate_old)
    return (1 - update) * candidate + update * state


@_step(errors.check_lstm_step)
def lstm_step(x, state, cell, parameters):
    r"""Move the state and the cell of a long short-term memory by one step.

    Parameters
    ----------
    x : array_like, (..., d_in)
        Input of this step.
    state, cell : array_like, (..., h)
        State and cell after the previous step.
    parameters : mapping of str to array_like
        `w_input (d_in, 4h)`, `w_state (h, 4h)`, `b_input (4h,)`, `b_state (4h,)`. The four blocks
        of columns are input gate, forget gate, candidate and output gate, in torch's order.

    Returns
    -------
    state, cell : ndarray, (..., h)
        The new ones, in the widest float type among the arguments.

    Raises
    ------
    ValueError
        If a parameter is missing, its shape does not fit, or `state` and `cell` differ in width.
    TypeError
        If anything is complex.

    Notes
    -----
    Hochreiter and Schmidhuber, "Long Short-Term Memory" (1997), with the forget gate of Gers et
    al. (2000). The cell is carried over by a sum, not through a matrix, which is what lets
    gradients last.

    Examples
    --------
    With all weights zero every gate is one half: half the cell stays, and half of its tanh shows.

    >>> zeros = {"w_input": np.zeros((3, 4)), "w_state": np.zeros((1, 4)),
    ...          "b_input": np.zeros(4), "b_state": np.zeros(4)}
    >>> state, cell = lstm_step([1.0, 2.0, 3.0], [0.0], [4.0], zeros)
    >>> float(cell[0]), bool(state[0] == 0.5 * np.tanh(2.0))
    (2.0, True)
    """
    from_input = x @ parameters["w_input"] + parameters["b_input"]  # (..., 4h)
    from_state = state @ parameters["w_state"] + parameters["b_state"]  # (..., 4h)
    write, keep, candidate, show = np.split(from_input + from_state, 4, axis=-1)  # (..., h) each
    cell = _sigmoid(keep) * cell + _sigmoid(write) * np.tanh(candidate)
    return _sigmoid(show) * np.tanh(cell), cell


@_step(errors.check_additive_step)
def additive_step(embedded, state, encoder_states, parameters, key_mask=None):
    r"""One decoder step with Bahdanau's attention: the previous state asks, then the state moves.

    The state before this step is the query, the encoder states are keys and values. The context
    that comes back is read by the GRU together with the embedded last token.

    Parameters
    ----------
    embedded : array_like, (..., d_in)
        Embedding of the previous target token.
    state : array_like, (..., h)
        Decoder state before this step.
    encoder_states : array_like, (..., n, d)
        One row for each source position; `d` need not equal `h`.
    parameters : mapping of str to array_like
        For the scores `w_query (h, d_a)`, `w_key (d, d_a)`, `v (d_a,)`; for the GRU `w_input
        (d_in + d, 3h)`, `w_state (h, 3h)`, `b_input (3h,)`, `b_state (3h,)` as in `gru_step`.
    key_mask : array_like of bool, (..., n), optional
        True where a source position may be looked at. Where none may, weights and context are 0.

    Returns
    -------
    state : ndarray, (..., h)
        Decoder state after this step.
    context : ndarray, (..., d)
        Sum of the encoder states, weighted.
    weights : ndarray, (..., n)
        Attention over the source positions.

    Raises
    ------
    ValueError
        If a parameter is missing or a shape does not fit.
    TypeError
        If a number is complex or `key_mask` is not boolean.

    Notes
    -----
    Bahdanau, Cho and Bengio, "Neural Machine Translation by Jointly Learning to Align and
    Translate" (2015), section 3.1:
    :math:`e_j = v^\top \tanh(W_q s_{i-1} + W_k h_j)`, :math:`\alpha = \mathrm{softmax}(e)`,
    :math:`c_i = \sum_j \alpha_j h_j`, :math:`s_i = \mathrm{GRU}([y_{i-1}; c_i], s_{i-1})`.

    Examples
    --------
    With `v` zero all scores are equal, so the context is the mean of what the mask allows.

    >>> zeros = {"w_query": np.zeros((2, 5)), "w_key": np.zeros((3, 5)), "v": np.zeros(5),
    ...          "w_input": np.zeros((4, 6)), "w_state": np.zeros((2, 6)),
    ...          "b_input": np.zeros(6), "b_state": np.zeros(6)}
    >>> encoder_states = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 9.0]]
    >>> key_mask = [True, True, False]
    >>> state, context, weights = additive_step([1.0], [4.0, -8.0], encoder_states, zeros, key_mask)
    >>> weights, context, state
    (array([0.5, 0.5, 0. ]), array([0.5, 0.5, 0. ]), array([ 2., -4.]))
    """
    query = state[..., None, :]  # (..., 1, h): the state before this step asks
    scores = additive_scores(
        query, encoder_states, parameters["w_query"], parameters["w_key"], parameters["v"]
    )  # (..., 1, n)
    context, weights = _look(scores, encoder_states, key_mask)  # (..., d), (..., n)
    state = gru_step(_beside(embedded, context), state, parameters)
    return state, context, weights


@_step(errors.check_luong_step)
def luong_step(embedded, state, attentional, encoder_states, parameters, key_mask=None):
    r"""One decoder step with Luong's attention: the state moves first, then it asks.

    The GRU reads the embedded last token and the previous attentional vector (*input feeding*: the
    decoder remembers where it looked). The new state is the query of the general score. Context
    and state together make the new attentional vector, from which the next token is predicted.

    Parameters
    ----------
    embedded : array_like, (..., d_in)
        Embedding of the previous target token.
    state : array_like, (..., h)
        Decoder state before this step.
    attentional : array_like, (..., a)
        Attentional vector of the previous step; zeros at the first.
    encoder_states : array_like, (..., n, d)
        One row for each source position.
    parameters : mapping of str to array_like
        `w_general (h, d)` for the score, `w_combine (d + h, a)` for the attentional vector; for
        the GRU `w_input (d_in + a, 3h)`, `w_state (h, 3h)`, `b_input (3h,)`, `b_state (3h,)`.
    key_mask : array_like of bool, (..., n), optional
        True where a source position may be looked at. Where none may, weights and context are 0.

    Returns
    -------
    state : ndarray, (..., h)
        Decoder state after this step.
    attentional : ndarray, (..., a)
        :math:`\tanh([c; s]\, W)`.
    weights : ndarray, (..., n)
        Attention over the source positions.

    Raises
    ------
    ValueError
        If a parameter is missing or a shape does not fit.
    TypeError
        If a number is complex or `key_mask` is not boolean.

    Notes
    -----
    Luong, Pham and Manning, "Effective Approaches to Attention-based Neural Machine Translation"
    (2015), sections 3.1 (general score), 3 (attentional vector) and 3.3 (input feeding). The paper
    uses an LSTM; here the unit is a GRU, so that the two decoders differ in attention alone.

    Examples
    --------
    With `w_general` zero all scores are equal.

    >>> zeros = {"w_general": np.zeros((2, 3)), "w_combine": np.zeros((5, 4)),
    ...          "w_input": np.zeros((5, 6)), "w_state": np.zeros((2, 6)),
    ...          "b_input": np.zeros(6), "b_state": np.zeros(6)}
    >>> luong_step([1.0], [4.0, -8.0], np.zeros(4), np.ones((2, 3)), zeros)
    (array([ 2., -4.]), array([0., 0., 0., 0.]), array([0.5, 0.5]))
    """
    state = gru_step(_beside(embedded, attentional), state, parameters)
    query = state[..., None, :]  # (..., 1, h): the state after this step asks
    scores = general_scores(query, encoder_states, parameters["w_general"])  # (..., 1, n)
    context, weights = _look(scores, encoder_states, key_mask)  # (..., d), (..., n)
    combined = _beside(context, state)  # (..., d + h)
    attentional = np.tanh(combined @ parameters["w_combine"])  # (..., a)
    return state, attentional, weights


def _look(scores, encoder_states, key_mask):
    """Attend with one query; returns its context `(..., d)` and weights `(..., n)`."""
    mask = None if key_mask is None else key_mask[..., None, :]  # (..., 1, n)
    context, weights = attend(scores, encoder_states, mask, return_weights=True)
    return context[..., 0, :], weights[..., 0, :]


def _beside(left, right):
    """Concatenate along the last axis, stretching batch axes of length one or none."""
    batch = np.broadcast_shapes(left.shape[:-1], right.shape[:-1])
    stretched = (np.broadcast_to(part, (*batch, part.shape[-1])) for part in (left, right))
    return np.concatenate(tuple(stretched), axis=-1)


def _sigmoid(x):
    # 1 / (1 + exp(-x)) overflows for large negative x; this form is the same function.
    return 0.5 * (1 + np.tanh(0.5 * x))


def _shapes(arrays):
    return {name: array.shape for name, array in arrays.items()}
