"""Vision: loops = NumPy = torch = modules = transformers' ViT, laws of patches and rollout, edges, gradients."""

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
from torch.nn import functional as F

import attnkit.numpy.vision
import attnkit.torch.vision
from tests.attnkit import loops
from tests.attnkit.backends import NUMPY, TORCH, normal
from tests.attnkit.test_promises import unusual_layouts
from tests.attnkit.test_transformer import everywhere, tensor
from tests.tolerances import assert_close

functions = TORCH.functions
VisionTransformer, NonLocalBlock = functions.VisionTransformer, functions.NonLocalBlock
B, CHANNELS, HEIGHT, WIDTH = 3, 2, 8, 12
IMAGES = normal(1, B, CHANNELS, HEIGHT, WIDTH)
SIZES = {"d_model": 8, "n_layers": 2, "n_heads": 4, "d_ff": 10, "n_classes": 5}
leading = st.lists(st.integers(1, 3), max_size=2).map(tuple)
pair = st.tuples(st.integers(1, 3), st.integers(1, 3))
FUSE = {"mean": lambda numbers: sum(numbers) / len(numbers), "max": max, "min": min}


def drawn(module):
    """Return a module in float64 none of whose parameters is zero or one."""
    torch.manual_seed(0)
    module.double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.5)
    return module


def model(image_size=(HEIGHT, WIDTH), patch_size=4, channels=CHANNELS, **changed):
    return drawn(VisionTransformer(image_size, patch_size, channels, **(SIZES | changed)))


def plain(held, convert):
    """Return a nested mapping of parameters with every tensor converted."""
    if isinstance(held, dict):
        return {name: plain(value, convert) for name, value in held.items()}
    return [plain(value, convert) for value in held] if isinstance(held, list) else convert(held)


def as_numpy(mapping):
    return plain(mapping, TORCH.numpy)


def on(backend, mapping, dtype=None):
    """Return parameters that are NumPy arrays on a back end."""
    return plain(mapping, lambda values: backend.array(values, dtype))


def block_parameters(channels=CHANNELS, d=3, d_v=4, *, biases=True):
    shapes = {"query": (channels, d), "key": (channels, d), "value": (channels, d_v)}
    shapes["output"] = (d_v, channels)
    parameters = {}
    for seed, (name, shape) in enumerate(shapes.items()):
        parameters[f"w_{name}"] = normal(seed, *shape)
        if biases:
            parameters[f"b_{name}"] = normal(10 + seed, shape[1])
    return parameters


def random_weights(seed, *shape):
    scores = np.exp(normal(seed, *shape))
    return scores / scores.sum(-1, keepdims=True)


class TestAgainstLoops:
    @given(lead=leading, channels=st.integers(1, 3), grid=pair, patch=pair)
    def test_patches(self, lead, channels, grid, patch):
        size = grid[0] * patch[0], grid[1] * patch[1]
        images = normal(1, *lead, channels, *size)
        expected = loops.over_leading(lambda image: loops.patchify(image, *patch), [images], [3])
        for result in everywhere("patchify", images, patch):
            np.testing.assert_array_equal(result, expected)
        for result in everywhere("unpatchify", expected, patch, size):
            np.testing.assert_array_equal(result, images)
        if patch[0] == patch[1]:
            for result in everywhere("patchify", images, patch[0]):
                np.testing.assert_array_equal(result, expected)

    @given(lead=leading, channels=st.integers(1, 3), grid=pair, patch=pair, bias=st.booleans())
    def test_patch_embedding(self, lead, channels, grid, patch, bias):
        images = normal(1, *lead, channels, grid[0] * patch[0], grid[1] * patch[1])
        weight = normal(2, channels * math.prod(patch), 4)
        bias = normal(3, 4) if bias else None
        expected = loops.over_leading(
            lambda image: loops.affine(loops.patchify(image, *patch), weight, bias), [images], [3]
        )
        for result in everywhere("patch_embedding", images, patch, weight, bias):
            assert_close(result, expected, "scores")

    @given(
        lead=leading,
        channels=st.integers(1, 2),
        size=st.tuples(st.integers(3, 6), st.integers(3, 6)),
        kernel=pair,
        stride=pair,
        padding=st.tuples(st.integers(0, 2), st.integers(0, 2)),
        bias=st.booleans(),
    )
    def test_convolution(self, lead, channels, size, kernel, stride, padding, bias):
        images = normal(1, *lead, channels, *size)
        weight = normal(2, channels * math.prod(kernel), 3)
        bias = normal(3, 3) if bias else None
        options = {"stride": stride, "padding": padding}
        expected = loops.over_leading(
            lambda image: loops.convolution(image, weight, bias, kernel=kernel, **options),
            [images],
            [3],
        )
        for result in everywhere(
            "convolution", images, weight, bias, kernel_size=kernel, **options
        ):
            assert_close(result, expected, "scores")

    @given(
        lead=leading,
        channels=st.integers(1, 3),
        size=st.tuples(st.integers(1, 5), st.integers(1, 5)),
        d_out=st.integers(1, 4),
        bias=st.booleans(),
    )
    def test_convolution_layer(self, lead, channels, size, d_out, bias):
        images = normal(1, *lead, channels, *size)
        parameters = {"w_convolution": normal(2, channels * 9, d_out)}
        parameters["norm"] = {"gain": normal(3, d_out)} | (
            {"bias": normal(4, d_out)} if bias else {}
        )
        if bias:
            parameters["b_convolution"] = normal(5, d_out)
        expected = loops.over_leading(
            lambda image: loops.convolution_layer(image, parameters, eps=0.1), [images], [3]
        )
        for result in everywhere("convolution_layer", images, parameters, eps=0.1):
            assert_close(result, expected, "layer")

    @given(
        lead=leading,
        channels=st.integers(1, 3),
        size=pair,
        widths=pair,
        biases=st.booleans(),
        scale=st.sampled_from([1.0, 0.3]),
    )
    def test_non_local_block(self, lead, channels, size, widths, biases, scale):
        x = normal(1, *lead, channels, *size)
        parameters = block_parameters(channels, *widths, biases=biases)
        expected = loops.over_leading(
            lambda maps: loops.non_local_block(maps, parameters, scale=scale), [x], [3]
        )
        for result in everywhere("non_local_block", x, parameters, scale=scale):
            assert_close(result, expected, "layer")

    @given(
        lead=leading,
        heads=st.integers(1, 3),
        n=st.integers(1, 4),
        n_layers=st.integers(1, 4),
        residual=st.sampled_from([0, 0.3, 0.5, 1]),
        fusion=st.sampled_from(list(FUSE)),
    )
    def test_rollout(self, lead, heads, n, n_layers, residual, fusion):
        layers = [random_weights(seed, *lead, heads, n, n) for seed in range(n_layers)]
        expected = loops.over_leading(
            lambda *layers: loops.attention_rollout(layers, residual, FUSE[fusion]),
            layers,
            [3] * n_layers,
        )
        for backend in (NUMPY, TORCH):
            result = backend.functions.attention_rollout(
                [backend.array(layer) for layer in layers], residual=residual, fusion=fusion
            )
            assert_close(backend.numpy(result), expected, "output")

    @pytest.mark.parametrize("norm", ["pre", "post", "none"])
    @pytest.mark.parametrize("class_token", [True, False])
    @pytest.mark.parametrize("n_convolutions", [0, 1, 2])
    @pytest.mark.parametrize(
        ("activation", "d_pool", "n_classes"), [("gelu", 3, 5), ("relu", None, None)]
    )
    def test_vision_transformer(
        self, norm, class_token, n_convolutions, activation, d_pool, n_classes
    ):
        """Loops, NumPy, torch's function, and the module with and without its weights."""
        options = {"norm": norm, "activation": activation, "eps": 0.01}
        made = model(
            class_token=class_token,
            n_convolutions=n_convolutions,
            d_pool=d_pool,
            **options | {"n_classes": n_classes},
        )
        parameters = as_numpy(made.parameter_mapping())
        expected = np.array(
            [loops.vision_transformer(image, parameters, (4, 4), 4, **options) for image in IMAGES]
        )
        for backend in (NUMPY, TORCH):
            result, weights = backend.functions.vision_transformer(
                backend.array(IMAGES), on(backend, parameters), 4, 4, **options, return_weights=True
            )
            assert_close(backend.numpy(result), expected, "layers")
            assert isinstance(weights, tuple)
            assert [tuple(layer.shape) for layer in weights] == [(B, 4, *[6 + class_token] * 2)] * 2
            if backend is NUMPY:
                looks = weights
        with torch.no_grad():
            images = torch.from_numpy(IMAGES)
            explicit, weights = made(images, return_weights=True)
            assert_close(explicit, expected, "layers")
            assert_close(made(images), expected, "layers")
            for ours, theirs in zip(weights, looks, strict=True):
                assert_close(ours, theirs, "weights_of_layer")
            assert_close(made.encode(images, return_weights=True)[0], made.encode(images), "layers")


