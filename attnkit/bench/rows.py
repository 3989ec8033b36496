"""What a row of the benchmark is: candidates for one task, goals, and how a goal is judged."""

import math
import os
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .memory import peak_memory
from .peers import PeerAbsent
from .timing import compare

OURS = "ours"
SLACK = 0.1  # a goal counts as reached within this share of it
REACHED, NEAR, BELOW, NOT_TOLD = "reached", "within 10 %", "below", "peer absent"
ROUNDS, FEW_ROUNDS = 30, 9  # the latter for what takes long
LONG = 1.0  # seconds; a row with a candidate that takes longer is measured in few rounds


class Faster(NamedTuple):
    """The time of `against` over that of ours is to be at least `goal`."""

    against: str
    goal: float
    ours: str = OURS


class Leaner(NamedTuple):
    """Our peak of memory over that of `against` is to be at most `goal`."""

    against: str
    goal: float


class Small(NamedTuple):
    """Our peak of memory, the result included, is to be at most `goal` mebibytes."""

    goal: float


class Grows(NamedTuple):
    """From the candidates `first` to `last` time is to grow at most `goal` times as much as a peer's."""

    first: str
    last: str
    peer_first: str
    peer_last: str
    goal: float = 1.0


class SameMemory(NamedTuple):
    """Memory besides the result is to be at most `goal` times as much for `last` as for `first`."""

    first: str
    last: str
    goal: float = 1.0


class Case(NamedTuple):
    """The candidates for one task, ready to be made.

    Attributes
    ----------
    candidates : mapping from name to function
        Each returns the function to time, or raises if its package is absent or refuses.
    error : callable
        ``error(name, result)``: how far a result is from the truth; None where there is none to
        compare with, as for a bound.
    tolerance : float
        The largest error of a right result.
    """

    candidates: Mapping[str, Callable[[], Callable[[], object]]]
    error: Callable[[str, object], float | None]
    tolerance: float = 1e-4


class Row(NamedTuple):
    """One row of the table.

    Attributes
    ----------
    name : str
        By which it is asked for, such as ``"local.forward.4k"``.
    title : str
        What is measured, in words.
    goals : tuple
        Of `Faster`, `Leaner`, `Small`, `Grows` and `SameMemory`.
    build : callable
        ``build(quick)`` makes the inputs, small ones if quick, and returns the `Case`.
    gated : bool
        Whether the goals are ones that the project holds itself to; else they are reported only.
    """

    name: str
    title: str
    goals: tuple
    build: Callable[[bool], Case]
    gated: bool = True


def verdict(value, goal, *, at_most=False):
    """Return what a measured ratio says about its goal.

    Parameters
    ----------
    value, goal : float
        What was measured and what was aimed at.
    at_most : bool
        Whether the goal is an upper bound; else it is a lower one.

    Returns
    -------
    str
        ``"reached"``, ``"within 10 %"`` or ``"below"``; the first two count as reached.

    Examples
    --------
    >>> verdict(4.1, 4.0), verdict(3.7, 4.0), verdict(3.5, 4.0)
    ('reached', 'within 10 %', 'below')
    >>> verdict(0.105, 0.1, at_most=True)
    'within 10 %'
    """
    if at_most:
        return REACHED if value <= goal else NEAR if value <= goal * (1 + SLACK) else BELOW
    return REACHED if value >= goal else NEAR if value >= goal * (1 - SLACK) else BELOW


