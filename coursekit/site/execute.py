"""Executes pages whose code or library changed, several at a time, into the cache that the book reads.

A step of ``make book``, in a process of its own (``python -m coursekit.site.execute``). A page that
measures time says so in its front matter, ``measures_time: true``, and runs alone, after the others.

The cache's key is a page's code cells only. A change in the course's own library would therefore show
old figures. So the cache folder is named by a hash over everything that figures depend on besides the
page: the Python version, `constraints.txt`, all of `attnkit`, the modules of `coursekit.site` that
pages import, and recorded data and scripts under `book/`.
"""

import argparse
import hashlib
import logging
import os
import platform
import sys
from pathlib import Path

import yaml

from coursekit.site.toc import listed_pages

FIGURES_DEPEND_ON = (
    "constraints.txt",
    "attnkit/**/*.py",
    "coursekit/site/_publish.py",
    "coursekit/site/claims.py",
    "coursekit/site/pages.py",
    "book/data/**/*",
    "book/scripts/**/*",
)
READER = {"type": "plugin", "name": "myst_nb_md"}  # the book's own, so that both see the same cells


def fingerprint(root: Path) -> str:
    """Return a short hash of the names and contents of the files that figures depend on."""
    digest = hashlib.sha256(platform.python_version().encode())
    for pattern in FIGURES_DEPEND_ON:
        for path in sorted(root.glob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.relative_to(root).as_posix().encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def cache_folder(root: Path) -> Path:
    """Return the folder of executed pages that belongs to the library as it is now."""
    return root.resolve() / "_build" / ".jupyter_cache" / fingerprint(root)


def use_one_thread() -> None:
    """Let kernels started from here compute on one thread each."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"


def notebooks(root: Path) -> list[Path]:
    """Return the listed pages that hold code."""
    from myst_nb.core.read import is_myst_markdown_notebook

    pages = (root.resolve() / f"{name}.md" for name in listed_pages(root / "_toc.yml"))
    return [
        page
        for page in pages
        if page.is_file() and is_myst_markdown_notebook(page.read_text(encoding="utf-8"))
    ]


def execute(root: Path) -> list[str]:
    """Execute what is not in the cache, and return the paths of the pages that failed.

    Pages run in their own folders. What a failing page raised is printed.
    """
    from jupyter_cache import get_cache
    from jupyter_cache.executors import load_executor

    use_one_thread()
    settings = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    folder = cache_folder(root)
    folder.parent.mkdir(parents=True, exist_ok=True)
    cache = get_cache(str(folder))
    staged = [cache.add_nb_to_project(str(page), read_data=READER).pk for page in notebooks(root)]
    together, alone = [], []
    for record in cache.list_unexecuted(filter_pks=staged):
        page = cache.get_project_notebook(record.pk).nb
        (alone if page.metadata.get("measures_time") else together).append(record.pk)
    failed = []
    for kind, waiting in (("local-parallel", together), ("local-serial", alone)):
        if waiting:
            result = load_executor(kind, cache, _logger()).run_and_cache(
                filter_pks=waiting, timeout=settings["execute"]["timeout"]
            )
            failed += [*result.excepted, *result.errored]
    for page in failed:
        print(f"\n{Path(page).relative_to(root.resolve())}:\n\n{_raised(cache, page)}", flush=True)
    return failed


def _raised(cache, page: str) -> str:
    """Return what a failing page raised, without the way through the tools that run pages."""
    text = cache.get_project_record(page).traceback
    if text is None:
        return "The page could not be executed; the messages above say more."
    return text[max(text.find("An error occurred while executing"), 0) :].rstrip()


def _logger() -> logging.Logger:
    """Return a logger that says on standard error which page begins and ends."""
    logger = logging.getLogger(__name__)
    logger.setLevel(logging.INFO)
    if not logger.handlers:
        logger.addHandler(logging.StreamHandler())
    return logger


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m coursekit.site.execute", description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the folder with _toc.yml")
    return 1 if execute(parser.parse_args(arguments).root) else 0


if __name__ == "__main__":
    sys.exit(main())
