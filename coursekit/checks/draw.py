"""Arrays for cases: few and readable where a learner will see them, plain normal numbers elsewhere."""

import numpy as np

__all__ = ["normal", "readable"]


def readable(random, *shape):
    """Numbers between -2 and 2 with one decimal, none of them zero: fit to be read in a message.

    Examples
    --------
    >>> numbers = readable(np.random.default_rng(0), 2, 3)
    >>> numbers.shape, bool((numbers == numbers.round(1)).all())
    ((2, 3), True)
    """
    return random.integers(1, 21, shape) / 10 * random.choice([-1.0, 1.0], shape)


def normal(random, *shape, dtype=np.float64):
    """Independent numbers of mean 0 and variance 1."""
    return random.standard_normal(shape).astype(dtype)