class TestPatches:
    def test_order_by_hand(self, backend):
        """Channel, row, column inside a patch; patches row by row."""
        images = np.arange(16).reshape(2, 2, 4)
        patches = backend.functions.patchify(backend.array(images), 2)
        assert backend.numpy(patches).tolist() == [
            [0, 1, 4, 5, 8, 9, 12, 13],
            [2, 3, 6, 7, 10, 11, 14, 15],
        ]

    def test_an_embedding_of_patches_is_a_strided_convolution(self, backend):
        patch = (4, 3)
        theirs = drawn(nn.Conv2d(CHANNELS, 7, patch, stride=patch))
        with torch.no_grad():
            expected = theirs(torch.from_numpy(IMAGES)).flatten(2).transpose(1, 2)
        weight = backend.array(theirs.weight.detach().flatten(1).T.numpy())
        bias, images = backend.array(theirs.bias.detach().numpy()), backend.array(IMAGES)
        ours = backend.functions.patch_embedding(images, patch, weight, bias)
        assert_close(backend.numpy(ours), expected, "scores")
        maps = backend.functions.convolution(images, weight, bias, kernel_size=patch, stride=patch)
        assert tuple(maps.shape) == (B, 7, 2, 4)
        flat = backend.numpy(maps).reshape(B, 7, 8).swapaxes(1, 2)
        np.testing.assert_array_equal(flat, backend.numpy(ours))

    @pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1), ((1, 3), (2, 0))])
    def test_torchs_convolution(self, backend, stride, padding):
        theirs = drawn(nn.Conv2d(CHANNELS, 7, (2, 3), stride, padding))
        with torch.no_grad():
            expected = theirs(torch.from_numpy(IMAGES))
        weight = backend.array(theirs.weight.detach().flatten(1).T.numpy())
        bias = backend.array(theirs.bias.detach().numpy())
        ours = backend.functions.convolution(
            backend.array(IMAGES), weight, bias, kernel_size=(2, 3), stride=stride, padding=padding
        )
        assert_close(backend.numpy(ours), expected, "scores")

    def test_a_convolution_sees_a_shift(self, backend):
        """What is moved in the image is moved in the map."""
        weight = backend.array(normal(2, CHANNELS * 9, 4))
        moved = np.roll(IMAGES, (1, 2), (-2, -1))
        maps, of_moved = (
            backend.numpy(backend.functions.convolution(backend.array(x), weight, kernel_size=3))
            for x in (IMAGES, moved)
        )
        assert_close(of_moved[..., 1:, 2:], maps[..., :-1, :-2], "scores")


class TestNonLocalBlock:
    def test_it_is_attention_with_one_head(self, backend):
        parameters = block_parameters(d=4)
        x = normal(1, B, CHANNELS, 3, 5)
        output, weights = backend.functions.non_local_block(
            backend.array(x), on(backend, parameters), scale=0.5, return_weights=True
        )
        places = np.ascontiguousarray(x.reshape(B, CHANNELS, 15).swapaxes(1, 2))
        found, of_heads = NUMPY.functions.multi_head_attention(
            places, parameters=parameters, n_heads=1, return_weights=True
        )
        added = found.swapaxes(1, 2).reshape(x.shape)
        assert_close(backend.numpy(output), x + added, "layer")
        assert_close(backend.numpy(weights), of_heads[:, 0], "weights_of_layer")

    def test_untrained_it_is_the_identity(self):
        x = torch.rand(2, 5, 4, 3)
        block = NonLocalBlock(5)
        assert block.w_query.shape == (5, 3)
        assert torch.equal(block(x), x)
        block(x).square().sum().backward()
        assert block.w_output.grad.any(), "it can still learn"

    @pytest.mark.parametrize("bias", [True, False])
    @pytest.mark.parametrize("lead", [(), (B,), (2, B)])
    def test_the_module_gives_the_functions_numbers(self, bias, lead):
        block = drawn(NonLocalBlock(4, 3, bias=bias, scale=0.7))
        assert len(block.parameter_mapping()) == (8 if bias else 4)
        x = tensor(1, *lead, 4, 3, 5)
        expected, weights = functions.non_local_block(
            x, block.parameter_mapping(), scale=0.7, return_weights=True
        )
        assert weights.shape == (*lead, 15, 15)
        assert_close(block(x).detach(), expected.detach(), "layer")
        explicit = block(x, return_weights=True)
        assert_close(explicit[0].detach(), expected.detach(), "layer")
        assert_close(explicit[1].detach(), weights.detach(), "weights_of_layer")

    def test_order_of_places(self, backend):
        """A shuffled image gives the shuffled result: attention alone knows no neighbours."""
        x, order = normal(1, CHANNELS, 1, 6), [3, 0, 5, 1, 2, 4]
        parameters = on(backend, block_parameters())
        block = backend.functions.non_local_block
        shuffled = backend.numpy(block(backend.array(x[..., order]), parameters))
        whole = backend.numpy(block(backend.array(x), parameters))
        assert_close(shuffled, whole[..., order], "layer")


