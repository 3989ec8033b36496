"""The questions put to one outcome: did it run, did it return something, shape, dtype, finite, value.

Each answers with the first thing wrong as a `Finding`, or None. Laws, which look at several
outcomes together, are the engine's.
"""

import numpy as np

from .compare import same_values, tolerance
from .model import Finding
from .surface import Forward

__all__ = ["allowed_difference", "did_it_work", "put_questions"]

WHOLE = " An array made for whole numbers cuts off what comes after the point."
FLOATS = " np.zeros, np.empty and np.array([]) make floats unless they are told dtype=int."

NEARLY = 1e-3
"""A difference this small, relative to the largest value, is no other formula."""


def put_questions(exercise, request, right, outcome):
    """The first question that `outcome` answers badly, or None."""
    finding = did_it_work(exercise, request, right, outcome)
    if finding:
        return finding
    if exercise.judge:
        return exercise.judge(request, outcome.value)
    # Question by question over all results: a wrong shape in the second is more basic than a
    # wrong number in the first.
    results = list(zip(exercise.returns, right.value, outcome.value, strict=False))
    causes = exercise.first_cause or exercise.returns
    results.sort(key=lambda result: causes.index(result[0]))
    asked = (
        lambda name, wanted, got: _ask_shape(name, wanted, got, outcome.form),
        lambda name, wanted, got: _ask_dtype(exercise, name, wanted, got, outcome.form),
        _ask_finite,
        lambda name, wanted, got: _ask_value(exercise, request, name, wanted, got),
    )
    for ask in asked:
        for name, wanted, got in results:
            if finding := ask(name, wanted, got):
                return finding
        # The output has its shape, so a gradient that did not come has nothing to go to.
        if len(outcome.value) < len(right.value):
            return _no_parameter(exercise, request)
    return None


def _no_parameter(exercise, request):
    names = ", ".join(request.state)
    one = "it" if len(request.state) == 1 else "one of them"
    return Finding(
        "returned",
        "no parameter",
        f"{exercise.answer} could be loaded with {names}, but {one} is no torch.nn.Parameter, so "
        f"training would never change it.",
    )


def did_it_work(exercise, request, right, outcome):
    name = exercise.answer
    if outcome.kind == "raised":
        return Finding("ran", outcome.error, _raised_sentence(exercise, request, outcome))
    if outcome.kind == "nothing":
        return Finding(
            "returned", "None", f"{name} returned nothing (None). Is there a return line?"
        )
    if outcome.kind == "unusable":
        expected = _results(exercise, right)
        if outcome.sentence.startswith("a list") and expected.endswith("NumPy array"):
            expected += " (np.array(…) makes one of it)"
        elif outcome.sentence.startswith("a tuple") and "is a list" in outcome.sentence:
            expected += " of plain NumPy arrays (np.array(…) makes one of a list)"
        return Finding(
            "returned",
            outcome.sentence,
            f"{name} returned {outcome.sentence}. Expected: {expected}.",
        )
    n_wanted = 1 if isinstance(request, Forward) else len(right.value)
    n_got = len(outcome.value) if outcome.form == "tuple" else 1
    if n_got != n_wanted or (outcome.form == "tuple") != (right.form == "tuple"):
        came = f"a tuple of {n_got}" if outcome.form == "tuple" else f"one {outcome.form}"
        expected = _results(exercise, right)
        numbers = n_got > 1 and not any(part.ndim for part in outcome.value)
        if numbers and expected.endswith("NumPy array"):
            expected += " (np.array([…]) makes one of several numbers)"
        return Finding("returned", came, f"{name} returned {came}. Expected: {expected}.")
    return None


def _results(exercise, right):
    """What should have come, in words."""
    names = exercise.returns
    if exercise.needs == "torch":
        return f"one tensor, the {names[0]}"
    if len(names) > 1:
        return f"a tuple of {len(names)}, ({', '.join(names)})"
    return f"the {names[0]}, as {'a plain NumPy array' if right.value[0].ndim else 'one number'}"


def _raised_sentence(exercise, request, outcome):
    name, error = exercise.answer, f"{outcome.error}: {outcome.sentence}".rstrip(": ")
    if outcome.error == "NotImplementedError":
        return f"{name} is not finished: it raised {error}."
    if outcome.stage == "signature":
        asked = request.inputs if isinstance(request, Forward) else request.arguments
        given = ", ".join(asked) or "no arguments"
        return f"{name} could not be called with ({given}). Python says: {error}"
    if outcome.stage == "construct":
        given = ", ".join(f"{k}={v}" for k, v in request.construct.items())
        return f"{name}({given}) could not be built. Python says: {error}"
    if outcome.stage == "load":
        wanted = ", ".join(f"{k} {np.shape(v)}" for k, v in request.state.items())
        return (
            f"The parameters of {name} could not be loaded. They must be called and shaped "
            f"{wanted}. torch says: {error}"
        )
    if outcome.stage == "backward":
        return (
            f"{name} gave an output, but going back from it to the parameters failed. Is every one a "
            f"torch.nn.Parameter that may change? torch says: {error}"
        )
    if outcome.error in {"SystemExit", "GeneratorExit"}:
        return f"{name} tried to stop Python ({error}) instead of returning a result."
    where = f", at the line\n    {outcome.line}" if outcome.line else ""
    return f"{name} stopped with {error}{where}"


