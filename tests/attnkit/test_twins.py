"""The twins task and its reader: relations by loop, what training may and may not decide."""

import numpy as np
import pytest
import torch

from attnkit.tasks.twins import N_DIGITS, N_LETTERS, RELATIONS, draw_twins
from attnkit.torch.twins import TwinReader, relation_shares, score_twins, train_twins
from tests.tolerances import assert_close


def draw(n_sequences=60, n_pairs=5, seed=0):
    return draw_twins(n_sequences, n_pairs, generator=np.random.default_rng(seed))


def relations(letters, i):
    """Where the token before and the twin of position i stand: the task in words."""
    twin = [j for j, letter in enumerate(letters) if letter == letters[i] and j != i]
    assert len(twin) == 1
    return max(i - 1, 0), twin[0]


# --- the task -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_pairs", [1, 2, 5, 8])
def test_relations_and_answers_are_those_of_a_loop(n_pairs):
    batch = draw(n_pairs=n_pairs)
    for row, letters in enumerate(batch.letters.tolist()):
        for i in range(len(letters)):
            before, twin = relations(letters, i)
            assert batch.places[row, i].tolist() == [before, twin]
            assert batch.target[row, i].tolist() == [
                batch.digits[row, before],
                batch.digits[row, twin],
            ]
            assert batch.counts[row, i] == (i > 0 and twin != i - 1)


def test_letters_digits_and_places_are_drawn_evenly():
    batch = draw(4000, 6)
    for values, n in ((batch.letters, N_LETTERS), (batch.digits, N_DIGITS)):
        share = np.bincount(values.ravel(), minlength=n) / values.size
        assert len(share) == n
        assert np.abs(share - 1 / n).max() < 0.01
    offset = batch.places[:, 0, 1]  # the twin of the first may stand anywhere behind it
    share = np.bincount(offset, minlength=12)[1:] / len(offset)
    assert np.abs(share - 1 / 11).max() < 0.02


def test_digits_do_not_depend_on_letters():
    batch = draw(4000, 6)
    table = np.zeros((N_LETTERS, N_DIGITS))
    np.add.at(table, (batch.letters.ravel(), batch.digits.ravel()), 1)
    assert np.abs(table / table.sum(1, keepdims=True) - 1 / N_DIGITS).max() < 0.02


def test_the_generator_decides_and_moves_on():
    generator = np.random.default_rng(3)
    first, second = (draw_twins(5, generator=generator) for _ in range(2))
    again = draw_twins(5, generator=np.random.default_rng(3))
    assert np.array_equal(first.letters, again.letters)
    assert np.array_equal(first.digits, again.digits)
    assert not np.array_equal(first.letters, second.letters)


def test_tokens_are_written_as_letter_and_digit():
    batch = draw(3)
    for row in range(3):
        for word, letter, digit in zip(
            batch.words(row), batch.letters[row], batch.digits[row], strict=True
        ):
            assert word == "ABCDEFGH"[letter] + str(digit)


def test_no_sequences_are_an_empty_batch():
    batch = draw(0)
    assert batch.letters.shape == batch.digits.shape == batch.counts.shape == (0, 10)
    assert batch.places.shape == batch.target.shape == (0, 10, 2)


def test_wrong_sizes_are_refused():
    with pytest.raises(ValueError, match="n_sequences must be at least 0 but is -1"):
        draw(-1)
    for n_pairs in (0, 9):
        with pytest.raises(ValueError, match=f"n_pairs must be between 1 and 8, got {n_pairs}"):
            draw(1, n_pairs)


# --- the reader -----------------------------------------------------------------------------------


def reader(n_heads=2, seed=0, **sizes):
    torch.manual_seed(seed)
    return TwinReader(n_heads, **{"d_model": 16, "longest": 10, **sizes}).double().eval()


def read(seed=0):
    batch = draw(3, seed=seed)
    return torch.from_numpy(batch.letters), torch.from_numpy(batch.digits)


@pytest.mark.parametrize("n_layers", [1, 2])
@pytest.mark.parametrize("d_hidden", [0, 7])
def test_weights_are_those_that_made_the_output_and_nobody_looks_at_itself(n_layers, d_hidden):
    model, tokens = reader(4, n_layers=n_layers, d_hidden=d_hidden), read()
    logits, weights = model(*tokens, return_weights=True)
    assert logits.shape == (3, 10, len(RELATIONS), N_DIGITS)
    assert weights.shape == (3, n_layers, 4, 10, 10)
    assert_close(logits.detach().numpy(), model(*tokens).detach().numpy(), "output")
    assert_close(weights.detach().sum(-1).numpy(), np.ones((3, n_layers, 4, 10)), "weights")
    assert (weights.diagonal(dim1=-2, dim2=-1) == 0).all()


