"""What layer functions do with parameters: one float dtype for them and for the arrays they meet."""

import numpy as np

from .. import errors
from ..arguments import converting
from ._arrays import _float_array, boolean_array

__all__ = ["as_heads_mask", "floating_layer", "shapes_of"]


def floating_layer(*names):
    """Do what `floating` does for a function that also takes a mapping called `parameters`.

    The mapping may hold mappings, and lists of mappings, which become mappings numbered from 0. Its
    arrays take part in the choice of the dtype. A result may hold tuples in a tuple.

    Parameters
    ----------
    *names : str
        The parameters of the function that hold numbers; one whose default is None may be None.

    Returns
    -------
    callable
        The decorator.
    """

    def around(given, call):
        parameters = _float_mapping("parameters", given.pop("parameters"))
        arrays = {name: _float_array(name, array, given) for name, array in given.items()}
        dtype = np.result_type(*(array.dtype for array in (*arrays.values(), *_leaves(parameters))))
        wide = np.result_type(dtype, np.float32)
        with np.errstate(all="ignore"):
            result = call(
                {name: array.astype(wide, copy=False) for name, array in arrays.items()}
                | {"parameters": _converted(parameters, wide)}
            )
            return _answer(result, dtype)

    return converting((*names, "parameters"), around)


def shapes_of(parameters):
    """Return the shapes of the arrays of a mapping, by name."""
    return {name: array.shape for name, array in parameters.items()}


def as_heads_mask(mask, query_axes, scores):
    """Return a mask that broadcasts against scores with a heads axis, None as None.

    Parameters
    ----------
    mask : array_like of bool or None
        Without a heads axis, or with one axis more than query: one mask for each head.
    query_axes : int
        The number of axes of query.
    scores : tuple of int
        The shape of the scores, ``(..., n_heads, m, n)``.

    Returns
    -------
    numpy.ndarray of bool or None
        The mask, with a heads axis where it has leading axes.
    """
    if mask is None:
        return None
    mask = boolean_array("mask", mask)
    per_head = errors.check_layer_mask(mask.shape, query_axes, scores)
    return mask if per_head or mask.ndim < 3 else mask[..., None, :, :]


def _float_mapping(name, parameters):
    """Return a mapping, and the mappings in it, with float arrays."""
    if not hasattr(parameters, "items"):
        errors.refuse_type(name, type(parameters).__name__, "a mapping", errors.NOT_PARAMETERS)
    held = {key: _numbered(value) for key, value in parameters.items()}
    return {
        key: _float_mapping(key, value) if hasattr(value, "items") else _float_array(key, value)
        for key, value in held.items()
    }


def _leaves(parameters):
    """Yield the arrays of a mapping and of the mappings in it."""
    for value in parameters.values():
        if isinstance(value, dict):
            yield from _leaves(value)
        else:
            yield value


def _converted(parameters, dtype):
    """Return a mapping, and the mappings in it, with arrays of one dtype."""
    return {
        name: _converted(value, dtype)
        if isinstance(value, dict)
        else value.astype(dtype, copy=False)
        for name, value in parameters.items()
    }


def _answer(result, dtype):
    """Return a result, or the tuples of it, in one dtype."""
    if isinstance(result, tuple):
        return tuple(_answer(part, dtype) for part in result)
    return result.astype(dtype, copy=False)


def _numbered(value):
    """Return a list of mappings as a mapping numbered from 0, anything else as it is."""
    is_list = isinstance(value, list | tuple) and all(hasattr(item, "items") for item in value)
    return dict(enumerate(value)) if is_list and value else value
