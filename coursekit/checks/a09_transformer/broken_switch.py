"""09.counterexample and 09.attention_sublayer: the switch between training and use stops half-way.

The faulty program is handed out in a locked cell. Learners first find arguments on which it shows
(a test, written as data), then write the program as it should be.
"""

import numpy as np

from attnkit.numpy import softmax as library_softmax

from ..draw import normal, readable
from ..judges import hardly, shows
from ..laws import same
from ..model import Case, Contents, Exercise, Finding, Mistake, Part
from ..surface import Call
from .given import dropout, faulty_attention_sublayer, softmax


def attention_sublayer(x, uniform_weights, uniform_found, rate, training):
    """The program as it should be, with the library's softmax."""
    weights = library_softmax(x @ x.T / np.sqrt(x.shape[-1]))
    found = dropout(weights, uniform_weights, rate, training) @ x
    return x + dropout(found, uniform_found, rate, training)


# ---------------------------------------------------------------- the counterexample


def a_counterexample():
    """Arguments on which the fault shows."""
    return np.eye(2), np.full((2, 2), 0.9), np.full((2, 2), 0.9), 0.5, False


def judge_counterexample(request, value):
    """Whether the faulty program and a right one differ on `value`."""
    x, uniform_weights, uniform_found, rate, training = value
    if x.ndim != 2:
        return Finding(
            "shape", "x", f"expected x to be a table of two axes, (n, d), got shape {x.shape}."
        )
    n, d = x.shape
    for name, array, wanted in (
        ("uniform_weights", uniform_weights, (n, n)),
        ("uniform_found", uniform_found, (n, d)),
        ("rate", rate, ()),
        ("training", training, ()),
    ):
        if array.shape != wanted:
            asked = f"shape {wanted}" if wanted else "one number"
            return Finding(
                "shape",
                name,
                f"with x of shape {x.shape}, expected {name} to be {asked}, got {array.shape}.",
            )
    if training.dtype != bool:
        return Finding(
            "dtype", "training", f"expected training to be True or False, got {training[()]}."
        )
    if x.size == 0:
        return Finding("value", "empty", "without any numbers in x there is nothing to see.")
    if not all(np.isfinite(array).all() for array in value):
        return Finding("finite", "not finite", "every number must be finite.")
    if not 0 <= rate < 1:
        return Finding(
            "value",
            "rate",
            f"a rate is a share below 1, got {rate[()]:g}. With an impossible rate any program gives "
            f"nonsense.",
        )
    for name, array in (("uniform_weights", uniform_weights), ("uniform_found", uniform_found)):
        if (array < 0).any() or (array >= 1).any():
            return Finding(
                "value", "uniform", f"{name} stands for random numbers from 0 up to 1, 1 excluded."
            )
    given = (x.astype(float), uniform_weights, uniform_found, float(rate), bool(training))
    right, faulty = attention_sublayer(*given), faulty_attention_sublayer(*given)
    if shows(right, faulty):
        return None
    if shows(right, faulty, 1e-12):
        return Finding("value", "hardly", hardly(right, faulty))
    code = "in training" if training else "no rate" if rate == 0 else "the same"
    return Finding(
        "value",
        code,
        "on these arguments the faulty program and a right one give the same result, so a test with "
        "them would let the fault through.",
    )


def in_training():
    return np.eye(2), np.full((2, 2), 0.1), np.full((2, 2), 0.9), 0.5, True


def nothing_to_drop():
    return np.eye(2), np.full((2, 2), 0.1), np.full((2, 2), 0.1), 0.0, False


def only_zeros():
    return np.zeros((2, 3)), np.full((2, 2), 0.1), np.full((2, 3), 0.1), 0.5, False


def everything_dropped():
    return np.eye(2), np.full((2, 2), 0.1), np.full((2, 2), 0.1), 1.0, False


def rate_in_percent():
    return np.eye(2), np.full((2, 2), 0.1), np.full((2, 2), 0.1), 10, False


def drawn_from_a_bell():
    return np.eye(2), np.array([[0.3, -1.2], [0.8, 0.1]]), np.full((2, 2), 0.1), 0.5, False


def one_table_for_both():
    return np.ones((2, 3)), np.full((2, 3), 0.1), np.full((2, 3), 0.1), 0.5, False


