"""What the PyTorch package hands on: mechanisms; not what chapters build for one task."""

import importlib
import pkgutil
from pathlib import Path

import pytest

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
