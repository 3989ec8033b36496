"""02.soft_lookup: query, key and value without loops, for any leading axes."""

import numpy as np

from attnkit.numpy import attend, dot_scores

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
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
            "two queries, three keys of width 2, values of width 1",
            Call(_arguments(readable, random, (), 2, 3, 2, 1)),
        ),
        Case(
            "three queries, three keys of width 3, values of width 3",
            Call(_arguments(readable, random, (), 3, 3, 3, 3)),
        ),
        Case(
            "four queries, five keys of width 6, values of width 3",
            Call(_arguments(normal, random, (), 4, 5, 6, 3)),
        ),
        Case("scores in the thousands", Call(large), "care"),
        Case("scores in the thousands that lie far apart", Call(apart), "care"),
        Case(
            "a batch of two",
            Call(_arguments(readable, random, (2,), 2, 3, 2, 2)),
            "care",
        ),
        Case(
            "leading axes (2, 3) and float32 numbers",
            Call(_arguments(normal, random, (2, 3), 4, 5, 6, 2, dtype=np.float32)),
            "care",
        ),
    ]


def _keys_reordered(random):
    query, key, value = _arguments(normal, random, (), 3, 5, 4, 2).values()
    order = random.permutation(5)
    return [
        Call({"query": query, "key": key, "value": value}),
        Call({"query": query, "key": key[order], "value": value[order]}),
    ]


def _values_doubled(random):
    arguments = _arguments(normal, random, (), 3, 5, 4, 2)
    return [Call(arguments), Call({**arguments, "value": 2 * arguments["value"]})]


