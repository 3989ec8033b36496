"""Errors that teach, for recurrent steps, losses, marks and decoding: pure functions on shapes.

Both back ends call these before they compute anything, so a wrong shape is named in the
learner's terms and never reaches a kernel. What attention itself checks lives in `errors`.
"""

from collections.abc import Mapping

Shape = tuple[int, ...]


def require_parameters(
    function: str, shapes: Mapping[str, Shape], expected: Mapping[str, tuple[Shape, str]]
) -> None:
    """Raise unless every expected parameter is there with its shape.

    Parameters
    ----------
    function : str
        The caller, for the message.
    shapes : mapping of str to tuple
        Shapes of the parameters that were given; names that are not expected are left alone,
        because one mapping may serve several steps.
    expected : mapping of str to (tuple, str)
        Shape that each parameter must have, and the reason in words.
    """
    missing = [name for name in expected if name not in shapes]
    if missing:
        raise ValueError(
            f"{function} needs the parameters {', '.join(expected)}; missing: {', '.join(missing)}"
        )
    for name, (shape, reason) in expected.items():
        if tuple(shapes[name]) != shape:
            raise ValueError(
                f"{function}: parameters[{name!r}] must have shape {shape} ({reason}), "
                f"got {tuple(shapes[name])}; weights multiply from the right, x @ w"
            )


def require_matrix(function: str, shapes: Mapping[str, Shape], name: str) -> Shape:
    """Return the shape of a parameter that must have two axes and whose size is free."""
    if name not in shapes:
        raise ValueError(
            f"{function} needs the parameter {name!r}; got {', '.join(shapes) or 'none'}"
        )
    if len(shapes[name]) != 2:
        raise ValueError(
            f"{function}: parameters[{name!r}] must have two axes, got shape {tuple(shapes[name])}"
        )
    return tuple(shapes[name])


def require_width(function: str, **shapes: Shape) -> None:
    """Raise unless each of the named vectors has a last axis."""
    for name, shape in shapes.items():
        if len(shape) == 0:
            raise ValueError(
                f"{function}: {name} must have a last axis, its width; got a single number"
            )


def require_same_batch(function: str, **shapes: Shape) -> None:
    """Raise unless the leading axes of the named arrays agree, axes of length one included."""
    batch: list[int] = []
    for shape in shapes.values():
        for place, size in enumerate(reversed(shape)):
            if place == len(batch):
                batch.append(size)
            elif batch[place] == 1:
                batch[place] = size
            elif size not in (1, batch[place]):
                described = ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items())
                raise ValueError(f"{function}: batch axes must agree, got {described}")


def require_equal_width(function: str, **shapes: Shape) -> None:
    """Raise unless the named vectors have one width."""
    if len({shape[-1] for shape in shapes.values()}) > 1:
        described = ", ".join(f"{name} {shape[-1]}" for name, shape in shapes.items())
        raise ValueError(
            f"{function}: {' and '.join(shapes)} must have equal widths, got {described}"
        )


def gated(function: str, gates: int, shapes: Mapping[str, Shape], h: int, **inputs: int) -> None:
    """Check a recurrent unit's parameters: `gates` blocks of width `h`, and the widths it reads."""
    wide = gates * h
    blocks = f"{gates} gates of state width {h} side by side" if gates > 1 else f"state width {h}"
    read = " + ".join(f"{name} {width}" for name, width in inputs.items())
    require_parameters(
        function,
        shapes,
        {
            "w_input": ((sum(inputs.values()), wide), f"{read}; {blocks}"),
            "w_state": ((h, wide), f"state {h}; {blocks}"),
            "b_input": ((wide,), blocks),
            "b_state": ((wide,), blocks),
        },
    )


def rnn_step(x: Shape, state: Shape, parameters: Mapping[str, Shape]) -> None:
    """Check the shapes that `rnn_step` was given."""
    _recurrent("rnn_step", 1, parameters, x=x, state=state)


def gru_step(x: Shape, state: Shape, parameters: Mapping[str, Shape]) -> None:
    """Check the shapes that `gru_step` was given."""
    _recurrent("gru_step", 3, parameters, x=x, state=state)


