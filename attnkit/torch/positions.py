"""Position: what attention, blind to order, is told about where tokens stand.

Added to embeddings (sinusoidal, learned), added to scores by distance (tables over `relative_index`
or `t5_bucket`, ALiBi), or turned into queries and keys (rotary). A distance is the position of the
key minus that of the query; query ``i`` of ``m`` stands at position ``i + n - m``. The classes named
after a scheme go into ``MultiHeadAttention(positions=…)``.
"""

import math

import torch
from torch import nn

from .. import errors
from ..errors import (
    check_buckets,
    check_choice,
    check_even,
    check_learned_positions,
    check_positive,
    check_rotary,
    check_size,
    check_table_width,
)
from ._tensors import floating, widest
from .masks import _positions

__all__ = [
    "AlibiPositions",
    "HeadPositions",
    "LearnedPositions",
    "RotaryPositions",
    "ShawPositions",
    "T5Positions",
    "alibi_bias",
    "alibi_slopes",
    "relative_index",
    "rotary",
    "sinusoidal_positions",
    "t5_bucket",
]


def sinusoidal_positions(length, d_model, *, dtype=None, device=None):
    """Give each position a row of sines and cosines, from fast to slow.

    Moving by a fixed distance turns each pair by a fixed angle, wherever it starts.

    Parameters
    ----------
    length : int
        The number of positions, counted from 0.
    d_model : int
        The width, even.
    dtype : torch.dtype, optional
        Of the result; the default dtype when not given. Angles are computed in float64, or in
        float32 on a device without it.
    device : torch.device, optional
        Where the result lives.

    Returns
    -------
    torch.Tensor, shape (length, d_model)
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
    >>> sinusoidal_positions(3, 2)
    tensor([[ 0.0000,  1.0000],
            [ 0.8415,  0.5403],
            [ 0.9093, -0.4161]])
    """
    length, d_model = check_size("length", length), check_size("d_model", d_model)
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point:
        errors.refuse_type("dtype", dtype, "a float dtype", errors.BETWEEN)
    return _sinusoids(0, length, d_model, device).to(dtype)


def _sinusoids(start, end, d_model, device):
    """Return the rows from start to end of the table, in the widest dtype of the device."""
    check_even("d_model", d_model, "sine and cosine share a frequency")
    position = torch.arange(start, end, device=device)[:, None]  # (rows, 1)
    angle = position * _frequencies(d_model, 10000.0, device)  # (rows, d_model / 2)
    pairs = torch.stack([angle.sin(), angle.cos()], -1)  # (rows, d_model / 2, 2)
    return pairs.reshape(end - start, d_model)


def _add_sinusoids(x, start=0):
    """Add the table of `sinusoidal_positions` to embeddings ``(..., m, d_model)``, from a row on.

    Only those rows are made: the whole table would make each step of decoding dearer than the one
    before.
    """
    return x + _sinusoids(start, start + x.shape[-2], x.shape[-1], x.device).to(x.dtype)


def relative_index(m, n, clip, *, device=None):
    """Number the distance from each query to each key, so that a table can be looked up with it.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    clip : int
        Distances beyond it count as it.
    device : torch.device, optional
        Where the result lives.

    Returns
    -------
    torch.Tensor of int64, shape (m, n)
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
    tensor([[1, 2, 2],
            [0, 1, 2],
            [0, 0, 1]])
    """
    clip = check_size("clip", clip)
    query, key = _positions(m, n, device)
    return (key - query).clamp(-clip, clip) + clip  # (m, n)


def t5_bucket(distance, n_buckets, max_distance, *, bidirectional=True):
    """Sort distances into buckets: one for each short distance, wider and wider ones beyond.

    Parameters
    ----------
    distance : torch.Tensor of int
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
    torch.Tensor of int64, shape of distance
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
    >>> t5_bucket(torch.tensor([-200, -16, -3, 0, 3, 16, 200]), 32, 128)
    tensor([15, 10,  3,  0, 19, 26, 31])
    """
    distance = _whole_numbers("distance", distance)
    n_side, n_single = check_buckets(n_buckets, max_distance, bidirectional)
    away = distance.abs() if bidirectional else (-distance).clamp(min=0)
    # The first distances of wide buckets grow by equal ratios; the tiny number keeps one that is whole
    # from being rounded up. Logarithms of distances would misjudge some on a device without float64.
    n_wide, ratio = n_side - n_single, max_distance / n_single
    first = [math.ceil(n_single * ratio ** ((k - 1e-9) / n_wide)) for k in range(1, n_wide)]
    first = torch.tensor(first, dtype=torch.long, device=distance.device)
    wide = n_single + torch.bucketize(away, first, right=True)
    bucket = torch.where(away < n_single, away, wide)
    return bucket + n_side * (distance > 0) if bidirectional else bucket


