"""Position: what attention, blind to order, is told about where tokens stand.

Added to embeddings (sinusoidal), added to scores by distance (tables over `relative_index` or
`t5_bucket`, ALiBi), or turned into queries and keys (rotary). A distance is the position of the key
minus that of the query; query ``i`` of ``m`` stands at position ``i + n - m``.
"""

import numpy as np

from .. import errors
from ..errors import (
    check_buckets,
    check_choice,
    check_even,
    check_positive,
    check_rotary,
    check_size,
)
from ._arrays import as_array, float_dtype, floating
from .masks import _positions

__all__ = [
    "alibi_bias",
    "alibi_slopes",
    "relative_index",
    "rotary",
    "sinusoidal_positions",
    "t5_bucket",
]


def sinusoidal_positions(length, d_model, *, dtype=None):
    """Give each position a row of sines and cosines, from fast to slow.

    Moving by a fixed distance turns each pair by a fixed angle, wherever it starts.

    Parameters
    ----------
    length : int
        The number of positions, counted from 0.
    d_model : int
        The width, even.
    dtype : dtype, optional
        Of the result; float64 when not given. Angles are always computed in float64.

    Returns
    -------
    numpy.ndarray, shape (length, d_model)
        Column ``2i`` is ``sin(position / 10000 ** (2i / d_model))``, column ``2i + 1`` the cosine
        of the same angle.

    Raises
    ------
    ValueError
        When d_model is odd or a size negative.
    TypeError
        When a size is not a whole number or dtype is no float dtype.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.5.

    Examples
    --------
    >>> sinusoidal_positions(3, 2).round(3)
    array([[ 0.   ,  1.   ],
           [ 0.841,  0.54 ],
           [ 0.909, -0.416]])
    """
    length, d_model = check_size("length", length), check_size("d_model", d_model)
    check_even("d_model", d_model, "sine and cosine share a frequency")
    dtype = float_dtype(np.float64 if dtype is None else dtype, errors.BETWEEN)
    angle = np.arange(length)[:, None] * _frequencies(d_model, 10000.0)  # (length, d_model / 2)
    pairs = np.stack([np.sin(angle), np.cos(angle)], -1)  # (length, d_model / 2, 2)
    return pairs.reshape(length, d_model).astype(dtype)


def relative_index(m, n, clip):
    """Number the distance from each query to each key, so that a table can be looked up with it.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    clip : int
        Distances beyond it count as it.

    Returns
    -------
    numpy.ndarray of int64, shape (m, n)
        ``clip(distance) + clip``: from 0 (`clip` or more before the query) over `clip` (the query's
        own position) to ``2 * clip``. The table has ``2 * clip + 1`` rows.

    Raises
    ------
    ValueError
        When a size is negative.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Shaw, Uszkoreit and Vaswani (2018), "Self-Attention with Relative Position Representations",
    section 3.2.

    Examples
    --------
    >>> relative_index(3, 3, 1)
    array([[1, 2, 2],
           [0, 1, 2],
           [0, 0, 1]])
    """
    clip = check_size("clip", clip)
    query, key = _positions(m, n)
    return np.clip(key - query, -clip, clip) + clip  # (m, n)


def t5_bucket(distance, n_buckets, max_distance, *, bidirectional=True):
    """Sort distances into buckets: one for each short distance, wider and wider ones beyond.

    Parameters
    ----------
    distance : array_like of int
        Positions of keys minus positions of queries.
    n_buckets : int
        How many there are in all; at least 4, or 2 when not bidirectional.
    max_distance : int
        From here on everything falls into the last bucket.
    bidirectional : bool
        True: the second half of the buckets is for keys after the query. False: all are for keys
        before it, and every key after it falls into bucket 0.

    Returns
    -------
    numpy.ndarray of int64, shape of distance
        Bucket numbers, 0 to ``n_buckets - 1``.

    Raises
    ------
    ValueError
        When there are too few buckets, or max_distance is not beyond the buckets of one distance.
    TypeError
        When distance or a size is not whole numbers.

    References
    ----------
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
    Transformer", section 2.1, and the code published with it.

    Examples
    --------
    >>> t5_bucket([-200, -16, -3, 0, 3, 16, 200], 32, 128)
    array([15, 10,  3,  0, 19, 26, 31])
    """
    distance = _whole_numbers("distance", distance)
    n_side, n_single = check_buckets(n_buckets, max_distance, bidirectional)
    away = np.abs(distance) if bidirectional else np.maximum(-distance, 0)
    # Among the wide buckets equal ratios of distance are equally far apart. The tiny summand keeps
    # a distance that is exactly the first of its bucket from falling below by rounding.
    ratio = np.log(np.maximum(away, n_single) / n_single) / np.log(max_distance / n_single)
    wide = n_single + np.floor(ratio * (n_side - n_single) + 1e-9).astype(np.int64)
    bucket = np.where(away < n_single, away, np.minimum(wide, n_side - 1))
    return bucket + n_side * (distance > 0) if bidirectional else bucket


