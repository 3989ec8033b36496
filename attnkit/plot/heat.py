"""The heat map: one square for each row and column, as a rule who looks at whom."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from .figure import FONT_PIXELS, PIXEL, Plot, drawing_style, to_svg
from .labels import Legend, as_labels, visible, width_in_ems
from .numbers import NO_NUMBERS, short_number

# White to dark blue for amounts; orange, white, purple for signed numbers.
_AMOUNT = LinearSegmentedColormap.from_list("amount", ["#ffffff", "#6baed6", "#08306b"])
_SIGNED = LinearSegmentedColormap.from_list(
    "signed", ["#7f3b08", "#f1a340", "#ffffff", "#998ec3", "#2d004b"]
)
_TICK_LIMIT = 14  # characters of a token drawn beside the map
_WORD_LIMIT = 24  # characters of a token in the description
_ROWS_TOLD = 12  # rows told one by one in the description
_TITLE_LIMIT = 60  # characters of an axis title
_LOOKED_AT, _LOOKS = "key (is looked at)", "query (looks)"  # the titles of a map of weights


def heat_map(
    weights,
    query_labels: Iterable[object],
    key_labels: Iterable[object],
    *,
    x_label: str = _LOOKED_AT,
    y_label: str = _LOOKS,
    title: str | None = None,
) -> Plot:
    """Draw attention weights: a row for each query, a column for each key, darker is more.

    A table of another kind is drawn too, if it is given the titles of its axes; the description
    then speaks of rows and columns in place of queries and keys.

    Cells carry their number while there is room for it. Colours run from 0 to 1, so that maps can
    be compared, unless the largest weight is below 0.2: then to that. The description of the
    picture (its `alt`) tells the largest entry of each row in words.

    Parameters
    ----------
    weights : array (m, n)
        Row i holds the weights of query i over the n keys: one example, one head. Scores, which may
        be negative, are drawn too, on a scale with two colours. NumPy array, torch tensor or lists.
    query_labels : m tokens
        Names of the rows; a string counts as its characters.
    key_labels : n tokens
        Names of the columns. A token that no font at hand can draw appears as a number, explained
        under the picture.
    x_label, y_label : str, optional
        Titles of the axes, for a table whose columns or rows are no keys or queries.
    title : str, optional
        Written above the picture.

    Returns
    -------
    Plot
        Shows itself as the last expression of a notebook cell.

    Raises
    ------
    ValueError
        If `weights` has other than two axes or holds NaN or infinity, or if the number of labels
        does not fit.
    TypeError
        If `weights` holds something other than real numbers.

    Examples
    --------
    >>> heat_map([[0.9, 0.1], [0.5, 0.5]], ["I", "love"], ["我", "爱"])
    Heat map of 2 queries (rows) by 2 keys (columns). Query "I" looks most at "我" (0.90); \
query "love" looks most at "我" and "爱" (0.50 each).

    >>> heat_map(np.eye(2), range(2), range(2), x_label="dimension", y_label="position")
    Heat map of 2 rows (position) by 2 columns (dimension). Row "0" is largest at "0" (1.00); \
