"""Schemes of position: against loops and published definitions, their laws, edges and gradients."""

import inspect
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

import attnkit.numpy.positions
import attnkit.torch.positions
from tests.attnkit import loops
from tests.attnkit.backends import NUMPY, TORCH, normal
from tests.attnkit.test_cases import SET_B, attention, g
from tests.tolerances import assert_close

LAYOUTS = ("interleaved", "half")


def both(name, *arguments, **keywords):
    """Run a function on both back ends in float64 and return the results as NumPy."""
    results = []
    for backend in (NUMPY, TORCH):
        arrays = [backend.array(a) if isinstance(a, np.ndarray) else a for a in arguments]
        more = dict(keywords)
        if name in ("sinusoidal_positions",) or (name.startswith("alibi") and backend is TORCH):
            more["dtype"] = backend.dtype("float64")
        results.append(backend.numpy(getattr(backend.functions, name)(*arrays, **more)))
    return results


class TestAgainstLoops:
    @given(length=st.integers(0, 40), half=st.integers(0, 9))
    def test_sinusoidal(self, length, half):
        expected = loops.sinusoidal_positions(length, 2 * half)
        for result in both("sinusoidal_positions", length, 2 * half):
            assert_close(result, expected, "output")

    @given(m=st.integers(0, 7), n=st.integers(0, 7), clip=st.integers(0, 9))
    def test_relative_index(self, m, n, clip):
        expected = loops.relative_index(m, n, clip)
        for result in both("relative_index", m, n, clip):
            assert result.dtype == np.int64
            np.testing.assert_array_equal(result, expected)

    @given(n_heads=st.integers(1, 70), m=st.integers(0, 4), n=st.integers(0, 5))
    def test_alibi(self, n_heads, m, n):
        for result in both("alibi_slopes", n_heads):
            assert_close(result, np.array(loops.alibi_slopes(n_heads)), "output")
        for result in both("alibi_bias", m, n, n_heads):
            assert_close(result, loops.alibi_bias(m, n, n_heads), "output")

    @given(
        lead=st.lists(st.integers(1, 3), max_size=2).map(tuple),
        m=st.integers(1, 5),
        half=st.integers(1, 4),
        base=st.sampled_from([2.0, 10000.0, 5e5]),
        layout=st.sampled_from(LAYOUTS),
        start=st.sampled_from([-3, 0, 2.5, 1000]),
    )
    def test_rotary(self, lead, m, half, base, layout, start):
        x, positions = normal(1, *lead, m, 2 * half), start + np.arange(m)
        expected = loops.over_leading(
            lambda x, positions: loops.rotary(x, positions, base=base, layout=layout),
            [x, positions],
            [2, 1],
        )
        for result in both("rotary", x, positions, base=base, layout=layout):
            assert_close(result, expected, "output")


