"""Transformer layers and the whole model: loops = NumPy = torch = module = torch's own layers, laws, cache."""

import inspect
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck

import attnkit.numpy.transformer
import attnkit.torch.transformer
from attnkit.torch.translation import translation_loss
from tests.attnkit import loops
from tests.attnkit.backends import NUMPY, TORCH, normal, random_mask
from tests.tolerances import assert_close

EncoderLayer, DecoderLayer = TORCH.functions.EncoderLayer, TORCH.functions.DecoderLayer
Transformer = TORCH.functions.Transformer
B, M, N, D_MODEL, HEADS, D_FF = 3, 4, 5, 8, 4, 10
NORMS, ACTIVATIONS = ("post", "pre", "none"), ("relu", "gelu")


def tensor(seed, *shape):
    return torch.from_numpy(normal(seed, *shape))


def everywhere(name, *arrays, **keywords):
    """Run a function on both back ends in float64 and return the results as NumPy."""

    def on(backend, value):
        if isinstance(value, dict):
            return {key: on(backend, item) for key, item in value.items()}
        return backend.array(value) if isinstance(value, np.ndarray) else value

    results = []
    for backend in (NUMPY, TORCH):
        result = getattr(backend.functions, name)(
            *(on(backend, array) for array in arrays),
            **{key: on(backend, value) for key, value in keywords.items()},
        )
        tuples = isinstance(result, tuple)
        results.append(tuple(map(backend.numpy, result)) if tuples else backend.numpy(result))
    return results


def drawn_layer(kind, seed=0, **keywords):
    """Return a layer in float64 none of whose parameters is zero or one."""
    torch.manual_seed(seed)
    layer = kind(D_MODEL, HEADS, D_FF, **keywords).double().eval()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.5)
    return layer


def as_numpy(mapping):
    """Return a mapping of mappings of parameters as NumPy."""
    return {
        name: as_numpy(value) if isinstance(value, dict) else TORCH.numpy(value)
        for name, value in mapping.items()
    }


class TestLayerNorm:
    @given(
        lead=st.lists(st.integers(1, 3), max_size=2).map(tuple),
        n=st.integers(1, 4),
        d=st.integers(1, 6),
        gain=st.booleans(),
        bias=st.booleans(),
        eps=st.sampled_from([1e-12, 1e-5, 0.5]),
    )
    def test_loops_numpy_torch(self, lead, n, d, gain, bias, eps):
        x = 3 * normal(1, *lead, n, d) + 2
        gain = normal(2, d) if gain else None
        bias = normal(3, d) if bias else None
        expected = loops.over_leading(lambda x: loops.layer_norm(x, gain, bias, eps=eps), [x], [2])
        of_numpy, of_torch = everywhere("layer_norm", x, gain, bias, eps=eps)
        assert_close(of_numpy, expected, "layer")
        assert_close(of_torch, of_numpy, "layer")

    def test_torch_and_the_module(self):
        x, gain, bias = tensor(1, B, N, D_MODEL), tensor(2, D_MODEL), tensor(3, D_MODEL)
        expected = nn.functional.layer_norm(x, (D_MODEL,), gain, bias, 0.1)
        ours = TORCH.functions.layer_norm(x, gain, bias, eps=0.1)
        assert_close(ours, expected, "layer")
        module = TORCH.functions.LayerNorm(D_MODEL, eps=0.1)
        assert set(module.parameter_mapping()) == {"gain", "bias"}
        assert module.gain.eq(1).all()
        assert module.bias.eq(0).all()
        with torch.no_grad():
            module.double()
            module.gain.copy_(gain)
            module.bias.copy_(bias)
        assert_close(module(x).detach(), expected, "layer")
        without = TORCH.functions.LayerNorm(D_MODEL, bias=False)
        assert set(without.parameter_mapping()) == {"gain"}
        assert_close(without(x).detach(), TORCH.functions.layer_norm(x), "layer")

    def test_laws(self, backend):
        """Rows have mean 0 and variance 1 whatever they were moved and stretched by; equal numbers give 0."""
        x = normal(1, N, D_MODEL)
        layer_norm = backend.functions.layer_norm
        result = backend.numpy(layer_norm(backend.array(x), eps=1e-12))
        assert_close(result.mean(-1) + 1, np.ones(N), "layer")
        assert_close(result.std(-1), np.ones(N), "printed")
        moved = backend.numpy(layer_norm(backend.array(5 * x + 3), eps=25e-12))
        assert_close(moved, result, "layer")
        equal = backend.numpy(layer_norm(backend.array(np.full((2, 3), 7.0))))
        assert not equal.any()

    def test_dtypes_and_empty(self, backend):
        for dtype in backend.dtypes:
            x = backend.array(100 * normal(1, N, D_MODEL), dtype)  # squares overflow float16
            result = backend.functions.layer_norm(x)
            assert backend.dtype_name(result) == dtype
            expected = NUMPY.functions.layer_norm(backend.numpy(x))
            assert_close(backend.numpy(result), expected, "output", dtype)
        whole = backend.functions.layer_norm(backend.array([[1, 2], [3, 5]]))
        assert backend.dtype_name(whole) == backend.default
        for shape in ((0, 4), (3, 0), (0, 0, 2)):
            empty = backend.functions.layer_norm(backend.array(np.zeros(shape)))
            assert tuple(empty.shape) == shape

    def test_no_warning_leaves(self):
        with np.errstate(all="raise"):
            NUMPY.functions.layer_norm(np.array([[1e308, -1e308], [np.inf, np.nan]]))


