"""What layer functions do with parameters: one float dtype for them and for the tensors they meet."""

import functools

import torch

from .. import errors
from ..arguments import converting
from ._tensors import _check_tensor, _float_tensor, boolean_tensor

__all__ = ["as_heads_mask", "as_input", "embed_tokens", "floating_layer", "shapes_of"]


def floating_layer(*names):
    """Do what `floating` does for a function that also takes a mapping called `parameters`.

    The mapping may hold mappings, and lists of mappings, which become mappings numbered from 0. Its
    tensors take part in the choice of the dtype. A result may hold tuples in a tuple.

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
        tensors = {name: _float_tensor(name, tensor, given) for name, tensor in given.items()}
        types = [tensor.dtype for tensor in (*tensors.values(), *_leaves(parameters))]
        dtype = functools.reduce(torch.promote_types, types)
        wide = torch.promote_types(dtype, torch.float32)
        result = call(
            {name: tensor.to(wide) for name, tensor in tensors.items()}
            | {"parameters": _converted(parameters, wide)}
        )
        return _answer(result, dtype)

    return converting((*names, "parameters"), around)


def shapes_of(parameters):
    """Return the shapes of the tensors of a mapping, by name."""
    return {name: tuple(tensor.shape) for name, tensor in parameters.items()}


def as_heads_mask(mask, query_axes, scores):
    """Return a mask that broadcasts against scores with a heads axis, None as None.

    Parameters
    ----------
    mask : torch.Tensor of bool or None
        Without a heads axis, or with one axis more than query: one mask for each head.
    query_axes : int
        The number of axes of query.
    scores : tuple of int
        The shape of the scores, ``(..., n_heads, m, n)``.

    Returns
    -------
    torch.Tensor of bool or None
        The mask, with a heads axis where it has leading axes.
    """
    if mask is None:
        return None
    mask = boolean_tensor("mask", mask)
    per_head = errors.check_layer_mask(tuple(mask.shape), query_axes, scores)
    return mask if per_head or mask.dim() < 3 else mask[..., None, :, :]


def as_input(name, tensor, parameter):
    """Return what a module was given in the wider dtype of its own and a parameter's.

    Parameters
    ----------
    name : str
        The argument.
    tensor : torch.Tensor
        What came.
    parameter : torch.Tensor
        One of the module's.

    Returns
    -------
    torch.Tensor
        The input.

    Raises
    ------
    TypeError
        When it is complex or no tensor.
    """
    if isinstance(tensor, torch.Tensor) and tensor.dtype == parameter.dtype:
        return tensor
    tensor = _float_tensor(name, tensor)
    return tensor.to(torch.promote_types(tensor.dtype, parameter.dtype))


def _float_mapping(name, parameters):
    """Return a mapping, and the mappings in it, with float tensors."""
    if not hasattr(parameters, "items"):
        errors.refuse_type(name, type(parameters).__name__, "a mapping", errors.NOT_PARAMETERS)
    held = {key: _numbered(value) for key, value in parameters.items()}
    return {
        key: _float_mapping(key, value) if hasattr(value, "items") else _float_tensor(key, value)
        for key, value in held.items()
    }


def _leaves(parameters):
    """Yield the tensors of a mapping and of the mappings in it."""
    for value in parameters.values():
        if isinstance(value, dict):
            yield from _leaves(value)
        else:
            yield value


def _converted(parameters, dtype):
    """Return a mapping, and the mappings in it, with tensors of one dtype."""
    return {
        name: _converted(value, dtype) if isinstance(value, dict) else value.to(dtype)
        for name, value in parameters.items()
    }


def _answer(result, dtype):
    """Return a result, or the tuples of it, in one dtype."""
    if isinstance(result, tuple):
        return tuple(_answer(part, dtype) for part in result)
    return result.to(dtype)


def _numbered(value):
    """Return a list of mappings as a mapping numbered from 0, anything else as it is."""
    is_list = isinstance(value, list | tuple) and all(hasattr(item, "items") for item in value)
    return dict(enumerate(value)) if is_list and value else value


def embed_tokens(name, tokens, embedding):
    """Return the embeddings ``(B, length, width)`` of tokens, or raise the error that says what they are."""
    _check_tensor(name, tokens)
    if tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool:
        errors.refuse_type(name, tokens.dtype, "integers", errors.NOT_TOKENS)
    errors.check_tokens(name, tokens.shape)
    if not tokens.is_cpu and not torch.compiler.is_compiling():
        # A wrong index inside a kernel of an accelerator leaves nothing to catch.
        _check_vocabulary(name, tokens, embedding)
    try:
        return embedding(tokens.long())
    except IndexError:  # cheaper than a look at all tokens before
        _check_vocabulary(name, tokens, embedding)
        raise


def _check_vocabulary(name, tokens, embedding):
    """Refuse tokens for which an embedding has no row."""
    if tokens.numel():
        lowest, highest = int(tokens.min()), int(tokens.max())
        if lowest < 0 or highest >= embedding.num_embeddings:
            errors.refuse_vocabulary(name, lowest, highest, embedding.num_embeddings)
