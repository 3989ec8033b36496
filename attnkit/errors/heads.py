"""Checks of multi-head attention and of the cache of keys and values."""

from .arguments import (
    check_axes,
    check_leading,
    check_names,
    check_parameter,
    check_rows,
    check_size,
    keeps_last_axes,
    refuse_type,
)

__all__ = [
    "NOT_A_CACHE",
    "NOT_A_SCHEME",
    "NOT_LOADABLE",
    "NOT_PARAMETERS",
    "STORED",
    "check_bias",
    "check_cache_index",
    "check_cache_rows",
    "check_caches",
    "check_heads",
    "check_kind",
    "check_layer_mask",
    "check_multi_head",
    "check_sequences",
    "refuse_added_keys",
    "refuse_gradient",
    "refuse_widths",
]

NOT_A_CACHE = "new_cache makes the one that a layer takes, new_caches those of a whole model"
NOT_A_SCHEME = "a scheme is an object, such as RotaryPositions(), not its name"
NOT_LOADABLE = "from_torch copies the parameters of this one class; others differ in layout"
NOT_PARAMETERS = "weights and biases go in by name, such as {'w_query': ..., 'b_query': ...}"
STORED = "keys and values are stored as floats"


def check_heads(d_model, n_heads, n_kv_heads=None, *, name="d_model"):
    """Return the three sizes, or refuse heads that do not share the width evenly.

    Parameters
    ----------
    d_model, n_heads : int
        The width and the number of heads that share it.
    n_kv_heads : int, optional
        The heads of keys and values, each shared by a group of query heads; n_heads if None.
    name : str
        What the width is called.

    Returns
    -------
    d_model, n_heads, n_kv_heads : int
        The sizes.

    Raises
    ------
    TypeError
        When a size is no whole number.
    ValueError
        When a size is below 1 or one does not divide the other.

    Examples
    --------
    >>> check_heads(10, 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: d_model is 10, not a multiple of n_heads, 3; ...
    """
    d_model = check_size(name, d_model)
    n_heads = check_size("n_heads", n_heads, minimum=1)
    n_kv_heads = n_heads if n_kv_heads is None else check_size("n_kv_heads", n_kv_heads, minimum=1)
    if d_model % n_heads:
        raise ValueError(
            f"{name} is {d_model}, not a multiple of n_heads, {n_heads}; "
            f"the heads share the width evenly (each would get {d_model / n_heads:.4g})"
        )
    if n_heads % n_kv_heads:
        raise ValueError(
            f"n_heads is {n_heads}, not a multiple of n_kv_heads, {n_kv_heads}; "
            "each head of keys and values serves a group of query heads, all groups equally large"
        )
    return d_model, n_heads, n_kv_heads


def check_cache_rows(key, value, stored, length):
    """Refuse keys and values that do not belong into a cache, or more of them than it has room for.

    Parameters
    ----------
    key, value : tuple of int
        Shapes ``(batch, n_kv_heads, new, d_head)``.
    stored : tuple of int
        The shape of the cache, ``(batch, n_kv_heads, capacity, d_head)``.
    length : int
        The rows stored so far.

    Raises
    ------
    ValueError
        When a shape does not fit or the rows overflow the cache.

    Examples
    --------
    >>> check_cache_rows((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 8, 4), 6)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: the cache holds 6 of at most 8 rows and has no room for 3 more; ...
    """
    batch, n_kv_heads, capacity, d_head = stored
    for name, shape in (("key", key), ("value", value)):
        if len(shape) != 4 or (shape[0], shape[1], shape[3]) != (batch, n_kv_heads, d_head):
            raise ValueError(
                f"{name} has shape {tuple(shape)} but the cache takes (batch, n_kv_heads, new, d_head) = "
                f"({batch}, {n_kv_heads}, new, {d_head}); split heads first (split_heads), and "
                "make one cache for each layer and batch size"
            )
    if key[2] != value[2]:
        raise ValueError(
            f"value has length {value[2]} but key has length {key[2]}; every key needs one value"
        )
    if length + key[2] > capacity:
        raise ValueError(
            f"the cache holds {length} of at most {capacity} rows and has no room for {key[2]} more; "
            "make it with the length of the whole sequence, prompt included"
        )


