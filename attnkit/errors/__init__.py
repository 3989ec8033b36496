"""Checks of shapes and numbers whose errors teach; used by both back ends, imports neither.

Every message names the argument, says what was expected and what came, and ends with the likely
cause. The checks take shapes (tuples) and plain numbers, so NumPy arrays and torch tensors share
them.
"""

from .arguments import *
from .decoding import *
from .graph import *
from .heads import *
from .layers import *
from .lookup import *
from .marks import *
from .patterns import *
from .positions import *
from .steps import *
from .vision import *
