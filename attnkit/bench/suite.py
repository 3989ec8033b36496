"""The rows of the benchmark: what is compared with what, at which sizes, with which goals."""

import functools
import os

import numpy as np

from . import baselines
from .peers import PeerAbsent, peer, peer_file, search_also
from .rows import OURS, Case, Faster, Grows, Leaner, Row, SameMemory, Small, measure

LOCAL, LINEAR, X_TRANSFORMERS = "local-attention", "linear-attention-transformer", "x-transformers"
GEOMETRIC, VIT, NN = "torch-geometric", "vit-pytorch", "nn.MultiheadAttention"
BOUND, BAND = "two products + exp in cache", "products + exp of the band"
MASKED, FLEX = "SDPA with a mask", "compiled flex_attention"
BLOCKS, JOINED, ANEW = "row blocks", "torch.cat", "recompute"
OWN_DENSE = "ours, dense"
CHECKED_ROWS = 16  # of the queries, where a whole reference would be too large


def rows():
    """Return all rows, in the order of the table.

    Returns
    -------
    tuple of Row

    Examples
    --------
    >>> rows()[0].name
    'local.forward.4k'
    """
    return (
        *_local_rows(),
        *_linear_rows(),
        *_sparse_rows(),
        *_chunked_rows(),
        *_dense_rows(),
        *_decoding_rows(),
        *_multi_head_rows(),
        *_graph_rows(),
        *_vision_rows(),
    )


def measure_alone(name, peers, *, quick):
    """Measure one row; called in a process that nothing else has used.

    Parameters
    ----------
    name : str
        The row.
    peers : path
        Where packages to compare with are looked for last.
    quick : bool
        Small inputs and three rounds.

    Returns
    -------
    dict
        As `attnkit.bench.rows.measure` does, and ``process``, the number of this process.
    """
    import torch

    torch.set_num_threads(1)
    search_also(peers)
    (row,) = [row for row in rows() if row.name == name]
    return measure(row, quick=quick, rounds=3 if quick else None) | {"process": os.getpid()}


# Local windows


def _local_rows():
    speed = {4096: (4.0, "4k"), 16384: (4.5, "16k"), 65536: (6.0, "64k")}
    for n, (goal, short) in speed.items():
        yield Row(
            f"local.forward.{short}",
            f"local window 128, n = {short}, forward",
            (Faster(LOCAL, goal), Faster(BAND, 0.65), Leaner(LOCAL, 0.1)),
            functools.partial(_local_forward, n),
        )
    yield Row(
        "local.growth",
        "local window 128, from n = 4k to 64k",
        (Grows("ours 4k", "ours 64k", f"{LOCAL} 4k", f"{LOCAL} 64k"),),
        _local_growth,
    )
    for window, goal in ((128, 2.1), (256, 2.8)):
        yield Row(
            f"local.training.{window}",
            f"local window {window}, n = 4k, forward + backward",
            (Faster(LOCAL, goal), Leaner(LOCAL, 0.25)),
            functools.partial(_local_training, window),
        )


def _local_forward(n, quick):
    import torch

    from ..torch import local_attention

    n, window = (1024, 32) if quick else (n, 128)
    arrays = _inputs(8, n, 64)
    tensors = _tensors(arrays)

    def make_peer():
        theirs = _local_peer(window)
        return lambda: theirs(*tensors)

    scaled = [arrays[0][0] * np.float32(64**-0.5), arrays[1][0], arrays[2][0]]
    return Case(
        {
            OURS: lambda: torch.no_grad()(lambda: local_attention(*tensors, window)),
            LOCAL: lambda: torch.no_grad()(make_peer()),
            BAND: lambda: lambda: baselines.products_and_exp_of_band(*scaled, window),
        },
        _against_rows(arrays, bounds=(BAND,), window=window),
    )


def _local_growth(quick):
    import torch

    from ..torch import local_attention

    sizes, window = ({"4k": 256, "64k": 1024}, 32) if quick else ({"4k": 4096, "64k": 65536}, 128)
    candidates, checks = {}, {}
    for short, n in sizes.items():
        arrays = _inputs(8, n, 64)
        tensors = _tensors(arrays)

        def make_ours(tensors=tensors):
            return torch.no_grad()(lambda: local_attention(*tensors, window))

        def make_peer(tensors=tensors):
            theirs = _local_peer(window)
            return torch.no_grad()(lambda: theirs(*tensors))

        candidates |= {f"ours {short}": make_ours, f"{LOCAL} {short}": make_peer}
        checks[short] = _against_rows(arrays, window=window)
    return Case(candidates, lambda name, result: checks[name.split()[-1]](name, result))