def check_caches(caches, n_layers, attribute):
    """Refuse caches that are not one for each layer.

    Parameters
    ----------
    caches : list or None
        What came; None is let through.
    n_layers : int
        The layers of the model.
    attribute : str
        What each cache has.

    Raises
    ------
    ValueError
        When there are more or fewer.
    TypeError
        When caches is no list, or something in it no such cache.

    Examples
    --------
    >>> check_caches([], 2, "length")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: caches holds 0 but the model has 2 layers; new_caches makes one for each...
    """
    if caches is None:
        return
    if not isinstance(caches, list | tuple):
        refuse_type("caches", type(caches).__name__, "a list", NOT_A_CACHE)
    if len(caches) != n_layers:
        raise ValueError(
            f"caches holds {len(caches)} but the model has {n_layers} layers; "
            "new_caches makes one for each, and each keeps its own keys and values"
        )
    for number, cache in enumerate(caches):
        check_kind(f"caches[{number}]", cache, attribute, "a cache", NOT_A_CACHE)


def check_kind(name, thing, attribute, expected, cause):
    """Refuse what lacks an attribute that everything of a kind has.

    Parameters
    ----------
    name : str
        The argument.
    thing : object
        What came.
    attribute : str
        What it needs.
    expected, cause : str
        See `refuse_type`.

    Raises
    ------
    TypeError
        When it has no such attribute.

    Examples
    --------
    >>> check_kind("cache", {}, "length", "a KVCache", "new_cache makes one")
    Traceback (most recent call last):
    TypeError: cache must be a KVCache but is dict; new_cache makes one
    """
    if not hasattr(thing, attribute):
        refuse_type(name, type(thing).__name__, expected, cause)


def check_cache_index(shape, lowest, highest, batch):
    """Refuse an index of sequences that a cache does not hold.

    Parameters
    ----------
    shape : tuple of int
        The shape of the index, ``(new_batch,)``.
    lowest, highest : int
        The range of what it holds.
    batch : int
        The sequences in the cache.

    Raises
    ------
    ValueError
        When the index has not one axis or leaves the batch.

    Examples
    --------
    >>> check_cache_index((3,), 0, 2, 2)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: index must lie between 0 and 1 but reaches from 0 to 2; the cache holds 2 sequences ...
    """
    if len(shape) != 1:
        raise ValueError(
            f"index must have the shape (new_batch,) but has shape {tuple(shape)}; one number is one sequence"
        )
    if lowest < 0 or highest >= batch:
        raise ValueError(
            f"index must lie between 0 and {batch - 1} but reaches from {lowest} to {highest}; "
            f"the cache holds {batch} sequences (beams of a batch count on: sequence * beam_width + beam)"
        )


def check_layer_mask(shape, query_axes, scores):
    """Return whether a mask given to multi-head attention is one per head, or refuse its shape.

    Parameters
    ----------
    shape : tuple of int
        The shape of the mask.
    query_axes : int
        The number of axes of query, heads not split.
    scores : tuple of int
        The shape of the scores, ``(..., n_heads, m, n)``.

    Returns
    -------
    bool
        True for a mask with one axis more than query; False for one without a heads axis.

    Raises
    ------
    ValueError
        When the mask does not broadcast against ``(..., m, n)``, or with its heads axis against
        the scores.

    Examples
    --------
    >>> check_layer_mask((2, 1, 5), 3, (2, 8, 4, 5)), check_layer_mask((1, 8, 4, 5), 3, (2, 8, 4, 5))
    (False, True)
    """
    per_head = len(shape) == query_axes + 1
    target = scores if per_head else scores[:-3] + scores[-2:]
    if keeps_last_axes(shape, target, 3 if per_head else 2):
        return per_head
    if per_head:
        raise ValueError(
            f"mask has shape {tuple(shape)}, one axis more than query, so it is one mask for each head, "
            f"but does not broadcast against scores of shape {tuple(scores)}; "
            "a mask for all heads goes in without a heads axis, as (..., m, n)"
        )
    cause = "its last axes are queries and keys, in this order, each of full size or 1"
    if len(shape) == 2 and len(target) > 2 and shape == (target[0], target[-1]):
        cause = (
            "a mask of keys (B, n) needs its query axis: mask[:, None, :], as padding_mask gives it"
        )
    elif len(shape) >= 2 and shape[-2:] == (target[-1], target[-2]):
        cause = "queries and keys seem to be swapped"
    raise ValueError(
        f"mask has shape {tuple(shape)}, which does not broadcast against (..., m, n) = {tuple(target)} "
        f"(the heads axis is inserted); {cause}"
    )


