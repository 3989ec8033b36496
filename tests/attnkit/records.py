"""The scripts that record longer runs for the book, and their records."""

import json
import runpy
from pathlib import Path

BOOK = Path(__file__).parents[2] / "book"
NAMES = tuple(sorted(path.stem for path in (BOOK / "scripts").glob("*.py")))


def script(name):
    """Where a script lies."""
    return BOOK / "scripts" / f"{name}.py"


def record(name):
    """Where its record lies."""
    return BOOK / "data" / f"{name}.json"


def read(path):
    """What a record holds."""
    return json.loads(path.read_text(encoding="utf-8"))


def settings(name):
    """The names that a script defines, without a run."""
    return runpy.run_path(str(script(name)), run_name="not main")
