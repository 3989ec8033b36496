"""03.additive_scores: Bahdanau's score, a small network that looks at query and key together."""

import numpy as np

from attnkit.numpy import additive_scores

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Law, Mistake, Part
from ..surface import Call


def _arguments(draw, random, leading, m, n, d_q, d_k, d_a, **options):
    return {
        "query": draw(random, *leading, m, d_q, **options),
        "key": draw(random, *leading, n, d_k, **options),
        "w_query": draw(random, d_q, d_a, **options),
        "w_key": draw(random, d_k, d_a, **options),
        "v": draw(random, d_a, **options),
    }


def cases(random):
    return [
        Case(
            "two queries of width 1, three keys of width 2, hidden width 2",
            Call(_arguments(readable, random, (), 2, 3, 1, 2, 2)),
        ),
        Case(
            "three queries and three keys of width 2, hidden width 2",
            Call(_arguments(readable, random, (), 3, 3, 2, 2, 2)),
        ),
        Case(
            "four queries of width 3, two keys of width 5, hidden width 6",
            Call(_arguments(normal, random, (), 4, 2, 3, 5, 6)),
        ),
        Case(
            "a batch of two, with three queries and four keys",
            Call(_arguments(normal, random, (2,), 3, 4, 2, 5, 6)),
            "axes",
        ),
        Case(
            "leading axes (2, 3) and float32 numbers",
            Call(_arguments(normal, random, (2, 3), 4, 5, 2, 3, 7, dtype=np.float32)),
            "axes",
        ),
    ]


def _far_away(random):
    arguments = _arguments(normal, random, (), 3, 4, 2, 5, 6)
    return [Call({**arguments, "key": 1e6 * arguments["key"]})]


def _bounded(requests, values):
    ((scores,),) = values
    limit = np.abs(requests[0].arguments["v"]).sum() * (1 + 1e-9)
    if (np.abs(scores) <= limit).all():
        return None
    return f"with enormous keys a score of {np.abs(scores).max():.4g} came out, over {limit:.4g}."


def _keys_reordered(random):
    arguments = _arguments(normal, random, (), 3, 4, 2, 5, 6)
    return [Call(arguments), Call({**arguments, "key": arguments["key"][::-1]})]


def tanh_forgotten(query, key, w_query, w_key, v):
    return ((query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]) @ v


def tanh_at_the_end(query, key, w_query, w_key, v):
    hidden = (query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]
    return np.tanh(hidden @ v)


def tanh_before_the_sum(query, key, w_query, w_key, v):
    hidden = np.tanh(query @ w_query)[..., :, None, :] + np.tanh(key @ w_key)[..., None, :, :]
    return hidden @ v


def summed_without_v(query, key, w_query, w_key, v):
    hidden = (query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]
    return np.tanh(hidden).sum(axis=-1)


def mean_instead_of_sum(query, key, w_query, w_key, v):
    hidden = (query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]
    return (np.tanh(hidden) * v).mean(axis=-1)


def not_summed(query, key, w_query, w_key, v):
    hidden = (query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]
    return np.tanh(hidden) * v


def product_instead_of_sum(query, key, w_query, w_key, v):
    hidden = (query @ w_query)[..., :, None, :] * (key @ w_key)[..., None, :, :]
    return np.tanh(hidden) @ v


def only_matching_pairs(query, key, w_query, w_key, v):
    return np.tanh(query @ w_query + key @ w_key) @ v


def keys_down_the_side(query, key, w_query, w_key, v):
    hidden = (query @ w_query)[..., None, :, :] + (key @ w_key)[..., :, None, :]
    return np.tanh(hidden) @ v


def new_axes_at_the_front(query, key, w_query, w_key, v):
    hidden = (query @ w_query)[:, None, :] + (key @ w_key)[None, :, :]
    return np.tanh(hidden) @ v


def matrices_exchanged(query, key, w_query, w_key, v):
    hidden = (query @ w_key)[..., :, None, :] + (key @ w_query)[..., None, :, :]
    return np.tanh(hidden) @ v


def scaled_as_well(query, key, w_query, w_key, v):
    hidden = (query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]
    return np.tanh(hidden) @ v / np.sqrt(len(v))


