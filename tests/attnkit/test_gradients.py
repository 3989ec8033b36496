"""Derivatives: against finite differences, against torch for the NumPy ones, and no NaN from empty rows or padding."""

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from tests.attnkit.backends import NUMPY, TORCH, normal, random_mask
from tests.attnkit.calls import CALLS
from tests.tolerances import assert_close

functions = TORCH.functions
M, N, D_K, D_V = 3, 4, 2, 5
MASK = torch.tensor([[True, False, True, True], [False] * 4, [True, True, False, True]])


def tensor(seed, *shape):
    """Return normal numbers that ask for a gradient."""
    return torch.from_numpy(normal(seed, *shape)).requires_grad_()


# Every function with what differentiates it; hard attention has a derivative in its values only.
DIFFERENTIABLE = {
    "dot": (functions.dot_scores, [(2, M, D_K), (2, N, D_K)]),
    "scaled": (functions.scaled_dot_scores, [(2, M, D_K), (N, D_K)]),
    "scaled by a factor": (
        lambda query, key: functions.scaled_dot_scores(query, key, -0.7),
        [(2, M, D_K), (N, D_K)],
    ),
    "general": (functions.general_scores, [(2, M, 3), (2, N, D_K), (3, D_K)]),
    "additive": (functions.additive_scores, [(2, M, 3), (2, N, D_K), (3, 2), (D_K, 2), (2,)]),
    "softmax": (functions.softmax, [(2, M, N)]),
    "softmax, other axis": (lambda x: functions.softmax(x, 0), [(2, M, N)]),
    "masked softmax": (lambda scores: functions.masked_softmax(scores, MASK), [(2, M, N)]),
    "jacobian": (functions.softmax_jacobian, [(2, N)]),
    "attend": (lambda scores, value: functions.attend(scores, value, MASK), [(2, M, N), (N, D_V)]),
    "attend, no mask": (
        lambda scores, value: functions.attend(scores, value, return_weights=True),
        [(2, M, N), (N, D_V)],
    ),
    "attention, all seen": (
        functions.scaled_dot_product_attention,
        [(2, M, D_K), (2, N, D_K), (N, D_V)],
    ),
    "attention, a factor and a mask of keys": (
        lambda query, key, value: functions.scaled_dot_product_attention(
            query, key, value, MASK[0], scale=-0.7
        ),
        [(2, M, D_K), (2, N, D_K), (N, D_V)],
    ),
    "attention": (
        lambda query, key, value, bias: functions.scaled_dot_product_attention(
            query, key, value, MASK, causal=True, bias=bias, return_weights=True
        ),
        [(2, M, D_K), (2, N, D_K), (2, N, D_V), (M, N)],
    ),
    "hard": (
        lambda value: functions.hard_attention(torch.from_numpy(normal(9, M, N)), value, MASK),
        [(2, N, D_V)],
    ),
    "local-p": (
        lambda scores, centre: functions.local_p_weights(scores, 1.1 + centre / 9, 1.5, mask=MASK),
        [(2, M, N), (2, M)],
    ),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_first_derivatives(name):
    function, shapes = DIFFERENTIABLE[name]
    assert gradcheck(function, [tensor(seed, *shape) for seed, shape in enumerate(shapes)])


@pytest.mark.parametrize("name", ["softmax", "masked softmax", "attend"])
def test_second_derivatives(name):
    function, shapes = DIFFERENTIABLE[name]
    assert gradgradcheck(function, [tensor(seed, *shape) for seed, shape in enumerate(shapes)])


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_gradients_have_the_dtype_and_shape_of_their_inputs(call):
    for dtype in TORCH.dtypes:
        arrays = {
            name: TORCH.array(values, dtype).requires_grad_()
            for name, values in call.floats.items()
        }
        call.run_on(TORCH, arrays).sum().backward()
        for name, values in arrays.items():
            assert values.grad.dtype == TORCH.dtype(dtype)
            assert tuple(values.grad.shape) == call.floats[name].shape
            assert values.grad.isfinite().all()


def test_the_best_key_has_no_slope():
    """A step function: no gradient in the scores, the chosen value's is one."""
    scores, value = tensor(1, M, N), tensor(2, N, D_V)
    functions.hard_attention(scores, value, MASK).sum().backward()
    assert not scores.grad.any()
    taken = functions.hard_attention(scores, value, MASK, return_weights=True)[1]
    times_taken = taken.detach().sum(0)[:, None]
    assert_close(value.grad, times_taken.expand(N, D_V), "gradient")


class TestEmptyRows:
    @pytest.mark.parametrize("dtype", TORCH.dtypes)
    @pytest.mark.parametrize("way", ["mask", "bias", "scores"])
    def test_gradient_is_zero_and_the_rest_as_alone(self, dtype, way):
        """The gradient with an empty row is that of the other rows on their own."""

        def gradients(query, key, value, mask):
            arrays = [TORCH.array(array, dtype).requires_grad_() for array in (query, key, value)]
            additive = functions.to_additive(mask, TORCH.dtype(dtype))
            if way == "mask":
                output = functions.scaled_dot_product_attention(*arrays, mask)
            elif way == "bias":
                output = functions.scaled_dot_product_attention(*arrays, bias=additive)
            else:
                scores = functions.scaled_dot_scores(*arrays[:2]) + additive
                output = functions.attend(scores, arrays[2])
            (output * output).sum().backward()
            return [TORCH.numpy(array.grad) for array in arrays]

        query, key, value = normal(1, M, D_K), normal(2, N, D_K), normal(3, N, D_V)
        full = gradients(query, key, value, MASK)
        rest = gradients(query[[0, 2]], key, value, MASK[[0, 2]])
        assert not full[0][1].any()
        assert_close(full[0][[0, 2]], rest[0], "gradient", dtype)
        assert_close(full[1], rest[1], "gradient", dtype)
        assert_close(full[2], rest[2], "gradient", dtype)

    def test_all_rows_empty(self):
        query, key, value = tensor(1, M, D_K), tensor(2, N, D_K), tensor(3, N, D_V)
        mask = torch.zeros(M, N, dtype=torch.bool)
        functions.scaled_dot_product_attention(query, key, value, mask).sum().backward()
        for array in (query, key, value):
            assert not array.grad.any()

    def test_softmax_of_minus_infinity(self):
        scores = torch.full((2, 3), -torch.inf, dtype=torch.float64)
        scores[0, 1] = 1.0
        scores.requires_grad_()
        (functions.softmax(scores) * torch.arange(3)).sum().backward()
        assert not scores.grad.any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("way", ["mask", "bias", "one axis"])
def test_padding_reaches_no_gradient(bad, way):
    """NaN and infinity in keys that no query may see: all gradients are those of clean padding."""
    keep = torch.tensor([True, True, False, True])
    keywords = {
        "mask": {"mask": keep.expand(2, M, N)},
        "bias": {"bias": functions.to_additive(keep, torch.float64)},
        "one axis": {"mask": keep},
    }[way]

    def gradients(fill):
        key, value = normal(2, 2, N, D_K), normal(3, 2, N, D_V)
        key[:, 2], value[:, 2] = fill, fill
        arrays = [
            tensor(1, 2, M, D_K),
            *(torch.from_numpy(a).requires_grad_() for a in (key, value)),
        ]
        output = functions.scaled_dot_product_attention(*arrays, **keywords)
        (output * output).sum().backward()
        return [array.grad for array in arrays]

    for dirty, clean in zip(gradients(bad), gradients(0.0), strict=True):
        assert_close(dirty, clean, "gradient")
    assert not gradients(bad)[1][:, 2].any()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_hidden_scores_and_values_reach_no_gradient(bad):
    """A value seen by one query and hidden from another spoils the gradient of the first only."""
    scores, value = normal(1, M, N), normal(2, N, D_V)
    value[1] = bad
    scores[:2, 1] = bad
    scores, value = (torch.from_numpy(array).requires_grad_() for array in (scores, value))
    output = functions.attend(scores, value, MASK)
    assert output[:2].isfinite().all()
    assert not output[2].isfinite().any()
    output[:2].sum().backward()
    assert scores.grad[:2].isfinite().all()
    assert scores.grad[0, [0, 2, 3]].all()


class TestJacobian:
    def test_numpy_against_torch(self):
        scores = normal(1, N)
        of_numpy = NUMPY.functions.softmax_jacobian(NUMPY.functions.softmax(scores))
        automatic = torch.autograd.functional.jacobian(functions.softmax, torch.from_numpy(scores))
        builtin = torch.autograd.functional.jacobian(
            lambda x: torch.softmax(x, -1), torch.from_numpy(scores)
        )
        assert_close(automatic, of_numpy, "gradient")
        assert_close(builtin, of_numpy, "gradient")

    def test_under_a_mask_with_an_empty_row(self):
        scores = torch.from_numpy(normal(1, M, N))
        weights = functions.masked_softmax(scores, MASK)
        ours = functions.softmax_jacobian(weights)
        automatic = torch.autograd.functional.jacobian(
            lambda x: functions.masked_softmax(x, MASK), scores
        )
        for i in range(M):
            assert_close(ours[i], automatic[i, :, i], "gradient")
        assert not ours[1].any()

    def test_a_vector_times_it_is_the_backward_pass(self):
        """What backpropagation does with softmax, batched and in NumPy."""
        scores, incoming = normal(1, 2, M, N), normal(2, 2, M, N)
        mask = random_mask(3, 2, M, N)
        weights = NUMPY.functions.masked_softmax(scores, mask)
        of_numpy = np.einsum(
            "...i,...ij->...j", incoming, NUMPY.functions.softmax_jacobian(weights)
        )
        leaf = torch.from_numpy(scores).requires_grad_()
        functions.masked_softmax(leaf, torch.from_numpy(mask)).backward(torch.from_numpy(incoming))
        assert_close(leaf.grad, of_numpy, "gradient")
