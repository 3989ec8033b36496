"""05.reinforce_with_baseline: estimates that are measured against what the other draws paid."""

import numpy as np

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .given import softmax
from .reinforce import draws, estimates, hide


def with_baseline(scores, key, paid):
    """The library's estimates, with the mean of the other draws as the baseline of each."""
    others = paid.shape[-1] - 1
    baseline = (paid.sum(axis=-1, keepdims=True) - paid) / others if others else 0.0
    return estimates(scores, key, paid, baseline)


def cases(random):
    hidden = draws(readable, random, 4, n_draws=3)
    return [
        Case("three keys and two draws", draws(readable, random, 3, n_draws=2)),
        Case("four keys and four draws", draws(normal, random, 4, n_draws=4)),
        Case("three keys and ten draws", draws(normal, random, 3, n_draws=10)),
        Case("a single draw", draws(readable, random, 3, n_draws=1), "care"),
        Case(
            "a batch of three, with three keys and three draws each",
            draws(normal, random, 3, 3, n_draws=3),
            "care",
        ),
        Case("two leading axes", draws(normal, random, 5, 2, 3, n_draws=4), "care"),
        Case("a hidden key", hide(hidden, random.permutation(3)), "care"),
        Case("float32 numbers", draws(normal, random, 5, n_draws=6, dtype=np.float32), "care"),
    ]


def _every_draw_pays_more(random):
    request = draws(normal, random, 4, n_draws=5)
    more = request.arguments["paid"] + 10
    return [request, Call({**request.arguments, "paid": more})]


def no_baseline(scores, key, paid):
    p = softmax(scores)[..., None, :]
    return paid[..., None] * (np.eye(scores.shape[-1])[key] - p)


def own_draw_included(scores, key, paid):
    baseline = paid.mean(axis=-1, keepdims=True) if paid.shape[-1] > 1 else 0.0
    p = softmax(scores)[..., None, :]
    return (paid - baseline)[..., None] * (np.eye(scores.shape[-1])[key] - p)


def own_draw_included_even_alone(scores, key, paid):
    baseline = paid.mean(axis=-1, keepdims=True)
    p = softmax(scores)[..., None, :]
    return (paid - baseline)[..., None] * (np.eye(scores.shape[-1])[key] - p)


def one_mean_for_the_batch(scores, key, paid):
    baseline = (paid.sum() - paid) / max(paid.size - 1, 1)
    p = softmax(scores)[..., None, :]
    return (paid - baseline)[..., None] * (np.eye(scores.shape[-1])[key] - p)


def divided_by_all_draws(scores, key, paid):
    baseline = (paid.sum(axis=-1, keepdims=True) - paid) / paid.shape[-1]
    p = softmax(scores)[..., None, :]
    return (paid - baseline)[..., None] * (np.eye(scores.shape[-1])[key] - p)


def earlier_draws_only(scores, key, paid):
    before = np.cumsum(paid, axis=-1) - paid
    baseline = before / np.maximum(np.arange(paid.shape[-1]), 1)
    p = softmax(scores)[..., None, :]
    return (paid - baseline)[..., None] * (np.eye(scores.shape[-1])[key] - p)


def standardised(scores, key, paid):
    s = paid.shape[-1]
    baseline = (paid.sum(axis=-1, keepdims=True) - paid) / max(s - 1, 1)
    spread = paid.std(axis=-1, keepdims=True) if s > 1 else 1.0
    p = softmax(scores)[..., None, :]
    return ((paid - baseline) / spread)[..., None] * (np.eye(scores.shape[-1])[key] - p)


def added(scores, key, paid):
    baseline = (paid.sum(axis=-1, keepdims=True) - paid) / max(paid.shape[-1] - 1, 1)
    p = softmax(scores)[..., None, :]
    return (paid + baseline)[..., None] * (np.eye(scores.shape[-1])[key] - p)


def taken_from_the_key_drawn_only(scores, key, paid):
    baseline = (paid.sum(axis=-1, keepdims=True) - paid) / max(paid.shape[-1] - 1, 1)
    one_hot = np.eye(scores.shape[-1])[key]
    p = softmax(scores)[..., None, :]
    return paid[..., None] * (one_hot - p) - baseline[..., None] * one_hot


