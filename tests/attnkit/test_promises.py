"""What holds for every name: dtypes, layouts, empty inputs, no trace of masked NaN, nothing changed, no warning."""

import inspect

import numpy as np
import pytest
import torch

from tests.attnkit.backends import NUMPY, TORCH, normal, random_mask
from tests.attnkit.calls import CALLS, KEY, LEAD, MASK, QUERY, SCORES, VALUE, M, N
from tests.tolerances import assert_close

every_call = pytest.mark.parametrize("call", CALLS, ids=str)


def test_every_float_function_has_a_call():
    """A function added to the four modules without a typical call would escape all tests below."""
    import attnkit.numpy.attention
    import attnkit.numpy.scores
    import attnkit.numpy.weights

    names = {
        name
        for module in (attnkit.numpy.scores, attnkit.numpy.weights, attnkit.numpy.attention)
        for name in module.__all__
    }
    assert {call.name for call in CALLS} == names


@pytest.mark.parametrize("module", ["scores", "weights", "masks", "attention"])
def test_twins_have_the_same_names_and_signatures(module):
    ours, theirs = (
        __import__(f"attnkit.{package}.{module}", fromlist=["__all__"])
        for package in ("numpy", "torch")
    )
    assert ours.__all__ == theirs.__all__
    for name in ours.__all__:
        of_numpy = list(inspect.signature(getattr(ours, name)).parameters.values())
        of_torch = list(inspect.signature(getattr(theirs, name)).parameters.values())
        assert of_numpy == [parameter for parameter in of_torch if parameter.name != "device"]


class TestDtypes:
    @every_call
    def test_out_as_in(self, backend, call):
        for dtype in backend.dtypes:
            result = call.run(backend, dtype=dtype)
            assert isinstance(result, backend.array_type)
            assert backend.dtype_name(result) == dtype

    @pytest.mark.parametrize("call", [call for call in CALLS if call.returns_weights], ids=str)
    def test_weights_have_the_dtype_of_the_output(self, backend, call):
        for dtype in backend.dtypes:
            output, weights = call.run(backend, dtype=dtype, return_weights=True)
            assert backend.dtype_name(output) == backend.dtype_name(weights) == dtype
            assert backend.numpy(weights).shape == (*LEAD, M, N)

    @every_call
    def test_mixed_floats_become_the_wider(self, backend, call):
        for wide in call.floats:
            arrays = {
                name: backend.array(values, "float64" if name == wide else "float32")
                for name, values in call.floats.items()
            }
            assert backend.dtype_name(call.run_on(backend, arrays)) == "float64"

    @every_call
    def test_integers_and_booleans_are_promoted(self, backend, call):
        for narrow in ("int64", "uint8", "bool"):
            whole = {
                name: (np.abs(values) > 0.5).astype(narrow)
                for name, values in call.floats.items()
                if not (narrow == "bool" and name == "bias")
            }
            result = call.run_on(
                backend, {name: backend.array(values) for name, values in whole.items()}
            )
            assert backend.dtype_name(result) == backend.default
            as_float = {name: values.astype(float) for name, values in whole.items()}
            assert_close(
                backend.numpy(result),
                backend.numpy(call.run(backend, as_float)),
                call.operation,
                backend.default,
            )

    @every_call
    def test_complex_is_refused(self, backend, call):
        for name in call.floats:
            arrays = {
                other: backend.array(values + 0j if other == name else values)
                for other, values in call.floats.items()
            }
            with pytest.raises(
                TypeError, match=f"{name} must be real but is .*complex128; .*real part"
            ):
                call.run_on(backend, arrays)

    @every_call
    def test_none_is_refused(self, backend, call):
        for name in set(call.floats) - {"bias"}:
            arrays = {other: backend.array(values) for other, values in call.floats.items()}
            with pytest.raises(TypeError, match=name):
                call.run_on(backend, arrays | {name: None})

    def test_two_half_types_meet_in_float32(self):
        query, key = torch.ones(2, 3, dtype=torch.float16), torch.ones(4, 3, dtype=torch.bfloat16)
        assert TORCH.functions.dot_scores(query, key).dtype == torch.float32

    def test_the_default_dtype_of_torch_is_asked_for(self):
        torch.set_default_dtype(torch.float64)
        try:
            assert TORCH.functions.softmax(torch.arange(3)).dtype == torch.float64
        finally:
            torch.set_default_dtype(torch.float32)

    def test_wider_than_float64_stays(self):
        assert NUMPY.functions.softmax(np.zeros(3, np.longdouble)).dtype == np.longdouble


