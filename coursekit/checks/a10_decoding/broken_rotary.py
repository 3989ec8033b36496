"""10.counterexample and 10.rotary_step: rotary positions that begin at 0 again in every call.

The faulty program is handed out in a locked cell. Learners first find arrays on which it shows
(a test, written as data), then write the program as it should be.
"""

import numpy as np

from attnkit.numpy import rotary as library_rotary
from attnkit.numpy import scaled_dot_product_attention

from ..compare import TOLERANCE, same_values
from ..draw import normal, readable
from ..judges import shows
from ..model import Case, Contents, Exercise, Finding, Law, Mistake, Part
from ..surface import Call
from .given import faulty_rotary_step, rotary, softmax


def rotary_step(query, key, value, past_key, past_value):
    """The program as it should be, by the library."""
    positions = len(past_key) + np.arange(len(query))
    query, key = (library_rotary(x, positions) for x in (query, key))
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    return scaled_dot_product_attention(query, key, value, causal=True)


# ---------------------------------------------------------------- the counterexample


def a_counterexample():
    """Arrays on which the fault shows."""
    one = np.array([[1.0, 0.0]])
    return 3 * one, one, np.array([[1.0]]), one, np.array([[0.0]])


def judge_counterexample(request, value):
    """Whether the faulty program runs and differs from a right one on `value`."""
    names = ("query", "key", "value", "past_key", "past_value")
    for name, array in zip(names, value, strict=True):
        if array.ndim != 2:
            return Finding(
                "shape",
                f"{name} of {array.ndim} axes",
                f"expected {name} to be a table of two axes, a row for each token, got shape "
                f"{array.shape}.",
            )
        if array.dtype.kind not in "fiu":
            return Finding("dtype", name, f"expected numbers in {name}, got {array.dtype}.")
        if not np.isfinite(array).all():
            return Finding("finite", name, f"every number in {name} must be finite.")
    query, key, new_value, past_key, past_value = value
    if query.shape != key.shape or len(new_value) != len(key):
        return Finding(
            "shape",
            "new tokens",
            f"expected a query, a key and a value for each new token, query and key equally wide; got "
            f"query {query.shape}, key {key.shape}, value {new_value.shape}.",
        )
    if (
        len(past_value) != len(past_key)
        or past_key.shape[1] != key.shape[1]
        or past_value.shape[1] != new_value.shape[1]
    ):
        return Finding(
            "shape",
            "old tokens",
            f"expected a key and a value for each old token, as wide as those of the new ones; got "
            f"past_key {past_key.shape} and past_value {past_value.shape} beside key {key.shape} and "
            f"value {new_value.shape}.",
        )
    if query.shape[1] % 2 or query.shape[1] == 0:
        return Finding(
            "shape",
            "odd width",
            f"expected queries and keys of an even width, because rotary turns pairs of numbers; got "
            f"a width of {query.shape[1]}.",
        )
    if len(query) == 0 or new_value.shape[1] == 0:
        return Finding("value", "empty", "without new tokens and values there is nothing to see.")
    given = [array.astype(float) for array in value]
    if shows(rotary_step(*given), faulty_rotary_step(*given)):
        return None
    values = np.concatenate(given[2::2])
    code = (
        "empty cache"
        if len(past_key) == 0
        else "equal values"
        if (values == values[0]).all()
        else "queries of zeros"
        if not query.any()
        else "old keys of zeros"
        if not past_key.any()
        else "the same"
    )
    return Finding(
        "value",
        code,
        "on these arrays the faulty program and a right one give the same output, so a test with "
        "them would let the fault through.",
    )


def empty_cache():
    x = np.array([[1.0, 0.0], [0.5, 2.0]])
    return x, x, x, np.zeros((0, 2)), np.zeros((0, 2))


def equal_values():
    x = np.array([[1.0, 0.0], [0.5, 2.0]])
    return x, x, np.ones((2, 1)), x, np.ones((2, 1))


def zero_queries():
    x = np.array([[1.0, 0.0], [0.5, 2.0]])
    return np.zeros((2, 2)), x, np.array([[1.0], [2.0]]), x, np.array([[3.0], [4.0]])


def odd_width():
    x = np.array([[1.0, 0.0, 2.0]])
    return x, x, np.array([[1.0]]), -x, np.array([[2.0]])


