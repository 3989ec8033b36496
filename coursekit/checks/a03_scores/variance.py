"""03.score_variances: how the spread of dot products grows with the width, and what scaling does."""

import numpy as np

from attnkit.numpy import dot_scores, scaled_dot_scores

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def score_variances(components, widths):
    """Variances of dot and scaled dot scores of matching pairs, from the library's scores."""
    rows = []
    for width in widths:
        query, key = components[:, :, None, :width]  # (samples, 1, width) each: one pair a sample
        rows.append([s(query, key).var() for s in (dot_scores, scaled_dot_scores)])
    return np.array(rows, dtype=components.dtype)


def cases(random):
    return [
        Case(
            "three pairs of up to four components",
            Call({"components": readable(random, 2, 3, 4), "widths": np.array([1, 4])}),
        ),
        Case(
            "200 pairs of up to 64 components",
            Call({"components": normal(random, 2, 200, 64), "widths": np.array([2, 16, 64])}),
        ),
        Case(
            "30 pairs of components whose mean is 1, not 0",
            Call({"components": normal(random, 2, 30, 9) + 1, "widths": np.array([4, 9, 5])}),
        ),
        Case(
            "float32 components",
            Call(
                {
                    "components": normal(random, 2, 50, 20, dtype=np.float32),
                    "widths": np.array([3, 20]),
                }
            ),
            "care",
        ),
        Case(
            "a single width",
            Call({"components": normal(random, 2, 40, 8), "widths": np.array([5])}),
            "care",
        ),
    ]


def _queries_doubled(random):
    components, widths = normal(random, 2, 50, 8), np.array([3, 8])
    longer = components * np.array([2.0, 1.0])[:, None, None]
    return [
        Call({"components": components, "widths": widths}),
        Call({"components": longer, "widths": widths}),
    ]


def divided_by_n_minus_one(components, widths):
    rows = []
    for width in widths:
        dots = (components[0, :, :width] * components[1, :, :width]).sum(axis=-1)
        rows.append([dots.var(ddof=1), (dots / np.sqrt(width)).var(ddof=1)])
    return np.array(rows)


def standard_deviations(components, widths):
    rows = []
    for width in widths:
        dots = (components[0, :, :width] * components[1, :, :width]).sum(axis=-1)
        rows.append([dots.std(), (dots / np.sqrt(width)).std()])
    return np.array(rows)


def variance_over_the_root(components, widths):
    rows = []
    for width in widths:
        dots = (components[0, :, :width] * components[1, :, :width]).sum(axis=-1)
        rows.append([dots.var(), dots.var() / np.sqrt(width)])
    return np.array(rows)


def scaled_by_the_width(components, widths):
    rows = []
    for width in widths:
        dots = (components[0, :, :width] * components[1, :, :width]).sum(axis=-1)
        rows.append([dots.var(), (dots / width).var()])
    return np.array(rows)


def all_components(components, widths):
    rows = []
    dots = (components[0] * components[1]).sum(axis=-1)
    for width in widths:
        rows.append([dots.var(), (dots / np.sqrt(width)).var()])
    return np.array(rows)


def products_not_summed(components, widths):
    rows = []
    for width in widths:
        products = components[0, :, :width] * components[1, :, :width]
        rows.append([products.var(), (products / np.sqrt(width)).var()])
    return np.array(rows)


def every_query_with_every_key(components, widths):
    rows = []
    for width in widths:
        dots = components[0, :, :width] @ components[1, :, :width].T
        rows.append([dots.var(), (dots / np.sqrt(width)).var()])
    return np.array(rows)


def mean_of_squares(components, widths):
    rows = []
    for width in widths:
        dots = (components[0, :, :width] * components[1, :, :width]).sum(axis=-1)
        rows.append([(dots**2).mean(), (dots**2 / width).mean()])
    return np.array(rows)


def one_row_a_kind(components, widths):
    rows = []
    for width in widths:
        dots = (components[0, :, :width] * components[1, :, :width]).sum(axis=-1)
        rows.append([dots.var(), (dots / np.sqrt(width)).var()])
    return np.array(rows).T


