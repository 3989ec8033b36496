"""Chapter 1's longer run: do more steps, more state or more data repair the model without attention?

It takes about nine minutes of processor time, too much for a page, so its result is recorded in
`book/data/bottleneck_long_run.json` and the page shows that. To record it anew:

    OMP_NUM_THREADS=1 python book/scripts/bottleneck_long_run.py

The schedule of each run is stretched over its whole length, so an intermediate figure is one on
the way to the last, not that of a shorter run.
"""

from pathlib import Path

import torch

from attnkit.bench import run_and_record
from attnkit.tasks.dates import load_dates
from attnkit.torch import Translator
from attnkit.torch.translation import score_translator, train_translator

RECORD = Path(__file__).parents[1] / "data" / "bottleneck_long_run.json"
SEED = 0
N_DATES = (1, 2, 3)
# One thing is changed at a time: the state, then the number of training lists.
RUNS = (
    {"d_state": 96, "n_train": 3800, "n_steps": 3000},
    {"d_state": 256, "n_train": 3800, "n_steps": 3000},
    {"d_state": 256, "n_train": 19000, "n_steps": 3000},
)
TINY_RUNS = (
    {"d_state": 8, "n_train": 40, "n_steps": 4},
    {"d_state": 12, "n_train": 60, "n_steps": 4},
)
REPORTS = 4  # figures a run, evenly spaced, the last one at its end
BATCH_SIZE, LEARNING_RATE = 32, 6e-3


def record_run(d_state: int, n_train: int, n_steps: int, n_test: int) -> dict[str, object]:
    """Train one model without attention and return its settings and figures, ready for JSON."""
    dates = load_dates(N_DATES, n_train=n_train, n_test=n_test, seed=SEED)
    # Beside the test lists as many of the training lists: does the model know at least those?
    seen = {n: dates.train[n].first(n_test) for n in N_DATES}
    torch.manual_seed(SEED)
    model = Translator(len(dates.source_vocabulary), len(dates.target_vocabulary), d_state=d_state)

    def report() -> dict[str, dict[str, float]]:
        scores = {
            n: score_translator(model, dates.test[n], dates.target_vocabulary) for n in N_DATES
        }
        known = {n: score_translator(model, seen[n], dates.target_vocabulary) for n in N_DATES}
        return {
            "exact_match": {str(n): score.exact_match for n, score in scores.items()},
            "token_accuracy": {
                str(n): round(score.token_accuracy, 4) for n, score in scores.items()
            },
            "exact_match_on_training_lists": {
                str(n): score.exact_match for n, score in known.items()
            },
        }

    history = train_translator(
        model,
        dates,
        n_steps=n_steps,
        batch_size=BATCH_SIZE,
        learning_rate=LEARNING_RATE,
        seed=SEED,
        report=report,
        report_at=[n_steps * part // REPORTS for part in range(1, REPORTS + 1)],
        label=f"state {d_state}, {n_train} lists",
    )
    last = history.loss[-min(100, n_steps) :]
    return {
        "d_state": d_state,
        "n_train": n_train,
        "n_steps": n_steps,
        "n_test": n_test,
        "reports": {str(step): report for step, report in history.reports.items()},
        "training_loss": round(sum(last) / len(last), 5),
        "training_cpu_seconds": round(history.cpu_seconds, 1),
    }


def measure(tiny):
    """Return the results of all runs, ready for JSON."""
    runs = TINY_RUNS if tiny else RUNS
    return {
        "seed": SEED,
        "batch_size": BATCH_SIZE,
        "learning_rate": LEARNING_RATE,
        "runs": [record_run(**run, n_test=10 if tiny else 200) for run in runs],
    }


if __name__ == "__main__":
    run_and_record(measure, RECORD, __doc__)