def vectors_for_tables():
    x = np.array([1.0, 0.0])
    return x, x, np.array([1.0]), x, np.array([2.0])


def a_batch_axis():
    x = np.array([[[1.0, 0.0]]])
    return x, x, x, x, 2 * x


def old_queries_too():
    x = np.array([[1.0, 0.0], [0.5, 2.0]])
    return x, x[1:], np.array([[1.0]]), x[:1], np.array([[2.0]])


def values_of_two_widths():
    x = np.array([[1.0, 0.0]])
    return x, x, np.array([[1.0, 2.0]]), x, np.array([[2.0]])


def new_tokens_alone():
    x = np.array([[1.0, 0.0], [0.5, 2.0]])
    return x, x, np.array([[1.0], [2.0]])


def no_new_tokens():
    x = np.array([[1.0, 0.0]])
    return x[:0], x[:0], x[:0], x, x


def infinite_numbers():
    x = np.array([[1.0, 0.0]])
    return np.inf * np.ones((1, 2)), x, x, x, 2 * x


def old_keys_of_zeros():
    x = np.array([[1.0, 0.0]])
    return x, x, np.array([[1.0]]), np.zeros((1, 2)), np.array([[2.0]])


COUNTEREXAMPLE_MISTAKES = (
    Mistake(
        "an empty cache",
        empty_cache,
        "With an empty cache the first new token does stand at position 0. This is how the fault "
        "gets through tests: they read the text in one call. Put something into the cache.",
    ),
    Mistake(
        "equal values",
        equal_values,
        "All values are equal, so every weighted mean of them is that value, whatever the weights. "
        "Give the tokens different values.",
    ),
    Mistake(
        "queries of zeros",
        zero_queries,
        "A query of zeros stays one however it is turned, and all its scores are 0. Give the new "
        "tokens queries.",
    ),
    Mistake(
        "an odd width",
        odd_width,
        "Rotary turns pairs. Take queries and keys of width 2.",
    ),
    Mistake(
        "vectors in place of tables",
        vectors_for_tables,
        "One token is a table with one row. Put a second pair of brackets around it.",
    ),
    Mistake(
        "a batch axis",
        a_batch_axis,
        "The program takes a single sequence: two axes, tokens and width. Leave the batch out.",
    ),
    Mistake(
        "queries of old tokens",
        old_queries_too,
        "There are more queries than new keys. Only new tokens have queries; those of the old ones "
        "are not kept, because nobody needs them again.",
    ),
    Mistake(
        "values of two widths",
        values_of_two_widths,
        "New values are joined behind the old ones, so they must be equally wide.",
    ),
    Mistake(
        "the new tokens alone",
        new_tokens_alone,
        "The program takes five arrays. Two of them are what the cache holds: past_key and "
        "past_value.",
    ),
    Mistake(
        "no new tokens",
        no_new_tokens,
        "Without a new token nothing is asked, so nothing can be wrong.",
    ),
    Mistake(
        "numbers that are not finite",
        infinite_numbers,
        "With infinite numbers any program gives NaN. The fault must show on numbers that could "
        "occur.",
    ),
    Mistake(
        "old keys of zeros",
        old_keys_of_zeros,
        "The score with a key of zeros is 0 wherever the query stands, and among the new tokens "
        "all distances are right. Give the old tokens keys.",
    ),
)

COUNTEREXAMPLE = Exercise(
    identifier="10.counterexample",
    assignment="10_decoding",
    title="Find arrays on which the fault shows",
    kind="counterexample",
    answer="counterexample",
    points=2,
    difficulty=2,
    minutes=10,
    hints=(
        "The program was tested by reading whole texts in one call, and passed. What is different "
        "when a text is read in two?",
        "At which position does the first new token stand, and at which does the program believe "
        "it to stand? Between which tokens is the distance then wrong, and between which is it "
        "right all the same? The weights must change, and the output must show it.",
        "One new token and one old one are enough. Give both the same key, such as [1, 0], the query "
        "the same direction, and the two tokens different values: 0 and 1, say.",
    ),
    returns=("query", "key", "value", "past_key", "past_value"),
    cases=lambda random: [Case("your arrays", Call())],
    judge=judge_counterexample,
    contents=lambda: Contents(a_counterexample, COUNTEREXAMPLE_MISTAKES),
)


