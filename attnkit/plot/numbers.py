"""Numbers: which a figure takes for a series, and how it writes one; no drawing here."""

import numpy as np

NO_NUMBERS = "only real numbers can be drawn (None and text cannot, of complex ones np.abs)"
_DIVERGED = "a training run that diverged and the mean of an empty group both give NaN"


def as_vector(values, name: str, cause: str = _DIVERGED) -> np.ndarray:
    """Return `values` as a float64 vector, or say what is wrong with it and the likely `cause`."""
    if hasattr(values, "detach"):  # a torch tensor, recognised without importing torch
        values = values.detach().cpu().double()
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {values.dtype}; {NO_NUMBERS}")
    if values.ndim != 1:
        raise ValueError(
            f"{name} must have one axis, got shape {values.shape}; choose one row first, "
            f"for instance {name}[0], or flatten it"
        )
    values = values.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(
            f"{name} must be finite, got {values[bad[0]]} at position {bad[0]}; {cause}"
        )
    return values


def short_number(number: float, top: float) -> str:
    """Return a number as it is written into a figure whose largest number is `top`.

    Examples
    --------
    >>> short_number(0.256, top=1.0), short_number(25.6, top=30.0), short_number(256.1, top=300.0)
    ('0.26', '25.6', '256')
    >>> short_number(0.00256, top=0.004), short_number(-1e20, top=1e20)
    ('0.0026', '−1e+20')
    """
    if number and (0 < top < 0.1 or abs(number) >= 1e15):  # two decimals would tell nothing apart
        return f"{number:.2g}".replace("-", "−")
    text = f"{number:.2f}" if top < 10 else f"{number:.1f}" if top < 100 else f"{number:.0f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def plain_number(number: float) -> str:
    """Return a number as a person would read it out: no power of ten where digits will do."""
    if 1000 <= abs(number) < 1e7 or number == int(number):
        return f"{number:.0f}"
    return f"{number:.3g}"