class TestFeedForward:
    @given(
        lead=st.lists(st.integers(1, 3), max_size=2).map(tuple),
        n=st.integers(1, 3),
        sizes=st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3)),
        activation=st.sampled_from(ACTIVATIONS),
        biases=st.booleans(),
    )
    def test_loops_numpy_torch(self, lead, n, sizes, activation, biases):
        d_model, d_ff, d_out = sizes
        x = normal(1, *lead, n, d_model)
        parameters = {"w_hidden": normal(2, d_model, d_ff), "w_output": normal(3, d_ff, d_out)}
        if biases:
            parameters |= {"b_hidden": normal(4, d_ff), "b_output": normal(5, d_out)}
        expected = loops.over_leading(
            lambda x: loops.feed_forward(x, parameters, activation), [x], [2]
        )
        of_numpy, of_torch = everywhere("feed_forward", x, parameters, activation=activation)
        assert_close(of_numpy, expected, "output")
        assert_close(of_torch, of_numpy, "output")

    @pytest.mark.parametrize("activation", ACTIVATIONS)
    @pytest.mark.parametrize("bias", [False, True])
    def test_module(self, activation, bias):
        torch.manual_seed(0)
        module = TORCH.functions.FeedForward(D_MODEL, D_FF, activation=activation, bias=bias)
        module.double()
        for parameter in module.parameters():
            nn.init.normal_(parameter)
        x = tensor(1, B, N, D_MODEL)
        mapping = module.parameter_mapping()
        assert len(mapping) == (4 if bias else 2)
        expected = TORCH.functions.feed_forward(x, mapping, activation=activation)
        assert_close(module(x).detach(), expected.detach(), "output")

    def test_drawn(self):
        module = TORCH.functions.FeedForward(30, 90)
        bound = math.sqrt(6 / 120)
        for weight in (module.w_hidden, module.w_output):
            assert 0.9 * bound < weight.abs().max() <= bound
        assert not module.b_hidden.any()
        assert not module.b_output.any()

    def test_dropout_of_the_hidden_layer(self):
        torch.manual_seed(0)
        module = TORCH.functions.FeedForward(4, 400, dropout=0.5).double()
        with torch.no_grad():
            module.w_hidden.fill_(1)
            module.w_output.fill_(1 / 400)
            x = torch.full((1, 4), 0.25).double()
            kept = module.train()(x)[0]
            assert_close(module.eval()(x)[0], np.ones(4), "output")
        assert kept.ne(1).all()
        assert 0.7 < kept[0] < 1.3


class TestLayersAgree:
    """NumPy, torch's function and the module, for every place of the norm."""

    @pytest.mark.parametrize("norm", NORMS)
    @pytest.mark.parametrize("residual", [True, False])
    @pytest.mark.parametrize(
        ("activation", "causal", "kv_heads"), [("relu", True, 2), ("gelu", False, None)]
    )
    def test_encoder(self, norm, residual, activation, causal, kv_heads):
        options = {"norm": norm, "residual": residual, "activation": activation}
        layer = drawn_layer(EncoderLayer, n_kv_heads=kv_heads, **options, eps=0.01)
        x, mask = normal(1, B, N, D_MODEL), random_mask(2, B, N, N)
        results = everywhere(
            "encoder_layer",
            x,
            as_numpy(layer.parameter_mapping()),
            HEADS,
            mask,
            n_kv_heads=kv_heads,
            causal=causal,
            **options,
            eps=0.01,
            return_weights=True,
        )
        with torch.no_grad():
            arrays = torch.from_numpy(x), torch.from_numpy(mask)
            results.append(layer(*arrays, causal=causal, return_weights=True))
            assert_close(layer(*arrays, causal=causal), results[0][0], "layer")
        for output, weights in results[1:]:
            assert_close(output, results[0][0], "layer")
            assert_close(weights, results[0][1], "weights_of_layer")

    @pytest.mark.parametrize("norm", NORMS)
    @pytest.mark.parametrize("residual", [True, False])
    @pytest.mark.parametrize(
        ("activation", "causal", "kv_heads"), [("relu", True, 2), ("gelu", False, None)]
    )
    def test_decoder(self, norm, residual, activation, causal, kv_heads):
        options = {"norm": norm, "residual": residual, "activation": activation}
        layer = drawn_layer(DecoderLayer, n_kv_heads=kv_heads, **options, eps=0.01)
        x, memory = normal(1, B, M, D_MODEL), normal(2, B, N, D_MODEL)
        mask, memory_mask = random_mask(3, B, M, M), random_mask(4, B, 1, N)
        results = everywhere(
            "decoder_layer",
            x,
            memory,
            as_numpy(layer.parameter_mapping()),
            HEADS,
            mask,
            memory_mask,
            n_kv_heads=kv_heads,
            causal=causal,
            **options,
            eps=0.01,
            return_weights=True,
        )
        with torch.no_grad():
            arrays = [torch.from_numpy(array) for array in (x, memory, mask, memory_mask)]
            results.append(layer(*arrays, causal=causal, return_weights=True))
            assert_close(layer(*arrays, causal=causal), results[0][0], "layer")
        for output, weights, memory_weights in results[1:]:
            assert_close(output, results[0][0], "layer")
            assert_close(weights, results[0][1], "weights_of_layer")
            assert_close(memory_weights, results[0][2], "weights_of_layer")

    def test_where_the_norms_are(self, backend):
        """By hand, sublayer by sublayer, from the parts that are tested alone."""
        functions = backend.functions
        for norm, residual in itertools.product(NORMS, (True, False)):
            layer = drawn_layer(EncoderLayer, norm=norm, residual=residual)
            arrays = {
                outer: {name: backend.array(value) for name, value in inner.items()}
                for outer, inner in as_numpy(layer.parameter_mapping()).items()
            }
            x = backend.array(normal(1, B, N, D_MODEL))
            current = x
            for sublayer in ("attention", "feed_forward"):
                of_norm = arrays.get(f"{sublayer}_norm", {})
                entering = functions.layer_norm(current, **of_norm) if norm == "pre" else current
                if sublayer == "attention":
                    result = functions.multi_head_attention(
                        entering, parameters=arrays[sublayer], n_heads=HEADS
                    )
                else:
                    result = functions.feed_forward(entering, arrays[sublayer])
                current = current + result if residual else result
                current = functions.layer_norm(current, **of_norm) if norm == "post" else current
            output = functions.encoder_layer(x, arrays, HEADS, norm=norm, residual=residual)
            assert_close(backend.numpy(output), backend.numpy(current), "layer")

    def test_leading_axes(self):
        layer, decoder = drawn_layer(EncoderLayer), drawn_layer(DecoderLayer)
        x, memory = tensor(1, 2, B, N, D_MODEL), tensor(2, 2, B, M, D_MODEL)
        with torch.no_grad():
            whole, decoded = layer(x), decoder(x, memory)
            for i, j in itertools.product(range(2), range(B)):
                assert_close(whole[i, j], layer(x[i, j]), "layer")
                assert_close(decoded[i, j], decoder(x[i, j], memory[i, j]), "layer")

    def test_empty(self, backend):
        encoder = as_numpy(drawn_layer(EncoderLayer).parameter_mapping())
        decoder = as_numpy(drawn_layer(DecoderLayer).parameter_mapping())
        for b, m, n in ((0, 2, 3), (2, 0, 3), (2, 3, 0)):
            x, memory = normal(1, b, m, D_MODEL), normal(2, b, n, D_MODEL)
            for result in everywhere("encoder_layer", x, encoder, HEADS):
                assert result.shape == x.shape
            for result in everywhere("decoder_layer", x, memory, decoder, HEADS):
                assert result.shape == x.shape
                assert np.isfinite(result).all()

    def test_without_a_feed_forward_network(self):
        """With d_ff = 0 the network is a constant, zero at first: attention alone is left."""
        torch.manual_seed(0)
        layer = EncoderLayer(D_MODEL, HEADS, 0, norm="none").double()
        x = tensor(1, B, N, D_MODEL)
        assert_close(layer(x).detach(), (x + layer.attention(x)).detach(), "layer")


