"""All exercises of the course, found by identifier; an assignment is imported when first asked for."""

import functools
import importlib

from coursekit.unknown import there_is_no

__all__ = ["ASSIGNMENTS", "exercise", "exercises"]

ASSIGNMENTS = {
    "01": "a01_bottleneck",
    "02": "a02_soft_lookup",
    "03": "a03_scores",
    "04": "a04_translator",
    "05": "a05_soft_and_hard",
    "06": "a06_self_attention",
    "07": "a07_multi_head",
    "08": "a08_position",
    "09": "a09_transformer",
    "10": "a10_decoding",
}
"""Chapter number to the folder that holds the exercises of its assignment."""

LISTING = "`[entry.identifier for entry in coursekit.checks.exercises()]`"


@functools.cache
def _assignment(number):
    module = importlib.import_module(f"{__package__}.{ASSIGNMENTS[number]}")
    return {entry.identifier: entry for entry in module.EXERCISES}


def exercises():
    """All exercises, in the order of the course.

    Returns
    -------
    tuple of Exercise
    """
    return tuple(entry for number in ASSIGNMENTS for entry in _assignment(number).values())


def exercise(identifier):
    """The exercise of that name, such as "03.scaled_dot_scores".

    Raises
    ------
    LookupError
        If there is none; the text names the nearest, and how to list all.
    """
    number = str(identifier).partition(".")[0]
    if number in ASSIGNMENTS and identifier in _assignment(number):
        return _assignment(number)[identifier]
    known = [entry.identifier for entry in exercises()]
    raise LookupError(there_is_no("exercise", str(identifier), known, LISTING))
