"""06.pairs_by_hand: how many pairs each mask leaves, counted on paper."""

import numpy as np

from attnkit.numpy import causal_mask, combine_masks, padding_mask

from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def on_paper():
    """How many pairs may look: causal, padding, both, and two new queries with four keys."""
    causal, padding = causal_mask(4, 4), padding_mask([3], 4)[0]
    every_query = np.broadcast_to(padding, causal.shape)
    masks = (causal, every_query, combine_masks(causal, padding), causal_mask(2, 4))
    return np.array([mask.sum() for mask in masks], dtype=float)


def not_at_itself():
    return np.array([6.0, 12.0, 6.0, 5.0])


def counted_from_the_start():
    return np.array([10.0, 12.0, 9.0, 3.0])


def either_allows():
    return np.array([10.0, 12.0, 13.0, 7.0])


def hidden_counted():
    return np.array([6.0, 4.0, 7.0, 1.0])


def keys_counted():
    return np.array([10.0, 3.0, 9.0, 7.0])


def padding_query_left_out():
    return np.array([10.0, 9.0, 6.0, 7.0])


def future_counted():
    return np.array([10.0, 12.0, 9.0, 3.0 + 2.0])


def multiplied():
    return np.array([10.0, 12.0, 10.0 * 12.0 / 16.0, 7.0])


MISTAKES = (
    Mistake(
        "no look at itself",
        not_at_itself,
        "You left out the diagonal. A query may look at its own position: the first of four sees "
        "one key, the last sees four.",
    ),
    Mistake(
        "counted from the start",
        counted_from_the_start,
        "In the last question you let the first of the two queries stand at the first key. They are "
        "the last two positions of the four: the last query meets the last key.",
    ),
    Mistake(
        "either mask allows",
        either_allows,
        "In the third question you counted pairs that one mask allows *or* the other. A pair must "
        "be allowed by both: a real word that lies in the future stays hidden.",
    ),
    Mistake(
        "hidden pairs counted",
        hidden_counted,
        "You counted what is hidden. True means *may look*: count the pairs that are left.",
    ),
    Mistake(
        "keys counted, not pairs",
        keys_counted,
        "In the second question you counted the real words. Each of the four queries may look at "
        "each of them, and pairs are asked for.",
    ),
    Mistake(
        "the padding's own query left out",
        padding_query_left_out,
        "You left out the query that stands at the padding. A padding mask hides *keys*; what the "
        "padding position itself computes is thrown away later, by whoever reads the result.",
    ),
    Mistake(
        "one key too few before the new queries",
        future_counted,
        "In the last question the two queries stand at the third and the fourth position. The third "
        "sees three keys, itself included, and the fourth sees four.",
    ),
    Mistake(
        "shares multiplied",
        multiplied,
        "You multiplied the shares of both masks. That would be right if they were independent; "
        "draw the table and count.",
    ),
)

EXERCISE = Exercise(
    identifier="06.pairs_by_hand",
    assignment="06_self_attention",
    title="By hand: count the pairs",
    kind="by hand",
    answer="pairs_by_hand",
    points=2,
    difficulty=1,
    minutes=8,
    hints=(
        "Draw a table of four rows and four columns: a row for each query, a column for each key.",
        "Causal: row 1 has one allowed key, and each row has one more. Padding: one column is "
        "crossed out, in every row. Both: what neither of them crosses out.",
        "For the last question draw the two *bottom* rows of the causal table; for the third, cross "
        "out the last column of the causal table and count row by row.",
    ),
    returns=("counts",),
    cases=lambda random: [Case("your numbers", Call())],
    contents=lambda: Contents(on_paper, MISTAKES),
    whole_numbers_pass=True,
    absolute=0.005,
)
