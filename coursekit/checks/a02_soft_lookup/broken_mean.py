"""02.counterexample and 02.mean_value: a mean that counts the padding.

The faulty program is handed out in a locked cell. Learners first find arrays on which it shows
(a test, written as data), then write the program as it should be.
"""

import numpy as np

from attnkit.numpy import attend

from ..draw import normal, readable
from ..judges import shows
from ..laws import same
from ..model import Case, Contents, Exercise, Finding, Mistake, Part
from ..surface import Call
from .given import faulty_mean_value


def mean_value(value, keep):
    """The mean of the rows that are kept, as a soft lookup with equal scores."""
    scores = np.zeros((*value.shape[:-2], 1, value.shape[-2]), value.dtype)  # one query
    return attend(scores, value, keep[..., None, :])[..., 0, :]


# ---------------------------------------------------------------- the counterexample


def a_counterexample():
    """Arrays on which the fault shows."""
    return np.array([[1.0], [3.0], [0.0]]), np.array([True, True, False])


def judge_counterexample(request, value):
    """Whether the faulty program gives a visibly wrong mean on `value`."""
    rows, keep = value
    if rows.ndim != 2:
        return Finding(
            "shape", "not two axes", f"expected value of two axes, (n, d_v), got {rows.shape}."
        )
    if keep.shape != rows.shape[:1]:
        return Finding(
            "shape",
            "keep does not fit",
            f"value has {rows.shape[0]} rows, so expected keep of shape ({rows.shape[0]},), got "
            f"{keep.shape}.",
        )
    if keep.dtype != bool:
        return Finding(
            "dtype", "keep is not boolean", f"expected keep of True and False, got {keep.dtype}."
        )
    if rows.dtype.kind not in "fiu":
        return Finding("dtype", "value", f"expected numbers in value, got {rows.dtype}.")
    if not np.isfinite(rows).all():
        return Finding("finite", "not finite", "value must hold ordinary finite numbers.")
    if rows.size == 0:
        return Finding("value", "empty", "without any rows there is nothing to see.")
    right = mean_value(rows.astype(float), keep)
    faulty = faulty_mean_value(rows, keep)
    if shows(right, faulty):
        return None
    return Finding("value", _why_hidden(rows, keep), _HIDDEN)


_HIDDEN = (
    "on these arrays the faulty program and a right one give the same mean, so a test with them "
    "would let the fault through."
)


def _why_hidden(rows, keep):
    if keep.all():
        return "nothing padded"
    if not keep.any():
        return "nothing kept"
    return "zeros" if not rows[keep].any() else "cancels"


def nothing_padded():
    return np.array([[1.0], [3.0], [5.0]]), np.array([True, True, True])


def nothing_kept():
    return np.array([[1.0], [3.0], [5.0]]), np.array([False, False, False])


def values_of_zero():
    return np.zeros((3, 2)), np.array([True, True, False])


def sum_of_zero():
    return np.array([[2.0], [-2.0], [5.0]]), np.array([True, True, False])


def keep_as_numbers():
    return np.array([[1.0], [3.0], [0.0]]), np.array([1, 1, 0])


def keep_too_short():
    return np.array([[1.0], [3.0], [0.0]]), np.array([True, False])


def a_keep_for_each_number():
    return np.array([[1.0], [3.0], [0.0]]), np.array([[True], [True], [False]])


def value_without_width():
    return np.array([1.0, 3.0, 0.0]), np.array([True, True, False])


def value_alone():
    return np.array([[1.0], [3.0], [0.0]])


def with_nan():
    return np.array([[1.0], [3.0], [np.nan]]), np.array([True, True, False])


COUNTEREXAMPLE_MISTAKES = (
    Mistake(
        "nothing padded",
        nothing_padded,
        "Every row is kept, and then the mean over all rows is the right one. The fault needs a "
        "row that does not count.",
    ),
    Mistake(
        "nothing kept",
        nothing_kept,
        "No row is kept, and both programs return 0. Keep at least one row and drop at least one.",
    ),
    Mistake(
        "values of zero",
        values_of_zero,
        "The kept rows are 0, and 0 divided by a wrong number is still 0. Put other numbers there.",
    ),
    Mistake(
        "a sum of zero",
        sum_of_zero,
        "The kept rows cancel: their sum is 0, whatever it is divided by. Take rows that do not.",
    ),
    Mistake(
        "numbers for a mask",
        keep_as_numbers,
        "A mask is True and False here, not 1 and 0: np.array([True, …]).",
    ),
    Mistake(
        "a mask that is too short",
        keep_too_short,
        "Each row of value needs its own True or False in keep.",
    ),
    Mistake(
        "a mask with an axis too many",
        a_keep_for_each_number,
        "keep decides about whole rows, so it has one axis of length n.",
        same_as="a mask that is too short",
    ),
    Mistake(
        "values without a width",
        value_without_width,
        "The program is meant for rows: (n, d_v). Put each number in brackets of its own.",
    ),
    Mistake(
        "value alone",
        value_alone,
        "The program takes two things, value and keep. Return both: return value, keep.",
    ),
    Mistake(
        "NaN",
        with_nan,
        "With NaN in them other faults may show. This one shows on quite ordinary numbers.",
    ),
)

