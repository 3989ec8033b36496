"""Chapter 10's language models and the characters they write: cached equals uncached, causal, they learn."""

import itertools

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnkit.tasks.characters import characters_of
from attnkit.torch import Transformer
from attnkit.torch.language_model import (
    RecurrentLanguageModel,
    TransformerLanguageModel,
    draw_texts,
)
from attnkit.torch.next_token import next_token_loss, train_next_token

N_TOKENS, LENGTH = 11, 7
WORDS = ["amber", "amethyst", "ochre", "onyx"]


def transformer(seed=0, **sizes):
    torch.manual_seed(seed)
    model = TransformerLanguageModel(N_TOKENS, 8, n_heads=2, **{"n_layers": 3} | sizes)
    return model.double().eval().requires_grad_(False)


def recurrent(seed=0):
    torch.manual_seed(seed)
    return RecurrentLanguageModel(N_TOKENS, 6).double().eval().requires_grad_(False)


def tokens(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(N_TOKENS, size=shape))


# --- characters -----------------------------------------------------------------------------------


def test_a_table_holds_start_text_and_ends_and_counts_one_end():
    letters = characters_of(WORDS)
    table, counts = letters.table(["onyx", "", "amber"])
    assert table.shape == (3, 7)
    assert counts.tolist() == [
        [True] * 5 + [False],
        [True] + [False] * 5,
        [True] * 6,
    ]
    assert (table[:, 0] == letters.start).all()
    assert [letters.decode(row[1:]) for row in table] == ["onyx", "", "amber"]
    assert (table[:, 1:][~counts] == letters.end).all()
    assert np.array_equal(table[2, :6], letters.encode("amber"))


def test_every_character_has_its_integer():
    letters = characters_of(WORDS)
    assert len(letters) == 2 + len(set("".join(WORDS)))
    assert all(letters[letters.index(letter)] == letter for letter in set("".join(WORDS)))


def test_unknown_and_reserved_characters_are_refused():
    with pytest.raises(ValueError, match="character 'z' is not among the 15 known ones"):
        characters_of(WORDS).encode("onyz")
    with pytest.raises(ValueError, match=r"a text holds '\.', which here opens or closes"):
        characters_of(["no. 1"])


def test_no_text_gives_an_empty_table():
    table, counts = characters_of(WORDS).table([])
    assert (table.shape, counts.shape) == ((0, 1), (0, 0))


# --- the models -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_kv_heads", [2, 1])
def test_reading_with_a_cache_is_the_same_wherever_the_text_is_cut(n_kv_heads):
    model, text = transformer(n_kv_heads=n_kv_heads), tokens(3, LENGTH)
    whole = model(text)
    for cut in itertools.product([False, True], repeat=LENGTH - 1):
        edges = [0, *(i + 1 for i in range(LENGTH - 1) if cut[i]), LENGTH]
        caches = model.new_caches(3, LENGTH)
        pieces = [model(text[:, a:b], caches) for a, b in itertools.pairwise(edges)]
        torch.testing.assert_close(torch.cat(pieces, 1), whole, atol=1e-12, rtol=0)
    assert [cache.length for cache in caches] == [LENGTH] * 3


class Made(TorchDispatchMode):
    """Keep the size of the largest tensor that was made and is no view of an argument."""

    largest = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        given = [x for x in tree_leaves((arguments, keywords)) if isinstance(x, torch.Tensor)]
        rooms = {x.untyped_storage().data_ptr() for x in given}
        for x in tree_leaves(result):
            if isinstance(x, torch.Tensor) and x.untyped_storage().data_ptr() not in rooms:
                self.largest = max(self.largest, x.numel())
        return result


@torch.no_grad()
def test_a_step_makes_nothing_as_long_as_the_text():
    """Neither masks nor positions nor copies of keys that heads share."""
    length, text = 1000, tokens(1, 1000)
    model = transformer(n_kv_heads=1)
    caches = model.new_caches(1, length)
    model(text[:, 1:], caches)
    with Made() as made:
        model(text[:, :1], caches)
    assert 0 < made.largest < length

    model = Transformer(N_TOKENS, N_TOKENS, d_model=8, n_heads=2, n_kv_heads=1).eval()
    memory, seen = torch.ones(1, 5, 8), torch.ones(1, 5).bool()
    caches = model.new_caches(1, length, 5)
    model.decode(text[:, 1:], memory, seen, caches=caches)
    with Made() as made:
        model.decode(text[:, :1], memory, seen, caches=caches)
    assert 0 < made.largest < length


