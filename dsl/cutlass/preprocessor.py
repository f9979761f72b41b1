"""The visitor of a decorated function's text, to which libraries add methods: `cutlass.base_dsl.ast_preprocessor`.

A method that a library puts in the place of a `visit_If` is called before the compiler reads the statement; what
it gives is what is compiled. The methods that are here leave a node as it is and visit its parts.
"""

from __future__ import annotations

import ast

__all__ = ["DSLPreprocessor"]

_NODES = (
    "AnnAssign Assert Assign AugAssign BoolOp Call ClassDef Compare Constant DictComp For FunctionDef GeneratorExp "
    "Global If IfExp Lambda ListComp Name Nonlocal SetComp UnaryOp While With"
)
_VISITS = tuple(f"visit_{node}" for node in _NODES.split())


class DSLPreprocessor(ast.NodeTransformer):
    """The transformer that a decorated function's text goes through before it is read."""


def _visit(self: ast.NodeTransformer, node: ast.AST) -> ast.AST:
    return self.generic_visit(node)


for _name in _VISITS:
    setattr(DSLPreprocessor, _name, _visit)


def preprocessed(definition: ast.AST) -> ast.AST:
    """`definition`, or what a library's methods make of it."""
    if all(getattr(DSLPreprocessor, name) is _visit for name in _VISITS):
        return definition
    return ast.fix_missing_locations(DSLPreprocessor().visit(definition))
