"""09.layer_norm: each row to mean 0 and variance 1, then stretched and moved column by column."""

import numpy as np

from attnkit.numpy import layer_norm as library_layer_norm

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def layer_norm(x, gain, bias, eps):
    """Layer norm, from the library."""
    return library_layer_norm(x, gain, bias, eps=eps)


def _request(draw, random, *shape, eps=1e-5, **options):
    width = shape[-1]
    return Call(
        {
            "x": draw(random, *shape, **options),
            "gain": draw(random, width, **options),
            "bias": draw(random, width, **options),
            "eps": eps,
        }
    )


def _with(request, **arguments):
    return Call({**request.arguments, **arguments})


def cases(random):
    flat = normal(random, 3, 4)
    flat[1] = random.integers(1, 9) / 2
    return [
        Case("two rows of three numbers", _request(readable, random, 2, 3)),
        Case("three rows of three numbers", _request(normal, random, 3, 3)),
        Case("four rows of six numbers, eps = 0.1", _request(normal, random, 4, 6, eps=0.1)),
        Case(
            "a row of equal numbers among others",
            _with(_request(normal, random, 3, 4), x=flat),
            "care",
        ),
        Case(
            "rows near 100000",
            _with(_request(normal, random, 3, 5), x=1e5 + normal(random, 3, 5)),
            "care",
        ),
        Case("float32 numbers", _request(normal, random, 3, 5, dtype=np.float32), "care"),
        Case("leading axes (2, 3), four numbers each", _request(normal, random, 2, 3, 4), "care"),
        Case("a single row, (4,)", _request(normal, random, 4), "care"),
    ]


def _moved_and_stretched(random):
    request = _request(normal, random, 3, 5, eps=1e-30)
    x = request.arguments["x"]
    return [request, _with(request, x=3.0 * x + 7.0)]


def _first_row_left_out(random):
    request = _request(normal, random, 4, 5)
    return [_with(request, x=request.arguments["x"][1:]), request]


def over_all_numbers(x, gain, bias, eps):
    return (x - x.mean()) / np.sqrt(x.var() + eps) * gain + bias


def over_the_rows(x, gain, bias, eps):
    return (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + eps) * gain + bias


def one_less_than_the_number(x, gain, bias, eps):
    variance = x.var(axis=-1, ddof=1, keepdims=True)
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance + eps) * gain + bias


def mean_not_subtracted(x, gain, bias, eps):
    return x / np.sqrt(x.var(axis=-1, keepdims=True) + eps) * gain + bias


def root_of_the_mean_square(x, gain, bias, eps):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * gain + bias


def divided_by_the_variance(x, gain, bias, eps):
    variance = x.var(axis=-1, keepdims=True)
    return (x - x.mean(axis=-1, keepdims=True)) / (variance + eps) * gain + bias


def eps_beside_the_root(x, gain, bias, eps):
    deviation = x.std(axis=-1, keepdims=True)
    return (x - x.mean(axis=-1, keepdims=True)) / (deviation + eps) * gain + bias


def eps_forgotten(x, gain, bias, eps):
    return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True) * gain + bias


def bias_stretched_too(x, gain, bias, eps):
    deviation = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    return ((x - x.mean(axis=-1, keepdims=True)) / deviation + bias) * gain


def gain_and_bias_exchanged(x, gain, bias, eps):
    deviation = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    return (x - x.mean(axis=-1, keepdims=True)) / deviation * bias + gain


def gain_and_bias_forgotten(x, gain, bias, eps):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + eps)


def gain_first(x, gain, bias, eps):
    x = x * gain + bias
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + eps)


def difference_of_squares(x, gain, bias, eps):
    mean = x.mean(axis=-1, keepdims=True)
    variance = np.maximum((x**2).mean(axis=-1, keepdims=True) - mean**2, 0)
    return (x - mean) / np.sqrt(variance + eps) * gain + bias


def axes_gone(x, gain, bias, eps):
    return (x - x.mean(axis=-1)) / np.sqrt(x.var(axis=-1) + eps) * gain + bias


def second_axis(x, gain, bias, eps):
    variance = x.var(axis=1, keepdims=True)
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(variance + eps) * gain + bias


def centred_in_place(x, gain, bias, eps):
    x -= x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * gain + bias


