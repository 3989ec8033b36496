"""Releasing through nbgrader, and what is refused on the way to `exercises/`."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from coursekit.authoring.releases import _publish, release
from coursekit.course import MANIFEST, CourseError, assignments

NOTEBOOK = "90_doubling/90_doubling.ipynb"
OLD, NEW = {NOTEBOOK: b"old\n"}, {NOTEBOOK: b"new\n"}


@pytest.fixture
def exercises(tmp_path):
    """Return an `exercises/` folder that holds the release OLD."""
    folder = tmp_path / "exercises"
    _publish(folder, OLD, check_only=False)
    return folder


@pytest.fixture(scope="module")
def released_once(written_course, registry, tmp_path_factory):
    """Return a course that nbgrader has released, and what was reported; nobody may change it."""
    root = shutil.copytree(written_course, tmp_path_factory.mktemp("released") / "course")
    return root, release(root, lookup=registry)


@pytest.fixture
def released(released_once, tmp_path):
    """Return a copy of the released course that a test may change."""
    return shutil.copytree(released_once[0], tmp_path / "released")


def test_nbgrader_releases_and_leaves_nothing_else(released_once):
    course, report = released_once
    assert report.written == [NOTEBOOK, MANIFEST]
    assert assignments(course) == ("90_doubling",)
    text = (course / "exercises" / NOTEBOOK).read_text(encoding="utf-8")
    cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(text)["cells"]}
    assert cells["double"].endswith("    raise NotImplementedError()")
    assert cells["double-test"] == "# Graded with other numbers than those above."
    assert cells["why"] == "YOUR ANSWER HERE"
    assert text.endswith("}\n")
    assert not text.endswith("\n\n")
    # Neither the gradebook of the course nor the working folder is left behind.
    assert sorted(path.name for path in course.iterdir()) == [
        "_build",
        "exercises",
        "nbgrader_config.py",
        "solutions",
    ]
    assert [path.name for path in (course / "_build").iterdir()] == ["source"]


@pytest.mark.slow
def test_a_second_release_changes_nothing(released, registry):
    before = {path: path.read_bytes() for path in (released / "exercises").rglob("*.*")}
    report = release(released, lookup=registry)
    assert not report.changes
    assert report.unchanged == [NOTEBOOK]
    assert {path: path.read_bytes() for path in (released / "exercises").rglob("*.*")} == before


@pytest.mark.slow
def test_nbgrader_itself_writes_the_same_bytes(released):
    """An instructor registers the assignment with `nbgrader generate_assignment --force`."""
    from coursekit.authoring.nbgrader_command import nbgrader

    before = (released / "exercises" / NOTEBOOK).read_bytes()
    nbgrader(["generate_assignment", "90_doubling", "--force"], released)
    assert (released / "exercises" / NOTEBOOK).read_bytes() == before
    assert (released / "gradebook.db").is_file()


def test_a_leak_is_not_released(course, registry, monkeypatch):
    """A release in which the solutions were left standing is refused."""

    def forgetful(arguments, root):
        folder = next(a.partition("=")[2] for a in arguments if a.startswith("--course-dir="))
        subprocess.run(["cp", "-r", f"{folder}/source", f"{folder}/release"], check=True)

    monkeypatch.setattr("coursekit.authoring.releases.nbgrader", forgetful)
    with pytest.raises(CourseError, match=r"Not released: .* shows a hidden test of 90_doubling"):
        release(course, lookup=registry)
    assert not (course / "exercises").exists()


def test_another_run_that_ends_meanwhile_does_not_disturb(course, registry, monkeypatch):
    """Even one that leaves no source behind: what is secret is known, and what is right is released."""
    calls = []

    def with_another_run(arguments, root):
        calls.append(arguments)
        number = len(calls)
        if number == 1:
            assert release(course, lookup=registry).written == [NOTEBOOK, MANIFEST]
            shutil.rmtree(course / "_build" / "source")
        folder = next(a.partition("=")[2] for a in arguments if a.startswith("--course-dir="))
        shutil.copytree(f"{folder}/source", f"{folder}/release")
        path = Path(folder, "release", NOTEBOOK)
        if number != 1:  # the outer run of the first release forgets to take the solutions out
            path.write_text(path.read_text("utf-8").replace("once", "x").replace("mark(", "m("))

    monkeypatch.setattr("coursekit.authoring.releases.nbgrader", with_another_run)
    with pytest.raises(CourseError, match=r"Not released: .* shows a hidden test of 90_doubling"):
        release(course, lookup=registry)
    assert len(calls) == 2
    assert release(course, lookup=registry).unchanged == [NOTEBOOK]
    assert (course / "_build" / "source" / NOTEBOOK).is_file()
    assert [path.name for path in (course / "_build").iterdir()] == ["source"]
    shutil.rmtree(course / "_build" / "source")
    assert not release(course, check_only=True, lookup=registry).changes
    assert list((course / "_build").iterdir()) == []  # comparing writes nothing, there either


def test_publishing_replaces_what_was_released_before(exercises):
    assert _publish(exercises, NEW, check_only=False).written == [NOTEBOOK, MANIFEST]
    assert (exercises / NOTEBOOK).read_bytes() == b"new\n"
    assert not _publish(exercises, NEW, check_only=False).changes


def test_comparing_leaves_everything_as_it_is(exercises):
    report = _publish(exercises, NEW, check_only=True)
    assert report.changes
    assert (exercises / NOTEBOOK).read_bytes() == b"old\n"
    assert not _publish(exercises, OLD, check_only=True).changes


@pytest.mark.parametrize("check_only", [True, False])
def test_a_file_changed_by_hand_is_refused(exercises, check_only):
    (exercises / NOTEBOOK).write_bytes(b"mine\n")
    with pytest.raises(CourseError, match=r"changed or added by hand.*solutions/90_doubling\.py"):
        _publish(exercises, NEW, check_only=check_only)
    assert (exercises / NOTEBOOK).read_bytes() == b"mine\n"


def test_the_same_change_by_hand_and_in_the_source_is_no_conflict(exercises):
    (exercises / NOTEBOOK).write_bytes(b"new\n")
    assert _publish(exercises, NEW, check_only=False).unchanged == [NOTEBOOK]


def test_a_stray_file_is_refused(exercises):
    (exercises / "90_doubling" / "answers.txt").write_text("42", encoding="utf-8")
    with pytest.raises(CourseError, match=r"90_doubling/answers\.txt was changed or added by hand"):
        _publish(exercises, OLD, check_only=False)


def test_an_assignment_without_a_source_is_removed_and_neighbours_stay(exercises):
    checkpoint = exercises / "90_doubling" / ".ipynb_checkpoints" / "kept.ipynb"
    checkpoint.parent.mkdir()
    checkpoint.write_text("{}", encoding="utf-8")
    report = _publish(exercises, {"91_other/91_other.ipynb": b"x"}, check_only=False)
    assert report.removed == [NOTEBOOK]
    assert not (exercises / NOTEBOOK).exists()
    assert checkpoint.exists()
