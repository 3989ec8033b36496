"""Comparing marks: what is wrong is noticed, and so is a shortfall that has gone away."""

import dataclasses
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from coursekit.simulate.classroom import Submission
from coursekit.simulate.demo import compare, grade_demonstration

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


def test_two_demonstrations_at_once_do_not_disturb_each_other(tmp_path, monkeypatch):
    """Within the grading of one, a whole other one runs; the class is small, nbgrader left out."""
    for name in ("solutions", "exercises"):
        (tmp_path / name).symlink_to(PROJECT / name)
    console, folders = Console(file=io.StringIO()), []
    kept = tmp_path / "_build" / "grade_demo"

    def grade(folder, assignment, count, console):
        folders.append(folder)
        if len(folders) == 1:
            assert grade_demonstration(tmp_path, console)
            assert (kept / "expected.json").is_file()
        assert (folder / "source" / assignment / f"{assignment}.ipynb").is_file()
        assert len(list((folder / "submitted").iterdir())) == count
        return 0

    def a_small_class(root, assignment, **how):
        return (dataclasses.replace(submission("right"), assignment=assignment),)

    for name, instead in {
        "simulated_class": a_small_class,
        "_autograde": grade,
        "_marks": lambda folder, assignment: {"anna": DUE},
        "_papers": lambda folder, comparisons, console: [],
        "nbgrader": lambda arguments, folder: "",
    }.items():
        monkeypatch.setattr(f"coursekit.simulate.demo.{name}", instead)
    assert grade_demonstration(tmp_path, console)
    assert len(set(folders)) == 2
    assert list((tmp_path / "_build").iterdir()) == [kept]