def alibi_slopes(n_heads):
    """Return how steeply each head's scores fall with distance, a geometric sequence.

    Parameters
    ----------
    n_heads : int
        The number of heads, at least 1.

    Returns
    -------
    numpy.ndarray of float64, shape (n_heads,)
        For a power of two ``2 ** (-8 / n)``, ``2 ** (-16 / n)``, …, ``2 ** -8``. For other numbers,
        as in the paper's code, the slopes of the power of two below, then every other slope of the
        power of two above.

    Raises
    ------
    ValueError
        When n_heads is below 1.
    TypeError
        When n_heads is not a whole number.

    References
    ----------
    Press, Smith and Lewis (2022), "Train Short, Test Long: Attention with Linear Biases Enables
    Input Length Extrapolation", section 3 and the code published with it.

    Examples
    --------
    >>> alibi_slopes(2)
    array([0.0625    , 0.00390625])
    >>> alibi_slopes(3)
    array([0.0625    , 0.00390625, 0.25      ])
    """
    n_heads = check_size("n_heads", n_heads, minimum=1)
    below = 1 << (n_heads.bit_length() - 1)  # the largest power of two that is not above n_heads
    steps = 8 / below * np.arange(1, below + 1)
    between = 8 / (2 * below) * np.arange(1, 2 * (n_heads - below), 2)
    return 2.0 ** -np.concatenate([steps, between])  # (n_heads,)


def alibi_bias(m, n, n_heads):
    """Lower scores in proportion to distance, each head at a slope of its own.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    n_heads : int
        The number of heads.

    Returns
    -------
    numpy.ndarray of float64, shape (n_heads, m, n)
        ``-slope * |distance|``, a bias for the scores.

    Raises
    ------
    ValueError
        When a size is negative or n_heads below 1.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Press, Smith and Lewis (2022), "Train Short, Test Long: Attention with Linear Biases Enables
    Input Length Extrapolation", section 3.

    Examples
    --------
    >>> alibi_bias(1, 3, 2)
    array([[[-0.125     , -0.0625    ,  0.        ]],
    <BLANKLINE>
           [[-0.0078125 , -0.00390625,  0.        ]]])
    """
    query, key = _positions(m, n)
    slopes = alibi_slopes(n_heads)[:, None, None]  # (n_heads, 1, 1)
    return slopes * -np.abs(key - query)  # (n_heads, m, n)


@floating("x")
def rotary(x, positions, *, base=10000.0, layout="interleaved"):
    """Turn pairs of numbers by an angle that grows with position, before queries meet keys.

    The product of a turned query and a turned key depends on their distance only.

    Parameters
    ----------
    x : array_like, shape (..., m, d)
        Queries or keys, of even width.
    positions : array_like, shape (m,)
        The position of each row, or anything that broadcasts against ``(..., m)``. With a cache the
        new rows start at the number of rows stored.
    base : float
        Pair i turns by ``positions * base ** (-2i / d)``.
    layout : {"interleaved", "half"}
        Which numbers are a pair: ``(0, 1), (2, 3), …``, or ``(0, d/2), (1, d/2 + 1), …``. Weights
        trained with one do not work with the other.

    Returns
    -------
    numpy.ndarray, shape (..., m, d)
        The turned rows, in the dtype of x. Angles are computed in float64.

    Raises
    ------
    ValueError
        When the width is odd, positions do not fit, base is not above 0 or layout another word.
    TypeError
        When x or positions is complex or holds no numbers.

    References
    ----------
    Su et al. (2024), "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2.

    Examples
    --------
    A quarter turn takes (1, 1) to (-1, 1).

    >>> rotary([[1.0, 1.0]], [np.pi / 2]).round(3)
    array([[-1.,  1.]])
    """
    positions = _real_positions(positions)
    check_rotary(x.shape, positions.shape)
    check_choice("layout", layout, ("interleaved", "half"))
    check_positive("base", base, "its powers are the wave lengths")
    angle = positions[..., None] * _frequencies(x.shape[-1], base)  # (..., m, d / 2)
    cosine, sine = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    half = x.shape[-1] // 2
    if layout == "interleaved":
        first, second = x[..., 0::2], x[..., 1::2]  # (..., m, d / 2) each
    else:
        first, second = x[..., :half], x[..., half:]
    turned = first * cosine - second * sine, first * sine + second * cosine
    if layout == "half":
        return np.concatenate(turned, -1)  # (..., m, d)
    pairs = np.stack(turned, -1)  # (..., m, d / 2, 2)
    return pairs.reshape(*pairs.shape[:-2], 2 * half)  # (..., m, d)


def _frequencies(width, base):
    """Return by how much each pair turns from one position to the next, fast to slow."""
    return base ** -(np.arange(0, width, 2) / max(width, 1))  # (width / 2,)


def _real_positions(positions):
    """Return positions as float64, or raise the TypeError that explains them."""
    positions = as_array("positions", positions)
    if positions.dtype.kind not in "fiu":
        errors.refuse_type("positions", positions.dtype, "real", errors.NOT_POSITIONS)
    return positions.astype(np.float64)


def _whole_numbers(name, array):
    """Return an array of whole numbers as int64, or refuse it."""
    array = as_array(name, array)
    if array.size == 0:
        array = array.astype(np.int64)  # an empty list has no integer dtype of its own
    if array.dtype.kind not in "iu":
        errors.refuse_type(name, array.dtype, "integers", errors.NOT_DISTANCES)
    return array.astype(np.int64)
