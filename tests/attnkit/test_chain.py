"""One chain of equality in float64: loops, vectorised NumPy, torch, and torch's fused kernel."""

import functools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.attnkit import loops
from tests.attnkit.backends import NUMPY, TORCH, normal, random_mask
from tests.tolerances import assert_close

# Leading axes of query, key, value, mask: ranks 0 to 3, broadcasting, and as many batches as heads.
LEADS = [
    ((), (), (), ()),
    ((2,), (2,), (2,), (2,)),
    ((3, 2), (3, 2), (3, 2), (3, 2)),
    ((2, 1, 3), (2, 4, 3), (4, 1), (1,)),
    ((3, 3), (3, 3), (3, 3), (3, 1)),
    ((), (2, 3), (3,), (2, 1)),
]
M, N, D_K, D_V, D_A = 4, 5, 3, 2, 6


def everywhere(name, *arrays, **keywords):
    """Run a function on both back ends in float64 and return the results as NumPy."""
    return [backend.numpy(run(backend, name, arrays, keywords)) for backend in (NUMPY, TORCH)]


def returning_weights(name, *arrays, **keywords):
    """Do so where the weights are asked for, too: return the outputs, then the weights."""
    keywords = keywords | {"return_weights": True}
    pairs = [map(backend.numpy, run(backend, name, arrays, keywords)) for backend in (NUMPY, TORCH)]
    return zip(*pairs, strict=True)


def run(backend, name, arrays, keywords):
    """Run a function of a back end on NumPy arrays."""
    given_arrays = [None if array is None else backend.array(array) for array in arrays]
    given_keywords = {
        key: backend.array(value) if isinstance(value, np.ndarray) else value
        for key, value in keywords.items()
    }
    return getattr(backend.functions, name)(*given_arrays, **given_keywords)


def assert_chain(expected, results, operation):
    """Assert NumPy equal to the loops, and torch equal to NumPy."""
    numpy_result, torch_result = results
    assert_close(numpy_result, expected, operation)
    assert_close(torch_result, numpy_result, operation)


@pytest.mark.parametrize(("of_query", "of_key", "of_value", "of_mask"), LEADS)
class TestEveryLeadingRank:
    """Each function on each set of leading axes, all sizes unequal but for one set of B == H."""

    def test_dot_scores(self, of_query, of_key, of_value, of_mask):
        query, key = normal(1, *of_query, M, D_K), normal(2, *of_key, N, D_K)
        expected = loops.over_leading(loops.dot_scores, [query, key], [2, 2])
        assert_chain(expected, everywhere("dot_scores", query, key), "scores")

    def test_scaled_dot_scores(self, of_query, of_key, of_value, of_mask):
        query, key = normal(1, *of_query, M, D_K), normal(2, *of_key, N, D_K)
        expected = loops.over_leading(loops.scaled_dot_scores, [query, key], [2, 2])
        assert_chain(expected, everywhere("scaled_dot_scores", query, key), "scores")

    def test_general_scores(self, of_query, of_key, of_value, of_mask):
        query, key, weight = (
            normal(1, *of_query, M, 7),
            normal(2, *of_key, N, D_K),
            normal(3, 7, D_K),
        )
        expected = loops.over_leading(loops.general_scores, [query, key, weight], [2, 2, 2])
        assert_chain(expected, everywhere("general_scores", query, key, weight), "scores")

    def test_additive_scores(self, of_query, of_key, of_value, of_mask):
        arrays = [
            normal(1, *of_query, M, 7),
            normal(2, *of_key, N, D_K),
            normal(3, 7, D_A),
            normal(4, D_K, D_A),
            normal(5, D_A),
        ]
        expected = loops.over_leading(loops.additive_scores, arrays, [2, 2, 2, 2, 1])
        assert_chain(expected, everywhere("additive_scores", *arrays), "scores")

    def test_masked_softmax(self, of_query, of_key, of_value, of_mask):
        scores, mask = normal(1, *of_query, M, N), random_mask(2, *of_mask, M, N, keep=0.4)
        expected = loops.over_leading(loops.masked_softmax, [scores, mask], [2, 2])
        assert_chain(expected, everywhere("masked_softmax", scores, mask), "weights")

    def test_softmax_jacobian(self, of_query, of_key, of_value, of_mask):
        weights = loops.over_leading(loops.masked_softmax, [normal(1, *of_query, M, N)], [2])
        expected = loops.over_leading(loops.softmax_jacobian, [weights], [1])
        assert_chain(expected, everywhere("softmax_jacobian", weights), "weights")

    def test_attend(self, of_query, of_key, of_value, of_mask):
        scores, value = normal(1, *of_query, M, N), normal(2, *of_value, N, D_V)
        mask = random_mask(3, *of_mask, M, N)
        expected = loops.over_leading(loops.attend, [scores, value, mask], [2, 2, 2])
        assert_chain(expected, everywhere("attend", scores, value, mask), "output")

    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("with_bias", [False, True])
    @pytest.mark.parametrize("with_mask", [False, True])
    def test_attention(self, of_query, of_key, of_value, of_mask, causal, with_bias, with_mask):
        query, key = normal(1, *of_query, M, D_K), normal(2, *of_key, N, D_K)
        value = normal(3, *of_value, N, D_V)
        mask = random_mask(4, *of_mask, M, N) if with_mask else None
        bias = normal(5, *of_mask, M, N) if with_bias else None
        expected = loops.over_leading(
            lambda *items: loops.scaled_dot_product_attention(*items, causal=causal),
            [query, key, value, mask, bias],
            [2, 2, 2, 2, 2],
        )
        results = everywhere(
            "scaled_dot_product_attention", query, key, value, mask, bias=bias, causal=causal
        )
        assert_chain(expected, results, "output")

    @pytest.mark.parametrize("sampled", [False, True])
    def test_hard_attention(self, of_query, of_key, of_value, of_mask, sampled):
        scores, value = normal(1, *of_query, M, N), normal(2, *of_value, N, D_V)
        mask = random_mask(3, *of_mask, M, N, keep=0.4)
        uniform = np.random.default_rng(4).random((*of_mask, M)) if sampled else None
        arrays = [scores, value, mask, uniform]
        expected = loops.over_leading(loops.hard_attention, arrays, [2, 2, 2, 1])
        results = everywhere("hard_attention", scores, value, mask, uniform=uniform)
        assert_chain(expected, results, "output")

    def test_local_p_weights(self, of_query, of_key, of_value, of_mask):
        scores, mask = normal(1, *of_query, M, N), random_mask(2, *of_mask, M, N)
        centre = np.random.default_rng(3).uniform(-1, N, (*of_key, M))
        expected = loops.over_leading(
            lambda *items: loops.local_p_weights(*items, window=1.5),
            [scores, centre, mask],
            [2, 1, 2],
        )
        results = everywhere("local_p_weights", scores, centre, 1.5, mask=mask)
        assert_chain(expected, results, "weights")


