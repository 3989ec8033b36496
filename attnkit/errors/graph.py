"""Checks of graphs: their edges, the scores on edges, and the parameters of graph attention."""

from .arguments import (
    check_axes,
    check_choice,
    check_parameter,
    keeps_last_axes,
    why_names_lack,
)
from .heads import check_bias

__all__ = [
    "KINDS",
    "NOT_GEOMETRIC",
    "NOT_NODES",
    "check_edge_index",
    "check_edge_mask",
    "check_edge_scores",
    "check_graph_parameters",
    "check_nodes",
    "check_sparse_features",
    "refuse_geometric",
]

KINDS = ("gat", "gatv2")
NOT_NODES = "nodes are numbered from 0 to n_nodes - 1 (node names need a dictionary first)"
NOT_GEOMETRIC = (
    "from_geometric copies the parameters of these two classes; others compute other things"
)


def check_edge_index(shape):
    """Refuse edges that are not two rows, sources above targets.

    Parameters
    ----------
    shape : tuple of int
        The shape of edge_index.

    Raises
    ------
    ValueError
        When it is not ``(2, E)``.

    Examples
    --------
    >>> check_edge_index((7, 2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: edge_index needs the shape (2, E) but has shape (7, 2); ...
    """
    if len(shape) != 2 or shape[0] != 2:
        cause = "its first row holds sources, its second targets, one column an edge"
        if len(shape) == 2 and shape[1] == 2:
            cause = "one row an edge becomes one column an edge with edge_index.T"
        elif len(shape) == 2 and shape[0] == shape[1]:
            cause = (
                "it seems to be a dense adjacency matrix, whose edges are the places of its entries"
            )
        raise ValueError(f"edge_index needs the shape (2, E) but has shape {tuple(shape)}; {cause}")


def check_nodes(name, lowest, highest, n_nodes):
    """Refuse numbers of nodes that are not there.

    Parameters
    ----------
    name : str
        The argument.
    lowest, highest : int
        The range of what came.
    n_nodes : int
        How many nodes there are.

    Raises
    ------
    ValueError
        When the range leaves ``0 … n_nodes - 1``.

    Examples
    --------
    >>> check_nodes("edge_index", 1, 4, 4)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: edge_index must lie between 0 and 3 (4 nodes) but reaches from 1 to 4; ...
    """
    if lowest < 0 or highest >= n_nodes:
        cause = "is a node missing, or does the numbering begin at 1?"
        if lowest < 0:
            cause = "a negative number, often padding, is no node: leave those edges out"
        room = f"between 0 and {n_nodes - 1} ({n_nodes} nodes)" if n_nodes else "nowhere (0 nodes)"
        raise ValueError(f"{name} must lie {room} but reaches from {lowest} to {highest}; {cause}")


def check_edge_mask(shape, n_edges):
    """Refuse a mask that does not hold one entry for each edge.

    Parameters
    ----------
    shape : tuple of int
        The shape of edge_mask.
    n_edges : int
        The number of edges given.

    Raises
    ------
    ValueError
        When it is not ``(E,)``.

    Examples
    --------
    >>> check_edge_mask((4,), 7)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: edge_mask has shape (4,) but edge_index has 7 edges; ...
    """
    if tuple(shape) != (n_edges,):
        raise ValueError(
            f"edge_mask has shape {tuple(shape)} but edge_index has {n_edges} edges; "
            f"it needs the shape ({n_edges},), one entry for each edge given "
            "(self loops that are added are always there)"
        )


def check_edge_scores(scores, target, mask=None):
    """Refuse scores, targets and a mask that do not have one entry for each edge.

    Parameters
    ----------
    scores, target : tuple of int
        Shapes ``(..., E)`` and ``(E,)``.
    mask : tuple of int, optional
        A shape that broadcasts against ``(..., E)``.

    Raises
    ------
    ValueError
        When the numbers of edges differ, or an axis is missing.

    Examples
    --------
    >>> check_edge_scores((8, 5), (4,))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: target has shape (4,) but scores of shape (8, 5) have 5 edges; ...
    """
    check_axes("scores", scores, "(..., E)")
    if tuple(target) != (scores[-1],):
        cause = "one target for each edge, the edges being the last axis of scores"
        if len(scores) > 1 and len(target) == 1 and scores[0] == target[0]:
            cause = "edges are the last axis of scores, after the heads: scores.T"
        elif len(target) == 2 and target[0] == 2:
            cause = "of edge_index the second row are the targets: edge_index[1]"
        raise ValueError(
            f"target has shape {tuple(target)} but scores of shape {tuple(scores)} have {scores[-1]} edges; {cause}"
        )
    if mask is not None and not keeps_last_axes(mask, scores, 1):
        raise ValueError(
            f"mask has shape {tuple(mask)}, which does not broadcast against scores of shape {tuple(scores)}; "
            "its last axis are the edges, True where one is there"
        )


