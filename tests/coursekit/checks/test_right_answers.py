"""Right but unusual answers pass: loops, einsum, other orders of summation, wider types, torch's ways."""

import importlib
from pathlib import Path

import pytest

from coursekit.checks import exercise, exercises
from coursekit.checks.engine import examine
from coursekit.checks.seeds import DEFAULT_HIDDEN_SEED, PUBLIC_SEED
from tests.coursekit.checks.collect import ANSWERS

FILES = {
    path.stem: importlib.import_module(f"tests.coursekit.checks.right_answers.{path.stem}")
    for path in sorted((Path(__file__).parent / "right_answers").glob("a*.py"))
}
EVERY = [
    (identifier, name, answer)
    for identifier, group in ANSWERS.items()
    for name, answer in group.items()
]


@pytest.mark.parametrize(
    ("identifier", "answer"),
    [(identifier, answer) for identifier, _, answer in EVERY],
    ids=[f"{identifier}-{name}" for identifier, name, _ in EVERY],
)
def test_a_right_answer_passes(identifier, answer):
    for seed in (PUBLIC_SEED, DEFAULT_HIDDEN_SEED, 5):
        report = examine(exercise(identifier), answer, seed)
        assert report.passed, (seed, report.failures)


def test_every_exercise_has_two_unusual_answers():
    for entry in exercises():
        assert len(ANSWERS.get(entry.identifier, ())) >= 2, entry.identifier


# ---------------------------------------------------------------- remarks


def test_a_wider_type_is_a_remark():
    entry, answers = exercise("03.scaled_dot_scores"), FILES["a03_scores"]
    report = examine(entry, answers.scaled_beforehand, PUBLIC_SEED)
    assert report.passed
    assert report.remarks == ()
    report = examine(entry, answers.scaled_and_widened, PUBLIC_SEED)
    assert report.passed
    assert ["float64 came out" in remark for remark in report.remarks] == [True]


def test_a_warning_is_a_remark():
    entry, answers = exercise("02.kernel_regression"), FILES["a02_soft_lookup"]
    report = examine(entry, answers.regression_with_nan_replaced, PUBLIC_SEED)
    assert report.passed
    assert any("Python warned" in remark and "divide" in remark for remark in report.remarks)
