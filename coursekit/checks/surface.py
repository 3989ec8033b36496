"""The only code that touches what a learner wrote: plain data goes in, an `Outcome` comes out.

Three things can be asked of an answer: call it with arrays and numbers (`Call`); build a module,
load its state and run it forward; and take its vector–Jacobian products (`Forward`). Nothing
callable crosses in either direction, and whatever the answer does, `run` gives back plain arrays
or a sentence. So the learner's side can one day live in another process without any exercise
being rewritten. Nothing here knows what a right answer is.
"""

import linecache
import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Call", "Forward", "Outcome", "run"]

LARGEST_RESULT = 64 * 2**20
"""Bytes that one returned array may have: enough for any exercise, too few to exhaust a machine."""

NUMBER_TYPES = (bool, int, float, np.bool_, *np.sctypeDict.values())
LONGEST_SENTENCE = 400
INSTALLED = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "")
"""Where the libraries lie: nothing in there was written by a learner."""


@dataclass(frozen=True)
class Call:
    """Call a function with these arguments, in this order."""

    arguments: Mapping = field(default_factory=dict)


@dataclass(frozen=True)
class Forward:
    """Build a torch module, load its state, run it forward, and go back through it.

    `construct` are the numbers its constructor takes, in order, `state` the arrays of its
    parameters by name, `inputs` the arrays it is called with, in order. With a `cotangent` (an
    array shaped like the output) the outcome also holds, after the output, the gradients of
    ``sum(output * cotangent)`` with respect to every input and every entry of `state`.

    With `pieces` (sizes) the module is called once for each piece of its first input, cut along
    axis 1, and the outputs are joined along that axis: for modules that keep something from call
    to call. Then there is no going back.
    """

    construct: Mapping
    state: Mapping
    inputs: Mapping
    cotangent: np.ndarray | None = None
    pieces: tuple = ()

    @property
    def arguments(self):
        """Everything a reader of a message needs to see."""
        return {**self.construct, **self.inputs, **self.state}


@dataclass(frozen=True)
class Outcome:
    """What an answer did when it was asked once: plain data only.

    `kind` is "value" (then `value` is a tuple of plain arrays and `form` says whether they came
    as one "array", a "number" or a "tuple"), "nothing" (it returned None), "unusable" (it returned
    something that is no array; `sentence` says what) or "raised" (`error` is the exception's
    name, `sentence` its text, `line` the line of the answer it came from, and `stage` what was
    being done).
    """

    kind: str
    value: tuple = ()
    form: str = ""
    sentence: str = ""
    error: str = ""
    line: str = ""
    stage: str = "call"
    warnings: tuple = ()
    changed: tuple = ()


class _Unusable(Exception):
    """Carries the sentence about a return value that cannot be rebuilt as plain arrays."""


def run(answer, request):
    """Ask `answer` once.

    Parameters
    ----------
    answer : callable
        What the learner wrote: a function for `Call`, a class for `Forward`.
    request : Call or Forward

    Returns
    -------
    Outcome
        Whatever the answer raises is part of it, `SystemExit` and other non-errors included.

    Raises
    ------
    KeyboardInterrupt
        Passed on, because it may come from the person at the keyboard.

    Examples
    --------
    >>> run(lambda x: x + 1, Call({"x": np.array([1.0, 2.0])})).value
    (array([2., 3.]),)
    >>> run(lambda x: None, Call({"x": 1.0})).kind
    'nothing'
    """
    with (
        warnings.catch_warnings(record=True) as caught,
        np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"),
    ):
        warnings.simplefilter("always")
        kept = _call(answer, request) if isinstance(request, Call) else _forward(answer, request)
    seen = dict.fromkeys(_text(entry.message) for entry in caught)
    return Outcome(**kept, warnings=tuple(seen))


def _call(function, request):
    given = {name: _copy(value) for name, value in request.arguments.items()}
    try:
        result = function(*given.values())
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        kept = _raised(error, "call")
    else:
        kept = _rebuild(result, _plain_array)
    changed = tuple(n for n, value in request.arguments.items() if not _same(value, given[n]))
    return {**kept, "changed": changed}


