"""Hands a named value from a running page to the build; outside a notebook it does nothing."""

import sys
from typing import Any


def publish(name: str, value: Any) -> None:
    """Store `value` under `name` among the page's glued data, without displaying it.

    Parameters
    ----------
    name : str
        The key that ``{glue:text}`` and the course's own directives look up.
    value : object
        Text or a number; what is stored is its `repr`.

    Notes
    -----
    A page run as a plain script, or a doctest, has no build to talk to, so nothing happens there.

    Examples
    --------
    >>> publish("answer", 42)
    """
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        return
    from myst_nb import glue  # heavy, and of use inside a notebook only

    glue(name, value, display=False)
