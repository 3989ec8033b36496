"""Derivatives of derivatives, and `torch.func`: right, or refused with an error, never silently wrong."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from attnkit import torch as functions
from tests.attnkit.backends import TORCH, normal, random_mask
from tests.tolerances import assert_close

HEADS, M, N, D_K, D_V = 2, 5, 6, 3, 4
KEY_MASK = torch.from_numpy(random_mask(7, HEADS, N))
MASK = torch.from_numpy(random_mask(8, HEADS, M, N))
MASK[:, 2] = False
EDGES = torch.tensor([[0, 1, 2, 3, 3, 4, 1, 1, 4], [1, 0, 0, 0, 4, 1, 2, 2, 4]])


def tensors(*shapes):
    """Return normal numbers that ask for a gradient."""
    return [
        torch.from_numpy(normal(seed, *shape)).requires_grad_() for seed, shape in enumerate(shapes)
    ]


def in_tiles(name, *arguments, pattern, **keywords):
    """Return a function of query, key and value, and the same by scores of all pairs."""

    def tiled(query, key, value):
        return getattr(functions, name)(query, key, value, *arguments, **keywords)

    def dense(query, key, value):
        mask = functions.combine_masks(*pattern)
        return functions.scaled_dot_product_attention(query, key, value, mask)

    return tiled, dense


SEEN = KEY_MASK[:, None]
NEAR, IN_STEP = functions.local_mask(M, N, 1), functions.strided_mask(M, N, 3)
CAUSAL = functions.causal_mask(M, N)
IN_TILES = {
    "local": in_tiles("local_attention", 1, pattern=[NEAR]),
    "local, causal, padding": in_tiles(
        "local_attention", 1, causal=True, key_mask=KEY_MASK, pattern=[NEAR, CAUSAL, SEEN]
    ),
    "strided": in_tiles("strided_attention", 3, pattern=[IN_STEP]),
    "union, padding": in_tiles(
        "sparse_attention",
        window=1,
        n_global=2,
        stride=3,
        key_mask=KEY_MASK,
        pattern=[NEAR | IN_STEP | functions.global_mask(M, N, 2), SEEN],
    ),
    "chunked": in_tiles("chunked_attention", chunk=2, pattern=[]),
    "chunked, causal, mask": in_tiles(
        "chunked_attention", MASK, causal=True, chunk=4, pattern=[MASK, CAUSAL]
    ),
}
MAPS = {
    "elu": lambda x: torch.where(x > 0, x + 1, x.exp()),
    "relu": torch.relu,
    "exp": torch.exp,
    "callable": lambda x: x.square(),
}


def by_features(feature_map, chunk, key_mask=None):
    """Return causal linear attention and the same with all weights written out."""
    features = MAPS[feature_map]

    def linear(query, key, value):
        chosen = features if feature_map == "callable" else feature_map
        return functions.linear_attention(
            query, key, value, feature_map=chosen, causal=True, chunk=chunk, key_mask=key_mask
        )

    def dense(query, key, value):
        weights = features(query) @ features(key).mT * CAUSAL
        if key_mask is not None:
            weights = weights * key_mask[:, None]
        total = weights.sum(-1, keepdim=True)
        return weights @ value / total.masked_fill(total == 0, 1)

    return linear, dense


IN_CHUNKS = {
    "linear": by_features("elu", 2),
    "linear, padding": by_features("elu", 4, KEY_MASK),
    "linear, relu": by_features("relu", 3),
    "linear, exp": by_features("exp", 2),
    "linear, callable": by_features("callable", 2),
}
INPUTS = (HEADS, M, D_K), (HEADS, N, D_K), (HEADS, N, D_V)
each_tiled = pytest.mark.parametrize("name", IN_TILES)
ONE_BY_ONE = IN_TILES | IN_CHUNKS
each_function = pytest.mark.parametrize("name", ONE_BY_ONE)


def on_graph(kind):
    """Return graph attention as a function of features and parameters, and both."""
    torch.manual_seed(1)
    layer = functions.GraphAttention(D_K, 4, 2, kind=kind).double()
    names = [name for name, _ in layer.named_parameters()]

    def function(x, *parameters):
        given = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(layer, given, (x, EDGES))

    return function, [*tensors((HEADS, N, D_K)), *layer.parameters()]


def penalty(function, inputs):
    """Return the gradient of a squared gradient, as a gradient penalty asks for it."""
    slopes = torch.autograd.grad(function(*inputs).sum(), inputs, create_graph=True)
    return torch.autograd.grad(sum(slope.square().sum() for slope in slopes), inputs)


@each_function
def test_second_derivatives_in_parts(name):
    assert gradgradcheck(ONE_BY_ONE[name][0], tensors(*INPUTS), fast_mode=True)


@each_function
def test_a_gradient_penalty_is_that_of_all_pairs(name):
    """Here the gradient that comes back asks for none itself, which hides a missing derivative."""
    results = [penalty(function, tensors(*INPUTS)) for function in ONE_BY_ONE[name]]
    for tiled, dense in zip(*results, strict=True):
        assert_close(tiled.numpy(), dense.numpy(), "gradient")


@each_function
def test_nothing_comes_back_where_nothing_was_asked(name):
    assert gradcheck(ONE_BY_ONE[name][0], tensors(*INPUTS))


@pytest.mark.parametrize("kind", ["gat", "gatv2"])
def test_second_derivatives_on_graphs(kind):
    function, inputs = on_graph(kind)
    assert gradgradcheck(function, inputs)


def test_second_derivatives_of_sparse_features():
    weight = tensors((N, 4))[0]
    x = torch.from_numpy(normal(3, 5, N)).relu().to_sparse()

    def function(weight):
        parameters = {"w_source": weight, "a": weight[:2, :2]}
        return functions.graph_attention(x, EDGES, parameters, kind="gatv2")

    assert gradgradcheck(function, [weight])


@pytest.mark.parametrize("name", [*ONE_BY_ONE, "gat", "gatv2"])
def test_gradients_by_torch_func(name):
    function, inputs = (
        on_graph(name)
        if name in ("gat", "gatv2")
        else (
            ONE_BY_ONE[name][0],
            tensors(*INPUTS),
        )
    )

    def loss(*inputs):
        return function(*inputs).sin().sum()

    places = tuple(range(len(inputs)))
    ours = torch.func.grad(loss, places)(*(x.detach() for x in inputs))
    expected = torch.autograd.grad(loss(*inputs), inputs)
    for actual, right in zip(ours, expected, strict=True):
        assert_close(actual.numpy(), right.numpy(), "gradient")


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # torch's own, in `jvp`
@each_tiled
def test_forward_derivatives_and_vmap_are_refused(name):
    function, inputs = IN_TILES[name][0], [x.detach() for x in tensors(*INPUTS)]
    with pytest.raises(NotImplementedError, match="implement the jvp function"):
        torch.func.jvp(function, tuple(inputs), tuple(map(torch.ones_like, inputs)))
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        torch.func.vmap(lambda query: function(query, *inputs[1:]))(inputs[0][None])


LAYERS = {
    "MultiHeadAttention": (lambda: functions.MultiHeadAttention(4, 2), (2, 3, 4)),
    "EncoderLayer": (lambda: functions.EncoderLayer(4, 2, activation="gelu"), (2, 3, 4)),
    "NonLocalBlock": (lambda: functions.NonLocalBlock(3), (2, 3, 2, 2)),
    "VisionTransformer": (
        lambda: functions.VisionTransformer(4, 2, 1, 4, 1, 2, 4, 3),
        (2, 1, 4, 4),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_second_derivatives_of_layers_need_the_weights(name):
    """The fused kernel has none, and says so."""
    make, shape = LAYERS[name]
    torch.manual_seed(0)
    layer, (x,) = make().double(), tensors(shape)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    assert gradgradcheck(lambda x: layer(x, return_weights=True)[0], [x], fast_mode=True)
    with pytest.raises(RuntimeError, match=r"derivative for .*attention.* is not implemented"):
        penalty(layer, [x])


def test_vmap_of_a_look_up_is_refused():
    """Leading axes do what vmap would."""
    scores, value = (x.detach() for x in tensors((HEADS, M, N), (HEADS, N, D_V)))
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        torch.func.vmap(functions.attend)(scores, value)
    mapped = torch.func.vmap(functions.masked_softmax)(scores)
    assert_close(mapped.numpy(), TORCH.functions.masked_softmax(scores).numpy(), "weights")
