"""Files that cannot be checked: one sentence with cause and remedy, status 2, nothing written."""

import json
import os
import subprocess
import sys

import pytest

from coursekit.checks import exercise


def as_bytes(notebook):
    return json.dumps(notebook).encode()


def deep():
    return b"[" * 100_000 + b"]" * 100_000


BAD = {
    "empty": (b"", "is empty: take a fresh copy"),
    "blank": (b" \n\n", "is empty: take a fresh copy"),
    "python": (b"import numpy as np\n", "is not a notebook (no JSON at line 1)"),
    "picture": (b"\x89PNG\r\n\x1a\n\xff\x00", "is not UTF-8 text (byte 0)"),
    "cut off": (b'{"cells": [{"cell_type": "code", "sour', "breaks off in the middle"),
    "nested": (deep(), "nested too deeply"),
    "number": (b"42", "is JSON, but not a notebook"),
    "table": (b'{"marks": [1, 2]}', "is JSON, but not a notebook"),
    "old": (as_bytes({"nbformat": 3, "worksheets": []}), "is in notebook format 3"),
    "endless number": (b'{"nbformat": ' + b"9" * 5000 + b"}", "holds numbers that no notebook has"),
    "text for a number": (as_bytes({"nbformat": "4", "cells": []}), "is in notebook format '4'"),
    "newer": (as_bytes({"nbformat": 5, "cells": []}), "is in notebook format 5"),
    "no cells": (as_bytes({"nbformat": 4, "metadata": {}, "cells": []}), "has no cells"),
    "no cell list": (as_bytes({"nbformat": 4, "metadata": {}}), "its cells are damaged"),
    "odd cells": (as_bytes({"nbformat": 4, "cells": [7]}), "its cells are damaged"),
    "odd source": (
        as_bytes({"nbformat": 4, "cells": [{"cell_type": "code", "source": 7}]}),
        "its cells are damaged",
    ),
    "foreign": (
        as_bytes({"nbformat": 4, "cells": [{"cell_type": "code", "metadata": {}, "source": "1"}]}),
        "does not say that it is an assignment of this course",
    ),
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_content_that_is_no_notebook_of_ours(course, run, content):
    path = course / "mine.ipynb"
    path.write_bytes(content[0])
    status, said = run("check", "mine.ipynb")
    assert status == 2
    assert said.startswith("mine.ipynb ")
    assert content[1] in said
    assert [file.name for file in course.iterdir() if file.name != "exercises"] == ["mine.ipynb"]
    assert path.read_bytes() == content[0]


@pytest.mark.parametrize(
    ("encoding", "sentence"),
    [
        ("utf-16", "is UTF-16 text"),
        ("utf-16-le", "is UTF-16 text"),
        ("utf-8-sig", "byte order mark"),
    ],
)
def test_other_encodings(course, run, released, encoding, sentence):
    (course / "mine.ipynb").write_bytes(json.dumps(released).encode(encoding))
    status, said = run("check", "mine.ipynb")
    assert (status, sentence in said) == (2, True)


def test_an_unfinished_merge(course, run, released):
    lines = json.dumps(released, indent=1).splitlines()
    lines[5:5] = ["<<<<<<< HEAD", lines[5], "=======", lines[5], ">>>>>>> other"]
    (course / "mine.ipynb").write_text("\n".join(lines), encoding="utf-8")
    status, said = run("check", "mine.ipynb")
    assert status == 2
    assert "unfinished merge (line 6 reads '<<<<<<< HEAD')" in said


def test_a_missing_file(course, run):
    status, said = run("check", "nothing.ipynb")
    assert (status, "There is no file nothing.ipynb: check the path" in said) == (2, True)


def test_a_missing_file_with_a_name_like_one_in_work(course, run, released):
    (course / "work" / "03_scores").mkdir(parents=True)
    (course / "work" / "03_scores" / "03_scores.ipynb").write_text("{}", encoding="utf-8")
    status, said = run("check", "work/3_scores/03_scores.ipynb")
    assert status == 2
    assert "3_scores/03_scores.ipynb; near: work/03_scores/03_scores.ipynb: check" in said


def test_a_folder_names_the_notebook_in_it(course, run, released):
    (course / "work").mkdir()
    (course / "work" / "mine.ipynb").write_text(json.dumps(released), encoding="utf-8")
    status, said = run("check", "work")
    assert status == 2
    assert "work is a folder: name the file in it: work/mine.ipynb." in said


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(course, run):
    os.mkfifo(course / "pipe.ipynb")
    status, said = run("check", "pipe.ipynb")
    assert (status, "is not an ordinary file" in said) == (2, True)


def test_a_name_that_no_system_takes(course, run):
    status, said = run("check", "a" * 5000)
    assert status == 2
    assert "cannot be read" in said


def test_missing_cells(course, run, released):
    names = ("scaled-dot-scores", "imports")
    released["cells"] = [
        cell
        for cell in released["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") not in names
    ]
    (course / "mine.ipynb").write_text(json.dumps(released), encoding="utf-8")
    status, said = run("check", "mine.ipynb")
    assert status == 2
    assert "lacks the cells imports, scaled-dot-scores" in said
    assert "`coursekit fresh 03`" in said


def test_a_duplicated_cell(course, run, released):
    position = next(
        i for i, cell in enumerate(released["cells"]) if cell["id"] == "scaled-dot-scores"
    )
    released["cells"].insert(position, released["cells"][position])
    (course / "mine.ipynb").write_text(json.dumps(released), encoding="utf-8")
    status, said = run("check", "mine.ipynb")
    assert status == 2
    assert f"'scaled-dot-scores' 2 times (cells {position + 1} and {position + 2})" in said


@pytest.mark.parametrize(
    ("identifier", "other", "key"),
    [("scaled-dot-scores", "markdown", "Y"), ("imports", "raw", "Y"), ("in-your-own-words", "code", "M")],
)  # fmt: skip
def test_a_cell_of_another_type(course, run, released, identifier, other, key):
    """Jupyter would not run it, so that a check that ran it would promise too much."""
    next(cell for cell in released["cells"] if cell["id"] == identifier)["cell_type"] = other
    (course / "mine.ipynb").write_text(json.dumps(released), encoding="utf-8")
    status, said = run("check", "mine.ipynb")
    assert status == 2
    assert f"has {identifier} (cell " in said
    assert f"as a {other} cell" in said
    assert f"press {key}, and save" in said


def test_a_link_to_itself_and_a_link_to_nothing(course, run):
    for name, target in (("loop.ipynb", "loop.ipynb"), ("lost.ipynb", "gone.ipynb")):
        (course / name).symlink_to(target)
        status, said = run("check", name)
        assert status == 2
        assert name in said


def test_an_unknown_assignment(course, run, released):
    released["metadata"]["coursekit"]["assignment"] = "77_magic"
    (course / "mine.ipynb").write_text(json.dumps(released), encoding="utf-8")
    status, said = run("check", "mine.ipynb")
    assert status == 2
    assert "There is no assignment '77_magic'; all: " in said
    assert "03_scores" in said


def test_the_command_itself_ends_with_a_sentence_and_no_traceback(course):
    (course / "mine.ipynb").write_bytes(b"")
    command = [sys.executable, "-m", "coursekit.cli", "check", "mine.ipynb"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=course)
    assert ended.returncode == 2
    assert ended.stderr == "mine.ipynb is empty: take a fresh copy with `coursekit fresh`.\n"
    assert ended.stdout == ""


def test_a_terminal_without_our_characters(course, released):
    """Messages hold √ and ≤; where they cannot be shown there is no traceback either."""
    for cell in released["cells"]:
        if cell["id"] == "scaled-dot-scores":
            cell["source"] = (
                exercise("03.scaled_dot_scores").mistakes[1].as_answer("scaled_dot_scores")
            )
    (course / "mine.ipynb").write_text(json.dumps(released), encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "coursekit.cli", "check", "mine.ipynb"],
        cwd=course,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "A known mistake" in ended.stdout
