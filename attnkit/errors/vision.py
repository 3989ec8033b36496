"""Checks of images, patches, feature maps and the parameters of what reads them."""

from .arguments import (
    check_axes,
    check_choice,
    check_leading,
    check_names,
    check_parameter,
    check_real,
    check_rows,
    check_size,
    refuse_type,
)
from .heads import NOT_PARAMETERS, check_bias

__all__ = [
    "FUSIONS",
    "NOT_A_LIST",
    "NOT_A_VIT",
    "NOT_LAYERS",
    "check_convolution",
    "check_convolution_layer",
    "check_halvings",
    "check_image",
    "check_map_widths",
    "check_non_local",
    "check_pair",
    "check_patch_embedding",
    "check_patches",
    "check_rollout",
    "check_unpatchify",
    "check_vision_transformer",
    "refuse_heads",
    "refuse_pooler",
]

IMAGES = "(..., channels, height, width)"
FUSIONS = ("mean", "max", "min", None)
NOT_LAYERS = (
    "it holds one array for each layer, the first layer first, as models return them "
    "(an array stacked by layers becomes a sequence with list(array) if layers are its first axis)"
)
NOT_A_LIST = "it holds the parameters of one layer after the other: [{...}, {...}]"
NOT_A_VIT = "from_transformers copies the parameters of these two, as transformers 5 lays them out"


def check_pair(name, size, minimum=1):
    """Return a height and a width, given as two numbers or as one for both.

    Parameters
    ----------
    name : str
        The argument.
    size : int or sequence of two int
        What came.
    minimum : int
        The smallest that has a meaning.

    Returns
    -------
    height, width : int
        The sizes.

    Raises
    ------
    TypeError
        When a size is no whole number.
    ValueError
        When there are not two, or one is below `minimum`.

    Examples
    --------
    >>> check_pair("patch_size", 4)
    (4, 4)
    >>> check_pair("patch_size", (4, 2, 3))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: patch_size must be one number or a height and a width but is (4, 2, 3); ...
    """
    if not isinstance(size, tuple | list):
        size = (size, size)
    if len(size) != 2:
        raise ValueError(
            f"{name} must be one number or a height and a width but is {tuple(size)}; "
            "batch and channels are those of the images"
        )
    height, width = size
    return check_size(name, height, minimum), check_size(name, width, minimum)


def check_patches(images, patch_size, name="images"):
    """Return the height and width of a patch, or refuse images that are no whole number of patches.

    Parameters
    ----------
    images : tuple of int
        Shape ``(..., channels, height, width)``.
    patch_size : int or sequence of two int
        Of a patch.
    name : str
        What the images are called.

    Returns
    -------
    height, width : int
        Of a patch.

    Raises
    ------
    TypeError
        When patch_size is no whole number.
    ValueError
        When an axis is missing or the sizes do not divide.

    Examples
    --------
    >>> check_patches((2, 3, 30, 32), 8)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: images has height 30 in shape (2, 3, 30, 32), not a multiple of patch_size, 8; ...
    """
    check_axes(name, images, IMAGES)
    pair = check_pair("patch_size", patch_size)
    for word, size, patch in zip(("height", "width"), images[-2:], pair, strict=True):
        if size % patch:
            below = size - size % patch
            raise ValueError(
                f"{name} has {word} {size} in shape {tuple(images)}, not a multiple of patch_size, {patch}; "
                f"crop it to {below} or pad it to {below + patch} (are the axes {IMAGES}?)"
            )
    return pair


