"""Graph attention: loops = NumPy = torch = torch_geometric = dense attention under the adjacency; laws, edges, errors."""

import inspect
import itertools
import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

import attnkit.numpy.graph
import attnkit.torch.graph
from attnkit.bench import peak_memory
from tests.attnkit.backends import NUMPY, TORCH, normal, random_mask
from tests.attnkit.test_cases import g
from tests.tolerances import assert_close

GraphAttention = TORCH.functions.GraphAttention
SparseFeatures = NUMPY.functions.SparseFeatures
KINDS = ("gat", "gatv2")
each_kind = pytest.mark.parametrize("kind", KINDS)
N, D_IN, HEADS, D_HEAD = 6, 5, 3, 4
# Node 5 has no edge at all, node 3 none that points to it; one edge is there twice, one is a loop.
EDGES = np.array([[0, 1, 2, 3, 3, 4, 1, 1, 4], [1, 0, 0, 0, 4, 1, 2, 2, 4]])


# The specification, as loops over nodes and edges.


def loop_edge_softmax(scores, target, n_nodes, mask=None):
    weights = np.zeros(len(target))
    for node in range(n_nodes):
        seen = [
            e
            for e in range(len(target))
            if target[e] == node and (mask is None or mask[e]) and scores[e] != -math.inf
        ]
        if not seen:
            continue
        highest = max(scores[e] for e in seen)
        total = sum(math.exp(scores[e] - highest) for e in seen)
        for e in seen:
            weights[e] = math.exp(scores[e] - highest) / total
    return weights


def loop_graph_attention(
    x, edge_index, parameters, edge_mask=None, *, kind, add_self_loops, negative_slope, average
):
    n_nodes, n_edges = len(x), edge_index.shape[1]
    n_heads, d_head = parameters["a" if kind == "gatv2" else "a_source"].shape
    edges = []  # (column among the weights, source, target)
    for e in range(n_edges):
        source, target = edge_index[:, e]
        if (edge_mask is None or edge_mask[e]) and not (add_self_loops and source == target):
            edges.append((e, source, target))
    if add_self_loops:
        edges += [(n_edges + node, node, node) for node in range(n_nodes)]

    def project(side, node, column):
        total = parameters[f"b_{side}"][column] if f"b_{side}" in parameters else 0.0
        for a in range(x.shape[1]):
            total += x[node, a] * parameters[f"w_{side}"][a, column]
        return total

    def bend(number):
        return number if number > 0 else negative_slope * number

    looks = "target" if "w_target" in parameters else "source"
    weights = np.zeros((n_heads, n_edges + (n_nodes if add_self_loops else 0)))
    heads = np.zeros((n_nodes, n_heads, d_head))
    for h in range(n_heads):
        scores = []
        for _, j, i in edges:
            score = 0.0
            for c in range(d_head):
                of_source = project("source", j, h * d_head + c)
                of_target = project(looks, i, h * d_head + c)
                if kind == "gat":
                    score += parameters["a_source"][h, c] * of_source
                    score += parameters["a_target"][h, c] * of_target
                else:
                    score += parameters["a"][h, c] * bend(of_source + of_target)
            scores.append(bend(score) if kind == "gat" else score)
        of_edges = loop_edge_softmax(scores, [i for _, _, i in edges], n_nodes)
        for weight, (column, j, i) in zip(of_edges, edges, strict=True):
            weights[h, column] = weight
            for c in range(d_head):
                heads[i, h, c] += weight * project("source", j, h * d_head + c)
    output = heads.mean(1) if average else heads.reshape(n_nodes, n_heads * d_head)
    return output + parameters.get("b_output", 0.0), weights


def drawn_parameters(
    kind,
    d_in=D_IN,
    n_heads=HEADS,
    d_head=D_HEAD,
    *,
    own_target=None,
    biases=True,
    average=False,
):
    """Return NumPy parameters of these sizes."""
    width = n_heads * d_head
    names = {"w_source": (d_in, width)}
    if kind == "gatv2" if own_target is None else own_target:
        names["w_target"] = (d_in, width)
    names |= dict.fromkeys(
        ["a"] if kind == "gatv2" else ["a_source", "a_target"], (n_heads, d_head)
    )
    if biases:
        names |= {"b_" + name[2:]: (width,) for name in names if name.startswith("w_")}
        names["b_output"] = (d_head if average else width,)
    return {name: normal(100 + i, *shape) for i, (name, shape) in enumerate(names.items())}


def run(backend, x, edge_index, parameters, dtype="float64", **keywords):
    """Run graph_attention of a back end on NumPy inputs and return NumPy results."""
    keywords = {
        name: backend.array(value) if isinstance(value, np.ndarray) else value
        for name, value in keywords.items()
    }
    parameters = {name: backend.array(value, dtype) for name, value in parameters.items()}
    result = backend.functions.graph_attention(
        backend.array(x, dtype), backend.array(edge_index), parameters, **keywords
    )
    return tuple(map(backend.numpy, result)) if isinstance(result, tuple) else backend.numpy(result)


def sparse(backend, x, layout="csr"):
    """Return a matrix in the sparse form of a back end."""
    if backend is NUMPY:
        return SparseFeatures.from_dense(x)
    x = torch.from_numpy(x)
    if layout == "triples":
        return x.to_sparse()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first CSR tensor of a process announces a beta state
        return x.to_sparse_csr()


def mostly_zero(seed, *shape):
    return normal(seed, *shape) * random_mask(seed + 1, *shape, keep=0.3)


def drawn_module(kind="gat", seed=0, **keywords):
    """Return a module in float64 whose biases are not zero, in evaluation mode."""
    torch.manual_seed(seed)
    module = GraphAttention(D_IN, HEADS * D_HEAD, HEADS, kind=kind, **keywords).double()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.startswith("b_"):
                parameter.normal_()
    return module.eval()


def tensor(seed, *shape):
    return torch.from_numpy(normal(seed, *shape))


