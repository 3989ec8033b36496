"""Predicting the next token: how a model learns it (chapters 6 and 10), and the small one of chapter 6's lab."""

import numpy as np
import torch
from torch import nn

from ..errors import check_even, check_size, check_sizes
from ._examples import Linear, placed
from ._tensors import boolean_tensor
from .positions import sinusoidal_positions
from .self_attention import SelfAttention
from .training import fit, masked_cross_entropy

__all__ = ["NextTokenReader", "next_token_loss", "train_next_token"]


class NextTokenReader(nn.Module):
    """One layer of self-attention under a mask, and a small network that scores what comes next.

    Whether it may see the future is the mask's affair: it is not causal by itself.

    Parameters
    ----------
    mask : torch.Tensor of bool, shape (longest, longest)
        True where a query may look at a key. A shorter text has its upper left corner.
    n_tokens : int
        Size of the vocabulary.
    d_model : int
        The width, an even number.

    Raises
    ------
    ValueError
        When the mask is not square, a size is below one or d_model odd.
    TypeError
        When a size is not a whole number or the mask not boolean.

    Examples
    --------
    >>> from attnkit.torch import causal_mask
    >>> NextTokenReader(causal_mask(9, 9))(torch.zeros(2, 5, dtype=torch.long)).shape
    torch.Size([2, 5, 16])
    """

    def __init__(self, mask, n_tokens=16, d_model=32):
        super().__init__()
        mask = boolean_tensor("mask", mask)
        if mask.dim() != 2 or mask.shape[0] != mask.shape[1]:
            raise ValueError(
                f"mask must have shape (longest, longest) but has {tuple(mask.shape)}; "
                "queries and keys are the tokens of one text"
            )
        n_tokens, d_model = check_sizes(n_tokens=n_tokens, d_model=d_model)
        check_even("d_model", d_model, "sine and cosine of its places share a frequency")
        self.register_buffer("mask", mask)
        self.token = nn.Embedding(n_tokens, d_model)
        self.attention = SelfAttention(d_model)
        self.answer = nn.Sequential(Linear(d_model, 64), nn.ReLU(), Linear(64, n_tokens))

    def forward(self, tokens):
        """Score at each place the token that comes next.

        Parameters
        ----------
        tokens : torch.Tensor of int, shape (N, T) or (T,)
            Texts, no longer than the mask.

        Returns
        -------
        torch.Tensor, shape (N, T, n_tokens) or (T, n_tokens)

        Raises
        ------
        ValueError
            When a text is longer than the mask.
        """
        return self.predict(self.embed(tokens))

    def embed(self, tokens):
        """Return the vectors of tokens and of their places, ``(..., T, d_model)``."""
        x = self.token(tokens)
        return x + sinusoidal_positions(*x.shape[-2:], dtype=x.dtype, device=x.device)

    def predict(self, x):
        """Score what comes next from such vectors, ``(..., T, n_tokens)``."""
        length = x.shape[-2]
        if length > len(self.mask):
            raise ValueError(
                f"the text has {length} tokens but the mask was made for {len(self.mask)}; "
                "make the model with a larger mask"
            )
        heard = self.attention(x, self.mask[:length, :length])
        return self.answer(x + heard)


def next_token_loss(model, texts, counts=None):
    """Return the mean cross-entropy of each token given what the model sees, the first left out.

    Parameters
    ----------
    model : NextTokenReader, TransformerLanguageModel or RecurrentLanguageModel
        Asked as it is.
    texts : torch.Tensor of int, shape (N, T + 1)
        Texts; T tokens are read and T predicted.
    counts : torch.Tensor of bool, shape (N, T), optional
        True for the tokens, from the second on, whose prediction counts; all when not given.

    Returns
    -------
    torch.Tensor, shape ()

    Examples
    --------
    >>> from attnkit.torch import causal_mask
    >>> texts = torch.zeros(3, 6, dtype=torch.long)
    >>> next_token_loss(NextTokenReader(causal_mask(5, 5)), texts).shape
    torch.Size([])
    """
    if counts is None:
        counts = torch.ones_like(texts[:, 1:], dtype=torch.bool)
    texts, counts = placed(model, texts, counts)
    return masked_cross_entropy(model(texts[:, :-1]), texts[:, 1:], counts)


def train_next_token(
    model, texts, counts=None, *, n_steps=400, batch_size=32, learning_rate=1e-2, seed=0, **reports
):
    """Train a model on given texts.

    Parameters
    ----------
    model : NextTokenReader, TransformerLanguageModel or RecurrentLanguageModel
        Changed in place, on the device where it lies.
    texts : torch.Tensor of int, shape (N, T + 1)
        Texts; T tokens are read and T predicted.
    counts : torch.Tensor of bool, shape (N, T), optional
        See `next_token_loss`.
    n_steps, batch_size : int
        How many batches are drawn from them, and texts in each.
    learning_rate : float or callable
        See `fit`.
    seed : int
        Decides which texts are in which batch, the same for every model.
    **reports
        `report`, `report_at` and `label` of `fit`.

    Returns
    -------
    History

    Examples
    --------
    >>> from attnkit.torch import causal_mask
    >>> texts = torch.zeros(3, 6, dtype=torch.long)
    >>> len(train_next_token(NextTokenReader(causal_mask(5, 5)), texts, n_steps=2).loss)
    2
    """
    batch_size = check_size("batch_size", batch_size, 1)
    generator = np.random.default_rng(seed)
    (texts,) = placed(model, texts)
    counts = None if counts is None else placed(model, counts)[0]

    def batch_loss(step):
        rows = torch.from_numpy(generator.integers(len(texts), size=batch_size)).to(texts.device)
        return next_token_loss(model, texts[rows], None if counts is None else counts[rows])

    return fit(model, batch_loss, n_steps=n_steps, learning_rate=learning_rate, **reports)
