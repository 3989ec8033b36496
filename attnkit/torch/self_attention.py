"""Self-attention as chapter 6 writes it: three matrices and nothing else, no heads and no output matrix.

The layer that models are built from is `MultiHeadAttention`; this one is for looking at the mechanism.
"""

import torch
from torch import nn

from ..errors import check_sizes, check_width
from ._parameters import as_input
from .attention import scaled_dot_product_attention

__all__ = ["SelfAttention"]


class SelfAttention(nn.Module):
    """Every token asks all tokens of its own sequence: one head, without biases.

    Parameters
    ----------
    d_model : int
        Width of the tokens.
    d_k, d_v : int, optional
        Width of queries and keys, and of values; ``d_model`` where nothing is said.

    Attributes
    ----------
    w_query, w_key : torch.nn.Parameter, shape (d_model, d_k)
        What a token asks, and what it offers. Drawn with variance ``1 / d_model``.
    w_value : torch.nn.Parameter, shape (d_model, d_v)
        What it hands over.

    Raises
    ------
    ValueError
        When a size is below one.
    TypeError
        When a size is not a whole number.

    Notes
    -----
    Vaswani et al., "Attention Is All You Need" (2017), section 3.2.1, with queries, keys and values
    made from one sequence.

    Examples
    --------
    >>> layer = SelfAttention(8)
    >>> output, weights = layer(torch.zeros(2, 5, 8), return_weights=True)
    >>> output.shape, weights.shape
    (torch.Size([2, 5, 8]), torch.Size([2, 5, 5]))
    """

    def __init__(self, d_model, d_k=None, d_v=None):
        super().__init__()
        d_k = d_model if d_k is None else d_k
        d_v = d_model if d_v is None else d_v
        d_model, d_k, d_v = check_sizes(d_model=d_model, d_k=d_k, d_v=d_v)
        self.w_query = nn.Parameter(torch.randn(d_model, d_k) / d_model**0.5)
        self.w_key = nn.Parameter(torch.randn(d_model, d_k) / d_model**0.5)
        self.w_value = nn.Parameter(torch.randn(d_model, d_v) / d_model**0.5)

    def forward(self, x, mask=None, *, return_weights=False):
        """Let each token look at the tokens of its sequence.

        Parameters
        ----------
        x : torch.Tensor, shape (..., T, d_model)
            Sequences.
        mask : torch.Tensor of bool, broadcasts to (..., T, T), optional
            True where a query may look at a key. Without any allowed key a token hears 0.
        return_weights : bool
            Return the weights too.

        Returns
        -------
        output : torch.Tensor, shape (..., T, d_v)
            In the wider dtype of x and the matrices.
        weights : torch.Tensor, shape (..., T, T)
            Only with ``return_weights=True``.

        Raises
        ------
        ValueError
            When x has another width or too few axes, or the mask does not broadcast.
        TypeError
            When x is complex or no tensor, or the mask is not boolean.
        """
        x = as_input("x", x, self.w_query)
        check_width("x", x.shape, "(..., T, d_model)", len(self.w_query))
        w_query, w_key, w_value = (w.to(x.dtype) for w in (self.w_query, self.w_key, self.w_value))
        query, key, value = x @ w_query, x @ w_key, x @ w_value
        return scaled_dot_product_attention(query, key, value, mask, return_weights=return_weights)
