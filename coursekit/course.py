"""Where a course folder is and which assignments it holds; nothing here opens a notebook."""

import os
from pathlib import Path

from coursekit.unknown import there_is_no

__all__ = ["MANIFEST", "CourseError", "assignment_named", "assignments", "course_root", "shown"]

MANIFEST = "released.json"
"""File in `exercises/` that records the digest of every released file."""


class CourseError(Exception):
    """Something a person can put right; the text is one sentence that says what and how."""


def course_root(start: Path | None = None) -> Path:
    """Find the course folder that `start` (default: the working directory) lies in.

    The search goes upwards, so commands work from `work/` too. Where it finds nothing, the folder
    that this package lies in is taken, if it is a course.

    Raises
    ------
    CourseError
        If neither is a course folder.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents, Path(__file__).resolve().parent.parent):
        if _is_course(folder):
            return folder
    raise CourseError(
        f"{here} does not lie in a course folder (one with exercises/{MANIFEST}): "
        "change into the folder of the course and type the command again."
    )


def _is_course(folder: Path) -> bool:
    released = folder / "exercises" / MANIFEST
    # Before the first release there is no manifest yet, but there are sources and a configuration.
    to_be_built = (folder / "solutions").is_dir() and (folder / "nbgrader_config.py").is_file()
    return released.is_file() or to_be_built


def assignments(root: Path) -> tuple[str, ...]:
    """Name the assignments released in `exercises/`, in the order of their chapters."""
    found = (root / "exercises").glob("[0-9][0-9]_*/*.ipynb")
    return tuple(sorted(path.stem for path in found if path.stem == path.parent.name))


def assignment_named(root: Path, name: str) -> str:
    """Return the released assignment that `name` means: `03_scores`, `03` or `3`.

    Raises
    ------
    CourseError
        If there is no such assignment; the sentence names the nearest and all there are.
    """
    known = assignments(root)
    number = name.zfill(2) if name.isdecimal() else None
    for assignment in known:
        if name == assignment or number == assignment.partition("_")[0]:
            return assignment
    if not known:
        raise CourseError(f"There is no assignment {name!r}, and no other: run `make exercises`.")
    sentence = there_is_no("assignment", name, known, "`ls exercises`")
    raise CourseError(f"{sentence[0].upper()}{sentence[1:]}.")


def shown(path: Path) -> str:
    """Write a path as a person would type it here: relative where it lies below the working folder."""
    try:
        # Links are left as they are: the name that was typed is the one to be read again.
        return str(Path(os.path.abspath(path)).relative_to(Path.cwd())) or "."
    except ValueError:
        return str(path)
