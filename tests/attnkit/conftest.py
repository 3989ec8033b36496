"""Fixtures of several files: a test for NumPy and for PyTorch, and the figures drawn meanwhile."""

import pytest
from matplotlib.figure import Figure

from tests.attnkit.backends import BACKENDS


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.name)
def backend(request):
    """One of the two back ends."""
    return request.param


@pytest.fixture
def figures(monkeypatch):
    """Every figure that is drawn during a test."""
    drawn, save = [], Figure.savefig

    def remember(figure, *arguments, **keywords):
        drawn.append(figure)
        return save(figure, *arguments, **keywords)

    monkeypatch.setattr(Figure, "savefig", remember)
    return drawn
