"""Sparse attention: windows, strides, global positions and unions equal dense attention under their mask."""

import functools
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

import attnkit.numpy.sparse
import attnkit.torch._tiles
import attnkit.torch.sparse
from attnkit.bench import peak_memory
from attnkit.tiles import sparse_tiles, visible_keys
from tests.attnkit import loops
from tests.attnkit.backends import BACKENDS, NUMPY, TORCH, normal, random_mask
from tests.attnkit.calls import KEY, LEAD, QUERY, VALUE, Call, N
from tests.attnkit.promises import PROMISES, assert_twins
from tests.attnkit.test_cases import SET_W, each_dtype
from tests.attnkit.test_chain import assert_chain, everywhere
from tests.attnkit.test_chunked import coverage, dense, small_tiles
from tests.tolerances import assert_close

FLOATS = {"query": QUERY, "key": KEY, "value": VALUE}
KEY_MASK = random_mask(6, *LEAD, N)
CALLS = (
    Call("local_attention", FLOATS, 3, {"window": 1}),
    Call("local_attention", FLOATS, 3, {"window": 2, "causal": True, "key_mask": KEY_MASK}),
    Call("strided_attention", FLOATS, 3, {"stride": 2}),
    Call("strided_attention", FLOATS, 3, {"stride": 2, "causal": True, "key_mask": KEY_MASK}),
    Call("sparse_attention", FLOATS, 3, {"n_global": 1, "window": 1}),
    Call("sparse_attention", FLOATS, 3, {"n_global": 1, "stride": 3, "key_mask": KEY_MASK}),
    Call("sparse_attention", FLOATS, 3, {"window": 1, "stride": 2, "causal": True}),
)
BAD = [np.nan, np.inf, -np.inf, 1e308]


def run(backend, name, arrays, *sizes, dtype="float64", key_mask=None, **keywords):
    """Run on NumPy inputs and return NumPy results."""
    if key_mask is not None:
        keywords["key_mask"] = backend.array(key_mask)
    arrays = [backend.array(array, dtype) for array in arrays]
    return backend.numpy(getattr(backend.functions, name)(*arrays, *sizes, **keywords))


def mask_of(m, n, *, window=None, n_global=0, stride=None, causal=False):
    """Return the mask of a union from the public mask functions."""
    functions = NUMPY.functions
    mask = functions.global_mask(m, n, n_global)
    if window is not None:
        mask = mask | functions.local_mask(m, n, window)
    if stride is not None:
        mask = mask | functions.strided_mask(m, n, stride)
    return mask & functions.causal_mask(m, n) if causal else mask


patterns = st.fixed_dictionaries(
    {
        "window": st.sampled_from([None, 0, 1, 2, 5, 40]),
        "n_global": st.sampled_from([0, 0, 1, 3, 50]),
        "stride": st.sampled_from([None, 1, 2, 3, 7, 50]),
        "causal": st.booleans(),
    }
)


def is_given(pattern):
    """Whether a pattern has any part."""
    return pattern["window"] is not None or pattern["stride"] is not None or pattern["n_global"]


@pytest.mark.parametrize("check", PROMISES, ids=lambda check: check.__name__)
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_promises(backend, call, check):
    check(backend, call)


def test_twins():
    assert_twins("sparse")


class TestTiles:
    @given(m=st.integers(0, 30), n=st.integers(0, 30), pattern=patterns, block=st.integers(1, 6))
    def test_every_visible_pair_is_in_one_tile(self, m, n, pattern, block):
        expected = mask_of(m, n, **pattern)
        for patch in (mock.MagicMock(), small_tiles()[1]):
            with patch:
                groups = sparse_tiles(m, n, block=block, **pattern)
                np.testing.assert_array_equal(coverage(groups, m, n), expected)
        for i in range(m):
            assert visible_keys(i, m, n, **pattern) == np.flatnonzero(expected[i]).tolist()

    @pytest.mark.parametrize(
        ("pattern", "keys"),
        [
            ({"window": 128}, 2 * 128 + 64),
            ({"window": 128, "causal": True}, 128 + 64),
            ({"stride": 64}, 16384 / 64),
            ({"window": 128, "n_global": 32}, 2 * 128 + 64 + 2 * 32),
            ({"window": 128, "stride": 64}, 2 * 128 + 64 + 16384 / 64),
        ],
    )
    def test_work_grows_with_the_visible_keys(self, pattern, keys):
        """Scores computed for each query, hidden ones included; a dense mask would have all 16384."""
        n = 16384
        groups = sparse_tiles(n, n, **pattern)
        scores = sum(group.queries.count * group.queries.size * group.keys.size for group in groups)
        assert scores <= 1.02 * keys * n
        masks = [group.queries.size * group.keys.size for group in groups if group.hides]
        assert sum(masks) < 2**18


