"""Every script that records a longer run works, and says where its record comes from."""

import runpy
import sys

import pytest

from attnkit.bench import origin_of
from tests.attnkit.records import NAMES, read, record, script

each_script = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def run(monkeypatch):
    """Run a script as from a command line, in this process."""

    def call(name, *arguments):
        monkeypatch.setattr(sys, "argv", [str(script(name)), *arguments])
        runpy.run_path(str(script(name)), run_name="__main__")

    return call


def shape(value):
    """What kind of record it is: names and types, without figures, steps, lengths and repeats."""
    if isinstance(value, dict):
        if value and all(key.isdigit() for key in value):
            return shape(next(iter(value.values())))
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list) and value:
        return [shape(value[0])]
    return type(value).__name__


def test_every_record_has_its_script():
    assert {path.stem for path in record("any").parent.glob("*.json")} == set(NAMES)


@each_script
def test_a_tiny_run_writes_a_record_like_the_one_in_the_book(name, run, tmp_path, capfd):
    output = tmp_path / "tiny.json"
    run(name, "--tiny", "--output", str(output))
    assert capfd.readouterr() == ("", "")
    tiny, recorded = read(output), read(record(name))
    assert tiny["provenance"].keys() == recorded["provenance"].keys()
    assert shape(tiny["results"]) == shape(recorded["results"])
    assert str(tmp_path) not in output.read_text(encoding="utf-8")


@each_script
def test_the_record_says_where_it_comes_from(name):
    recorded = read(record(name))
    origin = recorded["provenance"]
    assert origin["command"] == f"python book/scripts/{name}.py"
    assert {"python", "numpy", "torch", "attnkit"} <= origin["versions"].keys()
    assert origin["processor"]
    assert origin["threads"]["torch"] == 1
    assert recorded["results"]["device"] == "CPU"
    assert recorded["results"]["cpu_seconds"] > 60
    words = origin_of(recorded)
    assert words.startswith(f"on {origin['date'][:4]}-")
    for part in (*(origin["versions"][name] for name in ("python", "torch")), origin["processor"]):
        assert part in words
    minutes = int(words.split(", ")[-1].split()[0])
    assert minutes * 60 == pytest.approx(recorded["results"]["cpu_seconds"], abs=30)


@each_script
def test_a_tiny_run_never_replaces_the_record(name, run, capfd):
    before = record(name).read_bytes()
    with pytest.raises(SystemExit, match="2"):
        run(name, "--tiny")
    assert "--tiny must not replace the record" in capfd.readouterr().err
    assert record(name).read_bytes() == before
