"""05.reinforce_estimates: an estimate of the gradient from each draw, without a baseline."""

import numpy as np

from attnkit.numpy import exact_reward_gradient, masked_softmax, reinforce_gradient

from ..compare import TOLERANCE, same_values
from ..draw import normal, readable
from ..model import Case, Contents, Exercise, Law, Mistake, Part
from ..surface import Call
from .given import softmax


def estimates(scores, key, paid, baseline=0.0):
    """The library's estimates (..., s, n) for draws that are made already: key and paid (..., s)."""
    weights = masked_softmax(scores)  # (..., n)
    # The middle of a key's piece is a number that draws it.
    middles = np.take_along_axis(np.cumsum(weights, axis=-1) - weights / 2, key, axis=-1)
    shape = (*key.shape, scores.shape[-1])
    each = np.broadcast_to(scores[..., None, :], shape)
    reward = np.broadcast_to(paid[..., None], shape)  # only that of the key drawn is looked at
    return reinforce_gradient(each, reward, middles[..., None], baseline=baseline)[..., 0, :]


def draws(draw, random, n, *shape, n_draws, **options):
    """A request: scores (*shape, n), keys and what they paid (*shape, n_draws)."""
    return Call(
        {
            "scores": draw(random, *shape, n, **options),
            "key": random.permuted(np.resize(np.arange(n), (*shape, n_draws)), axis=-1),
            "paid": draw(random, *shape, n_draws, **options),
        }
    )


def hide(request, key):
    """Hide the last key, which is then never drawn."""
    request.arguments["scores"][..., -1] = -np.inf
    request.arguments["key"][...] = key
    return request


def cases(random):
    hidden = draws(readable, random, 4, n_draws=3)
    far = draws(readable, random, 3, n_draws=4)
    far.arguments["scores"][:] += 1000
    return [
        Case("three keys and two draws", draws(readable, random, 3, n_draws=2)),
        Case("four keys and four draws", draws(normal, random, 4, n_draws=4)),
        Case("three keys and ten draws", draws(normal, random, 3, n_draws=10)),
        Case("three keys and a single draw", draws(readable, random, 3, n_draws=1), "care"),
        Case(
            "a batch of three, with three keys and three draws each",
            draws(normal, random, 3, 3, n_draws=3),
            "care",
        ),
        Case("two leading axes", draws(normal, random, 5, 2, 3, n_draws=4), "care"),
        Case("a hidden key", hide(hidden, random.permutation(3)), "care"),
        Case("scores near 1000", far, "care"),
        Case("float32 numbers", draws(normal, random, 5, n_draws=6, dtype=np.float32), "care"),
    ]


def _each_key_drawn(random):
    scores, reward = normal(random, 5), normal(random, 5)
    return [Call({"scores": scores, "key": np.arange(5), "paid": reward})]


def _off_on_average(requests, values):
    scores, _, reward = requests[0].arguments.values()
    mean = masked_softmax(scores) @ values[0][0]
    if same_values(exact_reward_gradient(scores, reward), mean, TOLERANCE["float64"]):
        return None
    return "their mean over all keys is another vector."


def probability_not_subtracted(scores, key, paid):
    return paid[..., None] * np.eye(scores.shape[-1])[key]


def turned_round(scores, key, paid):
    p = softmax(scores)[..., None, :]
    return paid[..., None] * (p - np.eye(scores.shape[-1])[key])


def slope_of_the_probability(scores, key, paid):
    p = softmax(scores)
    drawn = np.take_along_axis(p, key, axis=-1)[..., None]
    return paid[..., None] * drawn * (np.eye(scores.shape[-1])[key] - p[..., None, :])


def divided_by_the_probability(scores, key, paid):
    p = softmax(scores)
    drawn = np.take_along_axis(p, key, axis=-1)[..., None]
    return paid[..., None] * np.eye(scores.shape[-1])[key] / drawn


def averaged(scores, key, paid):
    p = softmax(scores)[..., None, :]
    return (paid[..., None] * (np.eye(scores.shape[-1])[key] - p)).mean(axis=-2)


def mean_of_the_draws_subtracted(scores, key, paid):
    p = softmax(scores)[..., None, :]
    more = paid - paid.mean(axis=-1, keepdims=True)
    return more[..., None] * (np.eye(scores.shape[-1])[key] - p)


def keys_before_draws(scores, key, paid):
    p = softmax(scores)[..., None, :]
    estimates = paid[..., None] * (np.eye(scores.shape[-1])[key] - p)
    return np.swapaxes(estimates, -1, -2)


def paid_along_the_keys(scores, key, paid):
    p = softmax(scores)[..., None, :]
    return paid[..., None, :] * (np.eye(scores.shape[-1])[key] - p)


def scores_for_probabilities(scores, key, paid):
    return paid[..., None] * (np.eye(scores.shape[-1])[key] - scores[..., None, :])


def only_the_key_drawn(scores, key, paid):
    one_hot = np.eye(scores.shape[-1])[key]
    return paid[..., None] * one_hot * (1 - softmax(scores)[..., None, :])


def axis_for_the_draws_forgotten(scores, key, paid):
    return paid[..., None] * (np.eye(scores.shape[-1])[key] - softmax(scores))


def no_draws_axis_for_one(scores, key, paid):
    p = softmax(scores)[..., None, :]
    return (paid[..., None] * (np.eye(scores.shape[-1])[key] - p)).squeeze()


def softmax_overflows(scores, key, paid):
    p = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return paid[..., None] * (np.eye(scores.shape[-1])[key] - p[..., None, :])


def for_one_row_only(scores, key, paid):
    return paid[:, None] * (np.eye(len(scores))[key] - softmax(scores))


