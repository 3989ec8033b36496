"""Layers under `torch.compile` and `torch.export`: one graph, which holds for other batches too."""

import pytest
import torch
from torch._dynamo.utils import counters
from torch.export import Dim, export

from attnkit.torch import (
    DecoderLayer,
    EncoderLayer,
    MultiHeadAttention,
    VisionTransformer,
    scaled_dot_product_attention,
)
from attnkit.torch.language_model import TransformerLanguageModel
from tests.attnkit.backends import normal, random_mask
from tests.tolerances import assert_close

M, N, D, HEADS = 4, 5, 6, 3


def batch(seed, *shape):
    """Return float32 numbers."""
    return torch.from_numpy(normal(seed, *shape)).float()


def mask(b, m, n):
    """Return a random mask."""
    return torch.from_numpy(random_mask(9, b, m, n))


class Called(torch.nn.Module):
    """A layer and how it is called, as a module that takes nothing but positional tensors."""

    def __init__(self, layer, call):
        super().__init__()
        self.layer, self.call = layer, call

    def forward(self, *tensors):
        return self.call(self.layer, *tensors)


# The layer, how it is called, and the tensors of a batch of b.
LAYERS = {
    "MultiHeadAttention": (
        lambda: MultiHeadAttention(D, HEADS),
        lambda layer, x, seen: layer(x, mask=seen, causal=True),
        lambda b: (batch(1, b, M, D), mask(b, M, M)),
    ),
    "EncoderLayer": (
        lambda: EncoderLayer(D, HEADS, norm="pre", activation="gelu"),
        lambda layer, x: layer(x, causal=True),
        lambda b: (batch(1, b, M, D),),
    ),
    "DecoderLayer": (
        lambda: DecoderLayer(D, HEADS),
        lambda layer, x, memory: layer(x, memory),
        lambda b: (batch(1, b, M, D), batch(2, b, N, D)),
    ),
    "VisionTransformer": (
        lambda: VisionTransformer(8, 4, 1, D, 1, HEADS, 8, 3, n_convolutions=1),
        lambda layer, images: layer(images),
        lambda b: (batch(1, b, 1, 8, 8),),
    ),
}
WITH_WEIGHTS = {
    "the look-up": (
        torch.nn.Identity,
        lambda layer, x, seen: scaled_dot_product_attention(x, x, x, seen),
        lambda b: (batch(1, b, M, D), mask(b, M, M)),
    ),
    "weights": (
        lambda: MultiHeadAttention(D, HEADS),
        lambda layer, x: layer(x, return_weights=True)[1],
        lambda b: (batch(1, b, M, D),),
    ),
}


def made(name):
    """Return a layer as it is called, and its tensors for two sizes of a batch."""
    torch.manual_seed(0)
    make, call, tensors = (LAYERS | WITH_WEIGHTS)[name]
    return Called(make().eval(), call), tensors(2), tensors(3)


def assert_same(traced, layer, tensors):
    """Assert that a traced layer gives the numbers of the layer."""
    with torch.no_grad():
        assert_close(traced(*tensors).numpy(), layer(*tensors).numpy(), "layers", "float32")


@pytest.mark.parametrize("name", LAYERS)
def test_compiled_without_a_break_also_for_symbolic_sizes(name):
    layer, first, second = made(name)
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="eager", fullgraph=True)
    assert_same(compiled, layer, first)
    assert_same(compiled, layer, second)  # torch makes what has changed a symbol


@torch.no_grad()
def test_decoding_with_caches_is_compiled_once_for_all_lengths():
    """One graph for the first step, in which sizes are numbers, and one for all that follow."""
    torch.manual_seed(0)
    model = TransformerLanguageModel(7, D, HEADS, n_kv_heads=1).eval()
    tokens = torch.arange(12).reshape(2, 6)[:, [3, 0, 5, 1, 4, 2]] % 7
    torch._dynamo.reset()
    counters.clear()
    compiled, caches = torch.compile(model, backend="eager", fullgraph=True), model.new_caches(2, 6)
    steps = [compiled(tokens[:, i : i + 1], caches) for i in range(6)]
    assert_close(torch.cat(steps, 1).numpy(), model(tokens).numpy(), "layers", "float32")
    assert counters["stats"]["unique_graphs"] == 2


@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")  # sizes that decide are named
@pytest.mark.parametrize("name", LAYERS)
def test_traced_by_the_older_tracer(name):
    layer, first, second = made(name)
    assert_same(torch.jit.trace(layer, first), layer, second)


@pytest.mark.parametrize("name", [*LAYERS, *WITH_WEIGHTS])
def test_exported_for_any_batch(name):
    layer, first, second = made(name)
    sizes = (tuple({0: Dim.AUTO} for _ in first),)
    exported = export(layer, first, dynamic_shapes=sizes, strict=False).module()
    assert_same(exported, layer, first)
    assert_same(exported, layer, second)


def test_an_exported_look_up_silences_what_is_hidden():
    """The graph has no branch that looks at the numbers."""
    layer, (x, _), _ = made("the look-up")
    seen = torch.ones(2, M, M, dtype=torch.bool).tril()
    exported = export(layer, (x, seen), strict=False).module()
    x[:, -1] = torch.nan
    result = exported(x, seen)
    assert result[:, :-1].isfinite().all()
    assert_close(result.numpy(), layer(x, seen).numpy(), "layers", "float32")
