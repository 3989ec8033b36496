"""A small book with the real settings: what is executed, when again, and what is never touched."""

import io
import os
import shutil
import sys

import pytest
from bs4 import BeautifulSoup

from coursekit.site.build import build
from tests.site.conftest import ROOT

pytestmark = pytest.mark.slow

CHAPTER = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
# A chapter

```{code-cell} ipython3
from pathlib import Path
from coursekit.site.claims import settle
from coursekit.site.pages import page_cost

runs = Path("runs.txt")
count = int(runs.read_text()) + 1 if runs.exists() else 1
_ = runs.write_text(str(count))
verdict = settle("C5", figure=f"run {count}, width WIDTH", holds=count > 1)
verdict = settle("C4", figure="2 widths", holds=True)
verdict = settle("C6", figure="3 times", holds=True)
page_cost();
```

```{claim} C5
```

```{claim} C4
```

```{claim} C6
```

It took {glue:text}`cpu_seconds` s.
"""

PLANTED = """\
{"cells": [{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [],
 "source": "open('MARK', 'w').close()"}],
 "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
 "nbformat": 4, "nbformat_minor": 4}
"""


@pytest.fixture
def small_book(tmp_path):
    """A copy of the book's settings with one chapter, and a command that builds it."""
    for name in ("_config.yml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "book" / "_ext", tmp_path / "book" / "_ext")
    shutil.copytree(ROOT / "book" / "_static", tmp_path / "book" / "_static")
    for name in ("claims.yml", "references.bib", "ledger.md"):
        shutil.copy(ROOT / "book" / name, tmp_path / "book")
    (tmp_path / "book" / "index.md").write_text("# Start\n")
    (tmp_path / "book" / "part1").mkdir()
    (tmp_path / "book" / "part1" / "03_scores.md").write_text(CHAPTER.replace("WIDTH", "64"))
    (tmp_path / "attnkit").mkdir()
    (tmp_path / "attnkit" / "weights.py").write_text("x = 1\n")
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: book/index\nchapters:\n"
        "  - file: book/part1/03_scores\n  - file: book/ledger\n"
    )
    return tmp_path


@pytest.fixture
def run(small_book, monkeypatch):
    """Build the small book; return status and what was said."""
    monkeypatch.setattr(
        sys.modules["coursekit.site.build"], "check_formulas", lambda root, say: None
    )

    def once():
        stream = io.StringIO()
        return build(small_book, verbose=True, stream=stream), stream.getvalue()

    return once


def ledger_line(root):
    page = BeautifulSoup((root / "_build/html/book/ledger.html").read_text(), "html.parser")
    row = page.find(id="ledger-c5").find_parent("tr")
    return [cell.get_text(" ", strip=True) for cell in row.find_all("td")][-2:]


def test_notebooks_elsewhere_are_neither_read_nor_executed(small_book, run):
    folders = [
        ".hidden",
        ".venv/share",
        "work/03_scores",
        "exercises",
        "solutions",
        "tests",
        "node_modules/x",
    ]
    for folder in folders:
        (small_book / folder).mkdir(parents=True)
        mark = small_book / folder / "was-executed"
        (small_book / folder / "planted.ipynb").write_text(PLANTED.replace("MARK", str(mark)))
    status, said = run()
    assert status == 0, said
    assert "03_scores" in said
    assert "planted" not in said
    assert not list(small_book.rglob("was-executed"))
    assert not list((small_book / "_build").rglob("planted*"))


def test_pages_run_again_when_their_code_or_the_library_changed(small_book, run):
    chapter = small_book / "book" / "part1" / "03_scores.md"
    runs = small_book / "book" / "part1" / "runs.txt"

    status, said = run()
    assert status == 0, said
    assert runs.read_text() == "1"
    assert "Executing notebook" not in said, "Jupyter Book finds every page in the cache"
    assert ledger_line(small_book) == ["run 1, width 64", "does not hold here ."]

    chapter.write_text(chapter.read_text() + "\nMore words.\n")
    assert run()[0] == 0
    assert runs.read_text() == "1", "words alone do not execute a page"

    chapter.write_text(chapter.read_text().replace("width 64", "width 128"))
    assert run()[0] == 0
    assert ledger_line(small_book) == ["run 2, width 128", "holds ."]

    (small_book / "attnkit" / "weights.py").write_text("x = 2\n")
    assert run()[0] == 0
    assert ledger_line(small_book) == ["run 3, width 128", "holds ."]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("raise ValueError('on purpose')", "ValueError: on purpose"),
        ("import warnings; warnings.warn('careful')", "UserWarning: careful"),
    ],
    ids=["error", "warning"],
)
def test_page_that_fails_or_warns_fails_the_build(small_book, run, line, reason):
    chapter = small_book / "book" / "part1" / "03_scores.md"
    chapter.write_text(chapter.read_text().replace("page_cost();", f"page_cost(); {line}"))
    status, said = run()
    assert status != 0
    assert "book/part1/03_scores.md" in said
    assert reason in said
    again, _ = run()
    assert again != 0, "the second build must not pass what the first refused"


TIMED = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
measures_time: MEASURES
---
# A page

```{code-cell} ipython3
import time
from pathlib import Path

began = time.time()
CODE
_ = Path("NAME.txt").write_text(f"{began} {time.time()}")
```
"""

MEET = """\
Path("NAME.here").touch()
while not Path("OTHER.here").exists():
    assert time.time() < began + 60, "the other page does not run"
    time.sleep(0.1)"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor runs one page at a time")
def test_pages_run_side_by_side_and_those_that_measure_time_alone(small_book, run):
    folder = small_book / "book" / "part1"
    toc = (small_book / "_toc.yml").read_text()
    for name, measures, code in (
        ("first", "true", "pass"),
        ("second", "false", MEET.replace("OTHER", "third")),
        ("third", "false", MEET.replace("OTHER", "second")),
    ):
        page = TIMED.replace("MEASURES", measures).replace("CODE", code).replace("NAME", name)
        (folder / f"{name}.md").write_text(page)
        toc += f"  - file: book/part1/{name}\n"
    (small_book / "_toc.yml").write_text(toc)
    status, said = run()
    assert status == 0, said
    alone, second, third = (
        [float(when) for when in (folder / f"{name}.txt").read_text().split()]
        for name in ("first", "second", "third")
    )
    assert alone[0] > max(second[1], third[1])
