"""The command line of a script that records a run on one thread, and a record's origin in words."""

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .origin import write_record


def run_and_record(
    measure: Callable[[bool], dict[str, object]],
    path: str | os.PathLike,
    description: str,
    arguments: Sequence[str] | None = None,
) -> None:
    """Be the main program of a script: read its command line, measure, write the record.

    ``--tiny`` asks for a small run, as a test; ``--output`` says where to write. A tiny run never
    replaces the record. torch has one thread.

    Parameters
    ----------
    measure : callable
        ``measure(tiny) -> results``, a dictionary that JSON can hold.
    path : path
        Where the record belongs.
    description : str
        What the script does; its first line is shown by ``--help``. A script hands on ``__doc__``.
    arguments : sequence of str, optional
        Instead of the command line.

    Raises
    ------
    SystemExit
        Before anything is measured: after ``--help``, when an option is unknown, when a tiny run
        would replace the record, when the folder to write to is not there.
    ValueError, TypeError
        See `write_record`.

    Notes
    -----
    The record holds the results between ``device`` ("CPU") and ``cpu_seconds``, the processor time of
    the whole process up to then.

    Examples
    --------
    A script calls it under ``if __name__ == "__main__":``, without arguments.

    >>> import json, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = Path(folder) / "run.json"
    ...     run_and_record(lambda tiny: {"tiny": tiny}, record, "Measures nothing.", [])
    ...     sorted(json.loads(record.read_text())["results"])
    ['cpu_seconds', 'device', 'tiny']
    """
    import torch  # not at the top: whoever only measures arrays need not wait for it

    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="a small run, as a test")
    parser.add_argument(
        "--output", type=Path, default=Path(path), help="where the record is written"
    )
    options = parser.parse_args(arguments)
    if options.tiny and options.output.resolve() == Path(path).resolve():
        parser.error("--tiny must not replace the record; say where to write with --output")
    if not options.output.parent.is_dir():  # told now, not after the long work
        parser.error(f"--output {options.output} cannot be written: its folder is not there")

    torch.set_num_threads(1)
    results = measure(options.tiny)
    cpu_seconds = round(time.process_time(), 1)
    write_record(options.output, {"device": "CPU", **results, "cpu_seconds": cpu_seconds})


def origin_of(record: Mapping[str, dict]) -> str:
    """Say where a record of `run_and_record` comes from, in the words that follow "recorded".

    Parameters
    ----------
    record : mapping
        The record, read again.

    Returns
    -------
    str
        Day, versions, processor, processor time.

    Examples
    --------
    >>> origin_of({
    ...     "provenance": {
    ...         "date": "2026-11-29T17:28:20+00:00",
    ...         "versions": {"python": "3.11.7", "torch": "2.13.0"},
    ...         "processor": "M68000",
    ...     },
    ...     "results": {"cpu_seconds": 540.0},
    ... })
    'on 2026-11-29, Python 3.11.7, torch 2.13.0, one thread of M68000, 9 minutes of processor time'
    """
    origin = record["provenance"]
    return (
        f"on {origin['date'][:10]}, Python {origin['versions']['python']}, "
        f"torch {origin['versions']['torch']}, one thread of {origin['processor']}, "
        f"{record['results']['cpu_seconds'] / 60:.0f} minutes of processor time"
    )
