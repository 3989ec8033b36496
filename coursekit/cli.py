"""The command `coursekit`: what learners type is here, what authors type in `coursekit.authoring`.

A student copy holds no authoring: there those commands are simply absent.
"""

import importlib.util
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from coursekit.answers import Verdict, judge
from coursekit.course import CourseError, assignment_named, assignments, course_root, shown
from coursekit.learn import (
    copy_assignments,
    copy_fresh,
    open_jupyterlab,
    own_notebook,
    released_notebook,
)
from coursekit.notebooks import Answer, Written, answers_of, assignment_of, read_notebook

__all__ = ["app", "main"]

STYLES = {
    "passes": "green",
    "fails": "red",
    "breaks": "red",
    "stopped": "red",
    "not written": "yellow",
    "written": "green",
}

cli = typer.Typer(
    name="coursekit",
    help="The exercises of Attention, Measured: get them, check your answers, see how far you are.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def app() -> None:
    """Run the command; what a person can put right ends in one sentence and status 2."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a terminal without √ shows ? in its place
    try:
        main(sys.argv[1:])
    except CourseError as error:
        _console(stderr=True).print(Text(str(error)))
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader went away (`coursekit progress | head`): nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def main(arguments: list[str]) -> None:
    """Run the command with these arguments; leaves by SystemExit or CourseError."""
    if importlib.util.find_spec("coursekit.authoring") and not _authoring_added():
        from coursekit.authoring.commands import add_commands

        add_commands(cli)
    cli(arguments)


def _authoring_added() -> bool:
    return any(command.name == "exercises" for command in cli.registered_commands)


def _console(*, stderr: bool = False) -> Console:
    return Console(stderr=stderr, highlight=False)


def progress_bar(console: Console) -> Progress:
    """Return a progress bar that a person sees, and that leaves nothing behind."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


@cli.command()
def learn(
    no_open: Annotated[bool, typer.Option("--no-open", help="Copy only, open nothing.")] = False,
) -> None:
    """Copy assignments that are not there yet to work/ and open JupyterLab there."""
    root = course_root()
    console = _console()
    for copy in copy_assignments(root):
        console.print(Text.assemble((copy.assignment, "bold"), f"  {copy.state}: {copy.note}"))
    if not no_open:
        raise typer.Exit(open_jupyterlab(root))


@cli.command()
def fresh(
    assignment: Annotated[str, typer.Argument(help="Its number or name: 03, 03_scores.")],
) -> None:
    """Write the released version of an assignment beside your own."""
    root = course_root()
    target = copy_fresh(root, assignment_named(root, assignment))
    _console().print(Text(f"The released version is in {shown(target)}; yours is as it was."))


@cli.command()
def check(
    file: Annotated[Path, typer.Argument(help="A notebook of this course.", show_default=False)],
    time_limit: Annotated[
        float, typer.Option(min=1.0, help="Seconds for one exercise, start-up included.")
    ] = 60.0,
) -> None:
    """Check every exercise of a notebook.

    Ends with status 0 if all pass, 1 if some do not, 2 if the file cannot be checked.
    """
    assignment, answers, written = _read(file)
    console = _console()
    with progress_bar(console) as progress:
        task = progress.add_task(f"Checking {assignment}", total=len(answers))
        verdicts = []
        for verdict in _judged(answers, time_limit):
            verdicts.append(verdict)
            progress.advance(task)
    console.print(_verdict_table(assignment, verdicts, written))
    for verdict in verdicts:
        if verdict.message:
            console.print()
            console.print(Text(_title(verdict.exercise), style="bold " + STYLES[verdict.state]))
            console.print(Padding(Text(_unwrapped(verdict.message)), (0, 0, 0, 2), expand=False))
    if any(verdict.state != "passes" for verdict in verdicts):
        raise typer.Exit(1)


@cli.command()
def progress(
    time_limit: Annotated[
        float, typer.Option(min=1.0, help="Seconds for one exercise, start-up included.")
    ] = 60.0,
) -> None:
    """Show which exercises pass, in every notebook in work/."""
    root = course_root()
    console = _console()
    found, notes = {}, []
    for assignment in assignments(root):
        path = own_notebook(root, assignment)
        if not path.exists():
            notes.append(f"{assignment} is not in work/ yet: `coursekit learn` copies it.")
            continue
        try:
            found[assignment] = _read(path)[1]
        except CourseError as error:
            notes.append(str(error))
    table = Table(title="Your exercises", title_justify="left", title_style="bold")
    table.add_column("Assignment")
    table.add_column("Exercise")
    table.add_column("Points", justify="right")
    table.add_column("Verdict")
    with progress_bar(console) as bar:
        task = bar.add_task("Checking", total=sum(map(len, found.values())))
        earned = possible = 0
        for assignment, answers in found.items():
            for number, verdict in enumerate(_judged(answers, time_limit)):
                bar.advance(task)
                points = _exercise(verdict.exercise).points
                possible += points
                earned += points * (verdict.state == "passes")
                table.add_row(
                    assignment if number == 0 else "",
                    escape(_title(verdict.exercise)),
                    f"{points:g}",
                    _styled(verdict.state),
                    end_section=number == len(answers) - 1,
                )
    if found:
        console.print(table)
        console.print(f"{earned:g} of {possible:g} points pass here.")
    for note in notes:
        console.print(Text(note))


def _read(file: Path) -> tuple[str, tuple[Answer, ...], tuple[Written, ...]]:
    """Return the assignment that a file is, its answers in code and its answers in words."""
    notebook = read_notebook(file)
    root = course_root()
    assignment = assignment_of(notebook, file)
    if assignment not in assignments(root):
        assignment_named(root, assignment)  # raises, with the names there are
    released = read_notebook(released_notebook(root, assignment))
    return assignment, *answers_of(notebook, file, released)


def _judged(answers: Iterable[Answer], time_limit: float) -> Iterator[Verdict]:
    """Yield a verdict for each answer, in order; as many run side by side as there are cores."""
    pool, stop = ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)), threading.Event()
    try:
        yield from pool.map(lambda answer: judge(answer, time_limit=time_limit, stop=stop), answers)
    finally:
        # After Ctrl-C nothing may run on: neither what is waiting nor a learner's endless loop.
        stop.set()
        pool.shutdown(cancel_futures=True)


