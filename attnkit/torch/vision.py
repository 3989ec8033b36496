"""Attention over images: patches as tokens, the Vision Transformer, non-local blocks, rollout.

An image becomes a sequence by being cut into patches; from there on everything is the Transformer's.
Images and feature maps are ``(..., channels, height, width)``, their positions are numbered row by
row. The functions are the formula, twins of those in `attnkit.numpy.vision`; the modules give the
same numbers on torch's fast paths.
"""

import functools
import itertools
import math

import torch
from torch import nn
from torch.nn import functional as F

from .. import errors
from ..errors import (
    check_choice,
    check_convolution,
    check_convolution_layer,
    check_halvings,
    check_image,
    check_map_widths,
    check_non_local,
    check_pair,
    check_patch_embedding,
    check_patches,
    check_probability,
    check_real,
    check_rollout,
    check_size,
    check_unpatchify,
    check_vision_transformer,
)
from ._parameters import as_input, floating_layer, shapes_of
from ._tensors import _float_tensor, floating
from .attention import scaled_dot_product_attention
from .multihead import _affine, _project
from .transformer import (
    ACTIVATIONS,
    NORMS,
    EncoderLayer,
    LayerNorm,
    _drawn,
    encoder_layer,
    layer_norm,
)

__all__ = [
    "ConvolutionLayer",
    "NonLocalBlock",
    "VisionTransformer",
    "attention_rollout",
    "convolution",
    "convolution_layer",
    "non_local_block",
    "patch_embedding",
    "patchify",
    "unpatchify",
    "vision_transformer",
]

FUSION = {"mean": torch.mean, "max": torch.amax, "min": torch.amin}


@floating("images")
def patchify(images, patch_size):
    """Cut images into patches and write each as one row, so that an image is a sequence.

    Parameters
    ----------
    images : torch.Tensor, shape (..., C, H, W)
        Images, channels first.
    patch_size : int or pair of int
        Sides of a patch, p, or its height and width.

    Returns
    -------
    torch.Tensor, shape (..., (H / p) * (W / p), C * p * p)
        Patches row by row; within a patch the first channel's pixels row by row, then the
        next channel's, as the weights of a convolution are ordered. The same numbers as in images
        (a view where none has to move); `unpatchify` is the way back.

    Raises
    ------
    ValueError
        When the height or the width is not a multiple of patch_size, or an axis is missing.
    TypeError
        When patch_size is not a whole number, or images are complex or hold no numbers.

    References
    ----------
    Dosovitskiy et al. (2021), "An Image is Worth 16x16 Words: Transformers for Image Recognition
    at Scale", section 3.1.

    Examples
    --------
    >>> patchify(torch.arange(8).reshape(1, 2, 4), 2)
    tensor([[0., 1., 4., 5.],
            [2., 3., 6., 7.]])
    """
    height, width = check_patches(images.shape, patch_size)
    *lead, channels, tall, wide = images.shape
    rows, columns = tall // height, wide // width
    grid = images.reshape(*lead, channels, rows, height, columns, width)
    grid = grid.movedim((-4, -2), (-5, -4))  # (..., rows, columns, C, height, width)
    return grid.reshape(*lead, rows * columns, channels * height * width)


@floating("patches")
def unpatchify(patches, patch_size, image_size):
    """Put patches together to images: the way back from `patchify`.

    Parameters
    ----------
    patches : torch.Tensor, shape (..., n_patches, C * p * p)
        As `patchify` gives them.
    patch_size : int or pair of int
        Sides of a patch, p, or its height and width.
    image_size : int or pair of int
        Sides of the image, or its height and width.

    Returns
    -------
    torch.Tensor, shape (..., C, H, W)
        Images; the number of channels follows from the width of patches.

    Raises
    ------
    ValueError
        When the patches do not fill an image of this size.
    TypeError
        When a size is not a whole number, or patches are complex or hold no numbers.

    References
    ----------
    Dosovitskiy et al. (2021), "An Image is Worth 16x16 Words: Transformers for Image Recognition
    at Scale", section 3.1.

    Examples
    --------
    >>> unpatchify(torch.tensor([[0, 1, 4, 5], [2, 3, 6, 7]]), 2, (2, 4))
    tensor([[[0., 1., 2., 3.],
             [4., 5., 6., 7.]]])
    """
    channels, (rows, columns), (height, width) = check_unpatchify(
        patches.shape, patch_size, image_size
    )
    lead = patches.shape[:-2]
    grid = patches.reshape(*lead, rows, columns, channels, height, width)
    grid = grid.movedim((-5, -4), (-4, -2))  # (..., C, rows, height, columns, width)
    return grid.reshape(*lead, channels, rows * height, columns * width)


