"""Both back ends behind one small face, so that a test is written once and run on each."""

import numpy as np
import torch

import attnkit.numpy
import attnkit.torch


class NumpyBackend:
    """`attnkit.numpy`, with NumPy arrays."""

    name = "numpy"
    functions = attnkit.numpy
    array_type = np.ndarray
    dtypes = ("float64", "float32", "float16")
    default = "float64"  # what integers become

    def array(self, values, dtype=None):
        """Make an array."""
        return np.array(values, dtype)

    def dtype(self, name):
        """Return the dtype of that name."""
        return np.dtype(name)

    def dtype_name(self, array):
        """Return the name of an array's dtype."""
        return str(array.dtype)

    def numpy(self, array):
        """Return an array's values as NumPy, floats as float64."""
        return array.astype(np.float64) if array.dtype.kind == "f" else array


class TorchBackend:
    """`attnkit.torch`, with tensors."""

    name = "torch"
    functions = attnkit.torch
    array_type = torch.Tensor
    dtypes = ("float64", "float32", "float16", "bfloat16")
    default = "float32"

    def array(self, values, dtype=None):
        """Make a tensor."""
        tensor = torch.from_numpy(np.array(values))
        return tensor if dtype is None else tensor.to(self.dtype(dtype))

    def dtype(self, name):
        """Return the dtype of that name."""
        return getattr(torch, str(np.dtype(name)) if name != "bfloat16" else name)

    def dtype_name(self, array):
        """Return the name of a tensor's dtype."""
        return str(array.dtype).removeprefix("torch.")

    def numpy(self, array):
        """Return a tensor's values as NumPy, floats as float64."""
        array = array.detach()
        return (array.double() if array.is_floating_point() else array).numpy()


NUMPY, TORCH = NumpyBackend(), TorchBackend()
BACKENDS = (NUMPY, TORCH)


def normal(seed, *shape):
    """Return standard normal numbers: the one place where tests get randomness from."""
    return np.random.default_rng(seed).standard_normal(shape)


def random_mask(seed, *shape, keep=0.6):
    """Return a random mask; with these odds some rows of a few keys are empty."""
    return np.random.default_rng(seed).random(shape) < keep
