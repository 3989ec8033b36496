"""What holds for every small model of the pages: it learns where it lies, follows wider numbers, refuses odd sizes."""

import re

import numpy as np
import pytest
import torch

from attnkit.tasks.coreference import LAST, draw_coreference, noun_pairs
from attnkit.tasks.digits import image_questions, load_digits
from attnkit.torch import LayerNorm, SelfAttention, causal_mask
from attnkit.torch._examples import Linear
from attnkit.torch.coreference import (
    CoreferenceReader,
    antecedent_shares,
    score_coreference,
    train_coreference,
)
from attnkit.torch.digits import DigitReader, question_tensors, train_digits
from attnkit.torch.next_token import NextTokenReader, next_token_loss, train_next_token
from attnkit.torch.order import SCHEMES, OrderReader, score_order, train_order
from attnkit.torch.recall import (
    PositionMix,
    RecallLookups,
    RecallReader,
    SideBySideMix,
    score_recall,
    train_recall,
)
from attnkit.torch.twins import TwinReader, relation_shares, score_twins, train_twins
from tests.attnkit.places import CUDA, HERE, PRETENDED
from tests.attnkit.test_devices import needs_cuda
from tests.tolerances import assert_close

SENTENCES = draw_coreference(20, noun_pairs()[0], generator=np.random.default_rng(0))
ASKED = image_questions(load_digits().test, 6)
TEXTS = torch.from_numpy(np.random.default_rng(1).integers(9, size=(7, 6)))
COUNTS = TEXTS[:, 1:] > 2
BRIEFLY = {"n_steps": 2, "batch_size": 5}


def answers(model, place):
    """Return what a reader of digits answers on its place, whose patches the caller brings there."""
    patches, question, _ = question_tensors(ASKED)
    with torch.no_grad():
        return model(place.take(patches), place.take(question))


# How each model is made, trained for two steps, and judged: tensors or plain numbers.
MODELS = {
    f"OrderReader, {scheme}": (
        lambda scheme=scheme: OrderReader(scheme, d_model=8, n_heads=2),
        lambda model: train_order(model, "back", **BRIEFLY),
        lambda model, place: [score_order(model, "back", 11, n_sequences=9)],
    )
    for scheme in SCHEMES
}
MODELS |= {
    "TwinReader": (
        lambda: TwinReader(2, d_model=8, d_hidden=3),
        lambda model: train_twins(model, ["twin"], **BRIEFLY),
        lambda model, place: [
            *vars(score_twins(model, n_sequences=9)).values(),
            relation_shares(model, n_sequences=9),
        ],
    ),
    "CoreferenceReader": (
        lambda: CoreferenceReader(2, 8),
        lambda model: train_coreference(model, SENTENCES, **BRIEFLY),
        lambda model, place: [
            score_coreference(model, SENTENCES),
            antecedent_shares(model, SENTENCES, place=LAST),
        ],
    ),
    "DigitReader": (
        lambda: DigitReader(8),
        lambda model: train_digits(model, ASKED, **BRIEFLY),
        lambda model, place: [answers(model, place)],
    ),
    "NextTokenReader": (
        lambda: NextTokenReader(causal_mask(5, 5), 9, 8),
        lambda model: train_next_token(model, TEXTS, **BRIEFLY),
        lambda model, place: [next_token_loss(model, TEXTS).detach()],
    ),
    "NextTokenReader, some places count": (
        lambda: NextTokenReader(causal_mask(5, 5), 9, 8),
        lambda model: train_next_token(model, TEXTS, COUNTS, **BRIEFLY),
        lambda model, place: [next_token_loss(model, TEXTS, COUNTS).detach()],
    ),
}
MODELS |= {
    f"RecallReader, {name}": (
        lambda mix=mix: RecallReader(mix(), 8),
        lambda model: train_recall(model, length=4, **BRIEFLY),
        lambda model, place: [score_recall(model, length=4, n_lists=9)],
    )
    for name, mix in {
        "attention": lambda: SelfAttention(8),
        "positions": lambda: PositionMix(5, 8),
        "side by side": lambda: SideBySideMix(5, 8, 3),
    }.items()
}
each_model = pytest.mark.parametrize("name", MODELS)


def course(place, name):
    """Return losses, judgements and trained parameters of a model that lies on a place."""
    make, train, judge = MODELS[name]
    torch.manual_seed(0)
    with place.open():
        model = place.move(make().double() if name != "DigitReader" else make())
        history = train(model)
        judged = judge(model, place)
        assert all(place.has(item) for item in judged if isinstance(item, torch.Tensor))
        numbers = [*judged, *model.parameters()]
        return history.loss, [
            place.back(item).numpy() if isinstance(item, torch.Tensor) else item for item in numbers
        ]