class TestEdgeSoftmax:
    @given(
        lead=st.sampled_from([(), (3,), (2, 3), (0,)]),
        n_nodes=st.integers(1, 5),
        n_edges=st.integers(0, 9),
        scale=st.sampled_from([1.0, 15.0, 1e4]),
        masked=st.booleans(),
        seed=st.integers(0, 1000),
    )
    def test_loops_numpy_torch(self, lead, n_nodes, n_edges, scale, masked, seed):
        target = np.random.default_rng(seed).integers(0, n_nodes, n_edges)
        scores = scale * normal(seed, *lead, n_edges)
        mask = random_mask(seed, *lead, n_edges) if masked else None
        expected = np.zeros(scores.shape)
        for index in np.ndindex(lead):
            of_item = None if mask is None else mask[index]
            expected[index] = loop_edge_softmax(scores[index], target, n_nodes, of_item)
        for backend in (NUMPY, TORCH):
            weights = backend.functions.edge_softmax(
                backend.array(scores),
                backend.array(target),
                n_nodes,
                None if mask is None else backend.array(mask),
            )
            assert_close(backend.numpy(weights), expected, "weights")

    def test_is_masked_softmax_of_the_dense_scores(self, backend):
        adjacency = random_mask(1, 7, 5, keep=0.4)  # (target, source)
        adjacency[3] = False  # a target without edges
        dense = 8 * normal(2, 3, 7, 5)
        target, source = np.nonzero(adjacency)
        order = np.random.default_rng(3).permutation(len(target))
        target, source = target[order], source[order]
        functions = backend.functions
        weights = functions.edge_softmax(
            backend.array(dense[:, target, source]), backend.array(target), 7
        )
        of_dense = functions.masked_softmax(backend.array(dense), backend.array(adjacency))
        assert_close(backend.numpy(weights), backend.numpy(of_dense)[:, target, source], "weights")

    @pytest.mark.parametrize("scale", [1.0, 1e3])
    def test_weights_of_a_node_sum_to_one(self, backend, scale):
        target = np.array([4, 0, 2, 0, 4, 4, 1, 0])
        weights = backend.functions.edge_softmax(
            backend.array(scale * normal(1, 2, 8)), backend.array(target), 6
        )
        sums = np.zeros((2, 6))
        for edge, node in enumerate(target):
            sums[:, node] += backend.numpy(weights)[:, edge]
        assert_close(sums, np.array([[1.0, 1, 1, 0, 1, 0]] * 2), "weights")

    @pytest.mark.parametrize("shift", [1.0, 30.0, -30.0, 700.0, -700.0, 1e4])
    def test_a_shift_of_a_node_changes_nothing(self, backend, shift):
        """Also where scores are too large for exp, or exp of all of them would vanish."""
        scores, target = np.array([0.0, 0.5, -0.25, 0.75]), np.array([0, 1, 0, 1])
        plain, moved = (
            backend.numpy(
                backend.functions.edge_softmax(
                    backend.array(s, "float32"), backend.array(target), 2
                )
            )
            for s in (scores, scores + shift * (target == 0))
        )
        assert_close(moved, plain, "weights", "float32")
        assert plain.min() > 0.3

    def test_infinite_scores(self, backend):
        inf = math.inf
        scores = np.array([inf, 2.0, inf, -inf, -inf, 3.0, -inf])
        target = np.array([0, 0, 0, 1, 1, 2, 2])
        weights = backend.functions.edge_softmax(backend.array(scores), backend.array(target), 3)
        assert backend.numpy(weights).tolist() == [0.5, 0, 0.5, 0, 0, 1, 0]

    def test_nan_stays_with_its_target(self, backend):
        weights = backend.functions.edge_softmax(
            backend.array(np.array([np.nan, 1.0, 1.0, 2.0])),
            backend.array(np.array([1, 0, 0, 1])),
            2,
        )
        assert np.isnan(backend.numpy(weights)).tolist() == [True, False, False, True]
        assert backend.numpy(weights)[1:3].tolist() == [0.5, 0.5]

    @pytest.mark.parametrize("scale", [1.0, 50.0])
    def test_gradients(self, scale):
        target = torch.tensor([2, 0, 2, 0, 2, 4])
        mask = torch.tensor([True, True, True, False, False, False])
        scores = (scale * tensor(1, 2, 6)).requires_grad_()
        for given_mask in (None, mask):
            assert gradcheck(
                lambda s, m=given_mask: TORCH.functions.edge_softmax(s, target, 5, m), [scores]
            )

    def test_masked_scores_get_no_gradient(self):
        scores = torch.tensor([1.0, math.nan, math.inf, -math.inf, 2.0], requires_grad=True)
        target, mask = torch.tensor([0, 0, 1, 1, 0]), torch.tensor([True, False, False, True, True])
        weights = TORCH.functions.edge_softmax(scores, target, 2, mask)
        (weights * torch.arange(5)).sum().backward()
        assert weights[1:4].tolist() == [0, 0, 0]
        assert scores.grad[1:4].tolist() == [0, 0, 0]
        assert scores.grad[0] == -scores.grad[4] != 0

    def test_dtypes(self, backend):
        target = backend.array(np.array([0, 1, 0]))
        for dtype in backend.dtypes:
            scores = backend.array(np.array([3.0, -2.0, 2.5]), dtype)
            weights = backend.functions.edge_softmax(scores, target, 2)
            assert backend.dtype_name(weights) == dtype
            high = 1 / (1 + math.exp(-0.5))
            assert_close(backend.numpy(weights), [high, 1, 1 - high], "weights", dtype)
        whole = backend.functions.edge_softmax(backend.array(np.array([3, 2, 3])), target, 2)
        assert backend.dtype_name(whole) == backend.default


class TestAgainstLoops:
    @given(
        kind=st.sampled_from(KINDS),
        lead=st.sampled_from([(), (2,), (2, 1)]),
        n_nodes=st.integers(1, 5),
        n_edges=st.integers(0, 10),
        sizes=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3)),
        own_target=st.booleans(),
        biases=st.booleans(),
        average=st.booleans(),
        loops=st.booleans(),
        masked=st.booleans(),
        slope=st.sampled_from([0.2, 0.0, 1.5]),
        scale=st.sampled_from([1.0, 30.0]),
        seed=st.integers(0, 1000),
    )
    def test_loops_numpy_torch(
        self,
        kind,
        lead,
        n_nodes,
        n_edges,
        sizes,
        own_target,
        biases,
        average,
        loops,
        masked,
        slope,
        scale,
        seed,
    ):
        d_in, n_heads, d_head = sizes
        parameters = drawn_parameters(
            kind, d_in, n_heads, d_head, own_target=own_target, biases=biases, average=average
        )
        edge_index = np.random.default_rng(seed).integers(0, n_nodes, (2, n_edges))
        edge_mask = random_mask(seed, n_edges) if masked else None
        x = scale * normal(seed, *lead, n_nodes, d_in)
        options = {"kind": kind, "add_self_loops": loops, "negative_slope": slope}
        expected = [
            loop_graph_attention(
                x[index], edge_index, parameters, edge_mask, average=average, **options
            )
            for index in np.ndindex(lead)
        ]
        for backend in (NUMPY, TORCH):
            results = run(
                backend,
                x,
                edge_index,
                parameters,
                edge_mask=edge_mask,
                average_heads=average,
                return_weights=True,
                **options,
            )
            for result, of_items, operation in zip(
                results, zip(*expected, strict=True), ("layer", "weights_of_layer"), strict=True
            ):
                of_items = np.array(of_items).reshape(lead + of_items[0].shape)
                assert_close(result, of_items, operation if scale == 1 else "layer")
            alone = run(
                backend,
                x,
                edge_index,
                parameters,
                edge_mask=edge_mask,
                average_heads=average,
                **options,
            )
            np.testing.assert_array_equal(alone, results[0])

    @each_kind
    @pytest.mark.parametrize("layout", ["csr", "triples"])
    def test_sparse_features_give_the_same(self, backend, kind, layout):
        parameters = drawn_parameters(kind, 7)
        x = mostly_zero(1, N, 7)
        x[2] = 0  # a node without any feature
        given = {name: backend.array(value) for name, value in parameters.items()}
        result = backend.functions.graph_attention(
            sparse(backend, x, layout), backend.array(EDGES), given, kind=kind
        )
        assert_close(backend.numpy(result), run(NUMPY, x, EDGES, parameters, kind=kind), "layer")

    def test_sparse_entries_in_any_order_add_up(self, backend):
        """Entry (1, 0) is there twice, and rows are not in order."""
        row, column, value = [3, 1, 0, 1], [1, 0, 1, 0], [5.0, 2.0, 1.0, 0.5]
        dense = np.array([[0, 1.0], [2.5, 0], [0, 0], [0, 5.0]])
        parameters = drawn_parameters("gat", 2)
        if backend is NUMPY:
            x = SparseFeatures(row, column, value, (4, 2))
        else:
            x = torch.sparse_coo_tensor(
                [row, column], torch.tensor(value).double(), (4, 2), check_invariants=True
            )
        result = backend.functions.graph_attention(
            x,
            backend.array(EDGES[:, :4]),
            {name: backend.array(value) for name, value in parameters.items()},
        )
        assert_close(backend.numpy(result), run(NUMPY, dense, EDGES[:, :4], parameters), "layer")

    @each_kind
    def test_is_dense_attention_with_the_adjacency_as_mask(self, backend, kind):
        """Scores of all pairs, masked, through this library's own attention."""
        functions = backend.functions
        adjacency = random_mask(1, N, N, keep=0.4)  # (target, source): who looks at whom
        adjacency[2] = False
        parameters = drawn_parameters(kind, biases=False, own_target=True)
        x = normal(2, N, D_IN)
        z = (x @ parameters["w_source"]).reshape(N, HEADS, D_HEAD).swapaxes(0, 1)
        r = (x @ parameters["w_target"]).reshape(N, HEADS, D_HEAD).swapaxes(0, 1)  # (heads, n, d)

        def bend(numbers):
            return np.where(numbers > 0, numbers, 0.2 * numbers)

        if kind == "gat":
            of_target = (r * parameters["a_target"][:, None]).sum(-1)[:, :, None]
            of_source = (z * parameters["a_source"][:, None]).sum(-1)[:, None, :]
            scores = bend(of_target + of_source)  # (heads, targets, sources)
        else:
            pairs = bend(r[:, :, None] + z[:, None, :])
            scores = (pairs * parameters["a"][:, None, None]).sum(-1)
        context, dense_weights = functions.attend(
            backend.array(scores), backend.array(z), backend.array(adjacency), return_weights=True
        )
        edge_index = np.stack(np.nonzero(adjacency.T))  # sources above targets
        output, weights = run(
            backend,
            x,
            edge_index,
            parameters,
            kind=kind,
            add_self_loops=False,
            return_weights=True,
        )
        assert_close(output, backend.numpy(functions.merge_heads(context)), "output")
        source, target = edge_index
        of_edges = backend.numpy(dense_weights)[:, target, source]
        assert_close(weights, of_edges, "weights_of_layer")
        assert not output[2].any()


