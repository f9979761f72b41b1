"""Statements of a Quadrants program as calls of hooks.

Python decides an `if` whose test consists of static calls, a `for` over one is unrolled; every other test and loop is a
run-time one. An assignment to a name declares a variable in its block, or stores into the one that is visible there.
Source: Quadrants user guide, qd.static and Scopes.
"""

from __future__ import annotations

import ast
from typing import Any

from dsl.core.syntax.assigned_names import assigned_in
from dsl.core.syntax.early_exits import VALUE, guarded
from dsl.core.syntax.rewrite_expression import is_hook
from dsl.quadrants import streams
from dsl.quadrants.syntax.rewrite_expression import ExpressionRewriter
from dsl.quadrants.syntax.unsupported_syntax import UNSUPPORTED, header

_OPERATORS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.BitAnd: "and",
    ast.MatMult: "matmul",
}


class QuadrantsRewriter(ExpressionRewriter):
    """Rewrites one kernel or func."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.of_author: set[ast.AST] = set()  # the nodes of the function as it was written

    # --- functions and blocks ---

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if self.grammar.returns_anywhere and node.returns is not None and not isinstance(node.body[-1], ast.Return):
            node.body.append(ast.copy_location(ast.Return(self._at(node.body[-1], "ended")), node.body[-1]))
        self._mark_exits(node.body)
        node.body = self._refuse_mixed(node.body)
        for child in ast.walk(node):
            self.of_author.add(child)
            if isinstance(child, (ast.If, ast.While)) and not self._marks_static(child.test):
                child.test = self._at(child.test, "truth", child.test)
        self.parameters = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
        with self._scope(self.parameters):
            return super().function(node)

    def _refuse_unsupported(self, node: ast.FunctionDef) -> None:
        return

    def _block(self, statements: list[ast.stmt], around: str = "") -> list[ast.stmt]:
        if not around:
            return super()._block(statements, around)
        with self._scope():
            return super()._block(statements, around)

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.FunctionDef) and self.scopes:
            return self._refuse(
                node,
                f"Function definition is not allowed in '{self.grammar.decorator}'.",
                f"define `{node.name}` before the kernel, as a @qd.func",
            )
        if (
            isinstance(node, (ast.stmt, ast.expr))
            and type(node) in UNSUPPORTED
            and (self.scopes if isinstance(node, ast.stmt) else node in self.of_author)
        ):
            word, fix = UNSUPPORTED[type(node)]
            word = f"`{word}`" if word[0].islower() else word
            return self._refuse(node, f'{word} is not supported here: Unsupported node "{type(node).__name__}"', fix)
        return super().visit(node)

    # --- exits ---

    def _mark_exits(self, statements: list[ast.stmt], loops: tuple = (), runtime: int = 0) -> None:
        """Refuse `break` and `continue` of an unrolled loop that a run-time statement decides, and such `return`s."""
        refused: dict[ast.stmt, tuple[str, str]] = {}  # the message and the fix
        for statement in statements:
            if (
                isinstance(statement, (ast.Break, ast.Continue))
                and loops
                and loops[-1] != runtime
                and loops[-1] is not None
            ):
                word = type(statement).__name__.lower()
                refused[statement] = (
                    f"You are trying to `{word}` a static `for` loop, but the `{word}` statement is "
                    "inside a "
                    "non-static `if`.",
                    "decide by qd.static(...), or loop without qd.static",
                )
            if isinstance(statement, ast.Return) and runtime and not self.grammar.returns_anywhere:
                refused[statement] = (
                    "Return inside non-static if/for is not supported",
                    "assign to a variable and return that, or use qd.real_func",
                )
            if isinstance(statement, (ast.For, ast.While)) and statement.orelse and not hasattr(statement, "is_ours"):
                word = type(statement).__name__.lower()
                refused[statement] = (
                    f"'else' clause for '{word}' not supported in Quadrants kernels",
                    "write it after the loop",
                )
            if isinstance(statement, ast.If):
                more = runtime + (not self._marks_static(statement.test))
                self._mark_exits(statement.body, loops, more)
                self._mark_exits(statement.orelse, loops, more)
            elif isinstance(statement, ast.For):
                static = self._is_static_iter(statement.iter)
                more = runtime + (not static)
                self._mark_exits(statement.body, (*loops, more if static else None), more)
            elif isinstance(statement, ast.While):
                self._mark_exits(statement.body, (*loops, None), runtime + 1)
        statements[:] = [
            self._refuse(statement, *refused[statement]) if statement in refused else statement
            for statement in statements
        ]

    # --- statements ---

    def visit_If(self, node: ast.If):
        if self._is_dynamic(node):
            return super().visit_If(node)
        around = "ours" if getattr(node, "is_static", False) else "static"
        test = self._in_static(node.test) if around == "static" else self.visit(node.test)
        return ast.copy_location(ast.If(test, self._block(node.body, around), self._block(node.orelse, around)), node)

    def visit_With(self, node: ast.With):
        """A block of qd.stream_parallel()."""
        item = node.items[0]
        if len(node.items) > 1:
            return self._refuse(
                node, "'with' in Quadrants kernels only supports a single context manager", "write one `with` for each"
            )
        if item.optional_vars is not None:
            call = item.context_expr
            is_ours = isinstance(call, ast.Call) and self._callee(call) is streams.stream_parallel
            fix = "drop the `as`" if is_ours else "take it out of the kernel"
            return self._refuse(node, "'with ... as ...' is not supported in Quadrants kernels", fix)
        if not isinstance(item.context_expr, ast.Call):
            return self._refuse(
                node, "'with' in Quadrants kernels requires a call expression", "`with qd.stream_parallel():`"
            )
        if self._callee(item.context_expr) is not streams.stream_parallel:
            return self._refuse(
                node, "'with' in Quadrants kernels only supports qd.stream_parallel()", "take it out of the kernel"
            )
        if self.grammar.decorator != "qd.kernel":
            return self._refuse(
                node,
                "qd.stream_parallel() can only be used inside @qd.kernel, not @qd.func",
                "write the `with` in the kernel",
            )
        with self._scope():
            body = super()._block(node.body)
        return [ast.copy_location(ast.Expr(self._at(header(node), "begin_parallel")), node), *body]

    def _refuse_mixed(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements of a kernel, the first refused that is not a `with` next to one of qd.stream_parallel()."""

        def is_parallel(statement: ast.stmt) -> bool:
            call = statement.items[0].context_expr if isinstance(statement, ast.With) else None
            return isinstance(call, ast.Call) and self._callee(call) is streams.stream_parallel

        def is_text_or_note(statement: ast.stmt) -> bool:
            value = statement.value if isinstance(statement, ast.Expr) else None
            return isinstance(value, ast.Constant) or (isinstance(value, ast.Call) and is_hook(value.func))

        others = [each for each in body if not (is_parallel(each) or is_text_or_note(each))]
        if not others or not any(map(is_parallel, body)):
            return body
        refused = self._refuse(
            others[0],
            "When using qd.stream_parallel(), all top-level statements in the kernel must be "
            "'with qd.stream_parallel():' blocks",
            "move the others to a separate kernel",
        )
        return [refused if each is others[0] else each for each in body]

    def visit_While(self, node: ast.While):
        if not self._is_dynamic(node):
            guarded_loop = guarded(node)
            assert isinstance(guarded_loop, ast.While)
            node = guarded_loop
        return super().visit_While(node)

    def visit_For(self, node: ast.For):
        targets = [name.id for name in ast.walk(node.target) if isinstance(name, ast.Name)]
        visible = [name for name in targets if self._visible(name) and name != "_"]
        if visible:
            return self._refuse(
                node,
                f"Variable '{visible[0]}' is already declared in the outer scope and cannot be used as loop variable",
                f"give the loop variable another name than `{visible[0]}`",
            )
        if not self._is_dynamic(node):
            guarded_loop = guarded(node)
            assert isinstance(guarded_loop, ast.For)
            node = guarded_loop
            iterable = self._at(node.iter, "unroll", self._in_static(node.iter))
            with self._scope(set(targets)):
                body = self._block(node.body, "static")
            return ast.copy_location(ast.For(node.target, iterable, body, []), node)
        flags = self._carried(node, assigned_in(node.body))
        body, target = self._fresh("body"), self._fresh("target")
        iterable = self._thunk(node.iter)
        call = self._hook(
            "for_",
            node.iter,
            iterable,
            self._load(body),
            self._state(flags),
            self._places(node, assigned_in(node.body), flags),
            ast.Constant(len(targets)),
            ast.Constant(any(self._is_static_iter(part) for part in ast.walk(node.iter))),
        )
        with self._scope(set(targets)):
            inner = [
                ast.copy_location(ast.Assign([node.target], self._load(target)), node.target),
                *self._block(node.body, "dynamic"),
            ]
        closures = [self._closure(body, [target, *flags], inner, returned=flags)]
        if stops := getattr(node, "stops", ()):
            stop = self._fresh("stop")
            closures.append(self._closure(stop, flags, [], returned=list(stops)))
            call.args.append(self._load(stop))
        return self._located(node, [*closures, self._assign(flags, call)])

    def visit_Assign(self, node: ast.Assign):
        if isinstance(node.targets[0], ast.Name) and node.targets[0].id.startswith("__dsl_"):
            flag = self.generic_visit(node)
            if node.targets[0].id == VALUE:
                value = self._at(node, "returned_value", flag.value) if self.grammar.returns_anywhere else flag.value
                flag.value = self._at(node, "loaded", value)
            return flag
        is_static = self._is_static_iter(node.value)
        value = self._in_static(node.value) if is_static else self.visit(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            return self._store(node, node.targets[0], value, is_static)
        name, first = self._fresh("value"), node.targets[0]
        if len(node.targets) == 1 and isinstance(first, (ast.Tuple, ast.List)):
            value = self._at(node, "unpacked", value, ast.Constant(len(first.elts)), ast.Constant(is_static))
        else:
            value = self._at(node, "copied", value)
        statements: list[ast.stmt] = [self._assign_name(name, value)]
        for target in node.targets:
            statements += self._stores(node, target, name, is_static)
        return self._located(node, statements)

    def _stores(self, node: ast.stmt, target: ast.expr, value: str, is_static: bool) -> list[ast.stmt]:
        """`target = value`, part by part; `value` is a variable."""
        if not isinstance(target, (ast.Tuple, ast.List)):
            return [self._store(node, target, self._load(value), is_static)]
        statements: list[ast.stmt] = []
        for position, inner in enumerate(target.elts):
            part = ast.Subscript(self._load(value), ast.Constant(position), ast.Load())
            if isinstance(inner, (ast.Tuple, ast.List)):
                name = self._fresh("value")
                count = ast.Constant(len(inner.elts))
                parts = self._at(node, "unpacked", part, count, ast.Constant(is_static))
                statements += [self._assign_name(name, parts), *self._stores(node, inner, name, is_static)]
            else:
                statements.append(self._store(node, inner, part, is_static))
        return statements

    def _store(self, node: ast.stmt, target: ast.expr, value: ast.expr, is_static: bool) -> ast.stmt:
        """`target = value`: a new variable of this scope, or a store."""
        if isinstance(target, ast.Starred):
            return self._refuse(node, 'Unsupported node "Starred"', "name every part")
        if isinstance(target, ast.Subscript):
            if is_static:
                return self._refuse(node, "Static assign cannot be used on elements in arrays", "drop qd.static")
            call = self._at(node, "set_item", self.visit(target.value), self.visit(target.slice), value)
        elif isinstance(target, ast.Attribute):
            call = self._at(node, "set_attribute", self.visit(target.value), ast.Constant(target.attr), value)
        else:
            assert isinstance(target, ast.Name)
            return self._store_name(node, target, value, is_static)
        return ast.copy_location(ast.Expr(call), node)

    def _store_name(self, node: ast.stmt, target: ast.Name, value: ast.expr, is_static: bool) -> ast.stmt:
        if self._is_argument(target.id):
            return self._refuse(
                node,
                f'Kernel argument "{target.id}" is immutable in the kernel. If you want to '
                "change its "
                "value, please create a new variable.",
                f"copy it first: `copy = {target.id}`",
            )
        if not self._visible(target.id):
            self.scopes[-1].add(target.id)
            variable = value if is_static else self._at(node, "declare", value, ast.Constant(target.id))
            return self._located(node, [self._assign_name(target.id, variable)])[0]
        if is_static:
            return self._refuse(node, "Recreating variables is not allowed", f"give it another name than `{target.id}`")
        call = self._at(node, "store", self._load(target.id), value, ast.Constant(target.id))
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign):
        if node.value is None or not isinstance(node.target, ast.Name):
            return self._refuse(node, "an annotated assignment needs a name and a value", "for example `x: qd.i32 = 0`")
        if self._is_argument(node.target.id):
            return self._store(node, node.target, node.value, False)
        if self._visible(node.target.id):
            return self._refuse(node, "Recreating variables is not allowed", "assign without the annotation")
        value = self._at(node, "annotated", self.visit(node.value), self.visit(node.annotation))
        return self._store(node, node.target, value, False)

    def visit_NamedExpr(self, node: ast.NamedExpr):
        name, value = node.target.id, self.visit(node.value)
        if self._visible(name):
            return self._at(node, "store", self._load(name), value, ast.Constant(name))
        self.scopes[-1].add(name)
        return ast.copy_location(ast.NamedExpr(node.target, self._at(node, "declare", value, ast.Constant(name))), node)

    def visit_AugAssign(self, node: ast.AugAssign):
        operator = ast.Constant(_OPERATORS[type(node.op)])
        value = self.visit(node.value)
        target = node.target
        if isinstance(target, ast.Subscript):
            call = self._at(node, "augment_item", operator, self.visit(target.value), self.visit(target.slice), value)
        elif isinstance(target, ast.Attribute):
            call = self._at(
                node, "augment_attribute", operator, self.visit(target.value), ast.Constant(target.attr), value
            )
        elif self._is_argument(target.id):
            return self._store(node, target, value, False)
        else:
            read = self.visit(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            call = self._at(node, "augment", operator, read, value, ast.Constant(target.id))
        return ast.copy_location(ast.Expr(call), node)

    def visit_Return(self, node: ast.Return):
        value = self.visit(node.value) if node.value else ast.Constant(None)
        return ast.copy_location(ast.Return(self._at(node, "returned_value", value)), node)

    def visit_Assert(self, node: ast.Assert):
        message = self.visit(node.msg) if node.msg else ast.Constant(None)
        call = self._at(
            node, "assert_", self._thunk(node.test), self._thunk_of(message), ast.Constant(self._text(node.test))
        )
        return ast.copy_location(ast.Expr(call), node)
