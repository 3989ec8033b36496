"""Chapter 9's three translators over three seeds, and what a training step costs against length.

It takes about three minutes of processor time, too much for a page, so its result is recorded in
`book/data/transformer_translators.json` and the page shows that. To record it anew:

    OMP_NUM_THREADS=1 python book/scripts/transformer_translators.py
"""

import os
import time
from pathlib import Path

import torch

from attnkit.bench import compare, run_and_record
from attnkit.tasks.dates import load_dates
from attnkit.torch import Transformer, Translator, warmup_schedule
from attnkit.torch.translation import score_translator, train_translator, translation_loss

RECORD = Path(__file__).parents[1] / "data" / "transformer_translators.json"
SEEDS = (0, 1, 2)
N_DATES = (1, 2, 3)
BATCH_SIZE = 32
# The two recurrent recipes are those of chapter 4.
MODELS = {
    "RNN": {"attention": None, "d_state": 96},
    "RNN + attention": {"attention": "additive", "d_state": 96},
    "Transformer": {"d_model": 64, "n_heads": 4, "n_layers": 2},
}
N_STEPS = {"RNN": 400, "RNN + attention": 280, "Transformer": 300}
PEAK = 6e-3  # of the recurrent translators' one-cycle schedule
FACTOR, WARMUP = 0.2, 100  # of the Transformer's schedule
# A step always reads this many tokens on either side: few long rows or many short ones.
TOKENS_A_STEP = 1024
LENGTHS = (8, 16, 32, 64, 128, 256)


def build(name, n_source, n_target, **smaller):
    """Return an untrained translator."""
    kind = Transformer if name == "Transformer" else Translator
    return kind(n_source, n_target, **MODELS[name] | smaller)


def rate_of(name):
    """Return the learning rate that goes with a translator, as `fit` takes it."""
    if name != "Transformer":
        return PEAK
    width = MODELS[name]["d_model"]
    return lambda step: FACTOR * warmup_schedule(step, width, WARMUP)


def record_run(name, seed, dates, n_steps, smaller):
    """Train one translator and return its figures, ready for JSON."""
    torch.manual_seed(seed)
    n_source, n_target = len(dates.source_vocabulary), len(dates.target_vocabulary)
    model = build(name, n_source, n_target, **smaller)
    n_tokens = 0

    def count(model, arguments):
        nonlocal n_tokens
        source, read = arguments[:2]
        n_tokens += source.numel() + read.numel()

    counting = model.register_forward_pre_hook(count)
    began = time.perf_counter()
    history = train_translator(
        model,
        dates,
        n_steps=n_steps,
        batch_size=BATCH_SIZE,
        learning_rate=rate_of(name),
        seed=seed,
        label=f"{name}, seed {seed}",
    )
    wall_seconds = time.perf_counter() - began
    counting.remove()
    return {
        "seed": seed,
        "exact_match": {
            str(n): score_translator(model, split, dates.target_vocabulary).exact_match
            for n, split in dates.test.items()
        },
        "training_tokens": n_tokens,  # read, of source and target together
        "training_cpu_seconds": round(history.cpu_seconds, 1),
        "training_wall_seconds": round(wall_seconds, 1),
        # How many processes wanted a processor in the last minute: wall time means little without.
        "load": round(os.getloadavg()[0], 2),
    }


def training_step(model, length, tokens_a_step):
    """Return a function that does one training step, forward and back, on rows of one length."""
    generator = torch.Generator().manual_seed(length)
    rows = tokens_a_step // length
    source, target = torch.randint(3, 100, (2, rows, length), generator=generator)
    everywhere = torch.ones(rows, length, dtype=torch.bool)

    def step():
        model.zero_grad()
        translation_loss(model, source, target, everywhere, everywhere, start=1).backward()

    return step


def record_speed(lengths, tokens_a_step, rounds, smaller):
    """Time a training step of each translator at each length, all in turns, in processor time."""
    models = {name: build(name, 100, 100, **smaller.get(name, {})) for name in MODELS}
    steps = {
        f"{name}, {length}": training_step(model, length, tokens_a_step)
        for name, model in models.items()
        for length in lengths
    }
    reference = f"Transformer, {lengths[0]}"
    costs = compare(steps, rounds=rounds, reference=reference, clock=time.process_time)
    return {
        name: {
            str(length): {
                "ratio": round(costs[f"{name}, {length}"].ratio, 3),
                "low": round(costs[f"{name}, {length}"].low, 3),
                "high": round(costs[f"{name}, {length}"].high, 3),
            }
            for length in lengths
        }
        for name in models
    }


def measure(tiny):
    """Return the results of all runs, ready for JSON."""
    smaller = {name: {} for name in MODELS}
    if tiny:
        smaller = {name: {"d_state": 8, "d_embedding": 4} for name in MODELS}
        smaller["Transformer"] = {"d_model": 8, "n_heads": 2, "n_layers": 1}
    n_train, n_test = (40, 4) if tiny else (3800, 200)
    n_steps = dict.fromkeys(MODELS, 2) if tiny else N_STEPS
    seeds = SEEDS[:1] if tiny else SEEDS
    lengths, tokens_a_step, rounds = (LENGTHS[:2], 32, 3) if tiny else (LENGTHS, TOKENS_A_STEP, 9)
    dates = load_dates(N_DATES, n_train=n_train, n_test=n_test, seed=0)
    sizes = len(dates.source_vocabulary), len(dates.target_vocabulary)
    # The first step of a process also loads parts of torch, which is nobody's training time.
    train_translator(build("RNN", *sizes, **smaller["RNN"]), dates, n_steps=1)
    runs = {name: [] for name in MODELS}
    for seed in seeds:  # in turns, so that a busy hour of the machine hits all three alike
        for name in MODELS:
            runs[name].append(record_run(name, seed, dates, n_steps[name], smaller[name]))
    return {
        "n_train": n_train,
        "n_test": n_test,
        "batch_size": BATCH_SIZE,
        "translators": {name: {"n_steps": n_steps[name], "runs": runs[name]} for name in MODELS},
        "tokens_a_step": tokens_a_step,
        "rounds": rounds,
        "time_of_a_step": record_speed(lengths, tokens_a_step, rounds, smaller),
    }


if __name__ == "__main__":
    run_and_record(measure, RECORD, __doc__)
