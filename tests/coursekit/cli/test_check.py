"""`coursekit check`, `progress`, `learn` and `fresh`, as a learner types them."""

import errno
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coursekit.checks import exercise, exercises
from coursekit.files import write_whole

RIGHT = {
    "scaled-dot-scores": "def scaled_dot_scores(query, key):\n"
    "    return query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])",
    "scores-by-hand": "def scores_by_hand():\n    return np.array([2.0, 1.0, 3.0])",
}


def flat(said):
    """Return what was said without its line breaks, which depend on the width."""
    return " ".join(said.split())


@pytest.fixture
def own(course, released):
    """Return a function that writes a learner's notebook with these answers in it."""
    path = course / "work" / "03_scores" / "03_scores.ipynb"
    path.parent.mkdir(parents=True)

    def write(answers):
        for cell in released["cells"]:
            if cell["id"] in answers:
                cell["source"] = answers[cell["id"]]
        path.write_text(json.dumps(released), encoding="utf-8")
        return str(path)

    return write


def test_a_blank_notebook(run, own):
    status, said = run("check", own({}))
    assert status == 1
    mine = [entry for entry in exercises() if entry.assignment == "03_scores"]
    assert said.count("not written") == len(mine) + 1  # and the answer in words
    assert f"0 of {sum(entry.points for entry in mine)} points pass here" in said


def test_right_and_wrong_answers_and_a_known_mistake(run, own):
    mistake = exercise("03.general_scores").mistakes[0]
    answers = RIGHT | {
        "general-scores": mistake.as_answer("general_scores"),
        "in-your-own-words": "Because the variance grows.",
    }
    status, said = run("check", own(answers))
    assert status == 1
    assert said.count("passes") == 2
    assert "A known mistake" in said
    assert mistake.name in flat(said)
    assert "written, read by a person" in said
    assert max(map(len, said.splitlines())) <= 80


def test_the_table_fits_a_terminal_of_80_columns_without_colour(run, own):
    _, said = run("check", own(RIGHT))
    table = [line for line in said.splitlines() if line.startswith(("┏", "┃", "│", "└", "┡"))]
    assert table
    assert max(map(len, table)) <= 80
    assert "\x1b" not in said


def test_an_edited_helper_cell_does_not_count(run, own):
    """Helper cells are locked: as in grading, the released text is taken."""
    _, said = run("check", own({**RIGHT, "imports": "import nothing_at_all"}))
    assert said.count("passes") == 2


def test_progress_over_everything_in_work(run, own, course):
    own(RIGHT)
    status, said = run("progress")
    assert status == 0
    assert said.count("passes") == 2
    earned = exercise("03.scaled_dot_scores").points + exercise("03.scores_by_hand").points
    assert f"{earned} of " in said


def test_progress_names_a_damaged_notebook_and_goes_on(run, own, course):
    own(RIGHT)
    (course / "work" / "03_scores" / "03_scores.ipynb").write_text("", encoding="utf-8")
    status, said = run("progress")
    assert status == 0
    assert "work/03_scores/03_scores.ipynb is empty" in said


def test_learn_copies_what_is_not_there_and_nothing_else(run, course, released):
    assert run("learn", "--no-open")[0] == 0
    path = course / "work" / "03_scores" / "03_scores.ipynb"
    assert json.loads(path.read_text("utf-8")) == released
    released["cells"][0]["source"] = "my notes"
    path.write_text(json.dumps(released), encoding="utf-8")
    status, said = run("learn", "--no-open")
    assert status == 0
    assert "03_scores  yours: left as it is" in said
    assert json.loads(path.read_text("utf-8")) == released


