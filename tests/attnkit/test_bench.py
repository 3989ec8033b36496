"""The measuring tools, with clocks and memory that are known, so that no test depends on the machine's mood."""

import gc
import json
import os
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest

from attnkit.bench import (
    Cost,
    compare,
    memory,
    peak_memory,
    provenance,
    run_and_record,
    write_record,
)


class Clock:
    """A clock that moves only when a candidate says so, and by then a known amount."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def task(self, *seconds):
        """Return a function that takes the given seconds, call by call, the last ones for ever."""
        pending = list(seconds)

        def run():
            self.now += pending.pop(0) if len(pending) > 1 else pending[0]

        return run


def test_ratio_is_of_medians_over_the_reference():
    clock = Clock()
    costs = compare({"base": clock.task(2.0), "three": clock.task(6.0)}, clock=clock, rounds=5)
    assert costs["base"] == Cost(1.0, 1.0, 1.0, 1.0)
    assert costs["three"] == Cost(3.0, 3.0, 3.0, 3.0)
    assert list(costs) == ["base", "three"]
    assert costs.reference == "base"
    assert costs.rounds == 5


def test_another_candidate_can_be_the_reference():
    clock = Clock()
    candidates = {"slow": clock.task(4.0), "quick": clock.task(1.0)}
    assert compare(candidates, clock=clock, reference="quick")["slow"].ratio == 4.0


def test_one_disturbed_round_moves_neither_median_nor_fastest():
    clock = Clock()
    # Two calls find the number of repeats; the third is the first round.
    disturbed = clock.task(2.0, 2.0, 90.0, 2.0)
    cost = compare({"base": clock.task(1.0), "task": disturbed}, clock=clock, rounds=9)["task"]
    assert cost.ratio == 2.0
    assert cost.fastest == 2.0
    assert cost.steady


def test_spread_tells_unsteady_rounds():
    clock = Clock()
    changing = clock.task(*[1.0, 1.0], *[1.0, 3.0] * 5)
    cost = compare({"base": clock.task(1.0), "task": changing}, clock=clock, rounds=10)["task"]
    assert (cost.low, cost.high, cost.fastest) == (1.0, 3.0, 1.0)
    assert cost.ratio == 2.0
    assert not cost.steady


def test_short_candidates_are_repeated_and_still_charged_for_one_call():
    clock = Clock()
    calls = []
    tick = clock.task(1e-5)

    def short():
        calls.append(1)
        tick()

    cost = compare({"base": clock.task(1.0), "short": short}, clock=clock, rounds=3)["short"]
    assert cost.ratio == pytest.approx(1e-5)
    assert len(calls) == pytest.approx(2 + 3 * 100, abs=4)


def test_candidates_take_turns_in_an_order_that_the_seed_decides():
    def turns(seed):
        clock, seen = Clock(), []

        def candidate(name):
            task = clock.task(1.0)
            return lambda: (seen.append(name), task())

        compare({n: candidate(n) for n in "abc"}, clock=clock, rounds=8, seed=seed)
        return seen[6:]  # after the warming up

    first = turns(0)
    rounds = [tuple(first[start : start + 3]) for start in range(0, 24, 3)]
    assert all(sorted(turn) == list("abc") for turn in rounds)
    assert len(set(rounds)) > 1
    assert first == turns(0)
    assert first != turns(1)


def test_a_failing_candidate_leaves_the_garbage_collector_on():
    clock = Clock()
    tasks = iter([None, None])

    def fails():
        clock.now += 1.0
        next(tasks)

    with pytest.raises(StopIteration):
        compare({"base": clock.task(1.0), "fails": fails}, clock=clock, rounds=3)
    assert gc.isenabled()


def test_a_clock_too_coarse_to_move_gives_numbers():
    cost = compare({"a": int, "b": int}, clock=iter_clock(), rounds=3)["b"]
    assert cost.ratio == 1.0


def iter_clock():
    """Return a clock that stands still except while the number of repeats is being found."""
    readings = iter([0.0, 1.0, 0.0, 1.0])
    return lambda: next(readings, 0.0)


def test_the_table_names_reference_and_rounds():
    clock = Clock()
    text = str(compare({"dot": clock.task(1.0), "sum": clock.task(2.5)}, clock=clock, rounds=4))
    assert "time over that of dot, median of 4 rounds" in text
    assert "sum  2.5 (2.5 to 2.5)" in text


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (({},), ValueError, "candidates is empty"),
        (({"a": 3},), TypeError, "candidate 'a' must be a function without arguments, got int"),
    ],
)
def test_compare_refuses_candidates(arguments, error, words):
    with pytest.raises(error, match=words):
        compare(*arguments)


def test_compare_refuses_settings():
    with pytest.raises(ValueError, match="reference must be one of a, b, got 'c'"):
        compare({"a": int, "b": int}, reference="c")
    with pytest.raises(ValueError, match=r"rounds must be at least 3.*got 2"):
        compare({"a": int}, rounds=2)


# Memory

MEBIBYTE = 2**20


def ones(mebibytes):
    return lambda: np.ones(mebibytes * MEBIBYTE // 8)


def test_traced_memory_is_exact_for_arrays():
    assert peak_memory(ones(8), method="traced").bytes == pytest.approx(8 * MEBIBYTE, abs=4096)


def test_traced_memory_counts_the_peak_not_the_end():
    def sum_of_three():
        return (np.ones(MEBIBYTE) + np.ones(MEBIBYTE)).sum()  # three arrays of 8 MiB at once

    # The interpreter may reuse a temporary for the sum, never do with less than two.
    used = peak_memory(sum_of_three, method="traced").bytes / MEBIBYTE
    assert 16 <= used < 25


def test_traced_memory_forgets_a_callers_earlier_peak():
    tracemalloc.start()
    try:
        ones(32)()
        assert peak_memory(ones(2), method="traced").bytes < 3 * MEBIBYTE
    finally:
        tracemalloc.stop()


def test_traced_memory_leaves_a_callers_tracing_on():
    tracemalloc.start()
    try:
        peak_memory(ones(1), method="traced")
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


def resident_is_offered():
    try:
        memory._reset_peak()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not resident_is_offered(), reason="no /proc/self/clear_refs to write to")
def test_resident_memory_agrees_with_what_was_asked_for():
    used = peak_memory(ones(64), method="resident")
    assert used.method == "resident"
    assert 0.9 * 64 * MEBIBYTE < used.bytes < 1.2 * 64 * MEBIBYTE
    assert peak_memory(lambda: None, method="resident").bytes < 8 * MEBIBYTE


@pytest.mark.parametrize("error", [PermissionError, FileNotFoundError])
def test_where_the_system_does_not_offer_it_memory_is_traced(monkeypatch, error):
    def refuse():
        raise error("no")

    monkeypatch.setattr(memory, "_reset_peak", refuse)
    used = peak_memory(ones(2))
    assert used.method == "traced"
    assert used.bytes == pytest.approx(2 * MEBIBYTE, abs=4096)
    with pytest.raises(error):
        peak_memory(ones(2), method="resident")


def test_memory_reads_as_mebibytes():
    assert str(memory.PeakMemory(3 * MEBIBYTE // 2, "traced")) == "1.5 MiB"


def test_peak_memory_refuses_other_methods():
    with pytest.raises(ValueError, match="method must be one of resident, traced, got 'guess'"):
        peak_memory(int, method="guess")


# Origin


def test_provenance_says_what_a_reader_asks():
    found = provenance()
    assert json.loads(json.dumps(found)) == found
    assert found["versions"]["numpy"] == np.__version__
    assert found["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["processor"]
    assert found["threads"]["cores"] >= 1
    assert found["date"].endswith("+00:00")


def test_provenance_names_no_person_and_no_folder(monkeypatch, tmp_path):
    home = tmp_path / "home" / "somebody"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(
        sys,
        "orig_argv",
        [
            str(home / "bin" / "python"),
            str(home / "run.py"),
            f"--out={home}/a.json",
            "~/b",
            "--n=3",
        ],
    )
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    text = json.dumps(provenance())
    assert "somebody" not in text
    assert str(tmp_path) not in text
    assert os.uname().nodename not in json.dumps(provenance()["system"])
    assert provenance()["command"] == "python run.py --out=a.json b --n=3"


def test_a_path_in_the_working_folder_is_kept(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(sys, "orig_argv", ["python", str(tmp_path / "book" / "run.py")])
    assert provenance()["command"] == "python book/run.py"


def test_a_typed_program_is_not_told(monkeypatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(sys, "orig_argv", ["python", "-c", "secret = 1"])
    assert provenance()["command"] == "python -c …"


def test_a_kernels_connection_file_is_not_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert provenance()["command"] == "notebook"


def test_thread_settings_are_recorded_and_torch_is_not_loaded(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert provenance()["threads"]["OMP_NUM_THREADS"] == "3"
    code = "import sys; from attnkit.bench import provenance; provenance(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_system_that_tells_little(monkeypatch):
    monkeypatch.delattr(os, "getloadavg")
    monkeypatch.delattr(os, "sched_getaffinity")
    # By its own globals: a doctest may have loaded the module once more under the same name.
    monkeypatch.setitem(provenance.__globals__, "_PACKAGES", ("no-such-package",))
    found = provenance()
    assert found["load"] is None
    assert found["threads"]["cores"] == os.cpu_count()
    assert list(found["versions"]) == ["python"]


def test_a_record_holds_results_and_origin(tmp_path):
    path = tmp_path / "run.json"
    write_record(path, {"accuracy": 0.5, "名": [1]})
    read = json.loads(path.read_text(encoding="utf-8"))
    assert read["results"] == {"accuracy": 0.5, "名": [1]}
    assert read["provenance"]["versions"]["numpy"] == np.__version__


@pytest.mark.parametrize("results", [float("nan"), {1, 2}])
def test_a_record_that_cannot_be_written_leaves_the_old_one(tmp_path, results):
    path = tmp_path / "run.json"
    write_record(path, 1)
    with pytest.raises((ValueError, TypeError)):
        write_record(path, results)
    assert json.loads(path.read_text(encoding="utf-8"))["results"] == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize("arguments", [[], ["--tiny", "--output", "tiny.json"]])
def test_a_script_writes_what_it_measured(arguments, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    threads = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    monkeypatch.setattr(time, "process_time", lambda: 12.345)
    monkeypatch.chdir(tmp_path)
    run_and_record(lambda tiny: {"tiny": tiny, "n": len(threads)}, "run.json", "Say.", arguments)
    (written,) = tmp_path.iterdir()
    assert written.name == ("tiny.json" if arguments else "run.json")
    found = json.loads(written.read_text(encoding="utf-8"))
    assert found["provenance"]["versions"]["numpy"] == np.__version__
    tiny = bool(arguments)
    assert found["results"] == {"device": "CPU", "tiny": tiny, "n": 1, "cpu_seconds": 12.3}
    assert threads == [1]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--tiny"], 2, "--tiny must not replace the record; say where to write with --output"),
        (["--tiny", "--output", "../here/run.json"], 2, "--tiny must not replace the record"),
        (["--output", "gone/run.json"], 2, "gone/run.json cannot be written: its folder is not"),
        (["--help"], 0, "Say what is measured."),
    ],
)
def test_a_script_refuses_before_the_work(arguments, status, words, tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    write_record("run.json", 1)
    before = (here / "run.json").read_bytes()
    with pytest.raises(SystemExit) as stopped:
        run_and_record(
            lambda tiny: pytest.fail("measured first"),
            here / "run.json",
            "Say what is measured.\n\nAt length.",
            arguments,
        )
    said = capsys.readouterr()
    assert stopped.value.code == status
    assert words in said.out + said.err
    assert "At length" not in said.out
    assert (here / "run.json").read_bytes() == before


def test_a_place_that_cannot_be_written_is_told_before_the_work(tmp_path, monkeypatch):
    from attnkit.bench import __main__ as command

    for name, value in command.SETTINGS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(command, "_measured", lambda *_: pytest.fail("measured first"))
    (tmp_path / "file").touch()
    for out, reason in ((tmp_path, "it is a folder"), (tmp_path / "file" / "x.json", "File|Not")):
        with pytest.raises(SystemExit, match=f"--out .* cannot be written: .*{reason}"):
            command.main(["--quick", "--out", str(out)])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