CASE_33 = np.array([[0, 1, 2, 1], [1, 2, 1, 1]])
OF_CASE_33 = {
    "w_source": np.eye(2),  # the case begins after the projection
    "a_source": np.array([[0.5, -0.25]]),
    "a_target": np.array([[1, 0.75]]),
}


class TestCases:
    def test_33_graph_attention(self, backend):
        for dtype in ("float64", "float32"):
            output = run(backend, g(1, 4, 2), CASE_33, OF_CASE_33, dtype, add_self_loops=False)
            right = [[0, 0], [0.119546, 0.227348], [-0.44252, -0.982453], [0, 0]]
            assert_close(output, right, "printed", dtype)
            assert not output[[0, 3]].any()

    def test_33_reversed_edges_are_another_graph(self, backend):
        output = run(backend, g(1, 4, 2), CASE_33[::-1], OF_CASE_33, add_self_loops=False)
        assert_close(output[0], [-0.44252, -0.982453], "printed")

    def test_33_large_scores(self, backend):
        """Two sources at ±1e4 and one target: all the weight on the larger."""
        x = np.array([[1e4], [-1e4], [0.0]])
        parameters = {name: np.ones((1, 1)) for name in ("w_source", "a_source", "a_target")}
        for dtype in ("float64", "float32"):
            output, weights = run(
                backend,
                x,
                np.array([[0, 1], [2, 2]]),
                parameters,
                dtype,
                add_self_loops=False,
                return_weights=True,
            )
            assert weights.tolist() == [[1, 0]]
            assert output.tolist() == [[0], [0], [1e4]]

    def test_a_duplicated_edge_counts_twice(self, backend):
        x, parameters = normal(1, 3, D_IN), drawn_parameters("gat")
        once, twice = np.array([[0, 1], [2, 2]]), np.array([[0, 1, 0], [2, 2, 2]])
        options = {"add_self_loops": False, "return_weights": True}
        _, single = run(backend, x, once, parameters, **options)
        _, double = run(backend, x, twice, parameters, **options)
        share = 2 * single[:, 0] / (2 * single[:, 0] + single[:, 1])
        assert_close(double[:, 0] + double[:, 2], share, "weights_of_layer")
        np.testing.assert_array_equal(double[:, 0], double[:, 2])

    def test_static_attention_is_gats_alone(self):
        """Two targets between two sources: gat ranks the sources alike for both, gatv2 need not."""
        edges = np.array([[0, 1, 0, 1], [2, 2, 3, 3]])
        x = np.array([[1.0, -1.0], [-1.0, 1.0], [2.0, -2.0], [-2.0, 2.0]])
        options = {"add_self_loops": False, "return_weights": True}
        ours = {"w_source": np.eye(2), "a": np.ones((1, 2))}
        _, weights = run(NUMPY, x, edges, ours, kind="gatv2", **options)
        assert weights[0, 0] > weights[0, 1]
        assert weights[0, 2] < weights[0, 3]
        for seed in range(30):
            vectors = {"a_source": normal(seed, 1, 2), "a_target": normal(seed + 50, 1, 2)}
            _, weights = run(NUMPY, x, edges, {"w_source": np.eye(2)} | vectors, **options)
            assert (weights[0, 0] > weights[0, 1]) == (weights[0, 2] > weights[0, 3])


class TestSelfLoops:
    @each_kind
    def test_loops_given_are_replaced_by_one_each(self, backend, kind):
        parameters, x = drawn_parameters(kind), normal(1, N, D_IN)
        output, weights = run(backend, x, EDGES, parameters, kind=kind, return_weights=True)
        own = np.tile(np.arange(N), (2, 1))
        proper = EDGES[:, EDGES[0] != EDGES[1]]
        by_hand, of_hand = run(
            backend,
            x,
            np.concatenate([proper, own], 1),
            parameters,
            kind=kind,
            add_self_loops=False,
            return_weights=True,
        )
        assert_close(output, by_hand, "layer")
        assert weights.shape == (HEADS, EDGES.shape[1] + N)
        assert not weights[:, 8].any()  # the loop that was given
        assert_close(np.delete(weights, 8, 1), of_hand, "weights_of_layer")

    def test_without_edges_a_node_sees_itself(self, backend):
        parameters = drawn_parameters("gat")
        x = normal(1, 3, D_IN)
        output, weights = run(backend, x, np.zeros((2, 0), int), parameters, return_weights=True)
        of_nodes = x @ parameters["w_source"] + parameters["b_source"] + parameters["b_output"]
        assert_close(output, of_nodes, "layer")
        assert weights.tolist() == np.ones((HEADS, 3)).tolist()

    def test_loops_as_given(self, backend):
        """Two loops at one node count twice, when none is added."""
        parameters, x = drawn_parameters("gat"), normal(1, 2, D_IN)
        _, weights = run(
            backend,
            x,
            np.array([[0, 0, 1], [0, 0, 0]]),
            parameters,
            add_self_loops=False,
            return_weights=True,
        )
        assert weights.shape == (HEADS, 3)
        np.testing.assert_array_equal(weights[:, 0], weights[:, 1])
        assert (weights > 0).all()