class TestDtypes:
    def test_functions(self, backend):
        layer = drawn_layer(EncoderLayer)
        for dtype in backend.dtypes:
            narrow = {
                outer: {name: backend.array(value, dtype) for name, value in inner.items()}
                for outer, inner in as_numpy(layer.parameter_mapping()).items()
            }
            x = backend.array(normal(1, B, N, D_MODEL), dtype)
            output, weights = backend.functions.encoder_layer(x, narrow, HEADS, return_weights=True)
            assert backend.dtype_name(output) == backend.dtype_name(weights) == dtype
            exact = {
                outer: {name: backend.numpy(value) for name, value in inner.items()}
                for outer, inner in narrow.items()
            }
            expected = NUMPY.functions.encoder_layer(backend.numpy(x), exact, HEADS)
            assert_close(backend.numpy(output), expected, "layer", dtype)

    def test_modules(self):
        x, memory = tensor(1, B, M, D_MODEL), tensor(2, B, N, D_MODEL)
        for name in TORCH.dtypes:
            dtype = TORCH.dtype(name)
            encoder = drawn_layer(EncoderLayer, norm="pre").to(dtype)
            decoder = drawn_layer(DecoderLayer).to(dtype)
            assert encoder(x.to(dtype)).dtype == dtype
            assert decoder(x.to(dtype), memory.to(dtype)).dtype == dtype
            expected = NUMPY.functions.encoder_layer(
                x.to(dtype).double().numpy(),
                as_numpy(encoder.parameter_mapping()),
                HEADS,
                norm="pre",
            )
            assert_close(TORCH.numpy(encoder(x.to(dtype))), expected, "layers", name)

    def test_mixed(self):
        encoder, x = drawn_layer(EncoderLayer).float(), tensor(1, B, M, D_MODEL)
        exact = drawn_layer(EncoderLayer).float().double()
        assert encoder(x).dtype == torch.float64
        assert_close(encoder(x).detach(), exact(x).detach(), "layer")
        assert encoder(x > 0).dtype == torch.float32
        decoder = drawn_layer(DecoderLayer).float()
        wide = drawn_layer(DecoderLayer).float().double()
        assert decoder(x.float(), x).dtype == torch.float64
        assert_close(decoder(x, x).detach(), wide(x, x).detach(), "layer")


class TestLaws:
    @pytest.mark.parametrize("norm", NORMS)
    def test_order_of_tokens(self, norm):
        layer, x, order = (
            drawn_layer(EncoderLayer, norm=norm),
            tensor(1, B, N, D_MODEL),
            [3, 0, 4, 1, 2],
        )
        with torch.no_grad():
            assert_close(layer(x[:, order]), layer(x)[:, order], "layer")

    @pytest.mark.parametrize("norm", NORMS)
    def test_the_past_does_not_see_the_future(self, norm):
        layer = drawn_layer(DecoderLayer, norm=norm)
        x, memory = tensor(1, B, M, D_MODEL), tensor(2, B, N, D_MODEL)
        changed = x.clone()
        changed[:, 2] += tensor(3, D_MODEL)
        with torch.no_grad():
            before, after = layer(x, memory), layer(changed, memory)
            assert_close(after[:, :2], before[:, :2], "layer")
            assert not torch.isclose(after[:, 2:], before[:, 2:]).all(-1).any()
            open_layer = layer(changed, memory, causal=False)
            assert not torch.isclose(open_layer[:, :2], layer(x, memory, causal=False)[:, :2]).any()

    @pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
    def test_padding_has_no_influence(self, bad):
        encoder, decoder = drawn_layer(EncoderLayer), drawn_layer(DecoderLayer)
        x, memory = tensor(1, B, M, D_MODEL), tensor(2, B, N, D_MODEL)
        padded = torch.cat([memory, torch.full((B, 3, D_MODEL), bad).double()], 1)
        mask = TORCH.functions.padding_mask([N] * B, N + 3)
        with torch.no_grad():
            assert_close(encoder(padded, mask)[:, :N], encoder(memory), "layer")
            assert_close(decoder(x, padded, memory_mask=mask), decoder(x, memory), "layer")
        for layer, arrays in ((decoder, (x, padded)), (decoder, (x, memory))):
            layer.zero_grad()
            keywords = {"memory_mask": mask} if arrays[1] is padded else {}
            layer(*arrays, **keywords).square().sum().backward()
            gradient = layer.memory_attention.w_input.grad.clone()
            if arrays[1] is padded:
                dirty = gradient
        assert_close(dirty, gradient, "gradient")

    def test_dropout_only_in_training(self):
        x, memory = tensor(1, B, M, D_MODEL), tensor(2, B, N, D_MODEL)
        for kind, arrays in ((EncoderLayer, (x,)), (DecoderLayer, (x, memory))):
            layer, plain = drawn_layer(kind, dropout=0.5), drawn_layer(kind)
            with torch.no_grad():
                assert_close(layer(*arrays), plain(*arrays), "layer")
                layer.train()
                assert not torch.allclose(layer(*arrays), plain(*arrays))
                assert not torch.allclose(layer(*arrays), layer(*arrays))
                assert_close(plain.train()(*arrays), plain.eval()(*arrays), "layer")

    def test_dropout_reaches_every_sublayer(self):
        """Each part alone makes training noisy: weights, hidden layer, results."""
        x = tensor(1, B, M, D_MODEL)
        layer = drawn_layer(EncoderLayer, norm="none")
        parts = (layer.attention, layer.feed_forward, layer)
        for part in parts:
            layer = drawn_layer(EncoderLayer, norm="none").train()
            noisy = {0: layer.attention, 1: layer.feed_forward, 2: layer}[parts.index(part)]
            noisy.dropout = 0.5
            with torch.no_grad():
                assert not torch.allclose(layer(x), layer(x))
        made = EncoderLayer(D_MODEL, HEADS, dropout=0.25)
        assert (made.dropout, made.attention.dropout, made.feed_forward.dropout) == (0.25,) * 3


