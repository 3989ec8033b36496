"""What the packages hand on: mechanisms, each with its help; not what chapters build for one task."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import attnkit.numpy
import attnkit.torch

MODULES = [
    module.name
    for module in pkgutil.iter_modules(attnkit.torch.__path__)
    if not module.name.startswith("_")
]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_handed_on_whole_or_not_at_all(name):
    """Never where it belongs to a task: its names would stand beside mechanisms."""
    module = importlib.import_module(f"attnkit.torch.{name}")
    handed_on = {inner for inner in module.__all__ if hasattr(attnkit.torch, inner)}
    belongs_to_a_task = "attnkit.tasks" in Path(module.__file__).read_text(encoding="utf-8")
    assert handed_on in (set(), set(module.__all__))
    assert not (belongs_to_a_task and handed_on)


PUBLIC = [
    pytest.param(getattr(package, name), id=f"{package.__name__}.{name}")
    for package in (attnkit.numpy, attnkit.torch)
    for name in sorted(dir(package))
    if not name.startswith("_") and not inspect.ismodule(getattr(package, name))
]
# Bookkeeping and parts put together, which come from no paper.
WITHOUT_SOURCE = {
    "DecoderCache",
    "HeadPositions",
    "History",
    "SparseFeatures",
    "Translator",
    "alignment_accuracy",
    "combine_masks",
    "exact_match",
    "from_drop_mask",
    "padding_mask",
    "to_additive",
}


def has_source(public):
    """Whether the docstring names a paper of some year, or a function of the package that does."""
    text = inspect.getdoc(public)
    package = attnkit.torch if "torch" in public.__module__ else attnkit.numpy
    named = (getattr(package, name, None) for name in re.findall(r"`(\w+)`", text))
    functions = [function for function in named if inspect.isfunction(function)]
    return any(re.search(r"\((?:19|20)\d\d\)", inspect.getdoc(of)) for of in (public, *functions))


@pytest.mark.parametrize("public", PUBLIC)
def test_help_is_complete(public):
    """Arguments, errors, a source and an example: enough to be used without the book."""
    text = inspect.getdoc(public)
    is_record = inspect.isclass(public) and hasattr(public, "__match_args__")
    takes = [] if is_record else [*inspect.signature(public).parameters]
    if takes == ["args", "kwargs"]:  # a module of torch without any of its own
        takes = []
    assert all(re.search(rf"\b{name}\b", text) for name in takes)
    for section in ("Attributes",) if is_record else ("Parameters", "Raises") if takes else ():
        assert f"{section}\n---" in text
    assert has_source(public) != (public.__name__ in WITHOUT_SOURCE)
    module = importlib.import_module(public.__module__)
    examples = {found.name: found.examples for found in doctest.DocTestFinder().find(module)}
    assert examples[f"{module.__name__}.{public.__name__}"]