def geometric(name, *arguments, **keywords):
    """Return a module of torch_geometric in float64 whose biases are not zero."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its import uses parts of torch that are to go
        import torch_geometric.nn
    torch.manual_seed(3)
    module = getattr(torch_geometric.nn, name)(*arguments, **keywords).double()
    with torch.no_grad():
        for parameter in module.parameters():
            if not torch.nn.parameter.is_lazy(parameter) and parameter.dim() == 1:
                parameter.normal_()
    return module.eval()


GRAPHS = {
    "mixed": EDGES,
    "bidirectional": np.array([[0, 1, 1, 2, 4, 5], [1, 0, 2, 1, 5, 4]]),
    "loops twice": np.array([[2, 2, 2, 0], [2, 2, 0, 2]]),
    "no edges": np.zeros((2, 0), int),
}
FOREIGN = {
    "GATConv": {},
    "GATConv-average": {"concat": False},
    "GATConv-slope": {"negative_slope": 0.5, "bias": False},
    "GATv2Conv": {},
    "GATv2Conv-average": {"concat": False},
    "GATv2Conv-shared": {"share_weights": True},
    "GATv2Conv-bare": {"share_weights": True, "bias": False, "negative_slope": 0.1},
}


class TestGeometric:
    @pytest.mark.parametrize("loops", [True, False], ids=["loops", "no loops"])
    @pytest.mark.parametrize("graph", GRAPHS)
    @pytest.mark.parametrize("which", FOREIGN)
    def test_equal_numbers(self, which, graph, loops):
        theirs = geometric(
            which.split("-")[0], D_IN, D_HEAD, HEADS, add_self_loops=loops, **FOREIGN[which]
        )
        ours = GraphAttention.from_geometric(theirs)
        assert not ours.training
        edges = torch.from_numpy(GRAPHS[graph])
        x = tensor(1, N, D_IN)
        results = {}
        for name, module in (("ours", ours), ("theirs", theirs)):
            given = x.clone().requires_grad_()
            output = module(given, edges)
            (output * torch.arange(output.numel()).view_as(output)).sum().backward()
            results[name] = output.detach(), given.grad
        assert_close(results["ours"][0], results["theirs"][0], "layer")
        assert_close(results["ours"][1], results["theirs"][1], "gradient")
        first = theirs.lin if hasattr(theirs, "lin") else theirs.lin_l
        assert_close(ours.w_source.grad, first.weight.grad.T, "gradient")
        sparse_output = ours(x.to_sparse(), edges)
        assert_close(sparse_output.detach(), results["theirs"][0], "layer")

    @pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
    def test_weights(self, name):
        theirs = geometric(name, D_IN, D_HEAD, HEADS)
        ours = GraphAttention.from_geometric(theirs)
        x, edges = tensor(1, N, D_IN), torch.from_numpy(EDGES)
        _, weights = ours(x, edges, return_weights=True)
        _, (their_edges, their_weights) = theirs(x, edges, return_attention_weights=True)
        kept = np.r_[0:8, 9 : 9 + N]  # column 8 is the loop that was given
        own = np.concatenate([EDGES, np.tile(np.arange(N), (2, 1))], 1)[:, kept]
        np.testing.assert_array_equal(their_edges.numpy(), own)
        assert_close(weights[:, kept].detach(), their_weights.T.detach(), "weights_of_layer")

    def test_projections_of_their_own_for_targets(self):
        theirs = geometric("GATConv", (D_IN, D_IN), D_HEAD, HEADS)
        x, edges = tensor(1, N, D_IN), torch.from_numpy(EDGES)
        ours = GraphAttention.from_geometric(theirs)
        assert_close(ours(x, edges).detach(), theirs(x, edges).detach(), "layer")

    def test_training_goes_on(self):
        """Dtype, training mode and dropout come along; the copies are copies."""
        theirs = geometric("GATConv", D_IN, D_HEAD, HEADS, dropout=0.5).float().train()
        ours = GraphAttention.from_geometric(theirs)
        assert ours.training
        assert ours.dropout == 0.5
        assert ours.w_source.dtype == torch.float32
        before = ours.w_source.detach().clone()
        with torch.no_grad():
            theirs.lin.weight.zero_()
        assert torch.equal(ours.w_source, before)

    @pytest.mark.parametrize(
        ("keywords", "message"),
        [
            ({"edge_dim": 3}, "edge_dim=3; features of edges"),
            ({"residual": True}, "residual=True"),
            ({"aggr": "max"}, "aggr='max'; attention is a weighted sum"),
            ({"flow": "target_to_source"}, r"flow='target_to_source'; .*edge_index.flip\(0\)"),
            ({"in_channels": (5, 4)}, r"in_channels=\(5, 4\); sources and targets"),
            ({"in_channels": -1}, "in_channels=-1; run it on features first"),
        ],
        ids=lambda item: "-".join(item) if isinstance(item, dict) else "",
    )
    def test_refused(self, keywords, message):
        theirs = geometric(
            "GATConv", **({"in_channels": 5, "out_channels": 4, "heads": 2} | keywords)
        )
        with pytest.raises(ValueError, match=message):
            GraphAttention.from_geometric(theirs)

    def test_other_modules_are_refused(self):
        class GATConv(torch.nn.Module):
            """Another thing of the same name."""

        for module in (torch.nn.Linear(3, 3), GATConv(), geometric("GCNConv", 3, 3)):
            with pytest.raises(
                TypeError, match=r"module must be a GATConv or GATv2Conv of torch_g"
            ):
                GraphAttention.from_geometric(module)


class TestGradients:
    @each_kind
    @pytest.mark.parametrize("scale", [1.0, 30.0])
    @pytest.mark.parametrize("options", [{}, {"average_heads": True, "add_self_loops": False}])
    def test_gradcheck(self, kind, scale, options):
        parameters = drawn_parameters(
            kind, 2, 2, 2, average="average_heads" in options, own_target=True
        )
        names = list(parameters)

        def function(x, *values):
            return TORCH.functions.graph_attention(
                x,
                torch.from_numpy(EDGES),
                dict(zip(names, values, strict=True)),
                kind=kind,
                return_weights=True,
                **options,
            )

        values = [torch.from_numpy(value).requires_grad_() for value in parameters.values()]
        assert gradcheck(function, [(scale * tensor(1, N, 2)).requires_grad_(), *values])
        assert gradcheck(function, [tensor(1, 2, N, 2).requires_grad_(), *values])

    @pytest.mark.parametrize("layout", ["csr", "triples"])
    def test_sparse_features(self, layout):
        """The gradient of the weights is that with dense features, and stored numbers have one."""
        parameters = {
            name: torch.from_numpy(value) for name, value in drawn_parameters("gat").items()
        }
        x, edges = mostly_zero(1, N, D_IN), torch.from_numpy(EDGES)
        gradients = []
        for features in (torch.from_numpy(x), sparse(TORCH, x, layout)):
            features.requires_grad_()
            weight = parameters["w_source"].clone().requires_grad_()
            output = TORCH.functions.graph_attention(
                features, edges, parameters | {"w_source": weight}
            )
            (output * tensor(2, *output.shape)).sum().backward()
            of_features = features.grad
            if of_features.layout != torch.strided:
                of_features = of_features.to_dense()
            gradients.append((weight.grad, of_features * torch.from_numpy(x != 0)))
        for dense, of_sparse in zip(*gradients, strict=True):
            assert_close(of_sparse, dense, "gradient")
            assert dense.abs().max() > 0.1

    @each_kind
    def test_isolated_nodes_get_none(self, kind):
        """Node 5 has no edge, node 3 looks at nobody; without self loops nothing flows to what they lack."""
        module = drawn_module(kind, add_self_loops=False)
        x = tensor(1, N, D_IN).requires_grad_()
        output = module(x, torch.from_numpy(EDGES))
        output[[3, 5]].sum().backward(retain_graph=True)
        assert not x.grad.any()
        assert torch.equal(output[3], module.b_output)
        x.grad = None
        output.sum().backward()
        assert not x.grad[5].any()
        assert x.grad[3].any()  # it is looked at

    @each_kind
    @pytest.mark.parametrize("n", [0, N])
    def test_an_empty_graph_has_gradients(self, kind, n):
        module = drawn_module(kind, add_self_loops=False)
        x = tensor(1, n, D_IN).requires_grad_()
        module(x, torch.zeros(2, 0, dtype=torch.long)).sum().backward()
        assert not x.grad.any()
        assert module.b_output.grad.tolist() == [n] * HEADS * D_HEAD
        assert not module.w_source.grad.any()


class TestLaws:
    @each_kind
    def test_numbering_of_nodes_does_not_matter(self, backend, kind):
        parameters, x = drawn_parameters(kind), normal(1, N, D_IN)
        order = np.array([4, 2, 5, 0, 1, 3])  # new node k is the old node order[k]
        new = np.argsort(order)
        plain = run(backend, x, EDGES, parameters, kind=kind)
        moved = run(backend, x[order], new[EDGES], parameters, kind=kind)
        assert_close(moved, plain[order], "layer")

    @each_kind
    def test_order_of_edges_does_not_matter(self, backend, kind):
        parameters, x = drawn_parameters(kind), normal(1, N, D_IN)
        order = np.random.default_rng(2).permutation(EDGES.shape[1])
        options = {"kind": kind, "add_self_loops": False, "return_weights": True}
        output, weights = run(backend, x, EDGES, parameters, **options)
        moved, of_moved = run(backend, x, EDGES[:, order], parameters, **options)
        assert_close(moved, output, "layer")
        assert_close(of_moved, weights[:, order], "weights_of_layer")

    @each_kind
    def test_only_neighbours_matter(self, backend, kind):
        parameters, x = drawn_parameters(kind), normal(1, N, D_IN)
        changed = x.copy()
        changed[3] += 1  # nodes 0 and 4 look at it
        plain, other = (run(backend, given, EDGES, parameters, kind=kind) for given in (x, changed))
        differs = np.abs(plain - other).max(1) > 1e-9
        assert differs.tolist() == [True, False, False, True, True, False]

    @each_kind
    def test_a_masked_edge_is_not_there(self, backend, kind):
        parameters, x = drawn_parameters(kind), normal(1, N, D_IN)
        mask = np.array([1, 0, 1, 1, 0, 1, 1, 0, 1], bool)
        for loops in (True, False):
            options = {"kind": kind, "add_self_loops": loops, "return_weights": True}
            output, weights = run(backend, x, EDGES, parameters, edge_mask=mask, **options)
            fewer, of_fewer = run(backend, x, EDGES[:, mask], parameters, **options)
            assert_close(output, fewer, "layer")
            full = np.concatenate([mask, np.ones(N, bool)]) if loops else mask
            assert not weights[:, ~full].any()
            assert_close(weights[:, full], of_fewer, "weights_of_layer")

    @each_kind
    def test_graphs_side_by_side_are_independent(self, backend, kind):
        """A batch of graphs is one graph whose parts have no edges between them."""
        parameters, x = drawn_parameters(kind), normal(1, 2 * N, D_IN)
        both = run(backend, x, np.concatenate([EDGES, EDGES[::-1] + N], 1), parameters, kind=kind)
        assert_close(both[:N], run(backend, x[:N], EDGES, parameters, kind=kind), "layer")
        assert_close(both[N:], run(backend, x[N:], EDGES[::-1], parameters, kind=kind), "layer")

    @each_kind
    def test_leading_axes_are_independent(self, backend, kind):
        parameters, x = drawn_parameters(kind), normal(1, 2, 3, N, D_IN)
        options = {"kind": kind, "return_weights": True}
        output, weights = run(backend, x, EDGES, parameters, **options)
        for index in np.ndindex(2, 3):
            alone, of_alone = run(backend, x[index], EDGES, parameters, **options)
            assert_close(output[index], alone, "layer")
            assert_close(weights[index], of_alone, "weights_of_layer")


class TestNaN:
    @each_kind
    @pytest.mark.parametrize("form", ["dense", "csr", "triples"])
    @pytest.mark.parametrize("bad", [math.nan, math.inf])
    def test_nodes_without_edges_leave_no_trace(self, kind, form, bad):
        """Neither in the output of others nor in any gradient."""
        results = []
        for number in (0.5, bad):
            module = drawn_module(kind, add_self_loops=False)
            x = torch.from_numpy(mostly_zero(1, N, D_IN))
            x[5] = number
            x = x if form == "dense" else sparse(TORCH, x.numpy(), form)
            output = module(x, torch.from_numpy(EDGES))
            output.square().sum().backward()
            results.append([output.detach(), *(p.grad for p in module.parameters())])
        for clean, other in zip(*results, strict=True):
            assert_close(other, clean, "gradient")

    @each_kind
    def test_only_who_looks_sees_it(self, backend, kind):
        x, parameters = normal(1, N, D_IN), drawn_parameters(kind)
        x[3] = np.nan  # nodes 0 and 4 look at it
        output = run(backend, x, EDGES, parameters, kind=kind, add_self_loops=False)
        assert np.isnan(output).any(1).tolist() == [True, False, False, False, True, False]
        x[3] = 0
        clean = run(backend, x, EDGES, parameters, kind=kind, add_self_loops=False)
        assert_close(output[[1, 2, 3, 5]], clean[[1, 2, 3, 5]], "layer")

    @each_kind
    def test_a_node_that_looks_sees_with_its_own(self, backend, kind):
        """Its features are in its scores, also if nobody looks at it."""
        x, parameters = normal(1, 3, D_IN), drawn_parameters(kind)
        x[1] = np.nan
        output = run(
            backend, x, np.array([[0, 2], [1, 0]]), parameters, kind=kind, add_self_loops=False
        )
        assert np.isnan(output).all(1).tolist() == [False, True, False]
        assert np.isfinite(output[[0, 2]]).all()

    def test_behind_a_masked_edge(self, backend):
        x, parameters = normal(1, N, D_IN), drawn_parameters("gat")
        mask = EDGES[0] != 3
        options = {"add_self_loops": False, "edge_mask": mask}
        clean = run(backend, x, EDGES, parameters, **options)
        x[3] = np.nan
        assert_close(run(backend, x, EDGES, parameters, **options), clean, "layer")

    def test_a_score_of_minus_infinity_silences_its_value(self):
        """The infinite row of node 0 has the score -inf, so node 2 sees node 1 alone."""
        parameters = {
            "w_source": np.array([[1.0, -1.0]]),
            "a_source": np.array([[-1.0, 1.0]]),
            "a_target": np.ones((1, 2)),
        }
        x, edges = np.array([[np.inf], [3.0], [0.0]]), np.array([[0, 1], [2, 2]])
        for backend in (NUMPY, TORCH):
            output, weights = run(
                backend, x, edges, parameters, add_self_loops=False, return_weights=True
            )
            assert weights.tolist() == [[0, 1]]
            assert output.tolist() == [[0, 0], [0, 0], [3, -3]]


class TestFastForms:
    def test_sum_over_edges_is_the_readable_sum(self):
        """The one NaN, which a weight of 0 silences, sends the second call the readable way."""
        edges = attnkit.torch.graph._edges(torch.from_numpy(EDGES), N, None, False)
        weights, z = tensor(1, 2, HEADS, EDGES.shape[1]), tensor(2, 2, N, HEADS, D_HEAD)
        weights.masked_fill_(edges.source == 3, 0)
        results = []
        for number in (7.0, math.nan):
            z[:, 3] = number
            given = weights.clone().requires_grad_(), z.clone().requires_grad_()
            output = attnkit.torch.graph._weighted_sum(*given, edges)
            (output * tensor(3, *output.shape)).sum().backward()
            of_weights = given[0].grad[..., edges.source != 3]
            results.append((output.detach(), of_weights, given[1].grad))
        for fast, readable in zip(*results, strict=True):
            assert_close(readable, fast, "gradient")

    @pytest.mark.parametrize("heads", [1, 3])
    def test_blocks_of_edges(self, heads, monkeypatch):
        """Products in blocks of one and of two edges are those in one block."""
        edges = attnkit.torch.graph._edges(torch.from_numpy(EDGES), N, None, True)
        sums, rows = tensor(1, N, heads, D_HEAD), tensor(2, N, heads, D_HEAD)
        expected = (sums[edges.target] * rows[edges.source]).sum(-1).T
        for block in (1, 2 * heads * D_HEAD, 1 << 16):
            monkeypatch.setattr(attnkit.torch.graph, "_IN_CACHE", block)
            products = attnkit.torch.graph._products_on_edges(
                sums, rows, edges.source, edges.target
            )
            assert_close(products, expected, "output")

    @pytest.mark.parametrize("n", [2**15 - 1, 2**15, 2**15 + 1, 2**31 + 5])
    def test_order_of_large_numbers(self, n):
        numbers = torch.tensor([n - 1, 0, n - 1, n - 2, 1])
        assert attnkit.torch.graph._order(numbers, n).tolist() == [1, 4, 3, 0, 2]

    def test_memory_grows_with_edges_not_pairs(self):
        """Scores of all pairs of 3000 nodes would take 72 MB a head."""
        n, parameters = 3000, drawn_parameters("gat", 2, 2, 2)
        x, edges = normal(1, n, 2), np.random.default_rng(1).integers(0, n, (2, 2 * n))
        needed = peak_memory(
            lambda: NUMPY.functions.graph_attention(x, edges, parameters), method="traced"
        )
        assert needed.bytes < 8e6


class TestPromises:
    @each_kind
    def test_dtypes(self, backend, kind):
        parameters, x = drawn_parameters(kind), normal(1, N, D_IN)
        for dtype in backend.dtypes:
            arrays = {
                name: backend.numpy(backend.array(value, dtype))
                for name, value in parameters.items()
            }
            expected = run(NUMPY, backend.numpy(backend.array(x, dtype)), EDGES, arrays, kind=kind)
            given = {name: backend.array(value, dtype) for name, value in parameters.items()}
            output, weights = backend.functions.graph_attention(
                backend.array(x, dtype), backend.array(EDGES), given, kind=kind, return_weights=True
            )
            assert backend.dtype_name(output) == backend.dtype_name(weights) == dtype
            assert_close(backend.numpy(output), expected, "layer", dtype)

    def test_mixed_dtypes_become_the_wider(self, backend):
        parameters, x = drawn_parameters("gat"), normal(1, N, D_IN)
        for wide in ("x", *parameters):
            given = {
                name: backend.array(value, "float64" if name == wide else "float32")
                for name, value in ({"x": x} | parameters).items()
            }
            output = backend.functions.graph_attention(given.pop("x"), backend.array(EDGES), given)
            assert backend.dtype_name(output) == "float64"

    @pytest.mark.parametrize("form", ["dense", "sparse"])
    def test_whole_features_are_promoted(self, backend, form):
        x = (mostly_zero(1, N, D_IN) > 0).astype(np.int64)
        parameters = {
            name: np.round(3 * value).astype(np.int64)
            for name, value in drawn_parameters("gat").items()
        }
        expected = run(NUMPY, x, EDGES, parameters)
        for narrow in (np.int64, np.uint8, bool):
            given = x.astype(narrow)
            given = backend.array(given) if form == "dense" else sparse(backend, given)
            output = backend.functions.graph_attention(
                given,
                backend.array(EDGES),
                {name: backend.array(value) for name, value in parameters.items()},
            )
            assert backend.dtype_name(output) == backend.default
            assert_close(backend.numpy(output), expected, "layer", backend.default)

    @pytest.mark.parametrize("dtype", ["int32", "uint8", "int16"])
    def test_any_integers_number_nodes(self, backend, dtype):
        parameters, x = drawn_parameters("gat"), normal(1, N, D_IN)
        output = run(backend, x, EDGES.astype(dtype), parameters)
        np.testing.assert_array_equal(output, run(backend, x, EDGES, parameters))

    def test_inputs_of_any_layout_are_left_alone(self, backend):
        parameters, x = drawn_parameters("gat"), normal(1, N, D_IN)
        expected = run(NUMPY, x, EDGES, parameters)
        if backend is NUMPY:
            layouts = [np.asfortranarray(x), x[::-1].copy()[::-1], x.view()]
            layouts[2].flags.writeable = False
            edges = EDGES.view()
            edges.flags.writeable = False
            edges = [edges, np.asfortranarray(EDGES), EDGES[:, ::-1].copy()[:, ::-1]]
        else:
            whole = torch.from_numpy(np.repeat(x, 2, 1))
            layouts = [torch.from_numpy(x.T.copy()).T, whole[:, ::2]]
            edges = [torch.from_numpy(EDGES.T.copy()).T]
        given = {name: backend.array(value) for name, value in parameters.items()}
        for x_layout, edge_layout in itertools.product(layouts, edges):
            output = backend.functions.graph_attention(x_layout, edge_layout, given)
            assert_close(backend.numpy(output), expected, "layer")
            output[...] = 7  # nor is the result a view of an input
            np.testing.assert_array_equal(backend.numpy(x_layout), x)
            np.testing.assert_array_equal(backend.numpy(edge_layout), EDGES)
        for name, value in given.items():
            np.testing.assert_array_equal(backend.numpy(value), parameters[name])

    def test_expanded_features(self, backend):
        """One row for all nodes, without a copy."""
        parameters, row = drawn_parameters("gat"), normal(1, 1, D_IN)
        lazy = (
            np.broadcast_to(row, (N, D_IN))
            if backend is NUMPY
            else torch.from_numpy(row).expand(N, D_IN)
        )
        output = backend.functions.graph_attention(
            lazy,
            backend.array(EDGES),
            {name: backend.array(value) for name, value in parameters.items()},
        )
        assert_close(
            backend.numpy(output), run(NUMPY, np.tile(row, (N, 1)), EDGES, parameters), "layer"
        )

    @each_kind
    @pytest.mark.parametrize("loops", [True, False])
    def test_sizes_of_zero(self, backend, kind, loops):
        nothing = np.zeros((2, 0), int)
        options = {"kind": kind, "add_self_loops": loops, "return_weights": True}
        for lead, n, d_in, d_head, edges in (
            ((), 0, 3, 2, nothing),
            ((0,), 4, 3, 2, np.array([[0, 1], [1, 1]])),
            ((), 4, 0, 2, np.array([[0, 1], [1, 1]])),
            ((), 4, 3, 0, np.array([[0, 1], [1, 1]])),
            ((2,), 4, 3, 2, nothing),
        ):
            parameters = drawn_parameters(kind, d_in, 2, d_head, biases=False)
            output, weights = run(backend, np.ones((*lead, n, d_in)), edges, parameters, **options)
            assert output.shape == (*lead, n, 2 * d_head)
            assert weights.shape == (*lead, 2, edges.shape[1] + loops * n)
            if not edges.size and not loops:
                assert not output.any()

    def test_no_edges_in_any_dtype(self, backend):
        """An empty list of edges is a float to NumPy and torch."""
        empty = backend.array(np.zeros((2, 0)))
        given = {name: backend.array(value) for name, value in drawn_parameters("gat").items()}
        output = backend.functions.graph_attention(
            backend.array(normal(1, N, D_IN)), empty, given, add_self_loops=False
        )
        assert backend.numpy(output).tolist() == [given["b_output"].tolist()] * N

    def test_no_stored_features(self, backend):
        parameters = drawn_parameters("gat")
        output = backend.functions.graph_attention(
            sparse(backend, np.zeros((N, D_IN))),
            backend.array(EDGES),
            {name: backend.array(value) for name, value in parameters.items()},
        )
        assert_close(
            backend.numpy(output), run(NUMPY, np.zeros((N, D_IN)), EDGES, parameters), "layer"
        )

    @each_kind
    def test_no_warning_leaves(self, backend, kind):
        parameters = drawn_parameters(kind)
        for bad in (np.nan, np.inf, -np.inf, 1e308, 5e-324):
            x = normal(1, N, D_IN)
            x.flat[::2] = bad
            with np.errstate(all="raise"):
                run(backend, x, EDGES, parameters, kind=kind)


class TestModule:
    @each_kind
    @pytest.mark.parametrize("average", [True, False])
    def test_is_the_function(self, kind, average):
        torch.manual_seed(1)
        d_out = D_HEAD if average else HEADS * D_HEAD
        module = GraphAttention(
            D_IN, d_out, HEADS, kind=kind, average_heads=average, negative_slope=0.3
        ).double()
        parameters = {
            name: TORCH.numpy(value) for name, value in module.parameter_mapping().items()
        }
        mask = np.arange(EDGES.shape[1]) % 3 > 0
        x = normal(1, 2, N, D_IN)
        results = module(
            TORCH.array(x),
            torch.from_numpy(EDGES),
            edge_mask=torch.from_numpy(mask),
            return_weights=True,
        )
        expected = run(
            NUMPY,
            x,
            EDGES,
            parameters,
            kind=kind,
            average_heads=average,
            negative_slope=0.3,
            edge_mask=mask,
            return_weights=True,
        )
        for ours, right in zip(results, expected, strict=True):
            assert_close(TORCH.numpy(ours), right, "layer")

    def test_parameters(self):
        def names(**keywords):
            module = GraphAttention(D_IN, 12, HEADS, **keywords)
            return {name: tuple(value.shape) for name, value in module.named_parameters()}

        vectors = {"a_source": (HEADS, 4), "a_target": (HEADS, 4)}
        assert names() == {"w_source": (D_IN, 12), "b_output": (12,)} | vectors
        assert names(bias=False, share_weights=False) == vectors | {
            "w_source": (D_IN, 12),
            "w_target": (D_IN, 12),
        }
        shared = names(kind="gatv2", share_weights=True, average_heads=True)
        assert shared == {
            "w_source": (D_IN, 36),
            "a": (HEADS, 12),
            "b_source": (36,),
            "b_output": (12,),
        }
        own = names(kind="gatv2")
        assert own.keys() >= {"w_target", "b_target"}

    def test_starts_within_glorots_bounds_and_without_bias(self):
        module = GraphAttention(40, 60, 3, kind="gatv2")
        bound = (6 / 100) ** 0.5
        assert 0.9 * bound < module.w_source.abs().max() <= bound
        assert not any(module.get_parameter(f"b_{name}").any() for name in ("source", "output"))

    @each_kind
    def test_dropout_in_training_only(self, kind):
        module = drawn_module(kind, dropout=0.5)
        x, edges = tensor(1, N, D_IN), torch.from_numpy(EDGES)
        _, weights = module(x, edges, return_weights=True)
        assert torch.equal(module(x, edges), module(x, edges))
        module.train()
        output, dropped = module(x, edges, return_weights=True)
        assert_close(
            torch.where(dropped == 0, 0, weights).detach() * 2, dropped.detach(), "weights"
        )
        gone = (dropped == 0) & (weights > 0)
        assert gone.any()
        assert (dropped > 0).any()
        z = x @ module.w_source
        if kind == "gatv2":
            z = z + module.b_source
        rows = z.view(N, HEADS, D_HEAD)
        own = np.concatenate([EDGES, np.tile(np.arange(N), (2, 1))], 1)
        expected = torch.zeros(N, HEADS, D_HEAD).double()
        for edge, (source, target) in enumerate(own.T):
            expected[target] += dropped[:, edge, None] * rows[source]
        expected = expected.view(N, -1) + module.b_output
        assert_close(output.detach(), expected.detach(), "layer")

    def test_wider_features(self):
        """Features in float64 meet parameters in float32."""
        module = GraphAttention(D_IN, 6, 2)
        x, edges = tensor(1, N, D_IN), torch.from_numpy(EDGES)
        assert module(x, edges).dtype == torch.float64
        assert module.bfloat16()(x.bfloat16(), edges).dtype == torch.bfloat16

    def test_learns(self):
        """Each node is to hand out its neighbour's number: a few steps bring the error down."""
        torch.manual_seed(0)
        module = GraphAttention(1, 1, 1, add_self_loops=False)
        x = torch.linspace(-1, 1, 8)[:, None]
        edges = torch.stack([torch.arange(8), (torch.arange(8) + 1) % 8])
        goal = torch.roll(x, 1, 0)
        optimiser = torch.optim.Adam(module.parameters(), 0.1)
        first = None
        for _ in range(60):
            loss = (module(x, edges) - goal).square().mean()
            first = loss.item() if first is None else first
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        assert loss.item() < first / 50

    def test_printed(self):
        text = repr(GraphAttention(5, 12, 4, kind="gatv2", dropout=0.1))
        for part in ("5, 12, 4", "kind='gatv2'", "share_weights=False", "dropout=0.1"):
            assert part in text


