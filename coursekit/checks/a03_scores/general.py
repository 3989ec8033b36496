"""03.general_scores: Luong's score with a learnt matrix between query and key."""

import numpy as np

from attnkit.numpy import general_scores

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def _arguments(draw, random, leading, m, n, d_q, d_k, **options):
    return {
        "query": draw(random, *leading, m, d_q, **options),
        "key": draw(random, *leading, n, d_k, **options),
        "weight": draw(random, d_q, d_k, **options),
    }


def cases(random):
    return [
        Case(
            "two queries of width 3 and four keys of width 2",
            Call(_arguments(readable, random, (), 2, 4, 3, 2)),
        ),
        Case(
            "three queries and three keys, all of width 3",
            Call(_arguments(readable, random, (), 3, 3, 3, 3)),
        ),
        Case(
            "five queries of width 4 and three keys of width 6",
            Call(_arguments(normal, random, (), 5, 3, 4, 6)),
        ),
        Case(
            "a batch of two, with three queries of width 2 and two keys of width 3",
            Call(_arguments(normal, random, (2,), 3, 2, 2, 3)),
            "axes",
        ),
        Case(
            "leading axes (2, 3) and float32 numbers",
            Call(_arguments(normal, random, (2, 3), 4, 5, 3, 6, dtype=np.float32)),
            "axes",
        ),
    ]


def _twice_the_query(random):
    arguments = _arguments(normal, random, (), 3, 4, 5, 2)
    return [Call(arguments), Call({**arguments, "query": 2 * arguments["query"]})]


def matrix_left_out(query, key, weight):
    return query @ np.swapaxes(key, -1, -2)


def matrix_transposed(query, key, weight):
    return query @ weight.T @ np.swapaxes(key, -1, -2)


def scaled_as_well(query, key, weight):
    return query @ weight @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])


def keys_down_the_side(query, key, weight):
    return np.swapaxes(query @ weight @ np.swapaxes(key, -1, -2), -1, -2)


def plain_transpose(query, key, weight):
    return query @ weight @ key.T


def tanh_on_top(query, key, weight):
    return np.tanh(query @ weight @ np.swapaxes(key, -1, -2))


def weights_instead_of_scores(query, key, weight):
    scores = query @ weight @ np.swapaxes(key, -1, -2)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def key_not_transposed(query, key, weight):
    return query @ weight @ key


def entry_by_entry(query, key, weight):
    return query * weight @ np.swapaxes(key, -1, -2)


def matrix_on_both_sides(query, key, weight):
    return query @ weight @ np.swapaxes(key @ weight.T @ weight, -1, -2)


def only_matching_pairs(query, key, weight):
    return ((query @ weight) * key).sum(axis=-1)


def scaled_by_the_width_of_the_queries(query, key, weight):
    return query @ weight @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])


MISTAKES = (
    Mistake(
        "the matrix left out",
        matrix_left_out,
        "Without the matrix this is the plain dot product, which needs equal widths. The matrix "
        "is what lets a query of width d_q meet a key of width d_k: use it before the keys.",
    ),
    Mistake(
        "the matrix transposed",
        matrix_transposed,
        "weight is (d_q, d_k): its rows belong to the query and its columns to the key, so it "
        "multiplies from the right as it stands, query @ weight. Transposed it fits only when the "
        "widths are equal, and gives other numbers there.",
    ),
    Mistake(
        "scaled as well",
        scaled_as_well,
        "The general score has no fixed divisor: the matrix is learnt and can take any scale by "
        "itself. Leave out the division.",
    ),
    Mistake(
        "keys down the side",
        keys_down_the_side,
        "Your table has a row for each key. Queries look, so they stand down the side: the result "
        "is (..., m, n).",
    ),
    Mistake(
        ".T on an array with leading axes",
        plain_transpose,
        "For two axes this is right. With leading axes, .T turns *all* axes of key round, the "
        "batch included. Only the last two must change places.",
    ),
    Mistake(
        "tanh on top",
        tanh_on_top,
        "All your scores lie between -1 and 1. The tanh belongs to the additive score, where it "
        "stands before the last product; the general score has none.",
    ),
    Mistake(
        "weights instead of scores",
        weights_instead_of_scores,
        "Your rows sum to one: that is what comes after softmax. This function stops one step "
        "earlier, at the scores.",
    ),
    Mistake(
        "keys not turned",
        key_not_transposed,
        "query @ weight is (..., m, d_k), key is (..., n, d_k). For a product the equal sizes must "
        "meet in the middle: the last two axes of key have to change places first.",
    ),
    Mistake(
        "* in place of @",
        entry_by_entry,
        "query * weight multiplies entry by entry and either does not fit or broadcasts. The "
        "matrix acts on each query as a whole: use the matrix product @.",
    ),
    Mistake(
        "the matrix used more than once",
        matrix_on_both_sides,
        "The matrix stands between query and key once. Apply it to the query, then meet the keys "
        "as they are.",
    ),
    Mistake(
        "only matching pairs",
        only_matching_pairs,
        "Query i met only key i. Every query meets every key, so there are m times n scores, not "
        "one for each pair; with m ≠ n this cannot even be computed.",
    ),
    Mistake(
        "scaled by the width of the queries",
        scaled_by_the_width_of_the_queries,
        "You divide by the square root of the queries' width. The general score has no scale: the matrix "
        "is learnt, and takes care of that.",
    ),
)

EXERCISE = Exercise(
    identifier="03.general_scores",
    assignment="03_scores",
    title="General scores",
    kind="function",
    answer="general_scores",
    points=3,
    difficulty=2,
    minutes=10,
    hints=(
        "Which two widths does the matrix connect? Write the shapes under the formula.",
        "`(..., m, d_q) @ (d_q, d_k)` makes queries that live where the keys live. What remains "
        "is a plain dot product.",
        "Two matrix products: `query @ weight` first, and then with `key` after its last two axes "
        "have changed places (`np.swapaxes(…, -1, -2)`). No division.",
    ),
    returns=("scores",),
    cases=cases,
    laws=(
        same(
            "Scores are proportional to the query",
            _twice_the_query,
            "a query twice as long did not double its scores.",
            undo=lambda scores: scores / 2,
        ),
    ),
    parts=(
        Part("plain", "the cases with two axes", 2 / 3),
        Part("axes", "those with leading axes", 1 / 3),
    ),
    contents=lambda: Contents(general_scores, MISTAKES),
)