class TestCachedDecoder:
    @pytest.mark.parametrize("norm", NORMS)
    @pytest.mark.parametrize("make", [None, lambda: TORCH.functions.RotaryPositions()])
    def test_any_boundary(self, norm, make):
        layer = drawn_layer(DecoderLayer, norm=norm, positions=None if make is None else make())
        x, memory = tensor(1, B, 6, D_MODEL), tensor(2, B, N, D_MODEL)
        memory_mask = TORCH.functions.padding_mask([5, 2, 0], N)
        with torch.no_grad():
            whole = layer(x, memory, memory_mask=memory_mask, return_weights=True)
            for lengths in ((6,), (1,) * 6, (2, 3, 1), (5, 1)):
                cache, parts, start = layer.new_cache(B, 6, N), [], 0
                for length in lengths:
                    part = layer(
                        x[:, start : start + length],
                        memory,
                        memory_mask=memory_mask,
                        return_weights=True,
                        cache=cache,
                    )
                    assert_close(
                        part[1], whole[1][:, :, start : start + length, : start + length], "layer"
                    )
                    parts.append(part)
                    start += length
                assert_close(torch.cat([part[0] for part in parts], 1), whole[0], "layer")
                assert_close(torch.cat([part[2] for part in parts], 2), whole[2], "layer")
                assert (cache.own.length, cache.memory.length) == (6, N)

    def test_memory_is_projected_once(self, monkeypatch):
        layer, memory = drawn_layer(DecoderLayer), tensor(2, B, N, D_MODEL)
        calls, store = [], layer.memory_attention.store
        monkeypatch.setattr(
            layer.memory_attention, "store", lambda *a, **k: calls.append(1) or store(*a, **k)
        )
        with torch.no_grad():
            cache = layer.new_cache(B, 3, N)
            for _ in range(3):
                layer(tensor(1, B, 1, D_MODEL), memory, cache=cache)
            assert len(calls) == 1
            with pytest.raises(
                ValueError, match="memory has length 4 but the cache holds one of length 5"
            ):
                layer(tensor(1, B, 1, D_MODEL), memory[:, :4], cache=cache)
            with pytest.raises(TypeError, match="cache must be a DecoderCache but is KVCache"):
                layer(tensor(1, B, 1, D_MODEL), memory, cache=cache.own)

    def test_selected_sequences_go_on(self):
        """As beams do: after two steps sequence 2 goes on twice and 0 once."""
        layer, rows = drawn_layer(DecoderLayer), torch.tensor([2, 2, 0])
        x, memory = tensor(1, B, 4, D_MODEL), tensor(2, B, N, D_MODEL)
        with torch.no_grad():
            cache = layer.new_cache(B, 4, N)
            layer(x[:, :2], memory, cache=cache)
            chosen = cache.select(rows)
            rest = tensor(3, 3, 2, D_MODEL)
            output = layer(rest, memory[rows], cache=chosen)
            whole = layer(torch.cat([x[rows, :2], rest], 1), memory[rows])
        assert_close(output, whole[:, 2:], "layer")
        assert (cache.own.length, chosen.own.length) == (2, 4)

    def test_a_call_that_fails_leaves_the_caches_as_they_were(self):
        """Else the next call would meet half a step, or the memory of another source."""
        layer, x = drawn_layer(DecoderLayer), tensor(1, B, 4, D_MODEL)
        first, second = tensor(2, B, N, D_MODEL), tensor(3, B, N, D_MODEL)
        with torch.no_grad():
            cache = layer.new_cache(B, 3, N)
            with pytest.raises(ValueError, match="holds 0 of at most 3 rows"):
                layer(x, first, cache=cache)
            short = torch.ones(B, 3, N - 1).bool()
            with pytest.raises(ValueError, match="mask has shape"):
                layer(x[:, :3], first, memory_mask=short, cache=cache)
            assert (cache.own.length, cache.memory.length) == (0, 0)
            assert_close(layer(x[:, :3], second, cache=cache), layer(x[:, :3], second), "layer")

    def test_caches_of_unequal_room_are_all_left_as_they_were(self):
        model = drawn_model()
        target, memory = torch.zeros(B, 2, dtype=torch.int64), tensor(1, B, N, D_MODEL)
        caches = [layer.new_cache(B, 3 - i, N) for i, layer in enumerate(model.decoder)]
        with torch.no_grad():
            model.decode(target[:, :1], memory, caches=caches)
            with pytest.raises(ValueError, match="holds 1 of at most 2 rows"):
                model.decode(target, memory, caches=caches)
        assert [cache.own.length for cache in caches] == [1, 1]

    def test_encoder_layer_alone_as_a_language_model(self):
        layer, x = drawn_layer(EncoderLayer), tensor(1, B, N, D_MODEL)
        with torch.no_grad():
            cache = layer.new_cache(B, N)
            steps = [layer(x[:, i : i + 1], causal=True, cache=cache) for i in range(N)]
            assert_close(torch.cat(steps, 1), layer(x, causal=True), "layer")


