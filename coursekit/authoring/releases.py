"""Releasing: source notebooks go through nbgrader into a fresh folder, and from there to `exercises/`.

On an existing release nbgrader skips silently without `--force` and deletes with it. So it writes
into an empty folder below `_build/`, the result is searched for leaks and compared, and only then
does a file move. `exercises/released.json` records what was released: a file that is neither that
nor the new text was changed by hand, and is refused.
"""

import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from coursekit.authoring.leaks import Leak, find_leaks
from coursekit.authoring.nbgrader_command import nbgrader
from coursekit.authoring.sources import read_sources, write_sources
from coursekit.course import MANIFEST, CourseError
from coursekit.files import write_whole

__all__ = ["Release", "release"]


@dataclass
class Release:
    """What a release did, or would do: paths below `exercises/`; and what the built site leaks."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    site_leaks: list[Leak] = field(default_factory=list)

    @property
    def changes(self) -> bool:
        """Whether `exercises/` differed from what `solutions/` give."""
        return bool(self.written or self.removed)


def release(root: Path, *, check_only: bool = False, lookup: Callable | None = None) -> Release:
    """Build the sources and bring `exercises/` and `_build/source/` up to date.

    Everything is made in a folder of its own, so that two at once do not disturb each other.

    Parameters
    ----------
    check_only : bool
        Compare and report, but leave `exercises/` and `_build/source/` as they are.
    lookup : callable, optional
        As in `read_sources`.

    Raises
    ------
    SourceError
        If a source is wrong.
    CourseError
        If nbgrader refuses, a solution leaks, or a file in `exercises/` was changed by hand.
    """
    notebooks = read_sources(root, lookup)
    build = root / "_build"
    build.mkdir(exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="release-", dir=build))
    try:
        write_sources(notebooks, fresh / "source")
        # The course's own configuration, but nothing of this touches its gradebook.
        nbgrader(
            [
                "generate_assignment",
                "--assignment=*",
                f"--course-dir={fresh}",
                "--CourseDirectory.source_directory=source",
                "--CourseDirectory.release_directory=release",
                f"--db=sqlite:///{fresh / 'gradebook.db'}",
            ],
            root,
        )
        released = {
            f"{assignment}/{assignment}.ipynb": _released(
                fresh / "release" / assignment, assignment
            )
            for assignment in notebooks
        }
        leaks = find_leaks(root, [fresh / "release"], fresh / "source")
        if leaks:
            raise CourseError("\n".join(f"Not released: {leak}." for leak in leaks))
        report = _publish(root / "exercises", released, check_only=check_only)
        if not check_only:
            write_sources(notebooks, build / "source")
        report.site_leaks = find_leaks(root, [build / "html"], fresh / "source")
        return report
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _released(folder: Path, assignment: str) -> bytes:
    """Return the one file that a release consists of."""
    files = sorted(path.name for path in folder.rglob("*") if path.is_file())
    if files != [f"{assignment}.ipynb"]:
        raise CourseError(f"nbgrader released {files} for {assignment}, not one notebook.")
    return (folder / files[0]).read_bytes()


def _publish(exercises: Path, released: dict[str, bytes], *, check_only: bool) -> Release:
    """Bring `exercises` to `released`, after making sure that nobody's edits are lost."""
    manifest = exercises / MANIFEST
    known = json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else {}
    present = {
        path.relative_to(exercises).as_posix(): path.read_bytes()
        for path in sorted(exercises.rglob("*"))
        if path.is_file() and path != manifest and not _is_hidden(path.relative_to(exercises))
    }
    edited = [
        name
        for name, content in present.items()
        if content != released.get(name) and _digest(content) != known.get(name)
    ]
    if edited:
        raise CourseError(
            "\n".join(
                f"exercises/{name} was changed or added by hand, and is not overwritten: carry the "
                f"change over to solutions/{name.partition('/')[0]}.py, delete the file, and run "
                "`make exercises` again."
                for name in edited
            )
        )
    report = Release()
    digests = {name: _digest(content) for name, content in released.items()}
    for name, content in released.items():
        if present.get(name) == content:
            report.unchanged.append(name)
            continue
        report.written.append(name)
        if not check_only:
            write_whole(exercises / name, content)
    for name in sorted(present.keys() - released.keys()):
        report.removed.append(name)
        if not check_only:
            (exercises / name).unlink()
            with contextlib.suppress(OSError):  # it may hold what a person or a tool left there
                (exercises / name).parent.rmdir()
    if digests != known:
        report.written.append(MANIFEST)
        if not check_only:
            text = json.dumps(digests, indent=1, sort_keys=True) + "\n"
            write_whole(manifest, text.encode("utf-8"))
    return report


def _is_hidden(path: Path) -> bool:
    """Whether a path is something that tools leave behind, such as `.ipynb_checkpoints`."""
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
