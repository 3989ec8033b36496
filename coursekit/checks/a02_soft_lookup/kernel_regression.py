"""02.kernel_regression: Nadaraya and Watson's soft lookup, with kernels given by name."""

import numpy as np

from attnkit.numpy import attend

from ..compare import same_values
from ..draw import normal, readable
from ..model import Case, Contents, Exercise, Law, Mistake, Part
from ..surface import Call


def kernel_regression(x, x_train, y_train, kernel, bandwidth):
    """Kernel regression as attention: the scores are the logarithms of the kernel."""
    distance = np.abs(x[:, None] - x_train) / np.asarray(bandwidth, x.dtype)  # (m, n)
    with np.errstate(divide="ignore"):
        scores = {
            "gaussian": -(distance**2) / 2,
            "boxcar": np.where(distance <= 1, 0.0, -np.inf),
            "triangular": np.log(np.maximum(1 - distance, 0.0)),
        }[kernel]
    return attend(scores.astype(x.dtype), y_train[:, None])[:, 0]


def _arguments(random, m, n, kernel, bandwidth, dtype=np.float64):
    return {
        "x": (3 * normal(random, m)).astype(dtype),
        "x_train": (3 * normal(random, n)).astype(dtype),
        "y_train": normal(random, n, dtype=dtype),
        "kernel": kernel,
        "bandwidth": bandwidth,
    }


def cases(random):
    def small(kernel, bandwidth):
        return {
            "x": np.array([-0.5, 1.5]) + 0.1 * random.integers(0, 4, 2),
            "x_train": np.array([2.0, -1.0, 1.0, 0.0]),
            "y_train": readable(random, 4),
            "kernel": kernel,
            "bandwidth": bandwidth,
        }

    edge = {
        "x": np.array([0.0, 4.0]),
        "x_train": np.array([-2.0, 1.0, 2.0, 5.0]),
        "y_train": readable(random, 4),
        "kernel": "boxcar",
        "bandwidth": 2.0,
    }
    nobody = {
        "x": np.array([0.0, 50.0]),
        "x_train": np.array([-0.5, 0.75, 1.5]),
        "y_train": readable(random, 3),
        "kernel": "boxcar",
        "bandwidth": 1.0,
    }
    return [
        Case("two places and four samples, gaussian", Call(small("gaussian", 0.5))),
        Case("two places and four samples, boxcar", Call(small("boxcar", 1.25))),
        Case("two places and four samples, triangular", Call(small("triangular", 1.75))),
        Case(
            "four places and four samples, gaussian",
            Call(_arguments(random, 4, 4, "gaussian", 2.0)),
        ),
        Case(
            "five places and thirty samples, triangular",
            Call(_arguments(random, 5, 30, "triangular", 9.0)),
        ),
        Case("samples exactly one bandwidth away, boxcar", Call(edge), "care"),
        Case("a place where no sample is near, boxcar", Call(nobody), "care"),
        Case(
            "a place where no sample is near, triangular",
            Call({**nobody, "kernel": "triangular"}),
            "care",
        ),
        Case(
            "a very narrow gaussian",
            Call({**nobody, "kernel": "gaussian", "bandwidth": 0.01}),
            "care",
        ),
        Case(
            "float32 numbers, gaussian",
            Call(_arguments(random, 6, 9, "gaussian", 1.5, np.float32)),
            "care",
        ),
    ]


def _constant(random):
    arguments = _arguments(random, 7, 20, "gaussian", 1.5)
    return [Call({**arguments, "y_train": np.full(20, 3.25)})]


def _stays(requests, values):
    ((estimate,),) = values
    if same_values(np.full(7, 3.25), estimate, 1e-9):
        return None
    return f"all samples are 3.25, yet {estimate[0]:.4g} came out."


def not_normalised(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2) / 2)
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    return k @ y_train


def places_compete(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2) / 2)
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    return k / k.sum(axis=0) @ y_train


def bandwidth_ignored(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train)
    if kernel == "gaussian":
        k = np.exp(-(u**2 - (u**2).min(axis=1, keepdims=True)) / 2)
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    total = k.sum(axis=1)
    return np.where(total > 0, k @ y_train / np.where(total > 0, total, 1), 0)


def multiplied_by_the_bandwidth(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) * bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2 - (u**2).min(axis=1, keepdims=True)) / 2)
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    total = k.sum(axis=1)
    return np.where(total > 0, k @ y_train / np.where(total > 0, total, 1), 0)