class TestGradients:
    @pytest.mark.parametrize("norm", NORMS)
    @pytest.mark.parametrize("kind", [EncoderLayer, DecoderLayer])
    def test_modules(self, norm, kind):
        torch.manual_seed(0)
        layer = kind(4, 2, 3, norm=norm, activation="gelu").double()
        names = [name for name, _ in layer.named_parameters()]
        arrays = [tensor(1, 1, 3, 4), tensor(2, 1, 2, 4)][: 1 if kind is EncoderLayer else 2]
        mask = torch.tensor([[True, False, False], [False] * 3, [True] * 3])

        def run(*values):
            given_values = dict(zip(names, values[len(arrays) :], strict=True))
            return torch.func.functional_call(
                layer, given_values, values[: len(arrays)], {"mask": mask}
            )

        inputs = [*arrays, *(p.detach().clone() for p in layer.parameters())]
        assert gradcheck(run, [value.requires_grad_() for value in inputs], fast_mode=True)

    def test_functions(self):
        functions = TORCH.functions
        x, gain, bias = (tensor(i, *shape) for i, shape in ((1, (2, 4)), (2, (4,)), (3, (4,))))
        inputs = [value.requires_grad_() for value in (x, gain, bias)]
        assert gradcheck(functions.layer_norm, inputs)
        layer, memory = drawn_layer(DecoderLayer), tensor(2, 1, N, D_MODEL).requires_grad_()
        x = tensor(1, 1, M, D_MODEL).requires_grad_()
        assert gradcheck(
            lambda x, memory: functions.decoder_layer(x, memory, layer.parameter_mapping(), HEADS),
            [x, memory],
            fast_mode=True,
        )


class TestFromTorch:
    """The numbers of torch's own layers, whose masks say who must not attend."""

    @staticmethod
    def drawn(kind, **keywords):
        torch.manual_seed(1)
        foreign = kind(D_MODEL, HEADS, D_FF, batch_first=True, **keywords).double().eval()
        with torch.no_grad():
            for parameter in foreign.parameters():
                parameter.copy_(torch.randn_like(parameter) * 0.5)
        return foreign

    @pytest.mark.parametrize("norm_first", [False, True])
    @pytest.mark.parametrize("activation", [*ACTIVATIONS, nn.ReLU(), nn.GELU()])
    @pytest.mark.parametrize("bias", [True, False])
    def test_encoder(self, norm_first, activation, bias):
        foreign = self.drawn(
            nn.TransformerEncoderLayer,
            norm_first=norm_first,
            activation=activation,
            bias=bias,
            layer_norm_eps=0.01,
            dropout=0.25,
        )
        ours = EncoderLayer.from_torch(foreign)
        x = tensor(1, B, N, D_MODEL)
        drop_key = torch.arange(N) >= torch.tensor([5, 4, 2])[:, None]
        drop = ~torch.ones(N, N).tril().bool()
        mask = TORCH.functions.from_drop_mask(drop_key)[:, None]
        with torch.no_grad():
            assert_close(ours(x), foreign(x), "layer")
            theirs = foreign(x, src_mask=drop, src_key_padding_mask=drop_key)
            assert_close(ours(x, mask, causal=True)[~drop_key], theirs[~drop_key], "layer")
        assert (ours.dropout, ours.training) == (0.25, False)

    @pytest.mark.parametrize("norm_first", [False, True])
    @pytest.mark.parametrize("activation", ACTIVATIONS)
    @pytest.mark.parametrize("bias", [True, False])
    def test_decoder(self, norm_first, activation, bias):
        foreign = self.drawn(
            nn.TransformerDecoderLayer,
            norm_first=norm_first,
            activation=activation,
            bias=bias,
            layer_norm_eps=0.01,
            dropout=0.25,
        )
        ours = DecoderLayer.from_torch(foreign)
        x, memory = tensor(1, B, M, D_MODEL), tensor(2, B, N, D_MODEL)
        drop_key = torch.arange(N) >= torch.tensor([5, 4, 2])[:, None]
        drop = ~torch.ones(M, M).tril().bool()
        memory_mask = TORCH.functions.from_drop_mask(drop_key)[:, None]
        with torch.no_grad():
            assert_close(ours(x, memory, causal=False), foreign(x, memory), "layer")
            theirs = foreign(x, memory, tgt_mask=drop, memory_key_padding_mask=drop_key)
            assert_close(ours(x, memory, memory_mask=memory_mask), theirs, "layer")
        assert (ours.dropout, ours.training) == (0.25, False)

    @pytest.mark.parametrize("norm_first", [False, True])
    def test_gradients_are_equal(self, norm_first):
        foreign = self.drawn(nn.TransformerDecoderLayer, norm_first=norm_first, dropout=0.0)
        ours = DecoderLayer.from_torch(foreign.train())
        assert ours.training
        x, memory = tensor(1, B, M, D_MODEL), tensor(2, B, N, D_MODEL)
        foreign(x, memory).square().sum().backward()
        ours(x, memory, causal=False).square().sum().backward()
        for mine, theirs in (
            (ours.attention.w_input, foreign.self_attn.in_proj_weight),
            (ours.memory_attention.w_output, foreign.multihead_attn.out_proj.weight),
            (ours.feed_forward.w_hidden, foreign.linear1.weight),
            (ours.feed_forward.w_output, foreign.linear2.weight),
            (ours.memory_attention_norm.gain, foreign.norm2.weight),
            (ours.feed_forward_norm.bias, foreign.norm3.bias),
        ):
            assert_close(mine.grad, theirs.grad.T if theirs.dim() == 2 else theirs.grad, "gradient")

    def test_errors(self):
        make = nn.TransformerEncoderLayer
        with pytest.raises(
            ValueError, match=r"module has the activation .*; only relu and the exact"
        ):
            EncoderLayer.from_torch(make(D_MODEL, HEADS, activation=nn.functional.silu))
        with pytest.raises(ValueError, match="only relu and the exact gelu"):
            EncoderLayer.from_torch(make(D_MODEL, HEADS, activation=nn.GELU("tanh")))
        with pytest.raises(TypeError, match=r"a torch\.nn\.TransformerEncoderLayer but is Linear"):
            EncoderLayer.from_torch(nn.Linear(2, 2))
        with pytest.raises(
            TypeError, match=r"a torch\.nn\.TransformerDecoderLayer but is Transformer"
        ):
            DecoderLayer.from_torch(make(D_MODEL, HEADS))


SOURCE = torch.tensor([[3, 5, 7, 2, 4], [1, 6, 2, 0, 0], [9, 4, 0, 0, 0]])
SOURCE_MASK = torch.arange(5) < torch.tensor([5, 3, 2])[:, None]
TARGET = torch.tensor([[0, 4, 1, 2], [0, 3, 3, 5], [0, 6, 2, 1]])


