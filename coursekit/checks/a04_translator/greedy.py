"""04.greedy_decode: the best next token again and again, from a table of log-probabilities."""

import numpy as np

from attnkit.numpy import greedy

from ..draw import normal
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def greedy_decode(table, start, end, max_length):
    """Greedy decoding of a table, by the library's decoder."""
    return greedy(lambda token, state: (table[token], state), start, end=end, max_length=max_length)


def _table(random, successor):
    """Log-probabilities whose best next token after token i is `successor[i]`, by a clear margin."""
    n_tokens = len(successor)
    scores = normal(random, n_tokens, n_tokens)
    scores[np.arange(n_tokens), successor] = scores.max(axis=-1) + 1
    return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))


def _chain(random, n_tokens):
    """Tokens in a random order, each the best successor of the one before; the last one ends."""
    order = random.permutation(n_tokens)
    order = np.roll(order, order[-1] == 0)  # zeros after the end would pass if the end were 0
    successor = np.empty(n_tokens, int)
    successor[order] = np.roll(order, -1)  # after the end the chain begins again
    return order, _table(random, successor), int(order[-1])


def cases(random):
    order, table, end = _chain(random, 4)
    long_order, long_table, long_end = _chain(random, 8)
    two, loop, loop_end = random.permutation(5)[:2], np.empty(5, int), None
    loop[:] = two[0]
    loop[two[0]] = two[1]  # two tokens that follow each other for ever
    loop_end = int(np.setdiff1d(np.arange(5), two)[0])
    never = np.where(long_table < np.median(long_table), -np.inf, long_table)
    ties = np.log(np.array([[0.2, 0.4, 0.4], [0.45, 0.1, 0.45], [0.2, 0.2, 0.6]]))
    return [
        Case(
            "one sequence, four tokens",
            Call({"table": table, "start": order[:1].copy(), "end": end, "max_length": 6}),
        ),
        Case(
            "three sequences of equal length, eight tokens",
            Call(
                {
                    "table": long_table,
                    "start": np.repeat(long_order[2], 3),
                    "end": long_end,
                    "max_length": 9,
                }
            ),
        ),
        Case(
            "two sequences that end at once",
            Call({"table": table, "start": order[[2, 2]], "end": end, "max_length": 5}),
        ),
        Case(
            "sequences that end at different steps",
            Call(
                {
                    "table": long_table,
                    "start": long_order[[5, 1, 3]],
                    "end": long_end,
                    "max_length": 9,
                }
            ),
            "care",
        ),
        Case(
            "a sequence that never ends",
            Call(
                {
                    "table": _table(random, loop),
                    "start": two[:1].copy(),
                    "end": loop_end,
                    "max_length": 4,
                }
            ),
            "care",
        ),
        Case(
            "tokens that cannot follow, with -inf in the table",
            Call(
                {
                    "table": never,
                    "start": long_order[[4, 0]],
                    "end": long_end,
                    "max_length": 9,
                }
            ),
            "care",
        ),
        Case(
            "equal probabilities",
            Call({"table": ties, "start": np.array([0, 1]), "end": 2, "max_length": 3}),
            "care",
        ),
    ]


def _rows_shifted(random):
    order, table, end = _chain(random, 6)
    arguments = {"table": table, "start": order[1:3].copy(), "end": end, "max_length": 8}
    shifted = table + 5 * normal(random, 6, 1)
    return [Call(arguments), Call({**arguments, "table": shifted})]


def end_not_kept(table, start, end, max_length):
    token, tokens = start, []
    done = np.zeros(len(start), bool)
    while len(tokens) < max_length and not done.all():
        token = table[token].argmax(axis=-1)
        done |= token == end
        tokens.append(token)
    return np.stack(tokens, axis=1)


def one_hot_product(table, start, end, max_length):
    token, tokens = start, []
    done = np.zeros(len(start), bool)
    while len(tokens) < max_length and not done.all():
        rows = np.eye(len(table))[token] @ table
        token = np.where(done, end, rows.argmax(axis=-1))
        done |= token == end
        tokens.append(token)
    return np.stack(tokens, axis=1)


def always_to_the_limit(table, start, end, max_length):
    token, tokens = start, []
    done = np.zeros(len(start), bool)
    for _ in range(max_length):
        token = np.where(done, end, table[token].argmax(axis=-1))
        done |= token == end
        tokens.append(token)
    return np.stack(tokens, axis=1)


