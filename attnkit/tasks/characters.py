"""Texts as characters: the vocabulary of a language model that writes letter by letter."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["END", "START", "Characters", "characters_of"]

START, END = "^", "."


@dataclass(frozen=True)
class Characters:
    """A closed list of characters, and the way from texts to integers and back.

    Attributes
    ----------
    characters : tuple of str
        Position is the integer that stands for the character. The first two open and close a text.

    Examples
    --------
    >>> letters = characters_of(["May", "Mary"])
    >>> letters.characters
    ('^', '.', 'M', 'a', 'r', 'y')
    >>> letters.encode("May")
    array([0, 2, 3, 5])
    >>> letters.decode([2, 3, 5, 1, 1])
    'May'
    """

    characters: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.characters)

    def __getitem__(self, integer: int) -> str:
        return self.characters[integer]

    @property
    def start(self) -> int:
        """The integer that opens a text."""
        return self.characters.index(START)

    @property
    def end(self) -> int:
        """The integer that closes a text, and fills the room behind it."""
        return self.characters.index(END)

    def index(self, character: str) -> int:
        """Return the integer of a character; `ValueError` where it is none of them."""
        try:
            return self.characters.index(character)
        except ValueError:
            known = "".join(self.characters)
            raise ValueError(
                f"character {character!r} is not among the {len(self)} known ones, {known!r}; "
                "make the list from all texts that will be read"
            ) from None

    def encode(self, text: str) -> np.ndarray:
        """Return the beginning of a text as integers, ``(1 + length,)``: start, then each character."""
        return np.array([self.start, *map(self.index, text)], dtype=np.int64)

    def table(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return whole texts as the rows of a table, and which of their tokens are to be predicted.

        Parameters
        ----------
        texts : sequence of str
            Texts of any lengths.

        Returns
        -------
        tokens : ndarray of int64, (N, 1 + T)
            Start, the characters, and the end until the row is full; `T` is the longest text's
            length with one end.
        counts : ndarray of bool, (N, T)
            True for the tokens after the start, up to a text's first end.
        """
        lengths = np.array([len(text) + 1 for text in texts], dtype=np.int64)  # with one end
        longest = int(lengths.max(initial=0))
        tokens = np.full((len(texts), 1 + longest), self.end, dtype=np.int64)
        for row, text in zip(tokens, texts, strict=True):
            row[: len(text) + 1] = self.encode(text)
        return tokens, np.arange(longest) < lengths[:, None]

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of integers, up to (without) the first end."""
        return "".join(self.characters[int(token)] for token in tokens).partition(END)[0]


def characters_of(texts: Iterable[str]) -> Characters:
    """List the characters of some texts, in alphabetical order behind start and end.

    Parameters
    ----------
    texts : iterable of str
        All texts that will be read.

    Returns
    -------
    Characters

    Raises
    ------
    ValueError
        When a text holds one of the two characters that open and close a text.

    Examples
    --------
    >>> len(characters_of(["May 1", "May 2"]))
    8
    """
    found = {character for text in texts for character in text}
    for reserved in (START, END):
        if reserved in found:
            raise ValueError(
                f"a text holds {reserved!r}, which here opens or closes a text; replace it there"
            )
    return Characters((START, END, *sorted(found)))
