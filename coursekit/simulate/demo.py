"""One round of grading with plain nbgrader, as an instructor would run it, and what it gets wrong.

A simulated class is graded in a course folder and a gradebook of its own, which is `_build/grade_demo/`
once it is done; while it runs it has another name, so that two at once do not disturb each other.
Every mark is compared with what it should be. Where plain nbgrader is known to be wrong, the wrong
outcome is declared here and asserted, so that nobody misses the day it goes away.
"""

import contextlib
import csv
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from coursekit.authoring.nbgrader_command import nbgrader, start_nbgrader
from coursekit.authoring.sources import build_sources
from coursekit.course import assignment_named, shown
from coursekit.simulate.classroom import Submission, simulated_class, write_class

__all__ = ["SHORTFALLS", "Shortfall", "compare", "grade_demonstration"]

ASSIGNMENT = "03"
LOG = "nbgrader.log"
CELL_SECONDS = 10  # the endless loop takes this long in each cell that calls it
CONFIGURATION = """\
# The course's own configuration, moved to a folder of its own with short time limits.
from pathlib import Path

c = get_config()
load_subconfig("nbgrader_config.py", path={root!r})
c.CourseDirectory.root = str(Path(__file__).resolve().parent)
c.CourseDirectory.source_directory = "source"
c.CourseDirectory.release_directory = "release"
c.ExecutePreprocessor.timeout = {seconds}
"""

Marks = dict[str, float | None]
"""Marks by graded cell; None is "not graded", which nbgrader exports as 0."""


@dataclass(frozen=True)
class Shortfall:
    """Where plain nbgrader is known to be wrong for a kind of submission.

    `outcome` turns the marks deserved and the graded cell concerned into the wrong marks that come.
    """

    kind: str
    sentence: str
    outcome: Callable[[Marks, str], Marks]


SHORTFALLS = (
    Shortfall(
        "writes to stderr",
        "A right answer that writes to stderr gets 0 for its cell (jupyter/nbgrader#1904).",
        lambda deserved, target: deserved | {target: 0.0},
    ),
    Shortfall(
        "duplicated answer cell",
        "A learner who duplicated an answer cell gets no mark at all, exported as 0, and the run "
        "ends with status 1. (With nbgrader's default, add_missing_cells off, it ends there and "
        "then, and nobody after that learner is graded.)",
        lambda deserved, target: dict.fromkeys(deserved),
    ),
)
EXPORT_SHORTFALL = (
    "The CSV export quotes nothing: a comma in a name shifts the columns of its row, and a name "
    "such as =1+1 is a formula to a spreadsheet."
)


@dataclass(frozen=True)
class Comparison:
    """One submission's marks: deserved, obtained, and whether they are as declared."""

    submission: Submission
    obtained: Marks
    shortfall: Shortfall | None
    as_declared: bool


def grade_demonstration(root: Path, console: Console, *, together: bool = True) -> bool:
    """Run the demonstration and print its table; return whether every mark is as declared.

    Parameters
    ----------
    together : bool
        As in `simulated_class`. Alone, the known mistakes of assignment 03 take over five minutes.
    """
    assignment = assignment_named(root, ASSIGNMENT)
    build = root / "_build"
    build.mkdir(exist_ok=True)
    running = Path(tempfile.mkdtemp(prefix="grade_demo-", dir=build))
    running.chmod(0o755)  # mkdtemp closes a folder to everybody else
    kept = build / "grade_demo"
    try:
        return _demonstrate(root, running, kept, assignment, console, together=together)
    finally:
        _keep(running, kept)


def _keep(running: Path, kept: Path) -> None:
    """Move the folder of a run to the place where a person looks, over that of an earlier run."""
    earlier = running.with_name(f"{running.name}-earlier")
    # Another run may put its own there in between: then that is the earlier one.
    for _ in range(5):
        with contextlib.suppress(FileNotFoundError):
            kept.rename(earlier)
            shutil.rmtree(earlier, ignore_errors=True)
        with contextlib.suppress(OSError):
            running.rename(kept)
            return


def _demonstrate(
    root: Path, folder: Path, kept: Path, assignment: str, console: Console, *, together: bool
) -> bool:
    """Grade a class in `folder` and print what came, naming files as they will be in `kept`."""
    with console.status("Making up a class …"):
        build_sources(root, folder / "source")
        submissions = simulated_class(
            root, assignment, together=together, sources=folder / "source"
        )
        write_class(submissions, folder)
    (folder / "nbgrader_config.py").write_text(
        CONFIGURATION.format(root=str(root), seconds=CELL_SECONDS), encoding="utf-8"
    )
    with console.status("Registering the assignment: nbgrader generate_assignment …"):
        nbgrader(["generate_assignment", assignment], folder)

    status = _autograde(folder, assignment, len(submissions), console)
    with console.status(
        "Writing feedback and marks: nbgrader generate_feedback, nbgrader export …"
    ):
        nbgrader(["generate_feedback", assignment], folder)
        nbgrader(["export", "--to=grades.csv"], folder)

    comparisons = compare(submissions, _marks(folder, assignment))
    console.print(_table(assignment, comparisons))
    console.print(Text(f"nbgrader ended with status {status}; its log is {shown(kept / LOG)}."))
    problems = [
        f"{entry.submission.student} ({entry.submission.what}): not as declared."
        for entry in comparisons
        if not entry.as_declared
    ]
    problems += _papers(folder, comparisons, console)
    console.print(Text(f"Feedback pages and grades.csv are in {shown(kept)}."))
    for problem in problems:
        console.print(Text(problem, style="bold red"))
    counts = f"{len(comparisons)} submissions, {sum(c.shortfall is not None for c in comparisons)}"
    verdict = f"{len(problems)} not as declared" if problems else "every mark is as declared"
    console.print(Text(f"{counts} of them known shortfalls; {verdict}.", style="bold"))
    return not problems


