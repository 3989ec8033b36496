"""Labels: what a figure may draw of a token, and what it says in words instead; no drawing here."""

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

_LATIN = "DejaVu Sans"  # comes with matplotlib, so it is always there
_SHOWN_AS = {"\n": "↵", "\r": "↵", "\t": "⇥"}


@cache
def _chinese_font() -> str | None:
    """Return the path of the packaged Chinese font, or None where the extra is not installed."""
    try:
        package = import_module("pylopdf_fonts_zh_cn")
    except ImportError:
        return None
    path = str(package.sans_path())
    font_manager.fontManager.addfont(path)
    return path


@cache
def _characters(path: str) -> frozenset[int]:
    """Return the code points that the font file at `path` can draw."""
    return frozenset(FT2Font(path).get_charmap())


def font_families() -> list[str]:
    """Return the font families to draw with, in the order in which a glyph is looked up."""
    chinese = _chinese_font()
    if chinese is None:
        return [_LATIN]
    return [_LATIN, font_manager.FontProperties(fname=chinese).get_name()]


def can_draw(text: str) -> bool:
    """Return whether the fonts at hand have a glyph for every character of `text`."""
    known = _characters(font_manager.findfont(_LATIN))
    chinese = _chinese_font()
    if chinese is not None:
        known = known | _characters(chinese)
    return all(ord(character) in known for character in text)


def visible(text: object, limit: int | None = None) -> str:
    """Return `text` on one line of at most `limit` characters, with the invisible made visible.

    Examples
    --------
    >>> visible("two\\nlines")
    'two↵lines'
    >>> visible("")
    '(empty)'
    >>> visible("a very long token", limit=8)
    'a very …'
    """
    text = str(text)
    if not text:
        return "(empty)"
    if not text.strip(" "):
        return "␣" * min(len(text), limit or len(text))
    shown = []
    for character in text:
        if character in _SHOWN_AS:
            shown.append(_SHOWN_AS[character])
        elif unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
            # Control, direction and half-pair characters would break or reorder what stands around.
            shown.append("\N{REPLACEMENT CHARACTER}")
        else:
            shown.append(character)
    if limit is not None and len(shown) > limit:
        shown = [*shown[: limit - 1], "…"]
    return "".join(shown)


def width_in_ems(text: str) -> float:
    """Return roughly how wide `text` is, in units of the font size."""
    return sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.62 for c in text)


def as_labels(labels: Iterable[object], name: str, count: int, axis: str) -> list[str]:
    """Return `labels` as a list of strings, one for each of the `count` entries of `axis`."""
    try:
        labels = [str(label) for label in labels]
    except TypeError:
        raise TypeError(
            f"{name} must be a sequence of tokens, got {type(labels).__name__}; "
            f"weights has {count} {axis}, so give {count} strings"
        ) from None
    if len(labels) != count:
        raise ValueError(
            f"{name} has {len(labels)} entries but weights has {count} {axis}; give one token for "
            "each (rows are queries, columns are keys: are they swapped?)"
        )
    return labels


class Legend:
    """Numbers for the labels that no font at hand can draw, so that the page can name them.

    A label that can be drawn stands in the figure as it is. Any other appears there as ``[1]``,
    and ``[1] 年`` is written under the figure as text, where the reader's browser has the glyphs.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def tick(self, label: str, limit: int) -> str:
        """Return what to draw for `label`: itself, or a number."""
        shown = visible(label, limit)
        if can_draw(shown):
            return shown
        return f"[{self._numbers.setdefault(visible(label), len(self._numbers) + 1)}]"

    def ticks(self, labels: Sequence[str], limit: int) -> list[str]:
        """Return what to draw for each of `labels`."""
        return [self.tick(label, limit) for label in labels]

    def entries(self) -> list[str]:
        """Return the lines that explain the numbers, in order."""
        return [f"[{number}] {label}" for label, number in self._numbers.items()]
