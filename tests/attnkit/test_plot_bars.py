"""Bars: what they say in words, how high they are drawn, what they refuse."""

import itertools
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import torch

from attnkit.plot import bars
from attnkit.plot.bar import _HEIGHT

BEFORE = np.array([0.1, 0.6, 0.3])
AFTER = {"cooler": np.array([0.01, 0.8, 0.19]), "top two": np.array([0.0, 0.667, 0.333])}
TITLES = {"x_label": "letter", "y_label": "probability"}


def draw(figures, *arguments, **keywords):
    """Return the figure that `bars` draws."""
    bars(*arguments, **(TITLES | keywords))
    return figures[-1]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def boxes_of(figure, artists):
    """Return where texts stand, in pixels of the drawing."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    renderer = FigureCanvasSVG(figure)
    renderer.draw()
    return [artist.get_window_extent() for artist in artists if artist.get_text()]


# What the description says


def test_every_number_is_told():
    alt = bars("JMA", AFTER, outline=("before", BEFORE), **TITLES).alt
    assert alt == (
        'Bars of probability for each letter. "cooler": "J" 0.01, "M" 0.80, "A" 0.19. '
        '"top two": "J" 0, "M" 0.67, "A" 0.33. Outline "before": "J" 0.10, "M" 0.60, "A" 0.30.'
    )


def test_a_panel_without_a_name_is_told_without_one():
    alt = bars(["a", " "], {"": [3, 12]}, x_label="letter", y_label="count").alt
    assert alt == 'Bars of count for each letter. "a" 3, "␣" 12.'


def test_two_dozen_bars_are_told_and_the_highest_of_the_others():
    heights = np.ones(40)
    heights[33] = 7
    alt = bars(range(40), {"": heights}, **TITLES).alt
    assert '"23" 1, and 16 more; highest "33" 7.' in alt
    assert '"24"' not in alt


def test_no_bars_say_so():
    plot = bars([], {"": []}, **TITLES)
    assert plot.alt == "Bars of probability for each letter: nothing to draw."
    ElementTree.fromstring(plot.svg)


# What is drawn


def test_each_bar_has_its_own_height_and_each_frame_too(figures):
    figure = draw(figures, "JMA", AFTER, outline=("before", BEFORE))
    assert [axes.get_title(loc="left") for axes in figure.axes] == list(AFTER)
    for axes, heights in zip(figure.axes, AFTER.values(), strict=True):
        filled, frames = axes.containers
        np.testing.assert_allclose([bar.get_height() for bar in filled], heights)
        np.testing.assert_allclose([bar.get_height() for bar in frames], BEFORE)
        assert all(bar.get_facecolor()[3] > 0 for bar in filled)
        assert all(bar.get_facecolor()[3] == 0 for bar in frames)
        assert [tick.get_text() for tick in axes.get_xticklabels()] == list("JMA")
    (named,) = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    assert named.get_texts()[0].get_text() == "outline: before"


def test_the_number_stands_above_its_bar_and_its_frame(figures):
    figure = draw(figures, "JMA", AFTER, outline=("before", BEFORE))
    assert texts(figure.axes[0]) == ["0.01", "0.80", "0.19"]
    assert texts(figure.axes[1]) == ["0", "0.67", "0.33"]
    for axes, heights in zip(figure.axes, AFTER.values(), strict=True):
        assert [text.xy for text in axes.texts] == [
            (i, max(pair)) for i, pair in enumerate(zip(heights, BEFORE, strict=True))
        ]


def test_all_panels_share_one_scale_that_holds_the_frames(figures):
    figure = draw(figures, "ab", {"low": [1, 2], "high": [3, 9]}, outline=("old", [20, 1]))
    limits = {axes.get_ylim() for axes in figure.axes}
    ((bottom, top),) = limits
    assert bottom == 0
    assert 20 < top < 20 * 1.5


def test_counts_are_written_whole_and_shares_are_not(figures):
    assert texts(draw(figures, "ab", {"": [3, 12]}).axes[0]) == ["3", "12"]
    assert texts(draw(figures, "ab", {"": [3, 12.5]}).axes[0]) == ["3.0", "12.5"]
    assert texts(draw(figures, "abc", {"": [0, 0.001, 0.5]}).axes[0]) == ["0", "0.00", "0.50"]
    assert texts(draw(figures, "abc", {"": [0, 0.001, 0.0025]}).axes[0]) == ["0", "0.001", "0.0025"]
    counts, shares = draw(figures, "ab", {"one": [1, 2], "other": [0.5, 0.25]}).axes
    assert texts(counts) == ["1.00", "2.00"]  # as in the other panel
    assert texts(shares) == ["0.50", "0.25"]


def test_numbers_give_way_to_a_scale_where_there_is_no_room(figures):
    (few,) = draw(figures, range(23), {"": np.full(23, 12)}).axes
    assert len(few.texts) == 23
    assert not few.get_yticks().size
    (many,) = draw(figures, range(23), {"": np.full(23, 0.5)}).axes
    assert not many.texts
    assert many.get_yticks().size


def test_axes_are_titled(figures):
    figure = draw(figures, "JMA", AFTER)
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "letter"]
    assert [text.get_text() for text in figure.texts] == ["probability"]


@pytest.mark.parametrize("names", ["abc", ["Wednesday", "a long name", "another one"] * 3])
@pytest.mark.parametrize("large", [1, 1e6])
def test_nothing_is_written_over_something_else(figures, names, large):
    heights = large * np.linspace(0.01, 1, len(names))
    keywords = {"outline": ("what it was before", heights[::-1])}
    figure = draw(figures, names, {"one": heights, "two": heights[::-1]}, **keywords)
    drawn = list(figure.texts)
    for axes in figure.axes:
        drawn += [*axes.texts, axes.xaxis.label, axes._left_title]
        if axes.get_legend():
            drawn += axes.get_legend().get_texts()
        if len(names) == 3:
            drawn += [*axes.get_xticklabels(), *axes.get_yticklabels()]
        else:  # the upright boxes around slanted names overlap each other and the scale
            drawn += axes.get_xticklabels()[:1]
    boxes = boxes_of(figure, drawn)
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:i]), one


def test_the_title_of_the_numbers_stands_beside_their_scale(figures):
    figure = draw(figures, range(30), {"": np.linspace(1.5, 4e6, 30)})
    title, *scale = boxes_of(figure, [*figure.texts, *figure.axes[0].get_yticklabels()])
    assert len(scale) >= 2
    assert title.x1 < min(box.x0 for box in scale)


def test_panels_do_not_overlap_and_fit_a_phone(figures):
    plot = bars("JMASNFDO", {str(i): np.ones(8) for i in range(5)}, **TITLES)
    places = [axes.get_position() for axes in figures[-1].axes]
    assert len(places) == 5
    assert all(above.y0 > below.y1 for above, below in itertools.pairwise(places))
    height = figures[-1].get_size_inches()[1] * 96
    assert places[0].height * height == pytest.approx(_HEIGHT)
    assert int(re.search(r"min-width:(\d+)px", plot.html).group(1)) <= 335


@pytest.mark.parametrize("n", [1, 2, 60])
def test_every_size_is_drawn(n):
    ElementTree.fromstring(bars(range(n), {"": range(n)}, **TITLES).svg)


def test_hostile_names_are_drawn_as_names(figures):
    label = "<script>$x$&\n"
    plot = bars([label, "年"], {label: [0, 0]}, x_label=label, y_label=label, title=label)
    assert "<script" not in plot.html
    assert "formula" not in plot.svg
    assert figures[-1].axes[0].get_title(loc="left") == "<script>$x$&↵"


def test_tensors_are_taken():
    heights = torch.tensor([1.0, 2.0], requires_grad=True)
    expected = bars("ab", {"": [1, 2]}, outline=("o", [1, 2]), **TITLES).svg
    assert bars("ab", {"": heights}, outline=("o", heights), **TITLES).svg == expected


# Refusals


@pytest.mark.parametrize(
    ("labels", "values", "outline", "message"),
    [
        ("ab", {"p": [1]}, None, r'values\["p"\] has 1 values but there are 2 labels'),
        ("ab", {"p": [1, 2]}, ("o", [1]), "outline has 1 values but there are 2 labels"),
        ("ab", {"p": [1, 2]}, [1, 2, 3], "outline must be a pair .* got 3"),
        ("ab", {"p": [1, -2]}, None, r'values\["p"\] must not be below 0, got -2'),
        ("ab", {"p": [1, 2]}, ("o", [-1, 1]), "outline must not be below 0, got -1"),
        ("ab", {"p": [1, np.nan]}, None, r'values\["p"\] must be finite, got nan at position 1'),
        ("ab", {"p": [[1, 2]]}, None, r"must have one axis, got shape \(1, 2\)"),
        ("ab", {}, None, "values is empty"),
        ("ab", {1: [1, 2], "1": [3, 4]}, None, r"names that read alike, got \[1, '1'\]"),
    ],
)
def test_refusals(labels, values, outline, message):
    with pytest.raises(ValueError, match=message):
        bars(labels, values, outline=outline, **TITLES)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match=r'values\["p"\] must hold real numbers'):
        bars("ab", {"p": ["1", "2"]}, **TITLES)
    with pytest.raises(TypeError, match=r"values must be a mapping .* got list; a single panel"):
        bars("ab", [1, 2], **TITLES)
    with pytest.raises(TypeError, match="labels must be a sequence of names, got int"):
        bars(2, {"p": [1, 2]}, **TITLES)