def test_all_numbers_of_heads_have_the_same_number_of_parameters():
    sizes = {sum(p.numel() for p in reader(n).parameters()) for n in (1, 2, 4, 8, 16)}
    assert len(sizes) == 1


def test_hidden_units_come_after_each_attention():
    model, tokens = reader(2, n_layers=2, d_hidden=7), read()
    assert len(model.hidden) == 2
    answer = model(*tokens)
    for hidden in model.hidden:
        with torch.no_grad():
            hidden[-1].bias += 1.0
        changed = model(*tokens)
        assert (changed - answer).abs().max() > 1e-3
        answer = changed
    assert len(reader(2, n_layers=2).hidden) == 0


def test_without_hidden_units_two_equal_weights_cannot_tell_digits_apart():
    """The argument of chapter 7: one head, half on each of two tokens, digits swapped."""
    model, (letters, digits) = reader(1), read()
    layer = model.attention[0]
    with torch.no_grad():
        layer.w_input[:, :32] = 0  # all scores are 0, so all weights alike
    swapped = digits.clone()
    swapped[:, [2, 7]] = digits[:, [7, 2]]
    assert (digits[:, 2] != digits[:, 7]).any()
    change = (model(letters, swapped) - model(letters, digits)).detach()
    others = [0, 1, 3, 4, 5, 6, 8, 9]
    assert change[:, others].abs().max() < 1e-12
    assert change.abs().max() > 1e-3  # those whose own digit was swapped


# --- training and scoring -------------------------------------------------------------------------


class Oracle(torch.nn.Module):
    """Gives the right digits, with one relation spoilt where asked, and looks at both equally."""

    def __init__(self, spoil=None):
        super().__init__()
        self.spoil = spoil

    def forward(self, letters, digits, *, return_weights=False):
        places = torch.tensor(
            [[relations(row, i) for i in range(len(row))] for row in letters.tolist()]
        )
        target = digits[:, :, None].expand(-1, -1, 2).gather(1, places)
        if self.spoil is not None:
            target[:, :, self.spoil] = (target[:, :, self.spoil] + 1) % N_DIGITS
        logits = torch.nn.functional.one_hot(target, N_DIGITS).double()
        weights = torch.nn.functional.one_hot(places, letters.shape[1]).double()  # (N, T, 2, T)
        before, twin = weights.unbind(2)
        heads = torch.stack([before, twin, (before + 3 * twin) / 4], 1)[:, None]
        return (logits, heads) if return_weights else logits


@pytest.mark.parametrize(("spoil", "expected"), [(None, (1, 1, 1)), (0, (0, 1, 0)), (1, (1, 0, 0))])
def test_a_score_is_the_share_of_right_digits(spoil, expected):
    score = score_twins(Oracle(spoil), n_sequences=20)
    assert (score.before, score.twin, score.both) == expected


def test_shares_are_the_weights_on_the_two_relations():
    shares = relation_shares(Oracle(), n_sequences=20)
    assert_close(shares.numpy(), np.array([[[1, 0], [0, 1], [0.25, 0.75]]]), "weights")


def test_training_repeats_with_its_seed_and_not_with_another():
    losses = []
    for seed in (4, 4, 5):
        torch.manual_seed(0)
        losses.append(train_twins(TwinReader(2, d_model=8), n_steps=3, seed=seed).loss)
    assert losses[0] == losses[1] != losses[2]


def test_only_what_is_asked_for_is_trained():
    torch.manual_seed(0)
    model = TwinReader(2, d_model=8)
    before = model.answer.weight.detach().clone()
    train_twins(model, ["twin"], n_steps=3)
    changed = (model.answer.weight != before).any(1)
    assert not changed[:N_DIGITS].any()
    assert changed[N_DIGITS:].all()


def test_an_unknown_relation_is_refused():
    with pytest.raises(ValueError, match=r"asked must be 'before' or 'twin' but is 'after'"):
        train_twins(TwinReader(1), ["after"], n_steps=1)


def test_four_heads_learn_what_one_does_not():
    """Chapter 7's result in small."""
    both = {}
    for n_heads in (1, 4):
        torch.manual_seed(0)
        model = TwinReader(n_heads)
        train_twins(model, n_steps=400)
        both[n_heads] = score_twins(model, n_sequences=100).both
    assert both[1] < 0.4
    assert both[4] > 0.9


def test_sizes_are_whole_numbers():
    with pytest.raises(TypeError, match=r"n_pairs must be a whole number but is 2\.0"):
        draw_twins(1, 2.0, generator=np.random.default_rng(0))
