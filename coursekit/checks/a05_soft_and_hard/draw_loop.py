"""05.draw_loop: keys drawn with given numbers, one number and one key at a time."""

import numpy as np

from attnkit.numpy.attention import _drawn_keys

from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def draw_keys(weights, uniform):
    """The keys (..., s) that the library draws with uniform (..., s) from weights (..., n)."""
    return _drawn_keys(weights[..., None, :], uniform).argmax(axis=-1)


def cases(random):
    tenths = random.permutation([0.1, 0.2, 0.3, 0.4])
    return [
        Case(
            "four weights and five numbers",
            # Ends with a 5 in the second decimal: never on the edge between two keys.
            Call(
                {"weights": tenths, "uniform": random.permutation([0.05, 0.25, 0.45, 0.65, 0.95])}
            ),
        ),
        Case(
            "six weights and ten numbers",
            Call({"weights": random.dirichlet(np.ones(6)), "uniform": random.random(10)}),
        ),
        Case(
            "numbers on the edge between two keys",
            Call(
                {"weights": np.full(4, 0.25), "uniform": random.permutation([0, 0.25, 0.5, 0.75])}
            ),
            "care",
        ),
        Case(
            "a first and a middle key of weight 0",
            Call(
                {
                    "weights": np.array([0.0, 0.5, 0.0, 0.25, 0.25]),
                    "uniform": random.permutation([0.0, 0.3, 0.5, 0.8]),
                }
            ),
            "care",
        ),
        Case(
            "weights that sum to 0.999, and a last key of weight 0",
            Call(
                {
                    "weights": np.array([0.333, 0.333, 0.333, 0.0]),
                    "uniform": random.permutation([0.1, 0.9995, 0.5]),
                }
            ),
            "care",
        ),
    ]


def a_hidden_key_in_front(random):
    weights, uniform = random.dirichlet(np.ones(5)), random.random(8)
    return [
        Call({"weights": weights, "uniform": uniform}),
        Call({"weights": np.append(0.0, weights), "uniform": uniform}),
    ]


def reaches_is_enough(weights, uniform):
    keys = []
    for u in uniform:
        total = 0.0
        for j in range(len(weights)):
            if weights[j] > 0:
                last = j
        for j in range(len(weights)):
            total += weights[j]
            if total >= u:
                break
        else:
            j = last
        keys.append(j)
    return np.array(keys)


def the_best_key(weights, uniform):
    return np.full(len(uniform), weights.argmax())


def counted_from_one(weights, uniform):
    keys = []
    for u in uniform:
        total, j = 0.0, 0
        while total <= u and weights[j:].any():
            total += weights[j]
            j += 1
        keys.append(j)
    return np.array(keys)


def weights_not_added(weights, uniform):
    keys = []
    for u in uniform:
        taken = max(j for j in range(len(weights)) if weights[j] > 0)
        for j in range(len(weights)):
            if weights[j] > u:
                taken = j
                break
        keys.append(taken)
    return np.array(keys)


def from_the_end(weights, uniform):
    keys = []
    for u in uniform:
        total, j = 0.0, len(weights)
        while total <= u and weights[:j].any():
            j -= 1
            total += weights[j]
        keys.append(j)
    return np.array(keys)


def compared_before_adding(weights, uniform):
    keys = []
    for u in uniform:
        total, taken = 0.0, len(weights) - 1
        for j in range(len(weights)):
            if total > u:
                taken = j
                break
            total += weights[j]
        keys.append(taken)
    return np.array(keys)


def the_last_of_all_keys(weights, uniform):
    keys = []
    for u in uniform:
        total = 0.0
        for j in range(len(weights)):
            total += weights[j]
            if total > u:
                break
        keys.append(j)
    return np.array(keys)


def no_key_where_the_sum_falls_short(weights, uniform):
    keys = np.full(len(uniform), -1)
    for i in range(len(uniform)):
        total = 0.0
        for j in range(len(weights)):
            total += weights[j]
            if total > uniform[i] and keys[i] < 0:
                keys[i] = j
    return keys


def draws_left_out(weights, uniform):
    keys = []
    for u in uniform:
        total = 0.0
        for j in range(len(weights)):
            total += weights[j]
            if total > u:
                keys.append(j)
                break
    return np.array(keys)


def one_hot_rows(weights, uniform):
    rows = np.zeros((len(uniform), len(weights)))
    for i in range(len(uniform)):
        total = 0.0
        for j in range(len(weights)):
            total += weights[j]
            if total > uniform[i]:
                rows[i, j] = 1
                break
    return rows


def weights_of_the_keys(weights, uniform):
    drawn = []
    for u in uniform:
        total = 0.0
        for weight in weights:
            total += weight
            if total > u:
                break
        drawn.append(weight)
    return np.array(drawn)


def one_number_for_all(weights, uniform):
    total, taken = 0.0, max(j for j in range(len(weights)) if weights[j] > 0)
    for j in range(len(weights)):
        total += weights[j]
        if total > uniform[0]:
            taken = j
            break
    return np.full(len(uniform), taken)


def sum_not_started_again(weights, uniform):
    keys, total = [], 0.0
    for u in uniform:
        taken = max(j for j in range(len(weights)) if weights[j] > 0)
        for j in range(len(weights)):
            total += weights[j]
            if total > u:
                taken = j
                break
        keys.append(taken)
    return np.array(keys)


def reaches_and_draws_left_out(weights, uniform):
    keys = []
    for u in uniform:
        total = 0.0
        for j in range(len(weights)):
            total += weights[j]
            if total >= u:
                keys.append(j)
                break
    return np.array(keys)


