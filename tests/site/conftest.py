"""Tiny books, built inside the test's process, for trying one extension at a time."""

import contextlib
import io
import json
import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "book" / "_ext"))


@dataclass
class TinyBook:
    """A folder of sources that can be built again and again."""

    folder: Path
    extensions: list[str]
    config: dict[str, Any]
    warnings: str = ""
    status: str = ""
    updated: frozenset[str] = frozenset()

    def write(self, name: str, text: str) -> None:
        """Write or overwrite a source file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def notebook(self, name: str, *cells: str, glued: dict[str, Any]) -> None:
        """Write a page that looks as if its code had been executed and had glued `glued`."""
        outputs = [
            {
                "output_type": "display_data",
                "data": {"application/papermill.record/text/plain": repr(value)},
                "metadata": {
                    "scrapbook": {"name": key, "mime_prefix": "application/papermill.record/"}
                },
            }
            for key, value in glued.items()
        ]
        code = {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {},
            "outputs": outputs,
            "source": "pass",
        }
        texts = [{"cell_type": "markdown", "metadata": {}, "source": cell} for cell in cells]
        content = {
            "cells": [*texts, code],
            "metadata": {
                "kernelspec": {"name": "python3", "display_name": "", "language": "python"}
            },
            "nbformat": 4,
            "nbformat_minor": 4,
        }
        self.write(name, json.dumps(content))

    def build(self) -> "TinyBook":
        """Build what is outdated, and keep the warnings."""
        status, complaints = io.StringIO(), io.StringIO()
        read: set[str] = set()
        with (
            warnings.catch_warnings(),
            patch_docutils(),
            docutils_namespace(),
            contextlib.redirect_stderr(complaints),
        ):
            warnings.simplefilter("ignore")  # what other people's extensions warn about
            app = Sphinx(
                srcdir=self.folder,
                confdir=None,
                outdir=self.folder / "_build" / "html",
                doctreedir=self.folder / "_build" / "doctrees",
                buildername="html",
                confoverrides={
                    "extensions": ["myst_nb", *self.extensions],
                    "nb_execution_mode": "off",
                    "html_theme": "basic",
                    "exclude_patterns": ["_build"],
                    "root_doc": "index",
                    "myst_enable_extensions": ["dollarmath", "colon_fence"],
                    **self.config,
                },
                status=status,
                warning=complaints,
            )
            app.connect("env-before-read-docs", lambda app, env, names: read.update(names))
            app.build()
        self.warnings, self.status = (
            re.sub(r"\x1b\[[\d;]*m", "", text.getvalue()) for text in (complaints, status)
        )
        self.updated = frozenset(read)
        return self

    def page(self, name: str = "index") -> BeautifulSoup:
        """Return a built page, parsed."""
        text = (self.folder / "_build" / "html" / f"{name}.html").read_text(encoding="utf-8")
        return BeautifulSoup(text, "html.parser")


@pytest.fixture
def tiny_book(tmp_path: Path) -> Callable[..., TinyBook]:
    """Return a maker of tiny books: ``tiny_book("quiz", index="# Title …")``."""

    def make(*extensions: str, index: str = "# Title\n", **config: Any) -> TinyBook:
        book = TinyBook(tmp_path / "tiny", list(extensions), config)
        book.write("index.md", index)
        return book

    return make
