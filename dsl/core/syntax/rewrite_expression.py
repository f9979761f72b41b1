"""The expressions of an author's function as calls of hooks, and the making of nodes for all rewriting."""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from dsl.core.errors import DSLUserCodeError, DSLWarning, warn_at
from dsl.core.syntax.early_exits import put_at
from dsl.core.syntax.function_source import Resolver, arguments_named, place_in
from dsl.core.syntax.liveness import Placed
from dsl.span import Span, is_ours


@dataclass(frozen=True)
class Grammar:
    """A surface's statements: the hooks that rewritten code calls, and the objects that mean something to it.

    `static`: calls of these mark a test as known while compiling. `ranges`: a `for` over a call of these is dynamic,
    and calls the hook of that name for its bounds.
    `calls`: builtins (or other functions) replaced by hooks of that name; `named`: those that are also given the texts
    of their arguments. `formats`: functions that format an f-string, written as their first argument, when the program
    runs. `ambient`: keyword arguments that state where code is; `loc=loc` is left out except for functions of the
    author. `warns_of_exits`: an early exit out of a dynamic statement is worth a PortabilityWarning. `by_value`:
    undecorated functions, whose statements are Python's own where they are static. `rewriter`: a subclass of
    rewrite_statement.Rewriter for statements that only this surface has. `preprocessed`: what the author makes of a
    function's text before.
    """

    hooks: Any
    static: tuple = ()
    ranges: dict = field(default_factory=dict)
    calls: dict = field(default_factory=dict)
    named: dict = field(default_factory=dict)
    formats: tuple = ()
    ambient: tuple = ()
    warns_of_exits: bool = False
    by_value: bool = False
    rewriter: type[Any] | None = None
    preprocessed: Callable[[Any], Any] = lambda definition: definition

    def is_static(self, callee: Any) -> bool:
        return any(callee is marker for marker in self.static)

    def is_range(self, callee: Any) -> bool:
        return self.hook_of(self.ranges, callee) is not None

    def formats_later(self, callee: Any) -> bool:
        function = getattr(callee, "__wrapped__", callee)  # author_traceback.guarded
        return any(function is each for each in self.formats)

    @staticmethod
    def hook_of(table: dict[Any, str], callee: Any) -> str | None:
        """The hook that stands for `callee` in `calls` or `named`."""
        return next((hook for function, hook in table.items() if callee is function), None)


_Node = TypeVar("_Node", bound=ast.AST)


