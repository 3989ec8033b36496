"""Text sources to source notebooks: `solutions/NN_topic.py` becomes `NN_topic/NN_topic.ipynb`.

The same text gives the same bytes: cell ids, metadata and order of keys are all derived from it.
What is wrong in a source is found here, before nbgrader sees it, and said in one sentence each.
"""

import ast
import hashlib
import re
import shutil
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from coursekit.course import CourseError
from coursekit.files import write_whole
from coursekit.notebooks import grade_id
from coursekit.unknown import there_is_no

__all__ = [
    "SourceError",
    "build_sources",
    "defines",
    "mark_calls",
    "read_source",
    "read_sources",
    "regions",
    "solved",
    "to_json",
    "write_sources",
]

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
SOLUTION = ("### BEGIN SOLUTION", "### END SOLUTION")
HIDDEN_TESTS = ("### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")
HEADING = re.compile(r"^#{2,3} +(?:\d+[a-z]?\. +)?(.+?) *$", re.MULTILINE)
PLACEHOLDER = re.compile(r"\{\{\s*exercise\s+([^\s}]+)\s*\}\}")
ASSIGNMENT = re.compile(r"[0-9]{2}_[a-z0-9_]+")
CELL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class SourceError(CourseError):
    """What is wrong in the sources, a sentence a line."""


def build_sources(root: Path, folder: Path, lookup: Callable | None = None) -> tuple[str, ...]:
    """Write the source notebook of every assignment into `folder`; return their names.

    Raises
    ------
    SourceError
        If a source is wrong; nothing is written then.
    """
    notebooks = read_sources(root, lookup)
    write_sources(notebooks, folder)
    return tuple(notebooks)


def read_sources(root: Path, lookup: Callable | None = None) -> dict[str, str]:
    """Return the source notebook of every assignment of `root`, as text, by name.

    Parameters
    ----------
    lookup : callable, optional
        Returns the exercise with a given identifier or raises LookupError; the registry by default.

    Raises
    ------
    SourceError
        If there is no source, or one is wrong.
    """
    sources = sorted((root / "solutions").glob("*.py"))
    if not sources:
        raise SourceError(f"{root / 'solutions'} holds no NN_topic.py: there is nothing to build.")
    notebooks, problems = {}, []
    for path in sources:
        try:
            notebooks[path.stem] = to_json(read_source(path, lookup))
        except SourceError as error:
            problems.append(str(error))
    if problems:
        raise SourceError("\n".join(problems))
    return notebooks


def write_sources(notebooks: dict[str, str], folder: Path) -> None:
    """Bring `folder` to these notebooks and nothing else; each is there whole at any moment.

    The folder is never emptied, so that whoever reads in it meanwhile finds everything.
    """
    wanted = {folder / name / f"{name}.ipynb": text for name, text in notebooks.items()}
    for path, text in wanted.items():
        write_whole(path, text.encode("utf-8"))
    # A renamed assignment goes, and what lies beside a notebook: nbgrader would release it, too.
    for path in (*folder.glob("*"), *folder.glob("*/*")):
        if path in wanted or path.name in notebooks or path.name.startswith("."):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def read_source(path: Path, lookup: Callable | None = None) -> NotebookNode:
    """Return the source notebook that the text in `path` describes.

    Raises
    ------
    SourceError
        If anything is wrong in it: one sentence a problem, each with file and cell.
    """
    if lookup is None:
        from coursekit.checks import exercise as lookup
    assignment = path.stem
    if not ASSIGNMENT.fullmatch(assignment):
        raise SourceError(f"{path.name} is no name for an assignment: call it NN_topic.py.")
    try:
        text = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    except (ValueError, nbformat.ValidationError) as error:
        raise SourceError(
            f"{path.name} cannot be read as py:percent text: {str(error).splitlines()[0]}."
        ) from None
    problems = list(_problems(path.name, assignment, text.cells, lookup))
    if problems:
        raise SourceError("\n".join(problems))
    cells = [
        _cell(cell, assignment, position, lookup)
        for position, cell in enumerate(text.cells, start=1)
    ]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=METADATA)
    notebook.nbformat_minor = 5
    notebook.metadata["coursekit"] = {"assignment": assignment, "release": _release_of(cells)}
    nbformat.validate(notebook)
    return notebook


