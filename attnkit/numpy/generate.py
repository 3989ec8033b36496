"""Turning next-token scores into sequences, in NumPy: the best token, the best few, or a drawn one."""

import numpy as np

from .. import errors
from ..errors import (
    check_decoding,
    check_exponent,
    check_positive,
    check_sampling,
    check_size,
    check_state_rows,
    check_step,
    check_top_p,
)
from ._arrays import _float_array, as_array, as_uniform
from .attention import _drawn_keys

__all__ = ["beam_search", "greedy", "sample"]


def greedy(step, start, *, end, max_length, state=None):
    """Decode by taking the best next token again and again.

    Parameters
    ----------
    step : callable
        ``step(token, state) -> (scores, state)`` with `token (B,)` and `scores (B, V)`: what may
        follow each sequence's last token. For a table of transition scores `table (V, V)` it is
        ``lambda token, state: (table[token], state)``.
    start : array_like of int, shape (B,)
        The token that each sequence begins with; it is not part of the result. It may be `end`:
        what has ended is another sequence before this one, and this one goes on.
    end : int
        The token that closes a sequence; -1 if none does.
    max_length : int
        Decoding stops here even if a sequence has not ended.
    state : object
        Handed to the first step; what a step returns is handed to the next. Never looked into.

    Returns
    -------
    numpy.ndarray of int64, shape (B, L)
        ``L <= max_length``: as many steps as the longest sequence took. After its first `end` a
        sequence holds nothing but `end`. Of equal scores the lower token wins.

    Raises
    ------
    ValueError
        When start has not one axis, max_length is negative, or step returns scores of another shape
        or NaN.
    TypeError
        When start, end or max_length are not whole numbers.

    Notes
    -----
    Each step is the best one, the whole need not be: a sequence that begins with a worse token may
    end with a better total (`beam_search`).

    References
    ----------
    Bahdanau, Cho and Bengio (2015), "Neural Machine Translation by Jointly Learning to
    Align and Translate", section 4.2, compare the search with more than one hypothesis.

    Examples
    --------
    Token 0 ends. From token 1 the best next token is 2, from 2 it is 0.

    >>> table = np.array([[9, 0, 0], [1, 0, 2], [5, 1, 0]])
    >>> greedy(lambda token, state: (table[token], state), [1, 2], end=0, max_length=5)
    array([[2, 0],
           [0, 0]])
    """
    token = _tokens(start)
    end, max_length, _ = check_decoding(token.shape, end, max_length)
    finished = np.zeros(len(token), dtype=bool)
    tokens = []
    while len(tokens) < max_length and not finished.all():
        scores, state = step(token, state)
        scores = as_array("the scores of step", scores)  # (B, V)
        if scores.dtype.kind not in "iu":  # whole numbers stay as exact as they came
            scores = _float_array("the scores of step", scores)
        check_step(scores.shape, len(token), bool(np.isnan(scores).any()))
        token = np.where(finished, end, scores.argmax(-1))
        finished = token == end  # once ended, a sequence is fed its end again
        tokens.append(token)
    return np.stack(tokens, -1) if tokens else np.empty((len(token), 0), np.int64)


