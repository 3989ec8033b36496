"""The benchmark's rows: how they are measured and judged, what is told of an absent peer, how it looks."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from attnkit import numpy as ours_numpy
from attnkit.bench import baselines, peers
from attnkit.bench.rows import (
    OURS,
    Case,
    Faster,
    Grows,
    Leaner,
    Row,
    SameMemory,
    Small,
    measure,
    verdict,
)
from attnkit.bench.suite import rows
from attnkit.bench.table import summary, table
from attnkit.torch import MultiHeadAttention, scaled_dot_product_attention

MEBIBYTE = 2**20


class Clock:
    """A clock that only the candidates move."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def takes(self, seconds, result=0.0):
        """Return what makes a candidate that takes so long."""

        def run():
            self.now += seconds
            return result

        return lambda: run


def measured(goals, candidates, clock, **options):
    case = Case(candidates, lambda name, result: abs(result))
    row = Row("a.row", "a row", goals, lambda quick: case)
    return measure(row, clock=clock, **options)


def absent():
    raise peers.PeerAbsent("somebody is not installed")


# Verdicts


@pytest.mark.parametrize(
    ("value", "goal", "at_most", "expected"),
    [
        (4.0, 4.0, False, "reached"),
        (3.61, 4.0, False, "within 10 %"),
        (3.59, 4.0, False, "below"),
        (0.1, 0.1, True, "reached"),
        (0.109, 0.1, True, "within 10 %"),
        (0.111, 0.1, True, "below"),
    ],
    ids=["at", "near", "under", "share-at", "share-near", "share-over"],
)
def test_a_goal_is_reached_nearly_or_not(value, goal, at_most, expected):
    assert verdict(value, goal, at_most=at_most) == expected


def test_a_row_tells_times_spread_and_verdict():
    clock = Clock()
    row = measured(
        (Faster("peer", 2.5), Faster("bound", 0.5)),
        {OURS: clock.takes(0.2), "peer": clock.takes(0.6), "bound": clock.takes(0.05)},
        clock,
    )
    peer, bound = row["goals"]
    assert (peer["value"], peer["verdict"]) == (pytest.approx(3.0), "reached")
    assert (bound["value"], bound["verdict"]) == (pytest.approx(0.25), "below")
    assert peer["low"] <= peer["value"] <= peer["high"]
    assert row["times"]["peer"]["ratio"] == pytest.approx(3.0)
    assert row["rounds"] == 30
    assert row["errors"] == {OURS: 0.0, "peer": 0.0, "bound": 0.0}
    assert json.loads(json.dumps(row)) == row


def test_what_takes_over_a_second_has_few_rounds():
    clock = Clock()
    candidates = {OURS: clock.takes(0.2), "peer": clock.takes(1.1)}
    assert measured((Faster("peer", 2.0),), candidates, clock)["rounds"] == 9


def test_growth_is_told_against_the_peers():
    clock = Clock()
    seconds = {"ours 1": 0.1, "ours 4": 0.5, "peer 1": 0.2, "peer 4": 2.0}
    row = measured(
        (Grows("ours 1", "ours 4", "peer 1", "peer 4"),),
        {name: clock.takes(taken) for name, taken in seconds.items()},
        clock,
    )
    (goal,) = row["goals"]
    assert goal["growth"] == pytest.approx([5.0, 10.0])
    assert goal["value"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (absent, "somebody is not installed"),
        (lambda: [].pop, "IndexError: pop from empty list"),
        (lambda: lambda: 3.0, "ArithmeticError: peer is off by 3, more than 0.0001"),
        (lambda: lambda: float("nan"), "ArithmeticError: peer is off by nan, more than 0.0001"),
    ],
    ids=["absent", "failing", "wrong", "not-a-number"],
)
def test_a_peer_that_cannot_be_compared_is_told_and_not_fatal(make, reason):
    clock = Clock()
    row = measured((Faster("peer", 2.0),), {OURS: clock.takes(0.1), "peer": make}, clock)
    assert row["absent"] == {"peer": reason}
    (goal,) = row["goals"]
    assert (goal["value"], goal["verdict"], goal["reason"]) == (None, "peer absent", reason)


