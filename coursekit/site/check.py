"""Checks of the built website: ``python -m coursekit.site.check`` (run by the tests after a build).

Each check reads files of the site and returns what it found wrong; nothing is requested or executed.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from bs4 import BeautifulSoup, Tag

from coursekit.site.pages import CPU_LIMIT_SECONDS
from coursekit.site.toc import listed_pages

ROOT = Path(__file__).resolve().parents[2]
QUIZ_QUESTIONS = 3

ERROR_TEXT = {
    'class="katex-error"': "a formula that KaTeX could not read",
    "#cc0000": "a macro that KaTeX does not know",
    "Traceback (most recent call last)": "a Python error",
    'class="system-message': "a message of the document parser",
    'class="problematic': "markup that could not be resolved",
}

# What a browser fetches by itself, and the attribute that says from where.
FETCHED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
    "link": "href",
}
LINKS_NOT_FETCHED = {
    "next",
    "prev",
    "canonical",
    "author",
    "license",
    "alternate",
    "search",
    "index",
}
IN_STYLES = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s]+)""")
IN_SCRIPTS = re.compile(r"""["'`](?:https?:)?//[^"'`\s]+?\.(?:m?js|css|woff2?|wasm|json)\b""")


@dataclass(frozen=True, order=True)
class Finding:
    """One fault: the page or file, relative to the site, and what is wrong there."""

    page: str
    message: str

    def __str__(self) -> str:
        return f"{self.page}: {self.message}"


@dataclass(frozen=True)
class Site:
    """A built site, and the table of contents that it was built from."""

    folder: Path
    toc: Path

    def pages(self) -> list[Path]:
        """Return every HTML file of the site."""
        return sorted(self.folder.rglob("*.html"))

    def contents(self) -> list[str]:
        """Return the pages that the table of contents lists, in reading order."""
        return listed_pages(self.toc)

    def chapters(self) -> list[str]:
        """Return the listed pages whose file names begin with a chapter number."""
        return [page for page in self.contents() if re.match(r"\d\d_", Path(page).name)]

    def name(self, path: Path) -> str:
        """Return how findings name a file."""
        return path.relative_to(self.folder).as_posix()


@lru_cache(maxsize=128)
def _parse(path: Path, modified: int) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def parse(path: Path) -> BeautifulSoup:
    """Return a parsed page; a page is parsed once for all checks."""
    return _parse(path, path.stat().st_mtime_ns)


def missing_pages(site: Site) -> Iterator[Finding]:
    """Find pages that the table of contents lists and the site lacks, or the other way round."""
    listed = set(site.contents())
    top = Path(site.contents()[0]).parts[0]
    built = {
        path.relative_to(site.folder).with_suffix("").as_posix()
        for path in (site.folder / top).rglob("*.html")
    }
    for page in sorted(listed - built):
        yield Finding(f"{page}.html", "is in _toc.yml but was not built")
    for page in sorted(built - listed):
        yield Finding(f"{page}.html", "was built but is not in _toc.yml")
    if not (site.folder / "index.html").is_file():
        yield Finding("index.html", "the start page is missing")


def error_text(site: Site) -> Iterator[Finding]:
    """Find traces of errors that did not stop the build."""
    for path in site.pages():
        text = path.read_text(encoding="utf-8")
        for trace, meaning in ERROR_TEXT.items():
            if trace in text:
                yield Finding(site.name(path), f"shows {meaning} ({trace})")


def broken_links(site: Site) -> Iterator[Finding]:
    """Find links to pages, files or anchors that do not exist in the site."""
    root = site.folder.resolve()
    for path in site.pages():
        for tag in parse(path).find_all(["a", "link", "img", "script", "source", "object"]):
            reference = tag.get("href") or tag.get("src") or tag.get("data")
            if not reference:
                continue
            parts = urlsplit(reference)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            if target.is_dir():
                target = target / "index.html"
            if not target.is_relative_to(root) or not target.is_file():
                yield Finding(site.name(path), f"links to {reference}, which is not in the site")
            elif (
                parts.fragment
                and target.suffix == ".html"
                and unquote(parts.fragment) not in _anchors(target)
            ):
                yield Finding(site.name(path), f"links to {reference}, an anchor that is missing")


