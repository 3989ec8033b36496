"""10.cached_attention: a new chunk of tokens attends to itself and to what the cache holds."""

import numpy as np

from attnkit.numpy import scaled_dot_product_attention

from ..compare import TOLERANCE, same_values
from ..draw import normal, readable
from ..model import Case, Contents, Exercise, Law, Mistake, Part
from ..surface import Call
from .given import softmax


def cached_attention(query, key, value, past_key, past_value):
    """Causal attention of the last positions, by the library."""
    key = np.concatenate([past_key, key], axis=-2)
    value = np.concatenate([past_value, value], axis=-2)
    return scaled_dot_product_attention(query, key, value, causal=True)


def _request(draw, random, leading, n_past, m, d_k, d_v, **options):
    return Call(
        {
            "query": draw(random, *leading, m, d_k, **options),
            "key": draw(random, *leading, m, d_k, **options),
            "value": draw(random, *leading, m, d_v, **options),
            "past_key": draw(random, *leading, n_past, d_k, **options),
            "past_value": draw(random, *leading, n_past, d_v, **options),
        }
    )


def cases(random):
    return [
        Case("one new token and two old ones", _request(readable, random, (), 2, 1, 2, 2)),
        Case("one new token and five old ones", _request(normal, random, (), 5, 1, 4, 3)),
        Case("four tokens and an empty cache", _request(normal, random, (), 0, 4, 3, 2)),
        Case(
            "two new tokens and three old ones", _request(readable, random, (), 3, 2, 2, 1), "chunk"
        ),
        Case(
            "three new tokens and three old ones", _request(normal, random, (), 3, 3, 2, 3), "chunk"
        ),
        Case("four new tokens and one old one", _request(normal, random, (), 1, 4, 3, 2), "chunk"),
        Case(
            "two sequences, three heads, three new tokens and four old ones",
            _request(normal, random, (2, 3), 4, 3, 5, 2),
            "chunk",
        ),
        Case(
            "numbers up to a few hundred",
            _request(lambda *of: 40 * normal(*of), random, (), 3, 2, 4, 3),
            "chunk",
        ),
        Case(
            "float32 numbers",
            _request(normal, random, (2,), 3, 2, 4, 3, dtype=np.float32),
            "chunk",
        ),
    ]


def _every_boundary(random):
    """Six tokens at once, and then what follows each of the five boundaries."""
    whole = _request(normal, random, (), 0, 6, 3, 4)
    given = {name: whole.arguments[name] for name in ("query", "key", "value")}
    rest = [
        Call(
            {
                **{name: array[cut:] for name, array in given.items()},
                "past_key": given["key"][:cut],
                "past_value": given["value"][:cut],
            }
        )
        for cut in range(1, 6)
    ]
    return [whole, *rest]


def _broken_boundary(requests, values):
    (whole,), *rest = values
    for cut, (after,) in enumerate(rest, start=1):
        if not same_values(whole[cut:], after, TOLERANCE["float64"]):
            return (
                f"six tokens at once gave other outputs than {cut} of them from a cache and "
                f"{6 - cut} new."
            )
    return None


def wrong_corner(query, key, value, past_key, past_value):
    key = np.concatenate([past_key, key], axis=-2)
    value = np.concatenate([past_value, value], axis=-2)
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    allowed = np.tri(*scores.shape[-2:], dtype=bool)
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def no_mask(query, key, value, past_key, past_value):
    key = np.concatenate([past_key, key], axis=-2)
    value = np.concatenate([past_value, value], axis=-2)
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    return softmax(scores) @ value


def past_ignored(query, key, value, past_key, past_value):
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    allowed = np.tri(*scores.shape[-2:], dtype=bool)
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def past_alone(query, key, value, past_key, past_value):
    scores = query @ np.swapaxes(past_key, -1, -2) / np.sqrt(key.shape[-1])
    return softmax(scores) @ past_value


def not_at_itself(query, key, value, past_key, past_value):
    n_past, m = past_key.shape[-2], key.shape[-2]
    key = np.concatenate([past_key, key], axis=-2)
    value = np.concatenate([past_value, value], axis=-2)
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    allowed = np.tri(m, n_past + m, n_past - 1, dtype=bool)
    return softmax(np.where(allowed, scores, -1e9)) @ value