def found_like_the_weights():
    return np.ones((2, 3)), np.full((2, 2), 0.1), np.full((2, 2), 0.1), 0.5, False


def one_position_without_an_axis():
    return np.ones(3), np.full((1, 1), 0.1), np.full((1, 3), 0.1), 0.5, False


def a_number_for_the_switch():
    return np.eye(2), np.full((2, 2), 0.1), np.full((2, 2), 0.1), 0.5, 0


def switch_forgotten():
    return np.eye(2), np.full((2, 2), 0.1), np.full((2, 2), 0.1), 0.5


def a_rate_for_each_position():
    return np.eye(2), np.full((2, 2), 0.1), np.full((2, 2), 0.1), np.array([0.5, 0.5]), False


def hardly_any_difference():
    return 0.0001 * np.eye(2), np.full((2, 2), 0.1), np.full((2, 2), 0.1), 0.5, False


COUNTEREXAMPLE_MISTAKES = (
    Mistake(
        "in training",
        in_training,
        "With training=True both dropouts are to work, and they do. The fault is about the other "
        "position of the switch.",
    ),
    Mistake(
        "a rate of 0",
        nothing_to_drop,
        "With a rate of 0 nothing is dropped and nothing made larger, so it does not matter whether "
        "dropout is on.",
    ),
    Mistake(
        "only zeros",
        only_zeros,
        "A mixture of zeros is zero, whatever the weights are. Put numbers into x.",
    ),
    Mistake(
        "a rate of 1",
        everything_dropped,
        "With a rate of 1 everything is dropped and the rest would grow without bound: 1 / (1 - 1).",
    ),
    Mistake(
        "a rate in percent",
        rate_in_percent,
        "A rate is a share: 0.1 for ten percent.",
        same_as="a rate of 1",
    ),
    Mistake(
        "numbers that are not uniform",
        drawn_from_a_bell,
        "Uniform numbers are at least 0 and below 1: neither 1 itself nor what standard_normal gives. "
        "Write down some like 0.1 and 0.9.",
    ),
    Mistake(
        "one shape for both",
        one_table_for_both,
        "uniform_weights drops *weights*, of which there are n times n.",
    ),
    Mistake(
        "what was found dropped like weights",
        found_like_the_weights,
        "uniform_found drops numbers of what was found, which is as wide as x: (n, d).",
    ),
    Mistake(
        "a position without an axis",
        one_position_without_an_axis,
        "Even one position is a table with one row: (1, d).",
    ),
    Mistake(
        "a number for the switch",
        a_number_for_the_switch,
        "training is a switch, and a switch is True or False. 0 and 1 are numbers.",
    ),
    Mistake(
        "the switch forgotten",
        switch_forgotten,
        "The program takes five arguments; `training` is missing.",
    ),
    Mistake(
        "a rate for each position",
        a_rate_for_each_position,
        "There is one rate for the whole program, a single number.",
    ),
    Mistake(
        "hardly any difference",
        hardly_any_difference,
        "The fault is there, but with numbers so small nobody would see it. Take an x of ordinary "
        "numbers, such as 1, and a rate such as 0.5.",
    ),
)

COUNTEREXAMPLE = Exercise(
    identifier="09.counterexample",
    assignment="09_transformer",
    title="Find arguments on which the fault shows",
    kind="counterexample",
    answer="counterexample",
    points=2,
    difficulty=2,
    minutes=8,
    hints=(
        "What should the program do with `uniform_weights` when it is *not* in training? Follow "
        "`training` through the lines.",
        "One of the two dropouts is never told. When does it do something that it should not, and "
        "when would nobody notice?",
        "Not in training, a rate above 0, and an x that is not all zeros. Two positions of two "
        "numbers are enough; then both tables of uniform numbers are `(2, 2)`.",
    ),
    returns=("x", "uniform_weights", "uniform_found", "rate", "training"),
    cases=lambda random: [Case("your arguments", Call())],
    judge=judge_counterexample,
    contents=lambda: Contents(a_counterexample, COUNTEREXAMPLE_MISTAKES),
)


# ---------------------------------------------------------------- the mended program


