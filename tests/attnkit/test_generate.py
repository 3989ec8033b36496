"""Decoding: greedy, with a beam, by drawing; tables by hand, loops, enumeration, what is after the end, messages."""

import inspect
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attnkit.numpy.generate
import attnkit.torch.generate
from attnkit.numpy import multi_head_attention
from tests.attnkit import loops
from tests.attnkit.backends import BACKENDS, NUMPY, TORCH, normal
from tests.tolerances import assert_close

END = 0
# What follows each token, as probabilities: 1 → 2 → 3 → end, and 4 goes round in circles.
TABLE = np.log(
    [
        [0.2, 0.2, 0.2, 0.2, 0.2],
        [0.1, 0.1, 0.6, 0.1, 0.1],
        [0.1, 0.1, 0.1, 0.4, 0.3],
        [0.7, 0.1, 0.1, 0.05, 0.05],
        [0.1, 0.1, 0.1, 0.1, 0.6],
    ]
)


def decode(backend, start, max_length=6, table=TABLE):
    table = backend.array(table)
    tokens = backend.functions.greedy(
        lambda token, state: (table[token], state),
        backend.array(np.array(start, dtype=int)),
        end=END,
        max_length=max_length,
    )
    return backend.numpy(tokens)


def test_a_table_by_hand(backend):
    np.testing.assert_array_equal(decode(backend, [1]), [[2, 3, END]])
    np.testing.assert_array_equal(decode(backend, [3]), [[END]])
    np.testing.assert_array_equal(decode(backend, [4]), [[4] * 6])


def test_after_the_end_there_is_only_the_end(backend):
    """Even though token 0, asked again, would go on with something else."""
    table = TABLE.copy()
    table[END] = [-9.0, -9.0, -9.0, 0.0, -9.0]
    found = decode(backend, [3, 1, 4], table=table)
    np.testing.assert_array_equal(found, [[0, 0, 0, 0, 0, 0], [2, 3, 0, 0, 0, 0], [4] * 6])


def test_it_stops_with_the_longest(backend):
    assert decode(backend, [1, 2, 3]).shape == (3, 3)
    assert decode(backend, [1, 2, 3], max_length=2).shape == (3, 2)


def test_a_batch_is_its_members(backend):
    table = normal(1, 9, 9)
    together = decode(backend, range(1, 9), table=table, max_length=12)
    for row, start in zip(together, range(1, 9), strict=True):
        alone = decode(backend, [start], table=table, max_length=12)[0]
        np.testing.assert_array_equal(row[: len(alone)], alone)
        assert not row[len(alone) :].any()


def test_of_equal_scores_the_lower_token_wins(backend):
    table = np.zeros((4, 4))
    table[:, END] = -1
    np.testing.assert_array_equal(decode(backend, [3], 2, table), [[1, 1]])


def test_forbidden_tokens_are_never_taken(backend):
    """A score of −inf forbids; the largest of the others is taken, however small."""
    table = np.full((3, 3), -np.inf)
    table[1, 2], table[2, 0] = -1e9, -3.0
    np.testing.assert_array_equal(decode(backend, [1], table=table), [[2, 0]])


def test_empty_calls(backend):
    assert decode(backend, []).shape == (0, 0)
    assert decode(backend, [1, 2], max_length=0).shape == (2, 0)
    for start in ([], [1, 2]):
        assert decode(backend, start, max_length=0).dtype == np.int64


def test_the_state_is_handed_from_step_to_step(backend):
    """A counter as state: token t at step t, until the end."""
    seen = []

    def step(token, state):
        seen.append(state)
        scores = np.zeros((len(token), 5))
        scores[:, (state + 1) % 4] = 1
        return backend.array(scores), state + 1

    start = backend.array(np.array([1, 2]))
    found = backend.functions.greedy(step, start, end=END, max_length=9, state=0)
    np.testing.assert_array_equal(backend.numpy(found), [[1, 2, 3, 0]] * 2)
    assert seen == [0, 1, 2, 3]


def test_the_start_is_left_as_it_was(backend):
    start = backend.array(np.array([1, 3]))
    table = backend.array(TABLE)
    backend.functions.greedy(lambda token, _: (table[token], None), start, end=END, max_length=4)
    np.testing.assert_array_equal(backend.numpy(start), [1, 3])


