"""What the benchmark holds our code against, apart from others' packages: bounds and plain alternatives.

A bound does only the work that nobody can avoid and gives no usable result. An alternative is what
one would write without the library.
"""

import numpy as np

from ..tiles import visible_keys

TILE = 2**17  # scores in a tile: half a mebibyte in float32, so that tiles stay in the second cache


def products_and_exp(query, key, value):
    """Bound of dense attention: per tile the two products and `exp`; no maximum, sum or division.

    Parameters
    ----------
    query, key, value : numpy.ndarray, shape (heads, n, width)
        Of one float dtype.

    Returns
    -------
    numpy.ndarray, shape (heads, n, width)
        The weighted sums, not normalised.
    """
    heads, n, _ = query.shape
    rows = min(n, max(TILE // n, 64))
    together = max(TILE // (rows * n), 1)
    scores = np.empty((min(together, heads), rows, n), query.dtype)
    output = np.empty_like(query)
    for head in range(0, heads, together):
        some = slice(head, head + together)
        for row in range(0, n, rows):
            part = query[some, row : row + rows]  # (g, r, width)
            tile = scores[: len(part), : part.shape[1]]  # (g, r, n)
            np.matmul(part, key[some].swapaxes(-1, -2), out=tile)
            np.exp(tile, out=tile)
            np.matmul(tile, value[some], out=output[some, row : row + rows])
    return output


def products_and_exp_of_band(query, key, value, window, block=64, together=8):
    """Bound of local attention: the two products and `exp` for exactly ``2 * window + 1`` keys a query.

    Neighbouring queries share their keys here, as a product needs it, which the true band does not:
    the arithmetic is that of the band, the result is not.

    Parameters
    ----------
    query, key, value : numpy.ndarray, shape (heads, n, width)
        Contiguous, of one float dtype; n a multiple of ``block * together``.
    window : int
        The largest distance.
    block, together : int
        Queries in a tile, and tiles in a call.

    Returns
    -------
    numpy.ndarray, shape (heads, n, width)
        Weighted sums of some keys, not normalised.
    """
    heads, n, width = query.shape
    columns = 2 * window + 1
    scores = np.empty((together, block, columns), query.dtype)
    output = np.empty_like(query)
    for head in range(heads):
        for row in range(0, n, block * together):
            rows = slice(row, row + block * together)
            first = min(max(row - window, 0), n - columns - block * (together - 1))
            keys, values = (
                np.lib.stride_tricks.as_strided(
                    array[head, first:],
                    (together, columns, width),
                    (block * array.strides[1], *array.strides[1:]),
                )
                for array in (key, value)
            )
            np.matmul(
                query[head, rows].reshape(together, block, width),
                keys.swapaxes(-1, -2),
                out=scores,
            )
            np.exp(scores, out=scores)
            np.matmul(scores, values, out=output[head, rows].reshape(together, block, width))
    return output


def row_blocks(query, key, value, rows=128):
    """Dense attention in NumPy, a block of full rows at a time: softmax in place, then the product.

    Parameters
    ----------
    query, key, value : numpy.ndarray, shape (heads, n, width)
        Of one float dtype.
    rows : int
        How many queries at a time.

    Returns
    -------
    numpy.ndarray, shape (heads, n, width)
        The output.
    """
    heads, n, width = query.shape
    scores = np.empty((rows, key.shape[1]), query.dtype)
    output = np.empty_like(query)
    query = query * query.dtype.type(width**-0.5)
    for head in range(heads):
        for row in range(0, n, rows):
            some = slice(row, min(row + rows, n))
            tile = scores[: some.stop - row]  # (r, n)
            np.matmul(query[head, some], key[head].T, out=tile)
            tile -= tile.max(-1, keepdims=True)
            np.exp(tile, out=tile)
            np.matmul(tile, value[head], out=output[head, some])
            output[head, some] /= tile.sum(-1, keepdims=True)
    return output


def torch_row_blocks(query, key, value, rows=128):
    """Dense attention in torch, a block of full rows at a time, with unfused products and softmax.

    Parameters
    ----------
    query, key, value : torch.Tensor, shape (heads, n, width)
        Of one float dtype.
    rows : int
        How many queries at a time.

    Returns
    -------
    torch.Tensor, shape (heads, n, width)
        The output.
    """
    import torch

    output = torch.empty_like(query)
    query = query * query.shape[-1] ** -0.5
    for row in range(0, query.shape[1], rows):
        weights = torch.softmax(query[:, row : row + rows] @ key.mT, -1)  # (heads, r, n)
        torch.bmm(weights, value, out=output[:, row : row + rows])
    return output


def masked_kernel(query, key, value, mask):
    """Torch's fused attention under a dense boolean mask: what a sparse pattern costs without structure."""
    from torch.nn import functional

    return functional.scaled_dot_product_attention(query, key, value, mask)


def compiled_flex(query, key, value, sees):
    """Return a call of torch's `flex_attention`, compiled for these inputs, with a block mask.

    Parameters
    ----------
    query, key, value : torch.Tensor, shape (batch, heads, n, width)
        The inputs.
    sees : callable
        ``sees(batch, head, i, j)``: whether query i may attend to key j.

    Returns
    -------
    callable
        Without arguments; it returns the output. Compiling and making the block mask are not in it.
    """
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    n = query.shape[-2]
    mask = create_block_mask(sees, None, None, n, n, device="cpu")
    flex = torch.compile(flex_attention, dynamic=False)
    return lambda: flex(query, key, value, block_mask=mask)


def step_with_joined_cache(layer, x, key, value):
    """One decoding step of a layer whose keys and values are joined anew each time (`torch.cat`).

    Parameters
    ----------
    layer : MultiHeadAttention
        Its parameters are used, with as few calls as it takes.
    x : torch.Tensor, shape (batch, 1, d_model)
        The new token.
    key, value : torch.Tensor, shape (batch, heads, n, d_head)
        What is stored.

    Returns
    -------
    output : torch.Tensor, shape (batch, 1, d_model)
    key, value : torch.Tensor, shape (batch, heads, n + 1, d_head)
        What is stored afterwards.
    """
    import torch
    from torch.nn import functional

    joint = functional.linear(x, layer.w_input.T, layer.b_input)  # (batch, 1, 3 * d_model)
    heads = joint.unflatten(-1, (3 * layer.n_heads, layer.d_head)).transpose(1, 2)
    q, k, v = heads.chunk(3, 1)  # (batch, heads, 1, d_head) each
    key, value = torch.cat([key, k], -2), torch.cat([value, v], -2)
    context = functional.scaled_dot_product_attention(q, key, value)
    merged = context.transpose(1, 2).flatten(-2)  # (batch, 1, d_model)
    return functional.linear(merged, layer.w_output.T, layer.b_output), key, value


def attention_rows(query, key, value, rows, **pattern):
    """Some rows of attention in float64, by definition: each query meets the keys it sees, no others.

    Parameters
    ----------
    query, key, value : numpy.ndarray, shape (heads, n, width)
        The inputs.
    rows : sequence of int
        Which queries.
    **pattern
        As in `attnkit.tiles.visible_keys`; without any, every key is seen.

    Returns
    -------
    numpy.ndarray, shape (heads, len(rows), width)
        Their outputs.
    """
    n = key.shape[1]
    output = np.empty((len(query), len(rows), value.shape[-1]))
    for place, row in enumerate(rows):
        seen = visible_keys(row, n, n, **pattern) if pattern else slice(None)
        scores = np.einsum("hd,hnd->hn", query[:, row].astype(float), key[:, seen].astype(float))
        scores *= query.shape[-1] ** -0.5
        weights = np.exp(scores - scores.max(-1, keepdims=True))  # (heads, seen)
        weights /= weights.sum(-1, keepdims=True)
        output[:, place] = np.einsum("hn,hnd->hd", weights, value[:, seen].astype(float))
    return output


def linear_rows(of_query, of_key, value, rows, ends):
    """Some rows of linear attention in float64, by definition, from features of queries and keys.

    Parameters
    ----------
    of_query, of_key : numpy.ndarray, shape (heads, n, f)
        Features in float64.
    value : numpy.ndarray, shape (heads, n, width)
        The values.
    rows, ends : sequence of int
        Which queries, and how many keys each of them sees.

    Returns
    -------
    numpy.ndarray, shape (heads, len(rows), width)
        Their outputs; 0 where a query sees no key.
    """
    output = np.zeros((len(value), len(rows), value.shape[-1]))
    for place, (row, end) in enumerate(zip(rows, ends, strict=True)):
        weights = np.einsum("hf,hnf->hn", of_query[:, row], of_key[:, :end])
        total = weights.sum(-1, keepdims=True)
        weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
        output[:, place] = np.einsum("hn,hnd->hd", weights, value[:, :end].astype(float))
    return output