def nothing_divided_by_nothing(scores, key, paid):
    baseline = (paid.sum(axis=-1, keepdims=True) - paid) / np.array(paid.shape[-1] - 1)
    p = softmax(scores)[..., None, :]
    return (paid - baseline)[..., None] * (np.eye(scores.shape[-1])[key] - p)


def mean_along_the_first_axis(scores, key, paid):
    s = paid.shape[0]
    baseline = (paid.sum(axis=0) - paid) / max(s - 1, 1)
    p = softmax(scores)[..., None, :]
    return (paid - baseline)[..., None] * (np.eye(scores.shape[-1])[key] - p)


def averaged(scores, key, paid):
    baseline = (paid.sum(axis=-1, keepdims=True) - paid) / max(paid.shape[-1] - 1, 1)
    p = softmax(scores)[..., None, :]
    each = (paid - baseline)[..., None] * (np.eye(scores.shape[-1])[key] - p)
    return each.mean(axis=-2)


def subtracted_in_place(scores, key, paid):
    paid -= (paid.sum(axis=-1, keepdims=True) - paid) / max(paid.shape[-1] - 1, 1)
    p = softmax(scores)[..., None, :]
    return paid[..., None] * (np.eye(scores.shape[-1])[key] - p)


def for_one_row_only(scores, key, paid):
    baseline = (paid.sum() - paid) / max(len(paid) - 1, 1)
    return (paid - baseline)[:, None] * (np.eye(len(scores))[key] - softmax(scores))


def for_one_row_of_several_draws_only(scores, key, paid):
    baseline = (paid.sum() - paid) / np.array(len(paid) - 1)
    return (paid - baseline)[:, None] * (np.eye(len(scores))[key] - softmax(scores))


def all_draws_over_one_less(scores, key, paid):
    baseline = paid.sum(axis=-1, keepdims=True) / max(paid.shape[-1] - 1, 1)
    p = softmax(scores)[..., None, :]
    return (paid - baseline)[..., None] * (np.eye(scores.shape[-1])[key] - p)


def baseline_after_the_product(scores, key, paid):
    baseline = (paid.sum(axis=-1, keepdims=True) - paid) / max(paid.shape[-1] - 1, 1)
    p = softmax(scores)[..., None, :]
    return paid[..., None] * (np.eye(scores.shape[-1])[key] - p) - baseline[..., None]


def axis_not_kept(scores, key, paid):
    baseline = (paid.sum(axis=-1) - paid) / max(paid.shape[-1] - 1, 1)
    p = softmax(scores)[..., None, :]
    return (paid - baseline)[..., None] * (np.eye(scores.shape[-1])[key] - p)


def axis_for_the_draws_forgotten(scores, key, paid):
    baseline = (paid.sum(axis=-1, keepdims=True) - paid) / max(paid.shape[-1] - 1, 1)
    return (paid - baseline)[..., None] * (np.eye(scores.shape[-1])[key] - softmax(scores))


def one_sum_for_the_batch(scores, key, paid):
    baseline = (paid.sum() - paid) / max(paid.shape[-1] - 1, 1)
    p = softmax(scores)[..., None, :]
    return (paid - baseline)[..., None] * (np.eye(scores.shape[-1])[key] - p)