def lstm_step(x: Shape, state: Shape, cell: Shape, parameters: Mapping[str, Shape]) -> None:
    """Check the shapes that `lstm_step` was given."""
    require_width("lstm_step", state=state, cell=cell)
    require_equal_width("lstm_step", state=state, cell=cell)
    _recurrent("lstm_step", 4, parameters, x=x, state=state, cell=cell)


def additive_step(
    embedded: Shape,
    state: Shape,
    encoder_states: Shape,
    parameters: Mapping[str, Shape],
    key_mask: Shape | None = None,
) -> None:
    """Check the shapes that `additive_step` was given."""
    name = "additive_step"
    _attending(name, encoder_states, key_mask, embedded=embedded, state=state)
    h, d = state[-1], encoder_states[-1]
    _, width = require_matrix(name, parameters, "w_query")
    expected = {
        "w_query": ((h, width), "state width, attention width"),
        "w_key": ((d, width), "encoder width, attention width"),
        "v": ((width,), "attention width"),
    }
    require_parameters(name, parameters, expected)
    gated(name, 3, parameters, h, embedded=embedded[-1], context=d)


def luong_step(
    embedded: Shape,
    state: Shape,
    attentional: Shape,
    encoder_states: Shape,
    parameters: Mapping[str, Shape],
    key_mask: Shape | None = None,
) -> None:
    """Check the shapes that `luong_step` was given."""
    name = "luong_step"
    vectors = {"embedded": embedded, "state": state, "attentional": attentional}
    _attending(name, encoder_states, key_mask, **vectors)
    h, d, a = state[-1], encoder_states[-1], attentional[-1]
    expected = {
        "w_general": ((h, d), "state width, encoder width"),
        "w_combine": ((d + h, a), "encoder width + state width, width of attentional"),
    }
    require_parameters(name, parameters, expected)
    gated(name, 3, parameters, h, embedded=embedded[-1], attentional=a)


def _recurrent(
    function: str, gates: int, parameters: Mapping[str, Shape], **vectors: Shape
) -> None:
    require_width(function, **vectors)
    require_same_batch(function, **{name: shape[:-1] for name, shape in vectors.items()})
    gated(function, gates, parameters, vectors["state"][-1], x=vectors["x"][-1])


def _attending(
    function: str, encoder_states: Shape, key_mask: Shape | None, **vectors: Shape
) -> None:
    require_width(function, **vectors)
    if len(encoder_states) < 2:
        raise ValueError(
            f"{function}: encoder_states must have shape (..., n, d), "
            f"one row for each source position, got {tuple(encoder_states)}"
        )
    n = encoder_states[-2]
    batches = {name: shape[:-1] for name, shape in vectors.items()}
    batches["encoder_states"] = encoder_states[:-2]
    if key_mask is not None:
        if len(key_mask) == 0 or key_mask[-1] not in (1, n):
            raise ValueError(
                f"{function}: key_mask must have shape (..., n) with n = {n} source positions, "
                f"got {tuple(key_mask)}"
            )
        batches["key_mask"] = key_mask[:-1]
    require_same_batch(function, **batches)


def loss(logits: Shape, target: Shape, mask: Shape, label_smoothing: float) -> None:
    """Check logits `(..., T, V)` against target and mask `(..., T)`."""
    if len(logits) == 0 or tuple(logits[:-1]) != tuple(target):
        raise ValueError(
            f"logits must have the axes of target and one more for the classes; "
            f"got logits {tuple(logits)} and target {tuple(target)}"
        )
    marks("target", target, mask)
    if not 0.0 <= label_smoothing < 1.0:
        raise ValueError(f"label_smoothing must be at least 0 and below 1, got {label_smoothing}")


def marks(name: str, scored: Shape, other: Shape, *, other_name: str = "mask") -> None:
    """Raise unless two arrays that are compared position by position have one shape."""
    if tuple(scored) != tuple(other):
        raise ValueError(
            f"{other_name} must have the shape of {name}, {tuple(scored)}, got {tuple(other)}; "
            "a shorter one would be stretched silently and score the wrong positions"
        )


