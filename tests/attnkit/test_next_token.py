"""Texts of a Markov chain and the model of chapter 6's lab: chances, the floor, and a leak that is one."""

import numpy as np
import pytest
import torch

from attnkit.tasks.markov import CHANCES, MarkovSource, markov_source
from attnkit.torch import causal_mask, local_mask
from attnkit.torch.next_token import NextTokenReader, next_token_loss, train_next_token

LENGTH = 12


def source(n_tokens=9, seed=0):
    return markov_source(n_tokens, generator=np.random.default_rng(seed))


def draw(n_texts, length=LENGTH + 1, seed=0):
    return source().draw(n_texts, length, generator=np.random.default_rng(seed))


# --- the source -----------------------------------------------------------------------------------


def test_four_different_tokens_may_follow_each():
    follows = source().follows
    assert follows.shape == (9, 4)
    assert all(len(set(row)) == 4 for row in follows.tolist())
    assert set(follows.ravel()) <= set(range(9))


def test_texts_follow_the_chances():
    texts = draw(3000)
    counts = np.zeros((9, 9))
    np.add.at(counts, (texts[:, :-1].ravel(), texts[:, 1:].ravel()), 1)
    chances = counts / counts.sum(1, keepdims=True)
    expected = np.zeros((9, 9))
    np.put_along_axis(expected, source().follows, np.array(CHANCES)[None], axis=1)
    assert np.abs(chances - expected).max() < 0.03
    first = np.bincount(texts[:, 0], minlength=9) / 3000
    assert np.abs(first - 1 / 9).max() < 0.03


def test_the_entropy_is_the_mean_loss_of_who_knows_the_source():
    texts = draw(3000)
    which = (source().follows[texts[:, :-1]] == texts[:, 1:, None]).argmax(-1)
    loss = -np.log(np.array(CHANCES))[which].mean()
    assert source().entropy == pytest.approx(loss, abs=0.01)


def test_what_can_follow_is_what_the_source_writes():
    texts = draw(50)
    assert source().can_follow(texts[:, :-1], texts[:, 1:]).all()
    every = source().can_follow(np.arange(9)[:, None], np.arange(9))  # (9, 9)
    assert (every.sum(1) == 4).all()
    one = MarkovSource(np.array([[1, 2, 3, 4]]))
    assert one.can_follow(0, 4)
    assert not one.can_follow(0, 0)


def test_the_generator_decides_and_moves_on():
    generator = np.random.default_rng(3)
    first, second = (source().draw(5, 9, generator=generator) for _ in range(2))
    assert np.array_equal(first, draw(5, 9, seed=3))
    assert not np.array_equal(first, second)
    assert np.array_equal(source().follows, source().follows)
    assert not np.array_equal(source().follows, source(seed=1).follows)


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (3, 1)])
def test_short_and_empty_texts(shape):
    assert draw(*shape).shape == shape


def test_wrong_sizes_are_refused():
    with pytest.raises(ValueError, match="n_tokens must be at least 4 but is 3; each token"):
        source(3)
    with pytest.raises(ValueError, match="length must be at least 0 but is -1"):
        draw(1, -1)
    with pytest.raises(TypeError, match=r"n_texts must be a whole number but is 1\.0"):
        draw(1.0)


# --- the model ------------------------------------------------------------------------------------

MASKS = {
    "causal window": local_mask(LENGTH, LENGTH, 3, causal=True),
    "all before": causal_mask(LENGTH, LENGTH),
    "window both ways": local_mask(LENGTH, LENGTH, 3),
}


def reader(name, seed=0):
    torch.manual_seed(seed)
    return NextTokenReader(MASKS[name], 9, 8).double().eval().requires_grad_(False)


@pytest.mark.parametrize("name", ["causal window", "all before"])
def test_with_a_causal_mask_the_future_moves_no_prediction(name):
    model, texts = reader(name), torch.from_numpy(draw(20, LENGTH))
    changed = texts.clone()
    changed[:, -1] = (changed[:, -1] + 1) % 9
    moved = (model(changed) - model(texts)).abs().amax(dim=(0, 2))  # (T,)
    assert (moved[:-1] == 0).all()
    assert moved[-1] > 0


