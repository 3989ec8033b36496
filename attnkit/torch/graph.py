"""Graph attention: each node attends to the nodes whose edges point to it.

An edge (source, target) lets the target look at the source: in the words of the other modules the
target is the query, the source is key and value, and the adjacency is the mask. Scores exist on
edges only, so time and memory grow with the number of edges, not with that of pairs.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from .. import errors
from ..errors import (
    check_choice,
    check_edge_index,
    check_edge_mask,
    check_edge_scores,
    check_graph_parameters,
    check_heads,
    check_nodes,
    check_probability,
    check_real,
    check_size,
)
from ._parameters import floating_layer, shapes_of
from ._tensors import _check_tensor, boolean_tensor, floating

__all__ = ["GraphAttention", "edge_softmax", "graph_attention"]

_MODERATE = 20.0  # scores up to this size need no subtraction before exp, in float32 either
_IN_CACHE = 1 << 16  # numbers in a block of edges


@floating("scores")
def edge_softmax(scores, target, n_nodes, mask=None):
    """Turn scores on edges into weights that sum to one over the edges into each node.

    This is `masked_softmax` with one row a target, where the scores that a mask would hide are not
    there in the first place. A score of -inf counts as masked, +inf as the largest finite number.

    Parameters
    ----------
    scores : torch.Tensor, shape (..., E)
        One score for each edge.
    target : torch.Tensor of int, shape (E,)
        The node each edge points to, in any order; the second row of an edge_index.
    n_nodes : int
        The number of nodes.
    mask : torch.Tensor of bool, optional
        True where an edge is there; broadcasts against scores.

    Returns
    -------
    torch.Tensor, shape (..., E)
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
    >>> scores, target = torch.tensor([0.0, 0.0, 5.0, 0.0, 0.0]), torch.tensor([1, 1, 0, 1, 1])
    >>> edge_softmax(scores, target, 3)
    tensor([0.2500, 0.2500, 1.0000, 0.2500, 0.2500])
    """
    target, n_nodes = _whole_numbers("target", target), check_size("n_nodes", n_nodes)
    mask = None if mask is None else boolean_tensor("mask", mask)
    check_edge_scores(scores.shape, target.shape, None if mask is None else mask.shape)
    _check_nodes("target", target, n_nodes)
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)  # (..., E)
    if _are_moderate(scores):
        exponentials = scores.exp()  # (..., E)
    else:
        scores = scores.clamp(max=torch.finfo(scores.dtype).max)  # +inf becomes the largest number
        masked = scores == -torch.inf  # (..., E)
        highest = _highest(scores.detach(), target, n_nodes)  # (..., n_nodes)
        shifted = (scores - highest.index_select(-1, target)).masked_fill(masked, 0)  # (..., E)
        exponentials = shifted.exp().masked_fill(masked, 0)  # (..., E), none above 1
    total = scores.new_zeros(*scores.shape[:-1], n_nodes).index_add(-1, target, exponentials)
    total = total.masked_fill(total == 0, 1)  # (..., n_nodes), for 0 in place of 0 / 0
    return exponentials / total.index_select(-1, target)  # (..., E)


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
    x : torch.Tensor, shape (..., n_nodes, d_in)
        The features of the nodes. Leading axes are other features on the same graph. A sparse
        tensor (as ``to_sparse`` or ``to_sparse_csr`` makes it, without leading axes) is multiplied
        as such: where nearly all features are 0, that saves nearly all of the projection.
        Gradients reach the weights, and the numbers stored.
    edge_index : torch.Tensor of int, shape (2, E)
        Sources above targets. An edge that is there twice counts twice, as two keys that are equal
        do; a boolean mask could say it once only.
    parameters : mapping of str to torch.Tensor
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
    edge_mask : torch.Tensor of bool, shape (E,), optional
        True where an edge given is there. Self loops that are added always are.
    negative_slope : float
        The slope of leaky_relu below 0.
    average_heads : bool
        Hand out the mean of the heads, as a last layer does, instead of the heads side by side.
    return_weights : bool
        Return the weights of each head too.

    Returns
    -------
    output : torch.Tensor, shape (..., n_nodes, n_heads * d_head) or (..., n_nodes, d_head)
        In the widest float dtype given. Where a node has no edge that points to it: ``b_output``.
    weights : torch.Tensor, shape (..., n_heads, E) or (..., n_heads, E + n_nodes)
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

    Notes
    -----
    Derivatives have derivatives, too. Of `torch.func`, `grad` works; forward derivatives and `vmap`
    raise torch's errors.

    References
    ----------
    Veličković et al. (2018), "Graph Attention Networks", section 2.1; Brody, Alon and Yahav (2022),
    "How Attentive are Graph Attention Networks?", sections 2 and 3.

    Examples
    --------
    Node 2 sees nodes 0 and 1 equally; nothing points to the others.

    >>> parameters = {"w_source": torch.eye(2), "a": torch.zeros(1, 2)}
    >>> x, edges = torch.tensor([[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]), torch.tensor([[0, 1], [2, 2]])
    >>> graph_attention(x, edges, parameters, kind="gatv2", add_self_loops=False)
    tensor([[0.0000, 0.0000],
            [0.0000, 0.0000],
            [0.5000, 0.5000]])
    """
    return _graph_attention(
        x,
        edge_index,
        parameters,
        kind,
        add_self_loops,
        edge_mask,
        negative_slope,
        average_heads,
        return_weights,
        dropout=0.0,
    )