def _autograde(folder: Path, assignment: str, count: int, console: Console) -> int:
    """Grade the class with one command, showing how far it is; return the command's status."""
    command = f"nbgrader autograde {assignment}"
    console.print(Text(f"Grading {count} submissions with `{command}` …"))
    with (
        (folder / LOG).open("w", encoding="utf-8") as log,
        Progress(
            TextColumn(command), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            console=console, transient=True, disable=not console.is_terminal,
        ) as progress,
    ):  # fmt: skip
        task = progress.add_task(command, total=count)
        process = start_nbgrader(["autograde", assignment], folder)
        for line in process.stdout:
            log.write(line)
            if "] Autograding " in line:
                progress.advance(task)
    return process.wait()


def _marks(folder: Path, assignment: str) -> dict[str, Marks]:
    """Return what the gradebook holds: the automatic marks of the code cells of each student."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        return {
            submission.student.id: {
                grade.name: grade.auto_score
                for notebook in submission.notebooks
                for grade in notebook.grades
                if grade.cell.cell_type == "code"
            }
            for submission in gradebook.assignment_submissions(assignment)
        }


def compare(submissions: tuple[Submission, ...], marks: dict[str, Marks]) -> list[Comparison]:
    """Set what came beside what is deserved or, for known shortfalls, declared to come."""
    shortfalls = {shortfall.kind: shortfall for shortfall in SHORTFALLS}
    comparisons = []
    for submission in submissions:
        obtained = marks.get(submission.student, dict.fromkeys(submission.expected))
        shortfall = shortfalls.get(submission.kind)
        declared = submission.expected
        if shortfall:
            declared = shortfall.outcome(submission.expected, submission.target)
        same = obtained.keys() == declared.keys() and all(
            _same(obtained[cell], declared[cell]) for cell in declared
        )
        comparisons.append(Comparison(submission, obtained, shortfall, same))
    return comparisons


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) < 1e-6


def _table(assignment: str, comparisons: list[Comparison]) -> Table:
    table = Table(
        title=f"{assignment} by plain nbgrader: marks deserved and obtained (code cells)",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("Student", overflow="ellipsis", no_wrap=True, max_width=18)
    table.add_column("Submission", ratio=1)
    table.add_column("Due", justify="right")
    table.add_column("Got", justify="right")
    table.add_column("")
    for number, entry in enumerate(comparisons):
        submission = entry.submission
        total = _total(entry.obtained)
        verdict, style = "as due", "green"
        if not entry.as_declared:
            verdict, style = "NOT AS DECLARED", "bold red"
        elif entry.shortfall:
            verdict, style = "known shortfall", "yellow"
        following = comparisons[number + 1].submission if number + 1 < len(comparisons) else None
        table.add_row(
            Text(submission.student),
            Text(submission.what),
            f"{sum(submission.expected.values()):g}",
            "none" if total is None else f"{total:g}",
            Text(verdict, style=style),
            end_section=following is not None and following.target != submission.target
            and following.kind == "known mistake",
        )  # fmt: skip
    return table


def _total(marks: Marks) -> float | None:
    known = [mark for mark in marks.values() if mark is not None]
    return sum(known) if known else None


def _papers(folder: Path, comparisons: list[Comparison], console: Console) -> list[str]:
    """Look at feedback pages and CSV; explain the shortfalls; return what is not as declared."""
    for shortfall in SHORTFALLS:
        console.print(Text(f"Known shortfall. {shortfall.sentence}", style="yellow"))
    console.print(Text(f"Known shortfall. {EXPORT_SHORTFALL}", style="yellow"))
    problems = []
    graded = {c.submission.student for c in comparisons if _total(c.obtained) is not None}
    pages = {path.parent.parent.name for path in (folder / "feedback").glob("*/*/*.html")}
    if pages != graded:
        problems.append(f"Feedback is missing or too much for: {sorted(pages ^ graded)}.")
    with (folder / "grades.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    shifted = sum(len(row) != len(header) for row in rows)
    commas = sum("," in entry.submission.student for entry in comparisons)
    if len(rows) != len(comparisons) or shifted != commas:
        problems.append(
            f"grades.csv has {len(rows)} rows, {shifted} of them shifted; {len(comparisons)} and "
            f"{commas} were declared."
        )
    return problems