def test_the_leak_is_a_leak():
    """Without `causal=True` the last token moves the prediction before it, as far as the window goes."""
    model, texts = reader("window both ways"), torch.from_numpy(draw(20, LENGTH))
    changed = texts.clone()
    changed[:, -1] = (changed[:, -1] + 1) % 9
    moved = (model(changed) - model(texts)).abs().amax(dim=(0, 2))
    assert (moved[-4:] > 0).all()
    assert (moved[:-4] == 0).all()


def test_the_leak_is_learnt_and_beats_what_is_possible():
    """Chapter 6's lab in small: on unseen texts the broken model is better than anybody can be."""
    training, test = torch.from_numpy(draw(500)), torch.from_numpy(draw(200, seed=1))
    loss = {}
    for name in ("causal window", "window both ways"):
        torch.manual_seed(0)
        model = NextTokenReader(MASKS[name], 9)
        history = train_next_token(model, training, n_steps=150)
        loss[name] = next_token_loss(model, test).item()
        assert history.loss[-1] < history.loss[0]
    assert source().entropy < loss["causal window"] < source().entropy + 0.2
    assert loss["window both ways"] < source().entropy - 0.3


def test_a_shorter_text_is_the_beginning_of_a_longer_one():
    model, texts = reader("causal window"), torch.from_numpy(draw(4, LENGTH))
    assert torch.allclose(model(texts[:, :5]), model(texts)[:, :5], atol=1e-12)
    assert torch.allclose(model(texts[0]), model(texts)[0], atol=1e-12)


def test_places_are_told():
    """Of equal tokens the model still knows the first from the last."""
    logits = reader("all before")(torch.full((1, LENGTH), 3))[0]
    assert (logits[1:] - logits[:-1]).abs().amax(-1).min() > 1e-6


def test_the_loss_is_that_of_each_token_after_the_first():
    model, texts = reader("all before"), torch.from_numpy(draw(4))
    log_p = torch.log_softmax(model(texts[:, :-1]), dim=-1)
    expected = -np.mean(
        [log_p[n, t, texts[n, t + 1]].item() for n in range(4) for t in range(LENGTH)]
    )
    assert next_token_loss(model, texts).item() == pytest.approx(expected)


def test_the_seed_decides_everything_and_another_something():
    texts, runs = torch.from_numpy(draw(30)), []
    for seed in (4, 4, 5):
        torch.manual_seed(0)
        model = NextTokenReader(MASKS["all before"], 9, 8)
        torch.manual_seed(len(runs))  # what happens between must not matter
        runs.append(train_next_token(model, texts, n_steps=3, batch_size=5, seed=seed).loss)
    assert runs[0] == runs[1] != runs[2]


def test_reports_are_made_when_they_are_asked_for():
    texts = torch.from_numpy(draw(30))
    model = NextTokenReader(MASKS["all before"], 9, 8)
    history = train_next_token(model, texts, n_steps=4, report=lambda: "seen", report_at=[2, 4])
    assert history.reports == {2: "seen", 4: "seen"}


def test_wrong_masks_and_texts_are_refused():
    with pytest.raises(
        ValueError, match=r"mask must have shape \(longest, longest\) but has \(5, 6\)"
    ):
        NextTokenReader(causal_mask(5, 6))
    with pytest.raises(ValueError, match="the text has 13 tokens but the mask was made for 12"):
        reader("all before")(torch.from_numpy(draw(1)))
    with pytest.raises(ValueError, match="n_tokens must be at least 1 but is 0"):
        NextTokenReader(causal_mask(5, 5), 0)
    with pytest.raises(ValueError, match="d_model must be at least 1 but is -2"):
        NextTokenReader(causal_mask(5, 5), 9, -2)
