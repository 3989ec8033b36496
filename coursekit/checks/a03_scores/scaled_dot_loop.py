"""03.scaled_dot_scores_loop: scaled dot-product scores as the formula reads, one number at a time."""

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
            "four queries and two keys of width 3",
            Call({"query": readable(random, 4, 3), "key": readable(random, 2, 3)}),
        ),
        Case(
            "three queries and three keys of width 3",
            Call({"query": readable(random, 3, 3), "key": readable(random, 3, 3)}),
        ),
        Case(
            "one query and five keys of width 1",
            Call({"query": readable(random, 1, 1), "key": readable(random, 5, 1)}),
        ),
        Case(
            "whole numbers",
            Call(
                {
                    "query": random.integers(1, 9, (2, 3)),
                    "key": random.integers(1, 9, (4, 3)),
                }
            ),
            "care",
        ),
        Case(
            "float32 numbers of width 20",
            Call(
                {
                    "query": normal(random, 3, 20, dtype=np.float32),
                    "key": normal(random, 5, 20, dtype=np.float32),
                }
            ),
            "care",
        ),
    ]


def _query_and_key_exchanged(random):
    query, key = normal(random, 3, 5), normal(random, 4, 5)
    return [Call({"query": query, "key": key}), Call({"query": key, "key": query})]


def scale_forgotten(query, key):
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            for c in range(query.shape[1]):
                scores[i, j] += query[i, c] * key[j, c]
    return scores


def divided_by_d_k(query, key):
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            scores[i, j] = sum(query[i] * key[j]) / query.shape[1]
    return scores


def keys_down_the_side(query, key):
    scores = np.zeros((len(key), len(query)))
    for i in range(len(query)):
        for j in range(len(key)):
            scores[j, i] = sum(query[i] * key[j]) / np.sqrt(query.shape[1])
    return scores


def overwritten(query, key):
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            for c in range(query.shape[1]):
                scores[i, j] = query[i, c] * key[j, c]
    return scores / np.sqrt(query.shape[1])


def total_not_reset(query, key):
    scores = np.zeros((len(query), len(key)))
    total = 0.0
    for i in range(len(query)):
        for j in range(len(key)):
            for c in range(query.shape[1]):
                total += query[i, c] * key[j, c]
            scores[i, j] = total / np.sqrt(query.shape[1])
    return scores


def first_component_skipped(query, key):
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            for c in range(1, query.shape[1]):
                scores[i, j] += query[i, c] * key[j, c]
    return scores / np.sqrt(query.shape[1])


def square_table(query, key):
    scores = np.zeros((len(query), len(query)))
    for i in range(len(query)):
        for j in range(len(query)):
            scores[i, j] = sum(query[i] * key[j]) / np.sqrt(query.shape[1])
    return scores


def divided_at_every_step(query, key):
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            for c in range(query.shape[1]):
                scores[i, j] += query[i, c] * key[j, c]
                scores[i, j] /= np.sqrt(query.shape[1])
    return scores


def table_like_the_query(query, key):
    scores = np.zeros((len(query), len(key)), dtype=query.dtype)
    for i in range(len(query)):
        for j in range(len(key)):
            scores[i, j] = sum(query[i] * key[j]) / np.sqrt(query.shape[1])
    return scores


def returned_too_early(query, key):
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            scores[i, j] = sum(query[i] * key[j]) / np.sqrt(query.shape[1])
        return scores


MISTAKES = (
    Mistake(
        "scale forgotten",
        scale_forgotten,
        "These are plain dot products: each of your numbers is √d_k times too large. Divide by "
        "the square root of the width, which is the length of one row of query.",
    ),
    Mistake(
        "divided by d_k",
        divided_by_d_k,
        "You divide by the width itself. The sum of d_k products has a standard deviation of "
        "√d_k, so √d_k is what brings it back to one; dividing by d_k makes scores too timid.",
    ),
    Mistake(
        "keys down the side",
        keys_down_the_side,
        "Your table has a row for each key. Queries look, so they stand down the side: entry "
        "[i, j] belongs to query i and key j.",
    ),
    Mistake(
        "overwritten instead of added",
        overwritten,
        "Each step of the inner loop replaces the score, so only the last product survives. "
        "Products must be added up: look at the = in the innermost line.",
    ),
    Mistake(
        "running total never reset",
        total_not_reset,
        "The first score is right and later ones drag along everything before them. Start the "
        "total at zero for each new pair of query and key, inside the loops.",
    ),
    Mistake(
        "first component skipped",
        first_component_skipped,
        "The sum starts at the second component. Python counts from 0: range(1, n) leaves out the "
        "first one.",
    ),
    Mistake(
        "a square table",
        square_table,
        "Your loops run over the queries twice. There may be more or fewer keys than queries: the "
        "second loop and the second axis of the table belong to the keys.",
    ),
    Mistake(
        "divided at every step",
        divided_at_every_step,
        "The division stands inside the innermost loop, so early products are divided again and "
        "again. Add up first and divide once.",
    ),
    Mistake(
        "a table of the query's type",
        table_like_the_query,
        "When the query holds whole numbers, a table of the same type cuts every score down to a "
        "whole number. np.zeros(shape) without a dtype makes floating-point numbers.",
    ),
    Mistake(
        "returned too early",
        returned_too_early,
        "Only the first row is filled. The return stands inside the outer loop, so the function "
        "ends after one query; move it to the left.",
    ),
)

EXERCISE = Exercise(
    identifier="03.scaled_dot_scores_loop",
    assignment="03_scores",
    title="Scaled dot-product scores, by loops",
    kind="loop",
    answer="scaled_dot_scores_loop",
    points=2,
    difficulty=1,
    minutes=10,
    hints=(
        "How many numbers does the table hold? Each one belongs to one query and one key.",
        "Make a table of zeros with a row for each query and a column for each key. Two loops "
        "visit its entries; a third adds up the products of one pair.",
        "With `d_k = query.shape[1]`: for every `i` and `j`, start `total = 0.0`, add "
        "`query[i, c] * key[j, c]` for every `c` in `range(d_k)`, and store "
        "`total / np.sqrt(d_k)` at `[i, j]`. Return after all the loops.",
    ),
    returns=("scores",),
    cases=cases,
    laws=(
        same(
            "Exchanging query and key turns the table over",
            _query_and_key_exchanged,
            "with query and key exchanged, rows did not become columns.",
            undo=lambda scores: scores.T,
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.75),
        Part("care", "those with whole numbers or float32", 0.25),
    ),
    contents=lambda: Contents(scaled_dot_scores, MISTAKES),
)
