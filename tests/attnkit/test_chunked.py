"""Attention in chunks: the same numbers as the whole, whatever the chunk, in memory that does not grow."""

from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

import attnkit.numpy._tiles
import attnkit.tiles
from attnkit.bench import peak_memory
from attnkit.tiles import chunk_tiles
from tests.attnkit import loops
from tests.attnkit.backends import NUMPY, TORCH, normal, random_mask
from tests.attnkit.calls import KEY, MASK, QUERY, VALUE, Call, N
from tests.attnkit.promises import PROMISES, assert_twins
from tests.attnkit.test_cases import CASE_3, SET_A, each_dtype
from tests.attnkit.test_chain import assert_chain, everywhere
from tests.tolerances import assert_close

FLOATS = {"query": QUERY, "key": KEY, "value": VALUE}
CALLS = (
    Call("chunked_attention", FLOATS, 3, {"chunk": 2}),
    Call("chunked_attention", FLOATS, 3, {"causal": True, "chunk": 3, "mask": MASK}),
)


def chunked(backend, arrays, mask=None, dtype="float64", **keywords):
    """Run on NumPy inputs and return NumPy results."""
    mask = None if mask is None else backend.array(mask)
    arrays = [backend.array(array, dtype) for array in arrays]
    return backend.numpy(backend.functions.chunked_attention(*arrays, mask, **keywords))


def dense(backend, arrays, mask=None, **keywords):
    """Run the plain formula on NumPy inputs and return NumPy results; weights are not made in tiles."""
    mask = None if mask is None else backend.array(mask)
    attention = backend.functions.scaled_dot_product_attention
    arrays = [backend.array(array) for array in arrays]
    return backend.numpy(attention(*arrays, mask, return_weights=True, **keywords)[0])


def small_tiles():
    """Make tiles so small that short sequences need many of them."""
    return mock.patch.multiple(attnkit.numpy._tiles, TILE=24), mock.patch.multiple(
        attnkit.tiles, CHUNK_ROWS=3, EDGE_ROWS=3, GLOBAL_ROWS=2, STRIDE_ROWS=2
    )


@pytest.mark.parametrize("check", PROMISES, ids=lambda check: check.__name__)
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_promises(backend, call, check):
    check(backend, call)


def test_twins():
    assert_twins("chunked")


@each_dtype
@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 7])
def test_21_first_chunks_fully_masked(backend, dtype, chunk):
    mask = np.array([[0, 0, 0, 0, 1], [0, 0, 1, 0, 1]], bool)
    right = [[0.740376, 0.845747], [0.798357, 0.579247]]
    assert_close(chunked(backend, SET_A, mask, dtype, chunk=chunk), right, "printed", dtype)


@each_dtype
@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 7])
def test_03_fully_masked_row(backend, dtype, chunk):
    output = chunked(backend, SET_A, CASE_3, dtype, chunk=chunk)
    assert_close(output, [[0.327402, -0.720239], [0, 0]], "printed", dtype)
    assert not output[1].any()


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("factor", [1e-6, 1, 10, 100, 1e4])
def test_16_scaled_inputs(backend, factor, chunk):
    arrays = SET_A[0] * factor, SET_A[1] * factor, SET_A[2]
    assert_close(chunked(backend, arrays, chunk=chunk), dense(NUMPY, arrays), "output")
    assert np.isfinite(chunked(backend, arrays, dtype="float32", chunk=chunk)).all()


@given(
    lead=st.lists(st.integers(1, 3), max_size=2).map(tuple),
    m=st.integers(1, 9),
    n=st.integers(1, 9),
    d_k=st.integers(1, 4),
    d_v=st.integers(1, 4),
    causal=st.booleans(),
    keep=st.sampled_from([None, 0.0, 0.3, 0.8]),
    chunk=st.integers(1, 10),
    factor=st.sampled_from([1, 60]),
)
def test_chain(lead, m, n, d_k, d_v, causal, keep, chunk, factor):
    query, key = normal(1, *lead, m, d_k) * factor, normal(2, *lead, n, d_k)
    value = normal(3, *lead, n, d_v)
    mask = None if keep is None else random_mask(4, *lead, m, n, keep=keep)
    expected = loops.over_leading(
        lambda *items: loops.scaled_dot_product_attention(*items, causal=causal),
        [query, key, value, mask],
        [2, 2, 2, 2],
    )
    for patches in ((), small_tiles()):
        for patch in patches:
            patch.start()
        try:
            results = everywhere(
                "chunked_attention", query, key, value, mask, causal=causal, chunk=chunk
            )
        finally:
            for patch in patches:
                patch.stop()
        assert_chain(expected, results, "output")


