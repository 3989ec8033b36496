"""Turning next-token scores into sequences, in PyTorch: the best token, the best few, or a drawn one."""

import torch

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
from ._tensors import _check_tensor, _float_tensor, as_uniform, widest
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
    start : torch.Tensor of int, shape (B,)
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
    torch.Tensor of int64, shape (B, L)
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

    >>> table = torch.tensor([[9, 0, 0], [1, 0, 2], [5, 1, 0]])
    >>> start = torch.tensor([1, 2])
    >>> greedy(lambda token, state: (table[token], state), start, end=0, max_length=5)
    tensor([[2, 0],
            [0, 0]])
    """
    token = _tokens(start)
    end, max_length, _ = check_decoding(token.shape, end, max_length)
    finished = torch.zeros_like(token, dtype=torch.bool)
    tokens = []
    while len(tokens) < max_length and not finished.all():
        scores, state = step(token, state)  # (B, V)
        _check_tensor("the scores of step", scores)
        if scores.is_complex() or scores.dtype == torch.bool:  # whole numbers stay exact
            scores = _float_tensor("the scores of step", scores)
        check_step(scores.shape, len(token), bool(scores.isnan().any()))
        token = scores.argmax(-1).masked_fill(finished, end)
        finished = token == end  # once ended, a sequence is fed its end again
        tokens.append(token)
    return torch.stack(tokens, -1) if tokens else token.new_empty((len(token), 0))


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
    start : torch.Tensor of int, shape (B,)
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
        drop out: a tensor by its first axis, tuples, lists and dicts part by part, an object
        with a method ``reorder(index)``, such as `KVCache`, by that, in place or by returning a new
        one, and once for each step if it comes twice. None and single numbers stay.

    Returns
    -------
    sequences : torch.Tensor of int64, shape (B, beam_width, L)
        Best first; ``L <= max_length``, as many steps as were taken. After its first `end` a
        hypothesis holds nothing but `end`.
    scores : torch.Tensor, shape (B, beam_width)
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

    >>> probabilities = [[1.0, 0, 0, 0], [0, 0, 0.6, 0.4], [0.5, 0.5, 0, 0], [1, 0, 0, 0]]
    >>> table = torch.tensor(probabilities).log()
    >>> step = lambda token, state: (table[token], state)
    >>> start = torch.tensor([1])
    >>> sequences, scores = beam_search(step, start, end=0, max_length=2, beam_width=2)
    >>> sequences
    tensor([[[3, 0],
             [2, 0]]])
    >>> scores.exp()
    tensor([[0.4000, 0.3000]])
    """
    token = _tokens(start)
    end, max_length, width = check_decoding(token.shape, end, max_length, beam_width)
    check_exponent("length_penalty", length_penalty)
    n_sequences, dtype = len(token), torch.get_default_dtype()
    sequence = torch.arange(n_sequences, device=token.device)[:, None]  # (B, 1)
    state = _reordered(state, sequence[:, 0].repeat_interleave(width), n_sequences)
    token = token[:, None].repeat(1, width)  # (B, width)
    tokens = token.new_empty((n_sequences, width, 0))
    scores = widest(torch.full(token.shape, -torch.inf, device=token.device))
    scores[:, :1] = 0  # at first there is one hypothesis, the empty one
    finished, length = scores == -torch.inf, torch.zeros_like(scores)
    while tokens.shape[-1] < max_length and not finished.all():
        step_scores, state = step(token.flatten(), state)
        step_scores = _float_tensor("the log-probabilities of step", step_scores)  # (B * width, V)
        check_step(step_scores.shape, token.numel(), bool(step_scores.isnan().any()))
        if step_scores.max() > _ROUNDING:
            errors.refuse_log_probability(step_scores.max().item())
        dtype, n_tokens = step_scores.dtype, step_scores.shape[-1]
        step_scores = widest(step_scores.reshape(n_sequences, width, n_tokens))
        only_end = torch.full_like(step_scores[0, 0], -torch.inf)  # (V,)
        only_end[torch.arange(n_tokens, device=token.device) == end] = 0
        step_scores = torch.where(finished[..., None], only_end, step_scores)
        candidates = scores[..., None] + step_scores  # (B, width, V)
        length = length + ~finished  # (B, width)
        rank = candidates / length.clamp(min=1)[..., None] ** length_penalty  # (B, width, V)
        best = rank.flatten(1).sort(dim=-1, descending=True, stable=True).indices[:, :width]
        beam, token = best // n_tokens, best % n_tokens  # (B, width) each
        scores = candidates[sequence, beam, token]
        tokens = torch.cat([tokens[sequence, beam], token[..., None]], -1)
        length = length[sequence, beam]
        finished = (token == end) | (scores == -torch.inf)
        state = _reordered(state, (sequence * width + beam).flatten(), n_sequences * width)
    tokens[scores == -torch.inf] = end  # no hypothesis at all
    return tokens, scores.to(dtype)