@floating("images", "weight", "bias")
def patch_embedding(images, patch_size, weight, bias=None):
    """Turn each patch into an embedding: a convolution whose stride is its kernel's size.

    Parameters
    ----------
    images : torch.Tensor, shape (..., C, H, W)
        Images, channels first.
    patch_size : int or pair of int
        Sides of a patch, p, or its height and width.
    weight : torch.Tensor, shape (C * p * p, d_model)
        The projection of a patch.
    bias : torch.Tensor, shape (d_model,), optional
        What is added to each embedding.

    Returns
    -------
    torch.Tensor, shape (..., (H / p) * (W / p), d_model)
        ``patchify(images, patch_size) @ weight + bias``, in the widest float dtype given.

    Raises
    ------
    ValueError
        When the image is no whole number of patches, or weight or bias does not fit.
    TypeError
        When patch_size is not a whole number, or an argument is complex or holds no numbers.

    References
    ----------
    Dosovitskiy et al. (2021), "An Image is Worth 16x16 Words: Transformers for Image Recognition
    at Scale", equation 1.

    Examples
    --------
    >>> patch_embedding(torch.ones(1, 2, 4), 2, torch.ones(4, 1), torch.tensor([0.5]))
    tensor([[4.5000],
            [4.5000]])
    """
    check_patch_embedding(
        images.shape, patch_size, weight.shape, None if bias is None else bias.shape
    )
    embedded = patchify(images, patch_size) @ weight  # (..., n_patches, d_model)
    return embedded if bias is None else embedded + bias


@floating("images", "weight", "bias")
def convolution(images, weight, bias=None, *, kernel_size, stride=1, padding=0):
    """Look at every window of an image with the same weights: `patch_embedding` with overlap.

    Parameters
    ----------
    images : torch.Tensor, shape (..., C, H, W)
        Images or feature maps.
    weight : torch.Tensor, shape (C * k * k, d_out)
        The weights of a window, ordered as in `patchify`: the transpose of what torch calls
        ``weight.flatten(1)``.
    bias : torch.Tensor, shape (d_out,), optional
        What is added to each map.
    kernel_size : int or pair of int
        Sides of a window, k, or its height and width.
    stride : int or pair of int
        Steps from one window to the next.
    padding : int or pair of int
        Rows and columns of zeros around each image.

    Returns
    -------
    torch.Tensor, shape (..., d_out, H_out, W_out)
        Feature maps; ``H_out = (H + 2 * padding - k) // stride + 1``. In the widest float dtype
        given.

    Raises
    ------
    ValueError
        When the kernel does not fit into the images, or weight or bias not the window.
    TypeError
        When a size is not a whole number, or an argument is complex or holds no numbers.

    References
    ----------
    LeCun et al. (1989), "Backpropagation Applied to Handwritten Zip Code Recognition".

    Examples
    --------
    >>> differences = torch.tensor([[-1.0], [1.0]])
    >>> convolution(torch.tensor([[[1.0, 2.0, 4.0]]]), differences, kernel_size=(1, 2))
    tensor([[[1., 2.]]])
    """
    kernel, stride, padding = check_convolution(
        images.shape,
        weight.shape,
        None if bias is None else bias.shape,
        kernel_size,
        stride,
        padding,
    )
    padded = F.pad(images, (padding[1], padding[1], padding[0], padding[0]))
    windows = padded.unfold(-2, kernel[0], stride[0]).unfold(-2, kernel[1], stride[1])
    windows = windows.movedim((-4, -3), (-5, -4))  # (..., H_out, W_out, C, k, k)
    maps = windows.reshape(*windows.shape[:-3], weight.shape[0]) @ weight
    maps = maps if bias is None else maps + bias  # (..., H_out, W_out, d_out)
    return maps.movedim(-1, -3)  # (..., d_out, H_out, W_out)


@floating_layer("images")
def convolution_layer(images, parameters, *, eps=1e-5):
    """Halve height and width: a 3 x 3 convolution of stride 2, a norm across channels, a relu.

    Parameters
    ----------
    images : torch.Tensor, shape (..., C, H, W)
        Images or feature maps.
    parameters : mapping
        ``w_convolution (C * 9, d_out)``, perhaps ``b_convolution``, and ``norm``, a mapping with a
        ``gain`` and a ``bias`` ``(d_out,)`` or without.
    eps : float
        See `layer_norm`.

    Returns
    -------
    torch.Tensor, shape (..., d_out, ceil(H / 2), ceil(W / 2))
        Feature maps, in the widest float dtype given.

    Raises
    ------
    ValueError
        When a parameter is missing, unknown or of the wrong shape.
    TypeError
        When parameters is no mapping or an argument is complex.

    Notes
    -----
    The paper normalises over the batch. Here each pixel is normalised across its channels, so that
    the images of a batch stay independent and training and use compute the same.

    References
    ----------
    Xiao et al. (2021), "Early Convolutions Help Transformers See Better", section 4.

    Examples
    --------
    >>> bias = torch.tensor([1.0, -1.0])
    >>> parameters = {"w_convolution": torch.ones(9, 2), "norm": {"bias": bias}}
    >>> convolution_layer(torch.ones(1, 4, 4), parameters)
    tensor([[[1., 1.],
             [1., 1.]],
    <BLANKLINE>
            [[0., 0.],
             [0., 0.]]])
    """
    check_convolution_layer(images.shape, _shapes(parameters))
    maps = convolution(
        images,
        parameters["w_convolution"],
        parameters.get("b_convolution"),
        kernel_size=3,
        stride=2,
        padding=1,
    )  # (..., d_out, H / 2, W / 2)
    pixels = layer_norm(maps.movedim(-3, -1), **parameters["norm"], eps=eps)
    return pixels.relu().movedim(-1, -3)  # (..., d_out, H / 2, W / 2)


