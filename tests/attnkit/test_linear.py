"""Linear attention: the chunk loop equals the weights written out, for every map, chunk and mask."""

import functools
import math
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

import attnkit.numpy.linear
from attnkit.bench import peak_memory
from tests.attnkit import loops
from tests.attnkit.backends import NUMPY, TORCH, normal, random_mask
from tests.attnkit.calls import KEY, LEAD, QUERY, VALUE, Call, N
from tests.attnkit.promises import PROMISES, assert_twins
from tests.attnkit.test_cases import SET_W, each_dtype
from tests.attnkit.test_chain import assert_chain, everywhere
from tests.tolerances import assert_close

FLOATS = {"query": QUERY, "key": KEY, "value": VALUE}
KEY_MASK = random_mask(6, *LEAD, N)
CALLS = (
    Call("linear_attention", FLOATS, 3, {"key_mask": KEY_MASK}),
    Call("linear_attention", FLOATS, 3, {"causal": True, "chunk": 2, "key_mask": KEY_MASK}),
    Call("linear_attention", FLOATS, 3, {"feature_map": "exp", "causal": True, "chunk": 3}),
    Call("linear_attention", FLOATS, 3, {"feature_map": "relu"}),
)
BAD = [np.nan, np.inf, -np.inf, 1e308]
MAPS = {
    "elu": lambda row: [x + 1 if x > 0 else math.exp(x) for x in row],
    "exp": lambda row: [math.exp(x) for x in row],
    "relu": lambda row: [max(x, 0.0) for x in row],
}


def both_signs(x):
    """Double the width: the positive and the negative part; for arrays of both kinds."""
    if isinstance(x, torch.Tensor):
        return torch.cat([x.relu(), (-x).relu()], -1)
    return np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)], -1)


def linear(backend, arrays, dtype="float64", key_mask=None, **keywords):
    """Run on NumPy inputs and return NumPy results."""
    if key_mask is not None:
        keywords["key_mask"] = backend.array(key_mask)
    arrays = [backend.array(array, dtype) for array in arrays]
    return backend.numpy(backend.functions.linear_attention(*arrays, **keywords))


def specified(arrays, key_mask=None, *, feature_map="elu", causal=False):
    """Return what the loops say, over leading axes."""
    function = functools.partial(
        loops.linear_attention, features=MAPS.get(feature_map, both_signs), causal=causal
    )
    return loops.over_leading(function, [*arrays, key_mask], [2, 2, 2, 1])


@pytest.mark.parametrize("check", PROMISES, ids=lambda check: check.__name__)
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_promises(backend, call, check):
    check(backend, call)


def test_twins():
    assert_twins("linear")


@each_dtype
@pytest.mark.parametrize("chunk", [1, 2, 3, 4, 7, 8])
def test_32_causal(backend, dtype, chunk):
    right = [
        [0.14112, -0.916166],
        [-0.0463, -0.553499],
        [0.416375, -0.24884],
        [0.230254, -0.367681],
        [0.397028, 0.063342],
        [0.239717, -0.229747],
        [0.207163, -0.092669],
    ]
    output = linear(backend, SET_W, dtype, causal=True, chunk=chunk)
    assert_close(output, right, "printed", dtype)


@given(
    lead=st.lists(st.integers(1, 2), max_size=2).map(tuple),
    m=st.integers(1, 9),
    n=st.integers(1, 9),
    d_k=st.integers(1, 4),
    d_v=st.integers(1, 4),
    causal=st.booleans(),
    keep=st.sampled_from([None, 0.0, 0.5, 0.9]),
    chunk=st.integers(1, 10),
    feature_map=st.sampled_from(["elu", "exp", "relu", both_signs]),
)
def test_chain(lead, m, n, d_k, d_v, causal, keep, chunk, feature_map):
    arrays = normal(1, *lead, m, d_k), normal(2, *lead, n, d_k), normal(3, *lead, n, d_v)
    key_mask = None if keep is None else random_mask(4, *lead, n, keep=keep)
    expected = specified(arrays, key_mask, feature_map=feature_map, causal=causal)
    for rows in (2, 512):
        with mock.patch.object(attnkit.numpy.linear, "_ROWS", rows):
            results = everywhere(
                "linear_attention",
                *arrays,
                key_mask=key_mask,
                causal=causal,
                chunk=chunk,
                feature_map=feature_map,
            )
        assert_chain(expected, results, "output")


