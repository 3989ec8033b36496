"""08.rotary: rows turned by their positions, whichever columns make the pairs.

There is no single right result: code in circulation pairs neighbouring columns, or those of the
first half with those of the second. So what came is judged by what every layout must do. Pairs of
columns turn, each pair by its own frequency times the position; nothing else happens.
"""

import itertools

import numpy as np

from attnkit.numpy import rotary as library_rotary

from ..compare import TOLERANCE, same_values, tolerance
from ..draw import normal, readable
from ..model import Case, Contents, Exercise, Finding, Law, Mistake, Part
from ..surface import Call


def rotary(x, positions):
    """The library's, with neighbouring columns as pairs."""
    return library_rotary(x, positions)


# ---------------------------------------------------------------- what any layout must do


def judge(request, value):
    """Whether pairs of columns were turned as they should, and if not, what happened to them."""
    x, positions = request.arguments.values()
    (turned,) = value
    if turned.shape != x.shape:
        return Finding(
            "shape",
            str(turned.shape),
            f"expected turned rows of the shape of x, {x.shape}, got {turned.shape}.",
        )
    if turned.dtype.kind != "f" or np.finfo(turned.dtype).bits < np.finfo(x.dtype).bits:
        return Finding(
            "dtype",
            turned.dtype.name,
            f"expected {x.dtype} as x is, got {turned.dtype}: digits were lost on the way.",
        )
    if not np.isfinite(turned).all():
        return Finding("finite", "not finite", "some of the numbers are NaN or infinite.")
    if _turns(x, positions, turned):
        return None
    allowed = tolerance(x.dtype)
    still = same_values(x[..., positions == 0, :], turned[..., positions == 0, :], allowed)
    kept = same_values(_lengths(x), _lengths(turned), allowed)
    backwards = _turns(x, -positions, turned)
    return Finding(
        "value",
        f"still {still}, kept {kept}, backwards {backwards}, {_fingerprint(x, turned)}",
        _sentence(x, positions, turned, still, kept, backwards),
    )


def _frequencies(width):
    return 10000.0 ** (-np.arange(0, width, 2) / width)


def _turns(x, positions, turned):
    """Whether the columns fall into pairs that turned, one pair for every frequency."""
    free, allowed = set(range(x.shape[-1])), tolerance(x.dtype)
    for frequency in _frequencies(x.shape[-1]):
        for pair in itertools.combinations(sorted(free), 2):
            right = library_rotary(x[..., pair], positions * frequency)
            if same_values(right, turned[..., pair], allowed):
                free -= set(pair)
                break
        else:
            return False
    return True


def _lengths(x):
    return np.linalg.norm(x.astype(float), axis=-1)


def _unit_rows(x):
    return x.shape == (x.shape[-1],) * 2 and bool((x == np.eye(len(x))).all())


def _fingerprint(x, turned):
    """Of unit rows how far each turned and how long it is now: the same in every layout."""
    if not _unit_rows(x):
        return ""
    cosines, lengths = np.sort(np.diag(turned)), np.sort(_lengths(turned))
    return " ".join(f"{number + 0:.4f}" for number in (*cosines, *lengths))


def _sentence(x, positions, turned, still, kept, backwards):
    """What is wrong, told by the first row that shows it."""
    if backwards:
        return (
            "expected every pair to turn to the left, from the first axis to the second; your pairs "
            "turn the other way round."
        )
    if not still:
        row, came = (a[..., positions == 0, :].reshape(-1, x.shape[-1]) for a in (x, turned))
        moved = np.abs(row - came).max(axis=-1).argmax()
        return (
            f"at position 0 nothing turns. Expected the row {_text(row[moved])} as it was, your row "
            f"is {_text(came[moved])}."
        )
    if not kept:
        place = np.unravel_index(np.abs(_lengths(x) - _lengths(turned)).argmax(), x.shape[:-1])
        before, after = _lengths(x)[place], _lengths(turned)[place]
        return (
            f"a turn changes no length. Expected row {[int(i) for i in place]} to keep its length "
            f"{before:.4g}, your row has the length {after:.4g}."
        )
    if _unit_rows(x):
        gone = np.abs(np.diag(turned)) < 1e-9
        if gone.any():
            return (
                f"expected each number to stay in its column, but for what it shares with its "
                f"partner. In your result the row {_text(x[gone][0])} became "
                f"{_text(turned[gone][0])}: nothing is left where the 1 was."
            )
        wanted = ", ".join(f"{angle:.4g}" for angle in _frequencies(x.shape[-1]))
        angles = np.sort(np.arccos(np.clip(np.diag(turned), -1, 1)))[::-2]
        came = ", ".join(f"{angle:.4g}" for angle in angles)
        return f"expected the pairs to turn by {wanted}; your pairs turn by {came}."
    if x.shape[-1] == 2:
        return (
            f"with one pair there is one right result. Expected "
            f"{_text(library_rotary(x, positions))}, your rows are {_text(turned)}."
        )
    return (
        "the lengths are kept, but expected were pairs of columns, in any layout, of which each "
        "turns by its own frequency times the position of the row; your columns form no such pairs."
    )


