"""What goes in on one device comes out on it, with the same numbers; half precision runs everywhere."""

from unittest import mock

import numpy as np
import pytest
import torch

import attnkit.torch as functions
from attnkit.torch import _tensors
from attnkit.torch._parameters import embed_tokens
from tests.attnkit import calls, test_chunked, test_linear, test_promises_of_layers, test_sparse
from tests.attnkit.backends import normal, random_mask
from tests.attnkit.places import CUDA, HERE, NARROW, PRETENDED
from tests.tolerances import assert_close

B, M, N, D, HEADS, D_FF = 2, 4, 5, 6, 3, 8
HALVES = ("float16", "bfloat16")


class Taking:
    """Hands arrays and modules to a place in one dtype, and remembers what has a gradient."""

    def __init__(self, place, dtype="float64"):
        self.place, self.dtype, self.learned = place, getattr(torch, dtype), []

    def __call__(self, item):
        """Return NumPy arrays, also in mappings and lists, and modules, on the place."""
        if isinstance(item, dict):
            return {name: self(part) for name, part in item.items()}
        if isinstance(item, list):
            return [self(part) for part in item]
        if isinstance(item, torch.nn.Module):
            module = self.place.move(item.to(self.dtype))
            self.learned += module.parameters()
            return module
        if not isinstance(item, np.ndarray):
            return item
        if item.dtype.kind != "f":
            return self.place.take(torch.from_numpy(item))
        tensor = self.place.take(torch.from_numpy(item).to(self.dtype)).requires_grad_()
        self.learned.append(tensor)
        return tensor


def from_call(name, floats, more):
    """Make a case of a call in the lists of other tests."""
    return lambda t: getattr(functions, name)(**t(floats), **t(more))


def whole(low, high, *shape):
    """Return whole numbers from low up to, not including, high."""
    return np.random.default_rng(20).integers(low, high, shape)


def uniform(*shape):
    """Return numbers in [0, 1)."""
    return np.random.default_rng(21).random(shape)


X, MEMORY = normal(31, B, M, D), normal(32, B, N, D)
MASK, KEY_MASK, MEMORY_MASK = (
    random_mask(33, B, M, M),
    random_mask(34, B, N),
    random_mask(35, B, M, N),
)
TOKENS, TARGET = whole(0, 7, B, N), whole(0, 5, B, M)
RIGHT_PADDED = np.arange(N) < np.array([[N], [2]])
EDGES, EDGE_MASK = whole(0, N, 2, 9), random_mask(36, 9)
IMAGES = normal(37, B, 2, 8, 4)
TABLE = normal(38, 7, 7)


def drawn(make, *sizes, **options):
    """Make a module with fixed parameters, none of them all zero."""
    torch.manual_seed(0)
    module = make(*sizes, **options)
    with torch.no_grad():
        for parameter in module.parameters():
            if not parameter.any():
                parameter.normal_(std=0.1)
    return module


def run(module, *sizes, inputs, **options):
    """Make the case of a module: what it gives for these inputs, as positional ones and by name."""

    def case(t):
        arguments, keywords = inputs
        return t(drawn(module, *sizes, **options))(*t(list(arguments)), **t(keywords))

    return case


def with_cache(t):
    """Prompt and next token through a decoder layer that remembers, and its beams exchanged."""
    layer = t(drawn(functions.DecoderLayer, D, HEADS).eval())
    with torch.no_grad():
        cache = layer.new_cache(B, M, N)
        memory, x = t(MEMORY), t(X)
        first = layer(x[:, :3], memory, cache=cache)
        cache.reorder(t(np.array([1, 0])))
        chosen = cache.select(t(np.array([0, 0])))
        second = layer(x[:, 3:], memory, cache=cache)
        return first, second, chosen.own.key, chosen.memory.value


def trained(t):
    """Two steps of the training loop."""
    model, x = t(drawn(torch.nn.Linear, D, 2)), t(X)
    with torch.enable_grad():
        functions.fit(model, lambda step: model(x).square().sum(), n_steps=2, learning_rate=0.1)
    return model.weight.detach()


