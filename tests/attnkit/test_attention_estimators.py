"""Learning through a hard choice: against loops, the laws of the estimates, gradients, edges and messages."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from tests.attnkit import loops
from tests.attnkit.backends import BACKENDS, NUMPY, TORCH, normal, random_mask
from tests.attnkit.test_chain import assert_chain, everywhere
from tests.tolerances import assert_close

N = 5
SCORES, REWARD = normal(1, N), normal(2, N)
MASK = np.array([True, False, True, True, False])


def on(backend, name, *arrays, **keywords):
    """Run a function on NumPy arrays and return NumPy."""
    ready = [backend.array(x) if isinstance(x, np.ndarray) else x for x in arrays]
    more = {k: backend.array(v) if isinstance(v, np.ndarray) else v for k, v in keywords.items()}
    result = getattr(backend.functions, name)(*ready, **more)
    return tuple(map(backend.numpy, result)) if isinstance(result, tuple) else backend.numpy(result)


def grid(n):
    """Return the middles of n equal parts of the unit interval."""
    return (np.arange(n) + 0.5) / n


leads = st.sampled_from(
    [
        ((), (), ()),
        ((2,), (2,), (2,)),
        ((3, 1), (1, 2), (3, 2)),
        ((), (2, 3), (3,)),
        ((2, 2), (), ()),
    ]
)
keeps = st.sampled_from([0.0, 0.4, 1.0])


class TestAgainstLoops:
    @given(lead=leads, n=st.integers(1, 6), keep=keeps)
    def test_exact_reward_gradient(self, lead, n, keep):
        of_scores, of_reward, _ = lead
        scores, reward = normal(1, *of_scores, n), normal(2, *of_reward, n)
        mask = random_mask(3, *of_scores, n, keep=keep)
        expected = loops.over_leading(
            loops.exact_reward_gradient, [scores, reward, mask], [1, 1, 1]
        )
        assert_chain(
            expected, everywhere("exact_reward_gradient", scores, reward, mask), "gradient"
        )

    @given(lead=leads, n=st.integers(1, 6), draws=st.integers(1, 4), keep=keeps)
    def test_reinforce_gradient(self, lead, n, draws, keep):
        of_scores, of_reward, of_uniform = lead
        scores, reward = normal(1, *of_scores, n), normal(2, *of_reward, n)
        mask = random_mask(3, *of_scores, n, keep=keep)
        uniform = np.random.default_rng(4).random((*of_uniform, draws))
        baseline = normal(5, *of_reward)
        expected = loops.over_leading(
            loops.reinforce_gradient, [scores, reward, uniform, mask, baseline], [1, 1, 1, 1, 0]
        )
        results = everywhere("reinforce_gradient", scores, reward, uniform, mask, baseline=baseline)
        assert_chain(expected, results, "gradient")

    @given(
        lead=leads,
        n=st.integers(1, 6),
        keep=keeps,
        temperature=st.sampled_from([0.05, 0.7, 1.0, 30.0]),
    )
    def test_gumbel_weights(self, lead, n, keep, temperature):
        of_scores, _, of_uniform = lead
        scores, mask = normal(1, *of_scores, n), random_mask(3, *of_scores, n, keep=keep)
        uniform = np.random.default_rng(4).random((*of_uniform, n))
        uniform.flat[0] = 0  # both ends of the interval, too
        uniform.flat[-1] = 1
        expected = loops.over_leading(
            lambda *items: loops.gumbel_weights(*items, temperature=temperature),
            [scores, uniform, mask],
            [1, 1, 1],
        )
        results = everywhere("gumbel_weights", scores, uniform, mask, temperature=temperature)
        # Differences of scores, some of them hundreds, are rounded before exp: 1e-13 relative.
        assert_chain(expected, results, "output")

    @given(lead=leads, m=st.integers(1, 4), n=st.integers(1, 6), keep=keeps, drawn=st.booleans())
    def test_straight_through_takes_what_hard_attention_takes(self, lead, m, n, keep, drawn):
        of_scores, of_value, of_uniform = lead
        scores, value = normal(1, *of_scores, m, n), normal(2, *of_value, n, 3)
        mask = random_mask(3, *of_scores, m, n, keep=keep)
        uniform = np.random.default_rng(4).random((*of_uniform, m)) if drawn else None
        arrays = [scores, value, mask, uniform]
        expected = loops.over_leading(loops.hard_attention, arrays, [2, 2, 2, 1])
        results = everywhere(
            "straight_through_attention", scores, value, mask, uniform=uniform, temperature=0.3
        )
        assert_chain(expected, results, "output")
        for backend in BACKENDS:
            keywords = {"uniform": uniform, "return_weights": True}
            hard = on(backend, "hard_attention", scores, value, mask, **keywords)
            through = on(backend, "straight_through_attention", scores, value, mask, **keywords)
            for ours, theirs in zip(through, hard, strict=True):  # to the last bit
                np.testing.assert_array_equal(ours, theirs)


class TestReinforce:
    DRAWS = 20_000

    @pytest.mark.parametrize("baseline", [0.0, -1.3, 40.0])
    @pytest.mark.parametrize("masked", [False, True])
    def test_the_mean_is_the_gradient(self, backend, baseline, masked):
        """Over an even grid each key is drawn its share of times, but for one draw at each border."""
        mask = MASK if masked else None
        estimates = on(
            backend,
            "reinforce_gradient",
            SCORES,
            REWARD,
            grid(self.DRAWS),
            mask,
            baseline=baseline,
        )
        exact = on(backend, "exact_reward_gradient", SCORES, REWARD, mask)
        largest = np.abs(estimates).max()
        assert np.abs(estimates.mean(0) - exact).max() <= N * largest / self.DRAWS

    def test_a_baseline_changes_the_variance_only(self, backend):
        """The mean reward makes the estimates lie closer; a far one spreads them."""
        weights = on(backend, "softmax", SCORES)
        reward = REWARD + 10
        spreads = {}
        for name, baseline in (("none", 0.0), ("mean", weights @ reward), ("far", 100.0)):
            estimates = on(
                backend,
                "reinforce_gradient",
                SCORES,
                reward,
                grid(self.DRAWS),
                baseline=np.array(baseline),
            )
            spreads[name] = estimates.var(0).sum()
            expected = sum(  # by enumeration of the key drawn
                weights[j] * (((reward[j] - baseline) * (np.eye(N)[j] - weights)) ** 2)
                for j in range(N)
            )
            exact = on(backend, "exact_reward_gradient", SCORES, reward)
            np.testing.assert_allclose(estimates.var(0), expected - exact**2, rtol=2e-2)
        assert 10 * spreads["mean"] < spreads["none"] < spreads["far"] / 10

    def test_a_baseline_for_each_row(self, backend):
        scores, reward, baseline = normal(1, 2, 3, N), normal(2, 2, 3, N), normal(3, 2, 3)
        uniform = grid(4)
        together = on(backend, "reinforce_gradient", scores, reward, uniform, baseline=baseline)
        assert together.shape == (2, 3, 4, N)
        for i, j in np.ndindex(2, 3):
            alone = on(
                backend,
                "reinforce_gradient",
                scores[i, j],
                reward[i, j],
                uniform,
                baseline=float(baseline[i, j]),
            )
            assert_close(together[i, j], alone, "gradient")

    def test_estimates_sum_to_zero_over_the_keys(self, backend):
        """Adding one number to all scores changes nothing, so no estimate points that way."""
        estimates = on(backend, "reinforce_gradient", SCORES, REWARD, grid(50), MASK)
        np.testing.assert_allclose(estimates.sum(-1), 0, atol=1e-15)
        assert not estimates[:, ~MASK].any()

    def test_it_draws_as_hard_attention_draws(self, backend):
        """The estimate of a draw pushes the key that hard_attention takes for the same number."""
        uniform = np.random.default_rng(7).random(200)
        rows = np.broadcast_to(SCORES, (200, N))
        taken = on(
            backend,
            "hard_attention",
            rows,
            np.eye(N),
            np.broadcast_to(MASK, (200, N)),
            uniform=uniform,
        )
        weights = on(backend, "masked_softmax", SCORES, MASK)
        estimates = on(backend, "reinforce_gradient", SCORES, np.ones(N), uniform, MASK)
        assert_close(estimates, taken - weights, "gradient")


class TestExactRewardGradient:
    def test_it_is_the_derivative_of_the_expected_reward(self, backend):
        scores = torch.from_numpy(SCORES).requires_grad_()
        mask = torch.from_numpy(MASK)
        expected = (TORCH.functions.masked_softmax(scores, mask) * torch.from_numpy(REWARD)).sum()
        expected.backward()
        actual = on(backend, "exact_reward_gradient", SCORES, REWARD, MASK)
        assert_close(actual, scores.grad.numpy(), "gradient")

    def test_a_reward_for_all_moves_nothing(self, backend):
        before = on(backend, "exact_reward_gradient", SCORES, REWARD, MASK)
        after = on(backend, "exact_reward_gradient", SCORES, REWARD + 7, MASK)
        np.testing.assert_allclose(after, before, atol=1e-14)
        equal = on(backend, "exact_reward_gradient", SCORES, np.full(N, 3.0))
        np.testing.assert_allclose(equal, 0, atol=1e-15)


class TestGumbel:
    def test_cold_weights_are_drawn_by_softmax(self, backend):
        """The highest of scores and noise is each key in proportion to its weight."""
        draws = 40_000
        uniform = np.random.default_rng(1).random((draws, N))
        weights = on(backend, "gumbel_weights", SCORES, uniform, MASK, temperature=1e-6)
        shares = on(backend, "masked_softmax", SCORES, MASK)
        # Five standard deviations of a share of so many draws.
        assert np.abs(weights.mean(0) - shares).max() < 5 * 0.5 / draws**0.5

    def test_rows_sum_to_one_and_masked_keys_have_nothing(self, backend):
        uniform = np.random.default_rng(1).random((300, N))
        for temperature in (5e-324, 1e-3, 1.0, 1e3, 1e300):
            weights = on(backend, "gumbel_weights", SCORES, uniform, MASK, temperature=temperature)
            np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-14)
            assert not weights[:, ~MASK].any()
        np.testing.assert_allclose(weights[:, MASK], 1 / 3)  # the hottest: all equal

    def test_equal_noise_is_none(self, backend):
        actual = on(backend, "gumbel_weights", SCORES, np.full(N, 0.3), MASK, temperature=2.0)
        expected = on(backend, "masked_softmax", SCORES / 2, MASK)
        assert_close(actual, expected, "output")

    @pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
    @pytest.mark.parametrize("end", [0.0, 1 - 2**-53, 1.0])
    def test_the_ends_of_the_interval(self, backend, dtype, end):
        """No noise is infinite: scores still count among keys with the same extreme number."""
        for of_uniform in ("float64", "float32", "float16"):
            uniform = backend.array(np.full((1, 3), end), of_uniform)
            scores = backend.array([[0.0, np.log(3.0), -np.inf]], dtype)
            weights = backend.numpy(backend.functions.gumbel_weights(scores, uniform))
            np.testing.assert_allclose(weights, [[0.25, 0.75, 0.0]], atol=2e-3)


class TestStraightThrough:
    """The way back is that of the soft weights, whatever was taken."""

    @pytest.mark.parametrize("drawn", [False, True])
    @pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
    def test_the_gradient_of_scores_is_that_of_softmax(self, drawn, temperature):
        mask = torch.from_numpy(np.array([MASK, ~MASK, np.zeros(N, bool)]))
        value = torch.from_numpy(normal(2, 2, N, 4))
        slope = torch.from_numpy(normal(3, 2, 3, 4))
        uniform = torch.from_numpy(np.random.default_rng(4).random((2, 3))) if drawn else None
        gradients = []
        for way in ("through", "soft"):
            scores = torch.from_numpy(normal(1, 2, 3, N)).requires_grad_()
            if way == "through":
                output = TORCH.functions.straight_through_attention(
                    scores, value, mask, uniform=uniform, temperature=temperature
                )
            else:
                output = TORCH.functions.attend(scores / temperature, value, mask)
            (output * slope).sum().backward()
            gradients.append(scores.grad)
        assert gradients[1][:, :2].any()
        assert not gradients[0][:, 2].any()  # an empty row
        assert_close(gradients[0], gradients[1], "gradient")

    def test_weights_carry_the_derivative_of_softmax(self):
        scores = torch.from_numpy(normal(1, 2, N)).requires_grad_()
        jacobian = torch.autograd.functional.jacobian(
            lambda scores: TORCH.functions.straight_through_attention(
                scores, torch.zeros(N, 1), temperature=0.5, return_weights=True
            )[1],
            scores,
        )
        soft = TORCH.functions.softmax(scores.detach() / 0.5)
        expected = TORCH.functions.softmax_jacobian(soft) / 0.5
        for row in range(2):
            assert_close(jacobian[row, :, row].numpy(), expected[row].numpy(), "gradient")
        assert not jacobian[0, :, 1].any()

    def test_a_value_gets_the_gradient_of_those_who_took_it(self):
        value = torch.from_numpy(normal(2, N, 3)).requires_grad_()
        scores = torch.from_numpy(normal(1, 4, N))
        output, weights = TORCH.functions.straight_through_attention(
            scores, value, return_weights=True
        )
        output.sum().backward()
        assert_close(value.grad, weights.sum(0)[:, None].expand(N, 3), "gradient")

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_masked_rubbish_reaches_no_gradient(self, bad):
        scores, value = normal(1, 3, N), normal(2, N, 2)
        scores[:, ~MASK], value[~MASK] = bad, bad
        scores, value = (torch.from_numpy(x).requires_grad_() for x in (scores, value))
        TORCH.functions.straight_through_attention(
            scores, value, torch.from_numpy(MASK), temperature=0.5
        ).sum().backward()
        assert scores.grad.isfinite().all()
        assert not scores.grad[:, ~MASK].any()
        assert not value.grad[~MASK].any()


def tensor(seed, *shape):
    """Return normal numbers that ask for a gradient."""
    return torch.from_numpy(normal(seed, *shape)).requires_grad_()


class TestGradcheck:
    def test_gumbel(self):
        uniform = torch.from_numpy(np.random.default_rng(1).random((2, N)))
        mask = torch.from_numpy(np.array([MASK, np.zeros(N, bool)]))
        assert gradcheck(
            lambda scores: TORCH.functions.gumbel_weights(scores, uniform, mask, temperature=0.7),
            [tensor(2, 2, N)],
        )

    def test_exact(self):
        mask = torch.from_numpy(np.array([MASK, np.zeros(N, bool)]))
        assert gradcheck(
            lambda scores, reward: TORCH.functions.exact_reward_gradient(scores, reward, mask),
            [tensor(1, 2, N), tensor(2, N)],
        )

    def test_reinforce(self):
        """Far from the borders between keys, where the draw would jump."""
        mask, uniform = torch.from_numpy(MASK), torch.tensor([0.05, 0.93], dtype=torch.float64)
        assert gradcheck(
            lambda scores, reward, baseline: TORCH.functions.reinforce_gradient(
                scores, reward, uniform, mask, baseline=baseline
            ),
            [tensor(1, 2, N), tensor(2, N), tensor(3, 2)],
        )

    @pytest.mark.parametrize("name", ["hard_attention", "straight_through_attention"])
    @pytest.mark.parametrize("drawn", [False, True])
    def test_values_of_a_hard_choice(self, name, drawn):
        """In the values alone: in the scores one has no slope, and the other's is a chosen stand-in."""
        mask = torch.from_numpy(np.array([MASK, np.zeros(N, bool), ~MASK]))
        scores = torch.from_numpy(normal(1, 2, 3, N))
        uniform = torch.from_numpy(np.random.default_rng(4).random((2, 3))) if drawn else None
        function = getattr(TORCH.functions, name)
        assert gradcheck(
            lambda value: function(scores, value, mask, uniform=uniform), [tensor(2, 2, N, 3)]
        )