COUNTEREXAMPLE = Exercise(
    identifier="02.counterexample",
    assignment="02_soft_lookup",
    title="Find numbers on which the fault shows",
    kind="counterexample",
    answer="counterexample",
    points=2,
    difficulty=1,
    minutes=6,
    hints=(
        "Run the program with three rows and work out the mean by hand.",
        "`kept.mean(axis=0)` adds up and divides. By what does it divide, and by what should it?",
        "Choose rows whose sum is not 0, and a mask that drops one of them: then the sum is divided "
        "by too large a number.",
    ),
    returns=("value", "keep"),
    cases=lambda random: [Case("your arrays", Call())],
    judge=judge_counterexample,
    contents=lambda: Contents(a_counterexample, COUNTEREXAMPLE_MISTAKES),
)


# ---------------------------------------------------------------- the mended program


def cases(random):
    def keep(*shape):
        mask = random.random(shape) < 0.6
        mask[..., 0], mask[..., -1] = True, False  # something to keep and something to drop
        return mask

    padding = normal(random, 3, 2)
    padding[-1] = [np.nan, np.inf]
    none = np.array([[True, False, True], [False, False, False]])
    whole = 2 * random.integers(1, 9, (3, 2))
    whole[0, 1] = 0
    whole[2] += 1  # so that no mean is a whole number
    return [
        Case(
            "three rows, two of them kept",
            Call({"value": readable(random, 3, 2), "keep": np.array([True, False, True])}),
        ),
        Case(
            "six rows, some kept",
            Call({"value": normal(random, 6, 4), "keep": keep(6)}),
        ),
        Case(
            "four rows of width 4, all kept",
            Call({"value": readable(random, 4, 4), "keep": np.ones(4, bool)}),
        ),
        Case(
            "no row kept",
            Call({"value": readable(random, 3, 2), "keep": np.zeros(3, bool)}),
            "care",
        ),
        Case(
            "NaN and infinity in a row that is not kept",
            Call({"value": padding, "keep": np.array([True, True, False])}),
            "care",
        ),
        Case(
            "whole numbers, one of them 0",
            Call({"value": whole, "keep": np.array([True, False, True])}),
            "care",
        ),
        Case(
            "a batch of two, nothing kept in the second",
            Call({"value": readable(random, 2, 3, 2), "keep": none}),
            "care",
        ),
        Case(
            "leading axes (2, 3) and float32 numbers",
            Call({"value": normal(random, 2, 3, 5, 4, dtype=np.float32), "keep": keep(2, 3, 5)}),
            "care",
        ),
    ]


def _other_padding(random):
    value, keep = normal(random, 6, 3), np.arange(6) < 4
    other = np.where(keep[:, None], value, 100 * normal(random, 6, 3))
    return [Call({"value": value, "keep": keep}), Call({"value": other, "keep": keep})]


def as_it_was(value, keep):
    return np.where(keep[..., None], value, 0.0).mean(axis=-2)


def nothing_kept_is_nan(value, keep):
    kept = np.where(keep[..., None], value, 0.0)
    return kept.sum(axis=-2) / keep.sum(axis=-1)[..., None]


def infinity_times_zero(value, keep):
    count = np.maximum(keep.sum(axis=-1), 1)
    return (value * keep[..., None]).sum(axis=-2) / count[..., None]


def the_others(value, keep):
    kept = np.where(keep[..., None], 0.0, value)
    return kept.sum(axis=-2) / np.maximum((~keep).sum(axis=-1), 1)[..., None]


def sum_only(value, keep):
    return np.where(keep[..., None], value, 0.0).sum(axis=-2)


def all_rows_in_one(value, keep):
    return value[keep].mean(axis=0) if keep.any() else np.zeros(value.shape[-1])


def across_the_row(value, keep):
    kept = np.where(keep[..., None], value, 0.0)
    return kept.sum(axis=-1) / np.maximum(keep.sum(axis=-1), 1)[..., None]


def one_count_for_all(value, keep):
    kept = np.where(keep[..., None], value, 0.0)
    return kept.sum(axis=-2) / max(keep.sum(), 1)


def one_less(value, keep):
    kept = np.where(keep[..., None], value, 0.0)
    return kept.sum(axis=-2) / np.maximum(keep.sum(axis=-1) - 1, 1)[..., None]


def one_more(value, keep):
    kept = np.where(keep[..., None], value, 0.0)
    return kept.sum(axis=-2) / (keep.sum(axis=-1) + 1)[..., None]


def zeros_not_counted(value, keep):
    kept = np.where(keep[..., None], value, 0.0)
    return kept.sum(axis=-2) / np.maximum((kept != 0).sum(axis=-2), 1)