@pytest.mark.parametrize(("m", "n"), [(300, 700), (700, 300), (513, 513)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("factor", [1, 30])
def test_real_sizes(backend, m, n, causal, factor):
    """Several tiles of the size that is really used, with scores that need their maximum and not."""
    arrays = normal(1, 2, 3, m, 8) * factor, normal(2, 2, 3, n, 8), normal(3, 2, 3, n, 5)
    expected = dense(NUMPY, arrays, causal=causal)
    for chunk in (100, 1024):
        assert_close(chunked(backend, arrays, causal=causal, chunk=chunk), expected, "output")
    mask = random_mask(4, 2, 1, 1, n)
    expected = dense(NUMPY, arrays, mask, causal=causal)
    assert_close(chunked(backend, arrays, mask, causal=causal, chunk=100), expected, "output")


@pytest.mark.parametrize(
    "shape", [(5,), (1, 5), (4, 1), (4, 5), (3, 1, 5), (2, 1, 4, 5), (7, 2, 3, 4, 5)]
)
def test_masks_that_broadcast(backend, shape):
    mask = random_mask(1, *shape)
    output = chunked(backend, (QUERY, KEY, VALUE), mask, chunk=2)
    assert_close(output, dense(NUMPY, (QUERY, KEY, VALUE), mask), "output")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.2, -3.0, np.float64(0.2), 0, np.inf])
@pytest.mark.parametrize("shape", [(2, 3, 150, 8), (40, 33, 8), (2, 600, 8)])
def test_the_whole_in_tiles(scale, causal, shape):
    """NumPy's `scaled_dot_product_attention` works in tiles too where no weights are asked for."""
    arrays = [normal(seed, *shape) for seed in range(3)]
    keywords = {"scale": scale, "causal": causal}
    attention = NUMPY.functions.scaled_dot_product_attention
    assert_close(attention(*arrays, **keywords), dense(NUMPY, arrays, **keywords), "output")
    narrow = [array.astype(np.float32) for array in arrays]
    assert attention(*narrow, **keywords).dtype == np.float32


def test_wider_than_float64_stays():
    arrays = [normal(seed, 5, 3).astype(np.longdouble) for seed in range(3)]
    functions = NUMPY.functions
    for function in (functions.chunked_attention, functions.scaled_dot_product_attention):
        output = function(*arrays, causal=True)
        assert output.dtype == np.longdouble
        assert_close(output, dense(NUMPY, arrays, causal=True), "output")


@given(m=st.integers(0, 12), n=st.integers(0, 12), chunk=st.integers(1, 13), causal=st.booleans())
def test_every_visible_pair_is_in_one_tile(m, n, chunk, causal):
    expected = np.tri(m, n, n - m, dtype=int) if causal else np.ones((m, n), int)
    with small_tiles()[1]:
        for together in (False, True):
            groups = chunk_tiles(m, n, chunk, causal=causal, together=together)
            np.testing.assert_array_equal(coverage(groups, m, n), expected)
            assert all(group.keys.size <= chunk for group in groups)
            assert together or all(group.queries.count == 1 for group in groups)


def coverage(groups, m, n):
    """Count in how many tiles each pair of a query and a key is visible."""
    count = np.zeros((m, n), int)
    for group in groups:
        visible = group.visible(np.arange(group.queries.size)[:, None], np.arange(group.keys.size))
        assert group.hides or visible.all()
        for window in range(group.queries.count):
            rows, columns = (
                of.start + window * of.hop + np.arange(of.size) * of.step
                for of in (group.queries, group.keys)
            )
            assert rows.min() >= 0
            assert columns.min() >= 0
            count[np.ix_(rows, columns)] += visible
    return count


class TestNoInfluence:
    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
    def test_padding(self, backend, bad):
        key, value = KEY.copy(), VALUE.copy()
        key[1, :, 2:], value[1, :, 2:] = bad, bad
        mask = NUMPY.functions.padding_mask([5, 2], N)[:, None]
        for causal in (False, True):
            clean = chunked(backend, (QUERY, KEY, VALUE), mask, chunk=2, causal=causal)
            dirty = chunked(backend, (QUERY, key, value), mask, chunk=2, causal=causal)
            assert_close(dirty, clean, "output")

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
    def test_the_future_in_numpy(self, bad):
        key, value = KEY.copy(), VALUE.copy()
        key[..., 4, :], value[..., 4, :] = bad, bad
        dirty = chunked(NUMPY, (QUERY, key, value), causal=True, chunk=2)
        clean = chunked(NUMPY, (QUERY, KEY, VALUE), causal=True, chunk=2)
        assert_close(dirty[..., :3, :], clean[..., :3, :], "output")
        assert_close(dirty, dense(NUMPY, (QUERY, key, value), causal=True), "output")

    @pytest.mark.parametrize("chunk", [2, 5])
    def test_hidden_by_mask_and_order_together(self, chunk):
        """Torch: key 4 is masked for the last query and in the future of the others."""
        mask = np.ones((4, 5), bool)
        mask[3, 4] = False
        key, value = KEY.copy(), VALUE.copy()
        key[..., 4, :], value[..., 4, :] = np.nan, np.nan
        dirty = chunked(TORCH, (QUERY, key, value), mask, causal=True, chunk=chunk)
        assert_close(dirty, dense(NUMPY, (QUERY, KEY, VALUE), mask, causal=True), "output")

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_padding_reaches_no_gradient(self, bad):
        mask = torch.tensor([True, True, False, True, True])
        gradients = []
        for fill in (bad, 0.0):
            key, value = KEY.copy(), VALUE.copy()
            key[..., 2, :], value[..., 2, :] = fill, fill
            arrays = [torch.from_numpy(x).requires_grad_() for x in (QUERY.copy(), key, value)]
            TORCH.functions.chunked_attention(*arrays, mask, chunk=2).square().sum().backward()
            gradients.append([array.grad for array in arrays])
        for dirty, clean in zip(*gradients, strict=True):
            assert_close(dirty, clean, "gradient")


