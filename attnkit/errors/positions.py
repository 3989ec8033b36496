"""Checks of positions, distances and their tables."""

from .arguments import check_axes, check_size, keeps_last_axes

__all__ = [
    "BETWEEN",
    "NOT_DISTANCES",
    "NOT_POSITIONS",
    "check_buckets",
    "check_learned_positions",
    "check_rotary",
    "check_table_width",
]

BETWEEN = "sines and cosines lie between -1 and 1"
NOT_POSITIONS = "a position is a number, counted from 0 (np.arange(m), torch.arange(m))"
NOT_DISTANCES = "a distance is the position of a key minus that of a query, both counted in tokens"


def check_rotary(x, positions):
    """Refuse an odd width, or positions that do not belong to the rows of x.

    Parameters
    ----------
    x, positions : tuple of int
        Shapes ``(..., m, d)`` and one that broadcasts against ``(..., m)``.

    Raises
    ------
    ValueError
        When the width is odd, an axis is missing or the shapes do not fit.

    Examples
    --------
    >>> check_rotary((2, 5, 4), (3,))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: positions has shape (3,) but x of shape (2, 5, 4) has the rows (2, 5); ...
    """
    check_axes("x", x, "(..., m, d)")
    if x[-1] % 2:
        raise ValueError(
            f"x has the odd width {x[-1]} in shape {tuple(x)}; rotary turns pairs of numbers, "
            f"so the width of a head must be even ({x[-1] - 1} or {x[-1] + 1} would do)"
        )
    if not keeps_last_axes(positions, x[:-1], 1):
        raise ValueError(
            f"positions has shape {tuple(positions)} but x of shape {tuple(x)} has the rows {tuple(x[:-1])}; "
            "one position for each row is needed (with a cache, those of the new rows only: "
            "start at the number of rows stored)"
        )


def check_buckets(n_buckets, max_distance, bidirectional):
    """Return the buckets of one direction and how many of them hold a single distance.

    Parameters
    ----------
    n_buckets, max_distance : int
        What came.
    bidirectional : bool
        Whether half of the buckets are for keys after the query.

    Returns
    -------
    n_side, n_single : int
        Buckets on one side, and those of one distance each.

    Raises
    ------
    TypeError
        When a size is no whole number.
    ValueError
        When there are too few buckets, or max_distance leaves nothing for the wide ones.

    Examples
    --------
    >>> check_buckets(32, 128, True)
    (16, 8)
    >>> check_buckets(32, 16, False)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: max_distance must be above 16 but is 16; ...
    """
    n_buckets = check_size("n_buckets", n_buckets, minimum=4 if bidirectional else 2)
    n_side = n_buckets // 2 if bidirectional else n_buckets
    n_single = n_side // 2
    if check_size("max_distance", max_distance) <= n_single:
        raise ValueError(
            f"max_distance must be above {n_single} but is {max_distance}; of {n_buckets} buckets, "
            f"{n_single} hold one distance each, and the wide ones begin after them"
        )
    return n_side, n_single


def check_table_width(name, width, table_width):
    """Refuse rows that are not as wide as the learned table they meet.

    Parameters
    ----------
    name : str
        The argument.
    width, table_width : int
        Its width and the table's.

    Raises
    ------
    ValueError
        When they differ.

    Examples
    --------
    >>> check_table_width("x", 3, 4)
    Traceback (most recent call last):
    ValueError: x has width 3 but the table has width 4; was it made for another d_model or d_head?
    """
    if width != table_width:
        raise ValueError(
            f"{name} has width {width} but the table has width {table_width}; "
            "was it made for another d_model or d_head?"
        )


def check_learned_positions(x, start, table):
    """Refuse embeddings that reach beyond a learned table, or of another width.

    Parameters
    ----------
    x : tuple of int
        Shape ``(..., n, d_model)``.
    start : int
        The position of the first row.
    table : tuple of int
        Shape ``(length, d_model)``.

    Raises
    ------
    ValueError
        When they do not fit.

    Examples
    --------
    >>> check_learned_positions((2, 5, 4), 4, (8, 4))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: x has length 5 from position 4 on but the table has 8 positions; ...
    """
    check_axes("x", x, "(..., n, d_model)")
    check_table_width("x", x[-1], table[1])
    if start + x[-2] > table[0]:
        raise ValueError(
            f"x has length {x[-2]} from position {start} on but the table has {table[0]} positions; "
            "a learned table knows nothing beyond the positions it was made for"
        )