def one_for_every_key(scores, key, paid):
    p = softmax(scores)[..., None, :]
    return paid[..., None] * (1 - p)


def paid_without_an_axis(scores, key, paid):
    p = softmax(scores)[..., None, :]
    return paid * (np.eye(scores.shape[-1])[key] - p)


def as_many_keys_as_rows(scores, key, paid):
    p = softmax(scores)[..., None, :]
    return paid[..., None] * (np.eye(len(scores))[key] - p)


def as_many_keys_as_rows_and_no_axis(scores, key, paid):
    return paid[..., None] * (np.eye(len(scores))[key] - softmax(scores))


MISTAKES = (
    Mistake(
        "the probabilities not subtracted",
        probability_not_subtracted,
        "You return reward times one-hot. On average that is probability times reward, not the "
        "gradient: subtract the probabilities from one-hot.",
    ),
    Mistake(
        "the sign turned round",
        turned_round,
        "Your estimates point to less reward. The score of a key that was drawn and paid must rise: "
        "one-hot minus probability.",
    ),
    Mistake(
        "the slope of the probability",
        slope_of_the_probability,
        "You took the derivative of p, and it has to be that of log p: an estimate is *not* weighed "
        "with the probability of its key. Likely keys are drawn often, so they would count twice.",
    ),
    Mistake(
        "divided by the probability",
        divided_by_the_probability,
        "1/p is the derivative of log p by p. Asked for is the derivative by the *scores*, for all "
        "keys: one-hot minus probability.",
    ),
    Mistake(
        "averaged over the draws",
        averaged,
        "You return the mean over the draws. Keep them apart: one estimate for each draw.",
    ),
    Mistake(
        "a baseline subtracted",
        mean_of_the_draws_subtracted,
        "You subtract the mean of what the draws paid. No baseline is asked for here, and this one "
        "contains the draw's own reward, which makes the mean too small.",
    ),
    Mistake(
        "keys before draws",
        keys_before_draws,
        "Your result is (..., n, s). Each draw is a row: (..., s, n).",
    ),
    Mistake(
        "the rewards along the keys",
        paid_along_the_keys,
        "What a draw paid belongs to its row. Give it an axis at the *end*, (..., s, 1); where there "
        "are as many draws as keys, nobody stops you from the other.",
    ),
    Mistake(
        "scores taken for probabilities",
        scores_for_probabilities,
        "You subtract the scores. Subtract their softmax.",
    ),
    Mistake(
        "only the key that was drawn",
        only_the_key_drawn,
        "Only the score of the key drawn moves in your estimate. The others have to fall when it "
        "rises: minus probability, times what was paid.",
    ),
    Mistake(
        "the axis for the draws forgotten",
        axis_for_the_draws_forgotten,
        "With one row of scores this is right. With leading axes, the probabilities need an axis for "
        "the draws, (..., 1, n), or another row's probabilities are subtracted.",
    ),
    Mistake(
        "axes of size 1 dropped",
        no_draws_axis_for_one,
        "A single draw is still a row: (1, n). squeeze() drops every axis of size 1, wanted or not.",
    ),
    Mistake(
        "a softmax that overflows",
        softmax_overflows,
        "exp(1000) is infinity. Use the softmax you are given, which subtracts the largest score.",
    ),
    Mistake(
        "for one row of scores only",
        for_one_row_only,
        "For one row this is right. With leading axes, len(scores) and [:, None] count from the wrong "
        "end: take scores.shape[-1], and [..., None].",
    ),
    Mistake(
        "1 for every key",
        one_for_every_key,
        "You subtract the probabilities from 1 everywhere, so the estimate does not know which key was "
        "drawn. One-hot is 1 at that key only and 0 elsewhere.",
    ),
    Mistake(
        "no axis for the keys",
        paid_without_an_axis,
        "paid is (..., s) and what it is multiplied with (..., s, n): shapes are lined up from the end, "
        "so draws meet keys. Give paid an axis for the keys, paid[..., None].",
    ),
    Mistake(
        "as many keys as rows",
        as_many_keys_as_rows,
        "len(scores) is the number of keys for one row only. With leading axes it is another size: take "
        "scores.shape[-1].",
    ),
    Mistake(
        "as many keys as rows, and no axis for the draws",
        as_many_keys_as_rows_and_no_axis,
        "For one row of scores this is right. With leading axes two things are missing: the number of "
        "keys is scores.shape[-1], not len(scores); and the probabilities need an axis for the draws, "
        "(..., 1, n).",
    ),
)

EXERCISE = Exercise(
    identifier="05.reinforce_estimates",
    assignment="05_soft_and_hard",
    title="REINFORCE, without a baseline",
    kind="vectorised",
    answer="reinforce_estimates",
    points=3,
    difficulty=2,
    minutes=12,
    hints=(
        "What is known of a draw: which key it was, and what *that* key paid. Nothing else may enter.",
        "For each draw, the derivative of the logarithm of its key's probability is one-hot minus the "
        "probabilities; multiply it by what was paid. Draws are rows, keys are columns.",
        "`np.eye(n)[key]` picks a row of one-hot for each draw, `(..., s, n)`. The probabilities need "
        "an axis for the draws, `[..., None, :]`, and what was paid one for the keys, `[..., None]`.",
    ),
    returns=("estimates",),
    cases=cases,
    laws=(
        Law(
            "Weighed with their probabilities, the estimates of all keys sum to the exact gradient",
            _each_key_drawn,
            _off_on_average,
        ),
    ),
    parts=(
        Part("plain", "the cases with one row of scores", 2 / 3),
        Part("care", "those with leading axes, one draw, hidden keys or float32", 1 / 3),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(estimates, MISTAKES),
)
