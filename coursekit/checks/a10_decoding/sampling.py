"""10.sample_tokens: temperature, top-k and top-p, and then the draw, for many rows at once."""

import numpy as np

from attnkit.numpy import sample

from ..draw import normal
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call
from .given import softmax


def sample_tokens(logits, uniform, temperature, top_k, top_p):
    """Sample by the library."""
    return sample(logits, uniform, temperature=temperature, top_k=top_k, top_p=top_p)


N_DRAWS = 24
"""Few enough to be shown in full, many enough to tell all mistakes apart."""


def _request(logits, temperature=1.0, top_k=None, top_p=1.0, n_draws=N_DRAWS):
    """Draws shared out among the rows of logits (R, V): numbers that lie evenly, none on a border."""
    each = n_draws // len(logits)
    return Call(
        {
            "logits": np.repeat(logits, each, axis=0),
            "uniform": np.tile((np.arange(each) + 0.37) / each, len(logits)),
            "temperature": temperature,
            "top_k": logits.shape[-1] if top_k is None else top_k,
            "top_p": top_p,
        }
    )


def _logits(random, shares):
    """Logits of tokens with these shares of probability in another order, the best not in front."""
    order = random.permutation(len(shares))
    while order[0] == 0 or order[-1] == 0 or (np.diff(order) > 0).all():
        order = random.permutation(len(shares))
    shares = np.array(shares) * np.exp(0.02 * normal(random, len(shares)))
    return (np.log(shares) + normal(random, 1))[None, order]


def cases(random):
    shares = 0.40, 0.26, 0.16, 0.10, 0.05, 0.03
    one = _logits(random, shares)
    two = np.concatenate([one, _logits(random, (0.75, 0.09, 0.06, 0.05, 0.03, 0.02))])
    forbidden = _logits(random, shares)
    forbidden[0, forbidden[0].argsort()[2]] = -np.inf
    three = np.log(random.permutation([[0.5, 0.2, 0.3]], axis=1))
    worst_first = np.log(np.sort(np.exp(one[0])))
    return [
        Case("four draws from three tokens", _request(three, n_draws=4)),
        Case("temperature 1", _request(one)),
        Case("temperature 0.5", _request(two, temperature=0.5)),
        Case("temperature 2", _request(two, temperature=2.0)),
        Case("logits of about a thousand", _request(one + 1000.0)),
        Case("top-k, the best three of six", _request(two, top_k=3), "top-k"),
        Case("top-k, only the best", _request(two, top_k=1), "top-k"),
        Case("temperature 2 and top-k", _request(two, temperature=2.0, top_k=2), "top-k"),
        Case(
            "top-k, a first token that is cut, and the number 0",
            Call(
                {
                    "logits": np.stack([worst_first, worst_first + 1.0]),
                    "uniform": np.array([0.0, 0.5]),
                    "temperature": 1.0,
                    "top_k": 4,
                    "top_p": 1.0,
                }
            ),
            "top-k",
        ),
        Case("top-p with 0.75", _request(one, top_p=0.75), "top-p"),
        Case("top-p with 0.5, two rows", _request(two, top_p=0.5), "top-p"),
        Case("top-p with 0.1", _request(two, top_p=0.1), "top-p"),
        Case("top-p after temperature 2", _request(one, temperature=2.0, top_p=0.6), "top-p"),
        # The best three have 0.49, 0.32 and 0.20 of what top-k leaves.
        Case("top-p after top-k", _request(one, top_k=3, top_p=0.75), "top-p"),
        Case("a forbidden token, with a logit of -inf", _request(forbidden, top_p=0.9), "top-p"),
    ]


def _logits_raised(random):
    request = _request(_logits(random, (0.4, 0.25, 0.2, 0.1, 0.05)), 1.5, 4, 0.9)
    return [request, Call({**request.arguments, "logits": request.arguments["logits"] + 3.0})]


def temperature_multiplied(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits * temperature), order, axis=-1)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= top_p] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def temperature_ignored(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits), order, axis=-1)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= top_p] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def probabilities_divided(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(softmax(logits) / temperature), order, axis=-1)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= top_p] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def overflowing(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.exp(np.take_along_axis(logits, order, axis=-1) / temperature)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= top_p] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def ranks_returned(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits / temperature), order, axis=-1)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= top_p] = 0
    sums = np.cumsum(weights, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def drawn_best_first(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits / temperature), order, axis=-1)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= top_p] = 0
    sums = np.cumsum(weights, axis=-1)
    rank = (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)
    return np.take_along_axis(order, rank[:, None], axis=-1)[:, 0]


