"""Errors that teach: each names the argument, says what was expected and what came, and gives the likely cause."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import attnkit
from attnkit import errors
from attnkit.arguments import converting
from tests.attnkit.backends import BACKENDS, NUMPY, TORCH

WIDTHS = "key has width 32 but query has width 64; .* equal widths .additive attention does not"
LENGTHS = "value has length 6 but key has length 5; every key needs one value .*different sequences"
KEYS = "value has length 6 but scores has 5 keys; every key needs one value .*transposed"
LEADING = r"leading axes of query \(2, 3\) and key \(2, 4\) do not broadcast; batch and heads .*another place"
BOOLEAN = "must be boolean but is .*True means may attend.*bias=.*from_drop_mask.*mask == 1"

# Function, arguments as shapes (tuples), masks ("bool" and a shape) or values, keywords, error, message.
WRONG = [
    # widths, lengths, axes
    ("dot_scores", [(2, 64), (5, 32)], {}, ValueError, WIDTHS),
    ("scaled_dot_scores", [(2, 64), (5, 32)], {}, ValueError, WIDTHS),
    ("scaled_dot_product_attention", [(2, 64), (5, 32), (5, 3)], {}, ValueError, WIDTHS),
    ("scaled_dot_product_attention", [(2, 4), (5, 4), (6, 3)], {}, ValueError, LENGTHS),
    ("attend", [(2, 5), (6, 3)], {}, ValueError, KEYS),
    ("hard_attention", [(2, 5), (6, 3)], {}, ValueError, KEYS),
    ("dot_scores", [(2, 3, 4, 8), (2, 4, 5, 8)], {}, ValueError, LEADING),
    ("general_scores", [(2, 3, 4, 8), (2, 4, 5, 8), (8, 8)], {}, ValueError, LEADING),
    ("additive_scores", [(2, 3, 4, 8), (2, 4, 5, 8), (8, 2), (8, 2), (2,)], {}, ValueError, LEADING),
    (
        "attend",
        [(2, 3, 4, 5), (2, 4, 5, 8)],
        {},
        ValueError,
        r"leading axes of scores \(2, 3\) and value \(2, 4\)",
    ),
    (
        "scaled_dot_product_attention",
        [(2, 3, 4, 8), (2, 3, 5, 8), (2, 4, 5, 8)],
        {},
        ValueError,
        r"leading axes of query \(2, 3\) and key \(2, 3\) and value \(2, 4\)",
    ),
    (
        "dot_scores",
        [(8,), (5, 8)],
        {},
        ValueError,
        r"query needs at least 2 axes, \(\.\.\., m, d_k\), but has shape \(8,\); .*query\[None, :\]",
    ),
    ("dot_scores", [(5, 8), (8,)], {}, ValueError, r"key needs at least 2 axes, \(\.\.\., n, d_k\)"),
    ("dot_scores", [(), (5, 8)], {}, ValueError, r"query needs at least 2 axes.*shape \(\)"),
    ("attend", [(5,), (5, 8)], {}, ValueError, r"scores needs at least 2 axes, \(\.\.\., m, n\)"),
    ("attend", [(2, 5), (5,)], {}, ValueError, r"value needs at least 2 axes, \(\.\.\., n, d_v\)"),
    ("scaled_dot_product_attention", [(2, 4), (5, 4), (5,)], {}, ValueError, "value needs at least 2"),
    ("softmax_jacobian", [()], {}, ValueError, r"weights needs at least 1 axis, \(\.\.\., n\)"),
    ("local_p_weights", [(5,), (5,), 2], {}, ValueError, "scores needs at least 2 axes"),
    # parameters
    (
        "general_scores",
        [(2, 3), (5, 4), (4, 3)],
        {},
        ValueError,
        r"weight has shape \(4, 3\) but \(d_q, d_k\) is \(3, 4\) here; it is transposed .nn\.Linear",
    ),
    (
        "general_scores",
        [(2, 3), (5, 4), (3, 5)],
        {},
        ValueError,
        r"weight has shape \(3, 5\) but .*\(3, 4\) here; weights multiply from the right: x @ weight",
    ),
    (
        "general_scores",
        [(2, 3), (5, 4), (1, 3, 4)],
        {},
        ValueError,
        r"weight needs the shape \(d_q, d_k\) but has shape \(1, 3, 4\); parameters carry no batch",
    ),
    (
        "additive_scores",
        [(2, 3), (5, 4), (3, 7), (4, 6), (6,)],
        {},
        ValueError,
        r"w_query has shape \(3, 7\) but \(d_q, d_a\) is \(3, 6\) here",
    ),
    (
        "additive_scores",
        [(2, 3), (5, 4), (3, 6), (6, 4), (6,)],
        {},
        ValueError,
        r"w_key has shape \(6, 4\) but \(d_k, d_a\) is \(4, 6\) here; it is transposed",
    ),
    (
        "additive_scores",
        [(2, 3), (5, 4), (3, 6), (4, 6), (6, 1)],
        {},
        ValueError,
        r"v needs the shape \(d_a,\) but has shape \(6, 1\)",
    ),
    ("scaled_dot_scores", [(2, 4), (5, 4), "sqrt"], {}, TypeError, "scale must be a real number.*'sqrt'"),
    ("scaled_dot_scores", [(2, 4), (5, 4), 1j], {}, TypeError, "scale must be a real number.*complex"),
    ("scaled_dot_product_attention", [(2, 4)] * 3, {"scale": [2]}, TypeError, "scale must be a real"),
    # masks and bias
    ("masked_softmax", [(2, 5), (2, 5)], {}, TypeError, f"mask {BOOLEAN}"),
    ("attend", [(2, 5), (5, 3), (2, 5)], {}, TypeError, f"mask {BOOLEAN}"),
    ("scaled_dot_product_attention", [(2, 4), (5, 4), (5, 3), (2, 5)], {}, TypeError, f"mask {BOOLEAN}"),
    ("from_drop_mask", [(2, 5)], {}, TypeError, f"mask {BOOLEAN}"),
    ("combine_masks", [("bool", 2, 5), (2, 5)], {}, TypeError, f"mask 1 {BOOLEAN}"),
    (
        "masked_softmax",
        [(2, 5), ("bool", 5, 2)],
        {},
        ValueError,
        r"mask has shape \(5, 2\), which does not broadcast against scores of shape \(2, 5\); .*swapped",
    ),
    (
        "scaled_dot_product_attention",
        [(2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 8), ("bool", 2, 1, 5)],
        {},
        ValueError,
        r"mask has shape \(2, 1, 5\).*scores of shape \(2, 3, 4, 5\); over split heads.*mask\[:, None\]",
    ),
    (
        "scaled_dot_product_attention",
        [(2, 3, 8), (2, 5, 8), (2, 5, 8), ("bool", 2, 5)],
        {},
        ValueError,
        r"mask has shape \(2, 5\).*; one entry for each key, \(B, n\), goes in as mask\[:, None, :\]$",
    ),
    (
        "scaled_dot_product_attention",
        [(2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 8), ("bool", 2, 5)],
        {},
        ValueError,
        r"mask has shape \(2, 5\).*; one entry for each key, \(B, n\), goes in as mask\[:, None, None, :\]$",
    ),
    (
        "scaled_dot_product_attention",
        [(2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 8)],
        {"bias": (2, 4, 5)},
        ValueError,
        r"bias has shape \(2, 4, 5\).*; over split heads a bias without .* goes in as bias\[:, None\]$",
    ),
    (
        "scaled_dot_product_attention",
        [(2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 8)],
        {"bias": (8, 4, 5)},
        ValueError,
        r"bias has shape \(8, 4, 5\).*; its last axes are queries and keys, in this order",
    ),
    (
        "masked_softmax",
        [(2, 5), ("bool", 4)],
        {},
        ValueError,
        r"mask has shape \(4,\).*queries and keys, in this order, each of full size or 1",
    ),
    ("masked_softmax", [(1, 5), ("bool", 2, 5)], {}, ValueError, "mask has shape"),
    ("masked_softmax", [(2, 1), ("bool", 2, 5)], {}, ValueError, "mask has shape"),
    ("attend", [(2, 5), (5, 3), ("bool", 3, 5)], {}, ValueError, "mask has shape"),
    (
        "scaled_dot_product_attention",
        [(2, 4), (5, 4), (5, 3)],
        {"bias": (5, 2)},
        ValueError,
        r"bias has shape \(5, 2\).*scores of shape \(2, 5\); .*swapped",
    ),
    (
        "scaled_dot_product_attention",
        [(2, 4), (5, 4), (5, 3)],
        {"bias": ("bool", 2, 5)},
        TypeError,
        "bias must be real but is .*bool; a boolean belongs into mask=",
    ),
    (
        "combine_masks",
        [("bool", 2, 5), ("bool", 3, 5)],
        {},
        ValueError,
        r"masks of shapes \(2, 5\) and \(3, 5\) do not broadcast; .*key_mask\[:, None, :\]",
    ),
    # sizes and words
    ("causal_mask", [-1, 2], {}, ValueError, "m must be at least 0 but is -1; .*a subtraction"),
    ("causal_mask", [2, -1], {}, ValueError, "n must be at least 0 but is -1"),
    ("causal_mask", [2.0, 2], {}, TypeError, "m must be a whole number but is 2.0 of type float"),
    ("causal_mask", [2, 2], {"align": "left"}, ValueError, "align must be 'end' or 'start'.*'left'"),
    ("local_mask", [2, 2, -1], {}, ValueError, "window must be at least 0 but is -1"),
    ("causal_mask", [2, True], {}, TypeError, "n must be a whole number but is True of type bool; .*switch"),
    ("causal_mask", [np.bool_(True), 2], {}, TypeError, "m must be a whole number but is .*True.*; .*switch"),
    ("local_mask", [2, 2, torch.tensor(True)], {}, TypeError, "window must be a whole .*True.*; .*switch"),
    ("local_mask", [2, 2, 1.5], {}, TypeError, "window must be a whole number but is 1.5.*tokens"),
    ("local_m_mask", [2, 2, -1], {}, ValueError, "window must be at least 0"),
    ("strided_mask", [2, 2, 0], {}, ValueError, "stride must be at least 1 but is 0; .*// round"),
    ("global_mask", [2, 2, -1], {}, ValueError, "n_global must be at least 0"),
    ("global_mask", [2, 2, None], {}, TypeError, "n_global must be a whole number but is None"),
    ("padding_mask", [[3, 6], 5], {}, ValueError, "lengths must lie between 0 and n = 5 .* from 3 to 6; n is"),
    ("padding_mask", [[-1, 5], 5], {}, ValueError, "lengths must lie between 0 and n = 5 .* from -1 to 5"),
    ("padding_mask", [[2.0], 5], {}, TypeError, r"lengths must be integers but is .*mask\.sum\(-1\)"),
    ("padding_mask", [[True], 5], {}, TypeError, "lengths must be integers but is .*bool"),
    ("padding_mask", [[2], "5"], {}, TypeError, "n must be a whole number but is '5'"),
    ("block_mask", [[0.0, 1.0]], {}, TypeError, "query_block must be integers but is .*number of its block"),
    ("block_mask", [[0, 1], [True]], {}, TypeError, "key_block must be integers but is .*bool"),
    ("block_mask", [3], {}, ValueError, r"query_block needs at least 1 axis, .* but has shape \(\)"),
    ("block_mask", [[[0, 1]] * 2, [[0, 1]] * 3], {}, ValueError, r"\(2, 2, 1\).*\(3, 1, 2\)"),
    ("softmax", [(2, 5), 2], {}, ValueError, r"x has shape \(2, 5\) and no axis 2; axes count from 0"),
    ("softmax", [(2, 5), -3], {}, ValueError, "no axis -3"),
    ("softmax", [()], {}, ValueError, r"x has shape \(\) and no axis -1"),
    ("softmax", [(2, 5), 0.5], {}, TypeError, "axis must be a whole number but is 0.5"),
    # hard and local attention
    (
        "hard_attention",
        [(2, 5), (5, 3)],
        {"uniform": (3,)},
        ValueError,
        r"uniform has shape \(3,\) but scores of shape \(2, 5\) have the queries \(2,\); one number",
    ),
    (
        "local_p_weights",
        [(2, 5), (5,), 2],
        {},
        ValueError,
        r"centre has shape \(5,\) but scores of shape \(2, 5\) have the queries \(2,\)",
    ),
    ("local_p_weights", [(2, 5), (2,), 0], {}, ValueError, "window must be above 0 and finite but is 0; .*window / 2"),
    ("local_p_weights", [(2, 5), (2,), np.nan], {}, ValueError, "window must be above 0 and finite"),
    ("local_p_weights", [(2, 5), (2,), np.inf], {}, ValueError, "window must be above 0 and finite"),
    ("local_p_weights", [(2, 5), (2,), None], {}, TypeError, "window must be a real number but is None"),
]  # fmt: skip


def prepare(backend, item):
    """Make ones of a shape, a mask of a shape, or return the value as it is."""
    if isinstance(item, tuple) and item and item[0] == "bool":
        return backend.array(np.ones(item[1:], bool))
    return backend.array(np.ones(item)) if isinstance(item, tuple) else item


@pytest.mark.parametrize(("name", "arguments", "keywords", "error", "message"), WRONG)
def test_wrong_argument(backend, name, arguments, keywords, error, message):
    arguments = [prepare(backend, item) for item in arguments]
    keywords = {key: prepare(backend, item) for key, item in keywords.items()}
    with pytest.raises(error, match=message) as caught:
        getattr(backend.functions, name)(*arguments, **keywords)
    assert "; " in str(caught.value), "no likely cause"


@pytest.mark.parametrize("bad", [-0.1, 1.5, np.nan])
def test_random_numbers_outside_the_unit_interval(backend, bad):
    scores, value = backend.array(np.zeros((2, 5))), backend.array(np.zeros((5, 3)))
    message = r"uniform must lie in \[0, 1\) but reaches from .*normal numbers"
    with pytest.raises(ValueError, match=message):
        backend.functions.hard_attention(scores, value, uniform=backend.array([0.5, bad]))


def test_an_additive_mask_needs_a_float_dtype(backend):
    mask = backend.array([True])
    for dtype in (backend.dtype("int64"), backend.dtype("bool")):
        with pytest.raises(
            TypeError, match=r"dtype must be a float dtype.*but is .*-inf that masks"
        ):
            backend.functions.to_additive(mask, dtype)
    with pytest.raises(TypeError, match="mask must be boolean"):
        backend.functions.to_additive(backend.array([1.0]), backend.dtype("float32"))


@pytest.mark.parametrize("dtype", ["float33", None, "int64"])
def test_what_is_no_dtype(backend, dtype):
    with pytest.raises(TypeError, match=r"dtype must be a float dtype.* but is .*-inf that masks"):
        backend.functions.to_additive(backend.array([True]), dtype)


def test_a_numpy_dtype_for_torch():
    with pytest.raises(TypeError, match=r"dtype must be a float dtype of torch but is .*float32"):
        TORCH.functions.to_additive(torch.tensor([True]), np.float32)


@pytest.mark.parametrize("stranger", [np.ones((2, 3)), [[1.0, 2.0]], 1.0])
def test_torch_takes_tensors(stranger):
    tensor = torch.ones(2, 3)
    message = "query must be a torch.Tensor but is .*torch.as_tensor makes one.*attnkit.numpy takes arrays"
    with pytest.raises(TypeError, match=message):
        TORCH.functions.dot_scores(stranger, tensor)
    with pytest.raises(TypeError, match=r"mask must be a torch.Tensor"):
        TORCH.functions.masked_softmax(tensor, stranger)
    with pytest.raises(TypeError, match=r"uniform must be a torch.Tensor"):
        TORCH.functions.hard_attention(tensor, torch.ones(3, 1), uniform=stranger)


@pytest.mark.parametrize("stranger", ["words", object(), [[None, 1.0]]])
def test_numpy_takes_numbers(stranger):
    with pytest.raises(
        TypeError, match=r"query must be real but is .*rectangular and hold numbers only"
    ):
        NUMPY.functions.dot_scores(stranger, np.ones((2, 3)))


RAGGED = [[1, 2], [3]]


@pytest.mark.parametrize(
    ("name", "arguments", "argument"),
    [
        ("dot_scores", [RAGGED, np.ones((2, 3))], "query"),
        ("masked_softmax", [np.ones((2, 2)), RAGGED], "mask"),
        ("padding_mask", [RAGGED, 3], "lengths"),
        ("block_mask", [RAGGED], "query_block"),
        ("t5_bucket", [RAGGED, 32, 128], "distance"),
        ("rotary", [np.ones((2, 2)), RAGGED], "positions"),
        ("masked_cross_entropy", [np.ones((2, 2, 5)), RAGGED, np.ones((2, 2), bool)], "target"),
        ("exact_match", [RAGGED, np.ones((2, 2), int), np.ones((2, 2), bool)], "predicted"),
        ("alignment_accuracy", [np.ones((2, 2, 5)), RAGGED], "alignment"),
        ("edge_softmax", [np.ones(3), RAGGED, 3], "target"),
    ],
)
def test_lists_of_unequal_length(name, arguments, argument):
    """NumPy's own message names no argument. Torch takes no lists at all."""
    message = f"{argument} must be rectangular but is ragged; lists must be rectangular"
    with pytest.raises(TypeError, match=message):
        getattr(NUMPY.functions, name)(*arguments)


