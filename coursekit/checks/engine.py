"""Examine one answer: ask it every case, put the five questions, find the mistake it equals.

For each part of an exercise the cases are gone through from the simplest on, and at each one the
questions are put in one order: was it defined, did it run, did it return something, and then
shape, dtype, finite, value. The fifth question, the laws, comes when all cases of a part passed.
The first question with a bad answer is what a learner hears about.

Three decisions. A float type wider than expected is only a remark, for under NumPy 2 the
commonest right answer (``x / np.sqrt(d)``) widens float32; a narrower one fails, because digits
are lost. A warning is only a remark. An answer that changes its caller's arrays breaks a law,
and the law counts for the *last* part of the exercise: whoever computes the right numbers keeps
the points of the plain cases.
"""

import functools
from dataclasses import dataclass

import numpy as np

from .compare import same_outcome, same_values, tolerance
from .model import Exercise, Finding, Mistake
from .seeds import generator
from .surface import Call, Forward, run

__all__ = ["Failure", "Report", "examine"]


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
    if not callable(answer):
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
        finding = _put_questions(exercise, case.request, right, outcome)
        findings.append(finding)
        if finding and case.part not in failures:
            failures[case.part] = Failure(
                case.part, finding, case.name, case.request, right, outcome
            )
    _put_laws(exercise, answer, seed, cases, outcomes, failures)
    order = [part.name for part in exercise.parts]
    failures = dict(sorted(failures.items(), key=lambda item: order.index(item[0])))
    mistake = _recognise(exercise, seed, outcomes, findings) if failures else None
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
            _put_questions(exercise, case.request, right, outcome)
            for case, right, outcome in zip(cases, expected, outcomes, strict=True)
        ]
        kept.append((mistake, outcomes, findings))
    return tuple(kept)


def _nowhere(exercise, code, sentence):
    finding = Finding("defined", code, sentence)
    return Report(exercise, {p.name: Failure(p.name, finding) for p in exercise.parts})


def _not_callable(exercise, answer):
    given = run(lambda: answer, Call())
    what = {"nothing": "None", "value": "numbers"}.get(given.kind, given.sentence)
    return (
        f"The check takes {exercise.answer} itself, but was handed {what}. "
        f"Give it the name without brackets, and make sure that nothing later in the notebook "
        f"uses the name {exercise.answer} for something else."
    )


# ---------------------------------------------------------------- the questions on one case


def _put_questions(exercise, request, right, outcome):
    """The first question that `outcome` answers badly, or None."""
    finding = _did_it_work(exercise, request, right, outcome)
    if finding:
        return finding
    if exercise.judge:
        return exercise.judge(request, outcome.value)
    # Question by question over all results: a wrong shape in the second is more basic than a
    # wrong number in the first.
    results = list(zip(exercise.returns, right.value, outcome.value, strict=False))
    causes = exercise.first_cause or exercise.returns
    results.sort(key=lambda result: causes.index(result[0]))
    asked = (
        lambda name, wanted, got: _ask_shape(name, wanted, got, outcome.form),
        lambda name, wanted, got: _ask_dtype(exercise, name, wanted, got, outcome.form),
        _ask_finite,
        lambda name, wanted, got: _ask_value(exercise, request, name, wanted, got),
    )
    for ask in asked:
        for name, wanted, got in results:
            if finding := ask(name, wanted, got):
                return finding
    return None


def _did_it_work(exercise, request, right, outcome):
    name = exercise.answer
    if outcome.kind == "raised":
        return Finding("ran", outcome.error, _raised_sentence(exercise, request, outcome))
    if outcome.kind == "nothing":
        return Finding(
            "returned", "None", f"{name} returned nothing (None). Is there a return line?"
        )
    if outcome.kind == "unusable":
        return Finding(
            "returned",
            outcome.sentence,
            f"{name} returned {outcome.sentence}. Expected: {_results(exercise, right)}.",
        )
    n_wanted = 1 if isinstance(request, Forward) else len(right.value)
    n_got = len(outcome.value) if outcome.form == "tuple" else 1
    if n_got != n_wanted or (outcome.form == "tuple") != (right.form == "tuple"):
        came = f"a tuple of {n_got}" if outcome.form == "tuple" else f"one {outcome.form}"
        return Finding(
            "returned", came, f"{name} returned {came}. Expected: {_results(exercise, right)}."
        )
    return None


