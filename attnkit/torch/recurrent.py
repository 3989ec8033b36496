"""Recurrent networks that can be trained: one step of each, an encoder, and three decoders.

The step functions are the twins of those in `attnkit.numpy.recurrent`. The decoders hold
parameters and call them: one reads the same fixed vector at every step, the other two look back
at the source by attention, Bahdanau's way and Luong's way. `Translator` joins encoder and decoder.
"""

import functools
import inspect
import math

import torch
from torch import nn

from .. import errors
from ..errors import check_choice, check_size
from ._parameters import embed_tokens
from ._tensors import _float_tensor, boolean_tensor
from .attention import attend
from .generate import greedy
from .scores import additive_scores, general_scores

__all__ = [
    "AdditiveDecoder",
    "Encoder",
    "FixedDecoder",
    "LuongDecoder",
    "Translator",
    "additive_step",
    "gru_step",
    "lstm_step",
    "luong_step",
    "rnn_step",
]

UNITS = ("gru", "lstm", "rnn")
INITIAL_STATES = ("last", "zeros")


def _step(check):
    """Let a step compute on tensors of one float type, at least single, and answer in the given one.

    Whole numbers count as torch's default type, and the widest type wins. Before anything is
    computed, `check` sees the shapes; so the step itself is nothing but its formula.
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
            parameters = {name: _float_tensor(name, tensor) for name, tensor in parameters.items()}
            key_mask = given.pop("key_mask", None)
            masks = {} if key_mask is None else {"key_mask": boolean_tensor("key_mask", key_mask)}
            tensors = {name: _float_tensor(name, tensor) for name, tensor in given.items()}
            check(parameters=_shapes(parameters), **_shapes(tensors), **_shapes(masks))
            types = {tensor.dtype for tensor in (*tensors.values(), *parameters.values())}
            dtype = functools.reduce(torch.promote_types, types)
            wide = torch.promote_types(dtype, torch.float32)
            if types != {wide}:
                tensors = {name: tensor.to(wide) for name, tensor in tensors.items()}
                parameters = {name: tensor.to(wide) for name, tensor in parameters.items()}
            if masks:
                states = tensors["encoder_states"]
                tensors["encoder_states"] = _without_padding(states, masks["key_mask"])
            result = function(**tensors, parameters=parameters, **masks)
            if isinstance(result, tuple):
                return tuple(part.to(dtype) for part in result)
            return result.to(dtype)

        return wrapper

    return decorate


@_step(errors.check_rnn_step)
def rnn_step(x, state, parameters):
    r"""Move the state of a plain recurrent network by one step.

    Parameters
    ----------
    x : Tensor, (..., d_in)
        Input of this step.
    state : Tensor, (..., h)
        State after the previous step.
    parameters : mapping of str to Tensor
        `w_input (d_in, h)`, `w_state (h, h)`, `b_input (h,)`, `b_state (h,)`.

    Returns
    -------
    Tensor, (..., h)
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
    >>> parameters = {"w_input": torch.tensor([[1.0], [1.0]]), "w_state": torch.tensor([[2.0]]),
    ...               "b_input": torch.zeros(1), "b_state": torch.zeros(1)}
    >>> rnn_step(torch.tensor([3.0, 1.0]), torch.tensor([-2.0]), parameters)
    tensor([0.])
    """
    from_input = x @ parameters["w_input"] + parameters["b_input"]  # (..., h)
    from_state = state @ parameters["w_state"] + parameters["b_state"]  # (..., h)
    return torch.tanh(from_input + from_state)


@_step(errors.check_gru_step)
def gru_step(x, state, parameters):
    r"""Move the state of a gated recurrent unit by one step.

    Parameters
    ----------
    x : Tensor, (..., d_in)
        Input of this step.
    state : Tensor, (..., h)
        State after the previous step.
    parameters : mapping of str to Tensor
        `w_input (d_in, 3h)`, `w_state (h, 3h)`, `b_input (3h,)`, `b_state (3h,)`. The three
        blocks of columns are reset gate, update gate and candidate, in torch's order.

    Returns
    -------
    Tensor, (..., h)
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

    >>> zeros = {"w_input": torch.zeros((3, 6)), "w_state": torch.zeros((2, 6)),
    ...          "b_input": torch.zeros(6), "b_state": torch.zeros(6)}
    >>> gru_step(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, -8.0]), zeros)
    tensor([ 2., -4.])
    """
    from_input = x @ parameters["w_input"] + parameters["b_input"]  # (..., 3h)
    from_state = state @ parameters["w_state"] + parameters["b_state"]  # (..., 3h)
    reset_in, update_in, candidate_in = torch.chunk(from_input, 3, dim=-1)  # (..., h) each
    reset_old, update_old, candidate_old = torch.chunk(from_state, 3, dim=-1)
    reset = torch.sigmoid(reset_in + reset_old)
    update = torch.sigmoid(update_in + update_old)
    candidate = torch.tanh(candidate_in + reset * candidate_old)
    return (1 - update) * candidate + update * state


@_step(errors.check_lstm_step)
def lstm_step(x, state, cell, parameters):
    r"""Move the state and the cell of a long short-term memory by one step.

    Parameters
    ----------
    x : Tensor, (..., d_in)
        Input of this step.
    state, cell : Tensor, (..., h)
        State and cell after the previous step.
    parameters : mapping of str to Tensor
        `w_input (d_in, 4h)`, `w_state (h, 4h)`, `b_input (4h,)`, `b_state (4h,)`. The four blocks
        of columns are input gate, forget gate, candidate and output gate, in torch's order.

    Returns
    -------
    state, cell : Tensor, (..., h)
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

    >>> zeros = {"w_input": torch.zeros((3, 4)), "w_state": torch.zeros((1, 4)),
    ...          "b_input": torch.zeros(4), "b_state": torch.zeros(4)}
    >>> x, state, cell = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.0]), torch.tensor([4.0])
    >>> state, cell = lstm_step(x, state, cell, zeros)
    >>> float(cell), bool(state == 0.5 * torch.tanh(torch.tensor(2.0)))
    (2.0, True)
    """
    from_input = x @ parameters["w_input"] + parameters["b_input"]  # (..., 4h)
    from_state = state @ parameters["w_state"] + parameters["b_state"]  # (..., 4h)
    write, keep, candidate, show = torch.chunk(from_input + from_state, 4, dim=-1)  # (..., h) each
    cell = torch.sigmoid(keep) * cell + torch.sigmoid(write) * torch.tanh(candidate)
    return torch.sigmoid(show) * torch.tanh(cell), cell


@_step(errors.check_additive_step)
def additive_step(embedded, state, encoder_states, parameters, key_mask=None):
    r"""One decoder step with Bahdanau's attention: the previous state asks, then the state moves.

    The state before this step is the query, the encoder states are keys and values. The context
    that comes back is read by the GRU together with the embedded last token.

    Parameters
    ----------
    embedded : Tensor, (..., d_in)
        Embedding of the previous target token.
    state : Tensor, (..., h)
        Decoder state before this step.
    encoder_states : Tensor, (..., n, d)
        One row for each source position; `d` need not equal `h`.
    parameters : mapping of str to Tensor
        For the scores `w_query (h, d_a)`, `w_key (d, d_a)`, `v (d_a,)`; for the GRU `w_input
        (d_in + d, 3h)`, `w_state (h, 3h)`, `b_input (3h,)`, `b_state (3h,)` as in `gru_step`.
    key_mask : Tensor of bool, (..., n), optional
        True where a source position may be looked at. Where none may, weights and context are 0.

    Returns
    -------
    state : Tensor, (..., h)
        Decoder state after this step.
    context : Tensor, (..., d)
        Sum of the encoder states, weighted.
    weights : Tensor, (..., n)
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

    >>> zeros = {"w_query": torch.zeros((2, 5)), "w_key": torch.zeros((3, 5)), "v": torch.zeros(5),
    ...          "w_input": torch.zeros((4, 6)), "w_state": torch.zeros((2, 6)),
    ...          "b_input": torch.zeros(6), "b_state": torch.zeros(6)}
    >>> embedded, state = torch.tensor([1.0]), torch.tensor([4.0, -8.0])
    >>> encoder_states = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 9.0]])
    >>> key_mask = torch.tensor([True, True, False])
    >>> state, context, weights = additive_step(embedded, state, encoder_states, zeros, key_mask)
    >>> weights, context, state
    (tensor([0.5000, 0.5000, 0.0000]), tensor([0.5000, 0.5000, 0.0000]), tensor([ 2., -4.]))
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
    embedded : Tensor, (..., d_in)
        Embedding of the previous target token.
    state : Tensor, (..., h)
        Decoder state before this step.
    attentional : Tensor, (..., a)
        Attentional vector of the previous step; zeros at the first.
    encoder_states : Tensor, (..., n, d)
        One row for each source position.
    parameters : mapping of str to Tensor
        `w_general (h, d)` for the score, `w_combine (d + h, a)` for the attentional vector; for
        the GRU `w_input (d_in + a, 3h)`, `w_state (h, 3h)`, `b_input (3h,)`, `b_state (3h,)`.
    key_mask : Tensor of bool, (..., n), optional
        True where a source position may be looked at. Where none may, weights and context are 0.

    Returns
    -------
    state : Tensor, (..., h)
        Decoder state after this step.
    attentional : Tensor, (..., a)
        :math:`\tanh([c; s]\, W)`.
    weights : Tensor, (..., n)
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

    >>> zeros = {"w_general": torch.zeros((2, 3)), "w_combine": torch.zeros((5, 4)),
    ...          "w_input": torch.zeros((5, 6)), "w_state": torch.zeros((2, 6)),
    ...          "b_input": torch.zeros(6), "b_state": torch.zeros(6)}
    >>> embedded, state = torch.tensor([1.0]), torch.tensor([4.0, -8.0])
    >>> luong_step(embedded, state, torch.zeros(4), torch.ones((2, 3)), zeros)
    (tensor([ 2., -4.]), tensor([0., 0., 0., 0.]), tensor([0.5000, 0.5000]))
    """
    state = gru_step(_beside(embedded, attentional), state, parameters)
    query = state[..., None, :]  # (..., 1, h): the state after this step asks
    scores = general_scores(query, encoder_states, parameters["w_general"])  # (..., 1, n)
    context, weights = _look(scores, encoder_states, key_mask)  # (..., d), (..., n)
    combined = _beside(context, state)  # (..., d + h)
    attentional = torch.tanh(combined @ parameters["w_combine"])  # (..., a)
    return state, attentional, weights


class Encoder(nn.Module):
    """Read the source with a recurrent network; return every state and one summary.

    Torch's own recurrent layers do the work; they equal `rnn_step`, `gru_step` and `lstm_step`
    taken again and again.

    Parameters
    ----------
    n_tokens : int
        Size of the source vocabulary.
    d_embedding : int
        Width of a token's embedding.
    d_state : int
        Width of the state in each direction.
    unit : str
        "gru", "lstm" or "rnn".
    bidirectional : bool
        Read from both ends, so that a state knows what stands on either side of its token.

    Attributes
    ----------
    d_output : int
        Width of what comes out: `d_state`, or twice that when bidirectional.

    Raises
    ------
    ValueError
        When a size is below 1 or a word is none of the choices.
    TypeError
        When a size is not a whole number.

    Examples
    --------
    >>> encoder = Encoder(7, d_embedding=3, d_state=4)
    >>> source = torch.tensor([[3, 1, 4]])
    >>> encoder(source, source > 0)[0].shape, encoder.d_output
    (torch.Size([1, 3, 8]), 8)
    """

    def __init__(self, n_tokens, d_embedding, d_state, *, unit="gru", bidirectional=True):
        super().__init__()
        check_choice("unit", unit, UNITS)
        n_tokens, d_embedding = (
            check_size("n_tokens", n_tokens, 1),
            check_size("d_embedding", d_embedding, 1),
        )
        d_state = check_size("d_state", d_state, 1)
        layer = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}[unit]
        self.embedding = nn.Embedding(n_tokens, d_embedding)
        self.layer = layer(d_embedding, d_state, batch_first=True, bidirectional=bidirectional)
        self.d_output = d_state * (1 + bidirectional)

    def forward(self, source, source_mask=None):
        """Encode a batch.

        Parameters
        ----------
        source : Tensor of int, (B, S)
            Source tokens, padded on the right.
        source_mask : Tensor of bool, (B, S), optional
            True where there is a token. Padding is never read, so it has no influence.

        Returns
        -------
        states : Tensor, (B, S, d_output)
            One row for each source position; zero at padding.
        summary : Tensor, (B, d_output)
            The last state of each direction, side by side: all that one vector says of the source.

        Raises
        ------
        ValueError
            If padding stands before a token, a row has no token at all, a token is not in the
            vocabulary, or shapes do not fit.
        TypeError
            If tokens are not whole numbers or source_mask is not boolean.
        """
        embedded = embed_tokens("source", source, self.embedding)  # (B, S, d_embedding)
        if source_mask is not None:
            boolean_tensor("source_mask", source_mask)
            errors.check_source_mask("source_mask", tuple(source_mask.shape), tuple(source.shape))
        if source.shape[1] == 0:  # torch's layers read one token at least
            errors.check_right_padding(True, 0 if len(source) else 1, "source")
            return embedded.new_zeros(0, 0, self.d_output), embedded.new_zeros(0, self.d_output)
        if source_mask is None or bool(source_mask.all()):
            states, last = self.layer(embedded)  # (B, S, d_output), (directions, B, d_state)
        else:
            lengths = source_mask.sum(dim=1)
            place = torch.arange(source.shape[1], device=source.device)
            errors.check_right_padding(
                bool((source_mask == (place < lengths[:, None])).all()),
                int(lengths.min()),
            )
            packed = nn.utils.rnn.pack_padded_sequence(
                embedded, lengths.cpu(), batch_first=True, enforce_sorted=False
            )
            states, last = self.layer(packed)
            states, _ = nn.utils.rnn.pad_packed_sequence(
                states, batch_first=True, total_length=source.shape[1]
            )
        if isinstance(last, tuple):  # an LSTM also returns its cell, which nobody reads here
            last, _ = last
        return states, last.transpose(0, 1).flatten(1)  # (B, directions * d_state)


class _Decoder(nn.Module):
    """What the three decoders share: embedding, first state, output layer, and the loop over steps.

    A subclass says how a sentence begins (`begin`), what its steps share (`prepare`), what one step
    does (`step`), and whether that looks at the source (`looks`).
    """

    looks = True

    def __init__(self, n_tokens, d_embedding, d_state, d_encoder, *, d_output, initial_state):
        super().__init__()
        check_choice("initial_state", initial_state, INITIAL_STATES)
        sizes = {
            "n_tokens": n_tokens,
            "d_embedding": d_embedding,
            "d_state": d_state,
            "d_encoder": d_encoder,
        }
        for name, size in sizes.items():
            check_size(name, size, 1)
        self.initial_state = initial_state
        self.d_state = d_state
        self.embedding = nn.Embedding(n_tokens, d_embedding)
        self.bridge = nn.Linear(d_encoder, d_state)
        self.output = nn.Linear(d_output, n_tokens)

    def first_state(self, summary):
        """State `(B, d_state)` before the first step: from the encoder's last state, or zeros."""
        if self.initial_state == "zeros":
            return summary.new_zeros(len(summary), self.d_state)
        return torch.tanh(self.bridge(summary))

    def prepare(self, encoder_states, key_mask=None):
        """What `step` is handed of the source, the same at all steps of a sentence."""
        return encoder_states, key_mask

    def _source(self, check, encoder_states, key_mask):
        """Return encoder states without padding, or refuse what the step function would refuse."""
        given = {"encoder_states": encoder_states}
        if key_mask is not None:
            given["key_mask"] = boolean_tensor("key_mask", key_mask)
        check(
            embedded=(self.embedding.embedding_dim,),
            state=(self.d_state,),
            parameters=_shapes(self.parameters_of_step),
            **_shapes(given),
        )
        return _without_padding(encoder_states, key_mask)

    def forward(self, target, encoder_states, summary, key_mask=None):
        """Predict each next token while the right previous one is given (teacher forcing).

        Parameters
        ----------
        target : Tensor of int, (B, T)
            What the decoder reads: the start token, then the target without its last token.
        encoder_states : Tensor, (B, S, d)
            One row for each source position.
        summary : Tensor, (B, d)
            The encoder's last state.
        key_mask : Tensor of bool, (B, S), optional
            True where there is a source token.

        Returns
        -------
        logits : Tensor, (B, T, n_tokens)
            Scores of the token that follows each one read.
        weights : Tensor, (B, T, S), or None
            Attention over the source; None from a decoder without attention.

        Raises
        ------
        ValueError
            If a token is not in the vocabulary or shapes do not fit.
        TypeError
            If tokens are not whole numbers or key_mask is not boolean.
        """
        read = embed_tokens("target", target, self.embedding)  # (B, T, d_embedding)
        if target.shape[1] == 0:
            logits = summary.new_zeros(len(target), 0, self.output.out_features)
            weights = summary.new_zeros(len(target), 0, encoder_states.shape[1])
            return logits, weights if self.looks else None
        source, carried = self.prepare(encoder_states, key_mask), self.begin(summary)
        features, weights = [], []
        for embedded in read.unbind(dim=1):  # T times (B, d_embedding)
            feature, carried, weight = self.step(embedded, carried, *source)
            features.append(feature)
            weights.append(weight)
        logits = self.output(torch.stack(features, dim=1))  # (B, T, n_tokens)
        return logits, None if weights[0] is None else torch.stack(weights, dim=1)


