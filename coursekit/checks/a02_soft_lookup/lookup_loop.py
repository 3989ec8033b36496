"""02.soft_lookup_loop: the soft lookup as it is told, one query and one key at a time."""

import numpy as np

from attnkit.numpy import attend, dot_scores

from ..draw import normal, readable
from ..model import Case, Contents, Exercise, Law, Mistake, Part
from ..surface import Call


def soft_lookup(query, key, value):
    """The soft lookup with plain dot scores, from the library."""
    return attend(dot_scores(query, key), value)


def _arguments(draw, random, leading, m, n, d_k, d_v, **options):
    return {
        "query": draw(random, *leading, m, d_k, **options),
        "key": draw(random, *leading, n, d_k, **options),
        "value": draw(random, *leading, n, d_v, **options),
    }


def cases(random):
    large = _arguments(normal, random, (), 2, 3, 4, 2)
    # Every score is above 4000, and they lie close together …
    large["query"] = 1000 + np.abs(large["query"])
    large["key"] = 1 + np.abs(large["key"]) / 500
    # … until one query is three times as long, and one key stands out by a thousand and more.
    apart = {name: array.copy() for name, array in large.items()}
    apart["query"][1] *= 3
    apart["key"][random.integers(3)] += 1
    return [
        Case(
            "one query, three keys of width 2, values of width 1",
            Call(_arguments(readable, random, (), 1, 3, 2, 1)),
        ),
        Case(
            "two queries, four keys of width 3, values of width 2",
            Call(_arguments(readable, random, (), 2, 4, 3, 2)),
        ),
        Case(
            "three queries, three keys of width 3, values of width 3",
            Call(_arguments(readable, random, (), 3, 3, 3, 3)),
        ),
        Case("scores in the thousands", Call(large), "care"),
        Case("scores in the thousands that lie far apart", Call(apart), "care"),
        Case(
            "whole numbers",
            Call(
                {
                    "query": random.integers(-1, 2, (2, 3)),
                    "key": random.integers(-1, 2, (4, 3)),
                    "value": random.integers(1, 9, (4, 2)),
                }
            ),
            "care",
        ),
        Case(
            "float32 numbers",
            Call(_arguments(normal, random, (), 4, 5, 3, 2, dtype=np.float32)),
            "care",
        ),
    ]


def _any_lookup(random):
    return [Call(_arguments(normal, random, (), 6, 5, 4, 3))]


def _within(requests, values):
    ((context,),) = values
    value = requests[0].arguments["value"]
    slack = 1e-9 * np.abs(value).max()
    outside = (context > value.max(axis=0) + slack) | (context < value.min(axis=0) - slack)
    if not outside.any():
        return None
    return f"{context[outside][0]:.4g} lies outside the values of its column."


def one_maximum_for_all(query, key, value):
    context = np.zeros((len(query), value.shape[1]))
    for i in range(len(query)):
        exponentials = np.exp([query[i] @ k for k in key] - (query @ key.T).max())
        for j in range(len(key)):
            context[i] += exponentials[j] / exponentials.sum() * value[j]
    return context


def mean_subtracted(query, key, value):
    context = np.zeros((len(query), value.shape[1]))
    for i in range(len(query)):
        scores = np.array([query[i] @ key[j] for j in range(len(key))])
        exponentials = np.exp(scores - scores.mean())
        for j in range(len(key)):
            context[i] += exponentials[j] / exponentials.sum() * value[j]
    return context


def largest_not_subtracted(query, key, value):
    context = np.zeros((len(query), value.shape[1]))
    for i in range(len(query)):
        exponentials = np.array([np.exp(query[i] @ key[j]) for j in range(len(key))])
        for j in range(len(key)):
            context[i] += exponentials[j] / exponentials.sum() * value[j]
    return context


def not_normalised(query, key, value):
    context = np.zeros((len(query), value.shape[1]))
    for i in range(len(query)):
        for j in range(len(key)):
            context[i] += np.exp(query[i] @ key[j]) * value[j]
    return context


def scores_as_weights(query, key, value):
    context = np.zeros((len(query), value.shape[1]))
    for i in range(len(query)):
        for j in range(len(key)):
            context[i] += query[i] @ key[j] * value[j]
    return context


def total_never_reset(query, key, value):
    context = np.zeros((len(query), value.shape[1]))
    total = 0.0
    for i in range(len(query)):
        exponentials = np.array([np.exp(query[i] @ key[j]) for j in range(len(key))])
        total += exponentials.sum()
        for j in range(len(key)):
            context[i] += exponentials[j] / total * value[j]
    return context


def hard_lookup(query, key, value):
    context = np.zeros((len(query), value.shape[1]))
    for i in range(len(query)):
        context[i] = value[np.argmax(key @ query[i])]
    return context


def overwritten(query, key, value):
    context = np.zeros((len(query), value.shape[1]))
    for i in range(len(query)):
        scores = np.array([query[i] @ key[j] for j in range(len(key))])
        exponentials = np.exp(scores - scores.max())
        for j in range(len(key)):
            context[i] = exponentials[j] / exponentials.sum() * value[j]
    return context


def keys_summed(query, key, value):
    context = np.zeros((len(query), key.shape[1]))
    for i in range(len(query)):
        scores = np.array([query[i] @ key[j] for j in range(len(key))])
        exponentials = np.exp(scores - scores.max())
        for j in range(len(key)):
            context[i] += exponentials[j] / exponentials.sum() * key[j]
    return context


