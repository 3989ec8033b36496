"""Laws that hold whatever the numbers are: they need no stored result and no second implementation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.attnkit.backends import BACKENDS, normal, random_mask
from tests.attnkit.calls import KEY, LEAD, MASK, QUERY, SCORES, VALUE, M, N
from tests.tolerances import assert_close

lengths = st.integers(1, 7)
leads = st.lists(st.integers(1, 3), max_size=3).map(tuple)


def on(backend, name, *arrays, **keywords):
    """Call a function on NumPy inputs and return NumPy results."""
    prepared = [backend.array(item) if isinstance(item, np.ndarray) else item for item in arrays]
    keywords = {
        key: backend.array(item) if isinstance(item, np.ndarray) else item
        for key, item in keywords.items()
    }
    result = getattr(backend.functions, name)(*prepared, **keywords)
    return tuple(map(backend.numpy, result)) if isinstance(result, tuple) else backend.numpy(result)


class TestWeights:
    @given(lead=leads, m=lengths, n=lengths, size=st.sampled_from([1e-3, 1.0, 30.0, 1e4]))
    def test_rows_sum_to_one_or_to_zero(self, lead, m, n, size):
        scores, mask = normal(1, *lead, m, n) * size, random_mask(2, *lead, m, n, keep=0.4)
        for backend in BACKENDS:
            weights = on(backend, "masked_softmax", scores, mask)
            assert (weights >= 0).all()
            assert_close(weights.sum(-1), mask.any(-1).astype(float), "weights")
            assert not weights[~mask].any()
            assert_close(on(backend, "softmax", scores).sum(-1), np.ones((*lead, m)), "weights")

    @pytest.mark.parametrize("shift", [-1e3, 0.25, 1e3])
    def test_shift_invariance(self, backend, shift):
        """Adding one number to all scores of a row changes nothing; a quarter is exact in binary."""
        scores = np.round(SCORES * 16) / 16
        expected = on(backend, "masked_softmax", scores, MASK)
        assert_close(on(backend, "masked_softmax", scores + shift, MASK), expected, "weights")
        assert_close(
            on(backend, "softmax", scores + shift), on(backend, "softmax", scores), "weights"
        )

    def test_a_rule_by_hand(self, backend):
        """Weights are as the exponentials: log 1, log 2 and log 5 become an eighth, a quarter, five eighths."""
        weights = on(backend, "softmax", np.log([1.0, 2.0, 5.0]))
        assert_close(weights, np.array([0.125, 0.25, 0.625]), "weights")

    def test_a_mask_is_a_softmax_of_what_is_left(self, backend):
        keep = np.array([True, False, True, True, False])
        weights = on(backend, "masked_softmax", SCORES, keep)
        assert_close(weights[..., keep], on(backend, "softmax", SCORES[..., keep]), "weights")

    def test_order_of_scores_is_the_order_of_weights(self, backend):
        weights = on(backend, "softmax", SCORES)
        np.testing.assert_array_equal(weights.argsort(-1), SCORES.argsort(-1))

    def test_a_mask_may_bring_its_own_batch(self, backend):
        weights = on(backend, "masked_softmax", SCORES[0, 0], MASK)
        assert weights.shape == (*LEAD, M, N)
        each = np.broadcast_to(SCORES[0, 0], MASK.shape)
        assert_close(weights, on(backend, "masked_softmax", each, MASK), "weights")


class TestScores:
    def test_general_with_the_identity_is_dot(self, backend):
        general = on(backend, "general_scores", QUERY, KEY, np.eye(KEY.shape[-1]))
        assert_close(general, on(backend, "dot_scores", QUERY, KEY), "scores")

    def test_scale(self, backend):
        dot = on(backend, "dot_scores", QUERY, KEY)
        width = QUERY.shape[-1]
        assert_close(on(backend, "scaled_dot_scores", QUERY, KEY), dot / width**0.5, "scores")
        assert_close(on(backend, "scaled_dot_scores", QUERY, KEY, 0.3), dot * 0.3, "scores")
        assert not on(backend, "scaled_dot_scores", QUERY, KEY, 0).any()

    def test_additive_in_its_concatenated_form(self, backend):
        """tanh([query; key] @ w) @ v with the two matrices stacked is the same score."""
        w_query, w_key, v = normal(1, QUERY.shape[-1], 3), normal(2, KEY.shape[-1], 3), normal(3, 3)
        pairs = np.concatenate(
            [
                np.broadcast_to(QUERY[..., :, None, :], (*LEAD, M, N, QUERY.shape[-1])),
                np.broadcast_to(KEY[..., None, :, :], (*LEAD, M, N, KEY.shape[-1])),
            ],
            -1,
        )
        expected = np.tanh(pairs @ np.concatenate([w_query, w_key])) @ v
        actual = on(backend, "additive_scores", QUERY, KEY, w_query, w_key, v)
        assert_close(actual, expected, "scores")

    def test_additive_is_bounded_by_v(self, backend):
        w_query, w_key, v = normal(1, QUERY.shape[-1], 3), normal(2, KEY.shape[-1], 3), normal(3, 3)
        scores = on(backend, "additive_scores", QUERY * 1e6, KEY, w_query, w_key, v)
        assert (np.abs(scores) <= np.abs(v).sum() * (1 + 1e-12)).all()

    def test_permutation_equivariance(self, backend):
        of_query, of_key = (
            np.random.default_rng(1).permutation(M),
            np.random.default_rng(2).permutation(N),
        )
        w_query, w_key, v = normal(1, QUERY.shape[-1], 3), normal(2, KEY.shape[-1], 3), normal(3, 3)
        for name, parameters in (
            ("dot_scores", ()),
            ("scaled_dot_scores", ()),
            ("general_scores", (normal(4, QUERY.shape[-1], KEY.shape[-1]),)),
            ("additive_scores", (w_query, w_key, v)),
        ):
            scores = on(backend, name, QUERY, KEY, *parameters)
            permuted = on(backend, name, QUERY[..., of_query, :], KEY[..., of_key, :], *parameters)
            assert_close(permuted, scores[..., of_query, :][..., of_key], "scores")


class TestAttention:
    def test_keys_have_no_order(self, backend):
        order = np.random.default_rng(1).permutation(N)
        expected = on(backend, "scaled_dot_product_attention", QUERY, KEY, VALUE, MASK)
        moved = KEY[..., order, :], VALUE[..., order, :], MASK[..., order]
        actual = on(backend, "scaled_dot_product_attention", QUERY, *moved)
        assert_close(actual, expected, "output")

    def test_queries_do_not_know_each_other(self, backend):
        order = np.random.default_rng(1).permutation(M)
        expected = on(backend, "scaled_dot_product_attention", QUERY, KEY, VALUE, MASK)
        actual = on(
            backend,
            "scaled_dot_product_attention",
            QUERY[..., order, :],
            KEY,
            VALUE,
            MASK[..., order, :],
        )
        assert_close(actual, expected[..., order, :], "output")

    @pytest.mark.parametrize("position", range(N))
    def test_causal_perturbation(self, backend, position):
        """Change one key and value: the queries before it stay as they were, the others move."""
        key, value = KEY.copy(), VALUE.copy()
        key[..., position, :] += 1
        value[..., position, :] -= 2
        before = on(backend, "scaled_dot_product_attention", QUERY, KEY, VALUE, causal=True)
        after = on(backend, "scaled_dot_product_attention", QUERY, key, value, causal=True)
        same = np.arange(M) + N - M < position
        np.testing.assert_array_equal(after[..., same, :], before[..., same, :])
        assert (np.abs(after - before)[..., ~same, :].max(-1) > 1e-3).all()

    @given(extra=st.integers(1, 4), front=st.booleans())
    def test_padding_invariance(self, extra, front):
        """Padded keys change nothing, on either side and whatever they hold."""
        rubbish_key = np.full((*LEAD, extra, KEY.shape[-1]), np.nan)
        rubbish_value = np.full((*LEAD, extra, VALUE.shape[-1]), np.inf)
        parts = [(rubbish_key, KEY), (rubbish_value, VALUE)]
        key, value = (np.concatenate(pair if front else pair[::-1], -2) for pair in parts)
        keep = np.ones(N + extra, bool)
        keep[:extra] = not front
        keep[N:] = front
        for backend in BACKENDS:
            expected = on(backend, "scaled_dot_product_attention", QUERY, KEY, VALUE)
            actual = on(backend, "scaled_dot_product_attention", QUERY, key, value, keep)
            assert_close(actual, expected, "output")

    def test_linearity_in_values(self, backend):
        other = normal(9, *VALUE.shape)
        both = on(backend, "scaled_dot_product_attention", QUERY, KEY, 2 * VALUE - 3 * other, MASK)
        first = on(backend, "scaled_dot_product_attention", QUERY, KEY, VALUE, MASK)
        second = on(backend, "scaled_dot_product_attention", QUERY, KEY, other, MASK)
        assert_close(both, 2 * first - 3 * second, "output")

    def test_outputs_lie_between_the_values(self, backend):
        output = on(backend, "attend", SCORES, VALUE)
        assert (output <= VALUE.max(-2, keepdims=True) + 1e-12).all()
        assert (output >= VALUE.min(-2, keepdims=True) - 1e-12).all()

    def test_equal_scores_take_the_mean(self, backend):
        output = on(backend, "scaled_dot_product_attention", np.zeros_like(QUERY), KEY, VALUE)
        expected = np.broadcast_to(VALUE.mean(-2, keepdims=True), output.shape)
        assert_close(output, expected, "output")

    def test_it_is_its_parts(self, backend):
        """Scores, then attend: the same output and weights; returning weights changes nothing."""
        scores = on(backend, "scaled_dot_scores", QUERY, KEY, 0.7)
        bias = normal(9, *LEAD, M, N)
        expected = on(backend, "attend", scores + bias, VALUE, MASK, return_weights=True)
        keywords = {"scale": 0.7, "bias": bias}
        actual = on(
            backend,
            "scaled_dot_product_attention",
            QUERY,
            KEY,
            VALUE,
            MASK,
            return_weights=True,
            **keywords,
        )
        assert_close(actual[0], expected[0], "output")
        assert_close(actual[1], expected[1], "weights")
        alone = on(backend, "scaled_dot_product_attention", QUERY, KEY, VALUE, MASK, **keywords)
        np.testing.assert_array_equal(alone, actual[0])

    def test_an_additive_mask_as_bias(self, backend):
        expected = on(backend, "scaled_dot_product_attention", QUERY, KEY, VALUE, MASK)
        bias = np.where(MASK, 0.0, -np.inf)
        actual = on(backend, "scaled_dot_product_attention", QUERY, KEY, VALUE, bias=bias)
        assert_close(actual, expected, "output")

    def test_decoding_step_by_step_is_the_whole(self, backend):
        """A causal pass over all positions equals one query at a time over the keys so far."""
        key, value = KEY[..., :M, :], VALUE[..., :M, :]
        whole = on(backend, "scaled_dot_product_attention", QUERY, key, value, causal=True)
        for i in range(M):
            so_far = QUERY[..., i : i + 1, :], key[..., : i + 1, :], value[..., : i + 1, :]
            step = on(backend, "scaled_dot_product_attention", *so_far, causal=True)
            assert_close(step[..., 0, :], whole[..., i, :], "output")

    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_window_of_zero_returns_the_values(self, backend, n):
        query, key, value = normal(1, n, 3), normal(2, n, 3), normal(3, n, 2)
        mask = backend.numpy(backend.functions.local_mask(n, n, 0))
        output = on(backend, "scaled_dot_product_attention", query, key, value, mask)
        assert_close(output, value, "output")

    @pytest.mark.parametrize("rule", ["wide window", "stride 1", "all global"])
    def test_masks_that_hide_nothing(self, backend, rule):
        functions = backend.functions
        mask = {
            "wide window": functions.local_mask(M, N, N - 1),
            "stride 1": functions.strided_mask(M, N, 1),
            "all global": functions.global_mask(M, N, N),
        }[rule]
        dense = on(backend, "scaled_dot_product_attention", QUERY, KEY, VALUE)
        masked = on(backend, "scaled_dot_product_attention", QUERY, KEY, VALUE, backend.numpy(mask))
        assert_close(masked, dense, "output")


class TestHardAttention:
    def test_the_limit_of_steep_scores(self, backend):
        steep = on(backend, "attend", SCORES * 1e6, VALUE, MASK)
        assert_close(on(backend, "hard_attention", SCORES, VALUE, MASK), steep, "output")

    def test_weights_are_one_hot(self, backend):
        uniform = np.random.default_rng(1).random((*LEAD, M))
        for keywords in ({}, {"uniform": uniform}):
            output, weights = on(
                backend, "hard_attention", SCORES, VALUE, MASK, return_weights=True, **keywords
            )
            np.testing.assert_array_equal(weights.sum(-1), MASK.any(-1))
            assert set(np.unique(weights)) == {0.0, 1.0}
            assert not weights[~MASK].any()
            assert_close(output, weights @ VALUE, "output")

    def test_of_equal_keys_the_first(self, backend):
        scores = np.array([[0.0, 3.0, 3.0, 3.0], [1.0, 1.0, 1.0, 1.0]])
        _, weights = on(backend, "hard_attention", scores, np.eye(4), return_weights=True)
        assert weights.argmax(-1).tolist() == [1, 0]

    def test_nearly_equal_scores_are_told_apart(self, backend):
        """These scores differ by less than their weights can show."""
        scores = np.array([[0.0, 2.0**-60]])
        _, weights = on(backend, "hard_attention", scores, np.eye(2), return_weights=True)
        assert weights.tolist() == [[0.0, 1.0]]

    def test_frequencies_are_the_weights(self, backend):
        """Over an even grid of uniform numbers each key is drawn in proportion to its weight."""
        draws = 2000
        uniform = (np.arange(draws) + 0.5) / draws
        scores = np.broadcast_to(SCORES[0, 0, 0], (draws, N))
        drawn = on(backend, "hard_attention", scores, np.eye(N), uniform=uniform)
        soft = on(backend, "softmax", SCORES[0, 0, 0])
        assert np.abs(drawn.mean(0) - soft).max() <= 1 / draws

    def test_on_the_edge_the_next_key_is_taken(self, backend):
        """The sum must exceed the number: 0 draws the first key with weight, 0.5 the second of two."""
        scores = np.array([[-np.inf, 0.0, 0.0, -np.inf]] * 4)
        uniform = np.array([0.0, 0.4999, 0.5, 1 - 2**-53])
        _, weights = on(
            backend, "hard_attention", scores, np.eye(4), uniform=uniform, return_weights=True
        )
        assert weights.argmax(-1).tolist() == [1, 1, 2, 2]

    @pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
    def test_rounding_never_leaves_a_query_without_a_key(self, backend, dtype):
        """Weights whose running sum ends below the uniform number still give the last visible key."""
        scores = backend.array(normal(1, 500, 37), dtype)
        mask = backend.array(np.arange(37) < 30)
        uniform = backend.array(np.full(500, 1 - 2**-53))
        value = backend.array(np.eye(37), dtype)
        drawn = backend.functions.hard_attention(scores, value, mask, uniform=uniform)
        assert backend.numpy(drawn)[:, 29].all()


class TestLocalAttention:
    def test_local_p_is_softmax_times_bell(self, backend):
        """Inside the window: softmax of the window alone, times the bell; it is not normalised again."""
        centre, window = np.array([2.0, 1.25, 0.0, 6.0]), 2
        scores = SCORES[0, 0]
        weights = on(backend, "local_p_weights", scores, centre, window)
        for i in range(M):
            near = np.abs(np.arange(N) - centre[i]) <= window
            soft = on(backend, "softmax", scores[i, near])
            bell = np.exp(-((np.arange(N)[near] - centre[i]) ** 2) / (2 * (window / 2) ** 2))
            assert_close(weights[i, near], soft * bell, "weights")
            assert not weights[i, ~near].any()
        assert (weights.sum(-1) < 1).all()

    def test_a_centre_outside_all_keys(self, backend):
        scores = SCORES[0, 0]
        for centre in (-10.0, 50.0, np.inf):
            weights = on(backend, "local_p_weights", scores, np.full(M, centre), 2)
            assert not weights.any()

    def test_the_edge_of_the_window_belongs_to_it(self, backend):
        weights = on(backend, "local_p_weights", np.zeros((1, 5)), np.array([2.0]), 1)
        assert np.flatnonzero(weights).tolist() == [1, 2, 3]
        assert_close(weights[0, 1:4], np.exp([-2.0, 0.0, -2.0]) / 3, "weights")

    def test_local_m_is_a_window_around_the_own_position(self, backend):
        """Local-m: plain softmax inside the window, centred at i counted from the start."""
        mask = backend.numpy(backend.functions.local_m_mask(M, N, 1))
        weights = on(backend, "masked_softmax", SCORES, mask)
        for i in range(M):
            near = slice(max(i - 1, 0), i + 2)
            alone = on(backend, "softmax", SCORES[..., i, near])
            assert_close(weights[..., i, near], alone, "weights")


class TestJacobian:
    def test_rows_and_columns_sum_to_zero(self, backend):
        jacobian = on(backend, "softmax_jacobian", on(backend, "masked_softmax", SCORES, MASK))
        assert_close(jacobian.sum(-1), np.zeros((*LEAD, M, N)), "weights")
        assert_close(jacobian.sum(-2), np.zeros((*LEAD, M, N)), "weights")

    def test_it_is_symmetric_and_has_no_negative_direction(self, backend):
        jacobian = on(backend, "softmax_jacobian", on(backend, "softmax", SCORES))
        np.testing.assert_array_equal(jacobian, jacobian.swapaxes(-1, -2))
        assert (np.linalg.eigvalsh(jacobian) >= -1e-15).all()

    def test_it_predicts_small_changes(self, backend):
        step = 1e-6 * normal(9, *SCORES.shape)
        weights = on(backend, "masked_softmax", SCORES, MASK)
        moved = on(backend, "masked_softmax", SCORES + step, MASK)
        predicted = on(backend, "softmax_jacobian", weights) @ step[..., None]
        np.testing.assert_allclose(moved - weights, predicted[..., 0], atol=1e-11)