@torch.no_grad()
def test_caches_of_unequal_room_are_all_left_as_they_were():
    model, text = transformer(), tokens(2, LENGTH)
    caches = [layer.new_cache(2, LENGTH - i) for i, layer in enumerate(model.layers)]
    model(text[:, :3], caches)
    with pytest.raises(ValueError, match="holds 3 of at most 6 rows"):
        model(text[:, 3:], caches)
    assert [cache.length for cache in caches] == [3, 3, 3]


@torch.no_grad()
def test_caches_are_one_for_each_layer():
    model, text = transformer(), tokens(2, 3)
    caches = model.new_caches(2, LENGTH)
    for wrong in ([], caches[:-1], [*caches, caches[0]]):
        message = f"caches holds {len(wrong)} but the model has {len(caches)} layers; new_caches"
        with pytest.raises(ValueError, match=message):
            model(text, wrong)
    with pytest.raises(TypeError, match="caches must be a list but is KVCache"):
        model(text, caches[0])
    with pytest.raises(TypeError, match=r"caches\[0\] must be a cache but is dict"):
        model(text, [{}] * len(caches))
    assert [cache.length for cache in caches] == [0] * len(caches)


def test_a_recurrent_model_goes_on_from_its_state_wherever_the_text_is_cut():
    model, text = recurrent(), tokens(3, LENGTH)
    for cut in range(1, LENGTH):
        first, state = model(text[:, :cut], return_state=True)
        both = torch.cat([first, model(text[:, cut:], state)], 1)
        torch.testing.assert_close(both, model(text), atol=1e-12, rtol=0)


@pytest.mark.parametrize("make", [transformer, recurrent])
def test_what_is_no_token_is_named(make):
    model = make()
    assert torch.equal(model(tokens(2, 3).to(torch.int8)), model(tokens(2, 3)))
    with pytest.raises(TypeError, match=r"tokens must be integers but is torch\.float64"):
        model(torch.zeros(2, 3, dtype=torch.float64))
    with pytest.raises(
        ValueError, match=r"tokens must lie between 0 and 10 but reaches from 0 to 11"
    ):
        model(torch.tensor([[0, 11]]))
    with pytest.raises(ValueError, match=r"tokens needs the shape \(B, length\)"):
        model(tokens(3))


@pytest.mark.parametrize("make", [transformer, recurrent])
def test_a_later_token_moves_no_earlier_prediction(make):
    model, text = make(), tokens(3, LENGTH)
    for place in range(LENGTH):
        changed = text.clone()
        changed[:, place] = (changed[:, place] + 1) % N_TOKENS
        moved = (model(changed) - model(text)).abs().amax(dim=(0, 2))  # (T,)
        assert (moved[:place] == 0).all()
        assert (moved[place:] > 0).all()


def test_positions_are_told():
    """Of equal tokens the model still knows the first from the last."""
    logits = transformer()(torch.full((1, LENGTH), 3))[0]
    assert (logits[1:] - logits[:-1]).abs().amax(-1).min() > 1e-6


def test_fewer_heads_of_keys_make_a_smaller_cache():
    caches = [transformer(n_kv_heads=n).new_caches(1, LENGTH)[0] for n in (2, 1)]
    for cache, n_kv_heads in zip(caches, (2, 1), strict=True):
        transformer(n_kv_heads=n_kv_heads).layers[0](
            torch.zeros(1, 3, 8).double(), causal=True, cache=cache
        )
    assert caches[0].key.numel() == 2 * caches[1].key.numel() == 2 * 3 * 4


@pytest.mark.parametrize("kind", [TransformerLanguageModel, RecurrentLanguageModel])
def test_wrong_sizes_are_refused(kind):
    with pytest.raises(ValueError, match="n_tokens must be at least 1 but is 0"):
        kind(0)
    with pytest.raises(ValueError, match="n_layers must be at least 1 but is 0"):
        kind(N_TOKENS, n_layers=0)
    with pytest.raises(TypeError, match=r"n_tokens must be a whole number but is 1\.5"):
        kind(1.5)


# --- training and drawing -------------------------------------------------------------------------


