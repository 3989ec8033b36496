"""Linear attention: features in place of softmax, so that time grows with the length, not its square."""

import numpy as np

from ..errors import broadcast_shape, check_attention, check_feature_map, check_key_mask, check_size
from ._arrays import boolean_array, floating
from .attention import _weighted_sum

__all__ = ["linear_attention"]

_ROWS = 256  # keys or queries at a time: their features, states and weights stay in cache


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
    if key_mask is not None:
        key_mask = boolean_array("key_mask", key_mask)
        check_key_mask(key_mask.shape, lead, n)
        key = np.where(key_mask[..., None], key, 0)  # padding may hold anything
        value = np.where(key_mask[..., None], value, 0)
    query, key, value = (np.broadcast_to(x, lead + x.shape[-2:]) for x in (query, key, value))
    if key_mask is not None:
        key_mask = np.broadcast_to(key_mask, (*lead, n))
    output = np.zeros((*lead, m, value.shape[-1]), query.dtype)
    for index in np.ndindex(lead if m and n else (0,)):
        own_mask = None if key_mask is None else key_mask[index]
        head = _Head(query[index], key[index], value[index], own_mask, feature_map)
        (head.look_back if causal else head.look_everywhere)(output[index], chunk)
        if not np.isfinite(output[index]).all():
            head.look_carefully(output[index], causal)
    return output


