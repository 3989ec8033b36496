"""05.local_p_weights: softmax inside a window that the network places, times a bell curve."""

import numpy as np

from attnkit.numpy import local_p_weights

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .given import softmax


def _centres(random, n, *shape):
    """Places between the first and the last key, never exactly a whole or half number away."""
    return random.integers(0, n - 1, shape) + random.choice([0.2, 0.3, 0.7, 0.8], shape)


def _request(draw, random, *shape, window, centre=None, dtype=np.float64):
    centre = _centres(random, shape[-1], *shape[:-1]) if centre is None else np.array(centre)
    return Call(
        {
            "scores": draw(random, *shape).astype(dtype),
            "centre": centre.astype(dtype),
            "window": window,
        }
    )


def cases(random):
    far = _request(readable, random, 2, 5, window=2)
    far.arguments["scores"][:] += 1000
    return [
        Case("one query and six keys", _request(readable, random, 1, 6, window=2, centre=[2.3])),
        Case("three queries and eight keys", _request(normal, random, 3, 8, window=2)),
        Case("six queries and six keys", _request(normal, random, 6, 6, window=3)),
        Case(
            "centres that are whole numbers",
            _request(readable, random, 3, 7, window=2, centre=random.permutation([2.0, 3.0, 4.0])),
            "care",
        ),
        Case(
            "centres at the first and the last key",
            _request(readable, random, 2, 5, window=1, centre=random.permutation([0.0, 4.0])),
            "care",
        ),
        Case(
            "a window that holds no key",
            _request(normal, random, 2, 5, window=0.4, centre=random.permutation([1.5, 3.1])),
            "care",
        ),
        Case("two leading axes", _request(normal, random, 2, 3, 4, 9, window=2), "care"),
        Case("scores near 1000", far, "care"),
        Case("float32 numbers", _request(normal, random, 3, 7, window=2, dtype=np.float32), "care"),
    ]


def _keys_outside_exchanged(random):
    request = _request(normal, random, 4, 9, window=2)
    scores, centre, window = request.arguments.values()
    inside = np.abs(np.arange(9) - centre[:, None]) <= window
    other = np.where(inside, scores, normal(random, 4, 9))
    return [request, Call({**request.arguments, "scores": other})]


def renormalised(scores, centre, window):
    distance = np.arange(scores.shape[-1]) - centre[..., None]
    inside = np.abs(distance) <= window
    soft = np.where(inside, softmax(np.where(inside, scores, np.finfo(scores.dtype).min)), 0.0)
    weights = soft * np.exp(-(distance**2) / (2 * (window / 2) ** 2))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total > 0, total, 1.0)


def window_for_the_deviation(scores, centre, window):
    distance = np.arange(scores.shape[-1]) - centre[..., None]
    inside = np.abs(distance) <= window
    soft = np.where(inside, softmax(np.where(inside, scores, np.finfo(scores.dtype).min)), 0.0)
    return soft * np.exp(-(distance**2) / (2 * window**2))


def two_forgotten(scores, centre, window):
    distance = np.arange(scores.shape[-1]) - centre[..., None]
    inside = np.abs(distance) <= window
    soft = np.where(inside, softmax(np.where(inside, scores, np.finfo(scores.dtype).min)), 0.0)
    return soft * np.exp(-(distance**2) / (window / 2) ** 2)


def no_window(scores, centre, window):
    distance = np.arange(scores.shape[-1]) - centre[..., None]
    return softmax(scores) * np.exp(-(distance**2) / (2 * (window / 2) ** 2))


def window_after_softmax(scores, centre, window):
    distance = np.arange(scores.shape[-1]) - centre[..., None]
    inside = np.abs(distance) <= window
    bell = np.exp(-(distance**2) / (2 * (window / 2) ** 2))
    return np.where(inside, softmax(scores) * bell, 0.0)


def strictly_nearer(scores, centre, window):
    distance = np.arange(scores.shape[-1]) - centre[..., None]
    inside = np.abs(distance) < window
    soft = np.where(inside, softmax(np.where(inside, scores, np.finfo(scores.dtype).min)), 0.0)
    return soft * np.exp(-(distance**2) / (2 * (window / 2) ** 2))


def empty_windows_are_nan(scores, centre, window):
    distance = np.arange(scores.shape[-1]) - centre[..., None]
    inside = np.abs(distance) <= window
    soft = softmax(np.where(inside, scores, -np.inf))
    return soft * np.exp(-(distance**2) / (2 * (window / 2) ** 2))


def empty_windows_are_filled(scores, centre, window):
    distance = np.arange(scores.shape[-1]) - centre[..., None]
    inside = np.abs(distance) <= window
    soft = softmax(np.where(inside, scores, np.finfo(scores.dtype).min))
    return soft * np.exp(-(distance**2) / (2 * (window / 2) ** 2))


def centre_rounded(scores, centre, window):
    distance = np.arange(scores.shape[-1]) - np.round(centre)[..., None]
    inside = np.abs(distance) <= window
    soft = np.where(inside, softmax(np.where(inside, scores, np.finfo(scores.dtype).min)), 0.0)
    return soft * np.exp(-(distance**2) / (2 * (window / 2) ** 2))


def bell_among_the_scores(scores, centre, window):
    distance = np.arange(scores.shape[-1]) - centre[..., None]
    inside = np.abs(distance) <= window
    lowered = scores - distance**2 / (2 * (window / 2) ** 2)
    return np.where(inside, softmax(np.where(inside, lowered, np.finfo(scores.dtype).min)), 0.0)


def without_the_bell(scores, centre, window):
    inside = np.abs(np.arange(scores.shape[-1]) - centre[..., None]) <= window
    return np.where(inside, softmax(np.where(inside, scores, np.finfo(scores.dtype).min)), 0.0)


