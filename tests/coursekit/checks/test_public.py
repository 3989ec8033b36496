"""`check`, `mark` and `hint` as a notebook uses them, and where their seeds come from."""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from coursekit.checks import CheckFailure, check, exercise, exercises, hint, mark
from coursekit.checks.engine import examine
from coursekit.checks.seeds import DEFAULT_HIDDEN_SEED, PUBLIC_SEED, hidden_seed

ROOT = Path(__file__).parents[3]
each_exercise = pytest.mark.parametrize("entry", exercises(), ids=lambda entry: entry.identifier)


@each_exercise
def test_check_and_mark_agree(entry, capsys):
    """On the same cases a check passes exactly where a mark is full, and says the same."""
    check(entry.identifier, entry.reference)
    said = capsys.readouterr().out
    assert (
        mark(entry.identifier, entry.reference, points=entry.points, seed=PUBLIC_SEED)
        == entry.points
    )
    assert capsys.readouterr().out == f"{entry.points} of {entry.points} points\n{said}"
    for mistake in entry.mistakes[:4]:
        with pytest.raises(CheckFailure) as failure:
            check(entry.identifier, mistake.function)
        earned = mark(entry.identifier, mistake.function, points=entry.points, seed=PUBLIC_SEED)
        assert 0 <= earned < entry.points
        assert capsys.readouterr().out == f"{earned:g} of {entry.points} points\n{failure.value}\n"


@each_exercise
def test_points_are_a_float_between_zero_and_the_maximum(entry):
    first, *others = (part.share for part in entry.parts)
    shares = {0.0}
    for count in range(len(others) + 1):
        for kept in itertools.combinations(others, count):
            shares.add(round((first + sum(kept)) * entry.points, 2))
    for mistake in entry.mistakes:
        earned = examine(entry, mistake.function, DEFAULT_HIDDEN_SEED).earned(entry.points)
        assert type(earned) is float
        assert earned in shares - {entry.points}


def test_partial_credit_is_scaled_to_the_cell():
    by_name = {m.name: m.function for m in exercise("03.scaled_dot_scores").mistakes}
    plain_transpose = by_name[".T on an array with leading axes"]
    assert mark("03.scaled_dot_scores", plain_transpose, points=4) == 2.0
    assert mark("03.scaled_dot_scores", plain_transpose, points=10) == 5.0
    assert mark("03.scaled_dot_scores", plain_transpose, points=0) == 0.0


def test_the_first_part_is_required_for_the_others():
    """Right on leading axes alone is worth nothing."""

    def leading_axes_only(query, key):
        if query.ndim == 2:
            return np.zeros((len(query), len(key)))
        return exercise("03.scaled_dot_scores").reference(query, key)

    assert mark("03.scaled_dot_scores", leading_axes_only, points=4) == 0.0


def test_an_unknown_identifier_names_the_nearest():
    for asked, near in (
        ("03.scaled_dot_score", "03.scaled_dot_scores"),
        ("scaled-dot", "03.scaled_dot_scores"),
        ("04.softmax", "02.softmax"),
    ):
        with pytest.raises(LookupError, match=rf"near: .*{re.escape(near)}"):
            check(asked, len)


def test_an_unknown_identifier_is_answered_in_one_line_that_says_how_to_see_all():
    known = [entry.identifier for entry in exercises()]
    for asked in ("03.scaled_dot_score", "nothing like it", "", 3, None):
        with pytest.raises(LookupError) as failure:
            exercise(asked)
        text = str(failure.value)
        assert len(text) < 240
        command, count = re.search(r"; `(.+)` lists all (\d+)$", text).groups()
        listed = eval(command, {"coursekit": sys.modules["coursekit"]})
        assert listed == known
        assert int(count) == len(known)


def test_hints_come_in_three_levels(capsys):
    for level in (1, 2, 3):
        hint("03.additive_scores", level=level)
        assert capsys.readouterr().out.strip() == exercise("03.additive_scores").hints[level - 1]
    hint("03.additive_scores")
    assert capsys.readouterr().out.strip() == exercise("03.additive_scores").hints[0]
    for level in (0, 4, "1"):
        with pytest.raises(ValueError, match="level must be 1, 2 or 3"):
            hint("03.additive_scores", level=level)


# ---------------------------------------------------------------- seeds