def check_graph_parameters(kind, x, parameters, average_heads):
    """Return the number of heads and their width, or refuse parameters that make no graph attention.

    Parameters
    ----------
    kind : str
        ``"gat"`` or ``"gatv2"``.
    x : tuple of int
        The shape of the nodes' features, ``(..., n_nodes, d_in)``.
    parameters : mapping from str to tuple of int
        Their shapes by name.
    average_heads : bool
        Whether the output is as wide as one head.

    Returns
    -------
    n_heads, d_head : int
        The sizes.

    Raises
    ------
    ValueError
        When kind is another word, a parameter is missing or unknown, or a shape does not fit.

    Examples
    --------
    >>> check_graph_parameters("gatv2", (7, 5), {"w_source": (5, 6), "a": (2, 3)}, False)
    (2, 3)
    """
    check_choice("kind", kind, KINDS)
    check_axes("x", x, "(..., n_nodes, d_in)")
    vectors = ("a_source", "a_target") if kind == "gat" else ("a",)
    _check_graph_names(kind, parameters, ("w_source", *vectors))
    for name in vectors:
        check_axes(name, parameters[name], "(n_heads, d_head)")
    n_heads, d_head = parameters[vectors[0]]
    if n_heads == 0:
        raise ValueError(f"{vectors[0]} has shape (0, {d_head}); at least one head is needed")
    for name in vectors[1:]:
        check_parameter(name, parameters[name], n_heads=n_heads, d_head=d_head)
    merged = n_heads * d_head
    for side in ("source", "target"):
        name = f"w_{side}"
        if name in parameters:
            check_axes(name, parameters[name], "(d_in, n_heads * d_head)")
            if parameters[name][0] != x[-1] != parameters[name][1] == merged:
                raise ValueError(
                    f"x has width {x[-1]} but {name} has shape {tuple(parameters[name])}, for features "
                    f"of width {parameters[name][0]}; heads side by side are n_heads times as wide as "
                    "their average: is this layer made for what the layer before it hands out?"
                )
            check_parameter(name, parameters[name], d_in=x[-1], **{"n_heads * d_head": merged})
        check_bias(f"b_{side}", parameters, merged)
    check_bias("b_output", parameters, d_head if average_heads else merged)
    return n_heads, d_head


def _check_graph_names(kind, given, needed):
    """Refuse a mapping that lacks a name, or holds one that nobody reads."""
    optional = ("w_target", "b_source", "b_target", "b_output")
    told = f"kind {kind!r} needs {', '.join(needed)}, and may hold {', '.join(optional)}"
    missing = [name for name in needed if name not in given]
    unknown = [str(name) for name in given if name not in (*needed, *optional)]
    if missing:
        raise ValueError(
            f"parameters lacks {', '.join(missing)}; {told}; {why_names_lack(unknown)}"
        )
    if unknown:
        raise ValueError(f"parameters holds {', '.join(unknown)}, which nobody reads; {told}")
    if "b_target" in given and "w_target" not in given:
        raise ValueError(
            "parameters holds b_target but no w_target; without w_target, targets share both w_source and b_source"
        )


def check_sparse_features(row, column, value, shape):
    """Refuse stored entries of a matrix that do not come in triples.

    Parameters
    ----------
    row, column, value : tuple of int
        The shapes of the three.
    shape : tuple of int
        The shape of the matrix they stand for.

    Raises
    ------
    ValueError
        When the three differ in length, or the matrix has not two axes.

    Examples
    --------
    >>> check_sparse_features((3,), (3,), (2,), (4, 5))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: x has row (3,), column (3,) and value (2,); ...
    """
    if not (len(row) == 1 and tuple(row) == tuple(column) == tuple(value)):
        raise ValueError(
            f"x has row {tuple(row)}, column {tuple(column)} and value {tuple(value)}; "
            "each stored entry has one of each"
        )
    if len(shape) != 2:
        raise ValueError(
            f"x has the shape {tuple(shape)}; sparse features are one matrix, (n_nodes, d_in), with no leading axes"
        )


def refuse_geometric(name, value, reason):
    """Raise the ValueError for a foreign module with a feature that is not ours.

    Parameters
    ----------
    name : str
        The argument of the foreign module.
    value : object
        What it is there.
    reason : str
        Why it cannot be loaded.

    Raises
    ------
    ValueError
        Always.

    Examples
    --------
    >>> refuse_geometric("edge_dim", 3, "features of edges have no place here")
    Traceback (most recent call last):
    ValueError: module has edge_dim=3; features of edges have no place here
    """
    raise ValueError(f"module has {name}={value!r}; {reason}")
