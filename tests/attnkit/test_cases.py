"""Cases met in public bug reports and peer packages; inputs are our own, right numbers have six digits.

The numbers in the names are those of the list they come from.
"""

import itertools

import numpy as np
import pytest
import torch

from tests.attnkit.backends import BACKENDS, TORCH
from tests.tolerances import assert_close


def g(seed, *shape):
    """Fill an array with a sine, so that inputs can be written down in one line."""
    return np.sin(1.3 * np.arange(np.prod(shape)) + seed).reshape(shape)


SET_A = g(1, 2, 3), g(2, 5, 3), g(3, 5, 2)
SET_B = g(1, 4, 2), g(2, 4, 2), g(3, 4, 2)
SET_W = g(1, 7, 2), g(2, 7, 2), g(3, 7, 2)
DISTANCE = np.arange(7)[:, None] - np.arange(7)
CASE_3 = np.array([[1, 0, 1, 0, 0], [0, 0, 0, 0, 0]], bool)

each_dtype = pytest.mark.parametrize(
    ("backend", "dtype"),
    [(backend, dtype) for backend in BACKENDS for dtype in backend.dtypes],
    ids=lambda item: getattr(item, "name", item),
)


def attention(backend, arrays, mask=None, dtype="float64", **keywords):
    """Run the attention of a back end on NumPy inputs and return NumPy results."""
    mask = None if mask is None else backend.array(mask)
    if "bias" in keywords:
        keywords["bias"] = backend.array(keywords["bias"])
    result = backend.functions.scaled_dot_product_attention(
        *(backend.array(array, dtype) for array in arrays), mask, **keywords
    )
    return tuple(map(backend.numpy, result)) if isinstance(result, tuple) else backend.numpy(result)


@each_dtype
def test_01_causal_with_fewer_queries_than_keys(backend, dtype):
    right = [[-0.369026, -0.393653], [0.258202, 0.434664]]
    assert_close(attention(backend, SET_A, dtype=dtype, causal=True), right, "printed", dtype)
    from_start = backend.functions.causal_mask(2, 5, align="start")
    wrong = [[0.14112, -0.916166], [-0.507116, 0.338203]]
    masked = backend.functions.scaled_dot_product_attention(
        *(backend.array(array, dtype) for array in SET_A), from_start
    )
    assert_close(backend.numpy(masked), wrong, "printed", dtype)


@each_dtype
def test_03_fully_masked_row(backend, dtype):
    output, weights = attention(backend, SET_A, CASE_3, dtype, return_weights=True)
    assert_close(output, [[0.327402, -0.720239], [0, 0]], "printed", dtype)
    assert_close(weights, [[0.767035, 0, 0.232965, 0, 0], [0] * 5], "printed", dtype)
    assert not output[1].any()
    assert not weights[:, [1, 3, 4]].any()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_04_fully_masked_row_backward(dtype):
    query, key, value = (TORCH.array(array, dtype).requires_grad_() for array in SET_A)
    mask = torch.from_numpy(CASE_3)
    TORCH.functions.scaled_dot_product_attention(query, key, value, mask).sum().backward()
    of_query, of_key, of_value = (TORCH.numpy(tensor.grad) for tensor in (query, key, value))
    right_query = [[-0.215938, -0.141638, 0.140162], [0, 0, 0]]
    right_key, right_value = np.zeros((5, 3)), np.zeros((5, 2))
    right_key[0], right_key[2] = (-0.142428, -0.126218, 0.074901), (0.142428, 0.126218, -0.074901)
    right_value[0], right_value[2] = 0.767035, 0.232965
    operation = "printed" if dtype in ("float64", "float32") else "gradient"
    assert_close(of_query, right_query, operation, dtype)
    assert_close(of_key, right_key, operation, dtype)
    assert_close(of_value, right_value, operation, dtype)
    assert not of_query[1].any()
    assert not of_key[[1, 3, 4]].any()
    assert not of_value[[1, 3, 4]].any()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_07_very_negative_scores_beside_a_mask(backend, dtype):
    scores = backend.array([-3e6, -3e6 + 1, 0], dtype)
    weights = backend.functions.masked_softmax(scores, backend.array([True, True, False]))
    assert_close(backend.numpy(weights), [0.268941, 0.731059, 0], "printed", dtype)


@each_dtype
def test_07_the_most_negative_numbers_are_no_mask(backend, dtype):
    lowest = -np.finfo(np.float16).max if dtype == "float16" else -1e30
    scores = backend.array([lowest, lowest, 0], dtype)
    weights = backend.functions.masked_softmax(scores, backend.array([True, True, False]))
    assert backend.numpy(weights).tolist() == [0.5, 0.5, 0]


