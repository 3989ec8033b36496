"""When two results count as the same: shapes, dtypes, finite places, and a table of tolerances."""

import numpy as np

__all__ = ["TOLERANCE", "largest_difference", "same_outcome", "same_values", "tolerance"]

TOLERANCE = {
    # relative to the largest expected value: loops, einsum and any order of summation stay orders
    # of magnitude below, a computation that went through a narrower type stays above
    "float64": 1e-9,
    "float32": 1e-4,  # a few hundred roundings of 6e-8, and scores of a hundred before an exp
    "float16": 2e-2,
}


def tolerance(*dtypes):
    """The tolerance of the narrowest float type among `dtypes` (float64 if there is none).

    Examples
    --------
    >>> tolerance(np.float64, np.float32), tolerance(np.int64)
    (0.0001, 1e-09)
    """
    return max((TOLERANCE.get(np.dtype(d).name, 1e-9) for d in dtypes), default=1e-9)


def largest_difference(expected, got):
    """Size and place of the largest difference; places where both are the same infinity count 0."""
    # Complex numbers are never right, but they are compared: with known mistakes, for a message.
    kind = complex if "c" in expected.dtype.kind + got.dtype.kind else float
    with np.errstate(invalid="ignore"):
        difference = np.abs(np.asarray(expected, kind) - np.asarray(got, kind))
    same = (expected == got) | (np.isnan(expected) & np.isnan(got))
    difference = np.where(same, 0.0, np.where(np.isnan(difference), np.inf, difference))
    if difference.size == 0:
        return 0.0, ()
    place = np.unravel_index(difference.argmax(), difference.shape)
    return float(difference[place]), tuple(int(i) for i in place)


def same_values(expected, got, allowed):
    """Whether two arrays of one shape agree to `allowed`, relative to the largest finite value."""
    if expected.size == 0:
        return True
    finite = np.abs(expected[np.isfinite(expected)]).astype(float)
    scale = finite.max() if finite.size and finite.max() > 0 else 1.0
    return bool(largest_difference(expected, got)[0] <= allowed * scale)


def same_outcome(one, other, allowed, whole_numbers_pass=False):
    """Whether two answers did the same when asked the same: values, exception type or None.

    Whole numbers and floats of the same values differ, except in single numbers, and where
    `whole_numbers_pass`: there nobody is asked which of the two they are.
    """
    if one.kind != other.kind or one.error != other.error or one.changed != other.changed:
        return False
    if (one.form == "tuple") != (other.form == "tuple") or len(one.value) != len(other.value):
        return False
    if one.kind == "unusable":
        return one.sentence == other.sentence
    return all(
        a.shape == b.shape
        and _same_kind(a, b, whole_numbers_pass or a.ndim == 0)
        and same_values(a, b, allowed)
        for a, b in zip(one.value, other.value, strict=True)
    )


def _same_kind(a, b, whole_numbers_pass):
    kinds = {a.dtype.kind, b.dtype.kind}
    if whole_numbers_pass and kinds <= set("fiu"):
        return True
    return all((a.dtype.kind == kind) == (b.dtype.kind == kind) for kind in "fc")