def _cell(cell: NotebookNode, assignment: str, position: int, lookup: Callable) -> NotebookNode:
    """Return the cell with its place filled in and nothing random or irrelevant left in it."""
    kept = {
        key: cell.metadata[key] for key in ("nbgrader", "coursekit", "tags") if key in cell.metadata
    }
    asked = [lookup(name) for name in PLACEHOLDER.findall(cell.source)]
    source = PLACEHOLDER.sub(lambda match: _size(lookup(match[1])), cell.source)
    # Hints come after the question, not between it and its heading.
    source = "\n\n".join([source, *map(_hints, asked)])
    make = {
        "code": nbformat.v4.new_code_cell,
        "markdown": nbformat.v4.new_markdown_cell,
        "raw": nbformat.v4.new_raw_cell,
    }[cell.cell_type]
    identifier = grade_id(cell) or f"{assignment}-{position:03d}"
    return make(source=source, metadata=kept, id=identifier)


def _size(exercise) -> str:
    """Return the line below the heading of an exercise."""
    stars = "★" * exercise.difficulty + "☆" * (3 - exercise.difficulty)
    points = f"{exercise.points:g} point" + "s" * (exercise.points != 1)
    return (
        f"**{points}** · difficulty {stars} ({exercise.difficulty} of 3) · about "
        f"{exercise.minutes} minutes"
    )


def _hints(exercise) -> str:
    """Return the hints of an exercise, folded, each inside the one before."""
    lines = []
    for number, hint in enumerate(exercise.hints, start=1):
        # The blank lines make Markdown render inside the HTML.
        lines += [
            f"<details><summary>Hint {number} of {len(exercise.hints)}</summary>",
            "",
            hint,
            "",
        ]
    return "\n".join([*lines, "</details>" * len(exercise.hints)])


def to_json(notebook: NotebookNode) -> str:
    """Write a notebook as nbformat does, with a closing line break."""
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def regions(source: str, markers: tuple[str, str]) -> list[list[str]]:
    """Return the lines of each region of `source` that stands between the two markers."""
    found: list[list[str]] = []
    inside = False
    for line in source.splitlines():
        if markers[0] in line:
            found.append([])
            inside = True
        elif markers[1] in line:
            inside = False
        elif inside:
            found[-1].append(line)
    return found


def solved(source: str) -> str:
    """Return a cell's text with the solution in it and the markers left out."""
    return "\n".join(
        line for line in source.splitlines() if not any(marker in line for marker in SOLUTION)
    )


def _release_of(cells: list[NotebookNode]) -> str:
    """Return a short digest of what learners will see; a changed solution alone does not change it."""
    digest = hashlib.sha256()
    for cell in cells:
        visible, hidden = [], False
        for line in cell.source.splitlines():
            hidden |= line.strip() in (SOLUTION[0], HIDDEN_TESTS[0])
            if not hidden:
                visible.append(line)
            hidden &= line.strip() not in (SOLUTION[1], HIDDEN_TESTS[1])
        content = (cell.cell_type, cell.id, repr(sorted(cell.metadata.items())), *visible)
        digest.update("\n".join(content).encode() + b"\0")
    return digest.hexdigest()[:12]