class TestConvolutionLayer:
    @pytest.mark.parametrize("lead", [(), (B,), (2, B)])
    def test_the_module_gives_the_functions_numbers(self, lead):
        layer = drawn(functions.ConvolutionLayer(CHANNELS, 6, eps=0.1))
        x = tensor(1, *lead, CHANNELS, 5, 8)
        expected = functions.convolution_layer(x, layer.parameter_mapping(), eps=0.1)
        assert expected.shape == (*lead, 6, 3, 4)
        assert_close(layer(x).detach(), expected.detach(), "layer")

    def test_tokens_of_a_hybrid_overlap(self):
        """Only a convolution lets a pixel reach a token of the next patch before any attention."""
        changed = torch.from_numpy(IMAGES).clone()
        changed[..., 3, 3] += 1  # the last pixel of the first patch
        for n_convolutions, reached in ((0, [0]), (1, [0, 1, 3, 4])):
            made = model(n_convolutions=n_convolutions, class_token=False)
            with torch.no_grad():
                difference = made._embed(changed) - made._embed(torch.from_numpy(IMAGES))
            touched = difference.abs().amax((0, 2)) > 0
            assert torch.nonzero(touched).flatten().tolist() == reached

    def test_maps_double(self):
        made = model(patch_size=4, n_convolutions=2)
        shapes = [tuple(layer.w_convolution.shape) for layer in made.convolutions]
        assert shapes == [(CHANNELS * 9, 4), (4 * 9, 8)]
        assert made.w_patch.shape == (8, 8)
        assert made.grid == model(patch_size=4).grid == (2, 3)


class TestRollout:
    FIRST = np.array([[1.0, 0.0], [1.0, 0.0]])
    SECOND = np.array([[0.5, 0.5], [0.25, 0.75]])

    def rollout(self, backend, *layers, **keywords):
        layers = [backend.array(layer) for layer in layers]
        return backend.numpy(backend.functions.attention_rollout(layers, **keywords))

    def test_two_layers_by_hand(self, backend):
        """(A1 + I) / 2 = [[1, 0], [.5, .5]], (A2 + I) / 2 = [[.75, .25], [.125, .875]], A2 A1."""
        expected = [[0.875, 0.125], [0.5625, 0.4375]]
        assert self.rollout(backend, self.FIRST, self.SECOND).tolist() == expected
        reversed_order = self.rollout(backend, self.SECOND, self.FIRST)
        assert reversed_order.tolist() == [[0.75, 0.25], [0.4375, 0.5625]]

    def test_without_residual_it_is_the_product(self, backend):
        result = self.rollout(backend, self.FIRST, self.SECOND, residual=0)
        assert result.tolist() == (self.SECOND @ self.FIRST).tolist()

    @pytest.mark.parametrize("fusion", ["mean", "max", "min"])
    @pytest.mark.parametrize("residual", [0, 0.2, 0.5, 1])
    def test_rows_sum_to_one(self, backend, fusion, residual):
        layers = [random_weights(seed, 2, 3, 5, 5) for seed in range(4)]
        result = self.rollout(backend, *layers, fusion=fusion, residual=residual)
        assert_close(result.sum(-1), np.ones((2, 5)), "output")

    def test_identity(self, backend):
        eye = np.broadcast_to(np.eye(4), (3, 4, 4))
        assert self.rollout(backend, eye, eye).tolist() == np.eye(4).tolist()
        other = random_weights(1, 3, 4, 4)
        assert self.rollout(backend, other, residual=1).tolist() == np.eye(4).tolist()

    def test_heads_by_hand(self, backend):
        heads = np.stack([self.FIRST, self.SECOND])
        for fusion, fused in (
            ("mean", [[0.75, 0.25], [0.625, 0.375]]),
            ("max", [[2 / 3, 1 / 3], [4 / 7, 3 / 7]]),
            ("min", [[1, 0], [1, 0]]),
        ):
            assert_close(self.rollout(backend, heads, residual=0, fusion=fusion), fused, "output")

    def test_no_heads_axis(self, backend):
        """A batch of matrices is no set of heads."""
        layers = [random_weights(seed, 3, 4, 4) for seed in (1, 2)]
        batch = self.rollout(backend, *layers, fusion=None)
        assert batch.shape == (3, 4, 4)
        for item in range(3):
            alone = self.rollout(backend, layers[0][item], layers[1][item])
            assert_close(batch[item], alone, "output")

    def test_a_row_that_sees_nothing(self, backend):
        weights = np.array([[0.5, 0.5], [0.0, 0.0]])
        assert self.rollout(backend, weights, residual=0).tolist() == weights.tolist()
        assert self.rollout(backend, weights)[1].tolist() == [0, 1]

    def test_of_a_model(self):
        with torch.no_grad():
            _, weights = model()(torch.from_numpy(IMAGES), return_weights=True)
        rollout = functions.attention_rollout(weights)
        assert rollout.shape == (B, 7, 7)
        assert_close(rollout.sum(-1), np.ones((B, 7)), "output")

    def test_dtypes_and_gradient(self, backend):
        for dtype in backend.dtypes:
            layers = [backend.array(random_weights(seed, 3, 4, 4), dtype) for seed in (1, 2)]
            exact = self.rollout(NUMPY, *map(backend.numpy, layers))
            result = backend.functions.attention_rollout(layers)
            assert backend.dtype_name(result) == dtype
            assert_close(backend.numpy(result), exact, "output", dtype)
        whole = backend.functions.attention_rollout([backend.array(np.eye(2, dtype=int))])
        assert backend.dtype_name(whole) == backend.default
        layers = [torch.from_numpy(random_weights(s, 2, 3, 3)).requires_grad_() for s in (1, 2)]
        assert gradcheck(lambda *layers: functions.attention_rollout(layers), layers)
        with np.errstate(all="raise"):
            NUMPY.functions.attention_rollout([np.full((2, 2), np.inf), np.full((2, 2), 1e308)])


