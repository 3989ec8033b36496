"""The tree of a beam search: what it kept, what it looked at and dropped, what it never saw."""

from collections.abc import Iterable, Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from .figure import COLOURS, FONT_PIXELS, PIXEL, Plot, drawing_style, to_svg
from .labels import Legend, visible, width_in_ems
from .numbers import as_vector, short_number

_LINE = 32  # pixels from one leaf to the next
_BOX = 22  # height of a frame
_GAP = 16  # between two columns, where the lines of the tree run
_TOKEN_LIMIT = 14  # characters of a token in its frame
_TOLD = 12  # beginnings of one length and one fate told one by one in the description

KEPT, DROPPED, UNSEEN = "kept", "dropped", "never looked at"

# Told apart by the line alone; colour only helps.
_FRAMES = {
    KEPT: {"edgecolor": COLOURS[0], "linewidth": 2},
    DROPPED: {"edgecolor": "#595959", "linewidth": 1, "linestyle": (0, (4, 2.5))},
    UNSEEN: {"edgecolor": "none", "linewidth": 0},
}
_BRANCHES = {
    KEPT: {"color": COLOURS[0], "linewidth": 1.8},
    DROPPED: {"color": "#595959", "linewidth": 0.8, "linestyle": (0, (4, 2.5))},
    UNSEEN: {"color": "#a6a6a6", "linewidth": 0.8},
}

Beginning = tuple[str, ...]


def beam_tree(
    beginnings: Mapping[Sequence[object], float],
    kept: Iterable[Sequence[object]],
    *,
    title: str | None = None,
) -> Plot:
    """Draw beginnings of a text as a tree, and mark what a beam search kept of them.

    A beginning has a thick frame if the beam kept it, at whatever step. It has a dashed one if it
    was looked at and dropped: what it continues had been kept. It has none if it was never looked
    at. The description (the plot's `alt`) tells the same step by step.

    Parameters
    ----------
    beginnings : mapping from tuple of tokens to number
        All beginnings to be drawn, each with its probability or score. What a beginning continues
        must be among them, down to a single token. Branches stand in the order of the mapping.
    kept : tuples of tokens
        Those that were in the beam at some step, in any order.
    title : str, optional
        Written above the picture.

    Returns
    -------
    Plot
        Shows itself as the last expression of a notebook cell.

    Raises
    ------
    ValueError
        If a beginning is empty or continues one that is missing, if `kept` holds one that is not
        among the beginnings or that continues one which was not kept, or if a number is NaN or
        infinite.
    TypeError
        If a number is something other than a real number.

    Examples
    --------
    >>> beam_tree({("a",): 0.6, ("b",): 0.4, ("a", "c"): 0.3, ("b", "c"): 0.1}, [("a",)])
    Tree of 4 beginnings. Step 1: kept "a" 0.60; dropped "b" 0.40. Step 2: dropped "a c" 0.30; \
never looked at "b c" 0.10.
    """
    numbers = as_vector(
        list(beginnings.values()),
        "the numbers of beginnings",
        "what has probability 0 has the score -inf and cannot follow: leave it out",
    )
    count = len(beginnings)
    beginnings = dict(zip(map(_as_tokens, beginnings), numbers.tolist(), strict=True))
    if len(beginnings) != count:
        raise ValueError(
            "beginnings holds some that read alike, such as (1,) and ('1',); each may stand there once"
        )
    kept = {_as_tokens(tokens) for tokens in kept}
    _check(beginnings, kept)
    fates = {tokens: _fate(tokens, kept) for tokens in beginnings}
    top = max(map(abs, beginnings.values()), default=0.0)
    written = {tokens: short_number(number, top) for tokens, number in beginnings.items()}
    legend = Legend()
    with drawing_style():
        svg, width = to_svg(_draw(written, fates, legend))
    return Plot(svg, width, _describe(written, fates), title, legend.entries())


def _as_tokens(tokens: Sequence[object]) -> Beginning:
    """Return a beginning as a tuple of strings."""
    return tuple(str(token) for token in tokens)


def _fate(tokens: Beginning, kept: set[Beginning]) -> str:
    """Return what the search did with one beginning."""
    if tokens in kept:
        return KEPT
    return DROPPED if len(tokens) == 1 or tokens[:-1] in kept else UNSEEN


def _check(beginnings: Mapping[Beginning, float], kept: set[Beginning]) -> None:
    """Raise ValueError for what is no tree, or what no beam can have kept."""
    for tokens in beginnings:
        if not tokens:
            raise ValueError(
                "beginnings holds an empty one; leave it out, the first tokens stand at the root"
            )
        if len(tokens) > 1 and tokens[:-1] not in beginnings:
            raise ValueError(
                f"beginnings has {tokens} but not {tokens[:-1]}, which it continues; "
                "give every beginning on the way with its own number"
            )
    for tokens in sorted(kept, key=len):
        if tokens not in beginnings:
            raise ValueError(
                f"kept holds {tokens}, which is not among beginnings; a text that has ended is "
                "often padded with its last token: cut it there"
            )
        if len(tokens) > 1 and tokens[:-1] not in kept:
            raise ValueError(
                f"kept holds {tokens} but not {tokens[:-1]}; a beam continues only what it kept, "
                "so collect what was kept after every step, not after the last alone"
            )


