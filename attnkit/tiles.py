"""Which queries meet which keys in sparse attention, as tiles; used by both back ends, imports neither.

A sparse pattern is cut into a few groups of equal tiles. A tile is a small dense problem, some
queries with some keys, so that a matrix product computes it; all tiles of a group hide the same
entries, so that one small mask serves them all. Every visible pair of a query and a key lies in
exactly one tile.
"""

import itertools
import math
from typing import NamedTuple

EDGE_ROWS = 256  # queries in a tile where a pattern starts or ends: bounds the size of its mask
STRIDE_ROWS = 512  # queries of one residue class in a tile
CHUNK_ROWS = 256  # queries that meet a chunk of keys in a tile
GLOBAL_ROWS = 1024  # queries that meet the global keys in a tile


class Windows(NamedTuple):
    """`count` windows on a sequence; window b holds the places ``start + b * hop + a * step``, a < size."""

    start: int
    count: int
    size: int
    hop: int = 0
    step: int = 1

    def part(self, first, last):
        """Return the windows from `first` up to, not including, `last`."""
        return self._replace(start=self.start + first * self.hop, count=last - first)

    def places(self, window):
        """Return the places of a window, as a slice."""
        start = self.start + window * self.hop
        return slice(start, start + (self.size - 1) * self.step + 1, self.step)


class Tiles(NamedTuple):
    """A group of tiles: window b of the queries meets window b of the keys.

    Query `a` of any tile stands ``distance + a * queries.step - b * keys.step`` after its key `b`. It
    sees the key if this lies from ``inside[0]`` to ``inside[1]`` and not from ``outside[0]`` to
    ``outside[1]``.
    """

    queries: Windows
    keys: Windows
    distance: int
    inside: tuple = (-math.inf, math.inf)
    outside: tuple = (math.inf, -math.inf)

    @property
    def span(self):
        """The smallest and the largest distance in a tile."""
        return (
            self.distance - (self.keys.size - 1) * self.keys.step,
            self.distance + (self.queries.size - 1) * self.queries.step,
        )

    @property
    def hides(self):
        """Whether a tile has entries that are not to be seen."""
        low, high = self.span
        meets_outside = low <= self.outside[1] and high >= self.outside[0]
        return low < self.inside[0] or high > self.inside[1] or meets_outside

    @property
    def shows(self):
        """Whether a tile may have entries that are to be seen."""
        low, high = self.span
        misses_inside = high < self.inside[0] or low > self.inside[1]
        within_outside = self.outside[0] <= low and high <= self.outside[1]
        return not misses_inside and not within_outside

    def visible(self, query, key):
        """Return the mask of a tile from the arrays ``arange(size)[:, None]`` and ``arange(size)``."""
        distance = self.distance + query * self.queries.step - key * self.keys.step
        inside = (distance >= self.inside[0]) & (distance <= self.inside[1])
        return inside & ((distance < self.outside[0]) | (distance > self.outside[1]))

    def part(self, first, last):
        """Return the tiles from `first` up to, not including, `last`."""
        return self._replace(
            queries=self.queries.part(first, last), keys=self.keys.part(first, last)
        )


def sparse_tiles(m, n, *, window=None, n_global=0, stride=None, causal=False, block=64):
    """Cut the union of a window, global positions and a stride into groups of tiles.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys; query i stands at position ``i + n - m``.
    window : int, optional
        Keys at most so far away are seen.
    n_global : int
        So many first positions are seen by all and see all.
    stride : int, optional
        Keys a multiple of this away are seen.
    causal : bool
        Only look back.
    block : int
        Queries in an inner tile of the band.

    Returns
    -------
    list of Tiles
        Every visible pair once. A query that sees nothing may be in no tile.

    Examples
    --------
    >>> for tiles in sparse_tiles(6, 6, window=1, block=2):
    ...     print(tiles.queries, tiles.keys)
    Windows(start=0, count=1, size=1, hop=0, step=1) Windows(start=0, count=1, size=2, hop=0, step=1)
    Windows(start=1, count=2, size=2, hop=2, step=1) Windows(start=0, count=2, size=4, hop=2, step=1)
    Windows(start=5, count=1, size=1, hop=0, step=1) Windows(start=4, count=1, size=2, hop=0, step=1)
    """
    shift = n - m
    n_global = min(n_global, n)
    groups = []
    if causal:  # queries before position 0 see nothing, global ones no more than the global keys
        rows = [(min(max(-shift, 0), m), m)]
    else:
        first, last = (min(max(place - shift, 0), m) for place in (0, n_global))
        rows = [(0, first), (last, m)]
        groups += _blocks(first, last, 0, n, shift, EDGE_ROWS)
    for low, high in rows:
        if n_global:
            groups += _global_keys(low, high, n_global, shift, causal)
        if window is not None:
            groups += _band(low, high, n_global, n, shift, window, causal, block)
        if stride is not None:
            groups += _residues(low, high, n_global, n, shift, stride, window, causal)
    return [
        group for group in groups if group.queries.count and group.queries.size and group.keys.size
    ]