def assert_same_course(place, name):
    (losses, numbers), (right_losses, right_numbers) = course(place, name), course(HERE, name)
    np.testing.assert_allclose(losses, right_losses, rtol=1e-5)
    for actual, expected in zip(numbers, right_numbers, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


@each_model
def test_it_is_trained_and_judged_where_it_lies(name):
    assert_same_course(PRETENDED, name)


@needs_cuda
@each_model
def test_it_is_trained_and_judged_on_a_gpu(name):
    assert_same_course(CUDA, name)


# --- wider numbers --------------------------------------------------------------------------------


def vectors(*shape):
    return torch.from_numpy(np.random.default_rng(2).normal(size=shape))


LISTS = torch.zeros(2, 4, dtype=torch.long), torch.ones(2, 4, dtype=torch.long)
# What is made, and what it is asked with wider numbers.
WIDER = {
    "Linear": (lambda: Linear(8, 3), lambda m: m(vectors(2, 5, 8))),
    "Linear, without bias": (
        lambda: Linear(8, 3, bias=False),
        lambda m: m(vectors(8)),
    ),
    "PositionMix": (lambda: PositionMix(5, 8), lambda m: m(vectors(2, 5, 8))),
    "SideBySideMix": (lambda: SideBySideMix(5, 8, 3), lambda m: m(vectors(2, 5, 8))),
    "DigitReader": (
        lambda: DigitReader(8),
        lambda m: m(vectors(2, 8, 196), torch.tensor([0, 1])),
    ),
    "NextTokenReader": (
        lambda: NextTokenReader(causal_mask(5, 5), 9, 8),
        lambda m: m.predict(vectors(2, 5, 8)),
    ),
    "RecallLookups": (
        lambda: RecallLookups(2, 6),
        lambda m: m.rewards(vectors(2, 3, 4, 6), torch.tensor([[0, 1, 2], [3, 4, 9]])),
    ),
    "RecallReader": (
        lambda: RecallReader(LayerNorm(8).double(), 8),
        lambda m: m(*LISTS, torch.tensor([0, 1])),
    ),
}
# What these make of tokens, before it meets the wider numbers, is as narrow as their tables.
ROUNDED = ("DigitReader", "RecallReader")


@pytest.mark.parametrize("name", WIDER)
def test_narrow_weights_follow_wider_numbers(name):
    make, ask = WIDER[name]
    torch.manual_seed(0)
    model = make()
    output = ask(model)
    assert output.dtype == torch.float64
    output.sum().backward()
    slopes = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert slopes
    wide = ask(model.double())
    dtype = "float32" if name in ROUNDED else "float64"
    assert_close(output.detach().numpy(), wide.detach().numpy(), "output", dtype)


@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (0,)])
@pytest.mark.parametrize("make", [PositionMix, lambda *sizes: SideBySideMix(*sizes, 3)])
def test_a_fixed_mix_takes_any_leading_axes(make, lead):
    torch.manual_seed(0)
    model, x = make(5, 8).double().requires_grad_(False), vectors(*lead, 5, 8)
    mixed = model(x)
    assert mixed.shape == x.shape
    for index in np.ndindex(lead):
        assert_close(mixed[index].numpy(), model(x[index]).numpy(), "output")


# --- what makes no model --------------------------------------------------------------------------

SIZES = {
    "SelfAttention": (SelfAttention, {"d_model": 8, "d_k": 4, "d_v": 4}),
    "OrderReader": (
        lambda **sizes: OrderReader("shaw", **sizes),
        {"d_model": 8, "n_heads": 2, "n_layers": 1, "trained_length": 9, "longest": 9},
    ),
    "OrderReader, learned": (
        lambda **sizes: OrderReader("learned", **sizes),
        {"d_model": 8, "n_heads": 2, "n_layers": 1, "trained_length": 9, "longest": 9},
    ),
    "TwinReader": (TwinReader, {"n_heads": 2, "d_model": 8, "n_layers": 1, "longest": 9}),
    "RecallLookups": (RecallLookups, {"n_models": 2, "d_model": 8}),
    "PositionMix": (PositionMix, {"length": 5, "d_model": 8}),
    "SideBySideMix": (SideBySideMix, {"length": 5, "d_model": 8, "d_hidden": 3}),
    "RecallReader": (lambda **sizes: RecallReader(torch.nn.Identity(), **sizes), {"d_model": 8}),
    "DigitReader": (DigitReader, {"d_model": 8}),
    "CoreferenceReader": (CoreferenceReader, {"n_layers": 1, "d_model": 8}),
    "NextTokenReader": (
        lambda **sizes: NextTokenReader(causal_mask(5, 5), **sizes),
        {"n_tokens": 9, "d_model": 8},
    ),
}
each_size = pytest.mark.parametrize(
    ("name", "size"), [(name, size) for name, (_, sizes) in SIZES.items() for size in sizes]
)