class TestCases:
    @each_dtype
    def test_28_window_width(self, backend, dtype):
        output = run(backend, "local_attention", SET_W, 2, dtype=dtype)
        right = [[0.498937, -0.305654], [-0.523607, -0.148367], [0.347032, 0.157702]]
        assert_close(output[:3], right, "printed", dtype)
        assert_close(output[6], [-0.061548, 0.309885], "printed", dtype)

    @each_dtype
    def test_28_causal_window(self, backend, dtype):
        output = run(backend, "local_attention", SET_W, 2, dtype=dtype, causal=True)
        right = [
            [0.14112, -0.916166],
            [-0.382729, 0.097507],
            [0.34012, -0.128862],
            [-0.286027, -0.071367],
        ]
        assert_close(output[:4], right, "printed", dtype)

    @pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 8, 9, 127, 128, 129, 300])
    def test_29_every_edge(self, backend, n):
        arrays = normal(1, n, 3), normal(2, n, 3), normal(3, n, 2)
        for window in (0, 1, 2, 7, 64, 500):
            for causal in (False, True):
                mask = mask_of(n, n, window=window, causal=causal)
                expected = dense(NUMPY, arrays, mask)
                output = run(backend, "local_attention", arrays, window, causal=causal)
                assert_close(output, expected, "output")
        assert_close(run(backend, "local_attention", arrays, 0), arrays[2], "output")
        everything = run(backend, "local_attention", arrays, n - 1)
        assert_close(everything, dense(NUMPY, arrays), "output")

    @pytest.mark.parametrize("block", [1, 3, 16, 100])
    def test_29_every_block(self, backend, block):
        module = {"numpy": attnkit.numpy.sparse, "torch": attnkit.torch.sparse}[backend.name]
        with mock.patch.object(module, "_BLOCK", block):
            for n in (9, 128, 129):
                arrays = normal(1, n, 3), normal(2, n, 3), normal(3, n, 2)
                for window in (0, 2, 7, 64):
                    expected = dense(NUMPY, arrays, mask_of(n, n, window=window))
                    assert_close(
                        run(backend, "local_attention", arrays, window), expected, "output"
                    )

    @each_dtype
    def test_31_a_key_in_both_parts_counts_once(self, backend, dtype):
        output = run(backend, "sparse_attention", SET_W, dtype=dtype, window=1, stride=3)
        assert_close(output[3], [0.025201, -0.194209], "printed", dtype)
        assert_close(output[0], [-0.218073, -0.288388], "printed", dtype)
        assert_close(output[1], [-0.044652, 0.192202], "printed", dtype)

    @pytest.mark.parametrize("stride", [1, 2, 3, 4, 7, 64, 500])
    def test_31_lengths_that_are_no_multiples(self, backend, stride):
        for m, n in ((130, 130), (60, 131), (131, 60)):
            arrays = normal(1, m, 3), normal(2, n, 3), normal(3, n, 2)
            for causal in (False, True):
                mask = mask_of(m, n, stride=stride, causal=causal)
                output = run(backend, "strided_attention", arrays, stride, causal=causal)
                assert_close(output, dense(NUMPY, arrays, mask), "output")


