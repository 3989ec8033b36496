"""Graph attention: each node attends to the nodes whose edges point to it.

An edge (source, target) lets the target look at the source: in the words of the other modules the
target is the query, the source is key and value, and the adjacency is the mask. Scores exist on
edges only, so time and memory grow with the number of edges, not with that of pairs.
"""

from typing import NamedTuple

import numpy as np

from .. import errors
from ..errors import (
    check_edge_index,
    check_edge_mask,
    check_edge_scores,
    check_graph_parameters,
    check_nodes,
    check_real,
    check_size,
    check_sparse_features,
)
from ._arrays import as_array, boolean_array, floating
from ._parameters import floating_layer, shapes_of

__all__ = ["SparseFeatures", "edge_softmax", "graph_attention"]


class SparseFeatures(NamedTuple):
    """A matrix of features of which most are 0, as the entries that are not.

    Here this saves memory; time only where far less than one entry in a hundred is stored. (In
    torch, a sparse tensor saves both.)

    Attributes
    ----------
    row, column : array_like of int, shape (n_stored,)
        Where each entry stands, in any order.
    value : array_like, shape (n_stored,)
        What stands there; entries at the same place are added up.
    shape : tuple of int
        Of the whole matrix, ``(n_nodes, d_in)``.

    Examples
    --------
    >>> SparseFeatures.from_dense([[0.0, 2.0], [0.0, 0.0], [3.0, 0.0]])
    SparseFeatures(row=array([0, 2]), column=array([1, 0]), value=array([2., 3.]), shape=(3, 2))
    """

    row: np.ndarray
    column: np.ndarray
    value: np.ndarray
    shape: tuple

    @classmethod
    def from_dense(cls, x):
        """Keep the entries of a matrix that are not 0.

        Parameters
        ----------
        x : array_like, shape (n_nodes, d_in)
            The matrix.

        Returns
        -------
        SparseFeatures
            The same matrix.

        Raises
        ------
        ValueError
            When x has not two axes.
        """
        x = as_array("x", x)
        check_sparse_features((0,), (0,), (0,), x.shape)  # what is found below fits together
        row, column = np.nonzero(x)
        return cls(row, column, x[row, column], x.shape)


@floating("scores")
def edge_softmax(scores, target, n_nodes, mask=None):
    """Turn scores on edges into weights that sum to one over the edges into each node.

    This is `masked_softmax` with one row a target, where the scores that a mask would hide are not
    there in the first place. A score of -inf counts as masked, +inf as the largest finite number.

    Parameters
    ----------
    scores : array_like, shape (..., E)
        One score for each edge.
    target : array_like of int, shape (E,)
        The node each edge points to, in any order; the second row of an edge_index.
    n_nodes : int
        The number of nodes.
    mask : array_like of bool, optional
        True where an edge is there; broadcasts against scores.

    Returns
    -------
    numpy.ndarray, shape (..., E)
        The weights, in the dtype of scores; sums are taken in float32 or wider. Masked edges have
        weight 0. A node without edges is an empty row: it has no weights.

    Raises
    ------
    ValueError
        When target has another length than scores, names a node that is not there, or mask does
        not broadcast.
    TypeError
        When target or n_nodes holds no whole numbers, mask is not boolean, or scores is complex or
        holds no numbers.

    References
    ----------
    Veličković et al. (2018), "Graph Attention Networks", section 2.1, equation 2.

    Examples
    --------
    >>> edge_softmax([0.0, 0.0, 5.0, 0.0, 0.0], [1, 1, 0, 1, 1], 3)
    array([0.25, 0.25, 1.  , 0.25, 0.25])
    """
    target, n_nodes = _whole_numbers("target", target), check_size("n_nodes", n_nodes)
    mask = None if mask is None else boolean_array("mask", mask)
    check_edge_scores(scores.shape, target.shape, None if mask is None else mask.shape)
    _check_nodes("target", target, n_nodes)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)  # (..., E)
    scores = np.minimum(scores, np.finfo(scores.dtype).max)  # +inf becomes the largest number
    highest = _per_node(np.maximum, scores, target, n_nodes, -np.inf)  # (..., n_nodes)
    masked = scores == -np.inf  # (..., E)
    exponentials = np.where(masked, 0, np.exp(scores - highest[..., target]))  # (..., E)
    total = _per_node(np.add, exponentials, target, n_nodes, 0)  # (..., n_nodes)
    return np.where(masked, 0, exponentials / total[..., target])  # (..., E), 0 in place of 0 / 0