def test_09_left_padding_together_with_causal(backend):
    keep_key = np.array([False, False, True, True])
    right = [[0, 0], [0, 0], [0.940731, -0.075151], [-0.169104, -0.291437]]
    right_row = [0, 0, 0.422462, 0.577538]
    triangle = np.tril(np.ones((4, 4), bool))
    ways = (
        {"mask": keep_key, "causal": True},
        {"mask": keep_key[None], "causal": True},
        {"mask": keep_key & triangle},
        {"mask": keep_key & triangle, "causal": True},
        {"bias": np.where(keep_key, 0, -np.inf), "causal": True},
        {"bias": np.where(keep_key & triangle, 0, -np.inf)},
    )
    for way, batched, with_weights in itertools.product(ways, (False, True), (False, True)):
        arrays = [array[None, None] if batched else array for array in SET_B]
        result = attention(backend, arrays, **way, return_weights=with_weights)
        output, weights = result if with_weights else (result, None)
        assert_close(output.reshape(4, 2), right, "printed")
        if with_weights:
            assert_close(weights.reshape(4, 4)[3], right_row, "printed")


@each_dtype
def test_12_value_width_different_from_key_width(backend, dtype):
    output = attention(backend, (g(1, 2, 4), g(2, 3, 4), g(3, 3, 7)), dtype=dtype)
    right = [[-0.020857, -0.023283, 0.008401], [0.193321, -0.104778, -0.249377]]
    assert output.shape == (2, 7)
    assert_close(output[:, :3], right, "printed", dtype)


def test_12_padded_head_width_keeps_the_scale(backend):
    query, key, value = SET_A
    wider = [np.pad(query, ((0, 0), (0, 1))), np.pad(key, ((0, 0), (0, 1))), value]
    padded = attention(backend, wider, scale=3**-0.5)
    assert_close(padded, attention(backend, SET_A), "output")
    assert not np.allclose(attention(backend, wider), attention(backend, SET_A))


@each_dtype
def test_16_large_scores(backend, dtype):
    weights = backend.functions.softmax(backend.array([1e4, 0, -1e4], dtype))
    assert backend.numpy(weights).tolist() == [1, 0, 0]
    small = backend.functions.softmax(backend.array([-1e4] * 4, dtype))
    assert backend.numpy(small).tolist() == [0.25] * 4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_16_large_query(backend, dtype):
    arrays = np.array([[3e4, 2.9999e4, 0]]), np.eye(3), np.array([[1.0], [2.0], [4.0]])
    output = attention(backend, arrays, dtype=dtype, scale=1.0)
    assert_close(output, [[1.268941]], "printed", dtype)


@pytest.mark.parametrize("factor", [1e-6, 1, 10, 30, 100, 1e4])
def test_16_scaled_inputs(backend, factor):
    query, key, value = SET_A[0] * factor, SET_A[1] * factor, SET_A[2]
    scores = (query @ key.T) / 3**0.5
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ value
    assert_close(attention(backend, (query, key, value)), expected, "output")
    narrow = attention(backend, (query, key, value), dtype="float32")
    assert np.isfinite(narrow).all()
    pushed_down = attention(backend, (query, key, value), bias=np.full((2, 5), -1e4))
    assert_close(pushed_down, expected, "printed")


def test_28_window_width(backend):
    mask = backend.functions.local_mask(7, 7, 2)
    assert backend.numpy(mask).sum(-1).tolist() == [3, 4, 5, 5, 5, 4, 3]
    np.testing.assert_array_equal(backend.numpy(mask), np.abs(DISTANCE) <= 2)
    output = attention(backend, SET_W, backend.numpy(mask))
    right = [[0.498937, -0.305654], [-0.523607, -0.148367], [0.347032, 0.157702]]
    assert_close(output[:3], right, "printed")
    assert_close(output[6], [-0.061548, 0.309885], "printed")


def test_28_causal_window(backend):
    """A window of 2 looking back is three tokens with the query's own."""
    mask = backend.functions.local_mask(7, 7, 2, causal=True)
    assert backend.numpy(mask).sum(-1).tolist() == [1, 2, 3, 3, 3, 3, 3]
    output = attention(backend, SET_W, backend.numpy(mask))
    right = [
        [0.14112, -0.916166],
        [-0.382729, 0.097507],
        [0.34012, -0.128862],
        [-0.286027, -0.071367],
    ]
    assert_close(output[:4], right, "printed")


def test_31_a_key_in_both_patterns_counts_once(backend):
    functions = backend.functions
    mask = backend.numpy(functions.local_mask(7, 7, 1) | functions.strided_mask(7, 7, 3))
    assert mask.sum(-1).tolist() == [4, 4, 4, 5, 4, 4, 4]
    output = attention(backend, SET_W, mask)
    assert_close(output[3], [0.025201, -0.194209], "printed")
    assert_close(output[0], [-0.218073, -0.288388], "printed")
    assert_close(output[1], [-0.044652, 0.192202], "printed")
