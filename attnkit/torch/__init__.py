"""The same names as in `attnkit.numpy`, in PyTorch: differentiable, on any device.

Mechanisms and the training loop are handed on from here. What a chapter builds of them for one task
of `attnkit.tasks` (its model, how that is trained and scored) is not: it keeps the name of its
module, as in ``from attnkit.torch.translation import train_translator``.
"""

from .attention import *
from .cache import *
from .chunked import *
from .generate import *
from .graph import *
from .linear import *
from .masks import *
from .multihead import *
from .positions import *
from .recurrent import *
from .scores import *
from .self_attention import *
from .sparse import *
from .training import *
from .transformer import *
from .vision import *
from .weights import *
