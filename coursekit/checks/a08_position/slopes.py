"""08.alibi_slopes: how steeply each head's scores fall, for any number of heads."""

import numpy as np

from attnkit.numpy import alibi_slopes

from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def cases(random):
    return [
        Case("four heads", Call({"n_heads": 4})),
        Case("another power of two", Call({"n_heads": int(random.choice([2, 16, 32]))})),
        Case("eight heads", Call({"n_heads": 8})),
        Case("one head", Call({"n_heads": 1})),
        Case("five heads", Call({"n_heads": 5}), "between"),
        Case("twelve heads", Call({"n_heads": 12}), "between"),
        Case(
            "an odd number of heads",
            Call({"n_heads": int(random.choice([3, 5, 7, 9, 11]))}),
            "between",
        ),
    ]


def _twice_the_heads(random):
    n_heads = int(random.choice([2, 4, 8]))
    return [Call({"n_heads": n_heads}), Call({"n_heads": 2 * n_heads})]


def one_formula_for_all(n_heads):
    return 2.0 ** (-8 * np.arange(1, n_heads + 1) / n_heads)


def counted_from_zero(n_heads):
    below = 2 ** int(np.log2(n_heads))
    first = 2.0 ** (-8 * np.arange(below) / below)
    between = 2.0 ** (-8 * np.arange(0, 2 * (n_heads - below), 2) / (2 * below))
    return np.concatenate([first, between])


def whole_exponents(n_heads):
    return 2.0 ** -np.arange(1, n_heads + 1)


def eight_forgotten(n_heads):
    below = 2 ** int(np.log2(n_heads))
    first = 2.0 ** (-np.arange(1, below + 1) / below)
    between = 2.0 ** (-np.arange(1, 2 * (n_heads - below), 2) / (2 * below))
    return np.concatenate([first, between])


def growing(n_heads):
    below = 2 ** int(np.log2(n_heads))
    first = 2.0 ** (8 * np.arange(1, below + 1) / below)
    between = 2.0 ** (8 * np.arange(1, 2 * (n_heads - below), 2) / (2 * below))
    return np.concatenate([first, between])


def exponents_returned(n_heads):
    below = 2 ** int(np.log2(n_heads))
    first = -8 * np.arange(1, below + 1) / below
    between = -8 * np.arange(1, 2 * (n_heads - below), 2) / (2 * below)
    return np.concatenate([first, between])


def equal_steps(n_heads):
    return np.linspace(2.0 ** (-8 / n_heads), 2.0**-8, n_heads)


def flattest_first(n_heads):
    below = 2 ** int(np.log2(n_heads))
    first = 2.0 ** (-8 * np.arange(1, below + 1) / below)
    between = 2.0 ** (-8 * np.arange(1, 2 * (n_heads - below), 2) / (2 * below))
    return np.concatenate([first, between])[::-1].copy()


def nearest_power(n_heads):
    near = 2 ** round(np.log2(n_heads))
    first = 2.0 ** (-8 * np.arange(1, near + 1) / near)
    between = 2.0 ** (-8 * np.arange(1, 2 * max(n_heads - near, 0), 2) / (2 * near))
    return np.concatenate([first, between])[:n_heads]


def power_above_cut_off(n_heads):
    above = 2 ** int(np.ceil(np.log2(n_heads)))
    return 2.0 ** (-8 * np.arange(1, n_heads + 1) / above)


def first_of_the_power_above(n_heads):
    below = 2 ** int(np.log2(n_heads))
    first = 2.0 ** (-8 * np.arange(1, below + 1) / below)
    between = 2.0 ** (-8 * np.arange(1, n_heads - below + 1) / (2 * below))
    return np.concatenate([first, between])


def slopes_twice(n_heads):
    below = 2 ** int(np.log2(n_heads))
    first = 2.0 ** (-8 * np.arange(1, below + 1) / below)
    between = 2.0 ** (-8 * np.arange(2, 2 * (n_heads - below) + 1, 2) / (2 * below))
    return np.concatenate([first, between])


def sorted_by_steepness(n_heads):
    below = 2 ** int(np.log2(n_heads))
    first = 2.0 ** (-8 * np.arange(1, below + 1) / below)
    between = 2.0 ** (-8 * np.arange(1, 2 * (n_heads - below), 2) / (2 * below))
    return np.sort(np.concatenate([first, between]))[::-1].copy()


def power_below_alone(n_heads):
    below = 2 ** int(np.log2(n_heads))
    return 2.0 ** (-8 * np.arange(1, below + 1) / below)


def negative_slopes(n_heads):
    below = 2 ** int(np.log2(n_heads))
    first = 2.0 ** (-8 * np.arange(1, below + 1) / below)
    between = 2.0 ** (-8 * np.arange(1, 2 * (n_heads - below), 2) / (2 * below))
    return -np.concatenate([first, between])


def added_in_front(n_heads):
    below = 2 ** int(np.log2(n_heads))
    first = 2.0 ** (-8 * np.arange(1, below + 1) / below)
    between = 2.0 ** (-8 * np.arange(1, 2 * (n_heads - below), 2) / (2 * below))
    return np.concatenate([between, first])