@given(
    lead=st.lists(st.integers(1, 3), max_size=3).map(tuple),
    m=st.integers(1, 6),
    n=st.integers(1, 6),
    d_k=st.integers(1, 5),
    d_v=st.integers(1, 5),
    causal=st.booleans(),
    keep=st.sampled_from([0.0, 0.3, 0.8, 1.0]),
    scale=st.sampled_from([None, -1.5, 0.3, 2.0]),
)
def test_attention_of_any_sizes(lead, m, n, d_k, d_v, causal, keep, scale):
    query, key, value = normal(1, *lead, m, d_k), normal(2, *lead, n, d_k), normal(3, *lead, n, d_v)
    mask = random_mask(4, *lead, m, n, keep=keep)
    name, arrays = "scaled_dot_product_attention", (query, key, value, mask)
    loop = functools.partial(loops.scaled_dot_product_attention, causal=causal, scale=scale)
    seen = mask & NUMPY.functions.causal_mask(m, n) if causal else mask
    for bias in (None, normal(5, m, n)):
        expected = loops.over_leading(loop, [*arrays, bias], [2] * 5)
        keywords = {"causal": causal, "scale": scale, "bias": bias}
        results = everywhere(name, *arrays, **keywords)
        assert_chain(expected, results, "output")
        # Looking up the rows of an identity gives the weights.
        expected_weights = loops.over_leading(loop, [query, key, np.eye(n), mask, bias], [2] * 5)
        outputs, weights = returning_weights(name, *arrays, **keywords)
        assert_chain(expected, outputs, "output")
        assert_chain(expected_weights, weights, "weights")
        shown = seen if bias is None else np.where(seen, bias, -np.inf)
        fused = torch.nn.functional.scaled_dot_product_attention(
            *map(torch.from_numpy, (query, key, value, shown)), scale=scale
        )
        assert_close(results[1], fused.numpy(), "output")


leading = st.lists(st.integers(1, 3), max_size=2).map(tuple)
size = st.integers(1, 6)


