"""The record of chapter 1's longer runs is of its script, and whole."""

from tests.attnkit.records import read, record, settings

NAME = "bottleneck_long_run"


def test_the_record_is_of_this_script():
    script, results = settings(NAME), read(record(NAME))["results"]
    recorded = [{key: run[key] for key in script["RUNS"][0]} for run in results["runs"]]
    assert recorded == list(script["RUNS"])
    assert results["seed"] == script["SEED"]
    assert results["batch_size"] == script["BATCH_SIZE"]
    assert results["learning_rate"] == script["LEARNING_RATE"]


def test_every_run_is_whole():
    for run in read(record(NAME))["results"]["runs"]:
        assert len(run["reports"]) == 4
        assert max(map(int, run["reports"])) == run["n_steps"]
        for report in run["reports"].values():
            for figures in report.values():
                assert all(0 <= share <= 1 for share in figures.values())