def test_what_is_seen_shows(backend):
    for bad in (np.nan, np.inf, -np.inf):
        value = VALUE.copy()
        value[..., 1, 0] = bad
        output = chunked(backend, (QUERY, KEY, value), chunk=2)
        assert not np.isfinite(output[..., 0]).any()
        key = KEY.copy()
        key[..., 1, 0] = np.nan
        assert np.isnan(chunked(backend, (QUERY, key, VALUE), chunk=2)).all()


class TestGradients:
    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("masked", [False, True])
    @pytest.mark.parametrize("chunk", [1, 3, 9])
    def test_first_derivatives(self, causal, masked, chunk):
        mask = torch.from_numpy(random_mask(4, 2, 4, 5)) if masked else None
        arrays = [
            torch.from_numpy(normal(seed, 2, *shape)).requires_grad_()
            for seed, shape in enumerate([(4, 2), (5, 2), (5, 3)])
        ]
        assert gradcheck(
            lambda *x: TORCH.functions.chunked_attention(*x, mask, causal=causal, chunk=chunk),
            arrays,
        )

    def test_empty_rows_have_no_gradient(self):
        query, key, value = (torch.from_numpy(x).requires_grad_() for x in SET_A)
        output = TORCH.functions.chunked_attention(
            query, key, value, torch.from_numpy(CASE_3), chunk=2
        )
        output.sum().backward()
        assert_close(query.grad, [[-0.215938, -0.141638, 0.140162], [0, 0, 0]], "printed")
        assert not query.grad[1].any()
        assert not key.grad[[1, 3, 4]].any()

    @pytest.mark.parametrize("dtype", TORCH.dtypes)
    def test_dtypes_and_shapes(self, dtype):
        for call in CALLS:
            arrays = {k: TORCH.array(x, dtype).requires_grad_() for k, x in call.floats.items()}
            call.run_on(TORCH, arrays).sum().backward()
            for array in arrays.values():
                assert array.grad.dtype == array.dtype
                assert array.grad.isfinite().all()


def test_memory_does_not_grow_with_the_length():
    """NumPy: beside the output the same few buffers serve 1000 and 4000 keys."""
    beside = []
    for n in (1000, 4000):
        arrays = [normal(seed, 1, n, 8).astype(np.float32) for seed in range(3)]
        peak = peak_memory(
            lambda arrays=arrays: NUMPY.functions.chunked_attention(*arrays), method="traced"
        )
        beside.append(peak.bytes - arrays[2].nbytes)
    assert beside[1] < 1.1 * beside[0] + 20_000
    assert beside[1] < 2**21


@pytest.mark.parametrize(
    ("shapes", "keywords", "error", "message"),
    [
        ([(2, 64), (5, 32), (5, 3)], {}, ValueError, "key has width 32 but query has width 64"),
        ([(2, 4), (5, 4), (6, 3)], {}, ValueError, "value has length 6 but key has length 5"),
        ([(2, 3, 4), (4, 5, 4), (5, 3)], {}, ValueError, "leading axes of query"),
        ([(4,), (5, 4), (5, 3)], {}, ValueError, "query needs at least 2 axes"),
        ([(2, 4), (5, 4), (5, 3)], {"chunk": 0}, ValueError, "chunk must be at least 1 but is 0"),
        ([(2, 4), (5, 4), (5, 3)], {"chunk": 1.5}, TypeError, "chunk must be a whole number"),
        (
            [(2, 4), (5, 4), (5, 3)],
            {"mask": np.ones((5, 2), bool)},
            ValueError,
            "seem to be swapped",
        ),
        ([(2, 4), (5, 4), (5, 3)], {"mask": np.ones((2, 5))}, TypeError, "mask must be boolean"),
    ],
)
def test_errors_teach(backend, shapes, keywords, error, message):
    keywords = {
        k: backend.array(v) if isinstance(v, np.ndarray) else v for k, v in keywords.items()
    }
    arrays = [backend.array(np.ones(shape)) for shape in shapes]
    with pytest.raises(error, match=message):
        backend.functions.chunked_attention(*arrays, **keywords)
