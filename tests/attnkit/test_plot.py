"""The figures: what they say in words, what they refuse, and that no label can harm the page."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from importlib.util import find_spec
from urllib.parse import unquote

import matplotlib
import numpy as np
import pytest

from attnkit.plot import curves, heat_map, labels

HOSTILE = [
    "<script>alert('x')</script>",
    "\"quoted\" & 'single'",
    "$x$ and $y",
    "",
    "t" * 200,
    "😀",
    "two\nlines",
    "年月日",
    "\ud800",
    "\N{RIGHT-TO-LEFT OVERRIDE}abc",
    "-->",
    "𓀀",
]


class Page(HTMLParser):
    """The tags, attributes and text of a piece of HTML."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text.append(data)

    @property
    def image(self):
        (image,) = [attributes for tag, attributes in self.tags if tag == "img"]
        return image


@pytest.fixture
def without_font(monkeypatch):
    """Pretend that the packaged Chinese font is not installed."""
    monkeypatch.setitem(sys.modules, "pylopdf_fonts_zh_cn", None)
    labels._chinese_font.cache_clear()
    yield
    labels._chinese_font.cache_clear()


def softmax_rows(m, n, seed=0):
    raw = np.exp(np.random.default_rng(seed).normal(size=(m, n)))
    return raw / raw.sum(-1, keepdims=True)


# What the description says


def test_heat_map_tells_the_largest_weight_of_each_row():
    weights = [[0.05, 0.93, 0.02], [0.6, 0.3, 0.1]]
    plot = heat_map(weights, ["年", "月"], ["May", "1966", "24"])
    assert '"年" looks most at "1966" (0.93)' in plot.alt
    assert '"月" looks most at "May" (0.60)' in plot.alt
    assert "2 queries" in plot.alt
    assert "3 keys" in plot.alt


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ([0.0, 0.0, 0.0], "looks at nothing"),
        ([1 / 3, 1 / 3, 1 / 3], "looks at all keys alike (0.33 each)"),
        ([0.4, 0.2, 0.4], 'looks most at "a" and "c" (0.40 each)'),
        ([-5.0, 2.5, -1.0], 'scores highest with "b" (2.5)'),
    ],
)
def test_heat_map_tells_special_rows(row, told):
    assert told in heat_map([row], ["q"], list("abc")).alt


def test_heat_map_tells_a_dozen_rows_and_counts_the_others():
    alt = heat_map(softmax_rows(15, 4), range(15), range(4)).alt
    assert alt.count("looks most at") == 12
    assert "and 3 more" in alt


def test_curves_tell_ends_and_extremes():
    alt = curves(
        [2, 8, 32, 128],
        {"rises": [1.0, 2.0, 3.0, 4.0], "dips": [5.0, 0.5, 7.5, 6.0], "flat": [1.0] * 4},
        x_label="width",
        y_label="variance",
    ).alt
    assert alt.startswith("Curves of variance against width.")
    assert '"rises": 1 at 2, 4 at 128.' in alt
    assert '"dips": 5 at 2, 6 at 128; highest 7.5 at 32; lowest 0.5 at 8.' in alt
    assert '"flat": 1 at 2, 1 at 128; the same throughout.' in alt


def test_curves_tell_large_numbers_in_digits():
    alt = curves([20, 160_000], {"y": [2059.6, 1e-7]}, x_label="x", y_label="y").alt
    assert '"y": 2060 at 20, 1e-07 at 160000.' in alt


def test_curves_tell_points():
    alt = curves(
        [0, 1], {"fit": [0, 1]}, x_label="x", y_label="y", points={"data": ([0.5, 2], [3, -1])}
    ).alt
    assert 'Dots "data": 2, from -1 to 3.' in alt


# How it is shown


def test_a_notebook_gets_an_image_with_the_description():
    plot = heat_map([[0.25, 0.75]], ["q"], ["a", "b"], title="Two keys")
    bundle = plot._repr_mimebundle_()
    assert bundle["text/plain"] == plot.alt == repr(plot)
    page = Page(bundle["text/html"])
    assert page.image["alt"] == plot.alt
    assert "Two keys" in page.text
    assert page.tags[0][0] == "figure"


def test_axes_are_titled_as_everywhere_in_the_course(monkeypatch):
    drawn = drawn_texts(monkeypatch, lambda: heat_map([[1.0]], ["q"], ["k"]))
    assert {"key (is looked at)", "query (looks)", "q", "k"} <= drawn


