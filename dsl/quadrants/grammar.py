"""The meaning of a Quadrants program's statements, as a Grammar of core's rewriting.

`qd.static(...)` decides: an `if` whose test consists of static calls is Python's, a `for` over one is unrolled; every
other test and loop is a run-time one. An assignment to a name declares a variable in the block it stands in, or stores
into the one that is visible there; names of a block that has ended are unknown. What a kernel cannot say becomes a hook
that raises where it is reached, as the branch not taken of a static `if` may say anything.
Source: Quadrants user guide, qd.static and Scopes.
"""

from __future__ import annotations

import ast
import builtins
import types as python_types
from collections.abc import Iterator, Set
from contextlib import contextmanager
from typing import Any, overload

from dsl.core.syntax.assigned_names import assigned_in
from dsl.core.syntax.early_exits import VALUE, guarded
from dsl.core.syntax.liveness import Placed
from dsl.core.syntax.rewrite_expression import Grammar
from dsl.core.syntax.rewrite_statement import Rewriter

# What no kernel has: what authors call it, and what to write.
_IN_FIELD = "keep it in a field: `x = qd.field(qd.i32, shape=())`, then `x[None]`"
_PLAIN = "leave it out: a kernel is a plain function"
_UNSUPPORTED = {
    ast.Try: ("try", "check before the operation: `if x != 0:`"),
    ast.TryStar: ("try", "check before the operation: `if x != 0:`"),
    ast.Raise: ("raise", "write `assert`, which qd.init(debug=True) checks"),
    ast.Import: ("import", "import it at the top of the file"),
    ast.ImportFrom: ("import", "import it at the top of the file"),
    ast.Delete: ("del", "leave it out: a name ends with its block"),
    ast.Global: ("global", _IN_FIELD),
    ast.Nonlocal: ("nonlocal", _IN_FIELD),
    ast.Match: ("match", "write `if` and `elif`"),
    ast.With: ("with", "take it out of the kernel"),
    ast.AsyncWith: ("async with", _PLAIN),
    ast.AsyncFor: ("async for", _PLAIN),
    ast.AsyncFunctionDef: ("async def", _PLAIN),
    ast.ClassDef: ("class", "define it before the kernel"),
    ast.Lambda: ("lambda", "define a @qd.func before the kernel"),
    ast.Set: ("A set", "make a list or a tuple"),
    ast.SetComp: ("A set", "make a list: `[... for ... in ...]`"),
    ast.GeneratorExp: ("A generator", "make a list: `[... for ... in ...]`"),
    ast.Yield: ("yield", "write to an element of a field or array"),
    ast.YieldFrom: ("yield from", "write to the elements of a field or array"),
    ast.Await: ("await", _PLAIN),
}
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


class QuadrantsRewriter(Rewriter):
    """Rewrites one kernel or func."""

    grammar: QuadrantsGrammar
    static_depth = 0  # how many qd.static(...) and comprehensions are around an expression

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.scopes: list[set[str]] = []
        self.of_author: set[ast.AST] = set()  # the nodes of the function as it was written

    # --- functions and scopes ---

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if self.grammar.returns_anywhere and node.returns is not None and not isinstance(node.body[-1], ast.Return):
            node.body.append(ast.copy_location(ast.Return(self._at(node.body[-1], "ended")), node.body[-1]))
        self._mark_exits(node.body)
        for child in ast.walk(node):
            self.of_author.add(child)
            if isinstance(child, (ast.If, ast.While)) and not self._marks_static(child.test):
                child.test = self._at(child.test, "truth", child.test)
        self.parameters = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
        with self._scope(self.parameters):
            return super().function(node)

    def _refuse_unsupported(self, node: ast.FunctionDef) -> None:
        return

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

    def _block(self, statements: list[ast.stmt], around: str = "") -> list[ast.stmt]:
        if not around:
            return super()._block(statements, around)
        with self._scope():
            return super()._block(statements, around)

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
        call = self._hook("refuse", _header(node), ast.Constant(message), ast.Constant(fix), ast.Constant(kind))
        return ast.copy_location(ast.Expr(call), node) if isinstance(node, ast.stmt) else call

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.FunctionDef) and self.scopes:
            return self._refuse(
                node,
                f"Function definition is not allowed in '{self.grammar.decorator}'.",
                f"define `{node.name}` before the kernel, as a @qd.func",
            )
        if (
            isinstance(node, (ast.stmt, ast.expr))
            and type(node) in _UNSUPPORTED
            and (self.scopes if isinstance(node, ast.stmt) else node in self.of_author)
        ):
            word, fix = _UNSUPPORTED[type(node)]
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
            if isinstance(statement, (ast.For, ast.While)) and statement.orelse:
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

    # --- statements ---

    def visit_If(self, node: ast.If):
        if self._is_dynamic(node):
            return super().visit_If(node)
        around = "ours" if getattr(node, "is_static", False) else "static"
        test = self._in_static(node.test) if around == "static" else self.visit(node.test)
        return ast.copy_location(ast.If(test, self._block(node.body, around), self._block(node.orelse, around)), node)

    def _in_static(self, node: ast.expr) -> ast.expr:
        self.static_depth += 1
        rewritten = self.visit(node)
        self.static_depth -= 1
        return rewritten

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
                fix = f"write `{node.id}[None]`" if hasattr(outer, "loop_domain") else _IN_FIELD
                return self._refuse(
                    node,
                    f'Name "{node.id}" is not defined here: this function assigns it, which makes '
                    "it a variable of its own",
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


def _header(node: Placed) -> Placed:
    """The place of a statement with a body in an error: its first words."""
    if not isinstance(
        node,
        (
            ast.For,
            ast.While,
            ast.If,
            ast.With,
            ast.Match,
            ast.Try,
            ast.FunctionDef,
            ast.ClassDef,
            ast.AsyncFunctionDef,
            ast.AsyncFor,
            ast.AsyncWith,
        ),
    ):
        return node
    last = getattr(node, "iter", None) or getattr(node, "test", None) or getattr(node, "subject", None)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        last = node.items[-1].optional_vars or node.items[-1].context_expr
    header = ast.copy_location(ast.Pass(), node)
    if last is not None:
        header.end_lineno, header.end_col_offset = last.end_lineno, last.end_col_offset
        return header
    words = {ast.FunctionDef: "def ", ast.ClassDef: "class ", ast.AsyncFunctionDef: "async def "}.get(type(node), "try")
    header.end_lineno = node.lineno
    header.end_col_offset = node.col_offset + len((words + getattr(node, "name", "")).encode())
    return header


class QuadrantsGrammar(Grammar):
    """A Grammar that says whose it is, and whether `return` may stand anywhere (in a real_func)."""

    decorator = "qd.func"
    returns_anywhere = False