def drawn_model(seed=0, **keywords):
    torch.manual_seed(seed)
    options = {"d_model": D_MODEL, "n_heads": HEADS, "d_ff": D_FF, "max_length": 9} | keywords
    return Transformer(11, 7, **options).double().eval()


VARIANTS = (
    {},
    {"norm": "pre", "positions": "learned"},
    {"norm": "none", "positions": "rotary", "activation": "gelu", "n_kv_heads": 2},
    {"positions": None, "residual": False, "scale_embedding": False, "n_layers": 1},
)


@pytest.mark.parametrize("options", VARIANTS, ids=str)
class TestTransformer:
    def test_shapes_and_weights(self, options):
        model = drawn_model(**options)
        n_layers = len(model.decoder)
        with torch.no_grad():
            logits, nothing = model(SOURCE, TARGET, SOURCE_MASK)
            again, weights = model(SOURCE, TARGET, SOURCE_MASK, return_weights=True)
        assert nothing is None
        assert logits.shape == (3, 4, 7)
        assert_close(again, logits, "layer")
        assert weights.shape == (3, n_layers, HEADS, 4, 5)
        assert_close(weights.sum(-1), np.ones((3, n_layers, HEADS, 4)), "weights_of_layer")
        assert not weights.movedim(-1, 1)[~SOURCE_MASK].any()

    def test_the_past_does_not_see_the_future(self, options):
        model, changed = drawn_model(**options), TARGET.clone()
        changed[:, 2] = 5 - changed[:, 2]
        with torch.no_grad():
            before, after = (model(SOURCE, t, SOURCE_MASK)[0] for t in (TARGET, changed))
        assert_close(after[:, :2], before[:, :2], "layer")
        assert not torch.isclose(after[:, 2:], before[:, 2:]).all(-1).any()

    def test_padding_and_batch(self, options):
        model = drawn_model(**options)
        changed = SOURCE.clone()
        changed[~SOURCE_MASK] = 8
        with torch.no_grad():
            together = model(SOURCE, TARGET, SOURCE_MASK)[0]
            assert_close(model(changed, TARGET, SOURCE_MASK)[0], together, "layer")
            assert not torch.allclose(model(changed, TARGET)[0], together)
            for b, length in enumerate((5, 3, 2)):
                alone = model(SOURCE[b : b + 1, :length], TARGET[b : b + 1])[0]
                assert_close(alone[0], together[b], "layer")

    def test_decoding_in_pieces(self, options):
        model = drawn_model(**options)
        with torch.no_grad():
            memory = model.encode(SOURCE, SOURCE_MASK)
            whole, weights = model.decode(TARGET, memory, SOURCE_MASK, return_weights=True)
            for lengths in ((4,), (1, 1, 1, 1), (3, 1), (1, 2, 1)):
                caches, parts, start = model.new_caches(3, 4, 5), [], 0
                for length in lengths:
                    piece = TARGET[:, start : start + length]
                    parts.append(
                        model.decode(piece, memory, SOURCE_MASK, caches=caches, return_weights=True)
                    )
                    start += length
                assert_close(torch.cat([part[0] for part in parts], 1), whole, "layer")
                assert_close(torch.cat([part[1] for part in parts], 3), weights, "layer")

    def test_translating(self, options):
        """Greedy, with and without a cache; each token is the best one after those before it."""
        model = drawn_model(**options)
        keywords = {"start": 0, "end": 1, "max_length": 8, "return_weights": True}
        tokens, weights = model.translate(SOURCE, SOURCE_MASK, **keywords)
        uncached, same_weights = model.translate(SOURCE, SOURCE_MASK, **keywords, cached=False)
        assert torch.equal(tokens, uncached)
        assert_close(weights, same_weights, "layer")
        assert tokens.shape == (3, 8)
        read = torch.cat([torch.zeros(3, 1).long(), tokens[:, :-1]], 1)
        with torch.no_grad():
            logits, looks = model(SOURCE, read, SOURCE_MASK, return_weights=True)
        ended = (tokens == 1).cumsum(1) - (tokens == 1).long() > 0
        assert torch.equal(logits.argmax(-1)[~ended], tokens[~ended])
        assert (tokens[ended] == 1).all()
        steps = int((~ended).sum(1).max())
        assert_close(weights[..., :steps, :], looks[..., :steps, :], "layer")
        assert not weights[..., steps:, :].any()
        assert model.translate(SOURCE, SOURCE_MASK, start=0, end=1, max_length=8)[1] is None
        nothing, _ = model.translate(SOURCE, start=0, end=1, max_length=0)
        assert nothing.shape == (3, 0)

    def test_gradients_reach_every_parameter(self, options):
        model = drawn_model(**options)
        model(SOURCE, TARGET, SOURCE_MASK)[0].square().sum().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
            assert parameter.grad.any(), name