def test_a_table_of_another_kind_has_titles_of_its_own(monkeypatch):
    def draw():
        return heat_map(np.eye(2), "ab", "cd", x_label="dimension", y_label="position")

    drawn = drawn_texts(monkeypatch, draw)
    assert {"dimension", "position"} <= drawn
    assert not {"key (is looked at)", "query (looks)"} & drawn
    alt = draw().alt
    assert alt.startswith("Heat map of 2 rows (position) by 2 columns (dimension).")
    assert 'row "b" is largest at "d" (1.00)' in alt


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ([0.0, 0.0, 0.0], 'Row "q" is 0 throughout.'),
        ([0.5, 0.5, 0.5], 'Row "q" is the same in all columns (0.50 each).'),
        ([0.4, 0.2, 0.4], 'Row "q" is largest at "a" and "c" (0.40 each).'),
        ([-5.0, 2.5, -1.0], 'Row "q" is largest at "b" (2.5).'),
        ([-5.0, -0.0, -1.0], 'Row "q" is largest at "b" (0).'),
    ],
)
def test_a_row_that_is_no_query_looks_at_nothing(row, told):
    for titles in ({"x_label": "dimension"}, {"y_label": "position"}):
        alt = heat_map([row], ["q"], list("abc"), **titles).alt
        assert alt.endswith(told)
        assert "look" not in alt.partition(".")[2]


def test_an_axis_title_that_no_font_can_draw_is_a_number(monkeypatch):
    def draw():
        return heat_map([[1.0]], ["q"], ["k"], x_label="𓀀", y_label="a\nb")

    assert {"[1]", "a↵b"} <= drawn_texts(monkeypatch, draw)
    assert "[1] 𓀀" in Page(draw().html).text


