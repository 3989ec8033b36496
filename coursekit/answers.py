"""Checking a learner's answer in a process of its own, so that nothing it does can stop the check.

The process is bounded in time, memory and output, and killed with all it started. It is no sandbox:
a learner checks their own work on their own machine. Grading strangers is another matter.
"""

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from coursekit.notebooks import Answer

__all__ = ["Verdict", "judge"]

GLANCE = 0.2  # seconds between two looks at whether to stop
OUTPUT_KEPT = 4096  # bytes of what an answer prints; the rest is read and dropped
PACKAGES = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Verdict:
    """What came of one answer; `message` is empty for one that passes without a remark."""

    exercise: str
    state: Literal["passes", "fails", "not written", "breaks", "stopped"]
    message: str = ""


def judge(
    answer: Answer,
    *,
    time_limit: float = 30.0,
    memory_mib: int = 4096,
    stop: threading.Event | None = None,
) -> Verdict:
    """Run an answer with its helper cells in a process of its own and check it.

    Parameters
    ----------
    time_limit : float
        Seconds until the process is killed, with everything it started.
    memory_mib : int
        Address space in MiB that the process may have, where the system can limit it.
    stop : threading.Event, optional
        Once it is set, the process is killed and the verdict means nothing.
    """
    if answer.blank:
        return Verdict(answer.exercise, "not written")
    with tempfile.TemporaryDirectory(prefix="coursekit-", ignore_cleanup_errors=True) as folder:
        request = {
            "exercise": answer.exercise,
            "cells": [*answer.helpers, (answer.grade_id, answer.source)],
            "memory_mib": memory_mib,
            "cpu_seconds": math.ceil(time_limit) + 1,
        }
        Path(folder, "request.json").write_text(json.dumps(request), encoding="utf-8")
        status, printed = _run(Path(folder), time_limit, stop or threading.Event())
        try:
            reply = json.loads(Path(folder, "reply.json").read_text(encoding="utf-8"))
            return Verdict(answer.exercise, reply["state"], reply["message"])
        except (OSError, ValueError, KeyError, TypeError):
            # No reply, or one that the answer spoiled: judged by how the process ended.
            return Verdict(answer.exercise, "stopped", _ending(status, time_limit, printed))


def _run(folder: Path, time_limit: float, stop: threading.Event) -> tuple[int | None, str]:
    """Run the child; return its exit status (None if the time ran out) and the start of its output."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(PACKAGES), os.environ.get("PYTHONPATH", "")))
        ),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        # Idle threads would count against the limits and make timings depend on the machine.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MPLBACKEND": "agg",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "coursekit.answer_child", str(folder)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # so that what it starts can be killed with it
    )
    kept = bytearray()
    reader = threading.Thread(target=_keep_head, args=(process.stdout, kept), daemon=True)
    reader.start()
    try:
        status = _wait(process, time_limit, stop)
    finally:
        _kill_group(process)
    # A process that left the group may hold the pipe open: then its output is given up.
    reader.join(timeout=1.0)
    if not reader.is_alive():
        process.stdout.close()
    return status, kept.decode("utf-8", errors="replace")


def _wait(process: subprocess.Popen, time_limit: float, stop: threading.Event) -> int | None:
    """Return the exit status, or None when the time ran out or the person at the keyboard did."""
    deadline = time.monotonic() + time_limit
    while not stop.is_set() and (left := deadline - time.monotonic()) > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=min(left, GLANCE))
    return None


def _keep_head(stream: IO[bytes], kept: bytearray) -> None:
    with contextlib.suppress(ValueError, OSError):
        while chunk := stream.read1(65536):
            kept.extend(chunk[: max(0, OUTPUT_KEPT - len(kept))])


def _kill_group(process: subprocess.Popen) -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _ending(status: int | None, time_limit: float, printed: str) -> str:
    if status is None:
        return (
            f"It did not finish within {time_limit:g} seconds and was stopped. Look for a loop that "
            "never ends (a `while` whose condition does not change), or for work that grows too fast."
        )
    last = printed.strip().splitlines()[-1:] or ["it printed nothing"]
    if status < 0:
        name = (
            signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
        )
        return (
            f"Python itself died ({name}; last output: {last[0][:120]}). Often too much memory is "
            "asked for: look at the sizes of the arrays you make."
        )
    return (
        f"Python ended with status {status} before the check had finished (last output: "
        f"{last[0][:120]}). An answer returns its result; it does not leave Python."
    )
