"""A course of one tiny assignment in a temporary folder, built as the real one is."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

PROJECT = Path(__file__).resolve().parents[3]

SOURCE = '''\
# %% [markdown]
# # 90 · Doubling

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %%
from coursekit.checks import check, mark

# %% [markdown]
# ## Twice as much
#
# {{exercise 90.double}}
#
# Return `x` times two.

# %% nbgrader={"grade": false, "grade_id": "double", "locked": false, "schema_version": 3, "solution": true, "task": false} coursekit={"exercise": "90.double", "helpers": ["imports"]}
def double(x):
    """Twice `x`."""
    ### BEGIN SOLUTION
    once = np.asarray(x)
    again = once.copy()
    return once + again
    ### END SOLUTION

# %%
check("90.double", double)

# %% nbgrader={"grade": true, "grade_id": "double-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Graded with other numbers than those above.
### BEGIN HIDDEN TESTS
mark("90.double", double, points=4)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": true, "grade_id": "why", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# Because doubling is linear: it does not care about order.
# ### END SOLUTION
'''

DOUBLE = SimpleNamespace(
    identifier="90.double",
    assignment="90_doubling",
    title="Twice as much",
    answer="double",
    points=4,
    difficulty=1,
    minutes=5,
    hints=("Think of a sum.", "Add it to itself.", "`x + x`"),
)


def lookup(identifier):
    """Stand in for the registry."""
    if identifier != "90.double":
        raise LookupError(f"there is no exercise {identifier!r}; near: 90.double")
    return DOUBLE


@pytest.fixture(scope="session")
def registry():
    return lookup


@pytest.fixture
def source():
    return SOURCE


@pytest.fixture(scope="session")
def written_course(tmp_path_factory):
    """Return the root of a course that nobody may change."""
    root = tmp_path_factory.mktemp("written") / "course"
    (root / "solutions").mkdir(parents=True)
    (root / "solutions" / "90_doubling.py").write_text(SOURCE, encoding="utf-8")
    shutil.copy(PROJECT / "nbgrader_config.py", root)
    return root


@pytest.fixture
def course(written_course, tmp_path):
    """Return the root of a course that has been written, but not built."""
    return shutil.copytree(written_course, tmp_path / "course")
