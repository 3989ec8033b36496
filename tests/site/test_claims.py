"""Claims: the verdict follows from the rule, pages show it, and the ledger keeps up with the pages."""

import ast
import json

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from coursekit.site.claims import settle

CLAIMS = """\
chapters:
  1: First
  2: Second
  7: Seventh
claims:
  C1: {text: The $x$ is large., chapters: [1]}
  C2: {text: The y is small., chapters: [1, 2]}
  C3: {text: The z is far away., chapters: [2, 7]}
"""


def glue(identifier, figure, verdict="holds", condition=None):
    record = {"figure": figure, "verdict": verdict, "condition": condition}
    return {f"claim:{identifier}": json.dumps(record)}


def show(*identifiers):
    return "\n\n".join(f"```{{claim}} {identifier}\n```" for identifier in identifiers)


@pytest.fixture
def book(tiny_book):
    """A book of two chapters and the ledger, complete as far as its chapters go."""
    index = "# T\n\n```{toctree}\n01_first\n02_second\nledger\n```\n"
    made = tiny_book("claims", index=index, course_claims_file="claims.yml")
    made.write("claims.yml", CLAIMS)
    made.write("ledger.md", "# Ledger\n\n```{ledger}\n```\n")
    made.notebook(
        "01_first.ipynb",
        "# First title\n\n" + show("C1", "C2"),
        glued=glue("C1", "$x$ is 12.5")
        | glue("C2", "y is 0.1", "holds with a condition", "if x is 1"),
    )
    made.notebook(
        "02_second.ipynb",
        "# Second title\n\n" + show("C2", "C3"),
        glued=glue("C2", "y is 0.9", "does not hold here") | glue("C3", "z is 8"),
    )
    return made


# settle -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("holds", "condition", "verdict"),
    [
        (True, None, "holds"),
        (True, "if small", "holds with a condition"),
        (False, None, "does not hold here"),
        (False, "if small", "does not hold here"),
        (np.bool_(True), None, "holds"),
        (np.float64(2) < 1, None, "does not hold here"),
    ],
)
def test_verdict_follows_from_the_rule(holds, condition, verdict):
    assert settle("C1", figure="it is 3", holds=holds, condition=condition) == verdict


@pytest.mark.parametrize("identifier", ["5", "c5", "C0", "C5 ", "C", 5])
def test_odd_identifiers_are_refused(identifier):
    with pytest.raises(ValueError, match="identifier must look like 'C5'"):
        settle(identifier, figure="it is 3", holds=True)


@pytest.mark.parametrize("figure", ["", "large", 3.5])
def test_figure_must_hold_a_number_in_words(figure):
    with pytest.raises(ValueError, match="figure must be text"):
        settle("C5", figure=figure, holds=True)


@pytest.mark.parametrize("holds", [1, "yes", None, np.array([True, True])])
def test_only_a_single_truth_value_settles(holds):
    with pytest.raises(TypeError, match="holds must be True or False"):
        settle("C5", figure="it is 3", holds=holds)


def test_running_page_glues_record_figure_and_verdict():
    InteractiveShell.instance()
    try:
        with capture_output() as captured:
            settle("C5", figure="it is 3", holds=True, condition="if small")
    finally:
        InteractiveShell.clear_instance()
    glued = {
        output.metadata["scrapbook"]["name"]: ast.literal_eval(
            output.data["application/papermill.record/text/plain"]
        )
        for output in captured.outputs
    }
    assert glued.keys() == {"claim:C5", "C5_figure", "C5_verdict"}
    assert json.loads(glued["claim:C5"]) == {
        "figure": "it is 3",
        "verdict": "holds with a condition",
        "condition": "if small",
    }
    assert glued["C5_verdict"] == "holds with a condition"


# on its page --------------------------------------------------------------------------------


def test_page_shows_claim_figure_verdict_and_the_way_to_the_ledger(book):
    box = book.build().page("01_first").select_one("#claim-c2")
    assert book.warnings == ""
    assert "Claim C2. The y is small." in box.get_text()
    assert "y is 0.1" in box.get_text()
    assert box.select_one(".verdict").get_text() == "holds with a condition"
    assert "if x is 1." in box.get_text()
    assert box.a["href"] == "ledger.html#ledger-c2"


def test_formulas_in_claims_and_figures_are_formulas(book):
    box = book.build().page("01_first").select_one("#claim-c1")
    assert len(box.select(".math")) == 2


