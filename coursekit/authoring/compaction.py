"""Known mistakes for the student copy: what the check runs, not what a person would read.

Many a known mistake is a solution with one line wrong, so its text would give the solution away. The
check needs the function only to see which results it gives. Here such functions lose their docstrings
and the names inside them; names, explanations and results stay.
"""

import ast

__all__ = ["compact_mistakes"]


def compact_mistakes(source: str) -> str:
    """Return the source of a module with the functions of its `Mistake` records compacted.

    Everything else is left as it is, to the byte.

    Examples
    --------
    >>> print(compact_mistakes(
    ...     "def halved(query):\\n    total = query / 2\\n    return total\\n\\n"
    ...     "MISTAKES = (Mistake('halved', halved, 'Why?'),)\\n"
    ... ))
    def halved(v1):
        v2 = v1 / 2
        return v2
    <BLANKLINE>
    MISTAKES = (Mistake('halved', halved, 'Why?'),)
    <BLANKLINE>
    """
    tree = ast.parse(source)
    wrong = {
        node.args[1].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "Mistake"
        and len(node.args) > 1
        and isinstance(node.args[1], ast.Name)
    }
    lines = source.splitlines(keepends=True)
    for node in reversed(tree.body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in wrong:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            lines[first - 1 : node.end_lineno] = [ast.unparse(_compacted(node)) + "\n"]
    return "".join(lines)


def _compacted(node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
    for inner in ast.walk(node):
        if (
            isinstance(inner, ast.FunctionDef | ast.ClassDef)
            and ast.get_docstring(inner) is not None
        ):
            inner.body = inner.body[1:] or [ast.Pass()]
    # The check hands arrays over by position. A module is built by keyword: its arguments keep
    # their names.
    keep = {argument.arg for inner in ast.walk(node) for argument in _arguments(inner)}
    return _Renamed(set() if isinstance(node, ast.FunctionDef) else keep, node).visit(node)


def _arguments(node: ast.AST) -> list[ast.arg]:
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        return []
    given = node.args
    extra = [argument for argument in (given.vararg, given.kwarg) if argument]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *extra]


class _Renamed(ast.NodeTransformer):
    """Gives the names that a definition makes inside itself numbers instead."""

    def __init__(self, keep: set[str], root: ast.AST) -> None:
        self.names: dict[str, str] = {}
        for inner in ast.walk(root):
            made = [argument.arg for argument in _arguments(inner)]
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                made.append(inner.id)
            for name in made:
                if name not in keep:
                    self.names.setdefault(name, f"v{len(self.names) + 1}")

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self.names.get(node.arg, node.arg)
        return node