def beam_search(step, start, *, end, max_length, beam_width, length_penalty=0.0, state=None):
    """Decode by keeping the best few hypotheses of each sequence at every step.

    Every hypothesis is continued by every token, and the best `beam_width` of all continuations are
    kept. The score of a hypothesis is the sum of the log-probabilities of its tokens. One that has
    met `end` keeps its score and competes with the others.

    Parameters
    ----------
    step : callable
        ``step(token, state) -> (log_probabilities, state)`` with `token (N,)` and
        `log_probabilities (N, V)`, none above 0, -inf for what may not follow. There are always
        ``N = B * beam_width`` rows, those of one sequence next to each other.
    start : array_like of int, shape (B,)
        The token that each sequence begins with; it is not part of the result. It may be `end`.
    end : int
        The token that closes a sequence; -1 if none does.
    max_length : int
        Decoding stops here even if a hypothesis has not ended.
    beam_width : int
        The hypotheses kept; 1 is `greedy`.
    length_penalty : float
        Hypotheses are ranked by ``score / length ** length_penalty``, their length with `end`. 0
        ranks by the score, which favours the short; 1 by the mean log-probability of a token.
    state : object
        Handed to the first step, with one row for each of the B sequences; it reaches the step with
        `beam_width` copies of each row. What a step returns is reordered as hypotheses branch and
        drop out: an array by its first axis, tuples, lists and dicts part by part, an object
        with a method ``reorder(index)``, such as `KVCache`, by that, in place or by returning a new
        one, and once for each step if it comes twice. None and single numbers stay.

    Returns
    -------
    sequences : numpy.ndarray of int64, shape (B, beam_width, L)
        Best first; ``L <= max_length``, as many steps as were taken. After its first `end` a
        hypothesis holds nothing but `end`.
    scores : numpy.ndarray, shape (B, beam_width)
        The sums of log-probabilities, without the penalty, in the float dtype that step returned.
        -inf where there are fewer hypotheses than `beam_width`; such a row holds only `end`.

    Raises
    ------
    ValueError
        When start has not one axis, a number is too small, step returns another shape, NaN or what
        is above 0, or an array of the state has not one row for each sequence.
    TypeError
        When start or a size are not whole numbers, or state holds what cannot be reordered.

    Notes
    -----
    Ties go to the lower beam, then to the lower token. With a beam that holds every hypothesis the
    search is exact; with a narrower one the best may be lost early.

    References
    ----------
    Sutskever, Vinyals and Le (2014), "Sequence to Sequence Learning with Neural Networks", section
    3.2; the penalty Wu et al. (2016), "Google's Neural Machine Translation System", section 7.

    Examples
    --------
    From token 1 the better next token is 2, but the best sequence begins with 3.

    >>> with np.errstate(divide="ignore"):
    ...     table = np.log([[1.0, 0, 0, 0], [0, 0, 0.6, 0.4], [0.5, 0.5, 0, 0], [1, 0, 0, 0]])
    >>> step = lambda token, state: (table[token], state)
    >>> sequences, scores = beam_search(step, [1], end=0, max_length=2, beam_width=2)
    >>> sequences
    array([[[3, 0],
            [2, 0]]])
    >>> np.exp(scores).round(2)
    array([[0.4, 0.3]])
    """
    token = _tokens(start)
    end, max_length, width = check_decoding(token.shape, end, max_length, beam_width)
    check_exponent("length_penalty", length_penalty)
    n_sequences, dtype = len(token), np.float64
    sequence = np.arange(n_sequences)[:, None]  # (B, 1)
    state = _reordered(state, np.repeat(sequence[:, 0], width), n_sequences)
    token = np.repeat(token[:, None], width, 1)  # (B, width)
    tokens = np.empty((n_sequences, width, 0), np.int64)
    scores = np.full((n_sequences, width), -np.inf)
    scores[:, :1] = 0  # at first there is one hypothesis, the empty one
    finished, length = scores == -np.inf, np.zeros((n_sequences, width))
    while tokens.shape[-1] < max_length and not finished.all():
        step_scores, state = step(token.reshape(-1), state)
        step_scores = _float_array("the log-probabilities of step", step_scores)  # (B * width, V)
        check_step(step_scores.shape, token.size, bool(np.isnan(step_scores).any()))
        if step_scores.max() > _ROUNDING:
            errors.refuse_log_probability(float(step_scores.max()))
        dtype, n_tokens = step_scores.dtype, step_scores.shape[-1]
        step_scores = step_scores.reshape(n_sequences, width, n_tokens).astype(np.float64)
        only_end = np.where(np.arange(n_tokens) == end, 0.0, -np.inf)  # (V,)
        step_scores = np.where(finished[..., None], only_end, step_scores)
        with np.errstate(over="ignore"):  # a sum below all numbers is -inf: no hypothesis
            candidates = scores[..., None] + step_scores  # (B, width, V)
        length = length + ~finished  # (B, width)
        rank = candidates / np.maximum(length, 1)[..., None] ** length_penalty  # (B, width, V)
        best = np.argsort(-rank.reshape(n_sequences, -1), -1, kind="stable")[:, :width]
        beam, token = np.divmod(best, n_tokens)  # (B, width) each
        scores = candidates[sequence, beam, token]
        tokens = np.concatenate([tokens[sequence, beam], token[..., None]], -1)
        length = length[sequence, beam]
        finished = (token == end) | (scores == -np.inf)
        state = _reordered(state, (sequence * width + beam).reshape(-1), n_sequences * width)
    tokens[scores == -np.inf] = end  # no hypothesis at all
    return tokens, scores.astype(dtype)