class TestHalfTypes:
    """float16 ends at 65504 and counts whole numbers up to 2048 only; neither may show."""

    def test_scores_beyond_the_range(self, backend):
        for dtype in backend.dtypes:
            query, key = (
                backend.array([[300.0] * 4], dtype),
                backend.array(np.diag([300.0] * 4), dtype),
            )
            key[0, 1:] = 300.0  # its score is 360000, those of the others are 90000
            value = backend.array([[1.0], [2.0], [4.0], [8.0]], dtype)
            output = backend.functions.scaled_dot_product_attention(query, key, value, scale=1.0)
            assert backend.numpy(output).tolist() == [[1.0]]

    def test_sums_beyond_the_range(self, backend):
        for dtype in backend.dtypes:
            weights = backend.functions.softmax(backend.array(np.zeros(100_000), dtype))
            assert_close(backend.numpy(weights), np.full(100_000, 1e-5), "weights", "bfloat16")

    def test_a_sum_of_many_small_weights(self, backend):
        """A running sum in float16 would stop at 2048, where adding 1 changes nothing."""
        for dtype in backend.dtypes:
            output = backend.functions.attend(
                backend.array(np.zeros((1, 4096)), dtype), backend.array(np.ones((4096, 1)), dtype)
            )
            assert_close(backend.numpy(output), [[1.0]], "output", dtype)

    def test_positions_beyond_the_whole_numbers(self, backend):
        """Keys 4096 and 4097 are one number in float16 and bfloat16; the centre lies between others."""
        scores, centre = (
            backend.array(np.zeros((1, 4100)), "float16"),
            backend.array([4096.0], "float16"),
        )
        weights = backend.numpy(backend.functions.local_p_weights(scores, centre, 1))[0]
        assert np.flatnonzero(weights).tolist() == [4095, 4096, 4097]


def unusual_layouts(backend, values):
    """Yield the same numbers as a transposed, a strided, and for NumPy a reversed and read-only array."""
    yield backend.array(np.ascontiguousarray(values.swapaxes(0, -1))).swapaxes(0, -1)
    yield backend.array(np.repeat(values, 2, axis=-1))[..., ::2]
    if backend is NUMPY:
        yield np.ascontiguousarray(values[..., ::-1])[..., ::-1]
        yield np.ascontiguousarray(values[::-1])[::-1]
        read_only = values.copy()
        read_only.flags.writeable = False
        yield read_only
        yield values.astype(values.dtype.newbyteorder())
        yield values.tolist()


class TestLayouts:
    @every_call
    def test_any_layout_gives_the_same(self, backend, call):
        plain = backend.numpy(call.run(backend))
        for name, values in call.floats.items():
            for layout in unusual_layouts(backend, values):
                arrays = {other: backend.array(given) for other, given in call.floats.items()}
                result = call.run_on(backend, arrays | {name: layout})
                assert_close(backend.numpy(result), plain, call.operation)

    @every_call
    def test_expanded_inputs(self, backend, call):
        """One item, repeated over the batch without being copied."""
        leading = list(call.floats)[: call.with_leading]
        first = {
            name: values[0] if name in leading else values for name, values in call.floats.items()
        }
        keywords = {
            name: value[0] if isinstance(value, np.ndarray) else value
            for name, value in call.keywords.items()
        }
        one = backend.numpy(call.run(backend, first, **keywords))
        expanded = {}
        for name, values in first.items():
            array = backend.array(values)
            shape = (5, *values.shape)
            if name in leading:
                array = np.broadcast_to(array, shape) if backend is NUMPY else array.expand(shape)
            expanded[name] = array
        many = backend.numpy(call.run_on(backend, expanded, **keywords))
        assert_close(many, np.broadcast_to(one, (5, *one.shape)), call.operation)

    @every_call
    def test_inputs_are_left_alone(self, backend, call):
        arrays = {name: backend.array(values) for name, values in call.floats.items()}
        keywords = {
            name: backend.array(value)
            for name, value in call.keywords.items()
            if isinstance(value, np.ndarray)
        }
        result = call.run_on(backend, arrays, **keywords)
        result[...] = 7  # nor is the result a view of an input
        for name, values in call.floats.items():
            np.testing.assert_array_equal(backend.numpy(arrays[name]), values)
        for name, values in keywords.items():
            np.testing.assert_array_equal(backend.numpy(values), call.keywords[name])


