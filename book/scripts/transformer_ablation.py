"""Chapter 9's ablation table: a Transformer without one of its parts, each part in turn.

It takes about four minutes of processor time, too much for a page, so its result is recorded in
`book/data/transformer_ablation.json` and the page shows that. To record it anew:

    OMP_NUM_THREADS=1 python book/scripts/transformer_ablation.py
"""

from pathlib import Path

import torch

from attnkit.bench import run_and_record
from attnkit.tasks.dates import load_dates
from attnkit.torch import HeadPositions, MultiHeadAttention, Transformer, warmup_schedule
from attnkit.torch.translation import score_translator, train_translator

RECORD = Path(__file__).parents[1] / "data" / "transformer_ablation.json"
SEEDS = (0, 1, 2)
N_DATES = (1, 2)
SIZES = {"d_model": 64, "n_heads": 4, "n_layers": 2}
N_STEPS, BATCH_SIZE, REPORT_EVERY = 250, 32, 50
FACTOR, WARMUP = 0.2, 100  # the paper's schedule times a factor, peak after WARMUP steps
# What is switched off, and how. The scale of the scores has no switch; see `build`.
VARIANTS = {
    "whole": {},
    "no scale of scores": {},
    "no scale of embeddings": {"scale_embedding": False},
    "no positions": {"positions": None},
    "one head": {"n_heads": 1},
    "no feed-forward": {"d_ff": 0},
    "no norms": {"norm": "none"},
    "no residuals": {"residual": False},
    "no residuals, no norms": {"residual": False, "norm": "none"},
}


class Unscaled(HeadPositions):
    """Take the division by the root of d_head back: the fourth root in queries, as much in keys."""

    def turn(self, x, start):
        """Return queries or keys ``(..., heads, m, d_head)``, longer."""
        return x * x.shape[-1] ** 0.25


def build(name, n_source, n_target, sizes=SIZES):
    """Return an untrained Transformer without the part that is named."""
    model = Transformer(n_source, n_target, **sizes | VARIANTS[name])
    if name == "no scale of scores":
        for module in model.modules():
            if isinstance(module, MultiHeadAttention):
                module.positions = Unscaled()
    return model


def record_run(name, seed, dates, n_steps, report_every, sizes=SIZES):
    """Train one variant and return its figures, ready for JSON."""
    torch.manual_seed(seed)
    model = build(name, len(dates.source_vocabulary), len(dates.target_vocabulary), sizes)

    def report():
        return {
            str(n): score_translator(model, split, dates.target_vocabulary).exact_match
            for n, split in dates.test.items()
        }

    history = train_translator(
        model,
        dates,
        n_steps=n_steps,
        batch_size=BATCH_SIZE,
        learning_rate=lambda step: FACTOR * warmup_schedule(step, sizes["d_model"], WARMUP),
        seed=seed,
        report=report,
        report_at=range(report_every, n_steps + 1, report_every),
        label=f"{name}, seed {seed}",
    )
    last = history.loss[-min(25, n_steps) :]
    return {
        "seed": seed,
        "exact_match": {str(step): figures for step, figures in history.reports.items()},
        "training_loss": round(sum(last) / len(last), 5),
        "training_cpu_seconds": round(history.cpu_seconds, 1),
    }


def measure(tiny):
    """Return the results of all runs, ready for JSON."""
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 1} if tiny else SIZES
    n_train, n_test, n_steps, every = (40, 4, 2, 1) if tiny else (3800, 100, N_STEPS, REPORT_EVERY)
    seeds = SEEDS[:1] if tiny else SEEDS
    dates = load_dates(N_DATES, n_train=n_train, n_test=n_test, seed=0)
    return {
        "sizes": sizes,
        "n_dates": list(N_DATES),
        "n_train": n_train,
        "n_test": n_test,
        "n_steps": n_steps,
        "batch_size": BATCH_SIZE,
        "factor": FACTOR,
        "warmup": WARMUP,
        "variants": {
            name: [record_run(name, seed, dates, n_steps, every, sizes) for seed in seeds]
            for name in VARIANTS
        },
    }


if __name__ == "__main__":
    run_and_record(measure, RECORD, __doc__)