class Expressions(ast.NodeTransformer):
    """Rewrites expressions. `locals` are names that are not globals; `instance` is the first parameter, for super()."""

    if TYPE_CHECKING:  # only its own method turns a node into a node of another class

        def generic_visit(self, node: _Node) -> _Node: ...

    def __init__(self, file: str, grammar: Grammar, resolve: Resolver):
        self.file, self.grammar, self.resolve = file, grammar, resolve
        self.locals: set[str] = set()
        self.counter = 0
        self.instance: str | None = None

    # --- expressions ---

    def visit_IfExp(self, node: ast.IfExp):
        names = sorted({*assigned_inside(node.body), *assigned_inside(node.orelse)})
        if names and self.grammar.by_value:
            return self._assigning_arms(node, names)
        if names and self.grammar.warns_of_exits:
            warn_at(
                f"SCOPE_CLOSURE_CAPTURE: `{names[0]}` is assigned in an arm of a conditional expression, but "
                "keeps its old value after it: write an `if` statement",
                DSLWarning,
                self._span(node),
            )
        self._warn_of_function(node)
        return self._hook("ifexp", node, self.visit(node.test), self._thunk(node.body), self._thunk(node.orelse))

    def _warn_of_function(self, node: ast.IfExp) -> None:
        """Warn of a condition that names a function, which an arm does not mention: its call is forgotten."""
        tested, arms = node.test, (node.body, node.orelse)
        if not self.grammar.warns_of_exits or not isinstance(tested, (ast.Name, ast.Attribute)):
            return
        name = tested.id if isinstance(tested, ast.Name) else tested.attr
        function = self.resolve(tested, self.locals)
        if isinstance(function, (types.FunctionType, type)) and function.__name__ == name:
            text = ast.unparse(tested)
            if not any(ast.unparse(part) == text for arm in arms for part in ast.walk(arm)):
                warn_at(
                    f"ALWAYS_TRUE: a condition that is function `{name}` is always true (call it: `{text}()`)",
                    DSLWarning,
                    self._span(tested),
                )

    def _assigning_arms(self, node: ast.IfExp, names: list[str]) -> ast.expr:
        """`(result := ifexp(test, lambda x=bound(x): (body, x), lambda x=bound(x): (orelse, x)),
        x := result[1])[0][0]`"""
        result = self._fresh("result")

        def arm(value: ast.expr) -> ast.Lambda:
            return ast.Lambda(self._given(names), ast.Tuple([self.visit(value), *map(self._load, names)], ast.Load()))

        def part(position: int) -> ast.Subscript:
            return ast.Subscript(self._load(result), ast.Constant(position), ast.Load())

        choice = self._hook("ifexp", node, self.visit(node.test), arm(node.body), arm(node.orelse))
        parts: list[ast.expr] = [ast.NamedExpr(ast.Name(result, ast.Store()), choice)]
        parts += [ast.NamedExpr(ast.Name(name, ast.Store()), part(position)) for position, name in enumerate(names, 1)]
        whole = ast.Subscript(ast.Tuple(parts, ast.Load()), ast.Constant(0), ast.Load())
        return put_at(ast.Subscript(whole, ast.Constant(0), ast.Load()), node)

    def _given(self, names: list[str]) -> ast.arguments:
        """The parameters of a thunk that assigns `names`: what they are before, or that they are not."""
        return ast.arguments(
            posonlyargs=[],
            args=[ast.arg(name) for name in names],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[self._bound(name) for name in names],
        )

    def visit_BoolOp(self, node: ast.BoolOp):
        hook = "and_" if isinstance(node.op, ast.And) else "or_"
        result = self.visit(node.values[0])
        for value in node.values[1:]:
            names = assigned_inside(value)
            result = (
                self._assigning(hook, node, result, value, names)
                if names
                else self._hook(hook, node, result, self._thunk(value))
            )
        return result

    def _assigning(self, hook: str, node: ast.BoolOp, left: ast.expr, value: ast.expr, names: list[str]) -> ast.expr:
        """`left and value` where `value` assigns `names`: a thunk would keep that to itself.

        `(held := [], result := and_(left, lambda x=bound(x): kept(held, value, (x,))), x := given(held, 0, x))[1]`
        """
        cell, result = self._fresh("held"), self._fresh("result")
        after = ast.Tuple([self._load(name) for name in names], ast.Load())
        thunk = ast.Lambda(self._given(names), self._hook("kept", value, self._load(cell), self.visit(value), after))
        parts: list[ast.expr] = [
            ast.NamedExpr(ast.Name(cell, ast.Store()), ast.List([], ast.Load())),
            ast.NamedExpr(ast.Name(result, ast.Store()), self._hook(hook, node, left, thunk)),
        ]
        for position, name in enumerate(names):
            read = self._hook("given", value, self._load(cell), ast.Constant(position), self._bound(name))
            parts.append(ast.NamedExpr(ast.Name(name, ast.Store()), read))
        return put_at(ast.Subscript(ast.Tuple(parts, ast.Load()), ast.Constant(1), ast.Load()), node)

    def visit_comprehension(self, node: ast.comprehension):
        node = self.generic_visit(node)  # the hooks have the places that Python's own test and iteration have not
        node.ifs = [self._hook("filters", test, test) for test in node.ifs]
        if not node.is_async:
            node.iter = self._hook("iterated", node.iter, node.iter)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return self._hook("not_", node, self.visit(node.operand))
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare):
        if len(node.ops) == 1 and not isinstance(node.ops[0], (ast.In, ast.NotIn)) and not _compares_objects(node):
            word, rewritten = type(node.ops[0]).__name__, self.generic_visit(node)
            if isinstance(node.ops[0], (ast.Is, ast.IsNot)) or not (
                self.grammar.warns_of_exits or self.grammar.by_value
            ):
                return rewritten
            return self._hook("compared", node, ast.Constant(word), rewritten.left, rewritten.comparators[0])
        assigns = any(map(assigned_inside, node.comparators))  # which a thunk would keep to itself
        parts = [
            self._hook("held", value, self.visit(value)) if assigns else self._thunk(value)
            for value in node.comparators
        ]
        pairs = [
            ast.copy_location(ast.Tuple([ast.Constant(type(op).__name__), part], ast.Load()), node)
            for op, part in zip(node.ops, parts)
        ]
        return self._hook("compare", node, self.visit(node.left), *pairs)

    def visit_Call(self, node: ast.Call):
        callee = self._callee(node)
        if self.grammar.ambient and not _is_authors_function(callee):
            node.keywords = [
                keyword
                for keyword in node.keywords
                if keyword.arg not in self.grammar.ambient or ast.unparse(keyword.value) != keyword.arg
            ]
        named = self.grammar.hook_of(self.grammar.named, callee)
        names = [self._text(argument) for argument in node.args] if named else []
        if node.args and isinstance(node.args[0], ast.JoinedStr) and self.grammar.formats_later(callee):
            return self._format_later(node, node.args[0])
        rewritten = self.generic_visit(node)
        if callee is super and not node.args and self.instance:  # a closure has no first argument to find it by
            rewritten.args = [ast.copy_location(self._load(name), node) for name in ("__class__", self.instance)]
        elif hook := self.grammar.hook_of(self.grammar.calls, callee):
            rewritten.func = self._attribute(hook, node.func)
        elif named:
            rewritten.func = self._attribute(named, node.func)
            rewritten.args.insert(0, ast.copy_location(constants(tuple(names)), node))
        elif any(callee is function for function in _TAKE_FUNCTIONS) and node.args:
            rewritten.args[0] = self._hook("callee", node.args[0], rewritten.args[0])
        elif not _stays(callee) and not is_hook(node.func):
            rewritten.func = self._hook("callee", node.func, node.func)
        return rewritten

    def _format_later(self, node: ast.Call, text: ast.JoinedStr) -> ast.Call:
        """`printf(f"a {x:d}")` as `printf(__dsl__.Formatted("a ", (x, "", "d", True, "x")))`."""
        node.args[1:] = [self.visit(argument) for argument in node.args[1:]]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        node.args[0] = self._hook("Formatted", text, *self._string_parts(text))
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """An f-string as `__dsl__.joined_string("a ", (x, "", "d", True, "x"))`."""
        if not self.grammar.formats or all(isinstance(part, ast.Constant) for part in node.values):
            return self.generic_visit(node)
        return self._hook("joined_string", node, *self._string_parts(node))

    def _string_parts(self, node: ast.JoinedStr) -> list[ast.expr]:
        """The texts and values of an f-string: control_flow.runtime_text."""
        parts: list[ast.expr] = []
        for part in node.values:
            if not isinstance(part, ast.FormattedValue):
                parts.append(part)
                continue
            spec = part.format_spec
            is_constant = not isinstance(spec, ast.JoinedStr) or all(isinstance(p, ast.Constant) for p in spec.values)
            words = [
                ast.Constant(chr(part.conversion) if part.conversion > 0 else ""),
                self.generic_visit(spec) if isinstance(spec, ast.JoinedStr) else ast.Constant(""),
                ast.Constant(is_constant),
                ast.Constant(self._text(part.value)),
            ]
            parts.append(put_at(ast.Tuple([self.visit(part.value), *words], ast.Load()), part))
        return parts

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        text, rewritten = node.left, self.generic_visit(node)
        is_text = isinstance(text, ast.JoinedStr) or (isinstance(text, ast.Constant) and isinstance(text.value, str))
        if not is_text or not isinstance(node.op, ast.Mod) or not self.grammar.formats:
            return rewritten
        return self._hook("percent", node, rewritten.left, rewritten.right)

    def visit_FormattedValue(self, node: ast.FormattedValue):
        name = self._text(node.value)
        rewritten = self.generic_visit(node)
        if not isinstance(node.value, ast.Constant):
            rewritten.value = self._hook("shown", node.value, rewritten.value, ast.Constant(name))
        return rewritten

    def visit_Subscript(self, node: ast.Subscript):
        """A list or tuple may have a dynamic index; a constant, a slice and a tuple of indices is nobody's business."""
        index = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
        looked_up = not isinstance(index, (ast.Constant, ast.Slice, ast.Tuple))
        rewritten = self.generic_visit(node)
        if looked_up and isinstance(node.ctx, ast.Load):
            return self._hook("item", node, rewritten.value, rewritten.slice)
        if looked_up and isinstance(node.ctx, ast.Store):
            rewritten.value = self._hook("items_of", node.value, rewritten.value)
        return rewritten

    def _text(self, node: ast.expr) -> str:
        """The author's text of a short expression, which is what a traced value is called by; "" for others."""
        if isinstance(node, (ast.Constant, ast.Starred, ast.JoinedStr)):
            return ""
        text = ast.unparse(node)
        return text if len(text) <= 30 else ""

    # --- making nodes ---

    def _callee(self, node: ast.Call) -> Any:
        return self.resolve(node.func, self.locals)

    def _error(self, node: Placed, message: str, fix: str, id: str | None) -> NoReturn:
        raise DSLUserCodeError(message, fix=fix, id=id, place=self._span(node))

    def _span(self, node: Placed) -> Span:
        return place_in(self.file, node)

    def _fresh(self, word: str) -> str:
        self.counter += 1
        return f"__dsl_{word}_{self.counter}"

    def _load(self, name: str) -> ast.Name:
        return ast.Name(name, ast.Load())

    def _attribute(self, hook: str, at: Placed) -> ast.Attribute:
        attribute = ast.copy_location(ast.Attribute(ast.copy_location(self._load("__dsl__"), at), hook, ast.Load()), at)
        if at.end_lineno != at.lineno:  # Python puts a method's call on the line where its name ends
            attribute.end_lineno, attribute.end_col_offset = at.lineno, at.col_offset
        return attribute

    def _hook(self, hook: str, at: Placed, *arguments: ast.expr) -> ast.Call:
        return put_at(ast.Call(self._attribute(hook, at), list(arguments), []), at)

    def _bound(self, name: str) -> ast.Call:
        return ast.Call(
            ast.Attribute(self._load("__dsl__"), "bound", ast.Load()),
            [ast.Lambda(arguments_named([]), self._load(name)), ast.Constant(name)],
            [],
        )

    def _thunk(self, node: ast.expr) -> ast.Lambda:
        return self._thunk_of(self.visit(node))

    def _thunk_of(self, body: ast.expr) -> ast.Lambda:
        """`lambda: body`, for an expression that is rewritten already."""
        return ast.copy_location(ast.Lambda(arguments_named([]), body), body)