class TestEdges:
    @pytest.mark.parametrize("uniform", [0.0, 2.0**-1074, 0.5, 1 - 2**-53, 1.0])
    @pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
    def test_no_number_draws_a_masked_key(self, backend, uniform, dtype):
        """Masked keys in front, between and behind; in every dtype, at both ends of the interval."""
        scores = np.random.default_rng(1).normal(size=(400, 9))
        scores[:, 4] = -np.inf
        mask = np.ones(9, bool)
        mask[[0, 1, 5, 7, 8]] = False
        open_keys = mask & (np.arange(9) != 4)
        scores = backend.array(scores, dtype)
        functions = backend.functions
        at = backend.array(np.full((400, 1), uniform))
        weights = functions.hard_attention(
            scores[:, None], backend.array(np.eye(9), dtype), backend.array(mask), uniform=at
        )
        drawn = backend.numpy(weights)[:, 0]
        np.testing.assert_array_equal(drawn.sum(-1), 1)
        assert not drawn[:, ~open_keys].any()
        estimates = backend.numpy(
            functions.reinforce_gradient(
                scores, backend.array(np.ones(9), dtype), at, backend.array(mask)
            )
        )
        assert not estimates[..., ~open_keys].any()
        pushed = estimates[:, 0].argmax(-1)
        np.testing.assert_array_equal(pushed, drawn.argmax(-1))

    @pytest.mark.parametrize("fill", [0.0, 1e30, np.nan, np.inf, -np.inf])
    def test_empty_rows(self, backend, fill):
        scores, mask = normal(1, 2, N), np.array([[False] * N, [True] * N])
        scores[0] = fill
        reward, uniform = normal(2, 2, N), np.full((2, N), 0.4)
        for result in (
            on(backend, "gumbel_weights", scores, uniform, mask),
            on(backend, "exact_reward_gradient", scores, reward, mask),
            on(backend, "reinforce_gradient", scores, reward, uniform, mask, baseline=3.0),
            on(backend, "straight_through_attention", scores, normal(3, N, 2), mask),
        ):
            assert np.isfinite(result).all()
            assert not result[0].any()
            assert result[1].any()

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
    def test_masked_keys_have_no_influence(self, backend, bad):
        scores, reward = SCORES.copy(), REWARD.copy()
        scores[~MASK], reward[~MASK] = bad, bad
        uniform, draws = np.full(N, 0.4), grid(9)
        for name, dirty, clean in (
            ("gumbel_weights", (scores, uniform), (SCORES, uniform)),
            ("exact_reward_gradient", (scores, reward), (SCORES, REWARD)),
            ("reinforce_gradient", (scores, reward, draws), (SCORES, REWARD, draws)),
        ):
            assert_close(
                on(backend, name, *dirty, MASK), on(backend, name, *clean, MASK), "gradient"
            )

    def test_what_is_not_masked_does_show(self, backend):
        reward = REWARD.copy()
        reward[0] = np.nan
        assert np.isnan(on(backend, "exact_reward_gradient", SCORES, reward)).all()
        estimates = on(backend, "reinforce_gradient", np.zeros(N), reward, np.array([0.0, 0.5]))
        assert np.isnan(estimates[0]).all()
        assert np.isfinite(estimates[1]).all()

    @pytest.mark.parametrize("empty", ["batch", "keys", "draws"])
    def test_sizes_of_zero(self, backend, empty):
        b, n, s = (
            0 if name == empty else size for name, size in (("batch", 2), ("keys", 3), ("draws", 4))
        )
        scores, reward, mask = normal(1, b, n), normal(2, b, n), np.ones((b, n), bool)
        for keep in (None, mask):
            assert on(backend, "exact_reward_gradient", scores, reward, keep).shape == (b, n)
            assert on(backend, "gumbel_weights", scores, np.zeros((b, n)), keep).shape == (b, n)
            draws = on(backend, "reinforce_gradient", scores, reward, np.zeros((b, s)), keep)
            assert draws.shape == (b, s, n)
            through = on(
                backend,
                "straight_through_attention",
                scores[:, None],
                normal(3, b, n, 2),
                keep if keep is None else keep[:, None],
            )
            assert through.shape == (b, 1, 2)
            assert not through.any() or n

    def test_a_baseline_does_not_widen(self, backend):
        for dtype in backend.dtypes:
            scores, reward = backend.array(SCORES, dtype), backend.array(REWARD, dtype)
            for baseline in (0.5, backend.array(0.5, "float64")):
                result = backend.functions.reinforce_gradient(
                    scores, reward, backend.array(grid(3)), baseline=baseline
                )
                assert backend.dtype_name(result) == dtype


