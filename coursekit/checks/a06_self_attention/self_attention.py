"""06.self_attention: queries, keys and values all made from the same words."""

import numpy as np

from attnkit.numpy import scaled_dot_product_attention

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .given import softmax


def self_attention(x, w_query, w_key, w_value):
    """Self-attention without a mask, from the library's attention."""
    return scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value)


def _request(draw, random, lead, length, d_model, d_k, d_v, **options):
    return Call(
        {
            "x": draw(random, *lead, length, d_model, **options),
            "w_query": draw(random, d_model, d_k, **options),
            "w_key": draw(random, d_model, d_k, **options),
            "w_value": draw(random, d_model, d_v, **options),
        }
    )


def cases(random):
    return [
        Case(
            "two words of width 2, d_k = 1, d_v = 1",
            _request(readable, random, (), 2, 2, 1, 1),
        ),
        Case(
            "three words, all widths 3",
            _request(normal, random, (), 3, 3, 3, 3),
        ),
        Case(
            "five words of width 4, d_k = 3, d_v = 6",
            _request(normal, random, (), 5, 4, 3, 6),
        ),
        Case(
            "a batch of two sentences of three words",
            _request(normal, random, (2,), 3, 4, 2, 5),
            "axes",
        ),
        Case(
            "leading axes (2, 3), four words, in float32",
            _request(normal, random, (2, 3), 4, 5, 2, 3, dtype=np.float32),
            "axes",
        ),
    ]


def _words_shuffled(random):
    request = _request(normal, random, (), 5, 4, 3, 2)
    x = request.arguments["x"][[2, 0, 4, 1, 3]]
    return [request, Call({**request.arguments, "x": x})]


def _sentences_turned_round(random):
    request = _request(normal, random, (3,), 2, 4, 3, 2)
    x = request.arguments["x"][::-1]
    return [request, Call({**request.arguments, "x": x})]


def values_not_projected(x, w_query, w_key, w_value):
    query, key = x @ w_query, x @ w_key
    return softmax(query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])) @ x


def words_themselves(x, w_query, w_key, w_value):
    return softmax(x @ np.swapaxes(x, -1, -2) / np.sqrt(x.shape[-1])) @ x @ w_value


def scale_forgotten(x, w_query, w_key, w_value):
    query, key = x @ w_query, x @ w_key
    return softmax(query @ np.swapaxes(key, -1, -2)) @ (x @ w_value)


def root_of_the_model_width(x, w_query, w_key, w_value):
    query, key = x @ w_query, x @ w_key
    return softmax(query @ np.swapaxes(key, -1, -2) / np.sqrt(x.shape[-1])) @ (x @ w_value)


def one_projection_twice(x, w_query, w_key, w_value):
    query, key = x @ w_query, x @ w_query
    return softmax(query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])) @ (x @ w_value)


def query_and_key_exchanged(x, w_query, w_key, w_value):
    query, key = x @ w_key, x @ w_query
    return softmax(query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])) @ (x @ w_value)


def queries_compete(x, w_query, w_key, w_value):
    query, key = x @ w_query, x @ w_key
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = np.swapaxes(softmax(np.swapaxes(scores, -1, -2)), -1, -2)
    return weights @ (x @ w_value)


def softmax_forgotten(x, w_query, w_key, w_value):
    query, key = x @ w_query, x @ w_key
    return query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1]) @ (x @ w_value)


def weights_returned(x, w_query, w_key, w_value):
    query, key = x @ w_query, x @ w_key
    return softmax(query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1]))


def pair_returned(x, w_query, w_key, w_value):
    query, key = x @ w_query, x @ w_key
    weights = softmax(query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1]))
    return weights @ (x @ w_value), weights


def widths_compared(x, w_query, w_key, w_value):
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    weights = softmax(np.swapaxes(query, -1, -2) @ key / np.sqrt(query.shape[-1]))
    return value @ weights


def plain_transpose(x, w_query, w_key, w_value):
    query, key = x @ w_query, x @ w_key
    return softmax(query @ key.T / np.sqrt(query.shape[-1])) @ (x @ w_value)


def sentences_run_together(x, w_query, w_key, w_value):
    words = x.reshape(-1, x.shape[-1])
    query, key = words @ w_query, words @ w_key
    context = softmax(query @ key.T / np.sqrt(query.shape[-1])) @ (words @ w_value)
    return context.reshape(*x.shape[:-1], -1)


