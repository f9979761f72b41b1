"""tvm_tirx's statements: immutable bindings, variables, and device parts with a launch."""

from __future__ import annotations

import ast

from dsl.core.errors import DSLWarning, warn_at
from dsl.core.syntax.early_exits import put_at
from dsl.core.syntax.function_source import arguments_named
from dsl.tirx.memory import memory as shared_memory
from dsl.tirx.syntax import statement_names
from dsl.tirx.syntax.function import constexpr
from dsl.tirx.syntax.statements import DEVICE, REGISTER, Statements, mark
from dsl.tirx.tvm_tirx import memory
from dsl.tirx.tvm_tirx.dynamic import Symbolic
from dsl.tirx.tvm_tirx.rebinding import Rebinding, Reports, spelled

BINDING = "binding"


class Bindings(Statements):
    """Rewrites a T.function of tvm_tirx."""

    scalars = (memory.local_scalar, shared_memory.shared_scalar, shared_memory.alloc_scalar)
    binds_functions = True
    variables: set[str] = set()  # the names that the function declares as variables
    options: list[ast.expr] = []  # of T.device_entry
    depth = 0  # of functions inside the T.function

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        outer, self.variables = self.variables, self._declared_in(node)
        parameters = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
        reports = Reports(self._is_static_test, self._allocates, self._error, self._warn)
        renamed = Rebinding(parameters, self.variables, reports).body(node.body)
        function = ast.FunctionDef(node.name, node.args, renamed, node.decorator_list)
        self.depth += 1
        result = super().function(ast.copy_location(function, node))
        self.variables, self.depth = outer, self.depth - 1
        return result

    def _declared_in(self, node: ast.FunctionDef) -> set[str]:
        """The names that statements of a function declare as variables: `x: T.int32`, `x = T.local_scalar(...)`."""
        hidden, self.locals = self.locals, self.locals | self._local_names(node)
        names = set()
        for statement in ast.walk(node):
            if isinstance(statement, ast.AnnAssign) and not self._is_let(statement.annotation):
                names |= {statement.target.id} if isinstance(statement.target, ast.Name) else set()
            elif isinstance(statement, ast.Assign) and self._allocates(statement.value):
                names |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
        self.locals = hidden
        return names

    def _is_let(self, annotation: ast.expr) -> bool:
        whole = annotation.value if isinstance(annotation, ast.Subscript) else annotation
        return self.resolve(whole, self.locals) is statement_names.let

    def _allocates(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Call) and self._callee(value) in (*self.scalars, *memory.ALLOCATIONS)

    def _is_static_test(self, node: ast.If) -> bool:
        return isinstance(node.test, ast.Call) and self._callee(node.test) is constexpr

    def _warn(self, node: ast.expr, message: str, id: str) -> None:
        warn_at(f"{id}: {message}", DSLWarning, self._span(node))

    # --- bindings ---

    def _prepare_Assign(self, node: ast.Assign):
        if len(node.targets) == 1:
            return super()._prepare_Assign(node)
        whole = self._fresh("value")
        prepared: list[ast.stmt] = [put_at(ast.Assign([ast.Name(whole, ast.Store())], node.value), node)]
        for target in node.targets:
            value = ast.copy_location(self._load(whole), node.value)
            one = super()._prepare_Assign(ast.copy_location(ast.Assign([target], value), node))
            prepared += one if isinstance(one, list) else [one]
        return prepared

    def _bind(self, target: ast.Name, value: ast.expr, node: ast.stmt) -> ast.stmt:
        if target.id not in self.variables:
            name = ast.Constant(spelled(target.id))
            if self._kind(target.id) == REGISTER:  # a parameter
                old = ast.copy_location(self._load(target.id), target)
                bound = self._hook("rebound", value, old, value, name)
            else:
                bound = self._hook("first", value, value, name)
            self.scopes[-1][target.id] = BINDING
            return ast.copy_location(ast.Assign([target], bound), node)
        if self._kind(target.id) is None and not self._allocates(value):
            self._error(
                target,
                f"`{target.id}` is assigned before it is declared as a variable",
                "move the declaration before it, or use another name",
                "VARIABLE_UNDECLARED",
            )
        return super()._bind(target, value, node)

    def _check_declared(self, target: ast.Name, fixed: bool) -> None:
        """A name may be bound and declared again."""

    def visit_Name(self, node: ast.Name):
        if isinstance(node.ctx, ast.Load) and isinstance(self.resolve(node, self.locals), Symbolic):
            return self._hook("extent", node, node)
        return super().visit_Name(node)

    def _prepare_Return(self, node: ast.Return):
        return node if self.depth > 1 else super()._prepare_Return(node)

    # --- device parts ---

    def _entry(self, node: ast.Expr) -> ast.stmt:
        assert isinstance(node.value, ast.Call)
        self.options = self._options(node.value)
        return super()._entry(node)

    def _entry_options(self) -> list[ast.expr]:
        return self.options

    def _options(self, call: ast.Call) -> list[ast.expr]:
        """`launch=` and the other options of T.device_entry, as the hook `device` takes them: a dict."""
        for argument in call.args:
            self._error(
                argument,
                "T.device_entry takes its launch by name",
                "T.device_entry(launch=T.cuda.LaunchConfig(grid=..., block=...))",
                "DEVICE_ENTRY",
            )
        names: list[ast.expr | None] = [ast.Constant(keyword.arg) for keyword in call.keywords]
        options = ast.Dict(names, [keyword.value for keyword in call.keywords])
        return [put_at(options, call)]

    def _prepare_With(self, node: ast.With):
        call = node.items[0].context_expr
        if not isinstance(call, ast.Call) or self._callee(call) is not statement_names.device_entry:
            return super()._prepare_With(node)
        body, _ = self._scoped(node.body)
        part = ast.FunctionDef(DEVICE, arguments_named([]), body, [])
        mark(part, "is_prepared")
        launched = ast.Expr(self._hook("device", call, self._load(DEVICE), *self._options(call)))
        return [put_at(part, node), put_at(launched, call)]


class InlineBindings(Bindings):
    """Rewrites a T.inline function, which may return a value."""

    depth = 1
