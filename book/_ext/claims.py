"""The directives `{claim}` and `{ledger}`: verdicts on pages, and the one page that collects them.

Syntax, on the page whose code has called ``coursekit.site.claims.settle("C5", …)``:

    ```{claim} C5
    ```

Syntax, on one page of the book only:

    ```{ledger}
    ```

The claims are listed in `book/claims.yml` with the chapters that measure them. A warning, and so a
failed build, is: a claim shown but not settled by the page's code, settled but not shown, unknown,
settled in a chapter that the list does not name for it, or left unsettled by a chapter of its list
once all chapters of that list are in the book.

The ledger is read again whenever any page changed, and written after all pages have been read.
"""

import json
import re
from ast import literal_eval
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from myst_nb.core.variables import RetrievalError
from myst_nb.ext.glue.utils import retrieve_glue_data
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from coursekit.site.claims import DOES_NOT_HOLD, GLUE_PREFIX, HOLDS, HOLDS_WITH_CONDITION

logger = logging.getLogger(__name__)

VERDICT_CLASS = {
    HOLDS: "verdict-holds",
    HOLDS_WITH_CONDITION: "verdict-condition",
    DOES_NOT_HOLD: "verdict-fails",
}


@dataclass(frozen=True)
class Claim:
    """One line of the list: what is claimed, and in which chapters it is measured."""

    identifier: str
    text: str
    chapters: tuple[int, ...]


@dataclass(frozen=True)
class ClaimList:
    """All claims in order, and the titles of all chapters, written or not."""

    claims: dict[str, Claim]
    chapters: dict[int, str]


@dataclass(frozen=True)
class Settlement:
    """What one page found about one claim."""

    figure: list[nodes.Node]
    verdict: str
    condition: list[nodes.Node]


class ledger(nodes.General, nodes.Element):
    """Holds one `ledger_claim` for each claim until every page has been read."""


class ledger_claim(nodes.General, nodes.Element):
    """The parsed text of one claim; attribute ``identifier``."""


class ledger_reference(nodes.Inline, nodes.TextElement):
    """A link from a claim's box to its line in the ledger, wherever the ledger is."""


# ---------------------------------------------------------------------------------------------
# The list and what pages say


def claims_file(env: BuildEnvironment) -> Path:
    """Return the list of claims that this project names."""
    return Path(env.srcdir, env.config.course_claims_file)


@lru_cache(maxsize=4)
def _read_list(path: Path, modified: int) -> ClaimList:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    claims = {
        name: Claim(name, entry["text"], tuple(entry["chapters"]))
        for name, entry in content["claims"].items()
    }
    return ClaimList(claims, content["chapters"])


def claim_list(env: BuildEnvironment) -> ClaimList:
    """Return the claims of `book/claims.yml`."""
    path = claims_file(env)
    return _read_list(path, path.stat().st_mtime_ns)


def settlements(env: BuildEnvironment) -> dict[str, dict[str, Settlement]]:
    """Return what each page has settled: page name → claim → settlement."""
    if not hasattr(env, "course_settlements"):
        env.course_settlements = {}
    return env.course_settlements


def chapter_of(docname: str) -> int | None:
    """Return the two-digit number at the start of a page's file name, if it has one."""
    match = re.match(r"(?:.*/)?(\d\d)_[^/]*$", docname)
    return int(match[1]) if match else None


def anchor(identifier: str, place: str = "claim") -> str:
    """Return the HTML id of a claim on its page, or of its line in the ledger."""
    return f"{place}-{identifier.lower()}"


class MystDirective(SphinxDirective):
    """A directive that parses pieces of inline MyST."""

    def inline(self, text: str) -> list[nodes.Node]:
        """Parse one line of MyST and return what stands in its paragraph."""
        holder = nodes.Element()
        source = self.state.document.current_source or ""
        self.state.nested_parse(StringList([text], source), self.content_offset, holder)
        return [child for paragraph in holder.children for child in paragraph.children]

    def warn(self, message: str) -> list[nodes.Node]:
        """Report a warning at this directive; with ``-W`` it fails the build."""
        return [self.state.document.reporter.warning(message, line=self.lineno)]