class TestBatches:
    @every_call
    def test_batch_independence(self, backend, call):
        """Each item of a batch has the result it has alone, also without any leading axis."""
        together = backend.numpy(call.run(backend))
        leading = list(call.floats)[: call.with_leading]
        for index in np.ndindex(LEAD):
            alone = {
                name: values[index] if name in leading else values
                for name, values in call.floats.items()
            }
            keywords = {
                name: value[index] if isinstance(value, np.ndarray) else value
                for name, value in call.keywords.items()
            }
            result = backend.numpy(call.run(backend, alone, **keywords))
            assert_close(together[index], result, call.operation)


class TestEmpty:
    """Sizes of zero, one at a time, give the empty or the zero result."""

    @pytest.mark.parametrize("empty", ["batch", "queries", "keys", "widths", "values"])
    def test_attention(self, backend, empty):
        b = 0 if empty == "batch" else 2
        m = 0 if empty == "queries" else 3
        n = 0 if empty == "keys" else 4
        d_k = 0 if empty == "widths" else 5
        d_v = 0 if empty == "values" else 6
        query, key = backend.array(normal(1, b, m, d_k)), backend.array(normal(2, b, n, d_k))
        value, mask = backend.array(normal(3, b, n, d_v)), backend.array(random_mask(4, b, m, n))
        bias = backend.array(normal(5, b, m, n))
        functions = backend.functions
        for keywords in ({}, {"causal": True}, {"mask": mask}, {"bias": bias}):
            output, weights = functions.scaled_dot_product_attention(
                query, key, value, return_weights=True, **keywords
            )
            assert tuple(output.shape) == (b, m, d_v)
            assert tuple(weights.shape) == (b, m, n)
            if empty == "keys":
                assert not backend.numpy(output).any()
        scores = functions.dot_scores(query, key)
        if empty == "widths":
            assert not backend.numpy(scores).any()
        assert tuple(scores.shape) == (b, m, n)
        assert tuple(functions.softmax(scores).shape) == (b, m, n)
        assert tuple(functions.softmax(scores, -2).shape) == (b, m, n)
        assert tuple(functions.softmax_jacobian(scores).shape) == (b, m, n, n)
        centre, uniform = backend.array(np.zeros((b, m))), backend.array(np.zeros((b, m)))
        assert tuple(functions.local_p_weights(scores, centre, 2).shape) == (b, m, n)
        for drawn in (None, uniform):
            output, weights = functions.hard_attention(
                scores, value, mask, uniform=drawn, return_weights=True
            )
            assert tuple(output.shape) == (b, m, d_v)
            assert tuple(weights.shape) == (b, m, n)
        weight = backend.array(normal(6, d_k, 3))
        other_key = backend.array(normal(7, b, n, 3))
        assert tuple(functions.general_scores(query, other_key, weight).shape) == (b, m, n)
        for d_a in (0, 2):
            w_query, w_key = backend.array(normal(8, d_k, d_a)), backend.array(normal(9, 3, d_a))
            v = backend.array(normal(10, d_a))
            additive = functions.additive_scores(query, other_key, w_query, w_key, v)
            assert tuple(additive.shape) == (b, m, n)

    def test_masks(self, backend):
        functions = backend.functions
        for m, n in ((0, 0), (0, 3), (3, 0)):
            for mask in (
                functions.causal_mask(m, n),
                functions.causal_mask(m, n, align="start"),
                functions.local_mask(m, n, 1),
                functions.strided_mask(m, n, 2),
                functions.global_mask(m, n, 1),
                functions.local_m_mask(m, n, 1),
            ):
                assert tuple(mask.shape) == (m, n)
        assert tuple(functions.padding_mask(backend.array(np.zeros(0, int)), 4).shape) == (0, 1, 4)
        assert tuple(functions.padding_mask([], 4).shape) == (0, 1, 4)
        assert tuple(functions.padding_mask([0, 0], 0).shape) == (2, 1, 0)