class TestGradients:
    @pytest.mark.parametrize(
        ("run", "shapes"),
        [
            (lambda x: functions.patchify(x, (1, 2)), [(2, 2, 2, 4)]),
            (lambda x: functions.unpatchify(x, (1, 2), (2, 4)), [(2, 4, 4)]),
            (lambda x, w, b: functions.patch_embedding(x, 2, w, b), [(2, 2, 4), (8, 3), (3,)]),
            (
                lambda x, w, b: functions.convolution(x, w, b, kernel_size=2, padding=1),
                [(2, 2, 3), (8, 3), (3,)],
            ),
        ],
        ids=["patchify", "unpatchify", "patch_embedding", "convolution"],
    )
    def test_functions(self, run, shapes):
        inputs = [tensor(seed, *shape).requires_grad_() for seed, shape in enumerate(shapes)]
        assert gradcheck(run, inputs)

    @pytest.mark.parametrize(
        "module",
        [
            lambda: NonLocalBlock(2, 3),
            lambda: functions.ConvolutionLayer(2, 3),
            lambda: VisionTransformer((4, 2), 2, 2, 4, 1, 2, 3, 3, d_pool=3),
            lambda: VisionTransformer(
                (4, 2), 2, 2, 4, 1, 2, 3, 3, class_token=False, n_convolutions=1
            ),
        ],
        ids=["non_local", "convolution", "class_token", "hybrid"],
    )
    def test_modules(self, module):
        """In the images and in every parameter."""
        made = drawn(module())
        names, parameters = zip(*made.named_parameters(), strict=True)

        def run(images, *parameters):
            given_parameters = dict(zip(names, parameters, strict=True))
            return torch.func.functional_call(made, given_parameters, (images,))

        inputs = [tensor(1, 2, 2, 4, 2), *(parameter.detach() for parameter in parameters)]
        assert gradcheck(run, [value.clone().requires_grad_() for value in inputs], fast_mode=True)

    @pytest.mark.parametrize(
        ("module", "name", "more"),
        [
            (lambda: NonLocalBlock(2, 3), "non_local_block", ()),
            (lambda: functions.ConvolutionLayer(2, 3), "convolution_layer", ()),
            (
                lambda: VisionTransformer((4, 2), 2, 2, 4, 1, 2, 3, 3, n_convolutions=1, d_pool=3),
                "vision_transformer",
                (2, 2),
            ),
        ],
        ids=["non_local", "convolution", "vision_transformer"],
    )
    def test_functions_of_parameters(self, module, name, more):
        """The formula has the gradients of the module, in the images and in every parameter."""
        made, function, images = drawn(module()), getattr(functions, name), tensor(1, 2, 2, 4, 2)
        gradients = []
        for run in (made, lambda x: function(x, made.parameter_mapping(), *more)):
            made.zero_grad()
            x = images.clone().requires_grad_()
            run(x).square().sum().backward()
            parts = [x.grad, *(parameter.grad for parameter in made.parameters())]
            # together, since the gradient of the bias of keys is nothing but rounding
            gradients.append(torch.cat([part.flatten() for part in parts]))
        assert_close(*gradients, "layers")
        assert gradcheck(
            lambda x: function(x, made.parameter_mapping(), *more), images.requires_grad_()
        )

    def test_the_class_token_learns(self):
        """It is a parameter: made anew in every call it would never change."""
        made = VisionTransformer(4, 2, 1, 8, 1, 2, 8, 3)
        assert {"class_token", "positions", "w_patch"} <= dict(made.named_parameters()).keys()
        made(torch.rand(2, 1, 4, 4)).square().sum().backward()
        for parameter in (made.class_token, made.positions, made.w_patch):
            assert parameter.grad.any()


class TestModule:
    def test_state_dict(self):
        for changed in ({}, {"class_token": False, "n_convolutions": 2, "d_pool": 3}):
            made = model(**changed)
            other = VisionTransformer((HEIGHT, WIDTH), 4, CHANNELS, **(SIZES | changed)).double()
            images = torch.from_numpy(IMAGES)
            assert not torch.allclose(other.eval()(images), made(images))
            other.load_state_dict(made.state_dict())
            assert torch.equal(other(images), made(images))

    def test_dropout_only_in_training(self):
        images = torch.from_numpy(IMAGES)
        noisy, still = model(dropout=0.5), model()
        with torch.no_grad():
            assert torch.equal(noisy(images), still(images))
            assert not torch.allclose(noisy.train()(images), noisy(images))
            assert torch.equal(still.train()(images), still.eval()(images))
        for layer in noisy.layers:
            assert layer.dropout == layer.attention.dropout == layer.feed_forward.dropout == 0.5
        for layer in noisy.layers:
            layer.eval()
        with torch.no_grad():  # the embeddings drop, too
            assert not torch.allclose(noisy(images), noisy(images))

    def test_switches_reach_the_layers(self):
        made = model(norm="post", activation="relu", eps=0.25, n_convolutions=1, n_layers=3)
        assert len(made.layers) == 3
        for layer in made.layers:
            assert (layer.norm, layer.feed_forward.activation) == ("post", "relu")
            assert layer.attention_norm.eps == 0.25
        assert made.convolutions[0].norm.eps == 0.25
        assert isinstance(made.output_norm, nn.Identity)
        assert model(eps=0.25).output_norm.eps == 0.25
        assert model(d_ff=None).layers[0].feed_forward.w_hidden.shape == (8, 32)

    def test_class_token_or_mean(self):
        images = torch.from_numpy(IMAGES)
        with torch.no_grad():
            made = model(n_classes=None)
            assert torch.equal(made(images), made.encode(images)[:, 0])
            assert made.encode(images).shape == (B, 7, 8)
            made = model(n_classes=None, class_token=False)
            assert torch.equal(made(images), made.encode(images).mean(-2))
            assert made.encode(images).shape == (B, 6, 8)

    def test_order_of_patches(self):
        """Without positions, shuffled patches give the same answer; with them another."""
        made, order = model(), [4, 1, 5, 0, 2, 3]
        patches = functions.patchify(torch.from_numpy(IMAGES), 4)
        shuffled = functions.unpatchify(patches[:, order], 4, (HEIGHT, WIDTH))
        with torch.no_grad():
            before, after = made(torch.from_numpy(IMAGES)), made(shuffled)
            assert not torch.allclose(before, after)
            made.positions[1:] = made.positions[1]
            assert_close(made(shuffled), made(torch.from_numpy(IMAGES)), "layers")

    def test_it_learns(self):
        """Which half of the image is brighter: a few steps are enough."""
        torch.manual_seed(0)
        images = torch.rand(64, 1, 8, 8)
        target = (torch.arange(64) % 2).long()
        images[target == 1, :, :, 4:] += 1
        images[target == 0, :, :, :4] += 1
        for n_convolutions in (0, 2):
            made = VisionTransformer(8, 4, 1, 16, 1, 2, 32, 2, n_convolutions=n_convolutions)
            optimiser = torch.optim.Adam(made.parameters(), 0.01)
            for _ in range(60):
                optimiser.zero_grad()
                F.cross_entropy(made(images), target).backward()
                optimiser.step()
            assert (made(images).argmax(-1) == target).float().mean() > 0.95