def _anchors(path: Path) -> set[str]:
    page = parse(path)
    return {tag["id"] for tag in page.find_all(id=True)} | {
        tag["name"] for tag in page.find_all("a", attrs={"name": True})
    }


def fetched_from_elsewhere(site: Site) -> Iterator[Finding]:
    """Find scripts, styles, fonts and pictures that a browser would fetch from another host."""
    for path in site.pages():
        page = parse(path)
        for name, attribute in FETCHED.items():
            for tag in page.find_all(name, attrs={attribute: True}):
                if name == "link" and LINKS_NOT_FETCHED & set(tag.get("rel", [])):
                    continue
                if urlsplit(tag[attribute]).netloc:
                    yield Finding(site.name(path), f"<{name}> loads {tag[attribute]}")
        for tag in page.find_all(srcset=True):
            if "//" in tag["srcset"]:
                yield Finding(site.name(path), f"<{tag.name}> loads {tag['srcset']}")
        for address in IN_STYLES.findall("\n".join(_styles(page))):
            yield Finding(site.name(path), f"a style loads {address}")
        for tag in page.find_all("script", src=False):
            for address in IN_SCRIPTS.findall(tag.get_text()):
                yield Finding(site.name(path), f"a script names {address[1:]}")
    for path in sorted(site.folder.rglob("*.css")):
        for address in IN_STYLES.findall(path.read_text(encoding="utf-8")):
            yield Finding(site.name(path), f"loads {address}")
    for path in sorted(site.folder.rglob("*.*js")):
        for address in IN_SCRIPTS.findall(path.read_text(encoding="utf-8")):
            yield Finding(site.name(path), f"names {address[1:]}")


def _styles(page: BeautifulSoup) -> Iterator[str]:
    for tag in page.find_all("style"):
        yield tag.get_text()
    for tag in page.find_all(style=True):
        yield tag["style"]


def undescribed_pages(site: Site) -> Iterator[Finding]:
    """Find pages of the book without a title, a language or a one-line description."""
    for name in site.contents():
        path = site.folder / f"{name}.html"
        if not path.is_file():
            continue
        page = parse(path)
        description = page.find("meta", attrs={"name": "description"})
        if description is None or not description.get("content", "").strip():
            yield Finding(site.name(path), "has no description (html_meta in its front matter)")
        if page.title is None or not page.title.get_text().strip():
            yield Finding(site.name(path), "has no title")
        if not page.html.get("lang"):
            yield Finding(site.name(path), "does not say its language")


def pictures_without_words(site: Site) -> Iterator[Finding]:
    """Find pictures without alternative text."""
    for path in site.pages():
        page = parse(path)
        for tag in page.find_all("img"):
            if not tag.get("alt", "").strip():
                yield Finding(
                    site.name(path), f"the picture {tag.get('src', '')[:60]} has no alt text"
                )
        for tag in page.find_all("svg", role="img"):
            named = tag.get("aria-label") or tag.get("aria-labelledby") or tag.find("title")
            if not named:
                yield Finding(site.name(path), "an <svg role=img> has no name")


def repeated_ids(site: Site) -> Iterator[Finding]:
    """Find ids that occur twice on a page, so that links to them are ambiguous."""
    for path in site.pages():
        # Drawings have ids of their own inside, which nothing links to.
        counts = Counter(
            tag["id"] for tag in parse(path).find_all(id=True) if tag.find_parent("svg") is None
        )
        for identifier, count in counts.items():
            if count > 1:
                yield Finding(site.name(path), f"the id {identifier!r} occurs {count} times")


