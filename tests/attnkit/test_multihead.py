"""Multi-head attention: loops = formula = module = fused kernel, masks without a heads axis, laws, foreign modules."""

import inspect
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck

import attnkit.numpy.multihead
import attnkit.torch.multihead
from tests.attnkit import loops
from tests.attnkit.backends import NUMPY, TORCH, normal, random_mask
from tests.attnkit.test_cases import SET_A, SET_B, g
from tests.tolerances import assert_close

MultiHeadAttention = TORCH.functions.MultiHeadAttention
B, M, N, D_MODEL, HEADS, KV_HEADS = 3, 4, 5, 12, 6, 2


def drawn_parameters(
    d_query, d_key, d_value, d_out, n_heads, n_kv_heads, d_head, d_v, *, biases=True
):
    """Return NumPy parameters of these widths."""
    shapes = {
        "query": (d_query, n_heads * d_head),
        "key": (d_key, n_kv_heads * d_head),
        "value": (d_value, n_kv_heads * d_v),
        "output": (n_heads * d_v, d_out),
    }
    parameters = {
        f"w_{name}": normal(100 + i, *shape) for i, (name, shape) in enumerate(shapes.items())
    }
    if biases:
        for i, (name, shape) in enumerate(shapes.items()):
            parameters[f"b_{name}"] = normal(200 + i, shape[1])
    return parameters


def attention(backend, *arrays, parameters, **keywords):
    """Run the function of a back end on NumPy inputs in float64 and return NumPy results."""
    arrays = [None if array is None else backend.array(array) for array in arrays]
    keywords = {
        name: backend.array(value) if isinstance(value, np.ndarray) else value
        for name, value in keywords.items()
    }
    parameters = {name: backend.array(value) for name, value in parameters.items()}
    result = backend.functions.multi_head_attention(*arrays, parameters=parameters, **keywords)
    return tuple(map(backend.numpy, result)) if isinstance(result, tuple) else backend.numpy(result)


def drawn_module(seed=0, n_kv_heads=KV_HEADS, **keywords):
    """Return a module in float64 whose biases are not zero."""
    torch.manual_seed(seed)
    module = MultiHeadAttention(D_MODEL, HEADS, n_kv_heads=n_kv_heads, **keywords).double()
    with torch.no_grad():
        for bias in (module.b_input, module.b_output):
            if bias is not None:
                bias.normal_()
    return module.eval()


def as_numpy(module):
    """Return a module's parameters for the function in NumPy."""
    return {name: TORCH.numpy(value) for name, value in module.parameter_mapping().items()}


def tensor(seed, *shape):
    return torch.from_numpy(normal(seed, *shape))


class TestHeads:
    def test_19_heads_are_columns(self, backend):
        split = backend.functions.split_heads(backend.array(np.arange(8).reshape(1, 2, 4)), 2)
        assert backend.numpy(split).tolist() == [[[[0, 1], [4, 5]], [[2, 3], [6, 7]]]]
        assert backend.dtype_name(split) == backend.default

    @given(
        lead=st.lists(st.integers(0, 3), max_size=3).map(tuple),
        n=st.integers(0, 4),
        heads=st.integers(1, 4),
        d_head=st.integers(0, 3),
    )
    def test_split_then_merge_is_the_identity(self, lead, n, heads, d_head):
        x = normal(1, *lead, n, heads * d_head)
        for backend in (NUMPY, TORCH):
            functions = backend.functions
            split = functions.split_heads(backend.array(x), heads)
            assert tuple(split.shape) == (*lead, heads, n, d_head)
            for head in range(heads):
                columns = x[..., head * d_head : (head + 1) * d_head]
                np.testing.assert_array_equal(backend.numpy(split)[..., head, :, :], columns)
            np.testing.assert_array_equal(backend.numpy(functions.merge_heads(split)), x)

    def test_inputs_of_any_layout_are_left_alone(self, backend):
        x = normal(1, 6, 4, 2)
        view = backend.array(x).swapaxes(0, 2)
        split = backend.functions.split_heads(view, 3)
        expected = x.swapaxes(0, 2).reshape(2, 4, 3, 2).swapaxes(1, 2)
        np.testing.assert_array_equal(backend.numpy(split), expected)
        merged = backend.functions.merge_heads(split)
        np.testing.assert_array_equal(backend.numpy(merged), x.swapaxes(0, 2))

    def test_dtypes(self, backend):
        for dtype in backend.dtypes:
            split = backend.functions.split_heads(backend.array(normal(1, 2, 4), dtype), 2)
            merged = backend.functions.merge_heads(split)
            assert backend.dtype_name(split) == backend.dtype_name(merged) == dtype


class TestFormula:
    @given(
        lead=st.sampled_from([(), (2,), (2, 3)]),
        m=st.integers(1, 4),
        n=st.integers(1, 4),
        kv_heads=st.integers(1, 3),
        group=st.integers(1, 3),
        d_head=st.integers(1, 3),
        d_v=st.integers(1, 3),
        causal=st.booleans(),
        biases=st.booleans(),
        keep=st.sampled_from([0.3, 0.8, 1.0]),
        with_bias=st.booleans(),
    )
    def test_loops_numpy_torch(
        self, lead, m, n, kv_heads, group, d_head, d_v, causal, biases, keep, with_bias
    ):
        heads = kv_heads * group
        parameters = drawn_parameters(5, 4, 3, 2, heads, kv_heads, d_head, d_v, biases=biases)
        query, key, value = normal(1, *lead, m, 5), normal(2, *lead, n, 4), normal(3, *lead, n, 3)
        mask = random_mask(4, *lead, m, n, keep=keep)
        bias = normal(5, heads, m, n) if with_bias else None
        expected = loops.over_leading(
            lambda *items: loops.multi_head_attention(
                *items, parameters, heads, kv_heads, causal=causal
            ),
            [query, key, value, mask, bias],
            [2, 2, 2, 2, 3],
        )
        results = [
            attention(
                backend,
                query,
                key,
                value,
                mask,
                parameters=parameters,
                n_heads=heads,
                n_kv_heads=kv_heads,
                causal=causal,
                bias=bias,
            )
            for backend in (NUMPY, TORCH)
        ]
        assert_close(results[0], expected, "output")
        assert_close(results[1], results[0], "output")

    def test_queries_stand_in_for_keys_and_keys_for_values(self, backend):
        parameters = drawn_parameters(4, 4, 4, 4, 2, 2, 3, 3)
        x, memory = normal(1, 2, 3, 4), normal(2, 2, 5, 4)

        def run(*arrays):
            return attention(backend, *arrays, parameters=parameters, n_heads=2)

        np.testing.assert_array_equal(run(x), run(x, x, x))
        np.testing.assert_array_equal(run(x, memory), run(x, memory, memory))
        assert not np.allclose(run(x, memory), run(x, memory, memory[:, ::-1]))

    @pytest.mark.parametrize("dtype_of", ["query", "w_output", "bias"])
    def test_the_widest_dtype_wins(self, backend, dtype_of):
        parameters = drawn_parameters(4, 4, 4, 4, 2, 2, 3, 3)

        def given_dtype(name):
            return "float64" if name == dtype_of else "float32"

        result = backend.functions.multi_head_attention(
            backend.array(normal(1, 3, 4), given_dtype("query")),
            parameters={k: backend.array(v, given_dtype(k)) for k, v in parameters.items()},
            n_heads=2,
            bias=backend.array(normal(2, 3, 3), given_dtype("bias")),
        )
        assert backend.dtype_name(result) == "float64"

    def test_narrow_dtypes(self, backend):
        parameters = drawn_parameters(4, 4, 4, 4, 2, 2, 3, 3)
        for dtype in backend.dtypes:
            narrow = {k: backend.array(v, dtype) for k, v in parameters.items()}
            x = backend.array(normal(1, 3, 4), dtype)
            output, weights = backend.functions.multi_head_attention(
                x, parameters=narrow, n_heads=2, return_weights=True
            )
            assert backend.dtype_name(output) == backend.dtype_name(weights) == dtype
            expected = NUMPY.functions.multi_head_attention(
                backend.numpy(x),
                parameters={k: backend.numpy(v) for k, v in narrow.items()},
                n_heads=2,
            )
            assert_close(backend.numpy(output), expected, "output", dtype)
        whole = {k: backend.array(np.sign(v).astype(int)) for k, v in parameters.items()}
        result = backend.functions.multi_head_attention(
            backend.array(np.arange(12).reshape(3, 4)), parameters=whole, n_heads=2
        )
        assert backend.dtype_name(result) == backend.default


