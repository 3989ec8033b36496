"""Attention over images: patches as tokens, the Vision Transformer, non-local blocks, rollout.

An image becomes a sequence by being cut into patches; from there on everything is the Transformer's.
Images and feature maps are ``(..., channels, height, width)``, their positions are numbered row by
row. The modules that are trained live in `attnkit.torch.vision`.
"""

import numpy as np

from .. import errors
from ..errors import (
    check_convolution,
    check_convolution_layer,
    check_non_local,
    check_patch_embedding,
    check_patches,
    check_rollout,
    check_unpatchify,
    check_vision_transformer,
)
from ._arrays import _float_array, floating
from ._parameters import floating_layer, shapes_of
from .attention import scaled_dot_product_attention
from .multihead import _project
from .transformer import encoder_layer, layer_norm

__all__ = [
    "attention_rollout",
    "convolution",
    "convolution_layer",
    "non_local_block",
    "patch_embedding",
    "patchify",
    "unpatchify",
    "vision_transformer",
]


@floating("images")
def patchify(images, patch_size):
    """Cut images into patches and write each as one row, so that an image is a sequence.

    Parameters
    ----------
    images : array_like, shape (..., C, H, W)
        Images, channels first.
    patch_size : int or pair of int
        Sides of a patch, p, or its height and width.

    Returns
    -------
    numpy.ndarray, shape (..., (H / p) * (W / p), C * p * p)
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
    >>> patchify(np.arange(8).reshape(1, 2, 4), 2)
    array([[0., 1., 4., 5.],
           [2., 3., 6., 7.]])
    """
    height, width = check_patches(images.shape, patch_size)
    *lead, channels, tall, wide = images.shape
    rows, columns = tall // height, wide // width
    grid = images.reshape(*lead, channels, rows, height, columns, width)
    grid = np.moveaxis(grid, (-4, -2), (-5, -4))  # (..., rows, columns, C, height, width)
    return grid.reshape(*lead, rows * columns, channels * height * width)


@floating("patches")
def unpatchify(patches, patch_size, image_size):
    """Put patches together to images: the way back from `patchify`.

    Parameters
    ----------
    patches : array_like, shape (..., n_patches, C * p * p)
        As `patchify` gives them.
    patch_size : int or pair of int
        Sides of a patch, p, or its height and width.
    image_size : int or pair of int
        Sides of the image, or its height and width.

    Returns
    -------
    numpy.ndarray, shape (..., C, H, W)
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
    >>> unpatchify([[0, 1, 4, 5], [2, 3, 6, 7]], 2, (2, 4))
    array([[[0., 1., 2., 3.],
            [4., 5., 6., 7.]]])
    """
    channels, (rows, columns), (height, width) = check_unpatchify(
        patches.shape, patch_size, image_size
    )
    lead = patches.shape[:-2]
    grid = patches.reshape(*lead, rows, columns, channels, height, width)
    grid = np.moveaxis(grid, (-5, -4), (-4, -2))  # (..., C, rows, height, columns, width)
    return grid.reshape(*lead, channels, rows * height, columns * width)


