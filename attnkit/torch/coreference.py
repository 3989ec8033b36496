"""The coreference task and a small reader: what "it" refers to, and where "it" looks (chapter 6)."""

import torch
from torch import nn

from attnkit.tasks.coreference import FIRST, IT, LAST, N_COLOURS, SECOND, WORDS

from ..errors import check_sizes
from ._examples import draw_rows, placed, share_right, tensors
from .self_attention import SelfAttention
from .training import fit_on_draws

__all__ = ["CoreferenceReader", "antecedent_shares", "score_coreference", "train_coreference"]


class CoreferenceReader(nn.Module):
    """Layers of self-attention, what they found added to what was there, and a linear answer at "it".

    There are no positions: a word is not told where it stands.

    Parameters
    ----------
    n_layers : int
        Layers.
    d_model : int
        Their width.

    Raises
    ------
    ValueError
        When a size is below one.
    TypeError
        When a size is not a whole number.

    Examples
    --------
    >>> tokens = colours = torch.zeros(3, 11, dtype=torch.long)
    >>> CoreferenceReader(2)(tokens, colours).shape
    torch.Size([3, 6])
    """

    def __init__(self, n_layers, d_model=32):
        super().__init__()
        n_layers, d_model = check_sizes(n_layers=n_layers, d_model=d_model)
        self.word = nn.Embedding(len(WORDS), d_model)
        self.colour = nn.Embedding(1 + N_COLOURS, d_model)
        self.layers = nn.ModuleList(SelfAttention(d_model) for _ in range(n_layers))
        self.answer = nn.Linear(d_model, N_COLOURS)

    def forward(self, tokens, colours, *, return_weights=False):
        """Score the colours of what "it" refers to.

        Parameters
        ----------
        tokens, colours : torch.Tensor of int, shape (N, 11)
            Sentences, see `attnkit.tasks.coreference.CoreferenceBatch`.
        return_weights : bool
            Return the weights of each layer too.

        Returns
        -------
        logits : torch.Tensor, shape (N, 6)
        weights : torch.Tensor, shape (N, n_layers, 11, 11)
            Only with ``return_weights=True``.
        """
        x = self.word(tokens) + self.colour(colours)  # (N, 11, d_model)
        looks = []
        for layer in self.layers:
            heard, weights = layer(x, return_weights=True)
            looks.append(weights)  # (N, 11, 11)
            x = x + heard
        logits = self.answer(x[:, IT])  # (N, 6)
        return (logits, torch.stack(looks, 1)) if return_weights else logits


def train_coreference(
    model, batch, *, n_steps=400, batch_size=64, learning_rate=1e-2, seed=0, label="training"
):
    """Train a reader on given sentences.

    Parameters
    ----------
    model : CoreferenceReader
        Changed in place, on the device where it lies.
    batch : CoreferenceBatch
        The sentences.
    n_steps, batch_size : int
        How many batches are drawn from them, and sentences in each.
    learning_rate : float or callable
        See `fit`.
    seed : int
        Decides which sentences are in which batch, the same for every model.
    label : str
        See `fit`.

    Returns
    -------
    History

    Examples
    --------
    >>> import numpy as np
    >>> from attnkit.tasks.coreference import draw_coreference, noun_pairs
    >>> batch = draw_coreference(9, noun_pairs()[0], generator=np.random.default_rng(0))
    >>> len(train_coreference(CoreferenceReader(1, 8), batch, n_steps=2).loss)
    2
    """
    *inputs, answer = placed(model, *tensors(batch.tokens, batch.colours, batch.answer))
    draw = draw_rows(inputs, answer, batch_size)
    return fit_on_draws(
        model, draw, n_steps=n_steps, learning_rate=learning_rate, seed=seed, label=label
    )


@torch.no_grad()
def score_coreference(model, batch):
    """Return the share of right answers.

    Parameters
    ----------
    model : CoreferenceReader
        Asked as it is.
    batch : CoreferenceBatch
        Sentences, best about pairs of nouns that were kept from training.

    Returns
    -------
    float
        Between 0 and 1. Whoever names the colour of one of the two nouns gets 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> from attnkit.tasks.coreference import draw_coreference, noun_pairs
    >>> batch = draw_coreference(9, noun_pairs()[1], generator=np.random.default_rng(0))
    >>> 0 <= score_coreference(CoreferenceReader(1), batch) <= 1
    True
    """
    *inputs, answer = placed(model, *tensors(batch.tokens, batch.colours, batch.answer))
    return share_right(model(*inputs), answer)


@torch.no_grad()
def antecedent_shares(model, batch, *, place=IT):
    """Return how a word shares its weight between the two nouns, the last word and the rest.

    Parameters
    ----------
    model : CoreferenceReader
        Asked as it is.
    batch : CoreferenceBatch
        Sentences.
    place : int
        Where the word stands that looks, such as `IT` or `LAST`.

    Returns
    -------
    torch.Tensor, shape (n_layers, 4)
        Mean weights on the antecedent, the other noun, the last word, and all other words together.
        Each row adds up to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from attnkit.tasks.coreference import draw_coreference, noun_pairs
    >>> batch = draw_coreference(9, noun_pairs()[1], generator=np.random.default_rng(0))
    >>> antecedent_shares(CoreferenceReader(2), batch).shape
    torch.Size([2, 4])
    """
    *inputs, antecedent = placed(model, *tensors(batch.tokens, batch.colours, batch.antecedent))
    _, weights = model(*inputs, return_weights=True)
    looks = weights[:, :, place]  # (N, n_layers, 11)
    last = torch.full_like(antecedent, LAST)
    places = torch.stack([antecedent, FIRST + SECOND - antecedent, last], -1)  # (N, 3)
    named = looks.gather(-1, places[:, None].expand(-1, looks.shape[1], -1)).mean(0)
    return torch.cat([named, 1 - named.sum(-1, keepdim=True)], -1)
