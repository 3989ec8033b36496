"""Two language models, a decoder-only Transformer and a GRU, and drawing texts from one (chapter 10).

Both are trained by `attnkit.torch.next_token.train_next_token`.
"""

import torch
from torch import nn

from ..errors import check_caches, check_size
from ._parameters import embed_tokens
from .cache import _restored_on_error
from .generate import sample
from .positions import _add_sinusoids
from .transformer import EncoderLayer, LayerNorm

__all__ = ["RecurrentLanguageModel", "TransformerLanguageModel", "draw_texts"]


class TransformerLanguageModel(nn.Module):
    """A decoder-only Transformer: causal self-attention and feed-forward layers, no source.

    Its layers are pre-norm; positions are sinusoidal and there is no dropout.

    Parameters
    ----------
    n_tokens : int
        Size of the vocabulary.
    d_model : int
        The width, an even multiple of n_heads.
    n_heads, n_layers : int
        Heads of queries in each layer, and layers.
    n_kv_heads : int, optional
        Heads of keys and values; n_heads when not given.

    Raises
    ------
    ValueError
        When sizes do not divide or have no meaning.
    TypeError
        When a size is not a whole number.

    References
    ----------
    Radford et al. (2018), "Improving Language Understanding by Generative Pre-Training", section
    3.1 (there the positions are learnt and the norms come after).

    Examples
    --------
    >>> model = TransformerLanguageModel(9, d_model=8).requires_grad_(False)
    >>> tokens = torch.zeros(2, 5, dtype=torch.long)
    >>> model(tokens).shape
    torch.Size([2, 5, 9])
    >>> caches = model.new_caches(batch=2, capacity=5)
    >>> pieces = [model(tokens[:, :3], caches), model(tokens[:, 3:], caches)]
    >>> torch.allclose(torch.cat(pieces, 1), model(tokens), atol=1e-6)
    True
    """

    def __init__(self, n_tokens, d_model=64, n_heads=4, n_layers=2, *, n_kv_heads=None):
        super().__init__()
        n_tokens = check_size("n_tokens", n_tokens, 1)
        n_layers = check_size("n_layers", n_layers, 1)
        self.embedding = nn.Embedding(n_tokens, d_model)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, n_heads, n_kv_heads=n_kv_heads, norm="pre")
            for _ in range(n_layers)
        )
        self.norm = LayerNorm(d_model)
        self.output = nn.Linear(d_model, n_tokens)

    def forward(self, tokens, caches=None):
        """Score at each place the token that comes next.

        Parameters
        ----------
        tokens : torch.Tensor of int, shape (B, m)
            With caches the new tokens only.
        caches : list of KVCache, optional
            From `new_caches`: what the layers keep of the tokens before. The new ones are added.

        Returns
        -------
        torch.Tensor, shape (B, m, n_tokens)

        Raises
        ------
        ValueError
            When a cache has no room left, or another number of sequences, or gradients are wanted
            of what it keeps; or a token is not in the vocabulary.
        TypeError
            When tokens are not whole numbers.
        """
        check_caches(caches, len(self.layers), "length")
        start = caches[0].length if caches else 0
        x = self.embed(tokens, start)  # (B, m, d_model)
        with _restored_on_error(*(caches or ())):
            for i, layer in enumerate(self.layers):
                cache = caches[i] if caches else None
                x = layer(x, causal=True, cache=cache)
        return self.predict(x)  # (B, m, n_tokens)

    def embed(self, tokens, start=0):
        """Return the vectors of tokens and of their positions from `start` on, ``(B, m, d_model)``."""
        x = embed_tokens("tokens", tokens, self.embedding)  # (B, m, d_model)
        return _add_sinusoids(x, start)

    def predict(self, x):
        """Score what comes next from what the last layer gave, ``(B, m, n_tokens)``."""
        return self.output(self.norm(x))

    def new_caches(self, batch, capacity):
        """Return an empty cache for each layer, with room for `capacity` tokens."""
        return [layer.new_cache(batch, capacity) for layer in self.layers]


