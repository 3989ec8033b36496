"""07.multi_head_module: multi-head attention that takes torch's parameters; what it is asked.

The reference and the known mistakes need torch and live in `module_torch`, which is imported only
when an answer is examined.
"""

from dataclasses import replace

import numpy as np

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Part
from ..surface import Forward


def _request(draw, random, batch, m, n, d_model, n_heads, mask=None, **options):
    every = np.ones((batch, 1, n), bool)
    return Forward(
        construct={"d_model": d_model, "n_heads": n_heads},
        state={
            "in_proj_weight": draw(random, 3 * d_model, d_model, **options),
            "in_proj_bias": draw(random, 3 * d_model, **options),
            "out_proj.weight": draw(random, d_model, d_model, **options),
            "out_proj.bias": draw(random, d_model, **options),
        },
        inputs={
            "query": draw(random, batch, m, d_model, **options),
            "key": draw(random, batch, n, d_model, **options),
            "mask": every if mask is None else np.array(mask, bool),
        },
        cotangent=draw(random, batch, m, d_model, **options),
    )


def cases(random):
    ragged = [[[1, 1, 1, 0]], [[1, 0, 0, 0]], [[1, 1, 1, 1]]]
    causal = np.tri(4, dtype=bool) & np.array([[[1, 1, 1, 1]], [[1, 1, 0, 0]]], bool)
    one_empty = [[[1, 1, 0]], [[0, 0, 0]]]
    return [
        Case(
            "one sentence, two queries, two keys, two heads",
            _request(readable, random, 1, 2, 2, 4, 2),
        ),
        Case(
            "two sentences, three queries, five keys, three heads",
            _request(normal, random, 2, 3, 5, 6, 3),
        ),
        Case(
            "two sentences, five queries, two keys, two heads",
            _request(normal, random, 2, 5, 2, 8, 2),
        ),
        Case(
            "three sentences with padding, two heads",
            _request(normal, random, 3, 2, 4, 4, 2, ragged),
            "mask",
        ),
        Case(
            "as many sentences as heads, padding and a causal mask together",
            _request(normal, random, 2, 4, 4, 6, 2, causal),
            "mask",
        ),
        Case(
            "two sentences, the second without any words",
            _request(normal, random, 2, 2, 3, 6, 3, one_empty),
            "mask",
        ),
        Case(
            "float32 numbers",
            _request(normal, random, 2, 3, 4, 6, 3, dtype=np.float32),
            "mask",
        ),
    ]


def _sentences_turned_round(random):
    mask = [[[1, 1, 1, 0]], [[1, 0, 0, 0]], [[0, 1, 1, 1]]]
    request = replace(_request(normal, random, 3, 2, 4, 6, 3, mask), cotangent=None)
    turned = {name: array[::-1] for name, array in request.inputs.items()}
    return [request, replace(request, inputs=turned)]


def _contents():
    from .module_torch import MISTAKES, MultiHeadAttention

    return Contents(MultiHeadAttention, MISTAKES)


EXERCISE = Exercise(
    identifier="07.multi_head_module",
    assignment="07_multi_head",
    title="A torch module that takes torch's parameters",
    kind="module",
    answer="MultiHeadAttention",
    points=6,
    difficulty=3,
    minutes=30,
    hints=(
        "The arithmetic is that of the function before, with biases. New is where the parameters lie, "
        "what they are called, and how they are turned.",
        "Two parameters and one `torch.nn.Linear` give the four names. `in_proj_weight` holds three "
        "square matrices one under another, each to be transposed before words multiply it from the "
        "left; `in_proj_bias` holds three biases. `.chunk(3)` cuts either of them.",
        "Split with `.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)`; the way back is the "
        "`transpose`, then `.flatten(2)`. The mask gets its axis for heads by `mask[:, None]`. Hide "
        "scores before the softmax by a *finite* number, and weights after it by 0, both with "
        "`masked_fill`.",
    ),
    returns=(
        "output",
        "gradient of query",
        "gradient of key",
        "gradient of in_proj_weight",
        "gradient of in_proj_bias",
        "gradient of out_proj.weight",
        "gradient of out_proj.bias",
    ),
    cases=cases,
    laws=(
        same(
            "Sentences do not influence each other",
            _sentences_turned_round,
            "with the sentences in reverse order, the outputs were not just reversed.",
            undo=lambda output: output[::-1],
            part="mask",
        ),
    ),
    parts=(
        Part("plain", "the cases without a mask", 0.5),
        Part("mask", "those with a mask or float32", 0.5),
    ),
    needs="torch",
    helpers=("imports-torch",),
    contents=_contents,
)
