"""07.merged_by_hand: two heads, two words, and what they bring together, on paper."""

import numpy as np

from attnkit.numpy import merge_heads, split_heads

from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def on_paper():
    """What two heads with given weights make of two words, before the output projection."""
    value = np.array([[2.0, 6.0, 1.0, 5.0], [4.0, 0.0, 9.0, 13.0]])  # (2, 4)
    weights = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.25, 0.75]]])  # (2, 2, 2)
    return merge_heads(weights @ split_heads(value, 2))


def merged_without_exchange():
    return np.array([[2.0, 6.0, 3.0, 3.0], [9.0, 13.0, 7.0, 11.0]])


def first_weights_for_all():
    return np.array([[2.0, 6.0, 1.0, 5.0], [3.0, 3.0, 5.0, 9.0]])


def second_weights_for_all():
    return np.array([[4.0, 0.0, 9.0, 13.0], [3.5, 1.5, 7.0, 11.0]])


def heads_exchanged():
    return np.array([[4.0, 0.0, 1.0, 5.0], [3.5, 1.5, 5.0, 9.0]])


def every_second_column():
    return np.array([[2.0, 0.0, 1.0, 13.0], [3.0, 1.5, 5.0, 11.0]])


def weights_turned_over():
    return np.array([[4.0, 6.0, 2.25, 3.25], [2.0, 0.0, 7.75, 14.75]])


def weights_averaged():
    return np.array([[3.0, 3.0, 5.0, 9.0], [3.25, 2.25, 6.0, 10.0]])


def head_after_head():
    return np.array([[9.0, 13.0, 2.0, 6.0], [7.0, 11.0, 3.0, 3.0]])


def columns_alternate():
    return np.array([[2.0, 9.0, 6.0, 13.0], [3.0, 7.0, 3.0, 11.0]])


def shares_exchanged():
    return np.array([[2.0, 6.0, 9.0, 13.0], [3.0, 3.0, 3.0, 7.0]])


def heads_under_one_another():
    return np.array([[2.0, 6.0], [3.0, 3.0], [9.0, 13.0], [7.0, 11.0]])


def heads_on_an_axis_of_their_own():
    return np.array([[[2.0, 6.0], [3.0, 3.0]], [[9.0, 13.0], [7.0, 11.0]]])


def heads_added():
    return np.array([[11.0, 19.0], [10.0, 14.0]])


MISTAKES = (
    Mistake(
        "merged without exchanging heads and words",
        merged_without_exchange,
        "Your first row holds everything that the first *head* found, for both words. A row belongs "
        "to a *word*: what the first head found for it, then what the second head found for it.",
    ),
    Mistake(
        "the first head's weights for both heads",
        first_weights_for_all,
        "You used the first head's weights for all four columns. Columns 3 and 4 belong to the second "
        "head, which looks elsewhere.",
    ),
    Mistake(
        "the second head's weights for both heads",
        second_weights_for_all,
        "You used the second head's weights for all four columns. Columns 1 and 2 belong to the first "
        "head, which looks elsewhere.",
    ),
    Mistake(
        "heads exchanged",
        heads_exchanged,
        "The first head's weights met columns 3 and 4. The first head owns the first columns.",
    ),
    Mistake(
        "every second column",
        every_second_column,
        "You gave columns 1 and 3 to the first head. A head owns neighbouring columns: 1 and 2 belong "
        "to the first, 3 and 4 to the second.",
    ),
    Mistake(
        "weights turned over",
        weights_turned_over,
        "You read the tables of weights by columns. A row is the word that looks, and its entries say "
        "how much of each word it takes.",
    ),
    Mistake(
        "weights averaged",
        weights_averaged,
        "You averaged the weights of both heads first. Then there is only one head left; the point is "
        "that each mixes its own columns by its own weights.",
    ),
    Mistake(
        "the second head first",
        head_after_head,
        "The numbers are right, but the second head's columns stand first. Heads are put side by side "
        "in their order.",
    ),
    Mistake(
        "columns alternate",
        columns_alternate,
        "The numbers are right, but you dealt out columns like cards: one of the first head, one of "
        "the second. A head's columns stay together.",
    ),
    Mistake(
        "a quarter and three quarters exchanged",
        shares_exchanged,
        "The second word takes 1/4 of the first word and 3/4 of the second in the second head; you took "
        "it the other way round.",
    ),
    Mistake(
        "heads under one another",
        heads_under_one_another,
        "The numbers are right, but the heads lie one under the other. They belong side by side: two "
        "rows, one for each word, with four columns.",
    ),
    Mistake(
        "heads on an axis of their own",
        heads_on_an_axis_of_their_own,
        "The numbers are right, and the heads still apart. Put them side by side: two rows, one for each "
        "word, with four columns.",
    ),
    Mistake(
        "heads added up",
        heads_added,
        "You added up what both heads found. Put it side by side, so that whoever comes next can tell "
        "the heads apart.",
    ),
)

EXERCISE = Exercise(
    identifier="07.merged_by_hand",
    assignment="07_multi_head",
    title="By hand: two heads, two words",
    kind="by hand",
    answer="merged_by_hand",
    points=2,
    difficulty=1,
    minutes=8,
    hints=(
        "Cut the table of values by a vertical line in the middle. What stands left of it belongs to "
        "the first head, what stands right of it to the second.",
        "Each head mixes the rows of its own half. A row of weights says how much of the first and how "
        "much of the second word goes into it. There are four small sums to do, of two columns each.",
        "The first head gives the first word all of its own [2, 6], and the second word half of "
        "[2, 6] and half of [4, 0]. Put these two rows to the left; the second head's two rows go to "
        "the right of them.",
    ),
    returns=("merged heads",),
    cases=lambda random: [Case("your numbers", Call())],
    contents=lambda: Contents(on_paper, MISTAKES),
    whole_numbers_pass=True,
    absolute=0.005,
)
