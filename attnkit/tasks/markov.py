"""Texts from a Markov chain, whose next token is drawn by chance: how well it can be told is known.

Each token is followed by one of a few others, with fixed chances, and nothing else counts. So no
predictor can have a lower mean loss than the entropy of these chances.
"""

from dataclasses import dataclass

import numpy as np

from attnkit.errors import check_size

__all__ = ["CHANCES", "MarkovSource", "markov_source"]

CHANCES = (0.4, 0.3, 0.2, 0.1)


@dataclass(frozen=True)
class MarkovSource:
    """A source of texts: what may follow each of `V` tokens, the likeliest first.

    Attributes
    ----------
    follows : ndarray of int64, (V, 4)
        Row `t` holds the tokens that may follow token `t`, with the chances of `CHANCES`.

    Examples
    --------
    >>> source = markov_source(6, generator=np.random.default_rng(0))
    >>> source.follows.shape, f"{source.entropy:.3f}"
    ((6, 4), '1.280')
    """

    follows: np.ndarray

    @property
    def entropy(self) -> float:
        """The least mean loss that a predictor of the next token can have, in nats.

        Notes
        -----
        The entropy rate of the chain, H = −Σ p log p: Shannon, "A Mathematical Theory of
        Communication" (1948), section 7. It is that of `CHANCES`, because every row has the same.
        """
        chances = np.array(CHANCES)
        return float(-(chances * np.log(chances)).sum())

    def draw(self, n_texts: int, length: int, *, generator: np.random.Generator) -> np.ndarray:
        """Draw texts; the first token of each is any, all alike.

        Parameters
        ----------
        n_texts, length : int
            How many, and how long they are; zero is allowed.
        generator : numpy.random.Generator
            Where chance comes from; it moves on.

        Returns
        -------
        ndarray of int64, (n_texts, length)

        Raises
        ------
        ValueError
            If a size is negative.
        TypeError
            If a size is not a whole number.

        Examples
        --------
        >>> source = markov_source(6, generator=np.random.default_rng(0))
        >>> text = source.draw(1, 8, generator=np.random.default_rng(0))
        >>> text, bool(source.can_follow(text[:, :-1], text[:, 1:]).all())
        (array([[5, 2, 4, 1, 3, 2, 4, 4]]), True)
        """
        n_texts, length = check_size("n_texts", n_texts), check_size("length", length)
        texts = generator.integers(len(self.follows), size=(n_texts, length))
        for t in range(1, length):
            choice = generator.choice(len(CHANCES), size=n_texts, p=CHANCES)
            texts[:, t] = self.follows[texts[:, t - 1], choice]
        return texts

    def can_follow(self, token: np.ndarray, following: np.ndarray) -> np.ndarray:
        """Say of pairs of tokens whether the source can produce them.

        Parameters
        ----------
        token, following : ndarray of int64, (...)
            One token and the one after it.

        Returns
        -------
        ndarray of bool, (...)

        Examples
        --------
        >>> source = MarkovSource(np.array([[1, 2, 3, 4]]))
        >>> source.can_follow(np.array([0, 0]), np.array([4, 5]))
        array([ True, False])
        """
        return (self.follows[token] == np.asarray(following)[..., None]).any(axis=-1)


def markov_source(n_tokens: int = 16, *, generator: np.random.Generator) -> MarkovSource:
    """Draw a source: for each token four different ones that may follow it.

    Parameters
    ----------
    n_tokens : int
        Size of the vocabulary, at least four.
    generator : numpy.random.Generator
        Where chance comes from; it moves on.

    Returns
    -------
    MarkovSource

    Raises
    ------
    ValueError
        If there are fewer tokens than may follow one.
    TypeError
        If the size is not a whole number.

    Examples
    --------
    >>> markov_source(5, generator=np.random.default_rng(0)).follows[0]
    array([4, 3, 1, 2])
    """
    n_following = len(CHANCES)
    reason = f"each token is followed by one of {n_following} different ones"
    n_tokens = check_size("n_tokens", n_tokens, n_following, reason)
    rows = [generator.choice(n_tokens, n_following, replace=False) for _ in range(n_tokens)]
    return MarkovSource(np.stack(rows))
