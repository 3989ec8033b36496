"""Greedy decoding: tables worked out by hand, what happens after the end, and the messages."""

import numpy as np
import pytest

from tests.attnkit.backends import normal

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