@floating_layer("images")
def vision_transformer(
    images,
    parameters,
    patch_size,
    n_heads,
    *,
    norm="pre",
    activation="gelu",
    eps=1e-5,
    return_weights=False,
):
    """Classify images: patches become tokens, a Transformer encoder reads them, one row answers.

    With convolutions in front it is a hybrid: they see edges and textures, attention sees the
    whole.

    Parameters
    ----------
    images : torch.Tensor, shape (..., C, H, W)
        Images, channels first.
    parameters : mapping
        ``w_patch (C * p * p, d_model)`` and perhaps ``b_patch``; ``positions (n_tokens, d_model)``;
        ``layers``, a list of what `encoder_layer` takes; with ``norm="pre"`` the ``output_norm``,
        which has a ``gain`` and a ``bias`` or not. With a ``class_token (d_model,)``, which comes
        first, its row answers; without one the mean of all rows. ``w_pool (d_model, d_pool)`` and
        ``b_pool`` send that row through a tanh, ``w_head (d_model or d_pool, n_classes)`` and
        ``b_head`` turn it into scores; each may be missing. ``convolutions`` is a list of what
        `convolution_layer` takes: each halves the image, and patches are cut from what is left,
        smaller by as much.
    patch_size : int or pair of int
        Sides of a patch of the image, p, or its height and width.
    n_heads : int
        Heads of each layer.
    norm : {"pre", "post", "none"}
        As in `encoder_layer`.
    activation : {"gelu", "relu"}
        As in `encoder_layer`.
    eps : float
        See `layer_norm`.
    return_weights : bool
        Return the weights of each layer too.

    Returns
    -------
    logits : torch.Tensor, shape (..., n_classes)
        Scores of classes, or without a ``w_head`` the row itself, in the widest float dtype given.
    weights : tuple of torch.Tensor, shape (..., n_heads, n_tokens, n_tokens)
        One for each layer. Only with ``return_weights=True``.

    Raises
    ------
    ValueError
        When a parameter is missing, unknown or of the wrong shape, or the image is no whole number
        of patches.
    TypeError
        When parameters is no mapping, a size is no whole number, or an argument is complex.

    References
    ----------
    Dosovitskiy et al. (2021), "An Image is Worth 16x16 Words: Transformers for Image Recognition
    at Scale", section 3.1 (hybrids too); Xiao et al. (2021), "Early Convolutions Help Transformers
    See Better".

    Examples
    --------
    Without layers that add anything, the mean of the patches answers.

    >>> zero = torch.zeros(1, 1)
    >>> attention = {f"w_{name}": zero for name in ("query", "key", "value", "output")}
    >>> layer = {"attention": attention, "feed_forward": {"w_hidden": zero, "w_output": zero}}
    >>> parameters = {"w_patch": torch.ones(4, 1), "positions": torch.zeros(2, 1), "layers": [layer]}
    >>> images = torch.arange(8).reshape(1, 2, 4)
    >>> vision_transformer(images, parameters, 2, n_heads=1, norm="none")
    tensor([14.])
    """
    patch = check_vision_transformer(images.shape, _shapes(parameters), patch_size, norm)
    maps = images
    for layer in parameters.get("convolutions", {}).values():
        maps = convolution_layer(maps, layer, eps=eps)
    x = patch_embedding(maps, patch, parameters["w_patch"], parameters.get("b_patch"))
    has_token = "class_token" in parameters
    if has_token:
        token = parameters["class_token"].expand(*x.shape[:-2], 1, -1)
        x = torch.cat([token, x], -2)  # (..., 1 + n_patches, d_model)
    x = x + parameters["positions"]
    looks = []
    for layer in parameters["layers"].values():
        options = {"norm": norm, "activation": activation, "eps": eps, "return_weights": True}
        x, weights = encoder_layer(x, layer, n_heads, **options)  # (..., n_tokens, d_model)
        looks.append(weights)
    if norm == "pre":
        x = layer_norm(x, **parameters["output_norm"], eps=eps)
    answer = x[..., 0, :] if has_token else x.mean(-2)  # (..., d_model)
    if "w_pool" in parameters:
        answer = _project(answer, parameters, "pool").tanh()  # (..., d_pool)
    if "w_head" in parameters:
        answer = _project(answer, parameters, "head")  # (..., n_classes)
    return (answer, tuple(looks)) if return_weights else answer


