"""07.multi_head_loop: multi-head attention as it is written down, one head after the other."""

import numpy as np

from attnkit.numpy import multi_head_attention

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .given import softmax


def multi_head_loop(x, w_query, w_key, w_value, w_output, n_heads):
    """Multi-head self-attention of one sentence, from the library."""
    names = ("w_query", "w_key", "w_value", "w_output")
    parameters = dict(zip(names, (w_query, w_key, w_value, w_output), strict=True))
    return multi_head_attention(x, parameters=parameters, n_heads=n_heads)


def _request(draw, random, length, d_model, n_heads, **options):
    names = ("w_query", "w_key", "w_value", "w_output")
    return Call(
        {
            "x": draw(random, length, d_model, **options),
            **{name: draw(random, d_model, d_model, **options) for name in names},
            "n_heads": n_heads,
        }
    )


def cases(random):
    return [
        Case("two words of width 4, two heads", _request(readable, random, 2, 4, 2)),
        Case("five words of width 6, three heads", _request(normal, random, 5, 6, 3)),
        Case("three words of width 8, two heads", _request(normal, random, 3, 8, 2)),
        Case("four words of width 5, one head", _request(normal, random, 4, 5, 1), "care"),
        Case("three words, four heads of width 1", _request(normal, random, 3, 4, 4), "care"),
        Case("a single word", _request(normal, random, 1, 6, 2), "care"),
        Case("float32 numbers", _request(normal, random, 4, 6, 3, dtype=np.float32), "care"),
    ]


def _words_shuffled(random):
    request = _request(normal, random, 5, 6, 2)
    x = request.arguments["x"][[2, 0, 4, 1, 3]]
    return [request, Call({**request.arguments, "x": x})]


def heads_not_cut(x, w_query, w_key, w_value, w_output, n_heads):
    heads = []
    for _ in range(n_heads):
        query, key, value = x @ w_query, x @ w_key, x @ w_value
        heads.append(softmax(query @ key.T / np.sqrt(query.shape[1])) @ value)
    return np.concatenate(heads, axis=1) @ w_output


