"""The record of chapter 8's repeated runs is of its script, and whole."""

from attnkit.tasks.order import KINDS
from attnkit.torch.order import SCHEMES
from tests.attnkit.records import read, record, settings

NAME = "position_long_run"


def test_the_record_is_of_this_script():
    script, results = settings(NAME), read(record(NAME))["results"]
    recorded = [{key: run[key] for key in script["RUNS"][0]} for run in results["runs"]]
    assert recorded == list(script["RUNS"])
    assert results["lengths"] == list(script["LENGTHS"])
    assert results["trained_lengths"] == list(script["TRAINED"])
    assert results["batch_size"] == script["BATCH_SIZE"]
    assert results["learning_rate"] == script["LEARNING_RATE"]


def test_every_run_is_whole():
    """It has each task, scheme, seed and length once, and shares are shares."""
    results = read(record(NAME))["results"]
    for one in results["runs"]:
        assert list(one["scores"]) == list(KINDS)
        for of_kind in one["scores"].values():
            assert list(of_kind) == list(SCHEMES)
            for of_scheme in of_kind.values():
                assert len(of_scheme) == one["n_seeds"]
                assert all(len(of_seed) == len(results["lengths"]) for of_seed in of_scheme)
                assert all(0 <= share <= 1 for of_seed in of_scheme for share in of_seed)


def test_another_seed_is_another_run():
    first, second, *_ = read(record(NAME))["results"]["runs"][0]["scores"]["back"]["learned"]
    assert first != second
