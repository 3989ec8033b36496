"""05.counterexample and 05.mended_estimates: a baseline that knows which key was drawn.

The faulty program is handed out in a locked cell. Learners first find numbers on which it shows
(a test, written as data), then write the program as it should be.
"""

import numpy as np

from attnkit.numpy import masked_softmax

from ..draw import normal, readable
from ..laws import same
from ..model import Case, Contents, Exercise, Finding, Mistake, Part
from ..surface import Call
from .given import faulty_estimates, softmax
from .reinforce import draws, estimates

VISIBLE = 1e-3
"""A score that falls by less is not seen to fall."""


def mended_estimates(scores, guess, key, paid):
    """The program as it should be: the library's estimates, with the mean guess as the baseline."""
    return estimates(scores, key, paid, masked_softmax(scores) @ guess)


# ---------------------------------------------------------------- the counterexample


def a_counterexample():
    """Numbers on which the fault shows."""
    return np.zeros(2), np.array([3.0, 1.0]), np.array([4.0, 0.0])


def judge_counterexample(request, value):
    """Whether the faulty program, on average, lowers the score of the best key on `value`."""
    scores, reward, guess = value
    if scores.ndim != 1:
        return Finding(
            "shape",
            f"scores of {scores.ndim} axes",
            f"expected one row of scores, (n,), got shape {scores.shape}.",
        )
    for name, array in (("reward", reward), ("guess", guess)):
        if array.shape != scores.shape:
            return Finding(
                "shape",
                name,
                f"there are {len(scores)} scores, so expected {name} of shape {scores.shape}, got "
                f"{array.shape}.",
            )
    for name, array in (("scores", scores), ("reward", reward), ("guess", guess)):
        if array.dtype.kind not in "fiu":
            return Finding("dtype", name, f"expected numbers in {name}, got {array.dtype}.")
        if not np.isfinite(array).all():
            return Finding("finite", name, f"{name} must hold ordinary finite numbers.")
    if len(scores) < 2:
        return Finding("value", "one key", "with one key there is no choice, and nothing to learn.")
    best = reward.argmax()
    if (reward == reward[best]).sum() > 1:
        return Finding(
            "value", "no best key", "several keys pay best, so it is not clear which should rise."
        )
    # Every draw there can be, weighed with its probability: the mean, without any chance in it.
    scores, reward, guess = (array.astype(float) for array in value)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers near the largest there is
        every = faulty_estimates(scores, guess, np.arange(len(scores)), reward)
        mean = softmax(scores) @ every
        if mean[best] < -VISIBLE:
            return None
        return Finding("value", *_why_hidden(reward, guess, mean, best))


def _why_hidden(reward, guess, mean, best):
    """The code and the sentence of numbers on which the best key's score does not fall."""
    if np.ptp(guess) == 0:
        return "equal guesses", (
            "on these numbers the mean of the estimates is the exact gradient, so a test with them "
            "would let the fault through."
        )
    if (np.abs(mean) <= VISIBLE).all():
        if np.ptp(reward - guess) <= VISIBLE:
            return "nothing moves", (
                "on these numbers the scores do not move at all, on average. That is a fault, too, but "
                "one is asked for that moves the wrong way."
            )
        return "too small", (
            "on these numbers no score moves by more than 0.001, so hardly anything can be seen."
        )
    if mean[best] > VISIBLE:
        return "still rises", (
            "on these numbers the best key's score rises on average, though not by the right amount. "
            "Let it fall."
        )
    return "stays", "on these numbers the best key's score stays where it is, on average."


def equal_guesses():
    return np.zeros(3), np.array([3.0, 1.0, 2.0]), np.array([2.0, 2.0, 2.0])


def perfect_guesses():
    return np.zeros(3), np.array([3.0, 1.0, 2.0]), np.array([3.0, 1.0, 2.0])


def guesses_too_low_for_the_best():
    return np.zeros(3), np.array([3.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0])


