"""08.alibi_bias: what ALiBi adds to the scores."""

import numpy as np

from attnkit import numpy as library

from ..draw import normal
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def alibi_bias(m, n, slopes):
    """The bias for any slopes, from the library's for one head, whose slope is a power of two."""
    one_head = library.alibi_bias(m, n, 1) / library.alibi_slopes(1)  # (1, m, n): minus distances
    return one_head * slopes[:, None, None]


def _request(random, m, n, n_heads):
    # In tens: unlike the true slopes these can be read, and are never equal.
    slopes = random.permutation(np.arange(1, 10))[:n_heads] / 10
    return Call({"m": m, "n": n, "slopes": slopes})


def cases(random):
    size, m = int(random.integers(4, 7)), int(random.integers(2, 5))
    return [
        Case("two heads, three positions", _request(random, 3, 3, 2)),
        Case("as many heads as positions", _request(random, 4, 4, 4)),
        Case("one head", _request(random, size, size, 1)),
        Case("the slopes of twelve heads", Call({"m": 5, "n": 5, "slopes": _true_slopes(random)})),
        Case("fewer queries than keys", _request(random, m, m + 3, 3), "end"),
        Case("one query and many keys", _request(random, 1, size + 3, 2), "end"),
        Case("more queries than keys", _request(random, m + 3, m, 3), "end"),
    ]


def _true_slopes(random):
    return random.permutation(library.alibi_slopes(12))


def _one_position_more(random):
    slopes = np.abs(normal(random, 3))
    m, n = int(random.integers(2, 6)), int(random.integers(2, 6))
    return [
        Call({"m": m, "n": n, "slopes": slopes}),
        Call({"m": m + 1, "n": n + 1, "slopes": slopes}),
    ]


def distance_rewarded(m, n, slopes):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return slopes[:, None, None] * np.abs(distance)


def sign_left_in_the_distance(m, n, slopes):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return -slopes[:, None, None] * distance


def later_keys_rewarded(m, n, slopes):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return slopes[:, None, None] * distance


def counted_from_the_start(m, n, slopes):
    return -slopes[:, None, None] * np.abs(np.arange(n) - np.arange(m)[:, None])


def queries_moved_the_wrong_way(m, n, slopes):
    return -slopes[:, None, None] * np.abs(np.arange(n) - (np.arange(m)[:, None] + m - n))


def heads_last(m, n, slopes):
    distance = np.abs(np.arange(n) - (np.arange(m)[:, None] + n - m))
    return -distance[:, :, None] * slopes


def a_slope_for_each_key(m, n, slopes):
    distance = np.abs(np.arange(n) - (np.arange(m)[:, None] + n - m))
    return -slopes * distance


def first_head_for_all(m, n, slopes):
    distance = np.abs(np.arange(n) - (np.arange(m)[:, None] + n - m))
    return np.repeat(-slopes[0] * distance[None], len(slopes), axis=0)


def keys_down_the_side(m, n, slopes):
    distance = np.abs(np.arange(n)[:, None] - (np.arange(m) + n - m))
    return -slopes[:, None, None] * distance


def future_hidden(m, n, slopes):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return np.where(distance > 0, -np.inf, slopes[:, None, None] * distance)


def later_keys_free(m, n, slopes):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return slopes[:, None, None] * np.minimum(distance, 0)


def divided_by_the_length(m, n, slopes):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return -slopes[:, None, None] * np.abs(distance) / n


def distance_squared(m, n, slopes):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return -slopes[:, None, None] * distance**2


def weights_returned(m, n, slopes):
    distance = np.arange(n) - (np.arange(m)[:, None] + n - m)
    return np.exp(-slopes[:, None, None] * np.abs(distance))


def slopes_of_its_own(m, n, slopes):
    distance = np.abs(np.arange(n) - (np.arange(m)[:, None] + n - m))
    own = 2.0 ** (-8 * np.arange(1, len(slopes) + 1) / len(slopes))
    return -own[:, None, None] * distance


def divided_by_the_slope(m, n, slopes):
    distance = np.abs(np.arange(n) - (np.arange(m)[:, None] + n - m))
    return -distance / slopes[:, None, None]


def one_axis_too_few(m, n, slopes):
    distance = np.abs(np.arange(n) - (np.arange(m)[:, None] + n - m))
    return -slopes[:, None] * distance


def never_before_the_first(m, n, slopes):
    distance = np.abs(np.arange(n) - (np.arange(m)[:, None] + max(n - m, 0)))
    return -slopes[:, None, None] * distance


