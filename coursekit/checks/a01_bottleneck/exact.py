"""01.exact_match: the share of sentences in which every token is right."""

import numpy as np

from attnkit.numpy import exact_match

from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def _request(random, mask, wrong):
    """Random tokens; `predicted` differs from `target` exactly where `wrong` says."""
    mask, wrong = np.array(mask, bool), np.array(wrong, bool)
    target = random.integers(1, 7, mask.shape)
    other = (target + random.integers(1, 6, mask.shape) - 1) % 6 + 1
    return Call({"predicted": np.where(wrong, other, target), "target": target, "mask": mask})


def cases(random):
    place = int(random.integers(0, 3))
    one_wrong = np.zeros((4, 3), bool)
    one_wrong[0, place] = True
    return [
        Case("four sentences, one token wrong", _request(random, np.ones((4, 3)), one_wrong)),
        Case(
            "three sentences, the wrong tokens in the padding",
            _request(
                random,
                [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]],
                [[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 0, 0]],
            ),
        ),
        Case(
            "four sentences, three of them wrong in part",
            _request(
                random,
                [[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 0, 0]],
                [[1, 1, 0], [0, 1, 1], [0, 1, 1], [0, 1, 0]],
            ),
        ),
        Case(
            "three sentences, one of them without any token",
            _request(random, [[1, 1], [0, 0], [1, 1]], [[0, 1], [0, 0], [0, 0]]),
            "care",
        ),
        Case(
            "a batch in which nothing counts",
            _request(random, np.zeros((2, 3)), np.zeros((2, 3))),
            "care",
        ),
        Case(
            "padding at the beginning and in between",
            _request(
                random,
                [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1]],
                [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]],
            ),
            "care",
        ),
    ]


def _padding_exchanged(random):
    mask = np.array([[True, True, False], [True, False, False]])
    request = _request(random, mask, np.array([[0, 0, 1], [1, 0, 0]]))
    other = np.where(mask, request.arguments["predicted"], 0)
    return [request, Call({**request.arguments, "predicted": other})]


def tokens_counted(predicted, target, mask):
    return (predicted == target)[mask].mean() if mask.any() else 0.0


def padding_counted(predicted, target, mask):
    return (predicted == target).all(axis=1).mean()


def one_is_enough(predicted, target, mask):
    right = ((predicted == target) & mask).any(axis=1)
    return right[mask.any(axis=1)].mean() if mask.any() else 0.0


def padding_counted_as_wrong(predicted, target, mask):
    right = ((predicted == target) & mask).all(axis=1)
    return right[mask.any(axis=1)].mean() if mask.any() else 0.0


def empty_sentences_right(predicted, target, mask):
    return ((predicted == target) | ~mask).all(axis=1).mean()


def empty_sentences_wrong(predicted, target, mask):
    right = ((predicted == target) | ~mask).all(axis=1) & mask.any(axis=1)
    return right.mean()


def nothing_divided_by_nothing(predicted, target, mask):
    right = ((predicted == target) | ~mask).all(axis=1)
    counted = mask.any(axis=1)
    return (right & counted).sum() / counted.sum()


def counted_instead_of_shared(predicted, target, mask):
    right = ((predicted == target) | ~mask).all(axis=1)
    return float((right & mask.any(axis=1)).sum())


def share_of_wrong(predicted, target, mask):
    right = ((predicted == target) | ~mask).all(axis=1)[mask.any(axis=1)]
    return 1 - right.mean() if mask.any() else 0.0


def all_or_nothing(predicted, target, mask):
    return float(((predicted == target) | ~mask).all())


def along_the_wrong_axis(predicted, target, mask):
    right = ((predicted == target) | ~mask).all(axis=0)[mask.any(axis=0)]
    return right.mean() if mask.any() else 0.0


def prefix_of_the_length(predicted, target, mask):
    marks = [
        (p[: m.sum()] == t[: m.sum()]).all()
        for p, t, m in zip(predicted, target, mask, strict=True)
        if m.any()
    ]
    return np.mean(marks) if marks else 0.0