def _results(exercise, right):
    """What should have come, in words."""
    names = exercise.returns
    if exercise.needs == "torch":
        return f"one tensor, the {names[0]}"
    if len(names) > 1:
        return f"a tuple of {len(names)}, ({', '.join(names)})"
    return f"the {names[0]}, as {'a plain NumPy array' if right.value[0].ndim else 'one number'}"


def _raised_sentence(exercise, request, outcome):
    name, error = exercise.answer, f"{outcome.error}: {outcome.sentence}".rstrip(": ")
    if outcome.error == "NotImplementedError":
        return f"{name} is not finished: it raised {error}."
    if outcome.stage == "signature":
        given = ", ".join(request.arguments) or "no arguments"
        return f"{name} could not be called with ({given}). Python says: {error}"
    if outcome.stage == "construct":
        given = ", ".join(f"{k}={v}" for k, v in request.construct.items())
        return f"{name}({given}) could not be built. Python says: {error}"
    if outcome.stage == "load":
        wanted = ", ".join(f"{k} {np.shape(v)}" for k, v in request.state.items())
        return (
            f"The parameters of {name} could not be loaded. They must be called and shaped "
            f"{wanted}. torch says: {error}"
        )
    if outcome.error in {"SystemExit", "GeneratorExit"}:
        return f"{name} tried to stop Python ({error}) instead of returning a result."
    where = f", at the line\n    {outcome.line}" if outcome.line else ""
    return f"{name} stopped with {error}{where}"


def _ask_shape(name, wanted, got, form):
    if got.shape == wanted.shape:
        return None
    came = "a single number" if form == "number" else f"shape {got.shape}"
    asked = f"{name} of shape {wanted.shape}" if wanted.ndim else f"{name} to be one number"
    cause = _shape_cause(wanted.shape, got.shape)
    sentence = f"expected {asked}, got {came}" + (f": {cause}." if cause else ".")
    return Finding("shape", str(got.shape), sentence, name)


def _shape_cause(wanted, got):
    if not wanted:
        return ""
    if sorted(wanted) == sorted(got):
        return "the same sizes in another order, so two axes are swapped"
    if len(got) == len(wanted) + 1 and 1 in got:
        return "an axis of size 1 too many"
    if len(got) > len(wanted):
        return "more axes than expected, perhaps a broadcast that was not meant"
    if len(got) < len(wanted):
        return "an axis is gone, perhaps summed or averaged over"
    return ""


def _ask_dtype(exercise, name, wanted, got, form):
    if wanted.dtype.kind == "f":
        if got.dtype.kind == "f":
            if np.finfo(got.dtype).bits >= np.finfo(wanted.dtype).bits:
                return None
            return Finding(
                "dtype",
                got.dtype.name,
                f"expected {name} in {wanted.dtype} as the inputs are, got the narrower "
                f"{got.dtype}: digits were lost on the way.",
                name,
            )
        if got.dtype.kind in "iu" and (exercise.whole_numbers_pass or form == "number"):
            return None
        return Finding(
            "dtype",
            got.dtype.kind,
            f"expected {name} as floating-point numbers ({wanted.dtype}), got {got.dtype}. An array "
            f"made for whole numbers cuts off what comes after the point.",
            name,
        )
    if got.dtype.kind in "iu" or got.dtype.kind == wanted.dtype.kind:
        return None
    return Finding(
        "dtype",
        got.dtype.kind,
        f"expected {name} as whole numbers ({wanted.dtype}), got {got.dtype}.",
        name,
    )


def _ask_finite(name, wanted, got):
    bad = ~np.isfinite(got) & np.isfinite(wanted)
    if not bad.any():
        return None
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    count = int(bad.sum())
    what = "NaN" if np.isnan(got[bad]).any() else "infinity"
    where = f", first at {list(place)}" if place else ""
    return Finding(
        "finite",
        what,
        f"{count} of {got.size} numbers in {name} are {what}{where}."
        if got.size > 1
        else f"{name} is {what}.",
        name,
    )