def translated(model):
    """Make the case of a model that translates."""

    def case(t):
        translator = t(model())
        source, mask = t(TOKENS), t(RIGHT_PADDED)
        written = translator.translate(source, mask, start=1, end=0, max_length=4)
        return *(part for part in written if part is not None), *(
            part for part in translator(source, t(TARGET), mask) if part is not None
        )

    return case


def marked(name, *arguments):
    """Make the case of a function that returns a plain number."""
    return lambda t: torch.tensor(getattr(functions, name)(*t(list(arguments))))


def decoded(t, search, **options):
    """Decode from a table of log-probabilities, whose state is a count for each sequence."""
    table = t(TABLE).detach().log_softmax(-1)
    start = t(np.array([1, 2]))
    return search(
        lambda token, state: (table[token] - 0.1 * state[:, None].to(table), state + 1),
        start,
        end=0,
        max_length=4,
        state=t(np.array([0, 1])),
        **options,
    )


def looking(scheme):
    """Make the case of a scheme of positions: what attention gives with it."""

    def case(t):
        layer = drawn(functions.MultiHeadAttention, 2 * D, HEADS, positions=scheme())
        return t(layer)(t(normal(39, B, M, 2 * D)), causal=True)

    return case


def step_parameters(gates, d_input):
    """Return the parameters of a recurrent step."""
    return {
        "w_input": normal(41, d_input, gates * D),
        "w_state": normal(42, D, gates * D),
        "b_input": normal(43, gates * D),
        "b_state": normal(44, gates * D),
    }


GAT = {"w_source": normal(51, D, 2 * 3), "a_source": normal(52, 2, 3), "a_target": normal(53, 2, 3)}
ATTENTION = {f"w_{name}": normal(54, D, D) for name in ("query", "key", "value", "output")}
CONVOLUTION = {
    "w_convolution": normal(55, 2 * 9, 4),
    "b_convolution": normal(56, 4),
    "norm": {"gain": normal(57, 4)},
}

