"""One typical call of every function that computes on floats, for tests of what holds for all names."""

from dataclasses import dataclass, field

import numpy as np

from tests.attnkit.backends import normal, random_mask


@dataclass(frozen=True)
class Call:
    """A function with arguments of unequal sizes.

    `floats` are the arrays whose dtype decides that of the result; the first `with_leading` of them
    carry the leading axes ``lead``.
    """

    name: str
    floats: dict
    with_leading: int
    keywords: dict = field(default_factory=dict)
    operation: str = "output"

    def __str__(self):
        return "-".join([self.name, *self.keywords])

    @property
    def returns_weights(self):
        """Whether the function can return its weights beside the output."""
        return self.name in (
            "attend",
            "scaled_dot_product_attention",
            "hard_attention",
            "straight_through_attention",
        )

    def run(self, backend, floats=None, dtype="float64", **replaced):
        """Call the function on a back end with these or the typical numbers."""
        arrays = {
            name: backend.array(values, dtype) for name, values in (floats or self.floats).items()
        }
        return self.run_on(backend, arrays, **replaced)

    def run_on(self, backend, arrays, **replaced):
        """Call the function on arrays that are ready."""
        keywords = {
            name: backend.array(value) if isinstance(value, np.ndarray) else value
            for name, value in (self.keywords | replaced).items()
        }
        return getattr(backend.functions, self.name)(**arrays, **keywords)


LEAD, M, N, D_Q, D_K, D_V, D_A = (2, 3), 4, 5, 7, 6, 2, 8
QUERY, KEY, VALUE = normal(1, *LEAD, M, D_K), normal(2, *LEAD, N, D_K), normal(3, *LEAD, N, D_V)
SCORES = normal(4, *LEAD, M, N)
MASK = random_mask(5, *LEAD, M, N)
UNIFORM = np.random.default_rng(6).random((*LEAD, M))
REWARD, DRAWS = normal(9, *LEAD, M, N), np.random.default_rng(10).random((*LEAD, M, 7))
OF_KEYS = np.random.default_rng(11).random((*LEAD, M, N))
WEIGHTS = np.exp(SCORES) / np.exp(SCORES).sum(-1, keepdims=True)

CALLS = (
    Call("dot_scores", {"query": QUERY, "key": KEY}, 2, operation="scores"),
    Call("scaled_dot_scores", {"query": QUERY, "key": KEY}, 2, operation="scores"),
    Call(
        "general_scores",
        {"query": normal(1, *LEAD, M, D_Q), "key": KEY, "weight": normal(2, D_Q, D_K)},
        2,
        operation="scores",
    ),
    Call(
        "additive_scores",
        {
            "query": normal(1, *LEAD, M, D_Q),
            "key": KEY,
            "w_query": normal(2, D_Q, D_A),
            "w_key": normal(3, D_K, D_A),
            "v": normal(4, D_A),
        },
        2,
        operation="scores",
    ),
    Call("softmax", {"x": SCORES}, 1, operation="weights"),
    Call("masked_softmax", {"scores": SCORES}, 1, {"mask": MASK}, operation="weights"),
    Call("softmax_jacobian", {"weights": WEIGHTS}, 1, operation="weights"),
    Call("attend", {"scores": SCORES, "value": VALUE}, 2, {"mask": MASK}),
    Call("scaled_dot_product_attention", {"query": QUERY, "key": KEY, "value": VALUE}, 3),
    Call(
        "scaled_dot_product_attention",
        {"query": QUERY, "key": KEY, "value": VALUE, "bias": normal(7, *LEAD, M, N)},
        4,
        {"mask": MASK, "causal": True},
    ),
    Call("hard_attention", {"scores": SCORES, "value": VALUE}, 2, {"mask": MASK}),
    Call("hard_attention", {"scores": SCORES, "value": VALUE}, 2, {"uniform": UNIFORM}),
    Call(
        "local_p_weights",
        {"scores": SCORES, "centre": np.random.default_rng(8).uniform(0, N, (*LEAD, M))},
        2,
        {"window": 1.5},
        operation="weights",
    ),
    Call(
        "straight_through_attention",
        {"scores": SCORES, "value": VALUE},
        2,
        {"mask": MASK, "uniform": UNIFORM, "temperature": 0.7},
    ),
    Call("gumbel_weights", {"scores": SCORES}, 1, {"uniform": OF_KEYS}, operation="weights"),
    Call(
        "gumbel_weights",
        {"scores": SCORES},
        1,
        {"mask": MASK, "uniform": OF_KEYS, "temperature": 0.5},
        operation="weights",
    ),
    Call(
        "exact_reward_gradient",
        {"scores": SCORES, "reward": REWARD},
        2,
        {"mask": MASK},
        operation="gradient",
    ),
    Call(
        "reinforce_gradient",
        {"scores": SCORES, "reward": REWARD},
        2,
        {"mask": MASK, "uniform": DRAWS, "baseline": REWARD.mean(-1)},
        operation="gradient",
    ),
)
