"""The search for leaks: red on every planted one, silent on what learners are given anyway."""

import gzip
import html
import json
import zipfile

import pytest

from coursekit.authoring.leaks import find_leaks
from coursekit.authoring.sources import build_sources

SECRET = ["    once = np.asarray(x)", "    again = once.copy()", "    return once + again"]
HIDDEN = 'mark("90.double", double, points=4)'


@pytest.fixture
def built(course, registry):
    build_sources(course, course / "sources", registry)
    return course


def leaks_in(built, name, text):
    place = built / "public"
    place.mkdir()
    (place / name).write_text(text, encoding="utf-8")
    return find_leaks(built, [place], built / "sources")


def as_notebook(lines):
    return json.dumps({"cells": [{"cell_type": "code", "source": [f"{line}\n" for line in lines]}]})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.html", "<pre><span>once</span> = np.asarray(x)\nagain = once.copy()\nreturn once <b>+</b> again</pre>"),
        ("notebook.ipynb", as_notebook(SECRET)),
        ("download.py", "\n\n".join(SECRET)),
        ("indented.md", "\n".join("        " + line for line in SECRET)),
        ("listing.rst", "\n".join(SECRET)),
        ("PAGE.HTM", "<pre>" + "\n".join(SECRET) + "</pre>"),
        ("commented.py", "\n".join(f"# {line}" for line in SECRET)),
        ("one_line.html", f"<p>{' '.join(SECRET)}</p>"),
        ("searchindex.js", f"Search.setIndex({json.dumps({'texts': [chr(10).join(SECRET)]})})"),
        ("notebook.ipynb.txt", as_notebook(SECRET)),
        ("given_in_between.py", "\n".join([SECRET[0], "import numpy as np", *SECRET[1:]])),
    ],
)  # fmt: skip
def test_three_lines_of_a_solution_are_found(built, name, text):
    (leak,) = leaks_in(built, name, text)
    assert leak.path.name == name
    assert "a solution of 90_doubling, cell double" in str(leak)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("notebook.ipynb", as_notebook([HIDDEN])),
        ("page.html", f"<p>{html.escape(HIDDEN)}</p>"),
        ("searchindex.js", f"Search.setIndex({{'a': ' and {HIDDEN} '}})"),
        ("searchindex.js", f"Search.setIndex({json.dumps({'a': HIDDEN})})"),
    ],
)
def test_a_line_of_a_hidden_test_is_found(built, name, text):
    (leak,) = leaks_in(built, name, text)
    assert "a hidden test of 90_doubling, cell double-test" in str(leak)


@pytest.mark.parametrize("name", ["download.zip", "download.gz", "wide.txt"])
def test_a_file_that_is_packed_or_in_another_encoding_is_read(built, name):
    text = "\n".join(SECRET)
    place = built / "public"
    place.mkdir()
    if name.endswith("zip"):
        with zipfile.ZipFile(place / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("inside.py", text)
    else:
        packed = gzip.compress(text.encode()) if name.endswith("gz") else text.encode("utf-16")
        (place / name).write_bytes(packed)
    (place / "picture.png").write_bytes(b"\x89PNG\0" + text.encode())
    (leak,) = find_leaks(built, [place], built / "sources")
    assert leak.path.name == name


@pytest.mark.parametrize(
    "lines",
    [
        SECRET[:2],
        [SECRET[0], "unrelated()", *SECRET[1:]],
        SECRET[::-1],
        ["import numpy as np", "# Graded with other numbers than those above."],
    ],
)
def test_what_is_no_leak(built, lines):
    assert leaks_in(built, "notebook.ipynb", as_notebook(lines)) == []


def test_lines_of_a_given_cell_do_not_count(course, registry, source):
    given = "# %%\n" + "\n".join(line.strip() for line in SECRET[:2])
    text = source.replace("# %%\ncheck(", f"{given}\n\n# %%\ncheck(")
    (course / "solutions" / "90_doubling.py").write_text(text, encoding="utf-8")
    build_sources(course, course / "sources", registry)
    assert leaks_in(course, "notebook.ipynb", as_notebook(SECRET)) == []


def test_library_source_that_a_page_includes_does_not_count(built):
    (built / "library.py").write_text("\n".join(["def double(x):", *SECRET]), encoding="utf-8")
    assert len(leaks_in(built, "page.py", "\n".join(SECRET))) == 1
    page = built / "book" / "page.md"
    page.parent.mkdir()
    page.write_text("```{library} library triple double\n```\n", encoding="utf-8")
    assert find_leaks(built, [built / "public"], built / "sources") == []


def test_places_that_do_not_exist_are_skipped(built):
    assert find_leaks(built, [built / "_build" / "html"], built / "sources") == []