def words_cut_too(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    heads = []
    for h in range(n_heads):
        part = slice(h * d_head, (h + 1) * d_head)
        query, key, value = (x[:, part] @ w[part, part] for w in (w_query, w_key, w_value))
        heads.append(softmax(query @ key.T / np.sqrt(d_head)) @ value)
    return np.concatenate(heads, axis=1) @ w_output


def rows_for_columns(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    heads = []
    for h in range(n_heads):
        rows = slice(h * d_head, (h + 1) * d_head)
        query, key, value = (x @ w[rows].T for w in (w_query, w_key, w_value))
        heads.append(softmax(query @ key.T / np.sqrt(d_head)) @ value)
    return np.concatenate(heads, axis=1) @ w_output


def output_forgotten(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    heads = []
    for h in range(n_heads):
        columns = slice(h * d_head, (h + 1) * d_head)
        query, key, value = (x @ w[:, columns] for w in (w_query, w_key, w_value))
        heads.append(softmax(query @ key.T / np.sqrt(d_head)) @ value)
    return np.concatenate(heads, axis=1)


def root_of_the_model_width(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    heads = []
    for h in range(n_heads):
        columns = slice(h * d_head, (h + 1) * d_head)
        query, key, value = (x @ w[:, columns] for w in (w_query, w_key, w_value))
        heads.append(softmax(query @ key.T / np.sqrt(x.shape[1])) @ value)
    return np.concatenate(heads, axis=1) @ w_output


def scale_forgotten(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    heads = []
    for h in range(n_heads):
        columns = slice(h * d_head, (h + 1) * d_head)
        query, key, value = (x @ w[:, columns] for w in (w_query, w_key, w_value))
        heads.append(softmax(query @ key.T) @ value)
    return np.concatenate(heads, axis=1) @ w_output


def first_head_every_time(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    heads = []
    for _ in range(n_heads):
        query, key, value = (x @ w[:, :d_head] for w in (w_query, w_key, w_value))
        heads.append(softmax(query @ key.T / np.sqrt(d_head)) @ value)
    return np.concatenate(heads, axis=1) @ w_output


def overlapping_columns(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    heads = []
    for h in range(n_heads):
        columns = slice(h, h + d_head)
        query, key, value = (x @ w[:, columns] for w in (w_query, w_key, w_value))
        heads.append(softmax(query @ key.T / np.sqrt(d_head)) @ value)
    return np.concatenate(heads, axis=1) @ w_output


def every_so_many_columns(x, w_query, w_key, w_value, w_output, n_heads):
    heads = []
    for h in range(n_heads):
        query, key, value = (x @ w[:, h::n_heads] for w in (w_query, w_key, w_value))
        heads.append(softmax(query @ key.T / np.sqrt(query.shape[1])) @ value)
    return np.concatenate(heads, axis=1) @ w_output


def last_head_only(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    merged = np.zeros_like(x)
    for h in range(n_heads):
        columns = slice(h * d_head, (h + 1) * d_head)
        query, key, value = (x @ w[:, columns] for w in (w_query, w_key, w_value))
        merged = np.zeros_like(x)
        merged[:, columns] = softmax(query @ key.T / np.sqrt(d_head)) @ value
    return merged @ w_output


def first_rows_of_the_output(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    total = np.zeros_like(x)
    for h in range(n_heads):
        columns = slice(h * d_head, (h + 1) * d_head)
        query, key, value = (x @ w[:, columns] for w in (w_query, w_key, w_value))
        total += softmax(query @ key.T / np.sqrt(d_head)) @ value @ w_output[:d_head]
    return total


def one_under_another(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    heads = []
    for h in range(n_heads):
        columns = slice(h * d_head, (h + 1) * d_head)
        query, key, value = (x @ w[:, columns] for w in (w_query, w_key, w_value))
        heads.append(softmax(query @ key.T / np.sqrt(d_head)) @ value)
    return np.concatenate(heads).reshape(x.shape) @ w_output


def queries_compete(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    heads = []
    for h in range(n_heads):
        columns = slice(h * d_head, (h + 1) * d_head)
        query, key, value = (x @ w[:, columns] for w in (w_query, w_key, w_value))
        heads.append(softmax(key @ query.T / np.sqrt(d_head)).T @ value)
    return np.concatenate(heads, axis=1) @ w_output


def values_not_projected(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    heads = []
    for h in range(n_heads):
        columns = slice(h * d_head, (h + 1) * d_head)
        query, key = x @ w_query[:, columns], x @ w_key[:, columns]
        heads.append(softmax(query @ key.T / np.sqrt(d_head)) @ x[:, columns])
    return np.concatenate(heads, axis=1) @ w_output


def root_forgotten(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    heads = []
    for h in range(n_heads):
        columns = slice(h * d_head, (h + 1) * d_head)
        query, key, value = (x @ w[:, columns] for w in (w_query, w_key, w_value))
        heads.append(softmax(query @ key.T / d_head) @ value)
    return np.concatenate(heads, axis=1) @ w_output


def joined_along_the_words(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    heads = []
    for h in range(n_heads):
        columns = slice(h * d_head, (h + 1) * d_head)
        query, key, value = (x @ w[:, columns] for w in (w_query, w_key, w_value))
        heads.append(softmax(query @ key.T / np.sqrt(d_head)) @ value)
    return np.concatenate(heads, axis=0) @ w_output


def counted_from_one(x, w_query, w_key, w_value, w_output, n_heads):
    d_head = x.shape[1] // n_heads
    heads = []
    for h in range(1, n_heads + 1):
        columns = slice(h * d_head, (h + 1) * d_head)
        query, key, value = (x @ w[:, columns] for w in (w_query, w_key, w_value))
        heads.append(softmax(query @ key.T / np.sqrt(d_head)) @ value)
    return np.concatenate(heads, axis=1) @ w_output


MISTAKES = (
    Mistake(
        "heads not cut",
        heads_not_cut,
        "Every head uses the whole matrices. Then all heads are the same, and together they are H times "
        "too wide for w_output. Head h owns the columns from h * d_head up to (h + 1) * d_head.",
    ),
    Mistake(
        "the words cut too",
        words_cut_too,
        "You cut x as well. Every head sees all components of a word; only the *columns* of the "
        "matrices are shared out.",
    ),
    Mistake(
        "rows in place of columns",
        rows_for_columns,
        "You cut the matrices by rows and transposed. The columns of x @ w come from the columns of w.",
    ),
    Mistake(
        "the output projection forgotten",
        output_forgotten,
        "These are the heads side by side. One step is missing: the product with w_output, which mixes "
        "them.",
    ),
    Mistake(
        "the root of the model width",
        root_of_the_model_width,
        "You divide by the square root of d_model. A score of a head is a sum over d_head components.",
    ),
    Mistake(
        "the scale forgotten",
        scale_forgotten,
        "The scores are not scaled: divide by the square root of d_head.",
    ),
    Mistake(
        "the first head every time",
        first_head_every_time,
        "The loop does not use its counter: every head gets the first columns.",
    ),
    Mistake(
        "overlapping columns",
        overlapping_columns,
        "Your heads begin at columns 0, 1, 2, … and overlap. Head h begins at column h * d_head.",
    ),
    Mistake(
        "every so many columns",
        every_so_many_columns,
        "Each head got every H-th column. A head owns neighbouring columns.",
    ),
    Mistake(
        "the last head only",
        last_head_only,
        "Each turn of the loop begins with fresh zeros, so only the last head is left. Make the array "
        "(or the list) before the loop.",
    ),
    Mistake(
        "the first rows of w_output for every head",
        first_rows_of_the_output,
        "Adding up each head's product with its rows of w_output is a good way. But head h meets the "
        "rows from h * d_head on, not the first ones.",
    ),
    Mistake(
        "heads one under another",
        one_under_another,
        "You laid the heads one under another and reshaped. So the first rows hold the first head of "
        "several words. Put the heads side by side: axis=1.",
    ),
    Mistake(
        "queries compete",
        queries_compete,
        "Softmax went over the queries. Each query spreads its own weight over the keys, the last axis "
        "of query @ key.T.",
    ),
    Mistake(
        "values not projected",
        values_not_projected,
        "You mix the components of x. What is mixed are the values, x times the head's columns of "
        "w_value.",
    ),
    Mistake(
        "no root",
        root_forgotten,
        "You divide the scores by d_head. Divide by its square root.",
    ),
    Mistake(
        "joined along the words",
        joined_along_the_words,
        "Your heads lie one under another, as if there were more words, and are too narrow for w_output. "
        "Put them side by side: axis=1.",
    ),
    Mistake(
        "heads counted from one",
        counted_from_one,
        "The first head is left out, and the last one finds no columns: a slice beyond the end is empty. "
        "Heads count from 0.",
    ),
)

EXERCISE = Exercise(
    identifier="07.multi_head_loop",
    assignment="07_multi_head",
    title="Multi-head attention, by a loop",
    kind="loop",
    answer="multi_head_loop",
    points=3,
    difficulty=2,
    minutes=15,
    hints=(
        "Inside the loop stands the self-attention of chapter 6. What differs from head to head?",
        "Head h takes its own columns of the three matrices: d_head of them, neighbours. Collect what "
        "the heads find, put it side by side after the loop, and multiply once by `w_output`.",
        "`slice(h * d_head, (h + 1) * d_head)` makes a name for the columns of head h, to be used as "
        "`w_query[:, columns]`. The scale is the root of `d_head`; `np.concatenate(…, axis=1)` puts "
        "side by side.",
    ),
    returns=("output",),
    cases=cases,
    laws=(
        same(
            "With the words in another order, the results come in that order",
            _words_shuffled,
            "with the words shuffled, the outputs were not just shuffled in the same way.",
            undo=lambda output: output[[1, 3, 0, 4, 2]],
        ),
    ),
    parts=(
        Part("plain", "the cases with two or three heads", 2 / 3),
        Part("care", "those with one head, narrow heads, one word or float32", 1 / 3),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(multi_head_loop, MISTAKES),
)
