"""Sentences in which the last word decides what "it" refers to, and a question that "it" must answer.

"The animal did not cross the street because it was tired": the animal. "… because it was wide": the
street. Each noun has a colour, drawn at random, and what is asked for is the colour of the noun that
"it" refers to, its *antecedent*. Some couples of nouns are kept for the test.
"""

from dataclasses import dataclass

import numpy as np

from attnkit.errors import check_choice, check_size

__all__ = [
    "ENDINGS",
    "FIRST",
    "IT",
    "LAST",
    "LIVING",
    "N_COLOURS",
    "PLACES",
    "SECOND",
    "WORDS",
    "CoreferenceBatch",
    "draw_coreference",
    "encode",
    "noun_pairs",
    "sentence",
]

LIVING = ("animal", "horse", "child", "bird")
PLACES = ("street", "river", "bridge", "path")
ENDINGS = (("tired", "hungry", "afraid"), ("wide", "steep", "flooded"))  # of LIVING, of PLACES
FIRST, SECOND, IT, LAST = 1, 6, 8, 10  # where the nouns, "it" and the ending stand
_FRAME = ("the", "_", "did", "not", "cross", "the", "_", "because", "it", "was", "_")
WORDS = (*sorted({*_FRAME} - {"_"}), *LIVING, *PLACES, *ENDINGS[0], *ENDINGS[1])
N_COLOURS = 6
_NUMBER = {word: number for number, word in enumerate(WORDS)}


@dataclass(frozen=True)
class CoreferenceBatch:
    """Sentences with their right answers: `N` of them, 11 words each.

    Attributes
    ----------
    tokens : ndarray of int64, (N, 11)
        What is read: the places of the words in `WORDS`.
    colours : ndarray of int64, (N, 11)
        1 to 6 at the two nouns, which never have the same; 0 at words without a colour.
    antecedent : ndarray of int64, (N,)
        Where the noun stands that "it" refers to: `FIRST` or `SECOND`.

    Examples
    --------
    >>> batch = draw_coreference(2, noun_pairs()[0], generator=np.random.default_rng(0))
    >>> batch.tokens.shape, batch.colours.shape, batch.answer.shape
    ((2, 11), (2, 11), (2,))
    """

    tokens: np.ndarray
    colours: np.ndarray
    antecedent: np.ndarray

    @property
    def answer(self) -> np.ndarray:
        """The right answers, (N,): the colour of the antecedent, counted from 0."""
        return np.take_along_axis(self.colours, self.antecedent[:, None], axis=1)[:, 0] - 1

    def words(self, row: int) -> list[str]:
        """Return the words of one sentence."""
        return [WORDS[token] for token in self.tokens[row]]


