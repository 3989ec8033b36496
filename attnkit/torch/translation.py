"""The dates task and a translator together: how chapters 1, 3, 4 and 9 train one and score it."""

from dataclasses import dataclass

import numpy as np
import torch

from ._examples import placed, tensors
from .training import alignment_accuracy, exact_match, fit, masked_cross_entropy

__all__ = [
    "TranslationScores",
    "looks_by_kind",
    "score_translator",
    "train_translator",
    "translation_loss",
]

KINDS = ("year", "month", "day", "weekday")  # as a Chinese date is written


@dataclass(frozen=True)
class TranslationScores:
    """How good the translations of a split are, and the translations themselves.

    Attributes
    ----------
    exact_match : float
        Share of lists translated without a single wrong token.
    token_accuracy : float
        Share of target tokens (end included) that stand in their place.
    alignment_accuracy : float or None
        Share of aligned tokens that look most at the source token they translate; None without
        weights. Where there are layers and heads, the heads of the last layer look together: their
        mean counts.
    predicted : Tensor of int64, (N, T)
        The translations.
    weights : Tensor, (N, T, S) or (N, n_layers, n_heads, T, S), or None
        Where each step looked.

    Examples
    --------
    >>> from attnkit.tasks.dates import load_dates
    >>> from attnkit.torch import Translator
    >>> dates = load_dates((1,), n_train=4, n_test=2)
    >>> sizes = len(dates.source_vocabulary), len(dates.target_vocabulary)
    >>> model = Translator(*sizes, attention="luong", d_embedding=3, d_state=4)
    >>> scores = score_translator(model, dates.test[1], dates.target_vocabulary)
    >>> 0 <= scores.exact_match <= scores.token_accuracy <= 1
    True
    """

    exact_match: float
    token_accuracy: float
    alignment_accuracy: float | None
    predicted: torch.Tensor
    weights: torch.Tensor | None


def translation_loss(
    model, source, target, source_mask, target_mask, *, start, label_smoothing=0.0
):
    """Masked cross-entropy of a batch under teacher forcing.

    The decoder reads the start token and then the *right* previous tokens, whatever it would have
    written itself, and is asked for the next token at every position.

    Parameters
    ----------
    model : Translator or Transformer
        Called as ``model(source, read, source_mask)``.
    source, target : Tensor of int, (B, S) and (B, T)
        Source and target tokens.
    source_mask, target_mask : Tensor of bool, (B, S) and (B, T)
        True where there is a token.
    start : int
        The token that opens a target.
    label_smoothing : float
        See `masked_cross_entropy`.

    Returns
    -------
    Tensor, ()

    Examples
    --------
    >>> from attnkit.torch import Translator
    >>> model = Translator(7, 5, attention="luong", d_embedding=3, d_state=4)
    >>> source, target = torch.tensor([[3, 1, 4]]), torch.tensor([[2, 4]])
    >>> translation_loss(model, source, target, source > 0, target > 0, start=0).shape
    torch.Size([])
    """
    first = torch.full((len(target), 1), start, device=target.device)
    read = torch.cat([first, target[:, :-1]], dim=1)  # (B, T): the target, one place later
    logits, _ = model(source, read, source_mask)  # (B, T, V)
    return masked_cross_entropy(logits, target, target_mask, label_smoothing=label_smoothing)


def train_translator(
    model,
    dates,
    *,
    n_steps,
    batch_size=32,
    learning_rate=6e-3,
    label_smoothing=0.0,
    seed=0,
    report=None,
    report_at=(),
    label="training",
):
    """Train a translator on the training splits of a dates task.

    Each step draws one number of dates, then a batch of lists of that length: all rows are equally
    long, so no time goes into padding.

    Parameters
    ----------
    model : Translator or Transformer
        Changed in place. The lists are moved to its device.
    dates : attnkit.tasks.dates.Dates
        The task.
    n_steps, batch_size : int
        How many batches, and lists in each.
    learning_rate : float or callable
        See `fit`.
    label_smoothing : float
        See `masked_cross_entropy`.
    seed : int
        Decides which lists are drawn.
    report, report_at, label
        See `fit`.

    Returns
    -------
    History

    Examples
    --------
    >>> from attnkit.tasks.dates import load_dates
    >>> from attnkit.torch import Translator
    >>> dates = load_dates((1,), n_train=4, n_test=2)
    >>> sizes = len(dates.source_vocabulary), len(dates.target_vocabulary)
    >>> model = Translator(*sizes, attention="luong", d_embedding=3, d_state=4)
    >>> len(train_translator(model, dates, n_steps=2, batch_size=2).loss)
    2
    """
    generator = np.random.default_rng(seed)
    splits = [_examples_of(split, model) for split in dates.train.values()]
    start = dates.target_vocabulary.start

    def batch_loss(step):
        split = splits[generator.integers(len(splits))]
        rows = torch.from_numpy(generator.integers(len(split[0]), size=batch_size))
        rows = rows.to(split[0].device)
        batch = (tensor[rows] for tensor in split)
        return translation_loss(model, *batch, start=start, label_smoothing=label_smoothing)

    return fit(
        model,
        batch_loss,
        n_steps=n_steps,
        learning_rate=learning_rate,
        report=report,
        report_at=report_at,
        label=label,
    )


