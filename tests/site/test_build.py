"""The build command: progress, failures that explain themselves, and nothing left running."""

import io
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from coursekit.site import build as building
from coursekit.site.build import Progress, build, forget_old_caches, main


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self):
        return True


@pytest.fixture
def pretend(tmp_path, monkeypatch):
    """Build a folder with stand-ins: ``status, text = pretend("Jupyter Book", execute="first step")``."""
    monkeypatch.setattr(building, "check_formulas", lambda root, say: None)

    def run(code="", *, execute="", **options):
        monkeypatch.setattr(building, "EXECUTE", textwrap.dedent(execute))
        monkeypatch.setattr(building, "JUPYTER_BOOK", textwrap.dedent(code))
        stream = io.StringIO()
        return build(tmp_path, stream=stream, **options), stream.getvalue()

    return run


def test_pages_are_shown_with_their_time(pretend, tmp_path):
    (tmp_path / "_build/html/book").mkdir(parents=True)
    (tmp_path / "_build/html/book/one.html").touch()
    status, text = pretend(
        execute=f"""
        import sys
        print("[REPORT/ForkPoolWorker-1] Executing: {tmp_path}/book/one.md", file=sys.stderr)
        print("[REPORT/ForkPoolWorker-2] Executing: {tmp_path}/book/two.md", file=sys.stderr)
        print("[REPORT/ForkPoolWorker-1] Execution Successful: {tmp_path}/book/one.md", file=sys.stderr)
        print("Execution Successful: {tmp_path}/book/two.md", file=sys.stderr)
        """
    )
    assert status == 0
    assert "    done    0.0 s  book/one.md\n    done    0.0 s  book/two.md\n" in text
    assert "1 pages, 2 executed" in text


def test_arguments_make_warnings_errors(pretend):
    _, text = pretend("import sys; print(*sys.argv[1:])", verbose=True)
    assert "-W -n --keep-going" in text
    assert text.splitlines()[1].startswith("build ")


def test_failing_page_is_named_what_it_raised_printed_and_the_book_not_built(pretend, tmp_path):
    status, text = pretend(
        "print('built')",
        execute=f"""
        import sys
        print("[REPORT/ForkPoolWorker-1] Executing: {tmp_path}/book/one.md", file=sys.stderr)
        print("[WARNING/ForkPoolWorker-1] \x1b[91mExecution Excepted: {tmp_path}/book/one.md", file=sys.stderr)
        print("[IPKernelApp] WARNING | chatter", file=sys.stderr)
        print("An error occurred while executing: 1 / 0\\nZeroDivisionError")
        sys.exit(3)
        """,
        verbose=True,
    )
    assert status == 3
    assert "  failed " in text
    assert "book/one.md" in text
    assert "ZeroDivisionError" in text
    assert "chatter" not in text
    assert "built" not in text
    assert "\x1b" not in text


def test_step_that_breaks_down_says_what_it_complained_about(pretend):
    status, text = pretend(execute="raise RuntimeError('no cache')")
    assert status == 1
    assert "RuntimeError: no cache" in text


def test_failure_without_complaint_shows_the_last_lines(pretend):
    status, text = pretend("import sys; print('the last word'); sys.exit(1)")
    assert status == 1
    assert "the last word" in text


def test_what_the_build_leaves_running_does_not_hold_it_up(pretend):
    started = time.monotonic()
    status, _ = pretend(
        """
        import subprocess, sys
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        """
    )
    assert status == 0
    assert time.monotonic() - started < 30


def test_interrupting_ends_the_build_and_what_it_started(tmp_path):
    program = f"""
import pathlib, sys
from coursekit.site import build as building
building.check_formulas = lambda root, say: None
building.EXECUTE = "import time; print('alive', flush=True); time.sleep(60)"
sys.exit(building.build(pathlib.Path({str(tmp_path)!r}), verbose=True))
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert "Building" in process.stdout.readline()
        assert process.stdout.readline() == "alive\n"
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said == "Stopped. Pages that were done stay done.\n"
    assert complaints == ""


def test_person_sees_the_running_pages_and_their_seconds(tmp_path):
    stream = Terminal()
    progress = Progress(tmp_path, stream)
    progress.begin("book/one.md")
    progress.begin("book/two.md")
    assert "running    0.0 s  one, two" in stream.getvalue()
    progress.end("book/one.md")
    assert stream.getvalue().endswith("\r\x1b[K    done    0.0 s  book/one.md\n")
    progress.tick()
    assert stream.getvalue().endswith("running    0.0 s  two")


def test_log_has_one_line_a_page(tmp_path):
    stream = io.StringIO()
    progress = Progress(tmp_path, stream)
    progress.begin("book/one.md")
    progress.tick()
    progress.end("book/one.md", failed=True)
    assert stream.getvalue() == "  failed    0.0 s  book/one.md\n"


def test_missing_node_is_said_in_one_sentence(tmp_path, monkeypatch):
    said = []
    monkeypatch.setenv("PATH", str(tmp_path))
    building.check_formulas(tmp_path, said.append)
    assert len(said) == 1
    assert "install Node.js" in said[0]


def test_failed_fetch_is_said_and_does_not_stop_the_build(tmp_path, monkeypatch):
    said = []

    def fail(root):
        raise building.CannotFetch("npm was not found")

    monkeypatch.setattr(building.shutil, "which", lambda name: "/usr/bin/node")
    monkeypatch.setattr(building, "fetch_katex", fail)
    building.check_formulas(tmp_path, said.append)
    assert "npm was not found" in said[-1]


def test_old_caches_are_forgotten(tmp_path):
    for age, name in enumerate("abcde"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    forget_old_caches(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


def test_folder_without_a_book_is_said(tmp_path, capsys):
    assert main(["--root", str(tmp_path)]) == 2
    assert "no _toc.yml" in capsys.readouterr().err
