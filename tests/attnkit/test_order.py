"""The order tasks and their reader: right answers by loop, what a scheme can and cannot tell."""

import numpy as np
import pytest
import torch

from attnkit.tasks.order import (
    BACK,
    BLANK,
    KINDS,
    N_SYMBOLS,
    N_TOKENS,
    PLACE,
    draw_order,
)
from attnkit.torch.order import SCHEMES, OrderReader, score_order, train_order
from tests.tolerances import assert_close

each_kind = pytest.mark.parametrize("kind", KINDS)
each_scheme = pytest.mark.parametrize("scheme", SCHEMES)


def draw(kind, n_sequences=40, length=11, seed=0):
    return draw_order(kind, n_sequences, length, generator=np.random.default_rng(seed))


def answer(kind, tokens, i):
    """The right symbol at position i of one sequence, None where there is none: the task in words."""
    if kind == "back":
        return tokens[i - BACK] if i >= BACK else None
    if kind == "place":
        return tokens[PLACE] if i >= PLACE else None
    if tokens[i] != BLANK:
        return None
    return [token for token in tokens[:i] if token != BLANK][-1]


# --- the tasks ------------------------------------------------------------------------------------


@each_kind
def test_the_right_answers_are_those_of_a_loop(kind):
    batch = draw(kind)
    for tokens, target, counts in zip(batch.tokens, batch.target, batch.counts, strict=True):
        expected = [answer(kind, tokens.tolist(), i) for i in range(len(tokens))]
        assert counts.tolist() == [symbol is not None for symbol in expected]
        assert target.tolist() == [symbol or 0 for symbol in expected]


@each_kind
def test_symbols_are_drawn_evenly_and_blanks_in_their_share(kind):
    batch = draw(kind, 500, 40)
    symbols = batch.tokens[batch.tokens != BLANK]
    share = np.bincount(symbols, minlength=N_SYMBOLS) / len(symbols)
    assert np.abs(share - 1 / N_SYMBOLS).max() < 0.02
    blanks = np.mean(batch.tokens[:, 1:] == BLANK)
    assert blanks == pytest.approx(0.7 if kind == "nearest" else 0.0, abs=0.02)
    assert batch.tokens.max() < N_TOKENS


@each_kind
def test_the_generator_decides_and_moves_on(kind):
    generator = np.random.default_rng(3)
    first, second = (draw_order(kind, 5, 9, generator=generator) for _ in range(2))
    assert np.array_equal(first.tokens, draw(kind, 5, 9, seed=3).tokens)
    assert not np.array_equal(first.tokens, second.tokens)


@each_kind
@pytest.mark.parametrize("length", [0, 1, 2, 3, 4])
def test_short_and_empty_sequences(kind, length):
    for n_sequences in (0, 3):
        batch = draw(kind, n_sequences, length)
        for array in (batch.tokens, batch.target, batch.counts):
            assert array.shape == (n_sequences, length)
    asked = {"back": max(length - BACK, 0), "place": max(length - PLACE, 0)}
    if kind in asked:
        assert batch.counts.sum() == 3 * asked[kind]


def test_wrong_words_and_sizes_are_refused():
    generator = np.random.default_rng(0)
    with pytest.raises(ValueError, match="kind must be one of back, nearest, place, got 'forth'"):
        draw_order("forth", 1, 5, generator=generator)
    with pytest.raises(ValueError, match="n_sequences must be at least 0 but is -1"):
        draw_order("back", -1, 5, generator=generator)
    with pytest.raises(ValueError, match="length must be at least 0 but is -2"):
        draw_order("back", 1, -2, generator=generator)


# --- the reader -----------------------------------------------------------------------------------


def reader(scheme, seed=0, **sizes):
    torch.manual_seed(seed)
    return OrderReader(scheme, **{"d_model": 16, "n_heads": 2, **sizes}).double().eval()


def tokens(n_sequences=3, length=12, seed=1):
    return torch.from_numpy(
        np.random.default_rng(seed).integers(N_TOKENS, size=(n_sequences, length))
    )


@each_scheme
@pytest.mark.parametrize("n_layers", [1, 2])
def test_the_future_changes_nothing(scheme, n_layers):
    model, read = reader(scheme, n_layers=n_layers), tokens()
    changed = read.clone()
    changed[:, 7:] = (changed[:, 7:] + 1) % N_TOKENS
    before, after = model(read).detach(), model(changed).detach()
    assert_close(after[:, :7].numpy(), before[:, :7].numpy(), "output")
    assert (after[:, 7:] - before[:, 7:]).abs().min(-1).values.min() > 0