def weights_too_sharp():
    return np.array([20.0, 0.0]), np.array([3.0, 1.0]), np.array([9.0, 0.0])


def best_key_between_the_others():
    return np.zeros(3), np.array([3.0, 2.0, 1.0]), np.array([3.0, 0.0, 3.0])


def all_pay_the_same():
    return np.zeros(2), np.array([1.0, 1.0]), np.array([4.0, 0.0])


def one_key():
    return np.array([0.0]), np.array([3.0]), np.array([4.0])


def one_guess_for_all():
    return np.zeros(2), np.array([3.0, 1.0]), np.array(2.0)


def rewards_of_draws():
    return np.zeros(2), np.array([3.0, 1.0, 3.0]), np.array([4.0, 0.0])


def a_batch():
    return np.zeros((1, 2)), np.array([[3.0, 1.0]]), np.array([[4.0, 0.0]])


def infinite_guess():
    return np.zeros(2), np.array([3.0, 1.0]), np.array([np.inf, 0.0])


def scores_left_out():
    return np.array([3.0, 1.0]), np.array([4.0, 0.0])


COUNTEREXAMPLE_MISTAKES = (
    Mistake(
        "the same guess for every key",
        equal_guesses,
        "If every key is guessed to pay the same, the baseline does not depend on the draw, and all is "
        "well. Let the guesses differ.",
    ),
    Mistake(
        "perfect guesses",
        perfect_guesses,
        "Where each guess comes true, paid minus guess is 0 and nothing is ever learnt. A remarkable "
        "fault: the better the guesses, the less is learnt! Now go a little further.",
    ),
    Mistake(
        "too little expected of the best key",
        guesses_too_low_for_the_best,
        "You let the best key be underrated. It then pays more than was guessed, and its score rises. "
        "Let it be overrated.",
    ),
    Mistake(
        "probabilities of nearly 0 and 1",
        weights_too_sharp,
        "One key is drawn nearly always, so all slopes are nearly 0, the faulty ones too. Take scores "
        "that lie near each other.",
    ),
    Mistake(
        "a best key that disappoints as much as the mean",
        best_key_between_the_others,
        "The best key pays exactly as much more or less than guessed as the keys do on average, so its "
        "score stays. Raise its guess.",
    ),
    Mistake(
        "no key that pays best",
        all_pay_the_same,
        "Here the scores should not move at all, and they do, so a fault shows. But asked for is one "
        "best key whose score falls.",
    ),
    Mistake(
        "one key",
        one_key,
        "With one key the probability is 1 and every slope is 0. Take two.",
    ),
    Mistake(
        "one guess for all",
        one_guess_for_all,
        "guess has an entry for every key, as reward has.",
    ),
    Mistake(
        "rewards of draws",
        rewards_of_draws,
        "reward has an entry for every *key*: what it pays when it is drawn. The draws are made for "
        "you, every one there can be.",
    ),
    Mistake(
        "an axis too many",
        a_batch,
        "One row of keys is enough: (n,). Leave the outer brackets out.",
    ),
    Mistake(
        "an infinite guess",
        infinite_guess,
        "With infinity every mean is infinite or NaN, in a right program as well. Ordinary numbers "
        "show more.",
    ),
    Mistake(
        "the scores left out",
        scores_left_out,
        "Three things are needed: scores, reward and guess. Equal scores will do.",
    ),
)

COUNTEREXAMPLE = Exercise(
    identifier="05.counterexample",
    assignment="05_soft_and_hard",
    title="Find numbers on which the fault shows",
    kind="counterexample",
    answer="counterexample",
    points=2,
    difficulty=3,
    minutes=12,
    hints=(
        "What does the program do to a key that pays exactly what was guessed? And to one that pays "
        "much, but less than was guessed?",
        "On average over all draws, the program follows the exact gradient of another reward: what was "
        "paid *minus what was guessed for this key*. So make the best key one of the worst in that "
        "respect.",
        "Take two keys with equal scores. Let the better one be overrated: the guess lies above what "
        "it pays; and let the other be underrated. Then compare paid minus guess of both.",
    ),
    returns=("scores", "reward", "guess"),
    cases=lambda random: [Case("your numbers", Call())],
    judge=judge_counterexample,
    contents=lambda: Contents(a_counterexample, COUNTEREXAMPLE_MISTAKES),
)