def _request(draw, random, n, d, rate, training):
    return Call(
        {
            "x": draw(random, n, d),
            "uniform_weights": random.random((n, n)).round(2),
            "uniform_found": random.random((n, d)).round(2),
            "rate": rate,
            "training": training,
        }
    )


def cases(random):
    return [
        Case("in use, two positions", _request(readable, random, 2, 2, 0.5, False)),
        Case("in use, five positions of width 3", _request(normal, random, 5, 3, 0.2, False)),
        Case("in use, a rate of 0", _request(normal, random, 3, 4, 0.0, False)),
        Case(
            "in training, two positions",
            _request(readable, random, 2, 2, 0.5, True),
            "training",
        ),
        Case(
            "in training, six positions of width 4",
            _request(normal, random, 6, 4, 0.3, True),
            "training",
        ),
        Case(
            "in training, a rate of 0",
            _request(normal, random, 3, 4, 0.0, True),
            "training",
        ),
    ]


def _other_random_numbers(random):
    request = _request(normal, random, 4, 3, 0.4, False)
    other = {
        "uniform_weights": random.random((4, 4)),
        "uniform_found": random.random((4, 3)),
    }
    return [request, Call({**request.arguments, **other})]


def as_it_was(x, uniform_weights, uniform_found, rate, training):
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))
    weights = dropout(weights, uniform_weights, rate)
    found = weights @ x
    return x + dropout(found, uniform_found, rate, training)


def switched_off_at_the_end_too(x, uniform_weights, uniform_found, rate, training):
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))
    weights = dropout(weights, uniform_weights, rate)
    return x + dropout(weights @ x, uniform_found, rate)


def switch_at_the_wrong_one(x, uniform_weights, uniform_found, rate, training):
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))
    weights = dropout(weights, uniform_weights, rate, training)
    return x + dropout(weights @ x, uniform_found, rate)


def switch_turned_round(x, uniform_weights, uniform_found, rate, training):
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))
    weights = dropout(weights, uniform_weights, rate, not training)
    return x + dropout(weights @ x, uniform_found, rate, not training)


def never_dropped(x, uniform_weights, uniform_found, rate, training):
    return x + softmax(x @ x.T / np.sqrt(x.shape[-1])) @ x


def weights_never_dropped(x, uniform_weights, uniform_found, rate, training):
    found = softmax(x @ x.T / np.sqrt(x.shape[-1])) @ x
    return x + dropout(found, uniform_found, rate, training)


def smaller_in_use(x, uniform_weights, uniform_found, rate, training):
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))
    weights = dropout(weights, uniform_weights, rate) if training else (1 - rate) * weights
    return x + dropout(weights @ x, uniform_found, rate, training)


def weights_sum_to_one_again(x, uniform_weights, uniform_found, rate, training):
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))
    weights = dropout(weights, uniform_weights, rate, training)
    total = weights.sum(axis=-1, keepdims=True)
    weights = weights / np.where(total > 0, total, 1.0)
    return x + dropout(weights @ x, uniform_found, rate, training)


def scores_dropped(x, uniform_weights, uniform_found, rate, training):
    scores = dropout(x @ x.T / np.sqrt(x.shape[-1]), uniform_weights, rate, training)
    return x + dropout(softmax(scores) @ x, uniform_found, rate, training)


def the_sum_dropped(x, uniform_weights, uniform_found, rate, training):
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))
    weights = dropout(weights, uniform_weights, rate, training)
    return dropout(x + weights @ x, uniform_found, rate, training)


def residual_lost(x, uniform_weights, uniform_found, rate, training):
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))
    weights = dropout(weights, uniform_weights, rate, training)
    return dropout(weights @ x, uniform_found, rate, training)


def not_made_larger(x, uniform_weights, uniform_found, rate, training):
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))
    if training:
        weights = np.where(uniform_weights < rate, 0.0, weights)
    return x + dropout(weights @ x, uniform_found, rate, training)


def the_wrong_share_kept(x, uniform_weights, uniform_found, rate, training):
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))
    if training:
        weights = np.where(uniform_weights < 1 - rate, 0.0, weights / (1 - rate))
    return x + dropout(weights @ x, uniform_found, rate, training)


def dropped_in_place(x, uniform_weights, uniform_found, rate, training):
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))
    found = dropout(weights, uniform_weights, rate, training) @ x
    x += dropout(found, uniform_found, rate, training)
    return x