def check_unpatchify(patches, patch_size, image_size):
    """Return the channels, the grid and the patch, or refuse patches that make no such image.

    Parameters
    ----------
    patches : tuple of int
        Shape ``(..., n_patches, channels * height * width)``.
    patch_size, image_size : int or sequence of two int
        Of a patch and of the image.

    Returns
    -------
    channels : int
        Of the image.
    grid, patch : tuple of int
        Rows and columns of patches, height and width of one.

    Raises
    ------
    TypeError
        When a size is no whole number.
    ValueError
        When the sizes do not fit.

    Examples
    --------
    >>> check_unpatchify((6, 12), 2, (4, 6))
    (3, (2, 3), (2, 2))
    >>> check_unpatchify((6, 12), 2, (4, 8))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: patches has 6 patches but an image of (4, 8) has 8 of patch_size (2, 2); ...
    """
    check_axes("patches", patches, "(..., n_patches, channels * height * width)")
    size = check_pair("image_size", image_size, 0)
    patch = check_patches((1, *size), patch_size, "an image of image_size")
    grid = size[0] // patch[0], size[1] // patch[1]
    if patches[-2] != grid[0] * grid[1]:
        raise ValueError(
            f"patches has {patches[-2]} patches but an image of {size} has {grid[0] * grid[1]} "
            f"of patch_size {patch}; a class token is no patch, leave it out ([..., 1:, :])"
        )
    pixels = patch[0] * patch[1]
    if patches[-1] % pixels:
        raise ValueError(
            f"patches has width {patches[-1]}, not a multiple of the {pixels} pixels of patch_size {patch}; "
            "a row holds all channels of one patch, before any embedding"
        )
    return patches[-1] // pixels, grid, patch


def check_patch_embedding(images, patch_size, weight, bias):
    """Refuse a weight or bias that does not embed the patches of these images.

    Parameters
    ----------
    images : tuple of int
        Shape ``(..., channels, height, width)``.
    patch_size : int or sequence of two int
        Of a patch.
    weight : tuple of int
        Shape ``(channels * height * width of a patch, d_model)``.
    bias : tuple of int or None
        Shape ``(d_model,)``.

    Raises
    ------
    TypeError
        When patch_size is no whole number.
    ValueError
        When a shape does not fit.
    """
    height, width = check_patches(images, patch_size)
    words = "the width of a patch (channels * height * width)"
    check_rows("weight", weight, words, images[-3] * height * width)
    if bias is not None:
        check_bias("bias", {"bias": bias}, weight[1])


def check_convolution(images, weight, bias, kernel_size, stride, padding):
    """Return the sizes of a convolution as pairs, or refuse one that does not fit.

    Parameters
    ----------
    images : tuple of int
        Shape ``(..., channels, height, width)``.
    weight : tuple of int
        Shape ``(channels * height * width of the kernel, d_out)``.
    bias : tuple of int or None
        Shape ``(d_out,)``.
    kernel_size, stride, padding : int or sequence of two int
        What came.

    Returns
    -------
    kernel_size, stride, padding : tuple of int
        Pairs.

    Raises
    ------
    TypeError
        When a size is no whole number.
    ValueError
        When a shape does not fit, or the kernel is larger than the padded image.

    Examples
    --------
    >>> check_convolution((3, 8, 2), (27, 5), None, 3, 1, 0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: kernel_size is 3 but images of shape (3, 8, 2) with padding 0 has width 2; ...
    """
    check_axes("images", images, IMAGES)
    kernel = check_pair("kernel_size", kernel_size)
    stride = check_pair("stride", stride)
    padding = check_pair("padding", padding, 0)
    for word, size, cover, pad in zip(
        ("height", "width"), images[-2:], kernel, padding, strict=True
    ):
        if size + 2 * pad < cover:
            raise ValueError(
                f"kernel_size is {cover} but images of shape {tuple(images)} with padding {pad} "
                f"has {word} {size + 2 * pad}; the kernel has to fit in (are the axes {IMAGES}?)"
            )
    words = "channels * height * width of the kernel"
    check_rows("weight", weight, words, images[-3] * kernel[0] * kernel[1])
    if bias is not None:
        check_bias("bias", {"bias": bias}, weight[1])
    return kernel, stride, padding