def _ask_shape(name, wanted, got, form):
    if got.shape == wanted.shape:
        return None
    came = "a single number" if form == "number" else f"shape {got.shape}"
    asked = f"{name} of shape {wanted.shape}" if wanted.ndim else f"{name} to be one number"
    cause = _shape_cause(wanted.shape, got.shape)
    sentence = f"expected {asked}, got {came}" + (f": {cause}." if cause else ".")
    return Finding("shape", str(got.shape), sentence, name)


def _shape_cause(wanted, got):
    if not wanted:
        return ""
    if sorted(wanted) == sorted(got):
        return "the same sizes in another order, so two axes are swapped"
    if len(got) == len(wanted) + 1 and 1 in got:
        return "an axis of size 1 too many"
    if len(got) > len(wanted):
        return "more axes than expected, perhaps a broadcast that was not meant"
    if len(got) < len(wanted):
        return "an axis is gone, perhaps summed or averaged over"
    return ""


def _ask_dtype(exercise, name, wanted, got, form):
    if wanted.dtype.kind == "f":
        if got.dtype.kind == "f":
            wide_enough = np.finfo(got.dtype).bits >= np.finfo(wanted.dtype).bits
            if wide_enough or exercise.absolute is not None:
                return None
            return Finding(
                "dtype",
                got.dtype.name,
                f"expected {name} in {wanted.dtype} as the inputs are, got the narrower "
                f"{got.dtype}: digits were lost on the way.",
                name,
            )
        if got.dtype.kind in "iu" and (exercise.whole_numbers_pass or form == "number"):
            return None
        return Finding(
            "dtype",
            got.dtype.kind,
            f"expected {name} as floating-point numbers ({wanted.dtype}), got {got.dtype}."
            + WHOLE * (got.dtype.kind in "iu"),
            name,
        )
    if wanted.dtype.kind == "b":
        if got.dtype.kind == "b":
            return None
        return Finding(
            "dtype",
            got.dtype.kind,
            f"expected {name} of True and False (bool), got {got.dtype}. Numbers are no mask: ~1 is "
            f"-2, which still counts as true.",
            name,
        )
    if got.dtype.kind in "iu" or got.dtype.kind == wanted.dtype.kind:
        return None
    return Finding(
        "dtype",
        got.dtype.kind,
        f"expected {name} as whole numbers ({wanted.dtype}), got {got.dtype}."
        + FLOATS * (got.dtype.kind == "f"),
        name,
    )


def _ask_finite(name, wanted, got):
    bad = ~np.isfinite(got) & np.isfinite(wanted)
    if not bad.any():
        return None
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    count = int(bad.sum())
    what = "NaN" if np.isnan(got[bad]).any() else "infinity"
    where = f", first at {list(place)}" if place else ""
    return Finding(
        "finite",
        what,
        f"{count} of {got.size} numbers in {name} are {what}{where}."
        if got.size > 1
        else f"{name} is {what}.",
        name,
    )


def _ask_value(exercise, request, name, wanted, got):
    if exercise.absolute is not None:
        same = bool((np.abs(wanted - got) <= exercise.absolute).all())
    else:
        same = same_values(wanted, got, tolerance(*_dtypes(request), wanted.dtype))
    if same:
        return None
    sentence = f"the numbers in {name} are wrong (the shape is right)."
    if wanted.dtype.kind == got.dtype.kind == "f" and same_values(wanted, got, NEARLY):
        sentence = (
            f"{name} {'are' if name.endswith('s') else 'is'} nearly right. A difference as small as "
            f"this mostly comes from rounding, from a small number that was added (to avoid a division by "
            f"0, say), or from a narrower type on the way."
        )
    elif wanted.ndim == 0:
        sentence = f"{name} is not right."
    return Finding("value", "different", sentence, name)


def _dtypes(request):
    flat = []
    for value in request.arguments.values():
        flat += value.values() if isinstance(value, dict) else [value]
    return [v.dtype for v in flat if isinstance(v, np.ndarray) and v.dtype.kind == "f"]


def allowed_difference(exercise, request, right):
    """How far two answers may lie apart and still be the same, given what went in and came out."""
    if exercise.absolute is not None:
        return exercise.absolute
    return tolerance(*_dtypes(request), *(v.dtype for v in right.value if v.dtype.kind == "f"))