def _local_training(window, quick):
    from ..torch import local_attention

    n, window = (512, 32) if quick else (4096, window)
    arrays = _inputs(8, n, 64)
    tensors = _tensors(arrays)
    train = _training(tensors)

    def make_peer():
        theirs = _local_peer(window)
        return train(lambda *inputs: theirs(*inputs))

    exact = _gradients_in_float64(arrays, window=window)
    return Case(
        {
            OURS: lambda: train(lambda *inputs: local_attention(*inputs, window)),
            LOCAL: make_peer,
        },
        lambda name, result: _largest_difference(result, exact),
        tolerance=1e-3,
    )


def _local_peer(window):
    """Return local-attention with the same window on both sides and no positions of its own."""
    return peer(LOCAL, "local_attention").LocalAttention(
        window, look_backward=1, look_forward=1, exact_windowsize=True, use_rotary_pos_emb=False
    )


# Linear attention


def _linear_rows():
    goals = {"numpy": (1.35, 3.0), "torch": (1.1, 2.2)}
    for back_end, of_size in goals.items():
        for (n, short), goal in zip(((4096, "4k"), (65536, "64k")), of_size, strict=True):
            yield Row(
                f"linear.{back_end}.{short}",
                f"causal linear attention, {_NAMES[back_end]}, n = {short}, forward",
                (Faster(LINEAR, goal),),
                functools.partial(_linear_forward, back_end, n),
            )
    yield Row(
        "linear.training",
        "causal linear attention, torch, n = 4k, forward + backward",
        (Faster(LINEAR, 1.0),),
        _linear_training,
    )


_NAMES = {"numpy": "NumPy", "torch": "torch"}


def _linear_forward(back_end, n, quick):
    import torch

    from .. import numpy as ours_numpy
    from .. import torch as ours_torch

    n = 512 if quick else n
    arrays = _inputs(8, n, 64)
    tensors = _tensors(arrays)
    if back_end == "numpy":
        own = functools.partial(ours_numpy.linear_attention, *arrays, causal=True)
    else:
        own = torch.no_grad()(functools.partial(ours_torch.linear_attention, *tensors, causal=True))

    def make_peer():
        theirs = _linear_peer()
        return torch.no_grad()(lambda: theirs(*tensors))

    return Case({OURS: lambda: own, LINEAR: make_peer}, _against_linear_rows(arrays))


def _linear_training(quick):
    from ..torch import linear_attention

    arrays = _inputs(8, 512 if quick else 4096, 64)
    train = _training(_tensors(arrays))
    check = _against_linear_rows(arrays)

    def make_peer():
        theirs = _linear_peer()
        return train(lambda *inputs: theirs(*inputs))

    return Case(
        {
            OURS: lambda: train(lambda *inputs: linear_attention(*inputs, causal=True)),
            LINEAR: make_peer,
        },
        lambda name, result: check(name, result[0]),
    )


def _linear_peer():
    """Return the causal form of linear-attention-transformer, in buckets of 64.

    A query of it sees the buckets before its own and nothing of its own one, so that it has two
    products a bucket where ours has four.
    """
    module = peer(LINEAR, "linear_attention_transformer.linear_attention_transformer")
    return functools.partial(module.causal_linear_attn, bucket_size=64)


