"""Where executed pages are kept, and what of an earlier build is not published.

`coursekit.site.execute` runs the pages before the book is built, into a cache whose folder is named by
a hash of what their figures depend on. Another hash is another setting to Sphinx, so all pages are
read again. A page that is not in the cache, because Sphinx was started by hand, is executed here.
"""

import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

from coursekit.site.execute import cache_folder, use_one_thread


def choose_cache(app: Sphinx, config: Config) -> None:
    """Name the cache, and let kernels use one thread each."""
    folder = cache_folder(Path(app.srcdir))
    folder.parent.mkdir(parents=True, exist_ok=True)
    config.nb_execution_cache_path = str(folder)
    use_one_thread()


def forget_reports(app: Sphinx) -> None:
    """Delete what failing pages of an earlier build reported, so that it is not published."""
    shutil.rmtree(Path(app.outdir, "reports"), ignore_errors=True)


def setup(app: Sphinx) -> dict:
    """Choose the cache before MyST-NB reads its settings."""
    app.connect("config-inited", choose_cache)
    app.connect("builder-inited", forget_reports)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
