"""An answer runs in a process of its own: whatever it does, there is a verdict and a sentence."""

import os
import time

import pytest

from coursekit import answer_child
from coursekit.answers import judge
from coursekit.course import CourseError
from coursekit.learn import open_jupyterlab
from coursekit.notebooks import Answer

RIGHT = "return query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])"


def verdict(source, **limits):
    answer = Answer(
        "03.scaled_dot_scores", "scaled-dot-scores", source, (("imports", "import numpy as np"),)
    )
    return judge(answer, **limits)


def function(*lines):
    return "def scaled_dot_scores(query, key):\n" + "\n".join(f"    {line}" for line in lines)


def test_a_right_answer_passes():
    found = verdict(function(RIGHT))
    assert (found.state, found.exercise) == ("passes", "03.scaled_dot_scores")


def test_a_wrong_answer_is_told_why():
    found = verdict(function("return query @ np.swapaxes(key, -1, -2)"))
    assert found.state == "fails"
    assert "A known mistake" in found.message


@pytest.mark.parametrize(
    "source",
    [function("raise NotImplementedError()"), function("raise NotImplementedError('later')")],
)
def test_an_answer_that_is_not_written(source):
    assert verdict(source).state == "not written"


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("def scaled_dot_scores(query, key:\n    pass", "The cell is not Python yet: "),
        ("%timeit 1\n" + function(RIGHT), "Line 1, `%timeit 1`, is for Jupyter alone"),
        ("files = !ls\n" + function(RIGHT), "Line 1, `files = !ls`, is for Jupyter alone"),
        (function(RIGHT) + "\nscaled_dot_scores?", "`scaled_dot_scores?`, is for Jupyter alone"),
        ("import asyncio\nawait asyncio.sleep(0)", "Line 2, `await asyncio.sleep(0)`, is for Jupyter alone"),
        ("x = 1\nreturn x", "'return' outside function (line 2: return x)"),
        ("x = 1\0", "cannot contain null bytes."),
        ("x = " + "(" * 500, "( …)."),
        ("display(1)", "(line 1: display(1)). An answer is run in plain Python and by itself"),
        ("1 / 0\n" + function(RIGHT), "The cell stops with ZeroDivisionError: division by zero (line 1: 1 / 0)"),
        ("def another():\n    pass", "The cell does not define scaled_dot_scores"),
        ("import sys\nsys.exit()", "it does not leave Python"),
        ("input('number? ')", "(nobody is there to answer input())"),
        ("raise KeyboardInterrupt", "The cell stops with KeyboardInterrupt"),
    ],
)  # fmt: skip
def test_a_cell_that_does_not_get_to_the_check(source, sentence):
    found = verdict(source)
    assert found.state == "breaks"
    assert sentence in found.message


def test_an_answer_that_raises_is_shown_its_own_line():
    found = verdict(function("nothing = query / missing", RIGHT))
    assert found.state == "fails"
    assert "nothing = query / missing" in found.message


def test_an_answer_that_needs_another_cell_is_told_that_it_stands_alone():
    found = verdict(function("return my_helper(query, key)"))
    assert found.state == "fails"
    assert "name 'my_helper' is not defined" in " ".join(found.message.split())
    assert "What it needs from another cell" in found.message


def test_an_endless_loop_is_stopped():
    started = time.monotonic()
    found = verdict(function("while True: pass"), time_limit=3)
    assert found.state == "stopped"
    assert "did not finish within 3 seconds" in found.message
    assert time.monotonic() - started < 15


def test_a_loop_that_swallows_everything_is_stopped_with_what_it_started(tmp_path):
    """The process it starts would write a file later; it is killed before."""
    witness = tmp_path / "witness"
    later = f"import time; time.sleep(4); open({str(witness)!r}, 'w')"
    found = verdict(
        f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {later!r}])\n"
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        time_limit=2,
    )
    assert found.state == "stopped"
    deadline = time.monotonic() + 4
    while time.monotonic() < deadline:
        assert not witness.exists()
        time.sleep(0.2)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("import os; os._exit(3)", "Python ended with status 3"),
        ("import os; os.kill(os.getpid(), 11)", "Python itself died (SIGSEGV"),
    ],
)
def test_an_answer_that_takes_python_down(line, sentence):
    found = verdict(function(line))
    assert found.state == "stopped"
    assert sentence in found.message


def test_a_flood_of_output_is_dropped():
    found = verdict(function("print('flood ' * 100_000_000)", "import os; os._exit(1)"))
    assert found.state == "stopped"
    assert len(found.message) < 500


def test_a_memory_hog_gets_an_error_of_its_own():
    found = verdict(function("return np.ones((2**20, 2**20))"))
    assert found.state == "fails"
    assert "MemoryError" in found.message


def test_a_thread_left_running_does_not_hold_the_check_up():
    started = time.monotonic()
    found = verdict(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n"
        + function(RIGHT)
    )
    assert found.state == "passes"
    assert time.monotonic() - started < 30


def test_files_that_an_answer_writes_do_not_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert verdict("open('litter', 'w')\n" + function(RIGHT)).state == "passes"
    assert os.listdir(tmp_path) == []


def test_a_file_that_shadows_a_module_beside_the_notebook_is_not_read(tmp_path, monkeypatch):
    (tmp_path / "numpy.py").write_text("raise ImportError('not me')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert verdict(function(RIGHT)).state == "passes"


def test_a_check_that_breaks_does_not_blame_the_learner(monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("coursekit.checks.engine.examine", broken)
    cells = [("imports", "import numpy as np"), ("scaled-dot-scores", function(RIGHT))]
    state, message = answer_child.verdict("03.scaled_dot_scores", cells)
    assert state == "stopped"
    assert "The check itself broke (ZeroDivisionError: ours)" in message


def test_jupyterlab_is_opened_on_the_learners_own_folder(tmp_path, monkeypatch):
    commands = []
    monkeypatch.setattr("subprocess.call", lambda command: commands.append(command) or 0)
    assert open_jupyterlab(tmp_path) == 0
    assert f"--ServerApp.root_dir={tmp_path / 'work'}" in commands[0]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CourseError, match="JupyterLab is not installed"):
        open_jupyterlab(tmp_path)