def one_too_far(query, key, value, past_key, past_value):
    n_past, m = past_key.shape[-2], key.shape[-2]
    key = np.concatenate([past_key, key], axis=-2)
    value = np.concatenate([past_value, value], axis=-2)
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    allowed = np.tri(m, n_past + m, n_past + 1, dtype=bool)
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def past_behind(query, key, value, past_key, past_value):
    n_past, m = past_key.shape[-2], key.shape[-2]
    key = np.concatenate([key, past_key], axis=-2)
    value = np.concatenate([value, past_value], axis=-2)
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    allowed = np.tri(m, n_past + m, n_past, dtype=bool)
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def values_in_another_order(query, key, value, past_key, past_value):
    n_past, m = past_key.shape[-2], key.shape[-2]
    key = np.concatenate([past_key, key], axis=-2)
    value = np.concatenate([value, past_value], axis=-2)
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    allowed = np.tri(m, n_past + m, n_past, dtype=bool)
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def scale_forgotten(query, key, value, past_key, past_value):
    n_past, m = past_key.shape[-2], key.shape[-2]
    key = np.concatenate([past_key, key], axis=-2)
    value = np.concatenate([past_value, value], axis=-2)
    scores = query @ np.swapaxes(key, -1, -2)
    allowed = np.tri(m, n_past + m, n_past, dtype=bool)
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def two_softmaxes(query, key, value, past_key, past_value):
    old = query @ np.swapaxes(past_key, -1, -2) / np.sqrt(key.shape[-1])
    new = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    new = np.where(np.tri(*new.shape[-2:], dtype=bool), new, -np.inf)
    if old.shape[-1] == 0:
        return softmax(new) @ value
    return softmax(old) @ past_value + softmax(new) @ value


def hidden_after_the_softmax(query, key, value, past_key, past_value):
    n_past, m = past_key.shape[-2], key.shape[-2]
    key = np.concatenate([past_key, key], axis=-2)
    value = np.concatenate([past_value, value], axis=-2)
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    allowed = np.tri(m, n_past + m, n_past, dtype=bool)
    return softmax(scores) * allowed @ value


def joined_along_the_first_axis(query, key, value, past_key, past_value):
    n_past, m = past_key.shape[-2], key.shape[-2]
    key = np.concatenate([past_key, key])
    value = np.concatenate([past_value, value])
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    allowed = np.tri(m, n_past + m, n_past, dtype=bool)
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def last_token_only(query, key, value, past_key, past_value):
    key = np.concatenate([past_key, key], axis=-2)
    value = np.concatenate([past_value, value], axis=-2)
    scores = query[..., -1:, :] @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    return softmax(scores) @ value


def not_at_itself_and_nothing_to_see(query, key, value, past_key, past_value):
    n_past, m = past_key.shape[-2], key.shape[-2]
    key = np.concatenate([past_key, key], axis=-2)
    value = np.concatenate([past_value, value], axis=-2)
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    allowed = np.tri(m, n_past + m, n_past - 1, dtype=bool)
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def zero_for_the_hidden(query, key, value, past_key, past_value):
    n_past, m = past_key.shape[-2], key.shape[-2]
    key = np.concatenate([past_key, key], axis=-2)
    value = np.concatenate([past_value, value], axis=-2)
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    allowed = np.tri(m, n_past + m, n_past, dtype=bool)
    return softmax(np.where(allowed, scores, 0.0)) @ value


def root_of_the_values_width(query, key, value, past_key, past_value):
    n_past, m = past_key.shape[-2], key.shape[-2]
    key = np.concatenate([past_key, key], axis=-2)
    value = np.concatenate([past_value, value], axis=-2)
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(value.shape[-1])
    allowed = np.tri(m, n_past + m, n_past, dtype=bool)
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def root_of_the_number_of_keys(query, key, value, past_key, past_value):
    n_past, m = past_key.shape[-2], key.shape[-2]
    key = np.concatenate([past_key, key], axis=-2)
    value = np.concatenate([past_value, value], axis=-2)
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-2])
    allowed = np.tri(m, n_past + m, n_past, dtype=bool)
    return softmax(np.where(allowed, scores, -np.inf)) @ value


