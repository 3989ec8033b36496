"""09.encoder_layer: two sublayers, two residual connections, and two norms in one of two places."""

import numpy as np

from attnkit.numpy import encoder_layer as library_encoder_layer

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .given import attend, normalise, think

SUBLAYERS = ("attention", "feed_forward")


def encoder_layer(x, parameters, n_heads, mask, norm):
    """The encoder layer, from the library."""
    return library_encoder_layer(x, parameters, n_heads, mask, norm=norm)


def drawn_parameters(draw, random, sublayers, d_model, d_ff, **options):
    """Parameters of a layer with these sublayers, each with its norm."""
    parameters = {}
    for name in sublayers:
        if name == "feed_forward":
            shapes = {"hidden": (d_model, d_ff), "output": (d_ff, d_model)}
        else:
            shapes = dict.fromkeys(("query", "key", "value", "output"), (d_model, d_model))
        parameters[name] = {}
        for part, shape in shapes.items():
            # With larger numbers softmax would be all or nothing, and what is seen hardly matter.
            scale = shape[0] ** 0.5 if draw is normal else 2
            parameters[name][f"w_{part}"] = draw(random, *shape, **options) / scale
            parameters[name][f"b_{part}"] = draw(random, shape[1], **options)
    for name in sublayers:
        parameters[f"{name}_norm"] = {
            "gain": draw(random, d_model, **options),
            "bias": draw(random, d_model, **options),
        }
    return parameters


def _request(draw, random, lead, n, d_model, n_heads, d_ff, norm="post", mask=None, **options):
    return Call(
        {
            "x": draw(random, *lead, n, d_model, **options),
            "parameters": drawn_parameters(draw, random, SUBLAYERS, d_model, d_ff, **options),
            "n_heads": n_heads,
            "mask": np.ones((1, n), bool) if mask is None else np.array(mask, bool),
            "norm": norm,
        }
    )


def cases(random):
    ragged = [[[1, 1, 1, 0]], [[1, 0, 0, 0]], [[1, 1, 1, 1]]]
    scattered = [[[0, 1, 1, 0]], [[1, 0, 0, 1]]]
    return [
        Case("one sentence of two words, one head", _request(readable, random, (), 2, 4, 1, 3)),
        Case("three words, three heads", _request(normal, random, (), 3, 6, 3, 6)),
        Case("two sentences of four words", _request(normal, random, (2,), 4, 4, 2, 7)),
        Case(
            "pre-norm, one sentence of two words",
            _request(readable, random, (), 2, 4, 1, 3, "pre"),
            "pre",
        ),
        Case(
            "pre-norm, two sentences of three words",
            _request(normal, random, (2,), 3, 6, 2, 5, "pre"),
            "pre",
        ),
        Case(
            "three sentences with padding",
            _request(normal, random, (3,), 4, 4, 2, 5, "post", ragged),
            "mask",
        ),
        Case(
            "pre-norm, padding at both ends and in between",
            _request(normal, random, (2,), 4, 6, 3, 4, "pre", scattered),
            "mask",
        ),
        Case(
            "a causal mask, in float32",
            _request(normal, random, (2,), 3, 4, 2, 6, "post", np.tri(3), dtype=np.float32),
            "mask",
        ),
    ]


def _positions_shuffled(random):
    request = _request(normal, random, (), 5, 4, 2, 6)
    x = request.arguments["x"][[2, 0, 4, 1, 3]]
    return [request, Call({**request.arguments, "x": x})]


def _padding_left_out(random):
    request = _request(normal, random, (), 5, 4, 2, 6, "pre", [[1, 1, 1, 0, 0]])
    x, mask = request.arguments["x"][:3], request.arguments["mask"][:, :3]
    return [Call({**request.arguments, "x": x, "mask": mask}), request]