def test_a_step_that_returns_rows_of_unequal_length():
    with pytest.raises(TypeError, match="the scores of step must be rectangular but is ragged"):
        NUMPY.functions.greedy(lambda token, state: (RAGGED, state), [1, 1], end=0, max_length=2)
    with pytest.raises(TypeError, match="start must be rectangular but is ragged"):
        NUMPY.functions.greedy(lambda token, state: None, RAGGED, end=0, max_length=2)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("multi_head_attention", ["w_querry"], r"lacks w_query, .*; it holds w_querry, which nobody reads .*misspelt"),
        ("multi_head_attention", [], r"lacks w_query, .*; was a part of a mapping handed over"),
        ("graph_attention", ["w_src"], r"lacks w_source, .*; it holds w_src, which nobody reads .*misspelt"),
        ("graph_attention", [], r"lacks w_source, .*; was a part of a mapping handed over"),
        ("feed_forward", ["w1"], r"lacks w_hidden, .*; it holds w1, which nobody reads .*misspelt"),
    ],
)  # fmt: skip
def test_names_of_parameters(backend, name, given, message):
    """A name that is missing is told together with one that may stand in its place."""
    x, edges = backend.array(np.ones((2, 3))), backend.array(np.zeros((2, 1), int))
    arguments = [x, edges] if name == "graph_attention" else [x]
    keywords = {"n_heads": 1} if name == "multi_head_attention" else {}
    parameters = {key: backend.array(np.ones((3, 3))) for key in given}
    with pytest.raises(ValueError, match=f"parameters {message}"):
        getattr(backend.functions, name)(*arguments, parameters=parameters, **keywords)


