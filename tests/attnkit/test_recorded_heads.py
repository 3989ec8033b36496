"""The record of chapter 7's repeated runs is of its script, and whole."""

from tests.attnkit.records import read, record, settings

NAME = "heads_long_run"


def test_the_record_is_of_this_script():
    script, results = settings(NAME), read(record(NAME))["results"]
    recorded = [{key: run[key] for key in script["RUNS"][0]} for run in results["runs"]]
    expected = [
        {**run, "asked": list(run["asked"]), "n_heads": list(run["n_heads"])}
        for run in script["RUNS"]
    ]
    assert recorded == expected
    assert results["d_model"] == script["D_MODEL"]
    assert results["batch_size"] == script["BATCH_SIZE"]
    assert results["learning_rate"] == script["LEARNING_RATE"]


def test_every_run_is_whole():
    """It has each number of heads and each seed once, and shares are shares."""
    for one in read(record(NAME))["results"]["runs"]:
        assert list(one["readers"]) == [str(n) for n in one["n_heads"]]
        for n_heads, of_seeds in one["readers"].items():
            assert len(of_seeds) == one["n_seeds"]
            for reader in of_seeds:
                assert list(reader) == ["before", "twin", "both", "shares"]
                figures = [reader[name] for name in ("before", "twin", "both")]
                assert all(0 <= figure <= 1 for figure in figures)
                assert reader["both"] <= min(reader["before"], reader["twin"])
                assert len(reader["shares"]) == one["n_layers"]
                for layer in reader["shares"]:
                    assert len(layer) == int(n_heads)
                    assert all(min(head) >= 0 and sum(head) <= 1.001 for head in layer)


def test_another_seed_is_another_run():
    first, second, *_ = read(record(NAME))["results"]["runs"][0]["readers"]["2"]
    assert first != second
