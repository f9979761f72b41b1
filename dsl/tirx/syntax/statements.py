"""The statements that only TIRx has, as Python statements: registers, scopes, T.grid, and the parts before and after
T.device_entry().

    x = a[i]              x = __dsl__.first(a[i], "x")            a new register of the value's dtype
    x = 1.5               x = __dsl__.assign(x, 1.5, "x")         converted to it
    x: T.int32 = 0        x = __dsl__.declared(T.int32, "x", 0)
    for i, j in T.grid(4, 8): ...       for i in __dsl__.axis(axes, 0): for j in __dsl__.axis(axes, 1): ...

A name that a branch or loop binds first ends with it; an `if` that Python decides while compiling is not a scope.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from dsl.core.syntax.early_exits import breaks, put_at
from dsl.core.syntax.function_source import arguments_named
from dsl.core.syntax.rewrite_expression import is_hook
from dsl.core.syntax.rewrite_statement import Rewriter
from dsl.tirx.functions.instructions import Instruction, Namespace
from dsl.tirx.functions.operations import evaluate
from dsl.tirx.memory import memory
from dsl.tirx.syntax import statement_names

SCALARS = (memory.local_scalar, memory.shared_scalar, memory.alloc_scalar)
REGISTER, MAYBE, FIXED, LOOP = "register", "maybe", "fixed", "loop"
DEVICE = "__dsl_device"
# statements that neither package has: the word, and what an author may write
_CAUGHT = "try", "ask for the case by `if`; an error of Python is raised while compiling and needs no `try`"
_STOPPED = "raise", "T.static_assert(condition, text) stops the compilation; `T.thread_return()` ends a thread"
_REFUSED: dict[type[ast.stmt], tuple[str, str]] = {
    ast.Try: _CAUGHT,
    ast.TryStar: _CAUGHT,
    ast.Raise: _STOPPED,
    ast.Delete: ("del", "drop it: a name ends with its branch, its loop or the function"),
    ast.Import: ("import", "import it outside of the function"),
    ast.ImportFrom: ("from ... import", "import it outside of the function"),
    ast.ClassDef: ("class", "define it outside of the function"),
}


class Statements(Rewriter):
    """Rewrites a T.prim_func or T.inline function."""

    scopes: list[dict[str, str]] = []  # innermost last: the names bound so far, and what they are
    unset: frozenset[str] = frozenset()  # names that are declared without a value
    scalars = SCALARS
    binds_functions = False  # whether a name may be a lambda

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        outer, self.scopes = (
            self.scopes,
            [{arg.arg: REGISTER for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}],
        )
        hidden, self.locals = self.locals, self.locals | self._local_names(node)
        body = self._prepared(node.body)
        prepared = ast.copy_location(ast.FunctionDef(node.name, node.args, self._split(node, body), []), node)
        self.locals = hidden
        result = super().function(prepared)
        self.scopes = outer
        return result

    def _callee(self, node: ast.Call) -> Any:
        """The function that a call calls, also of a call that this rewriter inserted."""
        if isinstance(node.func, ast.Attribute) and is_hook(node.func):
            return getattr(self.grammar.hooks, node.func.attr, None)
        return super()._callee(node)

    # --- host part and device part ---

    def _split(self, node: ast.FunctionDef, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements after T.device_entry() as a nested function."""
        if not self._has_device_part(node):
            return body
        entry = next(at for at, statement in enumerate(body) if hasattr(statement, "is_entry"))
        before, rest = body[:entry], body[entry + 1 :] or [ast.copy_location(ast.Pass(), body[entry])]
        host_names = _assigned(before) | {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
        passed = sorted(_assigned(rest) & host_names)  # the device part assigns them again
        part = ast.FunctionDef(DEVICE, arguments_named(passed), rest, [])
        mark(part, "is_prepared")
        call = ast.Expr(
            ast.Call(
                self._hook("device", body[entry]).func,
                [self._load(DEVICE), *self._entry_options(), *map(self._load, passed)],
                [],
            )
        )
        return [*before, put_at(part, body[entry]), put_at(call, body[entry])]

    def _entry_options(self) -> list[ast.expr]:
        """More arguments of the hook `device`, which follow the function."""
        return []

    def _has_device_part(self, node: ast.FunctionDef) -> bool:
        """Whether a statement of the function is T.device_entry(). Raises where it stands twice or inside another."""
        is_entry = any(self._is_call(statement, statement_names.device_entry) for statement in node.body)
        entries = [
            inner
            for inner in ast.walk(node)
            if isinstance(inner, ast.Expr) and self._is_call(inner, statement_names.device_entry)
        ]
        if len(entries) > 1:
            self._error(entries[1], "T.device_entry() stands twice in this function", "drop one", "DEVICE_ENTRY")
        if entries and not is_entry:
            self._error(
                entries[0],
                "T.device_entry() is inside another statement",
                "write it in the function itself",
                "DEVICE_ENTRY",
            )
        return is_entry

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if not hasattr(node, "is_prepared"):
            return super().visit_FunctionDef(node)
        return super().function(node)

    def _is_call(self, statement: ast.stmt, callee: Any) -> bool:
        value = getattr(statement, "value", None)
        return isinstance(statement, ast.Expr) and isinstance(value, ast.Call) and self._callee(value) is callee

    def _is_evaluated(self, statement: ast.Expr, callee: Any) -> bool:
        """Whether a statement is `T.evaluate(callee())`."""
        call = statement.value if self._is_call(statement, evaluate) else None
        inner = call.args[0] if isinstance(call, ast.Call) and call.args else None
        return isinstance(inner, ast.Call) and self._callee(inner) is callee

    # --- scopes ---

    def _kind(self, name: str) -> str | None:
        """The kind of `name` in the current scope, None where it is unbound."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _scoped(
        self, statements: list[ast.stmt], names: dict[str, str] | None = None
    ) -> tuple[list[ast.stmt], set[str]]:
        """The statements of an inner scope, and the names that it binds first."""
        self.scopes.append(dict(names or {}))
        prepared = self._prepared(statements)
        return prepared, set(self.scopes.pop()) - set(names or {})

    def _prepared(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        prepared: list[ast.stmt] = []
        for statement in statements:
            if (refused := _REFUSED.get(type(statement))) is not None:
                word, fix = refused
                self._error(statement, f"T does not support the statement `{word}`", fix, "STATEMENT")
            method = getattr(self, f"_prepare_{type(statement).__name__}", None)
            result = statement if method is None else method(statement)
            prepared += result if isinstance(result, list) else [result]
        return prepared

    # --- assignments ---

    def _prepare_Assign(self, node: ast.Assign):
        if len(node.targets) > 1:
            self._error(node, "several names are assigned at once", "write one assignment for each", "ASSIGN_CHAIN")
        target = node.targets[0]
        if isinstance(node.value, ast.Lambda) and not self.binds_functions:
            self._error(
                node.value,
                "a name in a T function is a register or memory, got a lambda",
                "define it outside of the function by `def`, and call it here",
                "ASSIGN_TYPE",
            )
        if isinstance(target, ast.Name):
            return self._bind(target, node.value, node)
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._unpack(target, node)
        if isinstance(target, ast.Attribute):
            attribute = ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
            read = ast.Call(
                self._hook("bound", target).func, [self._thunk_of(attribute), ast.Constant(target.attr)], []
            )
            value = self._hook("assign", node.value, put_at(read, target), node.value, ast.Constant(target.attr))
            return ast.copy_location(ast.Assign([target], value), node)
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            items = put_at(self._load(target.value.id), target.value)
            node = ast.copy_location(ast.Assign([target], self._hook("stored", node.value, node.value, items)), node)
        return node

    def _thunk_of(self, node: ast.expr) -> ast.Lambda:
        return ast.copy_location(ast.Lambda(arguments_named([]), node), node)

    def _bind(self, target: ast.Name, value: ast.expr, node: ast.stmt) -> ast.stmt:
        """`target = value` of the author."""
        kind, name = self._kind(target.id), target.id
        if kind in (FIXED, LOOP):
            what = "is a T.let" if kind == FIXED else "is a loop variable"
            self._error(
                target,
                f"`{name}` {what} and cannot be assigned",
                f"use another name, or a register: `{name}_: T.int32 = {name}`",
                "SCOPE_REASSIGNED",
            )
        if isinstance(value, ast.Call) and self._callee(value) in self.scalars:
            self.unset |= {name}
        if kind is None:
            self.scopes[-1][name] = REGISTER
            bound = self._hook("first", value, value, ast.Constant(name))
        else:
            old = self._bound(name) if kind == MAYBE else ast.copy_location(self._load(name), target)
            mark(old, "is_overwritten")
            bound = self._hook("assign", value, put_at(old, target), value, ast.Constant(name))
        return ast.copy_location(ast.Assign([target], bound), node)

    def _unpack(self, target: ast.Tuple | ast.List, node: ast.Assign) -> list[ast.stmt]:
        """`a, b = T.cta_id([2, 3])`; of `a, b = b, a` both sides are evaluated first."""
        for element in target.elts:
            if isinstance(element, ast.Starred):
                name = ast.unparse(element.value)
                self._error(
                    element,
                    "T does not support `*` in an assignment",
                    f"give each value a name, or take a slice: `{name} = values[1:]`",
                    "ASSIGN_COUNT",
                )
        whole = self._fresh("parts")
        count = ast.Constant(len(target.elts))
        assignments: list[ast.stmt] = [
            put_at(ast.Assign([ast.Name(whole, ast.Store())], self._hook("parts", node.value, node.value, count)), node)
        ]
        for place, element in enumerate(target.elts):
            part = ast.Subscript(self._load(whole), ast.Constant(place), ast.Load())
            inner = ast.copy_location(ast.Assign([element], put_at(part, element)), node)
            bound = self._prepare_Assign(inner)
            assignments += bound if isinstance(bound, list) else [bound]
        return assignments

    def _prepare_AnnAssign(self, node: ast.AnnAssign):
        if not isinstance(node.target, ast.Name):
            if node.value is None:
                self._error(
                    node.target,
                    "only a name is declared without a value",
                    "assign it: `A[i] = 0`; or declare a register: `x: T.float32`",
                    "DECLARATION",
                )
            return self._prepare_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))
        name = node.target.id
        annotation = node.annotation.value if isinstance(node.annotation, ast.Subscript) else node.annotation
        fixed = self.resolve(annotation, self.locals) is statement_names.let
        self._check_declared(node.target, fixed)
        self.scopes[-1][name] = FIXED if fixed else REGISTER
        values = [] if node.value is None else [node.value]
        if not values:
            self.unset |= {name}
        declared = self._hook("declared", node, node.annotation, ast.Constant(name), *values)
        return ast.copy_location(ast.Assign([node.target], declared), node)

    def _check_declared(self, target: ast.Name, fixed: bool) -> None:
        """Raise for a name that is declared (`fixed`: as T.let) and has a meaning already."""
        kind = self._kind(target.id)
        if (fixed and kind is not None) or kind in (FIXED, LOOP):
            self._error(target, f"`{target.id}` is defined already", "use another name", "SCOPE_REASSIGNED")
        if kind == REGISTER and target.id not in self.scopes[-1]:
            self._error(
                target,
                f"`{target.id}` is a register already, outside of this branch or loop",
                "use another name for a register that ends here, or assign it without a dtype",
                "SCOPE_REDECLARED",
            )

    def _prepare_AugAssign(self, node: ast.AugAssign):
        target = node.target
        if isinstance(target, ast.Subscript):
            name = type(node.op).__name__
            return ast.copy_location(
                ast.Expr(
                    self._hook(
                        "augmented", node, ast.Constant(name), target.value, _as_expression(target.slice), node.value
                    )
                ),
                node,
            )
        read = copy.copy(target)
        read.ctx = ast.Load()
        value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        return self._prepare_Assign(ast.copy_location(ast.Assign([target], value), node))

    # --- statements with blocks ---

    def _prepare_If(self, node: ast.If):
        body, new = self._scoped(node.body)
        orelse, more = self._scoped(node.orelse)
        for name in new | more:
            self.scopes[-1].setdefault(name, MAYBE)
        return ast.copy_location(ast.If(node.test, body, orelse), node)

    def _prepare_While(self, node: ast.While):
        body, _ = self._scoped(node.body)
        orelse, _ = self._scoped(node.orelse)
        return ast.copy_location(ast.While(node.test, body, orelse), node)

    def _prepare_With(self, node: ast.With):
        for item in node.items:
            for name in ast.walk(item.optional_vars) if item.optional_vars else ():
                if isinstance(name, ast.Name):
                    self.scopes[-1][name.id] = REGISTER
        return ast.copy_location(ast.With(node.items, self._prepared(node.body)), node)

    def _prepare_For(self, node: ast.For):
        callee = self._callee(node.iter) if isinstance(node.iter, ast.Call) else None
        if callee is statement_names.grid:
            return self._grid(node)
        if self.grammar.hook_of(self.grammar.ranges, callee) is None:
            self._error(
                node.iter,
                "a `for` loops over range, T.serial, T.unroll, T.vectorized, T.parallel, T.grid or T.thread_binding",
                "loop over places and index: `for i in T.serial(n): ... A[i]`",
                "LOOP_KIND",
            )
        if not isinstance(node.target, ast.Name):
            self._error(
                node.target, "this loop has one variable", "`for i in ...`; T.grid takes several", "LOOP_TARGETS"
            )
        body, _ = self._scoped(node.body, {node.target.id: LOOP})
        orelse, _ = self._scoped(node.orelse)
        return ast.copy_location(ast.For(node.target, node.iter, body, orelse), node)

    def _grid(self, node: ast.For) -> list[ast.stmt]:
        """A nest of loops. `break` leaves all of them, `continue` goes on with the next point."""
        targets = node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else [node.target]
        names = [target for target in targets if isinstance(target, ast.Name)]
        for target in targets:
            if not isinstance(target, ast.Name):
                self._error(target, "the variables of T.grid are names", "for i, j in T.grid(m, n)", "LOOP_TARGETS")
        assert isinstance(node.iter, ast.Call)
        axes = self._fresh("axes")
        call = ast.Call(
            self._hook("axes", node.iter).func, [ast.Constant(len(targets)), *node.iter.args], node.iter.keywords
        )
        first = put_at(ast.Assign([ast.Name(axes, ast.Store())], call), node.iter)
        nest: list[ast.stmt]
        nest, _ = self._scoped(node.body, {name.id: LOOP for name in names})
        leaves = breaks(node.body)
        orelse, _ = self._scoped(node.orelse)
        for place, target in reversed(list(enumerate(targets))):
            outermost = place == 0
            iterable = self._hook("axis", target, self._load(axes), ast.Constant(place))
            after: list[ast.stmt] = orelse if outermost else [ast.Continue()] if leaves else []
            loop = put_at(ast.For(ast.copy_location(target, node.target), iterable, nest, after), node)
            nest = [loop] if outermost or not leaves else [loop, put_at(ast.Break(), node)]
        return [first, *nest]

    # --- leaving ---

    def _prepare_Return(self, node: ast.Return):
        allowed = node.value is None or (isinstance(node.value, ast.Constant) and node.value.value in (None, 0))
        if not allowed:
            self._error(
                node, "a T function returns nothing", "store the value; `return 0` leaves early", "RETURN_VALUE"
            )
        return ast.copy_location(ast.Return(None), node)

    def _prepare_Expr(self, node: ast.Expr):
        if isinstance(node.value, ast.Constant) and node.value.value is Ellipsis:
            self._error(node, "T does not support the statement `...`", "write `pass`", "STATEMENT")
        for word, statement in (
            (statement_names.thread_return, ast.Return(None)),
            (statement_names.break_loop, ast.Break()),
            (statement_names.continue_loop, ast.Continue()),
        ):
            if self._is_call(node, word) or self._is_evaluated(node, word):
                return ast.copy_location(statement, node)
        if self._is_call(node, statement_names.device_entry):
            return self._entry(node)
        if isinstance(node.value, ast.Call) and isinstance(found := self._instruction(node.value.func), Instruction):
            return self._perform(node.value, found)
        if isinstance(node.value, (ast.Name, ast.Attribute, ast.Compare)):
            text = ast.Constant(ast.unparse(node.value))
            return ast.copy_location(ast.Expr(self._hook("unused", node.value, node.value, text)), node)
        return node

    def _entry(self, node: ast.Expr) -> ast.stmt:
        """The place where the device part begins."""
        entry = ast.copy_location(ast.Pass(), node)
        mark(entry, "is_entry")
        return entry

    # --- instructions that write their first operands ---

    def _instruction(self, function: ast.expr) -> Any:
        """The instruction of T.ptx that an expression names, or None."""
        if isinstance(function, ast.Subscript):
            names = self.resolve(function.value, self.locals)
            text = function.slice.value if isinstance(function.slice, ast.Constant) else None
            return names.find(text) if isinstance(names, Namespace) and isinstance(text, str) else None
        if isinstance(function, ast.Attribute) and isinstance(inner := self._instruction(function.value), Instruction):
            return getattr(inner, function.attr, None)
        return self.resolve(function, self.locals) if isinstance(function, (ast.Name, ast.Attribute)) else None

    def _perform(self, call: ast.Call, instruction: Instruction) -> ast.stmt | list[ast.stmt]:
        """`T.ptx.add.rn.f32(d, a, A[i])`: the names and elements that it may write are passed as such, and the names
        get what they hold after it."""
        if any(isinstance(each, ast.Starred) for each in call.args):
            return ast.copy_location(ast.Expr(call), call)
        arguments: list[ast.expr] = []
        written: list[ast.Name] = []
        for place, argument in enumerate(call.args):
            if place < instruction.written(len(call.args)) and isinstance(argument, ast.Subscript):
                arguments.append(self._hook("Place", argument, argument.value, _as_expression(argument.slice)))
            elif place < instruction.written(len(call.args)) and self._is_register(argument):
                assert isinstance(argument, ast.Name)
                old = self._bound(argument.id) if self._kind(argument.id) == MAYBE else self._load(argument.id)
                mark(old, "is_overwritten")
                arguments.append(self._hook("Named", argument, put_at(old, argument), ast.Constant(argument.id)))
                written.append(argument)
            elif place < instruction.written(len(call.args)) and self._is_unknown(argument):
                assert isinstance(argument, ast.Name)
                arguments.append(self._hook("Place", argument, ast.Constant(None), ast.Constant(argument.id)))
            else:
                arguments.append(argument)
        if len(arguments) == 0 or all(new is old for new, old in zip(arguments, call.args)):
            return ast.copy_location(ast.Expr(call), call)
        options = ast.Dict([ast.Constant(each.arg) for each in call.keywords], [each.value for each in call.keywords])
        done = self._hook("perform", call, call.func, ast.List(arguments, ast.Load()), options)
        if not written:
            return ast.copy_location(ast.Expr(done), call)
        whole = self._fresh("after")
        statements: list[ast.stmt] = [put_at(ast.Assign([ast.Name(whole, ast.Store())], done), call)]
        for number, name in enumerate(written):
            part = ast.Subscript(self._load(whole), ast.Constant(number), ast.Load())
            statements.append(put_at(ast.Assign([ast.Name(name.id, ast.Store())], part), name))
        return statements

    def _is_unknown(self, argument: ast.expr) -> bool:
        return (
            isinstance(argument, ast.Name)
            and self._kind(argument.id) is None
            and argument.id not in self.locals
            and self.resolve(argument, self.locals) is None
        )

    def _is_register(self, argument: ast.expr) -> bool:
        return isinstance(argument, ast.Name) and self._kind(argument.id) in (REGISTER, MAYBE)

    def visit_Attribute(self, node: ast.Attribute):
        if isinstance(node.value, ast.Name):  # `s.dtype` of a T.shared_scalar reads no number
            mark(node.value, "is_owner")
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name):
        if hasattr(node, "is_overwritten"):
            return node
        name = super().visit_Name(node)
        if node.id not in self.unset or not isinstance(node.ctx, ast.Load) or hasattr(node, "is_owner"):
            return name
        return self._hook("read", node, name)

    # --- expressions whose operands are not evaluated before it is known whether they are needed ---

    def visit_Call(self, node: ast.Call):
        callee = self._callee(node)
        if callee is statement_names.if_then_else and (len(node.args) != 3 or node.keywords):
            self._error(
                node,
                f"T.if_then_else takes 3 arguments, got {len(node.args) + len(node.keywords)}",
                "T.if_then_else(condition, value, other_value)",
                "CHOICE_ARGUMENTS",
            )
        if callee is statement_names.if_then_else:
            return self._hook("if_then_else", node, self.visit(node.args[0]), *map(self._thunk, node.args[1:3]))
        if callee is statement_names.address_of and node.args and isinstance(node.args[0], ast.Subscript):
            place = node.args[0]
            return self._hook("address_of", node, self.visit(place.value), self.visit(_as_expression(place.slice)))
        return super().visit_Call(node)


def _assigned(statements: list[ast.stmt]) -> set[str]:
    """The names that statements store in."""
    names = [node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def mark(node: ast.AST, name: str, value: object = True) -> None:
    """Set our attribute on a Python node."""
    setattr(node, name, value)


def _as_expression(index: ast.expr) -> ast.expr:
    """An index as a separate expression: a slice in it as a call of `slice`."""
    if isinstance(index, ast.Tuple):
        return ast.copy_location(ast.Tuple([_as_expression(part) for part in index.elts], ast.Load()), index)
    if isinstance(index, ast.Slice):
        parts = [part or ast.Constant(None) for part in (index.lower, index.upper, index.step)]
        return put_at(ast.Call(ast.Name("slice", ast.Load()), parts, []), index)
    return index
