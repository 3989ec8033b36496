"""The directive `{library}`: the library's own source on a page, so that book and code cannot differ.

Syntax: the module, then one or more names in it (functions, classes, ``Class.method``, constants).

    ```{library} attnkit.numpy.weights softmax
    ```

    ```{library} attnkit.numpy.scores dot_scores scaled_dot_scores
    ```

Shown is the source as it stands in the file, without docstrings (a page explains in its prose). The
module is read, not imported. A module or name that is gone is a warning, and so fails the build.
The page is read again whenever the file changes.
"""

import ast
import importlib.util
import textwrap
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Missing(LookupError):
    """A module or a name that a page asks for and that does not exist."""


def module_file(module: str) -> tuple[Path, str]:
    """Return the file of a dotted module name, and how a page names it, importing nothing."""
    package, *rest = module.split(".")
    specification = importlib.util.find_spec(package)
    if specification is None or not specification.submodule_search_locations:
        raise Missing(
            f"there is no package {package!r}; it must be installed where the book is built"
        )
    for folder in specification.submodule_search_locations:
        base = Path(folder, *rest)
        for candidate in (base.with_suffix(".py"), base / "__init__.py"):
            if candidate.is_file():
                return candidate, candidate.relative_to(Path(folder).parent).as_posix()
    raise Missing(f"there is no module {module!r}; was it renamed?")


def definition(source: str, name: str) -> str:
    """Return the source text of one top-level name (or ``Class.method``) without docstrings."""
    scope = ast.parse(source).body
    found = None
    for part in name.split("."):
        found = next((node for node in scope if part in _names(node)), None)
        if found is None:
            raise Missing(f"there is no name {name!r} in it; was it renamed or moved?")
        scope = getattr(found, "body", [])
    first = min([found.lineno, *(d.lineno for d in getattr(found, "decorator_list", []))])
    hidden = _docstring_lines(found, source.splitlines())
    lines = [
        line
        for number, line in enumerate(source.splitlines(), start=1)
        if first <= number <= found.end_lineno and number not in hidden
    ]
    return textwrap.dedent("\n".join(lines)).strip("\n")


def _names(node: ast.stmt) -> list[str]:
    """Names that a statement defines: a function, a class, or the targets of an assignment."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def _docstring_lines(found: ast.stmt, lines: list[str]) -> set[int]:
    """Line numbers of every docstring inside `found`, and of the blank line that follows one."""
    hidden: set[int] = set()
    for node in ast.walk(found):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if ast.get_docstring(node) is None:
            continue
        docstring = node.body[0]
        hidden.update(range(docstring.lineno, docstring.end_lineno + 1))
        following = docstring.end_lineno + 1
        if following <= len(lines) and not lines[following - 1].strip():
            hidden.add(following)
    return hidden


class LibraryDirective(SphinxDirective):
    """Show the source of names in a library module."""

    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        module, *names = " ".join(self.arguments).split()
        try:
            if not names:
                raise Missing("name what to show, as in 'attnkit.numpy.weights softmax'")
            path, title = module_file(module)
            source = path.read_text(encoding="utf-8")
            self.env.note_dependency(str(path))
            code = "\n\n\n".join(definition(source, name) for name in names)
        except Missing as error:
            return [
                self.state.document.reporter.warning(
                    f"{{library}} {' '.join([module, *names])}: {error}", line=self.lineno
                )
            ]
        block = nodes.literal_block(code, code, language="python")
        self.set_source_info(block)
        heading = nodes.paragraph("", "", nodes.literal(text=title), classes=["library-title"])
        return [nodes.container("", heading, block, classes=["library-source"])]


def setup(app: Sphinx) -> dict:
    """Register the directive."""
    app.add_directive("library", LibraryDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
