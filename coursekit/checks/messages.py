"""What a learner reads: a report put into words, with the numbers where they are few."""

import textwrap
from collections.abc import Mapping

import numpy as np

from .compare import largest_difference, same_values, tolerance

__all__ = ["QUESTIONS", "describe", "passed"]

QUESTIONS = {
    "defined": "Is there an answer?",
    "ran": "Does it run?",
    "returned": "Does it return something usable?",
    "shape": "Question 1 of 5, shape: has the result the right axes and sizes?",
    "dtype": "Question 2 of 5, dtype: is it the right kind of number?",
    "finite": "Question 3 of 5, finite: are there no NaNs and no infinities?",
    "value": "Question 4 of 5, value: are the numbers right?",
    "law": "Question 5 of 5, law: does it do what any right answer must do?",
}

FEW_NUMBERS = 24
FEW_TRUTHS = 64  # True and False are read at a glance
WIDTH = 92


def passed(report):
    """The sentence for an answer that passes, with its remarks."""
    cases = _count(report.n_cases, "case")
    laws = f" and {_count(report.n_laws, 'law')}" if report.n_laws else ""
    lines = [f"{report.exercise.identifier}: passed ({cases}{laws})."]
    lines += [_wrap("Remark: " + remark) for remark in report.remarks]
    return "\n".join(lines)


def describe(report):
    """The message for an answer that does not pass: question, case, numbers, cause."""
    exercise = report.exercise
    failure = next(iter(report.failures.values()))
    blocks = [f"{_wrap(_standing(report, failure))}\n{QUESTIONS[failure.finding.question]}"]
    sentence = failure.finding.sentence
    if not sentence.startswith(exercise.answer):  # a name is not a word to begin with a capital
        sentence = sentence[0].upper() + sentence[1:]
    found = _wrap(sentence)
    if failure.case_name and failure.request is not None and failure.request.arguments:
        found = _wrap(f"On {failure.case_name}: {failure.finding.sentence}")
    blocks.append(found)
    if numbers := _numbers(failure, exercise):
        blocks.append(numbers)
    if report.mistake:
        blocks.append(
            f"A known mistake: {report.mistake.name}.\n{_wrap(report.mistake.explanation)}"
        )
    if failure.finding.question != "defined":
        blocks.append(f'More help: hint("{exercise.identifier}", level=1), then 2 and 3.')
    return "\n\n".join(blocks)


def _standing(report, failure):
    """The first line: how far the answer has come."""
    exercise, identifier = report.exercise, report.exercise.identifier
    if failure.part == exercise.parts[0].name:
        return f"{identifier}: not yet."
    if failure.finding.code.startswith("changed"):
        return f"{identifier}: nearly. The results are right, but something else is not."
    titles = {part.name: part.title for part in exercise.parts}
    good = " and ".join(titles[name] for name in titles if name not in report.failures)
    return f"{identifier}: nearly. {good.capitalize()} pass, {titles[failure.part]} do not yet."