@each_scheme
@pytest.mark.parametrize("n_layers", [1, 2])
def test_weights_are_those_that_made_the_output(scheme, n_layers):
    model, read = reader(scheme, n_layers=n_layers), tokens()
    logits, weights = model(read, return_weights=True)
    assert logits.shape == (3, 12, N_SYMBOLS)
    assert weights.shape == (3, n_layers, 2, 12, 12)
    assert_close(logits.detach().numpy(), model(read).detach().numpy(), "output")
    assert_close(weights.detach().sum(-1).numpy(), np.ones((3, n_layers, 2, 12)), "weights")


@each_scheme
def test_who_notices_that_earlier_tokens_changed_places(scheme):
    """The last of one layer sees a bag of tokens, unless it is told where they stand."""
    model, read = reader(scheme), tokens()
    if scheme == "t5":  # its table starts with zeros, that is, without an opinion
        torch.nn.init.normal_(model.layers[0].attention.positions.table)
    swapped = read.clone()
    swapped[:, [2, 9]] = read[:, [9, 2]]
    rows = read[:, 2] != read[:, 9]
    assert rows.any()
    change = (model(swapped) - model(read)).detach()[rows, -1].abs().max(-1).values
    assert (change < 1e-12).all() if scheme == "none" else (change > 1e-6).all()


@each_scheme
def test_only_absolute_schemes_see_a_shift_of_the_whole(scheme):
    """Behind two others of its kind a window of equal tokens looks as before to a relative scheme."""
    model = reader(scheme)
    if scheme == "t5":
        torch.nn.init.normal_(model.layers[0].attention.positions.table)
    alike = torch.full((1, 12), 5)
    scores = model(alike).detach()[0]
    change = (scores[1:] - scores[:-1]).abs().max()
    assert change > 1e-6 if scheme in ("sinusoidal", "learned") else change < 1e-12


def test_a_learned_table_ends_where_it_ends():
    model = reader("learned", longest=20)
    assert model(tokens(length=20)).shape == (3, 20, N_SYMBOLS)
    with pytest.raises(ValueError, match="20"):
        model(tokens(length=21))


def test_an_unknown_scheme_is_refused():
    with pytest.raises(ValueError, match=r"scheme must be 'none' or .* but is 'place'"):
        OrderReader("place")


# --- training and scoring -------------------------------------------------------------------------


def test_training_repeats_with_its_seed_and_not_with_another():
    losses = [
        train_order(reader("shaw").float(), "back", n_steps=3, seed=seed).loss for seed in (4, 4, 5)
    ]
    assert losses[0] == losses[1] != losses[2]


def test_the_lengths_of_training_are_those_asked_for():
    seen = set()
    model = reader("learned", longest=7).float()  # a longer sequence would be refused
    model.register_forward_pre_hook(lambda module, inputs: seen.add(inputs[0].shape[1]))
    train_order(model, "place", lengths=(5, 7), n_steps=30)
    assert seen == {5, 6, 7}


class Oracle(torch.nn.Module):
    """Gives the right answers, with the last ones of each sequence spoilt."""

    def __init__(self, kind, spoil=0):
        super().__init__()
        self.kind, self.spoil = kind, spoil

    def forward(self, read):
        symbols = [
            [answer(self.kind, row, i) or 0 for i in range(len(row))] for row in read.tolist()
        ]
        symbols = torch.tensor(symbols, dtype=torch.long).reshape(read.shape)
        if self.spoil:
            symbols[:, -self.spoil :] = (symbols[:, -self.spoil :] + 1) % N_SYMBOLS
        return torch.nn.functional.one_hot(symbols, N_SYMBOLS).double()


@each_kind
def test_a_score_is_the_share_of_right_answers_that_count(kind):
    assert score_order(Oracle(kind), kind, 11) == 1
    if kind == "back":  # 8 answers a sequence, 2 of them spoilt
        assert score_order(Oracle(kind, 2), kind, 11) == pytest.approx(6 / 8)
    assert score_order(Oracle(kind, 11), kind, 11) == 0
    assert score_order(Oracle(kind), kind, 1) == 0  # nothing is asked


def test_a_distance_is_learnt_and_carried_to_longer_sequences():
    """Chapter 8's result in small: Shaw's table goes on, sines beyond the trained places do not."""
    scores = {}
    for scheme in ("shaw", "sinusoidal"):
        torch.manual_seed(0)
        model = OrderReader(scheme)
        train_order(model, "back", n_steps=150)
        scores[scheme] = [score_order(model, "back", length) for length in (16, 64)]
    assert min(scores["shaw"]) > 0.95
    assert scores["sinusoidal"][1] < 0.7


@each_kind
def test_sizes_are_whole_numbers(kind):
    with pytest.raises(TypeError, match=r"length must be a whole number but is 5\.0"):
        draw(kind, 2, 5.0)