def graph_attention(
    x,
    edge_index,
    parameters,
    *,
    kind="gat",
    add_self_loops=True,
    edge_mask=None,
    negative_slope=0.2,
    average_heads=False,
    return_weights=False,
):
    """Let each node attend, in several heads, to the nodes whose edges point to it.

    With ``z = x @ w_source`` in each head and ``r = x @ w_target``, the score of the edge from j to
    i is::

        gat      leaky_relu(a_target · r_i + a_source · z_j)
        gatv2    a · leaky_relu(r_i + z_j)

    and the output of node i the sum of ``z_j``, weighted by the softmax over the edges into i. In
    the first, all nodes rank their neighbours in the same order (static attention): the target only
    adds a number before a monotone function. In the second, which is additive attention with
    another bend than tanh, the target can change the order.

    Parameters
    ----------
    x : array_like, shape (..., n_nodes, d_in), or SparseFeatures
        The features of the nodes. Leading axes are other features on the same graph.
    edge_index : array_like of int, shape (2, E)
        Sources above targets. An edge that is there twice counts twice, as two keys that are equal
        do; a boolean mask could say it once only.
    parameters : mapping of str to array_like
        ``w_source (d_in, n_heads * d_head)`` and, for gat, ``a_source`` and ``a_target (n_heads,
        d_head)``, for gatv2 ``a (n_heads, d_head)``. As far as there are any, ``w_target`` of the
        shape of w_source (without it, targets share w_source and b_source), the biases
        ``b_source`` and ``b_target (n_heads * d_head,)`` of the projections, and ``b_output``, as
        wide as the output.
    kind : {"gat", "gatv2"}
        Which score.
    add_self_loops : bool
        Let each node see itself by exactly one edge: self loops in edge_index, one or more, are
        taken out, and one for each node is added. False: edges are as given.
    edge_mask : array_like of bool, shape (E,), optional
        True where an edge given is there. Self loops that are added always are.
    negative_slope : float
        The slope of leaky_relu below 0.
    average_heads : bool
        Hand out the mean of the heads, as a last layer does, instead of the heads side by side.
    return_weights : bool
        Return the weights of each head too.

    Returns
    -------
    output : numpy.ndarray, shape (..., n_nodes, n_heads * d_head) or (..., n_nodes, d_head)
        In the widest float dtype given. Where a node has no edge that points to it: ``b_output``.
    weights : numpy.ndarray, shape (..., n_heads, E) or (..., n_heads, E + n_nodes)
        Only with ``return_weights=True``: the weights of the edges in the order given, 0 where an
        edge is masked or taken out, and then those of the self loops added, node by node.

    Raises
    ------
    ValueError
        When edge_index is not ``(2, E)`` or names a node that is not there, edge_mask has another
        length, kind is another word, or a parameter is missing, unknown or of the wrong shape.
    TypeError
        When edge_index holds no whole numbers, edge_mask is not boolean, parameters is no mapping,
        or an argument is complex.

    References
    ----------
    Veličković et al. (2018), "Graph Attention Networks", section 2.1; Brody, Alon and Yahav (2022),
    "How Attentive are Graph Attention Networks?", sections 2 and 3.

    Examples
    --------
    Node 2 sees nodes 0 and 1 equally; nothing points to the others.

    >>> parameters = {"w_source": np.eye(2), "a": np.zeros((1, 2))}
    >>> x = [[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]
    >>> graph_attention(x, [[0, 1], [2, 2]], parameters, kind="gatv2", add_self_loops=False)
    array([[0. , 0. ],
           [0. , 0. ],
           [0.5, 0.5]])
    """
    place = None
    if isinstance(x, SparseFeatures):  # numbers and their places part, so that only numbers convert
        x, place = x.value, x
    return _graph_attention(
        x,
        edge_index,
        parameters,
        place,
        kind,
        add_self_loops,
        edge_mask,
        negative_slope,
        average_heads,
        return_weights,
    )