def test_the_same_data_give_the_same_bytes():
    def draw():
        return heat_map(softmax_rows(5, 7), "我们学习吧", "abcdefg").html

    assert draw() == draw()
    code = (
        "import hashlib, numpy as np\nfrom attnkit.plot import curves\n"
        "html = curves([1, 2], {'年': [1, 3]}, x_label='x', y_label='y').html\n"
        "print(hashlib.sha256(html.encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            text=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_importing_and_drawing_leave_the_settings_of_matplotlib_alone():
    code = (
        "import matplotlib, sys\n"
        "backend = matplotlib.rcParams._get_backend_or_none()\n"
        "from attnkit.plot import heat_map\n"
        "heat_map([[1.0]], ['q'], ['年'])\n"
        "assert matplotlib.rcParams._get_backend_or_none() == backend, 'backend'\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
    with matplotlib.rc_context({"font.size": 31, "text.color": "red"}):
        heat_map([[1.0]], ["q"], ["k"])
        assert matplotlib.rcParams["font.size"] == 31


def test_a_persons_settings_do_not_change_the_picture():
    plain = heat_map([[0.5, 0.5]], ["q"], ["a", "b"]).svg
    with matplotlib.rc_context({"font.size": 31, "axes.facecolor": "red", "svg.fonttype": "none"}):
        assert heat_map([[0.5, 0.5]], ["q"], ["a", "b"]).svg == plain


def test_no_formula_is_written_on_a_logarithmic_axis(monkeypatch):
    drawn = drawn_texts(
        monkeypatch,
        lambda: curves(
            [1, 10, 100],
            {"y": [1, 1e3, 1e6]},
            x_label="x",
            y_label="y",
            x_scale="log",
            y_scale="log",
        ),
    )
    assert "1000" in drawn
    assert not any("formula" in text or "mathdefault" in text for text in drawn)


def numbers_under(monkeypatch, x):
    """Return the numbers at the horizontal axis; those at the other one are below 1 here."""
    y = {"y": np.linspace(0.1, 0.9, len(x))}
    drawn = drawn_texts(monkeypatch, lambda: curves(x, y, x_label="n", y_label="share"))
    numbers = {float(text) for text in drawn if re.fullmatch(r"[\d.]+", text)}
    return {number for number in numbers if number >= 1}


@pytest.mark.parametrize("x", [[1, 2, 3], [24, 48, 96], [3, 1, 2], [100, 200, 300, 400, 500]])
def test_few_whole_numbers_are_marked_themselves(monkeypatch, x):
    assert numbers_under(monkeypatch, x) == set(x)


@pytest.mark.parametrize("x", [[1, 2, 3, 500], [1.5, 2.5, 3.5], list(range(1, 42))])
def test_other_numbers_get_ticks_that_do_not_crowd(monkeypatch, x):
    numbers = numbers_under(monkeypatch, x)
    assert 2 <= len(numbers) <= 10
    assert numbers != set(x)


def test_a_wide_figure_scrolls_and_can_be_reached_by_keyboard():
    narrow, wide = (Page(heat_map(softmax_rows(2, n), "ab", range(n)).html) for n in (3, 40))
    assert not any("tabindex" in attributes for _, attributes in narrow.tags)
    (box,) = [attributes for tag, attributes in wide.tags if tag == "div"]
    assert box["tabindex"] == "0"
    assert box["aria-label"]


# Labels of every kind


def drawn_texts(monkeypatch, draw):
    """Return every string that `draw` puts into a picture."""
    from matplotlib.backends.backend_svg import RendererSVG

    seen = set()
    original = RendererSVG.draw_text

    def spy(self, gc, x, y, text, prop, angle, ismath=False, mtext=None):
        seen.add(f"formula {text}" if ismath else text)
        return original(self, gc, x, y, text, prop, angle, ismath, mtext)

    monkeypatch.setattr(RendererSVG, "draw_text", spy)
    draw()
    return seen


def assert_harmless(plot):
    page = Page(plot.html)
    assert {tag for tag, _ in page.tags} <= {"figure", "figcaption", "div", "img", "p"}
    plot.html.encode("utf-8")
    source = page.image["src"]
    assert re.fullmatch(r"data:image/svg\+xml,[!-~ ]+", source)
    assert unquote(source.partition(",")[2]) == plot.svg
    tree = ElementTree.fromstring(plot.svg)
    assert not [node for node in tree.iter() if node.tag.endswith(("script", "text"))]
    assert "<!--" not in plot.svg


def test_hostile_tokens_are_drawn_as_tokens():
    n = len(HOSTILE)
    assert_harmless(heat_map(softmax_rows(n, n), HOSTILE, HOSTILE, title="<b onclick=x>"))


@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_names_of_curves(label):
    assert_harmless(
        curves([0, 1], {label: [1, 2], "other": [2, 1]}, x_label=label, y_label=label, title=label)
    )


def test_a_dollar_is_no_formula(monkeypatch):
    drawn = drawn_texts(monkeypatch, lambda: heat_map([[1.0]], [r"$\alpha$"], ["年 $x$"]))
    assert r"$\alpha$" in drawn


def test_a_name_that_starts_with_an_underscore_is_in_the_legend(monkeypatch):
    series = {"_private": [1, 2], "other": [2, 1]}
    drawn = drawn_texts(monkeypatch, lambda: curves([0, 1], series, x_label="x", y_label="y"))
    assert {"_private", "other"} <= drawn


def test_invisible_and_long_tokens_are_made_visible():
    alt = heat_map(softmax_rows(4, 4), ["", "  ", "a\nb", "t" * 200], list("abcd")).alt
    assert 'Query "(empty)"' in alt
    assert 'query "␣␣"' in alt
    assert 'query "a↵b"' in alt
    assert (
        "\N{RIGHT-TO-LEFT OVERRIDE}"
        not in heat_map([[1.0]], ["\N{RIGHT-TO-LEFT OVERRIDE}x"], "k").alt
    )
    assert "t" * 25 not in alt


@pytest.mark.skipif(find_spec("pylopdf_fonts_zh_cn") is None, reason="the font is an extra")
def test_chinese_is_drawn_with_the_packaged_font(monkeypatch):
    plot = heat_map([[1.0]], ["年"], ["人工智能"])
    assert {"年", "人工智能"} <= drawn_texts(
        monkeypatch, lambda: heat_map([[1.0]], ["年"], ["人工智能"])
    )
    assert "NotoSansSC" in plot.svg.replace("-", "").replace(" ", "")
    assert "[1]" not in Page(plot.html).text


@pytest.mark.usefixtures("without_font")
def test_without_the_font_chinese_becomes_numbers_with_a_legend(monkeypatch):
    def draw():
        return heat_map(softmax_rows(2, 3), ["年", "ok"], ["月", "年", "b"])

    assert {"[1]", "[2]", "ok", "b"} <= drawn_texts(monkeypatch, draw)
    assert not any("年" in text for text in drawn_texts(monkeypatch, draw))
    plot = draw()
    assert "[1] 年 · [2] 月" in Page(plot.html).text
    assert '"年"' in plot.alt


@pytest.mark.usefixtures("without_font")
def test_without_the_font_curves_keep_their_chinese_names_in_the_legend():
    plot = curves([0, 1], {"注意力": [1, 2], "b": [2, 1]}, x_label="步", y_label="y")
    assert Page(plot.html).text == ["[1] 步 · [2] 注意力"]


@pytest.mark.parametrize("font", [True, False])
def test_nothing_reaches_stderr(font, request, capfd):
    if not font:
        request.getfixturevalue("without_font")
    heat_map(softmax_rows(3, 3), ["年", "𓀀", "😀"], ["\U0010ffff", "b", "\n"])
    assert capfd.readouterr().err == ""


# Sizes


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 30), (30, 1), (13, 25), (60, 3), (300, 200)])
def test_every_size_is_drawn(m, n):
    assert_harmless(heat_map(softmax_rows(m, n), range(m), range(n)))


