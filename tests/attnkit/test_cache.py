"""The cache of keys and values: what it holds, that nothing is copied twice, and its errors."""

import inspect

import numpy as np
import pytest
import torch

import attnkit.numpy.cache
import attnkit.torch.cache
from attnkit.bench import memory, peak_memory
from tests.attnkit.backends import NUMPY, TORCH, normal
from tests.tolerances import assert_close

BATCH, HEADS, CAPACITY, D_HEAD = 2, 3, 7, 4


def new_cache(backend, dtype="float64", **sizes):
    sizes = {"batch": BATCH, "n_kv_heads": HEADS, "capacity": CAPACITY, "d_head": D_HEAD} | sizes
    return backend.functions.KVCache(**sizes, dtype=backend.dtype(dtype))


def rows(backend, seed, length, dtype="float64", **sizes):
    """Return a key and a value of so many rows, on the back end and as NumPy."""
    arrays = [normal(seed + i, BATCH, HEADS, length, D_HEAD) for i in (0, 1)]
    return [backend.array(array, dtype) for array in arrays], arrays


def address(backend, array):
    """Return where an array's first number lies in memory."""
    return array.__array_interface__["data"][0] if backend is NUMPY else array.data_ptr()


@pytest.mark.parametrize("lengths", [(7,), (1,) * 7, (3, 0, 2, 1), (0, 7), (2, 5, 0)])
def test_what_goes_in_comes_out_in_order(backend, lengths):
    cache, keys, values = new_cache(backend), [], []
    assert cache.length == 0
    for seed, length in enumerate(lengths):
        given, (key, value) = rows(backend, 10 * seed, length)
        assert cache.append(*given) is None
        keys.append(key)
        values.append(value)
        np.testing.assert_array_equal(backend.numpy(cache.key), np.concatenate(keys, 2))
        np.testing.assert_array_equal(backend.numpy(cache.value), np.concatenate(values, 2))
        assert cache.length == cache.key.shape[2]
    assert cache.capacity == CAPACITY


def test_views_of_one_room(backend):
    """Appending moves nothing: the address stays, and a view taken before still shows its rows."""
    cache = new_cache(backend)
    assert tuple(cache.key.shape) == (BATCH, HEADS, 0, D_HEAD)
    cache.append(*rows(backend, 1, 2)[0])
    key, value = cache.key, cache.value
    before = address(backend, key), address(backend, value)
    kept = backend.numpy(key).copy()
    cache.append(*rows(backend, 3, 5)[0])
    assert before == (address(backend, cache.key), address(backend, cache.value))
    np.testing.assert_array_equal(backend.numpy(key), kept)
    assert key.shape[2] == 2


def test_what_is_stored_is_a_copy(backend):
    cache = new_cache(backend)
    given, (key, _) = rows(backend, 1, 2)
    cache.append(*given)
    given[0][...] = 7
    np.testing.assert_array_equal(backend.numpy(cache.key), key)


def test_dtypes(backend):
    for dtype in backend.dtypes:
        cache = new_cache(backend, dtype)
        cache.append(*rows(backend, 1, 2)[0])
        assert backend.dtype_name(cache.key) == backend.dtype_name(cache.value) == dtype
    default = backend.functions.KVCache(1, 1, 1, 1)
    assert backend.dtype_name(default.key) == backend.default
    default.append(backend.array([[[[1]]]]), backend.array([[[[True]]]]))
    assert backend.dtype_name(default.value) == backend.default


def test_narrowing_overflows_silently():
    with np.errstate(all="raise"):
        cache = new_cache(NUMPY, "float16")
        cache.append(*(np.full((BATCH, HEADS, 1, D_HEAD), 1e30) for _ in range(2)))
    assert np.isinf(cache.key).all()


def test_layouts_of_memory(backend):
    """Transposed, as split heads come, and expanded from one sequence."""
    array = normal(1, BATCH, 5, HEADS, D_HEAD)
    key = backend.array(array).swapaxes(1, 2)
    one = backend.array(normal(2, 1, HEADS, 5, D_HEAD))
    shape = (BATCH, HEADS, 5, D_HEAD)
    value = np.broadcast_to(one, shape) if backend is NUMPY else one.expand(shape)
    cache = new_cache(backend)
    cache.append(key, value)
    np.testing.assert_array_equal(backend.numpy(cache.key), array.swapaxes(1, 2))
    np.testing.assert_array_equal(backend.numpy(cache.value), backend.numpy(value))


def test_clear(backend):
    cache = new_cache(backend)
    cache.append(*rows(backend, 1, 7)[0])
    cache.clear()
    assert cache.length == 0
    given, (key, _) = rows(backend, 3, 4)
    cache.append(*given)
    np.testing.assert_array_equal(backend.numpy(cache.key), key)