def trained(kind, n_steps, seed=0, words=WORDS, **sizes):
    letters = characters_of(words)
    table, counts = map(torch.from_numpy, letters.table(words))
    torch.manual_seed(seed)
    model = kind(len(letters), 16, **sizes)
    history = train_next_token(model, table, counts, n_steps=n_steps, batch_size=8, seed=seed)
    return letters, model, history


def test_only_what_counts_counts():
    """The loss is the mean over texts up to their end, however the room behind them is filled."""
    letters = characters_of(WORDS)
    table, counts = map(torch.from_numpy, letters.table(WORDS))
    torch.manual_seed(0)
    model = TransformerLanguageModel(len(letters), 8, n_heads=2).double().eval()
    log_p = model(table[:, :-1]).log_softmax(-1)
    expected = -np.mean(
        [
            log_p[n, t, table[n, t + 1]].item()
            for n, word in enumerate(WORDS)
            for t in range(len(word) + 1)
        ]
    )
    assert next_token_loss(model, table, counts).item() == pytest.approx(expected)
    filled = table.clone()
    filled[:, 1:][~counts] = 5
    assert next_token_loss(model, filled, counts).item() == pytest.approx(expected)
    assert next_token_loss(model, table).item() != pytest.approx(expected, rel=1e-3)


def test_nor_does_training_learn_what_stands_behind_the_end():
    letters, runs = characters_of(WORDS), []
    table, counts = map(torch.from_numpy, letters.table(WORDS))
    for filler in (letters.end, 5):
        filled = table.clone()
        filled[:, 1:][~counts] = filler
        torch.manual_seed(0)
        model = TransformerLanguageModel(len(letters), 8, n_heads=2)
        runs.append(train_next_token(model, filled, counts, n_steps=3, batch_size=8).loss)
    assert runs[0] == pytest.approx(runs[1])


@pytest.mark.parametrize("kind", [TransformerLanguageModel, RecurrentLanguageModel])
def test_the_beginnings_of_four_words_are_learnt(kind):
    """Behind "o" come two letters, each as often; behind "on" only one."""
    letters, model, history = trained(kind, 150)
    assert history.loss[-1] < history.loss[0] / 2
    with torch.no_grad():
        share = [
            model(torch.from_numpy(letters.encode(text))[None])[0, -1].softmax(-1)
            for text in ("o", "on")
        ]
    assert share[0][letters.index("n")].item() == pytest.approx(0.5, abs=0.2)
    assert share[0][letters.index("c")].item() == pytest.approx(0.5, abs=0.2)
    assert share[1][letters.index("y")].item() > 0.85


def test_the_seed_decides_everything_and_another_something():
    runs = [trained(TransformerLanguageModel, 4, seed)[2].loss for seed in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]


def test_drawn_texts_are_those_that_were_learnt():
    letters, model, _ = trained(TransformerLanguageModel, 150)
    how = {"start": letters.start, "end": letters.end, "max_length": 12}
    drawn = draw_texts(model, 40, **how, top_p=0.9)
    assert {letters.decode(row) for row in drawn} == set(WORDS)
    for row in drawn:
        ends = (row == letters.end).nonzero()
        assert (row[int(ends[0]) :] == letters.end).all()
    assert len({letters.decode(row) for row in draw_texts(model, 9, **how, top_k=1)}) == 1


def test_draws_are_those_of_reading_each_text_anew():
    """Another way to the same draws: no cache, the whole beginning read at each step."""
    model = transformer(n_layers=1)
    drawn = draw_texts(model, 3, start=0, end=-1, max_length=5, seed=6, temperature=0.7)
    generator = torch.Generator().manual_seed(6)
    read = torch.zeros(3, 1, dtype=torch.long)
    for _ in range(5):
        share = (model(read)[:, -1] / 0.7).softmax(-1)
        uniform = torch.rand(3, generator=generator)
        token = (share.cumsum(-1) <= uniform[:, None]).sum(-1)
        read = torch.cat([read, token[:, None]], 1)
    assert torch.equal(drawn, read[:, 1:])


def test_the_seed_decides_the_draws():
    drawn = [
        draw_texts(transformer(), 5, start=0, end=1, max_length=6, seed=seed) for seed in (2, 2, 3)
    ]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert draw_texts(transformer(), 0, start=0, end=1, max_length=6).shape == (0, 6)
    assert draw_texts(transformer(), 2, start=0, end=1, max_length=0).shape == (2, 0)