@pytest.mark.parametrize(("m", "n"), [(0, 3), (3, 0), (0, 0)])
def test_an_empty_matrix_says_so(m, n):
    plot = heat_map(np.zeros((m, n)), range(m), range(n))
    assert "nothing to draw" in plot.alt
    assert_harmless(plot)


def test_curves_without_values_and_with_one():
    assert "no values" in curves([], {"y": []}, x_label="x", y_label="y").alt
    assert '"y": 2 at 1.' in curves([1], {"y": [2]}, x_label="x", y_label="y").alt


def test_a_small_map_fits_a_phone():
    image = Page(heat_map(softmax_rows(8, 8), range(8), range(8)).html).image
    assert int(re.search(r"min-width:(\d+)px", image["style"]).group(1)) <= 335


def test_arrays_of_many_kinds_are_taken():
    expected = heat_map([[0.0, 1.0]], ["q"], "ab").svg
    source = np.array([[0, 1]])
    for weights in (
        source,
        source.astype(bool),
        source.astype(np.float16),
        source[:, ::-1][:, ::-1],
    ):
        assert heat_map(weights, ["q"], "ab").svg == expected


def test_torch_tensors_are_taken():
    torch = pytest.importorskip("torch")
    weights = torch.tensor([[0.0, 1.0]], dtype=torch.bfloat16, requires_grad=True)
    assert heat_map(weights, ["q"], "ab").svg == heat_map([[0.0, 1.0]], ["q"], "ab").svg
    steps = torch.arange(3)
    assert "4 at 2" in curves(steps, {"y": steps**2}, x_label="x", y_label="y").alt


# Refusals


@pytest.mark.parametrize(
    ("weights", "queries", "keys", "words"),
    [
        ([[0.5, 0.5]], ["a", "b"], ["c", "d"], ["query_labels has 2", "weights has 1 rows"]),
        ([[0.5, 0.5]], ["a"], ["c"], ["key_labels has 1", "weights has 2 columns"]),
        (
            [[np.nan, 1.0]],
            ["a"],
            ["c", "d"],
            ["weights must be finite", "row 0, column 0", "masked"],
        ),
        ([[0.0, -np.inf]], ["a"], ["c", "d"], ["-inf", "row 0, column 1", "softmax"]),
        ([0.5, 0.5], ["a"], ["c"], ["two axes", "(2,)"]),
        (np.zeros((2, 3, 4)), "abc", "abcd", ["two axes", "(2, 3, 4)", "weights[0]"]),
    ],
)
def test_heat_map_refuses(weights, queries, keys, words):
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 (the words are asserted below)
        heat_map(weights, queries, keys)
    for word in words:
        assert word in str(refusal.value)


def test_heat_map_refuses_other_types():
    with pytest.raises(TypeError, match=r"real numbers.*complex"):
        heat_map([[1j]], ["a"], ["b"])
    with pytest.raises(TypeError, match="key_labels must be a sequence of tokens, got int"):
        heat_map([[1.0]], ["a"], 1)


@pytest.mark.parametrize(
    ("x", "y", "more", "words"),
    [
        ([1, 2], {"a": [1]}, {}, ['y["a"] has 1 values', "x has 2"]),
        ([1, 2], {"a": [1, np.nan]}, {}, ['y["a"] must be finite', "position 1"]),
        ([np.inf, 2], {"a": [1, 1]}, {}, ["x must be finite"]),
        ([[1, 2]], {"a": [1, 1]}, {}, ["x must have one axis", "(1, 2)"]),
        ([1, 2], {"a": [1, 0]}, {"y_scale": "log"}, ["y must be above 0", "got 0"]),
        ([0, 2], {"a": [1, 1]}, {"x_scale": "log"}, ["x must be above 0"]),
        (
            [1, 2],
            {"a": [1, 1]},
            {"x_scale": "cubic"},
            ["x_scale must be one of linear, log", "cubic"],
        ),
        ([1], {str(i): [1] for i in range(8)}, {}, ["y has 8 series", "at most 7"]),
        ([1], {"a": [1]}, {"points": {"d": ([1, 2], [1])}}, ['points["d"]', "lengths 2, 1"]),
    ],
)
def test_curves_refuse(x, y, more, words):
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 (the words are asserted below)
        curves(x, y, x_label="x", y_label="y", **more)
    for word in words:
        assert word in str(refusal.value)


def test_curves_refuse_text():
    with pytest.raises(TypeError, match=r'y\["a"\] must hold real numbers'):
        curves([1], {"a": ["1"]}, x_label="x", y_label="y")
