"""A progress bar for a person at a terminal or a live notebook; books, tests and logs see none."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress", "someone_watches"]

WIDTH = 30
SECONDS_BETWEEN_DRAWINGS = 0.2


@contextmanager
def progress(total: int, label: str) -> Iterator[Callable[[str], None]]:
    """Show how far a loop of `total` rounds has come.

    Parameters
    ----------
    total : int
        Number of rounds.
    label : str
        Stands before the bar.

    Yields
    ------
    callable
        ``advance(note="")``, called once a round; `note` stands after the bar.

    Notes
    -----
    The line goes to standard output (a page that writes to standard error fails the build) and is
    wiped when the loop ends, so that only results stay.

    Examples
    --------
    >>> with progress(3, "counting") as advance:
    ...     for _ in range(3):
    ...         advance()
    """
    watched = someone_watches()
    done, drawn, width = 0, 0.0, 0

    def advance(note: str = "") -> None:
        nonlocal done, drawn, width
        done += 1
        if not watched or (time.monotonic() - drawn < SECONDS_BETWEEN_DRAWINGS and done < total):
            return
        drawn = time.monotonic()
        filled = WIDTH * done // max(total, 1)
        line = f"{label} {'█' * filled}{'░' * (WIDTH - filled)} {done}/{total} {note}"
        print("\r" + line.ljust(width), end="", flush=True)
        width = len(line)

    try:
        yield advance
    finally:
        if width:
            print("\r" + " " * width + "\r", end="", flush=True)


def someone_watches() -> bool:
    """Whether output reaches a person while it is written.

    A terminal says so itself. A notebook's front end allows the code to ask for input; the programs
    that execute the pages of a book, or grade a notebook, do not, since nobody could answer.
    """
    kernel = _kernel()
    if kernel is None:
        return sys.stdout.isatty()
    request = kernel.get_parent("shell")
    return bool(request.get("content", {}).get("allow_stdin", False))


def _kernel():
    """The Jupyter kernel this runs in, or None. Looks only at what is already imported."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None)