class _Head:
    """One head: its state is the sum of features times values, and that of the features.

    Why it is fast: features are computed for a few rows at a time and stay in cache, and so does
    the state, because one head is finished before the next begins.

    Features may come with a logarithm for each row, by which they were divided. The state is then
    divided by the exponential of the largest logarithm so far, `level`.
    """

    def __init__(self, query, key, value, key_mask, feature_map):
        self.query, self.key, self.value, self.key_mask = query, key, value, key_mask
        self.feature_map = _FEATURE_MAPS.get(feature_map) if isinstance(feature_map, str) else None
        self.feature_map = self.feature_map or _checked(feature_map)
        self.state = self.sum = 0.0  # (f, d_v) and (f, 1) once there is a key
        self.level = -np.inf

    def look_everywhere(self, output, chunk):
        """Write the output of queries that see all keys."""
        for start in range(0, len(self.key), _ROWS):
            rows = slice(start, start + _ROWS)
            self._remember(*self._key_features(rows), self.value[rows])
        for start in range(0, len(self.query), _ROWS):
            rows = slice(start, start + _ROWS)
            features, _ = self.feature_map(self.query[rows])  # (rows, f)
            _divide(features @ self.state, features @ self.sum, output[rows])

    def look_back(self, output, chunk):
        """Write the output of queries that see the keys up to their own position."""
        m, n = len(self.query), len(self.key)
        for start in range(0, n - m, _ROWS):  # keys before the first query
            rows = slice(start, min(start + _ROWS, n - m))
            self._remember(*self._key_features(rows), self.value[rows])
        first = max(m - n, 0)  # earlier queries see nothing
        chunk = max(min(chunk, m - first), 1)
        triangle = np.tri(chunk, dtype=output.dtype)
        rest = m - (m - first) % chunk
        together = max(_ROWS // chunk, 1) * chunk
        for start in range(first, rest, together):
            rows = slice(start, min(start + together, rest))
            self._look_back(rows, output, chunk, triangle)
        if rest < m:
            self._look_back(slice(rest, m), output, m - rest, triangle)

    def _look_back(self, rows, output, chunk, triangle):
        """Do so for some queries, several chunks (g) of them at a time, and remember their keys."""
        shift = len(self.key) - len(self.query)
        keys = slice(rows.start + shift, rows.stop + shift)
        features, _ = self.feature_map(self.query[rows])
        of_keys, logs = self._key_features(keys)
        chunks = (rows.stop - rows.start) // chunk
        features, of_keys, value = (
            x.reshape(chunks, chunk, x.shape[-1]) for x in (features, of_keys, self.value[keys])
        )  # (g, c, f), (g, c, f) and (g, c, d_v)
        # Products of small matrices take half the time where none is transposed: one copy pays.
        keys_across = np.ascontiguousarray(of_keys.swapaxes(-1, -2))  # (g, f, c)
        weights = features @ keys_across  # (g, c, c)
        weights *= triangle[:chunk, :chunk]
        if logs is None:
            states, sums = self._states(keys_across, value)
        else:
            logs = logs.reshape(chunks, chunk)  # (g, c)
            level = np.maximum(np.maximum.accumulate(logs.ravel()), self.level).reshape(logs.shape)
            before = np.append(self.level, level[:-1, -1])  # (g,), as each chunk begins
            base = np.where(level == -np.inf, 0, level)[..., None]
            weights *= np.exp(
                np.minimum(logs[:, None] - base, 0)
            )  # of a seen key it is not above 0
            features = features * np.exp(before[:, None, None] - base)
            keys_across *= np.exp(logs[:, None] - base[:, -1:])
            states, sums = self._states(keys_across, value, np.exp(before - base[:, -1, 0]))
            self.level = level[-1, -1]
        total = weights @ np.ones((chunk, 1), weights.dtype)  # (g, c, 1), twice as fast as a sum
        weighted = weights @ value  # (g, c, d_v)
        weighted += features @ states
        total += features @ sums
        _divide(weighted, total, output[rows].reshape(weighted.shape))

    def _states(self, keys_across, value, decay=None):
        """Return the states and sums before each chunk, and remember those after the last."""
        chunks, n_features, chunk = keys_across.shape
        states = np.empty((chunks + 1, n_features, value.shape[-1]), value.dtype)
        sums = np.empty((chunks + 1, n_features, 1), value.dtype)
        states[0], sums[0] = self.state, self.sum
        np.matmul(keys_across, value, out=states[1:])
        np.matmul(keys_across, np.ones((chunk, 1), value.dtype), out=sums[1:])
        for after in range(1, chunks + 1):
            for total in (states, sums):
                before = total[after - 1] if decay is None else decay[after - 1] * total[after - 1]
                total[after] += before
        self.state, self.sum = states[-1], sums[-1]
        return states[:-1], sums[:-1]

    def look_carefully(self, output, causal):
        """Write the output with all weights at hand, so that a weight of 0 silences what it meets."""
        m, n = len(self.query), len(self.key)
        of_keys, logs = self._key_features(slice(None))  # (n, f) and (n,)
        rows = max(2**17 // n, 1)
        for start in range(0, m, rows):
            queries = np.arange(start, min(start + rows, m))
            features, _ = self.feature_map(self.query[queries])
            seen = np.ones((len(queries), n), bool) if self.key_mask is None else self.key_mask
            if causal:
                seen = seen & (np.arange(n) <= queries[:, None] + n - m)  # (rows, n)
            weights = features @ of_keys.T
            if logs is not None:
                level = np.max(np.where(seen, logs, -np.inf), -1, keepdims=True)
                weights *= np.exp(logs - np.where(level == -np.inf, 0, level))
            weights = np.where(seen, weights, 0)
            total = weights.sum(-1, keepdims=True)
            weights = np.divide(weights, total, out=np.zeros_like(weights), where=total != 0)
            output[queries] = _weighted_sum(weights, self.value)

    def _key_features(self, rows):
        """Return the features of some keys, and their logarithms or None; hidden keys have none."""
        features, logs = self.feature_map(self.key[rows])
        if self.key_mask is not None:
            features = features * self.key_mask[rows, None]
            logs = None if logs is None else np.where(self.key_mask[rows], logs, -np.inf)
        return features, logs

    def _remember(self, features, logs, value):
        """Add keys and values to the state."""
        if logs is not None:
            level = max(self.level, logs.max())
            base = 0 if level == -np.inf else level
            features = features * np.exp(logs - base)[:, None]
            self.state = self.state * np.exp(self.level - base)
            self.sum = self.sum * np.exp(self.level - base)
            self.level = level
        self.state = self.state + features.T @ value  # (f, d_v)
        self.sum = self.sum + features.sum(0)[:, None]  # (f, 1)


def _divide(weighted, total, output):
    """Write weighted sums over totals; where all weights are 0, so is their weighted sum."""
    np.divide(weighted, np.where(total == 0, 1, total), out=output)


def _elu(x):
    """Return ``elu(x) + 1``, which is ``max(x, 0) + exp(min(x, 0))``."""
    features = np.minimum(x, 0)
    np.exp(features, out=features)
    features += np.maximum(x, 0)
    return features, None


def _exp(x):
    """Return ``exp(x)`` over its largest entry in each row, and the logarithm of that."""
    logs = x.max(-1, initial=-np.inf)
    logs = np.where(np.isfinite(logs), logs, 0)
    return np.exp(x - logs[:, None]), logs


def _relu(x):
    """Return ``max(x, 0)``."""
    return np.maximum(x, 0), None


_FEATURE_MAPS = {"elu": _elu, "exp": _exp, "relu": _relu}


def _checked(function):
    """Return a caller's feature map, its result checked, without logarithms."""

    def feature_map(x):
        features = np.asarray(function(x))
        check_feature_map(function, (), features.shape, x.shape)
        return features.astype(x.dtype, copy=False), None

    return feature_map
