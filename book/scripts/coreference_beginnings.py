"""Chapter 6's repeated runs: the reader of "it", begun from other random numbers, and where "it" looks.

The page trains three readers once. Here twelve of two layers and four of one differ in nothing but the
random numbers that they begin with, and each is trained for as many steps as on the page and for four
times as many. That takes about four minutes of processor time; the result is recorded in
`book/data/coreference_beginnings.json` and the page shows it. To record it anew:

    OMP_NUM_THREADS=1 python book/scripts/coreference_beginnings.py
"""

from pathlib import Path

import numpy as np
import torch

from attnkit.bench import run_and_record
from attnkit.tasks.coreference import LAST, draw_coreference, noun_pairs
from attnkit.torch.coreference import (
    CoreferenceReader,
    antecedent_shares,
    score_coreference,
    train_coreference,
)

RECORD = Path(__file__).parents[1] / "data" / "coreference_beginnings.json"
N_TRAIN, N_TEST = 6000, 1000
BATCH_SIZE, LEARNING_RATE = 64, 1e-2
# The first of each number of layers is the page's own setting.
RUNS = (
    {"n_layers": 1, "n_steps": 400, "n_beginnings": 4},
    {"n_layers": 1, "n_steps": 1600, "n_beginnings": 4},
    {"n_layers": 2, "n_steps": 400, "n_beginnings": 12},
    {"n_layers": 2, "n_steps": 1600, "n_beginnings": 12},
)
TINY_RUNS = ({"n_layers": 1, "n_steps": 2, "n_beginnings": 1},) * 2


def train_and_score(train, test, n_layers, n_steps, beginning):
    """Train one reader and return its share of right answers and what "it" and the last word look at."""
    torch.manual_seed(beginning)
    model = CoreferenceReader(n_layers)
    train_coreference(
        model,
        train,
        n_steps=n_steps,
        batch_size=BATCH_SIZE,
        learning_rate=LEARNING_RATE,
        label=f"{n_layers} layers, beginning {beginning}",
    )
    looks = {
        "it": antecedent_shares(model, test),
        "last": antecedent_shares(model, test, place=LAST),
    }
    return {
        "right": round(score_coreference(model, test), 4),
        # layer -> weight on the antecedent, the other noun, the last word, all other words
        **{
            word: [[round(share, 3) for share in layer] for layer in shares.tolist()]
            for word, shares in looks.items()
        },
    }


def measure(tiny):
    """Train with every beginning; settings and figures, ready for JSON."""
    train_pairs, kept_pairs = noun_pairs()
    train = draw_coreference(N_TRAIN, train_pairs, generator=np.random.default_rng(1))
    test = draw_coreference(N_TEST, kept_pairs, generator=np.random.default_rng(2))
    return {
        "n_train": N_TRAIN,
        "n_test": N_TEST,
        "batch_size": BATCH_SIZE,
        "learning_rate": LEARNING_RATE,
        "runs": [
            {
                **run,
                "readers": [
                    train_and_score(train, test, run["n_layers"], run["n_steps"], beginning)
                    for beginning in range(run["n_beginnings"])
                ],
            }
            for run in (TINY_RUNS if tiny else RUNS)
        ],
    }


if __name__ == "__main__":
    run_and_record(measure, RECORD, __doc__)
