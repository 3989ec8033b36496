"""Bars: amounts side by side, a panel for each set of them, all panels on one scale."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from .figure import COLOURS, FONT_PIXELS, PIXEL, Plot, drawing_style, to_svg
from .labels import Legend, visible, width_in_ems
from .numbers import as_vector, plain_number, short_number

_WIDTH = 335  # of a panel, in CSS pixels
_SLOT = 14.5  # the least width for a bar and what separates it from the next
_HEIGHT = 64  # of a panel among others
_ALONE = 110  # of a single panel
_LINE = 26  # pixels that a panel's name, or the title of the axis, takes
_BAR_LIMIT = 14  # characters of a name under a bar
_NAME_LIMIT = 44  # characters of a panel's name, an axis title, the outline's name
_BARS_TOLD = 24  # bars of a panel told one by one in the description


def bars(
    labels: Iterable[object],
    values: Mapping[str, object],
    *,
    x_label: str,
    y_label: str,
    outline: tuple[str, object] | None = None,
    title: str | None = None,
) -> Plot:
    """Draw a panel of bars for each entry of `values`, one below the other on one scale.

    Each bar carries its number while there is room. The description (the plot's `alt`) tells the
    same numbers in words.

    Parameters
    ----------
    labels : n names
        Written under the bars, the same in every panel; a string counts as its characters.
    values : mapping from name to array (n,)
        The panels; the name is written above, unless it is empty. Numbers of 0 or more. NumPy
        array, torch tensor or list.
    x_label, y_label : str
        What the labels are, and what the numbers are.
    outline : (name, array (n,)), optional
        Drawn over the bars of every panel as empty frames, to compare with: what it was before,
        say, or what it should be.
    title : str, optional
        Written above the picture.

    Returns
    -------
    Plot
        Shows itself as the last expression of a notebook cell.

    Raises
    ------
    ValueError
        If there is no panel, if the number of values does not fit the labels, or if a number is
        negative, NaN or infinite.
    TypeError
        If values are something other than real numbers, `labels` is no sequence or `values` no
        mapping.

    Examples
    --------
    >>> bars(["J", "M"], {"cooler": [0.8, 0.2]}, x_label="letter", y_label="probability",
    ...      outline=("before", [0.6, 0.4]))
    Bars of probability for each letter. "cooler": "J" 0.80, "M" 0.20. \
Outline "before": "J" 0.60, "M" 0.40.
    """
    try:
        labels = [str(label) for label in labels]
    except TypeError:
        raise TypeError(
            f"labels must be a sequence of names, got {type(labels).__name__}; "
            "give a name for each bar"
        ) from None
    if not isinstance(values, Mapping):
        raise TypeError(
            f"values must be a mapping from the name of a panel to its numbers, got "
            f"{type(values).__name__}; a single panel is {{'': numbers}}"
        )
    panels = {
        str(name): _as_heights(array, f'values["{name}"]', len(labels))
        for name, array in values.items()
    }
    if len(panels) != len(values):
        raise ValueError(
            f"values has names that read alike, got {list(values)}; each panel needs a name of its own"
        )
    if not panels:
        raise ValueError("values is empty; give at least one panel, for instance {'': numbers}")
    frame = None
    if outline is not None:
        if len(outline) != 2:
            raise ValueError(
                f"outline must be a pair (name, numbers), got {len(outline)} entries; "
                "the name is written under the picture"
            )
        frame = str(outline[0]), _as_heights(outline[1], "outline", len(labels))
    alt = _describe(labels, panels, frame, x_label, y_label)
    legend = Legend()
    with drawing_style():
        figure = _draw(labels, panels, frame, legend, x_label, y_label)
        svg, width = to_svg(figure)
    return Plot(svg, width, alt, title, legend.entries())


def _as_heights(values, name: str, count: int) -> np.ndarray:
    """Return `values` as heights of bars, or say what is wrong with them."""
    heights = as_vector(values, name)
    if len(heights) != count:
        raise ValueError(
            f"{name} has {len(heights)} values but there are {count} labels; "
            "each label needs one bar"
        )
    if heights.min(initial=0) < 0:
        raise ValueError(
            f"{name} must not be below 0, got {heights.min():g}; a bar starts at 0, and curves() "
            "draws numbers of either sign"
        )
    return heights


def _numbers(heights: np.ndarray, panels: Mapping[str, np.ndarray]) -> list[str]:
    """Return the numbers of one panel, written alike in all: as counts, if all are whole."""
    everything = np.concatenate(list(panels.values()))
    whole = np.all(everything == np.round(everything))
    top = math.inf if whole else everything.max(initial=0)
    # An exact zero among fractions is told from what is only rounded to zero.
    return [short_number(height, top) if height else "0" for height in heights]


def _describe(labels, panels, frame, x_label: str, y_label: str) -> str:
    """Return every number in words, or the largest where there are too many."""
    opening = f"Bars of {visible(y_label, _NAME_LIMIT)} for each {visible(x_label, _NAME_LIMIT)}"
    if not labels:
        return f"{opening}: nothing to draw."
    told = [f"{opening}."]
    for name, heights in panels.items():
        words = _describe_panel(labels, heights, _numbers(heights, panels))
        # One panel may go without a name: the title of the figure says it.
        told.append(f'"{visible(name, _NAME_LIMIT)}": {words}.' if name else f"{words}.")
    if frame is not None:
        name, heights = frame
        words = _describe_panel(labels, heights, _numbers(heights, {name: heights}))
        told.append(f'Outline "{visible(name, _NAME_LIMIT)}": {words}.')
    return " ".join(told)


def _describe_panel(labels: Sequence[str], heights: np.ndarray, numbers: Sequence[str]) -> str:
    """Return the numbers of one panel in words."""
    pairs = [
        f'"{visible(label, _BAR_LIMIT)}" {number}'
        for label, number in zip(labels, numbers, strict=True)
    ]
    if len(pairs) <= _BARS_TOLD:
        return ", ".join(pairs)
    return (
        f"{', '.join(pairs[:_BARS_TOLD])}, and {len(pairs) - _BARS_TOLD} more; "
        f"highest {pairs[heights.argmax()]}"
    )


def _draw(labels, panels, frame, legend: Legend, x_label: str, y_label: str) -> Figure:
    """Return the figure of all panels."""
    names = legend.ticks(labels, _BAR_LIMIT)
    across = max(_WIDTH, len(labels) * _SLOT)
    high = _ALONE if len(panels) == 1 else _HEIGHT
    room = across / max(len(labels), 1)
    widest = max(map(width_in_ems, names), default=0) * FONT_PIXELS
    slanted = widest > room
    foot = 0.71 * widest + 14 if slanted else 18  # what the names of the bars take
    between = foot + _LINE
    down = len(panels) * (high + between) - between
    figure = Figure(figsize=(across * PIXEL, down * PIXEL), dpi=96)
    drawn = [*panels.values(), *([frame[1]] if frame else [])]
    top = max(array.max(initial=0) for array in drawn) or 1.0
    all_numbers = [_numbers(heights, panels) for heights in panels.values()]
    longest = max((width_in_ems(text) for row in all_numbers for text in row), default=0)
    beside = 8.0  # how far the title of the numbers stands from the bars
    numbered = longest * FONT_PIXELS * 0.8 <= room
    for place, ((name, heights), numbers) in enumerate(
        zip(panels.items(), all_numbers, strict=True)
    ):
        bottom = down - place * (high + between) - high
        axes = figure.add_axes((0, bottom / down, 1, high / down))
        axes.set(xlim=(-0.5, max(len(labels), 1) - 0.5), ylim=(0, top * (1 + 14 / high)))
        axes.bar(range(len(labels)), heights, width=0.76, color=COLOURS[0], alpha=0.6)
        if frame:
            axes.bar(
                range(len(labels)),
                frame[1],
                width=0.76,
                facecolor="none",
                edgecolor="black",
                linewidth=1,
            )
        if name:
            axes.set_title(legend.tick(name, _NAME_LIMIT), loc="left", pad=5)
        axes.tick_params(length=0, pad=4)
        if slanted:
            slant = {"rotation": 45, "rotation_mode": "anchor", "ha": "right", "va": "top"}
            axes.set_xticks(range(len(names)), names, **slant)
        else:
            axes.set_xticks(range(len(names)), names)
        if numbered:
            axes.spines["left"].set_visible(False)
            axes.set_yticks([])
            above = heights if frame is None else np.maximum(heights, frame[1])
            for i, (height, number) in enumerate(zip(above, numbers, strict=True)):
                axes.annotate(
                    number,
                    (i, height),
                    xytext=(0, 2),
                    textcoords="offset points",
                    ha="center",
                    fontsize=7.2,
                )
        else:
            axes.yaxis.get_major_locator().set_params(nbins=3)
            ticks = [tick for tick in axes.get_yticks() if tick <= axes.get_ylim()[1]]
            scale = [plain_number(tick) for tick in ticks]
            axes.set_yticks(ticks, scale)
            beside = 14 + max(map(width_in_ems, scale)) * FONT_PIXELS
    axes.set_xlabel(legend.tick(x_label, _NAME_LIMIT))
    if slanted:  # the first name reaches out to the left, too
        beside = max(beside, 0.71 * widest - room / 2 + 6)
    figure.text(
        -beside / across,
        0.5,
        legend.tick(y_label, _NAME_LIMIT),
        rotation=90,
        ha="right",
        va="center",
    )
    if frame:
        axes.legend(
            [Patch(facecolor="none", edgecolor="black")],
            [f"outline: {legend.tick(frame[0], _NAME_LIMIT)}"],
            loc="upper left",
            bbox_to_anchor=(0, -(foot + _LINE) / high),
            borderaxespad=0,
        )
    return figure