class RecurrentLanguageModel(nn.Module):
    """A GRU that predicts the next token: the past is its state.

    Parameters
    ----------
    n_tokens : int
        Size of the vocabulary.
    d_model : int
        The width of embeddings and states.
    n_layers : int
        Layers of the GRU.

    Raises
    ------
    ValueError
        When a size is below one.
    TypeError
        When a size is not a whole number.

    Examples
    --------
    >>> model = RecurrentLanguageModel(9, d_model=8)
    >>> logits, state = model(torch.zeros(2, 5, dtype=torch.long), return_state=True)
    >>> logits.shape, state.shape
    (torch.Size([2, 5, 9]), torch.Size([2, 2, 8]))
    """

    def __init__(self, n_tokens, d_model=64, n_layers=2):
        super().__init__()
        n_tokens = check_size("n_tokens", n_tokens, 1)
        d_model = check_size("d_model", d_model, 1)
        n_layers = check_size("n_layers", n_layers, 1)
        self.embedding = nn.Embedding(n_tokens, d_model)
        self.gru = nn.GRU(d_model, d_model, num_layers=n_layers, batch_first=True)
        self.output = nn.Linear(d_model, n_tokens)

    def forward(self, tokens, state=None, *, return_state=False):
        """Score at each place the token that comes next.

        Parameters
        ----------
        tokens : torch.Tensor of int, shape (B, m)
            With a state the new tokens only.
        state : torch.Tensor, shape (n_layers, B, d_model), optional
            What the call before returned; zeros when not given.
        return_state : bool
            Return the state after the last token too.

        Returns
        -------
        logits : torch.Tensor, shape (B, m, n_tokens)
        state : torch.Tensor, shape (n_layers, B, d_model)
            Only with ``return_state=True``.

        Raises
        ------
        ValueError
            When a token is not in the vocabulary.
        TypeError
            When tokens are not whole numbers.
        """
        y, state = self.gru(embed_tokens("tokens", tokens, self.embedding), state)
        logits = self.output(y)
        return (logits, state) if return_state else logits


@torch.no_grad()
def draw_texts(model, n_texts, *, start, end, max_length, seed=0, **options):
    """Draw texts from a model token by token, side by side, with a cache.

    Parameters
    ----------
    model : TransformerLanguageModel
        Asked as it is.
    n_texts : int
        How many.
    start, end : int
        The token that opens a text, which is not part of the result, and the one that closes it.
    max_length : int
        So many tokens are drawn for each text.
    seed : int
        Decides the draws.
    **options
        `temperature`, `top_k` and `top_p` of `attnkit.torch.sample`.

    Returns
    -------
    torch.Tensor of int64, shape (n_texts, max_length)
        After its first `end` a text holds nothing but `end`.

    Raises
    ------
    ValueError, TypeError
        See `attnkit.torch.sample`.

    Examples
    --------
    >>> model = TransformerLanguageModel(5, d_model=8)
    >>> draw_texts(model, 3, start=0, end=1, max_length=4, temperature=0.5).shape
    torch.Size([3, 4])
    """
    n_texts, max_length = check_size("n_texts", n_texts), check_size("max_length", max_length)
    generator = torch.Generator().manual_seed(seed)
    caches = model.new_caches(n_texts, max_length)
    device = model.output.weight.device
    token = torch.full((n_texts,), start, device=device)
    ended = torch.zeros(n_texts, dtype=torch.bool, device=device)
    written = torch.empty(n_texts, max_length, dtype=torch.int64, device=device)
    for place in range(max_length):
        logits = model(token[:, None], caches)[:, -1]  # (n_texts, n_tokens)
        uniform = torch.rand(n_texts, generator=generator).to(device)
        token = sample(logits, uniform, **options)
        token = torch.where(ended, end, token)  # a text that is over stays over
        ended = ended | (token == end)
        written[:, place] = token
    return written
