"""04.luong_step: one decoder step in which the state moves first and then looks."""

import numpy as np

from attnkit.numpy import luong_step

from ..model import Contents, Exercise, Mistake
from .given import gru_step, masked_softmax
from .steps import PARTS, cases_of, laws_of


def _arguments(weights, batch, n, d_in, h, d, a):
    return {
        "embedded": weights(batch, d_in),
        "state": weights(batch, h),
        "attentional": np.tanh(weights(batch, a)),
        "encoder_states": weights(batch, n, d),
        "parameters": {
            "w_general": weights(h, d),
            "w_combine": weights(d + h, a) / 2,
            "w_input": weights(d_in + a, 3 * h) / 2,
            "w_state": weights(h, 3 * h) / 2,
            "b_input": weights(3 * h),
            "b_state": weights(3 * h),
        },
    }


def old_state_asks(embedded, state, attentional, encoder_states, parameters, key_mask):
    scores = ((state @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    weights = masked_softmax(scores, key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    combined = np.concatenate([context, state], axis=-1)
    return state, np.tanh(combined @ parameters["w_combine"]), weights


def old_state_combined(embedded, state, attentional, encoder_states, parameters, key_mask):
    new = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    scores = ((new @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    weights = masked_softmax(scores, key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    combined = np.concatenate([context, state], axis=-1)
    return new, np.tanh(combined @ parameters["w_combine"]), weights


def no_input_feeding(embedded, state, attentional, encoder_states, parameters, key_mask):
    x = np.concatenate([embedded, np.zeros_like(attentional)], axis=-1)
    state = gru_step(x, state, parameters)
    scores = ((state @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    weights = masked_softmax(scores, key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    combined = np.concatenate([context, state], axis=-1)
    return state, np.tanh(combined @ parameters["w_combine"]), weights


def attentional_before_embedding(
    embedded, state, attentional, encoder_states, parameters, key_mask
):
    state = gru_step(np.concatenate([attentional, embedded], axis=-1), state, parameters)
    scores = ((state @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    weights = masked_softmax(scores, key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    combined = np.concatenate([context, state], axis=-1)
    return state, np.tanh(combined @ parameters["w_combine"]), weights


def state_before_context(embedded, state, attentional, encoder_states, parameters, key_mask):
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    scores = ((state @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    weights = masked_softmax(scores, key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    combined = np.concatenate([state, context], axis=-1)
    return state, np.tanh(combined @ parameters["w_combine"]), weights


def tanh_forgotten(embedded, state, attentional, encoder_states, parameters, key_mask):
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    scores = ((state @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    weights = masked_softmax(scores, key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    combined = np.concatenate([context, state], axis=-1)
    return state, combined @ parameters["w_combine"], weights


def scaled_as_well(embedded, state, attentional, encoder_states, parameters, key_mask):
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    scores = ((state @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    weights = masked_softmax(scores / np.sqrt(encoder_states.shape[-1]), key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    combined = np.concatenate([context, state], axis=-1)
    return state, np.tanh(combined @ parameters["w_combine"]), weights


def matrix_transposed(embedded, state, attentional, encoder_states, parameters, key_mask):
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    scores = ((state @ parameters["w_general"].T)[:, None, :] * encoder_states).sum(axis=-1)
    weights = masked_softmax(scores, key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    combined = np.concatenate([context, state], axis=-1)
    return state, np.tanh(combined @ parameters["w_combine"]), weights


def matrix_left_out(embedded, state, attentional, encoder_states, parameters, key_mask):
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    weights = masked_softmax((state[:, None, :] * encoder_states).sum(axis=-1), key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    combined = np.concatenate([context, state], axis=-1)
    return state, np.tanh(combined @ parameters["w_combine"]), weights


def mask_ignored(embedded, state, attentional, encoder_states, parameters, key_mask):
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    scores = ((state @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    weights = masked_softmax(scores, np.ones_like(key_mask))
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    combined = np.concatenate([context, state], axis=-1)
    return state, np.tanh(combined @ parameters["w_combine"]), weights


def mask_turned_round(embedded, state, attentional, encoder_states, parameters, key_mask):
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    scores = ((state @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    weights = masked_softmax(scores, ~key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    combined = np.concatenate([context, state], axis=-1)
    return state, np.tanh(combined @ parameters["w_combine"]), weights


def padding_at_the_end(embedded, state, attentional, encoder_states, parameters, key_mask):
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    scores = ((state @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    first = np.arange(scores.shape[1]) < key_mask.sum(axis=1, keepdims=True)
    weights = masked_softmax(scores, first)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    combined = np.concatenate([context, state], axis=-1)
    return state, np.tanh(combined @ parameters["w_combine"]), weights


def mask_after_softmax(embedded, state, attentional, encoder_states, parameters, key_mask):
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    scores = ((state @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    weights = masked_softmax(scores, np.ones_like(key_mask)) * key_mask
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    combined = np.concatenate([context, state], axis=-1)
    return state, np.tanh(combined @ parameters["w_combine"]), weights


def context_returned(embedded, state, attentional, encoder_states, parameters, key_mask):
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    scores = ((state @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    weights = masked_softmax(scores, key_mask)
    return state, (weights[:, :, None] * encoder_states).sum(axis=1), weights


def attentional_unchanged(embedded, state, attentional, encoder_states, parameters, key_mask):
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    scores = ((state @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    return state, attentional, masked_softmax(scores, key_mask)


def attentional_before_state(embedded, state, attentional, encoder_states, parameters, key_mask):
    state = gru_step(np.concatenate([embedded, attentional], axis=-1), state, parameters)
    scores = ((state @ parameters["w_general"])[:, None, :] * encoder_states).sum(axis=-1)
    weights = masked_softmax(scores, key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    combined = np.concatenate([context, state], axis=-1)
    return np.tanh(combined @ parameters["w_combine"]), state, weights


MISTAKES = (
    Mistake(
        "the old state asks",
        old_state_asks,
        "The query is the state *before* the step, as in Bahdanau's decoder. In Luong's the GRU "
        "moves first, and the new state asks.",
    ),
    Mistake(
        "the old state combined",
        old_state_combined,
        "State and weights are right, but the attentional vector was made from the old state. "
        "Context and *new* state belong together.",
    ),
    Mistake(
        "no input feeding",
        no_input_feeding,
        "The GRU does not see the previous attentional vector. Feeding it in is how the decoder "
        "remembers where it looked: put it beside the embedding.",
    ),
    Mistake(
        "the attentional vector before the embedding",
        attentional_before_embedding,
        "The GRU reads [embedded; attentional], in this order, because the rows of w_input are laid "
        "out so.",
    ),
    Mistake(
        "state before context",
        state_before_context,
        "State and weights are right, but the attentional vector is made from [context; state], in "
        "this order, because the rows of w_combine are laid out so.",
    ),
    Mistake(
        "tanh forgotten",
        tanh_forgotten,
        "State and weights are right, but the attentional vector may leave the range from -1 to 1: "
        "the tanh after w_combine is missing.",
    ),
    Mistake(
        "scaled as well",
        scaled_as_well,
        "The scores were divided by a square root. The general score has no fixed divisor: its "
        "matrix is learnt.",
    ),
    Mistake(
        "the matrix transposed",
        matrix_transposed,
        "w_general is (h, d): its rows belong to the state, so it multiplies from the right as it "
        "stands, state @ w_general. Transposed it fits only when h = d.",
    ),
    Mistake(
        "the matrix left out",
        matrix_left_out,
        "State and encoder states met in a plain dot product. That fits only when their widths are "
        "equal; w_general takes the state to the width of the encoder states.",
    ),
    Mistake(
        "the mask ignored",
        mask_ignored,
        "Padding gets weight: the mask is never used, so states that belong to no word flow into "
        "the context. Hand key_mask to masked_softmax.",
    ),
    Mistake(
        "the mask turned round",
        mask_turned_round,
        "The weight lies on the padding and nowhere else. True means *may be looked at* here; some "
        "other libraries mean the opposite.",
    ),
    Mistake(
        "padding taken to be at the end",
        padding_at_the_end,
        "You count the words and take that many from the front. key_mask says *which* positions are "
        "words; padding may stand at the beginning or between them.",
    ),
    Mistake(
        "the mask applied after softmax",
        mask_after_softmax,
        "You set the padding's weights to 0 after the softmax. They have already taken their share, "
        "so the rest sums to less than one. Mask the scores, before the softmax.",
    ),
    Mistake(
        "the context returned",
        context_returned,
        "The second result is the context. It still has to be put beside the state, multiplied by "
        "w_combine, and sent through tanh.",
    ),
    Mistake(
        "the attentional vector unchanged",
        attentional_unchanged,
        "The attentional vector of the previous step came back. Make a new one from context and "
        "state.",
    ),
    Mistake(
        "attentional before state",
        attentional_before_state,
        "All three are right, in the wrong order: return state, attentional, weights.",
    ),
)

EXERCISE = Exercise(
    identifier="04.luong_step",
    assignment="04_translator",
    title="Luong's step",
    kind="function",
    answer="luong_step",
    points=5,
    difficulty=3,
    minutes=20,
    hints=(
        "Compare with Bahdanau's step: who asks, and when does the GRU move?",
        "First `gru_step` with embedding and previous attentional vector side by side. Then general "
        "scores of the new state with the encoder states, `masked_softmax`, context. Then context "
        "and state side by side through `w_combine` and tanh.",
        '`state @ parameters["w_general"]` is `(B, d)`. With an axis for the words, times '
        "`encoder_states`, summed over the last axis, it gives scores `(B, n)`. The weights with a "
        "new last axis, times `encoder_states`, summed over the words, give the context.",
    ),
    returns=("state", "attentional", "weights"),
    first_cause=("state", "weights", "attentional"),
    cases=cases_of(_arguments),
    laws=laws_of(_arguments),
    parts=PARTS,
    helpers=("imports", "masked-softmax", "gru-step"),
    contents=lambda: Contents(luong_step, MISTAKES),
)
