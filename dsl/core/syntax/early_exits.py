"""Early exits as flags: `break`, `continue` and `return` out of dynamic statements, and `else` of dynamic loops.

    while test:              broke = False
        a                    while False if broke else test:
        if found:                a
            break                if found:
        b                            broke = True
    c                            guard(broke): b
                             c

The pass runs before the statements become closures (rewrite_statement). An exit whose way to its target crosses no
dynamic statement stays Python's own. A guard is value-based: while no flag can be set it is not a branch. A static loop
that a dynamic exit leaves becomes a closure too, whose later trips are guarded (loop.unrolled).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from dsl.core.syntax.liveness import Flow, Placed, flow_at, flow_of

RETURNED, VALUE = "__dsl_returned", "__dsl_value"
_Node = TypeVar("_Node", bound=ast.AST)


class Guard(ast.If):
    """`body`, unless one of the variables named by `flags` is true. `cause`: the exit that sets them."""

    flags: tuple[str, ...] = ()
    flow: Flow
    cause: ast.stmt | None = None
    is_last = False  # whether the function only returns after it


def _guard(body: list[ast.stmt], flags: Iterable[str], flow: Flow, place: Placed) -> Guard:
    guard = put_at(Guard(ast.Constant(True), body, []), place)
    guard.flags, guard.flow = tuple(flags), flow
    return guard


def stops_of(loop: ast.For | ast.While) -> tuple[str, ...]:
    """The flags that end a loop which is not a dynamic `while`."""
    return getattr(loop, "stops", ())


@dataclass
class _Loop:
    """A loop on the way to a statement: whether it is dynamic, and the flags of the exits that target it."""

    node: ast.For | ast.While
    dynamic: bool
    broke: str
    continued: str
    used: set[str] = field(default_factory=set)


class Exits:
    """Lowers the exits of one function. `is_dynamic(statement)` decides which If, For and While become closures;
    `on_exit(statement)` is called for each dynamic exit, and for a dynamic loop with an `else` after those in it."""

    def __init__(self, is_dynamic: Callable[[ast.stmt], bool], on_exit: Callable[[ast.stmt], None]):
        self.is_dynamic, self.on_exit = is_dynamic, on_exit
        self.loops: list[_Loop] = []
        self.depth: list[int] = []  # for each closure around: how many loops are around it
        self.dynamic = 0  # how many dynamic statements of the author are around
        self.returns = False
        self.counter = 0

    def function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a function, its dynamic exits lowered."""
        if not self.lowers(body):
            return body
        self.returns = any(isinstance(node, ast.Return) for statement in body for node in _walk(statement))
        lowered, _ = self._block(body)
        if not self.returns:
            return lowered
        at = body[-1]
        head = [_assign(RETURNED, ast.Constant(False), body[0])]
        tail = put_at(
            ast.Return(
                ast.Call(_hook("returned"), [_load(RETURNED), _bound(VALUE), ast.Constant(_falls_through(body))], [])
            ),
            at,
        )
        return [*head, *lowered, tail]

    def lowers(self, body: list[ast.stmt]) -> bool:
        """Whether a function has exits that become flags."""
        return self._exits_dynamically(body, dynamic=False)

    def _exits_dynamically(self, statements: list[ast.stmt], dynamic: bool) -> bool:
        """Whether an exit is inside a dynamic statement that it leaves."""
        for statement in statements:
            if dynamic and isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
                return True
            is_loop = isinstance(statement, (ast.For, ast.While))
            inside = isinstance(statement, (ast.If, ast.For, ast.While)) and self.is_dynamic(statement)
            if is_loop and (inside and statement.orelse):
                return True
            if any(self._exits_dynamically(part, dynamic or inside) for part in _parts(statement)):
                return True
        return False

    def _block(self, statements: list[ast.stmt]) -> tuple[list[ast.stmt], set[str]]:
        """Statements with what follows an exit guarded, and the flags they may set."""
        statements_made: list[ast.stmt] = []
        flags: set[str] = set()
        for position, statement in enumerate(statements):
            leaves = _leaves(statement)
            lowered, set_here = self._statement(statement)
            statements_made += lowered
            flags |= set_here
            rest = statements[position + 1 :]
            if leaves:
                break  # the rest is unreachable
            if set_here and rest:
                self.depth.append(len(self.loops))  # the guard will be a closure
                inner, more = self._block(rest)
                self.depth.pop()
                guard = _guard(inner, sorted(set_here), flow_of(rest), rest[0])
                guard.cause = next(filter(_is_exit, _walk(statement)), statement)
                return [*statements_made, guard], flags | more
        return statements_made, flags

    def _statement(self, statement: ast.stmt) -> tuple[list[ast.stmt], set[str]]:
        if isinstance(statement, ast.Return) and self.returns:
            if self.dynamic:
                self.on_exit(statement)
            value = statement.value or ast.Constant(None)
            return [_assign(VALUE, value, statement), _assign(RETURNED, ast.Constant(True), statement)], {RETURNED}
        if isinstance(statement, (ast.Break, ast.Continue)) and self._crosses():
            if self.dynamic:
                self.on_exit(statement)
            loop = self.loops[-1]
            flag = loop.broke if isinstance(statement, ast.Break) else loop.continued
            loop.used.add(flag)
            return [_assign(flag, ast.Constant(True), statement)], {flag}
        if isinstance(statement, (ast.For, ast.While)):
            return self._loop(statement)
        if isinstance(statement, ast.If):
            return self._if(statement)
        return self._other(statement)

    def _crosses(self) -> bool:
        """Whether a statement between here and the innermost loop becomes a closure."""
        return bool(self.loops) and any(depth >= len(self.loops) for depth in self.depth)

    def _if(self, statement: ast.If) -> tuple[list[ast.stmt], set[str]]:
        dynamic = self.is_dynamic(statement)
        self.depth += [len(self.loops)] if dynamic else []
        self.dynamic += dynamic
        body, flags = self._block(statement.body)
        orelse, more = self._block(statement.orelse)
        self.dynamic -= dynamic
        if dynamic:
            self.depth.pop()
        branch = put_at(ast.If(statement.test, body or [ast.Pass()], orelse), statement)
        return [_with_marks(branch, statement)], flags | more

    def _other(self, statement: ast.stmt) -> tuple[list[ast.stmt], set[str]]:
        """`with`, `try`, `match` and the like: their blocks are Python's own."""
        flags: set[str] = set()
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return [statement], flags
        for block in _parts(statement):
            block[:], more = self._block(block)
            flags |= more
        return [statement], flags

    def _loop(self, statement: ast.For | ast.While) -> tuple[list[ast.stmt], set[str]]:
        self.counter += 1
        loop = _Loop(
            statement, self.is_dynamic(statement), f"__dsl_broke_{self.counter}", f"__dsl_continued_{self.counter}"
        )
        lowered = loop.dynamic or self._exits_dynamically(statement.body, dynamic=False)
        self.loops.append(loop)
        self.depth += [len(self.loops)] if lowered else []
        self.dynamic += loop.dynamic
        body, flags = self._block(statement.body)
        self.dynamic -= loop.dynamic
        if lowered:
            self.depth.pop()
        self.loops.pop()
        if loop.continued in loop.used:
            body.insert(0, _assign(loop.continued, ast.Constant(False), statement))
        stops = tuple(flag for flag in (loop.broke, RETURNED) if flag in flags)
        ending = self._stopping(loop, body, stops)
        statements: list[ast.stmt] = [ending]
        if loop.broke in loop.used:
            statements.insert(0, _assign(loop.broke, ast.Constant(False), statement))
        outside = flags - {loop.broke, loop.continued}
        if not statement.orelse:
            return statements, outside
        orelse, more = self._block(statement.orelse)
        ending.orelse = orelse
        if loop.dynamic or stops:
            if loop.dynamic:
                self.on_exit(statement)
            ending.orelse = []
            if stops:
                orelse = [_guard(orelse, stops, flow_of(statement.orelse), statement.orelse[0])]
            statements += orelse
        outside |= more
        return statements, outside

    def _stopping(self, loop: _Loop, body: list[ast.stmt], stops: tuple[str, ...]) -> ast.For | ast.While:
        """The loop, ending once one of `stops` is true: in the test of a dynamic `while`, else by the mark `stops`."""
        node = loop.node
        if isinstance(node, ast.For):
            rewritten = put_at(ast.For(node.target, node.iter, body, node.orelse), node)
        else:
            test = node.test
            if stops and loop.dynamic:
                test = put_at(ast.Call(_hook("unless"), [_flags(stops), _thunk(test)], []), test)
            rewritten = put_at(ast.While(test, body, node.orelse), node)
        if stops and not (loop.dynamic and isinstance(node, ast.While)):
            vars(rewritten)["stops"] = stops
        return _with_marks(rewritten, node)


