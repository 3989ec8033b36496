"""The record of chapter 6's repeated runs is of its script, and whole."""

from tests.attnkit.records import read, record, settings

NAME = "coreference_beginnings"


def test_the_record_is_of_this_script():
    script, results = settings(NAME), read(record(NAME))["results"]
    expected = [*script["RUNS"]]
    assert [{key: run[key] for key in expected[0]} for run in results["runs"]] == expected
    for name in ("n_train", "n_test", "batch_size", "learning_rate"):
        assert results[name] == script[name.upper()]


def test_every_run_is_whole():
    """It has each beginning once, and shares are shares."""
    for run in read(record(NAME))["results"]["runs"]:
        assert len(run["readers"]) == run["n_beginnings"]
        for reader in run["readers"]:
            assert list(reader) == ["right", "it", "last"]
            assert 0 <= reader["right"] <= 1
            for word in ("it", "last"):
                assert len(reader[word]) == run["n_layers"]
                for shares in reader[word]:
                    assert len(shares) == 4
                    assert min(shares) >= 0
                    assert abs(sum(shares) - 1) < 0.003


def test_another_beginning_is_another_run():
    for run in read(record(NAME))["results"]["runs"]:
        assert len({str(reader) for reader in run["readers"]}) == run["n_beginnings"]