class TestPromises:
    CALLS = (
        ("patchify", {"images": IMAGES}, {"patch_size": (4, 3)}, "scores"),
        (
            "unpatchify",
            {"patches": normal(1, B, 6, 24)},
            {"patch_size": 2, "image_size": (6, 4)},
            "scores",
        ),
        (
            "patch_embedding",
            {"images": IMAGES, "weight": normal(2, 32, 5), "bias": normal(3, 5)},
            {"patch_size": 4},
            "output",
        ),
        (
            "convolution",
            {"images": IMAGES, "weight": normal(2, 12, 5), "bias": normal(3, 5)},
            {"kernel_size": (2, 3), "stride": 2, "padding": 1},
            "output",
        ),
    )
    every_call = pytest.mark.parametrize(
        ("name", "floats", "keywords", "operation"), CALLS, ids=[call[0] for call in CALLS]
    )

    def parametered(self):
        """Calls that also take parameters: name, array, parameters, further arguments."""
        made = model(n_convolutions=1, d_pool=3)
        layer = drawn(functions.ConvolutionLayer(CHANNELS, 3))
        yield "vision_transformer", as_numpy(made.parameter_mapping()), (4, 4)
        yield "convolution_layer", as_numpy(layer.parameter_mapping()), ()
        yield "non_local_block", block_parameters(), ()

    @every_call
    def test_dtypes(self, backend, name, floats, keywords, operation):
        run = getattr(backend.functions, name)
        for dtype in backend.dtypes:
            arrays = {key: backend.array(values, dtype) for key, values in floats.items()}
            result = run(**arrays, **keywords)
            assert isinstance(result, backend.array_type)
            assert backend.dtype_name(result) == dtype
            exact = {key: backend.numpy(array) for key, array in arrays.items()}
            expected = getattr(NUMPY.functions, name)(**exact, **keywords)
            assert_close(backend.numpy(result), expected, operation, dtype)
        for wide in floats:
            mixed = {
                key: backend.array(values, "float64" if key == wide else "float32")
                for key, values in floats.items()
            }
            assert backend.dtype_name(run(**mixed, **keywords)) == "float64"
        for narrow in ("uint8", "int64", "bool"):
            whole = {
                key: backend.array((abs(values) > 0.5).astype(narrow if key != "bias" else int))
                for key, values in floats.items()
            }
            assert backend.dtype_name(run(**whole, **keywords)) == backend.default

    @every_call
    def test_complex_and_none(self, backend, name, floats, keywords, operation):
        run = getattr(backend.functions, name)
        arrays = {key: backend.array(values) for key, values in floats.items()}
        for key, values in floats.items():
            wrong = backend.array(values + 0j)
            with pytest.raises(TypeError, match=f"{key} must be real but is .*complex128"):
                run(**arrays | {key: wrong}, **keywords)
            if key != "bias":
                with pytest.raises(TypeError, match=key):
                    run(**arrays | {key: None}, **keywords)

    @every_call
    def test_layouts(self, backend, name, floats, keywords, operation):
        run = getattr(backend.functions, name)
        arrays = {key: backend.array(values) for key, values in floats.items()}
        expected = backend.numpy(run(**arrays, **keywords))
        for key, values in floats.items():
            for layout in unusual_layouts(backend, values):
                result = backend.numpy(run(**arrays | {key: layout}, **keywords))
                assert_close(result, expected, operation)
            np.testing.assert_array_equal(backend.numpy(arrays[key]), values)

    @every_call
    def test_batch(self, backend, name, floats, keywords, operation):
        """Each item as alone, without a leading axis, and expanded without being copied."""
        run = getattr(backend.functions, name)
        (first, values), *others = floats.items()
        rest = {key: backend.array(array) for key, array in others}
        together = backend.numpy(run(backend.array(values), **rest, **keywords))
        for item in range(B):
            alone = run(backend.array(values[item]), **rest, **keywords)
            assert_close(together[item], backend.numpy(alone), operation)
        shape = (5, *values.shape)
        array = backend.array(values)
        array = np.broadcast_to(array, shape) if backend is NUMPY else array.expand(shape)
        many = backend.numpy(run(**{first: array}, **rest, **keywords))
        assert_close(many, np.broadcast_to(together, (5, *together.shape)), operation)
        empty = run(backend.array(values[:0]), **rest, **keywords)
        assert tuple(empty.shape) == (0, *together.shape[1:])

    def test_functions_of_parameters(self, backend):
        for name, parameters, more in self.parametered():
            run = getattr(backend.functions, name)
            for dtype in backend.dtypes:
                narrow, images = on(backend, parameters, dtype), backend.array(IMAGES, dtype)
                result = run(images, narrow, *more)
                assert backend.dtype_name(result) == dtype
                exact = plain(narrow, backend.numpy)
                expected = getattr(NUMPY.functions, name)(backend.numpy(images), exact, *more)
                assert_close(backend.numpy(result), expected, "layers", dtype)
                if name != "convolution_layer":
                    _, weights = run(images, narrow, *more, return_weights=True)
                    layers = weights if isinstance(weights, tuple) else (weights,)
                    assert {backend.dtype_name(layer) for layer in layers} == {dtype}
            given_parameters, whole = on(backend, parameters), (IMAGES > 0).astype("uint8")
            expected = run(backend.array(whole.astype(float)), given_parameters, *more)
            promoted = run(backend.array(whole), given_parameters, *more)
            assert backend.dtype_name(promoted) == "float64"
            assert_close(backend.numpy(promoted), backend.numpy(expected), "layers")
            with pytest.raises(TypeError, match=r"must be real but is .*complex128"):
                run(backend.array(IMAGES + 0j), given_parameters, *more)
            for layout in unusual_layouts(backend, IMAGES):
                result = backend.numpy(run(layout, given_parameters, *more))
                expected = backend.numpy(run(backend.array(IMAGES), given_parameters, *more))
                assert_close(result, expected, "layers")
            images = backend.array(IMAGES)
            run(images, given_parameters, *more)[...] = 7
            np.testing.assert_array_equal(backend.numpy(images), IMAGES)
            self.assert_same(plain(given_parameters, backend.numpy), parameters)
            empty = run(backend.array(IMAGES[:0]), given_parameters, *more)
            assert tuple(empty.shape) == (0, *expected.shape[1:])

    def assert_same(self, ours, theirs):
        if isinstance(ours, np.ndarray):
            np.testing.assert_array_equal(ours, theirs)
            return
        keys = ours.keys() if isinstance(ours, dict) else range(len(ours))
        for key in keys:
            self.assert_same(ours[key], theirs[key])

    def test_empty_maps(self, backend):
        for shape in ((2, CHANNELS, 0, 3), (2, CHANNELS, 3, 0)):
            x = backend.array(np.zeros(shape))
            parameters = on(backend, block_parameters())
            assert tuple(backend.functions.non_local_block(x, parameters).shape) == shape
            assert tuple(backend.functions.patchify(x, 3).shape) == (2, 0, 18)

    def test_no_warning_leaves(self):
        parameters = as_numpy(model(n_convolutions=1).parameter_mapping())
        for bad in (np.nan, np.inf, 1e308):
            strange = IMAGES.copy()
            strange.flat[::2] = bad
            with np.errstate(all="raise"):
                NUMPY.functions.vision_transformer(strange, parameters, 4, 4)
                NUMPY.functions.non_local_block(strange, block_parameters())
                NUMPY.functions.convolution(strange, normal(1, 18, 2), kernel_size=3)

    def test_modules(self):
        images = torch.from_numpy(IMAGES)
        made, block = model(n_convolutions=1), drawn(NonLocalBlock(CHANNELS))
        with torch.no_grad():
            for module in (made, block):
                assert module(images[:0]).shape[0] == 0
                assert module(images[:0], return_weights=True)[0].shape[0] == 0
                expected = module(images)
                strided = images.mT.contiguous().mT
                assert_close(module(strided), expected, "layers")
                assert_close(module(images[0]), expected[0], "layers")
                assert_close(module(images[None]), expected[None], "layers")
                whole = (images > 0).to(torch.uint8)
                assert_close(module(whole), module(whole.double()), "layers")
                module.float()
                assert module(images.float()).dtype == torch.float32
                assert module(images).dtype == torch.float64  # the wider
                assert_close(module(images.float()), expected, "layers", "float32")