@given(
    lead=st.lists(st.integers(1, 2), max_size=2).map(tuple),
    m=st.integers(1, 12),
    n=st.integers(1, 12),
    d_k=st.integers(1, 4),
    d_v=st.integers(1, 4),
    pattern=patterns,
    keep=st.sampled_from([None, 0.0, 0.5, 0.9]),
    factor=st.sampled_from([1, 60]),
)
def test_chain(lead, m, n, d_k, d_v, pattern, keep, factor):
    if not is_given(pattern):
        pattern = pattern | {"window": 1}
    query, key = normal(1, *lead, m, d_k) * factor, normal(2, *lead, n, d_k)
    value = normal(3, *lead, n, d_v)
    key_mask = None if keep is None else random_mask(4, *lead, n, keep=keep)
    expected = loops.over_leading(
        functools.partial(loops.sparse_attention, **pattern),
        [query, key, value, key_mask],
        [2, 2, 2, 1],
    )
    blocks = [
        mock.patch.object(module, "_BLOCK", 2)
        for module in (attnkit.numpy.sparse, attnkit.torch.sparse)
    ]
    for patches in ((), [*small_tiles(), *blocks]):
        for patch in patches:
            patch.start()
        try:
            results = everywhere(
                "sparse_attention", query, key, value, key_mask=key_mask, **pattern
            )
        finally:
            for patch in patches:
                patch.stop()
        assert_chain(expected, results, "output")


@given(
    lead=st.lists(st.integers(1, 2), max_size=2).map(tuple),
    m=st.integers(1, 9),
    n=st.integers(1, 9),
    d_k=st.integers(1, 4),
    d_v=st.integers(1, 4),
    window=st.integers(0, 10),
    stride=st.integers(1, 10),
    causal=st.booleans(),
    keep=st.sampled_from([None, 0.0, 0.5]),
)
def test_chain_of_one_pattern(lead, m, n, d_k, d_v, window, stride, causal, keep):
    arrays = normal(1, *lead, m, d_k), normal(2, *lead, n, d_k), normal(3, *lead, n, d_v)
    key_mask = None if keep is None else random_mask(4, *lead, n, keep=keep)
    for name, pattern in (
        ("local_attention", {"window": window}),
        ("strided_attention", {"stride": stride}),
    ):
        expected = loops.over_leading(
            functools.partial(loops.sparse_attention, **pattern, causal=causal),
            [*arrays, key_mask],
            [2, 2, 2, 1],
        )
        results = everywhere(name, *arrays, **pattern, causal=causal, key_mask=key_mask)
        assert_chain(expected, results, "output")


@pytest.mark.parametrize(
    "pattern",
    [
        {"window": 20},
        {"stride": 6},
        {"n_global": 5},
        {"window": 20, "n_global": 5},
        {"window": 20, "stride": 6},
        {"n_global": 5, "stride": 6},
        {"window": 20, "n_global": 5, "stride": 6},
    ],
    ids=str,
)
@pytest.mark.parametrize("causal", [False, True])
class TestRealSizes:
    """Several tiles of the sizes that are really used."""

    @pytest.mark.parametrize(("m", "n"), [(700, 700), (300, 700), (700, 300)])
    @pytest.mark.parametrize("factor", [1, 30])
    def test_output(self, backend, pattern, causal, m, n, factor):
        arrays = normal(1, 2, m, 8) * factor, normal(2, 2, n, 8), normal(3, 2, n, 5)
        expected = dense(NUMPY, arrays, mask_of(m, n, **pattern, causal=causal))
        output = run(backend, "sparse_attention", arrays, **pattern, causal=causal)
        assert_close(output, expected, "output")

    def test_key_mask(self, backend, pattern, causal):
        arrays = normal(1, 2, 3, 400, 8), normal(2, 2, 3, 400, 8), normal(3, 2, 3, 400, 5)
        key_mask = random_mask(4, 2, 1, 400, keep=0.5)
        key_mask[0, :, :150] = False
        mask = mask_of(400, 400, **pattern, causal=causal) & key_mask[..., None, :]
        keywords = {**pattern, "causal": causal, "key_mask": key_mask}
        for size in (2**22, 2**12):
            with mock.patch.object(attnkit.torch._tiles, "MASK_SIZE", size):
                output = run(backend, "sparse_attention", arrays, **keywords)
                assert_close(output, dense(NUMPY, arrays, mask), "output")

    def test_gradients(self, pattern, causal):
        """Those of dense attention under the mask, with keys hidden and rows left empty."""
        key_mask = random_mask(4, 2, 150, keep=0.3)
        mask = torch.from_numpy(mask_of(150, 150, **pattern, causal=causal) & key_mask[:, None])
        incoming = torch.from_numpy(normal(5, 2, 150, 5))
        gradients = []
        for sparse in (True, False):
            arrays = [
                torch.from_numpy(normal(seed, 2, 150, width)).requires_grad_()
                for seed, width in enumerate((8, 8, 5))
            ]
            if sparse:
                keywords = {**pattern, "causal": causal, "key_mask": torch.from_numpy(key_mask)}
                output = TORCH.functions.sparse_attention(*arrays, **keywords)
            else:
                output = TORCH.functions.scaled_dot_product_attention(*arrays, mask)
            output.backward(incoming)
            gradients.append([array.grad for array in arrays])
        for ours, right in zip(*gradients, strict=True):
            assert_close(ours, right, "gradient")


