"""Others' packages that the benchmark compares with: found by name, absent ones reported."""

import importlib
import importlib.util
import sys
import warnings
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

PACKAGES = (
    "local-attention",
    "linear-attention-transformer",
    "x-transformers",
    "torch-geometric",
    "vit-pytorch",
)


class PeerAbsent(Exception):
    """A package to compare with is not installed."""


def search_also(folder):
    """Let packages be found in `folder`, after all other places.

    Parameters
    ----------
    folder : path
        Where ``pip install --target`` put them; it need not exist.
    """
    place = str(Path(folder).resolve())
    if Path(folder).is_dir() and place not in sys.path:
        sys.path.append(place)


def peer(package, module):
    """Return a module of another package.

    Parameters
    ----------
    package : str
        Its name in the registry.
    module : str
        The module's full name.

    Returns
    -------
    module

    Raises
    ------
    PeerAbsent
        When the package, or one that it imports, is not installed.
    """
    _installed(package)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # theirs to mend
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise PeerAbsent(
            f"{package} is installed, but {error.name}, which it imports, is not"
        ) from error


def peer_file(package, path):
    """Return one file of another package as a module, without what the package itself imports.

    Parameters
    ----------
    package : str
        Its name in the registry.
    path : str
        The file within the package.

    Returns
    -------
    module

    Raises
    ------
    PeerAbsent
        When the package is not installed.
    """
    place = _installed(package).locate_file(path)
    name = "attnkit_bench_" + Path(path).stem
    spec = importlib.util.spec_from_file_location(name, place)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise PeerAbsent(
            f"{package} is installed, but {error.name}, which it imports, is not"
        ) from error
    return module


def versions():
    """Return the version of each of the packages, None for an absent one."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def _installed(package):
    """Return the package's metadata, or raise `PeerAbsent`."""
    try:
        return distribution(package)
    except PackageNotFoundError:
        raise PeerAbsent(f"{package} is not installed") from None
