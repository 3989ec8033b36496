"""Where all randomness of the checks comes from, and where the hidden seed is read."""

import tomllib
import zlib
from pathlib import Path

import numpy as np

__all__ = ["DEFAULT_HIDDEN_SEED", "PUBLIC_SEED", "generator", "hidden_seed"]

PUBLIC_SEED = 0
"""Seed of the cases a learner sees with `check`."""

DEFAULT_HIDDEN_SEED = 1409
"""Seed of the graded cases where an instructor has not chosen one; anyone can read it here."""

SETTINGS = "coursekit.toml"
COURSE = Path(__file__).resolve().parents[2]
"""The folder that this package lies in: the course's, where it is not installed elsewhere."""


def generator(seed, *labels):
    """Random numbers for one purpose: the same seed and labels always give the same stream.

    Each family of cases and each law takes its own stream, so that adding one leaves the others
    as they were.

    Examples
    --------
    >>> first, again, other = (generator(7, label).random() for label in ("a", "a", "b"))
    >>> first == again, first == other
    (True, False)
    """
    return np.random.default_rng([seed, *(zlib.crc32(label.encode()) for label in labels)])


def hidden_seed(folder=None):
    """The seed of the graded cases.

    Read from the nearest `coursekit.toml` in `folder` (default: the working directory) or above
    it, key `hidden_seed`; without such a file it is `DEFAULT_HIDDEN_SEED`. By default the folder of
    this package is looked in, too: a notebook that changes its working directory is graded like all.

    Raises
    ------
    ValueError
        If the file is there but cannot be read or its `hidden_seed` is not a whole number of at
        least 0: grading with another seed than the one meant would pass unnoticed.
    """
    start = Path.cwd() if folder is None else Path(folder).resolve()
    for parent in (start, *start.parents, *([COURSE] if folder is None else [])):
        path = parent / SETTINGS
        if not path.is_file():
            continue
        try:
            seed = tomllib.loads(path.read_text(encoding="utf-8")).get("hidden_seed")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not a TOML file: {error}") from None
        if seed is None:
            return DEFAULT_HIDDEN_SEED
        if type(seed) is not int or seed < 0:
            raise ValueError(
                f"hidden_seed in {path} must be a whole number of at least 0, got {seed!r}"
            )
        return seed
    return DEFAULT_HIDDEN_SEED