# ---------------------------------------------------------------------------------------------
# A claim on its page


class ClaimDirective(MystDirective):
    """Show a claim, the figure of this run, and the verdict."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        identifier = self.arguments[0]
        self.env.note_dependency(str(claims_file(self.env)))
        claim = claim_list(self.env).claims.get(identifier)
        if claim is None:
            return self.warn(
                f"{{claim}} {identifier}: there is no such claim in {self.config.course_claims_file}"
            )
        try:
            glued = retrieve_glue_data(self.state.document, GLUE_PREFIX + identifier)
        except RetrievalError:
            return self.warn(
                f"{{claim}} {identifier}: no code cell of this page settles it; "
                f'call coursekit.site.claims.settle("{identifier}", …)'
            )
        record = json.loads(literal_eval(glued.data["text/plain"]))
        settlement = Settlement(
            self.inline(record["figure"]), record["verdict"], self.inline(record["condition"] or "")
        )
        settlements(self.env).setdefault(self.env.docname, {})[identifier] = Settlement(
            _detached(settlement.figure), settlement.verdict, _detached(settlement.condition)
        )
        return [self._box(claim, settlement)]

    def _box(self, claim: Claim, settlement: Settlement) -> nodes.Node:
        title = nodes.paragraph(classes=["claim-title"])
        title += nodes.strong(text=f"Claim {claim.identifier}.")
        title += nodes.Text(" ")
        title.extend(self.inline(claim.text))
        figure = nodes.paragraph(classes=["claim-figure"])
        figure += nodes.Text("Measured in this build: ")
        figure.extend([*settlement.figure, nodes.Text(".")])
        verdict = nodes.paragraph(classes=["claim-verdict"])
        verdict += nodes.Text("Verdict: ")
        verdict.extend(verdict_nodes(settlement))
        verdict += nodes.Text(" ")
        verdict += ledger_reference("", "All claims", identifier=claim.identifier)
        box = nodes.container(
            "", title, figure, verdict, classes=["claim", VERDICT_CLASS[settlement.verdict]]
        )
        box["ids"].append(anchor(claim.identifier))
        self.set_source_info(box)
        return box


def verdict_nodes(settlement: Settlement) -> list[nodes.Node]:
    """Return the verdict as a labelled word, with its condition in words."""
    badge = nodes.inline(
        text=settlement.verdict, classes=["verdict", VERDICT_CLASS[settlement.verdict]]
    )
    if not settlement.condition:
        return [badge, nodes.Text(".")]
    return [badge, nodes.Text(": "), *settlement.condition, nodes.Text(".")]


def _detached(parsed: list[nodes.Node]) -> list[nodes.Node]:
    """Copy nodes and cut them from their document, so that storing them stores nothing else."""
    copies = [node.deepcopy() for node in parsed]
    for copy in copies:
        for node in copy.findall():
            node.document = None
    return copies


# ---------------------------------------------------------------------------------------------
# The ledger


class LedgerDirective(MystDirective):
    """Mark the place of the ledger; its lines are written once all pages have been read."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(claims_file(self.env)))
        others = set(ledger_pages(self.env)) - {self.env.docname}
        if others:
            return self.warn(f"{{ledger}}: the ledger is already on {', '.join(sorted(others))}")
        self.env.course_ledger = self.env.docname
        result = ledger()
        for claim in claim_list(self.env).claims.values():
            result += ledger_claim("", *self.inline(claim.text), identifier=claim.identifier)
        return [result]


def ledger_pages(env: BuildEnvironment) -> list[str]:
    """Return the page that holds the ledger, as a list of none or one."""
    page = getattr(env, "course_ledger", None)
    return [page] if page else []


