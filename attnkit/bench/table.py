"""The benchmark's results as text that is read in a terminal."""

import shutil
import textwrap

from .rows import BELOW, NEAR, NOT_TOLD, REACHED

WIDE = 112  # from so many columns on, a row's title stands beside its goals
_NAME, _VALUE, _SPREAD, _GOAL = 32, 6, 17, 6
_COLOURS = {REACHED: "32", NEAR: "33", BELOW: "31", NOT_TOLD: "2"}


def table(results, *, width=None, colour=False):
    """Return results as a table.

    Parameters
    ----------
    results : iterable of dict
        What `attnkit.bench.rows.measure` returned, row by row.
    width : int, optional
        Columns to fill, at least 72; those of the terminal when not given.
    colour : bool
        Whether verdicts are coloured for a terminal.

    Returns
    -------
    str
        Lines of at most `width` columns.
    """
    if width is None:
        width = shutil.get_terminal_size().columns
    width = max(width, 72)
    beside = width - _goal_width() - 2 if width >= WIDE else 0
    lines = [*_head(beside)]
    for row in results:
        title = row["title"] if row["gated"] else f"{row['title']} (reported)"
        goals = [line for goal in row["goals"] for line in _goal_lines(goal, colour)]
        if beside:
            titles = textwrap.wrap(title, beside)
            goals += [""] * (len(titles) - len(goals))
            titles += [""] * (len(goals) - len(titles))
            lines += [
                f"{words:<{beside}}  {goal}".rstrip()
                for words, goal in zip(titles, goals, strict=True)
            ]
        else:
            lines += [*textwrap.wrap(title, width), *(f"  {goal}" for goal in goals)]
    return "\n".join([*lines, "", *textwrap.wrap(summary(results), width)])


def summary(results):
    """Return in one sentence how many of the goals that the project holds itself to are reached."""
    judged = [goal["verdict"] for row in results if row["gated"] for goal in row["goals"]]
    told = f"{judged.count(REACHED)} of {len(judged)} goals reached"
    for found, words in ((NEAR, "within 10 % of it"), (BELOW, "below"), (NOT_TOLD, "not compared")):
        if judged.count(found):
            told += f", {judged.count(found)} {words}"
    return told + "."


def _goal_width():
    return _NAME + _VALUE + _SPREAD + _GOAL + max(map(len, _COLOURS)) + 4


def _head(beside):
    words = _line("against", "times", "middle half", "goal", "verdict")
    yield f"{'what is measured':<{beside}}  {words}" if beside else f"  {words}"
    yield "─" * ((beside + 2 if beside else 2) + _goal_width())


def _line(name, value, spread, goal, verdict):
    name = name if len(name) <= _NAME else name[: _NAME - 1] + "…"
    return (
        f"{name:<{_NAME}} {value:>{_VALUE}} {spread:>{_SPREAD}} {goal:>{_GOAL}} {verdict}".rstrip()
    )


def _goal_lines(goal, colour):
    """Return one goal as one line, and a second one with the reason where a peer is absent."""
    value, sign = goal["value"], "≤" if goal["at_most"] else "≥"
    verdict = goal["verdict"]
    if colour:
        verdict = f"\033[{_COLOURS[verdict]}m{verdict}\033[0m"
    yield _line(
        _NAMES[goal["kind"]](goal),
        "" if value is None else _number(value),
        "" if value is None else _spread(goal),
        f"{sign} {_number(goal['goal'])}",
        verdict,
    )
    if value is None:
        for line in textwrap.wrap(goal["reason"], _goal_width() - 2):
            yield f"  {line}"


def _spread(goal):
    """Return the middle half of the rounds, or what a ratio was made from."""
    if "low" in goal:
        return f"{_number(goal['low'])} to {_number(goal['high'])}"
    if "growth" in goal:
        ours, other = goal["growth"]
        return f"{_number(other)} / {_number(ours)}"
    if "mebibytes" in goal:
        ours, other = goal["mebibytes"][:: -1 if goal["kind"] == "SameMemory" else 1]
        return f"{_number(ours)} / {_number(other)} MiB"
    return ""


def _number(number):
    """Return a number with three digits that count, and no exponent."""
    if number >= 100:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}"


_NAMES = {
    "Faster": lambda goal: goal["against"],
    "Leaner": lambda goal: f"memory over {goal['against']}",
    "Small": lambda goal: "memory, MiB",
    "Grows": lambda goal: "growth of its time over ours",
    "SameMemory": lambda goal: "memory besides the result",
}
