"""What a page reports about its own run."""

import resource
import time

from coursekit.site._publish import publish

CPU_LIMIT_SECONDS = 90
"""The most processor time a page may use; a test of the built site compares."""


def page_cost() -> float:
    """Glue ``cpu_seconds``, the processor time this page has used so far, and return it.

    Call it in the last cell. Starting the kernel and importing libraries counts; so do child
    processes that have ended. Waiting does not.

    Returns
    -------
    float
        Seconds of processor time, rounded to a tenth.

    Examples
    --------
    >>> page_cost() > 0
    True
    """
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = round(time.process_time() + children.ru_utime + children.ru_stime, 1)
    publish("cpu_seconds", seconds)
    return seconds