MISTAKES = (
    Mistake(
        "the wrong corner",
        wrong_corner,
        "With an empty cache this is right. With old tokens your first query stands at the very "
        "first key, and sees it alone. The queries are the *last* m positions: query i may see the "
        "keys up to n_past + i.",
    ),
    Mistake(
        "no mask",
        no_mask,
        "One new token may see everything, so without a mask it comes out right. Of several new "
        "tokens the first must not see the second: within the chunk a mask is needed.",
    ),
    Mistake(
        "the cache ignored",
        past_ignored,
        "The new tokens see each other and nothing else. Old keys and values come first, then the "
        "new ones: join them before the scores.",
    ),
    Mistake(
        "the new tokens left out",
        past_alone,
        "The new tokens see the cache only. A token sees itself too, and the new ones before it.",
    ),
    Mistake(
        "no look at itself",
        not_at_itself,
        "Each query sees what came before it and not its own position. Query i stands at position "
        "n_past + i and may see the key there: <=, not <.",
    ),
    Mistake(
        "one key too far",
        one_too_far,
        "Each query sees one token of the future. Query i stands at position n_past + i, counted "
        "from 0, and that is the last key it may see.",
    ),
    Mistake(
        "old tokens behind the new",
        past_behind,
        "You joined the arrays in the wrong order. Old tokens come first; with the new ones in front "
        "the mask hides the wrong keys.",
    ),
    Mistake(
        "values in another order than keys",
        values_in_another_order,
        "Keys stand old before new, values new before old. Each weight then meets another token's "
        "value.",
    ),
    Mistake(
        "the scale forgotten",
        scale_forgotten,
        "The scores are not scaled: divide by the square root of d_k, the width of queries and keys.",
    ),
    Mistake(
        "two softmaxes",
        two_softmaxes,
        "Old and new keys each got a softmax of their own, so all weights together sum to two. They "
        "compete with each other: one softmax over all keys that may be seen.",
    ),
    Mistake(
        "hidden after the softmax",
        hidden_after_the_softmax,
        "Hidden weights were set to 0 after the softmax. They have taken their share by then, and the "
        "rest sums to less than one: hide the scores before it.",
    ),
    Mistake(
        "joined along the first axis",
        joined_along_the_first_axis,
        "np.concatenate joins along the first axis unless told otherwise; with leading axes that is "
        "the batch. Positions are the last axis but one: axis=-2.",
    ),
    Mistake(
        "the last token only",
        last_token_only,
        "Only the last new token got an output. To choose the next token no more is needed; but in "
        "a network with several layers the next layer needs all of them. A row for each query.",
    ),
    Mistake(
        "no look at itself, and nothing to see",
        not_at_itself_and_nothing_to_see,
        "Each query sees what came before it and not its own position. The first token of a text "
        "then sees nothing at all: NaN. Query i may see the keys up to n_past + i, this one "
        "included.",
    ),
    Mistake(
        "a score of 0 for the hidden",
        zero_for_the_hidden,
        "What a query may not see got the score 0, and exp(0) is 1: a weight like others. The "
        "score that gets no weight is -infinity.",
    ),
    Mistake(
        "the root of the values' width",
        root_of_the_values_width,
        "You divide by the square root of d_v. A score is a sum over the components of query and "
        "key, and these have width d_k.",
    ),
    Mistake(
        "the root of the number of keys",
        root_of_the_number_of_keys,
        "You divide by the square root of the number of keys. A score is a sum over the d_k "
        "components of query and key: that is the width that counts, key.shape[-1].",
    ),
)

EXERCISE = Exercise(
    identifier="10.cached_attention",
    assignment="10_decoding",
    title="Attention with a cache",
    kind="vectorised",
    answer="cached_attention",
    points=5,
    difficulty=2,
    minutes=20,
    hints=(
        "With three old tokens and two new ones: which keys may the first new query see, and which "
        "the second? Draw the table.",
        "Join old and new keys along axis -2, and values likewise. Query i stands at position "
        "n_past + i and may see keys at positions up to that, itself included. What it may not see "
        "gets the score -inf before the softmax.",
        "With `n_past = past_key.shape[-2]` and `m = query.shape[-2]`, a column "
        "`n_past + np.arange(m)[:, None]` holds the positions of the queries and a row "
        "`np.arange(n_past + m)` those of the keys. Compare them, and use `np.where` on the scaled "
        "scores.",
    ),
    returns=("output",),
    cases=cases,
    laws=(
        Law(
            "It does not matter how many of the tokens came from the cache",
            _every_boundary,
            _broken_boundary,
            "chunk",
        ),
    ),
    parts=(
        Part("plain", "the cases with one new token or an empty cache", 0.4),
        Part("chunk", "those with several new tokens and old ones", 0.6),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(cached_attention, MISTAKES),
)
