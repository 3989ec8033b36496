"""04.bahdanau_step: one decoder step in which the previous state looks at the encoder states."""

import numpy as np

from attnkit.numpy import additive_step

from ..model import Contents, Exercise, Mistake
from .given import gru_step, masked_softmax
from .steps import PARTS, cases_of, laws_of


def _arguments(weights, batch, n, d_in, h, d, d_a):
    return {
        "embedded": weights(batch, d_in),
        "state": weights(batch, h),
        "encoder_states": weights(batch, n, d),
        "parameters": {
            "w_query": weights(h, d_a),
            "w_key": weights(d, d_a),
            "v": weights(d_a),
            "w_input": weights(d_in + d, 3 * h) / 2,
            "w_state": weights(h, 3 * h) / 2,
            "b_input": weights(3 * h),
            "b_state": weights(3 * h),
        },
    }


def mask_ignored(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    scores = np.tanh(query[:, None, :] + key) @ parameters["v"]
    weights = masked_softmax(scores, np.ones_like(key_mask))
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context, weights


def mask_turned_round(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    scores = np.tanh(query[:, None, :] + key) @ parameters["v"]
    weights = masked_softmax(scores, ~key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context, weights


def padding_at_the_end(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    scores = np.tanh(query[:, None, :] + key) @ parameters["v"]
    first = np.arange(scores.shape[1]) < key_mask.sum(axis=1, keepdims=True)
    weights = masked_softmax(scores, first)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context, weights


def mask_after_softmax(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    scores = np.tanh(query[:, None, :] + key) @ parameters["v"]
    weights = masked_softmax(scores, np.ones_like(key_mask)) * key_mask
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context, weights


def masked_scores_zero(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    scores = np.tanh(query[:, None, :] + key) @ parameters["v"] * key_mask
    weights = masked_softmax(scores, np.ones_like(key_mask))
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context, weights


def large_negative_score(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    scores = np.where(key_mask, np.tanh(query[:, None, :] + key) @ parameters["v"], -1e9)
    weights = masked_softmax(scores, np.ones_like(key_mask))
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context, weights


def tanh_forgotten(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    weights = masked_softmax((query[:, None, :] + key) @ parameters["v"], key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context, weights


def dot_product_scores(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    weights = masked_softmax((query[:, None, :] * key).sum(axis=-1), key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context, weights


def context_first(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    weights = masked_softmax(np.tanh(query[:, None, :] + key) @ parameters["v"], key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([context, embedded], axis=-1), state, parameters)
    return state, context, weights


def context_not_read(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    weights = masked_softmax(np.tanh(query[:, None, :] + key) @ parameters["v"], key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    x = np.concatenate([embedded, np.zeros_like(context)], axis=-1)
    return gru_step(x, state, parameters), context, weights


def state_not_moved(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    weights = masked_softmax(np.tanh(query[:, None, :] + key) @ parameters["v"], key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    return state, context, weights


def state_moves_first(embedded, state, encoder_states, parameters, key_mask):
    mean = encoder_states.mean(axis=1)
    state = gru_step(np.concatenate([embedded, mean], axis=-1), state, parameters)
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    weights = masked_softmax(np.tanh(query[:, None, :] + key) @ parameters["v"], key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    return state, context, weights


def context_before_state(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    weights = masked_softmax(np.tanh(query[:, None, :] + key) @ parameters["v"], key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return context, state, weights


def weights_not_returned(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    weights = masked_softmax(np.tanh(query[:, None, :] + key) @ parameters["v"], key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context


def keys_summed(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    weights = masked_softmax(np.tanh(query[:, None, :] + key) @ parameters["v"], key_mask)
    context = (weights[:, :, None] * key).sum(axis=1)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context, weights


def sentences_mixed(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    weights = masked_softmax(np.tanh(query[:, None, :] + key) @ parameters["v"], key_mask)
    context = (weights @ encoder_states)[0]
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context, weights


def query_axis_kept(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    scores = np.tanh(query[:, None, :] + key) @ parameters["v"]
    weights = masked_softmax(scores[:, None, :], key_mask[:, None, :])
    context = (weights @ encoder_states)[:, 0]
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context, weights


def scores_returned(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    scores = np.tanh(query[:, None, :] + key) @ parameters["v"]
    weights = masked_softmax(scores, key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context, scores


def query_without_an_axis_for_the_words(embedded, state, encoder_states, parameters, key_mask):
    query, key = state @ parameters["w_query"], encoder_states @ parameters["w_key"]
    scores = np.tanh(query + key) @ parameters["v"]
    weights = masked_softmax(scores, key_mask)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    state = gru_step(np.concatenate([embedded, context], axis=-1), state, parameters)
    return state, context, weights


MISTAKES = (
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
        "masked scores set to zero",
        masked_scores_zero,
        "A score of 0 is no mask: its exponential is 1, an ordinary share. Masked positions must "
        "not take part in the softmax at all.",
    ),
    Mistake(
        "a large negative score",
        large_negative_score,
        "-1e9 works until every position of a sentence is masked: then all scores are equal again, "
        "and the padding shares the weight. Such a row must get weights of 0; masked_softmax does "
        "that.",
    ),
    Mistake(
        "tanh forgotten",
        tanh_forgotten,
        "Without the tanh the state adds the same number to every score of its sentence, and "
        "softmax removes it: the decoder would look at the same words at every step.",
    ),
    Mistake(
        "dot product in place of the sum",
        dot_product_scores,
        "You multiply projected query and key. In the additive score they are *added*, then comes "
        "tanh, then the product with v.",
    ),
    Mistake(
        "context before the embedding",
        context_first,
        "Weights and context are right, the new state is not: the GRU reads [embedded; context], in "
        "this order, because the rows of w_input are laid out so.",
    ),
    Mistake(
        "the context is not read",
        context_not_read,
        "Weights and context are right, but the new state does not depend on the context. The GRU "
        "reads embedding and context together, or attention could never help it.",
    ),
    Mistake(
        "the state does not move",
        state_not_moved,
        "Weights and context are right, but you return the old state. Let the GRU read the "
        "embedding and the context, and return what it gives.",
    ),
    Mistake(
        "the state moves first",
        state_moves_first,
        "The state was moved before it asked. In Bahdanau's decoder the *previous* state is the "
        "query; the context it finds is what the GRU then reads. (Luong's decoder moves first.)",
    ),
    Mistake(
        "context before state",
        context_before_state,
        "All three are right, in the wrong order: return state, context, weights.",
    ),
    Mistake(
        "weights not returned",
        weights_not_returned,
        "Three things are asked for: state, context and weights. The weights show where the "
        "decoder looked.",
    ),
    Mistake(
        "projected keys summed",
        keys_summed,
        "The projected states serve for scores alone. What is summed into the context are the "
        "encoder states themselves.",
    ),
    Mistake(
        "sentences mixed",
        sentences_mixed,
        "weights @ encoder_states multiplies the weights of *all* sentences with each sentence's "
        "states, because (B, n) counts as one matrix. Give the weights an axis, so that each "
        "sentence meets its own states.",
    ),
    Mistake(
        "the axis of the query kept",
        query_axis_kept,
        "There is one query in a step, and its axis of size 1 is still in the weights. Return "
        "(B, n).",
    ),
    Mistake(
        "scores returned",
        scores_returned,
        "The third result holds the scores, before softmax. Return the weights.",
    ),
    Mistake(
        "no axis for the words in the query",
        query_without_an_axis_for_the_words,
        "The projected state is (B, d_a), the projected encoder states are (B, n, d_a). NumPy lines "
        "shapes up at the right, so B meets n: with one sentence that works, and where B = n it is "
        "wrong without an error. The state needs an axis for the words, query[:, None, :].",
    ),
)

EXERCISE = Exercise(
    identifier="04.bahdanau_step",
    assignment="04_translator",
    title="Bahdanau's step",
    kind="function",
    answer="bahdanau_step",
    points=5,
    difficulty=3,
    minutes=25,
    hints=(
        "Three things happen, in this order: the old state asks, a context comes back, the GRU "
        "reads it. Write the shape of each.",
        "Project the state to `(B, d_a)` and the encoder states to `(B, n, d_a)`; with one new axis "
        "they add up. tanh, the product with `v`, and `masked_softmax` give weights `(B, n)`.",
        "The context is `(weights[:, :, None] * encoder_states)` summed over the words. Put "
        "`embedded` and the context side by side with `np.concatenate(…, axis=-1)`, hand that and "
        "the old state to `gru_step`, and return state, context, weights.",
    ),
    returns=("state", "context", "weights"),
    first_cause=("weights", "context", "state"),
    cases=cases_of(_arguments),
    laws=laws_of(_arguments),
    parts=PARTS,
    helpers=("imports", "masked-softmax", "gru-step"),
    contents=lambda: Contents(additive_step, MISTAKES),
)
