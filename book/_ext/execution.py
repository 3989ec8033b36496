"""How pages are executed: on one thread, and again whenever the code behind them has changed.

MyST-NB keeps executed pages in a cache whose key is a page's code cells only. A change in the course's
own library would therefore show old figures. So the cache folder is named by a hash over everything
that a page's figures depend on besides its own cells: the Python version, `constraints.txt`, all of
`attnkit`, the two modules of `coursekit.site` that pages import, and recorded data and scripts under
`book/`. Another hash is another setting to Sphinx, so all pages are read, and executed, again.
"""

import hashlib
import os
import platform
import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

FIGURES_DEPEND_ON = (
    "constraints.txt",
    "attnkit/**/*.py",
    "coursekit/site/_publish.py",
    "coursekit/site/claims.py",
    "coursekit/site/pages.py",
    "book/data/**/*",
    "book/scripts/**/*",
)

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def fingerprint(root: Path) -> str:
    """Return a short hash of the names and contents of the files that figures depend on."""
    digest = hashlib.sha256(platform.python_version().encode())
    for pattern in FIGURES_DEPEND_ON:
        for path in sorted(root.glob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.relative_to(root).as_posix().encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def choose_cache(app: Sphinx, config: Config) -> None:
    """Name the cache after the fingerprint, and let kernels use one thread each."""
    folder = Path(app.outdir).parent / ".jupyter_cache" / fingerprint(Path(app.srcdir))
    folder.parent.mkdir(parents=True, exist_ok=True)
    config.nb_execution_cache_path = str(folder.resolve())
    for variable in ONE_THREAD:
        os.environ[variable] = "1"


def forget_reports(app: Sphinx) -> None:
    """Delete what failing pages of an earlier build reported, so that it is not published."""
    shutil.rmtree(Path(app.outdir, "reports"), ignore_errors=True)


def setup(app: Sphinx) -> dict:
    """Choose the cache before MyST-NB reads its settings."""
    app.connect("config-inited", choose_cache)
    app.connect("builder-inited", forget_reports)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
