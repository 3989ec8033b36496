"""01.gru_encoder: an encoder as a torch module; what it is asked, without torch itself.

The reference and the known mistakes need torch and live in `encoder_module_torch`, which is
imported only when an answer is examined.
"""

from dataclasses import replace

import numpy as np

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Part
from ..surface import Forward


def _request(draw, random, keep, d_in, d_state, **options):
    keep = np.array(keep, bool)
    return Forward(
        construct={"d_in": d_in, "d_state": d_state},
        state={
            "w_input": draw(random, d_in, 3 * d_state, **options),
            "w_state": draw(random, d_state, 3 * d_state, **options),
            "b_input": draw(random, 3 * d_state, **options),
            "b_state": draw(random, 3 * d_state, **options),
        },
        inputs={"x": draw(random, *keep.shape, d_in, **options), "keep": keep},
        cotangent=draw(random, len(keep), d_state, **options),
    )


def cases(random):
    return [
        Case("one sentence of a single word", _request(readable, random, [[1]], 2, 1)),
        Case("two sentences of three words", _request(normal, random, np.ones((2, 3)), 3, 3)),
        Case("three sentences of four words", _request(normal, random, np.ones((3, 4)), 2, 5)),
        Case(
            "three sentences of unequal length",
            _request(normal, random, [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]], 3, 3),
            "mask",
        ),
        Case(
            "padding at the beginning and in between",
            _request(normal, random, [[0, 1, 0, 1], [1, 0, 1, 0]], 4, 2),
            "mask",
        ),
        Case(
            "two sentences, the second without any words",
            _request(normal, random, [[1, 1, 0], [0, 0, 0]], 2, 4),
            "mask",
        ),
        Case(
            "float32 numbers",
            _request(normal, random, [[1, 1, 1], [1, 1, 0]], 5, 4, dtype=np.float32),
            "mask",
        ),
    ]


def _padding_exchanged(random):
    request = _request(normal, random, [[1, 1, 1, 0], [1, 1, 0, 0]], 3, 4)
    request = replace(request, cotangent=None)
    keep, x = request.inputs["keep"], request.inputs["x"]
    other = np.where(keep[:, :, None], x, normal(random, *x.shape))
    return [request, replace(request, inputs={**request.inputs, "x": other})]


def _contents():
    from .encoder_module_torch import MISTAKES, GRUEncoder

    return Contents(GRUEncoder, MISTAKES)


EXERCISE = Exercise(
    identifier="01.gru_encoder",
    assignment="01_bottleneck",
    title="The encoder as a torch module",
    kind="module",
    answer="GRUEncoder",
    points=5,
    difficulty=3,
    minutes=25,
    hints=(
        "It is your GRU step and your encoder in one. New is where the parameters live, and that the "
        "gradient must find its way back through every step.",
        "`torch.nn.Parameter(torch.empty(rows, columns))` as an attribute makes a parameter with "
        "that name. In `forward`, begin with `x.new_zeros(…)`, loop over the positions, and choose "
        "between new and old state with `torch.where`.",
        "`.chunk(3, dim=-1)` cuts into three parts, `torch.sigmoid` makes a gate. "
        "`keep[:, t, None]` is `(B, 1)` and goes into `torch.where` as the condition. Nothing may be "
        "written in place, and nothing detached.",
    ),
    returns=(
        "state",
        "gradient of x",
        "gradient of w_input",
        "gradient of w_state",
        "gradient of b_input",
        "gradient of b_state",
    ),
    cases=cases,
    laws=(
        same(
            "What stands in the padding does not matter",
            _padding_exchanged,
            "with other numbers in the padding, other states came out.",
            part="mask",
        ),
    ),
    parts=(
        Part("plain", "the cases without padding", 0.6),
        Part("mask", "those with padding or float32", 0.4),
    ),
    needs="torch",
    helpers=("imports-torch",),
    contents=_contents,
)
