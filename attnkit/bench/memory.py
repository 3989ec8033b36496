"""Memory: how much more a call needed at its peak than was in use before it."""

import ctypes
import gc
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_CLEAR_REFS = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
_RESET_PEAK = "5"  # Linux: the highest resident set so far becomes the present one
METHODS = ("resident", "traced")


class PeakMemory(NamedTuple):
    """How much memory a call needed, and how that was measured.

    Attributes
    ----------
    bytes : int
        The peak during the call minus what was in use before it, the result included.
    method : str
        ``"resident"`` or ``"traced"``; see `peak_memory`.

    Examples
    --------
    >>> print(PeakMemory(3 * 2**20, "traced"))
    3.0 MiB
    """

    bytes: int
    method: str

    def __str__(self) -> str:
        return f"{self.bytes / 2**20:.1f} MiB"


def peak_memory(function: Callable[[], object], *, method: str | None = None) -> PeakMemory:
    """Call `function` and return how much more memory it needed at its peak than was in use before.

    Two ways of measuring, which answer slightly different questions:

    ``"resident"`` (Linux)
        The peak of the process's resident set, reset through ``/proc/self/clear_refs``. It counts
        whatever touches memory, any library included (torch, BLAS buffers), in steps of a page; it
        does not count memory that was reserved and never written, and what the allocator already
        held may hide up to about a mebibyte.
    ``"traced"``
        What Python's `tracemalloc` was told: Python objects and NumPy arrays, to the byte and the
        same on every machine. Torch and other libraries do not tell it anything.

    Parameters
    ----------
    function : callable without arguments
        It is called twice: first uncounted, so that loading a library or building a table on first
        use does not count.
    method : {"resident", "traced"}, optional
        The first that works here, in this order, if left out.

    Returns
    -------
    PeakMemory
        The bytes and the method that was used.

    Raises
    ------
    ValueError
        If `method` has another name.
    OSError
        If ``"resident"`` is asked for where the system does not offer it.

    Examples
    --------
    >>> import numpy as np
    >>> peak_memory(lambda: np.ones(2**20), method="traced").bytes >= 8 * 2**20
    True
    """
    if method is not None and method not in METHODS:
        raise ValueError(
            f"method must be one of {', '.join(METHODS)}, got {method!r}; is it misspelt?"
        )
    function()
    gc.collect()
    if method == "traced":
        return PeakMemory(_traced(function), "traced")
    _give_back_free_memory()
    try:
        _reset_peak()
    except OSError:
        if method == "resident":
            raise
        return PeakMemory(_traced(function), "traced")
    return PeakMemory(_resident(function), "resident")


def _reset_peak() -> None:
    """Let the kernel count the peak of the resident set anew."""
    _CLEAR_REFS.write_text(_RESET_PEAK)


def _resident(function: Callable[[], object]) -> int:
    """Return the growth of the resident set's peak during one call."""
    before = _status("VmRSS")
    function()
    return max(_status("VmHWM") - before, 0)


def _status(field: str) -> int:
    """Return one entry of this process's status, in bytes."""
    return int(re.search(rf"{field}:\s+(\d+) kB", _STATUS.read_text()).group(1)) * 1024


def _give_back_free_memory() -> None:
    """Ask the C library to return what was freed, or the call would reuse it and seem to need less."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):  # not the GNU library: the measure is a little low
        return


def _traced(function: Callable[[], object]) -> int:
    """Return the growth of what Python and NumPy had allocated during one call."""
    already = tracemalloc.is_tracing()
    if not already:
        tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        function()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        if not already:
            tracemalloc.stop()
    return peak - before
