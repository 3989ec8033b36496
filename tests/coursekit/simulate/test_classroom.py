"""The simulated class: every kind is there, marks come from the checks, the same course gives the same."""

import json
from pathlib import Path

import pytest

from coursekit.checks import exercises
from coursekit.course import CourseError
from coursekit.notebooks import grade_id, source_of
from coursekit.simulate import simulated_class, write_class
from coursekit.simulate.classroom import _takes_arguments, _with_statement
from coursekit.simulate.names import ODD, student_names

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a course folder with the project's sources and exercises, and a `_build` of its own."""
    root = tmp_path_factory.mktemp("course")
    for name in ("solutions", "exercises", "book", "attnkit"):
        (root / name).symlink_to(PROJECT / name)
    return root


@pytest.fixture(scope="module")
def submissions(project):
    return simulated_class(project, "03_scores")


def of_kind(submissions, kind):
    (submission,) = [entry for entry in submissions if entry.kind == kind]
    return submission


def cells(submission, name):
    return [cell for cell in submission.notebook["cells"] if grade_id(cell) == name]


def test_every_known_mistake_is_handed_in_once(submissions):
    known = [
        f"{entry.answer}: {mistake.name}"
        for entry in exercises()
        if entry.assignment == "03_scores"
        for mistake in entry.mistakes
    ]
    assert [entry.what for entry in submissions if entry.kind == "known mistake"] == known


def test_a_mistake_costs_its_own_exercise_and_no_other(submissions):
    full = of_kind(submissions, "right").expected
    for submission in submissions:
        if submission.kind == "known mistake":
            lower = {cell for cell, mark in submission.expected.items() if mark < full[cell]}
            assert lower == {submission.target}, submission.what


def test_full_marks_are_the_points_of_the_registry(submissions):
    points = sum(entry.points for entry in exercises() if entry.assignment == "03_scores")
    assert sum(of_kind(submissions, "right").expected.values()) == points
    assert set(of_kind(submissions, "blank").expected.values()) == {0.0}
    for kind in ("warns", "writes to stderr", "prints", "deleted test cell", "stray error"):
        assert sum(of_kind(submissions, kind).expected.values()) == points
    assert sum(of_kind(submissions, "duplicated answer cell").expected.values()) == points


def test_damage_is_where_it_is_said_to_be(submissions):
    deleted = of_kind(submissions, "deleted test cell")
    assert cells(deleted, deleted.target) == []
    names = [
        grade_id(cell) for cell in of_kind(submissions, "duplicated answer cell").notebook["cells"]
    ]
    twice = {name for name in names if name and names.count(name) > 1}
    assert len(twice) == 1
    assert "while True: pass" in json.dumps(of_kind(submissions, "endless loop").notebook)


def test_right_answers_are_the_solutions_and_blank_is_the_release(submissions, project):
    released = json.loads((project / "exercises/03_scores/03_scores.ipynb").read_text("utf-8"))
    assert of_kind(submissions, "blank").notebook == released
    for cell in of_kind(submissions, "right").notebook["cells"]:
        assert "NotImplementedError" not in source_of(cell)
        assert "SOLUTION" not in source_of(cell)


def test_the_same_course_gives_the_same_class(submissions, project):
    assert simulated_class(project, "03_scores") == submissions


def test_a_class_is_written_as_nbgrader_expects_it(submissions, tmp_path):
    write_class(submissions[:3], tmp_path)
    for submission in submissions[:3]:
        folder = tmp_path / "submitted" / submission.student / "03_scores"
        assert json.loads((folder / "03_scores.ipynb").read_text("utf-8")) == submission.notebook
        assert (folder / "timestamp.txt").read_text("utf-8").endswith("UTC\n")
    expected = json.loads((tmp_path / "expected.json").read_text("utf-8"))
    assert expected[submissions[0].student]["marks"] == submissions[0].expected


@pytest.mark.parametrize("present", ["submitted", "expected.json"])
def test_nobodys_submissions_are_overwritten(submissions, tmp_path, present):
    (tmp_path / present).mkdir()
    with pytest.raises(CourseError, match="left alone"):
        write_class(submissions[:1], tmp_path)


def test_names_are_different_and_fit_for_a_folder():
    names = student_names(400)
    assert len(set(names)) == 400
    assert names[: len(ODD)] == ODD
    assert not any(set(name) & set("/\\[]*?\0") for name in names)


def test_a_statement_goes_first_into_the_function():
    source = 'def f(x):\n    """Doc."""\n    return x'
    assert _with_statement(source, "pass") == 'def f(x):\n    """Doc."""\n    pass\n    return x'
    assert _with_statement("def f():\n    return 1", "pass") == "def f():\n    pass\n    return 1"
    assert _takes_arguments(source)
    assert not _takes_arguments("def f():\n    return 1")
