"""Learning rates as functions of the step, in plain Python: both back ends hand them on."""

from attnkit.errors import check_size

__all__ = ["warmup_schedule"]


def warmup_schedule(step: int, d_model: int, warmup: int) -> float:
    r"""Learning rate that climbs in a straight line, then sinks with the root of the step.

    Parameters
    ----------
    step : int
        Counted from 1.
    d_model : int
        Width of the model; four times the width halves the rate.
    warmup : int
        Number of steps after which the rate is highest. With 1 it only sinks.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        When an argument is below 1.
    TypeError
        When an argument is not a whole number.

    Notes
    -----
    :math:`d_\text{model}^{-1/2} \min(s^{-1/2},\, s \cdot w^{-3/2})` at step `s` of `w` steps of
    warm-up: equation 3 of Vaswani et al. (2017), "Attention Is All You Need", section 5.3.

    Examples
    --------
    >>> [round(warmup_schedule(step, 16, 100), 4) for step in (1, 50, 100, 400)]
    [0.0003, 0.0125, 0.025, 0.0125]
    """
    step = check_size("step", step, 1, "steps count from 1")
    d_model, warmup = check_size("d_model", d_model, 1), check_size("warmup", warmup, 1)
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