class TestErrors:
    @pytest.mark.parametrize(
        ("name", "arguments", "keywords", "error", "message"),
        [
            (
                "patchify",
                ((2, 3, 8, 9), 4),
                {},
                ValueError,
                r"width 9 in shape \(2, 3, 8, 9\), not a multiple of patch_size, 4; crop it to 8 or pad it to 12",
            ),
            ("patchify", ((3, 7, 8), 4), {}, ValueError, "height 7 .*patch_size, 4"),
            ("patchify", ((8, 8), 4), {}, ValueError, "images needs at least 3 axes"),
            ("patchify", ((3, 8, 8), 0), {}, ValueError, "patch_size must be at least 1 but is 0"),
            ("patchify", ((3, 8, 8), 2.5), {}, TypeError, "patch_size must be a whole number"),
            ("patchify", ((3, 8, 8), (2, 2, 2)), {}, ValueError, r"patch_size .* is \(2, 2, 2\)"),
            (
                "unpatchify",
                ((2, 5, 12), 2, (4, 4)),
                {},
                ValueError,
                r"5 patches but an image of \(4, 4\) has 4 of patch_size \(2, 2\); a class token",
            ),
            (
                "unpatchify",
                ((4, 7), 2, 4),
                {},
                ValueError,
                "width 7, not a multiple of the 4 pixels",
            ),
            (
                "unpatchify",
                ((4, 4), 2, 5),
                {},
                ValueError,
                "image_size has height 5 .*patch_size, 2",
            ),
            ("unpatchify", ((4,), 2, 4), {}, ValueError, "patches needs at least 2 axes"),
            (
                "patch_embedding",
                ((3, 4, 4), 2, (5, 12)),
                {},
                ValueError,
                r"weight has shape \(5, 12\) but the width of a patch .* is 12; .*transposed",
            ),
            (
                "patch_embedding",
                ((3, 4, 4), 3, (27, 5)),
                {},
                ValueError,
                "height 4 .*patch_size, 3",
            ),
            (
                "patch_embedding",
                ((3, 4, 4), 2, (12, 5), (4,)),
                {},
                ValueError,
                r"bias has shape \(4,\)",
            ),
            (
                "convolution",
                ((3, 4, 4), (27, 5)),
                {"kernel_size": 5},
                ValueError,
                "kernel_size is 5 .*height 4",
            ),
            (
                "convolution",
                ((3, 4, 4), (26, 5)),
                {"kernel_size": 3},
                ValueError,
                "weight .* is 27",
            ),
            (
                "convolution",
                ((3, 4, 4), (27, 5), (4,)),
                {"kernel_size": 3},
                ValueError,
                r"bias has shape \(4,\) .*width 5",
            ),
            (
                "convolution",
                ((3, 4, 4), (27, 5)),
                {"kernel_size": 3, "stride": 0},
                ValueError,
                "stride must",
            ),
            (
                "convolution",
                ((3, 4, 4), (27, 5)),
                {"kernel_size": 3, "padding": -1},
                ValueError,
                "padding must",
            ),
        ],
    )
    def test_functions(self, backend, name, arguments, keywords, error, message):
        first, *others = arguments
        arrays = [backend.array(np.ones(first))]
        for position, argument in enumerate(others):
            is_size = name in ("patchify", "unpatchify") or (
                name == "patch_embedding" and not position
            )
            arrays.append(argument if is_size else backend.array(np.ones(argument)))
        with pytest.raises(error, match=message):
            getattr(backend.functions, name)(*arrays, **keywords)

    @pytest.mark.parametrize(
        ("changed", "keywords", "error", "message"),
        [
            (
                {"w_patch": None},
                {},
                ValueError,
                "parameters lacks w_patch; it needs w_patch, positions",
            ),
            ({"cls": np.ones(8)}, {}, ValueError, "parameters holds cls, which nobody reads"),
            ({"output_norm": None}, {}, ValueError, "parameters lacks output_norm"),
            (
                {"output_norm": np.ones(8)},
                {},
                TypeError,
                r"parameters\['output_norm'\] must be a mapping",
            ),
            (
                {"output_norm": {"scale": np.ones(8)}},
                {},
                ValueError,
                "holds scale, .* a gain and a bias",
            ),
            ({"output_norm": {"gain": np.ones(7)}}, {}, ValueError, r"gain has shape \(7,\)"),
            (
                {"layers": np.ones(3)},
                {},
                TypeError,
                r"parameters\['layers'\] must be a list of mappings",
            ),
            (
                {"class_token": np.ones(7)},
                {},
                ValueError,
                r"class_token has shape \(7,\) but \(d_model\)",
            ),
            (
                {"class_token": None},
                {},
                ValueError,
                r"positions has shape \(7, 8\) but 6 patches of width 8",
            ),
            ({"positions": np.ones((6, 8))}, {}, ValueError, "7 patches and the class token"),
            ({"w_patch": np.ones((31, 8))}, {}, ValueError, r"weight has shape \(31, 8\) .* is 32"),
            ({"w_patch": np.ones(8)}, {}, ValueError, "w_patch needs the shape"),
            ({"w_head": np.ones((7, 5))}, {}, ValueError, r"w_head has shape \(7, 5\) .* is 8"),
            ({"w_head": None}, {}, ValueError, "parameters holds b_head but no w_head"),
            ({"w_pool": np.ones((8, 3))}, {}, ValueError, r"w_head has shape \(8, 5\) .* is 3"),
            ({"b_head": np.ones(4)}, {}, ValueError, r"b_head has shape \(4,\)"),
            ({}, {"norm": "before"}, ValueError, "norm must be 'pre'"),
            ({}, {"activation": "tanh"}, ValueError, "activation must be 'relu' or 'gelu'"),
            ({}, {"n_heads": 3}, ValueError, "not a multiple of n_heads, 3"),
            ({}, {"patch_size": 5}, ValueError, "height 8 .*patch_size, 5"),
            (
                {"convolutions": [{"w_convolution": np.ones((18, 8)), "norm": {}}] * 3},
                {},
                ValueError,
                r"patch_size is 4, not a multiple of 2 \*\* n_convolutions, 8",
            ),
            (
                {"convolutions": [{"w_convolution": np.ones((17, 8)), "norm": {}}]},
                {},
                ValueError,
                r"w_convolution has shape \(17, 8\) but channels \* 9 is 18",
            ),
            ({"convolutions": [{"norm": {}}]}, {}, ValueError, "parameters lacks w_convolution"),
            (
                {"convolutions": [{"w_convolution": np.ones((18, 8)), "norm": np.ones(8)}]},
                {},
                TypeError,
                r"parameters\['norm'\] must be a mapping",
            ),
            ({}, {"images": IMAGES[..., :0]}, ValueError, "has no patches"),
            ({}, {"images": IMAGES[0, 0]}, ValueError, "images needs at least 3 axes"),
        ],
    )
    def test_vision_transformer(self, backend, changed, keywords, error, message):
        parameters = as_numpy(model().parameter_mapping()) | changed
        parameters = {name: value for name, value in parameters.items() if value is not None}
        arguments = {"images": IMAGES, "patch_size": 4, "n_heads": 4} | keywords
        arguments["images"] = backend.array(arguments["images"])
        with pytest.raises(error, match=message):
            backend.functions.vision_transformer(parameters=on(backend, parameters), **arguments)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            (
                {"w_query": np.ones((3, 3))},
                r"w_query has shape \(3, 3\) but the channels of x is 2",
            ),
            (
                {"w_key": np.ones((2, 4))},
                r"w_key has shape \(2, 4\) but \(channels, d\) is \(2, 3\)",
            ),
            (
                {"w_output": np.ones((2, 4))},
                r"w_output .*\(d_v, channels\) is \(4, 2\) here; it is transposed",
            ),
            ({"b_value": np.ones(3)}, r"b_value has shape \(3,\)"),
            ({"w_theta": np.ones((2, 3))}, "parameters holds w_theta, which nobody reads"),
        ],
    )
    def test_non_local_block(self, backend, changed, message):
        parameters = on(backend, block_parameters() | changed)
        with pytest.raises(ValueError, match=message):
            backend.functions.non_local_block(backend.array(IMAGES), parameters)

    @pytest.mark.parametrize(
        ("layers", "keywords", "error", "message"),
        [
            ([], {}, ValueError, "weights holds no layer"),
            (
                [(3, 4, 5)],
                {},
                ValueError,
                r"weights\[0\] has shape \(3, 4, 5\), 4 queries and 5 keys",
            ),
            ([(3, 4, 4), (3, 5, 5)], {}, ValueError, r"weights\[1\] is over 5 positions .* over 4"),
            ([(4,)], {}, ValueError, r"weights\[0\] needs at least 2 axes"),
            ([(0, 4, 4)], {}, ValueError, "no heads"),
            (
                [(4, 4)],
                {"residual": 1.5},
                ValueError,
                "residual must be between 0 and 1 but is 1.5",
            ),
            ([(4, 4)], {"residual": "half"}, TypeError, "residual must be a real number"),
            (
                [(4, 4)],
                {"fusion": "sum"},
                ValueError,
                "fusion must be 'mean' or 'max' or 'min' or None",
            ),
        ],
    )
    def test_rollout(self, backend, layers, keywords, error, message):
        layers = [backend.array(np.ones(shape)) for shape in layers]
        with pytest.raises(error, match=message):
            backend.functions.attention_rollout(layers, **keywords)

    def test_rollout_of_one_array(self, backend):
        """Whether its first axis is the layers or the batch, nobody can tell."""
        with pytest.raises(TypeError, match=r"weights must be a list or tuple .*; it holds one"):
            backend.functions.attention_rollout(backend.array(np.ones((2, 3, 4, 4))))
        layers = [backend.array(np.ones((2, 2))), backend.array(np.ones((2, 2)) + 0j)]
        with pytest.raises(TypeError, match=r"weights\[1\] must be real but is .*complex"):
            backend.functions.attention_rollout(layers)

    @pytest.mark.parametrize(
        ("changed", "error", "message"),
        [
            ({"image_size": 10}, ValueError, r"image of image_size has height 10 .*patch_size, 4"),
            (
                {"image_size": (8, 8, 8)},
                ValueError,
                "image_size must be one number or a height and a width",
            ),
            ({"image_size": 0}, ValueError, "image_size must be at least 1"),
            ({"patch_size": 0}, ValueError, "patch_size must be at least 1"),
            ({"channels": 0}, ValueError, "channels must be at least 1"),
            ({"n_heads": 3}, ValueError, "d_model is 8, not a multiple of n_heads, 3"),
            ({"n_layers": 0}, ValueError, "n_layers must be at least 1"),
            ({"n_classes": 0}, ValueError, "n_classes must be at least 1"),
            ({"n_classes": 2.5}, TypeError, "n_classes must be a whole number"),
            ({"d_pool": 0}, ValueError, "d_pool must be at least 1"),
            ({"dropout": 1}, ValueError, "dropout must be at least 0 and below 1"),
            ({"norm": "p"}, ValueError, "norm must be"),
            ({"activation": "p"}, ValueError, "activation must be"),
            ({"eps": 0}, ValueError, "eps must be above 0"),
            (
                {"n_convolutions": 3},
                ValueError,
                r"patch_size is 4, not a multiple of 2 \*\* n_convolutions, 8",
            ),
            ({"n_convolutions": -1}, ValueError, "n_convolutions must be at least 0"),
            (
                {"d_model": 6, "n_heads": 2, "patch_size": 8, "image_size": 8, "n_convolutions": 3},
                ValueError,
                "d_model is 6, not a multiple of 4; the maps of 3 convolutions double",
            ),
        ],
    )
    def test_construction(self, changed, error, message):
        with pytest.raises(error, match=message):
            model(**changed)

    @pytest.mark.parametrize(
        ("run", "error", "message"),
        [
            (
                lambda m, x: m(x.movedim(1, -1)),
                ValueError,
                r"8 channels in shape \(3, 8, 12, 2\) .* for 2;",
            ),
            (
                lambda m, x: m(x[:, 0]),
                ValueError,
                "images has 3 channels .*grey image has one channel",
            ),
            (lambda m, x: m(x[0, 0]), ValueError, "images needs at least 3 axes"),
            (
                lambda m, x: m(x[..., :8]),
                ValueError,
                r"height and width \(8, 8\) but image_size is \(8, 12\)",
            ),
            (lambda m, x: m(x + 0j), TypeError, "images must be real"),
            (lambda m, x: m(x.numpy()), TypeError, r"images must be a torch\.Tensor"),
            (lambda m, x: NonLocalBlock(3)(x), ValueError, "w_query .* the channels of x is 2"),
            (lambda m, x: NonLocalBlock(0), ValueError, "channels must be at least 1"),
            (lambda m, x: NonLocalBlock(2, 0), ValueError, "d_hidden must be at least 1"),
            (lambda m, x: NonLocalBlock(2, scale="sqrt"), TypeError, "scale must be a real number"),
            (
                lambda m, x: functions.ConvolutionLayer(2, 4)(x[..., :0]),
                ValueError,
                "kernel_size is 3 but images .* has width 2; the kernel has to fit in",
            ),
            (
                lambda m, x: functions.ConvolutionLayer(3, 4)(x),
                ValueError,
                "images has 2 channels .*made for 3",
            ),
            (lambda m, x: functions.ConvolutionLayer(3, 0), ValueError, "d_out must be at least 1"),
        ],
    )
    def test_modules(self, run, error, message):
        with pytest.raises(error, match=message):
            run(model(), torch.from_numpy(IMAGES))


