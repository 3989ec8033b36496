"""07.counterexample and 07.heads_together: heads merged by a plain reshape, so that words are mixed.

The faulty program is handed out in a locked cell. Learners first find two sentences on which it
breaks a law (a test, written as data), then write the program as it should be.
"""

import numpy as np

from attnkit.numpy import merge_heads, scaled_dot_product_attention, split_heads

from ..compare import TOLERANCE, same_values
from ..draw import normal, readable
from ..model import Case, Contents, Exercise, Finding, Law, Mistake, Part
from ..surface import Call
from .given import faulty_heads, softmax


def heads_together(x, n_heads):
    """The program as it should be, from the library's split, attention and merge."""
    heads = split_heads(x, n_heads)
    return merge_heads(scaled_dot_product_attention(heads, heads, heads, causal=True))


# ---------------------------------------------------------------- the counterexample


def a_counterexample():
    """Two sentences that differ in their last word, and a number of heads: the fault shows."""
    x = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0]])
    other = x.copy()
    other[2] += 1.0
    return x, other, 2


VISIBLE = 1e-3
LARGEST = 1e3


def judge_counterexample(request, value):
    """Whether the faulty program lets the last word reach an earlier row on `value`."""
    x, other, n_heads = value
    for name, sentence in (("x", x), ("other", other)):
        if sentence.ndim != 2:
            return Finding(
                "shape",
                f"{name} of {sentence.ndim} axes",
                f"expected {name} to be one sentence, (T, d_model), got shape {sentence.shape}.",
            )
    if x.shape != other.shape:
        return Finding(
            "shape",
            "unequal",
            f"expected two sentences of one shape, got {x.shape} and {other.shape}.",
        )
    if n_heads.ndim:
        return Finding(
            "shape", "heads", f"expected n_heads to be one number, got shape {n_heads.shape}."
        )
    for name, array in (("x", x), ("other", other)):
        if array.dtype.kind not in "fiu":
            return Finding("dtype", name, f"expected {name} of numbers, got {array.dtype}.")
    if n_heads.dtype.kind not in "iu":
        return Finding(
            "dtype",
            f"heads {n_heads.dtype.kind}",
            f"expected n_heads to be a whole number, got {n_heads.dtype}.",
        )
    if not (np.isfinite(x).all() and np.isfinite(other).all()):
        return Finding("finite", "not finite", "NaN and infinity are no words.")
    return _judge_numbers(x.astype(float), other.astype(float), int(n_heads))


def _judge_numbers(x, other, n_heads):
    """What `value` shows, once it is two sentences of one shape and a whole number."""
    length, d_model = x.shape
    if n_heads < 1 or d_model % n_heads:
        return Finding(
            "value",
            "does not divide",
            f"a width of {d_model} cannot be shared by {n_heads} heads, so the program stops with "
            f"an error. The fault is one that nobody notices.",
        )
    if max(np.abs(x).max(initial=0), np.abs(other).max(initial=0)) > LARGEST:
        return Finding("value", "huge", "small numbers will do, and can be read.")
    if length < 2:
        return Finding("value", "short", "with fewer than two words there is no earlier row.")
    if (x[:-1] != other[:-1]).any():
        return Finding(
            "value",
            "earlier words differ",
            "the sentences differ before their last word, so earlier rows may differ in a right "
            "program too.",
        )
    if (x[-1] == other[-1]).all():
        return Finding(
            "value", "equal", "both sentences are the same, so nothing can move, in any program."
        )
    moved = np.abs(faulty_heads(x, n_heads) - faulty_heads(other, n_heads))[:-1].max()
    if moved > VISIBLE:
        return None
    if n_heads == 1:
        return Finding(
            "value",
            "one head",
            "no earlier row moves: with one head there is nothing to merge, and the faulty program "
            "is right.",
        )
    d_head = d_model // n_heads
    if (x[-1, :-d_head] == other[-1, :-d_head]).all():
        return Finding(
            "value",
            "last head",
            "no earlier row moves. Only the last head's columns were changed, and what the last head "
            "finds for the last word lies at the very end of the array, where it belongs.",
        )
    return Finding(
        "value", "too little", f"earlier rows move by {moved:.1g} only, which nobody would notice."
    )


