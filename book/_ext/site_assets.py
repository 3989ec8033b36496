"""What the site serves, and repairs of the theme: everything comes from the site itself.

Formulas are rendered to HTML while the site is built, by KaTeX under node, with styles and fonts from
`book/vendor/katex` (fetched by `python -m coursekit.site.build`). Where node or that folder is missing,
the build says so and formulas are rendered in the reader's browser, as MathML, by the copy of KaTeX
that the Python package sphinxcontrib-katex carries; it needs no fonts.

The role ``{zh}`注意力` `` marks Chinese words in English prose.

Repairs, each for a fault seen in sphinx-book-theme 1.3.0: a second search bar, an icon script of
1.5 MB that draws nothing, source maps, several accessibility faults and a bare start page.
"""

import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole
from sphinx.writers.html5 import HTML5Translator
from sphinxcontrib import katex

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
        _make_renderer_patient()
    else:
        logger.info(FALLBACK_SENTENCE.format(missing=missing))
        config.katex_prerender = False
        config.katex_css_path = "katex-math.css"
        config.katex_options = '{output: "mathml", throwOnError: false}'


def _make_renderer_patient() -> None:
    """Let node take its time on a busy machine.

    sphinxcontrib-katex 0.9.11 gives up after five seconds, and connects to the renderer's socket as
    soon as its file exists, which is before anybody listens: now and then a build died of that.
    """
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60.0
    katex.KaTeXServer.start_server_process = classmethod(_start_renderer)


def _start_renderer(
    cls: type[katex.KaTeXServer], rundir: Path, timeout: float
) -> tuple[subprocess.Popen, socket.socket]:
    """Start node with KaTeX, and return it with a socket on which it listens."""
    address = str(rundir / "katex.sock")
    process = subprocess.Popen(
        cls.build_command(socket=address), cwd=rundir, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    deadline = time.monotonic() + timeout
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    while True:
        try:
            connection.connect(address)
            return process, connection
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                connection.close()
                process.kill()
                process.communicate()
                raise cls.timeout_error(timeout) from None
            time.sleep(0.01)


def page_context(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    """Empty the bar above the page: it only repeats the search field of the sidebar."""
    for place in ("start", "center", "end", "persistent"):
        context[f"theme_navbar_{place}"] = []


REPAIRS = (
    # Labels that hide the visible text: of the search button, and of folded code cells.
    (re.compile(r'(<button class="btn search-button-field[^>]*?) aria-label="[^"]*"'), r"\1"),
    (re.compile(r'<summary aria-label="Toggle hidden content">'), "<summary>"),
    # The site's title stood in no landmark.
    (
        re.compile(r'<(\w+) id="pst-primary-sidebar"(?![^>]*aria-label)'),
        r'<\1 id="pst-primary-sidebar" role="region" aria-label="Site sidebar"',
    ),
    # Roles of a list of works that browsers no longer know, on elements that may not bear them.
    (re.compile(r'<div role="list" class="citation-list">'), '<div class="citation-list">'),
    (re.compile(r' role="doc-biblioentry"'), ""),
)


def repair_page(text: str) -> str:
    """Return the HTML of one page with the accessibility faults of the tools mended."""
    for fault, mended in REPAIRS:
        text = fault.sub(mended, text)
    return text


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Mend written pages, lighten the static files, and forget a build that had warnings."""
    if exception or app.statuscode or getattr(app, "_warncount", 0):
        # Sphinx would take pages that had warnings as read, and pass the next build without a word.
        Path(app.doctreedir, "environment.pickle").unlink(missing_ok=True)
    if exception or app.builder.format != "html":
        return
    output = Path(app.outdir)
    _remove_stale_pages(app, output)
    for page in output.rglob("*.html"):
        before = page.read_text(encoding="utf-8")
        after = repair_page(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
    static = output / "_static"
    for pattern in ("*.map", "*webpack-macros.html"):  # for makers of the theme, not for readers
        for useless in static.rglob(pattern):
            useless.unlink()
    icons = static / "scripts" / "fontawesome.js"
    if icons.is_file():  # icons are drawn by the web font that the page loads anyway
        icons.write_text("", encoding="utf-8")
    _write_start_page(app, output)


def _remove_stale_pages(app: Sphinx, output: Path) -> None:
    """Delete pages of earlier builds that are not in the book any more."""
    top = Path(app.config.root_doc).parts[0]
    for page in (output / top).rglob("*.html"):
        docname = page.relative_to(output).with_suffix("").as_posix()
        if docname not in app.env.found_docs:
            page.unlink()
            (output / "_sources" / f"{docname}.md").unlink(missing_ok=True)


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
        '<link rel="icon" href="data:,">\n'  # no request for a page that is left at once
        f'<meta http-equiv="refresh" content="0; url={target}">\n'
        f'</head>\n<body><p><a href="{target}">{title}</a></p></body>\n</html>\n',
        encoding="utf-8",
    )


class KeepPunctuation(SphinxPostTransform):
    """Keep a full stop or comma on the line of the short formula before it.

    Browsers may break a line after a formula, whatever follows. Long formulas must stay breakable.
    """

    default_priority = 700
    longest = 24

    def run(self, **kwargs: object) -> None:
        for formula in list(self.document.findall(nodes.math)):
            following = formula.next_node(descend=False, siblings=True)
            if not isinstance(following, nodes.Text) or len(formula.astext()) > self.longest:
                continue
            text = following.astext()
            stop = re.match(r"[.,;:?!)’”]+", text)
            if stop is None:
                continue
            parent = formula.parent
            parent.replace(following, nodes.Text(text[stop.end() :]))
            kept = nodes.inline(classes=["formula-end"])
            parent.replace(formula, kept)
            kept += [formula, nodes.Text(stop[0])]


class chinese(nodes.inline):
    """Chinese words in English prose: screen readers and fonts need to know."""


def visit_chinese(self: HTML5Translator, node: chinese) -> None:
    """Open a span that names its language."""
    self.body.append('<span lang="zh-Hans">')


def depart_chinese(self: HTML5Translator, node: chinese) -> None:
    """Close the span."""
    self.body.append("</span>")


class ChineseRole(SphinxRole):
    """The role ``{zh}`…` ``: marks words as Chinese."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [chinese(self.rawtext, self.text)], []


def setup(app: Sphinx) -> dict:
    """Register styles, the role for Chinese words, repairs and clean-up."""
    app.add_node(chinese, html=(visit_chinese, depart_chinese))
    app.add_role("zh", ChineseRole())
    app.add_post_transform(KeepPunctuation)
    app.connect("config-inited", configure)
    app.connect("html-page-context", page_context, priority=900)
    app.connect("build-finished", finish, priority=900)
    app.add_css_file("course.css", priority=900)
    app.add_css_file("plot.css", priority=901)  # figures of attnkit.plot
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
