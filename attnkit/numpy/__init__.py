"""The reference: every mechanism as its formula, in plain NumPy, for any leading axes."""

from .attention import *
from .masks import *
from .scores import *
from .weights import *
