"""10.draw_loop: a uniform number turned into a token, one token after the other."""

import numpy as np

from attnkit.numpy import sample

from ..draw import normal
from ..laws import same
from ..model import Case, Contents, Exercise, Mistake, Part
from ..surface import Call


def draw_loop(weights, uniform):
    """Draw by the library's sampler, which takes logarithms."""
    with np.errstate(divide="ignore"):
        return int(sample(np.log(weights), uniform))


def _weights(random, n_tokens):
    """Probabilities in no order: the first is neither the largest nor the smallest."""
    weights = np.exp(normal(random, n_tokens))
    weights[:3] = np.sort(weights[:3])[[1, 2, 0]]
    return weights / weights.sum()


def _inside(weights, token, share=0.5):
    """A uniform number that falls on the piece of a token."""
    upper = np.cumsum(weights / weights.sum())
    return float(upper[token] - share * weights[token] / weights.sum())


def cases(random):
    few, many, counts = _weights(random, 3), _weights(random, 7), random.integers(2, 30, 5)
    gaps = np.array([0.0, 0.5, 0.0, 0.5])  # halves: no sum is rounded
    return [
        Case(
            "three tokens, a number in the middle of the second",
            Call({"weights": few, "uniform": _inside(few, 1)}),
        ),
        Case(
            "three tokens, a number near the end of the first",
            Call({"weights": few, "uniform": _inside(few, 0, 0.1)}),
        ),
        Case(
            "three tokens, the second by far the most probable",
            Call({"weights": np.array([0.05, 0.9, 0.05]), "uniform": 0.3}),
        ),
        Case(
            "seven tokens, a number on the fifth",
            Call({"weights": many, "uniform": _inside(many, 4, random.uniform(0.2, 0.8))}),
        ),
        Case(
            "seven tokens, a number on the last",
            Call({"weights": many, "uniform": _inside(many, 6)}),
        ),
        Case(
            "counts in place of probabilities",
            Call({"weights": counts.astype(float), "uniform": _inside(counts, 3)}),
            "care",
        ),
        Case(
            "small weights that sum to less than one",
            Call({"weights": 0.1 * many, "uniform": _inside(many, 5)}),
            "care",
        ),
        Case(
            "a first token that cannot come, and the number 0",
            Call({"weights": gaps, "uniform": 0.0}),
            "care",
        ),
        Case(
            "the number that is the border between two tokens",
            Call({"weights": gaps, "uniform": 0.5}),
            "care",
        ),
        Case(
            "a last token that cannot come, and a number just below 1",
            Call({"weights": np.array([0.5, 0.25, 0.25, 0.0]), "uniform": 1 - 2.0**-30}),
            "care",
        ),
    ]


def _all_weights_larger(random):
    weights, uniform = _weights(random, 6), float(random.uniform(0.1, 0.9))
    return [
        Call({"weights": weights, "uniform": uniform}),
        Call({"weights": 8 * weights, "uniform": uniform}),
    ]


def most_probable(weights, uniform):
    return int(np.argmax(weights))


def not_normalised(weights, uniform):
    total = 0.0
    for token in range(len(weights)):
        total += weights[token]
        if total > uniform:
            return token
    return len(weights) - 1


def border_to_the_left(weights, uniform):
    total, whole = 0.0, weights.sum()
    for token in range(len(weights)):
        total += weights[token]
        if total >= uniform * whole:
            return token
    return len(weights) - 1


def one_token_early(weights, uniform):
    total, whole = 0.0, weights.sum()
    for token in range(len(weights)):
        total += weights[token]
        if total > uniform * whole:
            return max(token - 1, 0)
    return len(weights) - 1


def counted_from_one(weights, uniform):
    total, whole = 0.0, weights.sum()
    for token in range(len(weights)):
        total += weights[token]
        if total > uniform * whole:
            return token + 1
    return len(weights)


def best_first(weights, uniform):
    total, whole = 0.0, weights.sum()
    for token in np.argsort(-weights):
        total += weights[token]
        if total > uniform * whole:
            return int(token)
    return int(token)


def from_the_end(weights, uniform):
    total, whole = 0.0, weights.sum()
    for token in reversed(range(len(weights))):
        total += weights[token]
        if total > uniform * whole:
            return token
    return 0


def above_the_number(weights, uniform):
    whole = weights.sum()
    for token in range(len(weights)):
        if weights[token] > uniform * whole:
            return token
    return len(weights) - 1


def equal_pieces(weights, uniform):
    return int(uniform * len(weights))


def sum_returned(weights, uniform):
    total, whole = 0.0, weights.sum()
    for token in range(len(weights)):
        total += weights[token]
        if total > uniform * whole:
            return total / whole
    return 1.0


def another_number_drawn(weights, uniform):
    total, whole = 0.0, weights.sum()
    uniform = np.random.default_rng(0).random()
    for token in range(len(weights)):
        total += weights[token]
        if total > uniform * whole:
            return token
    return len(weights) - 1


