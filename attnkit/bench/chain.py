"""How many operations had to wait for one another: a cost that is counted, not timed."""


def longest_chain(result: object) -> int:
    """Count the longest chain of operations that a tensor was computed by, each on what one before gave.

    With any number of processors a computation still takes so many steps, one after the other.

    Parameters
    ----------
    result : torch.Tensor
        What was computed, with gradients: torch keeps the graph of operations to go back through it.

    Returns
    -------
    int
        Nodes on the longest way through the graph. A leaf that keeps its gradient is a node too.

    Raises
    ------
    ValueError
        When nothing was recorded for `result`.

    Examples
    --------
    >>> import torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> longest_chain(x.exp().sin() + x)  # x, exp, sin, the sum; x alone is the shorter way
    4
    """
    if result.grad_fn is None:
        raise ValueError(
            "result has no graph of operations; compute it from something with requires_grad, "
            "and not under torch.no_grad()"
        )
    length, waiting = {}, [result.grad_fn]
    while waiting:  # not by recursion: chains are longer than Python's stack
        node = waiting[-1]
        before = [parent for parent, _ in node.next_functions if parent is not None]
        unknown = [parent for parent in before if parent not in length]
        if unknown:
            waiting.extend(unknown)
        else:
            length[node] = 1 + max((length[parent] for parent in before), default=0)
            waiting.pop()
    return length[result.grad_fn]
