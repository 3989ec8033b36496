"""Submissions for an assignment: right, blank, every known mistake, damaged; and what each deserves.

The same course gives the same class to the byte. Marks are never typed here: full marks are the points
of the registry, the mark of a mistake is what `coursekit.checks.mark` gives its function, called here
and not in a learner's notebook.
"""

import ast
import contextlib
import copy
import io
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from coursekit.authoring.sources import build_sources, mark_calls, solved
from coursekit.checks import Exercise, Mistake, exercise, mark
from coursekit.checks.seeds import hidden_seed
from coursekit.course import CourseError, shown
from coursekit.learn import released_notebook
from coursekit.notebooks import grade_id, read_notebook, source_of
from coursekit.simulate.names import student_names

__all__ = ["Submission", "simulated_class", "solved_notebook", "write_class"]

TIMESTAMP = "2026-01-15 12:00:00 UTC"


@dataclass(frozen=True)
class Submission:
    """One learner's notebook and the mark that each of its graded cells deserves.

    Attributes
    ----------
    kind : str
        What sort of submission it is: "right", "blank", "known mistake", …
    what : str
        The same in words for a table.
    target : str
        `grade_id` of the graded cell that the kind is about; empty if it is about all of them.
    expected : dict of str to float
        Marks of the automatically graded cells, by `grade_id`.
    """

    student: str
    assignment: str
    kind: str
    what: str
    target: str
    notebook: dict = field(repr=False)
    expected: dict[str, float] = field(repr=False)


@dataclass(frozen=True)
class _Key:
    """What the simulation knows of an assignment.

    `answers` maps exercise to solved answer cell, `graded` maps graded cell to exercise.
    """

    released: dict
    exercises: tuple[Exercise, ...]
    answer_cells: dict[str, str]
    answers: dict[str, str]
    written: dict[str, str]
    graded: dict[str, str]

    @property
    def full_marks(self) -> dict[str, float]:
        return {cell: float(exercise(graded).points) for cell, graded in self.graded.items()}

    def cell_that_grades(self, identifier: str) -> str:
        return next(cell for cell, graded in self.graded.items() if graded == identifier)


def simulated_class(
    root: Path, assignment: str, *, together: bool = False, sources: Path | None = None
) -> tuple[Submission, ...]:
    """Return a class of submissions for a released assignment, ordered by kind.

    Parameters
    ----------
    together : bool
        Put a known mistake into every exercise of a submission at once, instead of one mistake
        into each submission and everything else right. No answer needs another, so each cell
        deserves the same mark, and a class of a hundred becomes one of two dozen.
    sources : Path, optional
        A folder that `build_sources` has written; without one they are built for this class alone.

    Raises
    ------
    CourseError
        If the sources cannot be built.
    """
    key = _key(root, assignment, sources)
    seed = hidden_seed(root)
    mistakes = _mistakes_together if together else _mistakes_alone
    drafts = (*_honest_and_damaged(key), *mistakes(key, seed))
    return tuple(
        Submission(student, assignment, *draft)
        for student, draft in zip(student_names(len(drafts)), drafts, strict=True)
    )


def solved_notebook(root: Path, assignment: str, *, sources: Path | None = None) -> dict:
    """Return the released notebook of an assignment with every answer right.

    Parameters
    ----------
    sources : Path, optional
        As in `simulated_class`.
    """
    return _handed_in(_key(root, assignment, sources))


