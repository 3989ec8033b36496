"""Time, as ratios between candidates that took turns in one process; absolute times are not kept."""

import gc
import math
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_SHORTEST = 1e-3  # seconds in one sample: far above the clock's steps and the cost of the loop


@dataclass(frozen=True)
class Cost:
    """What one candidate costs, in units of the reference: 2 means that it takes twice as long.

    Attributes
    ----------
    ratio : float
        Median time over the reference's median time.
    low, high : float
        Quartiles of the candidate's times over the reference's median: the middle half of the
        rounds lies between. For the reference itself they tell how steady the machine was.
    fastest : float
        The same ratio from the fastest round of each.

    Examples
    --------
    >>> print(Cost(ratio=2.0, low=1.9, high=2.3, fastest=1.95))
    2 (1.9 to 2.3)
    """

    ratio: float
    low: float
    high: float
    fastest: float

    @property
    def steady(self) -> bool:
        """Whether the median and the fastest round agree to within a third.

        Where they do not, the machine was too busy for a finer statement.
        """
        return max(self.ratio, self.fastest) <= min(self.ratio, self.fastest) * 4 / 3

    def __str__(self) -> str:
        return f"{self.ratio:.3g} ({self.low:.3g} to {self.high:.3g})"


class Comparison(dict[str, Cost]):
    """The cost of each candidate by name, in the order given.

    Parameters
    ----------
    costs : mapping of str to Cost
        The cost of each candidate.
    reference, rounds
        See below.

    Attributes
    ----------
    reference : str
        The candidate whose cost is 1.
    rounds : int
        How often each candidate had its turn.

    Examples
    --------
    >>> cost = Cost(ratio=2.0, low=1.9, high=2.3, fastest=1.95)
    >>> print(Comparison({"theirs": cost}, reference="ours", rounds=15))
    time over that of ours, median of 15 rounds (middle half)
    theirs  2 (1.9 to 2.3)
    """

    def __init__(self, costs: Mapping[str, Cost], reference: str, rounds: int) -> None:
        super().__init__(costs)
        self.reference = reference
        self.rounds = rounds

    def __str__(self) -> str:
        width = max(map(len, self))
        lines = [
            f"time over that of {self.reference}, median of {self.rounds} rounds (middle half)"
        ]
        return "\n".join(lines + [f"{name:<{width}}  {cost}" for name, cost in self.items()])


def compare(
    candidates: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 15,
    reference: str | None = None,
    seed: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> Comparison:
    """Time candidates against each other, in turns, and return ratios.

    In each round every candidate runs once, in a random order, so that a busy moment of the machine
    hits all of them alike. A candidate that takes less than a millisecond is called several times a
    turn. Each is called once beforehand, uncounted. The number of threads is taken as it is: set it
    before the libraries are loaded, and publish it (`provenance`).

    Parameters
    ----------
    candidates : mapping from name to function without arguments
        What to time. That they compute the same, where they should, is for tests to show.
    rounds : int
        Turns of each candidate, at least 3.
    reference : str, optional
        The candidate that the others are measured by; the first one if left out.
    seed : int
        Decides the order in each round.
    clock : function
        Returns seconds; ``time.process_time`` counts processor time instead of waiting.

    Returns
    -------
    Comparison
        A mapping from name to `Cost`.

    Raises
    ------
    ValueError
        If there are no candidates, `reference` is none of them, or `rounds` is less than 3.
    TypeError
        If a candidate cannot be called.

    Examples
    --------
    >>> costs = compare({"one": lambda: sum(range(2000)), "ten": lambda: sum(range(20000))}, rounds=5)
    >>> costs["one"].ratio
    1.0
    >>> costs["ten"].ratio > 2
    True
    """
    if not candidates:
        raise ValueError("candidates is empty; give at least the reference, as {name: function}")
    for name, function in candidates.items():
        if not callable(function):
            raise TypeError(
                f"candidate {name!r} must be a function without arguments, got "
                f"{type(function).__name__}; wrap the call: {{{name!r}: lambda: …}}"
            )
    if reference is None:
        reference = next(iter(candidates))
    if reference not in candidates:
        raise ValueError(
            f"reference must be one of {', '.join(candidates)}, got {reference!r}; is it misspelt?"
        )
    if rounds < 3:
        raise ValueError(
            f"rounds must be at least 3, got {rounds}; fewer have no median and no spread"
        )
    repeats = {name: _repeats(function, clock) for name, function in candidates.items()}
    seconds = {name: [] for name in candidates}
    order = list(candidates)
    shuffle = random.Random(seed).shuffle
    collecting = gc.isenabled()
    gc.disable()  # a collection would be charged to whoever happens to run
    try:
        for _ in range(rounds):
            shuffle(order)
            for name in order:
                seconds[name].append(_sample(candidates[name], repeats[name], clock))
    finally:
        if collecting:
            gc.enable()
    base = seconds[reference]
    return Comparison(
        {name: _cost(taken, base) for name, taken in seconds.items()}, reference, rounds
    )


def _sample(function: Callable[[], object], repeats: int, clock: Callable[[], float]) -> float:
    """Return the seconds of one call, averaged over `repeats` calls."""
    start = clock()
    for _ in range(repeats):
        function()
    return (clock() - start) / repeats


def _repeats(function: Callable[[], object], clock: Callable[[], float]) -> int:
    """Return how many calls fill one sample; the calls made to find out are the warming up."""
    function()
    once = max(_sample(function, 1, clock), 1e-9)
    return max(1, math.ceil(_SHORTEST / once))


def _cost(taken: list[float], base: list[float]) -> Cost:
    """Return the cost of one candidate from its times and the reference's."""
    floor = 1e-12  # a coarse clock may have seen no time pass
    taken = [max(seconds, floor) for seconds in taken]
    base = [max(seconds, floor) for seconds in base]
    unit = statistics.median(base)
    low, middle, high = statistics.quantiles(taken, n=4, method="inclusive")
    return Cost(middle / unit, low / unit, high / unit, min(taken) / min(base))