def start_included(table, start, end, max_length):
    token, tokens = start, [start]
    done = np.zeros(len(start), bool)
    while len(tokens) <= max_length and not done.all():
        token = np.where(done, end, table[token].argmax(axis=-1))
        done |= token == end
        tokens.append(token)
    return np.stack(tokens, axis=1)


def end_left_out(table, start, end, max_length):
    token, tokens = start, []
    done = np.zeros(len(start), bool)
    while len(tokens) < max_length:
        token = np.where(done, end, table[token].argmax(axis=-1))
        done |= token == end
        if done.all():
            break
        tokens.append(token)
    return np.stack(tokens, axis=1) if tokens else np.zeros((len(start), 0), int)


def stops_with_the_first(table, start, end, max_length):
    token, tokens = start, []
    done = np.zeros(len(start), bool)
    while len(tokens) < max_length and not done.any():
        token = np.where(done, end, table[token].argmax(axis=-1))
        done |= token == end
        tokens.append(token)
    return np.stack(tokens, axis=1)


def columns_for_rows(table, start, end, max_length):
    token, tokens = start, []
    done = np.zeros(len(start), bool)
    while len(tokens) < max_length and not done.all():
        token = np.where(done, end, table[:, token].argmax(axis=0))
        done |= token == end
        tokens.append(token)
    return np.stack(tokens, axis=1)


def always_from_the_start(table, start, end, max_length):
    tokens = []
    done = np.zeros(len(start), bool)
    while len(tokens) < max_length and not done.all():
        token = np.where(done, end, table[start].argmax(axis=-1))
        done |= token == end
        tokens.append(token)
    return np.stack(tokens, axis=1)


def zero_after_the_end(table, start, end, max_length):
    token, tokens = start, []
    done = np.zeros(len(start), bool)
    while len(tokens) < max_length and not done.all():
        token = np.where(done, -1, table[token].argmax(axis=-1))
        done |= token == end
        tokens.append(token)
    return np.stack(tokens, axis=1)


def steps_down_the_side(table, start, end, max_length):
    token, tokens = start, []
    done = np.zeros(len(start), bool)
    while len(tokens) < max_length and not done.all():
        token = np.where(done, end, table[token].argmax(axis=-1))
        done |= token == end
        tokens.append(token)
    return np.stack(tokens)


def one_step_too_few(table, start, end, max_length):
    token, tokens = start, []
    done = np.zeros(len(start), bool)
    while len(tokens) < max_length - 1 and not done.all():
        token = np.where(done, end, table[token].argmax(axis=-1))
        done |= token == end
        tokens.append(token)
    return np.stack(tokens, axis=1)


def an_array_of_floats(table, start, end, max_length):
    token, tokens = start, []
    done = np.zeros(len(start), bool)
    while len(tokens) < max_length and not done.all():
        token = np.where(done, end, table[token].argmax(axis=-1))
        done |= token == end
        tokens.append(token)
    result = np.zeros((len(start), len(tokens)))
    result[:] = np.stack(tokens, axis=1)
    return result


def least_probable(table, start, end, max_length):
    token, tokens = start, []
    done = np.zeros(len(start), bool)
    while len(tokens) < max_length and not done.all():
        token = np.where(done, end, table[token].argmin(axis=-1))
        done |= token == end
        tokens.append(token)
    return np.stack(tokens, axis=1)


def start_overwritten(table, start, end, max_length):
    tokens = []
    done = np.zeros(len(start), bool)
    while len(tokens) < max_length and not done.all():
        start[:] = np.where(done, end, table[start].argmax(axis=-1))
        done |= start == end
        tokens.append(start.copy())
    return np.stack(tokens, axis=1)


def one_array_many_times(table, start, end, max_length):
    token, tokens = start.copy(), []
    done = np.zeros(len(start), bool)
    while len(tokens) < max_length and not done.all():
        token[:] = np.where(done, end, table[token].argmax(axis=-1))
        done |= token == end
        tokens.append(token)
    return np.stack(tokens, axis=1)


def nobody_remembered(table, start, end, max_length):
    token, tokens = start, []
    for _ in range(max_length):
        token = table[token].argmax(axis=-1)
        tokens.append(token)
        if (token == end).all():
            break
    return np.stack(tokens, axis=1)