def last_component_cut_off(components, widths):
    rows = []
    for width in widths:
        dots = (components[0, :, : width - 1] * components[1, :, : width - 1]).sum(axis=-1)
        rows.append([dots.var(), (dots / np.sqrt(width)).var()])
    return np.array(rows)


def what_theory_says(components, widths):
    return np.array([[width, 1.0] for width in widths])


def columns_exchanged(components, widths):
    rows = []
    for width in widths:
        dots = (components[0, :, :width] * components[1, :, :width]).sum(axis=-1)
        rows.append([(dots / np.sqrt(width)).var(), dots.var()])
    return np.array(rows)


MISTAKES = (
    Mistake(
        "divided by n - 1",
        divided_by_n_minus_one,
        "Every number is too large by the same factor, n / (n - 1). Here the variance is the mean "
        "squared distance from the mean, over all n pairs: leave ddof at 0.",
    ),
    Mistake(
        "standard deviations",
        standard_deviations,
        "These are the square roots of what is asked for. The claim of the chapter is about the "
        "variance, which grows in proportion to d_k; the standard deviation grows as √d_k.",
    ),
    Mistake(
        "the variance divided by √d_k",
        variance_over_the_root,
        "You divide the variance by √d_k. It is the *scores* that are divided by √d_k, and a "
        "variance takes such a factor squared. Scale the dot products first, then take the "
        "variance.",
    ),
    Mistake(
        "scaled by the width",
        scaled_by_the_width,
        "In the second column the scores were divided by d_k. The divisor of the scaled score is "
        "√d_k.",
    ),
    Mistake(
        "all components every time",
        all_components,
        "The first column is the same for every width: all components were used. For width d, "
        "only the first d components of query and key belong to the dot product.",
    ),
    Mistake(
        "products not summed",
        products_not_summed,
        "You took the variance of single products. They are to be summed over the components "
        "first: one dot product for each pair, and then the variance over the pairs.",
    ),
    Mistake(
        "every query with every key",
        every_query_with_every_key,
        "A matrix product also pairs queries with keys of other samples. Those numbers are not "
        "independent of each other; here only pair i of the queries meets pair i of the keys.",
    ),
    Mistake(
        "mean of squares",
        mean_of_squares,
        "The mean square is the variance only when the mean is zero, which holds for the dots "
        "only nearly, and not at all when components have mean 1. Subtract the mean, or use var.",
    ),
    Mistake(
        "one row for each kind of score",
        one_row_a_kind,
        "Your table lies on its side. There is one row for each width; the columns are dot and "
        "scaled dot.",
    ),
    Mistake(
        "the last component cut off",
        last_component_cut_off,
        "[:d - 1] keeps d - 1 components. A slice already stops before its end, so [:d] has d.",
    ),
    Mistake(
        "what theory says, not what was measured",
        what_theory_says,
        "You return d_k and 1, the values for infinitely many ideal samples. The experiment is to "
        "measure the numbers that are handed in, and to see how near they come.",
    ),
    Mistake(
        "columns exchanged",
        columns_exchanged,
        "The numbers are right, their columns changed places: first dot, then scaled dot.",
    ),
)

EXERCISE = Exercise(
    identifier="03.score_variances",
    assignment="03_scores",
    title="The variance experiment",
    kind="function",
    answer="score_variances",
    points=3,
    difficulty=2,
    minutes=15,
    hints=(
        "For one width: how many dot products are there, and over what is the variance taken?",
        "Cut both halves of `components` to the first `d` columns, multiply them entry by entry "
        "and sum over the columns. That is one dot product for each sample; its variance is over "
        "the samples.",
        "For each width: `dots = (query[:, :d] * key[:, :d]).sum(axis=-1)`, then one row with the "
        "`var()` of `dots` and of `dots` divided by the root of `d`. Collect the rows in one array.",
    ),
    returns=("variances",),
    cases=cases,
    laws=(
        same(
            "Queries twice as long make every variance four times as large",
            _queries_doubled,
            "with all queries doubled, the variances were not four times as large.",
            undo=lambda variances: variances / 4,
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 2 / 3),
        Part("care", "those with float32 or a single width", 1 / 3),
    ),
    contents=lambda: Contents(score_variances, MISTAKES),
)
