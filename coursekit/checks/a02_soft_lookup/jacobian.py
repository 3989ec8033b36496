"""02.softmax_jacobian: how each weight changes with each score."""

import numpy as np

from attnkit.numpy import softmax, softmax_jacobian

from ..compare import same_values
from ..draw import normal
from ..model import Case, Contents, Exercise, Law, Mistake, Part
from ..surface import Call


def cases(random):
    parts = random.permutation([1, 2, 3, 4]) / 10
    return [
        Case("four weights", Call({"weights": parts})),
        Case("two weights", Call({"weights": np.array([0.7, 0.3])})),
        Case("nine weights", Call({"weights": softmax(normal(random, 9))})),
        Case(
            "weights that are all on one key",
            Call({"weights": np.eye(3)[random.integers(3)]}),
        ),
        Case("two rows of two weights", Call({"weights": softmax(normal(random, 2, 2))}), "axes"),
        Case(
            "leading axes (2, 3), five weights",
            Call({"weights": softmax(normal(random, 2, 3, 5))}),
            "axes",
        ),
        Case(
            "float32 rows of weights",
            Call({"weights": softmax(normal(random, 4, 6, dtype=np.float32))}),
            "axes",
        ),
    ]


def _one_row(random):
    return [Call({"weights": softmax(normal(random, 7))})]


def _rows_sum_to_zero(requests, values):
    ((jacobian,),) = values
    if same_values(np.zeros(7), jacobian.sum(axis=-1), 1e-9):
        return None
    return f"the first row sums to {jacobian[0].sum():.4g}, not 0."


def no_diagonal(weights):
    return -weights[..., :, None] * weights[..., None, :]


def diagonal_alone(weights):
    n = weights.shape[-1]
    return (weights * (1 - weights))[..., :, None] * np.eye(n)


def a_vector(weights):
    return weights * (1 - weights)


def signs_turned(weights):
    n = weights.shape[-1]
    return weights[..., :, None] * weights[..., None, :] - weights[..., :, None] * np.eye(n)


def product_added(weights):
    n = weights.shape[-1]
    return weights[..., :, None] * np.eye(n) + weights[..., :, None] * weights[..., None, :]


def ones_on_the_diagonal(weights):
    return np.eye(weights.shape[-1]) - weights[..., :, None] * weights[..., None, :]


def squares_in_every_row(weights):
    n = weights.shape[-1]
    return weights[..., :, None] * np.eye(n) - weights[..., :, None] ** 2


def softmax_once_more(weights):
    exponentials = np.exp(weights - weights.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    n = weights.shape[-1]
    return weights[..., :, None] * np.eye(n) - weights[..., :, None] * weights[..., None, :]


def for_one_row_only(weights):
    return np.diag(weights) - np.outer(weights, weights)


def one_number(weights):
    return (weights * (1 - weights)).sum(axis=-1)


def outer_product_by_dot(weights):
    n = weights.shape[-1]
    return weights[..., :, None] * np.eye(n) - weights @ weights.T


def diagonal_alone_for_one_row(weights):
    return np.diag(weights * (1 - weights))


MISTAKES = (
    Mistake(
        "the diagonal missing",
        no_diagonal,
        "Your matrix is -w_i w_j everywhere. Where i = j, raising a score also raises its own "
        "exponential: there the derivative is w_i - w_i², so w_i must be added on the diagonal.",
    ),
    Mistake(
        "the diagonal alone",
        diagonal_alone,
        "The diagonal is right, but the rest is 0. Weights sum to one, so when one score rises the "
        "*other* weights must fall: off the diagonal stands -w_i w_j.",
    ),
    Mistake(
        "a vector",
        a_vector,
        "w (1 - w) is how each weight changes with its own score. Every weight also changes with "
        "every other score: the result is a matrix, (n, n).",
    ),
    Mistake(
        "signs turned",
        signs_turned,
        "Every sign is the wrong way round. When a score rises its own weight rises, so the "
        "diagonal is positive and the rest negative.",
    ),
    Mistake(
        "the product added",
        product_added,
        "The outer product was added. The total of the weights must not change, so each row of the "
        "matrix has to sum to 0: subtract it.",
    ),
    Mistake(
        "ones on the diagonal",
        ones_on_the_diagonal,
        "You subtract the outer product from an identity matrix. On the diagonal belong the "
        "weights, not ones: a weight near 0 hardly changes.",
    ),
    Mistake(
        "squares in every row",
        squares_in_every_row,
        "In row i you subtract w_i² everywhere. Only on the diagonal do the two indices agree; "
        "elsewhere it is w_i times w_j.",
    ),
    Mistake(
        "softmax once more",
        softmax_once_more,
        "Softmax was applied to the argument, but the argument already holds weights. The "
        "derivative needs nothing else.",
    ),
    Mistake(
        "for one row only",
        for_one_row_only,
        "For one row of weights this is right. np.diag and np.outer do not know leading axes: "
        "np.diag of a table even takes its diagonal *out*. Build both with a new axis and "
        "broadcasting.",
    ),
    Mistake(
        "one number",
        one_number,
        "You added up the diagonal. The whole matrix is asked for: entry [i, j] says how weight i "
        "changes with score j.",
    ),
    Mistake(
        "weights @ weights.T",
        outer_product_by_dot,
        "weights @ weights.T is no outer product: of one row with itself it is a single number. "
        "Give one copy a new axis at the end, the other one before the end, and multiply with *.",
    ),
    Mistake(
        "the diagonal alone, for one row",
        diagonal_alone_for_one_row,
        "The diagonal is right, but the rest is 0. Weights sum to one, so when one score rises the "
        "*other* weights must fall: off the diagonal stands -w_i w_j. (And np.diag of a table takes "
        "its diagonal *out*: with leading axes use np.eye and broadcasting.)",
    ),
)

EXERCISE = Exercise(
    identifier="02.softmax_jacobian",
    assignment="02_soft_lookup",
    title="The Jacobian of softmax",
    kind="function",
    answer="softmax_jacobian",
    points=3,
    difficulty=3,
    minutes=20,
    hints=(
        "With two weights, 0.7 and 0.3: if the first rises by a little, what must the second do?",
        "Differentiate $w_i = e^{s_i} / \\sum_k e^{s_k}$ with respect to $s_j$, once for $j = i$ "
        "and once for $j \\neq i$. Both results can be written with weights alone.",
        "The matrix has the weights on its diagonal, minus the product of weight `i` and weight "
        "`j` everywhere. `weights[..., :, None]` times `np.eye(n)` is the first, and a product of "
        "two copies with new axes in different places is the second.",
    ),
    returns=("Jacobian",),
    cases=cases,
    laws=(Law("Each row of the Jacobian sums to zero", _one_row, _rows_sum_to_zero),),
    parts=(
        Part("plain", "the cases with one row of weights", 2 / 3),
        Part("axes", "those with leading axes", 1 / 3),
    ),
    contents=lambda: Contents(softmax_jacobian, MISTAKES),
)
