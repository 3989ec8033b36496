"""08.relative_scores_module: scores with a trained table of distances; what it is asked, without torch.

The reference and the known mistakes need torch and live in `module_torch`, which is imported only
when an answer is examined.
"""

from dataclasses import replace

import numpy as np

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Part
from ..surface import Forward


def _request(draw, random, batch, m, n, d_head, clip, **options):
    return Forward(
        construct={"d_head": d_head, "clip": clip},
        state={"table": draw(random, 2 * clip + 1, d_head, **options)},
        inputs={
            "query": draw(random, batch, m, d_head, **options),
            "key": draw(random, batch, n, d_head, **options),
        },
        cotangent=draw(random, batch, m, n, **options),
    )


def cases(random):
    return [
        Case("one sentence of two words", _request(readable, random, 1, 2, 2, 2, 1)),
        Case("two sentences, nothing clipped", _request(normal, random, 2, 4, 4, 3, 3)),
        Case("two sentences, far words clipped", _request(normal, random, 2, 5, 5, 4, 1)),
        Case("a table of one row", _request(normal, random, 2, 3, 3, 4, 0), "care"),
        Case("a table larger than the sentence", _request(normal, random, 3, 2, 2, 5, 4), "care"),
        Case("two new queries and five keys", _request(normal, random, 2, 2, 5, 3, 2), "care"),
        Case("more queries than keys", _request(normal, random, 2, 4, 2, 3, 1), "care"),
        Case("float32 numbers", _request(normal, random, 2, 4, 6, 5, 3, dtype=np.float32), "care"),
    ]


def _one_word_more(random):
    longer = replace(_request(normal, random, 2, 5, 5, 3, 2), cotangent=None)
    shorter = {name: array[:, :-1] for name, array in longer.inputs.items()}
    return [replace(longer, inputs=shorter), longer]


def _contents():
    from .module_torch import MISTAKES, RelativeScores

    return Contents(RelativeScores, MISTAKES)


EXERCISE = Exercise(
    identifier="08.relative_scores_module",
    assignment="08_position",
    title="A table of distances that learns",
    kind="module",
    answer="RelativeScores",
    points=5,
    difficulty=3,
    minutes=25,
    hints=(
        "It is the loop once more, for all pairs at once. Which row of the table does each pair "
        "read, and what shape has a table of rows looked up for all pairs?",
        "`torch.nn.Parameter(torch.zeros(2 * clip + 1, d_head))` as an attribute makes the parameter. "
        "Positions by `torch.arange`, the last m of n for the queries; their difference clipped by "
        "`.clamp`, and moved by clip; `self.table[index]` is `(m, n, d_head)`.",
        "The score of a pair is its query times its key plus its query times its vector. The first "
        "is `query @ key.transpose(-1, -2)`; the second is a sum over the last axis of "
        "`query[:, :, None] * vectors`. Divide their sum by the root of `query.shape[-1]`.",
    ),
    returns=("scores", "gradient of query", "gradient of key", "gradient of table"),
    cases=cases,
    laws=(
        same(
            "A further word changes nothing between the earlier ones",
            _one_word_more,
            "in a longer sentence the earlier words have other scores.",
            undo=lambda scores: scores[:, :-1, :-1],
        ),
    ),
    parts=(
        Part("plain", "the cases with one kind of sentence", 0.4),
        Part("care", "those with few queries, small and large tables, or float32", 0.6),
    ),
    needs="torch",
    helpers=("imports-torch",),
    contents=_contents,
)
