"""Writing a file so that it is there whole or not at all, whatever happens on the way."""

import errno
import os
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes, *, overwrite: bool = True) -> None:
    """Write `content` beside `path` and move it there; missing folders are made.

    On a full disk, or if two write at once, nobody ever reads half a file.

    Raises
    ------
    OSError
        If it cannot be written; what was at `path` is as it was, and nothing is left beside it.
    FileExistsError
        If there is a file and `overwrite` is false.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        if overwrite:
            beside.replace(path)
        else:
            _move_to_new(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _move_to_new(source: Path, target: Path) -> None:
    try:
        # A second name for the file: unlike a move it fails where there is one already.
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without second names
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        source.replace(target)
