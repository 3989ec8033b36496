"""The script that records chapter 1's longer run: it works, and the record is its own."""

import json
import runpy
import sys
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"
SCRIPT = BOOK / "scripts" / "bottleneck_long_run.py"
RECORD = BOOK / "data" / "bottleneck_long_run.json"


@pytest.fixture
def run(monkeypatch):
    """Run the script as from a command line, in this process."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
        runpy.run_path(str(SCRIPT), run_name="__main__")

    return call


def shape(value):
    """What kind of record it is: keys and types, without the figures."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items() if not key.isdigit()}
    return type(value).__name__


def test_a_tiny_run_writes_a_record_like_the_one_in_the_book(run, tmp_path, capfd):
    output = tmp_path / "tiny.json"
    run("--tiny", "--output", str(output))
    assert capfd.readouterr() == ("", "")
    tiny, record = (json.loads(path.read_text(encoding="utf-8")) for path in (output, RECORD))
    assert tiny["provenance"].keys() == record["provenance"].keys()
    assert shape(tiny["results"]) == shape(record["results"])
    for one, other in zip(tiny["results"]["runs"], record["results"]["runs"], strict=False):
        assert shape(one) == shape(other)
        assert len(one["reports"]) == len(other["reports"]) == 4
        assert max(map(int, other["reports"])) == other["n_steps"]
    assert str(tmp_path) not in output.read_text(encoding="utf-8")


def test_the_record_is_of_this_script():
    script = runpy.run_path(str(SCRIPT), run_name="not main")
    results = json.loads(RECORD.read_text(encoding="utf-8"))["results"]
    settings = [{key: run[key] for key in script["RUNS"][0]} for run in results["runs"]]
    assert settings == list(script["RUNS"])
    assert results["seed"] == script["SEED"]
    assert results["batch_size"] == script["BATCH_SIZE"]
    assert results["learning_rate"] == script["LEARNING_RATE"]


def test_the_record_says_where_it_comes_from():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    origin = record["provenance"]
    assert origin["command"] == "python book/scripts/bottleneck_long_run.py"
    assert {"python", "numpy", "torch", "attnkit"} <= origin["versions"].keys()
    assert origin["processor"]
    assert origin["threads"]["torch"] == 1
    assert record["results"]["cpu_seconds"] > 60
    shares = [
        share
        for run in record["results"]["runs"]
        for report in run["reports"].values()
        for figures in report.values()
        for share in figures.values()
    ]
    assert all(0 <= share <= 1 for share in shares)


@pytest.mark.parametrize("arguments", [("--tiny",), ("--tiny", "--output", str(RECORD))])
def test_a_tiny_run_never_replaces_the_record(run, arguments, capfd):
    before = RECORD.read_bytes()
    with pytest.raises(SystemExit, match="2"):
        run(*arguments)
    assert "--tiny must not replace the record" in capfd.readouterr().err
    assert RECORD.read_bytes() == before
