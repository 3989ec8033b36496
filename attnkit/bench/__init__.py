"""Measuring: time as ratios, peak memory, and what a recorded result must say about its origin."""

from .memory import PeakMemory, peak_memory
from .origin import provenance, write_record
from .script import origin_of, run_and_record
from .timing import Comparison, Cost, compare

__all__ = [
    "Comparison",
    "Cost",
    "PeakMemory",
    "compare",
    "origin_of",
    "peak_memory",
    "provenance",
    "run_and_record",
    "write_record",
]