def check_multi_head(query, key, value, parameters, n_heads, n_kv_heads):
    """Return the number of heads of keys, or refuse shapes that make no multi-head attention.

    Parameters
    ----------
    query, key, value : tuple of int
        Shapes ``(..., m, d_query)``, ``(..., n, d_key)`` and ``(..., n, d_value)``.
    parameters : mapping from str to tuple of int
        Shapes of ``w_query (d_query, n_heads * d_head)``, ``w_key (d_key, n_kv_heads * d_head)``,
        ``w_value (d_value, n_kv_heads * d_v)``, ``w_output (n_heads * d_v, d_out)`` and their
        biases ``b_…``, which may be left out.
    n_heads : int
        Heads of queries.
    n_kv_heads : int or None
        Heads of keys and values; n_heads if None.

    Returns
    -------
    n_heads, n_kv_heads : int
        The heads of queries, and of keys and values.

    Raises
    ------
    TypeError
        When a number of heads is no whole number.
    ValueError
        When a shape does not fit, a weight is missing or a name unknown.
    """
    check_sequences(query, key, value)
    check_names("parameters", parameters, ("w_query", "w_key", "w_value", "w_output"), "w_")
    for name in ("w_query", "w_key", "w_value", "w_output"):
        check_axes(name, parameters[name], "(d_in, d_out)")
    width, n_heads, n_kv_heads = check_heads(
        parameters["w_query"][1], n_heads, n_kv_heads, name="the width of query @ w_query"
    )
    if parameters["w_value"][1] % n_kv_heads:
        raise ValueError(
            f"the width of value @ w_value is {parameters['w_value'][1]}, not a multiple of n_kv_heads, "
            f"{n_kv_heads}; the heads share the width evenly"
        )
    d_v = parameters["w_value"][1] // n_kv_heads
    expected = {
        "query": {"d_query": query[-1], "n_heads * d_head": width},
        "key": {"d_key": key[-1], "n_kv_heads * d_head": width // n_heads * n_kv_heads},
        "value": {"d_value": value[-1], "n_kv_heads * d_v": n_kv_heads * d_v},
    }
    for name, sizes in expected.items():
        check_parameter(f"w_{name}", parameters[f"w_{name}"], **sizes)
        check_bias(f"b_{name}", parameters, list(sizes.values())[1])
    check_rows("w_output", parameters["w_output"], "n_heads * d_v", n_heads * d_v)
    check_bias("b_output", parameters, parameters["w_output"][1])
    return n_heads, n_kv_heads


def check_sequences(query, key, value, d_model=None):
    """Refuse three sequences that cannot be attended together.

    Parameters
    ----------
    query, key, value : tuple of int
        Shapes ``(..., m, d)`` and twice ``(..., n, d)``; widths may differ.
    d_model : int, optional
        The width that all must have.

    Raises
    ------
    ValueError
        When an axis is missing, a width is not d_model, the lengths of key and value differ, or
        leading axes do not broadcast.

    Examples
    --------
    >>> check_sequences((2, 5, 8), (2, 5, 6), (2, 5, 8), d_model=8)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: key has width 6 but d_model is 8; ...
    """
    for name, shape in (("query", query), ("key", key), ("value", value)):
        if name != "query" and shape == query:
            continue  # nothing new, as in self-attention
        check_axes(name, shape, f"(..., {'m' if name == 'query' else 'n'}, d_model)")
        if d_model is not None and shape[-1] != d_model:
            raise ValueError(
                f"{name} has width {shape[-1]} but d_model is {d_model}; "
                "heads are split inside, so whole embeddings go in, (..., length, d_model)"
            )
    if key[-2] != value[-2]:
        raise ValueError(
            f"value has length {value[-2]} but key has length {key[-2]}; "
            "every key needs one value (did key and value come from different sequences?)"
        )
    if not query == key == value:
        check_leading(query=query[:-2], key=key[:-2], value=value[:-2])


def check_bias(name, parameters, width):
    """Refuse a bias of the wrong shape; one that is not there is no bias.

    Parameters
    ----------
    name : str
        Its name in the mapping.
    parameters : mapping from str to tuple of int
        Shapes by name.
    width : int
        The width it is added to.

    Raises
    ------
    ValueError
        When its shape is not ``(width,)``.
    """
    if name in parameters and tuple(parameters[name]) != (width,):
        raise ValueError(
            f"{name} has shape {tuple(parameters[name])} but is added to rows of width {width}; "
            f"it needs the shape ({width},)"
        )


def refuse_gradient():
    """Raise the ValueError for keys or values that ask for a gradient on their way into a cache.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        "key or value asks for a gradient, but a cache keeps numbers, not what gradients need; "
        "generate under torch.no_grad(), train without a cache"
    )


def refuse_widths(d_model, d_key, d_value):
    """Raise the ValueError for a foreign module whose keys or values have another width.

    Parameters
    ----------
    d_model, d_key, d_value : int
        Its widths.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        f"module has embed_dim {d_model}, kdim {d_key} and vdim {d_value}; only equal widths can be loaded "
        "(multi_head_attention takes unequal ones, as parameters)"
    )


def refuse_added_keys():
    """Raise the ValueError for a foreign module that adds keys of its own.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(
        "module adds keys of its own (add_bias_kv or add_zero_attn); attention here sees only what is given"
    )
