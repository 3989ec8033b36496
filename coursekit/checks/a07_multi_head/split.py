"""07.split_heads: the width cut into heads, and the heads put before the length."""

import numpy as np

from attnkit.numpy import split_heads

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def _request(draw, random, *shape, n_heads, **options):
    return Call({"x": draw(random, *shape, **options), "n_heads": n_heads})


def cases(random):
    return [
        Case("two words of width 4, two heads", _request(readable, random, 2, 4, n_heads=2)),
        Case("five words of width 6, three heads", _request(normal, random, 5, 6, n_heads=3)),
        Case("three words of width 8, two heads", _request(normal, random, 3, 8, n_heads=2)),
        Case("three words of width 4, heads of width 1", _request(normal, random, 3, 4, n_heads=4)),
        Case(
            "two sentences of five words, three heads",
            _request(normal, random, 2, 5, 12, n_heads=3),
            "axes",
        ),
        Case(
            "leading axes (2, 3), four words, in float32",
            _request(normal, random, 2, 3, 4, 10, n_heads=5, dtype=np.float32),
            "axes",
        ),
        Case("one head", _request(normal, random, 2, 3, 4, n_heads=1), "axes"),
    ]


def _words_shuffled(random):
    request = _request(normal, random, 5, 6, n_heads=2)
    x = request.arguments["x"][[2, 0, 4, 1, 3]]
    return [request, Call({**request.arguments, "x": x})]


def _sentences_turned_round(random):
    request = _request(normal, random, 3, 2, 6, n_heads=3)
    return [request, Call({**request.arguments, "x": request.arguments["x"][::-1]})]


def plain_reshape(x, n_heads):
    *lead, length, d_model = x.shape
    return x.reshape(*lead, n_heads, length, d_model // n_heads)


def every_so_many_columns(x, n_heads):
    *lead, length, d_model = x.shape
    heads = x.reshape(*lead, length, d_model // n_heads, n_heads)
    return np.moveaxis(heads, -1, -3)


def heads_after_the_length(x, n_heads):
    *lead, length, d_model = x.shape
    return x.reshape(*lead, length, n_heads, d_model // n_heads)


def number_taken_for_width(x, n_heads):
    *lead, length, d_model = x.shape
    heads = x.reshape(*lead, length, d_model // n_heads, n_heads)
    return np.swapaxes(heads, -3, -2)


def lying_on_the_side(x, n_heads):
    *lead, length, d_model = x.shape
    heads = x.reshape(*lead, length, n_heads, d_model // n_heads)
    return np.moveaxis(heads, -3, -1)


def heads_before_everything(x, n_heads):
    return np.stack(np.split(x, n_heads, axis=-1))


def list_of_heads(x, n_heads):
    return np.split(x, n_heads, axis=-1)


def axes_from_the_front(x, n_heads):
    *lead, length, d_model = x.shape
    heads = x.reshape(*lead, length, n_heads, d_model // n_heads)
    return np.swapaxes(heads, 0, 1)


def words_cut(x, n_heads):
    return np.stack(np.array_split(x, n_heads, axis=-2), axis=-3)


def not_cut(x, n_heads):
    return np.stack([x] * n_heads, axis=-3)


def first_head_everywhere(x, n_heads):
    d_head = x.shape[-1] // n_heads
    return np.stack([x[..., :d_head] for _ in range(n_heads)], axis=-3)


def last_head_first(x, n_heads):
    *lead, length, d_model = x.shape
    heads = x.reshape(*lead, length, n_heads, d_model // n_heads)
    return np.swapaxes(heads, -3, -2)[..., ::-1, :, :]


def all_axes_turned_round(x, n_heads):
    return x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads).T


MISTAKES = (
    Mistake(
        "a plain reshape",
        plain_reshape,
        "The shape is right and the numbers are in the wrong place. reshape reads row by row: it fills "
        "the first head with the *whole* first words. Cut the width into two axes, which moves nothing, "
        "then let heads and length change places.",
    ),
    Mistake(
        "every so many columns",
        every_so_many_columns,
        "Each head got every H-th column. A head owns neighbouring columns: of width 6 and three "
        "heads, columns 0 and 1 are the first head's. In the reshape heads come before columns.",
    ),
    Mistake(
        "heads after the length",
        heads_after_the_length,
        "The width is cut rightly, but heads still stand after the length. @ and softmax work on the "
        "last two axes, and those must be words and columns: heads go before.",
    ),
    Mistake(
        "the number of heads taken for their width",
        number_taken_for_width,
        "Your heads have n_heads columns each. n_heads says how many there are; each has d_model / "
        "n_heads columns.",
    ),
    Mistake(
        "words and columns exchanged",
        lying_on_the_side,
        "Every head lies on its side, with columns before words. Only heads and length change places; "
        "the columns of a head stay the last axis.",
    ),
    Mistake(
        "heads before all axes",
        heads_before_everything,
        "For one sentence this is right. With leading axes the heads stand before the batch; they "
        "belong just before the length.",
    ),
    Mistake(
        "a list of heads",
        list_of_heads,
        "np.split gives a list of arrays. One array is asked for, with an axis for the heads.",
    ),
    Mistake(
        "axes counted from the front",
        axes_from_the_front,
        "For one sentence axes 0 and 1 are length and heads. With leading axes they are others: count "
        "from the end, -3 and -2.",
    ),
    Mistake(
        "the words cut, not the width",
        words_cut,
        "You dealt out the words among the heads. Every head sees all words, and of each word a part "
        "of its columns.",
    ),
    Mistake(
        "nothing cut",
        not_cut,
        "Every head got the whole width. Heads share it: d_model / n_heads columns each.",
    ),
    Mistake(
        "the first head everywhere",
        first_head_everywhere,
        "All heads got the first columns. Head h begins at column h * d_head.",
    ),
    Mistake(
        "the last head first",
        last_head_first,
        "The heads come in reverse order. The first columns are the first head's.",
    ),
    Mistake(
        "all axes turned round",
        all_axes_turned_round,
        ".T turns *all* axes round, columns of a head first. Only heads and length must change places: "
        "np.swapaxes with -3 and -2.",
    ),
)

EXERCISE = Exercise(
    identifier="07.split_heads",
    assignment="07_multi_head",
    title="Split the width into heads",
    kind="vectorised",
    answer="split_heads",
    points=3,
    difficulty=2,
    minutes=12,
    hints=(
        "Two steps: cut the last axis into two, then exchange two axes. Which of the two steps moves "
        "numbers past each other?",
        "`reshape` may cut one axis into neighbours without disorder: `d_model` into `(n_heads, "
        "d_head)`, in this order. After that the heads stand behind the length.",
        "Keep all axes but the last, `x.shape[:-1]`, and put `n_heads` and `d_model // n_heads` after "
        "them. Then `np.swapaxes` on axes counted from the end.",
    ),
    returns=("heads",),
    cases=cases,
    laws=(
        same(
            "With the words in another order, each head's rows come in that order",
            _words_shuffled,
            "with the words shuffled, the rows of the heads were not just shuffled in the same way.",
            undo=lambda heads: heads[..., [1, 3, 0, 4, 2], :],
        ),
        same(
            "Sentences do not influence each other",
            _sentences_turned_round,
            "with the sentences in reverse order, the results were not just reversed.",
            undo=lambda heads: heads[::-1],
            part="axes",
        ),
    ),
    parts=(
        Part("plain", "the cases with one sentence", 2 / 3),
        Part("axes", "those with leading axes", 1 / 3),
    ),
    contents=lambda: Contents(split_heads, MISTAKES),
)