def softmax_once_more(weights, uniform):
    weights = np.exp(weights) / np.exp(weights).sum()
    total = 0.0
    for token in range(len(weights)):
        total += weights[token]
        if total > uniform:
            return token
    return len(weights) - 1


def asked_before_adding(weights, uniform):
    total, whole = 0.0, weights.sum()
    for token in range(len(weights)):
        if total > uniform * whole:
            return token
        total += weights[token]
    return None


def asked_before_adding_with_a_way_out(weights, uniform):
    total, whole = 0.0, weights.sum()
    for token in range(len(weights)):
        if total > uniform * whole:
            return token
        total += weights[token]
    return len(weights) - 1


def not_normalised_and_no_way_out(weights, uniform):
    total = 0.0
    for token in range(len(weights)):
        total += weights[token]
        if total > uniform:
            return token
    return None


def the_last_token_found(weights, uniform):
    total, whole, found = 0.0, weights.sum(), 0
    for token in range(len(weights)):
        total += weights[token]
        if total > uniform * whole:
            found = token
    return found


MISTAKES = (
    Mistake(
        "the most probable",
        most_probable,
        "The largest weight wins whatever the uniform number is. That is greedy decoding; here a "
        "token comes as often as its weight says.",
    ),
    Mistake(
        "not normalised",
        not_normalised,
        "The uniform number is compared with the weights as they are. They need not sum to one: "
        "compare with uniform times their sum, or divide them by it first.",
    ),
    Mistake(
        "the border to the left",
        border_to_the_left,
        "A sum that *equals* the number is enough for you, so with the number 0 a token of weight 0 "
        "is drawn: one that cannot come. The sum must exceed the number: >, not >=.",
    ),
    Mistake(
        "one token early",
        one_token_early,
        "You return the token before the one whose piece the number falls on.",
    ),
    Mistake(
        "counted from one",
        counted_from_one,
        "Tokens are counted from 0, and you count from 1.",
    ),
    Mistake(
        "best first",
        best_first,
        "You laid the pieces in the order of their size. That draws each token as often, but for a "
        "given number another one. Agreed is the order of the tokens, so that results can be compared.",
    ),
    Mistake(
        "from the end",
        from_the_end,
        "The pieces are laid from the last token to the first. Begin with token 0.",
    ),
    Mistake(
        "a weight above the number",
        above_the_number,
        "Each weight is compared by itself. It is the *sum* of the weights up to a token that says "
        "where its piece ends.",
    ),
    Mistake(
        "equal pieces",
        equal_pieces,
        "All tokens get pieces of the same length, so all come equally often. The weights say how "
        "long they are.",
    ),
    Mistake(
        "the sum returned",
        sum_returned,
        "This is where the token's piece ends, a probability. The token itself is asked for.",
    ),
    Mistake(
        "another number drawn",
        another_number_drawn,
        "You drew a random number of your own. The number is an argument, so that the same number "
        "gives the same token and a test can check it.",
    ),
    Mistake(
        "softmax once more",
        softmax_once_more,
        "These weights are probabilities already, up to a factor. A softmax makes them nearly equal; "
        "dividing by their sum is all they need.",
    ),
    Mistake(
        "asked before adding",
        asked_before_adding,
        "You compare first and add the weight afterwards, so the answer comes one token too late, "
        "and for the last token never. Add, then compare.",
    ),
    Mistake(
        "asked before adding, with a way out",
        asked_before_adding_with_a_way_out,
        "You compare first and add the weight afterwards, so the answer comes one token too late. "
        "Add, then compare.",
    ),
    Mistake(
        "not normalised, and no token at the end",
        not_normalised_and_no_way_out,
        "The uniform number is compared with the weights as they are. They need not sum to one: "
        "with small ones it is never reached, and nothing is returned. Compare with uniform times "
        "their sum.",
    ),
    Mistake(
        "the last token found",
        the_last_token_found,
        "The sum stays above the number once it is, and your loop goes on to the last token. "
        "Return the *first* one.",
    ),
)

EXERCISE = Exercise(
    identifier="10.draw_loop",
    assignment="10_decoding",
    title="Draw a token, by a loop",
    kind="loop",
    answer="draw_loop",
    points=2,
    difficulty=1,
    minutes=8,
    hints=(
        "Lay pieces as long as the weights side by side. On whose piece does the number fall?",
        "Walk along the tokens and add up their weights. As soon as the sum is larger than the "
        "number (times the sum of all weights), you are on the piece.",
        "`limit = uniform * weights.sum()`, a total that begins with 0, and a loop over the tokens "
        "that returns the first one at which the total is larger than the limit.",
    ),
    returns=("token",),
    cases=cases,
    laws=(
        same(
            "Only the ratios of the weights matter",
            _all_weights_larger,
            "with all weights eight times as large another token was drawn.",
            part="care",
        ),
    ),
    parts=(
        Part("plain", "the plain cases", 0.5),
        Part("care", "those with other sums, weights of 0 or a number on a border", 0.5),
    ),
    contents=lambda: Contents(draw_loop, MISTAKES),
)