def best_always(logits, uniform, temperature, top_k, top_p):
    return logits.argmax(axis=-1)


def not_normalised_again(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits / temperature), order, axis=-1)
    weights[:, top_k:] = 0
    share = weights / weights.sum(axis=-1, keepdims=True)
    weights[np.cumsum(share, axis=-1) - share >= top_p] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    return (np.cumsum(kept, axis=-1) > uniform[:, None]).argmax(axis=-1)


def top_k_ignored(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits / temperature), order, axis=-1)
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= top_p] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def one_more_than_k(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits / temperature), order, axis=-1)
    weights[:, top_k + 1 :] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= top_p] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def first_k_tokens(logits, uniform, temperature, top_k, top_p):
    weights = softmax(logits / temperature)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    order = np.argsort(-weights, axis=-1)
    weights = np.take_along_axis(weights, order, axis=-1)
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= top_p] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def top_p_ignored(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits / temperature), order, axis=-1)
    weights[:, top_k:] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def stops_before_p(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits / temperature), order, axis=-1)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    reached = np.cumsum(weights, axis=-1) > top_p + 1e-9
    reached[:, 0] = False
    weights[reached] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def best_may_go(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits / temperature), order, axis=-1)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    weights[np.cumsum(weights, axis=-1) > top_p + 1e-9] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def each_above_p(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits / temperature), order, axis=-1)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    if top_p < 1:
        weights[:, 1:][weights[:, 1:] < top_p] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def top_p_before_the_temperature(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    ordered = np.take_along_axis(logits, order, axis=-1)
    ordered[:, top_k:] = -np.inf
    share = softmax(ordered)
    ordered[np.cumsum(share, axis=-1) - share >= top_p] = -np.inf
    kept = np.zeros_like(ordered)
    np.put_along_axis(kept, order, softmax(ordered / temperature), axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def top_p_before_top_k(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits / temperature), order, axis=-1)
    weights[np.cumsum(weights, axis=-1) - weights >= top_p] = 0
    weights[:, top_k:] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def forbidden_made_finite(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    ordered = np.nan_to_num(np.take_along_axis(logits, order, axis=-1), neginf=0.0)
    weights = softmax(ordered / temperature)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= top_p] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def border_to_the_left(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits / temperature), order, axis=-1)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= top_p] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums >= uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def below_p_cut(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits / temperature), order, axis=-1)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    weights[weights < top_p] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None] * sums[:, -1:]).argmax(axis=-1)


def not_normalised_after_top_p(logits, uniform, temperature, top_k, top_p):
    order = np.argsort(-logits, axis=-1)
    weights = np.take_along_axis(softmax(logits / temperature), order, axis=-1)
    weights[:, top_k:] = 0
    weights /= weights.sum(axis=-1, keepdims=True)
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= top_p] = 0
    kept = np.zeros_like(weights)
    np.put_along_axis(kept, order, weights, axis=-1)
    sums = np.cumsum(kept, axis=-1)
    return (sums > uniform[:, None]).argmax(axis=-1)


