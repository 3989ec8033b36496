"""The reference: every mechanism as its formula, in plain NumPy, for any leading axes."""

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
from .sparse import *
from .training import *
from .transformer import *
from .vision import *
from .weights import *