def test_a_sequence_may_begin_with_the_end(backend):
    """The start is what came before: the end of another sequence closes nothing here."""
    table = TABLE.copy()
    table[END] = [-9.0, 0.0, -9.0, -9.0, -9.0]
    np.testing.assert_array_equal(decode(backend, [END], table=table), [[1, 2, 3, END]])
    tokens, _ = search(backend, log_softmax(table), [END], max_length=6, beam_width=1)
    np.testing.assert_array_equal(tokens, [[[1, 2, 3, END]]])


def test_messages(backend):
    with pytest.raises(ValueError, match=r"start must have the shape \(B,\)"):
        decode(backend, [[1, 2]])
    with pytest.raises(ValueError, match="max_length must be at least 0 but is -1"):
        decode(backend, [1], max_length=-1)
    with pytest.raises(TypeError, match=r"max_length must be a whole number but is 2\.5"):
        decode(backend, [1], max_length=2.5)
    with pytest.raises(ValueError, match=r"scores of shape \(1, V\) but returned \(1, 0\)"):
        decode(backend, [1], table=TABLE[:, :0])
    with pytest.raises(ValueError, match="returned NaN"):
        decode(backend, [1], table=np.full((5, 5), np.nan))
    with pytest.raises(TypeError, match=r"start must be integers but is .*float64; a token is"):
        backend.functions.greedy(
            lambda token, state: None, backend.array(np.ones(2)), end=END, max_length=1
        )


def log_softmax(scores):
    """Return scores as log-probabilities along the last axis."""
    return scores - np.log(np.exp(scores).sum(-1, keepdims=True))


def random_table(seed, n_tokens, forbidden=0.0):
    """Return log-probabilities of a table; some tokens may not follow, one always may."""
    generator = np.random.default_rng(seed)
    scores = 2 * generator.standard_normal((n_tokens, n_tokens))
    hidden = generator.random((n_tokens, n_tokens)) < forbidden
    hidden[np.arange(n_tokens), generator.integers(0, n_tokens, n_tokens)] = False
    return log_softmax(np.where(hidden, -np.inf, scores))


def search(backend, table, start, **keywords):
    """Run a beam search over a table of log-probabilities and return NumPy."""
    table = backend.array(table)
    tokens, scores = backend.functions.beam_search(
        lambda token, state: (table[token], state),
        backend.array(np.array(start, int)),
        **{"end": END} | keywords,
    )
    return backend.numpy(tokens), backend.numpy(scores)


def padded(hypotheses, length, width):
    """Return loops' hypotheses as the two arrays that the library returns."""
    tokens, scores = np.full((width, length), END), np.full(width, -np.inf)
    for number, (found, score) in enumerate(hypotheses):
        tokens[number, : len(found)] = found
        scores[number] = score
    return tokens, scores


