"""Which names statements assign, each with its last place; not what functions inside them assign."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from dsl.core.syntax.early_exits import Guard
from dsl.core.syntax.liveness import Placed

# By id of a statement with blocks, which is held.
Assignments = dict[int, tuple[ast.AST, dict[str, Placed]]]


def assigned_in(statements: Sequence[ast.AST], earlier: Assignments | None = None) -> dict[str, Placed]:
    """The names that statements assign, each with its last place.

    `earlier`, if given, keeps the names of each statement with blocks: nested statements all ask for the innermost.
    """
    visitor = _Assigned(earlier)
    for statement in statements:
        visitor.visit(statement)
    return visitor.names


_WITH_BLOCKS = (ast.If, ast.For, ast.While, Guard)


class _Assigned(ast.NodeVisitor):
    def __init__(self, earlier: Assignments | None = None):
        self.names: dict[str, Placed] = {}
        self.earlier = earlier

    def visit(self, node: ast.AST) -> None:
        if self.earlier is None or not isinstance(node, _WITH_BLOCKS):
            super().visit(node)
            return
        if id(node) not in self.earlier:
            inside = _Assigned(self.earlier)
            super(_Assigned, inside).visit(node)
            self.earlier[id(node)] = node, inside.names
        self.names.update(self.earlier[id(node)][1])

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            self.names[node.id] = node

    def _visit_named(self, node) -> None:
        """An import, a capture of `match`."""
        name = getattr(node, "asname", None) or node.name
        if name:
            self.names[name.partition(".")[0]] = node
        self.generic_visit(node)

    visit_alias = visit_MatchAs = visit_MatchStar = _visit_named

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.names[node.rest] = node
        self.generic_visit(node)

    def _visit_definition(self, node) -> None:
        self.names[node.name] = node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _visit_definition

    def _visit_scope(self, node) -> None:
        for child in ast.walk(node):
            if isinstance(child, ast.NamedExpr):
                self.names[child.target.id] = child

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_scope

    def visit_Lambda(self, node: ast.Lambda) -> None:
        return