def guarded(loop: ast.For | ast.While) -> ast.For | ast.While:
    """A static loop as a loop of Python: if it has `stops`, they guard its body."""
    stops = vars(loop).pop("stops", None)
    if stops is None:
        return loop
    leave = put_at(ast.If(ast.Call(_hook("surely"), [_flags(stops)], []), [ast.Break()], []), loop)
    vars(leave)["is_static"] = True
    loop.body = [leave, _guard(loop.body, stops, flow_at(loop), loop)]
    return loop


def tests_inside(
    is_dynamic: Callable[[ast.stmt], bool], warn_of_else: Callable[[ast.stmt], None], statements: list[ast.stmt]
) -> list[ast.stmt]:
    """`statements` with each dynamic `while` whose test assigns (`:=`) as
    `while True: if test: pass; else: break; ...`.

    Its `else` comes after it, under a flag where a `break` may skip it: exits in it belong to the loop around it.
    """
    return [each for statement in statements for each in _test_inside(is_dynamic, warn_of_else, statement)]


def _test_inside(is_dynamic: Callable, warn_of_else: Callable, statement: ast.stmt) -> list[ast.stmt]:
    for block in _parts(statement):
        block[:] = tests_inside(is_dynamic, warn_of_else, block)
    if not isinstance(statement, ast.While) or not is_dynamic(statement):
        return [statement]
    if not any(isinstance(node, ast.NamedExpr) for node in ast.walk(statement.test)):
        return [statement]
    leave = ast.Break()
    vars(leave)["is_ours"] = True
    before: list[ast.stmt] = []
    leaving: list[ast.stmt] = [leave]
    after = statement.orelse
    if after:
        warn_of_else(statement)
    if after and breaks(statement.body):
        ended = f"__dsl_ended_{statement.lineno}_{statement.col_offset}"
        before = [_assign(ended, ast.Constant(False), statement)]
        leaving = [_assign(ended, ast.Constant(True), statement), leave]
        after = [ast.If(ast.Name(ended, ast.Load()), after, [])]
    loop = ast.While(ast.Constant(True), [ast.If(statement.test, [ast.Pass()], leaving), *statement.body], [])
    return [put_at(lowered, statement) for lowered in (*before, loop, *after)]