def _ask_value(exercise, request, name, wanted, got):
    if exercise.absolute is not None:
        same = bool((np.abs(wanted - got) <= exercise.absolute).all())
    else:
        same = same_values(wanted, got, tolerance(*_dtypes(request), wanted.dtype))
    if same:
        return None
    sentence = f"the numbers in {name} are wrong (the shape is right)."
    if wanted.ndim == 0:
        sentence = f"{name} is not right."
    return Finding("value", "different", sentence, name)


def _dtypes(request):
    flat = []
    for value in request.arguments.values():
        flat += value.values() if isinstance(value, dict) else [value]
    return [v.dtype for v in flat if isinstance(v, np.ndarray) and v.dtype.kind == "f"]


# ---------------------------------------------------------------- the laws


def _put_laws(exercise, answer, seed, cases, outcomes, failures):
    """Add to `failures` what breaks a law, in parts whose cases all passed."""
    for law in exercise.laws:
        if law.part in failures or exercise.parts[0].name in failures:
            continue
        requests = law.requests(generator(seed, exercise.identifier, law.statement))
        kept = [run(answer, request) for request in requests]
        finding = None
        for request, outcome in zip(requests, kept, strict=True):
            if outcome.kind != "value":
                right = run(exercise.reference, request)
                finding = _did_it_work(exercise, request, right, outcome)
                break
        if finding is None:
            try:
                sentence = law.broken(requests, [outcome.value for outcome in kept])
            except (ValueError, IndexError) as error:  # shapes that cannot even be compared
                sentence = f"its results do not fit together ({error})."
            if sentence:
                finding = Finding("law", law.statement, f"{law.statement}: {sentence}")
        if finding:
            failures[law.part] = Failure(law.part, finding)
    last = exercise.parts[-1].name
    if last not in failures:
        for case, outcome in zip(cases, outcomes, strict=True):
            if outcome.changed:
                changed = " and ".join(outcome.changed)
                sentence = (
                    f"{exercise.answer} changed its caller's {changed}. Whoever called it still "
                    f"needs those numbers. Lines such as x -= …, x /= … and x[…] = … write into "
                    f"the array that was handed in; x = x - … makes a new one."
                )
                finding = Finding("law", "changed " + changed, sentence)
                failures[last] = Failure(last, finding, case.name)
                break
    first = exercise.parts[0].name
    if first not in failures and not same_outcome(
        outcomes[0], run(answer, cases[0].request), tolerance(*_dtypes(cases[0].request))
    ):
        failures[first] = Failure(
            first,
            Finding(
                "law",
                "not repeatable",
                f"{exercise.answer} gave another result when it was asked the same thing again. "
                f"It must depend on its arguments alone: no random numbers, nothing remembered "
                f"from call to call.",
            ),
            cases[0].name,
        )


# ---------------------------------------------------------------- recognition and remarks


def _recognise(exercise, seed, outcomes, findings):
    """The known mistake that did the same on every case, or None."""
    cases, expected = _questions(exercise, seed)
    by_name = {mistake.name: mistake for mistake in exercise.mistakes}
    for mistake, its_outcomes, its_findings in _mistaken(exercise, seed):
        if exercise.judge:
            same = [_code(f) for f in findings] == [_code(f) for f in its_findings]
        else:
            same = all(
                same_outcome(mine, its, _allowed(exercise, case.request, right))
                for case, right, mine, its in zip(
                    cases, expected, outcomes, its_outcomes, strict=True
                )
            )
        # Stopping with some error everywhere says little: then the error's text must agree too.
        if same and all(outcome.kind == "raised" for outcome in outcomes):
            same = outcomes[0].sentence == its_outcomes[0].sentence
        if same:
            return by_name.get(mistake.same_as, mistake)
    return None


def _code(finding):
    return finding and (finding.question, finding.code)


def _allowed(exercise, request, right):
    if exercise.absolute is not None:
        return exercise.absolute
    return tolerance(*_dtypes(request), *(v.dtype for v in right.value if v.dtype.kind == "f"))


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