MISTAKES = (
    Mistake(
        "going on after the end",
        end_not_kept,
        "A sequence that has ended goes on while others are still running. Once a sequence has "
        "produced end, everything after it is end: remember which ones are finished.",
    ),
    Mistake(
        "always to the limit",
        always_to_the_limit,
        "You always make max_length steps. Stop as soon as every sequence has ended: the result has "
        "as many columns as the longest one took.",
    ),
    Mistake(
        "the start token included",
        start_included,
        "The first column holds the start tokens. They were given; the result begins with the first "
        "token that was chosen.",
    ),
    Mistake(
        "the end left out",
        end_left_out,
        "The last column is missing: the step in which the last sequence ends belongs to the "
        "result, with its end token.",
    ),
    Mistake(
        "stopping with the first",
        stops_with_the_first,
        "Decoding stops when *one* sequence has ended. The others need their turn: stop when all "
        "have ended.",
    ),
    Mistake(
        "columns for rows",
        columns_for_rows,
        "You look down a column of the table. Row i holds what may *follow* token i: table[token].",
    ),
    Mistake(
        "always from the start",
        always_from_the_start,
        "Every step begins again at the start token. The chosen token is what the next step begins "
        "with.",
    ),
    Mistake(
        "something else after the end",
        zero_after_the_end,
        "After its end a sequence is filled with another number. Fill with end, so that the result "
        "holds nothing but tokens.",
    ),
    Mistake(
        "steps down the side",
        steps_down_the_side,
        "Your result has a row for each step. A row belongs to a sequence: stack the steps along "
        "axis 1.",
    ),
    Mistake(
        "one step too few",
        one_step_too_few,
        "A sequence that never ends should get max_length tokens; yours gets one less.",
    ),
    Mistake(
        "a product with zeros",
        one_hot_product,
        "Rows were picked by a product with ones and zeros. Where a token cannot follow, the table "
        "holds -inf, and 0 · -inf is NaN. table[token] picks rows without multiplying.",
    ),
    Mistake(
        "an array of floats",
        an_array_of_floats,
        "Tokens are whole numbers, and np.zeros makes floats unless it is told otherwise. A token "
        "of 2.0 cannot be looked up in a table.",
    ),
    Mistake(
        "the least probable token",
        least_probable,
        "You take the smallest number of each row. Log-probabilities are negative, and the largest "
        "(nearest to 0) is the most probable: argmax.",
    ),
    Mistake(
        "start overwritten",
        start_overwritten,
        "The tokens are right, but start[:] = … writes into the caller's own array. Give the "
        "current tokens a name of their own.",
    ),
    Mistake(
        "one array many times",
        one_array_many_times,
        "All columns are equal: token[:] = … writes into the same array at every step, and the list "
        "holds that one array many times. token = … makes a new one.",
    ),
    Mistake(
        "nobody remembered who has ended",
        nobody_remembered,
        "You stop when all sequences produce end *in the same step*. A sequence that ended earlier "
        "goes on writing, and has forgotten its end by then: remember which ones are finished, and "
        "put end there.",
    ),
)

EXERCISE = Exercise(
    identifier="04.greedy_decode",
    assignment="04_translator",
    title="Greedy decoding",
    kind="function",
    answer="greedy_decode",
    points=4,
    difficulty=2,
    minutes=15,
    hints=(
        "What has to be remembered from one step to the next, besides the tokens?",
        "`table[token]` are the rows of all sequences at once, `(B, V)`. Take the best column of "
        "each; where a sequence has ended before, put `end` instead. Remember who has ended.",
        "`np.where(done, end, table[token].argmax(axis=-1))` is the next token, and `done` becomes "
        "`done | (token == end)`. Collect the tokens in a list, stop when all are done or the limit "
        "is reached, and `np.stack(…, axis=1)`.",
    ),
    returns=("tokens",),
    cases=cases,
    laws=(
        same(
            "Only differences within a row of the table matter",
            _rows_shifted,
            "after each row of the table was raised or lowered as a whole, other tokens came out.",
            part="care",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with unequal lengths, no end, -inf or equal probabilities", 0.5),
    ),
    contents=lambda: Contents(greedy_decode, MISTAKES),
)