@floating_layer("x")
def non_local_block(x, parameters, *, scale=1.0, return_weights=False):
    """Let every place of a feature map look at every other, and add what it finds.

    Self-attention with one head over the pixels: the embedded Gaussian of the paper.

    Parameters
    ----------
    x : torch.Tensor, shape (..., C, H, W)
        Feature maps.
    parameters : mapping of str to torch.Tensor
        ``w_query (C, d)``, ``w_key (C, d)``, ``w_value (C, d_v)``, ``w_output (d_v, C)`` (theta,
        phi, g and W_z in the paper) and, as far as there are any, their biases ``b_query``,
        ``b_key``, ``b_value``, ``b_output``.
    scale : float
        The factor of the scores; the paper has none.
    return_weights : bool
        Return the weights too.

    Returns
    -------
    output : torch.Tensor, shape (..., C, H, W)
        x and what was found, in the widest float dtype given; x itself where ``w_output`` and
        ``b_output`` are 0.
    weights : torch.Tensor, shape (..., H * W, H * W)
        Places row by row. Only with ``return_weights=True``.

    Raises
    ------
    ValueError
        When a parameter is missing, unknown or of the wrong shape.
    TypeError
        When parameters is no mapping or an argument is complex.

    References
    ----------
    Wang et al. (2018), "Non-local Neural Networks", section 3.

    Examples
    --------
    >>> parameters = {f"w_{name}": torch.zeros(1, 1) for name in ("query", "key")}
    >>> parameters |= {f"w_{name}": torch.ones(1, 1) for name in ("value", "output")}
    >>> x = torch.tensor([[[1.0, 2.0, 6.0]]])
    >>> non_local_block(x, parameters)  # all look everywhere alike: the mean is 3
    tensor([[[4., 5., 9.]]])
    """
    check_non_local(x.shape, shapes_of(parameters))
    places = x.flatten(-2).transpose(-1, -2)  # (..., n, C)
    query, key, value = (_project(places, parameters, name) for name in ("query", "key", "value"))
    found, weights = scaled_dot_product_attention(
        query, key, value, scale=scale, return_weights=True
    )  # (..., n, d_v) and (..., n, n)
    found = _project(found, parameters, "output")  # (..., n, C)
    output = x + found.transpose(-1, -2).reshape(x.shape)  # (..., C, H, W)
    return (output, weights) if return_weights else output


def attention_rollout(weights, *, residual=0.5, fusion="mean"):
    """Follow attention through all layers: how much of each position's end is each one's start.

    Parameters
    ----------
    weights : sequence of torch.Tensor, shape (..., n_heads, n, n) or (n, n)
        The weights of each layer, the first layer first, as models return them.
    residual : float
        The share of a position that comes from itself, past the attention, between 0 and 1.
    fusion : {"mean", "max", "min", None}
        How heads become one. With None there is no heads axis: ``(..., n, n)``.

    Returns
    -------
    torch.Tensor, shape (..., n, n)
        Row i says how position i after the last layer is made of the positions before the first;
        rows sum to one. With a class token, row 0 without its first number is a map over patches.

    Raises
    ------
    ValueError
        When there is no layer, shapes do not fit or residual is no share.
    TypeError
        When weights is no sequence of tensors, or one is complex.

    References
    ----------
    Abnar and Zuidema (2020), "Quantifying Attention Flow in Transformers", section 3.

    Examples
    --------
    >>> looks_back, even = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.full((2, 2), 0.5)
    >>> attention_rollout([looks_back, even])
    tensor([[0.8750, 0.1250],
            [0.6250, 0.3750]])
    """
    if not isinstance(weights, list | tuple):
        kind = type(weights).__name__
        errors.refuse_type("weights", kind, "a list or tuple of tensors", errors.NOT_LAYERS)
    layers = [_float_tensor(f"weights[{number}]", layer) for number, layer in enumerate(weights)]
    check_rollout([layer.shape for layer in layers], residual, fusion)
    dtype = functools.reduce(torch.promote_types, (layer.dtype for layer in layers))
    rollout = None
    for layer in layers:
        layer = layer.to(torch.promote_types(dtype, torch.float32))
        if fusion is not None and layer.dim() > 2:
            layer = FUSION[fusion](layer, -3)  # (..., n, n)
        itself = torch.eye(layer.shape[-1], dtype=layer.dtype, device=layer.device)
        mixed = (1 - residual) * layer + residual * itself
        total = mixed.sum(-1, keepdim=True)  # (..., n, 1)
        mixed = mixed / torch.where(total == 0, 1, total)  # a row that sees nothing stays 0
        rollout = mixed if rollout is None else mixed @ rollout  # (..., n, n)
    return rollout.to(dtype)


