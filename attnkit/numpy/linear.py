"""Linear attention: features in place of softmax, so that time grows with the length, not its square."""

import math

import numpy as np

from ..errors import broadcast_shape, check_attention, check_feature_map, check_key_mask, check_size
from ._arrays import _float_array, aligned_empty, boolean_array, floating
from .attention import _weighted_sum

__all__ = ["linear_attention"]

_ROWS = 256  # keys or queries at a time where no order asks for smaller chunks
_TOGETHER = (
    2**15
)  # numbers in one operand of some heads: features, weights and states stay in cache


@floating("query", "key", "value")
def linear_attention(
    query, key, value, *, feature_map="elu", causal=False, chunk=64, key_mask=None
):
    """Attend with the weights ``features(query) @ features(key).T``, divided by their sum.

    The products associate: keys and values are first summed up into a state of fixed size, which
    every query then reads. Time and memory grow with the length, not with its square.

    Parameters
    ----------
    query : array_like, shape (..., m, d_k)
        What is looked for; query i stands at position ``i + n - m``.
    key : array_like, shape (..., n, d_k)
        What can be found.
    value : array_like, shape (..., n, d_v)
        What is handed out.
    feature_map : {"elu", "exp", "relu"} or callable
        "elu" is ``elu(x) + 1``; "exp" is ``exp(x)``, safe for large x; "relu" is ``max(x, 0)``. A
        function takes rows ``(rows, d_k)`` to features ``(rows, f)``, each row by itself, none
        negative; queries and keys are not scaled.
    causal : bool
        Only look back.
    chunk : int
        How many queries are computed at a time when causal; the width of a head is a good choice.
    key_mask : array_like of bool, shape (..., n), optional
        True where a key may be seen at all. Over split heads a mask ``(B, n)`` goes in as
        ``key_mask[:, None]``.

    Returns
    -------
    numpy.ndarray, shape (..., m, d_v)
        The weighted sums, in the widest float dtype given; 0 where all weights of a query are 0.

    Raises
    ------
    ValueError
        When query and key differ in width, key and value in length, shapes do not broadcast, chunk
        is below 1, or the feature map is unknown or changes the number of rows.
    TypeError
        When key_mask is not boolean, chunk is no whole number, feature_map cannot be called, or an
        argument is complex or holds no numbers.

    Notes
    -----
    With "exp", what is some e^80 times smaller than the largest counts as 0 in float32, and what is
    e^700 times smaller in float64. A query that looks at nothing else has output 0.

    Where NaN or infinity come out, the call is computed again with all weights of some rows at a
    time, to tell who may see them: time then grows with the length squared.

    References
    ----------
    Katharopoulos et al. (2020), "Transformers are RNNs: Fast Autoregressive Transformers with Linear
    Attention", sections 3.2 and 3.3.

    Examples
    --------
    >>> query, key, value = np.zeros((3, 2)), np.ones((3, 2)), np.arange(3.0)[:, None]
    >>> linear_attention(query, key, value, causal=True)
    array([[0. ],
           [0.5],
           [1. ]])
    """
    shape = check_attention(query.shape, key.shape, value.shape)
    check_feature_map(feature_map, tuple(_FEATURE_MAPS))
    chunk = check_size("chunk", chunk, minimum=1)
    m, n = shape[-2:]
    lead = broadcast_shape(shape[:-2], value.shape[:-2])
    shape_of_output = (*lead, m, value.shape[-1])
    if key_mask is not None:
        key_mask = boolean_array("key_mask", key_mask)
        check_key_mask(key_mask.shape, lead, n)
    lead = lead or (1,)
    query, key, value = (np.broadcast_to(x, lead + x.shape[-2:]) for x in (query, key, value))
    if key_mask is not None:
        key_mask = np.broadcast_to(key_mask, (*lead, n))
    output = np.empty((*lead, m, value.shape[-1]), query.dtype)
    blind = m if n == 0 else max(m - n, 0) if causal else 0
    output[..., :blind, :] = 0  # these queries see nothing
    rows = max(min(chunk, m), 1) if causal else _ROWS
    width = max(rows, query.shape[-1], value.shape[-1])
    together = max(_TOGETHER // (rows * width), 1)
    room = _Room(query.dtype)
    for index in np.ndindex(lead[:-1] if m and n else (0,)):
        for start in range(0, lead[-1], together):
            some = (*index, slice(start, start + together))
            masks = None if key_mask is None else key_mask[some]
            heads = _Heads(query[some], key[some], value[some], masks, feature_map, chunk, room)
            if causal:
                heads.look_back(output[some])
            else:
                heads.look_everywhere(output[some])
            for head in np.flatnonzero(heads.looks.any((1, 2))):
                heads.look_carefully(head, output[some][head], causal)
    return output.reshape(shape_of_output)


class _Room(dict):
    """Working memory by name and shape: zeros at first, then whatever was written last.

    Each array is made once, for all chunks, and stays in cache.
    """

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def __missing__(self, key):
        _, *shape = key
        self[key] = array = aligned_empty(shape, self.dtype)
        array[...] = 0
        return array


class _Heads:
    """Some heads (g), met together: their state is the sum of features times values, and of features.

    Why it is fast: a chunk of rows of some heads at a time, so that one call works on several small
    matrices, and features, weights and states stay in cache, where they begin on a cache line.

    Features may come with a logarithm for each row, by which they were divided. The state is then
    divided by the exponential of the largest logarithm so far, `level`, and held in float64: what is
    small beside the largest may be all that a query looks at.
    """

    def __init__(self, query, key, value, key_mask, feature_map, chunk, room):
        self.query, self.key, self.value, self.key_mask = query, key, value, key_mask
        self.chunk, self.room = chunk, room
        self.feature_map = _FEATURE_MAPS.get(feature_map) if isinstance(feature_map, str) else None
        self.feature_map = self.feature_map or _checked(feature_map)
        self.state = self.sum = None  # (g, f, d_v) and (g, f, 1) once there is a key
        self.level = np.full((len(query), 1), -np.inf)
        rows = max(_ROWS, min(chunk, len(key[0])))
        self.ones = np.ones((rows, 1), value.dtype)
        self.looks = np.zeros((len(query), rows, 1), value.dtype)  # for NaN and infinity

    def look_everywhere(self, output):
        """Write the output of queries that see all keys."""
        for start in range(0, self.key.shape[1], _ROWS):
            self._add(*self._keys(slice(start, start + _ROWS)))
        for start in range(0, self.query.shape[1], _ROWS):
            rows = slice(start, start + _ROWS)
            features, _ = self.feature_map(self.query[:, rows], self.room, "queries")
            weighted = self._product(features, self.state, "weighted")  # (g, rows, d_v)
            self._write(weighted, features @ self.sum, output[:, rows])

    def look_back(self, output):
        """Write the output of queries that see the keys up to their own position."""
        m, n, chunk, room = self.query.shape[1], self.key.shape[1], self.chunk, self.room
        for start in range(0, n - m, _ROWS):  # keys before the first query
            self._add(*self._keys(slice(start, min(start + _ROWS, n - m))))
        triangle = room["triangle", min(chunk, m), min(chunk, m)]
        triangle[...] = np.tri(len(triangle), dtype=bool)  # small beside it
        for start in range(max(m - n, 0), m, chunk):  # earlier queries see nothing
            queries = slice(start, min(start + chunk, m))
            keys = slice(queries.start + n - m, queries.stop + n - m)
            of_queries, _ = self.feature_map(self.query[:, queries], room, "queries")  # (g, c, f)
            across, logs, value = self._keys(keys)  # (g, f, c), (g, c) and (g, c, d_v)
            c = value.shape[1]
            weights = self._product(of_queries, across, "weights")  # (g, c, c)
            if logs is not None:
                seen = np.maximum(np.maximum.accumulate(logs, -1), self.level)  # by each query
                base = _finite(seen)[..., None]
                weights *= np.exp(np.minimum(logs[:, None] - base, 0))  # of a seen key at most 0
                of_queries = of_queries * np.exp(self.level[..., None] - base)
            weights *= triangle[:c, :c]
            total = weights @ self.ones[:c]  # (g, c, 1), faster than a sum
            weighted = self._product(weights, value, "weighted")  # (g, c, d_v)
            if self.state is not None:  # there are earlier keys
                total += of_queries @ self.sum
                weighted += self._product(of_queries, self.state, "spare")
            self._write(weighted, total, output[:, queries])
            self._add(across, logs, value)

    def look_carefully(self, head, output, causal):
        """Write the output of one head with all weights at hand: a weight of 0 silences what it meets."""
        m, n = self.query.shape[1], self.key.shape[1]
        one = slice(head, head + 1)
        key_mask = None if self.key_mask is None else self.key_mask[one]
        of_keys, logs, value = self._of_keys(one, slice(None))  # (1, n, f), (1, n) and (1, n, d_v)
        rows = max(2**17 // n, 1)
        for start in range(0, m, rows):
            queries = np.arange(start, min(start + rows, m))
            features, _ = self.feature_map(self.query[one, queries], self.room, "queries")
            seen = np.ones((len(queries), n), bool) if key_mask is None else key_mask
            if causal:
                seen = seen & (np.arange(n) <= queries[:, None] + n - m)  # (rows, n)
            weights = features[0] @ of_keys[0].T
            if logs is not None:
                level = np.max(np.where(seen, logs, -np.inf), -1, keepdims=True)
                weights *= np.exp(logs - _finite(level))
            weights = np.where(seen, weights, 0)
            total = weights.sum(-1, keepdims=True)
            weights = np.divide(weights, total, out=np.zeros_like(weights), where=total != 0)
            output[queries] = _weighted_sum(weights, value[0])

    def _of_keys(self, heads, rows):
        """Return of some keys features, their logarithms or None, and values; hidden keys have none."""
        key, value = self.key[heads, rows], self.value[heads, rows]
        if self.key_mask is None:
            return *self.feature_map(key, self.room, "keys"), value
        key_mask = self.key_mask[heads, rows]
        seen = key_mask[..., None]
        # Padding may hold anything. It goes here, since a copy of all keys would need their memory.
        features, logs = self.feature_map(np.where(seen, key, 0), self.room, "keys")
        logs = None if logs is None else np.where(key_mask, logs, -np.inf)
        return features * seen, logs, np.where(seen, value, 0)

    def _keys(self, rows):
        """Return what the products need of some keys: features (g, f, rows), logarithms, values."""
        features, logs, value = self._of_keys(slice(None), rows)
        # Products of small matrices take half the time where none is transposed: one copy pays.
        g, rows, width = features.shape
        across = self.room["across", g, width, rows]
        across[...] = features.swapaxes(-1, -2)
        return across, logs, value

    def _add(self, across, logs, value):
        """Add keys, given as features (g, f, rows), and values to the state."""
        first = self.state is None
        if logs is not None:
            level = np.maximum(logs.max(-1, keepdims=True), self.level)  # (g, 1)
            base = _finite(level)
            across = across * np.exp(logs - base)[:, None]
            if not first:
                decay = np.exp(self.level - base)[..., None]
                self.state *= decay
                self.sum *= decay
            self.level = level
        state = self._product(across, value, "state" if first else "spare")
        total = across @ self.ones[: value.shape[1]]
        if first:
            self.state, self.sum = state, total
        else:
            self.state += state
            self.sum += total

    def _product(self, left, right, name):
        """Return a product, in the room of this name unless it is wider."""
        if left.dtype != self.room.dtype or right.dtype != self.room.dtype:
            return left @ right
        shape = left.shape[:-1] + right.shape[-1:]
        return np.matmul(left, right, out=self.room[name, *shape])

    def _write(self, weighted, total, output):
        """Write weighted sums over totals; where all weights are 0, so is their weighted sum."""
        if not total.all():
            total = np.where(total == 0, 1, total)
        weighted /= total  # in place and then copied: faster than into rows that lie apart
        output[...] = weighted
        # Zero times NaN or infinity is NaN; a product costs less than a look at each number.
        zeros = self.room["zeros", weighted.shape[-1], 1]
        self.looks[:, : len(weighted[0])] += weighted @ zeros


def _finite(level):
    """Return logarithms with 0 where there is none yet, since -inf - -inf is NaN."""
    return np.where(level == -np.inf, 0, level)


def _elu(x, room, name):
    """Return ``elu(x) + 1``, which is ``max(x, 0) + exp(min(x, 0))``."""
    zeros = room["zeros", *x.shape[1:]]  # the number 0 would take NumPy twice as long
    features = np.minimum(x, zeros, out=room[name, *x.shape])
    np.exp(features, out=features)
    features += np.maximum(x, zeros, out=room["spare", *x.shape])
    return features, None


def _exp(x, room, name):
    """Return ``exp(x)`` over its largest entry in each row, and the logarithm of that."""
    logs = x.max(-1, initial=-np.inf)
    logs = np.where(np.isfinite(logs), logs, 0)
    features = np.subtract(x, logs[..., None], out=room[name, *x.shape])
    return np.exp(features, out=features), logs


def _relu(x, room, name):
    """Return ``max(x, 0)``."""
    return np.maximum(x, room["zeros", *x.shape[1:]], out=room[name, *x.shape]), None


_FEATURE_MAPS = {"elu": _elu, "exp": _exp, "relu": _relu}


def _checked(function):
    """Return a caller's feature map, its result checked, without logarithms."""

    def feature_map(x, room, name):
        lead = x.shape[:-1]  # counted here: NumPy cannot tell -1 rows of no numbers
        rows = x.reshape(math.prod(lead), x.shape[-1])
        features = _float_array("the result of feature_map", function(rows))
        check_feature_map(function, (), features.shape, rows.shape)
        kept = room[name, *lead, features.shape[-1]]
        kept[...] = features.reshape(kept.shape)  # the function may use its own array again
        return kept, None

    return feature_map
