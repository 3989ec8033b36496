"""The checks of the built site: each finds its fault, and finds nothing in a sound site."""

import json
import shutil

import pytest

from coursekit.site import check
from coursekit.site.check import CHECKS, Finding, Site

PAGE = """<!DOCTYPE html>
<html lang="en"><head><title>{title}</title>
<meta name="description" content="What it says.">
<link rel="stylesheet" href="{up}_static/a.css">
<link rel="next" href="https://example.org/next.html">
</head><body><h1 id="top">{title}</h1>
<p><a href="#top">here</a> <a href="https://example.org/">yonder</a></p>
<img src="{up}_static/p.png" alt="a row of bars">
{body}
</body></html>
"""

QUESTION = """<fieldset class="quiz" id="quiz-{0}"><legend>Question {0}. Why?</legend>
<div class="quiz-choice"><input type="radio"><label>a</label>
<div class="quiz-reason quiz-right"><span>Right.</span><p>Because.</p></div></div>
<div class="quiz-choice"><input type="radio"><label>b</label>
<div class="quiz-reason quiz-wrong"><span>Not quite.</span><p>Since.</p></div></div></fieldset>
"""

LEDGER = """<table class="ledger ledger-measured"><tbody><tr>
<td><strong id="ledger-c1">C1</strong> text</td><td><a href="part1/01_first.html#top">1. First</a></td>
<td>it is 3</td><td><span class="verdict">holds</span></td></tr></tbody></table>
<table class="ledger ledger-open"><tbody><tr><td><strong id="ledger-c2">C2</strong></td>
<td>chapter 2</td></tr></tbody></table>
"""


@pytest.fixture
def site(tmp_path):
    """A small site without a fault: start page, one chapter, ledger."""
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: book/index\nparts:\n  - caption: P\n    chapters:\n"
        "      - file: book/part1/01_first\n      - file: book/ledger\n"
    )
    html = tmp_path / "_build" / "html"
    files = {
        "index.html": PAGE.format(title="Start", up="", body='<a href="book/index.html">in</a>'),
        "book/index.html": PAGE.format(
            title="Index", up="../", body='<a href="part1/01_first.html#top">1</a>'
        ),
        "book/part1/01_first.html": PAGE.format(
            title="First", up="../../", body="".join(QUESTION.format(n) for n in (1, 2, 3))
        ),
        "book/ledger.html": PAGE.format(title="Ledger", up="../", body=LEDGER),
        "_static/a.css": "@font-face{src:url(f.woff2)} p{background:url(data:image/png;base64,x)}",
        "_static/a.js": 'location = "https://example.org/about";',
        "_static/p.png": "",
        "../jupyter_execute/book/part1/01_first.glue.json": json.dumps(
            {"cpu_seconds": {"data": {"text/plain": "12.5"}}}
        ),
        "../../book/claims.yml": "claims: {C1: {}, C2: {}}",
    }
    for name, text in files.items():
        path = html / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Site(html, tmp_path / "_toc.yml")


def change(site, name, before, after):
    path = site.folder / name
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


@pytest.mark.parametrize("find", CHECKS, ids=lambda find: find.__name__)
def test_sound_site_has_no_fault(site, find):
    assert list(find(site)) == []