MISTAKES = (
    Mistake(
        "tanh forgotten",
        tanh_forgotten,
        "Without the tanh the score falls apart into a part for the query and a part for the key. "
        "The query's part is the same for all keys, so softmax removes it: every query would look "
        "at the same keys.",
    ),
    Mistake(
        "tanh at the very end",
        tanh_at_the_end,
        "You multiply by v first and take the tanh of the result, so all scores lie between -1 "
        "and 1. The tanh belongs to the hidden layer: first tanh, then the product with v.",
    ),
    Mistake(
        "tanh before the sum",
        tanh_before_the_sum,
        "You take the tanh of query and key apart and add the results. Then they never meet inside "
        "the tanh, and the query's part is the same for all keys. Add first, then tanh.",
    ),
    Mistake(
        "v left out",
        summed_without_v,
        "You sum the hidden layer with equal weights. The vector v says how much each hidden "
        "number counts: multiply by v, which sums as well.",
    ),
    Mistake(
        "mean instead of sum",
        mean_instead_of_sum,
        "The hidden layer was averaged, so your scores are d_a times too small. The product with "
        "v is a sum.",
    ),
    Mistake(
        "hidden layer not summed",
        not_summed,
        "You multiplied by v entry by entry and kept the hidden axis. The score of a pair is one "
        "number: sum over the last axis, or use @ v.",
    ),
    Mistake(
        "product instead of sum",
        product_instead_of_sum,
        "Query and key were multiplied in the hidden layer. They are added here, which is where "
        "the name additive comes from.",
    ),
    Mistake(
        "only matching pairs",
        only_matching_pairs,
        "Query i met only key i. Every query meets every key: give the queries a new axis for the "
        "keys and the keys a new axis for the queries, and let NumPy broadcast the sum.",
    ),
    Mistake(
        "keys down the side",
        keys_down_the_side,
        "The two new axes are exchanged, so the table has a row for each key. The result is "
        "(..., m, n): queries need a new axis after theirs, keys one before theirs.",
    ),
    Mistake(
        "new axes counted from the front",
        new_axes_at_the_front,
        "For two axes this is right. With a batch in front, [:, None] puts the new axis after the "
        "batch and not after the queries. Begin the index with ... and count from the back.",
    ),
    Mistake(
        "the two matrices exchanged",
        matrices_exchanged,
        "w_query meets the keys and w_key the queries. This fails when the widths differ and is "
        "silently wrong when they are equal. Match them by name.",
    ),
    Mistake(
        "scaled as well",
        scaled_as_well,
        "The additive score has no divisor: tanh keeps every hidden number between -1 and 1, and v "
        "is learnt. Leave out the division.",
    ),
)

EXERCISE = Exercise(
    identifier="03.additive_scores",
    assignment="03_scores",
    title="Additive scores",
    kind="function",
    answer="additive_scores",
    points=4,
    difficulty=3,
    minutes=20,
    hints=(
        "Work out the score of one query and one key first, on paper, with shapes. Which sum "
        "connects the two?",
        "Project all queries to `(..., m, d_a)` and all keys to `(..., n, d_a)`. Every query must "
        "be added to every key: with one new axis in each, NumPy broadcasts the sum to "
        "`(..., m, n, d_a)`.",
        "`[..., :, None, :]` on the projected queries and `[..., None, :, :]` on the projected "
        "keys make the axes fit. Add, take `np.tanh`, and multiply by `v` with `@`, which sums "
        "over the hidden axis.",
    ),
    returns=("scores",),
    cases=cases,
    laws=(
        same(
            "Each column of the scores belongs to one key",
            _keys_reordered,
            "with the keys in reverse order, the columns of the scores were not just reversed.",
            undo=lambda scores: scores[..., ::-1],
        ),
        Law("No score is larger than the sum of |v|", _far_away, _bounded),
    ),
    parts=(
        Part("plain", "the cases with two axes", 0.75),
        Part("axes", "those with leading axes", 0.25),
    ),
    contents=lambda: Contents(additive_scores, MISTAKES),
)
