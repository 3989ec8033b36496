"""Running nbgrader's own command, as an instructor would."""

import os
import subprocess
import sys
from pathlib import Path

from coursekit.course import CourseError

__all__ = ["nbgrader", "start_nbgrader"]


def start_nbgrader(arguments: list[str], folder: Path) -> subprocess.Popen:
    """Start `nbgrader` with its configuration taken from `folder`; its log comes on `stdout`."""
    # nbgrader starts alembic and Jupyter kernels by name: the environment's own must come first.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    return subprocess.Popen(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def nbgrader(arguments: list[str], folder: Path) -> str:
    """Run `nbgrader` to its end and return its log.

    Raises
    ------
    CourseError
        If it fails, with the lines in which it says why.
    """
    process = start_nbgrader(arguments, folder)
    log, _ = process.communicate()
    if process.returncode:
        raise CourseError(
            f"`nbgrader {' '.join(arguments)}` failed (status {process.returncode}):\n{_reason(log)}"
        )
    return log


def _reason(log: str) -> str:
    lines = [line for line in log.splitlines() if "ERROR" in line or "Error" in line]
    return "\n".join((lines or log.splitlines())[-6:])