@floating("images", "weight", "bias")
def patch_embedding(images, patch_size, weight, bias=None):
    """Turn each patch into an embedding: a convolution whose stride is its kernel's size.

    Parameters
    ----------
    images : array_like, shape (..., C, H, W)
        Images, channels first.
    patch_size : int or pair of int
        Sides of a patch, p, or its height and width.
    weight : array_like, shape (C * p * p, d_model)
        The projection of a patch.
    bias : array_like, shape (d_model,), optional
        What is added to each embedding.

    Returns
    -------
    numpy.ndarray, shape (..., (H / p) * (W / p), d_model)
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
    >>> patch_embedding(np.ones((1, 2, 4)), 2, [[1.0], [1.0], [1.0], [1.0]], [0.5])
    array([[4.5],
           [4.5]])
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
    images : array_like, shape (..., C, H, W)
        Images or feature maps.
    weight : array_like, shape (C * k * k, d_out)
        The weights of a window, ordered as in `patchify`: the transpose of what torch calls
        ``weight.flatten(1)``.
    bias : array_like, shape (d_out,), optional
        What is added to each map.
    kernel_size : int or pair of int
        Sides of a window, k, or its height and width.
    stride : int or pair of int
        Steps from one window to the next.
    padding : int or pair of int
        Rows and columns of zeros around each image.

    Returns
    -------
    numpy.ndarray, shape (..., d_out, H_out, W_out)
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
    >>> convolution([[[1.0, 2.0, 4.0]]], [[-1.0], [1.0]], kernel_size=(1, 2))  # differences
    array([[[1., 2.]]])
    """
    kernel, stride, padding = check_convolution(
        images.shape,
        weight.shape,
        None if bias is None else bias.shape,
        kernel_size,
        stride,
        padding,
    )
    around = [(0, 0)] * (images.ndim - 2) + [(pad, pad) for pad in padding]
    padded = np.pad(images, around)
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, (-2, -1))
    windows = windows[..., :: stride[0], :: stride[1], :, :]  # (..., C, H_out, W_out, k, k)
    windows = np.moveaxis(windows, (-4, -3), (-5, -4))  # (..., H_out, W_out, C, k, k)
    maps = windows.reshape(*windows.shape[:-3], weight.shape[0]) @ weight
    maps = maps if bias is None else maps + bias  # (..., H_out, W_out, d_out)
    return np.moveaxis(maps, -1, -3)  # (..., d_out, H_out, W_out)


@floating_layer("images")
def convolution_layer(images, parameters, *, eps=1e-5):
    """Halve height and width: a 3 x 3 convolution of stride 2, a norm across channels, a relu.

    Parameters
    ----------
    images : array_like, shape (..., C, H, W)
        Images or feature maps.
    parameters : mapping
        ``w_convolution (C * 9, d_out)``, perhaps ``b_convolution``, and ``norm``, a mapping with a
        ``gain`` and a ``bias`` ``(d_out,)`` or without.
    eps : float
        See `layer_norm`.

    Returns
    -------
    numpy.ndarray, shape (..., d_out, ceil(H / 2), ceil(W / 2))
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
    >>> parameters = {"w_convolution": np.ones((9, 2)), "norm": {"bias": [1.0, -1.0]}}
    >>> convolution_layer(np.ones((1, 4, 4)), parameters)
    array([[[1., 1.],
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
    pixels = layer_norm(np.moveaxis(maps, -3, -1), **parameters["norm"], eps=eps)
    return np.moveaxis(np.maximum(pixels, 0), -1, -3)  # (..., d_out, H / 2, W / 2)


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
    images : array_like, shape (..., C, H, W)
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
    logits : numpy.ndarray, shape (..., n_classes)
        Scores of classes, or without a ``w_head`` the row itself, in the widest float dtype given.
    weights : tuple of numpy.ndarray, shape (..., n_heads, n_tokens, n_tokens)
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

    >>> zero = np.zeros((1, 1))
    >>> attention = {f"w_{name}": zero for name in ("query", "key", "value", "output")}
    >>> layer = {"attention": attention, "feed_forward": {"w_hidden": zero, "w_output": zero}}
    >>> parameters = {"w_patch": np.ones((4, 1)), "positions": np.zeros((2, 1)), "layers": [layer]}
    >>> vision_transformer(np.arange(8).reshape(1, 2, 4), parameters, 2, n_heads=1, norm="none")
    array([14.])
    """
    patch = check_vision_transformer(images.shape, _shapes(parameters), patch_size, norm)
    maps = images
    for layer in parameters.get("convolutions", {}).values():
        maps = convolution_layer(maps, layer, eps=eps)
    x = patch_embedding(maps, patch, parameters["w_patch"], parameters.get("b_patch"))
    has_token = "class_token" in parameters
    if has_token:
        token = np.broadcast_to(parameters["class_token"], (*x.shape[:-2], 1, x.shape[-1]))
        x = np.concatenate([token, x], -2)  # (..., 1 + n_patches, d_model)
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
        answer = np.tanh(_project(answer, parameters, "pool"))  # (..., d_pool)
    if "w_head" in parameters:
        answer = _project(answer, parameters, "head")  # (..., n_classes)
    return (answer, tuple(looks)) if return_weights else answer


