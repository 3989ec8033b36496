"""The three functions a notebook calls: `check`, `mark` and `hint`."""

from .engine import examine
from .messages import describe, passed
from .registry import exercise
from .seeds import PUBLIC_SEED, hidden_seed

__all__ = ["CheckFailure", "check", "hint", "mark"]


class CheckFailure(AssertionError):
    """An answer does not pass. Its text is the whole message; IPython shows nothing else."""

    __module__ = "coursekit.checks"

    def _render_traceback_(self):
        # IPython asks for this: a learner should read the sentence, not our stack.
        return str(self).splitlines()


def check(identifier, answer, *, seed=PUBLIC_SEED):
    """Tell a learner whether an answer passes, and if not, why.

    Parameters
    ----------
    identifier : str
        Such as "03.scaled_dot_scores".
    answer : callable
        The learner's function or class.
    seed : int
        Which cases are drawn; graded cells use another one.

    Raises
    ------
    CheckFailure
        If the answer does not pass: which question, on which case, what was expected, what came,
        and which known mistake it is.
    LookupError
        If there is no such exercise.
    KeyboardInterrupt
        If the person at the keyboard stops it.
    """
    report = examine(exercise(identifier), answer, seed)
    if not report.passed:
        raise CheckFailure(describe(report))
    print(passed(report))


def mark(identifier, answer, *, points, seed=None):
    """Mark an answer on the hidden cases: print the reason, return the points.

    Parameters
    ----------
    identifier, answer
        As for `check`.
    points : float
        What the graded cell is worth.
    seed : int, optional
        Default: `hidden_seed()`.

    Returns
    -------
    float
        Between 0 and `points`: the shares of the parts that passed, 0 if the first part did not.

    Notes
    -----
    Nothing that the answer does is raised. `KeyboardInterrupt` is no exception here: nbgrader
    sends it when time is up, and the cell then earns 0 with a reason. What is raised are mistakes
    of whoever wrote the cell: an unknown identifier, a settings file that cannot be read.
    """
    entry = exercise(identifier)
    seed = hidden_seed() if seed is None else seed
    try:
        report = examine(entry, answer, seed)
        earned = report.earned(points)
        reason = passed(report) if report.passed else describe(report)
    except KeyboardInterrupt:
        earned, reason = 0.0, f"{identifier}: stopped before it was done. An endless loop?"
    except Exception as error:  # e.g. NumPy itself was altered by the notebook
        earned = 0.0
        reason = (
            f"{identifier}: NOT MARKED. The check itself broke ({type(error).__name__}: {error}). "
            f"Restart the kernel and run all cells; if it stays, this is our fault: please tell "
            f"your instructor."
        )
    print(f"{earned:g} of {points:g} points\n{reason}")
    return earned


def hint(identifier, level=1):
    """Print one of the three hints of an exercise: a nudge, the idea, nearly the code.

    Raises
    ------
    ValueError
        If `level` is not 1, 2 or 3.
    """
    hints = exercise(identifier).hints
    if level not in range(1, len(hints) + 1):
        raise ValueError(f"level must be 1, 2 or 3, got {level!r}: 1 nudges, 3 nearly tells")
    print(hints[level - 1])
