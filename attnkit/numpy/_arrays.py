"""What every function here does with its arguments before the formula: float arrays in one dtype, boolean masks."""

import functools
import inspect

import numpy as np

from .. import errors


def floating(*names):
    """Let a function compute on float arrays of one dtype, in float32 or wider, and answer in the dtype that came.

    Integers and booleans become float64, mixed floats the wider. float16 is computed in float32, so that scores
    which overflow float16 still have finite weights. NumPy's warnings about NaN and infinity stay inside: both
    are legal at masked positions.

    Parameters
    ----------
    *names : str
        The parameters that hold the numbers; one whose default is None may be None.

    Returns
    -------
    callable
        The decorator.
    """

    def decorate(function):
        parameters = list(inspect.signature(function).parameters.values())
        places = {parameter.name: place for place, parameter in enumerate(parameters)}
        optional = {parameter.name for parameter in parameters if parameter.default is None}

        @functools.wraps(function)
        def wrapper(*arguments, **keywords):
            given = {name: arguments[places[name]] for name in names if places[name] < len(arguments)}
            given |= {name: keywords[name] for name in names if name in keywords}
            arrays = {
                name: _float_array(name, array)
                for name, array in given.items()
                if not (array is None and name in optional)
            }
            dtype = np.result_type(*(array.dtype for array in arrays.values())) if arrays else np.dtype(float)
            wide = np.result_type(dtype, np.float32)
            arrays = {name: array.astype(wide, copy=False) for name, array in arrays.items()}
            arguments = [arrays.get(parameter.name, given) for parameter, given in zip(parameters, arguments)] + list(
                arguments[len(parameters) :]
            )
            keywords = {name: arrays.get(name, given) for name, given in keywords.items()}
            with np.errstate(all="ignore"):
                result = function(*arguments, **keywords)
                if isinstance(result, tuple):
                    return tuple(part.astype(dtype, copy=False) for part in result)
                return result.astype(dtype, copy=False)

        return wrapper

    return decorate


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


def boolean_array(name, mask):
    """Return `mask` as a boolean array or raise the TypeError that explains masks."""
    mask = np.asarray(mask)
    if mask.dtype != bool:
        errors.refuse_type(name, mask.dtype, "booleans", errors.NOT_BOOLEAN)
    return mask


def as_uniform(uniform, scores):
    """Return uniform random numbers, one for each query of `scores` (a shape), as a float array."""
    uniform = _float_array("uniform", uniform)
    errors.check_per_query("uniform", uniform.shape, scores)
    if not np.all((0 <= uniform) & (uniform <= 1)):
        errors.refuse_uniform(uniform.min(), uniform.max())
    return uniform


def _float_array(name, array):
    """Return one argument as a float array: integers and booleans as float64, complex refused."""
    array = np.asarray(array)
    if array.dtype.kind == "c":
        errors.refuse_type(name, array.dtype, "real numbers", errors.COMPLEX)
    if array.dtype.kind == "b" and name == "bias":
        errors.refuse_type(name, array.dtype, "real numbers", errors.BOOLEAN_BIAS)
    if array.dtype.kind not in "fiub":
        errors.refuse_type(name, array.dtype, "real numbers", errors.NO_NUMBERS)
    return array if array.dtype.kind == "f" else array.astype(np.float64)
