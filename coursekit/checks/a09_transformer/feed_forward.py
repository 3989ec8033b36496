"""09.feed_forward: each position by itself through one hidden layer."""

import numpy as np

from attnkit.numpy import feed_forward

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def _request(draw, random, lead, d_model, d_ff, **options):
    return Call(
        {
            "x": draw(random, *lead, d_model, **options),
            "parameters": {
                "w_hidden": draw(random, d_model, d_ff, **options),
                "b_hidden": draw(random, d_ff, **options),
                "w_output": draw(random, d_ff, d_model, **options),
                "b_output": draw(random, d_model, **options),
            },
        }
    )


def cases(random):
    return [
        Case("one position of width 2, hidden width 3", _request(readable, random, (1,), 2, 3)),
        Case("three positions, all widths 3", _request(normal, random, (3,), 3, 3)),
        Case("four positions of width 3, hidden width 8", _request(normal, random, (4,), 3, 8)),
        Case(
            "a batch of two sentences of three words",
            _request(normal, random, (2, 3), 4, 6),
            "axes",
        ),
        Case(
            "leading axes (2, 3), two positions, in float32",
            _request(normal, random, (2, 3, 2), 4, 5, dtype=np.float32),
            "axes",
        ),
        Case(
            "a hidden layer narrower than the model", _request(normal, random, (2, 2), 5, 2), "axes"
        ),
    ]


def _positions_shuffled(random):
    request = _request(normal, random, (5,), 3, 6)
    x = request.arguments["x"][[2, 0, 4, 1, 3]]
    return [request, Call({**request.arguments, "x": x})]


def nothing_bent(x, parameters):
    hidden = x @ parameters["w_hidden"] + parameters["b_hidden"]
    return hidden @ parameters["w_output"] + parameters["b_output"]


def output_bent_too(x, parameters):
    hidden = np.maximum(x @ parameters["w_hidden"] + parameters["b_hidden"], 0)
    return np.maximum(hidden @ parameters["w_output"] + parameters["b_output"], 0)


def bent_before_the_bias(x, parameters):
    hidden = np.maximum(x @ parameters["w_hidden"], 0) + parameters["b_hidden"]
    return hidden @ parameters["w_output"] + parameters["b_output"]


def input_bent(x, parameters):
    hidden = np.maximum(x, 0) @ parameters["w_hidden"] + parameters["b_hidden"]
    return hidden @ parameters["w_output"] + parameters["b_output"]


def biases_forgotten(x, parameters):
    return np.maximum(x @ parameters["w_hidden"], 0) @ parameters["w_output"]


def second_bias_forgotten(x, parameters):
    hidden = np.maximum(x @ parameters["w_hidden"] + parameters["b_hidden"], 0)
    return hidden @ parameters["w_output"]


def residual_inside(x, parameters):
    hidden = np.maximum(x @ parameters["w_hidden"] + parameters["b_hidden"], 0)
    return x + hidden @ parameters["w_output"] + parameters["b_output"]


def minimum_for_maximum(x, parameters):
    hidden = np.minimum(x @ parameters["w_hidden"] + parameters["b_hidden"], 0)
    return hidden @ parameters["w_output"] + parameters["b_output"]


def sign_dropped(x, parameters):
    hidden = np.abs(x @ parameters["w_hidden"] + parameters["b_hidden"])
    return hidden @ parameters["w_output"] + parameters["b_output"]


def tanh_in_place_of_relu(x, parameters):
    hidden = np.tanh(x @ parameters["w_hidden"] + parameters["b_hidden"])
    return hidden @ parameters["w_output"] + parameters["b_output"]


def largest_of_all(x, parameters):
    hidden = np.max(x @ parameters["w_hidden"] + parameters["b_hidden"], 0)
    return hidden @ parameters["w_output"] + parameters["b_output"]


def weights_transposed(x, parameters):
    hidden = np.maximum(x @ parameters["w_hidden"].T + parameters["b_hidden"], 0)
    return hidden @ parameters["w_output"].T + parameters["b_output"]


def positions_averaged(x, parameters):
    x = np.broadcast_to(x.mean(axis=-2, keepdims=True), x.shape)
    hidden = np.maximum(x @ parameters["w_hidden"] + parameters["b_hidden"], 0)
    return hidden @ parameters["w_output"] + parameters["b_output"]


def hidden_returned(x, parameters):
    return np.maximum(x @ parameters["w_hidden"] + parameters["b_hidden"], 0)


def batch_flattened(x, parameters):
    rows = x.reshape(-1, x.shape[-1])
    hidden = np.maximum(rows @ parameters["w_hidden"] + parameters["b_hidden"], 0)
    return hidden @ parameters["w_output"] + parameters["b_output"]


def first_bias_forgotten(x, parameters):
    w_hidden = parameters["w_hidden"]
    w_output, b_output = parameters["w_output"], parameters["b_output"]
    return np.maximum(x @ w_hidden, 0) @ w_output + b_output