def chunk_tiles(m, n, chunk, *, causal=False, together=True):
    """Cut full attention into groups of tiles of some queries and at most `chunk` keys.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys; query i stands at position ``i + n - m``.
    chunk : int
        The largest number of keys in a tile.
    causal : bool
        Only look back.
    together : bool
        Put the tiles of one chunk of keys that hide nothing into one group; else each stands alone.

    Returns
    -------
    list of Tiles
        Every visible pair once.

    Examples
    --------
    >>> [(tiles.queries.size, tiles.keys.size) for tiles in chunk_tiles(3, 5, 4)]
    [(3, 4), (3, 1)]
    """
    shift = n - m
    groups = []
    for key in range(0, n, chunk):
        end_key = min(key + chunk, n)
        low = min(max(key - shift, 0), m) if causal else 0  # earlier queries see none of these keys
        all_see = min(max(end_key - 1 - shift, low), m) if causal else low
        cuts = [*range(low, all_see, CHUNK_ROWS), all_see]
        alone = [*range(all_see, m, CHUNK_ROWS), m]
        if not together:
            cuts, all_see = [*cuts[:-1], *alone], m
        for row, last in itertools.pairwise(cuts):
            keys = Windows(key, 1, (min(end_key, last + shift) if causal else end_key) - key)
            inside = (0, math.inf) if causal else (-math.inf, math.inf)
            groups.append(Tiles(Windows(row, 1, last - row), keys, row + shift - key, inside))
        groups += _blocks(all_see, m, key, end_key, shift, CHUNK_ROWS)
    return [group for group in groups if group.queries.count and group.queries.size]


def visible_keys(i, m, n, *, window=None, n_global=0, stride=None, causal=False):
    """Return the keys that query `i` sees in the same union, in order: the definition itself.

    Parameters
    ----------
    i : int
        The query.
    m, n, window, n_global, stride, causal
        As in `sparse_tiles`.

    Returns
    -------
    list of int
        The places of the keys.

    Examples
    --------
    >>> visible_keys(3, 7, 7, window=1, stride=3)
    [0, 2, 3, 4, 6]
    """
    position = i + n - m
    end = min(n, position + 1) if causal else n
    if 0 <= position < n_global:
        return list(range(max(end, 0)))
    keys = set(range(min(n_global, end)))
    if window is not None:
        keys.update(range(max(position - window, 0), min(position + window + 1, end)))
    if stride is not None:
        keys.update(range(position % stride, end, stride))
    return sorted(keys)


def _blocks(low, high, first_key, end_key, shift, size, **rules):
    """Return tiles of `size` queries, all with the same keys, and one tile for the rest."""
    groups, keys = [], end_key - first_key
    count, rest = divmod(max(high - low, 0), size)
    for start, many, rows in ((low, count, size), (high - rest, 1, rest)):
        groups.append(
            Tiles(
                Windows(start, many, rows, size),
                Windows(first_key, many, keys),
                start + shift - first_key,
                **rules,
            )
        )
    return groups


def _global_keys(low, high, n_global, shift, causal):
    """Return the tiles of queries low to high with the global keys."""
    if not causal:
        return _blocks(low, high, 0, n_global, shift, GLOBAL_ROWS)
    among = min(max(n_global - 1 - shift, low), high)  # up to here some global keys lie ahead
    groups = []
    for start in range(low, among, EDGE_ROWS):
        end = min(start + EDGE_ROWS, among)
        queries, keys = Windows(start, 1, end - start), Windows(0, 1, min(end + shift, n_global))
        groups.append(Tiles(queries, keys, start + shift, inside=(0, math.inf)))
    return groups + _blocks(among, high, 0, n_global, shift, GLOBAL_ROWS)


def _band(low, high, first_key, n, shift, window, causal, block):
    """Return the tiles of a band: the inner ones in one group, those cut by an end one by one."""
    ahead = 0 if causal else window
    low = min(max(low, first_key - ahead - shift), high)  # earlier queries have an empty window
    inner = min(max(first_key + window - shift, low), high)
    count = max(min(high, n - ahead - shift) - inner, 0) // block
    outer = inner + count * block
    groups = []
    for start, end in ((low, inner), (outer, high)):
        for row in range(start, end, EDGE_ROWS):
            last = min(row + EDGE_ROWS, end)
            key = max(row + shift - window, first_key)
            keys = Windows(key, 1, min(last + shift + ahead, n) - key)
            queries = Windows(row, 1, last - row)
            groups.append(Tiles(queries, keys, row + shift - key, inside=(-ahead, window)))
    queries = Windows(inner, count, block, block)
    keys = Windows(inner + shift - window, count, block + window + ahead, block)
    groups.insert(len(groups) // 2, Tiles(queries, keys, window, inside=(-ahead, window)))
    return groups


def _residues(low, high, first_key, n, shift, stride, window, causal):
    """Return the tiles of a stride: queries and keys of one residue class meet, all of them.

    Neighbouring classes with equally many queries and keys form a group. Keys inside the window are
    hidden here, since the band has them.
    """
    outside = (math.inf, -math.inf) if window is None else (-window, window)
    inside = (0, math.inf) if causal else (-math.inf, math.inf)
    cuts = {place % stride for place in (0, low + shift, high + shift, first_key, n)}
    cuts = [*sorted(cuts), stride]
    groups = []
    for residue, end in itertools.pairwise(cuts):
        query = low + (residue - shift - low) % stride
        key = first_key + (residue - first_key) % stride
        n_keys = len(range(key, n, stride))
        n_queries = len(range(query, high, stride))
        for row in range(0, n_queries, STRIDE_ROWS):
            rows = min(STRIDE_ROWS, n_queries - row)
            distance = query + row * stride + shift - key
            columns = n_keys
            if causal:
                columns = min(n_keys, max(distance // stride + rows, 0))
            group = Tiles(
                Windows(query + row * stride, end - residue, rows, 1, stride),
                Windows(key, end - residue, columns, 1, stride),
                distance,
                inside,
                outside,
            )
            if columns and group.shows:
                groups.append(group)
    return groups