@floating_layer("x")
def _graph_attention(
    x,
    edge_index,
    parameters,
    place,
    kind,
    add_self_loops,
    edge_mask,
    negative_slope,
    average_heads,
    return_weights,
):
    """Do what `graph_attention` says with arrays of one dtype."""
    shape = x.shape if place is None else _sparse_shape(x, place)
    n_heads, d_head = check_graph_parameters(kind, shape, shapes_of(parameters), average_heads)
    check_real("negative_slope", negative_slope)
    n_nodes = shape[-2]
    edges = _edges(edge_index, n_nodes, edge_mask, add_self_loops)

    def project(side):
        weight = parameters[f"w_{side}"]
        projected = x @ weight if place is None else _sparse_product(x, place, weight)
        projected = projected + parameters.get(f"b_{side}", 0)  # (..., n_nodes, n_heads * d_head)
        return projected.reshape(*projected.shape[:-1], n_heads, d_head)

    z = project("source")  # (..., n_nodes, n_heads, d_head)
    r = project("target") if "w_target" in parameters else z  # (..., n_nodes, n_heads, d_head)
    scores = (_gat_scores if kind == "gat" else _gatv2_scores)(
        z, r, edges, parameters, negative_slope
    )  # (..., n_heads, edges)
    weights = edge_softmax(scores, edges.target, n_nodes)  # (..., n_heads, edges)
    output = _weighted_sum(weights, z, edges)  # (..., n_nodes, n_heads, d_head)
    wide = (*output.shape[:-2], n_heads * d_head)
    merged = output.mean(-2) if average_heads else output.reshape(wide)
    output = merged + parameters.get("b_output", 0)  # (..., n_nodes, d_out)
    return (output, _as_given(weights, edges)) if return_weights else output


class _Edges(NamedTuple):
    """The edges that count, sorted by target, and where each stands among those handed out."""

    source: np.ndarray
    target: np.ndarray
    column: np.ndarray
    n_columns: int


def _edges(edge_index, n_nodes, edge_mask, add_self_loops):
    """Return the edges that count: without masked ones, with one self loop a node or as given."""
    edge_index = _whole_numbers("edge_index", edge_index)
    check_edge_index(edge_index.shape)
    _check_nodes("edge_index", edge_index, n_nodes)
    source, target = edge_index  # (E,) each
    kept = np.ones(len(source), bool)
    if edge_mask is not None:
        kept = boolean_array("edge_mask", edge_mask)
        check_edge_mask(kept.shape, len(source))
    if add_self_loops:
        nodes = np.arange(n_nodes)
        kept = np.concatenate([kept & (source != target), nodes >= 0])  # (E + n_nodes,)
        source, target = np.concatenate([source, nodes]), np.concatenate([target, nodes])
    column = np.flatnonzero(kept)  # (edges,), at most E + n_nodes
    column = column[np.argsort(target[column], kind="stable")]
    return _Edges(source[column], target[column], column, len(source))


def _gat_scores(z, r, edges, parameters, negative_slope):
    """Return ``leaky_relu(a_target · r_i + a_source · z_j)`` for each edge: two numbers a node."""
    in_node = "...nhd,hd->...hn"  # to (..., n_heads, n_nodes)
    of_source = np.einsum(in_node, z, parameters["a_source"])
    of_target = np.einsum(in_node, r, parameters["a_target"])
    total = of_target[..., edges.target] + of_source[..., edges.source]
    return _leaky_relu(total, negative_slope)  # (..., n_heads, edges)


