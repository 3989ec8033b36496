"""Places where tensors can lie: here, on a GPU, and on a pretended device that every machine has.

On a machine without an accelerator nothing tells a tensor that was made on the processor from one
that lies where the inputs do. `PRETENDED` does: its tensors hold their numbers on the processor, but
say they lie on torch's "meta" device, and an operation that meets both kinds fails as it would on a
GPU. The numbers are real, so checks that look at them work too. `NARROW` is one without float64, as
Apple's are.
"""

import contextlib

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

# Torch's own operations on packed sentences, whose lengths lie on the processor whatever the device.
PACKS = "aten._pack_padded_sequence.default"
TAKES_BOTH = (PACKS, "aten._pad_packed_sequence.default")


class Elsewhere(torch.Tensor):
    """A tensor that says it lies on another device."""

    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device="meta",
            requires_grad=held.requires_grad,
        )

    def __init__(self, held):
        self.held = held.detach()

    def __repr__(self):
        return f"Elsewhere({self.held})"

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        raise RuntimeError(f"{function} was asked outside the place")


class _Made(TorchFunctionMode):
    """Let `torch.tensor` and its like make a tensor that lies elsewhere."""

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        device = keywords.get("device")
        is_there = device is not None and torch.device(device).type == "meta"
        if function in (torch.tensor, torch.as_tensor) and is_there:
            made = function(*arguments, **keywords | {"device": None})
            return made if isinstance(made, Elsewhere) else Elsewhere(made)
        return function(*arguments, **keywords)


class _Apart(TorchDispatchMode):
    """Compute on what tensors hold, and refuse to let the two kinds meet.

    `carried` counts the tensors that were made on the processor and moved: on a GPU, a wait. `lacks`
    names dtypes that no tensor there may have.
    """

    def __init__(self, lacks=()):
        super().__init__()
        self.carried, self.lacks = 0, lacks

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        leaves = tree_leaves((arguments, keywords))
        there = {id(leaf.held): leaf for leaf in leaves if isinstance(leaf, Elsewhere)}
        here = [
            leaf
            for leaf in leaves
            # as on a GPU, a single number may come from the processor
            if isinstance(leaf, torch.Tensor) and not isinstance(leaf, Elsewhere) and leaf.dim()
        ]
        device = keywords.get("device")
        if there and here and str(function) not in TAKES_BOTH:
            raise RuntimeError(f"{function} meets tensors of two devices")
        if device is None:
            stays_there = bool(there)
        else:
            stays_there = torch.device(device).type == "meta"
            self.carried += bool(stays_there and here)
            keywords = keywords | {"device": "cpu"}
        result = function(
            *tree_map(_held, arguments),
            **{name: tree_map(_held, x) for name, x in keywords.items()},
        )

        def placed(item):
            if not isinstance(item, torch.Tensor):
                return item
            if id(item) in there:  # written in place
                return there[id(item)]
            if stays_there and item.dtype in self.lacks:
                raise TypeError(f"{function} makes {item.dtype}, which this device does not have")
            return Elsewhere(item) if stays_there else item

        if there and torch.Tag.inplace_view in function.tags:
            with no_dispatch():  # what says that it lies elsewhere takes the new shape too
                function(*arguments, **keywords)
        if str(function) == PACKS:
            return placed(result[0]), result[1]
        return tree_map(placed, result)


def _held(item):
    return item.held if isinstance(item, Elsewhere) else item


class Pretended:
    """The pretended device, with or without some dtypes."""

    def __init__(self, name, lacks=()):
        self.name, self.lacks = name, lacks

    def open(self):
        """Return the context in which its tensors can be used."""
        return self._opened()

    @contextlib.contextmanager
    def _opened(self):
        with _Made(), _Apart(self.lacks) as apart:
            yield apart

    def take(self, tensor):
        """Return a tensor of the processor as one that lies here."""
        return Elsewhere(tensor)

    def move(self, module):
        """Return a module moved as ``.to(device)`` does: its parameters and registered buffers."""
        with _overwriting():
            return module._apply(lambda tensor: Elsewhere(tensor.detach()))

    def has(self, tensor):
        """Whether a tensor lies here."""
        return isinstance(tensor, Elsewhere)

    def back(self, tensor):
        """Return the numbers of a tensor as one of the processor."""
        return tensor.held if isinstance(tensor, Elsewhere) else tensor.detach()


class Device:
    """A device that torch names, such as "cpu" and "cuda"."""

    carried = 0  # nobody counts here

    def __init__(self, name):
        self.name = name

    def open(self):
        """Return a context; none is needed."""
        return contextlib.nullcontext(self)

    def take(self, tensor):
        """Return a tensor of the processor, moved."""
        return tensor.to(self.name)

    def move(self, module):
        """Return a module, moved."""
        return module.to(self.name)

    def has(self, tensor):
        """Whether a tensor lies here."""
        return tensor.device.type == self.name

    def back(self, tensor):
        """Return the numbers of a tensor as one of the processor."""
        return tensor.detach().cpu()


@contextlib.contextmanager
def _overwriting():
    """Let modules take tensors of another kind for parameters."""
    before = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        yield
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(before)


HERE, CUDA, PRETENDED = Device("cpu"), Device("cuda"), Pretended("pretended")
NARROW = Pretended("pretended, without float64", lacks=(torch.float64,))