class TestEmptyRows:
    """A row with nothing to attend to has weights 0 and output 0, whatever the scores are."""

    @pytest.mark.parametrize("fill", [0.0, 1e30, -1e30, np.nan, np.inf, -np.inf])
    def test_masked_row(self, backend, fill):
        scores, mask = SCORES.copy(), MASK.copy()
        scores[0, 1, 2], mask[0, 1, 2] = fill, False
        scores, value, mask = map(backend.array, (scores, VALUE, mask))
        functions = backend.functions
        for weights in (
            functions.masked_softmax(scores, mask),
            functions.attend(scores, value, mask, return_weights=True)[1],
            functions.attend(scores, value, mask, return_weights=True)[0],
            functions.hard_attention(scores, value, mask),
            functions.hard_attention(scores, value, mask, uniform=backend.array(np.zeros(M))),
            functions.local_p_weights(scores, backend.array(np.full(M, 2.0)), 3, mask=mask),
        ):
            assert not backend.numpy(weights)[0, 1, 2].any()
            assert np.isfinite(backend.numpy(weights)).all()

    def test_scores_of_minus_infinity(self, backend):
        scores = backend.array(np.full((2, 3), -np.inf))
        functions = backend.functions
        for weights in (
            functions.softmax(scores),
            functions.softmax(scores, 0),
            functions.masked_softmax(scores),
            functions.attend(scores, backend.array(normal(1, 3, 4))),
            functions.hard_attention(scores, backend.array(normal(1, 3, 4))),
            functions.local_p_weights(scores, backend.array([0.0, 1.0]), 2),
        ):
            assert not backend.numpy(weights).any()

    def test_more_queries_than_keys(self, backend):
        """Under a causal mask the early queries see nothing; that is no error."""
        query, key, value = map(backend.array, (normal(1, 5, 3), normal(2, 2, 3), normal(3, 2, 4)))
        output = backend.functions.scaled_dot_product_attention(query, key, value, causal=True)
        output = backend.numpy(output)
        assert not output[:3].any()
        assert_close(output[3], backend.numpy(value)[0], "output")


BAD = [np.nan, np.inf, -np.inf, 1e308]


@pytest.mark.parametrize("bad", BAD)
class TestNoInfluence:
    """What stands at masked positions of keys and values changes nothing, for each query by its own mask."""

    def test_padding(self, backend, bad):
        lengths = np.array([5, 2])
        key, value = KEY.copy(), VALUE.copy()
        key[1, :, 2:], value[1, :, 2:] = bad, bad
        functions = backend.functions
        mask = functions.padding_mask(backend.array(lengths), N)[:, None]
        attention = functions.scaled_dot_product_attention
        clean = attention(*map(backend.array, (QUERY, KEY, VALUE)), mask)
        dirty = attention(*map(backend.array, (QUERY, key, value)), mask)
        assert_close(backend.numpy(dirty), backend.numpy(clean), "output")

    def test_the_future(self, backend, bad):
        """Key 4 is masked for queries 0 to 2 and seen by query 3, which alone may show it."""
        key, value = KEY.copy(), VALUE.copy()
        key[..., 4, :], value[..., 4, :] = bad, bad
        attention = backend.functions.scaled_dot_product_attention
        clean = backend.numpy(attention(*map(backend.array, (QUERY, KEY, VALUE)), causal=True))
        dirty = backend.numpy(attention(*map(backend.array, (QUERY, key, value)), causal=True))
        assert_close(dirty[..., :3, :], clean[..., :3, :], "output")
        assert not np.allclose(dirty[..., 3, :], clean[..., 3, :])

    def test_a_bias_of_minus_infinity_masks(self, backend, bad):
        key, value = KEY.copy(), VALUE.copy()
        key[..., 1, :], value[..., 1, :] = bad, bad
        mask = np.arange(N) != 1
        functions = backend.functions
        bias = functions.to_additive(backend.array(mask), backend.dtype("float64"))
        attention = functions.scaled_dot_product_attention
        clean = attention(*map(backend.array, (QUERY, KEY, VALUE)), backend.array(mask))
        dirty = attention(*map(backend.array, (QUERY, key, value)), bias=bias)
        assert_close(backend.numpy(dirty), backend.numpy(clean), "output")

    def test_scores_and_values(self, backend, bad):
        scores, value = SCORES.copy(), VALUE.copy()
        scores[..., 1], value[..., 1, :] = bad, bad
        mask = backend.array(np.arange(N) != 1)
        functions = backend.functions
        uniform = backend.array(np.linspace(0, 0.99, M))
        centre = backend.array(np.full(M, 2.0))
        clean, clean_value = backend.array(SCORES), backend.array(VALUE)
        dirty, dirty_value = backend.array(scores), backend.array(value)
        for expected, actual in (
            (functions.masked_softmax(clean, mask), functions.masked_softmax(dirty, mask)),
            (
                functions.attend(clean, clean_value, mask),
                functions.attend(dirty, dirty_value, mask),
            ),
            (
                functions.hard_attention(clean, clean_value, mask),
                functions.hard_attention(dirty, dirty_value, mask),
            ),
            (
                functions.hard_attention(clean, clean_value, mask, uniform=uniform),
                functions.hard_attention(dirty, dirty_value, mask, uniform=uniform),
            ),
            (
                functions.local_p_weights(clean, centre, 2, mask=mask),
                functions.local_p_weights(dirty, centre, 2, mask=mask),
            ),
        ):
            assert_close(backend.numpy(actual), backend.numpy(expected), "output")