class TestGradients:
    @pytest.mark.parametrize(
        "keywords",
        [
            {"window": 1},
            {"window": 2, "causal": True},
            {"stride": 2},
            {"window": 1, "n_global": 1},
            {"window": 1, "n_global": 1, "stride": 3, "causal": True},
        ],
        ids=str,
    )
    @pytest.mark.parametrize(("m", "n"), [(5, 5), (3, 6), (6, 3)])
    @pytest.mark.parametrize("masked", [False, True])
    def test_first_derivatives(self, keywords, m, n, masked):
        if masked:
            keywords = keywords | {"key_mask": torch.from_numpy(random_mask(7, 2, n))}
        shapes = (2, m, 2), (2, n, 2), (2, n, 3)
        arrays = [
            torch.from_numpy(normal(s, *shape)).requires_grad_() for s, shape in enumerate(shapes)
        ]
        with mock.patch.object(attnkit.torch.sparse, "_BLOCK", 2):
            assert gradcheck(lambda *x: TORCH.functions.sparse_attention(*x, **keywords), arrays)

    @pytest.mark.parametrize("name", ["local_attention", "strided_attention"])
    @pytest.mark.parametrize("causal", [False, True])
    def test_first_derivatives_of_one_pattern(self, name, causal):
        key_mask = torch.tensor([True, True, False, True, True])
        arrays = [
            torch.from_numpy(normal(s, 2, *shape)).requires_grad_()
            for s, shape in enumerate([(4, 2), (5, 2), (5, 3)])
        ]
        function = getattr(TORCH.functions, name)
        assert gradcheck(lambda *x: function(*x, 2, causal=causal, key_mask=key_mask), arrays)

    @pytest.mark.parametrize("dtype", TORCH.dtypes)
    def test_dtypes_and_shapes(self, dtype):
        for call in CALLS:
            arrays = {k: TORCH.array(x, dtype).requires_grad_() for k, x in call.floats.items()}
            call.run_on(TORCH, arrays).sum().backward()
            for array in arrays.values():
                assert array.grad.dtype == array.dtype
                assert array.grad.isfinite().all()

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_padding_reaches_no_gradient(self, bad):
        key_mask = torch.tensor([True, True, False, True, True])
        gradients = []
        for fill in (bad, 0.0):
            key, value = KEY.copy(), VALUE.copy()
            key[..., 2, :], value[..., 2, :] = fill, fill
            arrays = [torch.from_numpy(x).requires_grad_() for x in (QUERY.copy(), key, value)]
            output = TORCH.functions.sparse_attention(
                *arrays, window=1, n_global=1, stride=3, key_mask=key_mask
            )
            output.square().sum().backward()
            gradients.append([array.grad for array in arrays])
        for dirty, clean in zip(*gradients, strict=True):
            assert_close(dirty, clean, "gradient")
        assert not gradients[0][1][..., 2, :].any()

    def test_the_way_without_the_kernel(self):
        """What other devices than the processor take gives the same output and logarithms."""
        arrays = [torch.from_numpy(normal(seed, 3, 2, 4, 5)) for seed in range(3)]
        bias = torch.where(
            torch.from_numpy(random_mask(1, 4, 4)) | torch.eye(4).bool(), 0.0, -torch.inf
        )
        for additive in (None, bias.double()):
            fused = attnkit.torch._tiles._attend(*arrays, additive, 0.3, True)
            plain = attnkit.torch._tiles._attend_unfused(*arrays, additive, 0.3)
            for ours, theirs in zip(plain, fused, strict=True):
                assert_close(ours, theirs, "output")


