"""Names that an inner scope binds again get a name of this scope only, because a binding of tvm_tirx is immutable.

    y = 0                       y = 0
    if tx < 4:                  if tx < 4:
        y = 1                       y__dsl_1 = 1
    A[tx] = y                   A[tx] = y                   still 0

The scopes are branches and loop bodies. After a branch a name is again what it was before it; after a loop a name that
the loop bound has ended. An assignment to a variable (`y: T.int32 = 0`) is not a binding, but a declaration is one.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NoReturn

_DTYPES = {bool: "T.bool", int: "T.int32", float: "T.float32"}
_FRESH = re.compile(r"__dsl_\d+\b")


def spelled(text: str) -> str:
    """A text with the author's names."""
    return _FRESH.sub("", text)


@dataclass
class Scope:
    """A branch or a loop body: the names that it binds, by the author's name, and the names that it has read."""

    is_branch: bool = False
    bound: dict[str, str] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Reports:
    """Calls of the pass: is an `if` no scope, does a value declare a variable; errors and warnings at a node."""

    is_static: Callable[[ast.If], bool]
    allocates: Callable[[ast.expr], bool]
    error: Callable[[ast.expr, str, str, str], NoReturn]
    warn: Callable[[ast.expr, str, str], None]


class Rebinding(ast.NodeTransformer):
    """Renames the bindings of one function. `variables` are the names that it declares as variables."""

    def __init__(self, parameters: Iterable[str], variables: set[str], reports: Reports):
        self.variables, self.reports = variables, reports
        self.scopes = [Scope(bound={name: name for name in parameters})]
        self.visible = {name: name for name in parameters}
        self.masked: set[str] = set()  # of comprehensions and functions inside the function
        self.numbers = itertools.count(1)
        self.values: dict[str, object] = {}  # of bindings of numbers
        self.hidden: dict[str, ast.Name] = {}  # bindings that a branch has hidden until its end

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The statements with their bindings renamed."""
        result: list[ast.stmt] = []
        for statement in statements:
            result += [self.visit(statement)]
        return result

    # --- names ---

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in self.masked:
            return node
        if node.id in self.variables:
            name = self.visible.get(node.id, node.id)
        else:
            name = self._bind(node) if isinstance(node.ctx, ast.Store) else self._read(node.id)
        return ast.copy_location(ast.Name(name, node.ctx), node)

    def _read(self, name: str) -> str:
        seen = self.visible.get(name, name)
        for scope in self.scopes:
            scope.read.add(seen)
        if seen in self.hidden:
            inner = self.hidden.pop(seen)
            self.reports.warn(
                inner,
                f"this `{name}` ends with its branch, and the `{name}` after the branch is the one before it: "
                f"to change that one, declare it as a variable, `{self._declaration(name, seen)}`",
                "BINDING_ENDS",
            )
        return seen

    def _bind(self, node: ast.Name) -> str:
        outer = self._outer(node.id)
        if outer is not None:
            self._check_not_read(self.scopes[-1], outer, node)
        bound = self._name_here(node.id, outer)
        self.hidden.pop(bound, None)
        return bound

    def _outer(self, name: str) -> str | None:
        """The binding of a name in the scopes around this one, if this one has none yet."""
        if name in self.scopes[-1].bound:
            return None
        return next((each.bound[name] for each in reversed(self.scopes[:-1]) if name in each.bound), None)

    def _name_here(self, name: str, outer: str | None) -> str:
        """The name of a binding in this scope: a new one if it hides another."""
        new = name if outer is None else f"{name}__dsl_{next(self.numbers)}"
        bound = self.visible[name] = self.scopes[-1].bound.setdefault(name, new)
        return bound

    def _declare(self, name: str) -> None:
        """Declare a variable in this scope."""
        if name in self.variables and name not in self.masked:
            self.variables.add(self._name_here(name, self._outer(name)))

    def _check_not_read(self, scope: Scope, outer: str, node: ast.Name) -> None:
        """Raise or warn if the scope has read the outer binding that it now hides: a variable is meant."""
        if outer not in scope.read:
            return
        declaration = self._declaration(node.id, outer)
        if scope.is_branch:
            self.reports.error(
                node,
                f"this branch binds another `{node.id}`, which has no value before that",
                f"declare it as a variable, before the branch: `{declaration}`",
                "BINDING_READ_BEFORE",
            )
        self.reports.warn(
            node,
            f"each trip reads the `{node.id}` from before the loop, because a binding is not carried to the next trip: "
            f"declare it as a variable, before the loop, `{declaration}`",
            "BINDING_NOT_CARRIED",
        )

    def _declaration(self, name: str, bound: str) -> str:
        """The declaration of a variable in place of a binding."""
        value = self.values.get(bound)
        return f"{name}: {_DTYPES[type(value)]} = {value}" if type(value) in _DTYPES else f"{name}: T.int32 = ..."

    # --- assignments: the value is evaluated before the names are bound ---

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        value = self.visit(node.value)
        if self.reports.allocates(node.value):
            for target in node.targets:
                self._declare(getattr(target, "id", ""))
        targets = [self.visit(target) for target in node.targets]
        for target in targets:
            if isinstance(target, ast.Name):
                self.values[target.id] = value.value if isinstance(value, ast.Constant) else None
        return ast.copy_location(ast.Assign(targets, value), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        value = None if node.value is None else self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self._declare(node.target.id)
        target = self.visit(node.target)
        return ast.copy_location(ast.AnnAssign(target, node.annotation, value, node.simple), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if not isinstance(node.target, ast.Name) or node.target.id in self.variables:
            self.generic_visit(node)
            return node
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        sum_ = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], sum_), node))

    # --- scopes ---

    def visit_If(self, node: ast.If) -> ast.If:
        test = self.visit(node.test)
        if self.reports.is_static(node):
            return ast.copy_location(ast.If(test, self.body(node.body), self.body(node.orelse)), node)
        arms, hidden = [], {}
        for statements in (node.body, node.orelse):
            before, scope = dict(self.visible), Scope(is_branch=True)
            self.scopes.append(scope)
            arms.append(self.body(statements))
            self.scopes.pop()
            hidden |= self._hidden_by(scope, statements, before)
            self.visible = before
        self.hidden |= hidden
        return ast.copy_location(ast.If(test, *arms), node)

    def _hidden_by(self, scope: Scope, statements: list[ast.stmt], before: dict[str, str]) -> dict[str, ast.Name]:
        """The outer bindings that a branch hides, each with a place where it binds the name."""
        places = {
            node.id: node
            for statement in statements
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        return {before[name]: places[name] for name in scope.bound if name in before and name in places}

    def visit_For(self, node: ast.For) -> ast.For:
        iterable = self.visit(node.iter)
        self.scopes.append(Scope())
        target, body = self.visit(node.target), self.body(node.body)
        self.scopes.pop()
        return ast.copy_location(ast.For(target, iterable, body, self.body(node.orelse)), node)

    def visit_While(self, node: ast.While) -> ast.While:
        self.scopes.append(Scope())
        test, body = self.visit(node.test), self.body(node.body)
        self.scopes.pop()
        return ast.copy_location(ast.While(test, body, self.body(node.orelse)), node)

    # --- expressions and functions with names that only they have ---

    def _masking(self, names: set[str], node: ast.AST) -> ast.AST:
        before, self.masked = self.masked, self.masked | names
        result = self.generic_visit(node)
        self.masked = before
        return result

    def _visit_comprehension(self, node: ast.AST) -> ast.AST:
        return self._masking(_stored(node), node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def _visit_function(self, node: ast.Lambda | ast.FunctionDef) -> ast.AST:
        return self._masking(_stored(node) | {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}, node)

    visit_Lambda = visit_FunctionDef = _visit_function


def _stored(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