@pytest.mark.parametrize("feature_map", ["elu", "exp", "relu", both_signs])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("d_k", "d_v"), [(0, 2), (3, 0), (0, 0)])
def test_without_width(backend, feature_map, causal, d_k, d_v):
    """Queries that say nothing weigh every key 0; values that hold nothing hand out nothing."""
    arrays = normal(1, 2, 4, d_k), normal(2, 2, 5, d_k), normal(3, 2, 5, d_v)
    output = linear(backend, arrays, feature_map=feature_map, causal=causal)
    assert output.shape == (2, 4, d_v)
    assert not output.any()


@pytest.mark.parametrize("feature_map", ["elu", "exp", "relu"])
@pytest.mark.parametrize(("m", "n"), [(700, 700), (300, 1000), (1000, 300)])
def test_real_sizes(backend, feature_map, m, n):
    """Several chunks and groups of chunks, with a rest; against the weights written out."""
    arrays = normal(1, m, 5), normal(2, n, 5), normal(3, n, 4)
    features = {"elu": lambda x: np.where(x > 0, x + 1, np.exp(x)), "exp": np.exp}.get(
        feature_map, lambda x: np.maximum(x, 0)
    )
    weights = features(arrays[0]) @ features(arrays[1]).T
    for causal in (False, True):
        seen = weights * NUMPY.functions.causal_mask(m, n) if causal else weights
        total = seen.sum(-1, keepdims=True)
        expected = np.divide(seen, total, out=np.zeros_like(seen), where=total != 0) @ arrays[2]
        output = linear(backend, arrays, feature_map=feature_map, causal=causal)
        assert_close(output, expected, "output")


class TestLaws:
    def test_the_future_changes_nothing(self, backend):
        arrays = [normal(seed, 150, 4) for seed in range(3)]
        before = linear(backend, arrays, causal=True)
        arrays[1][100] += 1
        arrays[2][100] -= 1
        after = linear(backend, arrays, causal=True)
        assert_close(after[:100], before[:100], "output")
        assert (np.abs(after[100:] - before[100:]) > 1e-6).any(-1).all()

    def test_the_last_query_sees_everything(self, backend):
        arrays = [normal(seed, 150, 4) for seed in range(3)]
        whole, causal = linear(backend, arrays), linear(backend, arrays, causal=True)
        assert_close(causal[-1], whole[-1], "output")

    def test_order_of_keys_does_not_matter(self, backend):
        query, key, value = (normal(seed, 30, 4) for seed in range(3))
        order = np.random.default_rng(1).permutation(30)
        shuffled = linear(backend, (query, key[order], value[order]))
        assert_close(shuffled, linear(backend, (query, key, value)), "output")

    def test_no_epsilon_shows(self, backend):
        """Equal values come out as they went in, however small the weights are."""
        query, key = normal(1, 9, 3) - 9, normal(2, 9, 3) - 9
        output = linear(backend, (query, key, np.ones((9, 2))), causal=True, chunk=2)
        assert_close(output, np.ones((9, 2)), "output")

    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    @pytest.mark.parametrize("causal", [False, True])
    def test_exp_is_safe_for_large_and_small_inputs(self, backend, dtype, causal):
        """Steps of 300 between chunks: neither the old keys nor the new ones may be lost."""
        key = np.arange(12.0)[:, None] * 300 + [[0, 0.5]]
        for sign in (1, -1):
            output = linear(
                backend,
                (normal(1, 12, 2), sign * key, np.eye(12)),
                dtype,
                feature_map="exp",
                causal=causal,
                chunk=3,
            )
            best = np.arange(12) if causal and sign == 1 else np.zeros(12, int)
            best = np.full(12, 11) if sign == 1 and not causal else best
            assert_close(output, np.eye(12)[best], "output", dtype)

    def test_queries_before_the_first_key(self, backend):
        arrays = normal(1, 7, 3), normal(2, 3, 3), normal(3, 3, 2)
        output = linear(backend, arrays, causal=True)
        assert not output[:4].any()
        assert_close(output[4], arrays[2][0], "output")

    def test_a_row_without_weight_is_zero(self, backend):
        query = np.array([[-1.0, -2.0], [1.0, 1.0]])
        for causal in (False, True):
            output = linear(
                backend,
                (query, np.ones((2, 2)), np.ones((2, 3))),
                feature_map="relu",
                causal=causal,
            )
            assert output.tolist() == [[0.0] * 3, [1.0] * 3]