def identity_parameters(*widths):
    """Return parameters that change nothing: one head, identity projections."""
    names = ("query", "key", "value", "output")
    return {f"w_{name}": np.eye(width) for name, width in zip(names, widths, strict=True)}


class TestCases:
    """The numbered cases through one head with identity projections."""

    def test_01_causal_with_fewer_queries_than_keys(self, backend):
        right = [[-0.369026, -0.393653], [0.258202, 0.434664]]
        output = attention(
            backend, *SET_A, parameters=identity_parameters(3, 3, 2, 2), n_heads=1, causal=True
        )
        assert_close(output, right, "printed")

    def test_09_left_padding_together_with_causal(self, backend):
        keep_key = np.array([False, False, True, True])
        triangle = np.tril(np.ones((4, 4), bool))
        right = [[0, 0], [0, 0], [0.940731, -0.075151], [-0.169104, -0.291437]]
        ways = (
            {"mask": keep_key, "causal": True},
            {"mask": keep_key & triangle},
            {"mask": keep_key & triangle, "causal": True},
            {"mask": keep_key, "bias": np.where(triangle, 0, -np.inf)},
        )
        for way, batched, with_weights in itertools.product(ways, (False, True), (False, True)):
            arrays = [array[None] if batched else array for array in SET_B]
            result = attention(
                backend,
                *arrays,
                **way,
                parameters=identity_parameters(2, 2, 2, 2),
                n_heads=1,
                return_weights=with_weights,
            )
            output, weights = result if with_weights else (result, None)
            assert_close(output.reshape(4, 2), right, "printed")
            if with_weights:
                assert_close(weights.reshape(4, 4)[3], [0, 0, 0.422462, 0.577538], "printed")

    def test_09_in_the_module(self):
        """The same numbers for every option: weights, batch, training with dropout 0, who masks."""
        keep_key, triangle = (
            torch.tensor([False, False, True, True]),
            torch.ones(4, 4).tril().bool(),
        )
        right = [[0, 0], [0, 0], [0.940731, -0.075151], [-0.169104, -0.291437]]
        module = MultiHeadAttention(2, 1).double()
        with torch.no_grad():
            module.w_input.copy_(torch.eye(2).repeat(1, 3))
            module.w_output.copy_(torch.eye(2))
        ways = ({"mask": keep_key, "causal": True}, {"mask": keep_key & triangle})
        options = itertools.product(ways, *[(False, True)] * 3)
        for way, batched, with_weights, training in options:
            module.train(training)
            arrays = [torch.from_numpy(array) for array in SET_B]
            arrays = [array[None] if batched else array for array in arrays]
            result = module(*arrays, **way, return_weights=with_weights)
            output = result[0] if with_weights else result
            assert_close(output.detach().reshape(4, 2), right, "printed")

    def test_12_value_width_different_from_key_width(self, backend):
        output = attention(
            backend,
            *(g(1, 2, 4), g(2, 3, 4), g(3, 3, 7)),
            parameters=identity_parameters(4, 4, 7, 7),
            n_heads=1,
        )
        right = [[-0.020857, -0.023283, 0.008401], [0.193321, -0.104778, -0.249377]]
        assert_close(output[:, :3], right, "printed")