def alibi_slopes(n_heads, *, dtype=None, device=None):
    """Return how steeply each head's scores fall with distance, a geometric sequence.

    Parameters
    ----------
    n_heads : int
        The number of heads, at least 1.
    dtype : torch.dtype, optional
        Of the result; the default dtype when not given.
    device : torch.device, optional
        Where the result lives.

    Returns
    -------
    torch.Tensor, shape (n_heads,)
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
    tensor([0.0625, 0.0039])
    >>> alibi_slopes(3)
    tensor([0.0625, 0.0039, 0.2500])
    """
    n_heads = check_size("n_heads", n_heads, minimum=1)
    below = 1 << (n_heads.bit_length() - 1)  # the largest power of two that is not above n_heads
    steps = [8 / below * i for i in range(1, below + 1)]
    between = [8 / (2 * below) * i for i in range(1, 2 * (n_heads - below), 2)]
    slopes = [2.0**-step for step in steps + between]
    return torch.tensor(slopes, dtype=dtype, device=device)  # (n_heads,)


def alibi_bias(m, n, n_heads, *, dtype=None, device=None):
    """Lower scores in proportion to distance, each head at a slope of its own.

    Parameters
    ----------
    m, n : int
        The number of queries and of keys.
    n_heads : int
        The number of heads.
    dtype : torch.dtype, optional
        Of the result; the default dtype when not given.
    device : torch.device, optional
        Where the result lives.

    Returns
    -------
    torch.Tensor, shape (n_heads, m, n)
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
    tensor([[[-0.1250, -0.0625,  0.0000]],
    <BLANKLINE>
            [[-0.0078, -0.0039,  0.0000]]])
    """
    query, key = _positions(m, n, device)
    slopes = alibi_slopes(n_heads, dtype=dtype, device=device)[:, None, None]  # (n_heads, 1, 1)
    return slopes * -(key - query).abs()  # (n_heads, m, n)


@floating("x")
def rotary(x, positions, *, base=10000.0, layout="interleaved"):
    """Turn pairs of numbers by an angle that grows with position, before queries meet keys.

    The product of a turned query and a turned key depends on their distance only.

    Parameters
    ----------
    x : torch.Tensor, shape (..., m, d)
        Queries or keys, of even width.
    positions : torch.Tensor or list, shape (m,)
        The position of each row, or anything that broadcasts against ``(..., m)``. With a cache the
        new rows start at the number of rows stored.
    base : float
        Pair i turns by ``positions * base ** (-2i / d)``.
    layout : {"interleaved", "half"}
        Which numbers are a pair: ``(0, 1), (2, 3), …``, or ``(0, d/2), (1, d/2 + 1), …``. Weights
        trained with one do not work with the other.

    Returns
    -------
    torch.Tensor, shape (..., m, d)
        The turned rows, in the dtype of x. Angles are computed in float64, or in float32 on a
        device without it.

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

    >>> rotary(torch.tensor([[1.0, 1.0]]), [torch.pi / 2]).round(decimals=3)
    tensor([[-1.,  1.]])
    """
    positions = _real_positions(positions, x.device)
    check_rotary(x.shape, positions.shape)
    check_choice("layout", layout, ("interleaved", "half"))
    check_positive("base", base, "its powers are the wave lengths")
    angle = positions[..., None] * _frequencies(x.shape[-1], base, x.device)  # (..., m, d / 2)
    cosine, sine = angle.cos().to(x), angle.sin().to(x)
    half = x.shape[-1] // 2
    if layout == "interleaved":
        first, second = x[..., 0::2], x[..., 1::2]  # (..., m, d / 2) each
    else:
        first, second = x[..., :half], x[..., half:]
    turned = first * cosine - second * sine, first * sine + second * cosine
    if layout == "half":
        return torch.cat(turned, -1)  # (..., m, d)
    pairs = torch.stack(turned, -1)  # (..., m, d / 2, 2)
    return pairs.reshape(*pairs.shape[:-2], 2 * half)  # (..., m, d)


