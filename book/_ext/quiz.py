"""The directive `{quiz}`: one multiple-choice question as static HTML, with a reason for every choice.

Syntax: the question, then the choices as a task list; ``[x]`` marks the one right choice, and the
block quote under a choice says why it is right or wrong. All of it is MyST (maths, code, links).

    ```{quiz}
    The width $d_k$ doubles. What happens to the variance of $q \\cdot k$?

    - [ ] It stays as it was.
      > That would need every new term to have variance zero.
    - [x] It doubles.
      > The terms are independent, so their variances add.
    - [ ] It grows fourfold.
      > The *square* of the standard deviation is the variance, and it is counted once.
    ```

Questions are numbered on each page, and choices have letters. Choosing shows the reason; this is done by style sheet alone, so
it works without JavaScript, with the keyboard, and on paper (where all reasons are printed).
A question with fewer than two choices, without exactly one right choice, or with a choice that lacks
its reason is a warning, and so fails the build.
"""

import re
from dataclasses import dataclass, field
from string import ascii_lowercase

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

CHOICE = re.compile(r"- \[(?P<mark>[ xX])\]\s+(?P<text>.*)")


class quiz(nodes.General, nodes.Element):
    """A question: `quiz_question`, then one `quiz_choice` for each choice."""


class quiz_question(nodes.General, nodes.TextElement):
    """The first paragraph of the question; it becomes the legend."""


class quiz_choice(nodes.General, nodes.Element):
    """One choice: `quiz_label` and `quiz_reason`; attribute ``right``."""


class quiz_label(nodes.General, nodes.TextElement):
    """What the reader chooses."""


class quiz_reason(nodes.General, nodes.Element):
    """Why the choice is right or wrong; attribute ``right``."""


@dataclass
class Choice:
    """A choice as written: line numbers are offsets from the directive's content."""

    line: int
    right: bool
    label: list[str]
    reason: list[str] = field(default_factory=list)


class QuizError(ValueError):
    """The question is not complete."""


def read_quiz(content: list[str]) -> tuple[list[str], list[Choice]]:
    """Split the directive's lines into the question and its choices, or say what is missing."""
    question: list[str] = []
    choices: list[Choice] = []
    for number, line in enumerate(content):
        start = CHOICE.match(line)
        stripped = line.strip()
        if start:
            choices.append(Choice(number, start["mark"] in "xX", [start["text"]]))
        elif not choices:
            question.append(line)
        elif stripped.startswith(">"):
            choices[-1].reason.append(stripped[1:].removeprefix(" "))
        elif stripped and choices[-1].reason:
            raise QuizError(f"{stripped!r} follows a reason; begin each line of a reason with '>'")
        elif stripped:
            choices[-1].label.append(stripped)
    if not any(line.strip() for line in question):
        raise QuizError("the question is missing")
    if len(choices) < 2:
        raise QuizError(f"at least two choices are needed ('- [ ] …'), found {len(choices)}")
    right = sum(choice.right for choice in choices)
    if right != 1:
        raise QuizError(f"exactly one choice must be right ('- [x] …'), found {right}")
    for choice in choices:
        if not any(choice.reason):
            raise QuizError(f"the choice {choice.label[0]!r} has no reason ('> …' under it)")
    return question, choices


class QuizDirective(SphinxDirective):
    """Show one multiple-choice question."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        try:
            question, choices = read_quiz(list(self.content))
        except QuizError as error:
            return [self.state.document.reporter.warning(f"{{quiz}}: {error}", line=self.lineno)]
        number = self.env.temp_data["quiz_number"] = self.env.temp_data.get("quiz_number", 0) + 1
        group = f"quiz-{number}"
        result = quiz("", number=number, ids=[group], classes=["quiz"])
        self.set_source_info(result)

        paragraph, *further = self._parse(question, 0)
        if not isinstance(paragraph, nodes.paragraph):
            return [
                self.state.document.reporter.warning(
                    "{quiz}: the question must begin with a paragraph of text", line=self.lineno
                )
            ]
        result += quiz_question("", "", *paragraph.children, number=number)
        result.extend(further)
        for index, choice in enumerate(choices, start=1):
            node = quiz_choice("", group=group, choice=f"{group}-{index}", right=choice.right)
            label = self._parse(choice.label, choice.line)
            node += quiz_label(
                "",
                "",
                *label[0].children,
                choice=f"{group}-{index}",
                letter=ascii_lowercase[index - 1],
            )
            reason = quiz_reason("", right=choice.right)
            reason.extend(self._parse(choice.reason, choice.line))
            node += reason
            result += node
        return [result]

    def _parse(self, lines: list[str], offset: int) -> list[nodes.Node]:
        """Parse lines as MyST."""
        holder = nodes.Element()
        source = self.state.document.current_source or ""
        self.state.nested_parse(StringList(lines, source), self.content_offset + offset, holder)
        return holder.children


def visit_quiz(self: HTML5Translator, node: quiz) -> None:
    self.body.append(self.starttag(node, "fieldset"))


def depart_quiz(self: HTML5Translator, node: quiz) -> None:
    self.body.append("</fieldset>\n")


def visit_quiz_question(self: HTML5Translator, node: quiz_question) -> None:
    self.body.append(f'<legend><span class="quiz-number">Question {node["number"]}.</span> ')


def depart_quiz_question(self: HTML5Translator, node: quiz_question) -> None:
    self.body.append("</legend>\n")


def visit_quiz_choice(self: HTML5Translator, node: quiz_choice) -> None:
    self.body.append(
        f'<div class="quiz-choice"><input type="radio" autocomplete="off" '
        f'name="{node["group"]}" id="{node["choice"]}">'
    )


def depart_quiz_choice(self: HTML5Translator, node: quiz_choice) -> None:
    self.body.append("</div>\n")


def visit_quiz_label(self: HTML5Translator, node: quiz_label) -> None:
    self.body.append(
        f'<label for="{node["choice"]}"><span class="quiz-letter">{node["letter"]}.</span> '
    )


def depart_quiz_label(self: HTML5Translator, node: quiz_label) -> None:
    self.body.append("</label>\n")


def visit_quiz_reason(self: HTML5Translator, node: quiz_reason) -> None:
    kind, verdict = ("right", "Right.") if node["right"] else ("wrong", "Not quite.")
    self.body.append(
        f'<div class="quiz-reason quiz-{kind}"><span class="quiz-verdict">{verdict}</span>'
    )


def depart_quiz_reason(self: HTML5Translator, node: quiz_reason) -> None:
    self.body.append("</div>\n")


def setup(app: Sphinx) -> dict:
    """Register the directive and how its nodes are written as HTML."""
    app.add_node(quiz, html=(visit_quiz, depart_quiz))
    app.add_node(quiz_question, html=(visit_quiz_question, depart_quiz_question))
    app.add_node(quiz_choice, html=(visit_quiz_choice, depart_quiz_choice))
    app.add_node(quiz_label, html=(visit_quiz_label, depart_quiz_label))
    app.add_node(quiz_reason, html=(visit_quiz_reason, depart_quiz_reason))
    app.add_directive("quiz", QuizDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