@pytest.mark.skipif(
    importlib.util.find_spec("resource") is None,
    reason="Windows cannot limit the size of a file, which is how the disk is made to look full",
)
def test_a_disk_that_is_full_leaves_no_half_file(run, course):
    """No file may grow beyond 20 kB: the system stops the copy in the middle of a notebook."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        status, said = run("learn", "--no-open")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert status == 2
    assert "01_bottleneck.ipynb could not be written: File too large" in said
    assert [path for path in (course / "work").rglob("*") if path.is_file()] == []
    assert run("learn", "--no-open")[0] == 0
    for copy in (course / "work").glob("*/*.ipynb"):
        released = course / "exercises" / copy.relative_to(course / "work")
        assert copy.read_bytes() == released.read_bytes()


@pytest.mark.parametrize("linked", [True, False])
def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path, monkeypatch, linked):
    own = tmp_path / "mine.ipynb"

    def appears(source, target):
        own.write_text("a learner's own")
        raise FileExistsError if linked else OSError(errno.EPERM, "no second names here")

    monkeypatch.setattr("os.link", appears)
    with pytest.raises(FileExistsError):
        write_whole(own, b"released", overwrite=False)
    assert own.read_text() == "a learner's own"
    assert list(tmp_path.iterdir()) == [own]


def test_where_files_have_no_second_names_they_are_written_all_the_same(tmp_path, monkeypatch):
    def refuses(source, target):
        raise OSError(errno.EPERM, "no second names here")

    monkeypatch.setattr("os.link", refuses)
    write_whole(tmp_path / "new" / "copy.ipynb", b"released", overwrite=False)
    assert (tmp_path / "new" / "copy.ipynb").read_bytes() == b"released"
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "copy.ipynb"]


def test_learn_tells_of_a_newer_release(run, course, released, own):
    released["metadata"]["coursekit"]["release"] = "earlier"
    own({})
    status, said = run("learn", "--no-open")
    assert status == 0
    assert "yours, newer release: `coursekit fresh 03` puts the newer one beside yours" in flat(
        said
    )


def test_fresh_writes_beside_and_never_over(run, own, course, released):
    mine = own(RIGHT)
    status, said = run("fresh", "3")
    assert status == 0
    fresh = course / "work" / "03_scores" / "03_scores.new.ipynb"
    assert "work/03_scores/03_scores.new.ipynb" in said
    assert "def scaled_dot_scores" in fresh.read_text("utf-8")
    assert "np.swapaxes(key, -1, -2)" in Path(mine).read_text("utf-8")
    status, said = run("fresh", "03_scores")
    assert (status, "is not overwritten" in said) == (2, True)


def test_fresh_lists_the_assignments_there_are(run, course):
    status, said = run("fresh", "99")
    assert status == 2
    assert "There is no assignment '99'; all: 01_bottleneck, " in said


def test_a_name_like_an_assignment_is_answered_with_that(run, course):
    for name in ("3_score", "Scores", "03-scores"):
        assert "near: 03_scores" in run("fresh", name)[1]


def test_outside_of_a_course_the_installed_one_is_used(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, said = run("fresh", "99")
    assert (status, "03_scores" in said) == (2, True)


def test_no_command_shows_the_help(run):
    status, said = run()
    assert "check" in said
    assert "student-copy" in said
    assert status in (0, 2)


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="no such signal here")
def test_an_interrupted_check_ends_at_once_and_leaves_nothing_running(own, course, tmp_path):
    witness = tmp_path / "witness"
    loop = f"open({str(witness)!r}, 'w').write(str(__import__('os').getpid()))\nwhile True: pass"
    path = own({"general-scores": loop, "additive-scores": "while True: pass"})
    checking = subprocess.Popen(
        [sys.executable, "-m", "coursekit.cli", "check", path],
        cwd=course,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: witness.exists() and witness.read_text())
    started = time.monotonic()
    checking.send_signal(signal.SIGINT)
    out, err = checking.communicate(timeout=30)
    assert time.monotonic() - started < 10
    assert checking.returncode == 130
    assert "Traceback" not in out + err
    with pytest.raises(ProcessLookupError):
        os.kill(int(witness.read_text()), 0)


def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_answer_with_the_stub_left_over_is_run_all_the_same(run, own):
    """It may stand in a comment, or after the return where it is never reached."""
    answers = {
        "scaled-dot-scores": "# raise NotImplementedError()\n" + RIGHT["scaled-dot-scores"],
        "scores-by-hand": RIGHT["scores-by-hand"] + "\n    raise NotImplementedError()",
    }
    status, said = run("check", own(answers))
    assert status == 1
    assert said.count("passes") == 2