def _forward(module_class, request):
    import torch

    def tensors(arrays, differentiable):
        made = {}
        for name, array in arrays.items():
            tensor = torch.from_numpy(np.array(array))
            made[name] = tensor.requires_grad_(differentiable and tensor.is_floating_point())
        return made

    stage = "construct"
    inputs = tensors(request.inputs, request.cotangent is not None)
    try:
        module = module_class(*request.construct.values())
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"what came is no torch.nn.Module, but {_what(module)}")
        stage = "load"
        # Before loading: a module made in float32 would round a float64 state.
        module.to(dtype=next(t.dtype for t in inputs.values() if t.is_floating_point()))
        module.load_state_dict(tensors(request.state, differentiable=False))
        stage = "forward"
        if request.pieces:
            first, *others = inputs.values()
            outputs = []
            with torch.no_grad():
                for piece in first.split(request.pieces, dim=1):
                    outputs.append(module(piece, *others))
            output = _joined(torch, outputs)
        else:
            output = module(*inputs.values())
        stage = "read"
        kept = _rebuild(output, _plain_tensor)
        stage = "backward"
        if request.cotangent is not None and kept["kind"] == "value" and kept["form"] == "array":
            kept["value"] += _products(torch, module, inputs, output, request)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        kept = _raised(error, stage)
    changed = tuple(
        n
        for n, value in request.inputs.items()
        if not _same(np.asarray(value), inputs[n].detach().numpy())
    )
    return {**kept, "changed": changed}


def _joined(torch, outputs):
    """The outputs of several calls as one; if they do not fit together, the last that came."""
    kinds = {type(output) for output in outputs}
    if kinds == {torch.Tensor} and all(output.ndim > 1 for output in outputs):
        shapes = {(output.shape[0], *output.shape[2:]) for output in outputs}
        if len(shapes) == 1 and len({output.dtype for output in outputs}) == 1:
            return torch.cat(outputs, dim=1)
    return outputs[-1]


def _products(torch, module, inputs, output, request):
    """Gradients of ``sum(output * cotangent)``: inputs first, then the state by name."""
    parameters = dict(module.named_parameters())
    wanted = [t for t in inputs.values() if t.requires_grad]
    wanted += [parameters[name] for name in request.state if name in parameters]
    cotangent = torch.from_numpy(np.array(request.cotangent)).to(output.dtype)
    if output.shape != cotangent.shape:
        return ()
    if not output.requires_grad:
        return tuple(np.zeros(t.shape) for t in wanted)
    gradients = torch.autograd.grad(
        output, wanted, grad_outputs=cotangent, allow_unused=True, materialize_grads=True
    )
    return tuple(_plain_tensor(gradient) for gradient in gradients)


def _rebuild(result, plain):
    """Rebuild a return value from exact plain arrays; never call anything of the value's own."""
    try:
        if result is None:
            return {"kind": "nothing"}
        if type(result) is tuple:
            return {"kind": "value", "form": "tuple", "value": _parts(result, plain)}
        form = "number" if type(result) in NUMBER_TYPES else "array"
        return {"kind": "value", "form": form, "value": (plain(result),)}
    except _Unusable as problem:
        return {"kind": "unusable", "sentence": str(problem)}


def _parts(result, plain):
    """Each part of a tuple as an exact plain array; what cannot be one is said with its place."""
    kept = []
    for place, part in enumerate(result, start=1):
        try:
            kept.append(plain(part))
        except _Unusable as problem:
            raise _Unusable(
                f"a tuple of {len(result)}, of which part {place} is {problem}"
            ) from None
    return tuple(kept)


def _plain_array(value):
    """A copy of a NumPy array or number that is exactly an ndarray of numbers."""
    if type(value) in NUMBER_TYPES:
        value = np.asarray(value)
    if type(value) is not np.ndarray:
        raise _Unusable(_what(value))
    if value.dtype.kind not in "biufc":
        if value.dtype.kind == "O":
            raise _Unusable(
                "an array of Python objects (dtype object), which is what NumPy makes of rows of "
                "unequal length or of things that are no numbers"
            )
        raise _Unusable(f"an array of {value.dtype}, which are no numbers")
    if value.size * value.itemsize > LARGEST_RESULT:
        raise _Unusable(f"an array of shape {value.shape}: far too large to be meant")
    return np.array(value, order="C")