def test_select(backend):
    cache = new_cache(backend, "float32")
    cache.append(*rows(backend, 1, 4, "float32")[0])
    chosen = cache.select(backend.array([1, 1, 0]))
    assert (chosen.length, chosen.capacity) == (4, CAPACITY)
    assert backend.dtype_name(chosen.key) == "float32"
    for ours, theirs in ((chosen.key, cache.key), (chosen.value, cache.value)):
        np.testing.assert_array_equal(backend.numpy(ours), backend.numpy(theirs)[[1, 1, 0]])
    before = backend.numpy(cache.key).copy()
    chosen.append(*(backend.array(normal(seed, 3, HEADS, 3, D_HEAD)) for seed in (5, 6)))
    chosen.key[...] = 7
    assert (chosen.length, cache.length) == (7, 4)
    np.testing.assert_array_equal(backend.numpy(cache.key), before)


@pytest.mark.parametrize("index", [[1, 0], [0, 0], [1, 1, 0], [1], []], ids=str)
def test_reorder(backend, index):
    """The sequences follow the index, room and length stay, and appending goes on."""
    cache = new_cache(backend, "float32")
    cache.append(*rows(backend, 1, 4, "float32")[0])
    before = backend.numpy(cache.key).copy(), backend.numpy(cache.value).copy()
    assert cache.reorder(backend.array(index)) is None
    assert (cache.length, cache.capacity) == (4, CAPACITY)
    assert backend.dtype_name(cache.key) == backend.dtype_name(cache.value) == "float32"
    of_sequences = np.array(index, int)
    for ours, theirs in zip((cache.key, cache.value), before, strict=True):
        np.testing.assert_array_equal(backend.numpy(ours), theirs[of_sequences])
    more = [normal(seed, len(index), HEADS, 3, D_HEAD) for seed in (5, 6)]
    cache.append(*(backend.array(array, "float32") for array in more))
    np.testing.assert_array_equal(backend.numpy(cache.key)[:, :, :4], before[0][of_sequences])
    assert_close(backend.numpy(cache.value)[:, :, 4:], more[1], "output", "float32")


def test_reordering_as_many_sequences_keeps_the_room(backend):
    cache = new_cache(backend)
    cache.append(*rows(backend, 1, 4)[0])
    before = address(backend, cache.key), address(backend, cache.value)
    cache.reorder(backend.array([1, 1]))
    assert before == (address(backend, cache.key), address(backend, cache.value))


def test_an_index_is_left_as_it_was(backend):
    cache, index = new_cache(backend), backend.array([1, 0])
    cache.append(*rows(backend, 1, 2)[0])
    cache.reorder(index)
    cache.select(index)
    np.testing.assert_array_equal(backend.numpy(index), [1, 0])


def resident_is_offered():
    try:
        memory._reset_peak()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    ("method", "index", "rooms"),
    [("select", [3, 3, 0, 1], 1), ("reorder", [3, 3, 0, 1], 0), ("reorder", [3, 0, 1], 0.75)],
)
def test_moving_sequences_holds_hardly_anything_twice(backend, method, index, rooms):
    """At the peak, the new room that the call has to make, and of the old rows one head."""
    if backend is TORCH and not resident_is_offered():
        pytest.skip("no /proc/self/clear_refs to write to; NumPy's twin is traced instead")
    made = []
    for _ in range(2):  # of keys and values together 64 MiB, so that a copy is given back at once
        cache = new_cache(backend, batch=4, n_kv_heads=8, capacity=2**11, d_head=64)
        cache.append(*(backend.array(np.ones((4, 8, 2**11, 64))) for _ in "kv"))
        made.append(cache)
    caches = iter(made)  # asked twice, the first time uncounted
    used = peak_memory(
        lambda: getattr(next(caches), method)(backend.array(index)),
        method="traced" if backend is NUMPY else "resident",
    )
    assert used.bytes < (rooms + 0.25) * 2**26


def test_a_selected_cache_is_of_the_same_kind(backend):
    class Own(backend.functions.KVCache):
        pass

    cache = Own(BATCH, HEADS, CAPACITY, D_HEAD)
    assert isinstance(cache.select(backend.array([1])), Own)


@pytest.mark.parametrize("zero", ["batch", "n_kv_heads", "capacity", "d_head"])
def test_empty(backend, zero):
    cache = new_cache(backend, **{zero: 0})
    shape = list(cache.key.shape)
    shape[2] = 0 if zero == "capacity" else 2
    cache.append(*(backend.array(np.zeros(shape)) for _ in range(2)))
    assert list(cache.key.shape) == shape


