"""The script that records chapter 8's repeated runs: it works, and the record is its own."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from attnkit.tasks.order import KINDS
from attnkit.torch.order import SCHEMES

BOOK = Path(__file__).parents[2] / "book"
SCRIPT = BOOK / "scripts" / "position_long_run.py"
RECORD = BOOK / "data" / "position_long_run.json"


@pytest.fixture
def run(monkeypatch):
    """Run the script as from a command line, in this process."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
        runpy.run_path(str(SCRIPT), run_name="__main__")

    return call


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def check_scores(results):
    """Every run has each task, scheme, seed and length once, and shares are shares."""
    for one in results["runs"]:
        assert list(one["scores"]) == list(KINDS)
        for of_kind in one["scores"].values():
            assert list(of_kind) == list(SCHEMES)
            for of_scheme in of_kind.values():
                assert len(of_scheme) == one["n_seeds"]
                assert all(len(of_seed) == len(results["lengths"]) for of_seed in of_scheme)
                assert all(0 <= share <= 1 for of_seed in of_scheme for share in of_seed)


def test_a_tiny_run_writes_a_record_like_the_one_in_the_book(run, tmp_path, capfd):
    output = tmp_path / "tiny.json"
    run("--tiny", "--output", str(output))
    assert capfd.readouterr() == ("", "")
    tiny, record = read(output), read(RECORD)
    assert tiny["provenance"].keys() == record["provenance"].keys()
    assert tiny["results"].keys() == record["results"].keys()
    for one, other in zip(tiny["results"]["runs"], record["results"]["runs"], strict=False):
        assert one.keys() == other.keys()
    check_scores(tiny["results"])
    seeds = tiny["results"]["runs"][0]["scores"]["back"]["shaw"]
    assert seeds[0] != seeds[1]  # another seed is another run
    assert str(tmp_path) not in output.read_text(encoding="utf-8")


def test_the_record_is_of_this_script():
    script = runpy.run_path(str(SCRIPT), run_name="not main")
    results = read(RECORD)["results"]
    settings = [{key: run[key] for key in script["RUNS"][0]} for run in results["runs"]]
    assert settings == list(script["RUNS"])
    assert results["lengths"] == list(script["LENGTHS"])
    assert results["trained_lengths"] == list(script["TRAINED"])
    assert results["batch_size"] == script["BATCH_SIZE"]
    assert results["learning_rate"] == script["LEARNING_RATE"]
    check_scores(results)


def test_the_record_says_where_it_comes_from():
    record = read(RECORD)
    origin = record["provenance"]
    assert origin["command"] == "python book/scripts/position_long_run.py"
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