class WriteLedger(SphinxPostTransform):
    """Turn the marked place into tables, and link the boxes on pages to their lines."""

    default_priority = 5

    def run(self, **kwargs: object) -> None:
        for node in list(self.document.findall(ledger_reference)):
            node.replace_self(self._link_to_ledger(node))
        for node in list(self.document.findall(ledger)):
            node.replace_self(self._tables(node))

    def _link_to_ledger(self, node: ledger_reference) -> nodes.Node:
        pages = ledger_pages(self.env)
        if not pages:
            return nodes.inline()
        uri = self.app.builder.get_relative_uri(self.env.docname, pages[0])
        place = anchor(node["identifier"], "ledger")
        return nodes.reference("", node.astext(), internal=True, refuri=f"{uri}#{place}")

    def _tables(self, node: ledger) -> list[nodes.Node]:
        known = claim_list(self.env)
        measured, open_claims = [], []
        for entry in node.findall(ledger_claim):
            claim = known.claims[entry["identifier"]]
            found = {
                page: pages[claim.identifier]
                for page, pages in sorted(settlements(self.env).items())
                if claim.identifier in pages
            }
            (measured if found else open_claims).append((claim, entry.children, found))

        result: list[nodes.Node] = [_summary(measured, len(known.claims))]
        if measured:
            header = ["Claim", "Measured in", "Figure of this build", "Verdict"]
            rows = [row for line in measured for row in self._measured_rows(*line, known)]
            result.append(_table(header, rows, [28, 16, 34, 22], "ledger-measured"))
        if open_claims:
            result.append(nodes.rubric(text="Not measured yet"))
            result.append(
                nodes.paragraph(
                    text="These claims wait for chapters that are not part of this build."
                )
            )
            rows = [
                _row(
                    self._claim_cell(claim, text, ""),
                    [nodes.paragraph(text=_chapter_names(claim.chapters, known))],
                )
                for claim, text, _ in open_claims
            ]
            result.append(_table(["Claim", "To be measured in"], rows, [60, 40], "ledger-open"))
        return result

    def _measured_rows(
        self, claim: Claim, text: list[nodes.Node], found: dict, known: ClaimList
    ) -> list[nodes.row]:
        settled = {chapter_of(page) for page in found}
        later = [number for number in claim.chapters if number not in settled]
        note = f"Also to come in {_chapter_names(later, known)}." if later else ""
        rows = []
        for index, (page, settlement) in enumerate(found.items()):
            uri = self.app.builder.get_relative_uri(self.env.docname, page)
            number = chapter_of(page)
            title = self.env.titles[page].astext()
            link = nodes.reference(
                "",
                f"{number}. {title}" if number else title,
                internal=True,
                refuri=f"{uri}#{anchor(claim.identifier)}",
            )
            figure = nodes.paragraph("", "", *(node.deepcopy() for node in settlement.figure))
            verdict = nodes.paragraph(
                "", "", *(node.deepcopy() for node in verdict_nodes(settlement))
            )
            cells = [[nodes.paragraph("", "", link)], [figure], [verdict]]
            if index == 0:
                rows.append(_row(self._claim_cell(claim, text, note), *cells, span=len(found)))
            else:
                rows.append(_row(*cells))
        return rows

    def _claim_cell(self, claim: Claim, text: list[nodes.Node], note: str) -> list[nodes.Node]:
        name = nodes.strong(text=claim.identifier, ids=[anchor(claim.identifier, "ledger")])
        cell: list[nodes.Node] = [nodes.paragraph("", "", name, nodes.Text(" "), *text)]
        if note:
            cell.append(nodes.paragraph(text=note, classes=["ledger-note"]))
        return cell


def _summary(measured: list, total: int) -> nodes.paragraph:
    """Count the verdicts of this build in one sentence."""
    verdicts = [found.verdict for *_, pages in measured for found in pages.values()]
    counts = ", ".join(f"{verdicts.count(verdict)} “{verdict}”" for verdict in VERDICT_CLASS)
    return nodes.paragraph(
        text=f"In this build {len(measured)} of {total} claims are measured, some of them in two chapters. "
        f"Verdicts: {counts}."
    )


