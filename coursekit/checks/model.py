"""What an exercise is: its cases, laws, parts, known mistakes and hints, as plain records.

To add a known mistake, write the wrong function into its exercise's file, add a `Mistake` to the
tuple below it, and run ``pytest tests/coursekit/checks -k IDENTIFIER``: the tests say whether it is
caught on every seed and told apart from the others. If it is not, a case is missing.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from .surface import Call, Forward

__all__ = ["Case", "Contents", "Exercise", "Finding", "Law", "Mistake", "Part"]


@dataclass(frozen=True)
class Case:
    """One thing to ask an answer: a name a learner reads, the request, and the part it counts for.

    The name continues the sentence "on …": "two queries and three keys".
    """

    name: str
    request: Call | Forward
    part: str = "plain"


@dataclass(frozen=True)
class Part:
    """A share of an exercise's points. The first part of an exercise is required for the others."""

    name: str
    title: str
    share: float


@dataclass(frozen=True)
class Law:
    """Something that must be true of an answer's own results, whatever the right numbers are.

    `requests(random)` lists what to ask; `broken(requests, values)` gets what came (for each
    request a tuple of arrays) and returns None, or a sentence that says how the law is broken.
    """

    statement: str
    requests: Callable
    broken: Callable
    part: str = "plain"


@dataclass(frozen=True)
class Finding:
    """What is wrong with what came: the question it answers badly, and a sentence about it.

    `code` stands for the kind of fault: two answers with the same code made the same mistake.
    `result` names the result that is wrong, where there are several.
    """

    question: str
    code: str
    sentence: str
    result: str = ""


@dataclass(frozen=True)
class Mistake:
    """A plausible wrong answer and what its author should be told.

    `function` stands on its own: it uses nothing but `np` (or `torch`) and the locked helpers of
    its exercise, so its source can be pasted as an answer. `same_as` names an earlier mistake of
    the exercise whose results are the same on every case; its explanation is what a learner gets.
    """

    name: str
    function: Callable
    explanation: str
    same_as: str | None = None

    def as_answer(self, answer):
        """The source of the mistake, renamed to `answer`: what a learner would have handed in."""
        source = textwrap.dedent(inspect.getsource(self.function))
        node = ast.parse(source).body[0]
        keyword = "class" if isinstance(node, ast.ClassDef) else "def"
        return source.replace(f"{keyword} {node.name}", f"{keyword} {answer}", 1)


@dataclass(frozen=True)
class Contents:
    """The code of an exercise: loaded only when it is needed, so that torch is too."""

    reference: Callable
    mistakes: tuple


@dataclass(frozen=True, kw_only=True, eq=False)
class Exercise:
    """One graded answer of an assignment.

    Attributes
    ----------
    identifier : str
        Such as "03.scaled_dot_scores".
    assignment : str
        Such as "03_scores".
    title, kind : str
        For people; `kind` is prediction, by hand, loop, vectorised, function, module,
        counterexample or mended.
    answer : str
        Name of the learner's function or class.
    points, difficulty, minutes : int
        Difficulty is 1 to 3.
    hints : tuple of str
        A nudge, the idea, nearly the code. Markdown.
    returns : tuple of str
        What the results are called, in order.
    first_cause : tuple of str
        The same names, where one result follows from another: the cause first. A wrong number is
        reported where it arises.
    cases : callable
        ``cases(random) -> list of Case``, the simplest first.
    laws : tuple of Law
    parts : tuple of Part
        Their shares add up to 1.
    contents : callable
        ``contents() -> Contents``: the reference (from `attnkit`) and the known mistakes.
    judge : callable, optional
        For answers with no single right value: ``judge(request, value) -> None or Finding``.
    whole_numbers_pass : bool
        Whether an array of whole numbers may stand for one of floats (numbers typed by hand).
    absolute : float, optional
        An error up to this size is right (numbers worked out on paper).
    needs : str
        "numpy" or "torch".
    helpers : tuple of str
        `grade_id` of the locked cells that the answer may use.
    remark : str
        Something worth saying about every answer that passes.
    writes : tuple of str
        Arguments that the answer is asked to write into; all others must stay as they were.
    """

    identifier: str
    assignment: str
    title: str
    kind: str
    answer: str
    points: int
    difficulty: int
    minutes: int
    hints: tuple
    returns: tuple
    cases: Callable
    contents: Callable
    parts: tuple = (Part("plain", "the answer", 1.0),)
    laws: tuple = ()
    judge: Callable | None = None
    whole_numbers_pass: bool = False
    absolute: float | None = None
    needs: str = "numpy"
    helpers: tuple = ("imports",)
    remark: str = ""
    first_cause: tuple = ()
    writes: tuple = ()

    @cached_property
    def _loaded(self):
        try:
            return self.contents()
        except ImportError as error:
            if self.needs != "torch":
                raise
            raise ImportError(
                f"{self.identifier} needs torch, which cannot be imported here ({error})"
            ) from None

    @property
    def reference(self):
        """The right function, from `attnkit`."""
        return self._loaded.reference

    @property
    def mistakes(self):
        """Tuple of `Mistake`."""
        return self._loaded.mistakes

    @property
    def grade_id(self):
        """What nbgrader calls the answer cell: "scaled-dot-scores"."""
        return self.identifier.split(".")[1].replace("_", "-")