def gaussian_without_the_half(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2 - (u**2).min(axis=1, keepdims=True)))
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    total = k.sum(axis=1)
    return np.where(total > 0, k @ y_train / np.where(total > 0, total, 1), 0)


def bandwidth_not_squared(x, x_train, y_train, kernel, bandwidth):
    distance = np.abs(x[:, None] - x_train)
    u = distance / bandwidth
    if kernel == "gaussian":
        squared = distance**2 / (2 * bandwidth)
        k = np.exp(-(squared - squared.min(axis=1, keepdims=True)))
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    total = k.sum(axis=1)
    return np.where(total > 0, k @ y_train / np.where(total > 0, total, 1), 0)


def sign_of_the_distance_kept(x, x_train, y_train, kernel, bandwidth):
    u = (x[:, None] - x_train) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2 - (u**2).min(axis=1, keepdims=True)) / 2)
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    total = k.sum(axis=1)
    return np.where(total > 0, k @ y_train / np.where(total > 0, total, 1), 0)


def edge_left_out(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2 - (u**2).min(axis=1, keepdims=True)) / 2)
    elif kernel == "boxcar":
        k = (u < 1) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    total = k.sum(axis=1)
    return np.where(total > 0, k @ y_train / np.where(total > 0, total, 1), 0)


def half_a_boxcar(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2 - (u**2).min(axis=1, keepdims=True)) / 2)
    elif kernel == "boxcar":
        k = (u <= 0.5) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    total = k.sum(axis=1)
    return np.where(total > 0, k @ y_train / np.where(total > 0, total, 1), 0)


def nobody_near(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2) / 2)
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    return k @ y_train / k.sum(axis=1)


def narrow_gaussian_vanishes(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2) / 2)
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    total = k.sum(axis=1)
    return np.where(total > 0, k @ y_train / np.where(total > 0, total, 1), 0)


def mean_where_nobody_is_near(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2 - (u**2).min(axis=1, keepdims=True)) / 2)
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    total = k.sum(axis=1)
    return np.where(total > 0, k @ y_train / np.where(total > 0, total, 1), y_train.mean())


def nearest_sample(x, x_train, y_train, kernel, bandwidth):
    return y_train[np.abs(x[:, None] - x_train).argmin(axis=1)]


def always_gaussian(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) / bandwidth
    k = np.exp(-(u**2 - (u**2).min(axis=1, keepdims=True)) / 2)
    return k @ y_train / k.sum(axis=1)


def softmax_of_the_kernel(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2) / 2)
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    weights = np.exp(k)
    return weights @ y_train / weights.sum(axis=1)


def weights_returned(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2 - (u**2).min(axis=1, keepdims=True)) / 2)
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = np.maximum(1 - u, 0)
    total = k.sum(axis=1, keepdims=True)
    return k / np.where(total > 0, total, 1)


def triangle_below_zero(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2) / 2)
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = 1 - u
    return k @ y_train / k.sum(axis=1)


def triangle_below_zero_with_care(x, x_train, y_train, kernel, bandwidth):
    u = np.abs(x[:, None] - x_train) / bandwidth
    if kernel == "gaussian":
        k = np.exp(-(u**2 - (u**2).min(axis=1, keepdims=True)) / 2)
    elif kernel == "boxcar":
        k = (u <= 1) * 1.0
    else:
        k = 1 - u
    total = k.sum(axis=1)
    return np.where(total != 0, k @ y_train / np.where(total != 0, total, 1), 0)


