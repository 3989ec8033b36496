"""04.alignment_error: how often a decoder looks at the wrong word, for a whole batch at once."""

import numpy as np

from attnkit.numpy import softmax

from ..draw import normal
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .alignment_loop import alignment_error, partly_right, readable_weights


def cases(random):
    small = np.stack([readable_weights(random, 3, 4), readable_weights(random, 3, 4)])
    square = np.stack([readable_weights(random, 3, 3) for _ in range(3)])
    large = softmax(normal(random, 5, 8, 6))
    uneven = np.stack([readable_weights(random, 4, 5), readable_weights(random, 4, 5)])
    best = uneven.argmax(axis=-1)
    few = np.where([[1, 0, 0, 0], [1, 1, 1, 1]], best, -1)
    few[0, 0] = (few[0, 0] + 1) % 5  # one scored step, wrong; then four, right
    ties = np.array([[[0.4, 0.4, 0.2], [0.1, 0.45, 0.45]], [[0.4, 0.2, 0.4], [0.2, 0.2, 0.6]]])
    return [
        Case(
            "two sentences of three steps over four words",
            Call({"weights": small, "alignment": partly_right(random, small)}),
        ),
        Case(
            "three sentences of three steps over three words",
            Call({"weights": square, "alignment": partly_right(random, square)}),
        ),
        Case(
            "five sentences of eight steps over six words",
            Call({"weights": large, "alignment": partly_right(random, large)}),
        ),
        Case(
            "two sentences, one with a single step to score",
            Call({"weights": uneven, "alignment": few}),
            "care",
        ),
        Case(
            "a sentence without any step to score",
            Call({"weights": uneven, "alignment": np.where([[1], [0]], best, -1)}),
            "care",
        ),
        Case(
            "largest weights that occur twice",
            Call({"weights": ties, "alignment": np.array([[0, 1], [2, -1]])}),
            "care",
        ),
        Case(
            "no step to score at all",
            Call({"weights": small, "alignment": np.full((2, 3), -1)}),
            "care",
        ),
    ]


def _sentences_swapped(random):
    weights = softmax(normal(random, 3, 6, 5))
    alignment = partly_right(random, weights)
    return [
        Call({"weights": weights, "alignment": alignment}),
        Call({"weights": weights[::-1], "alignment": alignment[::-1]}),
    ]


def share_of_right_steps(weights, alignment):
    scored = alignment >= 0
    right = (weights.argmax(axis=-1) == alignment) & scored
    return right.sum() / max(scored.sum(), 1)


def steps_without_partner_counted(weights, alignment):
    return (weights.argmax(axis=-1) != alignment).mean()


def divided_by_all_steps(weights, alignment):
    return ((weights.argmax(axis=-1) != alignment) & (alignment >= 0)).mean()


def mean_of_the_sentences(weights, alignment):
    scored = alignment >= 0
    wrong = (weights.argmax(axis=-1) != alignment) & scored
    return (wrong.sum(axis=-1) / np.maximum(scored.sum(axis=-1), 1)).mean()


def a_number_for_each_sentence(weights, alignment):
    scored = alignment >= 0
    wrong = (weights.argmax(axis=-1) != alignment) & scored
    return wrong.sum(axis=-1) / np.maximum(scored.sum(axis=-1), 1)


def a_count(weights, alignment):
    return float(((weights.argmax(axis=-1) != alignment) & (alignment >= 0)).sum())


def nothing_to_score(weights, alignment):
    scored = alignment >= 0
    return (weights.argmax(axis=-1) != alignment)[scored].mean()


def best_step_of_each_word(weights, alignment):
    scored = alignment >= 0
    best = weights.argmax(axis=1)[:, : alignment.shape[1]]
    return ((best != alignment) & scored).sum() / max(scored.sum(), 1)


def equal_weights_count(weights, alignment):
    scored = alignment >= 0
    found = np.take_along_axis(weights, np.maximum(alignment, 0)[..., None], axis=-1)[..., 0]
    return ((found < weights.max(axis=-1)) & scored).sum() / max(scored.sum(), 1)


def last_of_equal_weights(weights, alignment):
    scored = alignment >= 0
    best = weights.shape[-1] - 1 - weights[..., ::-1].argmax(axis=-1)
    return ((best != alignment) & scored).sum() / max(scored.sum(), 1)