class TestBeamSearch:
    @given(
        seed=st.integers(0, 10**6),
        n_tokens=st.integers(1, 5),
        batch=st.integers(1, 3),
        max_length=st.integers(0, 5),
        width=st.integers(1, 7),
        penalty=st.sampled_from([0.0, 0.6, 1.0, -0.5]),
        forbidden=st.sampled_from([0.0, 0.5]),
    )
    def test_against_loops(self, seed, n_tokens, batch, max_length, width, penalty, forbidden):
        table = random_table(seed, n_tokens, forbidden)
        start = np.random.default_rng(seed).integers(0, n_tokens, batch)
        keywords = {"max_length": max_length, "beam_width": width, "length_penalty": penalty}
        for backend in BACKENDS:
            tokens, scores = search(backend, table, start, **keywords)
            assert tokens.shape[:2] == scores.shape == (batch, width)
            for item in range(batch):
                hypotheses = loops.beam_search(table, start[item], end=END, **keywords)
                expected = padded(hypotheses, tokens.shape[-1], width)
                np.testing.assert_array_equal(tokens[item], expected[0])
                assert_close(scores[item], expected[1], "output")

    @pytest.mark.parametrize("penalty", [0.0, 1.0])
    @pytest.mark.parametrize("forbidden", [0.0, 0.4])
    def test_wide_enough_it_finds_what_enumeration_finds(self, backend, penalty, forbidden):
        """All V ** L sequences fit: the beam is their list, best first."""
        n_tokens, max_length = 3, 4
        for seed in range(5):
            table = random_table(seed, n_tokens, forbidden)
            every = loops.every_sequence(table, 1, end=END, max_length=max_length)
            every.sort(key=lambda one: -one[1] / len(one[0]) ** penalty)
            tokens, scores = search(
                backend,
                table,
                [1],
                max_length=max_length,
                beam_width=n_tokens**max_length,
                length_penalty=penalty,
            )
            # Paths through a table that only swap their steps tie, so the order is by score alone.
            expected = padded(every, tokens.shape[-1], n_tokens**max_length)
            ours, theirs = (
                {tuple(row): score for row, score in zip(*pair, strict=True) if score != -np.inf}
                for pair in ((tokens[0], scores[0]), expected)
            )
            assert ours.keys() == theirs.keys()
            for row, score in theirs.items():
                np.testing.assert_allclose(ours[row], score, rtol=1e-12)
            assert_close(scores[0], expected[1], "output")

    @given(seed=st.integers(0, 10**6), n_tokens=st.integers(1, 6), max_length=st.integers(0, 9))
    def test_one_beam_is_greedy(self, seed, n_tokens, max_length):
        table, start = random_table(seed, n_tokens), list(range(n_tokens))
        for backend in BACKENDS:
            tokens, scores = search(backend, table, start, max_length=max_length, beam_width=1)
            found = decode(backend, start, max_length, table)
            np.testing.assert_array_equal(tokens[:, 0], found)
            for row, first, score in zip(found, start, scores[:, 0], strict=True):
                total, last = 0.0, first
                for token in row:
                    total, last = total + table[last, token], token
                    if token == END:
                        break
                np.testing.assert_allclose(score, total, atol=1e-12)

    def test_a_better_whole_than_the_greedy_one(self, backend):
        """From 1 the better step is 2 (0.6), but 3 leads to a sure end (0.4)."""
        with np.errstate(divide="ignore"):
            table = np.log([[1, 0, 0, 0], [0, 0, 0.6, 0.4], [0.5, 0.5, 0, 0], [1, 0, 0, 0]])
        for width, best, probability in ((1, [2, END], 0.3), (2, [3, END], 0.4)):
            tokens, scores = search(backend, table, [1], max_length=2, beam_width=width)
            np.testing.assert_array_equal(tokens[0, 0], best)
            assert_close(np.exp(scores[0, 0]), np.array(probability), "output")

    def test_the_penalty_ranks_and_the_scores_stay_sums(self, backend):
        """The short sequence has 0.3; the long one 0.7 * 0.6 * 0.6, a better mean for each token."""
        table = np.log(np.full((4, 4), 1e-9))
        table[1, [END, 2]] = np.log([0.3, 0.7])
        table[2, 3], table[3, END] = np.log(0.6), np.log(0.6)
        short, long = np.log(0.3), np.log(0.7 * 0.36)
        for penalty, first in ((0.0, short), (1.0, long)):
            _, scores = search(
                backend, table, [1], max_length=3, beam_width=2, length_penalty=penalty
            )
            np.testing.assert_allclose(scores[0], [first, short + long - first], rtol=1e-12)

    def test_ties_go_to_the_lower_beam_then_the_lower_token(self, backend):
        table = np.full((4, 4), -np.log(4.0))
        tokens, _ = search(backend, table, [3], max_length=2, beam_width=6, end=-1)
        np.testing.assert_array_equal(tokens[0], [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]])

    def test_many_ties(self, backend):
        """Enough of them for a sort that keeps no order to show itself."""
        table = np.tile([-4.0, -5.0], (60, 30))  # the even tokens are the better ones
        tokens, _ = search(backend, table, [3], max_length=2, beam_width=5, end=-1)
        np.testing.assert_array_equal(tokens[0], [[0, 2 * rank] for rank in range(5)])

    def test_what_has_ended_stays(self, backend):
        """It is fed its end again, whatever the table says after it, and keeps its score."""
        table = np.log(np.full((3, 3), 1 / 3))
        table[1] = np.log([0.9, 0.05, 0.05])
        tokens, scores = search(backend, table, [1], max_length=5, beam_width=3)
        assert tokens.shape[-1] > 1
        assert not tokens[0, 0].any()
        assert_close(scores[0, 0], np.log(0.9), "output")

    def test_fewer_hypotheses_than_beams(self, backend):
        table = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
        for start, expected in ((0, [0]), (1, [1, 1])):
            tokens, scores = search(backend, table, [start], max_length=2, beam_width=3)
            np.testing.assert_array_equal(tokens[0], [expected, *[[END] * len(expected)] * 2])
            np.testing.assert_array_equal(scores[0], [0.0, -np.inf, -np.inf])

    def test_a_dead_end(self, backend):
        """Where nothing may follow there is no hypothesis; the other sequences go on."""
        table = np.full((3, 3), -np.inf)
        table[2, 0] = 0.0
        tokens, scores = search(backend, table, [1, 2], max_length=4, beam_width=2)
        np.testing.assert_array_equal(tokens, np.zeros((2, 2, 1)))
        np.testing.assert_array_equal(scores, [[-np.inf, -np.inf], [0.0, -np.inf]])

    def test_sizes_of_zero(self, backend):
        tokens, scores = search(backend, TABLE, [], max_length=4, beam_width=2)
        assert (tokens.shape, scores.shape) == ((0, 2, 0), (0, 2))
        tokens, scores = search(backend, TABLE, [1, 2, 3], max_length=0, beam_width=2)
        assert (tokens.shape, tokens.dtype) == ((3, 2, 0), np.int64)
        np.testing.assert_array_equal(scores, [[0.0, -np.inf]] * 3)

    def test_scores_have_the_dtype_of_the_step(self, backend):
        for dtype in backend.dtypes:
            table = backend.array(TABLE, dtype)
            tokens, scores = backend.functions.beam_search(
                lambda token, state, table=table: (table[token], state),
                backend.array(np.array([1])),
                end=END,
                max_length=3,
                beam_width=2,
            )
            assert backend.dtype_name(scores) == dtype
            assert backend.dtype_name(tokens) == "int64"


