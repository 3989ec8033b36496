"""The tree of a beam: what it says in words, what stands where and in which frame, its refusals."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from attnkit.plot import beam_tree
from attnkit.plot.tree import DROPPED, KEPT, UNSEEN, _fate, _heights

# Two words at first; each is continued in two or three ways, one of these once more.
BEGINNINGS = {
    ("the",): 0.6,
    ("the", "dog"): 0.24,
    ("the", "dog", "barks"): 0.168,
    ("the", "cat"): 0.36,
    ("dogs",): 0.4,
    ("dogs", "bark"): 0.36,
    ("dogs", "."): 0.03,
    ("dogs", "or"): 0.01,
}
BEAM = [("dogs",), ("dogs", "bark")]


def frames(figure):
    """Return for each text of the picture its middle, its frame's width, line and dashes."""
    (axes,) = figure.axes
    found = {}
    for text, patch in zip(axes.texts, axes.patches, strict=True):
        x, y = text.get_position()
        box = patch.get_bbox()
        assert box.x0 < x < box.x1
        assert box.y0 < y < box.y1
        line = patch.get_linewidth() if patch.get_edgecolor()[3] else 0
        found[text.get_text()] = (x, y, box.width + 8, line, patch.get_linestyle())
    return found


# What the description says


def test_every_beginning_is_told_step_by_step():
    assert beam_tree(BEGINNINGS, BEAM).alt == (
        'Tree of 8 beginnings. Step 1: kept "dogs" 0.40; dropped "the" 0.60. '
        'Step 2: kept "dogs bark" 0.36; dropped "dogs ." 0.03, "dogs or" 0.01; '
        'never looked at "the dog" 0.24, "the cat" 0.36. '
        'Step 3: never looked at "the dog barks" 0.17.'
    )


def test_a_dozen_are_told_and_the_others_counted():
    alt = beam_tree({(str(i),): i / 100 for i in range(15)}, []).alt
    assert 'dropped "0" 0.00,' in alt
    assert alt.endswith('"11" 0.11, and 3 more.')


def test_scores_are_told_with_their_sign():
    assert 'kept "a" −1.25; dropped "b" −3.00.' in beam_tree({"a": -1.25, "b": -3}, "a").alt
    assert 'kept "a" −1.2; dropped "b" −30.0.' in beam_tree({"a": -1.25, "b": -30}, "a").alt


def test_small_probabilities_are_told_apart_and_huge_scores_stay_short():
    assert beam_tree({("a",): 0.002, ("b",): 0.0004}, []).alt.endswith('"a" 0.002, "b" 0.0004.')
    assert beam_tree({("a",): -1e300}, []).alt.endswith('"a" −1e+300.')


def test_no_beginning_says_so():
    plot = beam_tree({}, [])
    assert plot.alt == "Tree of 0 beginnings: nothing to draw."
    ElementTree.fromstring(plot.svg)


# What is drawn


@pytest.mark.parametrize(
    ("tokens", "fate"),
    [
        (("dogs",), KEPT),
        (("dogs", "bark"), KEPT),
        (("the",), DROPPED),  # the first tokens are always looked at
        (("dogs", "."), DROPPED),
        (("the", "dog"), UNSEEN),
        (("the", "dog", "barks"), UNSEEN),
    ],
)
def test_what_becomes_of_a_beginning(tokens, fate):
    assert _fate(tokens, set(BEAM)) == fate


def test_the_frame_tells_what_was_kept(figures):
    beam_tree(BEGINNINGS, BEAM)
    drawn = frames(figures[-1])
    thick = {text for text, (*_, line, _) in drawn.items() if line >= 2}
    dashed = {text for text, (*_, line, style) in drawn.items() if line and style != "-"}
    assert thick == {"dogs 0.40", "bark 0.36", "kept"}
    assert {text for text in dashed if text not in thick} == {
        "the 0.60",
        ". 0.03",
        "or 0.01",
        "dropped",
    }
    assert {text for text, (*_, line, _) in drawn.items() if line == 0} == {
        "dog 0.24",
        "cat 0.36",
        "barks 0.17",
        "never looked at",
    }


