"""`python -m attnkit.bench`: compare the library with its peers, one thread, and write what was found."""

import argparse
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from .origin import write_record
from .peers import search_also, versions

SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    # NumPy asks for huge pages, which torch does not. Finding them takes the kernel anything between
    # no time and as long as the work itself, depending on what ran on the machine before.
    "NUMPY_MADVISE_HUGEPAGE": "0",
}


def main(arguments=None):
    """Run the benchmark and return the exit status: 0 unless something of ours fails."""
    options = _parser().parse_args(arguments)
    if any(os.environ.get(name) != value for name, value in SETTINGS.items()):
        return _again_with_settings(arguments)
    try:
        import torch
    except ModuleNotFoundError:
        sys.exit("the benchmark needs torch: pip install 'attnkit[torch]'")
    from .suite import rows

    torch.set_num_threads(1)
    search_also(options.peers)
    every = rows()
    chosen = [row for row in every if _is_asked_for(row.name, options.rows)]
    if not chosen:
        sys.exit(
            f"no row is called {', '.join(options.rows)}; there are {', '.join(row.name for row in every)}"
        )
    if options.list:
        width = max(len(row.name) for row in chosen)
        print("\n".join(f"{row.name:<{width}}  {row.title}" for row in chosen))
        return 0
    _prepare(options.out)
    results = _measured(chosen, options)
    found = {
        "quick": options.quick,
        "settings": SETTINGS,
        "peers": versions(),
        "rows": results,
    }
    write_record(options.out, found)
    _print(results, options)
    return 0


def _prepare(out):
    """Make the folder of the results and see that a file can stand there, before the long work."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.is_dir():
            raise IsADirectoryError(
                f"it is a folder, and {out / 'bench.json'} would be a file in it"
            )
        with tempfile.TemporaryFile(dir=out.parent):
            pass
    except OSError as reason:
        sys.exit(f"--out {out} cannot be written: {reason}")


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m attnkit.bench",
        description="Compare attnkit with other implementations: ratios, one process, one thread.",
    )
    parser.add_argument(
        "--rows", nargs="+", default=[], metavar="NAME", help="only rows whose names begin so"
    )
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument(
        "--quick", action="store_true", help="small inputs, three rounds: does it run at all?"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("_build/bench.json"),
        metavar="FILE",
        help="where the results go (default: %(default)s)",
    )
    parser.add_argument(
        "--peers",
        type=Path,
        default=Path("_build/peers"),
        metavar="FOLDER",
        help="where packages to compare with are looked for last (default: %(default)s)",
    )
    return parser


def _again_with_settings(arguments):
    """Run the same in a child process: libraries read their settings once, on loading."""
    command = [
        sys.executable,
        "-m",
        "attnkit.bench",
        *(sys.argv[1:] if arguments is None else arguments),
    ]
    environment = os.environ | SETTINGS
    with subprocess.Popen(command, env=environment) as child:
        try:
            return child.wait()
        except KeyboardInterrupt:  # the child was told, too, and has its own workers to end
            try:
                return child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()
                raise KeyboardInterrupt from None


def _is_asked_for(name, beginnings):
    return not beginnings or any(name.startswith(beginning) for beginning in beginnings)


def _measured(chosen, options):
    """Return what was measured of each row.

    Each row has a process of its own, which its candidates share: what earlier rows left behind in
    the allocator changes by up to a third what large temporary arrays cost.
    """
    from ..progress import progress
    from .suite import measure_alone

    workers = ProcessPoolExecutor(
        1,
        multiprocessing.get_context("spawn"),
        max_tasks_per_child=None if options.quick else 1,
    )
    results = []
    with progress(len(chosen), "comparing") as advance, workers:
        for row in chosen:
            task = workers.submit(measure_alone, row.name, options.peers, quick=options.quick)
            try:
                results.append(task.result())
            except BrokenProcessPool:
                sys.exit(f"the process that measured {row.name} was ended; was memory short?")
            advance(row.name)
    return results


def _print(results, options):
    """Print the table and what a reader should know about it."""
    from .table import table

    _say("times: how many times as long as ours the other takes, the median of the rounds")
    _say("memory: the highest during one call, ours over the other's")
    coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    print("\n" + table(results, colour=coloured))
    unsteady = [
        row["name"] for row in results if not all(cost["steady"] for cost in row["times"].values())
    ]
    if options.quick:
        _say(
            "A quick run, on inputs smaller than the rows say: it shows that all works, and no speed."
        )
    elif unsteady:
        _say(f"The machine was too busy for a fine statement on {', '.join(unsteady)}.")
    print(f"Written to {options.out}.")


def _say(words):
    """Print a sentence in lines that fit the terminal."""
    print(textwrap.fill(words, shutil.get_terminal_size().columns, break_on_hyphens=False))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; nothing was written")