def _gatv2_scores(z, r, edges, parameters, negative_slope):
    """Return ``a · leaky_relu(r_i + z_j)`` for each edge: a whole row an edge."""
    total = r[..., edges.target, :, :] + z[..., edges.source, :, :]  # (..., edges, n_heads, d_head)
    bent = _leaky_relu(total, negative_slope)
    return np.einsum("...ehd,hd->...he", bent, parameters["a"])  # (..., n_heads, edges)


def _leaky_relu(x, negative_slope):
    """Return x, numbers below 0 times the slope."""
    return np.where(x > 0, x, negative_slope * x)


def _weighted_sum(weights, z, edges):
    """Add up, in each node, the rows of its sources times the weights of its edges.

    A weight of 0 silences its row, even NaN and infinity.
    """
    z = np.moveaxis(z, -3, -1)  # (..., n_heads, d_head, n_nodes)
    weights = weights[..., None, :]  # (..., n_heads, 1, edges)
    messages = np.where(weights == 0, 0, weights * z[..., edges.source])
    sums = _per_node(np.add, messages, edges.target, z.shape[-1], 0)
    return np.moveaxis(sums, -1, -3)  # (..., n_nodes, n_heads, d_head)


def _as_given(weights, edges):
    """Return weights in the order in which edges were given, 0 for those that do not count."""
    given = np.zeros((*weights.shape[:-1], edges.n_columns), weights.dtype)
    given[..., edges.column] = weights
    return given  # (..., n_heads, E), or E + n_nodes


def _per_node(reduce, x, target, n_nodes, empty):
    """Reduce ``(..., E)`` over the edges of each target to ``(..., n_nodes)``; `empty` without edges.

    Why it is fast: edges sorted by target are runs, and along the last axis NumPy reduces a run in
    one go.
    """
    if np.any(target[1:] < target[:-1]):
        order = np.argsort(target, kind="stable")
        x, target = x[..., order], target[order]
    result = np.full((*x.shape[:-1], n_nodes), empty, x.dtype)
    first = np.flatnonzero(np.diff(target, prepend=-1))  # where each run begins
    if len(first):
        result[..., target[first]] = reduce.reduceat(np.ascontiguousarray(x), first, axis=-1)
    return result


def _sparse_shape(value, place):
    """Return the shape of sparse features, or refuse places that do not fit."""
    row, column = _whole_numbers("row", place.row), _whole_numbers("column", place.column)
    check_sparse_features(row.shape, column.shape, value.shape, place.shape)
    _check_nodes("row", row, place.shape[0])
    _check_nodes("column", column, place.shape[1])
    return tuple(place.shape)


def _sparse_product(value, place, weight):
    """Return ``x @ weight`` for sparse x: each stored number takes one row of the weight along."""
    row, column = _whole_numbers("row", place.row), _whole_numbers("column", place.column)
    products = value * weight.T[:, column]  # (d_out, n_stored)
    return _per_node(np.add, products, row, place.shape[0], 0).T  # (n_nodes, d_out)


def _check_nodes(name, numbers, n_nodes):
    """Refuse numbers outside ``0 … n_nodes - 1``."""
    if numbers.size:
        check_nodes(name, numbers.min(), numbers.max(), n_nodes)


def _whole_numbers(name, array):
    """Return an array of whole numbers as int64, or refuse it."""
    array = as_array(name, array)
    if array.size == 0:
        array = array.astype(np.int64)  # an empty list has no integer dtype of its own
    if array.dtype.kind not in "iu":
        errors.refuse_type(name, array.dtype, "integers", errors.NOT_NODES)
    return array.astype(np.int64, copy=False)