def weights_returned(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def a_pair_returned(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights @ value, weights


def queries_compete(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2)
    exponentials = np.exp(scores - scores.max(axis=-2, keepdims=True))
    return exponentials / exponentials.sum(axis=-2, keepdims=True) @ value


def one_total_for_all(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2)
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum() @ value


def no_softmax(query, key, value):
    return query @ np.swapaxes(key, -1, -2) @ value


def not_normalised(query, key, value):
    return np.exp(query @ np.swapaxes(key, -1, -2)) @ value


def one_maximum_for_all(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2)
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value


def mean_subtracted(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2)
    exponentials = np.exp(scores - scores.mean(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value


def largest_not_subtracted(query, key, value):
    exponentials = np.exp(query @ np.swapaxes(key, -1, -2))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value


def plain_mean(query, key, value):
    mean = value.mean(axis=-2, keepdims=True)
    return np.repeat(mean, query.shape[-2], axis=-2)


def hard_lookup(query, key, value):
    best = (query @ np.swapaxes(key, -1, -2)).argmax(axis=-1)
    return np.take_along_axis(value, best[..., None], axis=-2)


def keys_summed(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ key


def plain_transpose(query, key, value):
    scores = query @ key.T
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value


def scaled_already(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value


def key_and_value_exchanged(query, key, value):
    scores = query @ np.swapaxes(value, -1, -2)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ key


def nothing_subtracted_plain_transpose(query, key, value):
    exponentials = np.exp(query @ key.T)
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value


def nothing_subtracted_one_total(query, key, value):
    exponentials = np.exp(query @ np.swapaxes(key, -1, -2))
    return exponentials / exponentials.sum() @ value


def entry_by_entry(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) * value


MISTAKES = (
    Mistake(
        "weights returned",
        weights_returned,
        "These are the weights, one for each key. One step is missing: a matrix product with the "
        "values, which adds them up.",
    ),
    Mistake(
        "context and weights returned",
        a_pair_returned,
        "Both context and weights came back. The context alone is asked for; whoever calls this "
        "would take the pair for one array.",
    ),
    Mistake(
        "queries compete in place of keys",
        queries_compete,
        "Softmax went down the columns, so all queries together share each key. Each query "
        "distributes its own attention over the keys: the last axis of the scores.",
    ),
    Mistake(
        "one total for all queries",
        one_total_for_all,
        "All weights of the table together sum to one. Each row has its own total: sum over the "
        "last axis and keep it.",
    ),
    Mistake(
        "no softmax",
        no_softmax,
        "The values were multiplied by the raw scores. Between score and weight stands softmax.",
    ),
    Mistake(
        "not normalised",
        not_normalised,
        "The exponentials were used as weights, but they do not sum to one. Divide each row by "
        "its total: a context lies among the values, never outside.",
    ),
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
        "infinity is NaN. Subtract each row's largest score before the exponential.",
    ),
    Mistake(
        "a plain mean",
        plain_mean,
        "Every query got the mean of all values, as if all scores were equal. Query and key must "
        "decide how much each value counts.",
    ),
    Mistake(
        "a hard lookup",
        hard_lookup,
        "You return the value of the best key alone. A soft lookup mixes all values, each with its "
        "weight.",
    ),
    Mistake(
        "keys summed in place of values",
        keys_summed,
        "The weights are right, but they were applied to the keys. The key is the label on the "
        "spine; what you take home is the value.",
    ),
    Mistake(
        ".T on an array with leading axes",
        plain_transpose,
        "For two axes this is right. With leading axes, .T turns *all* axes of key round, the "
        "batch included. Only the last two must change places.",
    ),
    Mistake(
        "scaled already",
        scaled_already,
        "You divided the scores by √d_k. That is a good idea, and chapter 3 shows why; this "
        "exercise asks for the plain dot product.",
    ),
    Mistake(
        "key and value exchanged",
        key_and_value_exchanged,
        "The query was compared with the values, and the keys were summed. It is the other way "
        "round: compare with the keys, take home the values.",
    ),
    Mistake(
        ".T on an array with leading axes, and nothing subtracted",
        nothing_subtracted_plain_transpose,
        "For two axes and small scores this is right; two things remain. np.exp of a score in the "
        "thousands is infinity, and infinity / infinity is NaN: subtract each query's largest score "
        "first. And with leading axes, .T turns *all* axes of key round; only the last two must "
        "change places.",
    ),
    Mistake(
        "one total for all queries, and nothing subtracted",
        nothing_subtracted_one_total,
        "The weights of all queries together sum to one. Each query has its own total: sum over the "
        "last axis and keep it (keepdims=True). And np.exp of a score in the thousands is infinity: "
        "subtract each query's largest score first.",
    ),
    Mistake(
        "* in place of @",
        entry_by_entry,
        "* multiplies entry by entry. The context is a sum over the keys, of weight times value: a matrix "
        "product, @.",
    ),
)

EXERCISE = Exercise(
    identifier="02.soft_lookup",
    assignment="02_soft_lookup",
    title="A soft lookup, without loops",
    kind="vectorised",
    answer="soft_lookup",
    points=3,
    difficulty=2,
    minutes=12,
    hints=(
        "Your loops visited queries, keys and components. Which matrix product visits all three at "
        "once?",
        "Two matrix products with a softmax over the last axis between them: queries with keys give "
        "`(..., m, n)`, and that with the values gives `(..., m, d_v)`.",
        "`query @ np.swapaxes(key, -1, -2)` are the scores. Subtract their `max(axis=-1, "
        "keepdims=True)`, take `np.exp`, divide by the sum over the same axis, and multiply by "
        "`value` with `@`.",
    ),
    returns=("context",),
    cases=cases,
    laws=(
        same(
            "The order of the keys does not matter",
            _keys_reordered,
            "with keys and values shuffled alike, another context came out.",
        ),
        same(
            "The context is proportional to the values",
            _values_doubled,
            "with values twice as large, the context was not twice as large.",
            undo=lambda context: context / 2,
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 2 / 3),
        Part("care", "those with large scores or leading axes", 1 / 3),
    ),
    contents=lambda: Contents(soft_lookup, MISTAKES),
)