def gain_and_one(x, gain, bias, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(x.var(axis=-1, keepdims=True) + eps) * (1 + gain) + bias


def only_centred(x, gain, bias, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred * gain + bias


def sum_of_squares(x, gain, bias, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).sum(axis=-1, keepdims=True) + eps) * gain + bias


def eps_of_its_own(x, gain, bias, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * gain + bias


MISTAKES = (
    Mistake(
        "one mean for all numbers",
        over_all_numbers,
        "You took mean and variance over all numbers together. Each row has its own: axis=-1, and "
        "keepdims=True so that they stand beside their row.",
    ),
    Mistake(
        "columns normalised",
        over_the_rows,
        "You normalised each column over the rows. So a position would depend on what stands beside "
        "it, in its sentence and in the batch. Layer norm looks along the last axis only.",
    ),
    Mistake(
        "variance with one less than the number",
        one_less_than_the_number,
        "You divided the sum of squares by d - 1. Layer norm divides by d. (torch's own .var and "
        ".std divide by d - 1 unless told otherwise, a well-known trap.)",
    ),
    Mistake(
        "the mean not subtracted",
        mean_not_subtracted,
        "The rows have the right spread, but their mean is still in them: subtract it before dividing.",
    ),
    Mistake(
        "the root of the mean square",
        root_of_the_mean_square,
        "You divide by the root of the mean square and leave the mean in. That exists and is called "
        "RMS norm; layer norm subtracts the mean first.",
    ),
    Mistake(
        "divided by the variance",
        divided_by_the_variance,
        "You divided by the variance, without the root. The rows then do not have variance 1.",
    ),
    Mistake(
        "eps beside the root",
        eps_beside_the_root,
        "You added eps to the standard deviation. Here it is added to the *variance*, under the root, "
        "as torch does. The difference is small, and large for rows that hardly vary.",
    ),
    Mistake(
        "eps forgotten",
        eps_forgotten,
        "A row of equal numbers has variance 0, and 0 divided by 0 is NaN. Add eps to the variance, "
        "under the root.",
    ),
    Mistake(
        "the bias stretched too",
        bias_stretched_too,
        "You added the bias before multiplying by the gain. First stretch, then move: "
        "normal * gain + bias.",
    ),
    Mistake(
        "gain and bias exchanged",
        gain_and_bias_exchanged,
        "gain multiplies and bias is added; you have them the other way round.",
    ),
    Mistake(
        "gain and bias forgotten",
        gain_and_bias_forgotten,
        "The rows are normalised. Now multiply by gain and add bias, column by column.",
    ),
    Mistake(
        "stretched first, normalised last",
        gain_first,
        "You applied gain and bias before the norm, which takes most of it back. They come last.",
    ),
    Mistake(
        "mean of the squares minus square of the mean",
        difference_of_squares,
        "On paper the mean of the squares minus the square of the mean is the variance. For rows far "
        "from 0 these are two huge numbers whose difference is small, and most of its digits are "
        "gone. Subtract the mean first, then square.",
    ),
    Mistake(
        "the axis of the mean gone",
        axes_gone,
        "Without keepdims=True the mean is (..., ) instead of (..., 1), and is lined up with the "
        "columns. With as many rows as columns nothing warns you.",
    ),
    Mistake(
        "always the second axis",
        second_axis,
        "axis=1 is the last axis of a table, and of nothing else. With more axes, or with fewer, "
        "axis=-1 still is.",
    ),
    Mistake(
        "the caller's rows centred",
        centred_in_place,
        "The result is right, but x -= … writes into the array that came in, and the residual "
        "connection still needs it.",
    ),
    Mistake(
        "one more than the gain",
        gain_and_one,
        "You multiply by 1 + gain, as some libraries do that start their gain at 0. Here the gain "
        "is the factor itself.",
    ),
    Mistake(
        "centred and not divided",
        only_centred,
        "You subtracted the mean and did not divide, so a large row stays large. Divide by the "
        "root of the variance plus eps.",
    ),
    Mistake(
        "a sum for the mean of the squares",
        sum_of_squares,
        "You divide by the root of the *sum* of squares. The variance is their mean; without it "
        "wider rows would come out smaller.",
    ),
    Mistake(
        "an eps of its own",
        eps_of_its_own,
        "Your eps is a number that you wrote down. It came as an argument: use that one.",
    ),
)

EXERCISE = Exercise(
    identifier="09.layer_norm",
    assignment="09_transformer",
    title="Layer norm",
    kind="function",
    answer="layer_norm",
    points=3,
    difficulty=1,
    minutes=10,
    hints=(
        "Which numbers belong together: those of a row, those of a column, or all?",
        "Mean and variance of each row, with `keepdims=True` so that they can be subtracted from "
        "their row and divide it. `eps` goes under the root; gain and bias come last.",
        "`x.mean(axis=-1, keepdims=True)` and `x.var(axis=-1, keepdims=True)`, both `(..., 1)`. "
        "Subtract the one; divide by `np.sqrt` of the other plus `eps`; times `gain`, plus `bias`.",
    ),
    returns=("output",),
    cases=cases,
    laws=(
        same(
            "Rows that are moved and stretched as a whole give the same",
            _moved_and_stretched,
            "with 3 * x + 7 in place of x (and a very small eps), the result was another.",
        ),
        same(
            "Rows do not influence each other",
            _first_row_left_out,
            "without the first row, the results of the other rows were not what they were with it.",
            undo=lambda output: output[1:],
            part="care",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with equal numbers, large numbers or other axes", 0.5),
    ),
    contents=lambda: Contents(layer_norm, MISTAKES),
)
