"""Runs a test that takes `backend` on NumPy and on PyTorch."""

import pytest

from tests.attnkit.backends import BACKENDS


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.name)
def backend(request):
    """One of the two back ends."""
    return request.param