class Pair(NamedTuple):
    """A state of two parts."""

    seen: object
    count: object


class Own:
    """A state that reorders itself by returning a new one."""

    def __init__(self, rows):
        self.rows = rows

    def reorder(self, index):
        return Own(self.rows[index])


class TestState:
    @pytest.mark.parametrize("kind", ["array", "list", "tuple", "dict", "namedtuple", "own"])
    def test_it_follows_its_hypotheses(self, backend, kind):
        """The state holds all tokens that were fed; at every step they are the hypothesis."""
        wrap, unwrap = {
            "array": (lambda x: x, lambda s: s),
            "list": (lambda x: [x, None], lambda s: s[0]),
            "tuple": (lambda x: (3, (x,)), lambda s: s[1][0]),
            "dict": (lambda x: {"rows": x, "t": 0.5}, lambda s: s["rows"]),
            "namedtuple": (lambda x: Pair(x, backend.array(7)), lambda s: s.seen),
            "own": (Own, lambda s: s.rows),
        }[kind]
        table = random_table(3, 5)
        join = np.concatenate if backend is NUMPY else torch.cat
        fed = []

        def step(token, state):
            rows = join([unwrap(state), token[:, None]], -1)
            fed.append(backend.numpy(rows).copy())
            return backend.array(table)[token], wrap(rows)

        start = np.array([1, 4])
        state = wrap(backend.array(np.array([[10], [40]])))  # one row for each sequence
        tokens, _ = backend.functions.beam_search(
            step, backend.array(start), end=-1, max_length=4, beam_width=3, state=state
        )
        for item, (first, mark) in enumerate(zip(start, (10, 40), strict=True)):
            rows = fed[-1][3 * item : 3 * item + 3]
            assert (rows[:, :2] == [mark, first]).all()
            prefixes = {tuple(row[2:]) for row in rows}
            assert {tuple(row[:-1]) for row in backend.numpy(tokens)[item]} <= prefixes
        # Hypotheses do branch here: the order of rows is not the one they began with.
        assert len({tuple(row[:3]) for row in fed[-1][:3]}) < 3

    def test_the_step_always_sees_all_rows(self, backend):
        sizes = []

        def step(token, state):
            sizes.append(len(token))
            return backend.array(TABLE)[token], state

        start = backend.array(np.array([3, 1]))
        backend.functions.beam_search(step, start, end=END, max_length=5, beam_width=4)
        assert set(sizes) == {8}

    def test_messages(self, backend):
        def run(state):
            start = backend.array(np.array([1, 2]))
            return backend.functions.beam_search(
                lambda token, state: (backend.array(TABLE)[token], state),
                start,
                end=END,
                max_length=2,
                beam_width=2,
                state=state,
            )

        with pytest.raises(
            ValueError, match=r"array of shape \(1, 2\) but its first axis must be the 2"
        ):
            run(backend.array(np.zeros((1, 2))))
        with pytest.raises(
            TypeError, match=r"state must be .* but is object; what does not follow"
        ):
            run({"deep": [object()]})