@pytest.mark.parametrize("causal", [False, True])
def test_a_feature_map_may_answer_in_one_array(causal):
    """What it wrote for the queries must not become what it writes for the keys."""
    arrays = [normal(seed, 40, 3) for seed in range(3)]
    arrays[2][-1, 0] = np.nan  # so that the careful formula is asked, too
    answer = np.empty((40, 3))

    def relu(x):
        return np.maximum(x, 0, out=answer[: len(x)])

    for dtype in ("float32", "float64"):
        expected = linear(NUMPY, arrays, dtype, feature_map="relu", causal=causal)
        output = linear(NUMPY, arrays, dtype, feature_map=relu, causal=causal)
        assert_close(output, expected, "output", dtype)


@pytest.mark.parametrize("causal", [False, True])
def test_a_feature_map_may_answer_in_one_tensor(causal):
    arrays, answer = [normal(seed, 40, 3) for seed in range(3)], torch.empty(1, 40, 3).double()
    expected = linear(TORCH, arrays, feature_map="relu", causal=causal)
    output = linear(
        TORCH, arrays, feature_map=lambda x: torch.clamp(x, min=0, out=answer), causal=causal
    )
    assert_close(output, expected, "output")


def test_a_query_may_look_at_what_is_small_beside_the_largest():
    """By its second number at the second key, whose features are e^-120 of the largest."""
    arrays = np.array([[0.0, 200.0]]), np.array([[120.0, -100.0], [60.0, 0.0]]), [[1.0], [2.0]]
    assert linear(NUMPY, arrays, "float32", feature_map="exp").tolist() == [[2.0]]


class TestNoInfluence:
    @pytest.mark.parametrize("bad", BAD)
    @pytest.mark.parametrize("feature_map", ["elu", "exp", "relu"])
    @pytest.mark.parametrize("causal", [False, True])
    def test_padding(self, backend, bad, feature_map, causal):
        query, key, value = (normal(seed, 9, 3) for seed in range(3))
        keywords = {
            "key_mask": np.arange(9) % 4 != 1,
            "feature_map": feature_map,
            "causal": causal,
            "chunk": 2,
        }
        clean = linear(backend, (query, key, value), **keywords)
        key[1::4], value[1::4] = bad, bad
        assert_close(linear(backend, (query, key, value), **keywords), clean, "output")

    @pytest.mark.parametrize("causal", [False, True])
    def test_padding_does_not_outweigh_tiny_features(self, backend, causal):
        """Features of exp far below what a float can hold: hidden keys set no level of their own."""
        arrays = [normal(seed, 9, 3) for seed in range(3)]
        keywords = {
            "key_mask": np.arange(9) % 4 != 1,
            "feature_map": "exp",
            "causal": causal,
            "chunk": 2,
        }
        near = linear(backend, arrays, **keywords)
        arrays[1] -= 1024
        far = linear(backend, arrays, **keywords)
        assert_close(far, near, "output")
        assert near.any(-1).sum() == 9

    @pytest.mark.parametrize("bad", BAD)
    @pytest.mark.parametrize("feature_map", ["elu", "exp", "relu"])
    def test_the_future_in_numpy(self, bad, feature_map):
        query, key, value = (normal(seed, 9, 3) for seed in range(3))
        keywords = {"feature_map": feature_map, "causal": True, "chunk": 4}
        clean = linear(NUMPY, (query, key, value), **keywords)
        for spoiled in (key, value):
            kept = spoiled[5].copy()
            spoiled[5] = bad
            output = linear(NUMPY, (query, key, value), **keywords)
            assert_close(output[:5], clean[:5], "output")
            spoiled[5] = kept

    def test_what_is_seen_shows(self, backend):
        query, key, value = (normal(seed, 9, 3) for seed in range(3))
        value[4, 1] = np.nan
        for causal in (False, True):
            output = linear(backend, (query, key, value), causal=causal, chunk=1)
            seen = 4 if causal else 0
            assert np.isnan(output[seen:, 1]).all()
            assert np.isfinite(output[seen:, [0, 2]]).all()

    def test_a_weight_of_zero_silences_infinity(self):
        value = np.array([[np.inf], [3.0]])
        arrays = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]), value
        for causal, expected in ((False, [[3.0], [np.inf]]), (True, [[0.0], [np.inf]])):
            assert linear(NUMPY, arrays, feature_map="relu", causal=causal).tolist() == expected

    @pytest.mark.parametrize("causal", [False, True])
    def test_a_weight_of_zero_silences_features_whose_sum_overflows(self, causal):
        """The sum of features is then infinite, but no weighted sum of these small values is."""
        query, key = np.array([[0.0, 1.0]] * 3), np.array([[1e308, 1.0]] * 3)
        arrays = query, key, np.array([[0.001], [0.002], [0.003]])
        output = linear(NUMPY, arrays, feature_map="relu", causal=causal, chunk=1)
        expected = [[0.001], [0.0015], [0.002]] if causal else [[0.002]] * 3
        assert_close(output, expected, "output")


