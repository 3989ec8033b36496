"""The pages that `_toc.yml` lists, in reading order."""

from collections.abc import Iterator
from pathlib import Path

import yaml


def listed_pages(toc: Path) -> list[str]:
    """Return the pages listed in a table of contents, as paths without ending.

    Parameters
    ----------
    toc : Path
        The file `_toc.yml`.

    Returns
    -------
    list of str
        Relative to the folder of the file, the root page first.
    """
    return list(_listed(yaml.safe_load(toc.read_text(encoding="utf-8"))))


def _listed(entry: dict) -> Iterator[str]:
    for key in ("root", "file"):
        if key in entry:
            yield entry[key]
    for key in ("parts", "chapters", "sections", "subtrees", "entries"):
        for child in entry.get(key, []):
            yield from _listed(child)
