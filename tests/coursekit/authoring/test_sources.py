"""Sources to source notebooks: the same bytes each time, and a sentence for every slip."""

import json

import pytest

from coursekit.authoring.sources import (
    HIDDEN_TESTS,
    SOLUTION,
    SourceError,
    build_sources,
    read_source,
    regions,
    solved,
    to_json,
)
from coursekit.files import write_whole


def written(tmp_path, text, name="90_doubling.py"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_same_text_gives_the_same_bytes(tmp_path, source, registry):
    path = written(tmp_path, source)
    assert to_json(read_source(path, registry)) == to_json(read_source(path, registry))


def test_cell_ids_come_from_grade_id_or_position(tmp_path, source, registry):
    ids = [cell.id for cell in read_source(written(tmp_path, source), registry).cells]
    assert ids[:5] == ["90_doubling-001", "imports", "90_doubling-003", "90_doubling-004", "double"]


def test_an_exercise_line_becomes_its_size_and_nested_hints(tmp_path, source, registry):
    heading = read_source(written(tmp_path, source), registry).cells[3].source
    assert "**4 points** · difficulty ★☆☆ (1 of 3) · about 5 minutes" in heading
    parts = (
        "Return `x` times two.",
        "Think of",
        "Add it",
        "`x + x`",
        "</details></details></details>",
    )
    places = [heading.index(part) for part in parts]
    assert places == sorted(places)
    assert heading.count("<details>") == 3
    assert "{{" not in heading


def test_a_notebook_says_which_release_it_is(tmp_path, source, registry):
    def release(text):
        return read_source(written(tmp_path, text), registry).metadata.coursekit.release

    other_solution = source.replace("return once + again", "return again + once")
    other_task = source.replace("times two", "times 2")
    assert release(source) == release(other_solution)
    assert release(source) != release(other_task)


def test_a_heading_may_be_numbered(tmp_path, source, registry):
    for number in ("1. ", "12. ", "9b. "):
        text = source.replace("## Twice as much", f"## {number}Twice as much")
        assert read_source(written(tmp_path, text), registry)


def test_regions_and_solved():
    text = f"def f():\n    {SOLUTION[0]}\n    return 1\n    {SOLUTION[1]}\n{HIDDEN_TESTS[0]}\nt\n{HIDDEN_TESTS[1]}"
    assert regions(text, SOLUTION) == [["    return 1"]]
    assert regions(text, HIDDEN_TESTS) == [["t"]]
    assert solved("def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION") == (
        "def f():\n    return 1"
    )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("{{exercise 90.double}}", "{{exercise 90.treble}}", "cell 4: there is no exercise '90.treble'; near: 90.double"),
        ("{{exercise 90.double}}", "", "'90.double' has 0 lines {{exercise 90.double}}, it needs one"),
        ("## Twice as much", "## 1. Double it", "cell 4: the heading is 'Double it', the registry calls '90.double' 'Twice as much'"),
        ("## Twice as much", "Twice as much", "cell 4: there is no heading, the registry calls"),
        ("{{exercise 90.double}}", "{{exercise 90.double}} {{hint}}", "cell 4: '{{' that is no"),
        ('"exercise": "90.double"', '"exercise": "90.treble"', "(double): there is no exercise"),
        ('"points": 4', '"points": 5', "mark() gives 4 points, the cell has 5"),
        ("points=4", "points=3", "(double-test): mark() gives 3 points, the cell has 4"),
        ('mark("90.double"', 'check("90.double"', "(double-test): a graded cell calls mark() once"),
        ('"grade_id": "double-test"', '"grade_id": "double"', "taken by cell 5 already"),
        ('"grade_id": "double-test"', '"grade_id": "double test"', "letters, digits, - and _ only"),
        ('"grade_id": "double-test", ', "", "cell 7: the nbgrader metadata has no grade_id"),
        ("    ### END SOLUTION\n\n# %%\n", "\n\n# %%\n", "(double): 1 times '### BEGIN SOLUTION', but 0"),
        (
            "    once = np.asarray(x)\n    again = once.copy()\n    return once + again\n",
            "",
            "(double): the answer cell has no solution between",
        ),
        ("def double(x)", "def twice(x)", "(double): the solution does not define 'double'"),
        ('"helpers": ["imports"]', '"helpers": ["tools"]', "there is no helper cell 'tools'; all: imports, double (above it)"),
        ('"locked": true, "schema_version": 3, "solution": false, "task": false}\nimport',
         '"locked": false, "schema_version": 3, "solution": false, "task": false}\nimport',
         "the helper cell 'imports' is not a locked cell"),
        (' coursekit={"exercise": "90.double", "helpers": ["imports"]}', "", "says in its metadata which exercise"),
        ('check("90.double", double)', "### BEGIN SOLUTION\n1\n### END SOLUTION", "not marked as a solution"),
        ('check("90.double", double)', "### BEGIN HIDDEN TESTS\n1\n### END HIDDEN TESTS", "not marked as graded"),
    ],
)  # fmt: skip
def test_a_slip_is_named_with_file_and_cell(tmp_path, source, registry, old, new, sentence):
    assert old in source
    with pytest.raises(SourceError) as error:
        read_source(written(tmp_path, source.replace(old, new, 1)), registry)
    text = str(error.value)
    assert sentence in text
    assert all(line.startswith("90_doubling.py") for line in text.splitlines())