def _chapter_names(numbers: list[int] | tuple[int, ...], known: ClaimList) -> str:
    """Return chapters in words: “chapter 5 (Soft and hard) and chapter 12 (Sparse attention)”."""
    names = [f"chapter {number} ({known.chapters[number]})" for number in numbers]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _row(*cells: list[nodes.Node], span: int = 1) -> nodes.row:
    """Return a table row; `span` is the number of rows that its first cell covers."""
    entries = [nodes.entry("", *cell) for cell in cells]
    if span > 1:
        entries[0]["morerows"] = span - 1
    return nodes.row("", *entries)


def _table(header: list[str], rows: list[nodes.row], widths: list[int], name: str) -> nodes.table:
    """Return a table with a head line."""
    group = nodes.tgroup(cols=len(header))
    group.extend(nodes.colspec(colwidth=width) for width in widths)
    group += nodes.thead("", _row(*([nodes.paragraph(text=title)] for title in header)))
    group += nodes.tbody("", *rows)
    return nodes.table("", group, classes=["ledger", name, "colwidths-given"])


# ---------------------------------------------------------------------------------------------
# Keeping it true from one build to the next


def read_ledger_again(
    app: Sphinx, env: BuildEnvironment, added: set, changed: set, removed: set
) -> list[str]:
    """Mark the ledger as outdated whenever any page was added, changed or removed."""
    return [
        page for page in ledger_pages(env) if (added or changed or removed) and page not in removed
    ]


def forget_page(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Drop what a page had settled, before it is read again or because it is gone."""
    settlements(env).pop(docname, None)
    if docname in ledger_pages(env):
        env.course_ledger = None


def check_page(app: Sphinx, doctree: nodes.document) -> None:
    """Warn about claims that a page settles without showing, or that are not its own."""
    env = app.env
    glued = getattr(env, "nb_metadata", {}).get(env.docname, {}).get("glue", [])
    shown = settlements(env).get(env.docname, {})
    number = chapter_of(env.docname)
    for identifier in (
        key.removeprefix(GLUE_PREFIX) for key in glued if key.startswith(GLUE_PREFIX)
    ):
        if identifier not in shown:
            logger.warning(
                "claim %s is settled but not shown; add the directive {claim} %s",
                identifier,
                identifier,
                location=env.docname,
            )
        elif number not in claim_list(env).claims[identifier].chapters:
            logger.warning(
                "claim %s is settled here, but %s does not name chapter %s for it",
                identifier,
                env.config.course_claims_file,
                number,
                location=env.docname,
            )


def check_complete(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn about claims whose chapters are all in the book although one does not settle them."""
    if not ledger_pages(env):
        return
    pages = {chapter_of(page): page for page in env.found_docs if chapter_of(page) is not None}
    for claim in claim_list(env).claims.values():
        if not all(number in pages for number in claim.chapters):
            continue
        for number in claim.chapters:
            if claim.identifier not in settlements(env).get(pages[number], {}):
                logger.warning(
                    "claim %s is to be measured in this chapter, but the page does not settle it",
                    claim.identifier,
                    location=pages[number],
                )


def merge_pages(
    app: Sphinx, env: BuildEnvironment, docnames: list[str], other: BuildEnvironment
) -> None:
    """Take over what pages read by another process have settled."""
    for docname in docnames:
        if docname in settlements(other):
            settlements(env)[docname] = settlements(other)[docname]
        if docname in ledger_pages(other):
            env.course_ledger = docname


def setup(app: Sphinx) -> dict:
    """Register the directives, the ledger's late writing, and the checks."""
    app.add_config_value("course_claims_file", "book/claims.yml", "env", str)
    app.add_node(ledger)
    app.add_node(ledger_claim)
    app.add_node(ledger_reference)
    app.add_directive("claim", ClaimDirective)
    app.add_directive("ledger", LedgerDirective)
    app.add_post_transform(WriteLedger)
    app.connect("env-get-outdated", read_ledger_again)
    app.connect("env-purge-doc", forget_page)
    app.connect("env-merge-info", merge_pages)
    app.connect("doctree-read", check_page)
    app.connect("env-check-consistency", check_complete)
    return {
        "version": "1",
        "env_version": 1,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
