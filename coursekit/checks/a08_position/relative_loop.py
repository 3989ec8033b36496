"""08.relative_scores_loop: scores with a vector for each distance, one pair at a time."""

import numpy as np

from attnkit.numpy import relative_index, scaled_dot_scores

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def relative_scores_loop(query, key, table):
    """Scores with relative keys, from the library: every query has keys of its own."""
    n_words = len(query)
    vectors = table[relative_index(n_words, n_words, clip=len(table) // 2)]  # (T, T, d)
    return scaled_dot_scores(query[:, None], key + vectors)[:, 0]


def _request(draw, random, n_words, width, clip):
    return Call(
        {
            "query": draw(random, n_words, width),
            "key": draw(random, n_words, width),
            "table": draw(random, 2 * clip + 1, width),
        }
    )


def cases(random):
    return [
        Case("two words of width 2, three distances", _request(readable, random, 2, 2, 1)),
        Case("three words of width 4, five distances", _request(normal, random, 3, 4, 2)),
        Case("six words of width 3, five distances", _request(normal, random, 6, 3, 2), "clip"),
        Case("three words, nine distances", _request(normal, random, 3, 2, 4), "clip"),
        Case("four words, a table of one row", _request(normal, random, 4, 3, 0), "clip"),
        Case("one word, five distances", _request(normal, random, 1, 3, 2), "clip"),
    ]


def _read_backwards(random):
    request = _request(normal, random, 5, 3, 2)
    turned = {name: array[::-1] for name, array in request.arguments.items()}
    return [request, Call(turned)]


def table_never_used(query, key, table):
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            scores[i, j] = query[i] @ key[j] / np.sqrt(len(query[i]))
    return scores


def distance_from_the_key(query, key, table):
    clip = len(table) // 2
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            row = max(-clip, min(clip, i - j)) + clip
            scores[i, j] = query[i] @ (key[j] + table[row]) / np.sqrt(len(query[i]))
    return scores


def clip_forgotten(query, key, table):
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            vector = table[(j - i + len(table) // 2) % len(table)]
            scores[i, j] = query[i] @ (key[j] + vector) / np.sqrt(len(query[i]))
    return scores


def stops_beyond_the_table(query, key, table):
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            vector = table[j - i + len(table) // 2]
            scores[i, j] = query[i] @ (key[j] + vector) / np.sqrt(len(query[i]))
    return scores


def offset_of_the_sentence(query, key, table):
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            row = min(j - i + len(query) - 1, len(table) - 1)
            scores[i, j] = query[i] @ (key[j] + table[row]) / np.sqrt(len(query[i]))
    return scores


def one_row_off(query, key, table):
    clip = (len(table) + 1) // 2
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            row = min(max(-clip, min(clip, j - i)) + clip, len(table) - 1)
            scores[i, j] = query[i] @ (key[j] + table[row]) / np.sqrt(len(query[i]))
    return scores


def sides_not_told_apart(query, key, table):
    clip = len(table) // 2
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            vector = table[min(abs(j - i), clip) + clip]
            scores[i, j] = query[i] @ (key[j] + vector) / np.sqrt(len(query[i]))
    return scores


def added_to_the_query(query, key, table):
    clip = len(table) // 2
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            vector = table[max(-clip, min(clip, j - i)) + clip]
            scores[i, j] = (query[i] + vector) @ key[j] / np.sqrt(len(query[i]))
    return scores


def scale_forgotten(query, key, table):
    clip = len(table) // 2
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            vector = table[max(-clip, min(clip, j - i)) + clip]
            scores[i, j] = query[i] @ (key[j] + vector)
    return scores


def half_of_it_scaled(query, key, table):
    clip = len(table) // 2
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            vector = table[max(-clip, min(clip, j - i)) + clip]
            scores[i, j] = query[i] @ key[j] / np.sqrt(len(query[i])) + query[i] @ vector
    return scores


def word_left_out(query, key, table):
    clip = len(table) // 2
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            vector = table[max(-clip, min(clip, j - i)) + clip]
            scores[i, j] = query[i] @ vector / np.sqrt(len(query[i]))
    return scores


def keys_overwritten(query, key, table):
    clip = len(table) // 2
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            together = key[j]
            together += table[max(-clip, min(clip, j - i)) + clip]
            scores[i, j] = query[i] @ together / np.sqrt(len(query[i]))
    return scores


def offset_forgotten(query, key, table):
    clip = len(table) // 2
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            vector = table[max(-clip, min(clip, j - i))]
            scores[i, j] = query[i] @ (key[j] + vector) / np.sqrt(len(query[i]))
    return scores


def keys_down_the_side(query, key, table):
    clip = len(table) // 2
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            vector = table[max(-clip, min(clip, j - i)) + clip]
            scores[j, i] = query[i] @ (key[j] + vector) / np.sqrt(len(query[i]))
    return scores


def root_of_the_length(query, key, table):
    clip = len(table) // 2
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            vector = table[max(-clip, min(clip, j - i)) + clip]
            scores[i, j] = query[i] @ (key[j] + vector) / np.sqrt(len(query))
    return scores


def weights_returned(query, key, table):
    clip = len(table) // 2
    scores = np.zeros((len(query), len(key)))
    for i in range(len(query)):
        for j in range(len(key)):
            vector = table[max(-clip, min(clip, j - i)) + clip]
            scores[i, j] = query[i] @ (key[j] + vector) / np.sqrt(len(query[i]))
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


MISTAKES = (
    Mistake(
        "the table never used",
        table_never_used,
        "These are the scores of the words alone: the table came in and was never used. Such a model "
        "trains without complaint, and is blind to order.",
    ),
    Mistake(
        "the distance from the key",
        distance_from_the_key,
        "You used i - j. The distance is the position of the key minus that of the query, j - i: "
        "keys before the query have the first rows.",
    ),
    Mistake(
        "wrapped round the end of the table",
        clip_forgotten,
        "Far distances wrap round to the other end of the table: a key far *after* the query reads "
        "the row of one before it. They count as the farthest distance of the table.",
    ),
    Mistake(
        "the clip forgotten",
        stops_beyond_the_table,
        "While all distances are in the table this is right. A key too far after the query makes "
        "Python stop; one too far *before* it has a negative row number, and NumPy counts that from "
        "the end without a word. Clip the distance first.",
    ),
    Mistake(
        "the offset of the sentence at hand",
        offset_of_the_sentence,
        "You counted rows from the farthest key of *this* sentence. The middle row of the table is "
        "distance 0, however long the sentence is.",
    ),
    Mistake(
        "one row off",
        one_row_off,
        "Every pair reads the row after its own. A table of 2 * clip + 1 rows has its middle at row "
        "clip, which is len(table) // 2.",
    ),
    Mistake(
        "before and after not told apart",
        sides_not_told_apart,
        "Keys before the query read the rows of keys after it: the distance has lost its sign.",
    ),
    Mistake(
        "added to the query",
        added_to_the_query,
        "The vector of the distance was added to the query. It belongs to the key: the query then "
        "asks for a word *and* for a place.",
    ),
    Mistake(
        "the scale forgotten",
        scale_forgotten,
        "The scores are not scaled: divide by the square root of the width d.",
    ),
    Mistake(
        "half of it scaled",
        half_of_it_scaled,
        "Only the product with the word is divided by the root of d. The product with the distance's "
        "vector is part of the score and is scaled as well.",
    ),
    Mistake(
        "the word left out",
        word_left_out,
        "These scores know places only. What stands there, the key, belongs in as well.",
    ),
    Mistake(
        "the keys overwritten",
        keys_overwritten,
        "together = key[j] makes no copy: += then writes into the caller's keys, and the vectors of "
        "all distances pile up in them. Write key[j] + ….",
    ),
    Mistake(
        "the offset forgotten",
        offset_forgotten,
        "You look up the clipped distance itself. For keys before the query it is negative, and "
        "NumPy counts that from the end of the table without a word. Distance 0 has the middle "
        "row: add the clip.",
    ),
    Mistake(
        "keys down the side",
        keys_down_the_side,
        "Your table has a row for each key. Queries stand down the side: the score of query i and "
        "key j goes to [i, j].",
    ),
    Mistake(
        "the root of the length",
        root_of_the_length,
        "You divide by the root of the number of words. What grows with it is not the score: "
        "divide by the root of the width d, query.shape[1].",
    ),
    Mistake(
        "weights returned",
        weights_returned,
        "These are weights. Asked for are the scores; the softmax comes after them.",
    ),
)

EXERCISE = Exercise(
    identifier="08.relative_scores_loop",
    assignment="08_position",
    title="A vector for each distance, by a loop",
    kind="loop",
    answer="relative_scores_loop",
    points=2,
    difficulty=2,
    minutes=12,
    hints=(
        "For one query i and one key j: which row of the table tells about their distance?",
        "Two loops over words. In the inner one: the distance j - i, clipped to what the table has; "
        "the row, with distance 0 in the middle; then one scaled product of the query with the sum "
        "of key and row.",
        "`len(table) // 2` is both the clip and the row of distance 0. `min` and `max` clip a single "
        "number. `query[i] @ (…)` is one number; divide it by the root of `query.shape[1]`.",
    ),
    returns=("scores",),
    cases=cases,
    laws=(
        same(
            "A sentence read backwards, with the table turned round, has its scores turned round",
            _read_backwards,
            "with words and table in reverse order, the scores were not just reversed.",
            undo=lambda scores: scores[::-1, ::-1],
            part="clip",
        ),
    ),
    parts=(
        Part("plain", "the cases where every distance is in the table", 0.5),
        Part("clip", "those with too small or too large a table", 0.5),
    ),
    contents=lambda: Contents(relative_scores_loop, MISTAKES),
)