def test_points_that_differ_from_the_registry(tmp_path, source, registry):
    text = source.replace('"points": 4', '"points": 5').replace("points=4", "points=5")
    with pytest.raises(SourceError, match=r"'90\.double' have 5 points, the registry says 4"):
        read_source(written(tmp_path, text), registry)


def test_an_answer_without_a_graded_cell(tmp_path, source, registry):
    start = source.index('# %% nbgrader={"grade": true, "grade_id": "double-test"')
    end = source.index('# %% [markdown] nbgrader={"grade": true, "grade_id": "why"')
    with pytest.raises(SourceError, match=r"'90\.double' .* has no graded cell"):
        read_source(written(tmp_path, source[:start] + source[end:]), registry)


def test_an_exercise_of_another_assignment(tmp_path, source, registry):
    with pytest.raises(SourceError, match=r"belongs to 90_doubling, not here"):
        read_source(written(tmp_path, source, "91_other.py"), registry)


def test_text_that_is_not_percent_python(tmp_path, registry):
    text = "# ---\n# jupyter:\n#   kernelspec:\n#     name: python3\n# ---\n\n# %%\n1\n"
    with pytest.raises(SourceError, match="cannot be read as py:percent text"):
        read_source(written(tmp_path, text), registry)


def test_a_file_name_that_is_no_assignment(tmp_path, source, registry):
    with pytest.raises(SourceError, match=r"call it NN_topic\.py"):
        read_source(written(tmp_path, source, "doubling.py"), registry)


def test_nothing_is_written_if_one_source_is_wrong(course, registry):
    build_sources(course, course / "built", registry)
    built = course / "built" / "90_doubling" / "90_doubling.ipynb"
    before = built.read_bytes()
    (course / "solutions" / "91_broken.py").write_text("", encoding="utf-8")
    with pytest.raises(SourceError, match=r"91_broken\.py has no cells"):
        build_sources(course, course / "built", registry)
    assert built.read_bytes() == before
    assert json.loads(before)["nbformat_minor"] == 5


def test_no_sources_at_all(tmp_path):
    with pytest.raises(SourceError, match="nothing to build"):
        build_sources(tmp_path, tmp_path / "built")


def test_a_folder_of_sources_is_brought_up_to_date_and_never_empty(course, registry, monkeypatch):
    folder = course / "built"
    build_sources(course, folder, registry)
    notebook = folder / "90_doubling" / "90_doubling.ipynb"
    right = notebook.read_bytes()
    notebook.write_bytes(b"old")
    (folder / "90_doubling" / "answers.txt").write_text("beside a notebook, it would be released")
    (folder / "89_renamed").mkdir()
    (folder / "89_renamed" / "89_renamed.ipynb").write_bytes(b"of an earlier name")
    seen = []

    def looking_on(path, content):
        seen.append(notebook.read_bytes())
        write_whole(path, content)
        seen.append(notebook.read_bytes())

    monkeypatch.setattr("coursekit.authoring.sources.write_whole", looking_on)
    build_sources(course, folder, registry)
    assert seen == [b"old", right]
    assert [path for path in sorted(folder.rglob("*")) if path.is_file()] == [notebook]
