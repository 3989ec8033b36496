"""Verdicts on the claims of the ledger, computed by the pages that measure them.

A page calls `settle` with the figure of its run and with the outcome of a rule written in code.
The directive ``{claim}`` shows the result on that page, and the ledger page collects all of them.
The claims themselves are listed in `book/claims.yml`.
"""

import json
import re
from typing import Any

from coursekit.site._publish import publish

HOLDS = "holds"
HOLDS_WITH_CONDITION = "holds with a condition"
DOES_NOT_HOLD = "does not hold here"

GLUE_PREFIX = "claim:"


def settle(identifier: str, *, figure: str, holds: Any, condition: str | None = None) -> str:
    """Record what this run found about one claim, and return the verdict.

    Parameters
    ----------
    identifier : str
        The claim's name in `book/claims.yml`, for example ``"C5"``.
    figure : str
        One sentence or phrase (inline Markdown, ``$…$`` included) with the figures of this run.
    holds : bool
        Whether the claim held, computed by a rule: a comparison of measured numbers.
    condition : str, optional
        Under what condition it holds. Ignored where `holds` is false.

    Returns
    -------
    str
        ``"holds"``, ``"holds with a condition"`` or ``"does not hold here"``.

    Raises
    ------
    ValueError
        If `identifier` is not of the form ``C5``, or if `figure` holds no digit.
    TypeError
        If `holds` is not a single truth value.

    Notes
    -----
    In a notebook the name glues three values: ``claim:C5`` for the directive, and ``C5_figure`` and
    ``C5_verdict`` for use in prose with ``{glue:text}``.

    Examples
    --------
    >>> ratio = 64.3 / 64
    >>> settle("C5", figure=f"variance is {ratio:.2f} times the width", holds=0.9 < ratio < 1.1)
    'holds'
    """
    if not isinstance(identifier, str) or not re.fullmatch(r"C[1-9]\d*", identifier):
        raise ValueError(
            f"identifier must look like 'C5', got {identifier!r}; "
            "the claims and their names are listed in book/claims.yml"
        )
    if not isinstance(figure, str) or not re.search(r"\d", figure):
        raise ValueError(
            f"figure must be text that states a figure of this run, got {figure!r}; "
            "a verdict without a number cannot be checked by a reader"
        )
    if type(holds).__name__ not in ("bool", "bool_"):  # NumPy's own truth value included
        raise TypeError(
            f"holds must be True or False, got {type(holds).__name__}; "
            "write the rule as a comparison, and reduce arrays with .all() or .any()"
        )
    if not holds:
        verdict = DOES_NOT_HOLD
    elif condition:
        verdict = HOLDS_WITH_CONDITION
    else:
        verdict = HOLDS
    record = {
        "figure": figure,
        "verdict": verdict,
        "condition": condition if verdict == HOLDS_WITH_CONDITION else None,
    }
    publish(GLUE_PREFIX + identifier, json.dumps(record))
    publish(f"{identifier}_figure", figure)
    publish(f"{identifier}_verdict", verdict)
    return verdict
