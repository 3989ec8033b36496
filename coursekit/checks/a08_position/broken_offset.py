"""08.counterexample and 08.relative_weights: an offset that depends on the sequence at hand.

The faulty program is handed out in a locked cell. Learners first find numbers on which it shows
(a test, written as data), then write the program as it should be.
"""

import numpy as np

from attnkit.numpy import relative_index, softmax

from ..draw import normal, readable
from ..judges import hardly, shows
from ..laws import same
from ..model import Case, Contents, Exercise, Finding, Mistake, Part
from ..surface import Call
from .given import faulty_relative_weights


def relative_weights(scores, table):
    """The program as it should be, from the library's index and softmax."""
    n_words = scores.shape[-1]
    return softmax(scores + table[relative_index(n_words, n_words, clip=len(table) // 2)])


# ---------------------------------------------------------------- the counterexample


def a_counterexample():
    """Numbers on which the fault shows."""
    return np.zeros((2, 2)), np.array([0.0, 0.0, 1.0, 0.0, 0.0])


def judge_counterexample(request, value):
    """Whether the faulty program runs and gives visibly wrong weights on `value`."""
    scores, table = value
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1]:
        return Finding(
            "shape",
            f"scores of {scores.ndim} axes",
            f"expected scores of as many rows as columns, (T, T), got {scores.shape}.",
        )
    if table.ndim != 1:
        return Finding(
            "shape",
            "table",
            f"expected table to be one row of numbers, (2L - 1,), got shape {table.shape}.",
        )
    for name, numbers in (("scores", scores), ("table", table)):
        if numbers.dtype.kind not in "fiu":
            return Finding("dtype", name, f"expected numbers in {name}, got {numbers.dtype}.")
        if not np.isfinite(numbers).all():
            return Finding("finite", name, f"{name} must hold ordinary finite numbers.")
    n_words, longest = len(scores), (len(table) + 1) // 2
    if n_words == 0:
        return Finding("value", "empty", "without any words there is nothing to see.")
    if len(table) % 2 == 0:
        return Finding(
            "value",
            "even",
            f"a table of {len(table)} rows has no middle: 2L - 1 is an odd number, "
            f"and distance 0 has the middle row.",
        )
    if n_words > longest:
        return Finding(
            "value",
            "too long",
            f"a table of {len(table)} rows serves up to {longest} words. For {n_words} the faulty "
            f"program stops with an error, and whoever sees an error is not misled.",
        )
    right, faulty = relative_weights(scores, table), faulty_relative_weights(scores, table)
    if shows(right, faulty):
        return None
    if shows(right, faulty, 1e-9):
        return Finding("value", "hardly", hardly(right, faulty))
    return Finding(
        "value",
        _why_hidden(n_words, longest, table),
        "on these numbers the faulty program and a right one give the same weights, so a test with "
        "them would let the fault through.",
    )


def _why_hidden(n_words, longest, table):
    if n_words == longest:
        return "full length"
    if n_words == 1:
        return "one word"
    if np.ptp(table) == 0:
        return "constant"
    return "equal steps" if np.ptp(np.diff(table)) < 1e-9 else "unseen rows"


def as_long_as_the_table_allows():
    return np.zeros((3, 3)), np.array([0.0, 1.0, 5.0, 1.0, 0.0])


def one_word():
    return np.zeros((1, 1)), np.array([0.0, 1.0, 5.0, 1.0, 0.0])


def the_same_number_everywhere():
    return np.zeros((2, 2)), np.ones(5)


def in_equal_steps():
    return np.zeros((2, 2)), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


def far_rows_only():
    return np.zeros((2, 2)), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0])


def an_even_table():
    return np.zeros((2, 2)), np.array([0.0, 0.0, 1.0, 0.0])


def longer_than_the_table():
    return np.zeros((4, 4)), np.array([0.0, 0.0, 1.0, 0.0, 0.0])