class FixedDecoder(_Decoder):
    """A decoder without attention: every step reads the same vector, made of the encoder's last state.

    Parameters
    ----------
    n_tokens : int
        Size of the target vocabulary.
    d_embedding, d_state : int
        Width of embedding and state. The fixed vector has `d_state` numbers too.
    d_encoder : int
        Width of the encoder's summary.
    unit : str
        "gru", "lstm" or "rnn".
    initial_state : str
        "last": begin with the fixed vector; "zeros": begin with nothing, and only read it.

    Notes
    -----
    Cho et al. (2014) let every step read the vector, Sutskever, Vinyals and Le (2014) only began
    with it; here it does both, or the first alone with ``initial_state="zeros"``.

    Raises
    ------
    ValueError
        When a size is below 1 or a word is none of the choices.
    TypeError
        When a size is not a whole number.

    Examples
    --------
    >>> translator = Translator(7, 5, unit="lstm", d_embedding=3, d_state=4)
    >>> type(translator.decoder).__name__
    'FixedDecoder'
    """

    looks = False

    def __init__(
        self, n_tokens, d_embedding, d_state, d_encoder, *, unit="gru", initial_state="last"
    ):
        super().__init__(
            n_tokens,
            d_embedding,
            d_state,
            d_encoder,
            d_output=2 * d_state,
            initial_state=initial_state,
        )
        check_choice("unit", unit, UNITS)
        self.unit = unit
        gates = {"rnn": 1, "gru": 3, "lstm": 4}[unit]
        self.parameters_of_step = _drawn(
            d_state,
            w_input=(d_embedding + d_state, gates * d_state),
            w_state=(d_state, gates * d_state),
            b_input=(gates * d_state,),
            b_state=(gates * d_state,),
        )

    def begin(self, summary):
        """What is carried from step to step: state, cell (LSTM only), and the fixed vector."""
        fixed = torch.tanh(self.bridge(summary))  # (B, d_state)
        state = self.first_state(summary)
        return state, torch.zeros_like(state), fixed

    def step(self, embedded, carried, encoder_states, key_mask=None):
        """Move by one token; `encoder_states` are not looked at."""
        state, cell, fixed = carried
        x = torch.cat([embedded, fixed], dim=-1)
        if self.unit == "lstm":
            state, cell = lstm_step(x, state, cell, self.parameters_of_step)
        else:
            move = {"gru": gru_step, "rnn": rnn_step}[self.unit]
            state = move(x, state, self.parameters_of_step)
        return torch.cat([state, fixed], dim=-1), (state, cell, fixed), None


