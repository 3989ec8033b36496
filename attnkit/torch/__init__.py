"""The same names as in `attnkit.numpy`, in PyTorch: differentiable, on any device."""

from .attention import *
from .masks import *
from .scores import *
from .training import *
from .weights import *