class TestBuckets:
    """Every whole distance within ±1000 falls where the published scheme puts it."""

    DISTANCES = np.arange(-1000, 1001)

    @pytest.mark.parametrize("bidirectional", [True, False])
    @pytest.mark.parametrize(
        ("n_buckets", "max_distance"),
        [
            (32, 128),
            (32, 16),
            (8, 20),
            (64, 512),
            (4, 2),
            (6, 5),
            (33, 100),
            (16, 243),
            (18, 128),
            (9, 128),
            (6, 1029),
        ],
    )
    def test_every_distance(self, backend, n_buckets, max_distance, bidirectional):
        if max_distance <= (n_buckets // 2 if not bidirectional else n_buckets // 4):
            max_distance *= 7
        expected = [
            loops.t5_bucket(int(d), n_buckets, max_distance, bidirectional=bidirectional)
            for d in self.DISTANCES
        ]
        result = backend.functions.t5_bucket(
            backend.array(self.DISTANCES), n_buckets, max_distance, bidirectional=bidirectional
        )
        assert backend.numpy(result).tolist() == expected

    @pytest.mark.parametrize("bidirectional", [True, False])
    def test_the_published_formula_in_single_precision(self, backend, bidirectional):
        """The sizes of the published models, computed as their code does, in float32."""
        n_side = 16 if bidirectional else 32
        away = (np.abs(self.DISTANCES) if bidirectional else np.maximum(-self.DISTANCES, 0)).astype(
            np.float32
        )
        single = n_side // 2
        with np.errstate(divide="ignore"):
            ratio = np.log(away / single) / np.float32(math.log(128 / single))
        large = single + np.trunc(np.maximum(ratio, 0) * (n_side - single))
        bucket = np.where(away < single, away, np.minimum(large, n_side - 1)).astype(int)
        if bidirectional:
            bucket += n_side * (self.DISTANCES > 0)
        result = backend.functions.t5_bucket(
            backend.array(self.DISTANCES), 32, 128, bidirectional=bidirectional
        )
        np.testing.assert_array_equal(backend.numpy(result), bucket)

    def test_known_borders(self, backend):
        """Where the buckets of 32 up to 128 begin, counted by hand from powers of the root of two."""
        borders = [8, 12, 16, 23, 32, 46, 64, 91]
        for number, border in enumerate(borders, start=8):
            around = backend.array(np.array([-border + 1, -border, border - 1, border]))
            below = number - 1
            result = backend.functions.t5_bucket(around, 32, 128)
            assert backend.numpy(result).tolist() == [below, number, below + 16, number + 16]

    @given(
        n_buckets=st.integers(4, 80),
        further=st.integers(1, 2000),
        bidirectional=st.booleans(),
        distance=st.integers(-3000, 3000),
    )
    def test_any_sizes(self, n_buckets, further, bidirectional, distance):
        n_side = n_buckets // 2 if bidirectional else n_buckets
        max_distance = n_side // 2 + further
        expected = loops.t5_bucket(distance, n_buckets, max_distance, bidirectional=bidirectional)
        for result in both(
            "t5_bucket",
            np.array(distance),
            n_buckets,
            max_distance,
            bidirectional=bidirectional,
        ):
            assert result == expected

    def test_any_shape_and_none(self, backend):
        distance = np.arange(-6, 6).reshape(2, 3, 2)
        result = backend.functions.t5_bucket(backend.array(distance), 8, 20)
        assert tuple(result.shape) == (2, 3, 2)
        assert tuple(backend.functions.t5_bucket([], 8, 20).shape) == (0,)


class TestSinusoidal:
    def test_columns(self, backend):
        table = backend.numpy(backend.functions.sinusoidal_positions(5, 6))
        assert table[0].tolist() == [0, 1, 0, 1, 0, 1]
        assert_close(table[3, :2], [math.sin(3), math.cos(3)], "output", backend.default)
        last = [math.sin(3 / 10000 ** (4 / 6)), math.cos(3 / 10000 ** (4 / 6))]
        assert_close(table[3, 4:], last, "output", backend.default)

    def test_a_distance_is_one_rotation(self, backend):
        """One matrix takes every position to the one seven later."""
        table = backend.functions.sinusoidal_positions(50, 8, dtype=backend.dtype("float64"))
        table = backend.numpy(table)
        matrix = np.zeros((8, 8))
        for pair in range(4):
            angle = 7 / 10000 ** (2 * pair / 8)
            sine, cosine = math.sin(angle), math.cos(angle)
            rotation = [[cosine, -sine], [sine, cosine]]
            matrix[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = rotation
        assert_close(table[:-7] @ matrix, table[7:], "output")

    def test_far_positions_keep_their_angles(self):
        """An angle of 100 000 in float32 would be off by four thousandths."""
        table = TORCH.functions.sinusoidal_positions(100_001, 2)
        assert table.dtype == torch.float32
        assert_close(table[-1].double(), [math.sin(1e5), math.cos(1e5)], "output", "float32")

    def test_dtypes(self, backend):
        functions = backend.functions
        assert backend.dtype_name(functions.sinusoidal_positions(3, 4)) == backend.default
        for dtype in backend.dtypes:
            table = functions.sinusoidal_positions(3, 4, dtype=backend.dtype(dtype))
            assert backend.dtype_name(table) == dtype


class TestCases:
    def test_24_relative_position_index(self, backend):
        index = backend.numpy(backend.functions.relative_index(4, 4, 2))
        assert index.tolist() == [[2, 3, 4, 4], [1, 2, 3, 4], [0, 1, 2, 3], [0, 0, 1, 2]]
        bias = g(5, 5)[index]
        right = [
            [0.160855, -0.562133],
            [-0.436639, 0.184292],
            [0.423925, -0.083376],
            [-0.484211, -0.375502],
        ]
        assert_close(attention(backend, SET_B, bias=bias), right, "printed")
        transposed = attention(backend, SET_B, bias=bias.T)
        assert_close(transposed[3], [-0.328565, -0.347742], "printed")

    @pytest.mark.parametrize(
        ("layout", "right", "wrong"),
        [
            ("interleaved", [-0.443104, -0.336852], [0.012098, -0.248335]),
            ("half", [-0.373346, -0.452226], [-0.147149, -0.293874]),
        ],
    )
    def test_22_rotary_with_a_cache_offset(self, backend, layout, right, wrong):
        functions = backend.functions
        query, key, value = map(backend.array, (g(1, 4, 4), g(2, 4, 4), g(3, 4, 2)))
        positions = np.arange(4)
        turned_key = functions.rotary(key, positions, layout=layout)
        full = functions.scaled_dot_product_attention(
            functions.rotary(query, positions, layout=layout), turned_key, value, causal=True
        )
        assert_close(backend.numpy(full)[3], right, "printed")
        for offset, expected in ((3, right), (0, wrong)):
            last = functions.rotary(query[3:], [offset], layout=layout)
            alone = functions.scaled_dot_product_attention(last, turned_key, value, causal=True)
            assert_close(backend.numpy(alone)[0], expected, "printed")


class TestRotary:
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_only_the_distance_counts(self, backend, layout):
        functions = backend.functions
        query, key = backend.array(normal(1, 3, 2, 6)), backend.array(normal(2, 3, 5, 6))

        def scores(start):
            turned_query = functions.rotary(query, start + np.arange(3, 5), layout=layout)
            turned_key = functions.rotary(key, start + np.arange(5), layout=layout)
            return backend.numpy(functions.dot_scores(turned_query, turned_key))

        assert_close(scores(70), scores(0), "output")
        turned_query = functions.rotary(query, np.arange(4, 6), layout=layout)
        turned_key = functions.rotary(key, np.arange(5), layout=layout)
        moved = backend.numpy(functions.dot_scores(turned_query, turned_key))
        assert not np.allclose(moved, scores(0))

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_lengths_stay_and_position_zero_does_nothing(self, backend, layout):
        x = normal(1, 2, 5, 6)
        turned = backend.numpy(
            backend.functions.rotary(backend.array(x), np.arange(5), layout=layout)
        )
        assert_close(np.linalg.norm(turned, axis=-1), np.linalg.norm(x, axis=-1), "output")
        np.testing.assert_array_equal(turned[:, 0], x[:, 0])
        assert not np.allclose(turned[:, 1], x[:, 1])

    def test_layouts_are_one_up_to_the_order_of_columns(self, backend):
        x, order = normal(1, 5, 6), [0, 2, 4, 1, 3, 5]
        rotary = backend.functions.rotary
        interleaved = backend.numpy(rotary(backend.array(x), np.arange(5)))
        half = backend.numpy(rotary(backend.array(x[:, order]), np.arange(5), layout="half"))
        assert_close(half, interleaved[:, order], "output")

    def test_positions_of_their_own_for_each_sequence(self, backend):
        x = normal(1, 3, 2, 4, 6)  # (B, heads, m, d)
        positions = np.array([[0, 1, 2, 3], [5, 6, 7, 8], [0, 0, 9, 9]])
        rotary = backend.functions.rotary
        together = backend.numpy(rotary(backend.array(x), positions[:, None]))
        for batch in range(3):
            alone = backend.numpy(rotary(backend.array(x[batch]), positions[batch]))
            assert_close(together[batch], alone, "output")

    def test_dtypes_and_far_positions(self, backend):
        """Angles are computed in float64, so that narrow inputs lose no more than they did."""
        positions = 10**9 + np.arange(4)  # beyond what float32 counts
        for dtype in backend.dtypes:
            x = backend.array(normal(1, 4, 6), dtype)
            turned = backend.functions.rotary(x, positions)
            assert backend.dtype_name(turned) == dtype
            exact = NUMPY.functions.rotary(backend.numpy(x), positions)
            assert_close(backend.numpy(turned), exact, "output", dtype)
        whole = backend.functions.rotary(backend.array(np.ones((4, 2), int)), positions)
        assert backend.dtype_name(whole) == backend.default

    def test_layouts_of_memory_and_inputs_left_alone(self, backend):
        x = normal(1, 4, 6, 2, 3)
        moved = x.transpose(2, 3, 0, 1)[::-1, :, ::-1]
        expected = NUMPY.functions.rotary(np.ascontiguousarray(moved), np.arange(4))
        if backend is NUMPY:
            x.flags.writeable = False
            view = moved
        else:
            view = torch.from_numpy(x).permute(2, 3, 0, 1).flip(0, 2)
        before = backend.numpy(view).copy()
        assert_close(
            backend.numpy(backend.functions.rotary(view, np.arange(4))), expected, "output"
        )
        np.testing.assert_array_equal(backend.numpy(view), before)

    def test_empty(self, backend):
        for shape in ((0, 3, 4), (2, 0, 4), (2, 3, 0)):
            for layout in LAYOUTS:
                x = backend.array(np.zeros(shape))
                turned = backend.functions.rotary(x, np.arange(shape[-2]), layout=layout)
                assert tuple(turned.shape) == shape

    def test_no_warning_leaves(self):
        with np.errstate(all="raise"):
            NUMPY.functions.rotary(np.full((2, 4), 1e308), [3, 4])
            NUMPY.functions.rotary(np.array([[np.nan, np.inf]]), [3])


class TestSlopes:
    def test_published_examples(self, backend):
        slopes = backend.numpy(backend.functions.alibi_slopes(8))
        assert slopes.tolist() == [2.0**-i for i in range(1, 9)]
        twelve = backend.numpy(backend.functions.alibi_slopes(12))
        assert_close(twelve[:8], slopes, "output", backend.default)
        assert_close(twelve[8:], [2.0 ** -(i + 0.5) for i in range(4)], "output", backend.default)

    def test_the_last_query_meets_the_last_key(self, backend):
        bias = backend.numpy(backend.functions.alibi_bias(2, 5, 1))
        assert bias.tolist() == [
            [[d / -256 for d in row] for row in ([3, 2, 1, 0, 1], [4, 3, 2, 1, 0])]
        ]


class TestErrors:
    WRONG = (
        (
            "sinusoidal_positions",
            (5, 7),
            {},
            ValueError,
            "d_model must be even but is 7; .* 6 or 8",
        ),
        ("sinusoidal_positions", (-1, 8), {}, ValueError, "length must be at least 0 but is -1"),
        ("sinusoidal_positions", (5, 8.0), {}, TypeError, "d_model must be a whole number"),
        ("relative_index", (3, 3, -1), {}, ValueError, "clip must be at least 0 but is -1"),
        ("relative_index", (3, 3.5, 1), {}, TypeError, "n must be a whole number but is 3.5"),
        ("t5_bucket", ([0], 3, 9), {}, ValueError, "n_buckets must be at least 4 but is 3"),
        ("t5_bucket", ([0], 1, 9), {"bidirectional": False}, ValueError, "n_buckets .* at least 2"),
        (
            "t5_bucket",
            ([0], 32, 8),
            {},
            ValueError,
            "max_distance must be above 8 but is 8; .*wide ones",
        ),
        (
            "t5_bucket",
            ([0.5], 32, 128),
            {},
            TypeError,
            "distance must be integers but is .*float.*tokens",
        ),
        ("t5_bucket", ([True], 32, 128), {}, TypeError, "distance must be integers but is .*bool"),
        ("alibi_slopes", (0,), {}, ValueError, "n_heads must be at least 1 but is 0"),
        ("alibi_bias", (2, -2, 4), {}, ValueError, "n must be at least 0 but is -2"),
        (
            "rotary",
            (np.ones((2, 5)), [0, 1]),
            {},
            ValueError,
            r"odd width 5 in shape \(2, 5\).*4 or 6",
        ),
        (
            "rotary",
            (np.ones((2, 5, 4)), [0, 1, 2]),
            {},
            ValueError,
            r"positions has shape \(3,\) .*\(2, 5\)",
        ),
        (
            "rotary",
            (np.ones((1, 4)), [0, 1, 2]),
            {},
            ValueError,
            "one position for each row.*cache",
        ),
        ("rotary", (np.ones(4), [0]), {}, ValueError, "x needs at least 2 axes"),
        (
            "rotary",
            (np.ones((1, 4)), [1j]),
            {},
            TypeError,
            "positions must be real but is .*complex",
        ),
        (
            "rotary",
            (np.ones((1, 4)), [True]),
            {},
            TypeError,
            "positions must be real but is .*bool",
        ),
        (
            "rotary",
            (np.ones((1, 4), complex), [0]),
            {},
            TypeError,
            "x must be real but is .*complex",
        ),
        (
            "rotary",
            (np.ones((1, 4)), [0]),
            {"layout": "split"},
            ValueError,
            "layout must be 'interleaved'",
        ),
        ("rotary", (np.ones((1, 4)), [0]), {"base": 0}, ValueError, "base must be above 0"),
    )

    @pytest.mark.parametrize(("name", "arguments", "keywords", "error", "message"), WRONG)
    def test_messages(self, backend, name, arguments, keywords, error, message):
        arguments = [backend.array(a) if isinstance(a, np.ndarray) else a for a in arguments]
        with pytest.raises(error, match=message):
            getattr(backend.functions, name)(*arguments, **keywords)

    def test_dtypes_of_tables(self, backend):
        with pytest.raises(TypeError, match=r"dtype must be a float dtype but is .*int64"):
            backend.functions.sinusoidal_positions(3, 4, dtype=backend.dtype("int64"))

    @pytest.mark.parametrize(
        ("make", "error", "message"),
        [
            (lambda: TORCH.functions.RotaryPositions(layout="x"), ValueError, "layout must be"),
            (lambda: TORCH.functions.RotaryPositions(base=-1), ValueError, "base must be above 0"),
            (lambda: TORCH.functions.AlibiPositions(0), ValueError, "n_heads must be at least 1"),
            (
                lambda: TORCH.functions.T5Positions(2, 32, 8),
                ValueError,
                "max_distance must be above",
            ),
            (lambda: TORCH.functions.ShawPositions(4, -1), ValueError, "clip must be at least 0"),
            (lambda: TORCH.functions.LearnedPositions(2.5, 4), TypeError, "length must be a whole"),
        ],
    )
    def test_schemes(self, make, error, message):
        with pytest.raises(error, match=message):
            make()

    def test_learned_positions_end(self):
        learned = TORCH.functions.LearnedPositions(6, 4)
        with pytest.raises(ValueError, match="length 5 from position 2 on but the table has 6"):
            learned(torch.zeros(2, 5, 4), start=2)
        with pytest.raises(ValueError, match="x has width 3 but the table has width 4"):
            learned(torch.zeros(2, 5, 3))


class TestSchemes:
    """The classes that go into multi-head attention, against the functions they stand for."""

    def test_rotary(self):
        x = torch.from_numpy(normal(1, 2, 3, 5, 4))
        for layout in LAYOUTS:
            scheme = TORCH.functions.RotaryPositions(base=100.0, layout=layout)
            expected = TORCH.functions.rotary(x, range(7, 12), base=100.0, layout=layout)
            assert_close(scheme.turn(x, 7), expected, "output")
            assert scheme.bias(x, 5) is None
            assert scheme.context(x) is None

    def test_alibi(self):
        query = torch.from_numpy(normal(1, 2, 3, 5, 4))
        scheme = TORCH.functions.AlibiPositions(3)
        assert scheme.turn(query, 7) is query
        assert_close(scheme.bias(query, 6), NUMPY.functions.alibi_bias(5, 6, 3), "output")
        assert scheme.bias(query, 6).dtype == torch.float64

    def test_t5(self):
        scheme = TORCH.functions.T5Positions(3, 8, 20, bidirectional=False).double()
        assert not scheme.table.any()
        torch.nn.init.normal_(scheme.table)
        bias = scheme.bias(torch.zeros(2, 3, 2, 4).double(), 6)
        for head in range(3):
            for i in range(2):
                for j in range(6):
                    bucket = loops.t5_bucket(j - (i + 4), 8, 20, bidirectional=False)
                    assert bias[head, i, j] == scheme.table[bucket, head]

    def test_shaw(self):
        m, n, d, clip = 3, 5, 4, 2
        scheme = TORCH.functions.ShawPositions(d, clip).double()
        query, weights = torch.from_numpy(normal(1, 2, m, d)), torch.from_numpy(normal(2, 2, m, n))
        index = loops.relative_index(m, n, clip)
        key_vectors, value_vectors = scheme.key_table[index], scheme.value_table[index]  # (m, n, d)
        expected = torch.einsum("bid,ijd->bij", query, key_vectors) / d**0.5
        assert_close(scheme.bias(query, n).detach(), expected.detach(), "output")
        expected = torch.einsum("bij,ijd->bid", weights, value_vectors)
        assert_close(scheme.context(weights).detach(), expected.detach(), "output")
        assert scheme.needs_weights
        keys_only = TORCH.functions.ShawPositions(d, clip, values=False)
        assert not keys_only.needs_weights
        assert keys_only.context(weights) is None
        assert keys_only.bias(torch.zeros(2, 0, d), n).shape == (2, 0, n)

    @pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
    def test_shaw_by_skewing(self, n):
        """The shift of products by distance equals the look-up, also where clip is above n."""
        clip = 12
        scheme = TORCH.functions.ShawPositions(4, clip, values=False).double()
        query = torch.from_numpy(normal(1, n, 4))
        products = query @ scheme.key_table[clip - n + 1 : clip + n].T / 2  # (n, 2n - 1)
        flat = torch.nn.functional.pad(products, (0, 1)).flatten()[n - 1 :]
        skewed = torch.nn.functional.pad(flat, (0, n * 2 * n)).view(-1)
        rows = [skewed[i * (2 * n - 1) : i * (2 * n - 1) + n] for i in range(n)]
        assert_close(scheme.bias(query, n).detach(), torch.stack(rows).detach(), "output")

    @pytest.mark.parametrize("dtype", TORCH.dtypes)
    @pytest.mark.parametrize("of_tables", TORCH.dtypes)
    def test_tables_follow_what_they_meet(self, dtype, of_tables):
        dtype, of_tables = TORCH.dtype(dtype), TORCH.dtype(of_tables)
        query, weights = torch.ones(2, 3, 4, dtype=dtype), torch.ones(2, 3, 5, dtype=dtype)
        shaw = TORCH.functions.ShawPositions(4, 2).to(of_tables)
        for scheme in (shaw, TORCH.functions.T5Positions(2, 4, 9).to(of_tables)):
            assert scheme.bias(query, 5).dtype == dtype
        assert shaw.context(weights).dtype == dtype

    def test_learned(self):
        learned = TORCH.functions.LearnedPositions(6, 4).double()
        x = torch.from_numpy(normal(1, 2, 3, 4))
        assert_close(learned(x, 2).detach(), x + learned.table.detach()[2:5], "output")

    def test_gradients(self):
        functions = TORCH.functions
        x = torch.from_numpy(normal(1, 2, 3, 4)).requires_grad_()
        for layout in LAYOUTS:
            assert gradcheck(lambda x, k=layout: functions.rotary(x, range(3), layout=k), [x])
        shaw = functions.ShawPositions(4, 1).double()
        weights = torch.from_numpy(normal(2, 2, 3, 5)).requires_grad_()
        assert gradcheck(lambda query, _: shaw.bias(query, 5), [x, shaw.key_table])
        assert gradcheck(lambda weights, _: shaw.context(weights), [weights, shaw.value_table])
        t5 = functions.T5Positions(2, 4, 9).double()
        assert gradcheck(lambda _: t5.bias(x, 5), [t5.table])


class TestHelp:
    def test_twins(self):
        ours, theirs = attnkit.numpy.positions, attnkit.torch.positions
        assert set(ours.__all__) <= set(theirs.__all__)
        for name in ours.__all__:
            of_numpy = list(inspect.signature(getattr(ours, name)).parameters.values())
            of_torch = list(inspect.signature(getattr(theirs, name)).parameters.values())
            shared = {parameter.name for parameter in of_numpy}
            assert of_numpy == [p for p in of_torch if p.name in shared]
            assert {p.name for p in of_torch} - shared <= {"device", "dtype"}

    def test_docstrings_are_complete(self, backend):
        module = getattr(attnkit, backend.name).positions
        for name in set(module.__all__) - {"HeadPositions"}:
            text = inspect.getdoc(getattr(module, name))
            for section in ("Parameters", "Raises", "Examples"):
                assert f"{section}\n---" in text, f"{name} lacks {section}"
            for parameter in inspect.signature(getattr(module, name)).parameters:
                assert parameter in text