@pytest.fixture(scope="module")
def library():
    """The package transformers, which only the tests need."""
    return pytest.importorskip("transformers")


class TestFromTransformers:
    """Random weights of transformers' own ViT, every parameter drawn anew, in float64."""

    def foreign(self, library, kind="ViTForImageClassification", attention="sdpa", **changed):
        options = {
            "hidden_size": 12,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "intermediate_size": 10,
            "image_size": (8, 12),
            "patch_size": 4,
            "num_channels": 2,
            "num_labels": 5,
        }
        config = library.ViTConfig(**options | changed)
        config._attn_implementation = attention
        made = getattr(library, kind)(config)
        return drawn(made)

    @pytest.mark.parametrize("qkv_bias", [True, False])
    @pytest.mark.parametrize("activation", ["gelu", "relu"])
    @pytest.mark.parametrize("patch_size", [4, (4, 3)], ids=["square", "wide"])
    def test_classifier(self, library, qkv_bias, activation, patch_size):
        foreign = self.foreign(
            library, qkv_bias=qkv_bias, hidden_act=activation, patch_size=patch_size
        )
        ours = VisionTransformer.from_transformers(foreign)
        images = torch.from_numpy(IMAGES)
        with torch.no_grad():
            theirs = foreign(images, output_hidden_states=True)
            assert ours(images).dtype == torch.float64
            assert_close(ours(images), theirs.logits, "layers")
            last = foreign.vit(images).last_hidden_state
            assert_close(ours.encode(images), last, "layers")
            x = ours._embed(images)
            for layer, expected in zip(ours.layers, theirs.hidden_states, strict=False):
                assert_close(x, expected, "layers")
                x = layer(x)
            assert_close(x, theirs.hidden_states[-1], "layers")
        assert ours.output_norm.eps == 1e-12
        held = as_numpy(ours.parameter_mapping())
        reference = NUMPY.functions.vision_transformer(
            IMAGES, held, patch_size, 4, activation=activation, eps=1e-12
        )
        assert_close(reference, theirs.logits, "layers")

    def test_weights(self, library):
        foreign = self.foreign(library, attention="eager")
        ours = VisionTransformer.from_transformers(foreign)
        images = torch.from_numpy(IMAGES)
        with torch.no_grad():
            theirs = foreign(images, output_attentions=True).attentions
            _, weights = ours(images, return_weights=True)
        assert len(weights) == len(theirs) == 3
        for mine, other in zip(weights, theirs, strict=True):
            assert_close(mine, other, "weights_of_layer", "float32")  # their softmax is float32

    def test_without_a_classifier(self, library):
        images = torch.from_numpy(IMAGES)
        with_pooler = self.foreign(library, "ViTModel", pooler_output_size=7)
        ours = VisionTransformer.from_transformers(with_pooler)
        with torch.no_grad():
            theirs = with_pooler(images)
            assert_close(ours(images), theirs.pooler_output, "layers")
            assert_close(ours.encode(images), theirs.last_hidden_state, "layers")
            without = self.foreign(library, "ViTModel")
            without.pooler = None
            ours = VisionTransformer.from_transformers(without)
            last = without(images).last_hidden_state
            assert_close(ours(images), last[:, 0], "layers")
            no_labels = self.foreign(library, num_labels=0)
            ours = VisionTransformer.from_transformers(no_labels)
            assert_close(ours(images), no_labels(images).logits, "layers")

    def test_mode_dtype_dropout_and_gradient(self, library):
        foreign = self.foreign(
            library, qkv_bias=False, hidden_dropout_prob=0.25, attention_probs_dropout_prob=0.5
        )
        ours = VisionTransformer.from_transformers(foreign.float().train())
        assert ours.training
        assert ours.w_patch.dtype == torch.float32
        assert ours.dropout == 0.25
        for layer in ours.layers:
            assert (layer.dropout, layer.attention.dropout, layer.feed_forward.dropout) == (
                0.25,
                0.5,
                0.0,
            )
            assert not layer.attention.b_input.requires_grad
            assert not layer.attention.b_input.any()
        counts = [
            sum(p.numel() for p in module.parameters() if p.requires_grad)
            for module in (ours, foreign)
        ]
        assert counts[0] == counts[1]
        images = torch.from_numpy(IMAGES).float()
        foreign.double().eval()
        ours.double().eval()
        ours(images).square().sum().backward()
        foreign(images.double()).logits.square().sum().backward()
        theirs = foreign.vit.embeddings
        assert_close(ours.class_token.grad, theirs.cls_token.grad[0, 0], "layers")
        expected = theirs.patch_embeddings.projection.weight.grad.flatten(1).T
        assert_close(ours.w_patch.grad, expected, "layers")

    def test_parameters_are_copied(self, library):
        foreign = self.foreign(library)
        ours = VisionTransformer.from_transformers(foreign)
        before = ours(torch.from_numpy(IMAGES)).detach()
        with torch.no_grad():
            for parameter in foreign.parameters():
                parameter.zero_()
        assert torch.equal(ours(torch.from_numpy(IMAGES)).detach(), before)

    def test_refused(self, library):
        load = VisionTransformer.from_transformers
        with pytest.raises(ValueError, match="activation silu; only relu and the exact gelu"):
            load(self.foreign(library, hidden_act="silu"))
        with pytest.raises(ValueError, match="pooler with relu; only tanh"):
            load(self.foreign(library, "ViTModel", pooler_act="relu"))
        with pytest.raises(
            TypeError, match=r"must be a ViTModel .* but is ViTForMaskedImageModeling"
        ):
            load(self.foreign(library, "ViTForMaskedImageModeling", image_size=8))
        with pytest.raises(TypeError, match="but is VisionTransformer"):
            load(model())
        with pytest.raises(ValueError, match="4 heads of width 2 but d_model 12"):
            load(self.foreign(library, head_dim=2))