def noun_pairs(seed: int = 0) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Divide the couples of a living being and a place between training and test.

    Of the 16 couples four are kept for the test, in either order of the two nouns. Each noun is in
    one of them, so that training shows all nouns, each with three of its four partners.

    Parameters
    ----------
    seed : int
        Decides which couples are kept.

    Returns
    -------
    train, kept : list of (str, str)
        The first and the second noun of a sentence: 24 pairs and 8.

    Examples
    --------
    >>> train, kept = noun_pairs()
    >>> len(train), len(kept)
    (24, 8)
    >>> any((second, first) in train for first, second in kept)
    False
    """
    partner = np.random.default_rng(seed).permutation(len(PLACES))
    train, kept = [], []
    for i, being in enumerate(LIVING):
        for j, place in enumerate(PLACES):
            (kept if partner[i] == j else train).extend([(being, place), (place, being)])
    return train, kept


def sentence(first: str, second: str, ending: str) -> list[str]:
    """Write the sentence with two nouns and a last word, whether or not it makes sense.

    Parameters
    ----------
    first, second : str
        Nouns of `LIVING` or `PLACES`.
    ending : str
        A word of `ENDINGS`.

    Returns
    -------
    list of str
        Eleven words.

    Raises
    ------
    ValueError
        If a word is another one.

    Examples
    --------
    >>> " ".join(sentence("horse", "river", "steep"))
    'the horse did not cross the river because it was steep'
    """
    check_choice("first", first, LIVING + PLACES)
    check_choice("second", second, LIVING + PLACES)
    check_choice("ending", ending, ENDINGS[0] + ENDINGS[1])
    words = list(_FRAME)
    words[FIRST], words[SECOND], words[LAST] = first, second, ending
    return words


def encode(words: list[str]) -> np.ndarray:
    """Return the numbers of words, their places in `WORDS`.

    Parameters
    ----------
    words : sequence of T str
        Words of the task.

    Returns
    -------
    ndarray of int64, (T,)

    Raises
    ------
    ValueError
        If a word does not occur in the task.

    Examples
    --------
    >>> encode(["the", "bird"])
    array([ 5, 10])
    """
    for word in words:
        if word not in _NUMBER:
            raise ValueError(
                f"words holds {word!r}, which does not occur in the task; "
                "its words are listed in WORDS"
            )
    return np.array([_NUMBER[word] for word in words], dtype=np.int64)


def draw_coreference(
    n_sentences: int, pairs: list[tuple[str, str]], *, generator: np.random.Generator
) -> CoreferenceBatch:
    """Draw random sentences about given pairs of nouns.

    Parameters
    ----------
    n_sentences : int
        How many; zero is allowed.
    pairs : sequence of (str, str)
        The first and the second noun, one living and one place in either order: ``noun_pairs()[0]``
        for training, ``noun_pairs()[1]`` for the test.
    generator : numpy.random.Generator
        Where chance comes from; it moves on.

    Returns
    -------
    CoreferenceBatch
        Either noun is the antecedent equally often, whatever its place and its partner.

    Raises
    ------
    ValueError
        If a size is negative, there is no pair, or a pair is not of one living being and one place.
    TypeError
        If a size is not a whole number.

    Examples
    --------
    >>> batch = draw_coreference(1, [("street", "bird")], generator=np.random.default_rng(1))
    >>> " ".join(batch.words(0))
    'the street did not cross the bird because it was hungry'
    >>> batch.antecedent, batch.colours[0, [FIRST, SECOND]], batch.answer
    (array([6]), array([6, 1]), array([0]))
    """
    n_sentences = check_size("n_sentences", n_sentences)
    _check_pairs(pairs)
    nouns = np.array([encode(pair) for pair in pairs])  # (pairs, 2)
    place_first = np.array([pair[0] in PLACES for pair in pairs])
    endings = np.array([encode(of_kind) for of_kind in ENDINGS])  # (2, 3)

    pair = generator.integers(len(pairs), size=n_sentences)
    kind = generator.integers(2, size=n_sentences)  # 0: "it" is alive, 1: it is a place
    ending = generator.integers(endings.shape[1], size=n_sentences)
    all_colours = np.tile(np.arange(1, N_COLOURS + 1), (n_sentences, 1))  # (N, 6)

    tokens = np.tile([_NUMBER.get(word, 0) for word in _FRAME], (n_sentences, 1))  # (N, 11)
    tokens[:, [FIRST, SECOND]] = nouns[pair]
    tokens[:, LAST] = endings[kind, ending]
    colours = np.zeros_like(tokens)
    colours[:, [FIRST, SECOND]] = generator.permuted(all_colours, axis=1)[:, :2]
    antecedent = np.where(place_first[pair] == (kind == 1), FIRST, SECOND)
    return CoreferenceBatch(tokens, colours, antecedent)


def _check_pairs(pairs):
    """Refuse pairs of nouns between which the last word could not decide."""
    if not len(pairs):
        raise ValueError("pairs is empty; a sentence needs two nouns: noun_pairs()[0] has some")
    for pair in pairs:
        kinds = [noun in LIVING for noun in pair if noun in LIVING + PLACES]
        if sorted(kinds) != [False, True]:
            raise ValueError(
                f"pairs holds {tuple(pair)!r}, but each must be a living being and a place, "
                "in either order: else the last word could not decide between them"
            )