row "1" is largest at "1" (1.00).
    """
    weights = _as_matrix(weights)
    m, n = weights.shape
    query_labels = as_labels(query_labels, "query_labels", m, "rows")
    key_labels = as_labels(key_labels, "key_labels", n, "columns")
    alt = _describe(weights, query_labels, key_labels, x_label, y_label)
    legend = Legend()
    with drawing_style():
        svg, width = to_svg(
            _draw(
                weights,
                legend.ticks(query_labels, _TICK_LIMIT),
                legend.ticks(key_labels, _TICK_LIMIT),
                legend.tick(x_label, _TITLE_LIMIT),
                legend.tick(y_label, _TITLE_LIMIT),
            )
        )
    return Plot(svg, width, alt, title, legend.entries())


def _as_matrix(weights) -> np.ndarray:
    """Return `weights` as a float64 matrix, or say what is wrong with it."""
    if hasattr(weights, "detach"):  # a torch tensor, recognised without importing torch
        weights = weights.detach().cpu().double()
    weights = np.asarray(weights)
    if weights.dtype.kind not in "biuf":
        raise TypeError(f"weights must hold real numbers, got dtype {weights.dtype}; {NO_NUMBERS}")
    weights = weights.astype(np.float64)
    if weights.ndim != 2:
        raise ValueError(
            f"weights must have two axes (queries, keys), got shape {weights.shape}; "
            "choose one example and one head first, for instance weights[0]"
        )
    bad = np.argwhere(~np.isfinite(weights))
    if len(bad):
        row, column = bad[0].tolist()
        raise ValueError(
            f"weights must be finite, got {weights[row, column]} at row {row}, column {column}; "
            "NaN often comes from a softmax over a row with every key masked, infinity from scores "
            "before the softmax"
        )
    return weights


def _describe(
    weights: np.ndarray,
    query_labels: Sequence[str],
    key_labels: Sequence[str],
    x_label: str,
    y_label: str,
) -> str:
    """Return the row maxima in words."""
    m, n = weights.shape
    looks = (x_label, y_label) == (_LOOKED_AT, _LOOKS)
    if looks:
        opening = (
            f"Heat map of {m} {'query' if m == 1 else 'queries'} (rows) by "
            f"{n} {'key' if n == 1 else 'keys'} (columns)"
        )
    else:
        opening = (
            f"Heat map of {m} {'row' if m == 1 else 'rows'} ({visible(y_label, _TITLE_LIMIT)}) by "
            f"{n} {'column' if n == 1 else 'columns'} ({visible(x_label, _TITLE_LIMIT)})"
        )
    if m == 0 or n == 0:
        return f"{opening}: nothing to draw."
    are_weights = weights.min() >= 0 and weights.max() <= 1 + 1e-6
    told = [
        _describe_row(row, visible(query, _WORD_LIMIT), key_labels, are_weights, looks)
        for row, query in zip(weights[:_ROWS_TOLD], query_labels[:_ROWS_TOLD], strict=True)
    ]
    sentence = "; ".join(told)
    if m > _ROWS_TOLD:
        sentence += f"; and {m - _ROWS_TOLD} more"
    return f"{opening}. {sentence[0].upper()}{sentence[1:]}."


def _describe_row(
    row: np.ndarray, name: str, key_labels: Sequence[str], are_weights: bool, looks: bool
) -> str:
    """Return where one row is largest, in words: where its query looks, if it is one."""
    subject = f'{"query" if looks else "row"} "{name}"'
    best = row.max()
    if are_weights and best == 0:
        return f"{subject} {'looks at nothing' if looks else 'is 0 throughout'}"
    number = f"{best:.2f}" if are_weights else f"{best + 0.0:.3g}"  # -0 becomes 0
    # What the eye and the printed number cannot tell apart is told as equal.
    winners = np.flatnonzero(row >= best - 1e-9 * max(1.0, abs(best)))
    if not looks:
        verb, alike = "is largest at", "is the same in all columns"
    else:
        verb = "looks most at" if are_weights else "scores highest with"
        alike = "looks at all keys alike"
    if len(winners) == len(row) > 2:
        return f"{subject} {alike} ({number} each)"
    names = [f'"{visible(key_labels[index], _WORD_LIMIT)}"' for index in winners[:3]]
    if len(winners) == 1:
        return f"{subject} {verb} {names[0]} ({number})"
    if len(winners) > 3:
        names = [*names[:2], f"{len(winners) - 2} others"]
    return f"{subject} {verb} {', '.join(names[:-1])} and {names[-1]} ({number} each)"


def _cell_pixels(m: int, n: int) -> float:
    """Return the side of one square: room for a number in small maps only."""
    longest = max(m, n, 1)
    for most, pixels in ((12, 34.0), (24, 20.0), (40, 13.0)):
        if longest <= most:
            return pixels
    return 520.0 / longest


def _draw(
    weights: np.ndarray, queries: Sequence[str], keys: Sequence[str], x_label: str, y_label: str
) -> Figure:
    """Return the figure of one matrix."""
    m, n = weights.shape
    cell = _cell_pixels(m, n)
    # Never smaller than the axis titles beside it.
    width, height = (max(count * cell, 96) * PIXEL for count in (n, m))
    figure = Figure(figsize=(width, height), dpi=96)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-0.5, max(n, 1) - 0.5), ylim=(max(m, 1) - 0.5, -0.5))
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(x_label, labelpad=6)
    axes.set_ylabel(y_label, labelpad=6)
    axes.tick_params(length=0, pad=4)
    axes.spines[:].set_visible(True)
    axes.spines[:].set(color="#767676", linewidth=0.6)
    _name_rows_and_columns(axes, queries, keys, width / PIXEL, height / PIXEL)
    if weights.size == 0:
        axes.text(0.5, 0.5, "empty", ha="center", va="center", transform=axes.transAxes)
        return figure
    signed = weights.min() < 0
    colours = _SIGNED if signed else _AMOUNT
    top = np.abs(weights).max()
    if not signed and (top == 0 or 0.2 <= top <= 1 + 1e-6):
        top = 1.0  # so that two maps of weights can be compared
    norm = Normalize(-top if signed else 0.0, top)
    image = axes.imshow(weights, cmap=colours, norm=norm, aspect="auto", interpolation="none")
    numbers = [short_number(weight, top) for weight in weights.flat]
    longest = max(map(len, numbers))
    if cell >= 34 and longest <= 5:
        for (row, column), number in zip(np.ndindex(m, n), numbers, strict=True):
            ground = _luminance(colours(norm(weights[row, column])))
            axes.text(
                column,
                row,
                number,
                ha="center",
                va="center",
                fontsize=7.9 if longest <= 4 else 7.2,
                color="white" if ground < 0.179 else "black",  # the higher contrast of the two
            )
    else:
        tall = min(160 * PIXEL / height, 1.0)
        bar = figure.add_axes((1 + 14 * PIXEL / width, 1 - tall, 10 * PIXEL / width, tall))
        figure.colorbar(image, cax=bar).outline.set(linewidth=0.6, edgecolor="#767676")
    return figure


def _name_rows_and_columns(
    axes, queries: Sequence[str], keys: Sequence[str], width: float, height: float
) -> None:
    """Write the tokens beside the map, or only some where there is no room."""
    m, n = len(queries), len(keys)
    every = max(1, math.ceil(13 * m / height))  # a line of text is 13 pixels high
    axes.set_yticks(range(0, m, every), queries[::every])
    every = max(1, math.ceil(13 * n / width))
    widest = max((width_in_ems(key) for key in keys), default=0) * FONT_PIXELS
    if widest <= every * width / max(n, 1) - 3:
        axes.set_xticks(range(0, n, every), keys[::every], va="baseline")
        return
    every = math.ceil(18 * n / width)  # a slanted line takes more
    axes.set_xticks(
        range(0, n, every),
        keys[::every],
        rotation=45,
        rotation_mode="anchor",
        ha="left",
        va="baseline",
    )


def _luminance(colour: Sequence[float]) -> float:
    """Return the relative luminance of an RGB colour (Web Content Accessibility Guidelines 2.2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
