"""Check and mark answers: what a notebook imports. The exercises themselves are in the folders below."""

from .model import Case, Exercise, Finding, Law, Mistake, Part
from .public import CheckFailure, check, hint, mark
from .registry import exercise, exercises

__all__ = [
    "Case",
    "CheckFailure",
    "Exercise",
    "Finding",
    "Law",
    "Mistake",
    "Part",
    "check",
    "exercise",
    "exercises",
    "hint",
    "mark",
]
