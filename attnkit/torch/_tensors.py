"""What functions do with arguments before the formula: one float dtype, boolean masks."""

import functools

import torch

from .. import errors
from ..arguments import converting

WITHOUT_FLOAT64 = ("mps",)  # kinds of devices


def floating(*names):
    """Let a function compute on float tensors of one dtype, float32 or wider, and answer in theirs.

    Integers and booleans become the default dtype, mixed floats the wider. float16 and bfloat16 are
    computed in float32, so that scores which overflow float16 still have finite weights.

    Parameters
    ----------
    *names : str
        The parameters that hold the numbers; one whose default is None may be None.

    Returns
    -------
    callable
        The decorator.
    """

    def around(tensors, call):
        tensors = {name: _float_tensor(name, tensor, tensors) for name, tensor in tensors.items()}
        dtype = functools.reduce(torch.promote_types, (tensor.dtype for tensor in tensors.values()))
        wide = torch.promote_types(dtype, torch.float32)
        result = call({name: tensor.to(wide) for name, tensor in tensors.items()})
        if isinstance(result, tuple):
            return tuple(part.to(dtype) for part in result)
        return result.to(dtype)

    return converting(names, around)


def as_mask(mask, shape):
    """Return the mask if it is boolean and broadcasts against `shape`, None as None; else raise.

    Parameters
    ----------
    mask : torch.Tensor of bool or None
        True means may attend.
    shape : tuple of int
        The shape of the scores.

    Returns
    -------
    torch.Tensor or None
        The mask.

    Raises
    ------
    TypeError
        When the mask is not a boolean tensor.
    ValueError
        When it does not broadcast.
    """
    if mask is None:
        return None
    mask = boolean_tensor("mask", mask)
    errors.check_broadcast("mask", mask.shape, shape)
    return mask


def boolean_tensor(name, mask):
    """Return `mask` if it is a boolean tensor, or raise the TypeError that explains masks."""
    _check_tensor(name, mask)
    if mask.dtype != torch.bool:
        errors.refuse_type(name, mask.dtype, "boolean", errors.NOT_BOOLEAN)
    return mask


def as_uniform(uniform):
    """Return random numbers as a float tensor, or raise the ValueError if they leave [0, 1]."""
    uniform = _float_tensor("uniform", uniform)
    if not torch.all((uniform >= 0) & (uniform <= 1)):
        errors.refuse_uniform(uniform.min().item(), uniform.max().item())
    return uniform


def widest(tensor):
    """Return a tensor in the widest dtype of its device: float64, or float32 on one without it."""
    lacks = tensor.device.type in WITHOUT_FLOAT64
    return tensor.to(torch.float32 if lacks else torch.float64)


def _float_tensor(name, tensor, beside=()):
    """Return one argument as a float tensor: integers and booleans promoted, complex refused."""
    _check_tensor(name, tensor)
    if tensor.is_complex():
        errors.refuse_type(name, tensor.dtype, "real", errors.COMPLEX)
    errors.check_bias_kind(name, tensor.dtype, beside)
    return tensor if tensor.is_floating_point() else tensor.to(torch.get_default_dtype())


def _check_tensor(name, tensor):
    """Refuse what is not a tensor."""
    if not isinstance(tensor, torch.Tensor):
        errors.refuse_type(name, type(tensor).__name__, "a torch.Tensor", errors.NO_TENSOR)
