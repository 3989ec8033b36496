"""Writing what an instructor hands out: the exercises and what they need, nothing of the solutions."""

import json
import re
import shutil
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

from coursekit.authoring.compaction import compact_mistakes
from coursekit.authoring.leaks import find_leaks
from coursekit.authoring.sources import build_sources
from coursekit.course import CourseError, shown

__all__ = ["write_student_copy"]

TEMPLATES = Path(__file__).parent / "student"
COPIED = (
    "exercises",
    "attnkit",
    "coursekit/__init__.py",
    "coursekit/answer_child.py",
    "coursekit/answers.py",
    "coursekit/checks",  # with known mistakes: to recognise one, the check computes it
    "coursekit/cli.py",
    "coursekit/course.py",
    "coursekit/files.py",
    "coursekit/learn.py",
    "coursekit/notebooks.py",
    "coursekit/unknown.py",
    "constraints.txt",
    "LICENSE",
    "LICENSE-TEXT",
)
NEEDED = {"torch", "matplotlib", "pylopdf-fonts-zh-cn", "babel", "jupyterlab", "typer", "rich"}


def write_student_copy(root: Path, folder: Path, lookup: Callable | None = None) -> int:
    """Write the student copy of the course in `root` to `folder`; return the number of its files.

    The copy is made beside `folder`, searched for leaks, and only then moved to its place.

    Raises
    ------
    CourseError
        If `folder` is not empty or in a place where a copy does not belong, or if a solution leaks.
    """
    folder = folder.resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CourseError(f"{shown(folder)} is there and not empty: name a new folder.")
    if folder.is_relative_to(root) and not folder.is_relative_to(root / "_build"):
        raise CourseError(
            f"{shown(folder)} lies in the course itself: name a folder outside of it, or one in _build/."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    copy = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    sources = Path(tempfile.mkdtemp(prefix="sources-"))
    try:
        build_sources(root, sources, lookup)
        for name in COPIED:
            _copy(root / name, copy / name)
        for path in (copy / "coursekit" / "checks").rglob("*.py"):
            path.write_text(compact_mistakes(path.read_text(encoding="utf-8")), encoding="utf-8")
        (copy / "README.md").write_bytes((TEMPLATES / "README.template").read_bytes())
        (copy / "pyproject.toml").write_text(_pyproject(root), encoding="utf-8")
        (copy / ".gitignore").write_text(".venv/\nwork/\n*.egg-info/\n", encoding="utf-8")
        # The library is the oracle, and handed out whole: it is not searched.
        places = [path for path in sorted(copy.iterdir()) if path.name != "attnkit"]
        leaks = find_leaks(root, places, sources)
        if leaks:
            raise CourseError(
                "\n".join(f"No copy was written: {leak}.".replace(f"{copy}/", "") for leak in leaks)
            )
        copy.chmod(0o755)  # mkdtemp closes a folder to everybody else
        if folder.exists():
            folder.rmdir()
        copy.rename(folder)
    finally:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.rmtree(sources, ignore_errors=True)
    return sum(path.is_file() for path in folder.rglob("*"))


def _copy(source: Path, target: Path) -> None:
    if not source.exists():
        raise CourseError(f"{shown(source)} is missing, and belongs into the student copy.")
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    else:
        shutil.copyfile(source, target)


def _pyproject(root: Path) -> str:
    """Fill in the student's `pyproject.toml` from the course's own, so that versions cannot differ."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [need for needs in project["optional-dependencies"].values() for need in needs]
    learn = sorted({need for need in extras if re.split(r"[^A-Za-z0-9-]", need)[0] in NEEDED})
    values = {
        "name": project["name"],
        "version": project["version"],
        "python": project["requires-python"],
        # JSON lists of plain strings are TOML lists too.
        "dependencies": json.dumps(project["dependencies"]),
        "learn": json.dumps(learn),
    }
    text = (TEMPLATES / "pyproject.template").read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return text
