"""What holds for every name, as functions of a back end and a typical call; a test file lists them."""

import inspect

import numpy as np
import pytest

from tests.attnkit.backends import NUMPY, normal
from tests.attnkit.test_promises import unusual_layouts
from tests.tolerances import assert_close


def dtype_out_is_dtype_in(backend, call):
    for dtype in backend.dtypes:
        result = call.run(backend, dtype=dtype)
        assert isinstance(result, backend.array_type)
        assert backend.dtype_name(result) == dtype
        rounded = {
            name: backend.numpy(backend.array(values, dtype))
            for name, values in call.floats.items()
        }
        assert_close(
            backend.numpy(result), call.run(NUMPY, rounded, "float64"), call.operation, dtype
        )


def mixed_floats_become_the_wider(backend, call):
    for wide in call.floats:
        arrays = {
            name: backend.array(values, "float64" if name == wide else "float32")
            for name, values in call.floats.items()
        }
        assert backend.dtype_name(call.run_on(backend, arrays)) == "float64"


def integers_and_booleans_are_promoted(backend, call):
    for narrow in ("int64", "uint8", "bool"):
        whole = {name: (np.abs(x) > 0.5).astype(narrow) for name, x in call.floats.items()}
        result = call.run_on(backend, {name: backend.array(x) for name, x in whole.items()})
        assert backend.dtype_name(result) == backend.default
        expected = call.run(NUMPY, {name: x.astype(float) for name, x in whole.items()})
        assert_close(backend.numpy(result), expected, call.operation, backend.default)


def complex_and_none_are_refused(backend, call):
    for name in call.floats:
        arrays = {other: backend.array(values) for other, values in call.floats.items()}
        wrong = backend.array(call.floats[name] + 0j)
        with pytest.raises(TypeError, match=f"{name} must be real but is .*complex128"):
            call.run_on(backend, arrays | {name: wrong})
        with pytest.raises(TypeError, match=name):
            call.run_on(backend, arrays | {name: None})
        del arrays[name]
        with pytest.raises(TypeError, match=rf"{call.name}\(\) missing .*'{name}'"):
            call.run_on(backend, arrays)


def any_layout_gives_the_same(backend, call):
    plain = backend.numpy(call.run(backend))
    for name, values in call.floats.items():
        for layout in unusual_layouts(backend, values):
            arrays = {other: backend.array(given) for other, given in call.floats.items()}
            result = call.run_on(backend, arrays | {name: layout})
            assert_close(backend.numpy(result), plain, call.operation)


def expanded_inputs_work(backend, call):
    """One item, repeated over the batch, and one row, repeated over the length, without a copy."""
    first = {name: values[0] for name, values in call.floats.items()}
    keywords = {k: v[0] if isinstance(v, np.ndarray) else v for k, v in call.keywords.items()}

    def expand(array, *shape):
        array = backend.array(array)
        return np.broadcast_to(array, shape) if backend is NUMPY else array.expand(*shape)

    one = backend.numpy(call.run(backend, first, **keywords))
    many = call.run_on(
        backend, {name: expand(x, 5, *x.shape) for name, x in first.items()}, **keywords
    )
    assert_close(backend.numpy(many), np.broadcast_to(one, (5, *one.shape)), call.operation)
    for name, values in first.items():
        row = values[..., :1, :]
        arrays = {other: backend.array(x) for other, x in first.items()}
        lazy = call.run_on(backend, arrays | {name: expand(row, *values.shape)}, **keywords)
        copied = call.run(backend, first | {name: np.tile(row, (values.shape[-2], 1))}, **keywords)
        assert_close(backend.numpy(lazy), backend.numpy(copied), call.operation)


def inputs_are_left_alone(backend, call):
    arrays = {name: backend.array(values) for name, values in call.floats.items()}
    masks = {k: backend.array(v) for k, v in call.keywords.items() if isinstance(v, np.ndarray)}
    result = call.run_on(backend, arrays, **masks)
    result[...] = 7  # nor is the result a view of an input
    for name, values in call.floats.items():
        np.testing.assert_array_equal(backend.numpy(arrays[name]), values)
    for name, values in masks.items():
        np.testing.assert_array_equal(backend.numpy(values), call.keywords[name])