class TestCachedDecoding:
    """A small attention model, stepwise through a KVCache that the search reorders."""

    D_MODEL, HEADS, VOCABULARY, LENGTH = 6, 2, 5, 5

    def parameters(self):
        shapes = dict.fromkeys(("query", "key", "value", "output"), (self.D_MODEL, self.D_MODEL))
        weights = {f"w_{name}": normal(i, *shape) for i, (name, shape) in enumerate(shapes.items())}
        return (
            weights,
            normal(8, self.VOCABULARY, self.D_MODEL),
            normal(9, self.D_MODEL, self.VOCABULARY),
        )

    def heads(self, x):
        """Split the width of (N, n, d_model) into (N, heads, n, d_head)."""
        return x.reshape(*x.shape[:2], self.HEADS, -1).swapaxes(1, 2)

    @pytest.mark.parametrize("width", [1, 3, 4])
    @pytest.mark.parametrize("penalty", [0.0, 0.7])
    def test_it_equals_recomputing(self, backend, width, penalty):
        weights, embedding, readout = self.parameters()

        def recompute(token, state):
            tokens = np.concatenate([state, token[:, None]], 1)
            x = embedding[tokens]  # (N, n, d_model)
            hidden = multi_head_attention(x, parameters=weights, n_heads=self.HEADS, causal=True)[
                :, -1
            ]
            return log_softmax(hidden @ readout), tokens

        def cached(token, cache):
            x = embedding[backend.numpy(token)][:, None]  # (N, 1, d_model)
            q, k, v = (self.heads(x @ weights[f"w_{name}"]) for name in ("query", "key", "value"))
            cache.append(backend.array(k), backend.array(v))
            output = backend.functions.scaled_dot_product_attention(
                backend.array(q), cache.key, cache.value, causal=True
            )
            merged = backend.numpy(output).swapaxes(1, 2).reshape(len(x), self.D_MODEL)
            scores = log_softmax(merged @ weights["w_output"] @ readout)
            return backend.array(scores), cache

        start = np.array([1, 3])
        keywords = {
            "end": END,
            "max_length": self.LENGTH,
            "beam_width": width,
            "length_penalty": penalty,
        }
        expected = NUMPY.functions.beam_search(
            recompute, start, state=np.zeros((2, 0), int), **keywords
        )
        cache = backend.functions.KVCache(
            2, self.HEADS, self.LENGTH, self.D_MODEL // self.HEADS, dtype=backend.dtype("float64")
        )
        tokens, scores = backend.functions.beam_search(
            cached, backend.array(start), state=cache, **keywords
        )
        np.testing.assert_array_equal(backend.numpy(tokens), expected[0])
        assert_close(backend.numpy(scores), expected[1], "layer")

    def test_a_cache_that_two_layers_share_is_moved_once(self, backend):
        class Cache:
            asked = 0

            def reorder(self, index):
                self.asked += 1

        shared, another = Cache(), Cache()
        backend.functions.beam_search(
            lambda token, state: (backend.array(np.log(np.full((4, 5), 0.2))), state),
            backend.array(np.array([1, 3])),
            end=-1,
            max_length=2,
            beam_width=2,
            state={"layers": [shared, another, (shared,)], "source": shared},
        )
        assert (shared.asked, another.asked) == (3, 3)  # at first, and after each of two steps

    @torch.no_grad()
    def test_a_transformer_whose_caches_follow_the_beams(self):
        """State: a DecoderCache for each layer, the memory and its mask, all with a row a sequence."""
        torch.manual_seed(1)
        model = TORCH.functions.Transformer(7, 6, d_model=8, n_heads=2).double().eval()
        source = torch.from_numpy(np.random.default_rng(1).integers(0, 7, (2, 4)))
        mask = torch.tensor([[True] * 4, [True, True, False, False]])
        memory, start = model.encode(source, mask), torch.tensor([1, 2])
        keywords = {"end": END, "max_length": 6, "beam_width": 3}

        def cached(token, state):
            caches, memory, mask = state
            logits, _ = model.decode(token[:, None], memory, mask, caches=caches)
            return logits[:, -1].log_softmax(-1), state

        def recompute(token, state):
            read, memory, mask = state
            read = torch.cat([read, token[:, None]], 1)
            logits, _ = model.decode(read, memory, mask)
            return logits[:, -1].log_softmax(-1), (read, memory, mask)

        search = TORCH.functions.beam_search
        state = (model.new_caches(2, 6, 4), memory, mask)
        tokens, scores = search(cached, start, state=state, **keywords)
        state = (torch.zeros(2, 0, dtype=torch.int64), memory, mask)
        expected, expected_scores = search(recompute, start, state=state, **keywords)
        np.testing.assert_array_equal(tokens, expected)
        assert_close(scores, expected_scores, "layers")


