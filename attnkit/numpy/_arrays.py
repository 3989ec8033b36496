"""What functions do with arguments before the formula: one float dtype, boolean masks."""

import math

import numpy as np

from .. import errors
from ..arguments import converting

_CACHE_LINE = 64  # bytes


def floating(*names):
    """Let a function compute on float arrays of one dtype, float32 or wider, and answer in theirs.

    Integers and booleans become float64, mixed floats the wider. float16 is computed in float32,
    so that scores which overflow float16 still have finite weights. NumPy's warnings about NaN and
    infinity stay inside: both are legal at masked positions.

    Parameters
    ----------
    *names : str
        The parameters that hold the numbers; one whose default is None may be None.

    Returns
    -------
    callable
        The decorator.
    """

    def around(arrays, call):
        arrays = {name: _float_array(name, array, arrays) for name, array in arrays.items()}
        dtype = np.result_type(*(array.dtype for array in arrays.values()))
        wide = np.result_type(dtype, np.float32)
        with np.errstate(all="ignore"):
            result = call({name: array.astype(wide, copy=False) for name, array in arrays.items()})
            if isinstance(result, tuple):
                return tuple(part.astype(dtype, copy=False) for part in result)
            return result.astype(dtype, copy=False)

    return converting(names, around)


def as_mask(mask, shape):
    """Return the mask as a boolean array that broadcasts against `shape`, None as None.

    Parameters
    ----------
    mask : array_like of bool or None
        True means may attend.
    shape : tuple of int
        The shape of the scores.

    Returns
    -------
    numpy.ndarray or None
        The mask.

    Raises
    ------
    TypeError
        When the mask is not boolean.
    ValueError
        When it does not broadcast.
    """
    if mask is None:
        return None
    mask = boolean_array("mask", mask)
    errors.check_broadcast("mask", mask.shape, shape)
    return mask


def as_array(name, values):
    """Return values as an array, or raise the TypeError that explains lists of unequal length."""
    try:
        return np.asarray(values)
    except ValueError:  # NumPy's own message names no argument
        errors.refuse_type(name, "ragged", "rectangular", errors.NO_NUMBERS)


def aligned_empty(shape, dtype):
    """Return an array, not filled yet, that begins on a cache line: working memory.

    NumPy's own begin anywhere, so that most wide loads straddle two lines: a product of matrices of
    64 x 64 then takes a third longer, an addition twice as long.

    Parameters
    ----------
    shape : tuple of int
        Of the array.
    dtype : numpy.dtype
        Of its numbers.

    Returns
    -------
    numpy.ndarray
        Whatever was there.

    Examples
    --------
    >>> arrays = [aligned_empty((2, n), np.dtype("float32")) for n in range(1, 99)]
    >>> {array.ctypes.data % 64 for array in arrays}
    {0}
    """
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + _CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def float_dtype(dtype, reason):
    """Return a float dtype, or raise the TypeError that says for which reason it must be one."""
    try:
        found = None if dtype is None else np.dtype(dtype)  # NumPy would take None for float64
    except TypeError:  # no dtype at all
        found = None
    if found is None or found.kind != "f":
        errors.refuse_type("dtype", dtype if found is None else found, "a float dtype", reason)
    return found


def boolean_array(name, mask):
    """Return `mask` as a boolean array or raise the TypeError that explains masks."""
    mask = as_array(name, mask)
    if mask.dtype != bool:
        errors.refuse_type(name, mask.dtype, "boolean", errors.NOT_BOOLEAN)
    return mask


def as_uniform(uniform):
    """Return random numbers as a float array, or raise the ValueError if they leave [0, 1]."""
    uniform = _float_array("uniform", uniform)
    if not np.all((uniform >= 0) & (uniform <= 1)):
        errors.refuse_uniform(uniform.min(), uniform.max())
    return uniform


def _float_array(name, array, beside=()):
    """Return one argument as a float array: integers and booleans as float64, complex refused."""
    array = as_array(name, array)
    if array.dtype.kind == "c":
        errors.refuse_type(name, array.dtype, "real", errors.COMPLEX)
    errors.check_bias_kind(name, array.dtype, beside)
    if array.dtype.kind not in "fiub":
        errors.refuse_type(name, array.dtype, "real", errors.NO_NUMBERS)
    return array if array.dtype.kind == "f" else array.astype(np.float64)