def one_row_of_scores():
    return np.zeros(2), np.array([0.0, 0.0, 1.0, 0.0, 0.0])


def table_of_vectors():
    return np.zeros((2, 2)), np.eye(5)


def table_alone():
    return np.array([0.0, 0.0, 1.0, 0.0, 0.0])


def infinite_table():
    return np.zeros((2, 2)), np.array([0.0, 0.0, np.inf, 0.0, 0.0])


def no_words():
    return np.zeros((0, 0)), np.array([0.0, 0.0, 1.0, 0.0, 0.0])


def hardly_any_difference():
    return np.zeros((2, 2)), np.array([0.0, 0.0, 0.0001, 0.0, 0.0])


COUNTEREXAMPLE_MISTAKES = (
    Mistake(
        "as long as the table allows",
        as_long_as_the_table_allows,
        "For sequences of the full length L the program is right, and if all training batches have "
        "that length nobody notices. Take another length.",
    ),
    Mistake(
        "one word",
        one_word,
        "One word has all the weight, whatever is added to its score.",
    ),
    Mistake(
        "the same number in every row",
        the_same_number_everywhere,
        "All rows of your table are equal, so it does not matter which one is read.",
    ),
    Mistake(
        "rows in equal steps",
        in_equal_steps,
        "Rows in equal steps, such as -2, -1, 0, 1, 2: whoever reads a wrong row by a fixed shift "
        "gets all numbers of a query wrong by the same amount, and softmax does not see what is "
        "added to *all* scores of a row. Let the steps differ.",
    ),
    Mistake(
        "only rows that are never read",
        far_rows_only,
        "The rows that differ belong to distances farther than any in your sequence, and neither "
        "program reads them. Put a special number in the middle.",
    ),
    Mistake(
        "an even number of rows",
        an_even_table,
        "2L - 1 is odd. With an even number of rows there is no right program to compare with.",
    ),
    Mistake(
        "longer than the table allows",
        longer_than_the_table,
        "Your sequence has distances that the table has no row for. Take a shorter one.",
    ),
    Mistake(
        "one row of scores",
        one_row_of_scores,
        "Scores have a row for each query and a column for each key: (T, T).",
    ),
    Mistake(
        "a table of vectors",
        table_of_vectors,
        "In this program each distance has one number, so the table has one axis.",
    ),
    Mistake(
        "the table alone",
        table_alone,
        "The program takes two things, scores and table. Return both.",
    ),
    Mistake(
        "infinity in the table",
        infinite_table,
        "With infinity the weights become NaN, and everybody sees that something is wrong.",
    ),
    Mistake(
        "no words",
        no_words,
        "Without words nothing is computed, so nothing can be wrong.",
    ),
    Mistake(
        "hardly any difference",
        hardly_any_difference,
        "The right row is read by the one program and not by the other, but the numbers are so "
        "alike that the weights hardly differ. Let the row of distance 0 differ by 1 or more, and "
        "keep the scores small, so that no weight is nearly 1 already.",
    ),
)

COUNTEREXAMPLE = Exercise(
    identifier="08.counterexample",
    assignment="08_position",
    title="Find numbers on which the fault shows",
    kind="counterexample",
    answer="counterexample",
    points=2,
    difficulty=2,
    minutes=10,
    hints=(
        "Which row of the table does a word read for itself, at distance 0? Try it with 2 and with 3 "
        "words.",
        "The program numbers the rows from the smallest distance of *this* sequence; the table, from "
        "the smallest of the longest one. When are they the same, and when not? And softmax does "
        "not see a number that is added to a whole row of scores.",
        "Two words and a table for three (five rows). All scores 0. Let one row of the table differ "
        "from the others: that of distance 0.",
    ),
    returns=("scores", "table"),
    cases=lambda random: [Case("your numbers", Call())],
    judge=judge_counterexample,
    contents=lambda: Contents(a_counterexample, COUNTEREXAMPLE_MISTAKES),
)


# ---------------------------------------------------------------- the mended program