def counted_from_one(scores, centre, window):
    distance = np.arange(1, scores.shape[-1] + 1) - centre[..., None]
    inside = np.abs(distance) <= window
    soft = np.where(inside, softmax(np.where(inside, scores, np.finfo(scores.dtype).min)), 0.0)
    return soft * np.exp(-(distance**2) / (2 * (window / 2) ** 2))


def scores_outside_zero(scores, centre, window):
    distance = np.arange(scores.shape[-1]) - centre[..., None]
    inside = np.abs(distance) <= window
    bell = np.exp(-(distance**2) / (2 * (window / 2) ** 2))
    return np.where(inside, softmax(np.where(inside, scores, 0.0)), 0.0) * bell


def centres_along_the_keys(scores, centre, window):
    distance = np.arange(scores.shape[-1])[:, None] - centre[..., None, :]
    inside = np.abs(distance) <= window
    soft = np.where(inside, softmax(np.where(inside, scores, np.finfo(scores.dtype).min)), 0.0)
    return soft * np.exp(-(distance**2) / (2 * (window / 2) ** 2))


def two_axes_and_empty_windows(scores, centre, window):
    distance = np.arange(scores.shape[-1]) - centre[:, None]
    soft = softmax(np.where(np.abs(distance) <= window, scores, -np.inf))
    return soft * np.exp(-(distance**2) / (2 * (window / 2) ** 2))


MISTAKES = (
    Mistake(
        "divided by the sum again",
        renormalised,
        "Your rows sum to one: you scale them once more, or take the bell into the softmax, which comes "
        "to the same. In local-p they do not: the bell takes away from keys off the centre, and nobody "
        "hands it back.",
    ),
    Mistake(
        "the window for the standard deviation",
        window_for_the_deviation,
        "The bell is too wide: its standard deviation is *half* the window.",
    ),
    Mistake(
        "the 2 forgotten in the bell",
        two_forgotten,
        "The bell is too narrow: the square of the distance is divided by *twice* the square of the "
        "standard deviation.",
    ),
    Mistake(
        "no window",
        no_window,
        "Keys outside the window have weight, if little. They must have none, and take no part in the "
        "softmax.",
    ),
    Mistake(
        "the window after the softmax",
        window_after_softmax,
        "The softmax goes over all keys in your program, so those outside the window have taken their "
        "share before you hide them. (And all must be scored, so that nothing is saved.)",
    ),
    Mistake(
        "strictly nearer than the window",
        strictly_nearer,
        "A key exactly `window` away belongs to the window: <=. It shows with centres that are whole "
        "numbers.",
    ),
    Mistake(
        "NaN where the window holds no key",
        empty_windows_are_nan,
        "A softmax over nothing but -inf is NaN. A query whose window holds no key has the weights 0.",
    ),
    Mistake(
        "weight where the window holds no key",
        empty_windows_are_filled,
        "With a finite number for hidden scores, an empty window gives all keys the same weight. Set "
        "the weights outside the window to 0 after the softmax, too.",
    ),
    Mistake(
        "the centre rounded",
        centre_rounded,
        "You round the centre. A rounded number has no slope, and then the network cannot learn where "
        "to look: leave it as it is.",
    ),
    Mistake(
        "the bell among the scores",
        bell_among_the_scores,
        "You take the bell into the softmax, so the rows sum to one. In local-p it is multiplied *after* "
        "the softmax.",
        same_as="divided by the sum again",
    ),
    Mistake(
        "the bell left out",
        without_the_bell,
        "Only the window is there. Multiply by the bell, or the centre has no slope to learn from.",
    ),
    Mistake(
        "counted from one",
        counted_from_one,
        "You count the keys from 1, so the bell is one key off. The first key has the place 0.",
    ),
    Mistake(
        "scores outside set to zero",
        scores_outside_zero,
        "A score of 0 is an ordinary score, and exp(0) a share of 1 in the sum. A key outside the "
        "window must not be in the sum at all.",
    ),
    Mistake(
        "the centres along the keys",
        centres_along_the_keys,
        "There is a centre for each *query*: it needs an axis for the keys at the end, (..., m, 1). "
        "With as many queries as keys the wrong axis goes unnoticed.",
    ),
    Mistake(
        "for two axes only, and NaN where the window holds no key",
        two_axes_and_empty_windows,
        "The formula is right. A softmax over nothing but -inf is NaN, though: such a query has the "
        "weights 0. And centre[:, None] adds the axis in the wrong place where there are leading axes: "
        "centre[..., None].",
    ),
)

EXERCISE = Exercise(
    identifier="05.local_p_weights",
    assignment="05_soft_and_hard",
    title="The weights of local-p",
    kind="vectorised",
    answer="local_p_weights",
    points=4,
    difficulty=3,
    minutes=20,
    hints=(
        "Three steps: which keys are inside, a softmax over these alone, and the bell.",
        "The distance of every key from every centre is a table, `(..., m, n)`; window and bell both "
        "come from it. Hide scores outside the window before the softmax, and weights outside it "
        "afterwards: the second is for a window that holds no key.",
        "`np.arange(n) - centre[..., None]` is the distance. Hide scores by the lowest *finite* number, "
        "`np.finfo(scores.dtype).min`, with `np.where`; put 0 outside after `softmax`; multiply by "
        "exp of minus the squared distance over `2 * (window / 2) ** 2`. No division after that.",
    ),
    returns=("weights",),
    cases=cases,
    laws=(
        same(
            "The scores of keys outside the window do not matter",
            _keys_outside_exchanged,
            "with other scores outside the window, other weights came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with edges, empty windows, leading axes, large scores or float32", 0.5),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(local_p_weights, MISTAKES),
)