class TestVisible:
    """What is not masked does show: nothing is swept under the carpet."""

    @pytest.mark.parametrize(
        ("bad", "shown"), [(np.nan, np.nan), (np.inf, np.inf), (-np.inf, -np.inf)]
    )
    def test_values(self, backend, bad, shown):
        value = np.array([[1.0, 1.0], [bad, 3.0], [5.0, 5.0]])
        mask = np.array([[True, True, True], [True, False, True]])
        output = backend.functions.attend(
            backend.array(np.zeros((2, 3))), backend.array(value), backend.array(mask)
        )
        assert_close(backend.numpy(output), np.array([[shown, 3.0], [3.0, 3.0]]), "output")

    def test_both_infinities_make_nan(self, backend):
        value = backend.array([[np.inf], [-np.inf]])
        output = backend.functions.attend(backend.array(np.zeros((1, 2))), value)
        assert np.isnan(backend.numpy(output)).all()

    def test_nan_scores(self, backend):
        scores = backend.array([[0.0, np.nan, -np.inf], [0.0, 0.0, 0.0]])
        functions = backend.functions
        expected = np.array([[np.nan, np.nan, 0.0], [1 / 3] * 3])
        assert_close(backend.numpy(functions.softmax(scores)), expected, "weights")
        uniform = backend.array([0.1, 0.1])
        for drawn in (None, uniform):
            output = functions.hard_attention(
                scores, backend.array([[1.0], [2.0], [3.0]]), uniform=drawn
            )
            assert_close(backend.numpy(output), np.array([[np.nan], [1.0]]), "output")

    def test_scores_of_plus_infinity_share_the_weight(self, backend):
        scores = backend.array([[np.inf, 1.0, np.inf, -np.inf], [np.inf, 0.0, 1.0, 2.0]])
        expected = np.array([[0.5, 0.0, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0]])
        functions = backend.functions
        assert_close(backend.numpy(functions.softmax(scores)), expected, "weights")
        assert_close(backend.numpy(functions.masked_softmax(scores)), expected, "weights")


class TestNoWarning:
    """No floating-point warning leaves a function, even if the caller turned all of them into errors."""

    @every_call
    @pytest.mark.parametrize("bad", [*BAD, -1e308, 5e-324])
    def test_strange_numbers(self, call, bad):
        strange = {name: values.copy() for name, values in call.floats.items()}
        for values in strange.values():
            values.flat[:: 2 if values.size > 8 else 1] = bad
        with np.errstate(all="raise"):
            call.run(NUMPY, strange)

    @every_call
    def test_overflow_when_narrowed(self, call):
        large = {name: np.full(values.shape, 6e4) for name, values in call.floats.items()}
        with np.errstate(all="raise"):
            call.run(NUMPY, large, dtype="float16")


class TestHelp:
    @pytest.mark.parametrize("module", ["scores", "weights", "masks", "attention"])
    def test_docstrings_are_complete(self, backend, module):
        package = __import__(f"attnkit.{backend.name}.{module}", fromlist=["__all__"])
        for name in package.__all__:
            function = getattr(package, name)
            text = inspect.getdoc(function)
            for section in ("Parameters", "Returns", "Raises", "Examples"):
                assert f"{section}\n---" in text, f"{name} lacks {section}"
            for parameter in inspect.signature(function).parameters:
                assert parameter in text
            assert inspect.getsource(function).count(f"def {name}(") == 1

    @every_call
    def test_a_missing_argument_is_named(self, backend, call):
        for name in set(call.floats) - {"bias"}:
            arrays = {
                other: backend.array(values)
                for other, values in call.floats.items()
                if other != name
            }
            with pytest.raises(TypeError, match=rf"{call.name}\(\) missing .*'{name}'"):
                call.run_on(backend, arrays)