def _verdict_table(assignment: str, verdicts: list[Verdict], written: tuple[Written, ...]) -> Table:
    earned = sum(_exercise(v.exercise).points for v in verdicts if v.state == "passes")
    possible = sum(_exercise(v.exercise).points for v in verdicts)
    table = Table(
        title=assignment,
        title_justify="left",
        title_style="bold",
        caption=f"{earned:g} of {possible:g} points pass here; graded with other numbers.",
        caption_justify="left",
    )
    table.add_column("Exercise")
    table.add_column("Points", justify="right")
    table.add_column("Verdict")
    for verdict in verdicts:
        points = f"{_exercise(verdict.exercise).points:g}"
        table.add_row(escape(_title(verdict.exercise)), points, _styled(verdict.state))
    for answer in written:
        state = "not written" if answer.blank else "written"
        note = Text.assemble(_styled(state), ", read by a person" * (not answer.blank))
        table.add_row("In your own words", f"{answer.points:g}", note)
    return table


def _unwrapped(message: str) -> str:
    """Join the lines that the checks wrapped for a notebook, so that they fit a terminal instead."""
    from coursekit.checks.messages import WIDTH

    lines, previous = [], ""
    for line in message.splitlines():
        word = line.partition(" ")[0]
        # Indented lines are code or numbers; a line with room for the next word ended on purpose.
        if word and previous[:1].strip() and len(previous) + 1 + len(word) > WIDTH:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        previous = line
    return "\n".join(lines)


def _styled(state: str) -> Text:
    return Text(state, style=STYLES[state])


def _exercise(identifier: str):
    # The registry is imported late: `coursekit learn` and `--help` do not need NumPy.
    from coursekit.checks import exercise

    return exercise(identifier)


def _title(identifier: str) -> str:
    return _exercise(identifier).title


if __name__ == "__main__":
    app()
