"""The longest chain of operations: counted by hand on small graphs, by time steps on a recurrent network."""

import pytest
import torch

from attnkit.bench import longest_chain
from attnkit.torch.language_model import RecurrentLanguageModel, TransformerLanguageModel


def test_side_by_side_is_no_longer_than_one():
    x = torch.ones(2, requires_grad=True)
    once = x.exp().sin()
    assert longest_chain(once) == 3
    assert longest_chain(once + x.cos()) == longest_chain(x.cos() + once) == 4


def test_a_chain_that_python_cannot_recurse_through():
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(5000):
        y = y + 1
    assert longest_chain(y) == 5001


def test_ways_that_part_and_meet_are_not_walked_twice():
    """A chain of 200 diamonds has 2 ** 200 ways."""
    y = torch.ones((), requires_grad=True)
    for _ in range(200):
        y = y.exp() + y.sin()
    assert longest_chain(y) == 401


@pytest.mark.parametrize(
    ("kind", "grows"), [(RecurrentLanguageModel, True), (TransformerLanguageModel, False)]
)
def test_only_recurrence_grows_with_the_length(kind, grows):
    model, chains = kind(5, 8), []
    for length in (4, 16):
        chains.append(longest_chain(model(torch.zeros(1, length, dtype=torch.long)).sum()))
    assert (chains[1] > chains[0] + 11) if grows else (chains[1] == chains[0])


def test_what_was_computed_without_gradients_is_refused():
    with pytest.raises(ValueError, match="result has no graph of operations"):
        longest_chain(torch.ones(2))