def _numbers(failure, exercise):
    """What went in, what was expected and what came: in full if it is little, else in outline."""
    question, request, outcome = failure.finding.question, failure.request, failure.outcome
    if request is None or failure.expected is None or exercise.judge or question == "law":
        return ""
    if exercise.kind == "by hand":
        # The expected numbers are the answer itself: name the places instead.
        return _indent(_places(failure, exercise)) if question == "value" else ""
    if question == "ran" and outcome.stage in {"signature", "construct", "load"}:
        return ""
    sizes = [np.size(v) for v in request.arguments.values() if isinstance(v, np.ndarray)]
    few = FEW_NUMBERS if sum(sizes) <= 2 * FEW_NUMBERS else max(1, FEW_NUMBERS // 4)
    lines = [_show(name, value, few) for name, value in request.arguments.items()]
    if question in {"dtype", "finite", "value"}:
        lines += _expected_and_got(failure, exercise)
    return _indent(lines)


def _expected_and_got(failure, exercise):
    """The result that is wrong, beside the right one, and a word on the other results."""
    name, question = failure.finding.result, failure.finding.question
    at = exercise.returns.index(name)
    wanted, got = failure.expected.value[at], failure.outcome.value[at]
    lines = []
    if wanted.size <= (FEW_TRUTHS if wanted.dtype.kind == "b" else FEW_NUMBERS):
        lines += [_show(f"expected {name}", wanted), _show(f"your {name}", got)]
    if question == "value" and wanted.size > 1:
        if wanted.dtype.kind == "f":
            size, place = largest_difference(wanted, got)
            said = f"largest difference in {name}: {size:.4g}"
        else:
            place = tuple(int(i) for i in np.argwhere(wanted != got)[0])
            said = f"first difference in {name}"
        right, came = _told_apart(wanted[place], got[place])
        lines.append(f"{said} at {list(place)} (expected {right}, got {came})")
    others = [
        f"{other} {'right' if _close(w, g) else 'wrong'}"
        for other, w, g in zip(
            exercise.returns, failure.expected.value, failure.outcome.value, strict=False
        )
        if other != name and w.shape == g.shape
    ]
    if others and question == "value":
        lines.append("the other results: " + ", ".join(others))
    return lines


def _told_apart(wanted, got):
    """Two numbers as text, with as many digits as it takes to see that they differ."""
    if wanted.dtype.kind == "b":
        return str(wanted), str(got)
    for digits in range(6, 18):
        texts = f"{wanted:.{digits}g}", f"{got:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def _places(failure, exercise):
    lines = []
    for name, wanted, got in zip(
        exercise.returns, failure.expected.value, failure.outcome.value, strict=False
    ):
        wrong = np.argwhere(~(np.abs(wanted - got) <= exercise.absolute))
        if len(wrong):
            places = ", ".join(str(place.tolist()) for place in wrong)
            if wanted.ndim == 1:  # on paper the questions are counted from 1
                places += f" (the {', '.join(_ordinal(place + 1) for place in wrong[:, 0])})"
            lines.append(f"{name}: not right at {places}")
    return lines


def _ordinal(number):
    """1st, 2nd, 3rd, 4th, …, for the few numbers that fit on paper."""
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"


def _close(wanted, got):
    return same_values(wanted, got, tolerance(wanted.dtype))


def _indent(lines):
    folded = [
        line if "\n" in line else textwrap.fill(line, WIDTH - 4, subsequent_indent="    ")
        for line in lines
    ]
    return textwrap.indent("\n".join(folded), "    ")


def _show(name, value, few=FEW_NUMBERS):
    if isinstance(value, Mapping):
        entries = ", ".join(f"{key} {_extent(entry)}" for key, entry in value.items())
        return f"{name}: {entries}"
    if not isinstance(value, np.ndarray):
        return f"{name}: {value!r}" if isinstance(value, str) else f"{name}: {value}"
    kind = "" if value.dtype in (np.float64, np.bool_) else f", {value.dtype}"
    if value.ndim == 0:
        return f"{name}: {value[()]:.6g}"
    if value.size > (few if value.dtype.kind != "b" else FEW_TRUTHS):
        return f"{name}: shape {value.shape}{kind}"
    text = np.array2string(value, precision=4, suppress_small=True, max_line_width=WIDTH - 8)
    if "\n" not in text and value.ndim == 1:
        return f"{name}, shape {value.shape}{kind}: {text}"
    return f"{name}, shape {value.shape}{kind}:\n{textwrap.indent(text, '    ')}"


def _extent(entry):
    """The shape of an array; of a dictionary within a dictionary, how much it holds."""
    return f"({_count(len(entry), 'array')})" if isinstance(entry, Mapping) else np.shape(entry)


def _wrap(text):
    """Wrap paragraphs; lines that are indented already are code and stay."""
    return "\n".join(
        line if line.startswith("    ") else textwrap.fill(line, WIDTH, break_long_words=False)
        for line in text.splitlines()
    )


def _count(n, noun):
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
