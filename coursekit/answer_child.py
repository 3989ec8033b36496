"""The process in which one answer is run and checked: `python -m coursekit.answer_child FOLDER`.

Reads `request.json` in the folder and writes `reply.json` there; started by `coursekit.answers`.
"""

import contextlib
import json
import linecache
import os
import re
import sys
import traceback
from pathlib import Path

OUTPUT_FILES = 64 * 2**20  # bytes a file may grow to
ALONE = (
    "An answer is run in plain Python and by itself, after the locked cells that it may use. What it "
    "needs from another cell of yours belongs into its own."
)
FOR_JUPYTER = re.compile(r"^[%!?]|\?$|=\s*[%!]")  # magics, shell commands, questions
SHOWN = 80  # characters of a line that are quoted


def main(folder: Path) -> None:
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    _limit(request["memory_mib"], request["cpu_seconds"])
    state, message = verdict(request["exercise"], request["cells"])
    unfinished = folder / "reply.json.unfinished"
    unfinished.write_text(json.dumps({"state": state, "message": message}), encoding="utf-8")
    unfinished.replace(folder / "reply.json")


def _limit(memory_mib: int, cpu_seconds: int) -> None:
    """Bound memory, files and CPU where the system can; elsewhere the time limit has to do.

    The bound on CPU is for an endless loop whose parent was killed and cannot stop it any more.
    """
    try:
        import resource
    except ImportError:
        return
    for kind, most in (
        (resource.RLIMIT_AS, memory_mib * 2**20),
        (resource.RLIMIT_FSIZE, OUTPUT_FILES),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def verdict(identifier: str, cells: list[tuple[str, str]]) -> tuple[str, str]:
    """Run `cells` one after the other as a notebook would and check the answer they define.

    Returns the state and the message of a `coursekit.answers.Verdict`.
    """
    # Imported before the answer runs, so that an answer that shadows a module cannot break it.
    from coursekit.checks import exercise
    from coursekit.checks.engine import examine
    from coursekit.checks.messages import describe
    from coursekit.checks.seeds import PUBLIC_SEED

    wanted = exercise(identifier)
    namespace: dict = {"__name__": "__main__"}
    for name, source in cells:
        try:
            _run_cell(name, source, namespace)
        except SyntaxError as error:
            return "breaks", _syntax(error, source)
        except BaseException as error:
            return "breaks", f"The cell stops with {_described(error)}."
    if wanted.answer not in namespace:
        return "breaks", (
            f"The cell does not define {wanted.answer}: keep the name that the exercise gave, the "
            "check looks for it."
        )
    try:
        report = examine(wanted, namespace[wanted.answer], PUBLIC_SEED)
    except KeyboardInterrupt:
        return "breaks", f"{wanted.answer} raises KeyboardInterrupt."
    except Exception as error:
        # Whatever an answer does is part of the report, so this is not the learner's doing.
        return "stopped", (
            f"The check itself broke ({type(error).__name__}: {error}). This is our fault, not "
            "yours: please tell your instructor."
        )
    if report.passed:
        return "passes", "\n".join(f"Remark: {remark}" for remark in report.remarks)
    codes = [failure.finding.code for failure in report.failures.values()]
    if "not written" in codes:
        return "not written", ""
    return "fails", describe(report) + (f"\n\n{ALONE}" if codes[0] == "NameError" else "")


def _run_cell(name: str, source: str, namespace: dict) -> None:
    filename = f"<cell {name}>"
    # So that tracebacks can quote the line.
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), namespace)


def _described(error: BaseException) -> str:
    """Return kind, text and place of an error: the innermost line that the learner wrote."""
    if isinstance(error, SystemExit):
        return "sys.exit(): an answer returns its result, it does not leave Python"
    text = f"{type(error).__name__}: {error}".strip().rstrip(".")[:400]
    if isinstance(error, EOFError):
        text += " (nobody is there to answer input())"
    after = f". {ALONE.removesuffix('.')}" if isinstance(error, NameError) else ""
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename[:6] == "<cell "
    ]
    place = f" (line {own[-1].lineno}: {_cut(own[-1].line)})" if own else ""
    return text + place + after


def _syntax(error: SyntaxError, source: str) -> str:
    if not error.lineno:  # such as a null byte, which Python does not say the place of
        return f"The cell is not Python yet: {error.msg}."
    # Python does not quote the line of every error; the lines of the cell are here anyway.
    line = "".join(source.splitlines()[error.lineno - 1 : error.lineno]).strip()
    if FOR_JUPYTER.search(line) or "'await' outside" in str(error.msg):
        return (
            f"Line {error.lineno}, `{_cut(line)}`, is for Jupyter alone and not Python: move it to a "
            "cell of its own, an answer is run in plain Python."
        )
    return f"The cell is not Python yet: {error.msg} (line {error.lineno}: {_cut(line)})."


def _cut(line: str | None) -> str:
    line = line or ""
    return line if len(line) <= SHOWN else line[:SHOWN] + " …"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    # Threads that an answer left running do not keep the process alive.
    sys.stdout.flush()
    os._exit(0)