class AdditiveDecoder(_Decoder):
    """Bahdanau's decoder: `additive_step`, then state and context side by side make the scores.

    The part of the step that depends on the sentence alone is computed once for a sentence.

    Parameters
    ----------
    n_tokens : int
        Size of the target vocabulary.
    d_embedding, d_state : int
        Width of embedding and state; the attention's hidden layer is as wide as the state.
    d_encoder : int
        Width of the encoder's states.
    initial_state : str
        "last": begin with the encoder's last state, passed through one layer; "zeros": with zeros.

    Raises
    ------
    ValueError
        When a size is below 1 or a word is none of the choices.
    TypeError
        When a size is not a whole number.

    Examples
    --------
    >>> translator = Translator(7, 5, attention="additive", d_embedding=3, d_state=4)
    >>> type(translator.decoder).__name__
    'AdditiveDecoder'
    """

    def __init__(self, n_tokens, d_embedding, d_state, d_encoder, *, initial_state="last"):
        super().__init__(
            n_tokens,
            d_embedding,
            d_state,
            d_encoder,
            d_output=d_state + d_encoder,
            initial_state=initial_state,
        )
        self.parameters_of_step = _drawn(
            d_state,
            w_query=(d_state, d_state),
            w_key=(d_encoder, d_state),
            v=(d_state,),
            w_input=(d_embedding + d_encoder, 3 * d_state),
            w_state=(d_state, 3 * d_state),
            b_input=(3 * d_state,),
            b_state=(3 * d_state,),
        )

    def begin(self, summary):
        """What is carried from step to step: the state."""
        return self.first_state(summary)

    def prepare(self, encoder_states, key_mask=None):
        """What `step` is handed of the source: besides, the keys `(B, S, d_state)` of its scores."""
        encoder_states = self._source(errors.check_additive_step, encoder_states, key_mask)
        # The keys depend on the sentence alone. `additive_step` makes them anew at each of T target
        # tokens: with its gradients the dearest product of a training step, and the same T times.
        return encoder_states, key_mask, encoder_states @ self.parameters_of_step["w_key"]

    def step(self, embedded, carried, encoder_states, key_mask, keys):
        """Move by one token: `additive_step`, with the keys that `prepare` has made."""
        state, p = carried, self.parameters_of_step
        query = (state @ p["w_query"])[:, None, :]  # (B, 1, d_state): the state before asks
        scores = torch.tanh(query + keys) @ p["v"]  # (B, S)
        context, weights = _look(scores[:, None, :], encoder_states, key_mask)
        state = gru_step(torch.cat([embedded, context], dim=-1), state, p)
        return torch.cat([state, context], dim=-1), state, weights