def check_convolution_layer(images, parameters):
    """Refuse images or parameters that make no layer of a 3 x 3 convolution, its norm and a relu.

    Parameters
    ----------
    images : tuple of int
        Shape ``(..., channels, height, width)``.
    parameters : mapping
        Shapes of ``w_convolution (channels * 9, d_out)``, perhaps ``b_convolution``, and the
        mapping ``norm``.

    Raises
    ------
    TypeError
        When norm is no mapping.
    ValueError
        When a name is missing or unknown, or a shape does not fit.
    """
    check_axes("images", images, IMAGES)
    check_names("parameters", parameters, ("w_convolution", "norm"), "w_")
    check_rows("w_convolution", parameters["w_convolution"], "channels * 9", images[-3] * 9)
    check_bias("b_convolution", parameters, parameters["w_convolution"][1])
    _check_norm_mapping("norm", parameters["norm"])


def check_halvings(patch_size, n_convolutions, images=None):
    """Return the patch that is cut from what convolutions leave, each of which halves the sides.

    Parameters
    ----------
    patch_size : int or sequence of two int
        Of a patch of the image.
    n_convolutions : int
        How many halve it first.
    images : tuple of int, optional
        Shape ``(..., channels, height, width)``, to be a whole number of patches.

    Returns
    -------
    height, width : int
        Of a patch of the last feature map.

    Raises
    ------
    TypeError
        When a size is no whole number.
    ValueError
        When the halvings do not divide patch_size, or the images are no whole number of patches.

    Examples
    --------
    >>> check_halvings(8, 3)
    (1, 1)
    >>> check_halvings(4, 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: patch_size is 4, not a multiple of 2 ** n_convolutions, 8; ...
    """
    pair = check_pair("patch_size", patch_size)
    times = 2 ** check_size("n_convolutions", n_convolutions)
    for size in pair:
        if size % times:
            raise ValueError(
                f"patch_size is {size}, not a multiple of 2 ** n_convolutions, {times}; each convolution "
                "halves the sides, and what is left of a patch has to be a whole number of pixels"
            )
    if images is not None:
        check_patches(images, pair)
    return pair[0] // times, pair[1] // times


