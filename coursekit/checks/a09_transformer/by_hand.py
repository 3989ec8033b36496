"""09.norms_by_hand: one sublayer with the norm after the sum and before it, worked out on paper."""

import numpy as np

from attnkit.numpy import layer_norm

from ..model import Case, Contents, Exercise, Mistake
from ..surface import Call


def _sublayer(row):
    """What the sublayer of the question does: ``[a, b]`` becomes ``[2b, 0]``."""
    return np.array([2 * row[1], 0.0])


def on_paper():
    """The row normalised, the post-norm result and the pre-norm result."""
    x = np.array([1.0, 5.0])
    normal = layer_norm(x, eps=1e-12)
    return np.array([normal, layer_norm(x + _sublayer(x), eps=1e-12), x + _sublayer(normal)])


def no_residual():
    return np.array([[-1.0, 1.0], [1.0, -1.0], [2.0, 0.0]])


def norm_between_sublayer_and_sum():
    return np.array([[-1.0, 1.0], [2.0, 4.0], [3.0, 5.0]])


def variance_for_deviation():
    return np.array([[-0.5, 0.5], [1 / 3, -1 / 3], [2.0, 5.0]])


def one_less_than_the_number():
    root = np.sqrt(0.5)
    return np.array([[-root, root], [root, -root], [1 + 2 * root, 5.0]])


def the_mean_stays():
    deviation, other = 2.0, 3.0
    return np.array([[1 / deviation, 5 / deviation], [11 / other, 5 / other], [6.0, 5.0]])


def two_places_exchanged():
    return np.array([[-1.0, 1.0], [3.0, 5.0], [1.0, -1.0]])


def normalised_row_carried_on():
    return np.array([[-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])


def normalised_at_both_ends():
    return np.array([[-1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])


def pre_norm_without_its_norm():
    return np.array([[-1.0, 1.0], [1.0, -1.0], [11.0, 5.0]])


def sum_not_normalised():
    return np.array([[-1.0, 1.0], [11.0, 5.0], [3.0, 5.0]])


def only_centred():
    return np.array([[-2.0, 2.0], [3.0, -3.0], [5.0, 5.0]])


def sublayer_of_the_first_number():
    return np.array([[-1.0, 1.0], [-1.0, 1.0], [-1.0, 5.0]])


def larger_first():
    return np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, 5.0]])


MISTAKES = (
    Mistake(
        "no residual connection in pre-norm",
        no_residual,
        "In the third row you left out x itself. What the sublayer finds is *added* to x. (In the "
        "second row the slip does not show: there the norm hides it.)",
    ),
    Mistake(
        "the norm between sublayer and sum",
        norm_between_sublayer_and_sum,
        "In the second row you normalised what the sublayer found and added it afterwards. Post-norm "
        "normalises the *sum*.",
    ),
    Mistake(
        "divided by the variance",
        variance_for_deviation,
        "You divided by the variance. After layer norm the variance is 1, and for that one divides "
        "by its root, the standard deviation.",
    ),
    Mistake(
        "variance with one less than the number",
        one_less_than_the_number,
        "You divided the sum of squares by d - 1, as statistics books do for a sample. Layer norm "
        "divides by d: these are all the numbers there are.",
    ),
    Mistake(
        "the mean still there",
        the_mean_stays,
        "You divided by the deviation without subtracting the mean first.",
    ),
    Mistake(
        "post and pre exchanged",
        two_places_exchanged,
        "The second and the third row are exchanged: *post* means after the sum, *pre* before the "
        "sublayer.",
    ),
    Mistake(
        "the normalised row carried on",
        normalised_row_carried_on,
        "In the third row you added to the normalised row. Pre-norm normalises only what goes *into* "
        "the sublayer; x itself goes along the sums untouched.",
    ),
    Mistake(
        "pre-norm normalised again",
        normalised_at_both_ends,
        "In the third row you normalised the sum as well. A pre-norm layer leaves its sums as they "
        "are.",
    ),
    Mistake(
        "pre-norm without its norm",
        pre_norm_without_its_norm,
        "In the third row the sublayer was given x itself. Before the sublayer x is normalised.",
    ),
    Mistake(
        "the sum not normalised",
        sum_not_normalised,
        "In the second row the norm is missing: post-norm normalises the sum [11, 5].",
    ),
    Mistake(
        "centred and not divided",
        only_centred,
        "You subtracted the mean and did not divide. The norm divides by the standard deviation, "
        "here 2 for x and 3 for the sum.",
    ),
    Mistake(
        "the sublayer of the first number",
        sublayer_of_the_first_number,
        "Your sublayer doubles a. Of [a, b] it makes [2b, 0]: it takes the *second* number.",
    ),
    Mistake(
        "the mean minus the row",
        larger_first,
        "The signs are turned round: subtract the mean from the row, so that the smaller number "
        "becomes negative.",
    ),
)

EXERCISE = Exercise(
    identifier="09.norms_by_hand",
    assignment="09_transformer",
    title="By hand: a norm in two places",
    kind="by hand",
    answer="norms_by_hand",
    points=2,
    difficulty=1,
    minutes=8,
    hints=(
        "The mean of `[1, 5]` is 3. How far is each number from it, and what is the root of the mean "
        "of the squares of these distances?",
        "Post-norm: first the sublayer with `x`, then the sum, and only then the norm. Pre-norm: "
        "first the norm, then the sublayer, and the sum is left as it is.",
        "Two numbers that are not equal always become -1 and 1 (the smaller one -1). So only the "
        "sums have to be worked out: `x + [2 * 5, 0]` for post-norm, and for pre-norm what the "
        "sublayer makes of `[-1, 1]`, added to `x`.",
    ),
    returns=("rows",),
    cases=lambda random: [Case("your numbers", Call())],
    contents=lambda: Contents(on_paper, MISTAKES),
    whole_numbers_pass=True,
    absolute=0.005,
)
