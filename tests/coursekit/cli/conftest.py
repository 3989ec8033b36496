"""A learner's folder in a temporary place, and the command line run in this process."""

import json
from pathlib import Path

import pytest

from coursekit.cli import main
from coursekit.course import CourseError

PROJECT = Path(__file__).resolve().parents[3]
ASSIGNMENT = "03_scores"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """Return a course folder with the project's exercises, and stand in it."""
    root = tmp_path / "course"
    root.mkdir()
    (root / "exercises").symlink_to(PROJECT / "exercises")
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "80")
    return root


@pytest.fixture
def released():
    """Return the released notebook of the assignment, fresh for each test."""
    path = PROJECT / "exercises" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def run(capsys):
    """Return a function that runs `coursekit` and gives its exit status and what it said."""

    def run(*arguments):
        try:
            main(list(arguments))
            status = 0
        except SystemExit as end:
            status = end.code or 0
        except CourseError as error:
            capsys.readouterr()
            return 2, str(error)
        said = capsys.readouterr()
        return status, said.out + said.err

    return run
