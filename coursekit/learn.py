"""A learner's own notebooks in `work/`: copied there once, never overwritten."""

import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coursekit.course import CourseError, assignments, shown
from coursekit.files import write_whole
from coursekit.notebooks import read_notebook

__all__ = [
    "Copy",
    "copy_assignments",
    "copy_fresh",
    "open_jupyterlab",
    "own_notebook",
    "released_notebook",
]


@dataclass(frozen=True)
class Copy:
    """What `coursekit learn` found or did for one assignment; `note` says what a learner might do."""

    assignment: str
    state: Literal["copied", "yours", "yours, newer release"]
    note: str = ""


def released_notebook(root: Path, assignment: str) -> Path:
    """Where the released notebook of an assignment is."""
    return root / "exercises" / assignment / f"{assignment}.ipynb"


def own_notebook(root: Path, assignment: str) -> Path:
    """Where a learner's own notebook of an assignment is, or will be."""
    return root / "work" / assignment / f"{assignment}.ipynb"


def copy_assignments(root: Path) -> tuple[Copy, ...]:
    """Copy each assignment that is not there yet to `work/`; leave those that are.

    Raises
    ------
    CourseError
        If nothing was released.
    """
    names = assignments(root)
    if not names:
        raise CourseError(f"{shown(root / 'exercises')} holds no exercises: run `make exercises`.")
    return tuple(_copied(root, name) for name in names)


def _copied(root: Path, assignment: str) -> Copy:
    released, own = released_notebook(root, assignment), own_notebook(root, assignment)
    if not own.exists():
        _copy_new(released, own)
        return Copy(assignment, "copied", f"to {shown(own)}")
    try:
        behind = _release(own) != _release(released)
    except CourseError as error:
        return Copy(assignment, "yours", str(error))
    if behind:
        number = assignment.partition("_")[0]
        note = f"`coursekit fresh {number}` puts the newer one beside yours"
        return Copy(assignment, "yours, newer release", note)
    return Copy(assignment, "yours", "left as it is")


def _release(path: Path) -> object:
    """Return the digest that a notebook was released with."""
    about = read_notebook(path).get("metadata", {}).get("coursekit")
    return about.get("release") if isinstance(about, dict) else None


def copy_fresh(root: Path, assignment: str) -> Path:
    """Write the released notebook beside a learner's own, as `NN_topic.new.ipynb`.

    Raises
    ------
    CourseError
        If that file is there already.
    """
    target = own_notebook(root, assignment).with_suffix(".new.ipynb")
    if target.exists():
        raise CourseError(
            f"{shown(target)} is there already and is not overwritten: rename or delete it first."
        )
    _copy_new(released_notebook(root, assignment), target)
    return target


def _copy_new(source: Path, target: Path) -> None:
    try:
        # Never over a learner's own file, whoever made it in between.
        write_whole(target, source.read_bytes(), overwrite=False)
    except OSError as error:
        raise CourseError(
            f"{shown(target)} could not be written: {error.strerror}. Nothing half-written was left; "
            "put that right and type the command again."
        ) from None


def open_jupyterlab(root: Path) -> int:
    """Open JupyterLab on `work/` and return its exit status when it ends.

    Raises
    ------
    CourseError
        If JupyterLab is not installed.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise CourseError("JupyterLab is not installed here: `python -m pip install jupyterlab`.")
    # In the same interpreter, so that notebooks find the packages of this course.
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root / 'work'}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # in a container there is often no other user
    try:
        return subprocess.call(command)
    except KeyboardInterrupt:
        return 0
