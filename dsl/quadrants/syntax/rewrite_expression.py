"""Expressions of a Quadrants program as calls of hooks, and the scopes that its names live in.

`qd.static(...)` decides: Python makes the comparisons, choices and calls inside it. A name of a block that has ended is
unknown. Code that a kernel cannot have becomes a hook that raises where it is reached, as the branch not taken of a
static `if` may have any code. Source: Quadrants user guide, qd.static and Scopes.
"""

from __future__ import annotations

import ast
import builtins
import types as python_types
from collections.abc import Iterator, Set
from contextlib import contextmanager
from typing import overload

from dsl.core.syntax.liveness import Placed
from dsl.core.syntax.rewrite_statement import Rewriter
from dsl.quadrants.syntax.grammar import QuadrantsGrammar
from dsl.quadrants.syntax.unsupported_syntax import IN_FIELD, header

# Operators whose results debug=True checks.
OVERFLOWING = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.LShift: "lshift"}


class ExpressionRewriter(Rewriter):
    """Rewrites the expressions of one kernel or func."""

    grammar: QuadrantsGrammar
    static_depth = 0  # how many qd.static(...) and comprehensions are around an expression

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.scopes: list[set[str]] = []
        self.parameters: set[str] = set()

    # --- scopes ---

    @contextmanager
    def _scope(self, names: Set[str] = frozenset()) -> Iterator[None]:
        self.scopes.append(set(names))
        try:
            yield
        finally:
            self.scopes.pop()

    def _visible(self, name: str) -> bool:
        return any(name in scope for scope in self.scopes)

    def _is_argument(self, name: str) -> bool:
        return name in self.parameters and self.grammar.decorator == "qd.kernel"

    def _at(self, node: Placed, hook: str, *arguments: ast.expr) -> ast.Call:
        return self._hook(hook, node, *arguments)

    @overload
    def _refuse(self, node: ast.stmt, message: str, fix: str = "", kind: str = "QuadrantsSyntaxError") -> ast.Expr: ...
    @overload
    def _refuse(self, node: ast.expr, message: str, fix: str = "", kind: str = "QuadrantsSyntaxError") -> ast.Call: ...
    def _refuse(
        self, node: ast.stmt | ast.expr, message: str, fix: str = "", kind: str = "QuadrantsSyntaxError"
    ) -> ast.Expr | ast.Call:
        """A statement or expression that raises where it is reached."""
        call = self._hook("refuse", header(node), ast.Constant(message), ast.Constant(fix), ast.Constant(kind))
        return ast.copy_location(ast.Expr(call), node) if isinstance(node, ast.stmt) else call

    # --- what is static ---

    def _is_static_iter(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and self.grammar.is_static(self._callee(node))

    def _marks_static(self, test: ast.expr) -> bool:
        if isinstance(test, ast.Compare):
            parts = [test.left, *test.comparators]
            return any(self._is_static_iter(part) for part in parts) and all(
                isinstance(part, ast.Constant) or self._is_static_iter(part) for part in parts
            )
        return super()._marks_static(test)

    def _is_dynamic(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.For):
            return not self._is_static_iter(statement.iter)
        assert isinstance(statement, (ast.If, ast.While))
        return not (getattr(statement, "is_static", False) or self._marks_static(statement.test))

    def _carried(self, node: ast.stmt, assigned: dict[str, Placed]) -> list[str]:
        """Only the flags of early exits are carried: variables have a place in memory."""
        return [name for name in super()._carried(node, assigned) if name.startswith("__dsl_")]

    def _in_static(self, node: ast.expr) -> ast.expr:
        self.static_depth += 1
        rewritten = self.visit(node)
        self.static_depth -= 1
        return rewritten

    # --- expressions ---

    def visit_Name(self, node: ast.Name):
        if (
            isinstance(node.ctx, ast.Load)
            and node.id in self.locals
            and not self._visible(node.id)
            and not node.id.startswith("__dsl_")
        ):
            outer = self.resolve(node, set())
            if outer is not None and not isinstance(outer, python_types.BuiltinFunctionType):
                fix = f"write `{node.id}[None]`" if hasattr(outer, "loop_domain") else IN_FIELD
                return self._refuse(
                    node,
                    f'Name "{node.id}" is not defined here: this function assigns it, which makes it a local variable',
                    fix,
                    "QuadrantsNameError",
                )
            return self._refuse(
                node,
                f'Name "{node.id}" is not defined',
                f"assign `{node.id}` before, in this block or one around it",
                "QuadrantsNameError",
            )
        return node

    def visit_Call(self, node: ast.Call):
        callee = self._callee(node)
        if self.grammar.is_static(callee):
            self.static_depth += 1
            call = self.generic_visit(node)
            self.static_depth -= 1
            return call
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr == "format"
            and isinstance(node.func.value, ast.Constant)
        ):
            text = node.func.value
            call = self.generic_visit(node)
            return ast.copy_location(
                ast.Call(self._attribute("formatted", node), [text, *call.args], call.keywords), node
            )
        is_pythons = self.static_depth and callee is builtins.range
        hook = None if is_pythons else self.grammar.hook_of(self.grammar.calls, callee)
        call = self.generic_visit(node)
        if hook:
            call.func = self._attribute(hook, node.func)
        elif not (isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "__dsl__"):
            call.args.insert(0, call.func)
            call.func = self._attribute("call", node.func)
        return call

    def visit_Subscript(self, node: ast.Subscript):
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        subscript = self.generic_visit(node)
        return self._at(node, "item", subscript.value, subscript.slice)

    def visit_Attribute(self, node: ast.Attribute):
        root = node.value
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        attribute = self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or not isinstance(root, ast.Name) or root.id not in self.parameters:
            return attribute
        return self._at(node, "attribute", attribute.value, ast.Constant(node.attr))

    def visit_Slice(self, node: ast.Slice):
        bounds = self.generic_visit(node)
        parts = [part or ast.Constant(None) for part in (bounds.lower, bounds.upper, bounds.step)]
        return self._at(node, "slice_", *parts)

    def visit_Compare(self, node: ast.Compare):
        for op in node.ops:
            if isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) and not self.static_depth:
                return self._refuse(
                    node,
                    f'"{type(op).__name__}" is only supported inside `qd.static`.',
                    "compare with `==`"
                    if isinstance(op, (ast.Is, ast.IsNot))
                    else "compare with each: `x == 1 or x == 2`, or mark it: `qd.static(x in xs)`",
                )
        if len(node.ops) == 1:
            comparison = self.generic_visit(node)
            if _is_text(node.left) or _is_text(node.comparators[0]):
                name, right = ast.Constant(type(node.ops[0]).__name__), comparison.comparators[0]
                return self._at(node, "of_text", name, comparison.left, right)
            return comparison
        return super().visit_Compare(node)

    def visit_BinOp(self, node: ast.BinOp):
        operation = self.generic_visit(node)
        if isinstance(node.op, ast.Mod) and _is_text(node.left):
            return self._at(node, "percent", operation.left, operation.right)
        if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)) and (_is_text(node.left) or _is_text(node.right)):
            return self._at(node, "of_text", ast.Constant(type(node.op).__name__), operation.left, operation.right)
        if type(node.op) in OVERFLOWING:
            name = ast.Constant(OVERFLOWING[type(node.op)])
            return self._at(node, "overflowing", name, operation.left, operation.right)
        return operation

    def visit_IfExp(self, node: ast.IfExp):
        if self._marks_static(node.test):
            test = self._in_static(node.test)
            return ast.copy_location(ast.IfExp(test, self.visit(node.body), self.visit(node.orelse)), node)
        return super().visit_IfExp(node)

    def visit_JoinedStr(self, node: ast.JoinedStr):
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                pieces = part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else []
                texts = [
                    piece.value for piece in pieces if isinstance(piece, ast.Constant) and isinstance(piece.value, str)
                ]
                if len(texts) < len(pieces):
                    return self._refuse(
                        node, "the format of a printed value must be a literal", 'write it out: `f"{x:.3f}"`'
                    )
                spec = "".join(texts)
                parts.append(ast.Tuple([self.visit(part.value), ast.Constant(spec)], ast.Load()))
            else:
                parts.append(part)
        return self._at(node, "joined", *parts)

    def _comprehension(self, node: ast.ListComp | ast.DictComp) -> ast.ListComp | ast.DictComp:
        names = {
            name.id
            for generator in node.generators
            for name in ast.walk(generator.target)
            if isinstance(name, ast.Name)
        }
        with self._scope(names):
            self.static_depth += 1
            for generator in node.generators:
                generator.iter = self._at(generator.iter, "iterated", self.visit(generator.iter))
                generator.ifs = [self.visit(test) for test in generator.ifs]
            self.static_depth -= 1
            if isinstance(node, ast.DictComp):
                node.key, node.value = self.visit(node.key), self.visit(node.value)
            else:
                node.elt = self.visit(node.elt)
        return node

    visit_ListComp = visit_DictComp = _comprehension


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
