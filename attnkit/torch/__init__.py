"""The same names as in `attnkit.numpy`, in PyTorch: differentiable, on any device."""

from .attention import *
from .cache import *
from .chunked import *
from .generate import *
from .graph import *
from .linear import *
from .masks import *
from .multihead import *
from .order import *
from .positions import *
from .recurrent import *
from .scores import *
from .sparse import *
from .training import *
from .transformer import *
from .translation import *
from .vision import *
from .weights import *