class ConvolutionLayer(nn.Module):
    """`convolution_layer` with parameters that are learned.

    Parameters
    ----------
    channels, d_out : int
        Maps that go in and come out.
    eps : float
        See `layer_norm`.

    Raises
    ------
    ValueError
        When a size is below 1 or eps not above 0.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Xiao et al. (2021), "Early Convolutions Help Transformers See Better", section 4.

    Examples
    --------
    >>> ConvolutionLayer(3, 16)(torch.zeros(2, 3, 32, 24)).shape
    torch.Size([2, 16, 16, 12])
    """

    def __init__(self, channels, d_out, *, eps=1e-5):
        super().__init__()
        channels, d_out = check_size("channels", channels, 1), check_size("d_out", d_out, 1)
        self.w_convolution = _drawn(channels * 9, d_out)
        self.b_convolution = nn.Parameter(torch.zeros(d_out))
        self.norm = LayerNorm(d_out, eps=eps)

    def forward(self, images):
        """Return feature maps ``(..., d_out, ceil(H / 2), ceil(W / 2))`` of ``(..., C, H, W)``."""
        images = as_input("images", images, self.w_convolution)
        channels, d_out = self.w_convolution.shape[0] // 9, self.w_convolution.shape[1]
        check_image(images.shape, channels, None)
        check_convolution(images.shape, self.w_convolution.shape, None, 3, 2, 1)
        batch = images.reshape(-1, *images.shape[-3:])
        kernel = self.w_convolution.to(images.dtype).T.reshape(d_out, channels, 3, 3)
        bias = self.b_convolution.to(images.dtype)
        maps = F.conv2d(batch, kernel, bias, stride=2, padding=1)  # (batch, d_out, H / 2, W / 2)
        maps = self.norm(maps.movedim(1, -1)).relu().movedim(-1, 1)
        return maps.reshape(*images.shape[:-3], *maps.shape[1:])

    def parameter_mapping(self):
        """Return the parameters as `convolution_layer` takes them."""
        return {
            "w_convolution": self.w_convolution,
            "b_convolution": self.b_convolution,
            "norm": self.norm.parameter_mapping(),
        }