def one_head():
    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    return x, x + np.array([[0.0], [0.0], [1.0]]), 1


def one_word():
    return np.array([[1.0, 0.0, 1.0, 0.0]]), np.array([[0.0, 1.0, 1.0, 0.0]]), 2


def first_word_changed():
    x = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    return x, x + np.array([[1.0], [0.0]]), 2


def twice_the_same():
    x = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    return x, x.copy(), 2


def last_head_changed():
    x = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    return x, x + np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0]]), 2


def heads_that_do_not_divide():
    x = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    return x, x + np.array([[0.0], [1.0]]), 3


def a_batch():
    x = np.array([[[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]])
    return x, x + np.array([[0.0], [1.0]]), 2


def a_longer_sentence():
    x = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    return x, np.concatenate([x, x[:1]]), 2


def number_of_heads_forgotten():
    x = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    return x, x + np.array([[0.0], [1.0]])


def hardly_changed():
    x = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    return x, x + np.array([[0.0], [1e-6]]), 2


def heads_as_a_fraction():
    x = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    return x, x + np.array([[0.0], [1.0]]), x.shape[1] / 2


def last_word_missing():
    x = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    return x, np.where([[False], [True]], np.nan, x), 2


COUNTEREXAMPLE_MISTAKES = (
    Mistake(
        "one head",
        one_head,
        "One head needs no merging, so both programs are the same. A test with one head would let the "
        "fault through; take two.",
    ),
    Mistake(
        "one word",
        one_word,
        "With one word there is only one row, and everything lands in it. Take two words or more.",
    ),
    Mistake(
        "the first word changed",
        first_word_changed,
        "You changed an early word. Later words may look at it, so its own row and later ones differ "
        "in a right program as well. Change the *last* word: nobody before may look at it.",
    ),
    Mistake(
        "the same sentence twice",
        twice_the_same,
        "Nothing was changed. Add something to the last word of the second sentence.",
    ),
    Mistake(
        "only the last head's columns changed",
        last_head_changed,
        "The one place that a plain reshape leaves where it was. Change the first head's columns too.",
    ),
    Mistake(
        "heads that do not divide the width",
        heads_that_do_not_divide,
        "Choose a number of heads that divides the width, 2 for a width of 4.",
    ),
    Mistake(
        "a batch of sentences",
        a_batch,
        "The program takes one sentence, (T, d_model). Leave the outer pair of brackets away.",
    ),
    Mistake(
        "a longer sentence",
        a_longer_sentence,
        "You added a word. Change the last word and leave their number as it is, so that rows can be "
        "compared.",
    ),
    Mistake(
        "the number of heads forgotten",
        number_of_heads_forgotten,
        "Three things are asked for: x, other and n_heads.",
    ),
    Mistake(
        "hardly changed",
        hardly_changed,
        "So small a change could be taken for rounding. Add 1 to the last word.",
    ),
    Mistake(
        "the number of heads as a fraction",
        heads_as_a_fraction,
        "4 / 2 is 2.0, and reshape refuses it. Write 2, or use //.",
    ),
    Mistake(
        "NaN in place of the last word",
        last_word_missing,
        "NaN would spread in a right program, too. Put an ordinary word there.",
    ),
)

COUNTEREXAMPLE = Exercise(
    identifier="07.counterexample",
    assignment="07_multi_head",
    title="Find two sentences on which the fault shows",
    kind="counterexample",
    answer="counterexample",
    points=2,
    difficulty=2,
    minutes=10,
    hints=(
        "The program is causal. Which rows of the result must stay as they are when the last word is "
        "exchanged?",
        "All but the last. So take a sentence of a few words and a copy whose last row is different. "
        "When has the merge nothing to do, so that even a wrong one is right?",
        "Three words of width 4 and two heads are enough. Copy the sentence, add 1 to *all* columns of "
        "its last row, and return both with the number 2.",
    ),
    returns=("x", "other", "n_heads"),
    cases=lambda random: [Case("your sentences", Call())],
    judge=judge_counterexample,
    contents=lambda: Contents(a_counterexample, COUNTEREXAMPLE_MISTAKES),
)


# ---------------------------------------------------------------- the mended program


def _request(draw, random, length, d_model, n_heads, **options):
    return Call({"x": draw(random, length, d_model, **options), "n_heads": n_heads})


def cases(random):
    return [
        Case("two words of width 4, two heads", _request(readable, random, 2, 4, 2)),
        Case("five words of width 6, three heads", _request(normal, random, 5, 6, 3)),
        Case("three words of width 8, two heads", _request(normal, random, 3, 8, 2)),
        Case("three words, four heads of width 1", _request(normal, random, 3, 4, 4), "care"),
        Case("four words, one head", _request(normal, random, 4, 5, 1), "care"),
        Case("a single word", _request(normal, random, 1, 6, 3), "care"),
        Case("float32 numbers", _request(normal, random, 4, 6, 2, dtype=np.float32), "care"),
    ]


def _last_word_exchanged(random):
    request = _request(normal, random, 4, 6, 3)
    x = request.arguments["x"].copy()
    x[-1] = normal(random, 6)
    return [request, Call({**request.arguments, "x": x})]


def _earlier_rows_move(requests, values):
    (one,), (other,) = values
    if same_values(one[:-1], other[:-1], TOLERANCE["float64"]):
        return None
    return "with another last word, earlier rows changed."


def as_it_was(x, n_heads):
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(length, n_heads, d_head).swapaxes(0, 1)
    scores = heads @ heads.swapaxes(1, 2) / np.sqrt(d_head)
    context = softmax(scores, np.tri(length, dtype=bool)) @ heads
    return context.reshape(length, d_model)


def split_spoilt_too(x, n_heads):
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(n_heads, length, d_head)
    scores = heads @ heads.swapaxes(1, 2) / np.sqrt(d_head)
    context = softmax(scores, np.tri(length, dtype=bool)) @ heads
    return context.reshape(length, d_model)


def split_spoilt_merge_mended(x, n_heads):
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(n_heads, length, d_head)
    scores = heads @ heads.swapaxes(1, 2) / np.sqrt(d_head)
    context = softmax(scores, np.tri(length, dtype=bool)) @ heads
    return context.swapaxes(0, 1).reshape(length, d_model)


def wrong_pair_exchanged(x, n_heads):
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(length, n_heads, d_head).swapaxes(0, 1)
    scores = heads @ heads.swapaxes(1, 2) / np.sqrt(d_head)
    context = softmax(scores, np.tri(length, dtype=bool)) @ heads
    return context.swapaxes(1, 2).reshape(length, d_model)


def columns_alternate(x, n_heads):
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(length, n_heads, d_head).swapaxes(0, 1)
    scores = heads @ heads.swapaxes(1, 2) / np.sqrt(d_head)
    context = softmax(scores, np.tri(length, dtype=bool)) @ heads
    return np.moveaxis(context, 0, -1).reshape(length, d_model)


def all_axes_turned(x, n_heads):
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(length, n_heads, d_head).swapaxes(0, 1)
    scores = heads @ heads.swapaxes(1, 2) / np.sqrt(d_head)
    context = softmax(scores, np.tri(length, dtype=bool)) @ heads
    return context.T.reshape(length, d_model)


def transposed_after_the_merge(x, n_heads):
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(length, n_heads, d_head).swapaxes(0, 1)
    scores = heads @ heads.swapaxes(1, 2) / np.sqrt(d_head)
    context = softmax(scores, np.tri(length, dtype=bool)) @ heads
    return context.reshape(d_model, length).T


def not_merged(x, n_heads):
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(length, n_heads, d_head).swapaxes(0, 1)
    scores = heads @ heads.swapaxes(1, 2) / np.sqrt(d_head)
    context = softmax(scores, np.tri(length, dtype=bool)) @ heads
    return context.swapaxes(0, 1)


def averaged(x, n_heads):
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(length, n_heads, d_head).swapaxes(0, 1)
    scores = heads @ heads.swapaxes(1, 2) / np.sqrt(d_head)
    context = softmax(scores, np.tri(length, dtype=bool)) @ heads
    return np.tile(context.mean(axis=0), n_heads)


def mask_dropped(x, n_heads):
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(length, n_heads, d_head).swapaxes(0, 1)
    scores = heads @ heads.swapaxes(1, 2) / np.sqrt(d_head)
    context = softmax(scores) @ heads
    return context.swapaxes(0, 1).reshape(length, d_model)


def mask_turned_over(x, n_heads):
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(length, n_heads, d_head).swapaxes(0, 1)
    scores = heads @ heads.swapaxes(1, 2) / np.sqrt(d_head)
    context = softmax(scores, np.tri(length, dtype=bool).T) @ heads
    return context.swapaxes(0, 1).reshape(length, d_model)


def root_of_the_model_width(x, n_heads):
    length, d_model = x.shape
    d_head = d_model // n_heads
    heads = x.reshape(length, n_heads, d_head).swapaxes(0, 1)
    scores = heads @ heads.swapaxes(1, 2) / np.sqrt(d_model)
    context = softmax(scores, np.tri(length, dtype=bool)) @ heads
    return context.swapaxes(0, 1).reshape(length, d_model)


def heads_given_up(x, n_heads):
    scores = x @ x.T / np.sqrt(x.shape[1])
    return softmax(scores, np.tri(len(x), dtype=bool)) @ x


MENDED_MISTAKES = (
    Mistake(
        "as it was",
        as_it_was,
        "This is the program that was given. context is (H, T, d_head), and reshape reads it head by "
        "head: the first row gets several *words* of the first head.",
    ),
    Mistake(
        "the split spoilt too",
        split_spoilt_too,
        "Now the split is a plain reshape as well, so that split and merge undo each other. But between "
        "them a head holds whole words in place of its columns of every word. The split was right.",
    ),
    Mistake(
        "the split spoilt, the merge mended",
        split_spoilt_merge_mended,
        "The merge is right now, but you also took the exchange of axes out of the split, which was "
        "right before.",
    ),
    Mistake(
        "the wrong pair of axes exchanged",
        wrong_pair_exchanged,
        "You exchanged words and columns before the reshape. Heads and words must change places: axes "
        "0 and 1.",
    ),
    Mistake(
        "columns alternate",
        columns_alternate,
        "Now a row belongs to one word, but its columns are dealt out like cards among the heads. The "
        "columns of a head stay together: (T, H, d_head) is what reshape must see.",
    ),
    Mistake(
        "all axes turned round",
        all_axes_turned,
        ".T turns *all* axes round: (d_head, T, H). Only heads and words must change places.",
    ),
    Mistake(
        "transposed after the reshape",
        transposed_after_the_merge,
        "Once reshape has mixed the words, no transpose of the result puts them in order. Exchange the "
        "axes before.",
    ),
    Mistake(
        "not merged",
        not_merged,
        "Heads and words have changed places, but the result still has three axes. Make heads and "
        "columns one axis.",
    ),
    Mistake(
        "heads averaged",
        averaged,
        "You averaged the heads. Each has columns of its own in the result.",
    ),
    Mistake(
        "the causal mask dropped",
        mask_dropped,
        "The merge is right, but the causal mask is gone.",
    ),
    Mistake(
        "the causal mask turned over",
        mask_turned_over,
        "The merge is right, but now every word looks at itself and at the future.",
    ),
    Mistake(
        "the root of the model width",
        root_of_the_model_width,
        "The merge is right, but the scale was right before: a score of a head is a sum over d_head "
        "components.",
    ),
    Mistake(
        "the heads given up",
        heads_given_up,
        "Without heads there is nothing to merge, but it is another layer: one head of the whole width.",
    ),
)

MENDED = Exercise(
    identifier="07.heads_together",
    assignment="07_multi_head",
    title="Mend the program",
    kind="mended",
    answer="heads_together",
    points=2,
    difficulty=2,
    minutes=6,
    hints=(
        "Write the shape behind every line. Where do two axes become one, and are they the right two?",
        "Only one line is wrong. What the second line of the split did to the axes has to be undone "
        "before two of them become one.",
        "Before the last `reshape`, heads and words must change places, so that it sees "
        "`(T, H, d_head)`.",
    ),
    returns=("output",),
    cases=cases,
    laws=(
        Law(
            "Earlier words do not hear of the last one",
            _last_word_exchanged,
            _earlier_rows_move,
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with one head, narrow heads, one word or float32", 0.5),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(heads_together, MENDED_MISTAKES),
)