def test_shapes_print_as_plain_tuples():
    with pytest.raises(ValueError, match="query") as caught:
        TORCH.functions.dot_scores(torch.ones(3), torch.ones(2, 3))
    assert "torch.Size" not in str(caught.value)


def test_names_are_those_of_the_callers_function():
    """The attention checks its own arguments: no message speaks of scores the caller never saw."""
    for backend in BACKENDS:
        with pytest.raises(ValueError, match="length") as caught:
            backend.functions.scaled_dot_product_attention(
                *(backend.array(np.ones(shape)) for shape in ((2, 4), (5, 4), (6, 4)))
            )
        assert "scores" not in str(caught.value)


class TestPieces:
    @pytest.mark.parametrize(
        ("shapes", "result"),
        [
            ([], ()),
            ([(2, 3)], (2, 3)),
            ([(2, 3), (3,)], (2, 3)),
            ([(2, 1), (1, 5), (4, 1, 1)], (4, 2, 5)),
            ([(0, 3), (1, 3)], (0, 3)),
            ([(0,), (3,)], None),
            ([(2, 3), (2, 4)], None),
        ],
    )
    def test_broadcast_shape(self, shapes, result):
        assert errors.broadcast_shape(*shapes) == result

    def test_converting_leaves_out_optional_arguments_that_are_none(self):
        seen = []

        def around(arrays, call):
            seen.append(sorted(arrays))
            return call({name: 2 * array for name, array in arrays.items()})

        function = converting(("x", "bias"), around)(
            lambda x, power=1, *, bias=None: (x, power, bias)
        )
        assert function(1) == (2, 1, None)
        assert function(1, 3, bias=None) == (2, 3, None)
        assert function(power=3, x=1, bias=5) == (2, 3, 10)
        assert seen == [["x"], ["x"], ["bias", "x"]]

    def test_converting_keeps_pythons_own_errors(self):
        function = converting(("x",), lambda arrays, call: call(arrays))(lambda x: x)
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            function()
        with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
            function(1, 2)
        with pytest.raises(TypeError, match="multiple values for argument 'x'"):
            function(1, x=2)


def causes_missing(source):
    """Return the lines of a module that raise an error without a word on the likely cause.

    The cause stands behind a semicolon or a colon, or is a question, or is put together elsewhere.
    """
    missing = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
            continue
        if getattr(node.exc.func, "id", None) not in ("ValueError", "TypeError"):
            continue
        text = " ".join(ast.unparse(argument) for argument in node.exc.args)
        if not any(mark in text for mark in ("; ", ": ", "?")):
            missing.append(node.lineno)
    return missing


def test_every_error_gives_a_likely_cause():
    sources = sorted(Path(attnkit.__file__).parent.rglob("*.py"))
    found = {
        path.name: lines
        for path in sources
        if (lines := causes_missing(path.read_text(encoding="utf-8")))
    }
    assert not found


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("attnkit", ("numpy", "torch", "matplotlib")),
        ("attnkit.numpy", ("torch", "matplotlib", "coursekit")),
    ],
)
def test_imports_stay_light(module, absent):
    code = f"import sys, {module}; sys.exit(any(name in sys.modules for name in {absent!r}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
