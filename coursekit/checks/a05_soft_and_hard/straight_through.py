"""05.straight_through: one value forwards, softmax backwards; what it is asked, without torch itself.

The reference and the known mistakes need torch and live in `straight_through_torch`, which is
imported only when an answer is examined.
"""

from dataclasses import replace

import numpy as np

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Part
from ..surface import Forward


def _request(draw, random, batch, m, n, d_query, d_key, d_value, mask=None, **options):
    every = np.ones((batch, 1, n), bool)
    return Forward(
        construct={"d_query": d_query, "d_key": d_key},
        state={"weight": draw(random, d_query, d_key, **options)},
        inputs={
            "query": draw(random, batch, m, d_query, **options),
            "key": draw(random, batch, n, d_key, **options),
            "value": draw(random, batch, n, d_value, **options),
            "mask": every if mask is None else np.array(mask, bool),
        },
        cotangent=draw(random, batch, m, d_value, **options),
    )


def _two_opposite_keys(random):
    """Round numbers whose scores differ, and so little that soft weights are nowhere near 0 or 1."""
    while True:
        request = _request(readable, random, 1, 1, 2, 2, 2, 1)
        key = request.inputs["key"]
        key[:, 1] = -key[:, 0]
        score = request.inputs["query"][0] @ request.state["weight"] @ key[0, 0]
        if 0.2 <= abs(score.item()) <= 1:
            return request


def cases(random):
    ragged = [[[1, 1, 1, 0]], [[1, 0, 1, 0]]]
    one_empty = [[[1, 1, 0]], [[0, 0, 0]]]
    return [
        Case("one query and two keys", _two_opposite_keys(random)),
        Case("a batch of two, all widths 3", _request(normal, random, 2, 3, 3, 3, 3, 3)),
        Case("a batch of three, all sizes different", _request(normal, random, 3, 2, 5, 3, 2, 4)),
        Case("hidden keys", _request(normal, random, 2, 5, 4, 3, 2, 3, ragged), "mask"),
        Case(
            "queries that may look at nothing",
            _request(normal, random, 2, 4, 3, 2, 3, 2, one_empty),
            "mask",
        ),
        Case(
            "float32 numbers",
            _request(normal, random, 2, 3, 4, 3, 3, 2, dtype=np.float32),
            "mask",
        ),
    ]


def _keys_in_another_order(random):
    request = replace(_request(normal, random, 2, 3, 4, 3, 2, 3), cotangent=None)
    order = [2, 0, 3, 1]
    turned = {name: request.inputs[name][:, order] for name in ("key", "value")}
    return [request, replace(request, inputs={**request.inputs, **turned})]


def _contents():
    from .straight_through_torch import MISTAKES, StraightThrough

    return Contents(StraightThrough, MISTAKES)


EXERCISE = Exercise(
    identifier="05.straight_through",
    assignment="05_soft_and_hard",
    title="Straight-through as a torch module",
    kind="module",
    answer="StraightThrough",
    points=5,
    difficulty=3,
    minutes=25,
    hints=(
        "You need two sets of weights from the same scores: one-hot ones for the numbers, soft ones "
        "for the slope. What can be added to a number that is 0 and yet has a slope?",
        "`soft - soft.detach()` is 0 forwards and has the slope of `soft` backwards. Add it to the "
        "one-hot *weights*, before they are multiplied with the values. Hide scores by a finite "
        "number before, and both kinds of weights by 0 after.",
        "`query @ self.weight @ key.transpose(-1, -2)`, then `masked_fill(~mask, …)` with "
        "`torch.finfo(scores.dtype).min`. One-hot weights: `torch.nn.functional.one_hot` of "
        "`scores.argmax(dim=-1)` with the number of keys, made to the scores' dtype by `.to`.",
    ),
    returns=(
        "output",
        "gradient of query",
        "gradient of key",
        "gradient of value",
        "gradient of weight",
    ),
    cases=cases,
    laws=(
        same(
            "In whatever order keys and their values come, the same value is taken",
            _keys_in_another_order,
            "with keys and values in another order, another output came out.",
        ),
    ),
    parts=(
        Part("plain", "the cases without a mask", 0.6),
        Part("mask", "those with a mask or float32", 0.4),
    ),
    needs="torch",
    helpers=("imports-torch",),
    contents=_contents,
)