@pytest.mark.parametrize(
    ("find", "name", "before", "after", "message"),
    [
        (check.error_text, "book/index.html", "here", '<b class="katex-error">', "KaTeX could not read"),
        (check.error_text, "book/index.html", "here", '<b style="color:#cc0000">', "does not know"),
        (check.error_text, "book/index.html", "here", "Traceback (most recent call last)", "Python error"),
        (check.error_text, "book/index.html", "here", '<a class="problematic x">', "not be resolved"),
        (check.broken_links, "book/index.html", "01_first.html#top", "01_frist.html", "not in the site"),
        (check.broken_links, "book/index.html", "01_first.html#top", "01_first.html#up", "an anchor"),
        (check.broken_links, "book/index.html", 'href="#top"', 'href="#absent"', "an anchor"),
        (check.broken_links, "book/index.html", "p.png", "q.png", "not in the site"),
        (check.broken_links, "index.html", "book/index.html", "../../_toc.yml", "not in the site"),
        (check.fetched_from_elsewhere, "book/index.html", "../_static/a.css", "https://cdn.x/a.css", "<link> loads"),
        (check.fetched_from_elsewhere, "book/index.html", "../_static/p.png", "//cdn.x/p.png", "<img> loads"),
        (check.fetched_from_elsewhere, "book/index.html", "here", '<script src="https://x.y/a.js"></script>', "<script> loads"),
        (check.fetched_from_elsewhere, "book/index.html", "here", '<img alt="a" srcset="https://x.y/a 2x">', "loads https://x.y/a"),
        (check.fetched_from_elsewhere, "book/index.html", "here", '<b style="background:url(https://x.y/p)">', "a style loads"),
        (check.fetched_from_elsewhere, "book/index.html", "here", '<script>u = "https://x.y/a.js"</script>', "a script names"),
        (check.fetched_from_elsewhere, "_static/a.css", "f.woff2", "https://x.y/f.woff2", "loads https://x.y/f.woff2"),
        (check.fetched_from_elsewhere, "_static/a.css", "@font", '@import "//x.y/b.css";@font', "loads //x.y/b.css"),
        (check.fetched_from_elsewhere, "_static/a.js", "org/about", "org/lib.mjs", "names https://example.org/lib.mjs"),
        (check.undescribed_pages, "book/index.html", "What it says.", " ", "no description"),
        (check.undescribed_pages, "book/index.html", "<title>Index", "<title>", "no title"),
        (check.undescribed_pages, "book/index.html", ' lang="en"', "", "language"),
        (check.pictures_without_words, "book/index.html", "a row of bars", "", "no alt text"),
        (check.pictures_without_words, "book/index.html", "here", '<svg role="img"></svg>', "no name"),
        (check.repeated_ids, "book/index.html", "here", '<b id="top">', "occurs 2 times"),
        (check.incomplete_quizzes, "book/part1/01_first.html", "Question 2. Why?", " ", "asks nothing"),
        (check.incomplete_quizzes, "book/part1/01_first.html", "<p>Since.</p>", "", "without its reason"),
        (check.incomplete_quizzes, "book/part1/01_first.html", "quiz-wrong", "quiz-right", "2 right choices"),
        (check.incomplete_quizzes, "book/part1/01_first.html", '"quiz-choice"', '"x"', "0 choices"),
        (check.incomplete_quizzes, "book/part1/01_first.html", '"quiz" id="quiz-3"', '"x"', "2 quiz questions"),
        (check.expensive_chapters, "../jupyter_execute/book/part1/01_first.glue.json", "12.5", "90.1", "used 90.1 s"),
        (check.expensive_chapters, "../jupyter_execute/book/part1/01_first.glue.json", "cpu_seconds", "x", "page_cost"),
        (check.incomplete_ledger, "book/ledger.html", "ledger-c2", "x", "does not list C2"),
        (check.incomplete_ledger, "book/ledger.html", "it is 3", " ", "lacks chapter or figure"),
        (check.incomplete_ledger, "book/ledger.html", '"verdict"', '"x"', "lacks a verdict"),
    ],
)  # fmt: skip
def test_fault_is_found(site, find, name, before, after, message):
    change(site, name, before, after)
    findings = list(find(site))
    assert findings
    assert message in str(findings[0])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("book/part1/01_first.html", "is in _toc.yml but was not built"),
        ("index.html", "the start page is missing"),
    ],
)
def test_missing_page_is_found(site, name, message):
    (site.folder / name).unlink()
    assert [finding.message for finding in check.missing_pages(site)] == [message]


def test_stale_page_is_found(site):
    shutil.copy(site.folder / "book/index.html", site.folder / "book/old.html")
    assert list(check.missing_pages(site)) == [
        Finding("book/old.html", "was built but is not in _toc.yml")
    ]


def test_missing_ledger_is_found(site):
    (site.folder / "book/ledger.html").unlink()
    assert list(check.incomplete_ledger(site)) == [Finding("book/ledger.html", "is missing")]


def test_command_line_prints_what_it_finds(site, capsys):
    root = site.toc.parent
    assert check.main(["--root", str(root)]) == 0
    change(site, "book/index.html", "a row of bars", "")
    assert check.main(["--root", str(root)]) == 1
    assert "book/index.html: the picture" in capsys.readouterr().out


def test_command_line_without_a_site(tmp_path, capsys):
    assert check.main(["--root", str(tmp_path)]) == 2
    assert "`make book` builds it" in capsys.readouterr().err
