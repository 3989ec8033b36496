"""The assignments' text sources against the registry: points, helpers, and answers that stand alone."""

import ast
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jupytext
import numpy as np
import pytest

from coursekit.checks import exercises, registry
from coursekit.checks.engine import examine
from coursekit.checks.seeds import DEFAULT_HIDDEN_SEED

ROOT = Path(__file__).parents[3]
SOURCES = sorted((ROOT / "solutions").glob("*.py"))
NOTEBOOKS = {path.stem: jupytext.read(path) for path in SOURCES}


def nbgrader(cell):
    return cell.metadata.get("nbgrader", {})


ANSWERS = {
    cell.metadata["coursekit"]["exercise"]: (assignment, cell)
    for assignment, notebook in NOTEBOOKS.items()
    for cell in notebook.cells
    if "coursekit" in cell.metadata
}
each_exercise = pytest.mark.parametrize("entry", exercises(), ids=lambda entry: entry.identifier)


def helper_sources(assignment, names):
    cells = {nbgrader(c).get("grade_id"): c for c in NOTEBOOKS[assignment].cells}
    return [cells[name].source for name in names]


def test_every_exercise_has_its_cells_in_its_assignment_and_nothing_else_is_there():
    assert set(ANSWERS) == {entry.identifier for entry in exercises()}
    assert set(NOTEBOOKS) == {entry.assignment for entry in exercises()}
    for assignment in NOTEBOOKS:
        in_registry = [e.identifier for e in exercises() if e.assignment == assignment]
        in_notebook = [name for name, (where, _) in ANSWERS.items() if where == assignment]
        headings = re.findall(
            r"\{\{exercise (\S+)\}\}", "\n".join(c.source for c in NOTEBOOKS[assignment].cells)
        )
        assert in_notebook == headings == in_registry


@each_exercise
def test_cells_agree_with_the_registry(entry):
    assignment, answer = ANSWERS[entry.identifier]
    assert assignment == entry.assignment
    assert nbgrader(answer) == {
        "grade": False,
        "grade_id": entry.grade_id,
        "locked": False,
        "schema_version": 3,
        "solution": True,
        "task": False,
    }
    assert answer.metadata["coursekit"]["helpers"] == list(entry.helpers)
    cells = NOTEBOOKS[assignment].cells
    graded = next(c for c in cells if nbgrader(c).get("grade_id") == f"{entry.grade_id}-test")
    assert nbgrader(graded) == {
        "grade": True,
        "grade_id": f"{entry.grade_id}-test",
        "locked": True,
        "points": entry.points,
        "schema_version": 3,
        "solution": False,
        "task": False,
    }
    first, begin, *hidden, end = graded.source.splitlines()
    assert first.startswith("# Graded: ")
    assert (begin, end) == ("### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")
    assert hidden == [
        "from coursekit.checks import mark",
        "",
        f'mark("{entry.identifier}", {entry.answer}, points={entry.points})',
    ]
    assert f'check("{entry.identifier}", {entry.answer})' in [c.source for c in cells]
    assert cells.index(answer) < cells.index(graded)


@pytest.mark.parametrize("assignment", NOTEBOOKS)
def test_points_of_an_assignment_are_those_of_its_exercises_and_the_written_answer(assignment):
    points = [
        nbgrader(c)["points"] for c in NOTEBOOKS[assignment].cells if nbgrader(c).get("grade")
    ]
    exercise_points = sum(e.points for e in exercises() if e.assignment == assignment)
    assert sum(points) == exercise_points + 3
    written = [
        c
        for c in NOTEBOOKS[assignment].cells
        if c.cell_type == "markdown" and nbgrader(c).get("grade")
    ]
    assert [nbgrader(c)["points"] for c in written] == [3]
    assert nbgrader(written[0])["solution"] is True
    question = NOTEBOOKS[assignment].cells[NOTEBOOKS[assignment].cells.index(written[0]) - 1].source
    assert "What is looked for, one point each" in question
    assert "**3 points**" in question


@pytest.mark.parametrize("assignment", NOTEBOOKS)
def test_locked_cells_are_what_the_checks_hold(assignment):
    """Mistakes and counterexamples are judged with these very programs."""
    folder = registry.ASSIGNMENTS[assignment[:2]]
    given = importlib.import_module(f"coursekit.checks.{folder}.given")
    cells = {
        nbgrader(c)["grade_id"]: c.source
        for c in NOTEBOOKS[assignment].cells
        if nbgrader(c).get("locked") and not nbgrader(c)["grade"]
    }
    programs = {
        name.replace("_", "-"): inspect.getsource(function).strip()
        for name, function in vars(given).items()
        if inspect.isfunction(function)
    }
    assert programs == {name: cells[name] for name in cells if name in programs}
    assert set(cells) - set(programs) <= {"imports", "imports-torch", "tools"}
    assert cells["imports"] == "import numpy as np"
    assert cells.get("imports-torch", "import torch") == "import torch"


BARE = """
import json, sys
places, cells, blocked = json.loads(sys.stdin.read())
sys.path[:] = [p for p in sys.path if "site-packages" not in p] + places

class OnlyNumbers:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in blocked:
            raise ImportError("a bare Python has no " + name)

sys.meta_path.insert(0, OnlyNumbers())
for answer, sources in cells:
    namespace = {"__name__": "__main__"}
    for source in sources:
        exec(compile(source, answer, "exec"), namespace)
    assert answer in namespace, answer
assert "attnkit" not in sys.modules and "coursekit" not in sys.modules
print("all of them")
"""