@pytest.mark.parametrize(
    ("glued", "shown", "complaint"),
    [
        ({}, ["C1"], "{claim} C1: no code cell of this page settles it"),
        (glue("C1", "1"), [], "claim C1 is settled but not shown"),
        (glue("C9", "1"), ["C9"], "{claim} C9: there is no such claim"),
        (glue("C9", "1"), [], "claim C9 is settled but not shown"),
        (glue("C3", "1"), ["C3"], "claims.yml does not name chapter 1 for it"),
    ],
)
def test_what_does_not_fit_is_a_warning(book, glued, shown, complaint):
    book.notebook("01_first.ipynb", "# First\n\n" + show(*shown), glued=glued)
    book.build()
    assert complaint in book.warnings


def test_chapter_that_owes_a_claim_is_a_warning(book):
    book.notebook("01_first.ipynb", "# First\n\n" + show("C1"), glued=glue("C1", "1"))
    book.build()
    assert "01_first.ipynb: WARNING: claim C2 is to be measured in this chapter" in book.warnings


def test_claim_on_a_page_without_code_is_a_warning(book):
    book.write("index.md", "# T\n\n```{toctree}\n01_first\n02_second\nledger\n```\n\n" + show("C1"))
    assert "no code cell of this page settles it" in book.build().warnings


# the ledger ---------------------------------------------------------------------------------


def rows(book):
    return [
        [cell.get_text(" ", strip=True) for cell in row.find_all("td")]
        for row in book.page("ledger").select("table.ledger-measured tbody tr")
    ]


def test_ledger_has_a_line_for_every_settlement(book):
    lines = rows(book.build())
    assert [line[-3] for line in lines] == [
        "1. First title",
        "1. First title",
        "2. Second title",
        "2. Second title",
    ]
    assert [line[-2] for line in lines][1:] == ["y is 0.1", "y is 0.9", "z is 8"]
    assert lines[2][-1] == "does not hold here ."


def test_claim_of_two_chapters_stands_over_both_lines(book):
    cell = book.build().page("ledger").find(id="ledger-c2").find_parent("td")
    assert cell["rowspan"] == "2"


def test_ledger_links_to_the_claim_in_its_chapter(book):
    links = [a["href"] for a in book.build().page("ledger").select("table.ledger-measured a")]
    assert links == [
        "01_first.html#claim-c1",
        "01_first.html#claim-c2",
        "02_second.html#claim-c2",
        "02_second.html#claim-c3",
    ]


def test_chapter_to_come_is_announced(book):
    cell = book.build().page("ledger").find(id="ledger-c3").find_parent("td")
    assert "Also to come in chapter 7 (Seventh)." in cell.get_text()


def test_claims_of_unwritten_chapters_are_listed_apart(book):
    book.write("claims.yml", CLAIMS + "  C4: {text: The w is odd., chapters: [7]}\n")
    ledger = book.build().page("ledger")
    assert book.warnings == ""
    assert "C4 The w is odd. chapter 7 (Seventh)" in ledger.select_one(
        "table.ledger-open"
    ).tbody.get_text(" ", strip=True)
    assert "3 of 4 claims are measured" in ledger.get_text()


def test_verdicts_are_counted(book):
    text = book.build().page("ledger").get_text()
    assert "2 “holds”, 1 “holds with a condition”, 1 “does not hold here”" in text


def test_changed_figure_reaches_the_ledger_without_a_full_build(book):
    book.build()
    assert book.build().updated == frozenset()
    book.notebook(
        "02_second.ipynb",
        "# Second title\n\n" + show("C2", "C3"),
        glued=glue("C2", "y is 0.2") | glue("C3", "z is 8"),
    )
    book.build()
    assert book.updated == {"02_second", "ledger"}
    assert rows(book)[2][-2:] == ["y is 0.2", "holds ."]


def test_removed_page_leaves_the_ledger(book):
    book.build()
    (book.folder / "02_second.ipynb").unlink()
    book.write("index.md", "# T\n\n```{toctree}\n01_first\nledger\n```\n")
    book.build()
    assert book.warnings == ""
    assert [line[-3] for line in rows(book)] == ["1. First title", "1. First title"]


def test_changed_list_of_claims_reaches_pages_and_ledger(book):
    book.build()
    book.write("claims.yml", CLAIMS.replace("y is small", "y is tiny"))
    book.build()
    assert "The y is tiny" in book.page("01_first").get_text()
    assert "The y is tiny" in book.page("ledger").get_text()


def test_second_ledger_is_a_warning(book):
    book.write("zz.md", "---\norphan: true\n---\n# Again\n\n```{ledger}\n```\n")
    assert "the ledger is already on ledger" in book.build().warnings