# The case of a name, or several told apart by a word behind it. A case gets a `Taking`, and returns
# a tensor or a tuple of tensors.
CASES = {
    f"{call.name} {number}": from_call(call.name, call.floats, call.keywords)
    for number, call in enumerate(
        (*calls.CALLS, *test_chunked.CALLS, *test_linear.CALLS, *test_sparse.CALLS)
    )
}
CASES |= {
    name: from_call(name, floats, more)
    for name, floats, more in test_promises_of_layers.CALLS
    if name != "alignment_accuracy"
}
CASES |= {
    "causal_mask": lambda t: functions.causal_mask(M, N, device=t(X).device),
    "local_mask": lambda t: functions.local_mask(M, N, 1, device=t(X).device),
    "strided_mask": lambda t: functions.strided_mask(M, N, 2, device=t(X).device),
    "global_mask": lambda t: functions.global_mask(M, N, 2, device=t(X).device),
    "local_m_mask": lambda t: functions.local_m_mask(M, N, 2, device=t(X).device),
    "padding_mask": lambda t: functions.padding_mask(t(np.array([2, 5])), N),
    "block_mask": lambda t: functions.block_mask(t(TOKENS), t(TARGET)),
    "combine_masks": lambda t: functions.combine_masks(t(MASK), None, t(MASK[:1])),
    "from_drop_mask": lambda t: functions.from_drop_mask(t(MASK)),
    "to_additive": lambda t: functions.to_additive(t(MASK), t.dtype),
    "sinusoidal_positions": lambda t: functions.sinusoidal_positions(
        M, D, dtype=t.dtype, device=t(X).device
    ),
    "relative_index": lambda t: functions.relative_index(M, N, 2, device=t(X).device),
    "t5_bucket": lambda t: functions.t5_bucket(t(np.arange(-40, 40)), 8, 20),
    "t5_bucket, far away": lambda t: functions.t5_bucket(
        t(np.arange(-2100, 0)), 32, 2048, bidirectional=False
    ),
    "alibi_slopes": lambda t: functions.alibi_slopes(3, dtype=t.dtype, device=t(X).device),
    "alibi_bias": lambda t: functions.alibi_bias(M, N, 3, dtype=t.dtype, device=t(X).device),
    "rotary": lambda t: functions.rotary(t(X), t(np.arange(M)), layout="half"),
    "rotary, positions in a list": lambda t: functions.rotary(t(X), [3, 1, 4, 1]),
    "split_heads": lambda t: functions.split_heads(t(X), HEADS),
    "merge_heads": lambda t: functions.merge_heads(t(X)),
    "greedy": lambda t: decoded(t, functions.greedy),
    "beam_search": lambda t: decoded(t, functions.beam_search, beam_width=3),
    "sample": lambda t: functions.sample(
        t(TABLE), t(uniform(7)), temperature=0.7, top_k=5, top_p=0.9
    ),
    "KVCache, DecoderCache": with_cache,
    "edge_softmax": lambda t: functions.edge_softmax(t(normal(1, HEADS, 9)), t(EDGES[1]), N),
    "edge_softmax, large scores": lambda t: functions.edge_softmax(
        t(99 * normal(1, HEADS, 9)), t(EDGES[1]), N, t(EDGE_MASK)
    ),
    "graph_attention": lambda t: functions.graph_attention(
        t(MEMORY), t(EDGES), t(GAT), edge_mask=t(EDGE_MASK), return_weights=True
    ),
    "graph_attention, a NaN in a node without edges": lambda t: functions.graph_attention(
        t(np.vstack([MEMORY[0], np.full((1, D), np.nan)])), t(EDGES), t(GAT), add_self_loops=False
    ),
    "GraphAttention": run(
        functions.GraphAttention, D, D, HEADS, kind="gatv2", inputs=([MEMORY, EDGES], {})
    ),
    "MultiHeadAttention": run(
        functions.MultiHeadAttention, D, HEADS, inputs=([X], {"mask": MASK, "causal": True})
    ),
    "MultiHeadAttention, weights": run(
        functions.MultiHeadAttention,
        D,
        HEADS,
        n_kv_heads=1,
        inputs=([X, MEMORY], {"mask": MEMORY_MASK, "return_weights": True}),
    ),
    "SelfAttention": run(functions.SelfAttention, D, 4, 3, inputs=([X, MASK], {})),
    "LayerNorm": run(functions.LayerNorm, D, inputs=([X], {})),
    "FeedForward": run(functions.FeedForward, D, D_FF, inputs=([X], {})),
    "EncoderLayer": run(functions.EncoderLayer, D, HEADS, inputs=([X, MASK], {"causal": True})),
    "DecoderLayer": run(
        functions.DecoderLayer, D, HEADS, inputs=([X, MEMORY], {"memory_mask": MEMORY_MASK})
    ),
    "LearnedPositions": run(functions.LearnedPositions, 9, D, inputs=([X, 2], {})),
    "Transformer": translated(
        lambda: drawn(functions.Transformer, 7, 5, d_model=D, n_heads=HEADS, n_layers=1)
    ),
    "Transformer, learned positions": translated(
        lambda: drawn(
            functions.Transformer, 7, 5, d_model=D, n_heads=1, n_layers=1, positions="learned"
        )
    ),
    "HeadPositions": looking(functions.HeadPositions),
    "RotaryPositions": looking(functions.RotaryPositions),
    "AlibiPositions": looking(lambda: functions.AlibiPositions(HEADS)),
    "T5Positions": looking(lambda: drawn(functions.T5Positions, HEADS, 8, 20)),
    "ShawPositions": looking(lambda: drawn(functions.ShawPositions, 4, 2)),
    "patchify": lambda t: functions.patchify(t(IMAGES), 2),
    "unpatchify": lambda t: functions.unpatchify(t(normal(1, B, 8, 8)), 2, (8, 4)),
    "patch_embedding": lambda t: functions.patch_embedding(
        t(IMAGES), 2, t(normal(1, 8, D)), t(normal(2, D))
    ),
    "convolution": lambda t: functions.convolution(
        t(IMAGES), t(normal(1, 18, D)), t(normal(2, D)), kernel_size=3, stride=2, padding=1
    ),
    "convolution_layer": lambda t: functions.convolution_layer(t(IMAGES), t(CONVOLUTION)),
    "non_local_block": lambda t: functions.non_local_block(
        t(normal(1, B, D, 2, 3)), t(ATTENTION), return_weights=True
    ),
    "vision_transformer": lambda t: functions.vision_transformer(
        t(IMAGES),
        t(
            {
                "w_patch": normal(61, 8, D),
                "positions": normal(62, 9, D),
                "class_token": normal(63, D),
                "layers": [test_promises_of_layers.ENCODER],
            }
        ),
        2,
        HEADS,
        norm="post",
    ),
    "attention_rollout": lambda t: functions.attention_rollout(t([uniform(3, M, M)] * 2)),
    "ConvolutionLayer": run(functions.ConvolutionLayer, 2, 4, inputs=([IMAGES], {})),
    "NonLocalBlock": run(functions.NonLocalBlock, 2, inputs=([IMAGES], {})),
    "VisionTransformer": run(
        functions.VisionTransformer,
        (8, 4),
        4,
        2,
        D,
        1,
        HEADS,
        D_FF,
        3,
        n_convolutions=1,
        d_pool=4,
        inputs=([IMAGES], {"return_weights": True}),
    ),
    "rnn_step": lambda t: functions.rnn_step(
        t(normal(1, B, 3)), t(X[:, 0]), t(step_parameters(1, 3))
    ),
    "gru_step": lambda t: functions.gru_step(
        t(normal(1, B, 3)), t(X[:, 0]), t(step_parameters(3, 3))
    ),
    "lstm_step": lambda t: functions.lstm_step(
        t(normal(1, B, 3)), t(X[:, 0]), t(X[:, 1]), t(step_parameters(4, 3))
    ),
    "additive_step": lambda t: functions.additive_step(
        t(normal(1, B, 3)),
        t(X[:, 0]),
        t(MEMORY),
        t(step_parameters(3, 3 + D))
        | t({"w_query": normal(2, D, 4), "w_key": normal(3, D, 4), "v": normal(4, 4)}),
        t(KEY_MASK),
    ),
    "luong_step": lambda t: functions.luong_step(
        t(normal(1, B, 3)),
        t(X[:, 0]),
        t(X[:, 1]),
        t(MEMORY),
        t(step_parameters(3, 3 + D))
        | t({"w_general": normal(2, D, D), "w_combine": normal(3, 2 * D, D)}),
        t(KEY_MASK),
    ),
    "Translator, Encoder, AdditiveDecoder": translated(
        lambda: drawn(functions.Translator, 7, 5, attention="additive", d_embedding=3, d_state=4)
    ),
    "Translator, LuongDecoder": translated(
        lambda: drawn(functions.Translator, 7, 5, attention="luong", d_embedding=3, d_state=4)
    ),
    "Translator, FixedDecoder": translated(
        lambda: drawn(functions.Translator, 7, 5, unit="lstm", d_embedding=3, d_state=4)
    ),
    "exact_match": marked("exact_match", TARGET, TARGET, TARGET > 1),
    "alignment_accuracy": marked("alignment_accuracy", uniform(B, M, N), whole(-1, N, B, M)),
    "fit": trained,
}