# ---------------------------------------------------------------- the mended program


def _request(draw, random, n, n_draws, **options):
    scores, key, paid = draws(draw, random, n, n_draws=n_draws, **options).arguments.values()
    guess = draw(random, n, **options)
    return Call({"scores": scores, "guess": guess, "key": key, "paid": paid})


def cases(random):
    hidden = _request(readable, random, 4, 3)
    hidden.arguments["scores"][-1] = -np.inf
    hidden.arguments["key"][:] = random.permutation(3)
    far = _request(readable, random, 3, 2)
    far.arguments["scores"][:] += 1000
    return [
        Case("three keys and two draws", _request(readable, random, 3, 2)),
        Case("five keys and eight draws", _request(normal, random, 5, 8)),
        Case("three keys and a single draw", _request(readable, random, 3, 1), "care"),
        Case("as many draws as keys", _request(normal, random, 4, 4), "care"),
        Case("a hidden key", hidden, "care"),
        Case("scores near 1000", far, "care"),
        Case("float32 numbers", _request(normal, random, 5, 6, dtype=np.float32), "care"),
    ]


def _everything_raised(random):
    request = _request(normal, random, 4, 5)
    guess, paid = request.arguments["guess"] + 10, request.arguments["paid"] + 10
    return [request, Call({**request.arguments, "guess": guess, "paid": paid})]


def as_it_was(scores, guess, key, paid):
    one_hot = np.eye(len(scores))[key]
    return (paid - guess[key])[:, None] * (one_hot - softmax(scores))


def plain_mean_of_the_guesses(scores, guess, key, paid):
    one_hot = np.eye(len(scores))[key]
    return (paid - guess.mean())[:, None] * (one_hot - softmax(scores))


def mean_of_the_guesses_drawn(scores, guess, key, paid):
    one_hot = np.eye(len(scores))[key]
    return (paid - guess[key].mean())[:, None] * (one_hot - softmax(scores))


def no_baseline(scores, guess, key, paid):
    one_hot = np.eye(len(scores))[key]
    return paid[:, None] * (one_hot - softmax(scores))


def mean_of_what_was_paid(scores, guess, key, paid):
    one_hot = np.eye(len(scores))[key]
    return (paid - paid.mean())[:, None] * (one_hot - softmax(scores))


def guess_of_the_best_key(scores, guess, key, paid):
    one_hot = np.eye(len(scores))[key]
    return (paid - guess[scores.argmax()])[:, None] * (one_hot - softmax(scores))


def weighed_with_the_scores(scores, guess, key, paid):
    one_hot = np.eye(len(scores))[key]
    kept = np.where(np.isinf(scores), 0.0, scores)
    return (paid - kept @ guess)[:, None] * (one_hot - softmax(scores))


def a_share_for_each_key(scores, guess, key, paid):
    one_hot, p = np.eye(len(scores))[key], softmax(scores)
    return (paid[:, None] - p * guess) * (one_hot - p)


def weighed_for_the_key_drawn(scores, guess, key, paid):
    one_hot, p = np.eye(len(scores))[key], softmax(scores)
    return (paid - p[key] * guess[key])[:, None] * (one_hot - p)


def added(scores, guess, key, paid):
    one_hot, p = np.eye(len(scores))[key], softmax(scores)
    return (paid + p @ guess)[:, None] * (one_hot - p)


def averaged(scores, guess, key, paid):
    one_hot, p = np.eye(len(scores))[key], softmax(scores)
    return ((paid - p @ guess)[:, None] * (one_hot - p)).mean(axis=0)


