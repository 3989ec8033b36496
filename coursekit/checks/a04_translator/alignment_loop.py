"""04.alignment_error_loop: how often a decoder looks at the wrong word, counted step by step."""

import numpy as np

from attnkit.numpy import alignment_accuracy, softmax

from ..draw import normal
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def alignment_error(weights, alignment):
    """The share of scored steps that look elsewhere, from the library's accuracy."""
    return 1 - alignment_accuracy(weights, alignment) if (alignment >= 0).any() else 0.0


def readable_weights(random, steps, n):
    """Rows of different tenths that sum to one, so that a learner sees the largest at a glance."""
    tenths = {3: [6, 3, 1], 4: [5, 3, 2, 0], 5: [4, 3, 2, 1, 0]}[n]
    return np.array([random.permutation(tenths) for _ in range(steps)]) / 10


def partly_right(random, weights):
    """An alignment of which some steps agree with the largest weight, some do not, some are -1."""
    best = weights.argmax(axis=-1)
    n = weights.shape[-1]
    wrong = (best + random.integers(1, n, best.shape)) % n
    kind = random.permuted(np.arange(best.size) % 4).reshape(best.shape)
    return np.where(kind == 3, -1, np.where(kind == 2, wrong, best))


def cases(random):
    small, medium = readable_weights(random, 4, 3), readable_weights(random, 9, 5)
    square = readable_weights(random, 4, 4)
    large = softmax(normal(random, 30, 7))
    ties = np.array([[0.4, 0.4, 0.2], [0.1, 0.45, 0.45], [0.4, 0.2, 0.4], [0.2, 0.2, 0.6]])
    return [
        Case(
            "four steps over three words",
            Call({"weights": small, "alignment": partly_right(random, small)}),
        ),
        Case(
            "nine steps over five words",
            Call({"weights": medium, "alignment": partly_right(random, medium)}),
        ),
        Case(
            "four steps over four words",
            Call({"weights": square, "alignment": partly_right(random, square)}),
        ),
        Case(
            "thirty steps over seven words",
            Call({"weights": large, "alignment": partly_right(random, large)}),
        ),
        Case(
            "largest weights that occur twice",
            Call({"weights": ties, "alignment": np.array([0, 1, 2, -1])}),
            "care",
        ),
        Case(
            "no step that has a partner",
            Call({"weights": small, "alignment": np.full(4, -1)}),
            "care",
        ),
        Case(
            "every step right",
            Call({"weights": medium, "alignment": medium.argmax(axis=-1)}),
            "care",
        ),
    ]


def _steps_turned_round(random):
    weights = softmax(normal(random, 9, 5))
    alignment = partly_right(random, weights)
    return [
        Call({"weights": weights, "alignment": alignment}),
        Call({"weights": weights[::-1], "alignment": alignment[::-1]}),
    ]


def share_of_right_steps(weights, alignment):
    right = total = 0
    for t in range(len(alignment)):
        if alignment[t] >= 0:
            total += 1
            right += int(np.argmax(weights[t]) == alignment[t])
    return right / total if total else 0.0


def steps_without_partner_counted(weights, alignment):
    wrong = 0
    for t in range(len(alignment)):
        if np.argmax(weights[t]) != alignment[t]:
            wrong += 1
    return wrong / len(alignment)


def divided_by_all_steps(weights, alignment):
    wrong = 0
    for t in range(len(alignment)):
        if alignment[t] >= 0 and np.argmax(weights[t]) != alignment[t]:
            wrong += 1
    return wrong / len(alignment)


def a_count(weights, alignment):
    wrong = 0
    for t in range(len(alignment)):
        if alignment[t] >= 0 and np.argmax(weights[t]) != alignment[t]:
            wrong += 1
    return wrong


def nothing_to_score(weights, alignment):
    wrong = total = 0
    for t in range(len(alignment)):
        if alignment[t] >= 0:
            total += 1
            wrong += int(np.argmax(weights[t]) != alignment[t])
    return wrong / total


def equal_weights_count(weights, alignment):
    wrong = total = 0
    for row, right in zip(weights, alignment, strict=True):
        if right >= 0:
            total += 1
            wrong += row[right] < row.max()
    return wrong / total if total else 0.0


def missing_weight(weights, alignment):
    missing = total = 0
    for t in range(len(alignment)):
        if alignment[t] >= 0:
            total += 1
            missing += 1 - weights[t, alignment[t]]
    return missing / total if total else 0.0