def reaches_and_the_last_of_all_keys(weights, uniform):
    keys = []
    for u in uniform:
        total = 0.0
        for j in range(len(weights)):
            total += weights[j]
            if total >= u:
                break
        keys.append(j)
    return np.array(keys)


def a_key_that_does_not_exist(weights, uniform):
    keys = []
    for u in uniform:
        total, j = 0.0, 0
        for weight in weights:
            total += weight
            if total <= u:
                j += 1
        keys.append(j)
    return np.array(keys)


def reaches_and_a_key_that_does_not_exist(weights, uniform):
    return np.array([int((np.cumsum(weights) < u).sum()) for u in uniform])


MISTAKES = (
    Mistake(
        "reaching the number is enough",
        reaches_is_enough,
        "You stop where the sum is *at least* the number. Then 0 draws the first key even if its "
        "weight is 0, for a sum of 0 reaches it. The sum must exceed the number: >.",
    ),
    Mistake(
        "always the best key",
        the_best_key,
        "You return the key with the largest weight, whatever the number is. That is argmax; drawing "
        "must let the other keys have their turn.",
    ),
    Mistake(
        "counted from one",
        counted_from_one,
        "Every key is one too high. The first key has the number 0.",
    ),
    Mistake(
        "the weights not added up",
        weights_not_added,
        "You compare each weight by itself with the number. Lay the weights end to end: what is "
        "compared is the sum of all weights so far.",
    ),
    Mistake(
        "from the last key on",
        from_the_end,
        "You add up from the last key on. That draws with the right chances too, but it is another "
        "rule: with the same numbers another program gets other keys. Begin with the first key.",
    ),
    Mistake(
        "compared before adding",
        compared_before_adding,
        "You compare before the key's own weight is in the sum, so you notice one key too late. Add "
        "first, then compare.",
    ),
    Mistake(
        "the last of all keys where the sum falls short",
        the_last_of_all_keys,
        "Where rounding leaves the sum below the number, your loop ends at the last key, even if that "
        "has the weight 0. Take the last key whose weight is above 0.",
    ),
    Mistake(
        "no key where the sum falls short",
        no_key_where_the_sum_falls_short,
        "Rounding may leave the sum of all weights a little below 1, and a number in between draws no "
        "key in your loop: -1 is left. The last key with a weight above 0 should be taken.",
    ),
    Mistake(
        "no answer where the sum falls short",
        draws_left_out,
        "A number that no sum exceeds adds nothing to your result, which is then too short. Each "
        "number draws a key; here the last one with a weight above 0.",
    ),
    Mistake(
        "rows of 0 and 1",
        one_hot_rows,
        "You return a row of 0 and 1 for each draw. Asked for is the key's number, one for each draw.",
    ),
    Mistake(
        "the weight in place of the key",
        weights_of_the_keys,
        "You return the weight of the key that was drawn. Asked for is its place, a whole number from 0.",
    ),
    Mistake(
        "one number for all draws",
        one_number_for_all,
        "You use the first number for all draws, so all get the same key. Each draw has a number of "
        "its own.",
    ),
    Mistake(
        "the sum not started again",
        sum_not_started_again,
        "Only the first draw is right: the sum goes on from one draw to the next. Set it to 0 for "
        "each number.",
    ),
    Mistake(
        "reaching is enough, and no answer where the sum falls short",
        reaches_and_draws_left_out,
        "Two things. The sum must exceed the number, >, or 0 draws a first key of weight 0. And where "
        "rounding leaves the sum below the number you add nothing: the last key with a weight above 0 "
        "should be taken.",
    ),
    Mistake(
        "reaching is enough, and the last of all keys where the sum falls short",
        reaches_and_the_last_of_all_keys,
        "Two things. The sum must exceed the number, >, or 0 draws a first key of weight 0. And where "
        "the loop runs to its end, its last key may have the weight 0: take the last one above 0.",
    ),
    Mistake(
        "a key that does not exist",
        a_key_that_does_not_exist,
        "Where rounding leaves all sums below the number you return n, and the keys end at n - 1. Take "
        "the last key whose weight is above 0.",
    ),
    Mistake(
        "reaching is enough, and a key that does not exist",
        reaches_and_a_key_that_does_not_exist,
        "Two things. The sum must exceed the number, so that a sum equal to it is passed over too "
        "(searchsorted stops there unless told side='right'). And where all sums stay below the number "
        "you return n: the last key with a weight above 0 should be taken.",
    ),
)

EXERCISE = Exercise(
    identifier="05.draw_loop",
    assignment="05_soft_and_hard",
    title="Draw keys, by a loop",
    kind="loop",
    answer="draw_loop",
    points=2,
    difficulty=1,
    minutes=12,
    hints=(
        "Lay the weights end to end on a line from 0 to 1. In whose piece does the number fall?",
        "For each number, go along the keys with a running sum that starts at 0. Add the weight of "
        "the key, then compare. The first key at which the sum exceeds the number is drawn.",
        "Before the inner loop, set the result to the last key with a weight above 0 "
        "(`np.flatnonzero(weights)[-1]`); the inner loop replaces it and leaves by `break` as soon "
        "as the sum is larger than the number.",
    ),
    returns=("keys",),
    cases=cases,
    laws=(
        same(
            "One more key in front, of weight 0, only moves the others up by one",
            a_hidden_key_in_front,
            "with a key of weight 0 put in front, the keys drawn were not just one higher.",
            undo=lambda keys: keys - 1,
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with weights of 0, numbers on an edge or a sum below 1", 0.5),
    ),
    contents=lambda: Contents(draw_keys, MISTAKES),
)
