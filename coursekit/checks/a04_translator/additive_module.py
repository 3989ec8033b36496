"""04.additive_attention: additive attention as a torch module; what it is asked, without torch itself.

The reference and the known mistakes need torch and live in `additive_module_torch`, which is
imported only when an answer is examined.
"""

from dataclasses import replace

import numpy as np

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Part
from ..surface import Forward


def _request(draw, random, batch, m, n, d_query, d_key, d_attention, d_value, keep=None, **options):
    mask = np.ones((batch, 1, n), bool) if keep is None else np.array(keep, bool)
    return Forward(
        construct={"d_query": d_query, "d_key": d_key, "d_attention": d_attention},
        state={
            "w_query": draw(random, d_query, d_attention, **options),
            "w_key": draw(random, d_key, d_attention, **options),
            "v": draw(random, d_attention, **options),
        },
        inputs={
            "query": draw(random, batch, m, d_query, **options),
            "key": draw(random, batch, n, d_key, **options),
            "value": draw(random, batch, n, d_value, **options),
            "mask": mask,
        },
        cotangent=draw(random, batch, m, d_value, **options),
    )


def cases(random):
    ragged = [[[1, 1, 1, 0]], [[1, 0, 0, 0]], [[1, 1, 1, 1]]]
    each_query = [[[1, 1, 0], [0, 1, 0]], [[1, 1, 1], [1, 0, 1]]]
    one_empty = [[[1, 1, 0]], [[0, 0, 0]]]
    return [
        Case(
            "one sentence: one query, two keys",
            _request(readable, random, 1, 1, 2, 1, 2, 2, 1),
        ),
        Case(
            "two sentences: three queries, three keys, all widths 3",
            _request(normal, random, 2, 3, 3, 3, 3, 3, 3),
        ),
        Case(
            "two sentences, all sizes different",
            _request(normal, random, 2, 3, 4, 5, 6, 7, 1),
        ),
        Case(
            "three sentences with padding",
            _request(normal, random, 3, 2, 4, 2, 3, 5, 6, ragged),
            "mask",
        ),
        Case(
            "a mask of its own for every query",
            _request(normal, random, 2, 2, 3, 2, 4, 3, 2, each_query),
            "mask",
        ),
        Case(
            "two sentences, the second without any words",
            _request(normal, random, 2, 2, 3, 2, 4, 3, 2, one_empty),
            "mask",
        ),
        Case(
            "float32 numbers",
            _request(normal, random, 2, 3, 4, 5, 6, 7, 2, dtype=np.float32),
            "mask",
        ),
    ]


def _keys_turned_round(random):
    request = _request(normal, random, 2, 3, 5, 4, 3, 6, 2)
    request = replace(request, cotangent=None)
    turned = {n: request.inputs[n][:, ::-1] for n in ("key", "value")}
    return [request, replace(request, inputs={**request.inputs, **turned})]


def _contents():
    from .additive_module_torch import MISTAKES, AdditiveAttention

    return Contents(AdditiveAttention, MISTAKES)


EXERCISE = Exercise(
    identifier="04.additive_attention",
    assignment="04_translator",
    title="Additive attention as a torch module",
    kind="module",
    answer="AdditiveAttention",
    points=4,
    difficulty=3,
    minutes=25,
    hints=(
        "The arithmetic is that of the NumPy step. New is where the parameters live: torch must "
        "know them, or it can neither save nor train them.",
        "`torch.nn.Parameter(torch.empty(rows, columns))` as an attribute makes a parameter with "
        "that name. For empty rows: the scores of masked positions may be replaced before the "
        "softmax, and the weights once more after it, by `torch.where` or `masked_fill`.",
        "Fill masked scores with a large *finite* negative number, so that no NaN arises in an "
        "empty row; take the softmax over the last axis; then fill masked *weights* with 0. Both "
        "fills pass no gradient to what they replace.",
    ),
    returns=(
        "context",
        "gradient of query",
        "gradient of key",
        "gradient of value",
        "gradient of w_query",
        "gradient of w_key",
        "gradient of v",
    ),
    cases=cases,
    laws=(
        same(
            "The order of the keys does not matter",
            _keys_turned_round,
            "with keys and values in reverse order, another context came out.",
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