def measure(row, *, quick=False, rounds=None, clock=time.perf_counter):
    """Measure one row: make the candidates, check their results, time them in turns, judge.

    A candidate of others that is absent, fails or computes something else is left out and told with
    its reason; ours must work.

    Parameters
    ----------
    row : Row
        What to measure.
    quick : bool
        Small inputs.
    rounds : int, optional
        How often each candidate has its turn; 30 when not given, 5 where one takes over a second.
    clock : callable
        Returns seconds.

    Returns
    -------
    dict
        Ready for JSON: ``name``, ``title``, ``gated``, ``rounds``, ``seconds``, ``load``, ``times``
        (per candidate, in units of ours), ``errors``, ``absent`` and ``goals``.

    Raises
    ------
    ArithmeticError
        When ours is wrong.
    """
    began = time.perf_counter()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    case = row.build(quick)
    ready, errors, absent, longest = {}, {}, {}, 0.0
    for name, make in case.candidates.items():
        try:
            run = make()
            once, _ = _timed(run, clock)  # compiles and fills caches, too
            again, result = _timed(run, clock)
            longest = max(longest, min(once, again))
            errors[name] = _checked(name, case.error(name, result), case.tolerance)
        except Exception as error:
            if name.startswith(OURS):
                raise
            told = "" if isinstance(error, PeerAbsent) else f"{type(error).__name__}: "
            absent[name] = f"{told}{error}"
            continue
        finally:
            result = None
        ready[name] = run
    if rounds is None:
        rounds = FEW_ROUNDS if longest > LONG else ROUNDS
    costs = compare(ready, rounds=rounds, clock=clock)
    times = {name: cost.__dict__ | {"steady": cost.steady} for name, cost in costs.items()}
    memory = _Memory(ready)
    goals = [_judged(goal, costs, memory, absent) for goal in row.goals]
    return {
        "name": row.name,
        "title": row.title,
        "gated": row.gated,
        "rounds": rounds,
        "load": load,
        "times": times,
        "errors": errors,
        "absent": absent,
        "goals": goals,
        "seconds": round(time.perf_counter() - began, 1),
    }


def _timed(run, clock):
    """Return the seconds of one call and its result."""
    start = clock()
    result = run()
    return clock() - start, result


def _checked(name, error, tolerance):
    """Return an error within the tolerance, None as None; refuse a larger one."""
    if error is not None and not error <= tolerance:  # NaN is not within anything
        raise ArithmeticError(f"{name} is off by {error:.2g}, more than {tolerance:.2g}")
    return error


class _Memory:
    """The peaks of memory of candidates, each measured once and when it is asked for."""

    def __init__(self, candidates):
        self.candidates, self.known = candidates, {}

    def __call__(self, name, method=None):
        """Return the peak of a candidate in bytes."""
        if (name, method) not in self.known:
            used = peak_memory(self.candidates[name], method=method)
            self.known[name, method] = max(used.bytes, 1)
        return self.known[name, method]


def _judged(goal, costs, memory, absent):
    """Return one goal with what was measured, its middle half where there is one, and the verdict."""
    told = {
        "kind": type(goal).__name__,
        **goal._asdict(),
        "at_most": isinstance(goal, Leaner | Small | SameMemory),
    }
    lacking = [name for name in goal if isinstance(name, str) and name in absent]
    if lacking:
        return told | {"value": None, "verdict": NOT_TOLD, "reason": absent[lacking[0]]}
    told |= _MEASURED[type(goal)](goal, costs, memory)
    if not math.isfinite(told["value"]):
        raise ArithmeticError(f"{goal} has no number")
    return told | {"verdict": verdict(told["value"], goal.goal, at_most=told["at_most"])}


def _faster(goal, costs, memory):
    ours, other = costs[goal.ours], costs[goal.against]
    return {
        "value": other.ratio / ours.ratio,
        "low": other.low / ours.ratio,
        "high": other.high / ours.ratio,
        "fastest": other.fastest / ours.fastest,
    }


def _leaner(goal, costs, memory):
    ours, other = memory(OURS), memory(goal.against)
    return {"value": ours / other, "mebibytes": [ours / 2**20, other / 2**20]}


def _small(goal, costs, memory):
    return {"value": memory(OURS) / 2**20}


def _grows(goal, costs, memory):
    ours = costs[goal.last].ratio / costs[goal.first].ratio
    other = costs[goal.peer_last].ratio / costs[goal.peer_first].ratio
    return {"value": other / ours, "growth": [ours, other]}


def _same_memory(goal, costs, memory):
    first, last = (
        memory(name, "traced") - memory.candidates[name]().nbytes
        for name in (goal.first, goal.last)
    )
    return {"value": last / first, "mebibytes": [first / 2**20, last / 2**20]}


_MEASURED = {
    Faster: _faster,
    Leaner: _leaner,
    Small: _small,
    Grows: _grows,
    SameMemory: _same_memory,
}
