"""07.merge_heads: the heads put side by side again, the way back from the split."""

import numpy as np

from attnkit.numpy import merge_heads, split_heads

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def _request(draw, random, *shape, **options):
    return Call({"heads": draw(random, *shape, **options)})


def cases(random):
    return [
        Case("two heads, two words, width 2 each", _request(readable, random, 2, 2, 2)),
        Case("three heads, five words, width 2 each", _request(normal, random, 3, 5, 2)),
        Case("two heads, three words, width 4 each", _request(normal, random, 2, 3, 4)),
        Case("four heads, three words, width 1 each", _request(normal, random, 4, 3, 1)),
        Case(
            "two sentences, three heads, five words",
            _request(normal, random, 2, 3, 5, 4),
            "axes",
        ),
        Case(
            "leading axes (2, 3), five heads, in float32",
            _request(normal, random, 2, 3, 5, 4, 2, dtype=np.float32),
            "axes",
        ),
        Case(
            "heads that come from a split",
            Call({"heads": split_heads(normal(random, 2, 3, 8), 2)}),
            "axes",
        ),
    ]


def _words_shuffled(random):
    request = _request(normal, random, 3, 5, 2)
    heads = request.arguments["heads"][:, [2, 0, 4, 1, 3]]
    return [request, Call({"heads": heads})]


def _sentences_turned_round(random):
    request = _request(normal, random, 4, 2, 3, 5)
    return [request, Call({"heads": request.arguments["heads"][::-1]})]


def plain_reshape(heads):
    *lead, n_heads, length, d_head = heads.shape
    return heads.reshape(*lead, length, n_heads * d_head)


def columns_alternate(heads):
    *lead, n_heads, length, d_head = heads.shape
    return np.moveaxis(heads, -3, -1).reshape(*lead, length, d_head * n_heads)


def averaged(heads):
    return heads.mean(axis=-3)


def added_up(heads):
    return heads.sum(axis=-3)


def one_under_another(heads):
    *lead, n_heads, length, d_head = heads.shape
    return heads.reshape(*lead, n_heads * length, d_head)


def not_merged(heads):
    return np.swapaxes(heads, -3, -2)


def wrong_pair_exchanged(heads):
    *lead, n_heads, length, d_head = heads.shape
    return np.swapaxes(heads, -1, -2).reshape(*lead, length, n_heads * d_head)


def axes_from_the_front(heads):
    *_lead, n_heads, _length, d_head = heads.shape
    turned = np.swapaxes(heads, 0, 1)
    return turned.reshape(*turned.shape[:-2], n_heads * d_head)


def first_axis_side_by_side(heads):
    return np.concatenate(list(heads), axis=-1)


def last_head_first(heads):
    *lead, n_heads, length, d_head = heads.shape
    turned = np.swapaxes(heads, -3, -2)[..., ::-1, :]
    return turned.reshape(*lead, length, n_heads * d_head)


def first_head_only(heads):
    return heads[..., 0, :, :].copy()


def batch_merged_too(heads):
    *_lead, n_heads, length, d_head = heads.shape
    return np.swapaxes(heads, -3, -2).reshape(-1, length, n_heads * d_head)


def first_head_repeated(heads):
    return np.concatenate([heads[..., 0, :, :]] * heads.shape[-3], axis=-1)


def first_two_axes_exchanged(heads):
    *lead, n_heads, length, d_head = heads.shape
    return np.swapaxes(heads, 0, 1).reshape(*lead, length, n_heads * d_head)


def joined_along_axis_1(heads):
    return np.concatenate(list(heads), axis=1)


MISTAKES = (
    Mistake(
        "a plain reshape",
        plain_reshape,
        "The shape is right and the numbers are in the wrong place: reshape reads head by head, so "
        "your first row holds several *words* of the first head. A row belongs to one word. Let heads "
        "and length change places before you reshape.",
    ),
    Mistake(
        "columns alternate",
        columns_alternate,
        "You dealt out columns like cards: first column of each head, second column of each head. A "
        "head's columns stay together, so heads stand before columns when you reshape.",
    ),
    Mistake(
        "heads averaged",
        averaged,
        "You averaged over heads. They saw different things, and whoever comes next should be able to "
        "tell them apart: put them side by side.",
    ),
    Mistake(
        "heads added up",
        added_up,
        "You added the heads up. Put them side by side: the output projection will mix them.",
    ),
    Mistake(
        "heads one under another",
        one_under_another,
        "Your heads lie one under another, as if there were H times as many words. They belong side by "
        "side.",
    ),
    Mistake(
        "not merged",
        not_merged,
        "Heads and length have changed places, but the last two axes are still two. Make one of them.",
    ),
    Mistake(
        "the wrong pair of axes exchanged",
        wrong_pair_exchanged,
        "You exchanged words and columns. It is heads and words that must change places: axes -3 and "
        "-2.",
    ),
    Mistake(
        "axes counted from the front",
        axes_from_the_front,
        "For one sentence axes 0 and 1 are heads and length. With leading axes they are others: count "
        "from the end, -3 and -2.",
    ),
    Mistake(
        "the first axis put side by side",
        first_axis_side_by_side,
        "For one sentence this is right. With leading axes the first axis is the batch, so you put "
        "*sentences* side by side.",
    ),
    Mistake(
        "the last head first",
        last_head_first,
        "The heads stand in reverse order. The first columns are the first head's.",
    ),
    Mistake(
        "the first head only",
        first_head_only,
        "Only the first head is left. All of them are needed, side by side.",
    ),
    Mistake(
        "the batch merged too",
        batch_merged_too,
        "A -1 in your reshape swallowed all leading axes into one, and made one where there was none. "
        "Keep them as they are.",
    ),
    Mistake(
        "the first head repeated",
        first_head_repeated,
        "The first head stands there H times. Each head goes to columns of its own.",
    ),
    Mistake(
        "the first two axes exchanged",
        first_two_axes_exchanged,
        "For one sentence axes 0 and 1 are heads and length. With leading axes they are others, and the "
        "reshape hides it: count from the end, -3 and -2.",
    ),
    Mistake(
        "joined along axis 1",
        joined_along_axis_1,
        "For one sentence this is right. With leading axes, axis 1 of what you join (as np.hstack does) "
        "are the words, and the first axis is the batch.",
    ),
)

EXERCISE = Exercise(
    identifier="07.merge_heads",
    assignment="07_multi_head",
    title="Merge the heads",
    kind="function",
    answer="merge_heads",
    points=3,
    difficulty=2,
    minutes=8,
    hints=(
        "Go back the way you came: what was done last must be undone first.",
        "`reshape` makes one axis of two only if they are neighbours in the right order. Which two "
        "axes must become one, and what stands between them?",
        "`np.swapaxes` on axes -3 and -2 puts the heads right before their columns. Then a `reshape` "
        "that keeps all axes but the last two.",
    ),
    returns=("merged heads",),
    cases=cases,
    laws=(
        same(
            "With the words in another order, the rows come in that order",
            _words_shuffled,
            "with the words shuffled, the rows were not just shuffled in the same way.",
            undo=lambda merged: merged[[1, 3, 0, 4, 2]],
        ),
        same(
            "Sentences do not influence each other",
            _sentences_turned_round,
            "with the sentences in reverse order, the results were not just reversed.",
            undo=lambda merged: merged[::-1],
            part="axes",
        ),
    ),
    parts=(
        Part("plain", "the cases with one sentence", 2 / 3),
        Part("axes", "those with leading axes", 1 / 3),
    ),
    contents=lambda: Contents(merge_heads, MISTAKES),
)
