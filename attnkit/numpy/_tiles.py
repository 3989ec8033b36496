"""The fast structure behind dense, chunked and sparse attention: small tiles of scores, reused.

Written out whole, the scores of long sequences leave the processor's cache, and most of the time
goes into moving them. A tile of scores fits: it is computed, turned into exponentials in place,
multiplied with its values and forgotten. A running softmax adds up tiles in any order.
"""

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..errors import broadcast_shape, check_dot
from ._arrays import aligned_empty

TILE = (
    2**17
)  # scores in a tile: half a mebibyte in float32, so that two fit into most second caches
SAFE_SCORE = 32.0  # e^±32 is far from both ends of float32


def dense_tiles(query, key, value, mask=None, *, causal=False, scale=None, chunk=None):
    """Attend in tiles of the score matrix; return None for numbers that need the careful formula.

    Why it is fast: scores stay in cache, several heads share a tile when sequences are short, keys
    that a causal mask hides from all queries of a tile are not scored, only the output is divided,
    and when no score can be large its row's maximum need not be found first.

    Parameters
    ----------
    query, key, value : numpy.ndarray
        Shapes ``(..., m, d_k)``, ``(..., n, d_k)`` and ``(..., n, d_v)``, checked, of one float dtype.
    mask : numpy.ndarray of bool, optional
        Broadcasts against ``(..., m, n)``.
    causal : bool
        Only look back.
    scale : float, optional
        The factor of the scores; ``d_k ** -0.5`` when not given.
    chunk : int, optional
        The largest number of keys in a tile; all of them when not given.

    Returns
    -------
    numpy.ndarray or None
        The output ``(..., m, d_v)``; None if an input is not finite or a product might overflow.
    """
    m, n, d_v = query.shape[-2], key.shape[-2], value.shape[-1]
    mask_lead = () if mask is None else mask.shape[:-2]
    lead = broadcast_shape(query.shape[:-2], key.shape[:-2], value.shape[:-2], mask_lead)
    check_dot(query.shape, key.shape, scale)
    scale = query.dtype.type(max(query.shape[-1], 1) ** -0.5 if scale is None else scale)
    output = np.zeros((*lead, m, d_v), query.dtype)
    if output.size == 0 or n == 0:
        return output
    bounded = score_bound(query, key, value, scale)
    if bounded is None:
        return None
    columns = min(n, chunk or n)
    rows = min(m, max(TILE // columns, 64), 128 if causal else m)
    heads = max(TILE // (rows * columns), 1)
    running = RunningSoftmax(max(TILE, rows * columns), columns, bounded, query.dtype)
    scaled = aligned_empty((heads, rows, query.shape[-1]), query.dtype)  # used again, as scores are
    if causal:  # in column c stands the key c + 1 steps ahead of the first query
        triangle = np.tri(rows, rows, -1, dtype=query.dtype)
    no_lead = (None,) * (not lead)  # then an axis of one head
    query, key, value = (
        np.broadcast_to(array, lead + array.shape[-2:])[no_lead] for array in (query, key, value)
    )
    whole = output[no_lead]
    if mask is not None:
        mask = np.broadcast_to(mask, (*lead, m, n))[no_lead]
    first_row = max(m - n, 0) if causal else 0  # earlier queries see nothing
    for batch in np.ndindex(lead[:-1]):
        for head in range(0, whole.shape[-3], heads):
            group = (*batch, slice(head, head + heads))
            keys, values = _for_blas(key[group]), _for_blas(value[group])  # (heads, n, d)
            for row in range(first_row, m, rows):
                end = min(row + rows, m)
                queries = query[group][:, row:end]  # (heads, rows, d_k)
                queries = np.multiply(queries, scale, out=scaled[: len(queries), : end - row])
                seen = row + n - m + 1 if causal else n  # keys that all these queries see
                last = end + n - m if causal else n  # keys that any of them sees
                part = running.rows(whole[group][:, row:end])
                for column in range(0, last, columns):
                    stop = min(column + columns, last)
                    hidden = []
                    if stop > seen:
                        ahead = slice(max(column, seen) - seen, stop - seen)
                        place = slice(max(column, seen) - column, None)
                        hidden.append((place, triangle[: end - row, ahead]))
                    if mask is not None:
                        hidden.append((slice(None), mask[group][:, row:end, column:stop]))
                    part.add(queries, keys[:, column:stop], values[:, column:stop], hidden)
                part.divide()
    return output


class RunningSoftmax:
    """Softmax and weighted sum of rows whose keys come in tiles, in any order.

    Parameters
    ----------
    size : int
        The largest number of scores in a tile.
    columns : int
        The largest number of keys in a tile.
    bounded : bool
        No score is beyond ±`SAFE_SCORE`: exponentials need no maximum taken off.
    dtype : numpy.dtype
        Of the scores.
    """

    def __init__(self, size, columns, bounded, dtype):
        self.buffer = aligned_empty((size,), dtype)
        self.ones = np.ones((columns, 1), dtype)
        self.bounded = bounded

    def rows(self, numerator, total=None, highest=None):
        """Begin rows, or go on with them if `total` is given.

        Parameters
        ----------
        numerator : numpy.ndarray, shape (g, r, d_v)
            Where the weighted sum grows; zeros at the beginning.
        total, highest : numpy.ndarray, shape (g, r, 1), optional
            The sum of exponentials so far, and the highest score, None if all are bounded.

        Returns
        -------
        _Rows
            What tiles are added to.
        """
        fresh = total is None
        if fresh:
            total = np.zeros((*numerator.shape[:-1], 1), numerator.dtype)
            highest = None if self.bounded else np.full_like(total, -np.inf)
        return _Rows(self.buffer, self.ones, numerator, total, highest, fresh)


class _Rows:
    """Some rows of a running softmax: numerator (g, r, d_v), total and highest score (g, r, 1)."""

    def __init__(self, buffer, ones, numerator, total, highest, fresh):
        self.buffer, self.ones = buffer, ones
        self.numerator, self.total, self.highest = numerator, total, highest
        self.fresh = fresh

    def add(self, query, key, value, hidden=()):
        """Add the keys of a tile.

        Parameters
        ----------
        query, key, value : numpy.ndarray
            Shapes ``(g, r, d_k)``, scaled, ``(g, c, d_k)`` and ``(g, c, d_v)``.
        hidden : iterable of (slice, numpy.ndarray)
            Columns with something hidden and which of their entries are seen, as 1 and 0.
        """
        shape = (*query.shape[:2], key.shape[1])
        scores = self.buffer[: shape[0] * shape[1] * shape[2]].reshape(shape)
        np.matmul(query, key.swapaxes(-1, -2), out=scores)  # (g, r, c)
        if self.highest is None:
            np.exp(scores, out=scores)
            for columns, seen in hidden:  # a product is faster than writing where a mask says so
                np.multiply(scores[..., columns], seen, out=scores[..., columns])
        else:
            for columns, seen in hidden:
                np.copyto(scores[..., columns], -np.inf, where=seen == 0)
            self._lower(scores)
            np.exp(scores, out=scores)
        self.total += scores @ self.ones[: shape[2]]  # four times as fast as sum
        if self.fresh:
            np.matmul(scores, value, out=self.numerator)  # (g, r, d_v)
        else:
            self.numerator += scores @ value
        self.fresh = False

    def _lower(self, scores):
        """Take the highest score so far off the scores, and bring the sums to the same base."""
        highest = np.maximum(self.highest, scores.max(-1, keepdims=True))  # (g, r, 1)
        base = np.where(highest == -np.inf, 0, highest)  # nothing seen yet: -inf - -inf is NaN
        factor = np.exp(self.highest - base)
        self.numerator *= factor
        self.total *= factor
        self.highest[...] = highest
        scores -= base

    def divide(self):
        """Turn the numerators into the output, in place; rows that saw nothing stay 0."""
        _divide(self.numerator, self.total)


def sparse_in_tiles(query, key, value, groups, key_mask, scale):
    """Attend to the keys that groups of `attnkit.tiles.Tiles` show; None if numbers need more care.

    Why it is fast: windows are views of the keys, not copies, one call computes many of them, one
    mask serves them all, of which only the columns that hide something are touched, and the parts
    of a union meet in one running softmax, so that no score is ever merged twice.

    Parameters
    ----------
    query, key, value : numpy.ndarray
        Shapes ``(..., m, d_k)``, ``(..., n, d_k)`` and ``(..., n, d_v)``, checked, of one float dtype.
    groups : list of Tiles
        What is seen, every pair once.
    key_mask : numpy.ndarray of bool or None
        Shape ``(..., n)``.
    scale : float
        The factor of the scores.

    Returns
    -------
    numpy.ndarray or None
        The output ``(..., m, d_v)``; None if an input is not finite or a product might overflow.
    """
    m, n, d_v = query.shape[-2], key.shape[-2], value.shape[-1]
    lead = broadcast_shape(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    output = np.zeros((*lead, m, d_v), query.dtype)
    if output.size == 0:
        return output
    bounded = score_bound(query, key, value, scale)
    if bounded is None:
        return None
    query, key, value = (
        np.broadcast_to(array, lead + array.shape[-2:]) for array in (query, key, value)
    )
    if key_mask is not None:
        key_mask = np.broadcast_to(key_mask, (*lead, n))
    groups = [(group, _hidden(group, query.dtype)) for group in _cut(groups)]
    largest = max((group.queries.size * group.keys.size for group, _ in groups), default=0)
    columns = max((group.keys.size for group, _ in groups), default=0)
    running = RunningSoftmax(max(TILE, largest), columns, bounded, query.dtype)
    for index in np.ndindex(lead):
        queries, keys, values = (_for_blas(array[index]) for array in (query, key, value))
        total = np.zeros((m, 1), query.dtype)
        highest = None if bounded else np.full((m, 1), -np.inf, query.dtype)
        for group, hidden in groups:
            together = max(TILE // (group.queries.size * group.keys.size), 1)
            for first in range(0, group.queries.count, together):
                at = group.part(first, min(first + together, group.queries.count))
                rows = running.rows(
                    _view(output[index], at.queries),
                    _view(total, at.queries),
                    None if highest is None else _view(highest, at.queries),
                )
                seen = hidden
                if key_mask is not None:
                    seen_keys = _view(key_mask[index][:, None], at.keys).swapaxes(-1, -2)
                    seen = [*hidden, (slice(None), seen_keys)]  # (count, 1, c)
                rows.add(
                    _view(queries, at.queries) * scale,
                    _view(keys, at.keys),
                    _view(values, at.keys),
                    seen,
                )
        _divide(output[index], total)
    return output


def _divide(numerator, total):
    """Divide in place by the totals, which are 0 or far from it; a product is faster than a quotient."""
    numerator *= np.divide(1, total, out=np.zeros_like(total), where=total > 0)


def score_bound(query, key, value, scale):
    """Return whether all scores are small, or None if a number is not finite or might become so.

    No score is beyond ``scale * |query| * |key|`` (Cauchy and Schwarz), one number for the whole call.
    """
    squares = [np.vecdot(array, array).max(initial=0).item() for array in (query, key)]
    bound = abs(float(scale)) * (squares[0] * squares[1]) ** 0.5
    largest = max(value.max(initial=0).item(), -value.min(initial=0).item())
    limit = float(np.finfo(query.dtype).max) / 4 / max(key.shape[-2], 1)
    if not (squares[0] < limit and squares[1] < limit and bound < limit and largest < limit):
        return None  # NaN fails every comparison, too
    return bound <= SAFE_SCORE and largest < limit * np.exp(-SAFE_SCORE)


def _cut(groups):
    """Yield the groups with the queries of large tiles cut into parts that fit the cache."""
    for group in groups:
        rows = max(TILE // group.keys.size, 16)
        if group.queries.size <= rows:
            yield group
            continue
        step = group.queries.step
        for row in range(0, group.queries.size, rows):
            queries = group.queries._replace(
                start=group.queries.start + row * step, size=min(rows, group.queries.size - row)
            )
            yield group._replace(queries=queries, distance=group.distance + row * step)


def _hidden(group, dtype):
    """Return the runs of columns in which a tile hides something, each with its 1s and 0s."""
    if not group.hides:
        return []
    rows, columns = np.arange(group.queries.size)[:, None], np.arange(group.keys.size)
    visible = group.visible(rows, columns)  # (r, c)
    partly = np.concatenate([[False], ~visible.all(0), [False]])
    edges = np.flatnonzero(partly[1:] != partly[:-1])
    runs = [slice(first, last) for first, last in edges.reshape(-1, 2)]
    return [(run, visible[:, run].astype(dtype)) for run in runs]


def _view(array, windows):
    """Return windows (count, size, width) on an array (length, width), without a copy."""
    row, item = array.strides
    return as_strided(
        array[windows.start :],
        (windows.count, windows.size, array.shape[-1]),
        (windows.hop * row, windows.step * row, item),
    )


def _for_blas(array):
    """Return the array, copied if its last axis is not laid out as matrix products need it."""
    return array if array.strides[-1] == array.itemsize else np.ascontiguousarray(array)
