"""Ready-made laws: what must stay the same when a question is put in another way."""

from .compare import TOLERANCE, same_values
from .model import Law

__all__ = ["same", "sums_to_one"]


def same(statement, requests, otherwise, *, undo=lambda result: result, part="plain"):
    """The law that two ways of asking give the same results.

    Parameters
    ----------
    statement : str
        The law, as a sentence without its full stop.
    requests : callable
        ``requests(random) -> [one way, other way]``.
    otherwise : str
        What is wrong if the results differ; continues "statement: …".
    undo : callable
        Takes a result of the second way back to what the first should have given: if the keys were
        turned round, turn the columns back.
    part : str
        The part of the exercise that the law counts for.

    Returns
    -------
    Law
    """

    def broken(requests, values):
        one, other = values
        pairs = zip(one, other, strict=True)
        if all(same_values(a, undo(b), TOLERANCE["float64"]) for a, b in pairs):
            return None
        return otherwise

    return Law(statement, requests, broken, part)


def sums_to_one(requests, *, part="plain"):
    """The law that weights are not negative and sum to one along the last axis, in every result."""

    def broken(requests, values):
        for result in values[0]:
            total = result.sum(axis=-1)
            if (result < 0).any() or not same_values(total * 0 + 1, total, TOLERANCE["float64"]):
                return f"a row sums to {total.flat[abs(total - 1).argmax()]:.6g}."
        return None

    return Law("Weights are not negative, and each row sums to one", requests, broken, part)
