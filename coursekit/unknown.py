"""Saying that a name is not known: the nearest few that are, and where to find all of them."""

import difflib
from collections.abc import Sequence

__all__ = ["nearest", "there_is_no"]

FEW = 12
"""So many names are listed at once; more would bury the sentence they stand in."""


def nearest(name: str, known: Sequence[str], n: int = 3) -> tuple[str, ...]:
    """The `n` names at most that are like `name`, the most similar first.

    A part of a name counts as similar, and capital letters, hyphens and spaces do not matter.

    Examples
    --------
    >>> nearest("03.Scaled-dot", ["02.softmax", "03.scaled_dot_scores", "03.general_scores"])
    ('03.scaled_dot_scores',)
    >>> nearest("softmax", ["02.softmax", "06.masked_softmax"])
    ('02.softmax', '06.masked_softmax')
    >>> nearest("magic", ["02.softmax"])
    ()
    """
    plain = {_plain(candidate): candidate for candidate in known}
    wanted = _plain(name)
    similar = difflib.get_close_matches(wanted, plain, n=n)
    holding = [candidate for candidate in plain if len(wanted) > 2 and wanted in candidate]
    return tuple(plain[key] for key in dict.fromkeys((*similar, *holding)))[:n]


def there_is_no(kind: str, name: str, known: Sequence[str], listing: str) -> str:
    """The sentence, without its full stop, that there is no such thing, and what there is.

    Parameters
    ----------
    kind : str
        What the name should be a name of: "exercise".
    listing : str
        What to type to see all of them; only said where they are too many to be listed here.

    Examples
    --------
    >>> there_is_no("colour", "rad", ["red", "green"], "`colours`")
    "there is no colour 'rad'; near: red; all: red, green"
    >>> there_is_no("page", "Chapter", [f"page{n}" for n in range(90)], "`pages`")
    "there is no page 'Chapter'; `pages` lists all 90"
    """
    near = nearest(name, known)
    said = [f"there is no {kind} {name!r}"]
    if near:
        said.append(f"near: {', '.join(near)}")
    if len(known) > FEW:
        said.append(f"{listing} lists all {len(known)}")
    elif known:
        said.append(f"all: {', '.join(known)}")
    return "; ".join(said)


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")
