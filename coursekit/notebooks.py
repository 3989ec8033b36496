"""Reading a learner's notebook with care: every damaged file becomes one sentence, nothing is written.

Plain JSON, so that a check needs neither nbformat nor nbgrader. What the cells mean (which exercise
an answer belongs to, which helper cells it uses) stands in their metadata.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from coursekit.course import CourseError, shown
from coursekit.unknown import nearest

__all__ = [
    "Answer",
    "Written",
    "answers_of",
    "assignment_of",
    "grade_id",
    "read_notebook",
    "source_of",
]

LARGEST = 50 * 2**20  # bytes; a notebook of this course has about 50 kB


@dataclass(frozen=True)
class Answer:
    """One answer cell, and name and source of the helper cells it needs.

    `blank` says that the cell is as it was released, so that it need not be run.
    """

    exercise: str
    grade_id: str
    source: str
    helpers: tuple[tuple[str, str], ...]
    blank: bool = False


@dataclass(frozen=True)
class Written:
    """One answer in words, which a person marks."""

    grade_id: str
    points: float
    blank: bool


def read_notebook(path: Path) -> dict:
    """Return the notebook in `path` as plain dictionaries.

    Raises
    ------
    CourseError
        If the file is missing, a folder, unreadable, empty, not UTF-8, not JSON, in conflict, not a
        notebook, or in an old format. The sentence names the cause and the remedy.
    """
    name = shown(path)
    text = _text(path, name)
    for number, line in enumerate(text.splitlines(), start=1):
        # At the start of a line: inside a cell the text stands behind a quotation mark.
        if line.startswith(("<<<<<<< ", ">>>>>>> ")):
            raise CourseError(
                f"{name} holds an unfinished merge (line {number} reads {line[:24]!r}): finish or "
                "abort the merge in git, or take a fresh copy with `coursekit fresh`."
            )
    try:
        notebook = json.loads(text)
    except json.JSONDecodeError as error:
        cut = text.lstrip().startswith("{") and not text.rstrip().endswith("}")
        cause = "breaks off in the middle" if cut else "is not a notebook"
        raise CourseError(
            f"{name} {cause} (no JSON at line {error.lineno}): name a file that ends in .ipynb, save "
            "it again in Jupyter, or take a fresh copy with `coursekit fresh`."
        ) from None
    except ValueError:  # a number of thousands of digits, which Python does not read
        raise CourseError(
            f"{name} holds numbers that no notebook has: name another file."
        ) from None
    except RecursionError:
        raise CourseError(
            f"{name} is nested too deeply to be a notebook: name another file."
        ) from None
    return _validated(notebook, name)


def _text(path: Path, name: str) -> str:
    """Return the content of a file that may be anything at all."""
    try:
        if path.is_dir():
            inside = sorted(path.glob("*.ipynb"))
            instead = f"name the file in it: {shown(inside[0])}" if inside else "name a notebook"
            raise CourseError(f"{name} is a folder: {instead}.")
        if not path.exists():
            others = {*path.parent.glob("*.ipynb"), *Path("work").glob("*/*.ipynb")}
            near = nearest(name, sorted(map(shown, others)))
            raise CourseError(
                f"There is no file {name}{'; near: ' * bool(near)}{', '.join(near)}: check the path, "
                "or get the notebooks with `coursekit learn`."
            )
        if not path.is_file():
            raise CourseError(f"{name} is not an ordinary file: name a notebook.")
        size = path.stat().st_size
        if size > LARGEST:
            raise CourseError(
                f"{name} has {size / 2**20:.0f} MiB, a notebook of this course far less than 1: clear "
                "its outputs in Jupyter (Edit, Clear Outputs of All Cells) and save it."
            )
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CourseError(f"{name} cannot be read ({reason}): check its name and rights.") from None
    if not content.strip():
        raise CourseError(f"{name} is empty: take a fresh copy with `coursekit fresh`.")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:4]:
        raise CourseError(f"{name} is UTF-16 text, a notebook is UTF-8: save it as UTF-8.")
    if content.startswith(b"\xef\xbb\xbf"):
        raise CourseError(
            f"{name} starts with a byte order mark, which Jupyter and nbgrader do not read: save it "
            "as UTF-8 without one."
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CourseError(
            f"{name} is not UTF-8 text (byte {error.start}), so it is not a notebook: name a file "
            "that ends in .ipynb."
        ) from None


def _validated(notebook: object, name: str) -> dict:
    """Return `notebook` if it has the shape of a version 4 notebook."""
    if not isinstance(notebook, dict) or "nbformat" not in notebook:
        raise CourseError(f"{name} is JSON, but not a notebook: name a file that Jupyter wrote.")
    version = notebook["nbformat"]
    if version != 4:
        raise CourseError(
            f"{name} is in notebook format {repr(version)[:20]}, this course reads format 4: open it in Jupyter "
            "and save it, or convert it with `jupyter nbconvert --to notebook`."
        )
    cells = notebook.get("cells")
    well_formed = isinstance(cells, list) and all(
        isinstance(cell, dict)
        and isinstance(cell.get("cell_type"), str)
        and isinstance(cell.get("metadata", {}), dict)
        and _is_source(cell.get("source"))
        for cell in cells
    )
    if not well_formed or not isinstance(notebook.get("metadata", {}), dict):
        raise CourseError(
            f"{name} calls itself a notebook, but its cells are damaged: open and save it in Jupyter, "
            "or take a fresh copy with `coursekit fresh`."
        )
    if not cells:
        raise CourseError(f"{name} has no cells: take a fresh copy with `coursekit fresh`.")
    return notebook


def _is_source(source: object) -> bool:
    return isinstance(source, str) or (
        isinstance(source, list) and all(isinstance(line, str) for line in source)
    )


def source_of(cell: dict) -> str:
    """Return the text of a cell, which the format stores as a string or as a list of lines."""
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def _nbgrader(cell: dict) -> dict:
    metadata = cell.get("metadata", {}).get("nbgrader")
    return metadata if isinstance(metadata, dict) else {}


def _coursekit(holder: dict) -> dict:
    metadata = holder.get("metadata", {}).get("coursekit")
    return metadata if isinstance(metadata, dict) else {}


def grade_id(cell: dict) -> str | None:
    """Return nbgrader's name of a cell, or None for an ordinary cell."""
    identifier = _nbgrader(cell).get("grade_id")
    return identifier if isinstance(identifier, str) and identifier else None


