"""Associative recall and its readers: answers by loop, what mixes as the input demands and what does not."""

import numpy as np
import pytest
import torch

from attnkit.tasks.recall import N_KEYS, N_VALUES, draw_recall
from attnkit.torch import SelfAttention
from attnkit.torch.recall import (
    PositionMix,
    RecallLookups,
    RecallReader,
    SideBySideMix,
    score_recall,
    train_recall,
)
from tests.tolerances import assert_close

MIXES = {
    "attention": lambda length, width: SelfAttention(width),
    "positions": PositionMix,
    "side by side": lambda length, width: SideBySideMix(length, width, 12),
}
each_mix = pytest.mark.parametrize("name", MIXES)


def draw(n_lists=60, length=7, seed=0):
    return draw_recall(n_lists, length, generator=np.random.default_rng(seed))


# --- the task -------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 7, 16])
def test_the_right_answers_are_those_of_a_loop(length):
    batch = draw(length=length)
    for row in range(60):
        pairs = dict(zip(batch.keys[row].tolist(), batch.values[row].tolist(), strict=True))
        assert len(pairs) == length  # no key stands there twice
        assert pairs[int(batch.asked[row])] == batch.answer[row]
        letters = "abcdefghijklmnop"
        assert batch.words(row) == [f"{letters[key]}{value}" for key, value in pairs.items()]


def test_keys_values_and_places_are_drawn_evenly():
    batch = draw(4000)
    for drawn, n in ((batch.keys, N_KEYS), (batch.values, N_VALUES), (batch.place, 7)):
        share = np.bincount(drawn.ravel(), minlength=n) / drawn.size
        assert len(share) == n
        assert np.abs(share - 1 / n).max() < 0.02


def test_the_generator_decides_and_moves_on():
    generator = np.random.default_rng(3)
    first, second = (draw_recall(9, 7, generator=generator) for _ in range(2))
    again = draw(9, seed=3)
    for name in ("keys", "values", "place"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
    assert not np.array_equal(first.keys, second.keys)


def test_no_lists_are_an_empty_batch():
    batch = draw(0)
    assert batch.keys.shape == batch.values.shape == (0, 7)
    assert batch.asked.shape == batch.answer.shape == (0,)


def test_wrong_sizes_are_refused():
    for length in (0, 17):
        with pytest.raises(ValueError, match=f"length must be between 1 and 16, got {length}"):
            draw(1, length)
    with pytest.raises(ValueError, match="n_lists must be at least 0 but is -1"):
        draw(-1)
    with pytest.raises(TypeError, match=r"length must be a whole number but is 7\.0"):
        draw(1, 7.0)


# --- the mixes and the reader ---------------------------------------------------------------------


def vectors(length=5, width=4, seed=1):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(3, length, width)))


def mix(name, length=5, width=4):
    torch.manual_seed(0)
    return MIXES[name](length, width).double().requires_grad_(False)


@each_mix
def test_every_mix_keeps_the_shape_and_mixes_all_tokens(name):
    model, x = mix(name), vectors()
    before = model(x)
    assert before.shape == x.shape
    for i in range(5):
        changed = x.clone()
        changed[:, i] += 1.0
        moved = (model(changed) - before).abs().amax(dim=-1)  # (3, 5)
        assert (moved > 1e-9).all(), f"token {i} is not heard everywhere"


@pytest.mark.parametrize(("name", "fixed"), [("positions", True), ("attention", False)])
def test_what_mixes_is_the_same_for_every_input_or_is_not(name, fixed):
    """Claim C16: a layer over positions has one derivative, attention one for each input."""
    model = mix(name)
    one, other = (
        torch.autograd.functional.jacobian(model, vectors(seed=seed)[:1]) for seed in (1, 2)
    )
    assert ((one - other).abs().max() < 1e-12) == fixed


def test_side_by_side_mixes_over_its_hidden_units():
    """A network of two layers over one long vector."""
    model, x = mix("side by side"), vectors()
    hidden = torch.relu(x.reshape(3, 20) @ model.hidden.weight.T + model.hidden.bias)
    assert hidden.shape == (3, 12)
    expected = (hidden @ model.output.weight.T + model.output.bias).reshape(3, 5, 4)
    assert_close(model(x).numpy(), expected.numpy(), "output")


@pytest.mark.parametrize("name", ["positions", "side by side"])
@pytest.mark.parametrize("length", [4, 6])
def test_a_fixed_mix_refuses_other_lengths(name, length):
    with pytest.raises(ValueError, match=f"x has {length} tokens but this layer mixes 5"):
        mix(name)(vectors(length))