def _request(draw, random, shape, longest):
    return Call({"scores": draw(random, *shape), "table": draw(random, 2 * longest - 1)})


def cases(random):
    return [
        Case("two words, a table for three", _request(readable, random, (2, 2), 3)),
        Case("three words, a table for three", _request(readable, random, (3, 3), 3)),
        Case("four words, a table for seven", _request(normal, random, (4, 4), 7)),
        Case("one word, a table for three", _request(readable, random, (1, 1), 3), "care"),
        Case("two sentences of five words", _request(normal, random, (2, 5, 5), 6), "care"),
        Case("leading axes (2, 3), four words", _request(normal, random, (2, 3, 4, 4), 4), "care"),
    ]


def _longer_table(random):
    request = _request(normal, random, (4, 4), 5)
    before, table, after = normal(random, 2), request.arguments["table"], normal(random, 2)
    longer = np.concatenate([before, table, after])
    return [request, Call({**request.arguments, "table": longer})]


def as_it_was(scores, table):
    position = np.arange(scores.shape[-1])
    distance = position - position[:, None]
    return softmax(scores + table[distance - distance.min()])


def offset_written_out(scores, table):
    n = scores.shape[-1]
    return softmax(scores + table[np.arange(n) - np.arange(n)[:, None] + n - 1])


def one_row_off(scores, table):
    position = np.arange(scores.shape[-1])
    row = position - position[:, None] + (len(table) + 1) // 2
    return softmax(scores + table[row])


def last_row_twice(scores, table):
    position = np.arange(scores.shape[-1])
    row = position - position[:, None] + (len(table) + 1) // 2
    return softmax(scores + table[np.minimum(row, len(table) - 1)])


def offset_forgotten(scores, table):
    position = np.arange(scores.shape[-1])
    return softmax(scores + table[position - position[:, None]])