# ---------------------------------------------------------------- the mended program


def _text(draw, random, length, d, d_v):
    """Queries, keys and values of a whole text, before any turning."""
    return draw(random, length, d), draw(random, length, d), draw(random, length, d_v)


def _after(text, cut):
    """The call that reads what follows the first `cut` tokens, which a right program has stored."""
    query, key, value = text
    return Call(
        {
            "query": query[cut:],
            "key": key[cut:],
            "value": value[cut:],
            "past_key": library_rotary(key[:cut], np.arange(cut)),
            "past_value": value[:cut],
        }
    )


def cases(random):
    return [
        Case("one new token and two old ones", _after(_text(readable, random, 3, 2, 1), 2)),
        Case("one new token and six old ones", _after(_text(normal, random, 7, 4, 3), 6)),
        Case("three tokens and an empty cache", _after(_text(normal, random, 3, 4, 2), 0)),
        Case(
            "two new tokens and three old ones", _after(_text(normal, random, 5, 2, 3), 3), "chunk"
        ),
        Case(
            "four new tokens and two old ones", _after(_text(normal, random, 6, 6, 4), 2), "chunk"
        ),
        Case("as many new tokens as old ones", _after(_text(normal, random, 6, 4, 2), 3), "chunk"),
    ]


def _every_boundary(random):
    text = _text(normal, random, 6, 4, 3)
    return [_after(text, cut) for cut in range(6)]


def _broken_boundary(requests, values):
    (whole,), *rest = values
    for cut, (after,) in enumerate(rest, start=1):
        if not same_values(whole[cut:], after, TOLERANCE["float64"]):
            return (
                f"six tokens at once gave other outputs than {cut} of them from a cache and "
                f"{6 - cut} new."
            )
    return None


