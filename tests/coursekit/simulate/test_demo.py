"""Comparing marks: what is wrong is noticed, and so is a shortfall that has gone away."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coursekit.simulate.classroom import Submission
from coursekit.simulate.demo import compare

PROJECT = Path(__file__).resolve().parents[3]
DUE = {"one-test": 4.0, "two-test": 2.0}


def submission(kind):
    return Submission("anna", "90_doubling", kind, kind, "one-test", {}, DUE)


@pytest.mark.parametrize(
    ("kind", "obtained", "as_declared"),
    [
        ("right", DUE, True),
        ("right", DUE | {"two-test": 1.5}, False),
        ("right", DUE | {"two-test": None}, False),
        ("right", {"one-test": 4.0}, False),
        ("writes to stderr", DUE | {"one-test": 0.0}, True),
        ("writes to stderr", DUE, False),
        ("duplicated answer cell", dict.fromkeys(DUE), True),
        ("duplicated answer cell", DUE, False),
        ("duplicated answer cell", dict.fromkeys(DUE, 0.0), False),
    ],
)
def test_marks_are_compared_cell_by_cell(kind, obtained, as_declared):
    (comparison,) = compare((submission(kind),), {"anna": obtained})
    assert comparison.as_declared is as_declared
    assert (comparison.shortfall is None) == (kind == "right")


def test_a_learner_without_a_mark_is_not_one_with_0():
    (comparison,) = compare((submission("right"),), {})
    assert comparison.obtained == dict.fromkeys(DUE)
    assert not comparison.as_declared


@pytest.mark.slow
def test_the_demonstration_ends_as_declared():
    ended = subprocess.run(
        [sys.executable, "-m", "coursekit.cli", "grade-demo"],
        cwd=PROJECT,
        env=os.environ | {"COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "every mark is as declared" in ended.stdout
    assert ended.stdout.count("known shortfall") == 3  # two in the table, one in the sum
    folder = PROJECT / "_build" / "grade_demo"
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    rows = (folder / "grades.csv").read_text("utf-8").splitlines()
    assert len(rows) == len(expected) + 1
