"""The bare layer of chapter 6: the formula, who hears whom, and what is said of a wrong width."""

import numpy as np
import pytest
import torch

import attnkit.numpy
from attnkit.torch import SelfAttention
from tests.tolerances import assert_close


def layer(d_model=6, d_k=4, d_v=5, seed=0):
    torch.manual_seed(seed)
    return SelfAttention(d_model, d_k, d_v).double().requires_grad_(False)


def tokens(*lead, length=7, width=6, seed=1):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(*lead, length, width)))


@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (0,)])
def test_it_is_the_formula(lead):
    model, x = layer(), tokens(*lead)
    mask = torch.ones(7, 7, dtype=torch.bool).tril()
    output, weights = model(x, mask, return_weights=True)
    matrices = [w.numpy() for w in (model.w_query, model.w_key, model.w_value)]
    query, key, value = (x.numpy() @ w for w in matrices)
    expected = attnkit.numpy.scaled_dot_product_attention(
        query, key, value, mask.numpy(), return_weights=True
    )
    assert output.shape == (*lead, 7, 5)
    assert weights.shape == (*lead, 7, 7)
    assert_close(output.numpy(), expected[0], "output")
    assert_close(weights.numpy(), expected[1], "weights")
    assert_close(model(x, mask).numpy(), expected[0], "output")


def test_shuffled_tokens_give_shuffled_rows():
    model, x = layer(), tokens(3)
    order = torch.tensor([4, 2, 6, 0, 1, 5, 3])
    assert_close(model(x[:, order]).numpy(), model(x)[:, order].numpy(), "output")


def test_a_token_without_any_allowed_key_hears_nothing():
    model, x = layer(), tokens()
    mask = torch.ones(7, 7, dtype=torch.bool)
    mask[2] = False
    heard, others = model(x, mask), [0, 1, 3, 4, 5, 6]
    assert (heard[2] == 0).all()
    assert_close(heard[others].numpy(), model(x)[others].numpy(), "output")


def test_widths_are_those_of_the_tokens_unless_said_otherwise():
    assert {tuple(p.shape) for p in SelfAttention(6).parameters()} == {(6, 6)}
    shapes = {name: tuple(p.shape) for name, p in layer().named_parameters()}
    assert shapes == {"w_query": (6, 4), "w_key": (6, 4), "w_value": (6, 5)}


def test_matrices_keep_the_size_of_vectors():
    torch.manual_seed(0)
    model = SelfAttention(256).requires_grad_(False)
    for w in (model.w_query, model.w_key, model.w_value):
        assert w.var().item() * 256 == pytest.approx(1, abs=0.05)


def test_another_width_is_refused():
    with pytest.raises(ValueError, match=r"x has width 5 but d_model is 6; whole embeddings go in"):
        layer()(tokens(width=5))
    with pytest.raises(ValueError, match=r"x .*\(\.\.\., T, d_model\)"):
        layer()(torch.zeros(6))
    with pytest.raises(ValueError, match="d_k must be at least 1 but is 0"):
        SelfAttention(6, 0)
    with pytest.raises(TypeError, match=r"d_model must be a whole number but is 6\.0"):
        SelfAttention(6.0)


@pytest.mark.parametrize("of_tokens", [torch.float64, torch.float32, torch.float16, torch.int64])
@pytest.mark.parametrize("of_matrices", [torch.float64, torch.float32, torch.bfloat16])
def test_it_computes_in_the_wider_dtype_of_tokens_and_matrices(of_tokens, of_matrices):
    model, x = layer().to(of_matrices), tokens().to(of_tokens)
    floats = x if x.is_floating_point() else x.float()
    wide = torch.promote_types(floats.dtype, of_matrices)
    output, weights = model(x, return_weights=True)
    assert output.dtype == weights.dtype == wide
    expected = layer().to(of_matrices).to(wide)(floats.to(wide))
    assert_close(output.double().numpy(), expected.double().numpy(), "output", "float64")


def test_narrow_matrices_learn_from_wide_tokens():
    model = layer().float().requires_grad_(True)
    model(tokens()).sum().backward()
    for w in model.parameters():
        assert w.grad.dtype == torch.float32
        assert w.grad.abs().sum() > 0