def sample(logits, uniform, *, temperature=1.0, top_k=None, top_p=None):
    """Draw the next token at random, if asked only from the best ones.

    The logits are divided by the temperature; then the `top_k` best tokens stay; then of these the
    fewest best whose probabilities reach `top_p`. A token is drawn from what is left, normalised
    again: the first, in the order of tokens, at which the sum of probabilities exceeds the uniform
    number.

    Parameters
    ----------
    logits : torch.Tensor, shape (..., V)
        Scores of the next token, up to a constant the logarithms of its probabilities; -inf
        forbids a token.
    uniform : torch.Tensor, shape (...)
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
    torch.Tensor of int64, shape (...)
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

    >>> logits, uniform = torch.tensor([0.5, 0.2, 0.3]).log(), torch.tensor([0.1, 0.6, 0.69, 0.9])
    >>> sample(logits, uniform)
    tensor([0, 1, 1, 2])
    >>> sample(logits, uniform, top_p=0.6)
    tensor([0, 0, 2, 2])
    """
    logits, uniform = _float_tensor("logits", logits), as_uniform(uniform)
    check_sampling(logits.shape, uniform.shape)
    check_positive("temperature", temperature, errors.ONE_TOKEN)
    if logits.isnan().any() or (logits == -torch.inf).all(-1).any():
        errors.refuse_logits(bool(logits.isnan().any()))
    logits = widest(logits.detach())  # (..., V)
    logits = logits.clamp(max=torch.finfo(logits.dtype).max)
    below = (logits - logits.amax(-1, keepdim=True)) / temperature  # (..., V), the best 0
    order = logits.sort(dim=-1, descending=True, stable=True).indices  # (..., V), best first
    weights = below.exp().gather(-1, order)  # (..., V)
    if top_k is not None:
        weights[..., check_size("top_k", top_k, minimum=1) :] = 0
    if top_p is not None:
        check_top_p(top_p)
        share = weights / weights.sum(-1, keepdim=True)  # (..., V)
        reached = share.cumsum(-1)[..., :-1] >= top_p  # (..., V - 1), by the better ones
        if top_p < 1:  # 1 keeps all, also those behind a sum that was rounded up to 1
            weights[..., 1:] = weights[..., 1:].masked_fill(reached, 0)
    weights = torch.zeros_like(weights).scatter(-1, order, weights)  # in the order of tokens again
    weights = weights / weights.sum(-1, keepdim=True)  # (..., V)
    return _drawn_keys(weights, uniform).int().argmax(-1)  # (...)


_ROUNDING = 1e-3  # the logarithm of a probability in half precision may come out above 0 by this


def _tokens(start):
    """Return the first tokens as int64, or raise the TypeError for what are no tokens."""
    _check_tensor("start", start)
    whole = not (start.is_floating_point() or start.is_complex() or start.dtype == torch.bool)
    if start.numel() and not whole:
        errors.refuse_type("start", start.dtype, "integers", errors.NOT_A_TOKEN)
    return start.long()


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
    if state is None or isinstance(state, int | float | str):
        return state
    if isinstance(state, torch.Tensor):
        if state.dim() == 0:
            return state
        check_state_rows(state.shape, n_rows)
        return state[index]
    if isinstance(state, dict):
        return {name: _reordered(part, index, n_rows, moved) for name, part in state.items()}
    if isinstance(state, list | tuple):
        parts = [_reordered(part, index, n_rows, moved) for part in state]
        return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)
    kinds = "a tensor, a tuple, list or dict of tensors, or an object with a method reorder(index)"
    errors.refuse_type("state", type(state).__name__, kinds, errors.NO_STATE)