class TestNoInfluence:
    PATTERNS = (
        {"window": 2},
        {"stride": 3, "causal": True},
        {"window": 1, "n_global": 1, "stride": 4},
    )

    @pytest.mark.parametrize("bad", BAD)
    @pytest.mark.parametrize("pattern", PATTERNS, ids=str)
    def test_padding(self, backend, bad, pattern):
        key, value = normal(2, 9, 3), normal(3, 9, 2)
        query, key_mask = normal(1, 9, 3), np.arange(9) % 4 != 1
        clean = run(backend, "sparse_attention", (query, key, value), **pattern, key_mask=key_mask)
        key[~key_mask], value[~key_mask] = bad, bad
        dirty = run(backend, "sparse_attention", (query, key, value), **pattern, key_mask=key_mask)
        assert_close(dirty, clean, "output")

    @pytest.mark.parametrize("bad", BAD)
    @pytest.mark.parametrize("pattern", PATTERNS, ids=str)
    def test_numpy_query_by_query(self, bad, pattern):
        """A bad key or value shows in the rows that see it, as in the dense form, and in no other."""
        mask = mask_of(9, 9, **pattern)
        for spoiled in (1, 2):
            arrays = [normal(1, 9, 3), normal(2, 9, 3), normal(3, 9, 2)]
            clean = dense(NUMPY, arrays, mask)
            arrays[spoiled][6] = bad
            output = run(NUMPY, "sparse_attention", arrays, **pattern)
            assert_close(output[~mask[:, 6]], clean[~mask[:, 6]], "output")
            assert_close(output, dense(NUMPY, arrays, mask), "output")

    def test_keys_that_no_query_sees(self, backend):
        """More keys than queries: the window ends before the first keys."""
        query, key, value = normal(1, 3, 4), normal(2, 9, 4), normal(3, 9, 2)
        clean = run(backend, "local_attention", (query, key, value), 2)
        key[:4], value[:4] = np.nan, np.nan
        assert_close(run(backend, "local_attention", (query, key, value), 2), clean, "output")


class TestLaws:
    def test_a_far_key_changes_nothing(self, backend):
        arrays = [normal(seed, 200, 4) for seed in range(3)]
        before = run(backend, "local_attention", arrays, 10)
        arrays[1][100] += 1
        arrays[2][100] -= 1
        changed = (run(backend, "local_attention", arrays, 10) != before).any(-1)
        np.testing.assert_array_equal(np.flatnonzero(changed), np.arange(90, 111))

    def test_more_queries_than_keys(self, backend):
        arrays = normal(1, 7, 3), normal(2, 3, 3), normal(3, 3, 2)
        output = run(backend, "local_attention", arrays, 1)
        assert not output[:3].any()
        assert_close(output[3], arrays[2][0], "output")
        assert not run(backend, "local_attention", arrays, 1, causal=True)[:4].any()

    def test_a_wholly_masked_item(self, backend):
        key_mask = np.ones((*LEAD, N), bool)
        key_mask[1, 2] = False
        for name, sizes, keywords in (
            ("local_attention", [1], {}),
            ("strided_attention", [2], {}),
            ("sparse_attention", [], {"window": 1, "n_global": 1, "stride": 2}),
        ):
            output = run(backend, name, (QUERY, KEY, VALUE), *sizes, key_mask=key_mask, **keywords)
            assert not output[1, 2].any()
            assert output[0, 0].all()


