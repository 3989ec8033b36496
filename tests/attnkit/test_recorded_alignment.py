"""The record of chapter 4's repeated runs is of its script, and whole."""

from itertools import chain

import pytest

from tests.attnkit.records import read, record, settings

NAME = "alignment_seeds"


def test_the_record_is_of_this_script():
    script, results = settings(NAME), read(record(NAME))["results"]
    assert results["recipes"] == script["RECIPES"]
    assert results["d_state"] == script["D_STATE"]
    assert results["batch_size"] == script["BATCH_SIZE"]
    assert list(results["runs"]) == list(script["RECIPES"])
    for runs in results["runs"].values():
        assert [run["seed"] for run in runs] == list(script["SEEDS"])


def test_every_run_is_whole():
    """Shares are shares, and those of the kinds are those of all tokens together."""
    script, results = settings(NAME), read(record(NAME))["results"]
    lengths = [str(n) for n in script["N_DATES"]]
    for run in chain.from_iterable(results["runs"].values()):
        for name in ("exact_match", "alignment_accuracy", "looks"):
            assert list(run[name]) == lengths
        for n in lengths:
            assert 0 <= run["exact_match"][n] <= 1
            kinds = run["looks"][n].values()
            assert len(kinds) == 4
            for places in kinds:
                assert sum(places.values()) == pytest.approx(1, abs=2e-4)
                assert min(places.values()) >= 0
            on = sum(places["on"] for places in kinds) / 4
            assert on == pytest.approx(run["alignment_accuracy"][n], abs=1.1e-4)


def test_another_seed_is_another_run():
    first, second, *_ = read(record(NAME))["results"]["runs"]["Luong, Bahdanau's recipe"]
    assert first["looks"] != second["looks"]
