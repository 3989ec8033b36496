"""Curves: one or more quantities against another, told apart without colour."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from .figure import COLOURS, DASHES, MARKERS, PIXEL, Plot, drawing_style, to_svg
from .labels import Legend, visible
from .numbers import as_vector, plain_number

_NAME_LIMIT = 40
_MARKED = 40  # series of at most this many values carry a marker at each
_WIDTH = 335  # of the axes, in CSS pixels
_SCALES = ("linear", "log")


def curves(
    x,
    y: Mapping[str, object],
    *,
    x_label: str,
    y_label: str,
    title: str | None = None,
    x_scale: str = "linear",
    y_scale: str = "linear",
    points: Mapping[str, tuple] | None = None,
) -> Plot:
    """Draw each series of `y` against `x`, with colour, dashes and markers of its own.

    The description of the picture (its `alt`) tells each series' first and last value and its
    extremes in words.

    Parameters
    ----------
    x : array (n,)
        Where the values were taken, shared by all series.
    y : mapping from name to array (n,)
        The series, at most seven.
    x_label, y_label : str
        Titles of the axes.
    title : str, optional
        Written above the picture.
    x_scale, y_scale : {"linear", "log"}
        A logarithmic axis needs numbers above 0.
    points : mapping from name to (x, y), optional
        Single points (data, say) drawn as grey dots under the curves, with an `x` of their own; at
        most seven series.

    Returns
    -------
    Plot
        Shows itself as the last expression of a notebook cell.

    Raises
    ------
    ValueError
        If lengths differ, a number is NaN or infinite, a logarithmic axis meets 0 or less, there
        are more than seven series, or a scale has another name.

    Examples
    --------
    >>> curves([1, 2, 4], {"loss": [3.0, 1.0, 1.5]}, x_label="step", y_label="loss")
    Curves of loss against step. "loss": 3 at 1, 1.5 at 4; lowest 1 at 2.
    """
    x = as_vector(x, "x")
    series = {str(name): as_vector(values, f'y["{name}"]') for name, values in y.items()}
    dots = {
        str(name): tuple(as_vector(values, f'points["{name}"]') for values in pair)
        for name, pair in (points or {}).items()
    }
    _check(x, series, dots, x_scale, y_scale)
    legend = Legend()
    alt = _describe(x, series, dots, x_label, y_label)
    with drawing_style():
        figure = _draw(x, series, dots, legend, (x_label, y_label), (x_scale, y_scale))
        svg, width = to_svg(figure)
    return Plot(svg, width, alt, title, legend.entries())


def _check(x, series, dots, x_scale: str, y_scale: str) -> None:
    """Raise ValueError for what cannot be drawn."""
    for name, scale in (("x_scale", x_scale), ("y_scale", y_scale)):
        if scale not in _SCALES:
            raise ValueError(
                f"{name} must be one of {', '.join(_SCALES)}, got {scale!r}; is it misspelt?"
            )
    for name, drawn in (("y", series), ("points", dots)):
        if len(drawn) > len(COLOURS):
            raise ValueError(
                f"{name} has {len(drawn)} series, at most {len(COLOURS)} can be told apart; "
                "draw two figures"
            )
    for name, values in series.items():
        if len(values) != len(x):
            raise ValueError(
                f'y["{name}"] has {len(values)} values but x has {len(x)}; '
                "each series needs one value for each x"
            )
    for name, pair in dots.items():
        if len(pair) != 2 or len(pair[0]) != len(pair[1]):
            raise ValueError(
                f'points["{name}"] must be a pair (x, y) of equal length, '
                f"got lengths {', '.join(str(len(part)) for part in pair)}; "
                "pairs of numbers become one pair of lists with zip(*pairs)"
            )
    lowest = {
        "x": [x, *(pair[0] for pair in dots.values())] if x_scale == "log" else [],
        "y": [*series.values(), *(pair[1] for pair in dots.values())] if y_scale == "log" else [],
    }
    for name, arrays in lowest.items():
        smallest = min((array.min() for array in arrays if array.size), default=1.0)
        if smallest <= 0:
            raise ValueError(
                f"{name} must be above 0 on a logarithmic axis, got {smallest:g}; "
                f'use {name}_scale="linear" or leave the zeros out'
            )


def _describe(x, series, dots, x_label: str, y_label: str) -> str:
    """Return what each series does, in words."""
    told = [f"Curves of {visible(y_label)} against {visible(x_label)}."]
    for name, values in series.items():
        told.append(f'"{visible(name, _NAME_LIMIT)}": {_describe_series(x, values)}.')
    for name, (_, heights) in dots.items():
        span = (
            f", from {plain_number(heights.min())} to {plain_number(heights.max())}"
            if heights.size
            else ""
        )
        told.append(f'Dots "{visible(name, _NAME_LIMIT)}": {len(heights)}{span}.')
    return " ".join(told)


def _describe_series(x: np.ndarray, values: np.ndarray) -> str:
    """Return the first, last and extreme values of one series, in words."""
    if values.size == 0:
        return "no values"
    words = f"{plain_number(values[0])} at {plain_number(x[0])}"
    if values.size == 1:
        return words
    words += f", {plain_number(values[-1])} at {plain_number(x[-1])}"
    if np.ptp(values) == 0:
        return f"{words}; the same throughout"
    ends = {0, values.size - 1}
    for name, index in (("highest", values.argmax()), ("lowest", values.argmin())):
        # An end that is as high or low as any point needs no second mention.
        if not any(values[end] == values[index] for end in ends):
            words += f"; {name} {plain_number(values[index])} at {plain_number(x[index])}"
    return words


def _draw(x, series, dots, legend: Legend, names: Sequence[str], scales: Sequence[str]) -> Figure:
    """Return the figure of all series."""
    figure = Figure(figsize=(_WIDTH * PIXEL, 225 * PIXEL), dpi=96)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xscale=scales[0], yscale=scales[1])
    axes.set_xlabel(legend.tick(names[0], 60))
    axes.set_ylabel(legend.tick(names[1], 40))
    axes.grid(color="#d9d9d9", linewidth=0.6)
    axes.set_axisbelow(True)
    handles = []
    dense = len(x) > _MARKED  # markers would hide such a line; its dashes tell it from the others
    for values, colour, dashes, marker in zip(
        series.values(), COLOURS, DASHES, MARKERS, strict=False
    ):
        handles += axes.plot(
            x,
            values,
            color=colour,
            linewidth=1.6,
            linestyle=(0, dashes) if dashes else "-",
            marker="none" if dense else marker,
            markersize=4,
        )
    for pair, marker in zip(dots.values(), MARKERS, strict=False):
        handles += axes.plot(
            *pair, color="#767676", linestyle="none", marker=marker, markersize=3, zorder=1
        )
    # Matplotlib writes logarithmic ticks as formulas, which are switched off here.
    for axis, scale in zip((axes.xaxis, axes.yaxis), scales, strict=True):
        if scale == "log":
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
    if scales[0] == "log" and 1 < len(x) <= 12:
        axes.set_xticks(x, [f"{value:g}" for value in x], fontsize=9 if len(x) < 9 else 7.8)
        axes.xaxis.set_minor_locator(NullLocator())
    if scales[0] == "linear" and not dots and 1 < len(x) <= 12 and np.all(x == np.round(x)):
        _mark_whole_numbers(axes, x)
    if len(handles) > 1:
        # Under the axes, so that nothing is covered and a phone needs no extra width.
        axes.legend(
            handles,
            legend.ticks([*series, *dots], _NAME_LIMIT),
            loc="upper left",
            bbox_to_anchor=(0, -44 / 225),
            borderaxespad=0,
            handlelength=3.4,
        )
    return figure


def _mark_whole_numbers(axes, x: np.ndarray) -> None:
    """Put the ticks of a linear axis at the values of `x` themselves, if their names find room."""
    ticks = np.unique(x)
    names = [plain_number(tick).replace("-", "−") for tick in ticks]
    low, high = axes.get_xlim()
    gap = np.diff(ticks).min(initial=high - low) / (high - low) * _WIDTH
    if gap >= 8 * max(map(len, names)) + 6:  # a digit is less than 8 pixels wide
        axes.set_xticks(ticks, names)