def bent_twice(x, parameters):
    w_hidden, b_hidden = parameters["w_hidden"], parameters["b_hidden"]
    w_output, b_output = parameters["w_output"], parameters["b_output"]
    return np.maximum(np.maximum(x @ w_hidden + b_hidden, 0) @ w_output, 0) + b_output


def sigmoid_for_the_bend(x, parameters):
    w_hidden, b_hidden = parameters["w_hidden"], parameters["b_hidden"]
    w_output, b_output = parameters["w_output"], parameters["b_output"]
    return 1 / (1 + np.exp(-(x @ w_hidden + b_hidden))) @ w_output + b_output


MISTAKES = (
    Mistake(
        "nothing bent",
        nothing_bent,
        "Nothing stands between the two products, so together they are one matrix, and the hidden "
        "layer adds nothing. max(0, …) comes after the first.",
    ),
    Mistake(
        "the output bent too",
        output_bent_too,
        "You applied max(0, …) to the output as well. Then the sublayer could only ever add to x, "
        "never take away.",
    ),
    Mistake(
        "bent before the bias",
        bent_before_the_bias,
        "You took max(0, …) of the product and added the bias afterwards. The bias decides where a "
        "hidden unit begins to answer: it goes inside.",
    ),
    Mistake(
        "the input bent",
        input_bent,
        "You took max(0, …) of x itself. It belongs to the hidden layer.",
    ),
    Mistake(
        "both biases forgotten",
        biases_forgotten,
        "Neither bias is added: b_hidden inside max(0, …), b_output at the end.",
    ),
    Mistake(
        "the second bias forgotten",
        second_bias_forgotten,
        "b_output is never added: the second product has a bias of its own.",
    ),
    Mistake(
        "the residual added here",
        residual_inside,
        "You added x. The residual connection is made by the layer, around the sublayer; if both add "
        "x, it is in there twice.",
    ),
    Mistake(
        "the minimum for the maximum",
        minimum_for_maximum,
        "np.minimum(…, 0) keeps what is negative. max(0, …) keeps what is positive.",
    ),
    Mistake(
        "the sign dropped",
        sign_dropped,
        "np.abs turns negative numbers into positive ones; max(0, …) turns them into 0.",
    ),
    Mistake(
        "another bend",
        tanh_in_place_of_relu,
        "You used tanh, as in a recurrent network. Here the hidden layer is max(0, …).",
    ),
    Mistake(
        "np.max for np.maximum",
        largest_of_all,
        "np.max(a, 0) is the largest entry along axis 0, so the positions are gone. np.maximum(a, 0) "
        "compares entry by entry.",
    ),
    Mistake(
        "matrices transposed",
        weights_transposed,
        "You transposed the matrices, as torch.nn.Linear stores them. Here w_hidden is (d_model, "
        "d_ff) and multiplies from the right as it is.",
    ),
    Mistake(
        "positions mixed",
        positions_averaged,
        "You averaged over the positions. The sublayer is point-wise: each position by itself. "
        "Only attention mixes them.",
    ),
    Mistake(
        "the hidden layer returned",
        hidden_returned,
        "This is the hidden layer. The second product is missing.",
    ),
    Mistake(
        "leading axes run together",
        batch_flattened,
        "The numbers are right, but the axes of the batch are gone. @ works on the last axis and "
        "leaves the others as they are: no reshape is needed.",
    ),
    Mistake(
        "the first bias forgotten",
        first_bias_forgotten,
        "b_hidden is never added. It decides where a hidden unit begins to answer: it goes inside "
        "max(0, …).",
    ),
    Mistake(
        "bent twice",
        bent_twice,
        "You applied max(0, …) to the second product as well. It belongs to the hidden layer "
        "alone.",
    ),
    Mistake(
        "a sigmoid for the bend",
        sigmoid_for_the_bend,
        "You used a sigmoid, as gates do. Here the hidden layer is max(0, …): what is negative "
        "becomes 0, the rest stays.",
    ),
)

EXERCISE = Exercise(
    identifier="09.feed_forward",
    assignment="09_transformer",
    title="The feed-forward network",
    kind="function",
    answer="feed_forward",
    points=2,
    difficulty=1,
    minutes=6,
    hints=(
        "Two products, and something between them without which they would be one.",
        "The hidden layer is the larger of 0 and `x` times `w_hidden` plus its bias, entry by entry. "
        "The second product and its bias follow; nothing is done to the result.",
        "`np.maximum(…, 0)` bends. `@` works on the last axis of `x`, however many others there are, "
        "and a bias `(d_ff,)` is added to every position by itself.",
    ),
    returns=("output",),
    cases=cases,
    laws=(
        same(
            "With the positions in another order, the results come in that order",
            _positions_shuffled,
            "with the positions shuffled, the outputs were not just shuffled in the same way.",
            undo=lambda output: output[[1, 3, 0, 4, 2]],
        ),
    ),
    parts=(
        Part("plain", "the cases with one sentence", 0.5),
        Part("axes", "those with leading axes", 0.5),
    ),
    contents=lambda: Contents(feed_forward, MISTAKES),
)