class TestMessages:
    WRONG = (
        ("exact_reward_gradient", [(2, 5), (2, 4)], {}, r"reward has 4 entries but scores has 5 keys; every"),
        ("exact_reward_gradient", [(), (5,)], {}, r"scores needs at least 1 axis, \(\.\.\., n\)"),
        ("exact_reward_gradient", [(2, 5), (3, 5)], {}, r"leading axes of scores \(2,\) and reward \(3,\)"),
        ("reinforce_gradient", [(2, 5), (2, 1), (2, 7)], {}, "reward has 1 entries but scores has 5 keys"),
        ("reinforce_gradient", [(2, 5), (2, 5), ()], {}, r"uniform needs at least 1 axis, \(\.\.\., s\)"),
        ("reinforce_gradient", [(2, 5), (2, 5), (3, 7)], {}, r"leading axes .* and uniform \(3,\) and baseline"),
        ("reinforce_gradient", [(2, 5), (2, 5), (7,)], {"baseline": (7,)}, r"and baseline \(7,\) do not"),
        ("gumbel_weights", [(2, 5), (2, 1)], {}, r"uniform has shape \(2, 1\) but scores .* have 5 keys; one"),
        ("gumbel_weights", [(2, 5), ()], {}, r"uniform has shape \(\) but scores"),
        ("gumbel_weights", [(2, 5), (3, 5)], {}, r"leading axes of uniform \(3,\) and scores \(2,\)"),
        ("gumbel_weights", [(2, 5), (2, 5)], {"temperature": 0}, "temperature must be above 0 .*hard_attention"),
        ("straight_through_attention", [(2, 5), (5, 1)], {"temperature": -1}, "temperature must be above 0"),
        ("straight_through_attention", [(2, 5), (5, 1)], {"uniform": (3,)}, r"uniform has shape \(3,\) .* queries"),
        ("straight_through_attention", [(2, 5), (4, 1)], {}, "value has length 4 but scores has 5 keys"),
    )  # fmt: skip

    @pytest.mark.parametrize("number", range(len(WRONG)))
    def test_shapes_and_numbers(self, backend, number):
        name, shapes, keywords, message = self.WRONG[number]
        keywords = {k: np.ones(v) if isinstance(v, tuple) else v for k, v in keywords.items()}
        with pytest.raises(ValueError, match=message):
            on(backend, name, *map(np.ones, shapes), **keywords)

    def test_uniform_numbers_leave_the_interval(self, backend):
        far = np.array([0.5, 0.1, 1.5, 0.2, 0.3])
        for call in (
            lambda: on(backend, "gumbel_weights", SCORES, far),
            lambda: on(backend, "reinforce_gradient", SCORES, REWARD, -far),
            lambda: on(
                backend, "straight_through_attention", np.ones((5, 5)), np.eye(5), uniform=far
            ),
        ):
            with pytest.raises(ValueError, match=r"uniform must lie in \[0, 1\) but reaches from"):
                call()

    def test_types(self, backend):
        with pytest.raises(TypeError, match=r"mask must be boolean but is .*; True means"):
            on(backend, "gumbel_weights", SCORES, grid(N), np.ones(N))
        with pytest.raises(TypeError, match=r"baseline must be real but is .*complex"):
            on(backend, "reinforce_gradient", SCORES, REWARD, grid(3), baseline=np.array(1j))
        with pytest.raises(TypeError, match=r"uniform must be real but is .*complex"):
            on(backend, "gumbel_weights", SCORES, grid(N) + 0j)
        with pytest.raises(TypeError, match=r"temperature must be a real number but is 'hot'"):
            on(backend, "gumbel_weights", SCORES, grid(N), temperature="hot")


