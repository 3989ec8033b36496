"""Looking through what learners handed in: whose work nbgrader will not grade, or has not, and why.

nbgrader itself says so in pages of traceback, and exports 0 for whoever it could not grade. Nothing
of a learner is run here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from coursekit.course import CourseError, assignments, shown
from coursekit.learn import released_notebook
from coursekit.notebooks import answers_of, assignment_of, read_notebook

__all__ = ["Look", "look_through"]


@dataclass(frozen=True)
class Look:
    """What was seen of one learner's submission; `sentence` is empty where all is well."""

    student: str
    assignment: str
    sentence: str = ""


def look_through(root: Path, only: tuple[str, ...] = ()) -> list[Look]:
    """Look at every submission, by assignment and learner.

    Parameters
    ----------
    only : tuple of str
        Released assignments; by default those that anybody handed in.

    Raises
    ------
    CourseError
        If nobody has handed in anything that nbgrader would find.
    """
    folder = root / "submitted"
    students = sorted(
        path.name for path in folder.glob("*") if path.is_dir() and path.name[0] != "."
    )
    if not students:
        raise CourseError(
            f"{shown(folder)} holds nothing: put what learners hand in at "
            f"{shown(folder)}/STUDENT/03_scores/03_scores.ipynb, a folder for each learner."
        )
    released = assignments(root)
    wanted = only or tuple(name for name in released if any(folder.glob(f"*/{name}")))
    if not wanted:
        found = [path for student in students for path in (folder / student).iterdir()]
        raise CourseError(
            f"nbgrader finds nothing in {shown(folder)}: {_there_is(found)}, but it looks for the name of "
            f"a released assignment, such as {shown(folder)}/{students[0]}/{(*released, 'NN_topic')[0]}."
        )
    return [
        Look(student, assignment, _seen(root, student, assignment))
        for assignment in wanted
        for student in students
    ]


def _seen(root: Path, student: str, assignment: str) -> str:
    folder = root / "submitted" / student / assignment
    path = folder / f"{assignment}.ipynb"
    if not folder.is_dir():
        known = assignments(root)
        strange = [
            other for other in folder.parent.iterdir() if other.name not in known or other.is_file()
        ]
        return "not handed in" + (f"; {_there_is(strange)}" if strange else "")
    if path.is_dir() or (path.is_symlink() and not path.exists()):
        return f"{path.name} is {'a folder' if path.is_dir() else 'a link to nothing'}, no notebook"
    if not path.is_file():
        return f"no {path.name}, the only name that nbgrader takes; {_there_is(folder.iterdir())}"
    try:
        notebook = read_notebook(path)
        is_of = assignment_of(notebook, path)
        if is_of != assignment:
            return f"this is the notebook of {is_of}"
        answers_of(notebook, path, read_notebook(released_notebook(root, assignment)))
    except CourseError as error:
        return str(error)
    if _anybody_graded(root, assignment) and not _graded(root, student, assignment):
        return (
            "handed in, but not graded, as others are: if nbgrader is done, then most likely a cell "
            "of it ended Python (quit(), os._exit, too much memory). nbgrader exports 0 for it, or an "
            "earlier mark"
        )
    return ""


def _there_is(paths: Iterable[Path]) -> str:
    """Name a few of the files and folders that lie where others were looked for."""
    names = sorted({path.name for path in paths if path.name[0] != "."})
    return f"there is {', '.join(map(repr, names[:3]))}" if names else "the folder is empty"


def _anybody_graded(root: Path, assignment: str) -> bool:
    return any((root / "autograded").glob(f"*/{assignment}/{assignment}.ipynb"))


def _graded(root: Path, student: str, assignment: str) -> bool:
    # nbgrader removes this file where grading fails, but leaves an earlier mark in the gradebook.
    return (root / "autograded" / student / assignment / f"{assignment}.ipynb").is_file()