class HeadPositions(nn.Module):
    """What `MultiHeadAttention` asks of a scheme of positions; by itself it changes nothing.

    A scheme overrides the methods that it needs.

    Examples
    --------
    >>> scheme = HeadPositions()
    >>> x = torch.ones(2, 3, 4)
    >>> scheme.turn(x, 0) is x, scheme.bias(x, 3) is None, scheme.needs_weights
    (True, True, False)
    """

    def turn(self, x, start):
        """Return queries or keys ``(..., heads, m, d_head)`` of the positions start, start + 1, …"""
        return x

    def bias(self, query, n):
        """Return what is added to the scaled scores of the last m of n positions, or None.

        In the dtype of query, as the kernels demand of it.
        """
        return None

    def context(self, weights):
        """Return what is added to the output of each head, made from its weights, or None."""
        return None

    @property
    def needs_weights(self):
        """Whether `context` is more than None, so that no fused kernel will do."""
        return False


class RotaryPositions(HeadPositions):
    """Turn queries and keys by their positions: `rotary` as a scheme.

    Parameters
    ----------
    base : float
        See `rotary`.
    layout : {"interleaved", "half"}
        See `rotary`.

    Raises
    ------
    ValueError
        When base is not above 0 or layout another word.
    TypeError
        When base is no real number.

    References
    ----------
    Su et al. (2024), "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2.

    Examples
    --------
    >>> RotaryPositions().turn(torch.ones(1, 1, 2), start=0)
    tensor([[[1., 1.]]])
    """

    def __init__(self, *, base=10000.0, layout="interleaved"):
        super().__init__()
        check_choice("layout", layout, ("interleaved", "half"))
        check_positive("base", base, "its powers are the wave lengths")
        self.base, self.layout = base, layout

    def turn(self, x, start):
        """Return queries or keys ``(..., heads, m, d_head)``, turned."""
        positions = torch.arange(start, start + x.shape[-2], device=x.device)  # (m,)
        return rotary(x, positions, base=self.base, layout=self.layout)


class AlibiPositions(HeadPositions):
    """Lower scores in proportion to distance: `alibi_bias` as a scheme, without parameters.

    Parameters
    ----------
    n_heads : int
        The number of heads.

    Raises
    ------
    ValueError
        When n_heads is below 1.
    TypeError
        When n_heads is not a whole number.

    References
    ----------
    Press, Smith and Lewis (2022), "Train Short, Test Long: Attention with Linear Biases Enables
    Input Length Extrapolation", section 3.

    Examples
    --------
    >>> AlibiPositions(2).bias(torch.zeros(2, 1, 4), 3)[1]
    tensor([[-0.0078, -0.0039,  0.0000]])
    """

    def __init__(self, n_heads):
        super().__init__()
        self.n_heads = check_size("n_heads", n_heads, minimum=1)

    def bias(self, query, n):
        """Return ``-slope * |distance|``, ``(heads, m, n)``."""
        return alibi_bias(query.shape[-2], n, self.n_heads, dtype=query.dtype, device=query.device)


class T5Positions(HeadPositions):
    """Add a learned number to each score, by head and by `t5_bucket` of the distance.

    Parameters
    ----------
    n_heads : int
        The number of heads.
    n_buckets, max_distance, bidirectional
        See `t5_bucket`.

    Attributes
    ----------
    table : torch.nn.Parameter, shape (n_buckets, n_heads)
        The numbers; zeros at first, so that training begins without a preference.

    Raises
    ------
    ValueError
        When the sizes do not make buckets.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
    Transformer", section 2.1.

    Examples
    --------
    >>> T5Positions(2).bias(torch.zeros(2, 1, 4), 3).shape
    torch.Size([2, 1, 3])
    """

    def __init__(self, n_heads, n_buckets=32, max_distance=128, *, bidirectional=True):
        super().__init__()
        check_buckets(n_buckets, max_distance, bidirectional)
        n_heads = check_size("n_heads", n_heads, minimum=1)
        self.n_buckets, self.max_distance = n_buckets, max_distance
        self.bidirectional = bidirectional
        self.table = nn.Parameter(torch.zeros(n_buckets, n_heads))

    def bias(self, query, n):
        """Return the number of each distance, ``(heads, m, n)``."""
        query_position, key_position = _positions(query.shape[-2], n, query.device)
        bucket = t5_bucket(
            key_position - query_position,
            self.n_buckets,
            self.max_distance,
            bidirectional=self.bidirectional,
        )  # (m, n)
        table = self.table.to(query.dtype)
        return table[bucket].movedim(-1, 0)  # (m, n, heads) -> (heads, m, n)


