"""03.scaled_dot_scores: the scores of attention in the Transformer, for any leading axes."""

import numpy as np

from attnkit.numpy import scaled_dot_scores

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def cases(random):
    return [
        Case(
            "two queries and three keys of width 4",
            Call({"query": readable(random, 2, 4), "key": readable(random, 3, 4)}),
        ),
        Case(
            "three queries and five keys of width 7",
            Call({"query": normal(random, 3, 7), "key": normal(random, 5, 7)}),
        ),
        Case(
            "three queries and three keys of width 3",
            Call({"query": readable(random, 3, 3), "key": readable(random, 3, 3)}),
        ),
        Case(
            "a batch of two, with three queries and two keys of width 2",
            Call({"query": readable(random, 2, 3, 2), "key": readable(random, 2, 2, 2)}),
            "axes",
        ),
        Case(
            "leading axes (2, 3), four queries and five keys of width 6",
            Call({"query": normal(random, 2, 3, 4, 6), "key": normal(random, 2, 3, 5, 6)}),
            "axes",
        ),
        Case(
            "a batch of two whose queries share one set of keys",
            Call({"query": normal(random, 2, 3, 5), "key": normal(random, 4, 5)}),
            "axes",
        ),
        Case(
            "leading axes (2, 1) of the queries and (3,) of the keys",
            Call({"query": normal(random, 2, 1, 4, 5), "key": normal(random, 3, 2, 5)}),
            "axes",
        ),
        Case(
            "a float32 batch of three",
            Call(
                {
                    "query": normal(random, 3, 2, 8, dtype=np.float32),
                    "key": normal(random, 3, 4, 8, dtype=np.float32),
                }
            ),
            "axes",
        ),
    ]


def _keys_reordered(random):
    query, key = normal(random, 3, 6), normal(random, 4, 6)
    return [Call({"query": query, "key": key}), Call({"query": query, "key": key[::-1]})]


def scale_forgotten(query, key):
    return query @ np.swapaxes(key, -1, -2)


def root_by_integer_division(query, key):
    return query @ np.swapaxes(key, -1, -2) / query.shape[-1] ** (1 // 2)


def divided_by_d_k(query, key):
    return query @ np.swapaxes(key, -1, -2) / query.shape[-1]


def multiplied_by_the_root(query, key):
    return query @ np.swapaxes(key, -1, -2) * np.sqrt(query.shape[-1])


def root_of_the_number_of_keys(query, key):
    return query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-2])


def root_of_len_query(query, key):
    return query @ np.swapaxes(key, -1, -2) / np.sqrt(len(query))


def keys_down_the_side(query, key):
    return key @ np.swapaxes(query, -1, -2) / np.sqrt(query.shape[-1])


def plain_transpose(query, key):
    return query @ key.T / np.sqrt(query.shape[-1])


def weights_instead_of_scores(query, key):
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def products_not_summed(query, key):
    return query[..., :, None, :] * key[..., None, :, :] / np.sqrt(query.shape[-1])


def cosine(query, key):
    query = query / np.linalg.norm(query, axis=-1, keepdims=True)
    key = key / np.linalg.norm(key, axis=-1, keepdims=True)
    return query @ np.swapaxes(key, -1, -2)


def query_scaled_in_place(query, key):
    query /= np.sqrt(query.shape[-1])
    return query @ np.swapaxes(key, -1, -2)


def both_scaled(query, key):
    root = np.sqrt(query.shape[-1])
    return (query / root) @ np.swapaxes(key / root, -1, -2)


MISTAKES = (
    Mistake(
        "scale forgotten",
        scale_forgotten,
        "These are plain dot products: each of your numbers is √d_k times too large. Nothing "
        "fails at small widths, but at d_k = 512 softmax would put all the weight on one key. "
        "Divide by the square root of the last axis of query.",
    ),
    Mistake(
        "a root by integer division",
        root_by_integer_division,
        "1 // 2 is 0, and anything to the power 0 is 1, so nothing was scaled.",
        same_as="scale forgotten",
    ),
    Mistake(
        "divided by d_k",
        divided_by_d_k,
        "You divide by the width itself. A sum of d_k products has variance d_k and standard "
        "deviation √d_k, so it is the root that brings it back to one. (With both query and key "
        "divided by √d_k the same thing happens.)",
    ),
    Mistake(
        "query and key both scaled",
        both_scaled,
        "Scaling each by √d_k divides their product by d_k.",
        same_as="divided by d_k",
    ),
    Mistake(
        "multiplied by the root",
        multiplied_by_the_root,
        "The scores were made larger instead of smaller. Scaling is there to keep them small: "
        "divide by √d_k.",
    ),
    Mistake(
        "the root of the number of keys",
        root_of_the_number_of_keys,
        "You divide by the square root of how many keys there are. Each score is a sum over the "
        "width, so the width is what makes it large: take the last axis, not the one before it.",
    ),
    Mistake(
        "the root of len(query)",
        root_of_len_query,
        "len(query) is the size of the first axis: the number of queries, or of batches. The "
        "width d_k is the size of the last one.",
    ),
    Mistake(
        "keys down the side",
        keys_down_the_side,
        "Your table has a row for each key. Queries look, so they stand down the side: the result "
        "is (..., m, n), and entry [i, j] belongs to query i and key j.",
    ),
    Mistake(
        ".T on an array with leading axes",
        plain_transpose,
        "For two axes this is right. With leading axes, .T turns *all* axes round, the batch "
        "included. Only the last two must change places: look for a function that swaps two axes.",
    ),
    Mistake(
        "weights instead of scores",
        weights_instead_of_scores,
        "Your rows sum to one: that is what comes after softmax. This function stops one step "
        "earlier, at the scores.",
    ),
    Mistake(
        "products not summed",
        products_not_summed,
        "You have the products of all components, one axis too many. A score is their sum over "
        "the width, the last axis; a matrix product multiplies and sums in one go.",
    ),
    Mistake(
        "cosine similarity",
        cosine,
        "You divide by the lengths of query and key. That is the cosine between them, another "
        "score: here a long key may score higher than a short one, and the divisor is always √d_k.",
    ),
    Mistake(
        "query scaled in place",
        query_scaled_in_place,
        "The scores are right, but query /= … writes into the caller's own array, who finds other "
        "numbers in it afterwards. query / … makes a new one.",
    ),
)

EXERCISE = Exercise(
    identifier="03.scaled_dot_scores",
    assignment="03_scores",
    title="Scaled dot-product scores, without loops",
    kind="vectorised",
    answer="scaled_dot_scores",
    points=4,
    difficulty=2,
    minutes=15,
    hints=(
        "A matrix product is a table of dot products: rows of the first with columns of the "
        "second. Where do the keys have to stand?",
        "The keys must lie in columns, `(..., d_k, n)`. `@` treats all axes before the last two as "
        "leading axes and broadcasts them, so only the last two axes of `key` must change places.",
        "`np.swapaxes(key, -1, -2)` turns `(..., n, d_k)` into `(..., d_k, n)`. Multiply query "
        "with that by `@`, and divide by the square root of `query.shape[-1]`.",
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
    ),
    parts=(
        Part("plain", "the cases with two axes", 0.5),
        Part("axes", "those with leading axes", 0.5),
    ),
    contents=lambda: Contents(scaled_dot_scores, MISTAKES),
)