def test_numpy_memory_is_that_of_the_output():
    """Never a dense mask: 8192 queries need less than one of its rows in blocks would."""
    arrays = [normal(seed, 8192, 4).astype(np.float32) for seed in range(3)]
    for pattern in ({"window": 30}, {"stride": 100}, {"window": 30, "n_global": 3, "stride": 100}):
        peak = peak_memory(
            lambda pattern=pattern: NUMPY.functions.sparse_attention(*arrays, **pattern),
            method="traced",
        )
        assert peak.bytes < arrays[2].nbytes + 3 * 2**20


ONES = [(2, 4), (5, 4), (5, 3)]


@pytest.mark.parametrize(
    ("name", "shapes", "keywords", "error", "message"),
    [
        (
            "local_attention",
            [(2, 64), (5, 32), (5, 3)],
            {"window": 1},
            ValueError,
            "key has width 32",
        ),
        (
            "strided_attention",
            [(2, 4), (5, 4), (6, 3)],
            {"stride": 1},
            ValueError,
            "length 6 but key",
        ),
        (
            "sparse_attention",
            [(4,), (5, 4), (6, 3)],
            {"window": 1},
            ValueError,
            "query needs at least",
        ),
        (
            "local_attention",
            ONES,
            {"window": -1},
            ValueError,
            "window must be at least 0 but is -1",
        ),
        ("local_attention", ONES, {"window": 1.5}, TypeError, "window must be a whole number"),
        ("local_attention", ONES, {"window": None}, TypeError, "window must be a whole number"),
        (
            "strided_attention",
            ONES,
            {"stride": 0},
            ValueError,
            "stride must be at least 1 but is 0",
        ),
        ("strided_attention", ONES, {"stride": None}, TypeError, "stride must be a whole number"),
        ("sparse_attention", ONES, {"n_global": -2}, ValueError, "n_global must be at least 0"),
        ("sparse_attention", ONES, {"stride": 0}, ValueError, "stride must be at least 1"),
        ("sparse_attention", ONES, {"window": -1}, ValueError, "window must be at least 0"),
        (
            "sparse_attention",
            ONES,
            {},
            ValueError,
            "window, n_global or stride must be given; .*no query",
        ),
        (
            "local_attention",
            [(2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 8)],
            {"window": 1, "key_mask": np.ones((2, 5), bool)},
            ValueError,
            r"key_mask has shape \(2, 5\), which does not broadcast against \(2, 3, 5\).*key_mask\[:, None\]",
        ),
        (
            "local_attention",
            [(2, 4, 8), (2, 5, 8), (2, 5, 8)],
            {"window": 1, "key_mask": np.ones((2, 1, 5), bool)},
            ValueError,
            r"key_mask has shape \(2, 1, 5\).*padding_mask\(\.\.\.\)\[\.\.\., 0, :\]",
        ),
        (
            "local_attention",
            ONES,
            {"window": 1, "key_mask": np.ones(4, bool)},
            ValueError,
            r"key_mask has shape \(4,\), .*\(5,\).*one entry for each key",
        ),
        (
            "local_attention",
            ONES,
            {"window": 1, "key_mask": np.ones(5)},
            TypeError,
            "key_mask must be bool",
        ),
    ],
)
def test_errors_teach(backend, name, shapes, keywords, error, message):
    keywords = {
        k: backend.array(v) if isinstance(v, np.ndarray) else v for k, v in keywords.items()
    }
    arrays = [backend.array(np.ones(shape)) for shape in shapes]
    with pytest.raises(error, match=message):
        getattr(backend.functions, name)(*arrays, **keywords)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
@pytest.mark.parametrize(
    "pattern", [{"window": 200}, {"window": 100, "n_global": 7, "stride": 128}], ids=str
)
def test_long_sequences(backend, pattern):
    """65536 positions in float32; some rows against the definition in float64."""
    n = 65536
    arrays = [normal(seed, n, 16) for seed in range(3)]
    output = run(backend, "sparse_attention", arrays, **pattern, dtype="float32")
    for i in (0, 6, 7, 64, 200, 32768, n - 101, n - 1):
        seen = visible_keys(i, n, n, **pattern)
        expected = dense(NUMPY, (arrays[0][i : i + 1], arrays[1][seen], arrays[2][seen]))
        assert_close(output[i : i + 1], expected, "long sum", "float32")