def as_it_was(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    positions = np.arange(m)
    query, key = rotary(query, positions), rotary(key, positions)
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]
    scores = query @ key.T / np.sqrt(key.shape[-1])
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def old_keys_turned_again(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    query, key = rotary(query, n_past + np.arange(m)), rotary(key, np.arange(n_past + m))
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]
    scores = query @ key.T / np.sqrt(key.shape[-1])
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def queries_moved_only(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    query, key = rotary(query, n_past + np.arange(m)), rotary(key, np.arange(m))
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]
    scores = query @ key.T / np.sqrt(key.shape[-1])
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def keys_moved_only(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    query, key = rotary(query, np.arange(m)), rotary(key, n_past + np.arange(m))
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]
    scores = query @ key.T / np.sqrt(key.shape[-1])
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def one_position_late(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    positions = n_past + 1 + np.arange(m)
    query, key = rotary(query, positions), rotary(key, positions)
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]
    scores = query @ key.T / np.sqrt(key.shape[-1])
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def one_position_for_all(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    positions = np.full(m, n_past)
    query, key = rotary(query, positions), rotary(key, positions)
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]
    scores = query @ key.T / np.sqrt(key.shape[-1])
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def moved_the_other_way(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    positions = np.arange(m) - n_past
    query, key = rotary(query, positions), rotary(key, positions)
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]
    scores = query @ key.T / np.sqrt(key.shape[-1])
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def moved_by_the_new(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    positions = m + np.arange(m)
    query, key = rotary(query, positions), rotary(key, positions)
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]
    scores = query @ key.T / np.sqrt(key.shape[-1])
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def mask_in_the_wrong_corner(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    positions = n_past + np.arange(m)
    query, key = rotary(query, positions), rotary(key, positions)
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    allowed = np.arange(n_past + m) <= np.arange(m)[:, None]
    scores = query @ key.T / np.sqrt(key.shape[-1])
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def mask_dropped(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    positions = n_past + np.arange(m)
    query, key = rotary(query, positions), rotary(key, positions)
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    return softmax(query @ key.T / np.sqrt(key.shape[-1])) @ value


def not_turned_at_all(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]
    scores = query @ key.T / np.sqrt(key.shape[-1])
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def values_turned_too(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    positions = n_past + np.arange(m)
    query, key = rotary(query, positions), rotary(key, positions)
    if value.shape[1] % 2 == 0:
        value = rotary(value, positions)
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]
    scores = query @ key.T / np.sqrt(key.shape[-1])
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def one_position_early(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    positions = n_past - 1 + np.arange(m)
    query, key = rotary(query, positions), rotary(key, positions)
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]
    scores = query @ key.T / np.sqrt(key.shape[-1])
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def scale_lost(query, key, value, past_key, past_value):
    m, n_past = len(query), len(past_key)
    positions = n_past + np.arange(m)
    query, key = rotary(query, positions), rotary(key, positions)
    key, value = np.concatenate([past_key, key]), np.concatenate([past_value, value])
    allowed = np.arange(n_past + m) <= n_past + np.arange(m)[:, None]
    scores = query @ key.T
    return softmax(np.where(allowed, scores, -np.inf)) @ value


MENDED_MISTAKES = (
    Mistake(
        "as it was",
        as_it_was,
        "In every call the new tokens are counted from 0 again. They follow the tokens in the cache: "
        "the first of them stands at position n_past.",
    ),
    Mistake(
        "old keys turned again",
        old_keys_turned_again,
        "The positions are right, but the keys in the cache were turned when they came in, and now "
        "they are turned a second time. Turn the new ones only, before they are joined.",
    ),
    Mistake(
        "only the queries moved",
        queries_moved_only,
        "The queries stand where they should, and the new keys still begin at position 0. Both "
        "belong to the same tokens.",
    ),
    Mistake(
        "only the keys moved",
        keys_moved_only,
        "The new keys stand where they should, and the queries still begin at position 0. Both "
        "belong to the same tokens.",
    ),
    Mistake(
        "one position late",
        one_position_late,
        "You left out a position. The old tokens stand at 0 to n_past - 1, so the first new one "
        "stands at n_past. (With an empty cache this does not show, for only distances count.)",
    ),
    Mistake(
        "one position for all",
        one_position_for_all,
        "All new tokens stand at the same position. They follow each other, at n_past, n_past + 1, and so on.",
    ),
    Mistake(
        "moved the other way",
        moved_the_other_way,
        "You moved the new tokens in front of the old ones. Add n_past, do not subtract it.",
    ),
    Mistake(
        "moved by the number of new tokens",
        moved_by_the_new,
        "The new tokens come after the *old* ones: count those, len(past_key).",
    ),
    Mistake(
        "the mask in the wrong corner",
        mask_in_the_wrong_corner,
        "The positions are mended, but now the mask is wrong: query i may see keys up to n_past + i. "
        "It was right before.",
    ),
    Mistake(
        "the mask dropped",
        mask_dropped,
        "The positions are mended, but the mask is gone, and of several new tokens the first sees "
        "the second.",
    ),
    Mistake(
        "not turned at all",
        not_turned_at_all,
        "Without turning, the new tokens know nothing about distances, and the keys in the cache are "
        "turned all the same.",
    ),
    Mistake(
        "values turned too",
        values_turned_too,
        "Rotary is for queries and keys, whose product shall depend on the distance. Values are what "
        "is summed; leave them.",
    ),
    Mistake(
        "one position early",
        one_position_early,
        "Your first new token stands where the last old one does. The old tokens stand at 0 to "
        "n_past - 1, so the first new one stands at n_past.",
    ),
    Mistake(
        "the scale lost",
        scale_lost,
        "The positions are mended, but the scores are no longer divided by the square root of the "
        "width. That was right before.",
    ),
)

MENDED = Exercise(
    identifier="10.rotary_step",
    assignment="10_decoding",
    title="Mend the program",
    kind="mended",
    answer="rotary_step",
    points=2,
    difficulty=2,
    minutes=8,
    hints=(
        "One line is wrong. It is not the one with the mask.",
        "The keys in the cache were turned by their own positions, 0 to n_past - 1. By which "
        "positions must the new queries and keys be turned, so that distances are right?",
        "The new tokens stand at n_past, n_past + 1, and so on: `positions` must begin there. "
        "All else may stay.",
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
        Part("plain", "the cases with one new token or an empty cache", 0.5),
        Part("chunk", "those with several new tokens and old ones", 0.5),
    ),
    helpers=("imports", "softmax", "rotary"),
    contents=lambda: Contents(rotary_step, MENDED_MISTAKES),
)