class TestModule:
    @given(
        lead=st.sampled_from([(), (1,), (3,), (2, 3), (0,)]),
        m=st.integers(0, 4),
        n=st.integers(0, 4),
        kv_heads=st.sampled_from([1, 2, 6]),
        causal=st.booleans(),
        kind=st.sampled_from(["none", "plain", "keys", "heads", "one row"]),
        same=st.sampled_from(["query", "key", "none"]),
    )
    def test_equals_the_formula(self, lead, m, n, kv_heads, causal, kind, same):
        """The fused path and the one with weights, on every kind of mask, against NumPy."""
        module = drawn_module(n_kv_heads=kv_heads)
        n = m if same == "query" else n
        query = tensor(1, *lead, m, D_MODEL)
        key = {"query": None}.get(same, tensor(2, *lead, n, D_MODEL))
        value = tensor(3, *lead, n, D_MODEL) if same == "none" else None
        shape = {
            "none": None,
            "plain": (*lead, m, n),
            "keys": (*lead, 1, n),
            "heads": (*lead, HEADS, m, n),
            "one row": (m, n),
        }[kind]
        mask = None if shape is None else torch.from_numpy(random_mask(4, *shape))
        expected, expected_weights = attention(
            NUMPY,
            *(None if a is None else a.numpy() for a in (query, key, value, mask)),
            parameters=as_numpy(module),
            n_heads=HEADS,
            n_kv_heads=kv_heads,
            causal=causal,
            return_weights=True,
        )
        with torch.no_grad():
            fused = module(query, key, value, mask, causal=causal)
            output, weights = module(query, key, value, mask, causal=causal, return_weights=True)
        assert_close(fused, expected, "output")
        assert_close(output, expected, "output")
        assert_close(weights, expected_weights, "weights_of_layer")

    def test_leading_axes_that_broadcast(self):
        module = drawn_module()
        query, memory = tensor(1, 2, 1, M, D_MODEL), tensor(2, 3, N, D_MODEL)
        mask = torch.from_numpy(random_mask(3, 2, 1, 1, N))
        with torch.no_grad():
            together = module(query, memory, mask=mask)
            for i, j in itertools.product(range(2), range(3)):
                alone = module(query[i, 0], memory[j], mask=mask[i, 0])
                assert_close(together[i, j], alone, "output")

    def test_more_masks_than_sequences(self):
        """One sequence under several masks gives several results."""
        module, x = drawn_module(), tensor(1, 1, M, D_MODEL)
        mask = torch.from_numpy(random_mask(2, B, M, M))
        with torch.no_grad():
            together, _ = module(x, mask=mask, return_weights=True)
            assert_close(module(x, mask=mask), together, "output")
            for b in range(B):
                assert_close(together[b], module(x[0], mask=mask[b]), "output")

    def test_the_fused_kernel_is_used_unless_weights_are_asked_for(self, monkeypatch):
        calls = []
        kernel = nn.functional.scaled_dot_product_attention
        monkeypatch.setattr(
            nn.functional,
            "scaled_dot_product_attention",
            lambda *a, **k: calls.append(k) or kernel(*a, **k),
        )
        module, x = drawn_module(), tensor(1, B, M, D_MODEL)
        module(x)
        module(x, causal=True)
        assert [call["is_causal"] for call in calls] == [False, True]
        module(x, return_weights=True)
        assert len(calls) == 2

    @pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
    def test_the_kernel_gets_four_axes(self, lead, monkeypatch):
        """With more or fewer it would fall back to a slow path that gives the same numbers."""
        shapes = []
        kernel = nn.functional.scaled_dot_product_attention
        monkeypatch.setattr(
            nn.functional,
            "scaled_dot_product_attention",
            lambda q, *a, **k: shapes.append(tuple(q.shape)) or kernel(q, *a, **k),
        )
        drawn_module()(tensor(1, *lead, M, D_MODEL))
        assert shapes == [(math.prod(lead), HEADS, M, D_MODEL // HEADS)]

    def test_one_query_needs_no_causal_mask(self, monkeypatch):
        """The last token sees all: a step of generation makes no mask."""
        masks = []
        kernel = nn.functional.scaled_dot_product_attention
        monkeypatch.setattr(
            nn.functional,
            "scaled_dot_product_attention",
            lambda q, k, v, mask=None, **k_: masks.append(mask) or kernel(q, k, v, mask, **k_),
        )
        module, x = drawn_module(), tensor(1, B, M, D_MODEL)
        with torch.no_grad():
            module(x, causal=True, cache=module_with_four(module, x))
            module(x[:, :1], causal=True, cache=module_with_four(module, x))
        assert masks[1].shape[-2:] == (M, 8)
        assert masks[3] is None

    @pytest.mark.parametrize("make", [None, lambda: TORCH.functions.AlibiPositions(HEADS)])
    def test_one_query_of_heads_that_share_keys_is_one_product(self, make, monkeypatch):
        """They are rows of it. The kernel's own way reads keys and values once for each head."""
        seen = []
        kernel = nn.functional.scaled_dot_product_attention

        def watched(q, *arrays, enable_gqa=False, **keywords):
            seen.append((tuple(q.shape), enable_gqa))
            return kernel(q, *arrays, enable_gqa=enable_gqa, **keywords)

        monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", watched)
        module = drawn_module(positions=None if make is None else make())
        query, memory = tensor(1, B, 1, D_MODEL), tensor(2, B, 512, D_MODEL)
        masks = [torch.from_numpy(random_mask(3, B, *heads, 1, 512)) for heads in ((), (HEADS,))]
        for mask in (None, *masks):
            query.requires_grad_()
            both = (
                module(query, memory, mask=mask),
                module(query, memory, mask=mask, return_weights=True)[0],
            )
            slopes = [torch.autograd.grad(output.sin().sum(), query)[0] for output in both]
            assert_close(*(output.detach() for output in both), "output")
            assert_close(*slopes, "gradient")
        with torch.no_grad():
            cache = module.new_cache(B, 513)
            module.store(memory, cache=cache)
            module(query, cache=cache)
        group = HEADS // KV_HEADS
        assert seen == [((B, KV_HEADS, group, D_MODEL // HEADS), False)] * 4

    def test_self_attention_projects_once(self, monkeypatch):
        widths = []
        linear = nn.functional.linear
        monkeypatch.setattr(
            nn.functional, "linear", lambda x, w, b: widths.append(len(w)) or linear(x, w, b)
        )
        module, x = drawn_module(), tensor(1, B, M, D_MODEL)
        d_kv = KV_HEADS * D_MODEL // HEADS
        for arrays, expected in (
            ((x,), [D_MODEL + 2 * d_kv]),
            ((x, x, x), [D_MODEL + 2 * d_kv]),
            ((x, x.clone()), [D_MODEL, 2 * d_kv]),
            ((x, x.clone(), x.clone()), [D_MODEL, d_kv, d_kv]),
        ):
            widths.clear()
            module(*arrays)
            assert widths == [*expected, D_MODEL]

    def test_parameters(self):
        module = MultiHeadAttention(D_MODEL, HEADS, n_kv_heads=KV_HEADS)
        d_kv = KV_HEADS * D_MODEL // HEADS
        sizes = D_MODEL * (D_MODEL + 2 * d_kv) + (D_MODEL + 2 * d_kv) + D_MODEL * D_MODEL + D_MODEL
        assert sum(p.numel() for p in module.parameters()) == sizes
        without = MultiHeadAttention(D_MODEL, HEADS, bias=False)
        assert {name for name, _ in without.named_parameters()} == {"w_input", "w_output"}
        assert set(without.parameter_mapping()) == {"w_query", "w_key", "w_value", "w_output"}
        assert not module.b_input.any()
        for name, weight in module.parameter_mapping().items():
            if name.startswith("w_"):
                bound = math.sqrt(6 / sum(weight.shape))
                assert 0.5 * bound < weight.abs().max() <= bound
        module.parameter_mapping()["w_key"].data.zero_()
        assert not module.w_input[:, D_MODEL : D_MODEL + d_kv].any()
        assert "12, 6, n_kv_heads=2, bias=True, dropout=0.0" in repr(module)

    def test_layouts_of_memory_and_inputs_left_alone(self):
        module = drawn_module()
        base = tensor(1, D_MODEL, B, M)
        view = base.permute(1, 2, 0)
        before = base.clone()
        with torch.no_grad():
            assert_close(module(view), module(view.contiguous()), "output")
            expanded = view[:1].expand(B, M, D_MODEL)
            assert_close(module(expanded)[1], module(view[0]), "output")
            output = module(view)
            output[...] = 7
        assert torch.equal(base, before)

    def test_dtypes(self):
        x = tensor(1, B, M, D_MODEL)
        for name in TORCH.dtypes:
            dtype = TORCH.dtype(name)
            module = drawn_module().to(dtype)
            output, weights = module(x.to(dtype), return_weights=True)
            assert output.dtype == weights.dtype == module(x.to(dtype)).dtype == dtype
            expected = attention(
                NUMPY,
                x.to(dtype).double().numpy(),
                parameters=as_numpy(module),
                n_heads=HEADS,
                n_kv_heads=KV_HEADS,
            )
            operation = "layer" if name in ("float16", "bfloat16") else "output"
            assert_close(TORCH.numpy(output), expected, operation, name)
            assert_close(TORCH.numpy(module(x.to(dtype))), expected, operation, name)

    def test_mixed_dtypes_become_the_wider(self):
        x = tensor(1, B, M, D_MODEL)
        single = drawn_module().float()
        assert single(x).dtype == torch.float64
        exact = drawn_module().float().double()
        assert_close(single(x).detach(), exact(x).detach(), "output")
        assert exact(x.float()).dtype == torch.float64
        assert exact(x.float(), x).dtype == torch.float64
        assert single(x.float(), x).dtype == torch.float64
        assert single(x.float(), x.float(), x, return_weights=True)[1].dtype == torch.float64
        assert single((x > 0).long()).dtype == torch.float32
        assert single(x > 0).dtype == torch.float32

    def test_autocast(self):
        module, x = drawn_module().float(), tensor(1, B, M, D_MODEL).float()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = module(x)
        assert output.dtype == torch.bfloat16
        assert_close(TORCH.numpy(output), TORCH.numpy(module(x)), "layer", "bfloat16")


class TestMasks:
    """A mask has no heads axis unless it has one axis more than query; also where B == heads."""

    def run_all(self, batch, m, n, mask):
        """Return the weights by module and by function, ``(batch, heads, m, n)``."""
        module = drawn_module()
        query, key = tensor(1, batch, m, D_MODEL), tensor(2, batch, n, D_MODEL)
        keywords = {"return_weights": True}
        with torch.no_grad():
            of_module = module(query, key, mask=mask, **keywords)[1]
        for backend in (NUMPY, TORCH):
            _, weights = attention(
                backend,
                query.numpy(),
                key.numpy(),
                None,
                mask.numpy(),
                parameters=as_numpy(module),
                n_heads=HEADS,
                n_kv_heads=KV_HEADS,
                **keywords,
            )
            assert_close(of_module, weights, "weights_of_layer")
        return of_module

    @pytest.mark.parametrize("batch", [HEADS, 2])
    def test_padding_belongs_to_the_sequence(self, batch):
        lengths = torch.arange(batch) % N + 1
        mask = TORCH.functions.padding_mask(lengths, N)  # (B, 1, n)
        seen = self.run_all(batch, M, N, mask) > 0
        for b in range(batch):
            assert seen[b, :, :, : lengths[b]].all()
            assert not seen[b, :, :, lengths[b] :].any()

    def test_where_every_size_is_the_number_of_heads(self):
        """B == H == m == n: only the meaning of the axes tells the masks apart."""
        mask = torch.from_numpy(random_mask(1, HEADS, HEADS, HEADS))
        mask[..., 0] = True
        seen = self.run_all(HEADS, HEADS, HEADS, mask) > 0
        for b, h in itertools.product(range(HEADS), range(HEADS)):
            assert torch.equal(seen[b, h], mask[b])
        seen = self.run_all(HEADS, HEADS, HEADS, mask[None]) > 0
        for b, h in itertools.product(range(HEADS), range(HEADS)):
            assert torch.equal(seen[b, h], mask[h])

    def test_one_mask_for_all(self):
        mask = torch.from_numpy(random_mask(1, M, N))
        mask[:, 0] = True
        assert torch.equal(self.run_all(B, M, N, mask) > 0, mask.expand(B, HEADS, M, N))
        row = torch.tensor([True, False, True, True, False])
        assert torch.equal(self.run_all(B, M, N, row) > 0, row.expand(B, HEADS, M, N))
        assert (self.run_all(B, M, N, torch.tensor(True)) > 0).all()

    def test_a_mask_for_each_head_of_a_single_sequence(self):
        module, x = drawn_module(), tensor(1, M, D_MODEL)
        mask = torch.from_numpy(random_mask(2, HEADS, M, M))
        with torch.no_grad():
            output, weights = module(x, mask=mask, return_weights=True)
            assert not weights[~mask].any()
            assert_close(module(x, mask=mask), output, "output")


class TestEmptyRowsAndPadding:
    def test_a_row_with_nothing_to_attend_to(self, backend):
        parameters = drawn_parameters(4, 4, 4, 3, 2, 1, 2, 2)
        mask = np.array([[True, False], [False, False]])
        output, weights = attention(
            backend,
            normal(1, 2, 4),
            normal(2, 2, 4),
            None,
            mask,
            parameters=parameters,
            n_heads=2,
            n_kv_heads=1,
            return_weights=True,
        )
        assert not weights[:, 1].any()
        np.testing.assert_array_equal(output[1], parameters["b_output"])

    @pytest.mark.parametrize("with_weights", [False, True])
    def test_gradients_of_empty_rows(self, with_weights):
        """Nothing flows from an empty row, and nothing is NaN."""
        module = drawn_module(bias=False)
        x = tensor(1, 2, M, D_MODEL).requires_grad_()
        mask = torch.from_numpy(random_mask(2, 2, M, M))
        mask[0, 1], mask[1] = False, False
        result = module(x, mask=mask, return_weights=with_weights)
        output = result[0] if with_weights else result
        assert not output[0, 1].any()
        assert not output[1].any()
        output.square().sum().backward()
        assert not x.grad[1].any()
        assert all(p.grad.isfinite().all() for p in module.parameters())
        assert module.w_input.grad.any()

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
    def test_padding_has_no_influence(self, backend, bad):
        parameters = drawn_parameters(4, 4, 4, 3, 2, 1, 2, 2)
        query, key = normal(1, 2, 3, 4), normal(2, 2, 5, 4)
        dirty = key.copy()
        dirty[1, 3:] = bad
        mask = np.arange(5) < np.array([5, 3])[:, None, None]
        keywords = {"parameters": parameters, "n_heads": 2, "n_kv_heads": 1, "mask": mask}
        clean = attention(backend, query, key, **keywords)
        assert_close(attention(backend, query, dirty, **keywords), clean, "output")
        spoilt = query.copy()
        spoilt[1, 2] = bad  # a query spoils no other
        result = attention(backend, spoilt, key, **keywords)
        assert_close(result[:, :2], clean[:, :2], "output")

    @pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308])
    @pytest.mark.parametrize("with_weights", [False, True])
    @pytest.mark.parametrize("causal", [False, True])
    def test_padding_has_no_influence_in_the_module(self, bad, with_weights, causal):
        """Cross-attention: neither on the output nor on any gradient. Self-attention: on no real token."""
        module = drawn_module()
        query, key = tensor(1, 2, M, D_MODEL), tensor(2, 2, N, D_MODEL)
        mask = TORCH.functions.padding_mask([N, 3], N)

        def run(*arrays, mask):
            result = module(*arrays, mask=mask, causal=causal, return_weights=with_weights)
            return result[0] if with_weights else result

        results = []
        for filling in (0.0, bad):
            memory = key.clone()
            memory[1, 3:] = filling
            module.zero_grad()
            output = run(query, memory, mask=mask)
            output.square().sum().backward()
            gradients = [p.grad.clone() for p in module.parameters()]
            alone = run(memory, mask=mask)
            results.append([output.detach(), *gradients, alone[0].detach(), alone[1, :3].detach()])
        for clean, dirty in zip(*results, strict=True):
            assert_close(dirty, clean, "gradient")

    @pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308])
    def test_padding_has_no_influence_on_gradients_of_the_formula(self, bad):
        drawn = drawn_parameters(4, 4, 4, 3, 2, 1, 2, 2)
        mask = TORCH.functions.padding_mask([N, 3], N)
        gradients = []
        for filling in (0.0, bad):
            parameters = {
                name: torch.from_numpy(array).clone().requires_grad_()
                for name, array in drawn.items()
            }
            query, key = (tensor(i, 2, N, 4).requires_grad_() for i in (1, 2))
            dirty = torch.where(mask.movedim(1, 2), key, filling)
            output = TORCH.functions.multi_head_attention(
                query, dirty, mask=mask, parameters=parameters, n_heads=2, n_kv_heads=1
            )
            given = [query, key, *parameters.values()]
            gradients.append(torch.autograd.grad(output.square().sum(), given))
        for clean, dirty in zip(*gradients, strict=True):
            assert_close(dirty, clean, "gradient")

    def test_a_key_seen_by_one_head_only(self):
        """Grouped heads share keys: hidden means hidden from every head of the group."""
        module = drawn_module()
        query, key = tensor(1, 1, M, D_MODEL), tensor(2, 1, N, D_MODEL)
        mask = torch.ones(1, HEADS, M, N, dtype=torch.bool)
        mask[0, 1:, :, 2] = False  # head 0 alone sees key 2
        with torch.no_grad():
            fused = module(query, key, mask=mask)
            explicit = module(query, key, mask=mask, return_weights=True)[0]
        assert_close(fused, explicit, "output")
        mask[0, 0, :, 2] = False
        dirty = key.clone()
        dirty[0, 2] = np.nan
        with torch.no_grad():
            assert_close(module(query, dirty, mask=mask), module(query, key, mask=mask), "output")

    def test_infinite_bias_masks(self, backend):
        parameters = drawn_parameters(4, 4, 4, 3, 2, 2, 2, 2)
        x, keep = normal(1, 2, 3, 4), random_mask(2, 2, 3, 3)
        keywords = {"parameters": parameters, "n_heads": 2}
        masked = attention(backend, x, mask=keep[None], **keywords)
        additive = attention(backend, x, bias=np.where(keep, 0, -np.inf), **keywords)
        assert_close(additive, masked, "output")


class TestLaws:
    def test_order_of_tokens(self):
        """Self-attention is equivariant: permuted tokens give permuted results."""
        module, x, order = drawn_module(), tensor(1, B, N, D_MODEL), [3, 0, 4, 1, 2]
        with torch.no_grad():
            assert_close(module(x[:, order]), module(x)[:, order], "output")

    def test_order_of_keys(self):
        module, order = drawn_module(), [3, 0, 4, 1, 2]
        query, key, value = (tensor(i, B, N, D_MODEL) for i in (1, 2, 3))
        with torch.no_grad():
            moved = module(query, key[:, order], value[:, order])
            assert_close(moved, module(query, key, value), "output")

    @pytest.mark.parametrize("with_weights", [False, True])
    def test_the_past_does_not_see_the_future(self, with_weights):
        module, x = drawn_module(), tensor(1, B, N, D_MODEL)
        changed = x.clone()
        changed[:, 3] += 1
        first, second = (module(a, causal=True, return_weights=with_weights) for a in (x, changed))
        if with_weights:
            first, second = first[0], second[0]
        assert torch.equal(first[:, :3], second[:, :3])
        assert not torch.isclose(first[:, 3:], second[:, 3:]).all(-1).any()

    def test_padding_invariance(self):
        module, x = drawn_module(), tensor(1, B, 3, D_MODEL)
        padded = torch.cat([x, tensor(2, B, 4, D_MODEL)], 1)
        mask = TORCH.functions.padding_mask([3] * B, 7)
        with torch.no_grad():
            assert_close(module(padded, mask=mask)[:, :3], module(x), "output")

    def test_batch_independence(self):
        module, x = drawn_module(), tensor(1, B, N, D_MODEL)
        with torch.no_grad():
            together = module(x, causal=True)
            for b in range(B):
                assert_close(together[b], module(x[b], causal=True), "output")

    def test_linear_in_values(self):
        module = drawn_module(bias=False)
        query, first, second = (tensor(i, B, N, D_MODEL) for i in (1, 2, 3))
        with torch.no_grad():
            joint = module(query, query, 2 * first - 3 * second)
            parts = 2 * module(query, query, first) - 3 * module(query, query, second)
        assert_close(joint, parts, "output")

    def test_groups_are_copies(self):
        """Two heads of keys are six, each three times: grouped heads save room, not meaning."""
        grouped, full = drawn_module(), drawn_module(n_kv_heads=HEADS)
        mapping, wide = grouped.parameter_mapping(), full.parameter_mapping()
        with torch.no_grad():
            for name in ("query", "output"):
                wide[f"w_{name}"].copy_(mapping[f"w_{name}"])
                wide[f"b_{name}"].copy_(mapping[f"b_{name}"])
            for name in ("key", "value"):
                repeated = mapping[f"w_{name}"].unflatten(1, (KV_HEADS, -1))
                wide[f"w_{name}"].copy_(repeated.repeat_interleave(3, 1).flatten(1))
                repeated = mapping[f"b_{name}"].unflatten(0, (KV_HEADS, -1))
                wide[f"b_{name}"].copy_(repeated.repeat_interleave(3, 0).flatten())
            x = tensor(1, B, N, D_MODEL)
            assert_close(grouped(x, causal=True), full(x, causal=True), "output")


class TestDropout:
    def test_only_in_training(self):
        module, x = drawn_module(dropout=0.5), tensor(1, B, N, D_MODEL)
        plain = drawn_module()
        with torch.no_grad():
            assert_close(module(x), plain(x), "output")
            assert_close(module(x, return_weights=True)[0], plain(x), "output")
            module.train()
            assert not torch.allclose(module(x), plain(x))
            assert not torch.allclose(module(x), module(x))

    def test_on_the_weights(self):
        """Each weight is 0 or twice itself, and the output is made of those that are returned."""
        module, x = drawn_module(dropout=0.5, bias=False), tensor(1, B, N, D_MODEL)
        with torch.no_grad():
            whole = module(x, return_weights=True)[1]
            module.train()
            output, weights = module(x, return_weights=True)
            kept = weights > 0
            assert 0.3 < kept.double().mean() < 0.7
            assert_close(weights[kept], 2 * whole[kept], "weights_of_layer")
            v = (x @ module.parameter_mapping()["w_value"]).unflatten(-1, (KV_HEADS, -1))
            v = v.transpose(1, 2).repeat_interleave(HEADS // KV_HEADS, 1)
            expected = (weights @ v).transpose(1, 2).flatten(2) @ module.w_output
            assert_close(output, expected, "output")

    def test_the_mean_stays(self):
        """Of many passes; the fused kernel and the explicit path drop alike."""
        module, x = drawn_module(dropout=0.3).train(), tensor(1, 1, N, D_MODEL)
        torch.manual_seed(0)
        with torch.no_grad():
            many = x.expand(4000, N, D_MODEL)
            fused, explicit = module(many), module(many, return_weights=True)[0]
            expected = module.eval()(x)[0]
        spread = fused.std(0) / math.sqrt(4000)
        assert ((fused.mean(0) - expected).abs() < 5 * spread).all()
        assert ((explicit.mean(0) - expected).abs() < 5 * spread).all()
        assert_close(fused.std(0), explicit.std(0), "statistics")


class TestPositions:
    """Schemes of position inside the module, against the functions they stand for."""

    SCHEMES = (
        lambda: TORCH.functions.RotaryPositions(),
        lambda: TORCH.functions.RotaryPositions(layout="half", base=50.0),
        lambda: TORCH.functions.AlibiPositions(HEADS),
        lambda: TORCH.functions.T5Positions(HEADS, 8, 20),
        lambda: TORCH.functions.ShawPositions(D_MODEL // HEADS, 2),
        lambda: TORCH.functions.ShawPositions(D_MODEL // HEADS, 2, values=False),
    )

    @staticmethod
    def module_with(make, **keywords):
        module = drawn_module(positions=make(), **keywords).double()
        for parameter in module.positions.parameters():
            nn.init.normal_(parameter)
        return module

    @pytest.mark.parametrize("make", SCHEMES)
    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("masked", [False, True])
    def test_by_hand(self, make, causal, masked):
        module = self.module_with(make)
        x = tensor(1, B, N, D_MODEL)
        mask = TORCH.functions.padding_mask([5, 3, 0], N) if masked else None
        scheme, parameters = module.positions, module.parameter_mapping()
        functions = TORCH.functions
        with torch.no_grad():
            q, k, v = (
                functions.split_heads(x @ parameters[f"w_{name}"] + parameters[f"b_{name}"], heads)
                for name, heads in (("query", HEADS), ("key", KV_HEADS), ("value", KV_HEADS))
            )
            k, v = (a.repeat_interleave(HEADS // KV_HEADS, 1) for a in (k, v))
            q, k = scheme.turn(q, 0), scheme.turn(k, 0)
            context, weights = functions.scaled_dot_product_attention(
                q,
                k,
                v,
                None if mask is None else mask[:, None],
                causal=causal,
                bias=scheme.bias(q, N),
                return_weights=True,
            )
            if scheme.needs_weights:
                context = context + scheme.context(weights)
            expected = functions.merge_heads(context) @ module.w_output + module.b_output
            output, of_module = module(x, mask=mask, causal=causal, return_weights=True)
            assert_close(module(x, mask=mask, causal=causal), expected, "output")
            assert_close(output, expected, "output")
            assert_close(of_module, weights, "weights_of_layer")
            bare = drawn_module()
            if not isinstance(scheme, functions.AlibiPositions):  # ALiBi changes nothing at m == 1
                assert not torch.allclose(bare(x, mask=mask)[0], module(x, mask=mask)[0])

    @pytest.mark.parametrize("make", SCHEMES)
    def test_only_distances_count(self, make):
        """Tokens that stand later among strangers nobody looks at give the same."""
        module, x = self.module_with(make), tensor(1, B, N, D_MODEL)
        later = torch.cat([tensor(2, B, 6, D_MODEL), x], 1)
        mask = torch.arange(N + 6) >= 6
        with torch.no_grad():
            assert_close(module(later, mask=mask)[:, 6:], module(x), "output")

    @pytest.mark.parametrize("make", SCHEMES)
    def test_gradients(self, make):
        module, x = self.module_with(make), tensor(1, 1, 3, D_MODEL).requires_grad_()
        names = [name for name, _ in module.named_parameters()]

        def run(x, *values):
            given_values = dict(zip(names, values, strict=True))
            return torch.func.functional_call(module, given_values, (x,), {"causal": True})[..., :3]

        inputs = [x, *(p.detach().clone().requires_grad_() for p in module.parameters())]
        assert gradcheck(run, inputs, fast_mode=True)

    def test_sizes_that_do_not_fit(self):
        functions, x = TORCH.functions, tensor(1, B, N, D_MODEL)
        with pytest.raises(
            ValueError, match=r"positions\.bias has shape \(4, 5, 5\), which does not"
        ):
            self.module_with(lambda: functions.AlibiPositions(4))(x)
        with pytest.raises(ValueError, match="query has width 2 but the table has width 3"):
            self.module_with(lambda: functions.ShawPositions(3, 2))(x)
        with pytest.raises(
            TypeError, match=r"positions must be a scheme .* but is str; .* not its"
        ):
            MultiHeadAttention(8, 2, positions="rotary")
        odd = MultiHeadAttention(9, 3, positions=functions.RotaryPositions())
        with pytest.raises(ValueError, match=r"x has the odd width 3 .*must be even"):
            odd(torch.zeros(1, 2, 9))


class TestCache:
    """Cached equals uncached, wherever the sequence is cut."""

    @staticmethod
    def in_pieces(module, x, lengths, mask=None, **keywords):
        cache = module.new_cache(len(x), x.shape[1])
        outputs, start = [], 0
        for length in lengths:
            stop = start + length
            piece = None if mask is None else mask[..., :stop]
            outputs.append(
                module(x[:, start:stop], mask=piece, causal=True, cache=cache, **keywords)
            )
            start = stop
        return cache, outputs

    @pytest.mark.parametrize("make", [None, *TestPositions.SCHEMES])
    @pytest.mark.parametrize("kv_heads", [1, 2, 6])
    def test_any_boundary(self, make, kv_heads):
        positions = None if make is None else make()
        module = drawn_module(n_kv_heads=kv_heads, positions=positions).double()
        for parameter in positions.parameters() if positions is not None else ():
            nn.init.normal_(parameter)
        x = tensor(1, B, 6, D_MODEL)
        with torch.no_grad():
            whole = module(x, causal=True)
            for lengths in ((6,), (1,) * 6, (5, 1), (1, 5), (2, 3, 1), (0, 4, 0, 2)):
                cache, outputs = self.in_pieces(module, x, lengths)
                assert cache.length == 6
                assert_close(torch.cat(outputs, 1), whole, "output")

    @given(cuts=st.sets(st.integers(1, 8)), seed=st.integers(0, 5))
    def test_any_cuts_under_left_padding(self, cuts, seed):
        module = drawn_module(positions=TORCH.functions.RotaryPositions())
        x = tensor(seed, B, 9, D_MODEL)
        mask = torch.arange(9) >= torch.tensor([0, 3, 8])[:, None, None]
        lengths = np.diff([0, *sorted(cuts), 9]).tolist()
        with torch.no_grad():
            whole = module(x, mask=mask, causal=True)
            _, outputs = self.in_pieces(module, x, lengths, mask)
        assert_close(torch.cat(outputs, 1), whole, "output")

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
    @pytest.mark.parametrize("bias", [True, False])
    @pytest.mark.parametrize("kv_heads", [1, 2, 6])
    @pytest.mark.parametrize("batch", [0, 1, B])
    def test_a_step_is_the_call_that_returns_weights(
        self, monkeypatch, batch, kv_heads, bias, dtype
    ):
        """One token has a way of its own; asking for the weights leads round it."""
        module = drawn_module(n_kv_heads=kv_heads, bias=bias).to(dtype)
        x = tensor(1, 6, batch, D_MODEL).to(dtype).transpose(0, 1)  # no token is contiguous
        stepped, whole = module.new_cache(batch, 6), module.new_cache(batch, 6)
        with torch.no_grad():
            expected = [
                module(x[:, i : i + 1], cache=whole, return_weights=True)[0] for i in range(6)
            ]
            monkeypatch.setattr(module, "_look_up", None)
            outputs = [module(x[:, i : i + 1], causal=i > 2, cache=stepped) for i in range(6)]
        assert outputs[0].dtype == dtype
        name = str(dtype).removeprefix("torch.")
        for output, other in zip(outputs, expected, strict=True):
            assert_close(TORCH.numpy(output), TORCH.numpy(other), "layer", name)
        assert_close(TORCH.numpy(stepped.key), TORCH.numpy(whole.key), "layer", name)
        assert_close(TORCH.numpy(stepped.value), TORCH.numpy(whole.value), "layer", name)

    def test_a_step_with_dropout_still_drops_in_training(self):
        module, x = drawn_module(dropout=0.5).train(), tensor(1, B, 4, D_MODEL)
        with torch.no_grad():
            drawn = [module(x[:, :1], cache=module_with_four(module, x)) for _ in range(2)]
            assert not torch.equal(*drawn)
            module.eval()
            drawn = [module(x[:, :1], cache=module_with_four(module, x)) for _ in range(2)]
            assert torch.equal(*drawn)

    def test_a_cache_of_another_kind_is_asked(self):
        """The shorter way of one token writes into the room itself, which is another's to decide."""

        class Counting(TORCH.functions.KVCache):
            appended = 0

            def append(self, key, value):
                self.appended += key.shape[2]
                super().append(key, value)

            @property
            def value(self):
                return 2 * super().value

        class Joining:  # what the chapter begins with: no room, all is joined anew
            length = 0

            def append(self, key, value):
                new = key, value
                if self.length:
                    new = torch.cat([self.key, key], 2), torch.cat([self.value, value], 2)
                self.key, self.value = new
                self.length = self.key.shape[2]

        module, x = drawn_module(bias=False), tensor(1, B, 4, D_MODEL)
        counting, joining = Counting(B, KV_HEADS, 4, 2, dtype=torch.float64), Joining()
        with torch.no_grad():
            for cache, factor in ((counting, 2), (joining, 1)):
                outputs = [module(x[:, i : i + 1], cache=cache) for i in range(4)]
                assert_close(torch.cat(outputs, 1), factor * module(x, causal=True), "output")
        assert counting.appended == 4

    @pytest.mark.parametrize("length", [1, 2])
    def test_a_call_that_fails_leaves_the_cache_as_it_was(self, monkeypatch, length):
        def out_of_memory(*arrays, **keywords):
            raise RuntimeError("no memory left")

        module, x = drawn_module(), tensor(1, B, 4 + length, D_MODEL)
        with torch.no_grad():
            cache = module_with_four(module, x[:, :4])
            with monkeypatch.context() as patch:
                patch.setattr(nn.functional, "scaled_dot_product_attention", out_of_memory)
                with pytest.raises(RuntimeError, match="no memory left"):
                    module(x[:, 4:], cache=cache)
            assert cache.length == 4
            again = module(x[:, 4:], causal=True, cache=cache)
            assert_close(again, module(x, causal=True)[:, 4:], "output")

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
    def test_a_step_whose_last_projection_has_another_dtype(self, dtype):
        module, x = drawn_module(), tensor(1, B, 1, D_MODEL)
        module.w_output.data = module.w_output.data.to(dtype)
        with torch.no_grad():
            step = module(x, cache=module.new_cache(B, 1))
            assert_close(step, module(x), "output")

    def test_weights_cover_what_is_stored(self):
        module, x = drawn_module(), tensor(1, B, 6, D_MODEL)
        with torch.no_grad():
            whole = module(x, causal=True, return_weights=True)[1]
            _, outputs = self.in_pieces(module, x, (4, 2), return_weights=True)
        assert_close(outputs[1][1], whole[:, :, 4:], "weights_of_layer")

    def test_what_is_hidden_now_may_be_seen_later(self):
        module, x = drawn_module(), tensor(1, B, 4, D_MODEL)
        memory = tensor(2, B, 3, D_MODEL)
        with torch.no_grad():
            cache = module.new_cache(B, 8)
            hide = torch.tensor([True, True, False])
            module(x, memory, mask=hide, cache=cache)
            later = module(x, memory[:, :0], cache=cache)
            assert_close(later, module(x, memory), "output")

    def test_store_and_read(self):
        """A decoder looks at its source again and again; the source is projected once."""
        module = drawn_module()
        memory, values = tensor(1, B, N, D_MODEL), tensor(2, B, N, D_MODEL)
        mask = TORCH.functions.padding_mask([5, 2, 0], N)
        with torch.no_grad():
            for value in (None, values):
                cache = module.new_cache(B, N)
                module.store(memory, value, cache=cache)
                for seed in (3, 4):
                    query = tensor(seed, B, M, D_MODEL)
                    expected, expected_weights = module(
                        query, memory, value, mask, return_weights=True
                    )
                    output, weights = module.read(query, cache, mask, return_weights=True)
                    assert_close(output, expected, "output")
                    assert_close(weights, expected_weights, "weights_of_layer")
                    assert_close(module.read(query, cache, mask), expected, "output")
                    assert cache.length == N

    def test_stored_keys_are_turned_by_their_positions(self):
        module = drawn_module(positions=TORCH.functions.RotaryPositions())
        memory, query = tensor(1, B, N, D_MODEL), tensor(2, B, M, D_MODEL)
        with torch.no_grad():
            cache = module.new_cache(B, N)
            module.store(memory[:, :2], cache=cache)
            module.store(memory[:, 2:], cache=cache)
            assert_close(module.read(query, cache), module(query, memory), "output")

    def test_a_cache_has_the_dtype_of_the_layer(self):
        module = drawn_module().to(torch.bfloat16)
        cache = module.new_cache(B, 6)
        assert cache.key.dtype == torch.bfloat16
        x = tensor(1, B, 2, D_MODEL)
        with torch.no_grad():
            assert module(x.bfloat16(), cache=cache).dtype == torch.bfloat16
            assert module(x, cache=cache).dtype == torch.float64
            wide = drawn_module().new_cache(B, 6)
            assert module(x.bfloat16(), cache=wide).dtype == torch.float64
            assert module(x[:, :1].bfloat16(), cache=wide).dtype == torch.float64
            assert module(x[:, :1], cache=cache).dtype == torch.float64
            assert module(x[:, :1], cache=wide).dtype == torch.float64
            assert module.read(x.bfloat16(), wide).dtype == torch.float64

    def test_errors(self):
        module, x = drawn_module(), tensor(1, B, 4, D_MODEL)
        cache = module.new_cache(B, 6)
        with pytest.raises(ValueError, match=r"asks for a gradient"):
            module(x, cache=cache)
        with pytest.raises(ValueError, match=r"asks for a gradient"):
            module(x[:, :1], cache=cache)
        with torch.no_grad():
            module(x, cache=cache)
            with pytest.raises(ValueError, match="holds 4 of at most 6 rows"):
                module(x, cache=cache)
            with pytest.raises(ValueError, match=r"mask has shape \(4, 4\).*\(3, 4, 8\)"):
                module(x, cache=module_with_four(module, x), mask=torch.ones(4, 4).bool())
            with pytest.raises(
                ValueError, match=r"key has shape \(1, 2, 4, 2\) but the cache takes"
            ):
                module(x[:1], cache=cache)
            step = x[:, :1]
            with pytest.raises(
                ValueError, match=r"key has shape \(1, 2, 1, 2\) but the cache takes"
            ):
                module(step[:1], cache=cache)
            with pytest.raises(ValueError, match="query has width 11 but d_model is 12"):
                module(step[..., :-1], cache=cache)
            with pytest.raises(TypeError, match=r"query must be a torch\.Tensor but is list"):
                module(step.tolist(), cache=cache)
            of_another = drawn_module(n_kv_heads=6).new_cache(B, 6)
            with pytest.raises(ValueError, match=r"but the cache takes .* \(3, 6, new, 2\)"):
                module(step, cache=of_another)
            full = module_with_four(module, x)
            module(x, cache=full)
            with pytest.raises(ValueError, match="holds 8 of at most 8 rows"):
                module(step, cache=full)
            assert full.length == 8
            for call in (module, module.read):
                with pytest.raises(
                    TypeError, match="cache must be a KVCache but is dict; new_cache"
                ):
                    call(x, cache={})
            with pytest.raises(TypeError, match="cache must be a KVCache but is list; new_cache"):
                module.store(x, cache=[])
            with pytest.raises(ValueError, match=r"axes of query \(2,\) and cache \(3,\) do not"):
                module.read(x[:2], cache)
        assert cache.length == 4


def module_with_four(module, x):
    """Return a cache of the module that holds four rows and has room for four."""
    cache = module.new_cache(len(x), 8)
    module(x, cache=cache)
    return cache


class TestGradients:
    def test_formula(self):
        parameters = drawn_parameters(3, 2, 2, 2, 2, 1, 2, 1)
        names = list(parameters)
        mask = torch.tensor([[True, False, True], [False] * 3])

        def run(query, key, value, bias, *values):
            return TORCH.functions.multi_head_attention(
                query,
                key,
                value,
                mask,
                parameters=dict(zip(names, values, strict=True)),
                n_heads=2,
                n_kv_heads=1,
                bias=bias,
                return_weights=True,
            )

        inputs = [tensor(1, 2, 3), tensor(2, 3, 2), tensor(3, 3, 2), tensor(4, 2, 2, 3)]
        inputs += [torch.from_numpy(value) for value in parameters.values()]
        assert gradcheck(run, [value.requires_grad_() for value in inputs])

    @pytest.mark.parametrize("kv_heads", [1, 2])
    @pytest.mark.parametrize("cross", [False, True])
    def test_module(self, kv_heads, cross):
        torch.manual_seed(0)
        module = MultiHeadAttention(4, 2, n_kv_heads=kv_heads).double()
        names = [name for name, _ in module.named_parameters()]
        mask = torch.tensor([[True, False, True], [False] * 3, [True] * 3])

        def run(query, key, *values):
            given_values = dict(zip(names, values, strict=True))
            arrays = (query, key) if cross else (query,)
            return torch.func.functional_call(module, given_values, arrays, {"mask": mask})

        inputs = [
            tensor(1, 2, 3, 4),
            tensor(2, 2, 3, 4),
            *(p.detach() for p in module.parameters()),
        ]
        assert gradcheck(run, [value.clone().requires_grad_() for value in inputs])

    def test_fused_and_explicit_paths_agree(self):
        module, x = drawn_module(), tensor(1, B, N, D_MODEL)
        mask = torch.from_numpy(random_mask(2, B, N, N))
        gradients = []
        for with_weights in (False, True):
            module.zero_grad()
            result = module(x, mask=mask, causal=True, return_weights=with_weights)
            (result[0] if with_weights else result).square().sum().backward()
            gradients.append([p.grad.clone() for p in module.parameters()])
        for fused, explicit in zip(*gradients, strict=True):
            assert_close(fused, explicit, "gradient")


class TestFromTorch:
    """The numbers of `nn.MultiheadAttention`, whose masks say who must not attend."""

    @staticmethod
    def pair(**keywords):
        torch.manual_seed(1)
        foreign = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True, **keywords).double()
        for name, parameter in foreign.named_parameters():
            if "bias" in name:
                nn.init.normal_(parameter)
        return foreign.eval(), MultiHeadAttention.from_torch(foreign)

    @pytest.mark.parametrize("bias", [False, True])
    @pytest.mark.parametrize("masked", [False, True])
    @pytest.mark.parametrize("cross", [False, True])
    def test_equal(self, bias, masked, cross):
        foreign, ours = self.pair(bias=bias)
        query = tensor(1, B, M, D_MODEL)
        key = tensor(2, B, N, D_MODEL) if cross else query
        n = key.shape[1]
        drop_key = torch.arange(n) >= torch.tensor([n, n - 1, 2])[:, None]  # (B, n)
        drop = torch.from_numpy(random_mask(3, M, n, keep=0.3))
        drop[:, 0] = False
        theirs = {"key_padding_mask": drop_key, "attn_mask": drop} if masked else {}
        mask = None
        if masked:
            functions = TORCH.functions
            mask = functions.from_drop_mask(drop_key)[:, None] & functions.from_drop_mask(drop)
        expected, expected_weights = foreign(query, key, key, average_attn_weights=False, **theirs)
        output, weights = ours(query, key, mask=mask, return_weights=True)
        assert_close(output.detach(), expected.detach(), "output")
        assert_close(weights.detach(), expected_weights.detach(), "weights_of_layer")
        fast = foreign(query, key, key, need_weights=False, **theirs)[0]
        assert_close(ours(query, key, mask=mask).detach(), fast.detach(), "output")

    def test_gradients_are_equal(self):
        foreign, ours = self.pair()
        x = tensor(1, B, N, D_MODEL)
        foreign.train()(x, x, x, need_weights=False)[0].square().sum().backward()
        ours.train()(x).square().sum().backward()
        assert_close(ours.w_input.grad, foreign.in_proj_weight.grad.T, "gradient")
        assert_close(ours.b_input.grad, foreign.in_proj_bias.grad, "gradient")
        assert_close(ours.w_output.grad, foreign.out_proj.weight.grad.T, "gradient")
        assert_close(ours.b_output.grad, foreign.out_proj.bias.grad, "gradient")

    def test_what_is_taken_over(self):
        foreign, ours = self.pair(dropout=0.25)
        assert ours.dropout == 0.25
        assert not ours.training
        assert ours.w_input.dtype == torch.float64
        assert MultiHeadAttention.from_torch(foreign.train()).training
        with torch.no_grad():
            foreign.in_proj_weight.zero_()
        assert ours.w_input.all()  # a copy
        assert not foreign.out_proj.weight.equal(ours.w_output)

    def test_errors(self):
        make = MultiHeadAttention.from_torch
        with pytest.raises(ValueError, match="embed_dim 12, kdim 5 and vdim 7; only equal widths"):
            make(nn.MultiheadAttention(12, 2, kdim=5, vdim=7))
        with pytest.raises(ValueError, match="adds keys of its own"):
            make(nn.MultiheadAttention(12, 2, add_bias_kv=True))
        with pytest.raises(ValueError, match="adds keys of its own"):
            make(nn.MultiheadAttention(12, 2, add_zero_attn=True))
        with pytest.raises(
            TypeError, match=r"module must be a torch\.nn\.MultiheadAttention but is Linear"
        ):
            make(nn.Linear(2, 2))


class TestErrors:
    def test_heads(self, backend):
        x = backend.array(np.zeros((2, 10)))
        functions = backend.functions
        with pytest.raises(
            ValueError, match=r"the width of x is 10, not a multiple of n_heads, 3; .*3.333"
        ):
            functions.split_heads(x, 3)
        with pytest.raises(ValueError, match="n_heads must be at least 1 but is 0"):
            functions.split_heads(x, 0)
        with pytest.raises(TypeError, match=r"n_heads must be a whole number but is 2\.0"):
            functions.split_heads(x, 2.0)
        with pytest.raises(ValueError, match=r"x needs at least 2 axes, \(\.\.\., n, d_model\)"):
            functions.split_heads(x[0], 2)
        with pytest.raises(
            ValueError, match=r"x needs at least 3 axes, \(\.\.\., n_heads, n, d_head\)"
        ):
            functions.merge_heads(x)
        with pytest.raises(TypeError, match=r"x must be real but is .*complex"):
            functions.merge_heads(backend.array(np.zeros((2, 2, 2), complex)))

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"n_heads": 5}, r"width of query @ w_query is 12, not a multiple of n_heads, 5"),
            ({"n_kv_heads": 4}, r"n_heads is 6, not a multiple of n_kv_heads, 4; .*group"),
            ({"w_value": (4, 7)}, r"value @ w_value is 7, not a multiple of n_kv_heads, 2"),
            ({"w_key": (4, 12)}, r"w_key has shape \(4, 12\) but .* is \(4, 4\) here"),
            ({"w_query": (12, 5)}, r"n_heads, 6"),
            ({"w_query": (12, 12)}, r"w_query has shape \(12, 12\) but .* is \(5, 12\)"),
            (
                {"w_output": (9, 18)},
                r"w_output has shape \(9, 18\) but n_heads \* d_v is 18; .*transposed",
            ),
            (
                {"w_output": (18,)},
                r"w_output needs the shape \(d_in, d_out\) but has shape \(18,\)",
            ),
            (
                {"w_output": (17, 9)},
                r"w_output has shape \(17, 9\) but .* is 18; weights multiply from",
            ),
            ({"b_output": (18,)}, r"b_output has shape \(18,\) but is added to rows of width 9"),
            ({"b_key": (12,)}, r"b_key has shape \(12,\) but is added to rows of width 4"),
            ({"w_qery": (4, 4)}, r"parameters holds w_qery, which nobody reads; it needs w_query"),
            (
                {"w_value": None},
                r"parameters lacks w_value; it needs w_query, w_key, w_value, w_output",
            ),
            ({"key": (2, 6, 4)}, r"value has length 5 but key has length 6"),
            ({"query": (3, 4, 5)}, r"leading axes of query \(3,\) and key \(2,\)"),
            ({"mask": (5, 4)}, r"mask has shape \(5, 4\), .*\(2, 4, 5\) .*swapped"),
            ({"mask": (2, 5)}, r"mask has shape \(2, 5\).*its query axis: mask\[:, None, :\]"),
            ({"mask": (2, 2, 4, 5)}, r"one mask for each head, but .*\(2, 6, 4, 5\)"),
            ({"mask": (3, 4, 5)}, r"mask has shape \(3, 4, 5\), which does not broadcast"),
        ],
    )
    def test_messages(self, backend, changed, message):
        parameters = {
            "w_query": (5, 12),
            "w_key": (4, 4),
            "w_value": (3, 6),
            "w_output": (18, 9),
            "b_key": (4,),
        }
        arrays = {"query": (2, 4, 5), "key": (2, 5, 4), "value": (2, 5, 3)}
        keywords = {"n_heads": 6, "n_kv_heads": 2}
        for name, what in changed.items():
            if name == "mask":
                keywords[name] = backend.array(np.ones(what, bool))
            else:
                where = next((d for d in (arrays, keywords) if name in d), parameters)
                where[name] = what
        parameters = {
            name: backend.array(np.zeros(shape))
            for name, shape in parameters.items()
            if shape is not None
        }
        arrays = {name: backend.array(np.zeros(shape)) for name, shape in arrays.items()}
        with pytest.raises(ValueError, match=message):
            backend.functions.multi_head_attention(**arrays, parameters=parameters, **keywords)

    def test_types(self, backend):
        x = backend.array(np.zeros((2, 4)))
        parameters = {
            name: backend.array(value) for name, value in identity_parameters(4, 4, 4, 4).items()
        }
        attend = backend.functions.multi_head_attention
        with pytest.raises(TypeError, match=r"mask must be boolean but is .*True means may attend"):
            attend(x, mask=backend.array(np.ones((2, 2))), parameters=parameters, n_heads=2)
        with pytest.raises(TypeError, match=r"parameters must be a mapping but is list; .*by name"):
            attend(x, parameters=list(parameters.values()), n_heads=2)
        with pytest.raises(TypeError, match=r"w_key must be real but is .*complex"):
            attend(x, parameters=parameters | {"w_key": parameters["w_key"] + 0j}, n_heads=2)
        with pytest.raises(TypeError, match=r"query must be real but is .*complex"):
            attend(x + 0j, parameters=parameters, n_heads=2)
        with pytest.raises(TypeError, match=r"bias must be real but is .*bool.*belongs into mask="):
            attend(x, bias=backend.array(np.ones((2, 2), bool)), parameters=parameters, n_heads=2)
        with pytest.raises(ValueError, match=r"bias has shape \(3, 2, 2\), which does not"):
            attend(x, bias=backend.array(np.ones((3, 2, 2))), parameters=parameters, n_heads=2)
        with pytest.raises(TypeError, match="missing"):
            attend(x, n_heads=2)

    @pytest.mark.parametrize(
        ("arguments", "keywords", "error", "message"),
        [
            ((10, 3), {}, ValueError, "d_model is 10, not a multiple of n_heads, 3"),
            (
                (12, 6),
                {"n_kv_heads": 4},
                ValueError,
                "n_heads is 6, not a multiple of n_kv_heads, 4",
            ),
            ((12, 0), {}, ValueError, "n_heads must be at least 1"),
            ((12, 6), {"n_kv_heads": 0}, ValueError, "n_kv_heads must be at least 1"),
            ((12.0, 6), {}, TypeError, "d_model must be a whole number"),
            (
                (12, 6),
                {"dropout": 1.0},
                ValueError,
                r"dropout must be at least 0 and below 1 but is 1\.0",
            ),
            ((12, 6), {"dropout": "0.1"}, TypeError, "dropout must be a real number"),
        ],
    )
    def test_construction(self, arguments, keywords, error, message):
        with pytest.raises(error, match=message):
            MultiHeadAttention(*arguments, **keywords)

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            (
                [(2, 4, 11)],
                ValueError,
                "query has width 11 but d_model is 12; heads are split inside",
            ),
            ([(2, 4, 12), (2, 5, 6)], ValueError, "key has width 6 but d_model is 12"),
            (
                [(2, 4, 12), (2, 5, 12), (2, 5, 6)],
                ValueError,
                "value has width 6 but d_model is 12",
            ),
            (
                [(2, 4, 12), (2, 5, 12), (2, 6, 12)],
                ValueError,
                "value has length 6 but key has length 5",
            ),
            ([(2, 4, 12), (3, 5, 12)], ValueError, r"leading axes of query \(2,\) and key \(3,\)"),
            ([(12,)], ValueError, "query needs at least 2 axes"),
        ],
    )
    def test_forward(self, arguments, error, message, monkeypatch):
        """No wrong call reaches a kernel."""
        module = MultiHeadAttention(12, 6)
        for kernel in ("linear", "scaled_dot_product_attention"):
            monkeypatch.setattr(nn.functional, kernel, None)
        with pytest.raises(error, match=message):
            module(*(torch.zeros(shape) for shape in arguments))

    def test_forward_types(self):
        module, x = MultiHeadAttention(12, 6), torch.zeros(2, 4, 12)
        with pytest.raises(TypeError, match=r"query must be real but is torch\.complex64"):
            module(x + 0j)
        with pytest.raises(TypeError, match=r"key must be a torch\.Tensor but is ndarray"):
            module(x, x.numpy())
        with pytest.raises(TypeError, match=r"mask must be boolean but is .*from_drop_mask"):
            module(x, mask=torch.zeros(4, 4))
        with pytest.raises(ValueError, match=r"mask has shape \(2, 4\).*mask\[:, None, :\]"):
            module(x, mask=torch.ones(2, 4).bool())


class TestHelp:
    def test_twins(self):
        ours, theirs = attnkit.numpy.multihead, attnkit.torch.multihead
        assert set(theirs.__all__) - set(ours.__all__) == {"MultiHeadAttention"}
        for name in ours.__all__:
            assert inspect.signature(getattr(ours, name)) == inspect.signature(
                getattr(theirs, name)
            )

    def test_docstrings_are_complete(self, backend):
        module = getattr(attnkit, backend.name).multihead
        for name in module.__all__:
            text = inspect.getdoc(getattr(module, name))
            for section in ("Parameters", "Raises", "References", "Examples"):
                assert f"{section}\n---" in text, f"{name} lacks {section}"
            for parameter in inspect.signature(getattr(module, name)).parameters:
                assert parameter in text
