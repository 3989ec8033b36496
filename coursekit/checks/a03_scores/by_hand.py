"""03.scores_by_hand: one query and one key, three scores, worked out on paper."""

import numpy as np

from attnkit.numpy import dot_scores, general_scores, scaled_dot_scores

from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call

QUERY = np.array([[1.0, 2.0, 0.0, -1.0]])
KEY = np.array([[2.0, 1.0, 3.0, 2.0]])
SWAP_FIRST_TWO = np.eye(4)[[1, 0, 2, 3]]


def on_paper():
    """The three scores, from the library."""
    scores = (
        dot_scores(QUERY, KEY),
        scaled_dot_scores(QUERY, KEY),
        general_scores(QUERY, KEY, SWAP_FIRST_TWO),
    )
    return np.array([score.item() for score in scores])


def sign_lost():
    return np.array([6.0, 3.0, 7.0])


def divided_by_d_k():
    return np.array([2.0, 0.5, 3.0])


def multiplied_by_the_root():
    return np.array([2.0, 4.0, 3.0])


def matrix_ignored():
    return np.array([2.0, 1.0, 2.0])


def general_scaled_too():
    return np.array([2.0, 1.0, 1.5])


def zero_counted_as_one():
    return np.array([5.0, 2.5, 6.0])


def last_two_swapped():
    return np.array([2.0, 1.0, 1.0])


MISTAKES = (
    Mistake(
        "a sign lost",
        sign_lost,
        "The last components are -1 and 2: their product is -2 and pulls the sum down. A dot "
        "product may be smaller than some of its terms, even negative.",
    ),
    Mistake(
        "divided by d_k",
        divided_by_d_k,
        "The width is 4, but the divisor is its square root, 2. The root is what brings the "
        "standard deviation of the score back to one.",
    ),
    Mistake(
        "multiplied by the root",
        multiplied_by_the_root,
        "Scaling makes scores smaller: divide by the square root of the width, do not multiply.",
    ),
    Mistake(
        "the matrix ignored",
        matrix_ignored,
        "The third number is the first again, as if W were the identity. Multiply the query by W "
        "first (it swaps two components), then take the dot product with the key.",
    ),
    Mistake(
        "the general score scaled too",
        general_scaled_too,
        "The general score has no fixed divisor: W is learnt and can take any scale by itself.",
    ),
    Mistake(
        "0 times 3 taken as 3",
        zero_counted_as_one,
        "The third components are 0 and 3. Their product is 0, so that pair adds nothing.",
    ),
    Mistake(
        "the wrong pair swapped",
        last_two_swapped,
        "In the third score the last two components changed places, not the first two. Row 1 of W has its "
        "1 in column 2, row 2 in column 1, and the last two rows leave things as they are.",
    ),
)

EXERCISE = Exercise(
    identifier="03.scores_by_hand",
    assignment="03_scores",
    title="By hand: three scores of one pair",
    kind="by hand",
    answer="scores_by_hand",
    points=2,
    difficulty=1,
    minutes=8,
    hints=(
        "Write the query above the key and multiply column by column, signs included.",
        "The scaled score is the dot product divided by the square root of the number of columns. "
        "For the general score, first work out the row `q W`.",
        "Column by column the products are 1·2, 2·1, 0·3 and (−1)·2. Multiplying by `W` swaps the "
        "first two entries of `q`; then the same four products again, with the swapped row.",
    ),
    returns=("scores",),
    cases=lambda random: [Case("your numbers", Call())],
    contents=lambda: Contents(on_paper, MISTAKES),
    whole_numbers_pass=True,
    absolute=0.005,
)