def no_residuals(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        y = normalise(x, parameters["attention_norm"])
        x = attend(y, y, parameters["attention"], n_heads, mask)
        return think(normalise(x, parameters["feed_forward_norm"]), parameters["feed_forward"])
    x = attend(x, x, parameters["attention"], n_heads, mask)
    x = normalise(x, parameters["attention_norm"])
    return normalise(think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def norm_between_sublayer_and_sum(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        y = normalise(x, parameters["attention_norm"])
        x = x + attend(y, y, parameters["attention"], n_heads, mask)
        return x + think(normalise(x, parameters["feed_forward_norm"]), parameters["feed_forward"])
    found = attend(x, x, parameters["attention"], n_heads, mask)
    x = x + normalise(found, parameters["attention_norm"])
    return x + normalise(think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def norms_exchanged(x, parameters, n_heads, mask, norm):
    first, second = parameters["feed_forward_norm"], parameters["attention_norm"]
    if norm == "pre":
        y = normalise(x, first)
        x = x + attend(y, y, parameters["attention"], n_heads, mask)
        return x + think(normalise(x, second), parameters["feed_forward"])
    x = normalise(x + attend(x, x, parameters["attention"], n_heads, mask), first)
    return normalise(x + think(x, parameters["feed_forward"]), second)


def one_norm_for_both(x, parameters, n_heads, mask, norm):
    only = parameters["attention_norm"]
    if norm == "pre":
        y = normalise(x, only)
        x = x + attend(y, y, parameters["attention"], n_heads, mask)
        return x + think(normalise(x, only), parameters["feed_forward"])
    x = normalise(x + attend(x, x, parameters["attention"], n_heads, mask), only)
    return normalise(x + think(x, parameters["feed_forward"]), only)


def feed_forward_first(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        y = normalise(x, parameters["feed_forward_norm"])
        x = x + think(y, parameters["feed_forward"])
        y = normalise(x, parameters["attention_norm"])
        return x + attend(y, y, parameters["attention"], n_heads, mask)
    x = normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])
    found = attend(x, x, parameters["attention"], n_heads, mask)
    return normalise(x + found, parameters["attention_norm"])


def attention_alone(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        y = normalise(x, parameters["attention_norm"])
        return x + attend(y, y, parameters["attention"], n_heads, mask)
    found = attend(x, x, parameters["attention"], n_heads, mask)
    return normalise(x + found, parameters["attention_norm"])


def both_sublayers_read_x(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        y = normalise(x, parameters["attention_norm"])
        found = attend(y, y, parameters["attention"], n_heads, mask)
        thought = think(normalise(x, parameters["feed_forward_norm"]), parameters["feed_forward"])
        return x + found + thought
    found = attend(x, x, parameters["attention"], n_heads, mask)
    after = normalise(x + found, parameters["attention_norm"])
    return normalise(after + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def second_residual_from_the_start(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        y = normalise(x, parameters["attention_norm"])
        after = x + attend(y, y, parameters["attention"], n_heads, mask)
        y = normalise(after, parameters["feed_forward_norm"])
        return x + think(y, parameters["feed_forward"])
    found = attend(x, x, parameters["attention"], n_heads, mask)
    after = normalise(x + found, parameters["attention_norm"])
    return normalise(x + think(after, parameters["feed_forward"]), parameters["feed_forward_norm"])


def always_post(x, parameters, n_heads, mask, norm):
    found = attend(x, x, parameters["attention"], n_heads, mask)
    x = normalise(x + found, parameters["attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def post_and_pre_exchanged(x, parameters, n_heads, mask, norm):
    if norm == "post":
        y = normalise(x, parameters["attention_norm"])
        x = x + attend(y, y, parameters["attention"], n_heads, mask)
        return x + think(normalise(x, parameters["feed_forward_norm"]), parameters["feed_forward"])
    found = attend(x, x, parameters["attention"], n_heads, mask)
    x = normalise(x + found, parameters["attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def residual_taken_after_the_norm(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        x = normalise(x, parameters["attention_norm"])
        x = x + attend(x, x, parameters["attention"], n_heads, mask)
        x = normalise(x, parameters["feed_forward_norm"])
        return x + think(x, parameters["feed_forward"])
    found = attend(x, x, parameters["attention"], n_heads, mask)
    x = normalise(x + found, parameters["attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def only_queries_normalised(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        y = normalise(x, parameters["attention_norm"])
        x = x + attend(y, x, parameters["attention"], n_heads, mask)
        return x + think(normalise(x, parameters["feed_forward_norm"]), parameters["feed_forward"])
    found = attend(x, x, parameters["attention"], n_heads, mask)
    x = normalise(x + found, parameters["attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def normalised_at_both_ends(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        y = normalise(x, parameters["attention_norm"])
        found = attend(y, y, parameters["attention"], n_heads, mask)
        x = normalise(x + found, parameters["attention_norm"])
        y = normalise(x, parameters["feed_forward_norm"])
        thought = think(y, parameters["feed_forward"])
        return normalise(x + thought, parameters["feed_forward_norm"])
    found = attend(x, x, parameters["attention"], n_heads, mask)
    x = normalise(x + found, parameters["attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def mask_not_handed_on(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        y = normalise(x, parameters["attention_norm"])
        x = x + attend(y, y, parameters["attention"], n_heads)
        return x + think(normalise(x, parameters["feed_forward_norm"]), parameters["feed_forward"])
    found = attend(x, x, parameters["attention"], n_heads)
    x = normalise(x + found, parameters["attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def mask_turned_round(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        y = normalise(x, parameters["attention_norm"])
        x = x + attend(y, y, parameters["attention"], n_heads, ~mask)
        return x + think(normalise(x, parameters["feed_forward_norm"]), parameters["feed_forward"])
    found = attend(x, x, parameters["attention"], n_heads, ~mask)
    x = normalise(x + found, parameters["attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def one_head_only(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        y = normalise(x, parameters["attention_norm"])
        x = x + attend(y, y, parameters["attention"], 1, mask)
        return x + think(normalise(x, parameters["feed_forward_norm"]), parameters["feed_forward"])
    found = attend(x, x, parameters["attention"], 1, mask)
    x = normalise(x + found, parameters["attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def added_in_place(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        y = normalise(x, parameters["attention_norm"])
        x += attend(y, y, parameters["attention"], n_heads, mask)
        return x + think(normalise(x, parameters["feed_forward_norm"]), parameters["feed_forward"])
    x += attend(x, x, parameters["attention"], n_heads, mask)
    x = normalise(x, parameters["attention_norm"])
    return normalise(x + think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


def one_residual_alone(x, parameters, n_heads, mask, norm):
    if norm == "pre":
        y = normalise(x, parameters["attention_norm"])
        x = x + attend(y, y, parameters["attention"], n_heads, mask)
        return think(normalise(x, parameters["feed_forward_norm"]), parameters["feed_forward"])
    found = attend(x, x, parameters["attention"], n_heads, mask)
    x = normalise(x + found, parameters["attention_norm"])
    return normalise(think(x, parameters["feed_forward"]), parameters["feed_forward_norm"])


MISTAKES = (
    Mistake(
        "no residual connections",
        no_residuals,
        "Each sublayer replaces x. What it finds is *added* to x, around both sublayers; without "
        "that, a few layers make all positions alike.",
    ),
    Mistake(
        "the norm between sublayer and sum",
        norm_between_sublayer_and_sum,
        "In the post-norm layer you normalised what the sublayer found and added it afterwards. "
        "Post-norm normalises the *sum*.",
    ),
    Mistake(
        "the norms exchanged",
        norms_exchanged,
        "Each sublayer has a norm of its own, with its own gain and bias: attention_norm belongs to "
        "the attention, feed_forward_norm to the feed-forward network.",
    ),
    Mistake(
        "one norm for both",
        one_norm_for_both,
        "attention_norm does the work of both norms, and feed_forward_norm is never used.",
    ),
    Mistake(
        "feed-forward first",
        feed_forward_first,
        "Attention comes first, the feed-forward network second: look, then think.",
    ),
    Mistake(
        "attention alone",
        attention_alone,
        "Only the first sublayer is there. The feed-forward network follows, with its own residual "
        "connection and norm.",
    ),
    Mistake(
        "both sublayers read x",
        both_sublayers_read_x,
        "The feed-forward network was given the layer's input. It works on what leaves the attention "
        "sublayer.",
    ),
    Mistake(
        "the second residual from the start",
        second_residual_from_the_start,
        "Around the feed-forward network you added the layer's input, so what the attention found is "
        "lost on that way. Each residual connection goes around *one* sublayer.",
    ),
    Mistake(
        "always post-norm",
        always_post,
        "post-norm is right, but `norm` is never asked: with norm = 'pre' the norm stands before each "
        "sublayer, and the sum is left as it is.",
    ),
    Mistake(
        "post and pre exchanged",
        post_and_pre_exchanged,
        "Your layer is pre-norm when asked for 'post', and the other way round. *post* is after the "
        "sum.",
    ),
    Mistake(
        "the residual taken after the norm",
        residual_taken_after_the_norm,
        "In the pre-norm layer you overwrote x by its norm and added to that. Only what goes *into* "
        "the sublayer is normalised; x itself goes along the sums untouched. Give the normalised rows "
        "a name of their own.",
    ),
    Mistake(
        "only the queries normalised",
        only_queries_normalised,
        "In the pre-norm layer the queries come from normalised rows, keys and values from x. "
        "Self-attention makes all three from the same rows.",
    ),
    Mistake(
        "normalised at both ends",
        normalised_at_both_ends,
        "In the pre-norm layer the sums are normalised too. One norm for each sublayer, before it.",
    ),
    Mistake(
        "the mask not handed on",
        mask_not_handed_on,
        "Without padding all is well, but the mask never reaches the attention.",
    ),
    Mistake(
        "the mask turned round",
        mask_turned_round,
        "You handed on ~mask. attend means the same by True as the layer: may be looked at.",
    ),
    Mistake(
        "one head only",
        one_head_only,
        "The attention runs with one head. Hand n_heads on.",
    ),
    Mistake(
        "added in place",
        added_in_place,
        "The output is right, but x += … writes into the caller's x.",
    ),
    Mistake(
        "no residual connection around the feed-forward network",
        one_residual_alone,
        "What the feed-forward network finds replaces x. It is *added*, as what the attention "
        "finds.",
    ),
)

EXERCISE = Exercise(
    identifier="09.encoder_layer",
    assignment="09_transformer",
    title="The encoder layer, with the norm in either place",
    kind="function",
    answer="encoder_layer",
    points=4,
    difficulty=2,
    minutes=15,
    hints=(
        "Draw both layers: a line for `x`, and beside it a box for each sublayer. Where does each "
        "norm stand in your drawing?",
        "Post-norm: sublayer, sum, norm; twice. Pre-norm: norm, sublayer, sum; twice, and the "
        "normalised rows go into the sublayer only, never along the line.",
        "Write the post-norm layer first, two lines: `x = normalise(x + …, …)` with `attend(x, x, …)` "
        "inside, then the same with `think`. Copy it under an `if`, and move the norm inwards: a new "
        "name for the normalised rows, and `x = x + …` with that name in the sublayer.",
    ),
    returns=("output",),
    cases=cases,
    laws=(
        same(
            "With the positions in another order, the results come in that order",
            _positions_shuffled,
            "with the positions shuffled, the outputs were not just shuffled in the same way.",
            undo=lambda output: output[[1, 3, 0, 4, 2]],
            part="plain",
        ),
        same(
            "Padding can be left out without changing the words",
            _padding_left_out,
            "without the padding, the outputs of the words were not what they were with it.",
            undo=lambda output: output[:3],
            part="mask",
        ),
    ),
    parts=(
        Part("plain", "the post-norm cases", 0.5),
        Part("pre", "the pre-norm cases", 0.25),
        Part("mask", "those with a mask", 0.25),
    ),
    helpers=("imports", "attend", "think", "normalise"),
    contents=lambda: Contents(encoder_layer, MISTAKES),
)
