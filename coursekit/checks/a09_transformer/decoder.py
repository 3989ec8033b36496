"""09.decoder_layer: look back, look at the source, think; each with a residual connection and a norm."""

import numpy as np

from attnkit.numpy import decoder_layer as library_decoder_layer

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .encoder import drawn_parameters
from .given import attend, normalise, think

SUBLAYERS = ("attention", "memory_attention", "feed_forward")


def decoder_layer(x, memory, parameters, n_heads, memory_mask):
    """The decoder layer, from the library."""
    return library_decoder_layer(x, memory, parameters, n_heads, memory_mask=memory_mask)


def _request(draw, random, lead, m, n, d_model, n_heads, d_ff, mask=None, **options):
    return Call(
        {
            "x": draw(random, *lead, m, d_model, **options),
            "memory": draw(random, *lead, n, d_model, **options),
            "parameters": drawn_parameters(draw, random, SUBLAYERS, d_model, d_ff, **options),
            "n_heads": n_heads,
            "memory_mask": np.ones((1, n), bool) if mask is None else np.array(mask, bool),
        }
    )


def cases(random):
    ragged = [[[1, 1, 1, 0]], [[1, 0, 0, 0]], [[1, 1, 1, 1]]]
    scattered = [[[0, 1, 1, 0, 1]], [[1, 0, 0, 1, 0]]]
    one_empty = [[[1, 1, 1]], [[0, 0, 0]]]
    return [
        Case(
            "two target words, two source words, one head",
            _request(readable, random, (), 2, 2, 4, 1, 3),
        ),
        Case(
            "three target words, three source words",
            _request(normal, random, (), 3, 3, 6, 3, 6),
        ),
        Case(
            "two sentences, three target and five source words",
            _request(normal, random, (2,), 3, 5, 4, 2, 7),
        ),
        Case(
            "two sentences, four target words and one source word",
            _request(normal, random, (2,), 4, 1, 4, 2, 5),
        ),
        Case(
            "three sources with padding",
            _request(normal, random, (3,), 4, 4, 4, 2, 5, ragged),
            "mask",
        ),
        Case(
            "padding in between, in float32",
            _request(normal, random, (2,), 3, 5, 6, 2, 4, scattered, dtype=np.float32),
            "mask",
        ),
        Case(
            "two sources, the second without any words",
            _request(normal, random, (2,), 2, 3, 4, 2, 6, one_empty),
            "mask",
        ),
    ]


def _target_continued(random):
    request = _request(normal, random, (), 5, 4, 4, 2, 6)
    shorter = request.arguments["x"][:3]
    return [Call({**request.arguments, "x": shorter}), request]


def _padding_left_out(random):
    request = _request(normal, random, (), 3, 5, 4, 2, 6, [[1, 1, 1, 0, 0]])
    memory, mask = request.arguments["memory"][:3], request.arguments["memory_mask"][:, :3]
    return [Call({**request.arguments, "memory": memory, "memory_mask": mask}), request]