def paid_along_the_keys(scores, guess, key, paid):
    one_hot, p = np.eye(len(scores))[key], softmax(scores)
    return (paid - p @ guess) * (one_hot - p)


def softmax_overflows(scores, guess, key, paid):
    one_hot, p = np.eye(len(scores))[key], np.exp(scores) / np.exp(scores).sum()
    return (paid - p @ guess)[:, None] * (one_hot - p)


MENDED_MISTAKES = (
    Mistake(
        "as it was",
        as_it_was,
        "The baseline is still the guess for the key that was drawn. Then what is subtracted differs "
        "from key to key and no longer averages out. Take one number for all draws.",
    ),
    Mistake(
        "the plain mean of the guesses",
        plain_mean_of_the_guesses,
        "This baseline does not know the draw, so the mean is right. But it is not what is guessed to be "
        "paid on average: weigh each guess with the probability of its key.",
    ),
    Mistake(
        "the mean of the guesses for the keys drawn",
        mean_of_the_guesses_drawn,
        "A mean over the draws still contains each draw's own guess. With a single draw it is the old "
        "program. The baseline may depend on scores and guesses, not on `key`.",
    ),
    Mistake(
        "the baseline left out",
        no_baseline,
        "Without any baseline the mean is right, but the estimates are noisier than they need be. Keep "
        "the guesses; use them in another way.",
    ),
    Mistake(
        "the mean of what was paid",
        mean_of_what_was_paid,
        "What was paid depends on the draws, each draw's own reward included; with one draw nothing is "
        "left. The guesses were made before: use them.",
    ),
    Mistake(
        "the guess for the likeliest key",
        guess_of_the_best_key,
        "This is one number for all draws, so the mean is right. Asked for is the mean guess, over all "
        "keys with their probabilities.",
    ),
    Mistake(
        "weighed with the scores",
        weighed_with_the_scores,
        "You weigh the guesses with the scores. Their softmax is the probability.",
    ),
    Mistake(
        "a share of its own for each component",
        a_share_for_each_key,
        "You subtract another number in each component. Sum probability times guess over the keys: the "
        "baseline is one number.",
    ),
    Mistake(
        "weighed, but still for the key drawn",
        weighed_for_the_key_drawn,
        "The guess is weighed with its probability, but it is still that of the key drawn. Sum over all "
        "keys.",
    ),
    Mistake(
        "the baseline added",
        added,
        "You add the mean guess. What counts is how much *more* than that was paid.",
    ),
    Mistake(
        "averaged over the draws",
        averaged,
        "You return the mean over the draws. Keep them apart: one estimate for each draw, (s, n).",
    ),
    Mistake(
        "the rewards along the keys",
        paid_along_the_keys,
        "What was paid belongs to the rows. The axis at its end, [:, None], is missing; where there are "
        "as many draws as keys, nobody complains.",
    ),
    Mistake(
        "a softmax that overflows",
        softmax_overflows,
        "exp(1000) is infinity. Use the softmax you are given, which subtracts the largest score.",
    ),
)

MENDED = Exercise(
    identifier="05.mended_estimates",
    assignment="05_soft_and_hard",
    title="Mend the program",
    kind="mended",
    answer="mended_estimates",
    points=2,
    difficulty=2,
    minutes=6,
    hints=(
        "Which of the four arguments may the baseline depend on, and which not?",
        "Before anything is drawn, how much is a draw guessed to pay? That is one number.",
        "Weigh each guess with the probability of its key and add up: a product of two vectors, "
        "`probability @ guess`. Everything else stays.",
    ),
    returns=("estimates",),
    cases=cases,
    laws=(
        same(
            "If every key is guessed to pay 10 more, and pays it, the estimates stay",
            _everything_raised,
            "with 10 more in guess and paid, other estimates came out.",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with a single draw, hidden keys, large scores or float32", 0.5),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(mended_estimates, MENDED_MISTAKES),
)