class GraphAttention(nn.Module):
    """Let each node attend, in several heads, to the nodes whose edges point to it; with parameters.

    Parameters
    ----------
    d_in : int
        The width of the features that go in.
    d_out : int
        The width of what comes out. Heads side by side share it evenly, ``d_out / n_heads`` each;
        with average_heads each head has all of it.
    n_heads : int
        The number of heads.
    kind : {"gat", "gatv2"}
        Which score; see `graph_attention`.
    average_heads : bool
        Hand out the mean of the heads instead of the heads side by side.
    share_weights : bool, optional
        Whether targets are projected as sources are. When not given, as the papers have it: True
        for gat, False for gatv2.
    bias : bool
        Whether a bias is added to the output and, for gatv2, to the projections.
    add_self_loops : bool
        Let each node see itself by exactly one edge, instead of the self loops given.
    negative_slope : float
        The slope of leaky_relu below 0.
    dropout : float
        The share of the weights that is dropped, in training only.

    Attributes
    ----------
    w_source : torch.nn.Parameter, shape (d_in, n_heads * d_head)
        The projection of the nodes that are looked at.
    w_target : torch.nn.Parameter or None
        The projection of those that look, where it is another.
    a_source, a_target : torch.nn.Parameter, shape (n_heads, d_head)
        The vectors of the score, for gat.
    a : torch.nn.Parameter, shape (n_heads, d_head)
        The vector of the score, for gatv2.
    b_source, b_target, b_output : torch.nn.Parameter or None
        Biases, zeros at first.

    Raises
    ------
    ValueError
        When n_heads does not divide d_out where heads stand side by side, kind is another word, or
        dropout is no share.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Veličković et al. (2018), "Graph Attention Networks", section 2.1; Brody, Alon and Yahav (2022),
    "How Attentive are Graph Attention Networks?", section 3.

    Examples
    --------
    >>> attention = GraphAttention(5, 12, 4, kind="gatv2")
    >>> output, weights = attention(
    ...     torch.ones(3, 5), torch.tensor([[0, 1], [2, 2]]), return_weights=True
    ... )
    >>> output.shape, weights.shape
    (torch.Size([3, 12]), torch.Size([4, 5]))
    """

    def __init__(
        self,
        d_in,
        d_out,
        n_heads,
        *,
        kind="gat",
        average_heads=False,
        share_weights=None,
        bias=True,
        add_self_loops=True,
        negative_slope=0.2,
        dropout=0.0,
    ):
        super().__init__()
        check_choice("kind", kind, errors.KINDS)
        check_real("negative_slope", negative_slope)
        self.d_in, self.kind, self.average_heads = check_size("d_in", d_in), kind, average_heads
        self.d_out = check_size("d_out", d_out)
        if average_heads:
            self.n_heads = check_size("n_heads", n_heads, minimum=1)
            self.d_head = self.d_out
        else:
            _, self.n_heads, _ = check_heads(self.d_out, n_heads, name="d_out")
            self.d_head = self.d_out // self.n_heads
        self.add_self_loops, self.negative_slope = add_self_loops, negative_slope
        self.dropout = check_probability("dropout", dropout)
        width, heads = self.n_heads * self.d_head, (self.n_heads, self.d_head)
        own_target = not (kind == "gat" if share_weights is None else share_weights)
        shapes = {
            "w_source": (self.d_in, width),
            "w_target": (self.d_in, width) if own_target else None,
            "a_source": heads if kind == "gat" else None,
            "a_target": heads if kind == "gat" else None,
            "a": heads if kind == "gatv2" else None,
            "b_source": (width,) if bias and kind == "gatv2" else None,
            "b_target": (width,) if bias and kind == "gatv2" and own_target else None,
            "b_output": (self.d_out,) if bias else None,
        }
        for name, shape in shapes.items():
            self.register_parameter(
                name, None if shape is None else nn.Parameter(torch.empty(shape))
            )
        self.reset_parameters()

    def reset_parameters(self):
        """Draw projections and vectors anew (Glorot and Bengio, 2010) and set biases to zero."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name.startswith("b_"):
                    parameter.zero_()
                else:
                    bound = (6 / max(sum(parameter.shape), 1)) ** 0.5
                    parameter.uniform_(-bound, bound)

    def extra_repr(self):
        """What is printed between the brackets."""
        return (
            f"{self.d_in}, {self.d_out}, {self.n_heads}, kind={self.kind!r}, "
            f"average_heads={self.average_heads}, share_weights={self.w_target is None}, "
            f"bias={self.b_output is not None}, add_self_loops={self.add_self_loops}, "
            f"negative_slope={self.negative_slope}, dropout={self.dropout}"
        )

    def forward(self, x, edge_index, *, edge_mask=None, return_weights=False):
        """Attend.

        Parameters
        ----------
        x : torch.Tensor, shape (..., n_nodes, d_in)
            The features of the nodes; also a sparse tensor, as ``to_sparse``
            makes it.
        edge_index : torch.Tensor of int, shape (2, E)
            Sources above targets. An edge that is there twice counts twice.
        edge_mask : torch.Tensor of bool, shape (E,), optional
            True where an edge given is there. Self loops that are added always are.
        return_weights : bool
            Return the weights of each head too.

        Returns
        -------
        output : torch.Tensor, shape (..., n_nodes, d_out)
            In the wider dtype of features and parameters. Where a node has no edge that points to
            it: ``b_output``.
        weights : torch.Tensor, shape (..., n_heads, E) or (..., n_heads, E + n_nodes)
            Only with ``return_weights=True``; those that made the output, so after dropout: of the
            edges in the order given, 0 where one is masked or taken out, then of the self loops
            added.

        Raises
        ------
        ValueError
            When a width or shape does not fit, or edge_index names a node that is not there.
        TypeError
            When edge_index holds no whole numbers, edge_mask is not boolean, or an argument is
            complex or no tensor.
        """
        return _graph_attention(
            x,
            edge_index,
            self.parameter_mapping(),
            self.kind,
            self.add_self_loops,
            edge_mask,
            self.negative_slope,
            self.average_heads,
            return_weights,
            dropout=self.dropout if self.training else 0.0,
        )

    def parameter_mapping(self):
        """Return the parameters as `graph_attention` takes them: those that there are, not copies."""
        return dict(self.named_parameters(remove_duplicate=False))

    @classmethod
    def from_geometric(cls, module):
        """Make one that gives the numbers of a `GATConv` or `GATv2Conv` of torch_geometric.

        Parameters
        ----------
        module : torch_geometric.nn.GATConv or torch_geometric.nn.GATv2Conv
            Its parameters are copied. Its ``out_channels`` is the width of one head.

        Returns
        -------
        GraphAttention
            In its dtype, on its device, in its training mode.

        Raises
        ------
        ValueError
            When module takes features of edges, adds a residual, sums in another way or against the
            edges, has another width for targets, or has not met its features yet.
        TypeError
            When it is something else.
        """
        names = {"GATConv": "gat", "GATv2Conv": "gatv2"}
        families = [
            names[family.__name__]
            for family in type(module).__mro__
            if family.__name__ in names and family.__module__.startswith("torch_geometric.")
        ]
        if not families:
            errors.refuse_type(
                "module",
                type(module).__name__,
                "a GATConv or GATv2Conv of torch_geometric",
                errors.NOT_GEOMETRIC,
            )
        _check_geometric(module)
        kind, n_heads, width = families[0], module.heads, module.out_channels
        d_in = module.in_channels if isinstance(module.in_channels, int) else module.in_channels[0]
        if kind == "gat":
            shared = module.lin is not None
            source = module.lin if shared else module.lin_src
            target = None if shared else module.lin_dst
            vectors = {"a_source": module.att_src, "a_target": module.att_dst}
        else:
            shared = module.share_weights
            source, target = module.lin_l, None if shared else module.lin_r
            vectors = {"a": module.att}
        theirs = {"w_source": source.weight.T, "b_source": source.bias, "b_output": module.bias}
        if target is not None:  # their linear layers store the transpose
            theirs |= {"w_target": target.weight.T, "b_target": target.bias}
        theirs |= {name: vector[0] for name, vector in vectors.items()}
        ours = cls(
            d_in,
            n_heads * width if module.concat else width,
            n_heads,
            kind=kind,
            average_heads=not module.concat,
            share_weights=shared,
            bias=module.bias is not None,
            add_self_loops=module.add_self_loops,
            negative_slope=module.negative_slope,
            dropout=module.dropout,
        ).to(source.weight)
        with torch.no_grad():
            for name, parameter in ours.named_parameters():
                parameter.copy_(theirs[name])
        return ours.train(module.training)


@floating_layer("x")
def _graph_attention(
    x,
    edge_index,
    parameters,
    kind,
    add_self_loops,
    edge_mask,
    negative_slope,
    average_heads,
    return_weights,
    *,
    dropout,
):
    """Do what `graph_attention` says with tensors of one dtype, and drop weights."""
    n_heads, _ = check_graph_parameters(kind, x.shape, shapes_of(parameters), average_heads)
    check_real("negative_slope", negative_slope)
    n_nodes = x.shape[-2]
    edges = _edges(edge_index, n_nodes, edge_mask, add_self_loops)
    z, r = _projections(x, parameters, edges, n_heads)  # (..., n_nodes, n_heads, d_head) each
    scores = (_gat_scores if kind == "gat" else _gatv2_scores)(
        z, r, edges, parameters, negative_slope
    )  # (..., n_heads, edges)
    weights = edge_softmax(scores, edges.target, n_nodes)  # (..., n_heads, edges)
    if dropout > 0:
        weights = F.dropout(weights, dropout)
    output = _weighted_sum(weights, z, edges)  # (..., n_nodes, n_heads, d_head)
    output = output.mean(-2) if average_heads else output.flatten(-2)  # (..., n_nodes, d_out)
    if "b_output" in parameters:
        output = output + parameters["b_output"]
    return (output, _as_given(weights, edges)) if return_weights else output


class _Edges(NamedTuple):
    """The edges that count, sorted by target, and where each stands among those handed out."""

    source: torch.Tensor
    target: torch.Tensor
    column: torch.Tensor
    n_columns: int


def _edges(edge_index, n_nodes, edge_mask, add_self_loops):
    """Return the edges that count: without masked ones, with one self loop a node or as given."""
    edge_index = _whole_numbers("edge_index", edge_index)
    check_edge_index(edge_index.shape)
    _check_nodes("edge_index", edge_index, n_nodes)
    source, target = edge_index  # (E,) each
    kept = None
    if edge_mask is not None:
        kept = boolean_tensor("edge_mask", edge_mask)
        check_edge_mask(kept.shape, len(source))
    if add_self_loops:
        nodes = torch.arange(n_nodes, device=source.device)
        others = source != target  # (E,)
        kept = torch.cat([others if kept is None else others & kept, nodes >= 0])  # (E + n_nodes,)
        source, target = torch.cat([source, nodes]), torch.cat([target, nodes])
    if kept is None or kept.all():
        column = _order(target, n_nodes)  # (edges,)
    else:
        column = kept.nonzero()[:, 0]  # (edges,), fewer than E + n_nodes
        column = column[_order(target[column], n_nodes)]
    return _Edges(source[column], target[column], column, len(source))


def _projections(x, parameters, edges, n_heads):
    """Return what is looked at and what looks, ``x @ w + b`` in heads; the same where they share w."""
    if x.layout != torch.strided:
        x = _stored(x)

    def project(x, side):
        z = _product(x, parameters[f"w_{side}"])  # (..., n_nodes, n_heads * d_head)
        return z + parameters[f"b_{side}"] if f"b_{side}" in parameters else z

    def both(x):
        z = project(x, "source")
        return z, project(x, "target") if "w_target" in parameters else z

    z, r = both(x)
    if not (_all_finite(z) and (r is z or _all_finite(r))):
        # A NaN of a node without any edge reaches no output, but would reach the gradient of the
        # weights as 0 times NaN.
        z, r = both(_hide(x, edges))
    d_head = z.shape[-1] // n_heads
    return z.unflatten(-1, (n_heads, d_head)), r.unflatten(-1, (n_heads, d_head))


def _gat_scores(z, r, edges, parameters, negative_slope):
    """Return ``leaky_relu(a_target · r_i + a_source · z_j)`` for each edge: two numbers a node."""
    in_node = "...nhd,hd->...hn"  # to (..., n_heads, n_nodes)
    of_source = torch.einsum(in_node, z, parameters["a_source"])
    of_target = torch.einsum(in_node, r, parameters["a_target"])
    total = of_target.index_select(-1, edges.target) + of_source.index_select(-1, edges.source)
    return F.leaky_relu(total, negative_slope)  # (..., n_heads, edges)


def _gatv2_scores(z, r, edges, parameters, negative_slope):
    """Return ``a · leaky_relu(r_i + z_j)`` for each edge: a whole row an edge."""
    total = r.index_select(-3, edges.target) + z.index_select(-3, edges.source)
    bent = F.leaky_relu(total, negative_slope)  # (..., edges, n_heads, d_head)
    return torch.einsum("...ehd,hd->...he", bent, parameters["a"])  # (..., n_heads, edges)


def _weighted_sum(weights, z, edges):
    """Add up, in each node, the rows of its sources times the weights of its edges.

    A weight of 0 silences its row, even NaN and infinity; where all rows are finite, the fast form
    gives the same.
    """
    n_nodes = z.shape[-3]
    if _all_finite(z):
        # Leading axes are further heads: the same edges hold for all of them.
        lead = z.shape[:-3]
        rows = z.movedim(-3, 0)  # (n_nodes, ..., n_heads, d_head)
        heads = rows.shape[1:-1].numel()
        sums = _SumOverEdges.apply(
            weights.reshape(heads, weights.shape[-1]),
            rows.reshape(n_nodes, heads, z.shape[-1]),
            edges.source,
            edges.target,
            n_nodes,
        )  # (n_nodes, all heads, d_head)
        return sums.view(n_nodes, *lead, *z.shape[-2:]).movedim(0, -3)
    weights = weights.mT[..., None]  # (..., edges, n_heads, 1)
    rows = z.index_select(-3, edges.source).masked_fill(weights == 0, 0)  # (..., edges, n_heads, ·)
    return torch.zeros_like(z).index_add(-3, edges.target, weights * rows)


def _as_given(weights, edges):
    """Return weights in the order in which edges were given, 0 for those that do not count."""
    given = weights.new_zeros(*weights.shape[:-1], edges.n_columns)
    return given.index_copy(-1, edges.column, weights)  # (..., n_heads, E), or E + n_nodes


class _SumOverEdges(torch.autograd.Function):
    """Sum, in each target and head, ``weight * row of the source``; edges are sorted by target.

    Tensors: weights (heads, edges), rows (n_sources, heads, width); result (n_targets, heads,
    width). The gradient of the rows is the same sum with sources and targets exchanged, so that
    gradients have gradients, too.
    """

    @staticmethod
    def forward(weights, rows, source, target, n_targets):
        return _sum_in_bags(weights, rows, source, target, n_targets)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:4])

    @staticmethod
    def backward(ctx, of_sums):
        weights, rows, source, target = ctx.saved_tensors
        of_weights = of_rows = None
        if ctx.needs_input_grad[0]:
            of_weights = _products_on_edges(of_sums, rows, source, target)
        if ctx.needs_input_grad[1]:
            order = _order(source, len(rows))
            of_rows = _SumOverEdges.apply(
                weights.index_select(1, order), of_sums, target[order], source[order], len(rows)
            )
        return of_weights, of_rows, None, None, None


def _sum_in_bags(weights, rows, source, target, n_targets):
    """Return the sums of `_SumOverEdges`.

    Why it is fast: a target's edges are a run, so that torch's `embedding_bag` (made for sums of
    rows of a table) reads each row where it lies, and adds it up in registers. Gathering the rows
    and adding them by `index_add` writes and reads an array of edges × heads × width twice.
    """
    n_heads, width = rows.shape[1:]
    n_edges = len(source)
    if min(n_edges, n_targets, n_heads, width) == 0:
        return rows.new_zeros(n_targets, n_heads, width)
    largest = n_heads * max(n_edges, len(rows))
    head = torch.arange(n_heads, device=rows.device)[:, None]
    counts = torch.bincount(target, minlength=n_targets)
    begin = counts.cumsum(0) - counts  # (n_targets,), the first edge of each
    dtype = torch.int32 if largest < 2**31 else torch.int64  # half the indices to read
    sums = F.embedding_bag(
        (source * n_heads + head).flatten().to(dtype),  # (heads * edges,), rows of the table
        rows.reshape(-1, width),  # (n_sources * heads, width)
        (begin + n_edges * head).flatten().to(dtype),  # (heads * n_targets,)
        mode="sum",
        per_sample_weights=weights.flatten(),
    )  # (heads * n_targets, width)
    return sums.view(n_heads, n_targets, width).transpose(0, 1).contiguous()


def _products_on_edges(of_sums, rows, source, target):
    """Return, for each head and edge, the product of the target's row of `of_sums` and the source's.

    Why it is fast: the gathered rows of a block of edges stay in cache.
    """
    if torch.is_grad_enabled():  # somebody wants the derivative of this
        return (of_sums.index_select(0, target) * rows.index_select(0, source)).sum(-1).T
    n_edges, of_node = len(source), max(1, rows.shape[1:].numel())
    block = max(1, _IN_CACHE // of_node if rows.is_cpu else n_edges)
    products = rows.new_empty(n_edges, rows.shape[1])
    for begin in range(0, n_edges, block):
        part = slice(begin, begin + block)
        pairs = of_sums.index_select(0, target[part]) * rows.index_select(0, source[part])
        torch.sum(pairs, -1, out=products[part])  # (block, heads)
    return products.T


class _Stored(NamedTuple):
    """The entries of a sparse matrix, sorted by row."""

    row: torch.Tensor
    column: torch.Tensor
    value: torch.Tensor
    shape: tuple


def _stored(x):
    """Return the entries of a sparse tensor of two axes, differentiable."""
    if x.dim() != 2 or x.layout not in (torch.sparse_coo, torch.sparse_csr) or x.dense_dim():
        errors.refuse_type(
            "x",
            f"{x.layout} of shape {tuple(x.shape)}",
            "dense, or a sparse_coo or sparse_csr tensor of two axes",
            "x.to_sparse() makes one",
        )
    if x.layout == torch.sparse_coo:
        x = x.coalesce()
        row, column = x.indices()
    else:
        row = torch.arange(x.shape[0], device=x.device).repeat_interleave(x.crow_indices().diff())
        column = x.col_indices()
    return _Stored(row, column, x.values(), tuple(x.shape))


def _product(x, weight):
    """Return ``x @ weight``; for sparse x each stored number takes one row of the weight along.

    Why it is fast: autograd makes the gradient of a weight that lies in memory by columns as
    ``gradient.T @ x``, which is twice as fast, for many features, as ``x.T @ gradient``.
    """
    if isinstance(x, torch.Tensor):
        learned = weight.requires_grad and torch.is_grad_enabled()
        return x @ (weight.T.contiguous().T if learned else weight)
    rows = weight[:, None]  # (d_in, 1, d_out): one head
    return _SumOverEdges.apply(x.value[None], rows, x.column, x.row, x.shape[0])[:, 0]


def _hide(x, edges):
    """Return features that are 0 at nodes without any edge."""
    n_nodes = x.shape[-2]
    touched = torch.zeros(n_nodes, dtype=torch.bool, device=edges.source.device)
    touched[edges.source] = touched[edges.target] = True
    if isinstance(x, torch.Tensor):
        return torch.where(touched[:, None], x, 0)
    return x._replace(value=torch.where(touched[x.row], x.value, 0))


def _all_finite(x):
    """Whether nothing is NaN or infinite, in one pass: a NaN becomes the smallest and the largest."""
    return x.numel() == 0 or all(bound.isfinite() for bound in x.detach().aminmax())


def _order(numbers, n):
    """Return the order that sorts whole numbers below n and keeps equal ones as they stand.

    Why it is fast: two bytes are sorted by radix, without comparisons, which is what NumPy does for
    any count of them and torch for large counts only.
    """
    if n > 2**15:
        return numbers.argsort(stable=True)
    narrow = numbers.to(torch.int16)
    if not narrow.is_cpu:
        return narrow.argsort(stable=True)
    try:
        return torch.from_numpy(np.argsort(narrow.numpy(), kind="stable"))
    except RuntimeError:  # inside a transformation of torch.func nothing can be handed to NumPy
        return narrow.argsort(stable=True)


def _are_moderate(scores):
    """Whether exp of all scores, its sums and their inverse are far from the ends of float32."""
    return scores.numel() == 0 or bool(scores.detach().abs().max() <= _MODERATE)  # NaN: False


def _highest(scores, target, n_nodes):
    """Return the largest score of each target, -inf where there is none."""
    highest = scores.new_full((*scores.shape[:-1], n_nodes), -torch.inf)
    return highest.scatter_reduce(-1, target.expand_as(scores), scores, "amax")


def _check_geometric(module):
    """Refuse a module of torch_geometric whose numbers ours cannot give."""
    if module.edge_dim is not None:
        errors.refuse_geometric("edge_dim", module.edge_dim, "features of edges have no place here")
    if module.residual:
        errors.refuse_geometric("residual", True, "add x @ w to the output yourself")
    if module.aggr not in ("add", "sum"):
        errors.refuse_geometric("aggr", module.aggr, "attention is a weighted sum")
    if module.flow != "source_to_target":
        errors.refuse_geometric(
            "flow", module.flow, "exchange the rows instead: edge_index.flip(0)"
        )
    widths = module.in_channels
    if isinstance(widths, int):
        widths = (widths, widths)
    if widths[0] != widths[1]:
        errors.refuse_geometric(
            "in_channels", widths, "sources and targets are the same nodes here"
        )
    if widths[0] == -1:
        errors.refuse_geometric("in_channels", module.in_channels, "run it on features first")


def _check_nodes(name, numbers, n_nodes):
    """Refuse numbers outside ``0 … n_nodes - 1``."""
    if numbers.numel():
        lowest, highest = torch.aminmax(numbers)
        check_nodes(name, int(lowest), int(highest), n_nodes)


def _whole_numbers(name, tensor):
    """Return a tensor of whole numbers as int64, or refuse it."""
    _check_tensor(name, tensor)
    if tensor.numel() == 0:
        return tensor.long()  # an empty tensor is a float if nobody says otherwise
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        errors.refuse_type(name, tensor.dtype, "integers", errors.NOT_NODES)
    return tensor.long()
