"""What holds for every name, of functions that take parameters or targets: layouts, inputs left alone, complex."""

import numpy as np
import pytest
import torch

from attnkit.torch import DecoderLayer, EncoderLayer
from tests.attnkit.backends import NUMPY, normal, random_mask
from tests.attnkit.test_promises import unusual_layouts
from tests.tolerances import assert_close

B, M, N, D, HEADS, D_FF, CLASSES = 2, 4, 5, 6, 3, 8, 7


def parameters_of(layer):
    """Return the parameters of a layer as nested mappings of NumPy arrays."""

    def plain(item):
        if hasattr(item, "items"):
            return {name: plain(value) for name, value in item.items()}
        return item.detach().numpy().copy()

    return plain(layer.parameter_mapping())


torch.manual_seed(0)
ENCODER = parameters_of(EncoderLayer(D, HEADS, D_FF).double())
DECODER = parameters_of(DecoderLayer(D, HEADS, D_FF).double())
X, MEMORY = normal(1, B, M, D), normal(2, B, N, D)
# Name, the arrays of numbers, everything else.
CALLS = (
    ("layer_norm", {"x": X, "gain": normal(3, D), "bias": normal(4, D)}, {}),
    ("feed_forward", {"x": X}, {"parameters": ENCODER["feed_forward"]}),
    (
        "multi_head_attention",
        {"query": X, "key": MEMORY, "value": normal(3, B, N, D)},
        {
            "parameters": ENCODER["attention"],
            "n_heads": HEADS,
            "mask": random_mask(4, B, M, N),
        },
    ),
    (
        "encoder_layer",
        {"x": X},
        {"parameters": ENCODER, "n_heads": HEADS, "mask": random_mask(4, B, M, M)},
    ),
    (
        "decoder_layer",
        {"x": X, "memory": MEMORY},
        {"parameters": DECODER, "n_heads": HEADS, "memory_mask": random_mask(4, B, 1, N)},
    ),
    (
        "masked_cross_entropy",
        {"logits": normal(1, B, M, CLASSES)},
        {"target": np.arange(B * M).reshape(B, M) % CLASSES, "mask": random_mask(2, B, M)},
    ),
    (
        "alignment_accuracy",
        {"weights": np.abs(normal(1, B, M, N))},
        {"alignment": np.arange(B * M).reshape(B, M) % (N + 1) - 1},
    ),
)
every_call = pytest.mark.parametrize(
    ("name", "floats", "more"), CALLS, ids=[call[0] for call in CALLS]
)


def ready(backend, item):
    """Return arrays, in mappings too, as those of a back end."""
    if isinstance(item, dict):
        return {name: ready(backend, value) for name, value in item.items()}
    return backend.array(item) if isinstance(item, np.ndarray) else item


def as_numpy(backend, result):
    """Return a result, an array or a plain number, as NumPy."""
    return np.asarray(result if isinstance(result, float) else backend.numpy(result))


def assert_unchanged(backend, arrays, values):
    """Assert arrays, in mappings too, equal to the values they were made of."""
    for name, value in values.items():
        if isinstance(value, dict):
            assert_unchanged(backend, arrays[name], value)
        elif isinstance(value, np.ndarray):
            np.testing.assert_array_equal(backend.numpy(arrays[name]), value)


@every_call
def test_any_layout_gives_the_same(backend, name, floats, more):
    function = getattr(backend.functions, name)
    keywords = ready(backend, more)
    expected = as_numpy(backend, function(**ready(backend, floats), **keywords))
    for argument, values in floats.items():
        for layout in unusual_layouts(backend, values):
            arrays = ready(backend, floats) | {argument: layout}
            assert_close(as_numpy(backend, function(**arrays, **keywords)), expected, "layers")


@every_call
def test_inputs_are_left_alone(backend, name, floats, more):
    arrays, keywords = ready(backend, floats), ready(backend, more)
    result = getattr(backend.functions, name)(**arrays, **keywords)
    if getattr(result, "ndim", 0):
        result[...] = 7  # nor is the result a view of an input
    assert_unchanged(backend, arrays, floats)
    assert_unchanged(backend, keywords, more)


@every_call
def test_complex_is_refused(backend, name, floats, more):
    for argument, values in floats.items():
        arrays = ready(backend, floats) | {argument: backend.array(values + 0j)}
        with pytest.raises(TypeError, match=f"{argument} must be real but is .*complex128"):
            getattr(backend.functions, name)(**arrays, **ready(backend, more))


@every_call
def test_whole_numbers_and_booleans_are_promoted(backend, name, floats, more):
    function, keywords = getattr(backend.functions, name), ready(backend, more)
    for kind in ("uint8", "int64", "bool"):
        whole = {argument: (np.abs(x) > 0.5).astype(kind) for argument, x in floats.items()}
        result = as_numpy(backend, function(**ready(backend, whole), **keywords))
        exact = {argument: x.astype(float) for argument, x in whole.items()}
        expected = getattr(NUMPY.functions, name)(**exact, **more)
        dtype = "float64" if "parameters" in more else backend.default
        assert_close(result, np.asarray(expected), "layers", dtype)


BOOLEAN = np.arange(D) % 2 == 0
NORM = {"attention_norm": {"gain": normal(5, D), "bias": BOOLEAN}}
# Every place where a layer adds a bias: a name, the arguments without biases, those that hold them.
BIASES = (
    ("layer_norm", {"x": X}, {"bias": BOOLEAN}),
    (
        "patch_embedding",
        {"images": normal(1, B, 2, 4, 4), "patch_size": 2, "weight": normal(2, 8, D)},
        {"bias": BOOLEAN},
    ),
    (
        "convolution",
        {"images": normal(1, B, 2, 4, 4), "weight": normal(2, 8, D), "kernel_size": 2},
        {"bias": BOOLEAN},
    ),
    ("feed_forward", {"x": X}, {"parameters": ENCODER["feed_forward"] | {"b_output": BOOLEAN}}),
    (
        "multi_head_attention",
        {"query": X, "n_heads": HEADS},
        {"parameters": ENCODER["attention"] | {"b_query": BOOLEAN}},
    ),
    ("encoder_layer", {"x": X, "n_heads": HEADS}, {"parameters": ENCODER | NORM}),
)


def as_numbers(item):
    """Return booleans, in mappings too, as 0.0 and 1.0."""
    if isinstance(item, dict):
        return {name: as_numbers(value) for name, value in item.items()}
    return item.astype(float)


@pytest.mark.parametrize(("name", "more", "biases"), BIASES, ids=[case[0] for case in BIASES])
def test_a_boolean_bias_of_a_layer_counts_as_0_and_1(backend, name, more, biases):
    function = getattr(backend.functions, name)
    results = [
        backend.numpy(function(**ready(backend, more), **ready(backend, given)))
        for given in (biases, as_numbers(biases))
    ]
    assert_close(*results, "layers")


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("scaled_dot_product_attention", {"key": MEMORY, "value": MEMORY}),
        ("multi_head_attention", {"n_heads": HEADS, "parameters": ENCODER["attention"]}),
    ],
)
def test_a_boolean_bias_of_scores_is_a_mask_in_the_wrong_place(backend, name, more):
    bias = np.ones((M, 1), bool)
    expected = "bias must be real but is .*bool; a boolean belongs into mask=, which says who may"
    with pytest.raises(TypeError, match=expected):
        getattr(backend.functions, name)(**ready(backend, {"query": X, "bias": bias} | more))