class TestTransformerParts:
    def test_embedding(self):
        """Scaled rows have length sqrt(d_model) and are not drowned by positions; unscaled are one."""
        for scaled, length in ((True, math.sqrt(64)), (False, 1.0)):
            torch.manual_seed(0)
            model = Transformer(500, 7, d_model=64, positions=None, scale_embedding=scaled)
            x = model._embed(torch.arange(500)[None], "source", 0)
            assert x.norm(dim=-1).mean().item() == pytest.approx(length, rel=0.02)

    def test_dropout_of_embeddings(self):
        model = drawn_model(dropout=0.5)
        with torch.no_grad():
            whole, dropped = (
                model._embed(SOURCE, "source", 0),
                model.train()._embed(SOURCE, "source", 0),
            )
        kept = dropped != 0
        assert 0.3 < kept.double().mean() < 0.7
        assert_close(dropped[kept], 2 * whole[kept], "layer")

    def test_sinusoidal_positions_are_added(self):
        plain, placed = drawn_model(positions=None), drawn_model()
        difference = placed._embed(SOURCE, "source", 2) - plain._embed(SOURCE, "source", 2)
        table = NUMPY.functions.sinusoidal_positions(7, D_MODEL)[2:]
        assert_close(difference.detach(), np.broadcast_to(table, (3, 5, D_MODEL)), "printed")

    def test_order_of_the_source(self):
        """Without positions the source is a set; with any of them it is a sequence."""
        order = [4, 2, 0, 1, 3]
        for positions, is_set in (
            (None, True),
            ("sinusoidal", False),
            ("learned", False),
            ("rotary", False),
        ):
            model = drawn_model(positions=positions)
            with torch.no_grad():
                first, second = (model(s, TARGET)[0] for s in (SOURCE, SOURCE[:, order]))
            assert torch.allclose(first, second, atol=1e-9) == is_set

    def test_a_last_norm_follows_pre_norm_stacks(self):
        model = drawn_model(norm="pre")
        with torch.no_grad():
            assert_close(model.encode(SOURCE).mean(-1) + 1, np.ones((3, 5)), "layer")
        kinds = {type(drawn_model(norm=norm).encoder_norm) for norm in ("post", "none")}
        assert kinds == {nn.Identity}

    def test_switches_reach_the_layers(self):
        model = drawn_model(norm="pre", dropout=0.25, residual=False, activation="gelu", n_layers=3)
        layers = [*model.encoder, *model.decoder]
        assert len(layers) == 6
        for layer in layers:
            assert (layer.norm, layer.dropout, layer.residual) == ("pre", 0.25, False)
            assert layer.feed_forward.activation == "gelu"
            assert layer.attention.dropout == layer.feed_forward.dropout == 0.25
        with torch.no_grad():
            assert not torch.allclose(*(model.train()(SOURCE, TARGET)[0] for _ in range(2)))
            assert torch.equal(*(model.eval()(SOURCE, TARGET)[0] for _ in range(2)))

    def test_learned_positions_end(self):
        model = drawn_model(positions="learned")
        with pytest.raises(ValueError, match="length 10 from position 0 on but the table has 9"):
            model.encode(SOURCE.repeat(1, 2))

    @pytest.mark.slow
    @pytest.mark.parametrize("norm", ["post", "pre"])
    def test_it_learns_to_reverse(self, norm):
        """Through the one training loop of the course and the translator's own loss."""
        functions = TORCH.functions
        torch.manual_seed(0)
        model = Transformer(10, 10, d_model=32, n_heads=4, n_layers=2, norm=norm)
        generator = torch.Generator().manual_seed(0)

        def batch():
            source = torch.randint(2, 10, (32, 6), generator=generator)
            return source, torch.cat([source.flip(1), torch.ones(32, 1).long()], 1)

        def loss(step):
            source, target = batch()
            ones = torch.ones_like(source).bool(), torch.ones_like(target).bool()
            return translation_loss(model, source, target, *ones, start=0)

        def rate(step):
            return 3e-3 * min(1.0, (step + 1) / 50)

        functions.fit(model, loss, n_steps=350, learning_rate=rate)
        source, target = batch()
        tokens, _ = model.eval().translate(source, start=0, end=1, max_length=7)
        assert functions.exact_match(tokens, target, torch.ones_like(target).bool()) > 0.9