def score_translator(model, split, vocabulary, *, return_weights=None):
    """Translate a split greedily and compare with what is right.

    Parameters
    ----------
    model : Translator or Transformer
        Called through `translate`. The split is moved to its device, and the answers stay there.
    split : attnkit.tasks.dates.Split
        What to translate.
    vocabulary : attnkit.tasks.dates.Vocabulary
        The target vocabulary.
    return_weights : bool, optional
        Handed to `translate`. When not given, the model does as it does by itself: a `Translator`
        returns its weights, a `Transformer` does not.

    Returns
    -------
    TranslationScores

    Examples
    --------
    >>> from attnkit.tasks.dates import load_dates
    >>> from attnkit.torch import Translator
    >>> dates = load_dates((1,), n_train=4, n_test=2)
    >>> sizes = len(dates.source_vocabulary), len(dates.target_vocabulary)
    >>> model = Translator(*sizes, attention="luong", d_embedding=3, d_state=4)
    >>> scores = score_translator(model, dates.test[1], dates.target_vocabulary)
    >>> len(scores.predicted)
    2
    """
    asked = {} if return_weights is None else {"return_weights": return_weights}
    source, target, source_mask, target_mask = _examples_of(split, model)
    predicted, weights = model.translate(
        source,
        source_mask,
        start=vocabulary.start,
        end=vocabulary.end,
        max_length=target.shape[1],
        **asked,
    )
    alignment = torch.from_numpy(split.alignment).to(target.device)
    return TranslationScores(
        exact_match=exact_match(predicted, target, target_mask),
        token_accuracy=_share((predicted == target)[target_mask]),
        alignment_accuracy=None
        if weights is None
        else alignment_accuracy(_look(weights), alignment),
        predicted=predicted,
        weights=weights,
    )


def looks_by_kind(weights, split):
    """Return how often the largest weight lies on the word that is translated, and how often beside it.

    Parameters
    ----------
    weights : Tensor, (N, T, S) or (N, n_layers, n_heads, T, S)
        Where each step looked, as `score_translator` returns it.
    split : attnkit.tasks.dates.Split
        What was translated.

    Returns
    -------
    dict of str to dict of str to float
        For each kind of token (year, month, day, weekday) four shares: "on" the source token that
        it translates, "before" (one place to the left of that), "after" (one to the right),
        "elsewhere". They add up to 1; the mean of "on" is the alignment accuracy.

    Raises
    ------
    ValueError
        When there is no list.

    Examples
    --------
    >>> from attnkit.tasks.dates import load_dates
    >>> split = load_dates((1,), n_train=2, n_test=0).train[1]  # "Monday , May 1 , 2000" and the like
    >>> weights = torch.eye(6)[[1] * split.target.shape[1]].expand(2, -1, -1)  # all at the first comma
    >>> [max(shares, key=shares.get) for shares in looks_by_kind(weights, split).values()]
    ['elsewhere', 'before', 'elsewhere', 'after']
    """
    if len(split) == 0:
        raise ValueError(
            "split holds no list, so there is no look to count; were 0 lists asked for?"
        )
    alignment = torch.from_numpy(split.alignment).to(weights.device)  # (N, T)
    beside = (_look(weights).argmax(-1) - alignment)[alignment >= 0]
    # Each date has one token of each kind, in the same order, and whole dates are written.
    by_kind = beside.unflatten(0, (-1, len(KINDS)))  # (dates, kinds)
    return {
        kind: {
            "on": _share(distance == 0),
            "before": _share(distance == -1),
            "after": _share(distance == 1),
            "elsewhere": _share(distance.abs() > 1),
        }
        for kind, distance in zip(KINDS, by_kind.unbind(1), strict=True)
    }


def _share(cases):
    """Return the share of cases that hold, NaN of none."""
    return cases.cpu().double().mean().item()


def _look(weights):
    """Return where each step looked as one look, `(N, T, S)`: the last layer, its heads' mean."""
    return weights if weights.ndim == 3 else weights[:, -1].mean(1)


def _examples_of(split, model):
    """Return source, target and their masks where a model's parameters lie."""
    arrays = (split.source, split.target, split.source_mask, split.target_mask)
    return placed(model, *tensors(*arrays))