def _text(numbers):
    return str(np.asarray(numbers).round(3).tolist())


# ---------------------------------------------------------------- cases and laws


def cases(random):
    m, start = int(random.integers(3, 5)), int(random.integers(5, 20))
    later = np.sort(random.choice(np.arange(1, 9), 3, replace=False))[[1, 2, 0]]  # in no order
    return [
        Case(
            "one row of one pair, at position 1",
            Call({"x": readable(random, 1, 2), "positions": np.array([1])}),
        ),
        Case(
            "rows of one pair, from position 0 on",
            Call({"x": readable(random, m, 2), "positions": np.arange(m)}),
        ),
        Case(
            "six unit rows of width 6, all at position 1",
            Call({"x": np.eye(6), "positions": np.ones(6, int)}),
        ),
        Case(
            "rows of two pairs, from position 0 on",
            Call({"x": readable(random, m, 4), "positions": np.arange(m)}),
        ),
        Case(
            "rows of width 8, from position 0 on",
            Call({"x": normal(random, 5, 8), "positions": np.arange(5)}),
        ),
        Case(
            "rows of width 4 at scattered positions in no order",
            Call({"x": normal(random, 3, 4), "positions": later}),
        ),
        Case(
            "rows of width 6 that begin at a later position",
            Call({"x": normal(random, 4, 6), "positions": start + np.arange(4)}),
        ),
        Case(
            "as many sentences as words",
            Call({"x": normal(random, 3, 3, 4), "positions": np.arange(3)}),
            "axes",
        ),
        Case(
            "two sentences with two heads, in float32",
            Call(
                {
                    "x": normal(random, 2, 2, 5, 4, dtype=np.float32),
                    "positions": start + np.arange(5),
                }
            ),
            "axes",
        ),
    ]


def _everywhere(random):
    """One query and one key, each at twelve places; those of the key are elsewhere."""
    starts = int(random.integers(0, 20)), int(random.integers(30, 90))
    return [
        Call({"x": np.repeat(normal(random, 1, 8), 12, axis=0), "positions": start + np.arange(12)})
        for start in starts
    ]


def _by_distance(requests, values):
    ((query,), (key,)) = values
    scores = query @ key.T
    if same_values(scores[1:, 1:], scores[:-1, :-1], TOLERANCE["float64"]):
        return None
    return "one query and one key at the same distance but other places have other scores."


def _some_rows(random):
    return [Call({"x": normal(random, 6, 8), "positions": random.integers(0, 1000, 6)})]


def _no_longer(requests, values):
    (request,), ((turned,),) = requests, values
    if same_values(_lengths(request.arguments["x"]), _lengths(turned), TOLERANCE["float64"]):
        return None
    return "a row is longer or shorter than it was."


# ---------------------------------------------------------------- known mistakes


