"""Losses and marks for sequences, and the one training loop that the course's pages use."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch.nn import functional

from attnkit import errors
from attnkit.errors import (
    check_alignment,
    check_classes,
    check_loss,
    check_same_shape,
    check_size,
)
from attnkit.progress import progress
from attnkit.schedules import warmup_schedule

from ._tensors import _check_tensor, _float_tensor

__all__ = [
    "History",
    "alignment_accuracy",
    "exact_match",
    "fit",
    "fit_on_draws",
    "masked_cross_entropy",
    "one_cycle_schedule",
    "warmup_schedule",
]


def masked_cross_entropy(logits, target, mask, *, label_smoothing=0.0):
    r"""Mean cross-entropy over the positions where the mask is True.

    A padded position costs nothing, and whatever stands there (NaN included) has no influence on
    loss or gradient: it is left out of the sum and of the count.

    Parameters
    ----------
    logits : Tensor, (..., T, V)
        Scores of `V` classes before softmax.
    target : Tensor of int, (..., T)
        The right class of each position.
    mask : Tensor of bool, (..., T)
        True where a position counts.
    label_smoothing : float
        ε in [0, 1): the right class is worth 1 − ε, and ε is spread over all `V` classes alike.

    Returns
    -------
    Tensor, ()
        float32 or wider; 0 where no position counts.

    Raises
    ------
    ValueError
        If shapes do not fit together or a counted target is no class.
    TypeError
        If `target` does not hold whole numbers, `mask` is not boolean or `logits` is complex.

    Notes
    -----
    A position with right class `c` costs :math:`-\log p_c`, where `p` is the softmax of its
    logits; label smoothing as in section 7 of Szegedy et al., "Rethinking the Inception
    Architecture for Computer Vision" (2016).

    Examples
    --------
    >>> logits = torch.tensor([[0.0, 0.0], [torch.nan, torch.nan]])
    >>> mask = torch.tensor([True, False])
    >>> round(masked_cross_entropy(logits, torch.tensor([1, 0]), mask).item(), 6)  # log 2
    0.693147
    """
    _check_tensors(target=target, mask=mask)
    logits = _wide(logits)
    check_loss(logits.shape, target.shape, mask.shape, label_smoothing)
    _check_boolean("mask", mask)
    logits, target = logits[mask], _whole("target", target)[mask]  # (counted, V), (counted,)
    if len(target) == 0:
        return logits.sum()  # zero, and differentiable
    check_classes("target", int(target.min()), int(target.max()), logits.shape[-1])
    return functional.cross_entropy(logits, target, label_smoothing=label_smoothing)


def exact_match(predicted, target, mask):
    """Share of sequences in which every position that counts is right.

    One wrong token makes the whole sequence wrong: a date with a wrong year is a wrong date.

    Parameters
    ----------
    predicted, target : Tensor of int, (..., T)
        Tokens, position by position.
    mask : Tensor of bool, (..., T)
        True where a position counts. A sequence without such a position is left out.

    Returns
    -------
    float
        Between 0 and 1; 0 where there is no sequence to score.

    Raises
    ------
    ValueError
        If the shapes differ.
    TypeError
        If tokens are no whole numbers or `mask` is not boolean.

    Examples
    --------
    >>> target = torch.tensor([[1, 2, 0], [1, 2, 3]])
    >>> mask = torch.tensor([[True, True, False], [True, True, True]])
    >>> exact_match(torch.tensor([[1, 2, 9], [1, 3, 3]]), target, mask)
    0.5
    """
    _check_tensors(predicted=predicted, target=target, mask=mask)
    check_same_shape("predicted", predicted.shape, "target", target.shape)
    check_same_shape("mask", mask.shape, "target", target.shape)
    _check_boolean("mask", mask)
    right = (_whole("predicted", predicted) == _whole("target", target)) | ~mask
    return _share(right.all(dim=-1), mask.any(dim=-1))


def alignment_accuracy(weights, alignment):
    """Share of target positions that put their largest attention weight on their source position.

    Parameters
    ----------
    weights : Tensor, (..., T, n)
        Attention weights of `T` decoding steps over `n` source positions.
    alignment : Tensor of int, (..., T)
        The right source position; -1 where there is none (function words, padding): not scored.

    Returns
    -------
    float
        Between 0 and 1; 0 where there is nothing to score. Of equal weights the first counts.

    Raises
    ------
    ValueError
        If shapes do not fit together or `alignment` names a position that `weights` does not have.
    TypeError
        If `alignment` does not hold whole numbers or `weights` no real ones.

    Examples
    --------
    >>> weights = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]])
    >>> alignment_accuracy(weights, torch.tensor([0, 1, -1]))
    0.5
    """
    _check_tensors(alignment=alignment)
    weights, alignment = _float_tensor("weights", weights), _whole("alignment", alignment)
    largest = int(alignment.max()) if alignment.numel() else -1
    check_alignment(weights.shape, alignment.shape, largest)
    if weights.shape[-1] == 0:  # argmax over nothing is undefined; nothing can be scored either
        return 0.0
    return _share(weights.argmax(dim=-1) == alignment, alignment >= 0)


@dataclass
class History:
    """What `fit` saw.

    Attributes
    ----------
    loss : list of float
        Training loss of every step.
    reports : dict of int to object
        What `report` returned, by the number of steps done before it was asked.
    cpu_seconds : float
        Processor time of the training steps alone, reports left out.

    Examples
    --------
    >>> History(loss=[0.9, 0.4]).loss[-1]
    0.4
    """

    loss: list[float] = field(default_factory=list)
    reports: dict[int, object] = field(default_factory=dict)
    cpu_seconds: float = 0.0


def fit(
    model: torch.nn.Module,
    batch_loss: Callable[[int], torch.Tensor],
    *,
    n_steps: int,
    learning_rate: float | Callable[[int], float],
    clip_norm: float | None = 1.0,
    report: Callable[[], object] | None = None,
    report_at: Iterable[int] = (),
    label: str = "training",
) -> History:
    """Train a model with Adam: a loss for each step, a schedule, clipped gradients, nothing else.

    A person who watches sees a progress bar; in a book, a test or a log it prints nothing.

    Parameters
    ----------
    model : Module
        Its parameters are changed in place. It is left in evaluation mode.
    batch_loss : callable
        ``batch_loss(step) -> loss`` for step 1, 2, …, `n_steps`: draws a batch, returns its loss.
    n_steps : int
        How often the parameters are moved.
    learning_rate : float or callable
        A number is the peak of a one-cycle schedule (`one_cycle_schedule`); a callable gives the
        rate of each step, counted from 1.
    clip_norm : float, optional
        Gradients longer than this, all parameters taken together, are scaled down to it.
    report : callable, optional
        Called without arguments in evaluation mode and without gradients.
    report_at : iterable of int
        After which steps `report` is called.
    label : str
        Stands before the progress bar.

    Returns
    -------
    History
        Loss of every step, reports, and processor time.

    Raises
    ------
    ValueError
        If `n_steps` is negative or a step of `report_at` is never reached.
    TypeError
        If `n_steps` is not a whole number.
    FloatingPointError
        If the loss is no longer finite; the message names the step.

    Examples
    --------
    >>> model = torch.nn.Linear(1, 1)
    >>> x = torch.linspace(-1, 1, 8)[:, None]
    >>> history = fit(model, lambda step: (model(x) - 3 * x).square().mean(),
    ...               n_steps=200, learning_rate=0.1)
    >>> len(history.loss), history.loss[-1] < 1e-3
    (200, True)
    """
    n_steps = check_size("n_steps", n_steps)
    report_at = frozenset(report_at)
    if any(step < 1 or step > n_steps for step in report_at):
        listed = ", ".join(map(str, sorted(report_at)))
        raise ValueError(
            f"report_at must lie between 1 and n_steps = {n_steps} but is {listed}; steps count from 1"
        )
    if report_at and report is None:
        raise ValueError(
            f"report must be a function where report_at names steps ({len(report_at)} of them) but is "
            "None; was it forgotten?"
        )

    def rate(step: int) -> float:
        if callable(learning_rate):
            return learning_rate(step)
        return one_cycle_schedule(step, n_steps, learning_rate)

    optimiser = torch.optim.Adam(model.parameters(), lr=0.0)
    history = History()
    with progress(n_steps, label) as advance:
        for step in range(1, n_steps + 1):
            began = time.process_time()
            model.train()
            for group in optimiser.param_groups:
                group["lr"] = rate(step)
            optimiser.zero_grad()
            loss = batch_loss(step)
            value = loss.item()
            if not math.isfinite(value):
                raise FloatingPointError(
                    f"the loss is {value} at step {step}: is the learning rate too high, "
                    "or does a row have nothing to attend to?"
                )
            loss.backward()
            if clip_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
            optimiser.step()
            history.loss.append(value)
            history.cpu_seconds += time.process_time() - began
            if step in report_at:
                model.eval()
                with torch.no_grad():
                    history.reports[step] = report()
            advance(f"loss {value:.3f}")
    model.eval()
    return history


def fit_on_draws(
    model: torch.nn.Module,
    draw: Callable[
        [np.random.Generator], tuple[Sequence[torch.Tensor], torch.Tensor, torch.Tensor]
    ],
    *,
    n_steps: int,
    learning_rate: float | Callable[[int], float],
    seed: int = 0,
    label: str = "training",
) -> History:
    """Train a model, as `fit` does, on a task that draws each batch anew.

    Parameters
    ----------
    model : Module
        Called with the inputs of a batch; returns logits ``(..., T, V)``. Changed in place.
    draw : callable
        ``draw(generator) -> inputs, target, counts``: a sequence of inputs, the right classes
        ``(..., T)``, and True where one is asked for. The loss is `masked_cross_entropy`.
    n_steps : int
        How many batches.
    learning_rate : float or callable
        See `fit`.
    seed : int
        Decides the batches, the same for every model: the generator is NumPy's.
    label : str
        See `fit`.

    Returns
    -------
    History

    Raises
    ------
    ValueError
        When a batch is empty, so that there is nothing to learn from.
    ValueError, TypeError, FloatingPointError
        See `fit` and `masked_cross_entropy`.

    Examples
    --------
    Which of two numbers is the larger one?

    >>> def draw(generator):
    ...     pair = torch.from_numpy(generator.random((16, 2)))
    ...     return [pair], pair.argmax(-1), torch.ones(16, dtype=torch.bool)
    >>> model = torch.nn.Linear(2, 2, dtype=torch.float64)
    >>> history = fit_on_draws(model, draw, n_steps=100, learning_rate=0.1)
    >>> sum(history.loss[-5:]) < sum(history.loss[:5])
    True
    """
    generator = np.random.default_rng(seed)

    def batch_loss(step: int) -> torch.Tensor:
        inputs, target, counts = draw(generator)
        if counts.numel() == 0:
            raise ValueError(
                f"draw returned a batch of shape {tuple(counts.shape)}, but training needs at least "
                "one answer; is batch_size 0?"
            )
        return masked_cross_entropy(model(*inputs), target, counts)

    return fit(model, batch_loss, n_steps=n_steps, learning_rate=learning_rate, label=label)


def one_cycle_schedule(step: int, n_steps: int, peak: float) -> float:
    """Learning rate that climbs along a cosine to its peak and then sinks along one to almost zero.

    Parameters
    ----------
    step : int
        Counted from 1.
    n_steps : int
        Length of the whole run; the peak is reached after three tenths of it.
    peak : float
        Largest rate.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        When step does not lie between 1 and n_steps.

    Notes
    -----
    Smith and Topin, "Super-Convergence" (2018); start (peak / 25), end (peak / 250,000) and the
    share of the climb are torch's defaults, and so are the values.

    Examples
    --------
    >>> [round(one_cycle_schedule(step, 100, 1.0), 2) for step in (1, 30, 65, 100)]
    [0.04, 1.0, 0.5, 0.0]
    """
    if not 1 <= step <= n_steps:
        raise ValueError(
            f"step must lie between 1 and n_steps = {n_steps} but is {step}; steps count from 1"
        )
    start, end = peak / 25, peak / 25e4
    top = 0.3 * n_steps - 1  # counted from 0, as the last step n_steps - 1
    if step - 1 <= top:
        return _cosine(start, peak, (step - 1) / top if top > 0 else 1.0)
    return _cosine(peak, end, (step - 1 - top) / (n_steps - 1 - top))


def _cosine(first: float, last: float, done: float) -> float:
    return last + (first - last) * (1 + math.cos(math.pi * done)) / 2


def _share(right, counts):
    """Mean of `right` over the entries that count; 0 where none does."""
    total = int(counts.sum())
    return int((right & counts).sum()) / total if total else 0.0


def _wide(logits):
    """Single precision at least: a loss summed in half precision loses its small terms."""
    logits = _float_tensor("logits", logits)
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def _check_tensors(**tensors):
    """Refuse arguments that are no tensors, before anything is asked of them."""
    for name, tensor in tensors.items():
        _check_tensor(name, tensor)


def _check_boolean(name, mask):
    """Refuse a mask that is not boolean: one of 0.0 and 1.0 would pick positions, not mark them."""
    if mask.dtype != torch.bool:
        errors.refuse_type(name, mask.dtype, "boolean", errors.NOT_COUNTED)


def _whole(name, tensor):
    is_whole = not (tensor.dtype.is_floating_point or tensor.dtype.is_complex)
    is_whole = is_whole and tensor.dtype != torch.bool
    # An empty tensor is float32 unless told otherwise; it holds nothing that is not whole.
    if tensor.numel() and not is_whole:
        errors.refuse_type(name, tensor.dtype, "integers", errors.NOT_CLASSES)
    return tensor.long()
