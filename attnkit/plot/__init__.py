"""Figures: heat maps, curves, pictures; all describe themselves in words."""

from .curve import curves
from .figure import Plot
from .heat import heat_map
from .picture import pictures

__all__ = ["Plot", "curves", "heat_map", "pictures"]