def _plain_tensor(value):
    """A copy of a torch tensor as an exactly plain array."""
    import torch

    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        raise _Unusable(_what(value))
    value = value.detach()
    if value.numel() * value.element_size() > LARGEST_RESULT:
        raise _Unusable(f"a tensor of shape {tuple(value.shape)}: far too large to be meant")
    if value.dtype is torch.bfloat16:
        value = value.float()
    return np.array(value.cpu().resolve_conj().resolve_neg().numpy(), order="C")


def _what(value):
    """Say what a value is, asking nothing but its type."""
    kind = type(value)
    name = _type_name(kind)
    if kind in (list, tuple):
        entries = {type(entry) for entry in value}
        if entries == {str}:
            return f"a {name} of {len(value)} texts"
        return f"a {name} with {len(value)} entries"
    if kind in NUMBER_TYPES:
        return f"a single number ({name})"
    if kind is str:
        return "a text (str)"
    if name == "generator":
        return (
            "a generator: somewhere a `(... for ...)` or a `yield` was never turned into an array"
        )
    if "Tensor" in name and _module_name(kind).split(".")[0] == "torch":
        return "a torch tensor"
    if kind is np.ndarray:
        return "a NumPy array"
    if np.ndarray in type.__dict__["__mro__"].__get__(kind):
        return f"a {name}, a relative of the NumPy array; np.asarray(…) makes a plain one of it"
    if kind in (type(_what), type(len), type):
        return f"a {name} itself, not its result: are the brackets of a call missing?"
    return f"a {name}"


def _raised(error, stage):
    # Past any property of the learner's own; the first frame is this file's.
    traceback = BaseException.__dict__["__traceback__"].__get__(error).tb_next
    line, entered = _line(traceback)
    never = traceback is None if stage == "call" else stage == "forward" and not entered
    lines = _text(error).split("\n\t")
    return {
        "kind": "raised",
        "error": _type_name(type(error)),
        # The first line of torch's message about a state names the learner's class; the rest helps.
        "sentence": " ".join(lines[stage == "load" and len(lines) > 1 :]),
        "line": line,
        "stage": "signature" if never else stage,
    }


def _line(traceback):
    """The innermost line of the learner's own file that was running, and whether there was one."""
    own, found, steps = "", None, 0
    while traceback is not None and steps < sys.getrecursionlimit():
        file = traceback.tb_frame.f_code.co_filename
        # A module is called through torch's own file, a vectorised function through NumPy's.
        own = own or ("" if file.startswith(INSTALLED) or file == __file__ else file)
        if file == own:
            found = traceback
        traceback, steps = traceback.tb_next, steps + 1
    return (linecache.getline(own, found.tb_lineno).strip(), True) if found else ("", False)


def _text(thing):
    """`str(thing)`, cut to a bearable length; things that cannot be printed say so."""
    try:
        text = str.__str__(str(thing))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "(its text cannot be read)"
    return text if len(text) <= LONGEST_SENTENCE else text[:LONGEST_SENTENCE] + " …"


def _type_name(kind):
    """The name of a type, past any metaclass that would answer for it."""
    return type.__dict__["__name__"].__get__(kind)


def _module_name(kind):
    name = type.__dict__["__module__"].__get__(kind)
    return name if type(name) is str else ""


def _copy(value):
    if isinstance(value, np.ndarray):
        return np.array(value)
    if isinstance(value, Mapping):
        return {key: _copy(entry) for key, entry in value.items()}
    return value


def _same(before, after):
    """Whether an argument is bit for bit what was handed over."""
    if isinstance(before, np.ndarray):
        return (
            type(after) is np.ndarray
            and before.shape == after.shape
            and before.dtype == after.dtype
            and before.tobytes() == after.tobytes()
        )
    if isinstance(before, Mapping):
        return (
            type(after) is dict
            and before.keys() == after.keys()
            and all(_same(before[key], after[key]) for key in before)
        )
    return True