def test_the_reader_answers_from_the_token_that_asks():
    """The last token has the key and no value; the list itself is not read off directly."""
    torch.manual_seed(0)
    model = RecallReader(torch.nn.Identity(), 8).double()
    batch = draw(20)
    keys, values, asked = map(torch.from_numpy, (batch.keys, batch.values, batch.asked))
    logits = model(keys, values, asked)
    assert logits.shape == (20, N_VALUES)
    expected = model.answer(2 * (model.key(asked) + model.value.weight[N_VALUES]))
    assert_close(logits.detach().numpy(), expected.detach().numpy(), "output")


# --- one lookup for each list, several models side by side ----------------------------------------


def lookups(n_models=3):
    """Return models, and what is asked for, keys, values and answers of 4 lists each."""
    torch.manual_seed(0)
    batch = draw(n_models * 4)
    lists = (batch.asked, batch.keys, batch.values, batch.answer)
    shaped = [torch.from_numpy(x).unflatten(0, (n_models, 4)) for x in lists]
    return RecallLookups(n_models, 6).double(), *shaped


def test_lookups_score_and_read_as_a_loop_over_models_and_lists_does():
    models, asked, keys, values, answer = lookups()
    with torch.no_grad():
        scores, value = models(asked, keys, values)  # (3, 4, 1, 7), (3, 4, 7, 6)
        log_p, rewards = models.log_probabilities(value), models.rewards(value, answer)
    assert scores.shape == (3, 4, 1, 7)
    assert value.shape == (3, 4, 7, 6)
    assert log_p.shape == (3, 4, 7, N_VALUES)
    assert rewards.shape == (3, 4, 7)
    tables = {name: table.detach().numpy() for name, table in models.named_parameters()}
    for m, i, t in np.ndindex(3, 4, 7):
        query = tables["query"][m, asked[m, i]]
        key, shown = tables["key"][m, keys[m, i, t]], tables["value"][m, values[m, i, t]]
        assert_close(scores[m, i, 0, t].numpy(), query @ key / np.sqrt(6), "output")
        assert_close(value[m, i, t].numpy(), shown, "output")
        logits = shown @ tables["answer"][m]
        expected = logits - np.log(np.exp(logits).sum())
        assert_close(log_p[m, i, t].numpy(), expected, "output")
        assert_close(rewards[m, i, t].numpy(), expected[answer[m, i]], "output")


def test_no_model_learns_from_the_lists_of_another():
    models, asked, keys, values, answer = lookups()
    scores, value = models(asked, keys, values)
    models.rewards(scores.softmax(-1) @ value, answer)[1].sum().backward()
    for name, table in models.named_parameters():
        felt = table.grad.abs().amax(dim=(1, 2)) > 0
        assert felt.tolist() == [False, True, False], name


# --- training and scoring -------------------------------------------------------------------------


class Oracle(torch.nn.Module):
    """Finds the value in the list, and gives the next one when told to be wrong."""

    def __init__(self, wrong=0):
        super().__init__()
        self.wrong = wrong

    def forward(self, keys, values, asked):
        found = values[keys == asked[:, None]]
        return torch.nn.functional.one_hot((found + self.wrong) % N_VALUES, N_VALUES)


@pytest.mark.parametrize("length", [3, 12])
def test_a_score_is_the_share_of_right_values(length):
    assert score_recall(Oracle(), length=length, n_lists=50) == 1
    assert score_recall(Oracle(1), length=length, n_lists=50) == 0


def test_the_seed_decides_everything_and_another_something():
    runs = []
    for seed in (4, 4, 5):
        torch.manual_seed(0)
        model = RecallReader(SelfAttention(8), 8)
        torch.manual_seed(len(runs))  # what happens between must not matter
        runs.append(train_recall(model, n_steps=3, batch_size=9, seed=seed).loss)
    assert runs[0] == runs[1] != runs[2]


def test_the_length_of_training_is_that_asked_for():
    model = RecallReader(PositionMix(6, 8), 8)  # another would be refused
    assert len(train_recall(model, length=5, n_steps=2).loss) == 2


def test_attention_finds_what_a_layer_over_positions_does_not():
    """Chapter 6's result in small, and on longer lists than any of the training."""
    right = {}
    for name in ("attention", "positions"):
        torch.manual_seed(0)
        model = RecallReader(MIXES[name](5, 32))
        train_recall(model, length=4, n_steps=300)
        right[name] = score_recall(model, length=4, n_lists=500)
        if name == "attention":
            longer = score_recall(model, length=9, n_lists=500)
    assert right["attention"] > 0.95
    assert right["positions"] < 0.6
    assert longer > 0.9