def incomplete_quizzes(site: Site) -> Iterator[Finding]:
    """Find chapters without their three questions, and questions or choices that lack a part."""
    for path in site.pages():
        for question in parse(path).select("fieldset.quiz"):
            yield from _incomplete_question(site.name(path), question)
    for name in site.chapters():
        path = site.folder / f"{name}.html"
        if path.is_file():
            count = len(parse(path).select("fieldset.quiz"))
            if count != QUIZ_QUESTIONS:
                yield Finding(site.name(path), f"has {count} quiz questions, not {QUIZ_QUESTIONS}")


def _incomplete_question(page: str, question: Tag) -> Iterator[Finding]:
    where = question.get("id", "a question")
    choices = question.select(".quiz-choice")
    if question.legend is None or not question.legend.get_text().strip():
        yield Finding(page, f"{where} asks nothing")
    if len(choices) < 2:
        yield Finding(page, f"{where} has {len(choices)} choices")
    right = len(question.select(".quiz-reason.quiz-right"))
    if right != 1:
        yield Finding(page, f"{where} has {right} right choices")
    for choice in choices:
        reason = choice.select_one(".quiz-reason")
        if reason is None or reason.select_one("p") is None:
            yield Finding(page, f"{where} has a choice without its reason")


def expensive_chapters(site: Site) -> Iterator[Finding]:
    """Find chapters that used too much processor time, or do not say how much."""
    for name in site.chapters():
        glued = site.folder.parent / "jupyter_execute" / f"{name}.glue.json"
        data = json.loads(glued.read_text(encoding="utf-8")) if glued.is_file() else {}
        if "cpu_seconds" not in data:
            yield Finding(f"{name}.html", "does not call coursekit.site.pages.page_cost")
            continue
        seconds = float(data["cpu_seconds"]["data"]["text/plain"])
        if seconds > CPU_LIMIT_SECONDS:
            yield Finding(
                f"{name}.html", f"used {seconds} s of processor time; at most {CPU_LIMIT_SECONDS}"
            )


def incomplete_ledger(site: Site) -> Iterator[Finding]:
    """Find claims of `book/claims.yml` that the ledger lacks, or lists without figure and verdict."""
    path = site.folder / "book" / "ledger.html"
    if not path.is_file():
        yield Finding("book/ledger.html", "is missing")
        return
    listed = yaml.safe_load((site.toc.parent / "book" / "claims.yml").read_text(encoding="utf-8"))
    anchors = _anchors(path)
    for identifier in listed["claims"]:
        if f"ledger-{identifier.lower()}" not in anchors:
            yield Finding(site.name(path), f"does not list {identifier}")
    for row in parse(path).select("table.ledger-measured tbody tr"):
        *_, chapter, figure, verdict = row.find_all("td")
        if chapter.a is None or not figure.get_text().strip():
            yield Finding(site.name(path), f"lacks chapter or figure: {row.get_text(' ').strip()}")
        if verdict.select_one(".verdict") is None:
            yield Finding(site.name(path), f"lacks a verdict: {row.get_text(' ').strip()}")


CHECKS: tuple[Callable[[Site], Iterator[Finding]], ...] = (
    missing_pages,
    error_text,
    broken_links,
    fetched_from_elsewhere,
    undescribed_pages,
    pictures_without_words,
    repeated_ids,
    incomplete_quizzes,
    expensive_chapters,
    incomplete_ledger,
)


def main(arguments: list[str] | None = None) -> int:
    """Run all checks, print what they find, and return 1 if that is anything."""
    parser = argparse.ArgumentParser(prog="python -m coursekit.site.check", description=__doc__)
    parser.add_argument(
        "--root", type=Path, default=ROOT, help="the repository (default: this one)"
    )
    root = parser.parse_args(arguments).root
    site = Site(root / "_build" / "html", root / "_toc.yml")
    if not (site.folder / "index.html").is_file():
        print(f"There is no website in {site.folder} yet; `make book` builds it.", file=sys.stderr)
        return 2
    findings = [finding for check in CHECKS for finding in check(site)]
    for finding in findings:
        print(finding)
    print(f"{len(site.pages())} pages looked at, {len(findings)} faults found.")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