def _problems(file: str, assignment: str, cells: list, lookup: Callable) -> Iterator[str]:
    """Yield a sentence for everything that is wrong in a source."""
    if not cells:
        yield f"{file} has no cells."
    names: dict[str, int] = {}
    answers: dict[str, str] = {}
    headings: list[str] = []
    marked: dict[str, float] = {}

    def known(identifier: str, place: str) -> Iterator[str]:
        try:
            exercise = lookup(identifier)
        except LookupError as error:
            yield f"{place}: {error.args[0]}."
            return
        if exercise.assignment != assignment:
            yield f"{place}: exercise {identifier!r} belongs to {exercise.assignment}, not here."

    def titled(identifier: str, source: str, place: str) -> Iterator[str]:
        # Tables of results show the title: a learner must find the same words in the notebook.
        title = lookup(identifier).title
        above = HEADING.findall(source[: PLACEHOLDER.search(source).start()])
        if above[-1:] != [title]:
            came = f"the heading is {above[-1]!r}" if above else "there is no heading"
            yield f"{place}: {came}, the registry calls {identifier!r} {title!r}."

    for position, cell in enumerate(cells, start=1):
        name = grade_id(cell)
        about = cell.metadata.get("nbgrader", {})
        place = f"{file}, cell {position}" + (f" ({name})" if name else "")
        if name:
            if not CELL_NAME.fullmatch(name):
                yield f"{place}: a grade_id has letters, digits, - and _ only, 64 at most."
            if name in names:
                yield f"{place}: the grade_id {name!r} is taken by cell {names[name]} already."
            names.setdefault(name, position)
        elif about:
            yield f"{place}: the nbgrader metadata has no grade_id."
        yield from _unbalanced(place, cell.source)
        for identifier in PLACEHOLDER.findall(cell.source):
            wrong = list(known(identifier, place))
            yield from wrong or titled(identifier, cell.source, place)
            headings.append(identifier)
        if "{{" in PLACEHOLDER.sub("", cell.source) and cell.cell_type == "markdown":
            yield f"{place}: '{{{{' that is no {{{{exercise IDENTIFIER}}}} line: mend or remove it."
        if regions(cell.source, SOLUTION) and not about.get("solution"):
            yield f"{place}: a solution stands in a cell that is not marked as a solution."
        if regions(cell.source, HIDDEN_TESTS) and not about.get("grade"):
            yield f"{place}: hidden tests stand in a cell that is not marked as graded."
        if about.get("solution") and cell.cell_type == "code":
            identifier = cell.metadata.get("coursekit", {}).get("exercise")
            if identifier is None:
                yield f"{place}: an answer cell says in its metadata which exercise it is: coursekit={{...}}."
                continue
            if identifier in answers:
                yield f"{place}: exercise {identifier!r} has its answer in {answers[identifier]!r} already."
            wrong = list(known(identifier, place))
            yield from wrong
            yield from _wrong_answer_cell(place, cell, names, cells)
            if not wrong and lookup(identifier).answer not in _defined(solved(cell.source)):
                yield f"{place}: the solution does not define {lookup(identifier).answer!r}."
            answers.setdefault(identifier, name)
        if about.get("grade") and cell.cell_type == "code":
            if not isinstance(about.get("points"), int | float):
                yield f"{place}: a graded cell has points."
                continue
            calls = list(
                mark_calls("\n".join(chain.from_iterable(regions(cell.source, HIDDEN_TESTS))))
            )
            if len(calls) != 1:
                yield f"{place}: a graded cell calls mark() once, in its hidden tests."
                continue
            identifier, points = calls[0]
            wrong = list(known(identifier, place))
            yield from wrong
            if not wrong and identifier not in answers:
                yield f"{place}: exercise {identifier!r} has no answer cell above."
            if points != about["points"]:
                yield f"{place}: mark() gives {points} points, the cell has {about['points']}."
            marked[identifier] = marked.get(identifier, 0) + about["points"]
    for identifier, name in answers.items():
        if headings.count(identifier) != 1:
            yield (
                f"{file}: exercise {identifier!r} has {headings.count(identifier)} lines "
                f"{{{{exercise {identifier}}}}}, it needs one."
            )
        if identifier not in marked:
            yield f"{file}: exercise {identifier!r} (cell {name!r}) has no graded cell."
        elif not list(known(identifier, "")) and marked[identifier] != lookup(identifier).points:
            yield (
                f"{file}: the graded cells of {identifier!r} have {marked[identifier]} points, the "
                f"registry says {lookup(identifier).points}."
            )


def _unbalanced(place: str, source: str) -> Iterator[str]:
    for markers in (SOLUTION, HIDDEN_TESTS):
        begins, ends = (source.count(marker) for marker in markers)
        if begins != ends:
            yield f"{place}: {begins} times {markers[0]!r}, but {ends} times {markers[1]!r}."


def _wrong_answer_cell(place: str, cell, names: dict[str, int], cells: list) -> Iterator[str]:
    solution = regions(cell.source, SOLUTION)
    if not any(line.strip() for region in solution for line in region):
        yield f"{place}: the answer cell has no solution between {SOLUTION[0]!r} and {SOLUTION[1]!r}."
    for helper in cell.metadata["coursekit"].get("helpers", ()):
        if helper not in names:
            yield f"{place}: {there_is_no('helper cell', helper, [*names], 'the source')} (above it)."
            continue
        about = cells[names[helper] - 1].metadata["nbgrader"]
        if about.get("solution") or about.get("grade") or not about.get("locked"):
            yield f"{place}: the helper cell {helper!r} is not a locked cell."


def _defined(source: str) -> set[str]:
    """Return the names that a cell defines at its top level; none if it is not Python."""
    try:
        return set().union(*map(defines, ast.parse(source).body))
    except SyntaxError:
        return set()


def defines(statement: ast.stmt) -> set[str]:
    """Return the names that a statement defines: a function, a class, or targets of an assignment."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return {target.id for target in targets if isinstance(target, ast.Name)}
    return set()


def mark_calls(source: str) -> Iterator[tuple[str, float]]:
    """Yield identifier and points of each call of mark() in a hidden test."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id="mark"),
                args=[ast.Constant(value=identifier), *_],
                keywords=keywords,
            ):
                points = [
                    keyword.value.value
                    for keyword in keywords
                    if keyword.arg == "points" and isinstance(keyword.value, ast.Constant)
                ]
                yield identifier, points[0] if points else None
