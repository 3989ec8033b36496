"""The coreference task and its reader: which noun is meant by loop, what is kept, where "it" looks."""

import itertools

import numpy as np
import pytest
import torch

from attnkit.tasks.coreference import (
    ENDINGS,
    FIRST,
    IT,
    LAST,
    LIVING,
    N_COLOURS,
    PLACES,
    SECOND,
    WORDS,
    draw_coreference,
    encode,
    noun_pairs,
    sentence,
)
from attnkit.torch.coreference import (
    CoreferenceReader,
    antecedent_shares,
    score_coreference,
    train_coreference,
)
from tests.tolerances import assert_close


def draw(n_sentences=60, pairs=None, seed=0):
    pairs = noun_pairs()[0] if pairs is None else pairs
    return draw_coreference(n_sentences, pairs, generator=np.random.default_rng(seed))


def meant(words):
    """Where the noun stands that "it" refers to: the task in words."""
    kind = LIVING if words[-1] in ("tired", "hungry", "afraid") else PLACES
    places = [i for i in (1, 6) if words[i] in kind]
    assert len(places) == 1
    return places[0]


# --- the task -------------------------------------------------------------------------------------


def test_the_places_are_those_of_the_words():
    words = ["the", "horse", "did", "not", "cross", "the", "path", "because", "it", "was", "steep"]
    assert sentence("horse", "path", "steep") == words
    assert (words[FIRST], words[SECOND], words[IT]) == ("horse", "path", "it")
    assert words[LAST] == words[-1]
    assert len(set(WORDS)) == len(WORDS)


def test_the_right_answers_are_those_of_a_loop():
    batch = draw()
    for row in range(60):
        words = batch.words(row)
        assert words == sentence(words[1], words[6], words[-1])
        assert batch.antecedent[row] == meant(words)
        assert batch.answer[row] == batch.colours[row, meant(words)] - 1
        assert np.flatnonzero(batch.colours[row]).tolist() == [FIRST, SECOND]


def test_the_two_colours_differ_and_all_occur():
    colours = draw(4000).colours[:, [FIRST, SECOND]]
    assert (colours[:, 0] != colours[:, 1]).all()
    for column in colours.T:
        share = np.bincount(column, minlength=N_COLOURS + 1)[1:] / 4000
        assert np.abs(share - 1 / N_COLOURS).max() < 0.02


def test_neither_noun_is_meant_more_often():
    """So naming the first, the living one or either colour is right half of the time."""
    batch = draw(4000)
    assert np.mean(batch.antecedent == FIRST) == pytest.approx(0.5, abs=0.03)
    living = np.array([batch.words(row)[FIRST] in LIVING for row in range(4000)])
    assert np.mean(living) == pytest.approx(0.5, abs=0.03)
    assert np.mean((batch.antecedent == FIRST) == living) == pytest.approx(0.5, abs=0.03)


