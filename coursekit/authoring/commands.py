"""What authors and instructors type: `coursekit exercises`, `submissions`, `student-copy`, …"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from coursekit.course import CourseError, assignment_named, course_root, shown

__all__ = ["add_commands"]

PANEL = "For authors and instructors"
NewFolder = Annotated[Path, typer.Argument(help="A new or empty folder.", show_default=False)]


def add_commands(cli: typer.Typer) -> None:
    """Add the commands of this module to the command line."""
    for command in (exercises, student_copy, submissions, simulate, grade_demo):
        cli.command(rich_help_panel=PANEL)(command)


def exercises(
    check: Annotated[
        bool, typer.Option("--check", help="Compare only; status 1 if they differ.")
    ] = False,
) -> None:
    """Build exercises/ from solutions/, through nbgrader."""
    from coursekit.authoring.releases import release

    root, console = course_root(), _console()
    with console.status("Building the sources and releasing them with nbgrader …"):
        report = release(root, check_only=check)
    for name in report.written:
        console.print(Text(f"exercises/{name}: {'differs' if check else 'written'}"))
    for name in report.removed:
        console.print(Text(f"exercises/{name}: {'has no source any more' if check else 'removed'}"))
    for name in report.unchanged:
        console.print(Text(f"exercises/{name}: up to date"))
    if report.site_leaks:
        raise CourseError("\n".join(f"The built site leaks: {leak}." for leak in report.site_leaks))
    if check and report.changes:
        console.print("exercises/ differs from solutions/: run `make exercises` and commit both.")
        raise typer.Exit(1)


def simulate(
    assignment: Annotated[str, typer.Argument(help="Its number or name: 03, 03_scores.")],
    folder: NewFolder,
) -> None:
    """Write a class of submissions, with the marks each should get, into a course folder."""
    from coursekit.simulate import simulated_class, write_class

    root = course_root()
    submissions = simulated_class(root, assignment_named(root, assignment))
    write_class(submissions, folder)
    _console().print(
        Text(
            f"{len(submissions)} submissions are in {shown(folder / 'submitted')}, "
            f"what each should get in {shown(folder / 'expected.json')}."
        )
    )


def student_copy(folder: NewFolder) -> None:
    """Write what an instructor hands out: the exercises and what they need, no solutions."""
    from coursekit.authoring.student_copy import write_student_copy

    count = write_student_copy(course_root(), folder)
    _console().print(Text(f"{count} files are in {shown(folder)}; README.md says how to begin."))


def submissions(
    assignment: Annotated[
        str, typer.Argument(help="Its number or name; without it, all of them.")
    ] = "",
) -> None:
    """Say whose work nbgrader will not grade, or has not graded, and why.

    Type it before `nbgrader autograde`, and again after it. Ends with status 1 if there is anybody.
    """
    from coursekit.authoring.submissions import look_through

    root, console = course_root(), _console()
    looks = look_through(root, (assignment_named(root, assignment),) if assignment else ())
    for name in dict.fromkeys(look.assignment for look in looks):
        of_it = [look for look in looks if look.assignment == name]
        well = sum(not look.sentence for look in of_it)
        console.print(Text(f"{name}: {well} of {len(of_it)} as they should be", style="bold"))
        for look in of_it:
            if look.sentence:
                said = Text(f"{look.student}: {look.sentence.rstrip('.')}.")
                console.print(Padding(said, (0, 0, 0, 2), expand=False))
    if any(look.sentence for look in looks):
        raise typer.Exit(1)


def grade_demo(
    alone: Annotated[
        bool, typer.Option("--alone", help="One known mistake a submission: over five minutes.")
    ] = False,
) -> None:
    """Grade a simulated class of assignment 03 with plain nbgrader and compare the marks.

    Every known mistake is handed in, one in each exercise of a submission. Ends with status 0 if every mark is as declared, known shortfalls included.
    """
    from coursekit.simulate.demo import grade_demonstration

    if not grade_demonstration(course_root(), _console(), together=not alone):
        raise typer.Exit(1)


def _console() -> Console:
    return Console(highlight=False)