def call(backend, **replaced):
    """Call graph_attention with something wrong in it."""
    given = {"x": normal(1, N, D_IN), "edge_index": EDGES, "parameters": drawn_parameters("gat")}
    given |= replaced
    parameters = given.pop("parameters")
    if isinstance(parameters, dict):
        parameters = {name: backend.array(value) for name, value in parameters.items()}
    arrays = {
        name: backend.array(value) if isinstance(value, np.ndarray) else value
        for name, value in given.items()
    }
    return backend.functions.graph_attention(parameters=parameters, **arrays)


def without(parameters, name):
    return {other: value for other, value in parameters.items() if other != name}


GAT, GATV2 = drawn_parameters("gat"), drawn_parameters("gatv2")


WRONG_VALUES = {
    "transposed edges": (
        {"edge_index": EDGES.T},
        r"edge_index .* \(2, E\) .*\(9, 2\).*index.T",
    ),
    "adjacency": (
        {"edge_index": np.eye(6, dtype=int)},
        r"\(6, 6\); it seems to be a dense adj",
    ),
    "one row": ({"edge_index": EDGES[0]}, r"\(2, E\) but has shape \(9,\); .*sources"),
    "too high": (
        {"edge_index": EDGES + 2},
        r"edge_index must lie between 0 and 5 \(6 nodes\) .*2 to 6",
    ),
    "negative": (
        {"edge_index": EDGES - 1},
        "reaches from -1 to 3; a negative number, often padding",
    ),
    "no nodes": ({"x": np.zeros((0, D_IN))}, r"nowhere \(0 nodes\)"),
    "width": ({"x": np.ones((N, 4))}, r"x has width 4 but w_source has shape \(5, 12\)"),
    "one vector": ({"x": np.ones(5)}, "x needs at least 2 axes"),
    "transposed w": (
        {"parameters": GAT | {"w_source": GAT["w_source"].T}},
        r"w_source has shape \(12, 5\).*transposed",
    ),
    "kind": ({"kind": "gcn"}, "kind must be 'gat' or 'gatv2' but is 'gcn'"),
    "other kind": (
        {"kind": "gatv2"},
        r"parameters lacks a; kind 'gatv2' needs w_source, a, and",
    ),
    "unknown": ({"parameters": GAT | {"w_targte": 1.0}}, "holds w_targte, which nobody reads"),
    "missing": ({"parameters": without(GAT, "a_target")}, "parameters lacks a_target"),
    "no w_target": (
        {"parameters": without(GATV2, "w_target"), "kind": "gatv2"},
        "b_target but no w_target",
    ),
    "vectors": (
        {"parameters": GAT | {"a_target": np.ones((HEADS, 3))}},
        r"a_target has shape \(3, 3\) but \(n_heads, d_head\) is \(3, 4\)",
    ),
    "one axis": (
        {"parameters": GAT | {"a_source": np.ones(4)}},
        r"a_source needs the shape \(n_h",
    ),
    "no heads": (
        {"parameters": GAT | {"a_source": np.ones((0, 4)), "a_target": np.ones((0, 4))}},
        "at least one head",
    ),
    "bias": ({"parameters": GAT | {"b_source": np.ones(5)}}, r"b_source has shape \(5,\)"),
    "b_output": ({"average_heads": True}, r"b_output has shape \(12,\) .* width 4"),
    "edge_mask": ({"edge_mask": np.ones(5, bool)}, r"edge_mask has shape \(5,\) .* 9 edges"),
}
WRONG_TYPES = {
    "float edges": (
        {"edge_index": EDGES + 0.5},
        "edge_index must be integers but is .*float64",
    ),
    "bool edges": ({"edge_index": EDGES > 1}, "edge_index must be integers but is .*bool"),
    "complex edges": (
        {"edge_index": EDGES + 1j},
        "edge_index must be integers but is .*complex",
    ),
    "complex x": ({"x": np.ones((N, D_IN)) * 1j}, "x must be real but is .*complex128"),
    "complex w": (
        {"parameters": GAT | {"a_source": np.ones((3, 4)) * 1j}},
        "a_source must be real",
    ),
    "edge_mask": ({"edge_mask": np.ones(9)}, "edge_mask must be boolean"),
    "slope": ({"negative_slope": "0.2"}, "negative_slope must be a real number"),
    "parameters": ({"parameters": [1]}, "parameters must be a mapping but is list"),
    "x": ({"x": None}, "x must be"),
}