def write_class(submissions: tuple[Submission, ...], folder: Path) -> None:
    """Write a class into a course folder as nbgrader expects it, and `expected.json` beside it.

    Raises
    ------
    CourseError
        If the folder holds submissions already: they may be a person's.
    """
    expected = folder / "expected.json"
    for path in (folder / "submitted", expected):
        if path.exists():
            raise CourseError(
                f"{shown(path)} is there already and is left alone: name another folder."
            )
    for submission in submissions:
        place = folder / "submitted" / submission.student / submission.assignment
        place.mkdir(parents=True)
        notebook = json.dumps(submission.notebook, ensure_ascii=False, indent=1, sort_keys=True)
        (place / f"{submission.assignment}.ipynb").write_text(notebook + "\n", encoding="utf-8")
        (place / "timestamp.txt").write_text(TIMESTAMP + "\n", encoding="utf-8")
    marks = {
        submission.student: {
            "kind": submission.kind,
            "what": submission.what,
            "marks": submission.expected,
            "total": sum(submission.expected.values()),
        }
        for submission in submissions
    }
    expected.write_text(json.dumps(marks, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _key(root: Path, assignment: str, sources: Path | None) -> _Key:
    """Read the answers from the source notebook and what they are worth from the registry."""
    if sources is None:
        with tempfile.TemporaryDirectory(prefix="sources-") as folder:
            build_sources(root, Path(folder))
            return _key(root, assignment, Path(folder))
    source = read_notebook(sources / assignment / f"{assignment}.ipynb")
    answer_cells, answers, written, graded = {}, {}, {}, {}
    for cell in source["cells"]:
        about, name = cell["metadata"].get("nbgrader", {}), grade_id(cell)
        if about.get("solution") and cell["cell_type"] == "code":
            identifier = cell["metadata"]["coursekit"]["exercise"]
            answer_cells[identifier] = name
            answers[identifier] = solved(source_of(cell))
        elif about.get("solution"):
            written[name] = solved(source_of(cell))
        elif about.get("grade"):
            ((graded[name], _),) = mark_calls(source_of(cell))
    return _Key(
        read_notebook(released_notebook(root, assignment)),
        tuple(map(exercise, answers)),
        answer_cells,
        answers,
        written,
        graded,
    )


Draft = tuple[str, str, str, dict, dict]
"""Kind, words, target, notebook and expected marks: a submission before it is given to a student."""


def _honest_and_damaged(key: _Key) -> Iterator[Draft]:
    full = key.full_marks
    nothing = dict.fromkeys(full, 0.0)
    # The accidents happen to the first exercise that is a function of arrays, spelled out.
    victim = next(
        entry for entry in key.exercises if _takes_arguments(key.answers[entry.identifier])
    )
    target = key.cell_that_grades(victim.identifier)
    answer = key.answers[victim.identifier]

    yield "right", "everything right", "", _handed_in(key), full
    yield "blank", "nothing written", "", copy.deepcopy(key.released), nothing
    for kind, what, statement, marks in (
        ("warns", "right, warns", "import warnings; warnings.warn('a remark')", full),
        (
            "writes to stderr",
            "right, writes to stderr",
            "import sys; print('so far', file=sys.stderr)",
            full,
        ),
        ("prints", "right, prints", "print('so far')", full),
        ("endless loop", "an endless loop", "while True: pass", full | {target: 0.0}),
    ):
        notebook = _handed_in(key, {victim.identifier: _with_statement(answer, statement)})
        yield kind, what, target, notebook, marks

    notebook = _handed_in(key)
    notebook["cells"] = [cell for cell in notebook["cells"] if grade_id(cell) != target]
    yield "deleted test cell", "a deleted test cell", target, notebook, full

    notebook = _handed_in(key)
    position = _position(notebook, key.answer_cells[victim.identifier])
    twin = copy.deepcopy(notebook["cells"][position]) | {"id": "copied-by-hand"}
    notebook["cells"].insert(position + 1, twin)
    yield "duplicated answer cell", "a duplicated answer cell", target, notebook, full

    notebook = _handed_in(key)
    stray = {"cell_type": "code", "execution_count": None, "id": "own-cell", "metadata": {}}
    notebook["cells"].insert(1, stray | {"outputs": [], "source": "print(not_defined_yet)"})
    yield "stray error", "an own cell that fails", "", notebook, full


def _mistakes_alone(key: _Key, seed: int) -> Iterator[Draft]:
    for entry in key.exercises:
        target = key.cell_that_grades(entry.identifier)
        for mistake in entry.mistakes:
            notebook = _handed_in(key, {entry.identifier: mistake.as_answer(entry.answer)})
            what = f"{entry.answer}: {mistake.name}"
            marks = key.full_marks | {target: _earned(entry, mistake, seed)}
            yield "known mistake", what, target, notebook, marks


def _mistakes_together(key: _Key, seed: int) -> Iterator[Draft]:
    for number in range(max(len(entry.mistakes) for entry in key.exercises)):
        wrong = {
            entry: entry.mistakes[number] for entry in key.exercises if number < len(entry.mistakes)
        }
        answers = {
            entry.identifier: mistake.as_answer(entry.answer) for entry, mistake in wrong.items()
        }
        marks = key.full_marks | {
            key.cell_that_grades(entry.identifier): _earned(entry, mistake, seed)
            for entry, mistake in wrong.items()
        }
        what = f"known mistakes, set {number + 1}"
        yield "known mistakes", what, "", _handed_in(key, answers), marks


def _earned(entry: Exercise, mistake: Mistake, seed: int) -> float:
    """Return what a mistake earns: partial credit where the exercise gives it."""
    with contextlib.redirect_stdout(io.StringIO()):
        return mark(entry.identifier, mistake.function, points=entry.points, seed=seed)


def _handed_in(key: _Key, instead: dict[str, str] | None = None) -> dict:
    """Return the released notebook with every answer right, except those given in `instead`."""
    notebook = copy.deepcopy(key.released)
    for identifier, answer in (key.answers | (instead or {})).items():
        notebook["cells"][_position(notebook, key.answer_cells[identifier])]["source"] = answer
    for name, text in key.written.items():
        notebook["cells"][_position(notebook, name)]["source"] = text
    return notebook


def _position(notebook: dict, name: str) -> int:
    return next(i for i, cell in enumerate(notebook["cells"]) if grade_id(cell) == name)


def _function(source: str) -> ast.FunctionDef | None:
    statements = ast.parse(source).body
    return next((node for node in statements if isinstance(node, ast.FunctionDef)), None)


def _takes_arguments(source: str) -> bool:
    function = _function(source)
    return function is not None and bool(function.args.args)


def _with_statement(source: str, statement: str) -> str:
    """Return a cell with a statement put first into its function, after the docstring."""
    body = _function(source).body
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    first = body[1 if documented else 0]
    lines = source.splitlines()
    lines.insert(first.lineno - 1, " " * first.col_offset + statement)
    return "\n".join(lines)
