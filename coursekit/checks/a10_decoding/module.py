"""10.cached_self_attention: a torch module that keeps keys and values; asked here without torch itself.

The reference and the known mistakes need torch and live in `module_torch`, which is imported only
when an answer is examined.
"""

from dataclasses import replace

import numpy as np

from ..compare import TOLERANCE, same_values
from ..draw import normal, readable
from ..model import Case, Contents, Exercise, Law, Part
from ..surface import Forward


def _request(draw, random, batch, capacity, length, m, d_model, d_k, d_v, **options):
    """A cache with `length` rows, and behind them what an earlier text has left; m new tokens."""
    return Forward(
        construct={
            "batch": batch,
            "capacity": capacity,
            "d_model": d_model,
            "d_k": d_k,
            "d_v": d_v,
        },
        state={
            "w_query": draw(random, d_model, d_k, **options),
            "w_key": draw(random, d_model, d_k, **options),
            "w_value": draw(random, d_model, d_v, **options),
            "key_room": draw(random, batch, capacity, d_k, **options),
            "value_room": draw(random, batch, capacity, d_v, **options),
            "length": np.array(length),
        },
        inputs={"x": draw(random, batch, m, d_model, **options)},
        cotangent=draw(random, batch, m, d_v, **options),
    )


def cases(random):
    return [
        Case("one new token and two stored rows", _request(readable, random, 1, 4, 2, 1, 2, 2, 1)),
        Case("two tokens and an empty cache", _request(normal, random, 1, 5, 0, 2, 3, 3, 3)),
        Case(
            "two sequences, one new token, five stored rows",
            _request(normal, random, 2, 8, 5, 1, 4, 3, 6),
        ),
        Case(
            "two sequences, three new tokens, two stored rows",
            _request(normal, random, 2, 9, 2, 3, 4, 5, 2),
            "chunk",
        ),
        Case(
            "three new tokens that fill the cache",
            _request(normal, random, 2, 6, 3, 3, 3, 2, 4),
            "chunk",
        ),
        Case(
            "float32 numbers",
            _request(normal, random, 2, 7, 3, 2, 6, 5, 3, dtype=np.float32),
            "chunk",
        ),
        Case(
            "three calls in a row, with 2, 1 and 3 new tokens",
            replace(
                _request(normal, random, 2, 9, 1, 6, 4, 3, 2), cotangent=None, pieces=(2, 1, 3)
            ),
            "chunk",
        ),
    ]


def _two_at_once(random):
    """Two new tokens; then the second alone, with the first stored."""
    both = replace(_request(normal, random, 2, 6, 2, 2, 4, 3, 5), cotangent=None)
    state, x = dict(both.state), both.inputs["x"]
    for room, weight in (("key_room", "w_key"), ("value_room", "w_value")):
        state[room] = state[room].copy()
        state[room][:, 2] = x[:, 0] @ state[weight]
    state["length"] = np.array(3)
    return [both, replace(both, state=state, inputs={"x": x[:, 1:]})]


def _broken_two_at_once(requests, values):
    (both,), (second,) = values
    if same_values(both[:, 1:], second, TOLERANCE["float64"]):
        return None
    return "the second of two new tokens got another output when the first came from the cache."


def _contents():
    from .module_torch import MISTAKES, CachedSelfAttention

    return Contents(CachedSelfAttention, MISTAKES)


EXERCISE = Exercise(
    identifier="10.cached_self_attention",
    assignment="10_decoding",
    title="Self-attention with a cache, as a torch module",
    kind="module",
    answer="CachedSelfAttention",
    points=5,
    difficulty=3,
    minutes=30,
    hints=(
        "Two exercises from above meet here: new rows are written behind the stored ones, and the new "
        "queries attend to all rows stored by then. What belongs to the parameters, and what does not?",
        "A parameter is trained; a room is only kept. `self.register_buffer(name, tensor)` makes a "
        "tensor part of the state that no optimiser sees. Write the projected rows into the rooms, "
        "read the first `end` rows of both, and hide from query i what stands after position "
        "`length + i`.",
        "In `forward`: `length = int(self.length)`, `end = length + x.shape[1]`; assign to "
        "`self.key_room[:, length:end]` and to the other room; take `[:, :end]` of both; scores, scaled; "
        "`masked_fill` where `torch.arange(end)` is larger than "
        "`length + torch.arange(x.shape[1])[:, None]`; softmax; product. At last "
        "`self.length.fill_(end)`.",
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
        Law(
            "It does not matter which tokens came from the cache",
            _two_at_once,
            _broken_two_at_once,
            "chunk",
        ),
    ),
    parts=(
        Part("plain", "the cases with one new token or an empty cache", 0.6),
        Part(
            "chunk", "those with several new tokens and stored rows, several calls, or float32", 0.4
        ),
    ),
    needs="torch",
    helpers=("imports-torch",),
    contents=_contents,
)
