"""What the site serves: formulas with and without node, repairs of the theme, no stale pages."""

import shutil

import pytest
from site_assets import formulas_rendered_here, repair_page

MATHS = "# T\n\nLet $x^2$, and\n\n$$\ny = 1\n$$\n"
KATEX = {
    "html_math_renderer": "katex",
    "exclude_patterns": ["_build", "book/vendor"],
}


def maths_book(tiny_book, index=MATHS):
    return tiny_book("sphinxcontrib.katex", "site_assets", index=index, **KATEX)


# formulas -----------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("node") is None, reason="node renders formulas during the build")
def test_formulas_are_rendered_during_the_build(tiny_book):
    book = maths_book(tiny_book)
    book.write("book/vendor/katex/katex.min.css", ".katex {}")
    page = book.build().page()
    assert book.warnings == ""
    assert len(page.select(".katex math")) == 2
    assert not [s for s in page.find_all("script") if "katex" in s.get("src", "")]
    assert page.find("link", href=lambda h: h and h.startswith("_static/katex/katex.min.css"))


@pytest.mark.parametrize("missing", ["node", "vendor"])
def test_without_node_or_fonts_the_site_brings_its_own_katex(tiny_book, monkeypatch, missing):
    book = maths_book(tiny_book)
    if missing == "node":
        book.write("book/vendor/katex/katex.min.css", ".katex {}")
        monkeypatch.setattr(shutil, "which", lambda name: None)
    page = book.build().page()
    scripts = [script.get("src", "").partition("?")[0] for script in page.find_all("script")]
    assert "install Node.js" in book.status
    assert book.warnings == ""
    assert {"_static/katex.min.js", "_static/auto-render.min.js"} <= set(scripts)
    assert not [script for script in scripts if "//" in script]
    assert not [link for link in page.find_all("link", rel="stylesheet") if "//" in link["href"]]
    assert (
        'output: "mathml"'
        in (book.folder / "_build/html/_static/katex_autorenderer.js").read_text()
    )
    assert r"\(x^2\)" in page.get_text()


def test_missing_piece_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert formulas_rendered_here(tmp_path) == "node was not found"
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/node")
    assert "not been fetched" in formulas_rendered_here(tmp_path)


@pytest.mark.parametrize(
    ("text", "kept"),
    [("a $x$. B", "."), ("a $x$, b", ","), ("($x$), b", "),"), ("a $x$ b", None), ("a $x$", None)],
)
def test_punctuation_stays_with_a_short_formula(tiny_book, text, kept):
    page = maths_book(tiny_book, index=f"# T\n\n{text}\n").build().page()
    ends = [end.contents[-1] for end in page.select(".formula-end")]
    assert ends == ([kept] if kept else [])
    assert page.p.get_text().replace(r"\(x\)", "$x$") == text


def test_long_formulas_stay_breakable(tiny_book):
    page = (
        maths_book(tiny_book, index=f"# T\n\na ${'+'.join('abcdefghijklmnop')}$. B\n")
        .build()
        .page()
    )
    assert page.select(".formula-end") == []


def test_chinese_words_are_marked_as_chinese(tiny_book):
    page = maths_book(tiny_book, index="# T\n\nattention, {zh}`注意力`\n").build().page()
    assert page.find("span", lang="zh-Hans").get_text() == "注意力"


# repairs ------------------------------------------------------------------------------------


def test_search_button_is_named_by_its_text():
    before = (
        '<button class="btn search-button-field x" title="Search" aria-label="Search" data-y="z">'
    )
    assert (
        repair_page(before)
        == '<button class="btn search-button-field x" title="Search" data-y="z">'
    )


def test_sidebar_becomes_a_landmark_once():
    before = '<dialog id="pst-primary-sidebar" class="x">'
    after = '<dialog id="pst-primary-sidebar" role="region" aria-label="Site sidebar" class="x">'
    assert repair_page(before) == after
    assert repair_page(after) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<summary aria-label="Toggle hidden content">', "<summary>"),
        ('<div role="list" class="citation-list">', '<div class="citation-list">'),
        ('<div class="citation" id="a" role="doc-biblioentry">', '<div class="citation" id="a">'),
        ('<ul role="list">', '<ul role="list">'),
    ],
)
def test_labels_and_roles_that_mislead_are_removed(before, after):
    assert repair_page(before) == after


def test_static_files_lose_their_dead_weight(tiny_book):
    book = maths_book(tiny_book)
    book.write("book/_static/scripts/fontawesome.js", "x" * 1000)
    book.write("book/_static/scripts/fontawesome.js.map", "{}")
    book.write("book/_static/theme/some-webpack-macros.html", "{{ pathto() }}")
    book.write("book/_static/course.css", "p {}")
    book.build()
    static = book.folder / "_build/html/_static"
    assert (static / "scripts/fontawesome.js").read_text() == ""
    assert not (static / "scripts/fontawesome.js.map").exists()
    assert not list(static.rglob("*macros.html"))
    assert (static / "course.css").is_file()


def test_pages_that_left_the_book_leave_the_site(tiny_book):
    index = "# T\n\n```{{toctree}}\n{}\n```\n"
    book = tiny_book("sphinxcontrib.katex", "site_assets", root_doc="book/index", **KATEX)
    (book.folder / "index.md").unlink()
    book.write("book/index.md", index.format("one\ntwo"))
    book.write("book/one.md", "# One\n")
    book.write("book/two.md", "# Two\n")
    book.build()
    (book.folder / "book/two.md").unlink()
    book.write("book/index.md", index.format("one"))
    book.build()
    html = book.folder / "_build/html"
    assert (html / "book/one.html").is_file()
    assert not (html / "book/two.html").exists()
    start = (html / "index.html").read_text()
    assert 'href="book/index.html"' in start
    assert '<html lang="en">' in start
    assert '<link rel="icon" href="data:,">' in start


def test_build_with_warnings_warns_again_next_time(tiny_book):
    book = maths_book(tiny_book, index="# T\n\n{doc}`nowhere`\n")
    assert "nowhere" in book.build().warnings
    assert "nowhere" in book.build().warnings