def test_all_endings_occur_alike():
    share = np.bincount(draw(4000).tokens[:, LAST], minlength=len(WORDS)) / 4000
    assert share[encode(ENDINGS[0] + ENDINGS[1])] == pytest.approx(np.full(6, 1 / 6), abs=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_kept_couples_are_never_in_training(seed):
    train, kept = noun_pairs(seed)
    assert not {frozenset(pair) for pair in train} & {frozenset(pair) for pair in kept}
    every = {*itertools.product(LIVING, PLACES), *itertools.product(PLACES, LIVING)}
    assert {*train, *kept} == every
    assert len(train) + len(kept) == len(every)
    for noun in LIVING + PLACES:  # each is met in training, and tested
        assert sum(noun in pair for pair in train) == 6
        assert sum(noun in pair for pair in kept) == 2


def test_only_the_pairs_asked_for_are_drawn():
    _, kept = noun_pairs()
    batch = draw(400, kept)
    drawn = {(batch.words(row)[FIRST], batch.words(row)[SECOND]) for row in range(400)}
    assert drawn == set(kept)


def test_the_seed_decides_which_couples_are_kept():
    assert noun_pairs(0) == noun_pairs(0)
    assert len({tuple(noun_pairs(seed)[1]) for seed in range(8)}) > 1


def test_the_generator_decides_and_moves_on():
    generator = np.random.default_rng(3)
    pairs = noun_pairs()[0]
    first, second = (draw_coreference(9, pairs, generator=generator) for _ in range(2))
    again = draw(9, seed=3)
    for name in ("tokens", "colours", "antecedent"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
    assert not np.array_equal(first.tokens, second.tokens)


def test_no_sentences_are_an_empty_batch():
    batch = draw(0)
    assert batch.tokens.shape == batch.colours.shape == (0, 11)
    assert batch.answer.shape == batch.antecedent.shape == (0,)


def test_words_of_no_use_are_refused():
    with pytest.raises(ValueError, match="words holds 'dog', which does not occur in the task"):
        encode(["the", "dog"])
    with pytest.raises(ValueError, match=r"second must be .* but is 'tired'"):
        sentence("horse", "tired", "tired")
    with pytest.raises(ValueError, match=r"ending must be .* but is 'horse'"):
        sentence("horse", "path", "horse")


@pytest.mark.parametrize(
    "pair", [("horse", "child"), ("path", "river"), ("horse", "it"), ("horse",)]
)
def test_pairs_that_the_last_word_cannot_tell_apart_are_refused(pair):
    with pytest.raises(ValueError, match=r"pairs holds .* must be a living being and a place"):
        draw(1, [("horse", "path"), pair])


def test_wrong_sizes_are_refused():
    with pytest.raises(ValueError, match="pairs is empty"):
        draw(1, [])
    with pytest.raises(ValueError, match="n_sentences must be at least 0 but is -1"):
        draw(-1)
    with pytest.raises(TypeError, match=r"n_sentences must be a whole number but is 2\.0"):
        draw(2.0)


# --- the reader -----------------------------------------------------------------------------------


def reader(n_layers=2, d_model=8, seed=0):
    torch.manual_seed(seed)
    return CoreferenceReader(n_layers, d_model).double().eval().requires_grad_(False)


def read(batch):
    return torch.from_numpy(batch.tokens), torch.from_numpy(batch.colours)


@pytest.mark.parametrize("n_layers", [1, 3])
def test_weights_are_those_that_made_the_output(n_layers):
    model, inputs = reader(n_layers), read(draw(5))
    logits, weights = model(*inputs, return_weights=True)
    assert logits.shape == (5, N_COLOURS)
    assert weights.shape == (5, n_layers, 11, 11)
    assert_close(logits.numpy(), model(*inputs).numpy(), "output")
    # By hand: what each word hears is added to it, and the answer is read off at "it".
    x = model.word(inputs[0]) + model.colour(inputs[1])
    for number, layer in enumerate(model.layers):
        assert_close(
            weights[:, number].numpy(), layer(x, return_weights=True)[1].numpy(), "weights"
        )
        x = x + weights[:, number] @ x @ layer.w_value
    assert_close(logits.numpy(), model.answer(x[:, IT]).numpy(), "output")


def test_words_are_not_told_where_they_stand():
    """Nouns with their colours may change places: the weights go with them, the answer stays."""
    model, (tokens, colours) = reader(), read(draw(5))
    order = list(range(11))
    order[FIRST], order[SECOND] = SECOND, FIRST
    logits, weights = model(tokens, colours, return_weights=True)
    swapped, moved = model(tokens[:, order], colours[:, order], return_weights=True)
    assert_close(swapped.numpy(), logits.numpy(), "output")
    assert_close(moved.numpy(), weights[:, :, order][..., order].numpy(), "weights")


def test_in_the_first_layer_the_last_word_does_not_move_the_ratio_on_the_nouns():
    """The argument of chapter 6: one layer cannot know which noun fits."""
    model = reader()
    both = torch.from_numpy(
        np.stack([encode(sentence("horse", "path", e)) for e in ("tired", "wide")])
    )
    colours = torch.zeros_like(both)
    colours[:, FIRST], colours[:, SECOND] = 1, 2
    _, weights = model(both, colours, return_weights=True)
    ratio = weights[:, :, IT, FIRST] / weights[:, :, IT, SECOND]  # (2, n_layers)
    assert ratio[0, 0].item() == pytest.approx(ratio[1, 0].item(), rel=1e-12)
    assert abs(ratio[0, 1] / ratio[1, 1] - 1) > 1e-3  # the second layer can


def test_sizes_below_one_are_refused():
    with pytest.raises(ValueError, match="n_layers must be at least 1 but is 0"):
        CoreferenceReader(0)
    for d_model in (0, -2):
        with pytest.raises(ValueError, match=f"d_model must be at least 1 but is {d_model}"):
            CoreferenceReader(1, d_model)
    with pytest.raises(TypeError, match="d_model must be a whole number but is '8'"):
        CoreferenceReader(1, "8")


def test_batches_without_examples_are_refused():
    few, none = (
        draw_coreference(n, noun_pairs()[0], generator=np.random.default_rng(0)) for n in (3, 0)
    )
    with pytest.raises(ValueError, match="batch_size must be at least 1 but is 0"):
        train_coreference(CoreferenceReader(1, 8), few, n_steps=1, batch_size=0)
    with pytest.raises(ValueError, match="no example to draw batches from"):
        train_coreference(CoreferenceReader(1, 8), none, n_steps=1)


# --- training and scoring -------------------------------------------------------------------------


class Oracle(torch.nn.Module):
    """Gives the right colours, those of `spoil` sentences excepted, and shares its weight as asked."""

    def __init__(self, batch, spoil=0):
        super().__init__()
        self.antecedent, self.spoil = torch.from_numpy(batch.antecedent), spoil

    def forward(self, tokens, colours, *, return_weights=False):
        right = colours.gather(1, self.antecedent[:, None])[:, 0] - 1
        right[: self.spoil] = (right[: self.spoil] + 1) % N_COLOURS
        logits = torch.nn.functional.one_hot(right, N_COLOURS).double()
        if not return_weights:
            return logits
        rows = torch.arange(len(tokens))
        weights = torch.zeros(len(tokens), 2, 11, 11).double()
        weights[rows, 1, IT, self.antecedent] = 0.5
        weights[rows, 1, IT, FIRST + SECOND - self.antecedent] = 0.25
        weights[rows, 1, IT, LAST] = 0.125
        weights[rows, 1, IT, IT] = 0.125
        weights[rows, 0, LAST, self.antecedent] = 1.0
        return logits, weights


@pytest.mark.parametrize(("spoil", "expected"), [(0, 1.0), (5, 0.75), (20, 0.0)])
def test_a_score_is_the_share_of_right_colours(spoil, expected):
    batch = draw(20)
    assert score_coreference(Oracle(batch, spoil), batch) == expected


def test_shares_are_the_weights_on_the_nouns_and_the_last_word():
    batch = draw(20)
    of_it = antecedent_shares(Oracle(batch), batch)
    assert of_it.shape == (2, 4)
    assert of_it[1].tolist() == [0.5, 0.25, 0.125, 0.125]
    assert antecedent_shares(Oracle(batch), batch, place=LAST)[0].tolist() == [1, 0, 0, 0]


def test_shares_of_a_real_reader_add_up_to_one():
    shares = antecedent_shares(reader(3), draw(20))
    assert_close(shares.sum(-1).numpy(), np.ones(3), "weights")


def test_the_seed_decides_everything_and_another_something():
    batch, runs = draw(40), []
    for beginning, seed in ((0, 4), (0, 4), (0, 5), (1, 4)):
        torch.manual_seed(beginning)
        model = CoreferenceReader(2, 8)
        torch.manual_seed(beginning + len(runs))  # what happens between must not matter
        runs.append(train_coreference(model, batch, n_steps=3, batch_size=7, seed=seed).loss)
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    assert runs[0] != runs[3]


def test_two_layers_learn_what_one_does_not():
    """Chapter 6's result in small, on couples that training never showed."""
    train, kept = noun_pairs()
    sentences, test = draw(6000, train, seed=1), draw(300, kept, seed=2)
    right = {}
    for n_layers in (1, 2):
        torch.manual_seed(0)
        model = CoreferenceReader(n_layers)
        train_coreference(model, sentences)
        right[n_layers] = score_coreference(model, test)
    assert 0.3 < right[1] < 0.6
    assert right[2] > 0.95