def _describe(written: Mapping[Beginning, str], fates: Mapping[Beginning, str]) -> str:
    """Return in words what happened to the beginnings of each length."""
    count = len(written)
    opening = f"Tree of {count} {'beginning' if count == 1 else 'beginnings'}"
    if not written:
        return f"{opening}: nothing to draw."
    told = [f"{opening}."]
    for length in range(1, max(map(len, written)) + 1):
        groups = []
        for fate in (KEPT, DROPPED, UNSEEN):
            names = [
                f'"{" ".join(visible(token, _TOKEN_LIMIT) for token in tokens)}" {number}'
                for tokens, number in written.items()
                if len(tokens) == length and fates[tokens] == fate
            ]
            if len(names) > _TOLD:
                names = [*names[:_TOLD], f"and {len(names) - _TOLD} more"]
            if names:
                groups.append(f"{fate} {', '.join(names)}")
        told.append(f"Step {length}: {'; '.join(groups)}.")
    return " ".join(told)


def _heights(beginnings: Iterable[Beginning]) -> dict[Beginning, float]:
    """Return how far down each beginning stands: leaves on lines of their own, others midway."""
    children: dict[Beginning, list[Beginning]] = {(): []}
    for tokens in sorted(beginnings, key=len):  # keeps the order among those of one length
        children[tokens[:-1]].append(tokens)
        children[tokens] = []
    heights: dict[Beginning, float] = {}
    n_leaves = 0

    def place(tokens: Beginning) -> float:
        nonlocal n_leaves
        below = [place(child) for child in children[tokens]]
        if not below:
            n_leaves += 1
        heights[tokens] = (below[0] + below[-1]) / 2 if below else (n_leaves - 0.5) * _LINE
        return heights[tokens]

    place(())
    return heights


def _draw(
    written: Mapping[Beginning, str], fates: Mapping[Beginning, str], legend: Legend
) -> Figure:
    """Return the figure of the tree, with a line below that explains the frames."""
    names = {t: f"{legend.tick(t[-1], _TOKEN_LIMIT)} {number}" for t, number in written.items()}
    heights = _heights(written)
    n_columns = max(map(len, written), default=0)
    lefts, widths = [_GAP], []
    for length in range(1, n_columns + 1):
        widths.append(max(_width(name) for t, name in names.items() if len(t) == length))
        lefts.append(lefts[-1] + widths[-1] + _GAP)
    samples = {fate: _width(fate) for fate in (KEPT, DROPPED, UNSEEN) if fate in fates.values()}
    across = max(lefts[-1] - _GAP, sum(samples.values()) + _GAP * len(samples)) + 4
    down = max(heights.values()) + _LINE / 2 + (_LINE + 6 if samples else 0)
    figure = Figure(figsize=(across * PIXEL, down * PIXEL), dpi=96)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, across), ylim=(down, 0))
    axes.set_axis_off()
    if not written:
        axes.text(across / 2, down / 2, "empty", ha="center", va="center")
        return figure
    axes.plot(0, heights[()], marker="o", markersize=5, color="black", clip_on=False)
    for tokens, name in names.items():
        column = len(tokens) - 1
        before = lefts[column] - _GAP if column else 0
        axes.plot(
            (before, lefts[column]),
            (heights[tokens[:-1]], heights[tokens]),
            zorder=1,
            **_BRANCHES[fates[tokens]],
        )
        _frame(axes, lefts[column], heights[tokens], widths[column], name, fates[tokens])
    left = 0.0
    for fate, width in samples.items():
        _frame(axes, left + 1, down - _LINE / 2, width, fate, fate)
        left += width + _GAP
    return figure


def _width(text: str) -> float:
    """Return how wide the frame around `text` is, in pixels."""
    return width_in_ems(text) * FONT_PIXELS + 8


def _frame(axes, left: float, middle: float, width: float, text: str, fate: str) -> None:
    """Draw one frame and what stands in it."""
    axes.add_patch(
        FancyBboxPatch(
            (left + 4, middle - _BOX / 2 + 4),
            width - 8,
            _BOX - 8,
            boxstyle="round,pad=4,rounding_size=4",
            facecolor="white",
            clip_on=False,
            **_FRAMES[fate],
        )
    )
    axes.text(
        left + width / 2,
        middle,
        text,
        ha="center",
        va="center",
        color="#595959" if fate == UNSEEN else "black",
    )
