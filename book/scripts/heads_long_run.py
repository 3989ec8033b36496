"""Chapter 7's repeated runs: one head against several of the same total width, with several seeds.

The page trains one model of each kind once. Here all numbers of heads from 1 to 32 share a width of
32, for two relations at once and for one alone, and what might help one head (more steps, hidden
units, a second layer) is tried too. That takes about seven minutes of processor time; the result is
recorded in `book/data/heads_long_run.json` and the page shows it. To record it anew:

    OMP_NUM_THREADS=1 python book/scripts/heads_long_run.py
"""

import time
from pathlib import Path

import torch

from attnkit.bench import run_and_record
from attnkit.tasks.twins import RELATIONS
from attnkit.torch.twins import TwinReader, relation_shares, score_twins, train_twins

RECORD = Path(__file__).parents[1] / "data" / "heads_long_run.json"
D_MODEL = 32
ALL_HEADS = (1, 2, 4, 8, 16, 32)
BOTH, BEFORE, TWIN = RELATIONS, RELATIONS[:1], RELATIONS[1:]
PLAIN = {"n_layers": 1, "d_hidden": 0, "n_steps": 400}
# One thing is changed at a time against the first, which is the page's own setting.
RUNS = (
    {"asked": BOTH, "n_heads": ALL_HEADS, **PLAIN, "n_seeds": 5},
    {"asked": BEFORE, "n_heads": ALL_HEADS, **PLAIN, "n_seeds": 3},
    {"asked": TWIN, "n_heads": ALL_HEADS, **PLAIN, "n_seeds": 3},
    {"asked": BOTH, "n_heads": (1, 4, 16, 32), **PLAIN, "n_steps": 1600, "n_seeds": 3},
    {"asked": BOTH, "n_heads": (1, 4), **PLAIN, "d_hidden": 64, "n_seeds": 3},
    {"asked": BOTH, "n_heads": (1, 2, 4), **PLAIN, "n_layers": 2, "n_seeds": 5},
    # … and two at a time: what comes behind or on top of the attention may only need more steps.
    {"asked": BOTH, "n_heads": (1,), **PLAIN, "d_hidden": 64, "n_steps": 1600, "n_seeds": 3},
    {"asked": BOTH, "n_heads": (1, 4), **PLAIN, "n_layers": 2, "n_steps": 1600, "n_seeds": 3},
)
TINY_RUNS = (
    {"asked": BOTH, "n_heads": (1, 2), **PLAIN, "n_steps": 3, "n_seeds": 2},
    {
        "asked": TWIN,
        "n_heads": (2,),
        "n_layers": 2,
        "d_hidden": 4,
        "n_steps": 2,
        "n_seeds": 1,
    },
)
BATCH_SIZE, LEARNING_RATE = 32, 1e-2


def train_and_score(asked, n_heads, n_layers, d_hidden, n_steps, seed):
    """Train one reader and return its shares of right answers and what its heads look at."""
    torch.manual_seed(seed)
    model = TwinReader(n_heads, d_model=D_MODEL, d_hidden=d_hidden, n_layers=n_layers)
    train_twins(
        model,
        asked,
        n_steps=n_steps,
        batch_size=BATCH_SIZE,
        learning_rate=LEARNING_RATE,
        seed=seed,
        label=f"{', '.join(asked)}, {n_heads} heads, seed {seed}",
    )
    scores = score_twins(model)
    shares = relation_shares(model).tolist()
    return {
        "before": round(scores.before, 4),
        "twin": round(scores.twin, 4),
        "both": round(scores.both, 4),
        # layer -> head -> weight on the token before and on the twin
        "shares": [[[round(share, 3) for share in head] for head in layer] for layer in shares],
    }


def record_run(asked, n_heads, n_layers, d_hidden, n_steps, n_seeds):
    """Train with every number of heads and several seeds; settings and figures, ready for JSON."""
    began = time.process_time()
    readers = {
        str(n): [
            train_and_score(asked, n, n_layers, d_hidden, n_steps, seed) for seed in range(n_seeds)
        ]
        for n in n_heads
    }
    return {
        "asked": list(asked),
        "n_heads": list(n_heads),
        "n_layers": n_layers,
        "d_hidden": d_hidden,
        "n_steps": n_steps,
        "n_seeds": n_seeds,
        "readers": readers,  # number of heads -> seed
        "cpu_seconds": round(time.process_time() - began, 1),
    }


def measure(tiny):
    """Return the results of all runs, ready for JSON."""
    return {
        "d_model": D_MODEL,
        "batch_size": BATCH_SIZE,
        "learning_rate": LEARNING_RATE,
        "runs": [record_run(**run) for run in (TINY_RUNS if tiny else RUNS)],
    }


if __name__ == "__main__":
    run_and_record(measure, RECORD, __doc__)