def items_of_a_batch_are_independent(backend, call):
    together = backend.numpy(call.run(backend))
    for index in np.ndindex(together.shape[:-2]):
        alone = {name: values[index] for name, values in call.floats.items()}
        keywords = {
            k: v[index] if isinstance(v, np.ndarray) else v for k, v in call.keywords.items()
        }
        result = backend.numpy(call.run(backend, alone, **keywords))
        assert_close(together[index], result, call.operation)


def leading_axes_broadcast(backend, call):
    """Query, key and value each lack other leading axes, or have them as 1."""
    floats = dict(zip(call.floats, call.floats.values(), strict=True))
    query, key, value = floats.values()
    keywords = {k: v[0, :1] if isinstance(v, np.ndarray) else v for k, v in call.keywords.items()}
    apart = dict(zip(floats, (query[:, :1], key[0], value[:1]), strict=True))
    lead = query.shape[:-2]
    full = {name: np.broadcast_to(x, lead + x.shape[-2:]) for name, x in apart.items()}
    assert_close(
        backend.numpy(call.run(backend, apart, **keywords)),
        backend.numpy(call.run(backend, full, **keywords)),
        call.operation,
    )


def sizes_of_zero_give_nothing(backend, call):
    keywords = {k: v for k, v in call.keywords.items() if not isinstance(v, np.ndarray)}
    for empty in ("batch", "queries", "keys", "widths", "values"):
        b, m, n, d_k, d_v = (
            0 if name == empty else size
            for name, size in (
                ("batch", 2),
                ("queries", 3),
                ("keys", 4),
                ("widths", 5),
                ("values", 6),
            )
        )
        shapes = (b, m, d_k), (b, n, d_k), (b, n, d_v)
        arrays = {name: normal(1, *shape) for name, shape in zip(call.floats, shapes, strict=True)}
        for key_mask in (None, np.ones((b, n), bool)):
            if "key_mask" in call.keywords:
                keywords["key_mask"] = key_mask
            dtype = "float64"
            ready = {name: backend.array(x, dtype) for name, x in arrays.items()}
            result = type(call)(call.name, arrays, 3, keywords).run_on(backend, ready)
            assert tuple(result.shape) == (b, m, d_v)
            if empty == "keys":
                assert not backend.numpy(result).any()


def no_warning_leaves(backend, call):
    for bad in (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324):
        strange = {name: values.copy() for name, values in call.floats.items()}
        for values in strange.values():
            values.flat[:: 2 if values.size > 8 else 1] = bad
        with np.errstate(all="raise"):
            call.run(backend, strange)
    large = {name: np.full(values.shape, 6e4) for name, values in call.floats.items()}
    with np.errstate(all="raise"):
        call.run(backend, large, dtype="float16")


PROMISES = (
    dtype_out_is_dtype_in,
    mixed_floats_become_the_wider,
    integers_and_booleans_are_promoted,
    complex_and_none_are_refused,
    any_layout_gives_the_same,
    expanded_inputs_work,
    inputs_are_left_alone,
    items_of_a_batch_are_independent,
    leading_axes_broadcast,
    sizes_of_zero_give_nothing,
    no_warning_leaves,
)


def assert_twins(module):
    """Assert that a module has the same names and signatures in both packages, all documented."""
    ours, theirs = (
        __import__(f"attnkit.{package}.{module}", fromlist=["__all__"])
        for package in ("numpy", "torch")
    )
    assert ours.__all__ == theirs.__all__
    for name in ours.__all__:
        assert inspect.signature(getattr(ours, name)) == inspect.signature(getattr(theirs, name))
        for package in (ours, theirs):
            text = inspect.getdoc(getattr(package, name))
            for section in ("Parameters", "Returns", "Raises", "References", "Examples"):
                assert f"{section}\n---" in text, f"{name} lacks {section}"
            for parameter in inspect.signature(getattr(package, name)).parameters:
                assert parameter in text