def sample(logits, uniform, *, temperature=1.0, top_k=None, top_p=None):
    """Draw the next token at random, if asked only from the best ones.

    The logits are divided by the temperature; then the `top_k` best tokens stay; then of these the
    fewest best whose probabilities reach `top_p`. A token is drawn from what is left, normalised
    again: the first, in the order of tokens, at which the sum of probabilities exceeds the uniform
    number.

    Parameters
    ----------
    logits : array_like, shape (..., V)
        Scores of the next token, up to a constant the logarithms of its probabilities; -inf
        forbids a token.
    uniform : array_like, shape (...)
        One number in [0, 1) for each draw; broadcasts against the leading axes of logits.
    temperature : float
        Above 0. Below 1 the best tokens gain, above 1 the others do.
    top_k : int, optional
        How many of the best tokens may be drawn, of equal ones the lower first; all if there are
        fewer.
    top_p : float, optional
        In (0, 1]. The best token always stays.

    Returns
    -------
    numpy.ndarray of int64, shape (...)
        The tokens drawn.

    Raises
    ------
    ValueError
        When a row leaves no token to draw or holds NaN, leading axes do not broadcast, uniform
        leaves [0, 1], temperature is not above 0, top_k is below 1 or top_p leaves (0, 1].
    TypeError
        When top_k is not a whole number, or an argument is complex or holds no numbers.

    References
    ----------
    Fan, Lewis and Dauphin (2018), "Hierarchical Neural Story Generation" (top-k); Holtzman et al.
    (2020), "The Curious Case of Neural Text Degeneration", section 3 (top-p and temperature).

    Examples
    --------
    Probabilities 0.5, 0.2 and 0.3; top_p = 0.6 keeps 0.5 and 0.3, which become 5/8 and 3/8.

    >>> logits = np.log([0.5, 0.2, 0.3])
    >>> sample(logits, [0.1, 0.6, 0.69, 0.9])
    array([0, 1, 1, 2])
    >>> sample(logits, [0.1, 0.6, 0.69, 0.9], top_p=0.6)
    array([0, 0, 2, 2])
    """
    logits, uniform = _float_array("logits", logits), as_uniform(uniform)
    check_sampling(logits.shape, uniform.shape)
    check_positive("temperature", temperature, errors.ONE_TOKEN)
    if np.isnan(logits).any() or (logits == -np.inf).all(-1).any():
        errors.refuse_logits(bool(np.isnan(logits).any()))
    logits = np.minimum(logits.astype(np.float64), np.finfo(np.float64).max)  # (..., V)
    with np.errstate(all="ignore"):  # far below the best, a quotient may overflow to -inf
        below = (logits - logits.max(-1, keepdims=True)) / temperature  # (..., V), the best 0
        weights = np.exp(below)  # (..., V)
    order = np.argsort(-logits, -1, kind="stable")  # (..., V), best first
    sorted_weights = np.take_along_axis(weights, order, -1)  # (..., V)
    if top_k is not None:
        sorted_weights[..., check_size("top_k", top_k, minimum=1) :] = 0
    if top_p is not None:
        check_top_p(top_p)
        share = sorted_weights / sorted_weights.sum(-1, keepdims=True)  # (..., V)
        reached = np.cumsum(share, -1)[..., :-1] >= top_p  # (..., V - 1), by the better ones
        if top_p < 1:  # 1 keeps all, also those behind a sum that was rounded up to 1
            sorted_weights[..., 1:] = np.where(reached, 0, sorted_weights[..., 1:])
    np.put_along_axis(weights, order, sorted_weights, -1)  # in the order of tokens again
    weights = weights / weights.sum(-1, keepdims=True)  # (..., V)
    return np.argmax(_drawn_keys(weights, uniform), -1)  # (...)


_ROUNDING = 1e-3  # the logarithm of a probability in half precision may come out above 0 by this


def _tokens(start):
    """Return the first tokens as int64, or raise the TypeError for what are no tokens."""
    token = as_array("start", start)
    if token.size and token.dtype.kind not in "iu":
        errors.refuse_type("start", token.dtype, "integers", errors.NOT_A_TOKEN)
    return token.astype(np.int64)


def _reordered(state, index, n_rows, moved=None):
    """Return a state whose rows, of which there were `n_rows`, are those of the index.

    `moved` holds by their identity the objects that were asked already: layers may share a cache.
    """
    moved = {} if moved is None else moved
    if hasattr(state, "reorder"):
        if id(state) not in moved:
            result = state.reorder(index)
            moved[id(state)] = state if result is None else result
        return moved[id(state)]
    if state is None or np.isscalar(state) or (isinstance(state, np.ndarray) and state.ndim == 0):
        return state
    if isinstance(state, np.ndarray):
        check_state_rows(state.shape, n_rows)
        return state[index]
    if isinstance(state, dict):
        return {name: _reordered(part, index, n_rows, moved) for name, part in state.items()}
    if isinstance(state, list | tuple):
        parts = [_reordered(part, index, n_rows, moved) for part in state]
        return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)
    kinds = "an array, a tuple, list or dict of arrays, or an object with a method reorder(index)"
    errors.refuse_type("state", type(state).__name__, kinds, errors.NO_STATE)