@floating_layer("x")
def non_local_block(x, parameters, *, scale=1.0, return_weights=False):
    """Let every place of a feature map look at every other, and add what it finds.

    Self-attention with one head over the pixels: the embedded Gaussian of the paper.

    Parameters
    ----------
    x : array_like, shape (..., C, H, W)
        Feature maps.
    parameters : mapping of str to array_like
        ``w_query (C, d)``, ``w_key (C, d)``, ``w_value (C, d_v)``, ``w_output (d_v, C)`` (theta,
        phi, g and W_z in the paper) and, as far as there are any, their biases ``b_query``,
        ``b_key``, ``b_value``, ``b_output``.
    scale : float
        The factor of the scores; the paper has none.
    return_weights : bool
        Return the weights too.

    Returns
    -------
    output : numpy.ndarray, shape (..., C, H, W)
        x and what was found, in the widest float dtype given; x itself where ``w_output`` and
        ``b_output`` are 0.
    weights : numpy.ndarray, shape (..., H * W, H * W)
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
    >>> parameters = {f"w_{name}": [[0.0]] for name in ("query", "key")}
    >>> parameters |= {"w_value": [[1.0]], "w_output": [[1.0]]}
    >>> non_local_block([[[1.0, 2.0, 6.0]]], parameters)  # all look everywhere alike: the mean is 3
    array([[[4., 5., 9.]]])
    """
    check_non_local(x.shape, shapes_of(parameters))
    places = x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])  # (..., C, n)
    places = np.moveaxis(places, -1, -2)  # (..., n, C)
    query, key, value = (_project(places, parameters, name) for name in ("query", "key", "value"))
    found, weights = scaled_dot_product_attention(
        query, key, value, scale=scale, return_weights=True
    )  # (..., n, d_v) and (..., n, n)
    found = _project(found, parameters, "output")  # (..., n, C)
    output = x + np.moveaxis(found, -1, -2).reshape(x.shape)  # (..., C, H, W)
    return (output, weights) if return_weights else output


def attention_rollout(weights, *, residual=0.5, fusion="mean"):
    """Follow attention through all layers: how much of each position's end is each one's start.

    Parameters
    ----------
    weights : sequence of array_like, shape (..., n_heads, n, n) or (n, n)
        The weights of each layer, the first layer first, as models return them.
    residual : float
        The share of a position that comes from itself, past the attention, between 0 and 1.
    fusion : {"mean", "max", "min", None}
        How heads become one. With None there is no heads axis: ``(..., n, n)``.

    Returns
    -------
    numpy.ndarray, shape (..., n, n)
        Row i says how position i after the last layer is made of the positions before the first;
        rows sum to one. With a class token, row 0 without its first number is a map over patches.

    Raises
    ------
    ValueError
        When there is no layer, shapes do not fit or residual is no share.
    TypeError
        When weights is no sequence of arrays, or one is complex.

    References
    ----------
    Abnar and Zuidema (2020), "Quantifying Attention Flow in Transformers", section 3.

    Examples
    --------
    >>> looks_back, even = [[1.0, 0.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]]
    >>> attention_rollout([looks_back, even])
    array([[0.875, 0.125],
           [0.625, 0.375]])
    """
    if not isinstance(weights, list | tuple):
        kind = type(weights).__name__
        errors.refuse_type("weights", kind, "a list or tuple of arrays", errors.NOT_LAYERS)
    layers = [_float_array(f"weights[{number}]", layer) for number, layer in enumerate(weights)]
    check_rollout([layer.shape for layer in layers], residual, fusion)
    dtype = np.result_type(*layers)
    wide, rollout = np.result_type(dtype, np.float32), None
    with np.errstate(all="ignore"):
        for layer in layers:
            layer = layer.astype(wide, copy=False)
            if fusion is not None and layer.ndim > 2:
                layer = getattr(layer, fusion)(-3)  # (..., n, n)
            mixed = (1 - residual) * layer + residual * np.eye(layer.shape[-1], dtype=wide)
            total = mixed.sum(-1, keepdims=True)  # (..., n, 1)
            mixed = mixed / np.where(total == 0, 1, total)  # a row that sees nothing stays 0
            rollout = mixed if rollout is None else mixed @ rollout  # (..., n, n)
    return rollout.astype(dtype, copy=False)


def _shapes(parameters):
    """Return the shapes of the arrays of a mapping, and of the mappings in it."""
    return {
        name: _shapes(value) if isinstance(value, dict) else value.shape
        for name, value in parameters.items()
    }