def factor_two_forgotten(x, positions):
    d = x.shape[-1]
    angle = positions[:, None] * 10000.0 ** (-np.arange(d // 2) / d)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = first * np.cos(angle) - second * np.sin(angle)
    turned[..., 1::2] = first * np.sin(angle) + second * np.cos(angle)
    return turned


def factor_two_forgotten_in_halves(x, positions):
    d = x.shape[-1]
    angle = positions[:, None] * 10000.0 ** (-np.arange(d // 2) / d)
    first, second = x[..., : d // 2], x[..., d // 2 :]
    turned = (
        first * np.cos(angle) - second * np.sin(angle),
        first * np.sin(angle) + second * np.cos(angle),
    )
    return np.concatenate(turned, axis=-1)


def one_speed_for_all(x, positions):
    angle = positions[:, None]
    first, second = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = first * np.cos(angle) - second * np.sin(angle)
    turned[..., 1::2] = first * np.sin(angle) + second * np.cos(angle)
    return turned


def base_to_the_other_power(x, positions):
    d = x.shape[-1]
    angle = positions[:, None] * 10000.0 ** (np.arange(0, d, 2) / d)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = first * np.cos(angle) - second * np.sin(angle)
    turned[..., 1::2] = first * np.sin(angle) + second * np.cos(angle)
    return turned


def the_other_way_round(x, positions):
    d = x.shape[-1]
    angle = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = first * np.cos(angle) + second * np.sin(angle)
    turned[..., 1::2] = second * np.cos(angle) - first * np.sin(angle)
    return turned


def both_signs_plus(x, positions):
    d = x.shape[-1]
    angle = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = first * np.cos(angle) + second * np.sin(angle)
    turned[..., 1::2] = first * np.sin(angle) + second * np.cos(angle)
    return turned


def first_overwritten(x, positions):
    d = x.shape[-1]
    angle = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    turned = x.copy()
    turned[..., 0::2] = turned[..., 0::2] * np.cos(angle) - turned[..., 1::2] * np.sin(angle)
    turned[..., 1::2] = turned[..., 0::2] * np.sin(angle) + turned[..., 1::2] * np.cos(angle)
    return turned


def pairs_torn_apart(x, positions):
    d = x.shape[-1]
    angle = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = (
        first * np.cos(angle) - second * np.sin(angle),
        first * np.sin(angle) + second * np.cos(angle),
    )
    return np.concatenate(turned, axis=-1)


def layouts_mixed(x, positions):
    d = x.shape[-1]
    angle = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    angle = np.repeat(angle, 2, axis=-1)
    other = np.concatenate([-x[..., d // 2 :], x[..., : d // 2]], axis=-1)
    return x * np.cos(angle) + other * np.sin(angle)


def positions_not_used(x, positions):
    d = x.shape[-1]
    angle = np.arange(x.shape[-2])[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = first * np.cos(angle) - second * np.sin(angle)
    turned[..., 1::2] = first * np.sin(angle) + second * np.cos(angle)
    return turned


def positions_not_used_in_halves(x, positions):
    d = x.shape[-1]
    angle = np.arange(x.shape[-2])[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    first, second = x[..., : d // 2], x[..., d // 2 :]
    turned = (
        first * np.cos(angle) - second * np.sin(angle),
        first * np.sin(angle) + second * np.cos(angle),
    )
    return np.concatenate(turned, axis=-1)


def position_left_out(x, positions):
    d = x.shape[-1]
    angle = 10000.0 ** (-np.arange(0, d, 2) / d)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = first * np.cos(angle) - second * np.sin(angle)
    turned[..., 1::2] = first * np.sin(angle) + second * np.cos(angle)
    return turned


def positions_along_the_batch(x, positions):
    d = x.shape[-1]
    frequency = 10000.0 ** (-np.arange(0, d, 2) / d)
    angle = positions.reshape(-1, *[1] * (x.ndim - 1)) * frequency
    first, second = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    if x.ndim == 2:
        angle = angle.reshape(len(x), d // 2)
    turned[..., 0::2] = first * np.cos(angle) - second * np.sin(angle)
    turned[..., 1::2] = first * np.sin(angle) + second * np.cos(angle)
    return turned


def added_in_place_of_turned(x, positions):
    d = x.shape[-1]
    angle = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    table = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    return x + table.reshape(len(positions), d).astype(x.dtype)


def half_of_each_pair(x, positions):
    d = x.shape[-1]
    angle = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    turned = x.copy()
    turned[..., 0::2] = x[..., 0::2] * np.cos(angle) - x[..., 1::2] * np.sin(angle)
    return turned


def positions_sorted(x, positions):
    d = x.shape[-1]
    angle = np.sort(positions)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = first * np.cos(angle) - second * np.sin(angle)
    turned[..., 1::2] = first * np.sin(angle) + second * np.cos(angle)
    return turned


def counted_from_one(x, positions):
    d = x.shape[-1]
    angle = (positions[:, None] + 1) * 10000.0 ** (-np.arange(0, d, 2) / d)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = first * np.cos(angle) - second * np.sin(angle)
    turned[..., 1::2] = first * np.sin(angle) + second * np.cos(angle)
    return turned


def cosines_alone(x, positions):
    d = x.shape[-1]
    angle = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    turned = np.empty_like(x)
    turned[..., 0::2] = x[..., 0::2] * np.cos(angle)
    turned[..., 1::2] = x[..., 1::2] * np.cos(angle)
    return turned


def nothing_turned(x, positions):
    return x.copy()


MISTAKES = (
    Mistake(
        "the factor 2 forgotten",
        factor_two_forgotten,
        "Your exponents are i / d, so the slowest pair is far too fast. The exponent is 2i / d, "
        "where i numbers the pairs.",
    ),
    Mistake(
        "the factor 2 forgotten, with the other pairs",
        factor_two_forgotten_in_halves,
        "The exponent is 2i / d, where i numbers the pairs.",
        same_as="the factor 2 forgotten",
    ),
    Mistake(
        "one speed for all pairs",
        one_speed_for_all,
        "All pairs turn by the position itself. After one round, 6.28 positions, everything would "
        "look as before; slower pairs tell far places apart.",
    ),
    Mistake(
        "the base to the other power",
        base_to_the_other_power,
        "The pairs turn faster and faster. The exponent is negative: the first pair turns by 1 at "
        "each step, the others by less.",
    ),
    Mistake(
        "the other way round",
        the_other_way_round,
        "The signs of both sines are exchanged, so everything turns to the right. A model that is "
        "trained with it does not mind, but weights of others do: (a, b) turns to "
        "(a cos - b sin, a sin + b cos).",
    ),
    Mistake(
        "both signs plus",
        both_signs_plus,
        "A turn has one minus: (a cos - b sin, a sin + b cos). With two plus signs pairs are "
        "stretched and squeezed, and the product of query and key no longer sees the distance only.",
    ),
    Mistake(
        "the first number overwritten",
        first_overwritten,
        "The second line uses the first number of the pair after it was turned. Keep both numbers "
        "as they were until both new ones are computed.",
    ),
    Mistake(
        "pairs torn apart",
        pairs_torn_apart,
        "You took neighbours as pairs and put the results back as halves, so numbers end up in other "
        "columns; at position 0 you can see it. Scores survive, as long as queries and keys are torn "
        "alike, but weights, caches and everyone else expect each number in its column.",
    ),
    Mistake(
        "two layouts mixed",
        layouts_mixed,
        "The numbers are paired by halves, but the angles are repeated as for neighbours, so the two "
        "numbers of a pair turn by different angles. For halves, lay the angles end to end.",
    ),
    Mistake(
        "the positions not used",
        positions_not_used,
        "You count rows from 0. positions says where they stand: while a text is being written, the "
        "new row is number 0 of the call and number 57 of the text.",
    ),
    Mistake(
        "the positions not used, with halves as pairs",
        positions_not_used_in_halves,
        "You count rows from 0. positions says where they stand: while a text is being written, the "
        "new row is number 0 of the call and number 57 of the text.",
    ),
    Mistake(
        "every row turned alike",
        position_left_out,
        "The position is missing in the angle: all rows turn alike, and a turn that is the same for "
        "all tells nothing. The angle is the position times the frequency.",
    ),
    Mistake(
        "positions along the batch",
        positions_along_the_batch,
        "For one sentence this is right. With leading axes the positions went along the first axis, "
        "so whole sentences turn. Positions belong to rows, the last axis but one.",
    ),
    Mistake(
        "added in place of turned",
        added_in_place_of_turned,
        "You added sines and cosines to x: that is the sinusoidal table. Rotary multiplies: each "
        "pair of numbers of x is itself turned.",
    ),
    Mistake(
        "half of each pair",
        half_of_each_pair,
        "Only the first number of each pair changed. A turn moves both.",
    ),
    Mistake(
        "the positions sorted",
        positions_sorted,
        "You put the positions into order, so rows turn by the positions of others. Row i stands "
        "at positions[i], in whatever order they come.",
    ),
    Mistake(
        "positions counted from one",
        counted_from_one,
        "You turn by a position more than was given. Distances are right all the same, but "
        "position 0 does not turn: the angle is positions times the frequency.",
    ),
    Mistake(
        "cosines alone",
        cosines_alone,
        "Each number is multiplied by its cosine, so lengths shrink. A turn mixes the two numbers "
        "of a pair: a cos - b sin, and a sin + b cos.",
    ),
    Mistake(
        "nothing turned",
        nothing_turned,
        "The rows came back as they were: no position has left a trace in them.",
    ),
)

EXERCISE = Exercise(
    identifier="08.rotary",
    assignment="08_position",
    title="Rotary positions",
    kind="function",
    answer="rotary",
    points=4,
    difficulty=3,
    minutes=20,
    hints=(
        "How do you turn one point (a, b) of the plane by an angle? Then: which angle has pair i in "
        "the row of position p?",
        "Make the angles as for the sinusoidal table, positions as a column times frequencies as a "
        "row. Take the first numbers of all pairs as one array and the second numbers as another, "
        "turn, and put both back where they came from.",
        "Neighbours: `x[..., 0::2]` and `x[..., 1::2]`, put back into `np.empty_like(x)` the same "
        "way. Halves: `x[..., :d // 2]` and `x[..., d // 2:]`, joined by `np.concatenate` along the "
        "last axis. `positions[:, None] * frequencies` is `(m, d // 2)`.",
    ),
    returns=("turned rows",),
    cases=cases,
    judge=judge,
    laws=(
        Law(
            "The product of a query and a key depends on their distance", _everywhere, _by_distance
        ),
        Law("A turn changes no length", _some_rows, _no_longer),
    ),
    parts=(
        Part("plain", "the cases with one sentence", 0.75),
        Part("axes", "those with leading axes", 0.25),
    ),
    contents=lambda: Contents(rotary, MISTAKES),
)