class ShawPositions(HeadPositions):
    """Add a learned vector to each key, and to each value, by their distance from the query.

    Heads share the two tables. Nothing of the size ``m * n * d_head`` is made: each query meets
    every row of the table once, and the products are looked up by `relative_index`.

    Parameters
    ----------
    d_head : int
        The width of a head.
    clip : int
        Distances beyond it count as it.
    values : bool
        Whether values get a table too. The paper found that keys alone do as well; they also
        leave the fused kernel possible.

    Attributes
    ----------
    key_table, value_table : torch.nn.Parameter, shape (2 * clip + 1, d_head)
        The vectors; the second is None with ``values=False``.

    Raises
    ------
    ValueError
        When a size is negative.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Shaw, Uszkoreit and Vaswani (2018), "Self-Attention with Relative Position Representations",
    equations 3 and 4.

    Examples
    --------
    >>> scheme = ShawPositions(4, clip=2)
    >>> scheme.bias(torch.zeros(2, 3, 4), 5).shape, scheme.context(torch.zeros(2, 3, 5)).shape
    (torch.Size([2, 3, 5]), torch.Size([2, 3, 4]))
    """

    def __init__(self, d_head, clip, *, values=True):
        super().__init__()
        d_head = check_size("d_head", d_head)
        self.clip = check_size("clip", clip)
        rows = 2 * self.clip + 1
        scale = max(d_head, 1) ** -0.5
        self.key_table = nn.Parameter(torch.randn(rows, d_head) * scale)
        self.value_table = nn.Parameter(torch.randn(rows, d_head) * scale) if values else None

    @property
    def needs_weights(self):
        """Whether values have a table."""
        return self.value_table is not None

    def bias(self, query, n):
        """Return ``query[i] @ key_table[distance] / sqrt(d_head)``, ``(..., heads, m, n)``."""
        check_table_width("query", query.shape[-1], self.key_table.shape[1])
        table = self.key_table.to(query.dtype)
        products = query @ table.T * max(query.shape[-1], 1) ** -0.5  # (..., m, rows)
        index = relative_index(query.shape[-2], n, self.clip, device=query.device)  # (m, n)
        return products.gather(-1, index.expand(*products.shape[:-1], n))  # (..., m, n)

    def context(self, weights):
        """Return the sum of ``weights[i, j] * value_table[distance]`` over j, or None."""
        if self.value_table is None:
            return None
        m, n = weights.shape[-2:]
        index = relative_index(m, n, self.clip, device=weights.device)  # (m, n)
        by_distance = weights.new_zeros(*weights.shape[:-1], len(self.value_table))
        by_distance = by_distance.scatter_add(-1, index.expand(weights.shape), weights)
        return by_distance @ self.value_table.to(weights.dtype)  # (..., m, rows) @ (rows, d_head)


class LearnedPositions(nn.Module):
    """Add a learned vector to each embedding, by position: one row a position, none beyond.

    Parameters
    ----------
    length : int
        The number of positions.
    d_model : int
        The width.

    Attributes
    ----------
    table : torch.nn.Parameter, shape (length, d_model)
        The vectors, drawn with standard deviation 0.02.

    Raises
    ------
    ValueError
        When a size is negative.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Gehring et al. (2017), "Convolutional Sequence to Sequence Learning", section 3.1.

    Examples
    --------
    >>> LearnedPositions(8, 4)(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, length, d_model):
        super().__init__()
        shape = check_size("length", length), check_size("d_model", d_model)
        self.table = nn.Parameter(torch.randn(shape) * 0.02)

    def forward(self, x, start=0):
        """Return x plus the rows of its positions.

        Parameters
        ----------
        x : torch.Tensor, shape (..., n, d_model)
            Embeddings.
        start : int
            The position of the first.

        Returns
        -------
        torch.Tensor, shape of x

        Raises
        ------
        ValueError
            When x reaches beyond the last row, or has another width.
        """
        check_learned_positions(x.shape, check_size("start", start), self.table.shape)
        return x + self.table[start : start + x.shape[-2]]  # (..., n, d_model)


def _frequencies(width, base, device):
    """Return by how much each pair turns from one position to the next, fast to slow."""
    exponent = widest(torch.arange(0, width, 2, device=device)) / max(width, 1)
    return base**-exponent  # (width / 2,)


def _real_positions(positions, device):
    """Return positions in the widest dtype of the device, or raise the TypeError that explains them."""
    positions = torch.as_tensor(positions, device=device)
    if positions.is_complex() or positions.dtype == torch.bool:
        errors.refuse_type("positions", positions.dtype, "real", errors.NOT_POSITIONS)
    return widest(positions)


def _whole_numbers(name, tensor):
    """Return a tensor of whole numbers as int64, or refuse it."""
    tensor = torch.as_tensor(tensor)
    if tensor.numel() == 0:
        tensor = tensor.long()  # an empty list has no integer dtype of its own
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        errors.refuse_type(name, tensor.dtype, "integers", errors.NOT_DISTANCES)
    return tensor.long()
