"""Masks against their rules, position by position, and the laws that tie them to each other."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.attnkit import loops
from tests.attnkit.backends import BACKENDS, NUMPY, TORCH, normal, random_mask
from tests.attnkit.loops import mask_from, over_leading
from tests.tolerances import assert_close

sizes = st.integers(0, 9)


def assert_mask(name, *arguments, expected, **keywords):
    """Assert that both back ends make exactly this mask, of booleans."""
    for backend in BACKENDS:
        mask = getattr(backend.functions, name)(*arguments, **keywords)
        assert backend.dtype_name(mask) == "bool"
        np.testing.assert_array_equal(backend.numpy(mask), expected)


@given(m=sizes, n=sizes)
def test_causal(m, n):
    assert_mask("causal_mask", m, n, expected=mask_from(lambda i, j: j <= i, m, n))
    from_start = mask_from(lambda i, j: j <= i, m, n, start=True)
    assert_mask("causal_mask", m, n, align="start", expected=from_start)


@given(m=sizes, n=sizes, window=st.integers(0, 12))
def test_local(m, n, window):
    both = mask_from(lambda i, j: abs(i - j) <= window, m, n)
    assert_mask("local_mask", m, n, window, expected=both)
    back = mask_from(lambda i, j: 0 <= i - j <= window, m, n)
    assert_mask("local_mask", m, n, window, causal=True, expected=back)


@given(m=sizes, n=sizes, stride=st.integers(1, 12))
def test_strided(m, n, stride):
    both = mask_from(lambda i, j: (i - j) % stride == 0, m, n)
    assert_mask("strided_mask", m, n, stride, expected=both)
    back = mask_from(lambda i, j: j <= i and (i - j) % stride == 0, m, n)
    assert_mask("strided_mask", m, n, stride, causal=True, expected=back)


@given(m=sizes, n=sizes, n_global=st.integers(0, 12))
def test_global(m, n, n_global):
    expected = mask_from(lambda i, j: j < n_global or 0 <= i < n_global, m, n)
    assert_mask("global_mask", m, n, n_global, expected=expected)


@given(m=sizes, n=sizes, window=st.integers(0, 12))
def test_local_m(m, n, window):
    expected = mask_from(lambda i, j: abs(i - j) <= window, m, n, start=True)
    assert_mask("local_m_mask", m, n, window, expected=expected)


@given(lengths=st.lists(st.integers(0, 6), max_size=5), spare=st.integers(0, 3))
def test_padding(lengths, spare):
    n = max(lengths, default=0) + spare
    expected = np.array([[[j < length for j in range(n)]] for length in lengths], bool)
    expected = expected.reshape(len(lengths), 1, n)
    assert_mask("padding_mask", lengths, n, expected=expected)
    for dtype in (np.int64, np.uint8):
        array = np.array(lengths, dtype)
        assert_mask("padding_mask", torch.from_numpy(array), n, expected=expected)


@given(
    query=st.lists(st.integers(-1, 3), max_size=6),
    key=st.none() | st.lists(st.integers(-1, 3), max_size=6),
)
def test_block(query, key):
    keys = query if key is None else key
    expected = np.array([[q == k for k in keys] for q in query], bool)
    arguments = [query] if key is None else [query, key]
    assert_mask("block_mask", *arguments, expected=expected.reshape(len(query), len(keys)))


@given(m=st.integers(1, 6), n=st.integers(1, 6), lead=st.sampled_from([(), (2,), (3, 1)]))
def test_conversions_against_loops(m, n, lead):
    masks = [random_mask(1, *lead, m, n), random_mask(2, m, n), random_mask(3, *lead, m, n)]
    for backend in BACKENDS:
        functions, arrays = backend.functions, [backend.array(mask) for mask in masks]
        expected = over_leading(loops.combine_masks, masks, [2, 2, 2])
        np.testing.assert_array_equal(backend.numpy(functions.combine_masks(*arrays)), expected)
        expected = over_leading(loops.from_drop_mask, masks[:1], [2])
        np.testing.assert_array_equal(backend.numpy(functions.from_drop_mask(arrays[0])), expected)
        expected = over_leading(loops.to_additive, masks[:1], [2])
        additive = functions.to_additive(arrays[0], backend.dtype("float64"))
        np.testing.assert_array_equal(backend.numpy(additive), expected)


def test_blocks_of_several_sequences(backend):
    query, key = np.array([[[0, 1]], [[2, 2]]]), np.array([[0, 1, 2], [2, 2, 9]], np.uint8)
    mask = backend.numpy(backend.functions.block_mask(backend.array(query), backend.array(key)))
    assert mask.shape == (2, 2, 2, 3)
    for a, b, i, j in np.ndindex(mask.shape):
        assert mask[a, b, i, j] == (query[a, 0, i] == key[b, j])


def test_padding_of_other_ranks(backend):
    lengths = np.array([[1, 0], [2, 3], [3, 1]])
    mask = backend.numpy(backend.functions.padding_mask(backend.array(lengths), 3))
    assert mask.shape == (3, 2, 1, 3)
    np.testing.assert_array_equal(mask.sum(-1)[..., 0], lengths)
    assert tuple(backend.functions.padding_mask(2, 3).shape) == (1, 3)


def test_sizes_may_be_numpy_integers(backend):
    mask = backend.functions.local_mask(np.int64(3), np.uint8(4), np.int32(1))
    assert tuple(mask.shape) == (3, 4)


def test_one_cached_query_sees_everything(backend):
    """The case that start alignment gets wrong: one new query, all earlier keys in the cache."""
    assert backend.numpy(backend.functions.causal_mask(1, 7)).all()
    row = backend.numpy(backend.functions.local_mask(1, 7, 2, causal=True))
    assert row.tolist() == [[False] * 4 + [True] * 3]


@pytest.mark.parametrize("name", ["local_mask", "strided_mask"])
@given(m=sizes, n=sizes, step=st.integers(1, 9))
def test_causal_is_an_and(name, m, n, step):
    for backend in BACKENDS:
        function = getattr(backend.functions, name)
        both = function(m, n, step) & backend.functions.causal_mask(m, n)
        back = function(m, n, step, causal=True)
        np.testing.assert_array_equal(backend.numpy(back), backend.numpy(both))


class TestCombine:
    def test_and(self, backend):
        masks = [random_mask(1, 4, 5), random_mask(2, 3, 1, 5), random_mask(3, 2, 1, 4, 1)]
        combined = backend.functions.combine_masks(*map(backend.array, masks))
        np.testing.assert_array_equal(backend.numpy(combined), masks[0] & masks[1] & masks[2])

    def test_none_is_skipped(self, backend):
        mask = random_mask(1, 4, 5)
        combined = backend.functions.combine_masks(None, backend.array(mask), None)
        np.testing.assert_array_equal(backend.numpy(combined), mask)

    def test_no_mask_at_all(self, backend):
        assert backend.functions.combine_masks() is None
        assert backend.functions.combine_masks(None, None) is None

    def test_the_result_is_a_new_array(self, backend):
        masks = [backend.array(random_mask(1, 4, 5)), backend.array(random_mask(2, 4, 5))]
        for given_masks in (masks[:1], masks):
            backend.functions.combine_masks(*given_masks)[...] = True
        np.testing.assert_array_equal(backend.numpy(masks[0]), random_mask(1, 4, 5))
        np.testing.assert_array_equal(backend.numpy(masks[1]), random_mask(2, 4, 5))

    def test_union_with_bars(self, backend):
        """Local or strided: a key in both counts once, because a mask has no "twice"."""
        functions = backend.functions
        union = backend.numpy(functions.local_mask(7, 7, 1) | functions.strided_mask(7, 7, 3))
        assert union.sum(-1).tolist() == [4, 4, 4, 5, 4, 4, 4]


class TestConversions:
    def test_drop_mask(self, backend):
        drop = random_mask(1, 3, 5)
        keep = backend.functions.from_drop_mask(backend.array(drop))
        np.testing.assert_array_equal(backend.numpy(keep), ~drop)

    def test_drop_mask_of_torch(self):
        """Our converted mask does in our attention what the foreign one does in torch's module."""
        module = torch.nn.MultiheadAttention(4, 1, bias=False, batch_first=True).double()
        x = torch.from_numpy(normal(1, 2, 5, 4))
        drop = torch.tensor([[False] * 5, [False, False, False, True, True]])
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(torch.eye(4).repeat(parameter.shape[0] // 4, 1))
            theirs, _ = module(x, x, x, key_padding_mask=drop)
            keep = TORCH.functions.from_drop_mask(drop)[:, None]
            ours = TORCH.functions.scaled_dot_product_attention(x, x, x, keep)
        assert_close(ours, theirs, "output")

    def test_additive(self, backend):
        mask = random_mask(1, 3, 5)
        for dtype in backend.dtypes:
            additive = backend.functions.to_additive(backend.array(mask), backend.dtype(dtype))
            assert backend.dtype_name(additive) == dtype
            np.testing.assert_array_equal(backend.numpy(additive), np.where(mask, 0.0, -np.inf))

    def test_additive_takes_a_numpy_type_by_name(self):
        assert NUMPY.functions.to_additive([True], "float32").dtype == np.float32
        assert NUMPY.functions.to_additive([True], float).dtype == np.float64


def test_device_of_the_mask():
    functions = TORCH.functions
    for mask in (
        functions.causal_mask(2, 3, device="meta"),
        functions.local_mask(2, 3, 1, device="meta"),
        functions.strided_mask(2, 3, 1, device="meta"),
        functions.global_mask(2, 3, 1, device="meta"),
        functions.local_m_mask(2, 3, 1, device="meta"),
    ):
        assert mask.device.type == "meta"


class TestHeads:
    """A mask over split heads needs a heads axis; with B == H nothing else would notice its absence."""

    def test_padding_over_as_many_heads_as_batches(self, backend):
        functions = backend.functions
        query, key, value = normal(1, 3, 3, 4, 5), normal(2, 3, 3, 6, 5), normal(3, 3, 3, 6, 2)
        lengths = np.array([6, 2, 4])
        mask = functions.padding_mask(backend.array(lengths), 6)[:, None]
        output = functions.scaled_dot_product_attention(
            *map(backend.array, (query, key, value)), mask
        )
        for b, length in enumerate(lengths):
            alone = functions.scaled_dot_product_attention(
                *map(backend.array, (query[b], key[b, :, :length], value[b, :, :length]))
            )
            assert_close(backend.numpy(output)[b], backend.numpy(alone), "output")

    def test_the_missing_axis_is_named_where_it_can_be_seen(self, backend):
        functions = backend.functions
        query, key = backend.array(normal(1, 2, 3, 4, 5)), backend.array(normal(2, 2, 3, 6, 5))
        mask = functions.padding_mask([6, 2], 6)
        with pytest.raises(ValueError, match=r"mask\[:, None\]"):
            functions.scaled_dot_product_attention(query, key, key, mask)
