"""The displayed figure: its style, its bytes, its HTML; what is drawn lives beside."""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from urllib.parse import quote

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from .labels import font_families, visible

PIXEL = 1 / 96  # inches in one CSS pixel
FONT_PIXELS = 12

# Okabe and Ito's colours without yellow, which is too pale on white; each is told from the others
# by every common kind of colour blindness. The dashes and markers say the same without colour.
COLOURS = ("#0072B2", "#D55E00", "#007D5C", "#9A4F80", "#000000", "#8A6000", "#2F7FB5")
DASHES = ((), (5, 2), (1, 1.5), (6, 2, 1, 2), (3, 1), (8, 2), (2, 2))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_COMMENTS = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)
_SIZE = re.compile(r'<svg[^>]*? width="([\d.]+)pt"', re.DOTALL)


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw in the course's style, whatever the caller's settings are, and leave those alone."""
    settings = {
        name: value
        for name, value in matplotlib.rcParamsDefault.items()
        if not name.startswith(("backend", "webagg", "toolbar", "interactive"))
    }
    settings |= {
        "font.family": font_families(),
        "font.size": FONT_PIXELS * 0.75,  # points
        "axes.titlesize": "medium",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "svg.fonttype": "path",  # the reader's machine needs no font
        "svg.hashsalt": "attnkit",  # element names from the content, not at random
        "text.parse_math": False,  # a token "$x$" is a token, not a formula
    }
    with matplotlib.rc_context(settings):
        yield


def to_svg(figure: Figure) -> tuple[str, int]:
    """Return `figure` as SVG text, without remarks and dates, and its width in CSS pixels."""
    buffer = io.StringIO()
    FigureCanvasSVG(figure)
    figure.savefig(
        buffer,
        format="svg",
        bbox_inches="tight",
        pad_inches=0.06,
        facecolor="white",
    )
    # The metadata hold the date. Comments hold each label; no label may reach the page raw.
    svg = _COMMENTS.sub("", buffer.getvalue())
    svg = re.sub(r"\s*\n\s*", "\n", svg).strip()
    return svg, round(float(_SIZE.search(svg).group(1)) * 96 / 72)


class Plot:
    """A figure that shows itself in Jupyter and in the book, and says in words what it shows.

    Attributes
    ----------
    alt : str
        The description read out instead of the picture, made from the data.
    svg : str
        The picture: SVG text, letters drawn as outlines. The same data give the same bytes.
    html : str
        What a notebook shows: the picture with its description, title and legend.

    Examples
    --------
    >>> plot = Plot("<svg></svg>", width=300, alt="Three rows.", title=None)
    >>> 'alt="Three rows."' in plot.html
    True
    """

    def __init__(
        self, svg: str, width: int, alt: str, title: str | None, legend: Sequence[str] = ()
    ) -> None:
        self.svg = svg
        self.alt = alt
        self._width = width
        self._title = title
        self._legend = tuple(legend)

    @property
    def html(self) -> str:
        """Return the HTML of the figure, every word of it escaped."""
        width = self._width
        source = "data:image/svg+xml," + quote(self.svg, safe=" !$&'()*+,-./:;=?@_~")
        # The white ground makes the picture readable on any page. A dark page may set the property
        # --attnkit-plot-filter to darken it; an inline style cannot ask which theme is on.
        image = (
            f'<img class="dark-light" src="{source.replace(chr(39), "%27")}" '
            f'alt="{escape(self.alt)}" '
            f'style="display:block;box-sizing:border-box;width:100%;height:auto;padding:0;'
            f"min-width:{round(0.75 * width)}px;max-width:{round(1.25 * width)}px;"
            f'background:#fff;border-radius:4px;filter:var(--attnkit-plot-filter,none)">'
        )
        # Only a figure wider than a phone scrolls; what scrolls must be reachable by keyboard.
        scroll = ' tabindex="0" role="group" aria-label="Wide figure, scrolls sideways"'
        parts = ['<figure class="attnkit-plot" style="margin:0">']
        if self._title:
            parts.append(
                f'<figcaption style="margin:0 0 .4em;text-align:left">{escape(visible(self._title))}'
                "</figcaption>"
            )
        parts.append(f'<div style="overflow-x:auto"{scroll if width > 420 else ""}>{image}</div>')
        if self._legend:
            parts.append('<p style="margin:.4em 0 0">' + escape(" · ".join(self._legend)) + "</p>")
        parts.append("</figure>")
        return "".join(parts)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        """Return the figure for Jupyter and the book, its words for a terminal."""
        return {"text/html": self.html, "text/plain": self.alt}

    def __repr__(self) -> str:
        return self.alt
