"""How close is close: one table, operation × dtype, with the reason for each row.

A tolerance is an error in units of the largest expected value, so that a cancelled entry close to
zero is not asked for digits that no order of summation can give.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Row:
    """The tolerances of one operation, by the dtype of its result, and why they are what they are."""

    float64: float
    float32: float
    float16: float
    bfloat16: float
    reason: str
    relative: bool = True


TABLE = {
    "scores": Row(
        1e-14,
        1e-6,
        1e-3,
        8e-3,
        "A product over at most a few dozen widths: each term rounds once, so some ten units in the "
        "last place (2e-16, 1e-7). Halves are computed in float32 and rounded once, by half a unit "
        "(5e-4, 4e-3); twice that allows for a rounded input of a second step.",
    ),
    "weights": Row(
        1e-14,
        1e-6,
        1e-3,
        8e-3,
        "exp turns the absolute error of a score of moderate size into a relative error of the "
        "weight; sums are taken in float32 or wider, and the result is rounded once.",
    ),
    "output": Row(
        1e-12,
        2e-6,
        2e-3,
        1.6e-2,
        "A weighted sum after scores and weights: the errors of both add up. The figures are those "
        "of the correctness cases.",
    ),
    "gradient": Row(
        1e-12,
        1e-5,
        4e-3,
        3.2e-2,
        "A gradient passes every step twice, and softmax's subtracts nearly equal numbers.",
    ),
    "printed": Row(
        5.1e-7,
        2.5e-6,
        2e-3,
        1.6e-2,
        "Against numbers printed with six decimals: half a unit of the last one whatever the size "
        "of the number, and then what the dtype adds.",
        relative=False,
    ),
    "weights_of_layer": Row(
        1e-13,
        2e-6,
        4e-3,
        3.2e-2,
        "Weights of scores whose queries and keys were projected first: the rounding of two more "
        "products, which exp carries over.",
    ),
    "layer": Row(
        1e-12,
        4e-6,
        8e-3,
        6.4e-2,
        "Several products one after the other, each rounded to the dtype of the layer in between, "
        "as torch's kernels do with halves: the errors of some eight roundings.",
    ),
    "layers": Row(
        1e-12,
        1e-5,
        1.6e-2,
        0.13,
        "A whole Transformer layer: eight products, each rounded to the dtype of the layer before "
        "the next, some thirty roundings of halves in all.",
    ),
    "statistics": Row(
        0.1,
        0.1,
        0.1,
        0.1,
        "Spreads estimated from a few thousand draws: some per cent of noise, and nothing to round.",
    ),
    "long sum": Row(
        1e-10,
        1e-4,
        4e-3,
        3.2e-2,
        "A running sum over some ten thousand keys: rounding errors add up with about the root of "
        "their number. The figure for float32 is that of the correctness cases.",
    ),
}


def assert_close(actual, expected, operation, dtype="float64"):
    """Assert that two arrays have one shape and agree within the table, NaN and infinity in place.

    Parameters
    ----------
    actual, expected : numpy.ndarray
        What came and what should have come.
    operation : str
        A row of the table.
    dtype : str
        A column of the table: the dtype of what came, or of its coarsest input.
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite])
    largest = np.max(np.abs(expected[finite]), initial=0.0)
    row = TABLE[operation]
    allowed = getattr(row, dtype) * (largest if row.relative and largest else 1.0)
    error = np.max(np.abs(actual[finite] - expected[finite]), initial=0.0)
    assert error <= allowed, f"{operation} in {dtype}: error {error:.2e}, allowed {allowed:.2e}"