def test_numpy_is_the_reference_of_narrow_types():
    """float16 and bfloat16 scores, rounded once from the float64 result on the same numbers."""
    for name, arrays in (
        ("gumbel_weights", {"scores": SCORES, "uniform": np.full(N, 0.4)}),
        ("exact_reward_gradient", {"scores": SCORES, "reward": REWARD}),
        ("reinforce_gradient", {"scores": SCORES, "reward": REWARD, "uniform": grid(4)}),
    ):
        for backend in BACKENDS:
            for dtype in backend.dtypes:
                narrow = {
                    key: backend.array(x, None if key == "uniform" else dtype)
                    for key, x in arrays.items()
                }
                exact = {key: backend.numpy(x) for key, x in narrow.items()}
                expected = getattr(NUMPY.functions, name)(**exact)
                result = getattr(backend.functions, name)(**narrow)
                assert_close(backend.numpy(result), expected, "gradient", dtype)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
class TestNumbersBeyondTheDtype:
    @pytest.mark.parametrize("temperature", [1e-320, 1e-50, 1e39, 1e300])
    def test_temperature(self, backend, temperature):
        scores = np.array([[3e38, -3e38, 1.0], [2.0, 1.0, 2.0]], np.float32)
        uniform = np.full(3, 0.5, np.float32)
        weights = on(backend, "gumbel_weights", scores, uniform, temperature=temperature)
        if temperature < 1:
            np.testing.assert_allclose(weights, [[1, 0, 0], [0.5, 0, 0.5]])
        else:
            np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)
            np.testing.assert_allclose(weights[1], 1 / 3, rtol=1e-6)

    @pytest.mark.parametrize("window", [1e-320, 1e-200, 1e-30, 1e200])
    def test_window(self, backend, window):
        scores = np.zeros((2, 3), np.float32)
        centre = np.array([1.0, 0.5], np.float32)
        weights = on(backend, "local_p_weights", scores, centre, window)
        expected = np.full((2, 3), 1 / 3) if window > 1 else [[0, 1, 0], [0, 0, 0]]
        np.testing.assert_allclose(weights, expected, rtol=1e-6)

    @pytest.mark.parametrize("kind", ["array", "complex", "huge"])
    def test_no_single_number(self, backend, kind):
        number = {
            "array": backend.array(np.array([1.0, 2.0])),
            "complex": np.complex64(1),
            "huge": 10**400,
        }[kind]
        error = ValueError if kind == "huge" else TypeError
        scores, uniform = backend.array(SCORES), backend.array(grid(N))
        with pytest.raises(error, match="temperature must be"):
            backend.functions.gumbel_weights(scores, uniform, temperature=number)


def test_straight_through_gradient_at_a_temperature_below_float32():
    scores = torch.tensor([[2.0, 1.0, 2.0]], requires_grad=True)
    value = torch.tensor([[1.0], [2.0], [3.0]])
    TORCH.functions.straight_through_attention(scores, value, temperature=1e-50).sum().backward()
    assert scores.grad.isfinite().all()
