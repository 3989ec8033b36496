"""Figures: heat maps, curves, bars, pictures, beam trees; all describe themselves in words."""

from .bar import bars
from .curve import curves
from .figure import Plot
from .heat import heat_map
from .picture import pictures
from .tree import beam_tree

__all__ = ["Plot", "bars", "beam_tree", "curves", "heat_map", "pictures"]