class TestErrors:
    def test_overflow_leaves_the_cache_as_it_was(self, backend):
        cache = new_cache(backend)
        given, (key, _) = rows(backend, 1, 5)
        cache.append(*given)
        with pytest.raises(
            ValueError, match=r"holds 5 of at most 7 rows .* no room for 3 more; .*prompt"
        ):
            cache.append(*rows(backend, 3, 3)[0])
        assert cache.length == 5
        np.testing.assert_array_equal(backend.numpy(cache.key), key)
        cache.append(*rows(backend, 3, 2)[0])

    @pytest.mark.parametrize(
        "shape", [(1, 3, 2, 4), (2, 1, 2, 4), (2, 3, 2, 5), (3, 2, 4), (2, 3, 1, 2, 4), ()]
    )
    @pytest.mark.parametrize("place", [0, 1])
    def test_shapes(self, backend, shape, place):
        """Axes of length one are not stretched: a key of one sequence belongs to no batch of two."""
        cache, (given, _) = new_cache(backend), rows(backend, 1, 2)
        given[place] = backend.array(np.zeros(shape))
        name = ("key", "value")[place]
        pattern = rf"{name} has shape .* \(batch, n_kv_heads, new, d_head\) = \(2, 3, new, 4\); split heads"
        with pytest.raises(ValueError, match=pattern):
            cache.append(*given)
        assert cache.length == 0

    def test_lengths(self, backend):
        (key, _), _ = rows(backend, 1, 2)
        (value, _), _ = rows(backend, 1, 3)
        with pytest.raises(ValueError, match="value has length 3 but key has length 2"):
            new_cache(backend).append(key, value)

    def test_types(self, backend):
        (key, value), _ = rows(backend, 1, 2)
        with pytest.raises(TypeError, match=r"value must be real but is .*complex128"):
            new_cache(backend).append(key, value + 0j)
        with pytest.raises(
            TypeError, match=r"dtype must be a float dtype but is .*int32; keys and"
        ):
            new_cache(backend, "int32")
        with pytest.raises(TypeError, match=r"capacity must be a whole number but is 2\.5"):
            new_cache(backend, capacity=2.5)
        with pytest.raises(ValueError, match="d_head must be at least 0 but is -1"):
            new_cache(backend, d_head=-1)

    @pytest.mark.parametrize("method", ["reorder", "select"])
    def test_indices(self, backend, method):
        cache = new_cache(backend)
        given, (key, _) = rows(backend, 1, 2)
        cache.append(*given)
        for index, error, message in (
            ([0, 2], ValueError, r"index must lie between 0 and 1 but reaches from 0 to 2; .*beam"),
            ([-1, 0], ValueError, "index must lie between 0 and 1 but reaches from -1 to 0"),
            (
                [[0, 1]],
                ValueError,
                r"index must have the shape \(new_batch,\) but has shape \(1, 2\)",
            ),
            (1, ValueError, r"has shape \(\); one number is one sequence"),
            ([True, False], TypeError, "index must be integers but is .*bool; a row is"),
            ([0.0, 1.0], TypeError, "index must be integers but is .*float64"),
        ):
            with pytest.raises(error, match=message):
                getattr(cache, method)(backend.array(index))
        np.testing.assert_array_equal(backend.numpy(cache.key), key)

    def test_gradients_are_refused(self):
        (key, value), _ = rows(TORCH, 1, 2)
        cache = new_cache(TORCH)
        value.requires_grad_()
        with pytest.raises(ValueError, match=r"asks for a gradient.*torch\.no_grad\(\)"):
            cache.append(key, value)
        with torch.no_grad():
            cache.append(key, value)
        assert not cache.value.requires_grad


@pytest.mark.parametrize("backend", [NUMPY, TORCH], ids=["numpy", "torch"])
@pytest.mark.parametrize("method", ["reorder", "select"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint64", "int16"])
def test_indices_of_any_whole_dtype(backend, method, dtype):
    cache = new_cache(backend)
    given, (key, _) = rows(backend, 1, 2)
    cache.append(*given)
    index = np.array([1, 0], dtype)  # uint8 is no mask: it would pick one row, the first
    moved = getattr(cache, method)(backend.array(index))
    moved = cache if moved is None else moved
    np.testing.assert_array_equal(backend.numpy(moved.key), key[[1, 0]])


@pytest.mark.parametrize("dtype", [torch.int64, "float32", float], ids=["int64", "text", "float"])
def test_no_float_dtype(dtype):
    with pytest.raises(TypeError, match=r"dtype must be a float dtype but is .*; keys and values"):
        attnkit.torch.KVCache(1, 1, 1, 1, dtype=dtype)


def test_twins():
    ours, theirs = attnkit.numpy.cache.KVCache, attnkit.torch.cache.KVCache
    for name in ("append", "clear", "select", "reorder", "key", "value", "length", "capacity"):
        assert hasattr(ours, name)
        assert hasattr(theirs, name)
    of_numpy = list(inspect.signature(ours).parameters.values())
    of_torch = list(inspect.signature(theirs).parameters.values())
    assert of_numpy == [parameter for parameter in of_torch if parameter.name != "device"]