MISTAKES = (
    Mistake(
        "no baseline",
        no_baseline,
        "These are the estimates without a baseline. Subtract from what each draw paid the mean of "
        "what the *other* draws paid.",
    ),
    Mistake(
        "the draw's own reward in its baseline",
        own_draw_included,
        "You subtract the mean over all draws, the draw itself included. Then the baseline depends on "
        "the draw, and the mean of the estimates is too small by the factor 1 - 1/s.",
    ),
    Mistake(
        "its own reward even for a single draw",
        own_draw_included_even_alone,
        "You subtract the mean over all draws, the draw itself included: too small by the factor "
        "1 - 1/s. For a single draw nothing at all is left, and nothing would be learnt.",
    ),
    Mistake(
        "one mean for the whole batch",
        one_mean_for_the_batch,
        "You take the mean over all rows. Each row is a question of its own; its baseline comes from "
        "its own other draws.",
    ),
    Mistake(
        "divided by all draws",
        divided_by_all_draws,
        "The sum of the others is divided by s, and there are only s - 1 of them. The baseline need "
        "not be exact, so the mean of the estimates is right; but this is no mean of the others.",
    ),
    Mistake(
        "the earlier draws only",
        earlier_draws_only,
        "Your baseline is the mean of the draws *before*. That is unbiased too, and what one does when "
        "draws come one by one; here all other draws are asked for, later ones as well.",
    ),
    Mistake(
        "divided by the spread",
        standardised,
        "You divide by the spread of the rewards besides. That changes the length of the gradient, "
        "by a factor that depends on the draws.",
    ),
    Mistake(
        "the baseline added",
        added,
        "You add the baseline. What counts is how much *more* than the others a draw paid.",
    ),
    Mistake(
        "taken from the key drawn only",
        taken_from_the_key_drawn_only,
        "You multiply the baseline by one-hot alone. Only with one-hot minus probability is its mean "
        "0; as it is, the estimates are off on average.",
    ),
    Mistake(
        "nothing divided by nothing",
        nothing_divided_by_nothing,
        "With a single draw there are no others, and 0/0 is NaN. The baseline is then 0.",
    ),
    Mistake(
        "the mean along the first axis",
        mean_along_the_first_axis,
        "With one row this is right. With leading axes the draws are the *last* axis of paid.",
    ),
    Mistake(
        "averaged over the draws",
        averaged,
        "You return the mean over the draws. Keep them apart: one estimate for each draw.",
    ),
    Mistake(
        "subtracted in place",
        subtracted_in_place,
        "The estimates are right. But paid -= … writes into the caller's array.",
    ),
    Mistake(
        "for one row only",
        for_one_row_only,
        "For one row this is right. With leading axes the draws are the last axis of paid: sum over "
        "axis=-1, kept, count them by paid.shape[-1], and add axes by [..., None].",
    ),
    Mistake(
        "for one row of several draws only",
        for_one_row_of_several_draws_only,
        "For one row of several draws this is right. A single draw has no others, and 0/0 is NaN: its "
        "baseline is 0. With leading axes the draws are the last axis of paid.",
    ),
    Mistake(
        "the sum of all over the number of others",
        all_draws_over_one_less,
        "You divide by the number of the others, but the sum still holds the draw's own reward. Take "
        "it away: sum of all minus own.",
    ),
    Mistake(
        "the baseline after the product",
        baseline_after_the_product,
        "You subtract the baseline from the estimate. It is subtracted from what was *paid*, before that "
        "is multiplied by one-hot minus probability; so its mean over all draws is 0.",
    ),
    Mistake(
        "the axis not kept",
        axis_not_kept,
        "For one row this is right. With leading axes the sum has to keep its axis (keepdims=True), or "
        "the sum of one row is used for another.",
    ),
    Mistake(
        "the axis for the draws forgotten",
        axis_for_the_draws_forgotten,
        "With one row of scores this is right. With leading axes, the probabilities need an axis for "
        "the draws, (..., 1, n), or another row's probabilities are subtracted.",
    ),
    Mistake(
        "one sum for the whole batch",
        one_sum_for_the_batch,
        "Without axis=-1 you add up what was paid in all rows. Each row of scores has its own draws.",
    ),
)

EXERCISE = Exercise(
    identifier="05.reinforce_with_baseline",
    assignment="05_soft_and_hard",
    title="REINFORCE, with the other draws as the baseline",
    kind="vectorised",
    answer="reinforce_with_baseline",
    points=3,
    difficulty=2,
    minutes=12,
    hints=(
        "How do you get the mean of all but one from the sum of all?",
        "The sum of the others is the sum of all minus the draw's own. Divide by how many others "
        "there are, and mind the case that there are none. The rest is as before, with *paid minus "
        "baseline* in place of *paid*.",
        "`paid.sum(axis=-1, keepdims=True) - paid` is the sum of the others, one for each draw. "
        "Divide it by `max(s - 1, 1)`: with a single draw the sum is 0 anyway.",
    ),
    returns=("estimates",),
    cases=cases,
    laws=(
        same(
            "If every draw pays 10 more, the estimates stay",
            _every_draw_pays_more,
            "with 10 more for every draw, other estimates came out.",
        ),
    ),
    parts=(
        Part("plain", "the cases with one row of several draws", 2 / 3),
        Part("care", "those with leading axes, a single draw, hidden keys or float32", 1 / 3),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(with_baseline, MISTAKES),
)
