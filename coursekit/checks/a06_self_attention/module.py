"""06.self_attention_module: self-attention as a torch module; what it is asked, without torch itself.

The reference is the library's own layer. It and the known mistakes, in `module_torch`, need torch, and
are imported only when an answer is examined.
"""

from dataclasses import replace

import numpy as np

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Part
from ..surface import Forward


def _request(draw, random, batch, length, d_model, d_k, d_v, mask=None, **options):
    every = np.ones((batch, 1, length), bool)
    return Forward(
        construct={"d_model": d_model, "d_k": d_k, "d_v": d_v},
        state={
            "w_query": draw(random, d_model, d_k, **options),
            "w_key": draw(random, d_model, d_k, **options),
            "w_value": draw(random, d_model, d_v, **options),
        },
        inputs={
            "x": draw(random, batch, length, d_model, **options),
            "mask": every if mask is None else np.array(mask, bool),
        },
        cotangent=draw(random, batch, length, d_v, **options),
    )


def cases(random):
    ragged = [[[1, 1, 1, 0]], [[1, 0, 0, 0]], [[1, 1, 1, 1]]]
    causal = np.tri(4, dtype=bool) & np.array([[[1, 1, 1, 1]], [[1, 1, 0, 0]]], bool)
    one_empty = [[[1, 1, 0]], [[0, 0, 0]]]
    strictly_before = [np.tri(3, k=-1)] * 2
    return [
        Case("one sentence of two words", _request(readable, random, 1, 2, 2, 1, 1)),
        Case("two sentences, all widths 3", _request(normal, random, 2, 3, 3, 3, 3)),
        Case("two sentences, all sizes different", _request(normal, random, 2, 4, 5, 3, 6)),
        Case(
            "three sentences with padding",
            _request(normal, random, 3, 4, 3, 2, 5, ragged),
            "mask",
        ),
        Case(
            "padding and a causal mask together",
            _request(normal, random, 2, 4, 3, 5, 2, causal),
            "mask",
        ),
        Case(
            "two sentences, the second without any words",
            _request(normal, random, 2, 3, 4, 3, 2, one_empty),
            "mask",
        ),
        Case(
            "a first word that may look at nothing",
            _request(normal, random, 2, 3, 4, 2, 3, strictly_before),
            "mask",
        ),
        Case(
            "float32 numbers",
            _request(normal, random, 2, 4, 6, 5, 3, dtype=np.float32),
            "mask",
        ),
    ]


def _words_shuffled(random):
    request = replace(_request(normal, random, 2, 5, 4, 3, 2), cotangent=None)
    x = request.inputs["x"][:, [2, 0, 4, 1, 3]]
    return [request, replace(request, inputs={**request.inputs, "x": x})]


def _contents():
    from attnkit.torch import SelfAttention

    from .module_torch import MISTAKES

    return Contents(SelfAttention, MISTAKES)


EXERCISE = Exercise(
    identifier="06.self_attention_module",
    assignment="06_self_attention",
    title="Masked self-attention as a torch module",
    kind="module",
    answer="SelfAttention",
    points=5,
    difficulty=3,
    minutes=25,
    hints=(
        "The arithmetic is that of both functions before. New is where the parameters live, and "
        "that gradients must survive an empty row.",
        "`torch.nn.Parameter(torch.empty(rows, columns))` as an attribute makes a parameter with "
        "that name. Hide scores before the softmax by a *finite* number, and weights after it by 0: "
        "both with `masked_fill`, which passes no gradient to what it replaces.",
        "In `forward`: three products with `x`; `key.transpose(-1, -2)` for the scores, divided by "
        "the root of `key.shape[-1]`; `masked_fill(~mask, …)` on the scores, `softmax(dim=-1)`, "
        "`masked_fill(~mask, 0.0)` on the weights, and the product with the values.",
    ),
    returns=(
        "output",
        "gradient of x",
        "gradient of w_query",
        "gradient of w_key",
        "gradient of w_value",
    ),
    cases=cases,
    laws=(
        same(
            "With the words in another order, the results come in that order",
            _words_shuffled,
            "with the words shuffled, the outputs were not just shuffled in the same way.",
            undo=lambda output: output[:, [1, 3, 0, 4, 2]],
        ),
    ),
    parts=(
        Part("plain", "the cases without a mask", 0.4),
        Part("mask", "those with a mask or float32", 0.6),
    ),
    needs="torch",
    helpers=("imports-torch",),
    contents=_contents,
)
