"""Pictures with weights over them: what they say in words, what is drawn where, what they refuse."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import torch

from attnkit.plot import pictures

INK = np.random.default_rng(0).integers(0, 256, size=(3, 28, 56))
WEIGHTS = np.arange(24).reshape(3, 2, 4) / 24


def test_the_heaviest_patch_is_told():
    weights = WEIGHTS.copy()
    weights[1, 0, 2] = 1.5
    alt = pictures(INK, ["a", "b", "c"], weights=weights).alt
    assert alt.startswith("3 pictures, 28 by 56 pixels.")
    assert '"b": most weight, 1.50, in row 1, column 3 of 2 by 4 patches;' in alt
    assert '"c": most weight, 0.96, in row 2, column 4 of 2 by 4 patches.' in alt


def test_without_weights_the_names_are_told():
    assert pictures(INK, "abc").alt == '3 pictures, 28 by 56 pixels. "a"; "b"; "c".'
    many = pictures(np.ones((14, 8, 8)), range(14)).alt
    assert many.endswith('"11"; and 2 more.')


def test_each_patch_is_covered_by_its_own_weight(figures):
    pictures(INK, "abc", weights=WEIGHTS)
    (figure,) = figures
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a", "b", "c"]
    for axes, image, weights in zip(figure.axes, INK, WEIGHTS, strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), image)
        assert len(axes.patches) == len(axes.texts) == 8
        for patch, text in zip(axes.patches, axes.texts, strict=True):
            x, y = patch.get_xy()
            row, column = round((y + 0.5) / 14), round((x + 0.5) / 14)
            assert (patch.get_width(), patch.get_height()) == (14, 14)
            assert text.get_text() == f"{weights[row, column]:.2f}"
            assert patch.get_alpha() == pytest.approx(0.6 * weights[row, column] / WEIGHTS.max())


def test_one_scale_for_all_pictures(figures):
    pictures(INK * np.array([1, 2, 3])[:, None, None], "abc")
    limits = {axes.images[0].get_clim() for axes in figures[0].axes}
    assert limits == {(0, 3 * INK[2].max())}


def test_numbers_only_while_there_is_room(figures):
    pictures(np.ones((1, 28, 28)), ["a"], weights=np.ones((1, 7, 7)))
    assert len(figures[0].axes[0].patches) == 49
    assert not figures[0].axes[0].texts


def test_pictures_do_not_overlap_and_fit_a_phone(figures):
    for count, h, w in ((5, 28, 56), (9, 28, 28), (2, 200, 10)):
        plot = pictures(np.ones((count, h, w)), range(count))
        boxes = [axes.get_position() for axes in figures[-1].axes]
        assert len(boxes) == count
        for i, one in enumerate(boxes):
            assert not any(one.overlaps(other) for other in boxes[:i])
        width = float(ElementTree.fromstring(plot.svg).attrib["width"].removesuffix("pt"))
        assert width * 96 / 72 <= 375


@pytest.mark.parametrize("shape", [(0, 4, 4), (2, 1, 1), (1, 3, 400), (2, 0, 0)], ids=str)
def test_every_size_is_drawn(shape):
    plot = pictures(np.zeros(shape), range(shape[0]), weights=np.zeros((shape[0], 1, 1)))
    ElementTree.fromstring(plot.svg)


def test_tensors_are_taken():
    images, weights = torch.from_numpy(INK), torch.from_numpy(WEIGHTS).requires_grad_()
    assert pictures(images, "abc", weights=weights).svg == pictures(INK, "abc", weights=WEIGHTS).svg


@pytest.mark.parametrize(
    ("images", "labels", "weights", "message"),
    [
        (INK[0], "a", None, r"images must have three axes .*\(28, 56\); a single picture"),
        (INK, "ab", None, "labels has 2 entries but there are 3 images"),
        (INK, "abc", WEIGHTS[:2], "weights has 2 entries but there are 3 images"),
        (INK, "abc", WEIGHTS[0], r"weights must have three axes .*\(2, 4\)"),
        (INK - 1, "abc", None, "images must be finite and not below 0, got -1"),
        (INK, "abc", np.full((3, 2, 4), np.nan), "weights must be finite .* nan"),
        (INK, "abc", np.full((3, 2, 4), np.inf), "weights must be finite .* inf"),
    ],
    ids=[
        "flat image",
        "labels",
        "few weights",
        "flat weights",
        "negative ink",
        "not a number",
        "infinite",
    ],
)
def test_refusals(images, labels, weights, message):
    with pytest.raises(ValueError, match=message):
        pictures(images, labels, weights=weights)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="images must hold real numbers, got dtype complex128"):
        pictures(INK * 1j, "abc")