class TestErrors:
    ENCODER = ("attention", "feed_forward")

    @staticmethod
    def parameters(**changed):
        mapping = as_numpy(drawn_layer(DecoderLayer).parameter_mapping())
        for path, value in changed.items():
            outer, _, inner = path.partition("__")
            if value is None:
                del mapping[outer]
            elif inner:
                mapping[outer] = mapping[outer] | {inner: value}
            else:
                mapping[outer] = value
        return mapping

    @pytest.mark.parametrize(
        ("changed", "error", "message"),
        [
            (
                {"attention": None},
                ValueError,
                "parameters lacks attention; it needs attention, attention_norm",
            ),
            ({"feed_forward_norm": None}, ValueError, "parameters lacks feed_forward_norm"),
            ({"norm3": {}}, ValueError, "parameters holds norm3, which nobody reads"),
            ({"attention": np.ones(2)}, TypeError, r"parameters\['attention'\] must be a mapping"),
            (
                {"attention_norm": {"weight": np.ones(8)}},
                ValueError,
                r"holds weight, .* a gain and a bias",
            ),
            (
                {"attention_norm__gain": np.ones(7)},
                ValueError,
                r"gain has shape \(7,\) but x has width 8",
            ),
            (
                {"attention_norm__bias": np.ones(1)},
                ValueError,
                r"bias has shape \(1,\) but x has width 8",
            ),
            (
                {"feed_forward__w_hidden": np.ones((10, 8))},
                ValueError,
                r"w_hidden .* width of x is 8; .*transposed",
            ),
            ({"feed_forward__w_output": np.ones((9, 8))}, ValueError, r"w_output .* d_ff .* is 10"),
            (
                {"feed_forward__w_output": np.ones((10, 7))},
                ValueError,
                r"gives rows of width 7 but x has width 8",
            ),
            (
                {"feed_forward__b_hidden": np.ones(8)},
                ValueError,
                r"b_hidden has shape \(8,\) .* width 10",
            ),
            (
                {"feed_forward__b_out": np.ones(8)},
                ValueError,
                "parameters holds b_out, which nobody reads",
            ),
            (
                {"memory_attention__w_key": np.ones((7, 8))},
                ValueError,
                r"w_key has shape \(7, 8\) but",
            ),
            ({"memory_attention__w_key": 1j * np.ones((8, 8))}, TypeError, r"w_key must be real"),
        ],
    )
    def test_parameters(self, changed, error, message):
        x, memory = normal(1, B, M, D_MODEL), normal(2, B, N, D_MODEL)
        for backend in (NUMPY, TORCH):
            mapping = {
                outer: {name: backend.array(value) for name, value in inner.items()}
                if isinstance(inner, dict)
                else backend.array(inner)
                for outer, inner in self.parameters(**changed).items()
            }
            with pytest.raises(error, match=message):
                backend.functions.decoder_layer(
                    backend.array(x), backend.array(memory), mapping, HEADS
                )

    @pytest.mark.parametrize(
        ("keywords", "error", "message"),
        [
            (
                {"norm": "before"},
                ValueError,
                "norm must be 'post' or 'pre' or 'none' but is 'before'",
            ),
            ({"activation": "tanh"}, ValueError, "activation must be 'relu' or 'gelu'"),
            ({"eps": 0}, ValueError, "eps must be above 0"),
            ({"n_heads": 3}, ValueError, "not a multiple of n_heads, 3"),
            (
                {"n_heads": 4, "n_kv_heads": 3},
                ValueError,
                "n_heads is 4, not a multiple of n_kv_heads, 3",
            ),
            ({"mask": np.ones((4, 4))}, TypeError, "mask must be boolean"),
            ({"mask": np.ones((5, 4), bool)}, ValueError, r"mask has shape \(5, 4\)"),
            ({"memory_mask": np.ones((3, 5), bool)}, ValueError, r"mask\[:, None, :\]"),
            (
                {"x": normal(1, D_MODEL)},
                ValueError,
                r"x needs at least 2 axes, \(\.\.\., n, d_model\)",
            ),
            ({"memory": normal(1, D_MODEL)}, ValueError, "memory needs at least 2 axes"),
            (
                {"memory": normal(1, 2, N, D_MODEL)},
                ValueError,
                r"axes of x \(3,\) and memory \(2,\)",
            ),
            ({"memory": normal(1, B, N, D_MODEL) + 0j}, TypeError, "memory must be real"),
        ],
    )
    def test_arguments(self, backend, keywords, error, message):
        given_arguments = {
            "x": normal(1, B, M, D_MODEL),
            "memory": normal(2, B, N, D_MODEL),
            "n_heads": HEADS,
        } | keywords
        given_arguments = {
            name: backend.array(value) if isinstance(value, np.ndarray) else value
            for name, value in given_arguments.items()
        }
        mapping = {
            outer: {name: backend.array(value) for name, value in inner.items()}
            for outer, inner in self.parameters().items()
        }
        with pytest.raises(error, match=message):
            backend.functions.decoder_layer(parameters=mapping, **given_arguments)

    @pytest.mark.parametrize(
        ("make", "error", "message"),
        [
            (
                lambda: EncoderLayer(10, 3),
                ValueError,
                "d_model is 10, not a multiple of n_heads, 3",
            ),
            (
                lambda: EncoderLayer(8, 4, n_kv_heads=3),
                ValueError,
                "not a multiple of n_kv_heads, 3",
            ),
            (lambda: EncoderLayer(8, 4, norm="p"), ValueError, "norm must be"),
            (lambda: EncoderLayer(8, 4, activation="p"), ValueError, "activation must be"),
            (
                lambda: EncoderLayer(8, 4, dropout=1),
                ValueError,
                "dropout must be at least 0 and below 1",
            ),
            (lambda: EncoderLayer(8, 4, 2.5), TypeError, "d_ff must be a whole number"),
            (lambda: EncoderLayer(8, 4, eps=-1), ValueError, "eps must be above 0"),
            (
                lambda: Transformer(5, 5, d_model=10),
                ValueError,
                "d_model is 10, not a multiple of n_heads, 4",
            ),
            (
                lambda: Transformer(5, 5, positions="t5"),
                ValueError,
                "positions must be 'sinusoidal' or",
            ),
            (lambda: Transformer(0, 5), ValueError, "n_source must be at least 1"),
            (lambda: Transformer(5, 5, n_layers=0), ValueError, "n_layers must be at least 1"),
        ],
    )
    def test_construction(self, make, error, message):
        with pytest.raises(error, match=message):
            make()

    @pytest.mark.parametrize(
        ("run", "error", "message"),
        [
            (lambda e, d, x, y: e(x[..., :7]), ValueError, "x has width 7 but d_model is 8"),
            (
                lambda e, d, x, y: d(x, y[..., :7]),
                ValueError,
                "memory has width 7 but d_model is 8",
            ),
            (lambda e, d, x, y: d(x, y[:2]), ValueError, r"axes of x \(3,\) and memory \(2,\)"),
            (lambda e, d, x, y: e(x[0, 0]), ValueError, "x needs at least 2 axes"),
            (lambda e, d, x, y: d(x, y[0, 0]), ValueError, "memory needs at least 2 axes"),
            (lambda e, d, x, y: e(x + 0j), TypeError, "x must be real"),
            (lambda e, d, x, y: d(x, y.numpy()), TypeError, r"memory must be a torch\.Tensor"),
            (lambda e, d, x, y: e(x, x[..., :4]), TypeError, "mask must be boolean"),
            (
                lambda e, d, x, y: d(x, y, cache=d.new_cache(3, 4, 5)),
                ValueError,
                "asks for a gradient",
            ),
        ],
    )
    def test_layers(self, run, error, message):
        x, y = tensor(1, B, M, D_MODEL), tensor(2, B, N, D_MODEL)
        with pytest.raises(error, match=message):
            run(drawn_layer(EncoderLayer), drawn_layer(DecoderLayer), x, y)

    @pytest.mark.parametrize(
        ("arrays", "error", "message"),
        [
            (
                (SOURCE.double(), TARGET),
                TypeError,
                "source must be integers but is .*float64; tokens",
            ),
            ((SOURCE, TARGET > 1), TypeError, "target must be integers but is .*bool"),
            (
                (SOURCE[0], TARGET),
                ValueError,
                r"source needs the shape \(B, length\).*source\[None\]",
            ),
            (
                (SOURCE, TARGET, SOURCE_MASK[:, None]),
                ValueError,
                r"\(3, 1, 5\) but the source has shape \(3, 5\)",
            ),
            ((SOURCE, TARGET, SOURCE_MASK.long()), TypeError, "mask must be boolean"),
            ((SOURCE + 99, TARGET), ValueError, "source must lie between 0 and .* another vocab"),
            ((SOURCE, TARGET[:2]), ValueError, r"axes of x \(2,\) and memory \(3,\)"),
        ],
    )
    def test_model(self, arrays, error, message):
        with pytest.raises(error, match=message):
            drawn_model()(*arrays)


class TestHelp:
    def test_twins(self):
        ours, theirs = attnkit.numpy.transformer, attnkit.torch.transformer
        classes = {name for name in theirs.__all__ if inspect.isclass(getattr(theirs, name))}
        assert set(theirs.__all__) - classes == set(ours.__all__)
        for name in ours.__all__:
            assert inspect.signature(getattr(ours, name)) == inspect.signature(
                getattr(theirs, name)
            )

    def test_docstrings_are_complete(self, backend):
        module = getattr(attnkit, backend.name).transformer
        for name in set(module.__all__) - {"DecoderCache"}:
            text = inspect.getdoc(getattr(module, name))
            for section in ("Parameters", "Raises", "Examples"):
                assert f"{section}\n---" in text, f"{name} lacks {section}"
            for parameter in inspect.signature(getattr(module, name)).parameters:
                assert parameter in text, f"{name} does not explain {parameter}"