@each_size
@pytest.mark.parametrize("wrong", [0, -1])
def test_a_size_below_one_is_refused(name, size, wrong):
    make, sizes = SIZES[name]
    with pytest.raises(ValueError, match=f"^{size} must be at least 1 but is {wrong}; .+"):
        make(**sizes | {size: wrong})


@each_size
@pytest.mark.parametrize("wrong", [8.0, True, "8", [8], torch.tensor([8, 8])])
def test_what_is_no_whole_number_is_refused(name, size, wrong):
    make, sizes = SIZES[name]
    said = f"^{size} must be a whole number but is {re.escape(repr(wrong))} of type .+; .+"
    with pytest.raises(TypeError, match=said):
        make(**sizes | {size: wrong})


@pytest.mark.parametrize("name", SIZES)
def test_nothing_is_refused_as_a_size_where_it_has_no_meaning(name):
    make, sizes = SIZES[name]
    for size in sizes:
        if size not in ("d_k", "d_v"):  # there it means d_model
            with pytest.raises(TypeError, match=f"^{size} must be a whole number but is None"):
                make(**sizes | {size: None})


@each_size
def test_a_whole_number_of_numpy_is_a_size(name, size):
    make, sizes = SIZES[name]
    make(**sizes | {size: np.int64(sizes[size])})


def test_hidden_units_may_be_none_but_not_fewer():
    assert len(TwinReader(2, d_hidden=0).hidden) == 0
    with pytest.raises(ValueError, match=r"^d_hidden must be at least 0 but is -1; .*subtraction"):
        TwinReader(2, d_hidden=-1)
    for wrong in (3.0, True, "3", None):
        with pytest.raises(TypeError, match=r"^d_hidden must be a whole number"):
            TwinReader(2, d_hidden=wrong)


@pytest.mark.parametrize("make", [OrderReader, lambda scheme: OrderReader(scheme, n_layers=2)])
@pytest.mark.parametrize("wrong", ["sine", "", None, 0, True])
def test_another_scheme_is_refused(make, wrong):
    with pytest.raises(
        ValueError, match=f"^scheme must be 'none' or .* but is {wrong!r}; .*misspelt"
    ):
        make(wrong)


@pytest.mark.parametrize("make", [lambda **s: OrderReader("none", **s), TwinReader])
def test_heads_share_the_width_evenly(make):
    with pytest.raises(ValueError, match=r"d_model is 8, not a multiple of n_heads, 3; .*evenly"):
        make(d_model=8, n_heads=3)


def test_places_of_a_next_token_reader_need_an_even_width():
    with pytest.raises(ValueError, match="d_model must be even but is 7; sine and cosine"):
        NextTokenReader(causal_mask(5, 5), 9, 7)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (None, "mask must be a torch.Tensor but is NoneType; "),
        (np.ones((5, 5), bool), "mask must be a torch.Tensor but is ndarray; .*as_tensor"),
        (torch.ones(5, 5), "mask must be boolean but is torch.float32; True means may attend"),
    ],
)
def test_what_is_no_mask_is_refused(wrong, said):
    with pytest.raises(TypeError, match=said):
        NextTokenReader(wrong)


@pytest.mark.parametrize("wrong", [None, "attention", 8])
def test_what_mixes_nothing_is_refused(wrong):
    with pytest.raises(
        TypeError, match=f"mix must be a module but is {type(wrong).__name__}; it mixes"
    ):
        RecallReader(wrong)


@pytest.mark.parametrize("make", [PositionMix, SideBySideMix])
def test_tokens_of_another_width_or_without_an_axis_are_refused(make):
    with pytest.raises(ValueError, match="x has width 7 but d_model is 8; whole embeddings"):
        make(5, 8)(vectors(2, 5, 7))
    with pytest.raises(ValueError, match=r"x needs at least 2 axes, \(\.\.\., length, d_model\)"):
        make(5, 8)(vectors(8))
    with pytest.raises(TypeError, match=r"x must be real but is .*complex"):
        make(5, 8)(vectors(2, 5, 8) + 0j)


@pytest.mark.parametrize(("wrong", "error"), [(0, ValueError), (2.0, TypeError), (True, TypeError)])
def test_batches_of_texts_have_a_size(wrong, error):
    with pytest.raises(error, match=r"^batch_size must be "):
        train_next_token(
            NextTokenReader(causal_mask(5, 5), 9, 8), TEXTS, n_steps=1, batch_size=wrong
        )
