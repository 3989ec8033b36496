"""Examine one answer: ask it every case, put the questions, find the known mistake it equals.

For each part of an exercise the cases are gone through from the simplest on, and at each one the
questions are put in one order: was it defined, did it run, did it return something, and then
shape, dtype, finite, value. The fifth question, the laws, comes when all cases of a part passed.
The first question with a bad answer is what a learner hears about.

Three decisions. A float type wider than expected is only a remark, for under NumPy 2 the
commonest right answer (``x / np.sqrt(d)``) widens float32; a narrower one fails, because digits
are lost. A warning is only a remark. An answer that changes its caller's arrays (other than those
it is asked to write into) breaks a law, and the law counts for the *last* part of the exercise:
whoever computes the right numbers keeps the points of the plain cases.
"""

import functools
import sys
from dataclasses import dataclass

import numpy as np

from .compare import same_outcome
from .model import Exercise, Finding, Mistake
from .questions import allowed_difference, did_it_work, put_questions
from .seeds import generator
from .surface import Call, run

__all__ = ["Failure", "Report", "examine"]

TRIED_ON = "numbers that a law is tried on"
"""What stands for the name of a case where an answer fails between the cases and a law."""

ABOUT_RESULTS = {"shape", "dtype", "finite", "value"}
"""The questions about what came; the others are about whether anything did."""


@dataclass(frozen=True)
class Failure:
    """The first thing wrong in one part: the finding, and the case it was found on (if any)."""

    part: str
    finding: Finding
    case_name: str = ""
    request: object = None
    expected: object = None
    outcome: object = None


@dataclass(frozen=True)
class Report:
    """What came out of an examination.

    Attributes
    ----------
    exercise : Exercise
    failures : dict of str to Failure
        By part, in the order of the parts; empty if everything passed.
    mistake : Mistake or None
        The known mistake whose results these are.
    remarks : tuple of str
        Worth saying, never a failure.
    n_cases, n_laws : int
        How much was asked.
    """

    exercise: Exercise
    failures: dict
    mistake: Mistake | None = None
    remarks: tuple = ()
    n_cases: int = 0
    n_laws: int = 0

    @property
    def passed(self):
        """Whether nothing was found wrong."""
        return not self.failures

    def earned(self, points):
        """The share of `points` that the passed parts are worth; 0 if the first part failed."""
        parts = self.exercise.parts
        if parts[0].name in self.failures:
            return 0.0
        if self.passed:
            return float(points)
        share = sum(part.share for part in parts if part.name not in self.failures)
        return min(float(points), max(0.0, round(points * share, 2)))


def examine(exercise, answer, seed):
    """Ask `answer` everything that `exercise` asks, with the cases of `seed`.

    Parameters
    ----------
    exercise : Exercise
    answer : object
        The learner's function or class, or whatever stands in its place.
    seed : int

    Returns
    -------
    Report
        Whatever the answer does. Only `KeyboardInterrupt` passes through.
    """
    if not callable(answer) or _is_built(exercise, answer):
        return _nowhere(exercise, "not callable", _not_callable(exercise, answer))
    cases, expected = _questions(exercise, seed)
    outcomes = tuple(run(answer, case.request) for case in cases)
    if outcomes[0].error == "NotImplementedError":
        return _nowhere(
            exercise,
            "not written",
            f"{exercise.answer} is not written yet: its body still says so.",
        )
    failures, findings = {}, []
    for case, right, outcome in zip(cases, expected, outcomes, strict=True):
        finding = put_questions(exercise, case.request, right, outcome)
        findings.append(finding)
        if finding and case.part not in failures:
            failures[case.part] = Failure(
                case.part, finding, case.name, case.request, right, outcome
            )
    _put_laws(exercise, answer, seed, cases, expected, outcomes, failures)
    order = [part.name for part in exercise.parts]
    failures = dict(sorted(failures.items(), key=lambda item: order.index(item[0])))
    mistake = None
    if failures:
        mistake = _recognise(exercise, seed, outcomes, findings) or _recognise_in_part(
            exercise, seed, outcomes, findings, next(iter(failures))
        )
    remarks = () if failures else _remarks(exercise, expected, outcomes)
    return Report(exercise, failures, mistake, remarks, len(cases), len(exercise.laws))


@functools.lru_cache(maxsize=64)
def _questions(exercise, seed):
    """The cases of a seed and what the reference does on them."""
    cases = tuple(exercise.cases(generator(seed, exercise.identifier, "cases")))
    return cases, tuple(run(exercise.reference, case.request) for case in cases)