def test_a_parent_stands_midway_before_its_children():
    heights = _heights(BEGINNINGS)
    children = {}
    for tokens in BEGINNINGS:
        children.setdefault(tokens[:-1], []).append(heights[tokens])
    for parent, below in children.items():
        assert heights[parent] == (below[0] + below[-1]) / 2
        assert below == sorted(below)  # as in the mapping
    leaves = [heights[t] for t in BEGINNINGS if t not in children]
    assert np.unique(np.diff(sorted(leaves))).size == 1


def test_branches_lead_from_each_beginning_to_what_continues_it(figures):
    beam_tree(BEGINNINGS, BEAM)
    heights = _heights(BEGINNINGS)
    drawn = {tuple(line.get_ydata()) for line in figures[-1].axes[0].lines}
    for tokens in BEGINNINGS:
        assert (heights[tokens[:-1]], heights[tokens]) in drawn


def test_the_legend_names_only_what_occurs(figures):
    beam_tree({("a",): 1.0}, [("a",)])
    assert set(frames(figures[-1])) == {"a 1.00", "kept"}
    beam_tree({("a",): 0.5, ("b",): 0.5}, [("a",)])
    assert {"kept", "dropped"} < set(frames(figures[-1]))
    assert "never looked at" not in frames(figures[-1])


def test_frames_do_not_overlap(figures):
    beam_tree(BEGINNINGS, BEAM)
    boxes = [patch.get_bbox().padded(4) for patch in figures[-1].axes[0].patches]
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:i])


def test_what_is_written_fits_its_frame(figures):
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    beam_tree({("mmmm",): 0.5, ("illegible",): 0.25, ("我们学习",): 0.25}, [])
    canvas = FigureCanvasSVG(figures[-1])
    canvas.draw()
    (axes,) = figures[-1].axes
    for text, patch in zip(axes.texts, axes.patches, strict=True):
        inner, outer = text.get_window_extent(), patch.get_window_extent()
        assert outer.x0 <= inner.x0
        assert inner.x1 <= outer.x1


def test_the_tree_of_the_chapter_fits_a_phone():
    deep = {("these", "words", "still", "fit")[:n]: 0.25 for n in range(1, 5)}
    width = int(re.search(r"min-width:(\d+)px", beam_tree(deep, []).html).group(1))
    assert width <= 335


def test_every_size_is_drawn():
    beginnings = {tuple("a" * n): 1.0 for n in range(1, 60)}
    beginnings |= {("b", str(i)): 0.0 for i in range(200)} | {("b",): 0.0}
    ElementTree.fromstring(beam_tree(beginnings, beginnings).svg)


def test_the_order_of_the_mapping_does_not_have_to_put_parents_first():
    assert "2 beginnings" in beam_tree({("a", "b"): 0.1, ("a",): 0.5}, []).alt


def test_hostile_tokens_are_drawn_as_tokens(figures):
    plot = beam_tree({("<script>",): 0.5, ("$x$",): 0.2, ("",): 0.1, ("\n",): 0.2}, [])
    assert "<script" not in plot.html
    assert {"<script> 0.50", "$x$ 0.20", "(empty) 0.10", "↵ 0.20"} < set(frames(figures[-1]))


# Refusals


@pytest.mark.parametrize(
    ("beginnings", "kept", "message"),
    [
        (
            {("a", "b"): 0.1},
            [],
            r"beginnings has \('a', 'b'\) but not \('a',\), which it continues",
        ),
        ({(): 1.0}, [], "beginnings holds an empty one"),
        ({("a",): 0.1}, [("b",)], r"kept holds \('b',\), which is not among beginnings.*padded"),
        ({("a",): 0.1}, [()], r"kept holds \(\), which is not among beginnings"),
        (
            {("a",): 0.1, ("a", "b"): 0.1},
            [("a", "b")],
            r"kept holds \('a', 'b'\) but not \('a',\); a beam continues only what it kept",
        ),
        ({("a",): -np.inf}, [], "must be finite, got -inf at position 0; what has probability 0"),
        ({("a",): np.nan}, [], "must be finite, got nan"),
        ({(1,): 0.1, ("1",): 0.2}, [], "beginnings holds some that read alike"),
    ],
)
def test_refusals(beginnings, kept, message):
    with pytest.raises(ValueError, match=message):
        beam_tree(beginnings, kept)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="the numbers of beginnings must hold real numbers"):
        beam_tree({("a",): "0.5"}, [])