class TestGradients:
    @pytest.mark.parametrize(
        "feature_map",
        ["elu", "exp", "relu", both_signs],
        ids=lambda name: getattr(name, "__name__", name),
    )
    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize(("m", "n"), [(5, 5), (3, 6), (6, 3)])
    @pytest.mark.parametrize("masked", [False, True])
    def test_first_derivatives(self, feature_map, causal, m, n, masked):
        key_mask = torch.from_numpy(random_mask(7, 2, n)) if masked else None
        arrays = [
            torch.from_numpy(normal(seed, 2, *shape)).requires_grad_()
            for seed, shape in enumerate([(m, 2), (n, 2), (n, 3)])
        ]
        if feature_map in ("relu", both_signs):  # away from the kink, and no row without weight
            arrays = [(x.detach().abs() + 0.1).requires_grad_() for x in arrays]
        function = functools.partial(
            TORCH.functions.linear_attention,
            feature_map=feature_map,
            causal=causal,
            chunk=2,
            key_mask=key_mask,
        )
        assert gradcheck(function, arrays)

    @pytest.mark.parametrize("feature_map", ["elu", "relu", "exp"])
    def test_real_sizes(self, feature_map):
        """The chunk loop's own backward pass against automatic differentiation of all weights."""
        features = {
            "elu": lambda x: torch.nn.functional.elu(x) + 1,
            "relu": torch.relu,
            "exp": torch.exp,
        }
        mask = NUMPY.functions.causal_mask(200, 200) & random_mask(5, 1, 200, keep=0.8)
        incoming = torch.from_numpy(normal(4, 2, 200, 3))
        gradients = []
        for ours in (True, False):
            arrays = [
                torch.from_numpy(normal(s, 2, 200, w)).requires_grad_()
                for s, w in enumerate((4, 4, 3))
            ]
            if ours:
                key_mask = torch.from_numpy(random_mask(5, 1, 200, keep=0.8))
                output = TORCH.functions.linear_attention(
                    *arrays, feature_map=feature_map, causal=True, key_mask=key_mask
                )
            else:
                phi = features[feature_map]
                weights = (phi(arrays[0]) @ phi(arrays[1]).mT).where(torch.from_numpy(mask), 0)
                total = weights.sum(-1, keepdim=True)
                output = weights / total.masked_fill(total == 0, 1) @ arrays[2]
            output.backward(incoming)
            gradients.append([array.grad for array in arrays])
        for actual, expected in zip(*gradients, strict=True):
            assert_close(actual, expected, "gradient")

    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_padding_and_empty_rows_reach_no_gradient(self, causal, bad):
        gradients = []
        for fill in (bad, 0.0):
            key, value = normal(2, 6, 2), normal(3, 6, 2)
            key[:2], value[:2] = fill, fill
            arrays = [torch.from_numpy(x).requires_grad_() for x in (normal(1, 6, 2), key, value)]
            key_mask = torch.arange(6) >= 2
            output = TORCH.functions.linear_attention(
                *arrays, causal=causal, key_mask=key_mask, chunk=2
            )
            output.square().sum().backward()
            gradients.append([array.grad for array in arrays])
        for dirty, clean in zip(*gradients, strict=True):
            assert_close(dirty, clean, "gradient")
        assert not gradients[0][1][:2].any()
        assert gradients[0][0][:2].any() != causal

    @pytest.mark.parametrize("dtype", TORCH.dtypes)
    def test_dtypes_and_shapes(self, dtype):
        for call in CALLS:
            arrays = {k: TORCH.array(x, dtype).requires_grad_() for k, x in call.floats.items()}
            call.run_on(TORCH, arrays).sum().backward()
            for array in arrays.values():
                assert array.grad.dtype == array.dtype
                assert array.grad.isfinite().all()


