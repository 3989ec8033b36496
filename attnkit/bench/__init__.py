"""Measuring: time as ratios, peak memory, chains of operations, and where a recorded result comes from."""

from .chain import longest_chain
from .memory import PeakMemory, peak_memory
from .origin import provenance, write_record
from .script import origin_of, run_and_record
from .timing import Comparison, Cost, compare

__all__ = [
    "Comparison",
    "Cost",
    "PeakMemory",
    "compare",
    "longest_chain",
    "origin_of",
    "peak_memory",
    "provenance",
    "run_and_record",
    "write_record",
]