def last_of_equal_weights(weights, alignment):
    wrong = total = 0
    for t in range(len(alignment)):
        if alignment[t] >= 0:
            total += 1
            best = max(range(weights.shape[1]), key=lambda j: (weights[t, j], j))
            wrong += int(best != alignment[t])
    return wrong / total if total else 0.0


def counted_from_one(weights, alignment):
    wrong = total = 0
    for t in range(len(alignment)):
        if alignment[t] >= 0:
            total += 1
            wrong += int(np.argmax(weights[t]) + 1 != alignment[t])
    return wrong / total if total else 0.0


def position_zero_skipped(weights, alignment):
    wrong = total = 0
    for t in range(len(alignment)):
        if alignment[t] > 0:
            total += 1
            wrong += int(np.argmax(weights[t]) != alignment[t])
    return wrong / total if total else 0.0


def least_weight(weights, alignment):
    wrong = total = 0
    for t in range(len(alignment)):
        if alignment[t] >= 0:
            total += 1
            wrong += int(np.argmin(weights[t]) != alignment[t])
    return wrong / total if total else 0.0


def whole_number_division(weights, alignment):
    wrong = total = 0
    for t in range(len(alignment)):
        if alignment[t] >= 0:
            total += 1
            wrong += int(np.argmax(weights[t]) != alignment[t])
    return wrong // total if total else 0.0


MISTAKES = (
    Mistake(
        "the share of right steps",
        share_of_right_steps,
        "That is the accuracy. The error is its opposite: the share of steps that look elsewhere.",
    ),
    Mistake(
        "steps without a partner counted as wrong",
        steps_without_partner_counted,
        "-1 says that a step has no partner in the source. Such steps are neither right nor wrong: "
        "leave them out, above and below the fraction line.",
    ),
    Mistake(
        "divided by all steps",
        divided_by_all_steps,
        "The wrong steps are counted well, but divided by all steps. Divide by those that have a "
        "partner.",
    ),
    Mistake(
        "a count",
        a_count,
        "You return how many steps are wrong. A share is asked for: divide by the number of steps "
        "that have a partner.",
    ),
    Mistake(
        "nothing to score",
        nothing_to_score,
        "When no step has a partner you divide by 0. Then nothing is wrong either: return 0.",
    ),
    Mistake(
        "every one of equal weights counts",
        equal_weights_count,
        "You ask whether the right word has the largest weight. When two weights are equally large, "
        "only the first counts: compare positions, as np.argmax gives them.",
    ),
    Mistake(
        "the missing weight",
        missing_weight,
        "You measure how much weight does not lie on the right word. Here only the position of the "
        "largest weight counts: a step is right or wrong, nothing in between.",
    ),
    Mistake(
        "the last of equal weights",
        last_of_equal_weights,
        "When two weights are equally large you take the later one; the first counts, as "
        "np.argmax has it.",
    ),
    Mistake(
        "words counted from one",
        counted_from_one,
        "Your positions are one too high. Alignments count from 0, as Python does.",
    ),
    Mistake(
        "the first word skipped",
        position_zero_skipped,
        "Position 0 is a word like any other; only -1 means that there is no partner. Look at the "
        "comparison: >= 0, not > 0.",
    ),
    Mistake(
        "the least weight",
        least_weight,
        "You look for the smallest weight of each step. The decoder looks where the weight is "
        "largest.",
    ),
    Mistake(
        "whole-number division",
        whole_number_division,
        "// rounds down to a whole number, so the share is 0 unless everything is wrong. Use /.",
    ),
)

EXERCISE = Exercise(
    identifier="04.alignment_error_loop",
    assignment="04_translator",
    title="Alignment error, by a loop",
    kind="loop",
    answer="alignment_error_loop",
    points=2,
    difficulty=1,
    minutes=10,
    hints=(
        "Which steps take part, and when is such a step wrong?",
        "Keep two counters: steps with a partner, and those among them whose largest weight stands "
        "elsewhere. `np.argmax` finds where.",
        "For each `t` with `alignment[t] >= 0` add 1 to the total, and 1 to the wrong ones if "
        "`np.argmax(weights[t])` is another number. At the end divide, unless the total is 0.",
    ),
    returns=("error",),
    cases=cases,
    laws=(
        same(
            "The order of the steps does not matter",
            _steps_turned_round,
            "with the steps in reverse order, another error came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.75),
        Part("care", "those with equal weights or nothing to score", 0.25),
    ),
    contents=lambda: Contents(alignment_error, MISTAKES),
)
