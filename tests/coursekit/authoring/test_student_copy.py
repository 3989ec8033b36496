"""What an instructor hands out: it works by itself, and holds nothing of the solutions."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from coursekit.authoring.leaks import find_leaks
from coursekit.authoring.sources import build_sources
from coursekit.authoring.student_copy import COPIED, write_student_copy
from coursekit.checks import exercise, exercises
from coursekit.course import CourseError

PROJECT = Path(__file__).resolve().parents[3]
LINKED = {"solutions", "book", "pyproject.toml"} | {name.partition("/")[0] for name in COPIED}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return the project's own files with a `_build` of their own."""
    root = tmp_path_factory.mktemp("course")
    for name in LINKED:
        (root / name).symlink_to(PROJECT / name)
    return root


@pytest.fixture(scope="module")
def student(project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("handed out") / "course"
    count = write_student_copy(project, folder)
    assert count == sum(path.is_file() for path in folder.rglob("*"))
    return folder


def alone(folder, *arguments):
    """Run Python with the packages in `folder` and those installed, but none of ours but these."""
    # Without `-S` the editable installation would lend the copy what it lacks.
    installed = [path for path in sys.path if path.endswith("site-packages")]
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join((str(folder), *installed)), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )


def coursekit(folder, *arguments):
    return alone(folder, "-m", "coursekit.cli", *arguments)


def test_what_is_in_it_and_what_is_not(student):
    names = {path.name for path in student.iterdir()}
    assert names == {
        ".gitignore", "LICENSE", "LICENSE-TEXT", "README.md", "attnkit", "constraints.txt",
        "coursekit", "exercises", "pyproject.toml",
    }  # fmt: skip
    packages = {path.name for path in (student / "coursekit").iterdir() if path.is_dir()}
    assert packages == {"checks"}
    assert not list(student.rglob("__pycache__"))
    assert not list(student.rglob("solutions"))


def test_its_pyproject_is_filled_in(student):
    project = tomllib.loads((student / "pyproject.toml").read_text("utf-8"))["project"]
    ours = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == ours["requires-python"]
    learn = " ".join(project["optional-dependencies"]["learn"])
    assert all(name in learn for name in ("torch", "jupyterlab", "typer", "rich", "matplotlib"))
    assert not any(name in learn for name in ("nbgrader", "jupytext", "pytest", "attnkit"))


def test_only_the_copy_is_imported_and_authoring_is_absent(student):
    code = (
        "import coursekit, attnkit, importlib.util as u; print(coursekit.__file__, attnkit.__file__);"
        "print([n for n in ('authoring', 'simulate', 'site') if u.find_spec('coursekit.' + n)])"
    )
    ended = alone(student, "-c", code)
    files, absent = ended.stdout.splitlines()
    assert files.count(str(student)) == 2
    assert absent == "[]"
    assert coursekit(student, "exercises").returncode == 2
    assert "student-copy" not in coursekit(student, "--help").stdout


def test_a_check_in_it_passes_and_fails(student):
    assert coursekit(student, "learn", "--no-open").returncode == 0
    own = student / "work" / "03_scores" / "03_scores.ipynb"
    notebook = json.loads(own.read_text("utf-8"))
    mistake = exercise("03.general_scores").mistakes[0]
    answers = {
        "scores-by-hand": "def scores_by_hand():\n    return np.array([2.0, 1.0, 3.0])",
        "general-scores": mistake.as_answer("general_scores"),
    }
    for cell in notebook["cells"]:
        if cell["id"] in answers:
            cell["source"] = answers[cell["id"]]
    own.write_text(json.dumps(notebook), encoding="utf-8")
    ended = coursekit(student, "check", str(own))
    assert ended.returncode == 1
    assert ended.stderr == ""
    assert ended.stdout.count("passes") == 1
    assert mistake.name in " ".join(ended.stdout.split())


def test_a_folder_with_something_in_it_is_refused(project, tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(CourseError, match="is there and not empty"):
        write_student_copy(project, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_copy_inside_of_the_course_is_refused(project):
    with pytest.raises(CourseError, match="lies in the course itself"):
        write_student_copy(project, project / "handout")


def test_a_copy_that_leaks_is_not_written(project, tmp_path, monkeypatch):
    """A README that quotes a hidden test is noticed, and no half-written folder stays."""
    templates = tmp_path / "templates"
    templates.mkdir()
    pasted = 'mark("03.scores_by_hand", scores_by_hand, points=2)'
    (templates / "README.template").write_text(f"The test is:\n{pasted}\n", encoding="utf-8")
    (templates / "pyproject.template").write_text("", encoding="utf-8")
    monkeypatch.setattr("coursekit.authoring.student_copy.TEMPLATES", templates)
    with pytest.raises(CourseError, match=r"No copy was written: README\.md shows a hidden test"):
        write_student_copy(project, tmp_path / "handout")
    assert [path.name for path in tmp_path.iterdir()] == ["templates"]


def test_neither_exercises_nor_the_built_site_leak(project, tmp_path):
    """The site is searched where it has been built: pages, downloads, sources, search index."""
    places = [PROJECT / "exercises", PROJECT / "_build" / "html"]
    build_sources(project, tmp_path)
    assert find_leaks(project, places, tmp_path) == []


@pytest.mark.slow
def test_every_known_mistake_is_still_recognised_in_it(student):
    """Compacted functions give the same results: each is named as `test_bank.py` asks of ours."""
    code = (
        "from coursekit.checks import exercises\n"
        "from coursekit.checks.engine import examine\n"
        "for entry in exercises():\n"
        "    for mistake in entry.mistakes:\n"
        "        found = examine(entry, mistake.function, 0).mistake\n"
        "        print(entry.identifier, mistake.name, found and found.name, sep='|')\n"
    )

    ended = alone(student, "-c", code)
    assert ended.returncode == 0, ended.stderr
    ours = [
        f"{entry.identifier}|{mistake.name}|{mistake.same_as or mistake.name}"
        for entry in exercises()
        for mistake in entry.mistakes
    ]
    assert len(ours) > 100
    assert ended.stdout.splitlines() == ours