class LuongDecoder(_Decoder):
    """Luong's decoder: `luong_step`, whose attentional vector makes the scores and is fed back.

    Parameters
    ----------
    n_tokens : int
        Size of the target vocabulary.
    d_embedding, d_state : int
        Width of embedding and state.
    d_encoder : int
        Width of the encoder's states, and of the attentional vector: a narrower one would be a
        bottleneck between context and scores.
    initial_state : str
        "last": begin with the encoder's last state, passed through one layer; "zeros": with zeros.

    Raises
    ------
    ValueError
        When a size is below 1 or a word is none of the choices.
    TypeError
        When a size is not a whole number.

    Examples
    --------
    >>> translator = Translator(7, 5, attention="luong", d_embedding=3, d_state=4)
    >>> type(translator.decoder).__name__
    'LuongDecoder'
    """

    def __init__(self, n_tokens, d_embedding, d_state, d_encoder, *, initial_state="last"):
        super().__init__(
            n_tokens,
            d_embedding,
            d_state,
            d_encoder,
            d_output=d_encoder,
            initial_state=initial_state,
        )
        self.parameters_of_step = _drawn(
            d_state,
            w_general=(d_state, d_encoder),
            w_combine=(d_encoder + d_state, d_encoder),
            w_input=(d_embedding + d_encoder, 3 * d_state),
            w_state=(d_state, 3 * d_state),
            b_input=(3 * d_state,),
            b_state=(3 * d_state,),
        )
        # Settings that trained more reliably than a plain draw: at first all positions are looked
        # at alike, and more of context and state comes through to the output.
        with torch.no_grad():
            self.parameters_of_step["w_general"].zero_()
            self.parameters_of_step["w_combine"].mul_(2)

    def begin(self, summary):
        """What is carried from step to step: the state and the attentional vector."""
        return self.first_state(summary), torch.zeros_like(summary)

    def prepare(self, encoder_states, key_mask=None):
        """What `step` is handed of the source."""
        of_output = (len(self.parameters_of_step["w_general"][0]),)
        check = functools.partial(errors.check_luong_step, attentional=of_output)
        return self._source(check, encoder_states, key_mask), key_mask

    def step(self, embedded, carried, encoder_states, key_mask):
        """Move by one token: the formula of `luong_step`, as `prepare` has seen to the rest."""
        state, attentional, weights = luong_step.__wrapped__(
            embedded, *carried, encoder_states, self.parameters_of_step, key_mask
        )
        return attentional, (state, attentional), weights


