"""09.encoder_layer_module: the encoder layer as a torch module that takes over torch's parameters.

The reference and the known mistakes need torch and live in `module_torch`, which is imported only
when an answer is examined.
"""

from dataclasses import replace

import numpy as np

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Part
from ..surface import Forward

STATE = (
    "self_attn.in_proj_weight",
    "self_attn.in_proj_bias",
    "self_attn.out_proj.weight",
    "self_attn.out_proj.bias",
    "linear1.weight",
    "linear1.bias",
    "linear2.weight",
    "linear2.bias",
    "norm1.weight",
    "norm1.bias",
    "norm2.weight",
    "norm2.bias",
)
"""What torch.nn.TransformerEncoderLayer calls its parameters."""


def _request(draw, random, mask, d_model, n_heads, d_ff, pre_norm=False, **options):
    mask = np.array(mask, bool)[:, None]
    shapes = (
        (3 * d_model, d_model),
        (3 * d_model,),
        (d_model, d_model),
        (d_model,),
        (d_ff, d_model),
        (d_ff,),
        (d_model, d_ff),
        *[(d_model,)] * 5,
    )
    x_shape = (len(mask), mask.shape[-1], d_model)
    return Forward(
        construct={"d_model": d_model, "n_heads": n_heads, "d_ff": d_ff, "pre_norm": pre_norm},
        state={
            name: draw(random, *shape, **options) for name, shape in zip(STATE, shapes, strict=True)
        },
        inputs={"x": draw(random, *x_shape, **options), "mask": mask},
        cotangent=draw(random, *x_shape, **options),
    )


def cases(random):
    ragged = [[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 1]]
    scattered = [[0, 1, 1, 0, 1], [1, 0, 0, 1, 0]]
    return [
        Case(
            "one sentence of two words, one head",
            _request(readable, random, np.ones((1, 2)), 4, 1, 3),
        ),
        Case(
            "three sentences of three words",
            _request(normal, random, np.ones((3, 3)), 6, 3, 6),
        ),
        Case("two sentences of four words", _request(normal, random, np.ones((2, 4)), 4, 2, 7)),
        Case(
            "pre-norm, one sentence of two words",
            _request(readable, random, np.ones((1, 2)), 4, 1, 3, True),
            "pre",
        ),
        Case(
            "pre-norm, two sentences of three words",
            _request(normal, random, np.ones((2, 3)), 6, 2, 5, True),
            "pre",
        ),
        Case(
            "three sentences with padding",
            _request(normal, random, ragged, 4, 2, 5),
            "mask",
        ),
        Case(
            "pre-norm, padding in between, in float32",
            _request(normal, random, scattered, 6, 3, 4, True, dtype=np.float32),
            "mask",
        ),
    ]


def _words_shuffled(random):
    request = replace(_request(normal, random, np.ones((2, 5)), 4, 2, 6), cotangent=None)
    x = request.inputs["x"][:, [2, 0, 4, 1, 3]]
    return [request, replace(request, inputs={**request.inputs, "x": x})]


def _contents():
    from .module_torch import MISTAKES, EncoderLayer

    return Contents(EncoderLayer, MISTAKES)


EXERCISE = Exercise(
    identifier="09.encoder_layer_module",
    assignment="09_transformer",
    title="The encoder layer as a torch module",
    kind="module",
    answer="EncoderLayer",
    points=5,
    difficulty=2,
    minutes=20,
    hints=(
        "The wiring is that of your NumPy layer. New are the parts: torch has each of them ready, "
        "and their names make up the names of the parameters.",
        "`self.self_attn` a `torch.nn.MultiheadAttention`, `self.linear1` and `self.linear2` a "
        "`torch.nn.Linear` each, `self.norm1` and `self.norm2` a `torch.nn.LayerNorm` each. The "
        "attention returns a pair, and its masks say what is to be *ignored*.",
        "`MultiheadAttention(d_model, n_heads, batch_first=True)`. It is called with query, key and "
        "value (three times the same rows) and `key_padding_mask=…` of shape `(B, T)`: your mask "
        "without its middle axis, turned round by `~`. Of what comes back, `[0]` is the output.",
    ),
    returns=("output", "gradient of x", *(f"gradient of {name}" for name in STATE)),
    cases=cases,
    laws=(
        same(
            "With the words in another order, the results come in that order",
            _words_shuffled,
            "with the words shuffled, the outputs were not just shuffled in the same way.",
            undo=lambda output: output[:, [1, 3, 0, 4, 2]],
            part="plain",
        ),
    ),
    parts=(
        Part("plain", "the post-norm cases", 0.4),
        Part("pre", "the pre-norm cases", 0.2),
        Part("mask", "those with padding", 0.4),
    ),
    needs="torch",
    helpers=("imports-torch",),
    contents=_contents,
)