class TestAnySizes:
    """Each function on random sizes, with leading axes that one of the arguments may lack."""

    @given(lead=leading, lacks=st.booleans(), m=size, n=size, d_k=size, scale=st.floats(-3, 3))
    def test_dot_scores(self, lead, lacks, m, n, d_k, scale):
        query, key = normal(1, *lead, m, d_k), normal(2, *(() if lacks else lead), n, d_k)
        for name, more in (
            ("dot_scores", ()),
            ("scaled_dot_scores", ()),
            ("scaled_dot_scores", (scale,)),
        ):
            expected = loops.over_leading(
                lambda query, key, name=name, more=more: getattr(loops, name)(query, key, *more),
                [query, key],
                [2, 2],
            )
            assert_chain(expected, everywhere(name, query, key, *map(np.float64, more)), "scores")

    @given(lead=leading, lacks=st.booleans(), m=size, n=size, d_q=size, d_k=size, d_a=size)
    def test_scores_with_parameters(self, lead, lacks, m, n, d_q, d_k, d_a):
        query, key = normal(1, *(() if lacks else lead), m, d_q), normal(2, *lead, n, d_k)
        for name, parameters in (
            ("general_scores", [normal(3, d_q, d_k)]),
            ("additive_scores", [normal(3, d_q, d_a), normal(4, d_k, d_a), normal(5, d_a)]),
        ):
            arrays = [query, key, *parameters]
            own = [2, 2, *(array.ndim for array in parameters)]
            expected = loops.over_leading(getattr(loops, name), arrays, own)
            assert_chain(expected, everywhere(name, *arrays), "scores")

    @given(lead=leading, n=size)
    def test_softmax_jacobian(self, lead, n):
        weights = loops.over_leading(loops.masked_softmax, [normal(1, *lead, 1, n)], [2])
        expected = loops.over_leading(loops.softmax_jacobian, [weights], [1])
        assert_chain(expected, everywhere("softmax_jacobian", weights), "weights")

    @given(
        lead=leading,
        lacks=st.booleans(),
        m=size,
        n=size,
        d_v=size,
        keep=st.sampled_from([0.0, 0.4, 1.0]),
        window=st.sampled_from([0.5, 1, 2.5, 9]),
    )
    def test_what_begins_with_scores(self, lead, lacks, m, n, d_v, keep, window):
        scores, value = normal(1, *lead, m, n), normal(2, *(() if lacks else lead), n, d_v)
        mask = random_mask(3, *lead, m, n, keep=keep)
        rng = np.random.default_rng(4)
        uniform, centre = rng.random((*lead, m)), rng.uniform(-1, n, (*lead, m))
        expected = loops.over_leading(loops.attend, [scores, value, mask], [2, 2, 2])
        assert_chain(expected, everywhere("attend", scores, value, mask), "output")
        outputs, weights = returning_weights("attend", scores, value, mask)
        assert_chain(expected, outputs, "output")
        expected = loops.over_leading(loops.masked_softmax, [scores, mask], [2, 2])
        assert_chain(expected, weights, "weights")
        for drawn in (None, uniform):
            arrays = [scores, value, mask, drawn]
            expected = loops.over_leading(loops.hard_attention, arrays, [2, 2, 2, 1])
            results = everywhere("hard_attention", scores, value, mask, uniform=drawn)
            assert_chain(expected, results, "output")
        expected = loops.over_leading(
            lambda *items: loops.local_p_weights(*items, window=window),
            [scores, centre, mask],
            [2, 1, 2],
        )
        results = everywhere("local_p_weights", scores, centre, np.float64(window), mask=mask)
        assert_chain(expected, results, "weights")


@given(
    shape=st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple),
    axis=st.integers(-4, 3),
)
def test_softmax_along_any_axis(shape, axis):
    if not -len(shape) <= axis < len(shape):
        axis %= len(shape)
    scores = normal(1, *shape)
    moved = np.moveaxis(scores, axis, -1)
    rows = moved.reshape(int(np.prod(moved.shape[:-1])), moved.shape[-1])
    expected = np.moveaxis(loops.masked_softmax(rows).reshape(moved.shape), -1, axis)
    assert_chain(expected, everywhere("softmax", scores, axis), "weights")
    assert_chain(expected, everywhere("masked_softmax", scores, None, axis), "weights")
    mask = random_mask(2, *shape)
    masked = np.where(np.moveaxis(mask, axis, -1).reshape(rows.shape), rows, -np.inf)
    expected = np.moveaxis(loops.masked_softmax(masked).reshape(moved.shape), -1, axis)
    assert_chain(expected, everywhere("masked_softmax", scores, mask, axis), "weights")


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_fused_kernel(dtype):
    query = TORCH.array(normal(1, 2, 3, M, D_K), dtype)
    key, value = (
        TORCH.array(normal(2, 2, 3, N, D_K), dtype),
        TORCH.array(normal(3, 2, 3, N, D_V), dtype),
    )
    mask = torch.from_numpy(random_mask(4, 2, 1, M, N))
    ours = TORCH.functions.scaled_dot_product_attention(query, key, value, mask)
    fused = torch.nn.functional.scaled_dot_product_attention(query, key, value, mask)
    assert_close(TORCH.numpy(fused), TORCH.numpy(ours), "output", dtype)


def test_float_types_agree_with_the_reference(backend):
    """Scores, weights and output of narrow inputs, against float64 on the same, rounded numbers."""
    functions = backend.functions
    for dtype in backend.dtypes:
        query = backend.array(normal(1, 2, M, D_K), dtype)
        key, value = (
            backend.array(normal(2, 2, N, D_K), dtype),
            backend.array(normal(3, 2, N, D_V), dtype),
        )
        output, weights = functions.scaled_dot_product_attention(
            query, key, value, return_weights=True
        )
        exact_query, exact_key, exact_value = map(backend.numpy, (query, key, value))
        expected, expected_weights = NUMPY.functions.scaled_dot_product_attention(
            exact_query, exact_key, exact_value, return_weights=True
        )
        assert_close(backend.numpy(output), expected, "output", dtype)
        assert_close(backend.numpy(weights), expected_weights, "weights", dtype)
        scores = functions.scaled_dot_scores(query, key)
        expected_scores = NUMPY.functions.scaled_dot_scores(exact_query, exact_key)
        assert_close(backend.numpy(scores), expected_scores, "scores", dtype)
