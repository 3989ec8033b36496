"""The directive `{quiz}` writes complete questions as plain HTML, and refuses incomplete ones."""

import pytest
from quiz import QuizError, read_quiz

COMPLETE = """\
The width $d_k$ doubles.
What happens?

- [ ] Nothing
  at all.
  > It would need
  > *no* new terms.
- [x] It doubles, see {doc}`this page <index>`.
  > Variances add: $2 d_k$.
"""


def question(text: str) -> str:
    return f"```{{quiz}}\n{text}```\n"


def page(text: str) -> str:
    return f"# Title\n\n{question(text)}"


def test_question_choices_and_reasons_are_separated():
    asked, choices = read_quiz(COMPLETE.splitlines())
    assert asked[:2] == ["The width $d_k$ doubles.", "What happens?"]
    assert [choice.right for choice in choices] == [False, True]
    assert choices[0].label == ["Nothing", "at all."]
    assert choices[0].reason == ["It would need", "*no* new terms."]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- [x] a\n  > r\n- [ ] b\n  > r", "question is missing"),
        ("Why?", "at least two choices"),
        ("Why?\n- [x] a\n  > r", "at least two choices"),
        ("Why?\n- [ ] a\n  > r\n- [ ] b\n  > r", "exactly one choice must be right"),
        ("Why?\n- [x] a\n  > r\n- [x] b\n  > r", "exactly one choice must be right"),
        ("Why?\n- [x] a\n  > r\n- [ ] b", "has no reason"),
        ("Why?\n- [x] a\n  > r\n- [ ] b\n  >", "has no reason"),
        ("Why?\n- [x] a\n  > r\n  more\n- [ ] b\n  > r", "begin each line of a reason"),
    ],
)
def test_incomplete_questions_are_refused(text, reason):
    with pytest.raises(QuizError, match=reason):
        read_quiz(text.splitlines())


def test_page_has_a_fieldset_with_a_reason_for_every_choice(tiny_book):
    book = tiny_book("quiz", index=page(COMPLETE)).build()
    written = book.page().select_one("fieldset.quiz")
    assert book.warnings == ""
    assert written.legend.get_text().startswith("Question 1. The width")
    assert len(written.select(".quiz-choice")) == 2
    assert [r.p is not None for r in written.select(".quiz-reason")] == [True, True]
    assert len(written.select(".quiz-right")) == 1
    assert written.select_one(".quiz-wrong em").get_text() == "no"


def test_every_label_names_its_own_button(tiny_book):
    book = tiny_book("quiz", index=page(COMPLETE) + "\n" + question(COMPLETE)).build()
    buttons = book.page().select(".quiz-choice > input[type=radio]")
    labels = book.page().select(".quiz-choice > label")
    assert [label["for"] for label in labels] == [button["id"] for button in buttons]
    assert [label.span.get_text() for label in labels] == ["a.", "b.", "a.", "b."]
    assert len({button["id"] for button in buttons}) == 4
    assert {button["name"] for button in buttons} == {"quiz-1", "quiz-2"}


def test_numbers_begin_again_on_the_next_page(tiny_book):
    book = tiny_book("quiz", index="# T\n\n```{toctree}\nother\n```\n\n" + question(COMPLETE))
    book.write("other.md", page(COMPLETE))
    book.build()
    assert book.page().legend.get_text().startswith("Question 1.")
    assert book.page("other").legend.get_text().startswith("Question 1.")


def test_no_script_is_needed(tiny_book):
    book = tiny_book("quiz", index=page(COMPLETE)).build()
    written = book.page().select_one("fieldset.quiz")
    assert written.find("script") is None
    assert not [tag for tag in written.find_all(True) if any(a.startswith("on") for a in tag.attrs)]


def test_incomplete_question_is_a_warning_with_its_line(tiny_book):
    book = tiny_book("quiz", index=page("Why?\n\n- [x] a\n  > r\n- [ ] b\n")).build()
    assert "index.md:3: WARNING: {quiz}: the choice 'b' has no reason" in book.warnings


def test_question_must_begin_with_text(tiny_book):
    text = "```python\n1\n```\n\n- [x] a\n  > r\n- [ ] b\n  > r\n"
    book = tiny_book("quiz", index=f"# T\n\n````{{quiz}}\n{text}````\n").build()
    assert "must begin with a paragraph" in book.warnings