def array_like_the_values(value, keep):
    mean = np.zeros_like(value[..., 0, :])
    kept = np.where(keep[..., None], value, 0.0)
    mean[...] = kept.sum(axis=-2) / np.maximum(keep.sum(axis=-1), 1)[..., None]
    return mean


def padding_cleared_in_place(value, keep):
    value[~keep] = 0.0
    return value.sum(axis=-2) / np.maximum(keep.sum(axis=-1), 1)[..., None]


def rows_picked_out(value, keep):
    return value[keep].mean(axis=0)


def mended_for_one_table(value, keep):
    kept = np.where(keep[:, None], value, 0.0)
    return kept.sum(axis=0) / keep.sum()


MENDED_MISTAKES = (
    Mistake(
        "still divided by all rows",
        as_it_was,
        "The sum is right, but it is still divided by the number of all rows. The rows that count "
        "are those where keep is True.",
    ),
    Mistake(
        "nothing kept gives NaN",
        nothing_kept_is_nan,
        "The mean is right wherever something is kept. Where nothing is, you divide 0 by 0. Whoever "
        "has nothing to look at gets 0: divide by at least 1.",
    ),
    Mistake(
        "NaN times zero",
        infinity_times_zero,
        "Multiplying by the mask does not remove NaN or infinity: 0 · NaN is NaN. What stands in "
        "the padding must not matter; np.where chooses without multiplying.",
    ),
    Mistake(
        "the mask turned round",
        the_others,
        "You took the mean of the rows that are *not* kept. True means: this row counts.",
    ),
    Mistake(
        "the sum only",
        sum_only,
        "The kept rows were added up but not divided by how many there are.",
    ),
    Mistake(
        "all tables in one",
        all_rows_in_one,
        "For one table this is right. With leading axes, value[keep] throws the rows of all tables "
        "into one list. Sum over the axis of the rows, -2, so that each table keeps its own mean.",
    ),
    Mistake(
        "across the row",
        across_the_row,
        "You summed over the width, so there is a number for each row. The mean goes over the rows: "
        "axis -2, and the width stays.",
    ),
    Mistake(
        "one count for all tables",
        one_count_for_all,
        "With leading axes you divide by the kept rows of *all* tables. Count along the last axis "
        "of keep, so that each table has its own number.",
    ),
    Mistake(
        "one row too few",
        one_less,
        "You divide by one less than the number of kept rows. That belongs to the variance of a "
        "sample; a mean divides by their number.",
    ),
    Mistake(
        "one row too many",
        one_more,
        "Adding 1 to the count avoids 0 / 0, but makes every mean too small. Use 1 only where the "
        "count is 0.",
    ),
    Mistake(
        "zeros not counted",
        zeros_not_counted,
        "You divide by how many numbers are not 0. A kept row may hold a 0 and still counts: only "
        "keep says which rows do.",
    ),
    Mistake(
        "an array of the values' type",
        array_like_the_values,
        "When the values are whole numbers, zeros_like makes an array of whole numbers, which cuts "
        "off what comes after the point. Return what the division gives.",
    ),
    Mistake(
        "padding cleared in place",
        padding_cleared_in_place,
        "The mean is right, but value[…] = 0 writes into the caller's own array. np.where makes a "
        "new one.",
    ),
    Mistake(
        "rows picked out",
        rows_picked_out,
        "For one table with something kept this is right; two things remain. The mean of no rows is "
        "NaN, and 0 is asked for. And with leading axes, value[keep] throws the rows of all tables "
        "into one list: sum over the axis of the rows, -2, so that each table keeps its own mean.",
    ),
    Mistake(
        "mended for one table",
        mended_for_one_table,
        "The fault is mended; two things remain. Where nothing is kept you divide 0 by 0: divide by "
        "at least 1. And keep[:, None], axis=0 and keep.sum() count axes from the front: with "
        "leading axes write keep[..., None], axis=-2, and count along the last axis of keep.",
    ),
)

MENDED = Exercise(
    identifier="02.mean_value",
    assignment="02_soft_lookup",
    title="Mend the program",
    kind="mended",
    answer="mean_value",
    points=2,
    difficulty=2,
    minutes=10,
    hints=(
        "A mean is a sum divided by a number. Which of the two is wrong?",
        "The number of kept rows is the sum of `keep` (True counts as 1). It may be 0.",
        "`np.where(keep[..., None], value, 0.0)` as before, its sum over axis -2, divided by "
        "`keep.sum(axis=-1)`, made at least 1 by `np.maximum` and given a new last axis.",
    ),
    returns=("mean",),
    cases=cases,
    laws=(
        same(
            "Rows that are not kept have no influence",
            _other_padding,
            "with other numbers in them, another mean came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part(
            "care",
            "those with nothing kept, NaN in the padding, whole numbers or leading axes",
            0.5,
        ),
    ),
    contents=lambda: Contents(mean_value, MENDED_MISTAKES),
)