@pytest.mark.parametrize(
    ("make", "error"), [(lambda: lambda: 3.0, ArithmeticError), (lambda: [].pop, IndexError)]
)
def test_ours_must_work(make, error):
    clock = Clock()
    with pytest.raises(error):
        measured((Faster("peer", 2.0),), {OURS: make, "peer": clock.takes(0.1)}, clock)


# Memory


def ones(mebibytes):
    return lambda: lambda: np.ones(mebibytes * MEBIBYTE // 8)


def test_memory_is_told_in_shares_and_mebibytes():
    case = Case({OURS: ones(16), "peer": ones(64)}, lambda name, result: None)
    row = measure(
        Row("m", "memory", (Leaner("peer", 0.4), Small(10.0)), lambda quick: case), rounds=3
    )
    share, small = row["goals"]
    assert 0.2 < share["value"] < 0.3
    assert share["verdict"] == "reached"
    assert share["mebibytes"] == pytest.approx([16, 64], rel=0.2)
    assert 14 < small["value"] < 20
    assert small["verdict"] == "below"


def test_memory_besides_the_result_does_not_count_the_result():
    def with_help(help_mebibytes, result_mebibytes):
        def run():
            besides = np.ones(help_mebibytes * MEBIBYTE // 8)
            return np.full(result_mebibytes * MEBIBYTE // 8, besides[0])

        return lambda: run

    candidates = {"ours 1": with_help(2, 1), "ours 4": with_help(2, 4), "ours 9": with_help(4, 4)}
    case = Case(candidates, lambda name, result: None)
    goals = (SameMemory("ours 1", "ours 4", 1.05), SameMemory("ours 1", "ours 9", 1.05))
    same, double = measure(Row("m", "memory", goals, lambda quick: case), rounds=3)["goals"]
    assert same["value"] == pytest.approx(1.0, abs=0.02)
    assert double["value"] == pytest.approx(2.0, abs=0.02)
    assert (same["verdict"], double["verdict"]) == ("reached", "below")


# Baselines

HEADS, N, WIDTH = 3, 128, 8


@pytest.fixture
def arrays(rng):
    return [rng.standard_normal((HEADS, N, WIDTH)) for _ in range(3)]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_row_blocks_are_dense_attention(arrays):
    exact = ours_numpy.scaled_dot_product_attention(*arrays)
    tensors = [torch.from_numpy(array) for array in arrays]
    np.testing.assert_allclose(baselines.row_blocks(*arrays, rows=48), exact, atol=1e-12)
    np.testing.assert_allclose(baselines.torch_row_blocks(*tensors, rows=48), exact, atol=1e-12)


@pytest.mark.parametrize("tile", [2**12, 2**16])
def test_the_dense_bound_does_both_products_and_exp(arrays, monkeypatch, tile):
    monkeypatch.setattr(baselines, "TILE", tile)
    query, key, value = arrays
    exact = np.exp(query @ key.swapaxes(-1, -2)) @ value
    np.testing.assert_allclose(baselines.products_and_exp(*arrays), exact, rtol=1e-9)


def test_the_bands_bound_meets_as_many_keys_as_the_band(arrays):
    query, key, value = arrays
    # Equal keys have equal weights, whichever they are: their number is what is left.
    output = baselines.products_and_exp_of_band(
        query, np.zeros_like(key), np.ones_like(value), 5, block=8, together=4
    )
    np.testing.assert_allclose(output, 11)


def test_a_step_with_a_joined_cache_is_a_step_of_the_layer():
    torch.manual_seed(0)
    layer = MultiHeadAttention(12, 3).requires_grad_(False)
    layer.b_input.normal_()
    x = torch.randn(2, 6, 12)
    cache = layer.new_cache(2, 6)
    layer.store(x[:, :5], cache=cache)
    output, key, value = baselines.step_with_joined_cache(layer, x[:, 5:], cache.key, cache.value)
    torch.testing.assert_close(output, layer(x[:, 5:], cache=cache))
    torch.testing.assert_close(key, cache.key)
    torch.testing.assert_close(value, cache.value)


@pytest.mark.parametrize("pattern", [{}, {"window": 4, "n_global": 2}], ids=["all", "pattern"])
def test_rows_of_attention_are_attention(arrays, pattern):
    n = N
    mask = np.ones((n, n), bool)
    if pattern:
        mask = ours_numpy.local_mask(n, n, 4) | ours_numpy.global_mask(n, n, 2)
    exact = ours_numpy.scaled_dot_product_attention(*arrays, mask)
    chosen = [0, 1, 77, 127]
    rows_of_it = baselines.attention_rows(*arrays, chosen, **pattern)
    np.testing.assert_allclose(rows_of_it, exact[:, chosen], atol=1e-12)


def test_rows_of_linear_attention_are_linear_attention(arrays):
    query, key, value = np.abs(arrays[0]), np.abs(arrays[1]), arrays[2]
    exact = ours_numpy.linear_attention(query, key, value, feature_map="relu", causal=True)
    chosen = [0, 77, 127]
    output = baselines.linear_rows(query, key, value, chosen, [row + 1 for row in chosen])
    np.testing.assert_allclose(output, exact[:, chosen], atol=1e-12)
    assert not baselines.linear_rows(query, key, value, [5], [0]).any()


def test_the_masked_kernel_is_attention_under_the_mask(arrays):
    tensors = [torch.from_numpy(array)[None] for array in arrays]
    mask = torch.ones(N, N, dtype=torch.bool).tril()
    exact = scaled_dot_product_attention(*tensors, mask)
    torch.testing.assert_close(baselines.masked_kernel(*tensors, mask), exact)


# Peers


def test_a_package_that_is_not_installed_is_absent():
    with pytest.raises(peers.PeerAbsent, match="no-such-package is not installed"):
        peers.peer("no-such-package", "no_such_module")
    with pytest.raises(peers.PeerAbsent, match="no-such-package is not installed"):
        peers.peer_file("no-such-package", "no_such_module/file.py")


def test_a_package_that_lacks_what_it_imports_is_absent(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "half_a_peer.py").write_text("import what_is_not_there\n")
    folder = tmp_path / "half_a_peer-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: half-a-peer\nVersion: 1.0\n")
    peers.search_also(tmp_path)
    assert sys.path[-1] == str(tmp_path)
    with pytest.raises(peers.PeerAbsent, match="half-a-peer is installed, but what_is_not_there"):
        peers.peer("half-a-peer", "half_a_peer")
    with pytest.raises(peers.PeerAbsent, match="half-a-peer is installed, but what_is_not_there"):
        peers.peer_file("half-a-peer", "half_a_peer.py")


def test_a_folder_that_is_not_there_is_not_searched(tmp_path):
    before = list(sys.path)
    peers.search_also(tmp_path / "nothing")
    assert sys.path == before


# Table


def a_result():
    clock = Clock()
    seconds = {"ours 1": 0.1, "ours 4": 0.5, "linear-attention-transformer 4k": 1.1}
    candidates = {name: clock.takes(taken) for name, taken in seconds.items()}
    candidates["absent"] = absent
    goals = (
        Faster("linear-attention-transformer 4k", 10.5, ours="ours 1"),
        Faster("linear-attention-transformer 4k", 300.0, ours="ours 1"),
        Grows("ours 1", "ours 4", "ours 1", "linear-attention-transformer 4k"),
        Faster("absent", 2.0, ours="ours 1"),
    )
    row = measured(goals, candidates, clock)
    memory = {"kind": "Leaner", "against": "linear-attention-transformer", "at_most": True}
    row["goals"].append(
        memory
        | {"value": 0.105, "goal": 0.1, "mebibytes": [1052.3, 2917.1], "verdict": "within 10 %"}
    )
    row["title"] = "a row with a long title, " + "and words " * 12
    return row


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_and_tells(width):
    row = a_result()
    text = table([row, row | {"title": "another", "gated": False}], width=width)
    assert all(len(line) <= width for line in text.splitlines()), text
    for words in (
        "≥ 10.5 reached",
        "≥ 300 below",
        "≥ 2.00 peer absent",
        "≤ 0.10 within 10 %",
        "1052 / 2917 MiB",
        "somebody is not installed",
        "another (reported)",
        "2 of 5 goals reached, 1 within 10 % of it, 1 below, 1 not compared.",
    ):
        assert words in " ".join(text.split()), text


def test_verdicts_are_coloured_on_request_only():
    row = a_result()
    assert "\033[32mreached\033[0m" in table([row], width=80, colour=True)
    assert "\033" not in table([row], width=80)


def test_the_summary_counts_what_is_gated():
    row = a_result()
    assert summary([row | {"gated": False}]) == "0 of 0 goals reached."


# The whole


def test_rows_have_names_of_their_own_and_goals_with_candidates():
    every = rows()
    assert len({row.name for row in every}) == len(every)
    assert all(row.goals for row in every)


COMMAND = [sys.executable, "-m", "attnkit.bench"]
UNSET = {name: text for name, text in os.environ.items() if not name.endswith("_NUM_THREADS")}


def run(*arguments, **environment):
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=UNSET | {"COLUMNS": "80"} | environment,
    )


def test_a_quick_run_writes_what_it_found(tmp_path):
    out = tmp_path / "new" / "bench.json"
    done = run(
        "--quick", "--rows", "linear.numpy.4k", "chunked.memory", "decode.cat.1k",
        "--out", str(out), "--peers", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record["provenance"]["threads"]["torch"] == 1
    assert record["provenance"]["threads"]["OPENBLAS_NUM_THREADS"] == "1"
    results = record["results"]
    assert results["settings"]["NUMPY_MADVISE_HUGEPAGE"] == "0"
    assert results["quick"]
    assert results["peers"]["local-attention"] is None
    assert [row["name"] for row in results["rows"]] == [
        "linear.numpy.4k", "chunked.memory", "decode.cat.1k",
    ]  # fmt: skip
    linear, memory, decode = results["rows"]
    assert linear["goals"][0]["verdict"] == "peer absent"
    assert linear["goals"][0]["reason"] == "linear-attention-transformer is not installed"
    assert memory["goals"][0]["value"] == pytest.approx(1.0, abs=0.05)
    assert decode["goals"][0]["value"] > 0
    for row in results["rows"]:
        assert row["rounds"] == 3
        assert {"load", "seconds", "times", "errors"} <= row.keys()
    for row in results["rows"]:
        assert row["title"] in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if str(out) not in line)


def test_unknown_rows_are_told(tmp_path):
    done = run("--rows", "nowhere", "--out", str(tmp_path / "bench.json"))
    assert done.returncode != 0
    assert "no row is called nowhere; there are local.forward.4k, " in done.stderr
    assert "Traceback" not in done.stderr


def test_rows_can_be_listed():
    done = run("--list", "--rows", "dense")
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "dense.512", "dense.2048", "dense.128x8",
    ]  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no os.killpg to press Ctrl-C with")
