"""The script that records chapter 7's repeated runs: it works, and the record is its own."""

import json
import runpy
import sys
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"
SCRIPT = BOOK / "scripts" / "heads_long_run.py"
RECORD = BOOK / "data" / "heads_long_run.json"


@pytest.fixture
def run(monkeypatch):
    """Run the script as from a command line, in this process."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
        runpy.run_path(str(SCRIPT), run_name="__main__")

    return call


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def check_readers(results):
    """Every run has each number of heads and each seed once, and shares are shares."""
    for one in results["runs"]:
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


def test_a_tiny_run_writes_a_record_like_the_one_in_the_book(run, tmp_path, capfd):
    output = tmp_path / "tiny.json"
    run("--tiny", "--output", str(output))
    assert capfd.readouterr() == ("", "")
    tiny, record = read(output), read(RECORD)
    assert tiny["provenance"].keys() == record["provenance"].keys()
    assert tiny["results"].keys() == record["results"].keys()
    for one, other in zip(tiny["results"]["runs"], record["results"]["runs"], strict=False):
        assert one.keys() == other.keys()
    check_readers(tiny["results"])
    seeds = tiny["results"]["runs"][0]["readers"]["2"]
    assert seeds[0] != seeds[1]  # another seed is another run
    assert str(tmp_path) not in output.read_text(encoding="utf-8")


def test_the_record_is_of_this_script():
    script = runpy.run_path(str(SCRIPT), run_name="not main")
    results = read(RECORD)["results"]
    settings = [{key: run[key] for key in script["RUNS"][0]} for run in results["runs"]]
    expected = [
        {**run, "asked": list(run["asked"]), "n_heads": list(run["n_heads"])}
        for run in script["RUNS"]
    ]
    assert settings == expected
    assert results["d_model"] == script["D_MODEL"]
    assert results["batch_size"] == script["BATCH_SIZE"]
    assert results["learning_rate"] == script["LEARNING_RATE"]
    check_readers(results)


def test_the_record_says_where_it_comes_from():
    record = read(RECORD)
    origin = record["provenance"]
    assert origin["command"] == "python book/scripts/heads_long_run.py"
    assert {"python", "numpy", "torch", "attnkit"} <= origin["versions"].keys()
    assert origin["processor"]
    assert origin["threads"]["torch"] == 1
    assert record["results"]["cpu_seconds"] > 60


@pytest.mark.parametrize(
    "arguments",
    [("--tiny",), ("--tiny", "--output", str(RECORD))],
    ids=["default-output", "record-as-output"],
)
def test_a_tiny_run_never_replaces_the_record(run, arguments, capfd):
    before = RECORD.read_bytes()
    with pytest.raises(SystemExit, match="2"):
        run(*arguments)
    assert "--tiny must not replace the record" in capfd.readouterr().err
    assert RECORD.read_bytes() == before
