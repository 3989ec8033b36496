"""Chapter 9's table of norms: post- and pre-norm, with and without warm-up, at three rates.

Four layers a stack, so that it matters. It takes about four minutes of processor time, too much
for a page, so its result is recorded in `book/data/transformer_norms.json` and the page shows
that. To record it anew:

    OMP_NUM_THREADS=1 python book/scripts/transformer_norms.py
"""

from pathlib import Path

import torch

from attnkit.bench import run_and_record
from attnkit.tasks.dates import load_dates
from attnkit.torch import Transformer
from attnkit.torch.translation import score_translator, train_translator

RECORD = Path(__file__).parents[1] / "data" / "transformer_norms.json"
SEEDS = (0, 1)
N_DATES = (1, 2)
SIZES = {"d_model": 32, "n_heads": 4, "n_layers": 4}
N_STEPS, BATCH_SIZE = 250, 32
NORMS = ("post", "pre")
WARMUPS = (0, 100)  # steps; both sink with the root of the step from the hundredth on
PEAKS = (1e-3, 3e-3, 1e-2)
DECAY_FROM = 100


def rate_of(peak, warmup):
    """Return the schedule: up in a line, or at once, then level, then down with the root."""

    def rate(step):
        climb = step / warmup if warmup else 1.0
        return peak * min(1.0, climb, (DECAY_FROM / step) ** 0.5)

    return rate


def record_run(norm, warmup, peak, seed, dates, n_steps, sizes):
    """Train one Transformer and return its settings and figures, ready for JSON."""
    torch.manual_seed(seed)
    n_source, n_target = len(dates.source_vocabulary), len(dates.target_vocabulary)
    model = Transformer(n_source, n_target, norm=norm, **sizes)
    history = train_translator(
        model,
        dates,
        n_steps=n_steps,
        batch_size=BATCH_SIZE,
        learning_rate=rate_of(peak, warmup),
        seed=seed,
        label=f"{norm}, warm-up {warmup}, {peak}, seed {seed}",
    )
    last = history.loss[-min(25, n_steps) :]
    return {
        "norm": norm,
        "warmup": warmup,
        "peak": peak,
        "seed": seed,
        "training_loss": round(sum(last) / len(last), 5),
        "exact_match": {
            str(n): score_translator(model, split, dates.target_vocabulary).exact_match
            for n, split in dates.test.items()
        },
        "training_cpu_seconds": round(history.cpu_seconds, 1),
    }


def measure(tiny):
    """Return the results of all runs, ready for JSON."""
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 1} if tiny else SIZES
    n_train, n_test, n_steps = (40, 4, 2) if tiny else (3800, 100, N_STEPS)
    seeds, peaks = (SEEDS[:1], PEAKS[:1]) if tiny else (SEEDS, PEAKS)
    dates = load_dates(N_DATES, n_train=n_train, n_test=n_test, seed=0)
    return {
        "sizes": sizes,
        "n_dates": list(N_DATES),
        "n_train": n_train,
        "n_test": n_test,
        "n_steps": n_steps,
        "batch_size": BATCH_SIZE,
        "decay_from": DECAY_FROM,
        "runs": [
            record_run(norm, warmup, peak, seed, dates, n_steps, sizes)
            for seed in seeds
            for norm in NORMS
            for warmup in WARMUPS
            for peak in peaks
        ],
    }


if __name__ == "__main__":
    run_and_record(measure, RECORD, __doc__)