PLAIN = ("exact_match", "alignment_accuracy")  # a plain number comes out
# What torch itself makes on the processor and moves: the order of packed sentences.
CARRIES = tuple(name for name in CASES if name.startswith("Translator"))


def outcome(place, name, dtype="float64"):
    """Return the tensors that a case gives on a place, and the gradients of the sum of their sines.

    The plain sum of normalised rows is 0 and would have no gradient.
    """
    with place.open() as opened:
        take = Taking(place, dtype)
        result = CASES[name](take)
        results = result if isinstance(result, tuple) else (result,)
        results = [
            part for item in results for part in (item if isinstance(item, tuple) else (item,))
        ]
        learning = [part.sin().sum() for part in results if part.requires_grad]
        if learning:
            sum(learning).backward()
    assert not opened.carried or name in CARRIES, f"{opened.carried} tensors were made elsewhere"
    return results, [tensor.grad for tensor in take.learned if tensor.grad is not None]


def assert_same_on(place, name, dtype="float64"):
    """Assert that results and gradients of a case lie on a place and equal those of the processor."""
    (results, gradients), (right, slopes) = outcome(place, name, dtype), outcome(HERE, name, dtype)
    for actual, expected in zip(results, right, strict=True):
        assert place.has(actual) or name in PLAIN
        assert actual.dtype == expected.dtype
        assert_close(place.back(actual).numpy(), HERE.back(expected).numpy(), "layers", dtype)
    assert all(place.has(gradient) for gradient in gradients)
    # All as one: that of a key's bias is 0 but for rounding, and has no size of its own.
    assert_close(joined(place, gradients), joined(HERE, slopes), "gradient", dtype)