def sees_the_future(x, memory, parameters, n_heads, memory_mask):
    found = attend(x, x, parameters["attention"], n_heads)
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(x, memory, parameters["memory_attention"], n_heads, memory_mask)
    x = normalise(x + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def sees_only_the_future(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    causal = np.triu(np.ones((m, m), bool))
    found = attend(x, x, parameters["attention"], n_heads, causal)
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(x, memory, parameters["memory_attention"], n_heads, memory_mask)
    x = normalise(x + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def not_at_itself(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    causal = np.tri(m, k=-1, dtype=bool)
    found = attend(x, x, parameters["attention"], n_heads, causal)
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(x, memory, parameters["memory_attention"], n_heads, memory_mask)
    x = normalise(x + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def source_hidden_as_if_future(x, memory, parameters, n_heads, memory_mask):
    m, n = x.shape[-2], memory.shape[-2]
    found = attend(x, x, parameters["attention"], n_heads, np.tri(m, dtype=bool))
    x = normalise(x + found, parameters["attention_norm"])
    mask = memory_mask & np.tri(m, n, dtype=bool)
    found = attend(x, memory, parameters["memory_attention"], n_heads, mask)
    x = normalise(x + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def memory_mask_not_handed_on(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    found = attend(x, x, parameters["attention"], n_heads, np.tri(m, dtype=bool))
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(x, memory, parameters["memory_attention"], n_heads)
    x = normalise(x + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def memory_mask_on_the_target(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    causal = np.tri(m, dtype=bool) & memory_mask
    found = attend(x, x, parameters["attention"], n_heads, causal)
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(x, memory, parameters["memory_attention"], n_heads, memory_mask)
    x = normalise(x + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def source_asks(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    found = attend(x, x, parameters["attention"], n_heads, np.tri(m, dtype=bool))
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(memory, x, parameters["memory_attention"], n_heads)
    x = normalise(x + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def source_never_seen(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    causal = np.tri(m, dtype=bool)
    found = attend(x, x, parameters["attention"], n_heads, causal)
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(x, x, parameters["memory_attention"], n_heads, causal)
    x = normalise(x + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def source_first(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    found = attend(x, memory, parameters["memory_attention"], n_heads, memory_mask)
    x = normalise(x + found, parameters["memory_attention_norm"])
    found = attend(x, x, parameters["attention"], n_heads, np.tri(m, dtype=bool))
    x = normalise(x + found, parameters["attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def same_parameters_twice(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    found = attend(x, x, parameters["attention"], n_heads, np.tri(m, dtype=bool))
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(x, memory, parameters["attention"], n_heads, memory_mask)
    x = normalise(x + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def input_asks_the_source(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    found = attend(x, x, parameters["attention"], n_heads, np.tri(m, dtype=bool))
    after = normalise(x + found, parameters["attention_norm"])
    found = attend(x, memory, parameters["memory_attention"], n_heads, memory_mask)
    x = normalise(after + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def no_residual_around_the_source(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    found = attend(x, x, parameters["attention"], n_heads, np.tri(m, dtype=bool))
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(x, memory, parameters["memory_attention"], n_heads, memory_mask)
    x = normalise(found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def no_feed_forward(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    found = attend(x, x, parameters["attention"], n_heads, np.tri(m, dtype=bool))
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(x, memory, parameters["memory_attention"], n_heads, memory_mask)
    return normalise(x + found, parameters["memory_attention_norm"])


def norm_before_the_sublayers(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    y = normalise(x, parameters["attention_norm"])
    x = x + attend(y, y, parameters["attention"], n_heads, np.tri(m, dtype=bool))
    y = normalise(x, parameters["memory_attention_norm"])
    x = x + attend(y, memory, parameters["memory_attention"], n_heads, memory_mask)
    return x + think(normalise(x, parameters["feed_forward_norm"]), parameters["feed_forward"])


def middle_norm_missing(x, memory, parameters, n_heads, memory_mask):
    m = x.shape[-2]
    found = attend(x, x, parameters["attention"], n_heads, np.tri(m, dtype=bool))
    x = normalise(x + found, parameters["attention_norm"])
    x = x + attend(x, memory, parameters["memory_attention"], n_heads, memory_mask)
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def later_words_alone(x, memory, parameters, n_heads, memory_mask):
    causal = ~np.tri(x.shape[-2], dtype=bool)
    found = attend(x, x, parameters["attention"], n_heads, causal)
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(x, memory, parameters["memory_attention"], n_heads, memory_mask)
    x = normalise(x + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def memory_mask_turned_round(x, memory, parameters, n_heads, memory_mask):
    causal = np.tri(x.shape[-2], dtype=bool)
    found = attend(x, x, parameters["attention"], n_heads, causal)
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(x, memory, parameters["memory_attention"], n_heads, ~memory_mask)
    x = normalise(x + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def length_of_the_first_axis(x, memory, parameters, n_heads, memory_mask):
    causal = np.tri(len(x), dtype=bool)
    found = attend(x, x, parameters["attention"], n_heads, causal)
    x = normalise(x + found, parameters["attention_norm"])
    found = attend(x, memory, parameters["memory_attention"], n_heads, memory_mask)
    x = normalise(x + found, parameters["memory_attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


MISTAKES = (
    Mistake(
        "the future in view",
        sees_the_future,
        "Each target position looks at all others, later ones included. In training the next word "
        "stands right there, so the model learns to copy it, and can write nothing by itself.",
    ),
    Mistake(
        "the triangle upside down",
        sees_only_the_future,
        "Your triangle lets each position look at itself and at what comes *later*. np.tri, not "
        "np.triu.",
    ),
    Mistake(
        "no look at itself",
        not_at_itself,
        "A target position may look at itself too; with k=-1 the first one sees nothing.",
    ),
    Mistake(
        "the source hidden as if it were the future",
        source_hidden_as_if_future,
        "You put the triangle on the source as well. The source is known from the beginning: every "
        "target position may look at all of it, except for padding.",
    ),
    Mistake(
        "the memory mask not handed on",
        memory_mask_not_handed_on,
        "Without padding all is well, but memory_mask never reaches the look at the source.",
    ),
    Mistake(
        "the memory mask on the target",
        memory_mask_on_the_target,
        "memory_mask is about the n source positions. In self-attention the keys are the m positions "
        "of the target, and only the triangle applies.",
    ),
    Mistake(
        "the source asks",
        source_asks,
        "attend(memory, …) makes the queries from the source. The target asks, the source answers: "
        "attend(x, memory, …).",
    ),
    Mistake(
        "the source never seen",
        source_never_seen,
        "The second attention looks at the target again, and `memory` is never used: a language "
        "model, not a translator.",
    ),
    Mistake(
        "the source first",
        source_first,
        "The look at the source comes second, after the look back at the target.",
    ),
    Mistake(
        "one attention's parameters twice",
        same_parameters_twice,
        "Both attentions use parameters['attention']. The look at the source has its own: "
        "memory_attention.",
    ),
    Mistake(
        "the layer's input asks the source",
        input_asks_the_source,
        "The queries to the source come from the layer's input. They come from what leaves the first "
        "sublayer: each position asks knowing what was written before it.",
    ),
    Mistake(
        "no residual connection around the source",
        no_residual_around_the_source,
        "What the look at the source finds replaces x. It is added, as around every sublayer.",
    ),
    Mistake(
        "no feed-forward network",
        no_feed_forward,
        "The third sublayer is missing: after both looks each position thinks for itself, with a "
        "residual connection and a norm.",
    ),
    Mistake(
        "pre-norm",
        norm_before_the_sublayers,
        "This is a pre-norm layer, rightly built. Asked for is post-norm: the sum is normalised.",
    ),
    Mistake(
        "the norm in the middle missing",
        middle_norm_missing,
        "Three sublayers, three norms: the sum after the look at the source is not normalised.",
    ),
    Mistake(
        "later words alone",
        later_words_alone,
        "Your triangle is the opposite: each position sees later ones only. True means *may be "
        "looked at*, so np.tri is right as it is.",
    ),
    Mistake(
        "the memory mask turned round",
        memory_mask_turned_round,
        "You handed on ~memory_mask. attend means the same by True as the layer: may be looked at.",
    ),
    Mistake(
        "the length of the first axis",
        length_of_the_first_axis,
        "len(x) is the number of words only while there are two axes; in a batch it is the number "
        "of sentences. Take x.shape[-2].",
    ),
)

EXERCISE = Exercise(
    identifier="09.decoder_layer",
    assignment="09_transformer",
    title="The decoder layer",
    kind="function",
    answer="decoder_layer",
    points=4,
    difficulty=2,
    minutes=15,
    hints=(
        "Three sublayers. For each ask: who asks, who answers, and who may not be seen?",
        "Look back at the target (queries, keys and values from `x`, under a triangle), look at the "
        "source (queries from `x`, keys and values from `memory`, under `memory_mask`), think. After "
        "each: sum and norm.",
        "The triangle is `np.tri(m, dtype=bool)` with `m = x.shape[-2]`. All three lines have the "
        "form `x = normalise(x + …, parameters[…])`; in the second, `attend` gets `memory` in second "
        "place.",
    ),
    returns=("output",),
    cases=cases,
    laws=(
        same(
            "What is written later does not change what stands before",
            _target_continued,
            "with two more words at the end of the target, the outputs before them changed.",
            undo=lambda output: output[:3],
        ),
        same(
            "Padding of the source can be left out",
            _padding_left_out,
            "without the padding of the source another output came out.",
            part="mask",
        ),
    ),
    parts=(
        Part("plain", "the cases without padding", 0.5),
        Part("mask", "those with padding in the source", 0.5),
    ),
    helpers=("imports", "attend", "think", "normalise"),
    contents=lambda: Contents(decoder_layer, MISTAKES),
)