def test_numpy_memory_is_that_of_the_output():
    arrays = [normal(seed, 8192, 8).astype(np.float32) for seed in range(3)]
    masked = {"key_mask": random_mask(3, 8192)}
    for keywords in (
        {},
        masked,
        {"causal": True},
        {"causal": True, "feature_map": "exp"},
        {"causal": True} | masked,
    ):
        peak = peak_memory(
            lambda keywords=keywords: NUMPY.functions.linear_attention(*arrays, **keywords),
            method="traced",
        )
        assert peak.bytes < arrays[2].nbytes + 2**19


def test_memory_of_a_large_chunk():
    """Its weights, and what hides the future from its queries."""
    arrays = [normal(seed, 1000, 8).astype(np.float32) for seed in range(3)]
    function = functools.partial(NUMPY.functions.linear_attention, causal=True, chunk=1000)
    peak = peak_memory(lambda: function(*arrays), method="traced")
    assert peak.bytes < 2.2 * 1000**2 * 4


ONES = [(2, 4), (5, 4), (5, 3)]


@pytest.mark.parametrize(
    ("shapes", "keywords", "error", "message"),
    [
        ([(2, 64), (5, 32), (5, 3)], {}, ValueError, "key has width 32 but query has width 64"),
        ([(2, 4), (5, 4), (6, 3)], {}, ValueError, "value has length 6 but key has length 5"),
        ([(2, 4), (4,), (5, 3)], {}, ValueError, "key needs at least 2 axes"),
        (ONES, {"chunk": 0}, ValueError, "chunk must be at least 1 but is 0"),
        (ONES, {"chunk": "64"}, TypeError, "chunk must be a whole number"),
        (
            ONES,
            {"feature_map": "tanh"},
            ValueError,
            "feature_map must be 'elu' or 'exp' or 'relu' but is 'tanh'; .*function",
        ),
        (
            ONES,
            {"feature_map": 3},
            TypeError,
            "feature_map must be a function or one of 'elu'.* but is int",
        ),
        (
            ONES,
            {"feature_map": lambda x: x[..., 0]},
            ValueError,
            "feature_map returned the shape .* only the last axis",
        ),
        (
            ONES,
            {"feature_map": lambda x: [[1.0], [2.0, 3.0]]},
            TypeError,
            "the result of feature_map must be .* but is",
        ),
        (
            ONES,
            {"feature_map": lambda x: x + 1j},
            TypeError,
            "the result of feature_map must be real but is .*complex",
        ),
        (
            ONES,
            {"feature_map": lambda x: x[..., :1, :], "causal": True},
            ValueError,
            "feature_map returned",
        ),
        (ONES, {"key_mask": np.ones(4, bool)}, ValueError, r"key_mask has shape \(4,\)"),
        (ONES, {"key_mask": np.ones((3, 5), bool)}, ValueError, r"key_mask has shape \(3, 5\)"),
        (ONES, {"key_mask": np.ones(5)}, TypeError, "key_mask must be boolean"),
    ],
)
def test_errors_teach(backend, shapes, keywords, error, message):
    keywords = {
        k: backend.array(v) if isinstance(v, np.ndarray) else v for k, v in keywords.items()
    }
    arrays = [backend.array(np.ones(shape)) for shape in shapes]
    with pytest.raises(error, match=message):
        backend.functions.linear_attention(*arrays, **keywords)


@pytest.mark.slow
@pytest.mark.parametrize("feature_map", ["elu", "exp"])
def test_32_long_run(backend, feature_map):
    """65536 positions in float32 against float64; with exp, scores reach 20."""
    arrays = [normal(seed, 65536, 16) for seed in range(3)]
    if feature_map == "exp":
        arrays[:2] = [np.clip(3 * array, -10, 10) for array in arrays[:2]]
        assert (arrays[0][:1000] + arrays[1][:1000]).max() > 15
    wide = linear(NUMPY, arrays, causal=True, feature_map=feature_map)
    narrow = linear(backend, arrays, "float32", causal=True, feature_map=feature_map)
    assert_close(narrow, wide, "long sum", "float32")