class TestHelp:
    def test_twins(self):
        ours, theirs = attnkit.numpy.vision, attnkit.torch.vision
        classes = {name for name in theirs.__all__ if inspect.isclass(getattr(theirs, name))}
        assert classes == {"ConvolutionLayer", "NonLocalBlock", "VisionTransformer"}
        assert set(theirs.__all__) - classes == set(ours.__all__)
        for name in ours.__all__:
            assert inspect.signature(getattr(ours, name)) == inspect.signature(
                getattr(theirs, name)
            )
        for package, module in itertools.product((attnkit.numpy, attnkit.torch), (ours,)):
            assert set(module.__all__) <= set(dir(package))

    def test_docstrings_are_complete(self, backend):
        module = getattr(attnkit, backend.name).vision
        for name in module.__all__:
            text = inspect.getdoc(getattr(module, name))
            for section in ("Parameters", "Raises", "References", "Examples"):
                assert f"{section}\n---" in text, f"{name} lacks {section}"
            for parameter in inspect.signature(getattr(module, name)).parameters:
                assert parameter in text, f"{name} does not explain {parameter}"


@pytest.mark.parametrize("backend", [NUMPY, TORCH], ids=["numpy", "torch"])
@pytest.mark.parametrize("fusion", ["mean", None])
def test_rollout_refuses_batches_that_do_not_broadcast(backend, fusion):
    heads = () if fusion is None else (2,)
    layers = [backend.array(np.ones((size, *heads, 4, 4))) for size in (3, 1, 5)]
    message = r"the leading axes of weights\[0\] \(3,\) and .* weights\[2\] \(5,\) do not"
    with pytest.raises(ValueError, match=message):
        backend.functions.attention_rollout(layers, fusion=fusion)
    assert backend.functions.attention_rollout(layers[:2], fusion=fusion).shape == (3, 4, 4)


@pytest.mark.parametrize("return_weights", [False, True])
def test_non_local_block_with_shared_weights(return_weights):
    block = NonLocalBlock(3)
    block.w_key = block.w_query  # a symmetric score
    assert set(block.parameter_mapping()) >= {"w_query", "w_key"}
    result = block(torch.ones(1, 3, 2, 2), return_weights=return_weights)
    assert (result[0] if return_weights else result).shape == (1, 3, 2, 2)