class Translator(nn.Module):
    """An encoder and one of the three decoders.

    Parameters
    ----------
    n_source, n_target : int
        Sizes of the vocabularies.
    attention : str or None
        "additive" (Bahdanau), "luong", or None for the fixed vector.
    unit : str
        "gru", "lstm" or "rnn"; the decoders with attention exist with "gru" only.
    d_embedding, d_state : int
        Width of embeddings and states.
    initial_state : str
        Where the decoder begins: "last" (encoder state) or "zeros".
    bidirectional : bool
        Whether the encoder reads from both ends.

    Raises
    ------
    ValueError
        If a word is none of those named, or attention is asked for with another unit than "gru".

    Examples
    --------
    >>> translator = Translator(7, 5, attention="additive", d_embedding=3, d_state=4)
    >>> source, read = torch.tensor([[3, 1, 4]]), torch.tensor([[0, 2]])
    >>> translator(source, read, source > 0)[0].shape  # a score for each of 5 words at 2 places
    torch.Size([1, 2, 5])
    """

    def __init__(
        self,
        n_source,
        n_target,
        *,
        attention=None,
        unit="gru",
        d_embedding=64,
        d_state=96,
        initial_state="last",
        bidirectional=True,
    ):
        super().__init__()
        check_choice("attention", attention, (None, "additive", "luong"))
        if attention is not None and unit != "gru":
            raise ValueError(
                f"the decoders with attention are GRUs; unit must be 'gru', got {unit!r}"
            )
        self.attention = attention
        self.encoder = Encoder(
            n_source, d_embedding, d_state, unit=unit, bidirectional=bidirectional
        )
        sizes = (n_target, d_embedding, d_state, self.encoder.d_output)
        if attention is None:
            self.decoder = FixedDecoder(*sizes, unit=unit, initial_state=initial_state)
        elif attention == "additive":
            self.decoder = AdditiveDecoder(*sizes, initial_state=initial_state)
        else:
            self.decoder = LuongDecoder(*sizes, initial_state=initial_state)

    def forward(self, source, target, source_mask=None):
        """Scores of each next token while the right previous one is given (teacher forcing).

        Parameters
        ----------
        source : Tensor of int, (B, S)
            Source tokens, padded on the right.
        target : Tensor of int, (B, T)
            The start token, then the target without its last token.
        source_mask : Tensor of bool, (B, S), optional
            True where there is a source token.

        Returns
        -------
        logits : Tensor, (B, T, n_target)
        weights : Tensor, (B, T, S), or None
        """
        states, summary = self.encoder(source, source_mask)
        return self.decoder(target, states, summary, source_mask)

    @torch.no_grad()
    def translate(self, source, source_mask=None, *, start, end, max_length):
        """Translate greedily: the decoder reads what it has just written.

        Parameters
        ----------
        source : Tensor of int, (B, S)
            Source tokens, padded on the right.
        source_mask : Tensor of bool, (B, S), optional
            True where there is a source token.
        start, end : int
            The tokens that open and close a target.
        max_length : int
            Number of tokens to write.

        Returns
        -------
        tokens : Tensor of int64, (B, max_length)
            After its first `end` a row holds nothing but `end`.
        weights : Tensor, (B, max_length, S), or None
            Attention of each step; zero in steps that were not needed because all had ended.
        """
        states, summary = self.encoder(source, source_mask)
        prepared, looks = self.decoder.prepare(states, source_mask), []

        def step(token, carried):
            embedded = self.decoder.embedding(token)  # (B, d_embedding)
            feature, carried, weights = self.decoder.step(embedded, carried, *prepared)
            looks.append(weights)
            return self.decoder.output(feature), carried

        first = torch.full((len(source),), start, device=source.device)
        carried = self.decoder.begin(summary)
        written = greedy(step, first, end=end, max_length=max_length, state=carried)  # (B, L)
        tokens = nn.functional.pad(written, (0, max_length - written.shape[1]), value=end)
        if self.attention is None:
            return tokens, None
        weights = states.new_zeros(len(source), max_length, source.shape[1])
        for position, look in enumerate(looks):
            weights[:, position] = look
        return tokens, weights