@functools.lru_cache(maxsize=64)
def _mistaken(exercise, seed):
    """For every known mistake its outcomes and findings on the cases of a seed."""
    cases, expected = _questions(exercise, seed)
    kept = []
    for mistake in exercise.mistakes:
        outcomes = tuple(run(mistake.function, case.request) for case in cases)
        findings = [
            put_questions(exercise, case.request, right, outcome)
            for case, right, outcome in zip(cases, expected, outcomes, strict=True)
        ]
        kept.append((mistake, outcomes, findings))
    return tuple(kept)


def _nowhere(exercise, code, sentence):
    finding = Finding("defined", code, sentence)
    return Report(exercise, {p.name: Failure(p.name, finding) for p in exercise.parts})


def _is_built(exercise, answer):
    """Whether a module was handed over in place of its class; asks the type, never the answer."""
    torch = sys.modules.get("torch")  # who built a module has imported it
    if exercise.needs != "torch" or torch is None:
        return False
    return torch.nn.Module in type.__dict__["__mro__"].__get__(type(answer))


def _not_callable(exercise, answer):
    given = run(lambda: answer, Call())
    what = {"nothing": "None", "value": "numbers"}.get(given.kind, given.sentence)
    return (
        f"The check takes {exercise.answer} itself, but was handed {what}. "
        f"Give it the name without brackets, and make sure that nothing later in the notebook "
        f"uses the name {exercise.answer} for something else."
    )


# ---------------------------------------------------------------- the laws


def _put_laws(exercise, answer, seed, cases, expected, outcomes, failures):
    """Add to `failures` what breaks a law, in parts whose cases all passed."""
    first, last = exercise.parts[0].name, exercise.parts[-1].name
    for law in exercise.laws:
        if law.part in failures or first in failures:
            continue
        if failure := _broken(exercise, law, answer, seed):
            failures[law.part] = failure
    if last not in failures and (finding := _changed(exercise, outcomes)):
        failures[last] = Failure(last, finding)
    if first not in failures:
        allowed = allowed_difference(exercise, cases[0].request, expected[0])
        if not same_outcome(outcomes[0], run(answer, cases[0].request), allowed):
            failures[first] = Failure(first, _not_repeatable(exercise), cases[0].name)


def _broken(exercise, law, answer, seed):
    """How an answer fails one law of its exercise, or None."""
    requests = law.requests(generator(seed, exercise.identifier, law.statement))
    outcomes = [run(answer, request) for request in requests]
    for request, outcome in zip(requests, outcomes, strict=True):
        right = run(exercise.reference, request)
        if finding := did_it_work(exercise, request, right, outcome):
            # No case of this part showed it, so the numbers are worth seeing.
            return Failure(law.part, finding, TRIED_ON, request, right, outcome)
    try:
        sentence = law.broken(requests, [outcome.value for outcome in outcomes])
    except (ValueError, IndexError) as error:  # shapes that cannot even be compared
        sentence = f"its results do not fit together ({error})."
    if sentence is None:
        return None
    return Failure(law.part, Finding("law", law.statement, f"{law.statement}: {sentence}"))


def _changed(exercise, outcomes):
    """The finding that an answer writes into its arguments, or None."""
    seen = dict.fromkeys(name for outcome in outcomes for name in outcome.changed)
    changed = [name for name in seen if name not in exercise.writes]
    if not changed:
        return None
    names = " and ".join(changed)
    return Finding(
        "law",
        f"changed {names}",
        f"{exercise.answer} changed its caller's {names}. Whoever called it still needs those "
        f"numbers. Lines such as x -= …, x /= … and x[…] = … write into the array that was handed "
        f"in; x = x - … makes a new one.",
    )


def _not_repeatable(exercise):
    return Finding(
        "law",
        "not repeatable",
        f"{exercise.answer} gave another result when it was asked the same thing again. It must "
        f"depend on its arguments alone: no random numbers, nothing remembered from call to call.",
    )


# ---------------------------------------------------------------- recognition and remarks


def _recognise(exercise, seed, outcomes, findings):
    """The first known mistake that did the same on every case, or None."""
    cases, expected = _questions(exercise, seed)
    for mistake, its_outcomes, its_findings in _mistaken(exercise, seed):
        # Numbers compare equal to truth values: the same results can be right in one and not in the other.
        if [bool(f) for f in findings] != [bool(f) for f in its_findings]:
            continue
        if exercise.judge:
            same = [_code(f) for f in findings] == [_code(f) for f in its_findings]
            # Where there is no one right value, what was done to the arguments still can be told.
            same = same and [o.changed for o in outcomes] == [o.changed for o in its_outcomes]
        else:
            same = all(
                same_outcome(
                    mine,
                    its,
                    allowed_difference(exercise, case.request, right),
                    exercise.whole_numbers_pass,
                )
                for case, right, mine, its in zip(
                    cases, expected, outcomes, its_outcomes, strict=True
                )
            )
        # An exception alone says little: where no result is wrong, its text must agree as well.
        if same and all(f is None or f.question == "ran" for f in its_findings):
            same = all(map(_same_text, outcomes, its_outcomes))
        if same:
            return mistake
    return None