def _against_linear_rows(arrays):
    """Return the error of some rows: of ours with `elu + 1`, of the peer by its own definition."""
    query, key, value = (array[0] for array in arrays)
    chosen = _some_rows(query.shape[1])

    def error(name, result):
        if name == LINEAR:
            of_query = np.exp(query.astype(float))  # its softmax over a row cancels out
            of_key, ends = np.exp(key.astype(float)), [row // 64 * 64 for row in chosen]
        else:
            of_query, of_key = (
                np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
                for x in (query.astype(float), key.astype(float))
            )
            ends = [row + 1 for row in chosen]
        exact = baselines.linear_rows(of_query, of_key, value, chosen, ends)
        return _largest_difference([result[0][:, chosen]], [exact])

    return error


# Patterns


def _sparse_rows():
    window, stride = {"window": 128}, {"stride": 64}
    patterns = {
        "global": ("window 128 + 32 global tokens", window | {"n_global": 32}, (2.7, 12.0), 1.9),
        "stride": ("stride 64", stride, (10.0, 15.0), None),
        "union": ("window 128 + stride 64", window | stride, (1.5, 5.0), None),
    }
    for name, (words, pattern, goals, flex) in patterns.items():
        for (n, short), goal in zip(((2048, "2k"), (8192, "8k")), goals, strict=True):
            yield Row(
                f"sparse.{name}.{short}",
                f"{words}, n = {short}, forward",
                (Faster(MASKED, goal), *([Faster(FLEX, flex)] if flex else [])),
                functools.partial(_sparse_forward, n, pattern, bool(flex)),
            )


def _sparse_forward(n, pattern, with_flex, quick):
    import torch

    from ..torch import masks, sparse_attention

    if quick:
        n, pattern = 256, {name: size // 8 for name, size in pattern.items()}
    arrays = _inputs(8, n, 64)
    tensors = _tensors(arrays)

    def make_masked():
        mask = torch.zeros(n, n, dtype=torch.bool)
        if "window" in pattern:
            mask |= masks.local_mask(n, n, pattern["window"])
        if "stride" in pattern:
            mask |= masks.strided_mask(n, n, pattern["stride"])
        if "n_global" in pattern:
            mask |= masks.global_mask(n, n, pattern["n_global"])
        return torch.no_grad()(lambda: baselines.masked_kernel(*tensors, mask))

    def make_flex():
        window, n_global = pattern["window"], pattern["n_global"]
        return baselines.compiled_flex(
            *tensors, lambda b, h, i, j: ((i - j).abs() <= window) | (j < n_global) | (i < n_global)
        )

    candidates = {
        OURS: lambda: torch.no_grad()(lambda: sparse_attention(*tensors, **pattern)),
        MASKED: make_masked,
    }
    if with_flex and not quick:  # compiling takes longer than a quick run is to
        candidates[FLEX] = make_flex
    elif with_flex:
        candidates[FLEX] = _not_quick
    return Case(candidates, _against_rows(arrays, **pattern))


def _not_quick():
    raise PeerAbsent("left out of a quick run: it would have to be compiled")


# Chunked and dense


def _chunked_rows():
    for back_end in ("numpy", "torch"):
        yield Row(
            f"chunked.{back_end}.8k",
            f"chunked attention, {_NAMES[back_end]}, n = 8k",
            (Faster(BLOCKS, 0.85),),
            functools.partial(_chunked, back_end),
        )
    yield Row(
        "chunked.memory",
        "chunked attention, NumPy, memory from n = 2k to 8k",
        (SameMemory("ours 2k", "ours 8k", 1.05),),
        _chunked_memory,
    )


def _chunked(back_end, quick):
    import torch

    from .. import numpy as ours_numpy
    from .. import torch as ours_torch

    arrays = _inputs(4, 512 if quick else 8192, 64)
    inner = [array[0] for array in arrays]
    tensors = _tensors(arrays)
    chunk = 128 if quick else 1024
    if back_end == "numpy":
        candidates = {
            OURS: lambda: lambda: ours_numpy.chunked_attention(*arrays, chunk=chunk),
            BLOCKS: lambda: lambda: baselines.row_blocks(*inner)[None],
        }
    else:
        candidates = {
            OURS: lambda: torch.no_grad()(
                lambda: ours_torch.chunked_attention(*tensors, chunk=chunk)
            ),
            BLOCKS: lambda: torch.no_grad()(
                lambda: baselines.torch_row_blocks(*(x[0] for x in tensors))[None]
            ),
        }
    return Case(candidates, _against_rows(arrays))


def _chunked_memory(quick):
    from ..numpy import chunked_attention

    sizes = {"2k": 512, "8k": 1024} if quick else {"2k": 2048, "8k": 8192}
    candidates, checks = {}, {}
    for short, n in sizes.items():
        arrays = _inputs(1, n, 64)
        candidates[f"ours {short}"] = functools.partial(
            lambda arrays: lambda: chunked_attention(*arrays, chunk=256), arrays
        )
        checks[short] = _against_rows(arrays)
    return Case(candidates, lambda name, result: checks[name.split()[-1]](name, result))


def _dense_rows():
    shapes = {
        "512": ((1, 8, 512, 64), 0.88),
        "2048": ((1, 8, 2048, 64), 0.85),
        "128x8": ((8, 8, 128, 64), 0.73),
    }
    for name, (shape, goal) in shapes.items():
        yield Row(
            f"dense.{name}",
            f"dense attention, NumPy, {shape}",
            (Faster(BOUND, goal), Small(10.0)),
            functools.partial(_dense, shape),
        )
    for n, goal in ((512, 1.3), (2048, 1.7)):
        yield Row(
            f"causal.{n}",
            f"causal attention, NumPy, n = {n}",
            (Faster(OWN_DENSE, goal),),
            functools.partial(_causal, n),
        )


def _dense(shape, quick):
    from ..numpy import scaled_dot_product_attention

    batch, heads, n, width = (*shape[:2], 64, shape[3]) if quick else shape
    arrays = [x.reshape(batch, heads, n, width) for x in _inputs(batch * heads, n, width)]
    inner = [x.reshape(batch * heads, n, width) for x in arrays]
    scaled = (inner[0] * np.float32(width**-0.5), *inner[1:])
    check = _against_rows([x[None] for x in inner], bounds=(BOUND,))
    return Case(
        {
            OURS: lambda: lambda: scaled_dot_product_attention(*arrays),
            BOUND: lambda: lambda: baselines.products_and_exp(*scaled),
        },
        lambda name, result: check(name, result.reshape(1, batch * heads, n, width)),
    )


def _causal(n, quick):
    from ..numpy import scaled_dot_product_attention

    arrays = _inputs(8, 128 if quick else n, 64)
    causal = _against_rows(arrays, window=arrays[0].shape[2], causal=True)
    dense = _against_rows(arrays)
    return Case(
        {
            OURS: lambda: lambda: scaled_dot_product_attention(*arrays, causal=True),
            OWN_DENSE: lambda: lambda: scaled_dot_product_attention(*arrays),
        },
        lambda name, result: (causal if name == OURS else dense)(name, result),
    )


# Layers


def _decoding_rows():
    for n, short, joined, anew in ((1024, "1k", 1.8, 28.0), (4096, "4k", 2.5, 90.0)):
        yield Row(
            f"decode.cat.{short}",
            f"decode {_RUN} tokens in a row with KVCache, {short} stored",
            (Faster(JOINED, joined),),
            functools.partial(_decoding, n, _RUN, JOINED),
        )
        # One token: recomputing a row of them would take a minute for each candidate's turn.
        yield Row(
            f"decode.recompute.{short}",
            f"decode one token with KVCache, {short} stored",
            (Faster(ANEW, anew),),
            functools.partial(_decoding, n, 1, ANEW),
        )


_RUN = 16  # tokens; so a step joins what the step before has joined, as in use


def _decoding(n, new, peer, quick):
    import torch

    from ..torch import MultiHeadAttention

    n, d_model = (64, 64) if quick else (n, 512)
    torch.manual_seed(0)
    layer = MultiHeadAttention(d_model, 8).eval().requires_grad_(False)
    x = torch.randn(1, n + new, d_model)
    tokens = [x[:, i : i + 1].clone() for i in range(n, n + new)]
    cache = layer.new_cache(1, n + new)
    with torch.no_grad():
        layer.store(x[:, :n], cache=cache)
        exact = layer.double()(x.double(), causal=True)[:, -1:].numpy()
    layer.float()
    key, value = cache.key.clone(), cache.value.clone()

    def with_cache():
        cache._length = n  # takes back the rows of the last turn
        for token in tokens:
            output = layer(token, cache=cache)
        return output

    def with_joined_cache():
        joined = key, value
        for token in tokens:
            output, *joined = baselines.step_with_joined_cache(layer, token, *joined)
        return output

    other = with_joined_cache if peer == JOINED else lambda: layer(x, causal=True)[:, -1:]
    return Case(
        {OURS: lambda: torch.no_grad()(with_cache), peer: lambda: torch.no_grad()(other)},
        lambda name, result: _largest_difference([result], [exact]),
    )


def _multi_head_rows():
    for (batch, n), goal in (((8, 128), 1.0), ((1, 1024), 1.5)):
        for task, words in (("forward", "forward"), ("training", "forward + backward")):
            yield Row(
                f"heads.{task}.{n}",
                f"MultiHeadAttention, batch {batch}, n = {n}, {words}",
                (Faster(NN, goal if task == "forward" else 1.0),),
                functools.partial(_multi_head, batch, n, task),
            )
            yield Row(
                f"x-transformers.{task}.{n}",
                f"MultiHeadAttention, no biases, batch {batch}, n = {n}, {words}",
                (Faster(X_TRANSFORMERS, 1.0),),
                functools.partial(_multi_head_without_bias, batch, n, task),
                gated=False,
            )


def _multi_head(batch, n, task, quick):
    import torch
    from torch import nn

    from ..torch import MultiHeadAttention

    d_model = 64 if quick else 512
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(d_model, 8, batch_first=True)
    ours = MultiHeadAttention.from_torch(theirs)
    return _layers(
        {OURS: lambda: ours, NN: lambda: theirs},
        torch.randn(batch, 32 if quick else n, d_model),
        task,
        calls={NN: lambda layer, x: layer(x, x, x, need_weights=False)[0]},
    )


def _multi_head_without_bias(batch, n, task, quick):
    import torch

    from ..torch import MultiHeadAttention

    d_model = 64 if quick else 512
    torch.manual_seed(0)
    ours = MultiHeadAttention(d_model, 8, bias=False)

    def make_peer():
        module = peer(X_TRANSFORMERS, "x_transformers.x_transformers")
        theirs = module.Attention(d_model, dim_head=d_model // 8, heads=8, flash=True)
        with torch.no_grad():
            for name, weight in zip("qkv", ours.w_input.split(d_model, 1), strict=True):
                getattr(theirs, f"to_{name}").weight.copy_(weight.T)
            theirs.to_out.weight.copy_(ours.w_output.T)
        return theirs

    return _layers(
        {OURS: lambda: ours, X_TRANSFORMERS: make_peer},
        torch.randn(batch, 32 if quick else n, d_model),
        task,
    )


def _graph_rows():
    tasks = {
        "dense": ("dense features, forward", 1.1),
        "sparse": ("sparse features, forward", 2.0),
        "training": ("dense features, forward + backward", 1.0),
    }
    for task, (words, goal) in tasks.items():
        yield Row(
            f"graph.{task}",
            f"GAT at Cora's size, {words}",
            (Faster(GEOMETRIC, goal),),
            functools.partial(_graph, task),
            gated=False,
        )


def _graph(task, quick):
    """Compare on a random graph: 2708 nodes, 5278 edges both ways, 1433 features, 18 of them 1."""
    import torch

    from ..torch import GraphAttention

    n, n_edges, d_in = (200, 400, 50) if quick else (2708, 5278, 1433)
    torch.manual_seed(0)
    ends = torch.randint(n, (2, n_edges))
    ends = ends[:, ends[0] != ends[1]]
    edges = torch.cat([ends, ends.flip(0)], 1)
    x = torch.zeros(n, d_in).scatter_(1, torch.randint(d_in, (n, 18)), 1.0)

    @functools.cache
    def theirs():
        module = peer(GEOMETRIC, "torch_geometric.nn").GATConv(d_in, 8, heads=8)
        with torch.no_grad():
            module.bias.normal_()
        return module

    def make_ours():
        try:
            return GraphAttention.from_geometric(theirs())
        except PeerAbsent:
            return GraphAttention(d_in, 64, 8)

    stored = x.to_sparse() if task == "sparse" else x
    return _layers(
        {OURS: make_ours, GEOMETRIC: theirs},
        x,
        "training" if task == "training" else "forward",
        calls={
            OURS: lambda layer, x: layer(stored if x.dtype == stored.dtype else x, edges),
            GEOMETRIC: lambda layer, x: layer(x, edges),
        },
        of_input=False,
    )


def _vision_rows():
    for task, words in (("forward", "forward"), ("training", "forward + backward")):
        yield Row(
            f"vision.{task}",
            f"VisionTransformer, 8 images of 64 x 64, {words}",
            (Faster(VIT, 1.0),),
            functools.partial(_vision, task),
            gated=False,
        )


def _vision(task, quick):
    import torch

    from ..torch import VisionTransformer

    n_layers = 1 if quick else 6
    torch.manual_seed(0)

    def make_peer():
        return peer_file(VIT, "vit_pytorch/vit.py").ViT(
            image_size=64,
            patch_size=8,
            num_classes=10,
            dim=192,
            depth=n_layers,
            heads=3,
            mlp_dim=768,
        )

    return _layers(
        {
            OURS: lambda: VisionTransformer(
                64, 8, 3, 192, n_layers=n_layers, n_heads=3, d_ff=768, n_classes=10
            ),
            VIT: make_peer,
        },
        torch.randn(2 if quick else 8, 3, 64, 64),
        task,
        alike=False,
    )


def _layers(layers, x, task, *, calls=None, of_input=True, alike=True):
    """Return the case of layers on the same input.

    Parameters
    ----------
    layers : mapping of str to callable
        What makes each layer.
    x : torch.Tensor
        The input.
    task : {"forward", "training"}
        Without gradients, or with the backward pass to the parameters.
    calls : mapping of str to callable, optional
        ``call(layer, x)`` for a layer that takes more than the input.
    of_input : bool
        Whether the backward pass goes to the input, too.
    alike : bool
        Whether all have the same parameters, so that all are compared with ours in float64; else
        each is compared with itself in float64.
    """
    import torch

    calls, exact = calls or {}, {}

    def made(name):
        layer = layers[name]()
        call = calls.get(name, lambda layer, x: layer(x))
        if name == OURS or not alike:
            with torch.no_grad():
                exact[name] = call(layer.double(), x.double())
            layer.float()
        layer.train(task == "training")
        if task == "forward":
            return torch.no_grad()(lambda: call(layer, x))
        leaf = x.clone().requires_grad_(of_input)
        of_output = torch.ones_like(exact[name if name in exact else OURS], dtype=x.dtype)

        def step():
            layer.zero_grad(set_to_none=True)
            leaf.grad = None
            output = call(layer, leaf)
            output.backward(of_output)
            return output.detach()

        return step

    def error(name, result):
        return _largest_difference([result], [exact[OURS if alike else name]])

    return Case({name: functools.partial(made, name) for name in layers}, error)


# Inputs and errors


def _inputs(heads, n, width):
    """Return query, key and value, float32 arrays (1, heads, n, width), unit normal."""
    random = np.random.default_rng(0)
    return [random.standard_normal((1, heads, n, width), np.float32) for _ in range(3)]


def _tensors(arrays):
    import torch

    return [torch.from_numpy(array) for array in arrays]


def _training(tensors):
    """Return what makes of a function one of forward and backward pass: output and three gradients."""
    import torch

    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    of_output = torch.ones_like(tensors[2])

    def around(function):
        def step():
            output = function(*leaves)
            return (output.detach(), *torch.autograd.grad(output, leaves, of_output))

        return step

    return around


def _gradients_in_float64(arrays, **pattern):
    """Return output and gradients of local attention from a dense mask in float64, two heads of it."""
    import torch

    from ..torch import masks, scaled_dot_product_attention

    n = arrays[0].shape[2]
    mask = masks.local_mask(n, n, pattern["window"])
    leaves = [torch.from_numpy(x[:, :1]).double().requires_grad_() for x in arrays]
    output = scaled_dot_product_attention(*leaves, mask)
    return output.detach(), *torch.autograd.grad(output, leaves, torch.ones_like(output))


def _some_rows(n):
    """Return some queries: the ends and what lies between, evenly."""
    return sorted({*np.linspace(0, n - 1, CHECKED_ROWS).astype(int).tolist()})


def _against_rows(arrays, *, bounds=(), **pattern):
    """Return the error of some rows against attention in float64; a bound has none."""
    query, key, value = (array[0] for array in arrays)
    chosen = _some_rows(query.shape[1])
    exact = baselines.attention_rows(query, key, value, chosen, **pattern)

    def error(name, result):
        return None if name in bounds else _largest_difference([result[0][:, chosen]], [exact])

    return error


def _largest_difference(results, exact):
    """Return the largest difference between arrays or tensors, as far as the exact ones reach."""
    largest = 0.0
    for result, truth in zip(results, exact, strict=True):
        result, truth = np.asarray(result, float), np.asarray(truth, float)
        result = result[tuple(slice(size) for size in truth.shape)]
        largest = max(largest, np.abs(result - truth).max().item())
    return largest