def uniform_numbers_exchanged(x, uniform_weights, uniform_found, rate, training):
    weights = softmax(x @ x.T / np.sqrt(x.shape[-1]))
    n, d = x.shape
    numbers = np.resize(uniform_found, (n, n)), np.resize(uniform_weights, (n, d))
    weights = dropout(weights, numbers[0], rate, training)
    return x + dropout(weights @ x, numbers[1], rate, training)


MENDED_MISTAKES = (
    Mistake(
        "as it was",
        as_it_was,
        "The dropout on the weights still works when the program is not in training: nobody hands "
        "the switch on, and its default is True.",
    ),
    Mistake(
        "no switch at all",
        switched_off_at_the_end_too,
        "Now neither dropout is told whether the program is in training. Hand `training` on to both.",
    ),
    Mistake(
        "the switch at one end only",
        switch_at_the_wrong_one,
        "The dropout on the weights is mended, but the one on what was found has lost its switch.",
    ),
    Mistake(
        "the switch turned round",
        switch_turned_round,
        "Dropout now works in use and rests in training. It is the other way round.",
    ),
    Mistake(
        "nothing ever dropped",
        never_dropped,
        "In use this is right. In training nothing is dropped any more, so that dropout is gone from "
        "the model.",
    ),
    Mistake(
        "weights never dropped",
        weights_never_dropped,
        "In use this is right. In training the weights have to be dropped as well: hand the switch "
        "on, do not take the dropout out.",
    ),
    Mistake(
        "made smaller in use",
        smaller_in_use,
        "You multiply by 1 - rate in use. That was the custom when nothing was made larger in "
        "training; here `dropout` divides by 1 - rate in training, so in use nothing is to be done.",
    ),
    Mistake(
        "weights made to sum to one again",
        weights_sum_to_one_again,
        "After the dropout you divided the weights by their sum. Dropout keeps the sum at 1 on "
        "average, not in each row, and torch leaves it so.",
    ),
    Mistake(
        "scores dropped",
        scores_dropped,
        "A score of 0 is an ordinary score and gets an ordinary weight. Drop weights, after the "
        "softmax.",
    ),
    Mistake(
        "the sum dropped",
        the_sum_dropped,
        "You dropped numbers of the sum, x included. The residual connection is left alone: only "
        "what was found is dropped.",
    ),
    Mistake(
        "the residual connection lost",
        residual_lost,
        "x is no longer added. What the sublayer finds, dropped or not, goes on top of x.",
    ),
    Mistake(
        "nothing made larger",
        not_made_larger,
        "The weights that stay are not divided by 1 - rate, so in training the sublayer finds less "
        "than in use.",
    ),
    Mistake(
        "the wrong share kept",
        the_wrong_share_kept,
        "You drop where uniform < 1 - rate, so that a share of only `rate` is kept.",
    ),
    Mistake(
        "the caller's x changed",
        dropped_in_place,
        "The result is right, but x += … writes into the caller's array.",
    ),
    Mistake(
        "the uniform numbers exchanged",
        uniform_numbers_exchanged,
        "uniform_weights is for the weights, uniform_found for what was found. You exchanged "
        "them; with as many columns as rows nothing complains.",
    ),
)

MENDED = Exercise(
    identifier="09.attention_sublayer",
    assignment="09_transformer",
    title="Mend the program",
    kind="mended",
    answer="attention_sublayer",
    points=2,
    difficulty=1,
    minutes=5,
    hints=(
        "Look at the heading of `dropout`: what happens if nobody tells it whether this is training?",
        "Both dropouts must hear of the switch. Nothing else is wrong.",
        "`dropout` takes `training` as its fourth argument. One of the two calls has only three.",
    ),
    returns=("output",),
    cases=cases,
    laws=(
        same(
            "In use, random numbers do not matter",
            _other_random_numbers,
            "not in training, with other random numbers, another result came out.",
        ),
    ),
    parts=(
        Part("plain", "the cases in use", 0.5),
        Part("training", "those in training", 0.5),
    ),
    helpers=("imports", "softmax", "dropout"),
    contents=lambda: Contents(attention_sublayer, MENDED_MISTAKES),
)