def a_mark_for_each_sentence(predicted, target, mask):
    return (((predicted == target) | ~mask).all(axis=1)).astype(float)


def tokens_of_the_padding_too(predicted, target, mask):
    return float((predicted == target).mean()) if mask.any() else 0.0


MISTAKES = (
    Mistake(
        "tokens counted",
        tokens_counted,
        "This is the share of right *tokens*. A date with a wrong year is a wrong date: a sentence "
        "counts only if all its tokens are right.",
    ),
    Mistake(
        "padding counted",
        padding_counted,
        "Padding positions were compared as well. Whatever the network writes after the end of a "
        "sentence is nobody's business.",
    ),
    Mistake(
        "one right token is enough",
        one_is_enough,
        "A sentence counted as right if *some* token was. Every one must be: all, not any.",
    ),
    Mistake(
        "padding counted as wrong",
        padding_counted_as_wrong,
        "Comparison *and* mask is False in the padding, so no padded sentence can be right. A "
        "position is fine if it is right *or* does not count: (predicted == target) | ~mask.",
    ),
    Mistake(
        "empty sentences counted as right",
        empty_sentences_right,
        "A sentence without any position that counts has no wrong token, and so counts as right. "
        "There is nothing to score: leave it out.",
    ),
    Mistake(
        "empty sentences counted as wrong",
        empty_sentences_wrong,
        "A sentence without any position that counts lowers your share. There is nothing to score: "
        "leave it out of the count as well.",
    ),
    Mistake(
        "nothing divided by nothing",
        nothing_divided_by_nothing,
        "Where there is no sentence to score, 0 is asked for; 0 divided by 0 is NaN.",
    ),
    Mistake(
        "counted, not shared",
        counted_instead_of_shared,
        "This is the number of right sentences. Divide by how many there are to score.",
    ),
    Mistake(
        "the share of wrong sentences",
        share_of_wrong,
        "This is the share of *wrong* sentences. A match of 1 means that every sentence is right.",
    ),
    Mistake(
        "all or nothing",
        all_or_nothing,
        "`.all()` without an axis asks whether the whole batch is right. Ask it for each sentence: "
        "axis=1.",
    ),
    Mistake(
        "along the wrong axis",
        along_the_wrong_axis,
        "You ask for each *position* whether all sentences are right there. axis=1 runs along a "
        "sentence.",
    ),
    Mistake(
        "a beginning of the right length",
        prefix_of_the_length,
        "You count the positions and compare that many from the front. The mask says *which* "
        "positions count; padding may stand in front or in between.",
    ),
    Mistake(
        "a mark for each sentence",
        a_mark_for_each_sentence,
        "These are the marks of all sentences. Their mean is asked for, one number.",
    ),
    Mistake(
        "tokens counted, those of the padding too",
        tokens_of_the_padding_too,
        "This is the share of right *tokens*, the padding among them. A sentence counts as one, and only "
        "if all its tokens are right where the mask is True.",
    ),
)

EXERCISE = Exercise(
    identifier="01.exact_match",
    assignment="01_bottleneck",
    title="Exact match",
    kind="function",
    answer="exact_match",
    points=2,
    difficulty=2,
    minutes=10,
    hints=(
        "When is a position fine? There are two ways.",
        "A position is fine if its token is right or if it does not count. A sentence is right if all "
        "its positions are fine. Which sentences are scored at all?",
        "`(predicted == target) | ~mask` says which positions are fine, `.all(axis=1)` which "
        "sentences are right, `mask.any(axis=1)` which are scored. Take the mean over these, or 0 if "
        "there are none.",
    ),
    returns=("share",),
    cases=cases,
    laws=(
        same(
            "What is written in the padding does not matter",
            _padding_exchanged,
            "with other tokens in the padding, another share came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with empty sentences or scattered padding", 0.5),
    ),
    contents=lambda: Contents(exact_match, MISTAKES),
)