class TestSample:
    @given(
        seed=st.integers(0, 10**6),
        lead=st.sampled_from([(), (3,), (2, 3), (0,)]),
        n_tokens=st.integers(1, 7),
        temperature=st.sampled_from([0.1, 1.0, 4.0]),
        top_k=st.sampled_from([None, 1, 2, 3, 99]),
        top_p=st.sampled_from([None, 1e-9, 0.3, 0.8, 1.0]),
        ties=st.booleans(),
    )
    def test_against_loops(self, seed, lead, n_tokens, temperature, top_k, top_p, ties):
        generator = np.random.default_rng(seed)
        logits = 2 * generator.standard_normal((*lead, n_tokens))
        if ties:
            logits = np.round(logits)
        hidden = generator.random(logits.shape) < 0.3
        hidden[..., generator.integers(n_tokens)] = False
        logits[hidden] = -np.inf
        uniform = generator.random(lead)
        keywords = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        expected = np.zeros(lead, int)
        for place in np.ndindex(lead):
            expected[place] = loops.sample(logits[place], uniform[place], **keywords)
        for backend in BACKENDS:
            drawn = backend.functions.sample(
                backend.array(logits), backend.array(uniform), **keywords
            )
            assert backend.dtype_name(drawn) == "int64"
            np.testing.assert_array_equal(backend.numpy(drawn), expected)

    @pytest.mark.parametrize(
        ("keywords", "kept"),
        [
            ({}, [0, 1, 2, 3, 4]),
            ({"temperature": 3.0}, [0, 1, 2, 3, 4]),
            ({"top_k": 2}, [1, 3]),
            ({"top_p": 0.39}, [1]),
            ({"top_p": 0.6}, [1, 3]),
            ({"top_k": 3, "top_p": 0.7}, [1, 3]),  # 0.7 of the three, not of all
            ({"temperature": 0.5, "top_p": 0.6}, [1, 3]),
        ],
        ids=str,
    )
    def test_frequencies_are_the_truncated_distribution(self, backend, keywords, kept):
        """Over an even grid of uniform numbers each token comes its share of times."""
        draws, shares = 10_000, np.array([0.1, 0.4, 0.15, 0.3, 0.05])
        uniform = (np.arange(draws) + 0.5) / draws
        drawn = backend.numpy(
            backend.functions.sample(
                backend.array(np.log(shares)), backend.array(uniform), **keywords
            )
        )
        expected = shares ** (1 / keywords.get("temperature", 1.0)) * np.isin(np.arange(5), kept)
        expected /= expected.sum()
        found = np.bincount(drawn, minlength=5) / draws
        assert np.abs(found - expected).max() <= 1 / draws

    def test_a_borderline_share_is_reached(self, backend):
        """The best token alone has exactly top_p: nothing more is needed."""
        logits = backend.array(np.log([0.25, 0.5, 0.25]))
        drawn = backend.functions.sample(logits, backend.array([0.0, 0.999]), top_p=0.5)
        np.testing.assert_array_equal(backend.numpy(drawn), [1, 1])

    def test_all_of_the_probability_is_all_tokens(self, backend):
        """The share of the best rounds to 1; top_p = 1 keeps the others all the same."""
        logits, uniform = backend.array([0.0, -50.0, -60.0]), backend.array([0.5, 1.0])
        for keywords in ({"top_p": 1.0}, {}):
            drawn = backend.functions.sample(logits, uniform, **keywords)
            np.testing.assert_array_equal(backend.numpy(drawn), [0, 2])

    def test_of_equal_tokens_the_lower_ones_stay(self, backend):
        uniform = backend.array((np.arange(60) + 0.5) / 60)
        for keywords in ({"top_k": 3}, {"top_p": 2.5 / 60}):
            logits = backend.array(np.tile([0.0, -9.0], 60))  # the even tokens are the better ones
            drawn = backend.functions.sample(logits, uniform, **keywords)
            np.testing.assert_array_equal(backend.numpy(drawn), np.arange(60) // 20 * 2)

    @pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
    @pytest.mark.parametrize("uniform", [0.0, 2.0**-1074, 1 - 2**-53, 1.0])
    @pytest.mark.parametrize(
        "keywords", [{}, {"top_k": 3}, {"top_p": 0.9}, {"top_p": 1.0}], ids=str
    )
    def test_no_number_draws_a_forbidden_token(self, backend, dtype, uniform, keywords):
        logits = np.random.default_rng(1).standard_normal((300, 50))
        logits[:, [0, 1, 20, 48, 49]] = -np.inf
        drawn = backend.numpy(
            backend.functions.sample(
                backend.array(logits, dtype), backend.array(np.full(300, uniform)), **keywords
            )
        )
        assert not np.isin(drawn, [0, 1, 20, 48, 49]).any()
        if keywords in ({}, {"top_p": 1.0}):  # the first or the last that may be drawn
            np.testing.assert_array_equal(drawn, 2 if uniform < 0.5 else 47)

    def test_many_small_shares(self, backend):
        """Of 50000 equal tokens, summed one by one, a number finds its place to within one."""
        n_tokens = 50_000
        uniform = np.array([0.0, 0.25, 0.5, 0.75, 1 - 2**-53])
        logits = backend.array(np.zeros(n_tokens), "float32")
        drawn = backend.numpy(backend.functions.sample(logits, backend.array(uniform)))
        assert np.abs(drawn - uniform * n_tokens).max() <= 1

    def test_cold_is_greedy_and_large_logits_stay_finite(self, backend):
        logits = np.array([[1.0, 3.0, 2.0], [-1e308, 1e308, 0.0], [-np.inf, -1e308, -np.inf]])
        for temperature in (5e-324, 1e-8):
            drawn = backend.functions.sample(
                backend.array(logits), backend.array([0.999] * 3), temperature=temperature
            )
            np.testing.assert_array_equal(backend.numpy(drawn), [1, 1, 1])
        infinite = backend.array([np.inf, 0.0, np.inf])
        drawn = backend.functions.sample(infinite, backend.array([0.49, 0.51]))
        np.testing.assert_array_equal(backend.numpy(drawn), [0, 2])

    def test_inputs_are_left_as_they_were(self, backend):
        logits, uniform = backend.array(normal(1, 2, 5)), backend.array([0.2, 0.7])
        backend.functions.sample(logits, uniform, temperature=0.5, top_k=3, top_p=0.5)
        np.testing.assert_array_equal(backend.numpy(logits), normal(1, 2, 5))
        np.testing.assert_array_equal(backend.numpy(uniform), [0.2, 0.7])

    def test_layouts_and_integers(self, backend):
        logits, uniform = normal(1, 5, 3), np.array([0.2, 0.5, 0.9])
        plain = backend.functions.sample(backend.array(logits.T.copy()), backend.array(uniform))
        other = backend.functions.sample(backend.array(logits).T, backend.array(uniform))
        np.testing.assert_array_equal(backend.numpy(other), backend.numpy(plain))
        # The ends of the interval are the first and the last token, however unlikely.
        whole = backend.functions.sample(backend.array([0, 50, 0]), backend.array([0, 1]))
        np.testing.assert_array_equal(backend.numpy(whole), [0, 2])

    def test_messages(self, backend):
        def draw(logits, uniform, **keywords):
            return backend.functions.sample(
                backend.array(np.array(logits)), backend.array(np.array(uniform)), **keywords
            )

        for arguments, keywords, error, message in (
            ((np.zeros((2, 0)), [0.1, 0.2]), {}, ValueError, "at least one token to draw"),
            ((0.0, 0.5), {}, ValueError, r"logits needs at least 1 axis, \(\.\.\., V\)"),
            ((np.zeros((2, 3)), [0.1] * 3), {}, ValueError, r"logits \(2,\) and uniform \(3,\) do not"),
            (([[0.0], [-np.inf]], [0.1, 0.1]), {}, ValueError, "each row a token to draw but has a row"),
            (([np.nan, 0.0], 0.1), {}, ValueError, "token to draw but holds NaN"),
            (([0.0, 0.0], 1.5), {}, ValueError, r"uniform must lie in \[0, 1\)"),
            (([0.0, 0.0], 0.5), {"temperature": 0}, ValueError, "temperature must be above 0 .*greedy"),
            (([0.0, 0.0], 0.5), {"top_k": 0}, ValueError, "top_k must be at least 1 but is 0"),
            (([0.0, 0.0], 0.5), {"top_k": 1.5}, TypeError, r"top_k must be a whole number but is 1\.5"),
            (([0.0, 0.0], 0.5), {"top_p": 0}, ValueError, "top_p must be above 0 and at most 1 but is 0"),
            (([0.0, 0.0], 0.5), {"top_p": 90}, ValueError, "top_p must be .* is 90; .*0.9 for 90 %"),
            (([0.0, 1j], 0.5), {}, TypeError, "logits must be real but is .*complex128"),
        ):  # fmt: skip
            with pytest.raises(error, match=message):
                draw(*arguments, **keywords)


def test_messages_of_beam_search(backend):
    for table, start, keywords, error, message in (
        (TABLE, [[1]], {}, ValueError, r"start must have the shape \(B,\) but has shape \(1, 1\)"),
        (TABLE, [1], {"beam_width": 0}, ValueError, "beam_width must be at least 1 but is 0"),
        (TABLE, [1], {"max_length": -1}, ValueError, "max_length must be at least 0 but is -1"),
        (TABLE, [1], {"end": -2}, ValueError, "end must be at least -1 but is -2"),
        (TABLE, [1], {"end": 0.0}, TypeError, r"end must be a whole number but is 0\.0"),
        (TABLE, [1], {"length_penalty": np.inf}, ValueError, "length_penalty must be finite but is inf"),
        (TABLE, [1], {"length_penalty": "long"}, TypeError, "length_penalty must be a real number"),
        (np.exp(TABLE), [1], {}, ValueError, "log-probabilities, none above 0, but the largest is 0.6"),
        (np.full((5, 5), np.nan), [1], {}, ValueError, "step must return numbers but returned NaN"),
        (TABLE[:, :0], [1], {}, ValueError, r"scores of shape \(2, V\) but returned \(2, 0\)"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            search(backend, table, start, **{"max_length": 2, "beam_width": 2} | keywords)


def test_twins():
    ours, theirs = attnkit.numpy.generate, attnkit.torch.generate
    assert ours.__all__ == theirs.__all__ == ["beam_search", "greedy", "sample"]
    for name in ours.__all__:
        assert inspect.signature(getattr(ours, name)) == inspect.signature(getattr(theirs, name))
        for package in (ours, theirs):
            text = inspect.getdoc(getattr(package, name))
            for section in ("Parameters", "Returns", "Raises", "References", "Examples"):
                assert f"{section}\n---" in text, f"{name} lacks {section}"
            for parameter in inspect.signature(getattr(package, name)).parameters:
                assert parameter in text


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
class TestOddNumbers:
    def beam(self, backend, table=TABLE, **keywords):
        table = backend.array(table)
        options = {"end": END, "max_length": 4, "beam_width": 2} | keywords
        start = backend.array(np.array([1, 2]))
        return backend.functions.beam_search(lambda token, _: (table[token], _), start, **options)

    @pytest.mark.parametrize("penalty", [1e3, -1e3])
    def test_a_penalty_that_overflows(self, backend, penalty):
        with pytest.raises(ValueError, match=r"length_penalty must lie between -16 and 16 but is"):
            self.beam(backend, length_penalty=penalty)

    def test_an_array_is_no_penalty(self, backend):
        with pytest.raises(TypeError, match="length_penalty must be a real number"):
            self.beam(backend, length_penalty=backend.array(np.ones(2)))

    def test_an_end_that_no_token_can_be(self, backend):
        with pytest.raises(ValueError, match=r"end must be below 2 \*\* 63 but is 10"):
            self.beam(backend, end=10**30)

    @pytest.mark.filterwarnings("error")
    def test_sums_below_all_numbers(self, backend):
        tokens, scores = self.beam(backend, np.full((5, 5), -1e308), beam_width=1, end=-1)
        assert backend.numpy(tokens).shape == (2, 1, 2)
        assert np.all(backend.numpy(scores) == -np.inf)

    def test_scores_of_greedy(self, backend):
        assert decode(backend, [1], 1, np.eye(5, dtype=bool)).tolist() == [[1]]
        exact = np.zeros((5, 5), np.int64)
        exact[1, 2:4] = 2**60, 2**60 + 1
        assert decode(backend, [1], 1, exact).tolist() == [[3]]
        with pytest.raises(TypeError, match=r"the scores of step must be real but is .*complex"):
            decode(backend, [1], 1, np.zeros((5, 5), complex))