class NonLocalBlock(nn.Module):
    """`non_local_block` with parameters that are learned; untrained it changes nothing.

    So it can be put into a network that is trained already.

    Parameters
    ----------
    channels : int
        Maps that go in and come out.
    d_hidden : int, optional
        The width of queries, keys and values; half of channels, rounded up, when not given.
    bias : bool
        Whether projections add a bias.
    scale : float
        The factor of the scores; the paper has none.

    Raises
    ------
    ValueError
        When a size is below 1.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Wang et al. (2018), "Non-local Neural Networks", section 3.

    Examples
    --------
    >>> x = torch.rand(2, 6, 5, 4)
    >>> torch.equal(NonLocalBlock(6)(x), x)
    True
    """

    def __init__(self, channels, d_hidden=None, *, bias=True, scale=1.0):
        super().__init__()
        channels = check_size("channels", channels, 1)
        d_hidden = check_size("d_hidden", (channels + 1) // 2 if d_hidden is None else d_hidden, 1)
        check_real("scale", scale)
        self.scale = scale
        for name in ("query", "key", "value"):
            self.register_parameter(f"w_{name}", _drawn(channels, d_hidden))
            self.register_parameter(
                f"b_{name}", nn.Parameter(torch.zeros(d_hidden)) if bias else None
            )
        self.w_output = nn.Parameter(torch.zeros(d_hidden, channels))
        self.b_output = nn.Parameter(torch.zeros(channels)) if bias else None

    def forward(self, x, *, return_weights=False):
        """Look around.

        Parameters
        ----------
        x : torch.Tensor, shape (..., C, H, W)
            Feature maps.
        return_weights : bool
            Return the weights too.

        Returns
        -------
        output : torch.Tensor, shape (..., C, H, W)
        weights : torch.Tensor, shape (..., H * W, H * W)
            Only with ``return_weights=True``; without it the fused kernel does the work, whose
            derivative has no derivative (torch raises an error).

        Raises
        ------
        ValueError
            When x has other channels than the block.
        TypeError
            When x is complex or no tensor.
        """
        x = as_input("x", x, self.w_query)
        if return_weights:
            return non_local_block(
                x, self.parameter_mapping(), scale=self.scale, return_weights=True
            )
        check_non_local(x.shape, shapes_of(self.parameter_mapping()))
        lead = x.shape[:-3]
        places = x.reshape(math.prod(lead), x.shape[-3], x.shape[-2] * x.shape[-1])
        places = places.transpose(-1, -2)  # (batch, n, C)
        query, key, value = (
            _affine(places, getattr(self, f"w_{name}"), getattr(self, f"b_{name}"))[:, None]
            for name in ("query", "key", "value")
        )  # (batch, 1, n, d_hidden) each
        found = F.scaled_dot_product_attention(query, key, value, scale=self.scale)[:, 0]
        found = _affine(found, self.w_output, self.b_output)  # (batch, n, C)
        return x + found.transpose(-1, -2).reshape(x.shape)

    def parameter_mapping(self):
        """Return the parameters as `non_local_block` takes them."""
        return dict(self.named_parameters(remove_duplicate=False))


class VisionTransformer(nn.Module):
    """Classify images with attention: patches are tokens, an encoder reads them, one row answers.

    With ``n_convolutions`` it is a hybrid. Each convolution halves the image before patches are cut
    from what is left: the grid of tokens stays the same, and they overlap.

    Parameters
    ----------
    image_size, patch_size : int or pair of int
        Sides of an image and of a patch, or their heights and widths.
    channels : int
        Channels of an image.
    d_model : int
        The width.
    n_layers, n_heads : int
        Layers of the encoder, heads of each.
    d_ff : int or None
        The width of hidden layers; ``4 * d_model`` when None.
    n_classes : int or None
        The number of classes. When None there is no head, and the row itself comes out.
    norm : {"pre", "post", "none"}
        As in `EncoderLayer`. With "pre" a last norm follows the layers.
    activation : {"gelu", "relu"}
        As in `EncoderLayer`.
    dropout : float
        The share that is dropped of embeddings, and as in `EncoderLayer`, in training only.
    class_token : bool
        Whether a learned token is put first, whose row answers; if not, the mean of the patches'
        rows does.
    n_convolutions : int
        How many `ConvolutionLayer` come first; their maps double until there are d_model.
    d_pool : int, optional
        The width of a layer with tanh before the head; none when not given.
    eps : float
        See `layer_norm`.

    Attributes
    ----------
    w_patch : torch.nn.Parameter, shape (C * p * p, d_model)
        The projection of patches, `b_patch` its bias.
    class_token : torch.nn.Parameter, shape (d_model,), or None
        The learned token.
    positions : torch.nn.Parameter, shape (n_tokens, d_model)
        The learned table of positions, the class token's first.
    grid : tuple of int
        Rows and columns of patches.

    Raises
    ------
    ValueError
        When sizes do not divide, a word is another or dropout is no share.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Dosovitskiy et al. (2021), "An Image is Worth 16x16 Words: Transformers for Image Recognition
    at Scale", section 3.1 (hybrids too); Xiao et al. (2021), "Early Convolutions Help Transformers
    See Better".

    Examples
    --------
    >>> model = VisionTransformer(28, 7, 1, 32, n_layers=2, n_heads=4, d_ff=64, n_classes=10)
    >>> images = torch.zeros(3, 1, 28, 28)
    >>> model(images).shape
    torch.Size([3, 10])
    >>> logits, weights = model(images, return_weights=True)
    >>> attention_rollout(weights)[:, 0, 1:].unflatten(-1, model.grid).shape  # a map for each image
    torch.Size([3, 4, 4])
    """

    def __init__(
        self,
        image_size,
        patch_size,
        channels,
        d_model,
        n_layers,
        n_heads,
        d_ff,
        n_classes,
        *,
        norm="pre",
        activation="gelu",
        dropout=0.0,
        class_token=True,
        n_convolutions=0,
        d_pool=None,
        eps=1e-5,
    ):
        super().__init__()
        check_choice("norm", norm, NORMS)
        self.channels, d_model = (
            check_size("channels", channels, 1),
            check_size("d_model", d_model, 1),
        )
        n_layers = check_size("n_layers", n_layers, 1)
        self.image_size = check_pair("image_size", image_size)
        patch = check_patches((channels, *self.image_size), patch_size, "an image of image_size")
        self.patch_size, self.dropout = patch, check_probability("dropout", dropout)
        self.grid = self.image_size[0] // patch[0], self.image_size[1] // patch[1]
        self._cut = check_halvings(patch, n_convolutions)
        widths = [channels, *check_map_widths(d_model, n_convolutions)]
        pairs = itertools.pairwise(widths)
        self.convolutions = nn.ModuleList(ConvolutionLayer(*pair, eps=eps) for pair in pairs)
        self.w_patch = _drawn(widths[-1] * math.prod(self._cut), d_model)
        self.b_patch = nn.Parameter(torch.zeros(d_model))
        n_tokens = math.prod(self.grid) + bool(class_token)
        self.class_token = nn.Parameter(torch.randn(d_model) * 0.02) if class_token else None
        self.positions = nn.Parameter(torch.randn(n_tokens, d_model) * 0.02)
        options = {"norm": norm, "activation": activation, "dropout": dropout, "eps": eps}
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, n_heads, d_ff, **options) for _ in range(n_layers)
        )
        self.output_norm = LayerNorm(d_model, eps=eps) if norm == "pre" else nn.Identity()
        width = d_model
        for name, size, d_out in (("pool", "d_pool", d_pool), ("head", "n_classes", n_classes)):
            made = (None, None)
            if d_out is not None:
                made = _drawn(width, check_size(size, d_out, 1)), nn.Parameter(torch.zeros(d_out))
                width = d_out
            self.register_parameter(f"w_{name}", made[0])
            self.register_parameter(f"b_{name}", made[1])

    def forward(self, images, *, return_weights=False):
        """Scores of each class.

        Parameters
        ----------
        images : torch.Tensor, shape (..., C, H, W)
            Images of the model's size, channels first.
        return_weights : bool
            Return the weights of each layer too.

        Returns
        -------
        logits : torch.Tensor, shape (..., n_classes)
            Without a head the row that answers, ``(..., d_model or d_pool)``.
        weights : tuple of torch.Tensor, shape (..., n_heads, n_tokens, n_tokens)
            One for each layer. Only with ``return_weights=True``; without it the fused kernel does
            the work, whose derivative has no derivative (torch raises an error).

        Raises
        ------
        ValueError
            When images have another size or other channels.
        TypeError
            When images are complex or no tensor.
        """
        x = self.encode(images, return_weights=return_weights)
        x, weights = x if return_weights else (x, None)
        answer = x.mean(-2) if self.class_token is None else x[..., 0, :]  # (..., d_model)
        if self.w_pool is not None:
            answer = _affine(answer, self.w_pool, self.b_pool).tanh()  # (..., d_pool)
        if self.w_head is not None:
            answer = _affine(answer, self.w_head, self.b_head)  # (..., n_classes)
        return (answer, weights) if return_weights else answer

    def encode(self, images, *, return_weights=False):
        """Return what the encoder makes of each token.

        Parameters
        ----------
        images : torch.Tensor, shape (..., C, H, W)
            Images of the model's size, channels first.
        return_weights : bool
            Return the weights of each layer too.

        Returns
        -------
        x : torch.Tensor, shape (..., n_tokens, d_model)
            The class token's row first, if there is one, then the patches row by row.
        weights : tuple of torch.Tensor, shape (..., n_heads, n_tokens, n_tokens)
            One for each layer. Only with ``return_weights=True``.

        Raises
        ------
        ValueError
            When images have another size or other channels.
        TypeError
            When images are complex or no tensor.
        """
        x = self._embed(images)  # (..., n_tokens, d_model)
        looks = []
        for layer in self.layers:
            x = layer(x, return_weights=return_weights)
            if return_weights:
                x, weights = x
                looks.append(weights)
        x = self.output_norm(x)
        return (x, tuple(looks)) if return_weights else x

    def _embed(self, images):
        """Return the tokens of images with their positions, ``(..., n_tokens, d_model)``."""
        maps = as_input("images", images, self.w_patch)
        check_image(maps.shape, self.channels, self.image_size)
        for layer in self.convolutions:
            maps = layer(maps)
        x = _affine(patchify(maps, self._cut), self.w_patch, self.b_patch)
        if self.class_token is not None:
            token = self.class_token.expand(*x.shape[:-2], 1, -1)
            x = torch.cat([token, x], -2)  # (..., 1 + n_patches, d_model)
        x = x + self.positions
        return F.dropout(x, self.dropout, self.training)

    def parameter_mapping(self):
        """Return the parameters as `vision_transformer` takes them: views, not copies."""
        mapping = dict(self.named_parameters(recurse=False, remove_duplicate=False))
        for name in ("layers", "convolutions"):
            mapping[name] = [layer.parameter_mapping() for layer in getattr(self, name)]
        if not mapping["convolutions"]:
            del mapping["convolutions"]
        if isinstance(self.output_norm, LayerNorm):
            mapping["output_norm"] = self.output_norm.parameter_mapping()
        return mapping

    @classmethod
    def from_transformers(cls, module):
        """Make one that gives the numbers of a ``ViTModel`` or ``ViTForImageClassification``.

        Both are classes of the package transformers (version 5). Without a classifier, `forward`
        gives the ``pooler_output`` of a model with a pooler, else the class token's row of the
        ``last_hidden_state``; `encode` gives all of that.

        Parameters
        ----------
        module : transformers.ViTModel or transformers.ViTForImageClassification
            Its parameters are copied. Where its projections have no bias, ours has one of zeros
            that is not trained.

        Returns
        -------
        VisionTransformer
            In its dtype, on its device, in its training mode.

        Raises
        ------
        ValueError
            When its activation is neither relu nor exact gelu, its pooler's no tanh, or its heads
            do not share the width.
        TypeError
            When it is something else.

        Examples
        --------
        >>> VisionTransformer.from_transformers(nn.Linear(2, 2))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        TypeError: module must be a ViTModel or ViTForImageClassification of transformers but is Linear; ...
        """
        kinds = {kind.__name__ for kind in type(module).__mro__}
        vit = getattr(module, "vit", module)
        known = kinds & {"ViTModel", "ViTForImageClassification"}
        if not known or not hasattr(vit, "layers"):
            expected = "a ViTModel or ViTForImageClassification of transformers"
            errors.refuse_type("module", type(module).__name__, expected, errors.NOT_A_VIT)
        config, patches = module.config, vit.embeddings.patch_embeddings
        if config.hidden_act not in ACTIVATIONS:
            errors.refuse_activation(config.hidden_act)
        if vit.pooler is not None and config.pooler_act != "tanh":
            errors.refuse_pooler(config.pooler_act)
        d_head = vit.layers[0].attention.head_dim
        if d_head * config.num_attention_heads != config.hidden_size:
            errors.refuse_heads(d_head, config.hidden_size, config.num_attention_heads)
        head = getattr(module, "classifier", None)
        head = head if isinstance(head, nn.Linear) else None  # without labels it is an identity
        ours = cls(
            tuple(patches.image_size),
            tuple(patches.patch_size),
            config.num_channels,
            config.hidden_size,
            config.num_hidden_layers,
            config.num_attention_heads,
            config.intermediate_size,
            None if head is None else head.out_features,
            activation=config.hidden_act,
            dropout=config.hidden_dropout_prob,
            d_pool=None if vit.pooler is None else vit.pooler.dense.out_features,
            eps=config.layer_norm_eps,
        ).to(patches.projection.weight)
        with torch.no_grad():
            # a convolution's weight is (d_model, C, p, p); nn.Linear stores the transpose
            ours.w_patch.copy_(patches.projection.weight.flatten(1).T)
            ours.b_patch.copy_(patches.projection.bias)
            ours.class_token.copy_(vit.embeddings.cls_token[0, 0])
            ours.positions.copy_(vit.embeddings.position_embeddings[0])
            for layer, foreign in zip(ours.layers, vit.layers, strict=True):
                _take_over(layer, foreign, config)
            _copy_norm(ours.output_norm, vit.layernorm)
            for name, foreign in (("pool", vit.pooler and vit.pooler.dense), ("head", head)):
                if foreign is not None:
                    _copy_linear(ours, name, foreign)
        return ours.train(module.training)


