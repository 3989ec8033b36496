"""The reference: every mechanism as its formula, in plain NumPy, for any leading axes."""

# ruff: noqa: F403 (each module says in __all__ what is public)

from .attention import *
from .cache import *
from .chunked import *
from .generate import *
from .linear import *
from .masks import *
from .multihead import *
from .positions import *
from .recurrent import *
from .scores import *
from .sparse import *
from .training import *
from .transformer import *
from .weights import *
