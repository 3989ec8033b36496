"""What is said of submissions: a sentence for each that cannot be graded, and nothing of the others."""

import json
from pathlib import Path

import pytest

from coursekit.authoring.submissions import look_through
from coursekit.cli import main
from coursekit.course import CourseError
from coursekit.notebooks import grade_id

PROJECT = Path(__file__).resolve().parents[3]
RELEASED = (PROJECT / "exercises/03_scores/03_scores.ipynb").read_bytes()


@pytest.fixture
def course(tmp_path, monkeypatch):
    (tmp_path / "exercises").symlink_to(PROJECT / "exercises")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    return tmp_path


def hand_in(course, student, content=RELEASED, name="03_scores.ipynb"):
    folder = course / "submitted" / student / "03_scores"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(content)


def graded(course, student):
    path = course / "autograded" / student / "03_scores" / "03_scores.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(RELEASED)


def changed(change):
    notebook = json.loads(RELEASED)
    change(notebook["cells"])
    return json.dumps(notebook).encode()


def duplicate_an_answer(cells):
    place = next(i for i, cell in enumerate(cells) if grade_id(cell) == "scaled-dot-scores")
    cells.insert(place, cells[place])


def delete_an_answer(cells):
    cells[:] = [cell for cell in cells if grade_id(cell) != "scaled-dot-scores"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"my text", "is not a notebook"),
        (RELEASED[:5000], "breaks off in the middle"),
        (b"\xef\xbb\xbf" + RELEASED, "byte order mark"),
        (changed(duplicate_an_answer), "has the cell 'scaled-dot-scores' 2 times"),
        (changed(delete_an_answer), "lacks the cell scaled-dot-scores"),
        (
            (PROJECT / "exercises/04_translator/04_translator.ipynb").read_bytes(),
            "this is the notebook of 04_translator",
        ),
    ],
)
def test_a_damaged_notebook_gets_a_sentence(course, content, sentence):
    hand_in(course, "anna")
    hand_in(course, "emil", content)
    well, damaged = look_through(course)
    assert (well.student, well.sentence) == ("anna", "")
    assert damaged.student == "emil"
    assert sentence in damaged.sentence


def test_a_notebook_under_another_name_is_found(course):
    hand_in(course, "emil", name="03_scores (1).ipynb")
    (look,) = look_through(course)
    assert "no 03_scores.ipynb" in look.sentence
    assert "there is '03_scores (1).ipynb'" in look.sentence


def test_a_folder_or_a_broken_link_is_called_that(course):
    (course / "submitted/anna/03_scores/03_scores.ipynb").mkdir(parents=True)
    (course / "submitted/emil/03_scores").mkdir(parents=True)
    (course / "submitted/emil/03_scores/03_scores.ipynb").symlink_to("nowhere")
    assert [look.sentence for look in look_through(course)] == [
        "03_scores.ipynb is a folder, no notebook",
        "03_scores.ipynb is a link to nothing, no notebook",
    ]


def test_a_folder_under_another_name_is_told(course):
    hand_in(course, "anna")
    (course / "submitted/ben/Assignment 3").mkdir(parents=True)
    (course / "submitted/ben/02_soft_lookup").mkdir()
    (course / "submitted/cleo").mkdir()
    (course / "submitted/cleo/03_scores").touch()
    assert [look.sentence for look in look_through(course, ("03_scores",))] == [
        "",
        "not handed in; there is 'Assignment 3'",
        "not handed in; there is '03_scores'",
    ]


def test_a_class_whose_folders_all_have_other_names_is_not_well(course):
    for student in ("anna", "ben"):
        (course / "submitted" / student / "Assignment 3").mkdir(parents=True)
    with pytest.raises(
        CourseError, match="finds nothing in submitted: there is 'Assignment 3', but"
    ):
        look_through(course)


def test_folders_of_learners_that_hold_nothing_are_not_well(course):
    (course / "submitted" / "anna").mkdir(parents=True)
    with pytest.raises(CourseError, match="the folder is empty"):
        look_through(course)


def test_what_is_missing_is_missing_only_where_others_handed_it_in(course):
    hand_in(course, "anna")
    (course / "submitted" / "ben").mkdir()
    assert [(look.student, look.sentence) for look in look_through(course)] == [
        ("anna", ""),
        ("ben", "not handed in"),
    ]
    assert {look.assignment for look in look_through(course)} == {"03_scores"}


def test_a_submission_that_nbgrader_gave_up_is_told_once_others_are_graded(course):
    hand_in(course, "anna")
    hand_in(course, "emil")
    assert [look.sentence for look in look_through(course)] == ["", ""]
    graded(course, "anna")
    well, given_up = look_through(course)
    assert well.sentence == ""
    assert given_up.sentence.startswith("handed in, but not graded")


def test_nothing_handed_in_at_all(course):
    with pytest.raises(CourseError, match=r"submitted holds nothing: put .*STUDENT/03_scores"):
        look_through(course)


def test_the_command_lists_whom_it_concerns_and_says_so_by_its_status(course, capsys):
    hand_in(course, "Ngô, [bold]Đình")
    with pytest.raises(SystemExit) as end:
        main(["submissions"])
    assert not end.value.code
    assert "03_scores: 1 of 1 as they should be" in capsys.readouterr().out
    hand_in(course, "[red]emil", b"")
    with pytest.raises(SystemExit) as end:
        main(["submissions", "3"])
    assert end.value.code == 1
    said = capsys.readouterr().out
    assert "03_scores: 1 of 2 as they should be" in said
    assert "[red]emil: submitted/[red]emil/03_scores/03_scores.ipynb is empty" in said
    assert "Ngô" not in said
