"""Looking for solutions where learners can read: released notebooks, the site, the student copy.

Two things must not occur there: a line of a hidden test, and three lines of a solution one after the
other. Lines that learners are given anyway do not count: those of a given cell, and those of library
functions whose source a page shows.
"""

import ast
import codecs
import contextlib
import gzip
import html
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from coursekit.authoring.sources import HIDDEN_TESTS, SOLUTION, defines, regions
from coursekit.notebooks import grade_id, source_of

__all__ = ["Leak", "find_leaks", "secrets"]

MARKED_UP = {".html", ".htm", ".svg", ".xhtml", ".xml"}
ESCAPED = re.compile(r"\\(.)")
GZIP = b"\x1f\x8b"
INCLUDED = re.compile(r"^[`:]{3,}\{library\}\s+(\S+)[ \t]+(.+)$", re.MULTILINE)
RUN = 3  # lines of a solution, one after the other
TELLING = 12  # characters from which on a hidden line is a secret wherever it stands


@dataclass(frozen=True)
class Leak:
    """Something secret that stands where learners can read it."""

    path: Path
    source: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.path} shows {self.source}: {' / '.join(self.lines)}"


@dataclass(frozen=True)
class Secrets:
    """What must not be found: hidden lines and runs of solution lines, each with the cell it is from."""

    hidden: dict[str, str]
    runs: dict[tuple[str, ...], str]
    given: frozenset[str]


def find_leaks(root: Path, places: Iterable[Path], sources: Path) -> list[Leak]:
    """Search files and folders for what the source notebooks in `sources` keep secret.

    Parameters
    ----------
    places : iterable of Path
        Everything in them that is text is read, in archives too; places that do not exist are
        skipped.
    sources : Path
        The folder that `build_sources` wrote for this very search: one that somebody else writes
        could hold nothing for a moment, and nothing leaks where nothing is secret.
    """
    secret = secrets(root, sources)
    leaks = []
    for place in places:
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        for path in files:
            if path.is_file():
                leaks += _leaks_in(path, secret)
    return leaks


def secrets(root: Path, sources: Path) -> Secrets:
    """Collect what the source notebooks in `sources` hide, the library's lines on pages left out."""
    notebooks = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(sources.glob("*/*.ipynb"))
    }
    given = set(_library_lines(root))
    for notebook in notebooks.values():
        for cell in notebook["cells"]:
            given.update(_lines(_visible(source_of(cell))))
    hidden, runs = {}, {}
    for assignment, notebook in notebooks.items():
        for cell in notebook["cells"]:
            source, name = source_of(cell), f"{assignment}, cell {grade_id(cell)}"
            for region in regions(source, HIDDEN_TESTS):
                lines = [line for line in _lines(region) if line not in given]
                hidden |= {line: name for line in lines if re.search(r"\w", line)}
            for region in regions(source, SOLUTION):
                lines = [line for line in _lines(region) if line not in given]
                runs |= dict.fromkeys(_runs(lines), name)
    return Secrets(hidden, runs, frozenset(given))


def _visible(source: str) -> list[str]:
    """Return the lines of a cell that stand outside every secret region."""
    visible, inside = [], False
    for line in source.splitlines():
        if any(begin in line for begin, _ in (SOLUTION, HIDDEN_TESTS)):
            inside = True
        if not inside:
            visible.append(line)
        if any(end in line for _, end in (SOLUTION, HIDDEN_TESTS)):
            inside = False
    return visible


def _library_lines(root: Path) -> Iterator[str]:
    """Yield the lines of the library's own source that pages include (see `book/_ext/library.py`)."""
    for page in sorted((root / "book").rglob("*.md")):
        for module, names in INCLUDED.findall(page.read_text(encoding="utf-8")):
            base = root.joinpath(*module.split("."))
            file = next(
                path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()
            )
            source = file.read_text(encoding="utf-8")
            for name in names.split():
                yield from _lines(_definition(source, name.split(".")))


def _definition(source: str, path: list[str]) -> list[str]:
    """Return the lines that define a name, or a name inside of it, in Python source."""
    scope: list[ast.stmt] = ast.parse(source).body
    found: ast.stmt | None = None
    for name in path:
        found = next((statement for statement in scope if name in defines(statement)), None)
        scope = getattr(found, "body", [])
    return source.splitlines()[found.lineno - 1 : found.end_lineno] if found else []


def _lines(lines: Iterable[str]) -> list[str]:
    """Return the lines that say something, without indentation and inner runs of blanks."""
    squeezed = (" ".join(line.split()) for line in lines)
    return [line for line in squeezed if line]


def _runs(lines: list[str]) -> Iterator[tuple[str, ...]]:
    for start in range(len(lines) - RUN + 1):
        yield tuple(lines[start : start + RUN])


def _leaks_in(path: Path, secret: Secrets) -> Iterator[Leak]:
    lines = _lines(line for text in _texts(path) for line in _readable(text, path).splitlines())
    present, whole, words = set(lines), "\n".join(lines), _words(lines)
    for line, source in secret.hidden.items():
        # Anywhere in a line, since a search index has no lines of its own; but a hidden ")" is no secret.
        if line in present or (len(line) >= TELLING and line in whole):
            yield Leak(path, f"a hidden test of {source}", (line,))
    found = set(_runs([line for line in lines if line not in secret.given]))
    # A page or a search index breaks the lines of a text anew; a line may be commented out.
    found |= {run for run in secret.runs if _words(run) in words}
    for run in secret.runs.keys() & found:
        yield Leak(path, f"a solution of {secret.runs[run]}", run)


def _words(lines: Iterable[str]) -> str:
    """Return the words of some lines, wherever the lines end."""
    return " ".join(word for line in lines for word in line.split() if word != "#")


def _texts(path: Path) -> Iterator[str]:
    """Yield what a file holds as text: nothing for a picture, each member of an archive."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            contents = [archive.read(member) for member in archive.infolist()]
    else:
        contents = [path.read_bytes()]
    for content in contents:
        if content.startswith(GZIP):
            content = gzip.decompress(content)
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            yield content.decode("utf-16", errors="replace")
        elif b"\0" not in content:
            yield content.decode("utf-8", errors="replace")


def _readable(text: str, path: Path) -> str:
    """Return the text of a file as a person would see it."""
    suffix = path.suffix.lower()
    if suffix in MARKED_UP:
        return html.unescape(re.sub(r"<[^>]*>", "", text))
    if text.startswith(("{", "[")):  # a notebook, under whatever name
        with contextlib.suppress(ValueError):
            return "\n".join(_strings(json.loads(text)))
    # A search index holds texts as JavaScript writes them.
    plain = ESCAPED.sub(lambda found: {"n": "\n", "t": " "}.get(found[1], found[1]), text)
    return text if plain == text else f"{text}\n{plain}"


def _strings(value: object) -> Iterator[str]:
    """Yield the texts in JSON; a list of lines, as notebooks store their cells, is one text."""
    match value:
        case str():
            yield value
        case list() if value and all(isinstance(line, str) for line in value):
            yield "".join(value) if value[0].endswith("\n") else "\n".join(value)
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            for item in value.values():
                yield from _strings(item)