def missing_weight(weights, alignment):
    scored = alignment >= 0
    found = np.take_along_axis(weights, np.maximum(alignment, 0)[..., None], axis=-1)[..., 0]
    return ((1 - found) * scored).sum() / max(scored.sum(), 1)


def whole_sentences(weights, alignment):
    scored = alignment >= 0
    wrong = ((weights.argmax(axis=-1) != alignment) & scored).any(axis=-1)
    return wrong[scored.any(axis=-1)].mean() if scored.any() else 0.0


def position_zero_skipped(weights, alignment):
    scored = alignment > 0
    return ((weights.argmax(axis=-1) != alignment) & scored).sum() / max(scored.sum(), 1)


def one_added_below(weights, alignment):
    scored = alignment >= 0
    wrong = (weights.argmax(axis=-1) != alignment) & scored
    return wrong.sum() / (scored.sum() + 1)


def mean_of_the_sentences_unguarded(weights, alignment):
    scored = alignment >= 0
    wrong = (weights.argmax(axis=-1) != alignment) & scored
    return (wrong.sum(axis=-1) / scored.sum(axis=-1)).mean()


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
        "The wrong steps are counted well, but divided by all steps (mean does that). Divide by "
        "the number of steps that have a partner.",
    ),
    Mistake(
        "a mean of the sentences' errors",
        mean_of_the_sentences,
        "You average over sentences, so a step in a short sentence weighs more. Every step weighs "
        "the same here: count over the whole batch, then divide once.",
    ),
    Mistake(
        "a number for each sentence",
        a_number_for_each_sentence,
        "You return an error for each sentence. One number for the whole batch is asked for: sum "
        "without an axis.",
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
        "When no step has a partner, the mean of nothing is NaN. Then nothing is wrong either: "
        "return 0.",
    ),
    Mistake(
        "the best step of each word",
        best_step_of_each_word,
        "The maximum was taken over the steps. The question is where each step looks: over the "
        "words, the last axis.",
    ),
    Mistake(
        "every one of equal weights counts",
        equal_weights_count,
        "You ask whether the right word has the largest weight. When two weights are equally large, "
        "only the first counts: compare positions, as np.argmax gives them.",
    ),
    Mistake(
        "the last of equal weights",
        last_of_equal_weights,
        "When two weights are equally large you take the later one; the first counts, as "
        "np.argmax has it.",
    ),
    Mistake(
        "the missing weight",
        missing_weight,
        "You measure how much weight does not lie on the right word. Here only the position of the "
        "largest weight counts: a step is right or wrong, nothing in between.",
    ),
    Mistake(
        "whole sentences",
        whole_sentences,
        "You count sentences in which anything is wrong. The error counts steps, one by one.",
    ),
    Mistake(
        "the first word skipped",
        position_zero_skipped,
        "Position 0 is a word like any other; only -1 means that there is no partner. Look at the "
        "comparison: >= 0, not > 0.",
    ),
    Mistake(
        "one added below",
        one_added_below,
        "Adding 1 to the number of steps avoids 0 / 0, but makes every error too small. Use 1 only "
        "where the number is 0.",
    ),
    Mistake(
        "the mean over sentences, 0 / 0 included",
        mean_of_the_sentences_unguarded,
        "You average over sentences, so a step in a short sentence weighs more, and a sentence "
        "without a step to score is 0 / 0. Every step weighs the same here: count over the whole "
        "batch, then divide once.",
    ),
)

EXERCISE = Exercise(
    identifier="04.alignment_error",
    assignment="04_translator",
    title="Alignment error, for a batch",
    kind="vectorised",
    answer="alignment_error",
    points=3,
    difficulty=2,
    minutes=12,
    hints=(
        "Your loop asked two questions of every step. Ask both of all steps at once: each gives an "
        "array of True and False.",
        "`weights.argmax(axis=-1)` is where every step looks, `(B, T)`. Compare it with the "
        "alignment, and combine with the steps that have a partner by `&`.",
        "`(alignment >= 0)` is one array, `(… != alignment)` the other. The sum of both with `&`, "
        "divided by the sum of the first; where that is 0, divide by 1 (`max(…, 1)`).",
    ),
    returns=("error",),
    cases=cases,
    laws=(
        same(
            "The order of the sentences does not matter",
            _sentences_swapped,
            "with the sentences in another order, another error came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 2 / 3),
        Part("care", "those with equal weights, or few steps to score, or none", 1 / 3),
    ),
    contents=lambda: Contents(alignment_error, MISTAKES),
)
