"""Figures: one heat map, one curve function; both describe themselves in words."""

from .curve import curves
from .figure import Plot
from .heat import heat_map

__all__ = ["Plot", "curves", "heat_map"]