MISTAKES = (
    Mistake(
        "distance rewarded",
        distance_rewarded,
        "Your bias grows with distance, so the farthest key would win. ALiBi lowers scores: minus.",
    ),
    Mistake(
        "a distance with a sign",
        sign_left_in_the_distance,
        "Keys before the query get a *positive* bias that grows with distance. Take the absolute "
        "value: how far away, not on which side.",
    ),
    Mistake(
        "later keys rewarded",
        later_keys_rewarded,
        "Slope times (key minus query) is right for keys before the query. Keys after it get a "
        "reward; under a causal mask nobody would notice. Take minus the absolute distance.",
    ),
    Mistake(
        "counted from the start",
        counted_from_the_start,
        "For as many queries as keys this is right. With fewer, the queries are the *last* "
        "positions: query i stands at i + n - m.",
    ),
    Mistake(
        "the queries moved the wrong way",
        queries_moved_the_wrong_way,
        "You moved the queries by m - n. The last query must stand at the last key: add n - m.",
    ),
    Mistake(
        "heads as the last axis",
        heads_last,
        "Your bias is (m, n, H). It is added to scores (H, m, n), so heads come first.",
    ),
    Mistake(
        "a slope for each key",
        a_slope_for_each_key,
        "Without axes of its own, a slope meets a key: broadcasting lines the last axes up. Each "
        "head has a slope: give slopes the shape (H, 1, 1).",
    ),
    Mistake(
        "the first head's slope for all",
        first_head_for_all,
        "All heads have the slope of the first. That some see far and some near is the point.",
    ),
    Mistake(
        "keys down the side",
        keys_down_the_side,
        "Your bias has a row for each key. Queries stand down the side: (H, m, n).",
    ),
    Mistake(
        "the future hidden",
        future_hidden,
        "You put -infinity at keys after the query. A mask is another matter, given separately; the "
        "bias is about distance on both sides.",
    ),
    Mistake(
        "later keys left alone",
        later_keys_free,
        "Keys after the query have no bias. That does under a causal mask; here both sides count.",
    ),
    Mistake(
        "divided by the length",
        divided_by_the_length,
        "You divide by the number of keys, so one step weighs less in a longer text, and what was "
        "learnt on short ones no longer fits. Distances are taken as they are.",
    ),
    Mistake(
        "the distance squared",
        distance_squared,
        "The bias falls with the square of the distance. In ALiBi it is linear: that is the L.",
    ),
    Mistake(
        "exponentials returned",
        weights_returned,
        "exp is the business of the softmax. The bias is added to the scores before it.",
    ),
    Mistake(
        "slopes of its own",
        slopes_of_its_own,
        "The slopes came as an argument, any numbers above 0. You computed others and never used "
        "those.",
    ),
    Mistake(
        "divided by the slope",
        divided_by_the_slope,
        "You divide by the slope, so the flattest head falls fastest. The bias is minus slope "
        "*times* distance.",
    ),
    Mistake(
        "a slope for each query",
        one_axis_too_few,
        "With one axis added a slope meets a query: (H, 1) is lined up with (m, n). Each head has "
        "a slope: give slopes the shape (H, 1, 1).",
    ),
    Mistake(
        "no query before the first key",
        never_before_the_first,
        "With more queries than keys n - m is negative, and so it should be: the first queries "
        "stand *before* all keys. You made it 0.",
    ),
)

EXERCISE = Exercise(
    identifier="08.alibi_bias",
    assignment="08_position",
    title="The bias of ALiBi",
    kind="vectorised",
    answer="alibi_bias",
    points=3,
    difficulty=1,
    minutes=10,
    hints=(
        "How far is each key from each query? That is one table, (m, n), for all heads.",
        "Queries are the last m positions. Take the absolute distance, and let each head multiply "
        "the whole table by minus its slope: axes of size 1 make NumPy do that.",
        "`slopes[:, None, None]` is `(H, 1, 1)`; times a table `(m, n)` it gives `(H, m, n)`. "
        "Positions of queries: `np.arange(m)[:, None] + (n - m)`.",
    ),
    returns=("bias",),
    cases=cases,
    laws=(
        same(
            "A later query and a later key change nothing for the earlier ones",
            _one_position_more,
            "in the larger table the earlier pairs have another bias.",
            undo=lambda bias: bias[:, :-1, :-1],
            part="end",
        ),
    ),
    parts=(
        Part("plain", "the cases with as many queries as keys", 2 / 3),
        Part("end", "those with fewer or more queries", 1 / 3),
    ),
    contents=lambda: Contents(alibi_bias, MISTAKES),
)
