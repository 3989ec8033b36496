"""What the site serves, and repairs of the theme: everything comes from the site itself.

Formulas are rendered to HTML while the site is built, by KaTeX under node, with styles and fonts from
`book/vendor/katex` (fetched by `python -m coursekit.site.build`). Where node or that folder is missing,
the build says so and formulas are rendered in the reader's browser, as MathML, by the copy of KaTeX
that the Python package sphinxcontrib-katex carries; it needs no fonts.

Repairs, each for a fault seen in sphinx-book-theme 1.3.0: a second search bar, an icon script of
1.5 MB that draws nothing, source maps, three accessibility faults and a bare start page.
"""

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

logger = logging.getLogger(__name__)

FALLBACK_SENTENCE = (
    "Formulas will be rendered in the reader's browser, because {missing}; "
    "install Node.js 18 or newer with npm and build again to render them here."
)


def formulas_rendered_here(vendor: Path) -> str | None:
    """Return what is missing for rendering formulas during the build, or None if nothing is."""
    if shutil.which("node") is None:
        return "node was not found"
    if not (vendor / "katex" / "katex.min.css").is_file():
        return "the styles and fonts of KaTeX have not been fetched"
    return None


def configure(app: Sphinx, config: Config) -> None:
    """Add the folders that are served, and choose where formulas are rendered."""
    root = Path(app.srcdir)
    vendor = root / "book" / "vendor"
    folders = [root / "book" / "_static", vendor]
    config.html_static_path.extend(str(folder) for folder in folders if folder.is_dir())

    missing = formulas_rendered_here(vendor)
    if missing is None:
        config.katex_prerender = True
        config.katex_css_path = "katex/katex.min.css"
        _give_node_time()
    else:
        logger.info(FALLBACK_SENTENCE.format(missing=missing))
        config.katex_prerender = False
        config.katex_css_path = "katex-math.css"
        config.katex_options = '{output: "mathml", throwOnError: false}'


def _give_node_time() -> None:
    """Let node take its time on a busy machine; the extension gives up after five seconds."""
    from sphinxcontrib import katex

    katex.STARTUP_TIMEOUT = 60.0
    katex.RENDER_TIMEOUT = 60.0


def page_context(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    """Empty the bar above the page: it only repeats the search field of the sidebar."""
    for place in ("start", "center", "end", "persistent"):
        context[f"theme_navbar_{place}"] = []


def repair_page(text: str) -> str:
    """Return the HTML of one page with the theme's accessibility faults mended.

    The search button's label hid its visible text; the sidebar's title was in no landmark.
    """
    text = re.sub(
        r'(<button class="btn search-button-field[^>]*?) aria-label="[^"]*"', r"\1", text
    )
    return re.sub(
        r'<(div|dialog|nav|aside) id="pst-primary-sidebar"(?![^>]*aria-label)',
        r'<\1 id="pst-primary-sidebar" role="region" aria-label="Site sidebar"',
        text,
    )


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Mend written pages, lighten the static files, and forget a build that had warnings."""
    if exception or app.statuscode or getattr(app, "_warncount", 0):
        # Sphinx would take pages that had warnings as read, and pass the next build without a word.
        Path(app.doctreedir, "environment.pickle").unlink(missing_ok=True)
    if exception or app.builder.format != "html":
        return
    output = Path(app.outdir)
    for page in output.rglob("*.html"):
        before = page.read_text(encoding="utf-8")
        after = repair_page(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
    static = output / "_static"
    for useless in static.rglob("*.map"):
        useless.unlink()
    icons = static / "scripts" / "fontawesome.js"
    if icons.is_file():  # icons are drawn by the web font that the page loads anyway
        icons.write_text("", encoding="utf-8")
    _write_start_page(app, output)


def _write_start_page(app: Sphinx, output: Path) -> None:
    """Write `index.html` at the top, which leads to the first page of the book."""
    first = app.config.root_doc
    if first == "index":
        return
    target = app.builder.get_target_uri(first)
    title = app.config.html_title
    (output / "index.html").write_text(
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<meta name="description" content="{title}: the start page.">\n'
        f'<meta http-equiv="refresh" content="0; url={target}">\n'
        f'</head>\n<body><p><a href="{target}">{title}</a></p></body>\n</html>\n',
        encoding="utf-8",
    )


def setup(app: Sphinx) -> dict:
    """Register styles, repairs and clean-up."""
    app.connect("config-inited", configure)
    app.connect("html-page-context", page_context, priority=900)
    app.connect("build-finished", finish, priority=900)
    app.add_css_file("course.css", priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