def assignment_of(notebook: dict, path: Path) -> str:
    """Return the assignment that a notebook says it is.

    Raises
    ------
    CourseError
        If it does not say so.
    """
    assignment = _coursekit(notebook).get("assignment")
    if not isinstance(assignment, str):
        raise CourseError(
            f"{shown(path)} is a notebook, but does not say that it is an assignment of this course: "
            "name one that `coursekit learn` copied to work/, or, if another program has removed its "
            "metadata, take a fresh copy with `coursekit fresh` and paste your answers into it."
        )
    return assignment


def answers_of(
    notebook: dict, path: Path, released: dict
) -> tuple[tuple[Answer, ...], tuple[Written, ...]]:
    """Return the answers in a learner's notebook, in the order of the released one.

    Only the text of the answers comes from the learner. What belongs to what, and the locked helper
    cells, are taken from `released`, as grading takes them.

    Raises
    ------
    CourseError
        If a named cell of the release is missing, there twice, or of another type.
    """
    name = shown(path)
    places: dict[str, int] = {}
    counts = Counter(filter(None, map(grade_id, notebook["cells"])))
    for position, cell in enumerate(notebook["cells"], start=1):
        identifier = grade_id(cell)
        if identifier is None:
            continue
        if counts[identifier] > 1 and identifier in places:
            raise CourseError(
                f"{name} has the cell {identifier!r} {counts[identifier]} times (cells "
                f"{places[identifier]} and {position}): keep one of them and delete the other."
            )
        places[identifier] = position
    number = assignment_of(released, path).partition("_")[0]
    required = [identifier for cell in released["cells"] if (identifier := grade_id(cell))]
    missing = [identifier for identifier in required if identifier not in places]
    if missing:
        listed = ", ".join(missing[:3]) + (
            f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        )
        raise CourseError(
            f"{name} lacks the cell{'s' * (len(missing) > 1)} {listed}: take a fresh copy with "
            f"`coursekit fresh {number}` and paste your answers into it."
        )

    for cell in released["cells"]:
        if (identifier := grade_id(cell)) is None:
            continue
        wanted, found = cell["cell_type"], notebook["cells"][places[identifier] - 1]["cell_type"]
        if found != wanted:
            raise CourseError(
                f"{name} has {identifier} (cell {places[identifier]}) as a {found} cell, which should "
                f"be a {wanted} cell: select it in Jupyter, press {'Y' if wanted == 'code' else 'M'}, "
                "and save."
            )

    given = {grade_id(cell): source_of(cell) for cell in released["cells"]}
    answers, written = [], []
    for cell in released["cells"]:
        identifier, about = grade_id(cell), _nbgrader(cell)
        if not about.get("solution"):
            continue
        source = source_of(notebook["cells"][places[identifier] - 1])
        exercise = _coursekit(cell).get("exercise")
        blank = source.strip() in ("", given[identifier].strip())
        if exercise:
            helpers = tuple((name, given[name]) for name in _coursekit(cell).get("helpers", ()))
            answers.append(Answer(exercise, identifier, source, helpers, blank))
        elif about.get("grade"):
            written.append(Written(identifier, about["points"], blank))
    return tuple(answers), tuple(written)
