"""Where a recorded result comes from: versions, processor, threads, load, date, command."""

import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath

_PACKAGES = ("numpy", "torch", "attnkit")
_THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def provenance() -> dict[str, object]:
    """Return what a recorded result must say about its origin, ready for JSON.

    Nothing in it names a person or a machine: no user, no host, no path outside the working folder.

    Returns
    -------
    dict
        ``date`` (UTC, to the second), ``command``, ``versions`` (Python and the packages that are
        installed), ``system``, ``processor``, ``threads`` (the settings in force, torch's own number
        if torch is loaded, the cores this process may use), ``load`` (mean number of running
        processes over 1, 5 and 15 minutes, null where the system does not tell).

    Examples
    --------
    >>> sorted(provenance())
    ['command', 'date', 'load', 'processor', 'system', 'threads', 'versions']
    """
    return {
        "date": datetime.now(UTC).replace(microsecond=0).isoformat(),
        "command": _command(),
        "versions": _versions(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "threads": _threads(),
        "load": [round(mean, 2) for mean in os.getloadavg()] if hasattr(os, "getloadavg") else None,
    }


def write_record(path: str | os.PathLike, results: object) -> None:
    """Write `results` to `path` as JSON, together with their provenance.

    The file appears whole or not at all: a run that is stopped while writing leaves the old one.

    Parameters
    ----------
    path : path
        The file; its folder must exist.
    results : object
        Anything that JSON can hold; NaN and infinity cannot.

    Raises
    ------
    ValueError, TypeError
        If JSON cannot hold `results`. Nothing is written then.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_record(Path(folder) / "run.json", {"loss": 0.5})
    ...     sorted(json.loads((Path(folder) / "run.json").read_text()))
    ['provenance', 'results']
    """
    record = {"provenance": provenance(), "results": results}
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    path = Path(path)
    draft = path.with_name(path.name + ".part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _command() -> str:
    """Return the command line of this process without the folders it was found in."""
    if "ipykernel" in sys.modules:
        return "notebook"
    arguments = sys.orig_argv[1:]
    if "-c" in arguments:  # a program typed on the command line may say anything
        arguments = [*arguments[: arguments.index("-c") + 1], "…"]
    return " ".join(["python", *map(_without_folders, arguments)])


def _without_folders(argument: str) -> str:
    """Return `argument` with a path outside the working folder cut to its last part."""
    option, equals, value = argument.rpartition("=")
    path = PurePath(value)
    if not path.is_absolute() and not value.startswith("~"):
        return argument
    here = Path.cwd()
    short = path.relative_to(here).as_posix() if path.is_relative_to(here) else path.name
    return option + equals + short


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """Return the processor's name, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _threads() -> dict[str, object]:
    counts = {name: os.environ[name] for name in _THREAD_SETTINGS if name in os.environ}
    torch = sys.modules.get("torch")  # asking must not load it
    if torch is not None:
        counts["torch"] = torch.get_num_threads()
    if hasattr(os, "sched_getaffinity"):
        counts["cores"] = len(os.sched_getaffinity(0))
    else:
        counts["cores"] = os.cpu_count()
    return counts
