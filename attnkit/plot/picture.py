"""Pictures: grey images side by side, each with its name, and where a query looked at them."""

from collections.abc import Iterable

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from .figure import COLOURS, FONT_PIXELS, PIXEL, Plot, drawing_style, to_svg
from .labels import Legend, visible
from .numbers import NO_NUMBERS

_PAGE = 350  # CSS pixels that the pictures of one row share
_SIDE = 84  # the least height of a picture, so that a small one can be seen
_GAP = 10
_NAME_LIMIT = 28  # characters of a name drawn above a picture
_NAMES_TOLD = 12  # pictures told one by one in the description
_NUMBERED = 32  # patches a picture may have for each to carry its number


def pictures(images, labels: Iterable[object], *, weights=None, title: str | None = None) -> Plot:
    """Draw grey images in rows, and over each, if given, the weights of its patches.

    A patch is coloured the more the larger its weight, on one scale for all pictures, and carries
    the number while there is room. The description (the plot's `alt`) tells each picture's name and
    the patch with the largest weight.

    Parameters
    ----------
    images : array (N, h, w)
        Ink: 0 is drawn white, the largest value of all images black. NumPy array or torch tensor.
    labels : N names
        Written above the pictures.
    weights : array (N, rows, columns), optional
        One weight for each patch; the patches of a picture are equally large.
    title : str, optional
        Written above all.

    Returns
    -------
    Plot
        Shows itself as the last expression of a notebook cell.

    Raises
    ------
    ValueError
        If images or weights have other than three axes, hold NaN, infinity or a number below 0, or
        if their number or that of the labels differs.
    TypeError
        If images or weights hold something other than real numbers.

    Examples
    --------
    >>> pictures(np.eye(4)[None], ["a stroke"], weights=[[[0.1, 0.9]]])
    1 picture, 4 by 4 pixels. "a stroke": most weight, 0.90, in row 1, column 2 of 1 by 2 patches.
    """
    images = _as_stack(images, "images")
    labels = [str(label) for label in labels]
    if len(labels) != len(images):
        raise ValueError(
            f"labels has {len(labels)} entries but there are {len(images)} images; "
            "give each picture a name"
        )
    if weights is not None:
        weights = _as_stack(weights, "weights")
        if len(weights) != len(images):
            raise ValueError(
                f"weights has {len(weights)} entries but there are {len(images)} images; "
                "each picture needs one map of weights"
            )
    alt = _describe(images, labels, weights)
    legend = Legend()
    with drawing_style():
        figure = _draw(images, legend.ticks(labels, _NAME_LIMIT), weights)
        svg, width = to_svg(figure)
    return Plot(svg, width, alt, title, legend.entries())


def _as_stack(values, name: str) -> np.ndarray:
    """Return `values` as float64 numbers with three axes, or say what is wrong with them."""
    if hasattr(values, "detach"):  # a torch tensor, recognised without importing torch
        values = values.detach().cpu().double()
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {values.dtype}; {NO_NUMBERS}")
    if values.ndim != 3:
        raise ValueError(
            f"{name} must have three axes (picture, row, column), got shape {values.shape}; "
            "a single picture is image[None]"
        )
    values = values.astype(np.float64)
    bad = values[~(np.isfinite(values) & (values >= 0))]
    if bad.size:
        raise ValueError(
            f"{name} must be finite and not below 0, got {bad[0]:g}; were pixels normalised to mean 0, "
            "or scores given where weights belong?"
        )
    return values


def _describe(images: np.ndarray, labels: list[str], weights: np.ndarray | None) -> str:
    """Return the names of the pictures, and their heaviest patches, in words."""
    count, height, width = images.shape
    words = f"{count} {'picture' if count == 1 else 'pictures'}, {height} by {width} pixels."
    told = []
    for place, label in enumerate(labels[:_NAMES_TOLD]):
        told.append(f'"{visible(label, _NAME_LIMIT)}"')
        if weights is not None and weights[place].size:
            rows, columns = weights[place].shape
            row, column = np.unravel_index(weights[place].argmax(), (rows, columns))
            told[-1] += (
                f": most weight, {weights[place, row, column]:.2f}, in row {row + 1}, "
                f"column {column + 1} of {rows} by {columns} patches"
            )
    if count > _NAMES_TOLD:
        told.append(f"and {count - _NAMES_TOLD} more")
    return f"{words} {'; '.join(told)}." if told else words


def _draw(images: np.ndarray, names: list[str], weights: np.ndarray | None) -> Figure:
    """Return the figure of all pictures."""
    count, h, w = images.shape
    scale = max(1, _SIDE // max(h, 1))  # CSS pixels for a pixel of the image
    height, width = max(h, 1) * scale, max(w, 1) * scale
    columns = max(1, min(count, (_PAGE + _GAP) // (width + _GAP)))
    rows = max(1, -(-count // columns))
    line = FONT_PIXELS + 6
    across, down = columns * (width + _GAP) - _GAP, rows * (height + line + _GAP) - _GAP
    figure = Figure(figsize=(across * PIXEL, down * PIXEL), dpi=96)
    darkest = images.max(initial=0) or 1.0
    heaviest = 1.0 if weights is None else weights.max(initial=0) or 1.0
    for place, (image, name) in enumerate(zip(images, names, strict=True)):
        row, column = divmod(place, columns)
        left, top = column * (width + _GAP), row * (height + line + _GAP) + line
        box = (left / across, 1 - (top + height) / down, width / across, height / down)
        axes = figure.add_axes(box, xticks=[], yticks=[])
        axes.spines[:].set_visible(True)
        axes.spines[:].set(color="#767676", linewidth=0.6)
        axes.set_title(name, loc="left", pad=3)
        if image.size == 0:
            continue
        axes.imshow(image, cmap="Greys", vmin=0, vmax=darkest, interpolation="none", aspect="auto")
        if weights is not None:
            _cover(axes, weights[place] / heaviest, weights[place], h, w)
    return figure


def _cover(axes, shares: np.ndarray, weights: np.ndarray, h: int, w: int) -> None:
    """Lay a coloured square over each patch of one picture, with its number."""
    rows, columns = weights.shape
    for row, column in np.ndindex(rows, columns):
        corner = column * w / columns - 0.5, row * h / rows - 0.5
        axes.add_patch(
            Rectangle(
                corner,
                w / columns,
                h / rows,
                facecolor=COLOURS[1],
                alpha=0.6 * float(shares[row, column]),
                linewidth=0,
            )
        )
        if rows * columns > _NUMBERED:
            continue
        axes.text(
            corner[0] + 0.04 * w / columns,
            corner[1] + 0.06 * h / rows,
            f"{weights[row, column]:.2f}",
            ha="left",
            va="top",
            fontsize=7.2,
            bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.8},
        )