MISTAKES = (
    Mistake(
        "multiplied by the temperature",
        temperature_multiplied,
        "At temperature 1 all is well, at others the effect is turned round: a low temperature "
        "should sharpen. Divide the logits by it.",
    ),
    Mistake(
        "the temperature ignored",
        temperature_ignored,
        "temperature is never used. Divide the logits by it before the softmax.",
    ),
    Mistake(
        "probabilities divided by the temperature",
        probabilities_divided,
        "The temperature divides the *logits*. You divided probabilities, and a second softmax "
        "made them nearly equal.",
    ),
    Mistake(
        "exponentials that overflow",
        overflowing,
        "exp of a thousand is infinite, and infinity divided by infinity is NaN. `softmax` "
        "subtracts the largest number first, which changes no weight.",
    ),
    Mistake(
        "ranks returned",
        ranks_returned,
        "You return the place in the sorted order, 0 for the best. Asked for is the token: put the "
        "weights back in the order of the tokens before drawing.",
    ),
    Mistake(
        "drawn best first",
        drawn_best_first,
        "Each token comes as often as it should, but for a given number another one comes: you "
        "laid the pieces in the sorted order. Put the weights back in the order of the tokens first.",
    ),
    Mistake(
        "the best always",
        best_always,
        "You never use the uniform numbers: this is greedy decoding.",
    ),
    Mistake(
        "not normalised again",
        not_normalised_again,
        "After tokens were cut the weights no longer sum to one, and a large number falls beyond "
        "them all. Divide by the new sum, or compare with the number times that sum.",
    ),
    Mistake(
        "top-k ignored",
        top_k_ignored,
        "top_k is never used: all tokens may still come.",
    ),
    Mistake(
        "one more than k",
        one_more_than_k,
        "k + 1 tokens stay. In the sorted order those to keep have the places 0 to k - 1.",
    ),
    Mistake(
        "the first k tokens",
        first_k_tokens,
        "You keep the tokens with the lowest numbers. Top-k keeps the k with the largest logits.",
    ),
    Mistake(
        "top-p ignored",
        top_p_ignored,
        "top_p is never used: all tokens that top-k leaves may still come.",
    ),
    Mistake(
        "stopping before p is reached",
        stops_before_p,
        "The tokens you keep do not reach p together. The one that takes the sum over p stays too: "
        "cut those before which p had been reached already.",
    ),
    Mistake(
        "the best may go",
        best_may_go,
        "If the best token alone has more than p, you keep nothing at all. The token that takes the "
        "sum over p stays, so the best one always does.",
    ),
    Mistake(
        "each weight compared with p",
        each_above_p,
        "You keep tokens whose own probability is at least p. It is the sum of the best that counts.",
    ),
    Mistake(
        "top-p before the temperature",
        top_p_before_the_temperature,
        "You decided who stays by the probabilities at temperature 1. The temperature comes first, "
        "then top-k, then top-p.",
    ),
    Mistake(
        "top-p before top-k",
        top_p_before_top_k,
        "You summed probabilities out of all tokens, either because top-p was cut before top-k, or "
        "because what top-k left was not divided by its sum. Top-k comes first, and what is left is "
        "normalised again: then fewer tokens reach p.",
    ),
    Mistake(
        "a forbidden token made possible",
        forbidden_made_finite,
        "A logit of -inf is a probability of 0, and needs no repair: exp(-inf) is 0. You made 0 of "
        "it, which is a logit like others.",
    ),
    Mistake(
        "the border to the left",
        border_to_the_left,
        "A sum that *equals* the number is enough for you, so with the number 0 a token is drawn "
        "that was cut. The sum must exceed it: >, not >=.",
    ),
    Mistake(
        "weights below p cut",
        below_p_cut,
        "Every token whose own probability is less than p goes, and with p = 1 that is nearly "
        "all. It is the *sum* of those before a token that is compared with p.",
    ),
    Mistake(
        "not normalised after top-p",
        not_normalised_after_top_p,
        "After top-p the weights no longer sum to one, and a large number falls beyond them all. "
        "Compare with the number times their sum.",
    ),
)

EXERCISE = Exercise(
    identifier="10.sample_tokens",
    assignment="10_decoding",
    title="Temperature, top-k, top-p",
    kind="vectorised",
    answer="sample_tokens",
    points=5,
    difficulty=3,
    minutes=30,
    hints=(
        "Do one thing after the other and look at the weights after each: first sharpen or flatten, "
        "then cut, then draw. Which steps need the tokens sorted?",
        "`np.argsort(-logits, axis=-1)` lists the tokens of each row, best first; "
        "`np.take_along_axis` sorts the weights by it. Cut by top-k, divide by the sum, cut by "
        "top-p: a token goes if those *before* it reach p already. Put the rest back in the order of "
        "the tokens (`np.put_along_axis`), and draw as in the loop, with `np.cumsum`.",
        "What stands before a token is `np.cumsum(weights, axis=-1) - weights`; set weights to 0 "
        "where this is at least `top_p`. To draw: the first place where `np.cumsum` of the "
        "weights exceeds `uniform[:, None]` times their sum; `argmax` of an array of truth values "
        "finds the first True.",
    ),
    returns=("tokens",),
    cases=cases,
    laws=(
        same(
            "Only differences between logits matter",
            _logits_raised,
            "with all logits higher by 3 other tokens were drawn.",
        ),
    ),
    parts=(
        Part("plain", "the cases with nothing but a temperature", 0.4),
        Part("top-k", "those with top-k", 0.2),
        Part("top-p", "those with top-p", 0.4),
    ),
    helpers=("imports", "softmax"),
    contents=lambda: Contents(sample_tokens, MISTAKES),
)