def alignment(weights: Shape, alignment: Shape, largest: int) -> None:
    """Check weights `(..., T, n)` against an alignment `(..., T)` whose largest entry is given."""
    if len(weights) == 0 or tuple(weights[:-1]) != tuple(alignment):
        raise ValueError(
            f"weights must have the axes of alignment and one more for the source positions; "
            f"got weights {tuple(weights)} and alignment {tuple(alignment)}"
        )
    if largest >= weights[-1]:
        raise ValueError(
            f"alignment names source position {largest}, but weights cover {weights[-1]} positions "
            f"(0 to {weights[-1] - 1}); was the source cut off, or does alignment count from 1?"
        )


def classes(name: str, smallest: int, largest: int, n_classes: int) -> None:
    """Raise unless the integers that count (where the mask is True) are classes."""
    if smallest < 0 or largest >= n_classes:
        raise ValueError(
            f"{name} must hold classes from 0 to {n_classes - 1} wherever mask is True, "
            f"got values from {smallest} to {largest}; is padding marked False in mask?"
        )


def mapping(function: str, parameters: object) -> Mapping[str, object]:
    """Return the parameters, or raise unless they can be asked for by name."""
    if not hasattr(parameters, "items"):
        raise TypeError(
            f"{function}: parameters must be a mapping from names to arrays, such as "
            f'{{"w_input": ..., "w_state": ...}}, got {type(parameters).__name__}'
        )
    return parameters


def tensor(name: str, is_tensor: bool, kind: str) -> None:
    """Raise unless an argument of a torch function is a tensor."""
    if not is_tensor:
        raise TypeError(f"{name} must be a torch.Tensor, got {kind}; wrap it in torch.as_tensor")


def right_padding(is_right: bool, shortest: int) -> None:
    """Raise unless each row of a source holds at least one token and padding only after the last."""
    if not is_right:
        raise ValueError(
            "source_mask must be True from the first token to the last and False after it: "
            "pad on the right, a reader that starts in padding begins with noise"
        )
    if shortest == 0:
        raise ValueError("source_mask marks a row without any token; a sentence has at least one")


def real(name: str, dtype_is_real: bool, dtype: object) -> None:
    """Raise unless an array holds real numbers."""
    if not dtype_is_real:
        raise TypeError(
            f"{name} must hold real numbers, got {dtype}; gates lie between 0 and 1, "
            "which means nothing for complex numbers or text"
        )


def whole_numbers(name: str, dtype_is_whole: bool, dtype: object) -> None:
    """Raise unless an array holds whole numbers."""
    if not dtype_is_whole:
        raise TypeError(f"{name} must hold whole numbers (class or position indices), got {dtype}")


def boolean(name: str, dtype_is_bool: bool, dtype: object) -> None:
    """Raise unless an array is boolean: a mask of 0.0 and 1.0 is a common slip."""
    if not dtype_is_bool:
        raise TypeError(f"{name} must be boolean, True where a position counts, got {dtype}")


def decoding(start: Shape, max_length: int) -> None:
    """Check what greedy decoding is started with."""
    if len(start) != 1:
        raise ValueError(
            f"start must have shape (B,), one token for each sequence, got {tuple(start)}"
        )
    if isinstance(max_length, bool) or not isinstance(max_length, int) or max_length < 0:
        raise ValueError(f"max_length must be a whole number of at least 0, got {max_length!r}")


def step_scores(scores: Shape, n_sequences: int, any_nan: bool) -> None:
    """Check what the step function of a decoder returned."""
    if len(scores) != 2 or scores[0] != n_sequences or scores[1] == 0:
        raise ValueError(
            f"step must return scores of shape (B, V) with B = {n_sequences}, "
            f"one row for each sequence, got {tuple(scores)}"
        )
    if any_nan:
        raise ValueError(
            "step returned scores that are not a number (NaN): the best token is undefined"
        )