MISTAKES = (
    Mistake(
        "not normalised",
        not_normalised,
        "You add up kernel times value without dividing. Where many samples are near, the result "
        "grows with their number. Divide by the sum of the kernel over the samples.",
    ),
    Mistake(
        "places compete in place of samples",
        places_compete,
        "You divide by a sum over the places x. For one place, the weights of all *samples* sum to "
        "one: with a table of m rows and n columns, sum along each row.",
    ),
    Mistake(
        "the bandwidth ignored",
        bandwidth_ignored,
        "The result does not depend on the bandwidth. It is the unit in which distances are "
        "measured: u = (x - x_train) / bandwidth.",
    ),
    Mistake(
        "multiplied by the bandwidth",
        multiplied_by_the_bandwidth,
        "A larger bandwidth should make the curve smoother, and yours gets rougher: distances are "
        "divided by it, not multiplied.",
    ),
    Mistake(
        "the gaussian without its half",
        gaussian_without_the_half,
        "boxcar and triangular are right, but the gaussian is exp(-u²/2); yours is exp(-u²), which "
        "is narrower.",
    ),
    Mistake(
        "the bandwidth not squared",
        bandwidth_not_squared,
        "In the gaussian you divide the squared distance by the bandwidth itself. First divide the "
        "distance by the bandwidth, then square: the bandwidth is squared too.",
    ),
    Mistake(
        "the sign of the distance kept",
        sign_of_the_distance_kept,
        "The gaussian squares the sign away, the other kernels do not: for them a sample far to "
        "one side counts as near. A distance has no sign; take np.abs.",
    ),
    Mistake(
        "samples on the edge left out",
        edge_left_out,
        "A sample exactly one bandwidth away belongs to the boxcar: the condition is |u| ≤ 1, "
        "not < 1.",
    ),
    Mistake(
        "half a boxcar",
        half_a_boxcar,
        "Your boxcar reaches half a bandwidth to each side. Here it reaches a whole one: |u| ≤ 1.",
    ),
    Mistake(
        "nobody near",
        nobody_near,
        "The formula is right, but where no sample is near all kernel values are 0, and 0 / 0 is "
        "NaN. For boxcar and triangular the result is then 0. For a narrow gaussian the values "
        "only look like 0: subtract the smallest u² before the exponential, as softmax does.",
    ),
    Mistake(
        "a narrow gaussian vanishes",
        narrow_gaussian_vanishes,
        "You guard against dividing by 0, good. But a gaussian is never 0: far away its values are "
        "only too small for a float. Subtract the smallest u² of each row before the exponential, "
        "as softmax does with the largest score; then the nearest sample counts.",
    ),
    Mistake(
        "the mean where nobody is near",
        mean_where_nobody_is_near,
        "Where no sample is near you return the mean of all samples, an answer from nowhere. In "
        "this course, whoever has nothing to look at gets 0.",
    ),
    Mistake(
        "the nearest sample alone",
        nearest_sample,
        "You return the value of the nearest sample: a hard lookup. Kernel regression mixes all "
        "samples, the nearer ones with more weight.",
    ),
    Mistake(
        "always a gaussian",
        always_gaussian,
        "Whatever kernel is asked for, a gaussian is used. Look at the argument kernel and "
        "distinguish its three names.",
    ),
    Mistake(
        "softmax of the kernel",
        softmax_of_the_kernel,
        "You take the exponential of the kernel values. The kernel is what softmax's exponential "
        "would be: it only needs dividing by its sum. (A gaussian already is an exponential, of "
        "the score -u²/2.)",
    ),
    Mistake(
        "weights returned",
        weights_returned,
        "These are the weights of the samples. One step is missing: their product with y_train.",
    ),
    Mistake(
        "a triangle that goes below zero, and 0 / 0",
        triangle_below_zero,
        "Beyond one bandwidth 1 - |u| is negative, and those samples count *against* the estimate: "
        "np.maximum(…, 0) cuts the triangle off. And where no sample is near, all kernel values are "
        "0, and 0 / 0 is NaN: there the estimate is 0.",
    ),
    Mistake(
        "a triangle that goes below zero",
        triangle_below_zero_with_care,
        "Beyond one bandwidth 1 - |u| is negative, and those samples count *against* the estimate. "
        "The triangle ends where it reaches 0: np.maximum(…, 0).",
    ),
)

EXERCISE = Exercise(
    identifier="02.kernel_regression",
    assignment="02_soft_lookup",
    title="Kernel regression",
    kind="function",
    answer="kernel_regression",
    points=4,
    difficulty=2,
    minutes=20,
    hints=(
        "Which are the queries, which the keys, which the values?",
        "A table of distances `(m, n)`, in bandwidths; from it the kernel; divide each row by its "
        "sum; multiply by `y_train`. What could a row's sum be in the worst case?",
        "`x[:, None] - x_train` is a table of differences; drop the signs and divide by the "
        "bandwidth. For the gaussian subtract each row's smallest square before the exponential. "
        "Where a row's total is 0, divide by 1 instead: the sum above it is 0 too.",
    ),
    returns=("estimate",),
    cases=cases,
    laws=(Law("Equal samples give back their value", _constant, _stays),),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those at the edge, with nobody near, very narrow, or in float32", 0.5),
    ),
    contents=lambda: Contents(kernel_regression, MISTAKES),
)