def weights_turned_over(x, w_query, w_key, w_value):
    query, key = x @ w_query, x @ w_key
    weights = softmax(query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1]))
    return np.swapaxes(weights, -1, -2) @ (x @ w_value)


MISTAKES = (
    Mistake(
        "values not projected",
        values_not_projected,
        "You mix the words themselves. What is mixed are the values, x @ w_value, which have their "
        "own width d_v.",
    ),
    Mistake(
        "the words compared as they are",
        words_themselves,
        "You compare the words themselves: the bare form Q = K = X. Then every word looks mostly at "
        "what resembles it. Queries and keys have projections of their own.",
    ),
    Mistake(
        "the scale forgotten",
        scale_forgotten,
        "The scores are not scaled: divide by the square root of d_k, the width of queries and keys.",
    ),
    Mistake(
        "the root of the model width",
        root_of_the_model_width,
        "You divide by the square root of d_model. A score is a sum over the components of query "
        "and key, and these have width d_k.",
    ),
    Mistake(
        "one projection twice",
        one_projection_twice,
        "Query and key come from the same matrix. Then word i scores word j exactly as j scores i, "
        "and a pronoun could not look at a noun without the noun looking back as much.",
    ),
    Mistake(
        "query and key exchanged",
        query_and_key_exchanged,
        "w_query made the keys and w_key the queries, so the table of scores is turned over. The "
        "shapes cannot warn you here.",
    ),
    Mistake(
        "queries compete",
        queries_compete,
        "Softmax went over the queries: each column of weights sums to one. Each query spreads its "
        "own weight over the keys, the last axis.",
    ),
    Mistake(
        "the softmax forgotten",
        softmax_forgotten,
        "Scores were used as weights. They may be negative and do not sum to one; softmax turns "
        "them into weights.",
    ),
    Mistake(
        "the weights returned",
        weights_returned,
        "These are the weights. One step is missing: their product with the values.",
    ),
    Mistake(
        "output and weights returned",
        pair_returned,
        "Both came back. The output alone is asked for; whoever calls this would take the pair for "
        "one array.",
    ),
    Mistake(
        "components compared instead of words",
        widths_compared,
        "Your weights are (d_k, d_k): components look at components. Words look at words, so the "
        "table of scores has a row and a column for each word.",
    ),
    Mistake(
        ".T on an array with leading axes",
        plain_transpose,
        "For one sentence this is right. With leading axes, .T turns *all* axes round, the batch "
        "included. Only the last two must change places.",
    ),
    Mistake(
        "sentences run together",
        sentences_run_together,
        "All sentences were laid end to end, so the words of one look at the words of another. "
        "For a batch, @ works on the last two axes and leaves the others alone: no reshape is needed.",
    ),
    Mistake(
        "the weights turned over",
        weights_turned_over,
        "The weights were transposed before they met the values. Row i holds the weights of query i: "
        "weights @ values.",
    ),
)

EXERCISE = Exercise(
    identifier="06.self_attention",
    assignment="06_self_attention",
    title="Self-attention",
    kind="function",
    answer="self_attention",
    points=4,
    difficulty=2,
    minutes=15,
    hints=(
        "It is the attention you know. Only one thing is new: where do query, key and value come "
        "from?",
        "Three products of `x` with a matrix each give query, key and value. Then: scores of all "
        "pairs of words, scaled; softmax over the keys; product with the values.",
        "The table of scores is `(..., T, T)`: the queries by `@` with the keys, whose last two axes "
        "have changed places (`np.swapaxes`). The scale is the root of the *key* width.",
    ),
    returns=("output",),
    cases=cases,
    laws=(
        same(
            "With the words in another order, the results come in that order",
            _words_shuffled,
            "with the words shuffled, the outputs were not just shuffled in the same way.",
            undo=lambda output: output[[1, 3, 0, 4, 2]],
        ),
        same(
            "Sentences do not influence each other",
            _sentences_turned_round,
            "with the sentences in reverse order, the outputs were not just reversed.",
            undo=lambda output: output[::-1],
            part="axes",
        ),
    ),
    parts=(
        Part("plain", "the cases with one sentence", 0.75),
        Part("axes", "those with leading axes", 0.25),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(self_attention, MISTAKES),
)