def check_map_widths(d_model, n_convolutions):
    """Return how many maps each convolution gives: doubling, until there are d_model.

    Parameters
    ----------
    d_model, n_convolutions : int
        Of a model.

    Returns
    -------
    list of int
        One number for each convolution.

    Raises
    ------
    ValueError
        When d_model cannot be halved that often.

    Examples
    --------
    >>> check_map_widths(64, 3)
    [16, 32, 64]
    >>> check_map_widths(6, 3)
    Traceback (most recent call last):
    ValueError: d_model is 6, not a multiple of 4; the maps of 3 convolutions double until there are d_model
    """
    smallest = 2 ** max(n_convolutions - 1, 0)
    if d_model % smallest:
        raise ValueError(
            f"d_model is {d_model}, not a multiple of {smallest}; "
            f"the maps of {n_convolutions} convolutions double until there are d_model"
        )
    return [d_model // 2**after for after in reversed(range(n_convolutions))]


def check_image(images, channels, image_size):
    """Refuse images of other sizes than those a model was made for.

    Parameters
    ----------
    images : tuple of int
        Shape ``(..., channels, height, width)``.
    channels : int
        The model's.
    image_size : tuple of int or None
        The model's height and width; None where any will do.

    Raises
    ------
    ValueError
        When a size differs.

    Examples
    --------
    >>> check_image((8, 28, 28, 1), 1, (28, 28))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: images has 28 channels in shape (8, 28, 28, 1) but the model was made for 1; ...
    """
    check_axes("images", images, IMAGES)
    if images[-3] != channels:
        raise ValueError(
            f"images has {images[-3]} channels in shape {tuple(images)} but the model was made for {channels}; "
            f"the axes are {IMAGES}, and a grey image has one channel (images[..., None, :, :])"
        )
    if image_size is not None and tuple(images[-2:]) != image_size:
        raise ValueError(
            f"images has height and width {tuple(images[-2:])} but image_size is {image_size}; "
            "the model has learned one position for each patch of that size, so resize the images"
        )


def check_non_local(x, parameters):
    """Refuse parameters that make no non-local block for these feature maps.

    Parameters
    ----------
    x : tuple of int
        Shape ``(..., channels, height, width)``.
    parameters : mapping from str to tuple of int
        Shapes of ``w_query``, ``w_key (channels, d)``, ``w_value (channels, d_v)``,
        ``w_output (d_v, channels)`` and as far as there are any their biases.

    Raises
    ------
    ValueError
        When a name is missing or unknown, or a shape does not fit.

    Examples
    --------
    >>> shapes = {"w_query": (3, 2), "w_key": (3, 2), "w_value": (3, 2), "w_output": (2, 4)}
    >>> check_non_local((3, 8, 8), shapes)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: w_output has shape (2, 4) but (d_v, channels) is (2, 3) here; ...
    """
    check_axes("x", x, IMAGES)
    check_names("parameters", parameters, ("w_query", "w_key", "w_value", "w_output"), "w_")
    channels = x[-3]
    for name in ("query", "key", "value"):
        check_rows(f"w_{name}", parameters[f"w_{name}"], "the channels of x", channels)
    d, d_v = parameters["w_query"][1], parameters["w_value"][1]
    check_parameter("w_key", tuple(parameters["w_key"]), channels=channels, d=d)
    check_parameter("w_output", tuple(parameters["w_output"]), d_v=d_v, channels=channels)
    for name, width in (("query", d), ("key", d), ("value", d_v), ("output", channels)):
        check_bias(f"b_{name}", parameters, width)


def check_vision_transformer(images, parameters, patch_size, norm):
    """Return the patch that is cut from the last feature map, or refuse parameters that do not fit.

    What a layer alone can tell, it checks itself.

    Parameters
    ----------
    images : tuple of int
        Shape ``(..., channels, height, width)``.
    parameters : mapping
        As `vision_transformer` takes them, with arrays as their shapes and lists as mappings.
    patch_size : int or sequence of two int
        Of a patch of the image.
    norm : str
        "pre", "post" or "none".

    Returns
    -------
    height, width : int
        Of a patch of the last feature map.

    Raises
    ------
    TypeError
        When a size is no whole number, or what should hold mappings holds none.
    ValueError
        When a name is missing or unknown, a shape does not fit, or there is no patch at all.
    """
    check_axes("images", images, IMAGES)
    check_choice("norm", norm, ("pre", "post", "none"))
    needed = ["w_patch", "positions", "layers"] + ["output_norm"] * (norm == "pre")
    optional = ("b_patch", "class_token", "convolutions", "w_pool", "b_pool", "w_head", "b_head")
    required = {name: shape for name, shape in parameters.items() if name not in optional}
    check_names("parameters", required, tuple(needed))
    for bias in ("b_pool", "b_head"):
        if bias in parameters and f"w_{bias[2:]}" not in parameters:
            raise ValueError(
                f"parameters holds {bias} but no w_{bias[2:]}; a bias is added to a product"
            )
    for name in ("layers", "convolutions"):
        if not hasattr(parameters.get(name, {}), "items"):
            refuse_type(f"parameters[{name!r}]", "an array", "a list of mappings", NOT_A_LIST)
    if norm == "pre":
        _check_norm_mapping("output_norm", parameters["output_norm"])
    patch = check_halvings(patch_size, len(parameters.get("convolutions", {})), images)
    rows, columns = (
        side // size
        for side, size in zip(images[-2:], check_pair("patch_size", patch_size), strict=True)
    )
    if rows * columns == 0:
        raise ValueError(
            f"images of shape {tuple(images)} has no patches; a height and a width above 0 are needed"
        )
    check_axes("w_patch", parameters["w_patch"], "(d_in, d_out)")
    d_model = parameters["w_patch"][1]
    has_token = "class_token" in parameters
    if has_token:
        check_parameter("class_token", tuple(parameters["class_token"]), d_model=d_model)
    positions, n_tokens = tuple(parameters["positions"]), rows * columns + has_token
    if positions != (n_tokens, d_model):
        kind = "patches and the class token" if has_token else "patches"
        raise ValueError(
            f"positions has shape {positions} but {n_tokens} {kind} of width {d_model} need the shape "
            f"({n_tokens}, {d_model}); a table of positions belongs to one image size and patch_size"
        )
    width = d_model
    for name in ("pool", "head"):
        if f"w_{name}" in parameters:
            check_rows(f"w_{name}", parameters[f"w_{name}"], "what it multiplies", width)
            width = parameters[f"w_{name}"][1]
            check_bias(f"b_{name}", parameters, width)
    return patch


def check_rollout(shapes, residual, fusion):
    """Refuse weights that are not of one chain of layers, or a share that is none.

    Parameters
    ----------
    shapes : list of tuple of int
        One for each layer, ``(..., n_heads, n, n)`` or ``(..., n, n)``.
    residual : float
        The share of the residual connection.
    fusion : str or None
        How heads become one.

    Raises
    ------
    TypeError
        When residual is no real number.
    ValueError
        When there is no layer, a shape does not fit, residual is no share or fusion another word.

    Examples
    --------
    >>> check_rollout([(2, 5, 5), (2, 6, 6)], 0.5, "mean")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: weights[1] is over 6 positions but weights[0] over 5; ...
    """
    check_choice("fusion", fusion, FUSIONS)
    check_real("residual", residual)
    if not 0 <= residual <= 1:
        raise ValueError(
            f"residual must be between 0 and 1 but is {residual}; it is the share of each position "
            "that comes from itself, past the attention"
        )
    if not shapes:
        raise ValueError("weights holds no layer; a rollout multiplies those of at least one")
    for number, shape in enumerate(shapes):
        name = f"weights[{number}]"
        check_axes(name, shape, "(..., n, n)")
        if shape[-1] != shape[-2]:
            raise ValueError(
                f"{name} has shape {tuple(shape)}, {shape[-2]} queries and {shape[-1]} keys; "
                "a rollout follows self-attention, in which every position is both"
            )
        if shape[-1] != shapes[0][-1]:
            raise ValueError(
                f"{name} is over {shape[-1]} positions but weights[0] over {shapes[0][-1]}; "
                "all layers of a chain look at the same positions"
            )
        if fusion is not None and len(shape) > 2 and shape[-3] == 0:
            raise ValueError(
                f"{name} has shape {tuple(shape)} and no heads; the axes are (..., n_heads, n, n), "
                "or (..., n, n) with fusion=None"
            )
    merged = 2 if fusion is None else 3
    leads = {
        f"weights[{k}]": shape[: max(len(shape) - merged, 0)] for k, shape in enumerate(shapes)
    }
    check_leading(**leads)


def refuse_heads(d_head, d_model, n_heads):
    """Raise the ValueError for a foreign model whose heads do not share its width.

    Parameters
    ----------
    d_head, d_model, n_heads : int
        Its sizes.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        f"module has {n_heads} heads of width {d_head} but d_model {d_model}; "
        "only models whose heads share the width evenly can be loaded"
    )


def refuse_pooler(activation):
    """Raise the ValueError for a foreign model whose pooler bends by something else than tanh.

    Parameters
    ----------
    activation : str
        What it bends by.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        f"module has a pooler with {activation}; only tanh can be loaded "
        "(a module without a pooler can: add_pooling_layer=False)"
    )


def _check_norm_mapping(name, held):
    """Refuse what is not the gain and the bias of a norm, as far as there are any."""
    if not hasattr(held, "items"):
        refuse_type(f"parameters[{name!r}]", "an array", "a mapping", NOT_PARAMETERS)
    unknown = set(held) - {"gain", "bias"}
    if unknown:
        raise ValueError(
            f"parameters[{name!r}] holds {', '.join(sorted(map(str, unknown)))}, which nobody reads; "
            "a norm has a gain and a bias"
        )