def whole_table_as_offset(scores, table):
    position = np.arange(scores.shape[-1])
    return softmax(scores + table[position - position[:, None] - len(table) // 2])


def distance_from_the_key(scores, table):
    position = np.arange(scores.shape[-1])
    row = position[:, None] - position + len(table) // 2
    return softmax(scores + table[row])


def sides_not_told_apart(scores, table):
    position = np.arange(scores.shape[-1])
    row = np.abs(position - position[:, None]) + len(table) // 2
    return softmax(scores + table[row])


def a_row_for_each_key(scores, table):
    n = scores.shape[-1]
    middle = len(table) // 2
    return softmax(scores + table[middle : middle + n])


def table_never_used(scores, table):
    return softmax(scores)


def multiplied(scores, table):
    position = np.arange(scores.shape[-1])
    row = position - position[:, None] + len(table) // 2
    return softmax(scores * table[row])


def added_to_the_weights(scores, table):
    position = np.arange(scores.shape[-1])
    row = position - position[:, None] + len(table) // 2
    return softmax(scores) + table[row]


def softmax_forgotten(scores, table):
    position = np.arange(scores.shape[-1])
    row = position - position[:, None] + len(table) // 2
    return scores + table[row]


def length_of_the_first_axis(scores, table):
    position = np.arange(len(scores))
    row = position - position[:, None] + len(table) // 2
    return softmax(scores + table[row])


def scores_overwritten(scores, table):
    position = np.arange(scores.shape[-1])
    scores += table[position - position[:, None] + len(table) // 2]
    return softmax(scores)


def last_row_for_the_middle(scores, table):
    distance = np.arange(scores.shape[-1]) - np.arange(scores.shape[-1])[:, None]
    return softmax(scores + table[distance + len(table) - 1])


def weights_down_the_columns(scores, table):
    distance = np.arange(scores.shape[-1]) - np.arange(scores.shape[-1])[:, None]
    shifted = scores + table[distance + len(table) // 2]
    return np.swapaxes(softmax(np.swapaxes(shifted, -1, -2)), -1, -2)


MENDED_MISTAKES = (
    Mistake(
        "as it was",
        as_it_was,
        "The smallest distance of the sequence at hand still has row 0, so a shorter sequence reads "
        "the rows of keys too far before. The offset belongs to the table: distance 0 has its middle "
        "row.",
    ),
    Mistake(
        "the offset written out",
        offset_written_out,
        "n - 1 in place of the smallest distance is the same thing.",
        same_as="as it was",
    ),
    Mistake(
        "one row off",
        one_row_off,
        "Every pair reads the row after its own, and a sequence of full length falls out of the "
        "table. For 2L - 1 rows the middle one is number L - 1.",
    ),
    Mistake(
        "one row off, with the end held",
        last_row_twice,
        "Every pair reads the row after its own; that nothing stops at the end of the table any more "
        "only hides it. For 2L - 1 rows the middle one is number L - 1.",
    ),
    Mistake(
        "the offset forgotten",
        offset_forgotten,
        "Negative distances were used as row numbers. NumPy counts them from the end of the table and "
        "does not complain.",
    ),
    Mistake(
        "the offset subtracted",
        whole_table_as_offset,
        "The offset has the wrong sign. All row numbers are negative then, NumPy counts from the end, "
        "and every pair reads the row after its own.",
    ),
    Mistake(
        "the distance from the key",
        distance_from_the_key,
        "The table is read from the wrong end: a distance is the position of the key minus that of "
        "the query. That was right in the faulty program.",
    ),
    Mistake(
        "before and after not told apart",
        sides_not_told_apart,
        "You took the absolute distance, so keys before the query read the rows of keys after it.",
    ),
    Mistake(
        "a row for each key",
        a_row_for_each_key,
        "You cut a piece out of the table and gave one number to each key, the same for all queries. "
        "That tells places, not distances.",
    ),
    Mistake(
        "the table never used",
        table_never_used,
        "These are the weights of the scores alone: the table came in and was never used.",
    ),
    Mistake(
        "multiplied",
        multiplied,
        "The table's numbers are added to the scores, not multiplied with them.",
    ),
    Mistake(
        "added after the softmax",
        added_to_the_weights,
        "The table's numbers were added to the weights, which no longer sum to one. They belong to "
        "the scores, before the softmax.",
    ),
    Mistake(
        "the softmax forgotten",
        softmax_forgotten,
        "These are scores. The program returns weights.",
    ),
    Mistake(
        "the length of the first axis",
        length_of_the_first_axis,
        "len(scores) is the number of words only as long as there are two axes; in a batch it is the "
        "number of sentences. Take scores.shape[-1].",
    ),
    Mistake(
        "scores overwritten",
        scores_overwritten,
        "The weights are right, but += writes into the caller's scores.",
    ),
    Mistake(
        "the last row for the middle",
        last_row_for_the_middle,
        "len(table) - 1 is the *last* row, so keys after the query fall out of the table. "
        "Distance 0 has the middle row, len(table) // 2.",
    ),
    Mistake(
        "weights down the columns",
        weights_down_the_columns,
        "Your columns sum to one. Each query shares its weight among the keys: the last axis.",
    ),
)

MENDED = Exercise(
    identifier="08.relative_weights",
    assignment="08_position",
    title="Mend the program",
    kind="mended",
    answer="relative_weights",
    points=2,
    difficulty=2,
    minutes=8,
    hints=(
        "Which row holds the number of distance 0, and what does it depend on?",
        "The table says by its own length how far it reaches: 2L - 1 rows. From that alone follows "
        "which row is its middle.",
        "`len(table) // 2` is the number of the middle row. Take the number of words from "
        "`scores.shape[-1]`: there may be leading axes.",
    ),
    returns=("weights",),
    cases=cases,
    laws=(
        same(
            "A table that reaches farther on both sides changes nothing between near words",
            _longer_table,
            "with rows added at both ends of the table, other weights came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with one word or leading axes", 0.5),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(relative_weights, MENDED_MISTAKES),
)