def constants(values: tuple) -> ast.Constant:
    """A tuple of constants as one, which Python compiles as it is."""
    return ast.Constant(values)  # pyright: ignore[reportArgumentType] - typeshed has single constants only


def _compares_objects(node: ast.Compare) -> bool:
    """Whether `a is b` asks of two objects, neither of which is unique as in `a is None`."""
    return isinstance(node.ops[0], (ast.Is, ast.IsNot)) and not any(
        isinstance(side, ast.Constant) and not isinstance(side.value, (int, float))
        for side in (node.left, *node.comparators)
    )


_TAKE_FUNCTIONS = (map, filter, functools.reduce)  # their first argument is called


def assigned_inside(node: ast.AST) -> list[str]:
    """The variables that `:=` in an expression assigns; not in lambdas, which have their own."""
    names = getattr(node, "assigns", None)  # kept: each part of a nested expression asks of all below it
    if names is None:
        parts = () if isinstance(node, ast.Lambda) else ast.iter_child_nodes(node)
        own = [node.target.id] if isinstance(node, ast.NamedExpr) else []
        names = vars(node)["assigns"] = sorted({*own, *(name for child in parts for name in assigned_inside(child))})
    return names


def is_hook(function: ast.expr) -> bool:
    """Whether rewriting itself made this callee."""
    return (
        isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "__dsl__"
    )


def _is_authors_function(value: Any) -> bool:
    if isinstance(value, type):
        return value.__module__.partition(".")[0] != "dsl"
    code = getattr(getattr(value, "function", value), "__code__", None)
    return isinstance(code, types.CodeType) and not is_ours(code)


def _stays(callee: Any) -> bool:
    """Whether a call of `callee` needs no look at run time: builtins and this package's own functions."""
    return (
        isinstance(callee, types.BuiltinFunctionType)
        or (getattr(callee, "__module__", None) == "builtins" and isinstance(callee, type))
        or (isinstance(callee, types.FunctionType) and is_ours(callee.__code__))
    )
