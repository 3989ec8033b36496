"""The released notebooks themselves: with solutions they run through, without them they fail cleanly."""

import json
import os
import re
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient

from coursekit.authoring.sources import build_sources
from coursekit.checks import exercises
from coursekit.notebooks import source_of
from coursekit.simulate import solved_notebook

PROJECT = Path(__file__).resolve().parents[3]
ASSIGNMENTS = tuple(dict.fromkeys(entry.assignment for entry in exercises()))

# The kernel starts threads of its own; what they warn of is not ours.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Return a folder with the source notebook of every assignment, built once."""
    folder = tmp_path_factory.mktemp("sources")
    build_sources(PROJECT, folder)
    return folder


def executed(notebook, folder, monkeypatch):
    """Run a notebook as Jupyter would and return its code cells, errors kept in them."""
    assert "python3" in KernelSpecManager().find_kernel_specs()
    monkeypatch.setenv(
        "PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    )
    notebook = nbformat.reads(json.dumps(notebook), as_version=4)
    client = NotebookClient(
        notebook, timeout=120, allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def errors(cell):
    return [output for output in cell.outputs if output.output_type == "error"]


def text(cell):
    return "".join(output.get("text", "") for output in cell.outputs)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_with_the_solutions_every_check_passes(assignment, sources, tmp_path, monkeypatch):
    right = solved_notebook(PROJECT, assignment, sources=sources)
    cells = executed(right, tmp_path, monkeypatch)
    assert [(source_of(cell), errors(cell)) for cell in cells if errors(cell)] == []
    noisy = [o for cell in cells for o in cell.outputs if o.get("name") == "stderr"]
    assert noisy == []
    passed = re.findall(r"^(\S+): passed", "\n".join(map(text, cells)), re.MULTILINE)
    expected = [entry.identifier for entry in exercises() if entry.assignment == assignment]
    assert sorted(passed) == sorted(expected)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_blank_it_fails_with_a_sentence_and_nothing_else(assignment, tmp_path, monkeypatch):
    path = PROJECT / "exercises" / assignment / f"{assignment}.ipynb"
    cells = executed(json.loads(path.read_text(encoding="utf-8")), tmp_path, monkeypatch)
    found = [(source_of(cell), error) for cell in cells for error in errors(cell)]
    others = [
        (source, error.ename)
        for source, error in found
        if error.ename not in ("CheckFailure", "NotImplementedError")
    ]
    assert others == []
    checks = [source for source, error in found if error.ename == "CheckFailure"]
    expected = {entry.identifier for entry in exercises() if entry.assignment == assignment}
    assert {
        match for source in checks for match in re.findall(r'check\("([^"]+)"', source)
    } == expected
    # What a learner sees is the message, not our stack.
    shown = ["\n".join(error.traceback) for _, error in found if error.ename == "CheckFailure"]
    assert not [lines for lines in shown if "Traceback" in lines or "site-packages" in lines]