def _look(scores, encoder_states, key_mask):
    """Attend with one query; returns its context `(..., d)` and weights `(..., n)`."""
    mask = None if key_mask is None else key_mask[..., None, :]  # (..., 1, n)
    context, weights = attend(scores, encoder_states, mask, return_weights=True)
    return context[..., 0, :], weights[..., 0, :]


def _without_padding(encoder_states, key_mask):
    """Return encoder states with 0 where the mask hides them, so that a NaN there meets no weight.

    A weight of 0 would keep it from the output, not from the gradients of what scores it.
    """
    if key_mask is None:
        return encoder_states
    return torch.where(key_mask[..., None], encoder_states, 0)


def _beside(left, right):
    """Concatenate along the last axis, stretching batch axes of length one or none."""
    if left.shape[:-1] != right.shape[:-1]:
        batch = torch.broadcast_shapes(left.shape[:-1], right.shape[:-1])
        left, right = (part.expand(*batch, part.shape[-1]) for part in (left, right))
    return torch.cat([left, right], dim=-1)


def _shapes(tensors):
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def _drawn(d_state, **shapes):
    """Parameters drawn evenly from ±1/√d_state, as torch's recurrent layers draw theirs."""
    bound = 1 / math.sqrt(d_state)
    return nn.ParameterDict(
        {
            name: nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
            for name, shape in shapes.items()
        }
    )