class TestErrors:
    @pytest.mark.parametrize("case", WRONG_VALUES)
    def test_values(self, backend, case):
        wrong, message = WRONG_VALUES[case]
        with pytest.raises(ValueError, match=message):
            call(backend, **wrong)

    @pytest.mark.parametrize("case", WRONG_TYPES)
    def test_types(self, backend, case):
        wrong, message = WRONG_TYPES[case]
        with pytest.raises(TypeError, match=message):
            call(backend, **wrong)

    def test_missing_arguments(self, backend):
        with pytest.raises(TypeError, match=r"graph_attention\(\) missing .*'parameters'"):
            backend.functions.graph_attention(normal(1, N, D_IN), EDGES)

    @pytest.mark.parametrize(
        ("scores", "target", "keywords", "error", "message"),
        [
            (
                (2, 5),
                [0] * 4,
                {},
                ValueError,
                r"target has shape \(4,\) .* have 5 edges; one target",
            ),
            ((4, 2), [0] * 4, {}, ValueError, "edges are the last axis of scores, .*scores.T"),
            ((5,), [[0] * 5] * 2, {}, ValueError, r"target has shape \(2, 5\).*edge_index\[1\]"),
            ((), [], {}, ValueError, "scores needs at least 1 axis"),
            ((2,), [0, 3], {}, ValueError, r"target must lie between 0 and 2 \(3 nodes\)"),
            ((2,), [0, -1], {}, ValueError, "target .* reaches from -1 to 0"),
            ((2,), [0, 1], {"n_nodes": -1}, ValueError, "n_nodes must be at least 0"),
            ((2,), [0, 1], {"n_nodes": 2.0}, TypeError, "n_nodes must be a whole number"),
            ((2,), [0.0, 1.0], {}, TypeError, "target must be integers"),
            (
                (2,),
                [0, 1],
                {"mask": [True] * 3},
                ValueError,
                r"mask has shape \(3,\), .* broadcast",
            ),
            ((2,), [0, 1], {"mask": [1, 0]}, TypeError, "mask must be boolean"),
        ],
        ids=lambda item: item[:24] if isinstance(item, str) else "",
    )
    def test_edge_softmax(self, backend, scores, target, keywords, error, message):
        keywords = {
            name: backend.array(np.array(value)) if isinstance(value, list) else value
            for name, value in keywords.items()
        }
        arguments = {"n_nodes": 3} | keywords
        with pytest.raises(error, match=message):
            backend.functions.edge_softmax(
                backend.array(np.ones(scores)), backend.array(np.array(target)), **arguments
            )

    def test_sparse_features(self):
        def attend(*stored):
            return NUMPY.functions.graph_attention(SparseFeatures(*stored), EDGES, GAT)

        with pytest.raises(ValueError, match=r"x has row \(2,\), column \(2,\) and value \(1,\)"):
            attend([0, 1], [0, 1], [1.0], (N, D_IN))
        with pytest.raises(ValueError, match=r"row must lie between 0 and 5 .* from 6 to 6"):
            attend([6], [0], [1.0], (N, D_IN))
        with pytest.raises(ValueError, match=r"column must lie between 0 and 4 .* from 5 to 5"):
            attend([0], [5], [1.0], (N, D_IN))
        with pytest.raises(
            ValueError, match=r"one matrix, \(n_nodes, d_in\), with no leading axes"
        ):
            attend([0], [0], [1.0], (2, N, D_IN))
        with pytest.raises(TypeError, match="row must be integers"):
            attend([0.5], [0], [1.0], (N, D_IN))
        with pytest.raises(TypeError, match="x must be real but is complex128"):
            attend([0], [0], [1j], (N, D_IN))

    @pytest.mark.parametrize("x", [3.0, [1.0, 2.0], [[[1.0]]]])
    def test_a_matrix_has_two_axes(self, x):
        with pytest.raises(ValueError, match=r"x has the shape \(.*one matrix, \(n_nodes, d_in\)"):
            SparseFeatures.from_dense(x)

    @pytest.mark.filterwarnings("ignore:Sparse CS. tensor support")  # the first of a process
    def test_sparse_tensors(self):
        parameters = {name: torch.from_numpy(value) for name, value in GAT.items()}
        x = torch.eye(N, D_IN).double()
        for wrong in (x.to_sparse_csc(), x[None].to_sparse_coo(), x.to_sparse(1)):
            with pytest.raises(
                TypeError, match="x must be dense, or a sparse_coo or sparse_csr tensor"
            ):
                TORCH.functions.graph_attention(wrong, torch.from_numpy(EDGES), parameters)

    @pytest.mark.parametrize(
        ("arguments", "keywords", "error", "message"),
        [
            ((5, 10, 3), {}, ValueError, "d_out is 10, not a multiple of n_heads, 3"),
            ((5, 12, 0), {"average_heads": True}, ValueError, "n_heads must be at least 1"),
            ((5, 12.0, 3), {}, TypeError, "d_out must be a whole number"),
            ((-1, 12, 3), {}, ValueError, "d_in must be at least 0"),
            ((5, 12, 3), {"kind": "v2"}, ValueError, "kind must be 'gat' or 'gatv2'"),
            ((5, 12, 3), {"dropout": 1.0}, ValueError, "dropout"),
            ((5, 12, 3), {"negative_slope": None}, TypeError, "negative_slope must be a real"),
        ],
        ids=["heads", "no heads", "float", "negative", "kind", "dropout", "slope"],
    )
    def test_module(self, arguments, keywords, error, message):
        with pytest.raises(error, match=message):
            GraphAttention(*arguments, **keywords)

    def test_lists_are_no_tensors(self):
        module = GraphAttention(D_IN, 6, 2)
        with pytest.raises(TypeError, match=r"x must be a torch.Tensor but is list"):
            module([[1.0] * D_IN], torch.zeros(2, 0).long())
        with pytest.raises(TypeError, match=r"edge_index must be a torch.Tensor but is list"):
            module(torch.ones(3, D_IN), [[0], [1]])