def test_the_hidden_seed_is_the_default_without_settings(tmp_path):
    assert hidden_seed(tmp_path) == DEFAULT_HIDDEN_SEED
    assert DEFAULT_HIDDEN_SEED != PUBLIC_SEED


def test_the_hidden_seed_is_found_upwards(tmp_path):
    (tmp_path / "coursekit.toml").write_text("hidden_seed = 77\n", encoding="utf-8")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert hidden_seed(below) == 77
    (below / "coursekit.toml").write_text('other = "thing"\n', encoding="utf-8")
    assert hidden_seed(below) == DEFAULT_HIDDEN_SEED


def test_a_notebook_that_goes_elsewhere_is_graded_with_the_seed_of_its_course(
    tmp_path, monkeypatch
):
    course, elsewhere = tmp_path / "course", tmp_path / "elsewhere"
    for folder in (course, elsewhere):
        folder.mkdir()
    (course / "coursekit.toml").write_text("hidden_seed = 77")
    monkeypatch.setattr("coursekit.checks.seeds.COURSE", course)
    monkeypatch.chdir(elsewhere)
    assert hidden_seed() == 77
    assert hidden_seed(elsewhere) == DEFAULT_HIDDEN_SEED
    (elsewhere / "coursekit.toml").write_text("hidden_seed = 78")
    assert hidden_seed() == 78


def test_mark_uses_the_hidden_seed_of_the_working_directory(tmp_path, monkeypatch):
    used = []
    monkeypatch.setattr(
        "coursekit.checks.public.examine",
        lambda entry, answer, seed: used.append(seed) or examine(entry, answer, seed),
    )
    (tmp_path / "coursekit.toml").write_text("hidden_seed = 123\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    entry = exercise("02.softmax")
    assert mark("02.softmax", entry.reference, points=3) == 3.0
    check("02.softmax", entry.reference)
    assert used == [123, PUBLIC_SEED]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hidden_seed = ", "is not a TOML file"),
        ("hidden_seed = -1", "whole number"),
        ("hidden_seed = 1.5", "whole number"),
        ('hidden_seed = "x"', "whole number"),
        ("hidden_seed = true", "whole number"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(tmp_path, text, words):
    (tmp_path / "coursekit.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        hidden_seed(tmp_path)


# ---------------------------------------------------------------- how a failure looks


def test_a_notebook_shows_the_message_alone(capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        shell.run_cell(
            "from coursekit.checks import check\n"
            "check('03.scaled_dot_scores', lambda query, key: query @ key.T)"
        )
        shown = capsys.readouterr().out
    finally:
        InteractiveShell.clear_instance()
    assert shown.startswith("03.scaled_dot_scores: not yet.")
    assert shown.count("A known mistake") == 1  # two in one, not scaled and .T: the first
    assert "Traceback" not in shown
    assert "engine.py" not in shown


def test_a_plain_script_ends_with_the_message(tmp_path):
    script = (
        "from coursekit.checks import check\n"
        "check('02.softmax', lambda scores: scores / scores.sum(axis=-1, keepdims=True))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "coursekit.checks.CheckFailure: 02.softmax: not yet." in done.stderr
    assert "A known mistake: no exponential." in done.stderr
    assert "During handling" not in done.stderr


def test_numpy_exercises_work_without_torch(tmp_path):
    script = """
import sys
sys.modules["torch"] = None  # importing it fails now
from coursekit.checks import check, exercises, mark
for entry in exercises():
    assert len(entry.hints) == 3
    if entry.needs == "numpy":
        check(entry.identifier, entry.reference)
        assert mark(entry.identifier, entry.mistakes[0].function, points=entry.points) < entry.points
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.returncode == 0


def test_checking_numpy_exercises_does_not_load_torch_or_the_machinery():
    script = """
import sys
from coursekit.checks import check, exercise, exercises, mark
check("04.alignment_error", exercise("04.alignment_error").reference)
exercises()
heavy = {"torch", "matplotlib", "nbgrader", "jupytext", "IPython", "typer"}
own = {name for name in sys.modules if name.startswith("coursekit.")}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
own.discard("coursekit.unknown")
assert all(name.startswith("coursekit.checks") for name in own), own
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""


def test_a_torch_exercise_without_torch_says_so(tmp_path):
    script = """
import sys
sys.modules["torch"] = None
from coursekit.checks import check
check("04.additive_attention", object)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "04.additive_attention needs torch" in done.stderr