@pytest.mark.parametrize("needs", ["numpy", "torch"])
def test_answers_and_their_helpers_run_in_a_bare_python(needs):
    """Each answer in a namespace of its own, where nothing but NumPy (or torch) can be imported."""
    cells = [
        (
            entry.answer,
            [*helper_sources(entry.assignment, entry.helpers), ANSWERS[entry.identifier][1].source],
        )
        for entry in exercises()
        if entry.needs == needs
    ]
    assert cells
    places = sorted({str(Path(np.__file__).parents[1])})
    blocked = ["attnkit", "coursekit", "matplotlib", "scipy", "IPython", "nbgrader", "jupytext"]
    if needs == "numpy":
        blocked.append("torch")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", BARE],
        input=json.dumps([places, cells, blocked]),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stderr == ""
    assert done.stdout == "all of them\n"


@each_exercise
def test_the_solution_alone_earns_full_marks(entry):
    """With its helpers and nothing else: no answer needs another answer."""
    assignment, cell = ANSWERS[entry.identifier]
    namespace = {}
    for source in [*helper_sources(assignment, entry.helpers), cell.source]:
        exec(source, namespace)
    report = examine(entry, namespace[entry.answer], DEFAULT_HIDDEN_SEED)
    assert report.passed, report.failures
    assert report.earned(entry.points) == entry.points


@each_exercise
def test_a_known_mistake_pasted_as_an_answer_is_still_named(entry):
    assignment, _ = ANSWERS[entry.identifier]
    for mistake in entry.mistakes:
        namespace = {}
        for source in [*helper_sources(assignment, entry.helpers), mistake.as_answer(entry.answer)]:
            exec(source, namespace)
        named = examine(entry, namespace[entry.answer], DEFAULT_HIDDEN_SEED).mistake
        assert named is not None, mistake.name
        assert named.name == (mistake.same_as or mistake.name)


@each_exercise
def test_a_blank_answer_is_told_that_it_is_not_written(entry):
    """What nbgrader leaves of the answer cell still defines the name."""
    assignment, cell = ANSWERS[entry.identifier]
    blank, inside = [], False
    for line in cell.source.splitlines():
        if "### BEGIN SOLUTION" in line:
            indent = line[: line.index("#")]
            blank += [f"{indent}# YOUR CODE HERE", f"{indent}raise NotImplementedError()"]
            inside = True
        if not inside:
            blank.append(line)
        if "### END SOLUTION" in line:
            inside = False
    namespace = {}
    for source in [*helper_sources(assignment, entry.helpers), "\n".join(blank)]:
        exec(source, namespace)
    report = examine(entry, namespace[entry.answer], DEFAULT_HIDDEN_SEED)
    assert {failure.finding.code for failure in report.failures.values()} == {"not written"}
    assert report.earned(entry.points) == 0.0


@each_exercise
def test_answers_say_what_they_do(entry):
    tree = ast.parse(ANSWERS[entry.identifier][1].source)
    assert ast.get_docstring(tree.body[-1])


@pytest.mark.parametrize("assignment", NOTEBOOKS)
def test_no_hint_and_no_explanation_is_a_solution(assignment):
    """No line of a solution that does the work stands in a hint or an explanation."""
    for identifier, (where, cell) in ANSWERS.items():
        if where != assignment:
            continue
        entry = next(e for e in exercises() if e.identifier == identifier)
        region = cell.source.split("### BEGIN SOLUTION")[1].split("### END SOLUTION")[0]
        lines = [line.split("#")[0].strip() for line in region.splitlines()]
        told = "\n".join([*entry.hints, *(m.explanation for m in entry.mistakes)])
        long_lines = [line for line in lines if len(line) > 40]
        assert not [line for line in long_lines if line in told], identifier


@pytest.mark.parametrize("assignment", NOTEBOOKS)
def test_an_introduction_opens_the_notebook(assignment):
    first = NOTEBOOKS[assignment].cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith(f"# Assignment {int(assignment[:2])}: ")
    assert "**How to hand in.**" in first.source
    assert f"`{assignment}.ipynb`" in first.source


@pytest.mark.parametrize("assignment", NOTEBOOKS)
def test_sections_that_an_assignment_points_to_exist(assignment):
    prose = "\n".join(c.source for c in NOTEBOOKS[assignment].cells if c.cell_type == "markdown")
    cited = re.findall(r"\(Chapter\s+(\d+):\s+\*([^*]+)\*", prose)
    for chapter, section in cited:
        (page,) = (ROOT / "book").glob(f"part*/{int(chapter):02d}_*.md")
        headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert " ".join(section.split()) in headings
    assert cited


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_source_runs_as_a_script(path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"},
    )
    assert done.stderr == ""
    assert done.returncode == 0
    marks = re.findall(r"^([\d.]+) of ([\d.]+) points$", done.stdout, flags=re.MULTILINE)
    assert len(marks) == len([e for e in exercises() if e.assignment == path.stem])
    assert all(earned == points for earned, points in marks)