class TestHelp:
    def test_twins(self):
        ours, theirs = attnkit.numpy.graph, attnkit.torch.graph
        assert set(ours.__all__) - set(theirs.__all__) == {"SparseFeatures"}
        assert set(theirs.__all__) - set(ours.__all__) == {"GraphAttention"}
        for name in ("edge_softmax", "graph_attention"):
            of_numpy, of_torch = (
                inspect.signature(getattr(module, name)) for module in (ours, theirs)
            )
            assert of_numpy == of_torch

    def test_docstrings_are_complete(self):
        for module in (attnkit.numpy.graph, attnkit.torch.graph):
            for name in ("edge_softmax", "graph_attention"):
                function = getattr(module, name)
                text = inspect.getdoc(function)
                for section in ("Parameters", "Returns", "Raises", "References", "Examples"):
                    assert f"{section}\n---" in text, f"{name} lacks {section}"
                for parameter in inspect.signature(function).parameters:
                    assert parameter in text
        for parameter in inspect.signature(GraphAttention).parameters:
            assert parameter in inspect.getdoc(GraphAttention)


@pytest.mark.parametrize("backend", [NUMPY, TORCH], ids=["numpy", "torch"])
def test_a_slope_is_one_number(backend):
    x, edges = backend.array(np.ones((2, 1))), backend.array(np.array([[0], [1]]))
    parameters = {"w_source": backend.array(np.ones((1, 1))), "a": backend.array(np.ones((1, 1)))}
    slope = backend.array(np.array([0.1, 0.2]))
    with pytest.raises(TypeError, match="negative_slope must be a real number"):
        backend.functions.graph_attention(x, edges, parameters, kind="gatv2", negative_slope=slope)