def _take_over(layer, foreign, config):
    """Copy a layer of transformers into an `EncoderLayer`."""
    attention, theirs = layer.attention, foreign.attention
    inputs = (theirs.q_proj, theirs.k_proj, theirs.v_proj)
    attention.w_input.copy_(torch.cat([linear.weight for linear in inputs]).T)
    if config.qkv_bias:
        attention.b_input.copy_(torch.cat([linear.bias for linear in inputs]))
    else:
        attention.b_input.requires_grad_(False)  # zeros, and they stay
    _copy_linear(attention, "output", theirs.o_proj)
    _copy_linear(layer.feed_forward, "hidden", foreign.mlp.fc1)
    _copy_linear(layer.feed_forward, "output", foreign.mlp.fc2)
    _copy_norm(layer.attention_norm, foreign.layernorm_before)
    _copy_norm(layer.feed_forward_norm, foreign.layernorm_after)
    attention.dropout = float(config.attention_probs_dropout_prob)
    layer.feed_forward.dropout = 0.0  # theirs drops nothing between its two products


def _copy_linear(ours, name, linear):
    """Copy a linear layer, which stores the transpose, into the parameters of that name."""
    getattr(ours, f"w_{name}").copy_(linear.weight.T)
    getattr(ours, f"b_{name}").copy_(linear.bias)


def _copy_norm(ours, norm):
    """Copy a layer norm."""
    ours.gain.copy_(norm.weight)
    ours.bias.copy_(norm.bias)


def _shapes(parameters):
    """Return the shapes of the arrays of a mapping, and of the mappings in it."""
    return {
        name: _shapes(value) if isinstance(value, dict) else tuple(value.shape)
        for name, value in parameters.items()
    }