def strictly_below(n_heads):
    below = 2 ** int(np.ceil(np.log2(n_heads)) - 1) if n_heads > 1 else 1
    first = 2.0 ** (-8 * np.arange(1, below + 1) / below)
    between = 2.0 ** (-8 * np.arange(1, 2 * (n_heads - below), 2) / (2 * below))
    return np.concatenate([first, between])


def whole_division(n_heads):
    return 2.0 ** (-8 * np.arange(1, n_heads + 1) // n_heads)


MISTAKES = (
    Mistake(
        "one formula for all head counts",
        one_formula_for_all,
        "For powers of two this is right. For other counts the published code, which models are "
        "trained with, does something else: the power of two below, then every other slope of the "
        "power of two above.",
    ),
    Mistake(
        "heads counted from zero",
        counted_from_zero,
        "The first slope is 1, so heads were counted from 0. They count from 1: of eight heads the "
        "first has the slope 1/2, the last 1/256.",
    ),
    Mistake(
        "whole exponents",
        whole_exponents,
        "1/2, 1/4, 1/8, … is right for eight heads and only for them. The exponents go from 8/H to "
        "8 in equal steps, so that the flattest head always has the slope 1/256.",
    ),
    Mistake(
        "the 8 forgotten",
        eight_forgotten,
        "Your flattest slope is 1/2. The exponents end at 8, not at 1.",
    ),
    Mistake(
        "the sign of the exponent lost",
        growing,
        "Your slopes grow up to 256. The exponents are negative: slopes are fractions.",
    ),
    Mistake(
        "exponents returned",
        exponents_returned,
        "These are the exponents. A slope is 2 to that power.",
    ),
    Mistake(
        "equal steps between the slopes",
        equal_steps,
        "First and last are right, and between them your slopes fall by equal *differences*. They "
        "fall by equal *ratios*: equal steps in the exponent.",
    ),
    Mistake(
        "the flattest first",
        flattest_first,
        "The slopes are right and in reverse order: the first head is the steepest.",
    ),
    Mistake(
        "the nearest power of two",
        nearest_power,
        "You round log2 of the number of heads. Asked for is the power of two *below*: for twelve "
        "heads that is 8, though 16 is nearer on this scale.",
    ),
    Mistake(
        "the power above, cut off",
        power_above_cut_off,
        "You took the first slopes of the power of two above. Then the flat heads, which see far, "
        "are missing. All slopes of the power *below* come first.",
    ),
    Mistake(
        "the first of the power above",
        first_of_the_power_above,
        "The missing slopes are the first, the third, the fifth … of the power of two above. You "
        "took the first ones in a row; every second of these is there already.",
    ),
    Mistake(
        "slopes twice",
        slopes_twice,
        "You took the second, the fourth, … of the power of two above, and these are the slopes that "
        "are there already. The new ones are the first, the third, the fifth, ….",
    ),
    Mistake(
        "sorted",
        sorted_by_steepness,
        "All slopes are right, but sorted. The published code leaves the added ones at the end, and "
        "each trained head knows its own.",
    ),
    Mistake(
        "slopes missing",
        power_below_alone,
        "There is a slope for each head. For a count that is no power of two yours are too few.",
    ),
    Mistake(
        "negative slopes",
        negative_slopes,
        "The minus belongs to the bias, which is minus slope times distance. Slopes themselves "
        "are above 0.",
    ),
    Mistake(
        "the added ones in front",
        added_in_front,
        "All slopes are right, but those of the power of two above come first. They belong behind "
        "the slopes of the power below.",
    ),
    Mistake(
        "a power of two strictly below",
        strictly_below,
        "For a power of two you take half of it and fill up from above. If the number of heads is "
        "a power of two, its own formula holds for all heads.",
    ),
    Mistake(
        "whole division in the exponent",
        whole_division,
        "// cuts the exponent to a whole number, so that with more than eight heads several share "
        "a slope. The exponent is a fraction: /.",
    ),
)

EXERCISE = Exercise(
    identifier="08.alibi_slopes",
    assignment="08_position",
    title="The slopes of ALiBi",
    kind="function",
    answer="alibi_slopes",
    points=3,
    difficulty=2,
    minutes=15,
    hints=(
        "First the powers of two: write down the exponents for four heads and for eight. Which "
        "exponents do they share?",
        "For 12 heads: the 8 slopes of eight heads, then 4 of the 16 slopes of sixteen heads, and "
        "those are the first, third, fifth and seventh. How many are missing in general?",
        "`below = 2 ** int(np.log2(n_heads))` is the power of two. `np.arange(1, below + 1)` are its "
        "heads; `np.arange(1, 2 * missing, 2)` are the odd numbers 1, 3, 5, … for the others.",
    ),
    returns=("slopes",),
    cases=cases,
    laws=(
        same(
            "Every other slope of twice as many heads is a slope of the half",
            _twice_the_heads,
            "the second, fourth, … of twice as many heads are other slopes.",
            undo=lambda slopes: slopes[1::2],
        ),
    ),
    parts=(
        Part("plain", "the powers of two", 1 / 3),
        Part("between", "the other numbers of heads", 2 / 3),
    ),
    contents=lambda: Contents(alibi_slopes, MISTAKES),
)
