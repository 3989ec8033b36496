"""Chapter 4's repeated runs: do translators with attention look at the word they translate, whatever the seed?

The page trains each translator once. Here each is trained with eight seeds, which decide the first
parameters and the lists that are drawn; Luong's is trained with Bahdanau's recipe as well. That takes
about ten minutes of processor time; the result is recorded in `book/data/alignment_seeds.json` and the
page shows it. To record it anew:

    OMP_NUM_THREADS=1 python book/scripts/alignment_seeds.py
"""

from pathlib import Path

import torch

from attnkit.bench import run_and_record
from attnkit.tasks.dates import load_dates
from attnkit.torch import Translator
from attnkit.torch.translation import looks_by_kind, score_translator, train_translator

RECORD = Path(__file__).parents[1] / "data" / "alignment_seeds.json"
SEEDS = tuple(range(8))
N_DATES = (1, 2, 3)
# The first two are the page's own, which uses seed 0.
RECIPES = {
    "Bahdanau": {"attention": "additive", "n_steps": 280, "learning_rate": 6e-3},
    "Luong": {"attention": "luong", "n_steps": 400, "learning_rate": 4e-3},
    "Luong, Bahdanau's recipe": {"attention": "luong", "n_steps": 280, "learning_rate": 6e-3},
}
D_STATE, BATCH_SIZE = 96, 32


def record_run(name, dates, seed, d_state, n_steps):
    """Train one translator and return how it translates and where it looks, ready for JSON."""
    recipe = RECIPES[name]
    torch.manual_seed(seed)
    sizes = len(dates.source_vocabulary), len(dates.target_vocabulary)
    model = Translator(*sizes, attention=recipe["attention"], d_state=d_state)
    history = train_translator(
        model,
        dates,
        n_steps=n_steps,
        batch_size=BATCH_SIZE,
        learning_rate=recipe["learning_rate"],
        seed=seed,
        label=f"{name}, seed {seed}",
    )
    scores = {n: score_translator(model, dates.test[n], dates.target_vocabulary) for n in N_DATES}
    return {
        "seed": seed,
        "exact_match": {str(n): score.exact_match for n, score in scores.items()},
        "alignment_accuracy": {
            str(n): round(score.alignment_accuracy, 4) for n, score in scores.items()
        },
        # number of dates -> kind of token -> where the largest weight lies
        "looks": {
            str(n): {
                kind: {place: round(share, 4) for place, share in looks.items()}
                for kind, looks in looks_by_kind(score.weights, dates.test[n]).items()
            }
            for n, score in scores.items()
        },
        "training_cpu_seconds": round(history.cpu_seconds, 1),
    }


def measure(tiny):
    """Return the results of all runs, ready for JSON."""
    seeds, d_state, n_train, n_test = (SEEDS[:1], 8, 40, 4) if tiny else (SEEDS, D_STATE, 3800, 200)
    dates = load_dates(N_DATES, n_train=n_train, n_test=n_test, seed=0)
    return {
        "n_train": n_train,
        "n_test": n_test,
        "d_state": d_state,
        "batch_size": BATCH_SIZE,
        "recipes": RECIPES,
        "runs": {
            name: [
                record_run(name, dates, seed, d_state, 2 if tiny else recipe["n_steps"])
                for seed in seeds
            ]
            for name, recipe in RECIPES.items()
        },
    }


if __name__ == "__main__":
    run_and_record(measure, RECORD, __doc__)
