"""Judging answers that have no single right value: predictions, and inputs on which a fault shows."""

import numpy as np

from .model import Finding

__all__ = ["hardly", "judge_prediction", "shows"]


def judge_prediction(shape, lowest, highest, why):
    """Make the judge of a prediction: any guess that is possible at all is accepted.

    Parameters
    ----------
    shape : tuple of int
        How many numbers are guessed.
    lowest, highest : float
        No guess outside can come true.
    why : dict
        "low" and "high": a sentence that says why not.

    Returns
    -------
    callable
        ``judge(request, value) -> None or Finding``.
    """

    def judge(request, value):
        (guess,) = value
        if guess.shape != shape:
            came = f"shape {guess.shape}" if guess.ndim else "a single number"
            return Finding(
                "shape", str(guess.shape), f"expected {shape[0]} guesses in one array, got {came}."
            )
        if guess.dtype.kind not in "fiu":
            return Finding("dtype", guess.dtype.kind, f"expected numbers, got {guess.dtype}.")
        if np.isnan(guess).any():
            return Finding("finite", "not finite", "a guess must be a number; NaN is none.")
        if np.isinf(guess).any():
            return Finding("finite", "infinite", "a guess must be a number; infinity is none.")
        if (guess > highest).any():
            return Finding("value", "too high", _outside(guess, guess > highest, why["high"]))
        if (guess < lowest).any():
            return Finding("value", "too low", _outside(guess, guess < lowest, why["low"]))
        return None

    return judge


def _outside(guess, outside, why):
    return f"{guess[outside][0]:g} cannot come true: {why}."


def shows(right, faulty, threshold=1e-3):
    """Whether two results differ enough to be seen, in shape or in numbers."""
    return right.shape != faulty.shape or bool((np.abs(right - faulty) > threshold).any())


def hardly(right, faulty, threshold=1e-3):
    """The sentence about two results that differ, and by too little to be seen."""
    return (
        f"the faulty program and a right one differ on these, but by {np.abs(right - faulty).max():.1g} "
        f"at most; asked for is more than {threshold:g}."
    )