def _with_marks(statement: _Node, original: ast.stmt) -> _Node:
    """`statement` with the marks of the one it stands for."""
    for mark in ("flow", "is_static"):
        if hasattr(original, mark):
            setattr(statement, mark, getattr(original, mark))
    return statement


def _is_exit(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Return, ast.Break, ast.Continue))


def _walk(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements of `statement` and below, without functions and classes in it."""
    yield statement
    for part in _parts(statement):
        for inner in part:
            yield from _walk(inner)


def _parts(statement: ast.stmt) -> list[list[ast.stmt]]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return []
    parts = [getattr(statement, name, None) or [] for name in ("body", "orelse", "finalbody")]
    return parts + [inner.body for name in ("handlers", "cases") for inner in getattr(statement, name, ())]


def _leaves(statement: ast.stmt) -> bool:
    """Whether every path through `statement` ends in an exit, so that what follows it is never reached."""
    if isinstance(statement, ast.If):
        return any(map(_leaves, statement.body)) and any(map(_leaves, statement.orelse))
    if isinstance(statement, (ast.For, ast.While)):
        return any(map(_leaves, statement.orelse)) and not breaks(statement.body)
    return isinstance(statement, (ast.Return, ast.Break, ast.Continue))


def _falls_through(statements: list[ast.stmt]) -> bool:
    """Whether control can reach the end of `statements`."""
    last = statements[-1]
    if isinstance(last, (ast.Return, ast.Raise)):
        return False
    if isinstance(last, ast.If):
        return not last.orelse or _falls_through(last.body) or _falls_through(last.orelse)
    if isinstance(last, ast.While) and isinstance(last.test, ast.Constant) and last.test.value:
        return breaks(last.body)
    if isinstance(last, (ast.With, ast.Try)):
        return _falls_through(last.body)
    return True


def breaks(statements: list[ast.stmt]) -> bool:
    """Whether these statements, the body of a loop, contain a `break` of that loop."""
    for statement in statements:
        if isinstance(statement, ast.Break):
            return True
        inner = [statement.orelse] if isinstance(statement, (ast.For, ast.While)) else _parts(statement)
        if any(map(breaks, inner)):
            return True
    return False


def put_at(tree: _Node, place: Placed) -> _Node:
    """`tree` with its new nodes at `place`; a node that has a place keeps it, with all that is below it."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if "lineno" in node._attributes:
            if hasattr(node, "lineno"):
                continue
            ast.copy_location(node, place)
        waiting.extend(ast.iter_child_nodes(node))
    return tree


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _hook(name: str) -> ast.Attribute:
    return ast.Attribute(_load("__dsl__"), name, ast.Load())


def _flags(names: tuple[str, ...]) -> ast.Tuple:
    return ast.Tuple([_load(name) for name in names], ast.Load())


def _thunk(body: ast.expr) -> ast.Lambda:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return put_at(ast.Lambda(nothing, body), body)


def _bound(name: str) -> ast.Call:
    return ast.Call(_hook("bound"), [_thunk(_load(name)), ast.Constant(name)], [])


def _assign(name: str, value: ast.expr, place: Placed) -> ast.stmt:
    return put_at(ast.Assign([ast.Name(name, ast.Store())], value), place)