def joined(place, tensors):
    """Return the numbers of tensors as one array."""
    return np.concatenate([place.back(tensor).numpy().ravel() for tensor in tensors] or [()])


def assert_halves_run_on(place, name):
    """Assert that a case runs in half precision: results in it, or in float32 where sums need it."""
    for dtype in HALVES:
        results, gradients = outcome(place, name, dtype)
        for tensor in (*results, *gradients):
            if tensor.is_floating_point():
                wide = name in ("masked_cross_entropy", *PLAIN) and tensor.dim() == 0
                assert tensor.dtype == (torch.float32 if wide else getattr(torch, dtype))
                assert place.back(tensor).isfinite().all() or name == "to_additive"


each_case = pytest.mark.parametrize("name", CASES)
needs_cuda = pytest.mark.skipif(
    not torch.cuda.is_available(),
    reason="no CUDA device here; a pretended one stands in for it in the other tests",
)


@each_case
def test_nothing_is_made_on_another_device_than_the_inputs(name):
    assert_same_on(PRETENDED, name)


@each_case
def test_no_case_needs_float64(name, monkeypatch):
    monkeypatch.setattr(_tensors, "WITHOUT_FLOAT64", ("meta",))  # what a pretended device says
    assert_same_on(NARROW, name, "float32")


@each_case
def test_halves_run(name):
    assert_halves_run_on(HERE, name)


@needs_cuda
@each_case
def test_a_gpu_gives_the_numbers_of_the_processor(name):
    assert_same_on(CUDA, name)


@needs_cuda
@each_case
def test_halves_run_on_a_gpu(name):
    assert_halves_run_on(CUDA, name)


def test_every_function_and_module_has_a_case():
    """All but those around the training loop, which make or take no more than a loss."""
    words = {word.strip(",") for name in CASES for word in name.split()}
    public = {
        name
        for name, item in vars(functions).items()
        if callable(item)
        and item.__module__.startswith("attnkit.torch.")
        and item.__module__ != functions.fit.__module__
    }
    assert public
    assert public <= words, public - words


@pytest.mark.parametrize(
    "place",
    [PRETENDED, pytest.param(CUDA, marks=needs_cuda)],
    ids=lambda place: place.name,
)
def test_a_token_outside_the_vocabulary_never_reaches_a_kernel_of_a_device(place):
    """There it would leave nothing to catch."""
    with place.open():
        embedding = mock.Mock(num_embeddings=5)
        tokens = place.take(torch.tensor([[0, 5]]))
        with pytest.raises(ValueError, match=r"must lie between 0 and 4 but reaches from 0 to 5"):
            embed_tokens("source", tokens, embedding)
        embedding.assert_not_called()


def test_the_pretended_device_tells_what_a_gpu_would():
    with PRETENDED.open() as opened:
        there, here = PRETENDED.take(torch.ones(2)), torch.ones(2)
        with pytest.raises(RuntimeError, match="meets tensors of two devices"):
            there + here
        assert PRETENDED.has(there + torch.tensor(1.0))
        assert not opened.carried
        assert PRETENDED.has(here.to(there))
        assert opened.carried == 1
    with NARROW.open(), pytest.raises(TypeError, match="which this device does not have"):
        NARROW.take(torch.ones(2)).double()