def test_a_run_that_is_stopped_says_so_and_no_more(tmp_path):
    out = tmp_path / "new" / "bench.json"
    run_of_all = subprocess.Popen(
        [*COMMAND, "--rows", "local", "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=UNSET,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not out.parent.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)  # by now a row has begun
    os.killpg(run_of_all.pid, signal.SIGINT)  # as a terminal does: to all that belong to the run
    printed, complaint = run_of_all.communicate(timeout=30)
    assert (run_of_all.returncode != 0, printed) == (True, "")
    assert complaint == "stopped; nothing was written\n"
    assert not out.exists()


def end_this_process(name, peers, *, quick):
    os._exit(9)


def test_a_row_whose_process_is_ended_is_told(tmp_path, monkeypatch):
    from attnkit.bench import __main__ as command

    monkeypatch.setattr("attnkit.bench.suite.measure_alone", end_this_process)
    options = command._parser().parse_args(["--quick", "--peers", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"measured dense\.512 was ended; was memory short"):
        command._measured([row for row in rows() if row.name == "dense.512"], options)


@pytest.mark.slow
def test_rows_have_processes_of_their_own(tmp_path):
    out = tmp_path / "bench.json"
    done = run("--rows", "dense.128x8", "causal.512", "--out", str(out))
    assert done.returncode == 0, done.stderr
    first, second = json.loads(out.read_text(encoding="utf-8"))["results"]["rows"]
    assert first["process"] != second["process"]
    assert first["rounds"] == second["rounds"] == 30


@pytest.mark.slow
def test_every_row_runs(tmp_path):
    out = tmp_path / "bench.json"
    done = run("--quick", "--out", str(out))
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text(encoding="utf-8"))["results"]["rows"]
    assert [row["name"] for row in found] == [row.name for row in rows()]
    for row in found:  # apart from packages that are not there, everything ran and was right
        assert all("not installed" in why or "quick run" in why for why in row["absent"].values())