def _recognise_in_part(exercise, seed, outcomes, findings, part):
    """The one known mistake that did the same on every case of a part, or None.

    Whoever makes a mistake in the plain cases has often not thought of the others yet, so nothing
    in the bank does the same on all. A name is given where a single mistake fits, where elsewhere
    the answer is wrong at least wherever that mistake is, and where the wrong results hold so many
    numbers that they do not agree by chance.
    """
    if exercise.kind == "by hand":
        return _recognise_on_paper(exercise, seed, outcomes, findings)
    cases, expected = _questions(exercise, seed)
    of_part = [i for i, case in enumerate(cases) if case.part == part]
    wrong = [i for i in of_part if findings[i] and findings[i].question in ABOUT_RESULTS]
    if exercise.judge or not _many_numbers([outcomes[i] for i in wrong]):
        return None
    fitting = [
        mistake
        for mistake, its_outcomes, its_findings in _mistaken(exercise, seed)
        if all(mine or not its for mine, its in zip(findings, its_findings, strict=True))
        and all(
            bool(findings[i]) == bool(its_findings[i])
            and same_outcome(
                outcomes[i],
                its_outcomes[i],
                allowed_difference(exercise, cases[i].request, expected[i]),
                exercise.whole_numbers_pass,
            )
            for i in of_part
        )
    ]
    distinct = [mistake for mistake in fitting if mistake.same_as is None]
    return distinct[0] if len(distinct) == 1 else None


def _recognise_on_paper(exercise, seed, outcomes, findings):
    """The known mistake that explains most of several wrong numbers on one sheet, or None.

    Each number answers a question of its own. A mistake is made where every number that it gets
    wrong came out as it does; what else is wrong has another reason.
    """
    if any(finding and finding.question != "value" for finding in findings):
        return None
    _, expected = _questions(exercise, seed)
    right, came = (
        [value for outcome in several for value in outcome.value]
        for several in (expected, outcomes)
    )
    best, most = None, 0
    for mistake, its_outcomes, _ in _mistaken(exercise, seed):
        its = [value for outcome in its_outcomes for value in outcome.value]
        if [value.shape for value in its] != [value.shape for value in right]:
            continue
        triples = list(zip(right, came, its, strict=True))
        wrong = [np.abs(its - right) > exercise.absolute for right, _, its in triples]
        alike = [np.abs(its - came) <= exercise.absolute for _, came, its in triples]
        explained = sum(int(where.sum()) for where in wrong)
        fits = all(same[where].all() for same, where in zip(alike, wrong, strict=True))
        if fits and explained > most:
            best, most = mistake, explained
    return best


def _many_numbers(outcomes):
    """Whether results hold a float with all its digits, or a dozen numbers of any other kind."""
    values = [value for outcome in outcomes for value in outcome.value]
    digits = any(
        value.dtype.kind == "f" and (value[np.isfinite(value)] % 1).any() for value in values
    )
    return digits or sum(value.size for value in values) >= 12


def _same_text(one, other):
    """Whether two exceptions say the same, be it of whole numbers or of floats."""
    # 1 / 0 is a "division by zero" and 1.0 / 0 a "float division by zero".
    return one.sentence.removeprefix("float ") == other.sentence.removeprefix("float ")


def _code(finding):
    return finding and (finding.question, finding.code)


def _remarks(exercise, expected, outcomes):
    remarks = []
    for right, outcome in zip(expected, outcomes, strict=True):
        for wanted, got in zip(right.value, outcome.value, strict=False):
            if (
                wanted.dtype.kind == got.dtype.kind == "f"
                and wanted.dtype.itemsize < got.dtype.itemsize
                and wanted.ndim
            ):
                remarks.append(
                    f"{wanted.dtype} went in and {got.dtype} came out. That is fine here; in a "
                    f"large model it doubles the memory."
                )
    for outcome in outcomes:
        remarks += [f"Python warned while your code ran: {text}" for text in outcome.warnings]
    if exercise.remark:
        remarks.append(exercise.remark)
    return tuple(dict.fromkeys(remarks))