def weights_returned(query, key, value):
    weights = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        scores = np.array([query[i] @ key[j] for j in range(len(key))])
        exponentials = np.exp(scores - scores.max())
        weights[i] = exponentials / exponentials.sum()
    return weights


def first_key_skipped(query, key, value):
    context = np.zeros((len(query), value.shape[1]))
    for i in range(len(query)):
        scores = np.array([query[i] @ key[j] for j in range(len(key))])
        exponentials = np.exp(scores - scores.max())
        for j in range(1, len(key)):
            context[i] += exponentials[j] / exponentials.sum() * value[j]
    return context


def array_like_the_values(query, key, value):
    context = np.zeros((len(query), value.shape[1]), dtype=value.dtype)
    for i in range(len(query)):
        scores = np.array([query[i] @ key[j] for j in range(len(key))])
        exponentials = np.exp(scores - scores.max())
        context[i] = exponentials @ value / exponentials.sum()
    return context


def nothing_subtracted_overwritten(query, key, value):
    context = np.zeros((len(query), value.shape[1]))
    for i in range(len(query)):
        exponentials = np.array([np.exp(query[i] @ key[j]) for j in range(len(key))])
        for j in range(len(key)):
            context[i] = exponentials[j] / exponentials.sum() * value[j]
    return context


MISTAKES = (
    Mistake(
        "one maximum for all queries",
        one_maximum_for_all,
        "The largest score of the whole table was subtracted from every row. A query whose scores "
        "lie far below it then has only exponentials of 0, and 0 / 0 is NaN. Each query has its own "
        "largest score.",
    ),
    Mistake(
        "the mean subtracted",
        mean_subtracted,
        "You subtract the mean score of each query. That helps when all scores are large, not when "
        "one stands far above the rest. After subtracting the *largest*, no score is above 0.",
    ),
    Mistake(
        "the largest score not subtracted",
        largest_not_subtracted,
        "The formula is right, but np.exp of a score in the thousands is infinity, and infinity / "
        "infinity is NaN. Subtract the query's largest score before the exponential: the weights "
        "stay the same.",
    ),
    Mistake(
        "not normalised",
        not_normalised,
        "The exponentials were used as weights, but they do not sum to one. Divide by their total "
        "over all keys: a context lies among the values, never outside.",
    ),
    Mistake(
        "scores used as weights",
        scores_as_weights,
        "You multiplied each value by its score. Between score and weight stands softmax: the "
        "exponential, divided by the total over the keys.",
    ),
    Mistake(
        "running total never reset",
        total_never_reset,
        "The first query is right; later ones are divided by a total that still holds the earlier "
        "ones. Start the total anew for each query.",
    ),
    Mistake(
        "a hard lookup",
        hard_lookup,
        "You return the value of the best key alone. A soft lookup mixes all values, each with its "
        "weight.",
    ),
    Mistake(
        "overwritten instead of added",
        overwritten,
        "Each key replaces what the previous one contributed, so only the last survives. The "
        "weighted values must be added up.",
    ),
    Mistake(
        "keys summed in place of values",
        keys_summed,
        "The weights are right, but they were applied to the keys. The key is the label on the "
        "spine; what you take home is the value.",
    ),
    Mistake(
        "weights returned",
        weights_returned,
        "These are the weights, one for each key. One step is missing: the sum of the values, each "
        "times its weight.",
    ),
    Mistake(
        "first key skipped",
        first_key_skipped,
        "The first key takes part in the total but not in the sum. Python counts from 0: "
        "range(1, n) leaves out the first.",
    ),
    Mistake(
        "an array of the values' type",
        array_like_the_values,
        "When the values are whole numbers, an array of the same type cuts every result down to a "
        "whole number. np.zeros(shape) without a dtype makes floats.",
    ),
    Mistake(
        "overwritten instead of added, and nothing subtracted",
        nothing_subtracted_overwritten,
        "Each key replaces what the previous one contributed, so only the last survives: add up "
        "with +=. And np.exp of a score in the thousands is infinity: subtract the query's largest "
        "score first.",
    ),
)

EXERCISE = Exercise(
    identifier="02.soft_lookup_loop",
    assignment="02_soft_lookup",
    title="A soft lookup, by loops",
    kind="loop",
    answer="soft_lookup_loop",
    points=2,
    difficulty=1,
    minutes=12,
    hints=(
        "Take one query. It has a score with every key; from these come weights, and from the "
        "weights and the values comes one row of the result.",
        "For each query: a list of scores, minus the largest; their exponentials; their total. "
        "Then start with zeros and add each value times its exponential divided by the total.",
        "For each `i`: collect `query[i] @ key[j]` over all `j` in an array, subtract its `max()`, "
        "take `np.exp`, and remember the sum. A second loop over `j` adds the `j`-th exponential, "
        "divided by that sum, times `value[j]` to `context[i]`.",
    ),
    returns=("context",),
    cases=cases,
    laws=(Law("A context lies among the values", _any_lookup, _within),),
    parts=(
        Part("plain", "the plain cases", 0.75),
        Part("care", "those with large scores, whole numbers or float32", 0.25),
    ),
    contents=lambda: Contents(soft_lookup, MISTAKES),
)
