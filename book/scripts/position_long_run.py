"""Chapter 8's repeated runs: seven ways to tell positions on three tasks, with several seeds.

The page trains each model once. Here every model is trained with several seeds, and again with four
times the steps and with a second layer. That takes about twelve minutes of processor time; the
result is recorded in `book/data/position_long_run.json` and the page shows it. To record it anew:

    OMP_NUM_THREADS=1 python book/scripts/position_long_run.py
"""

import time
from pathlib import Path

import torch

from attnkit.bench import run_and_record
from attnkit.tasks.order import KINDS
from attnkit.torch.order import SCHEMES, OrderReader, score_order, train_order

RECORD = Path(__file__).parents[1] / "data" / "position_long_run.json"
TRAINED = (4, 16)  # shortest and longest training sequence
LENGTHS = (8, 16, 24, 32, 48, 64, 128)
# One thing is changed at a time against the first, which is the page's own setting.
RUNS = (
    {"n_layers": 1, "n_steps": 300, "n_seeds": 5},
    {"n_layers": 1, "n_steps": 1200, "n_seeds": 3},
    {"n_layers": 2, "n_steps": 300, "n_seeds": 3},
)
TINY_RUNS = (
    {"n_layers": 1, "n_steps": 3, "n_seeds": 2},
    {"n_layers": 2, "n_steps": 2, "n_seeds": 1},
)
BATCH_SIZE, LEARNING_RATE = 32, 1e-2


def train_and_score(
    scheme: str, kind: str, seed: int, n_layers: int, n_steps: int, lengths: tuple[int, ...]
) -> list[float]:
    """Train one model and return its share of right answers at each length."""
    torch.manual_seed(seed)
    model = OrderReader(scheme, n_layers=n_layers, trained_length=TRAINED[1], longest=max(LENGTHS))
    train_order(
        model,
        kind,
        lengths=TRAINED,
        n_steps=n_steps,
        batch_size=BATCH_SIZE,
        learning_rate=LEARNING_RATE,
        seed=seed,
        label=f"{kind}, {scheme}, seed {seed}",
    )
    return [round(score_order(model, kind, length), 4) for length in lengths]


def record_run(
    n_layers: int, n_steps: int, n_seeds: int, lengths: tuple[int, ...]
) -> dict[str, object]:
    """Train every scheme on every task with several seeds; settings and figures, ready for JSON."""
    began = time.process_time()
    scores = {
        kind: {
            scheme: [
                train_and_score(scheme, kind, seed, n_layers, n_steps, lengths)
                for seed in range(n_seeds)
            ]
            for scheme in SCHEMES
        }
        for kind in KINDS
    }
    return {
        "n_layers": n_layers,
        "n_steps": n_steps,
        "n_seeds": n_seeds,
        "scores": scores,  # task -> scheme -> seed -> length
        "cpu_seconds": round(time.process_time() - began, 1),
    }


def measure(tiny):
    """Return the results of all runs, ready for JSON."""
    runs, lengths = (TINY_RUNS, LENGTHS[:3]) if tiny else (RUNS, LENGTHS)
    return {
        "trained_lengths": list(TRAINED),
        "lengths": list(lengths),
        "batch_size": BATCH_SIZE,
        "learning_rate": LEARNING_RATE,
        "runs": [record_run(**run, lengths=lengths) for run in runs],
    }


if __name__ == "__main__":
    run_and_record(measure, RECORD, __doc__)
