"""Which variables a function's statements define and need: definite assignment and liveness over the author's AST.

Both are the classical analyses, over structured statements instead of a graph. Reads are marked on the Name nodes
(`proven`: every path that gets here has assigned the variable), facts on the statements (`flow`), where the rewriter
finds them: a variable that a dynamic statement assigns first and nothing needs after it stays local to it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_Loop = ast.For | ast.AsyncFor | ast.While
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Scope = _Function | ast.ClassDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Placed = ast.expr | ast.stmt | ast.alias | ast.arg | ast.keyword | ast.pattern  # nodes that have a line and a column


@dataclass
class Flow:
    """Of one statement: the variables it assigns, which of them every path to it has assigned, which are read after it
    (`after`) or by its next trip (`again`) before another assignment, and which it reads first itself (`first`)."""

    assigned: dict[str, Placed] = field(default_factory=dict)
    defined: set[str] = field(default_factory=set)
    after: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)
    first: set[str] = field(default_factory=set)
    killed: set[str] = field(default_factory=set)  # assigned on every path through it
    left: set[str] = field(default_factory=set)  # read where the exits inside it lead to
    kept: set[str] = field(default_factory=set)  # read by functions and lambdas, who knows when

    def carries(self, name: str) -> bool:
        """Whether `name`, which the statement assigns, comes in or goes out. `_` holds a value that nobody wants:
        it does so only if it is read."""
        was_there = name in self.defined and name != "_"
        return was_there or name in self.first or self.needs(name)

    def needs(self, name: str) -> bool:
        return name in self.after or name in self.left or name in self.again or name in self.kept

    def is_read_after(self, name: str) -> bool:
        return name in self.after or name in self.left


def flow_at(statement: ast.stmt) -> Flow:
    """What Analysis has marked a statement with."""
    return vars(statement)["flow"]


def flow_of(statements: Sequence[ast.stmt]) -> Flow:
    """The facts of a run of statements in one block, as of one statement."""
    whole = Flow(defined=flow_at(statements[0]).defined)
    for statement in reversed(statements):
        flow = flow_at(statement)
        whole.assigned = {**flow.assigned, **whole.assigned}
        whole.first = flow.first | whole.first - flow.killed
        whole.left |= flow.left
    last = flow_at(statements[-1])
    whole.after, whole.kept = last.after, last.kept
    return whole


@dataclass
class _Target:
    """Where `break` and `continue` of a loop lead: what is read there, and what the ways that lead there assign."""

    after: set[str] = field(default_factory=set)
    head: set[str] = field(default_factory=set)
    breaks: list[set[str]] = field(default_factory=list)
    continues: list[set[str]] = field(default_factory=list)


class Analysis:
    """Analyses one function. `names` are its local variables; `suspects` come to be those that some path may lack."""

    def __init__(self, names: Iterable[str], parameters: Iterable[str], is_dynamic: Callable[[ast.stmt], bool]):
        self.names, self.is_dynamic = set(names), is_dynamic
        self.parameters = set(parameters)
        self.suspects: set[str] = set()
        self.escaping: set[str] = set()  # read by functions and lambdas
        self.shared: set[str] = set()  # read by functions
        self.targets: list[_Target] = []

    def run(self, body: list[ast.stmt], exits: bool) -> None:
        """Mark `body`. `exits`: dynamic statements are left early, so that any variable may be missing."""
        self._gather(body)
        self._live(body, set())
        if exits:
            self.suspects = self.names - self.parameters
        self._define(body, set(self.parameters))

    # --- what statements read first and surely assign, from the inside out ---

    def _gather(self, body: Sequence[ast.stmt]) -> Flow:
        """Attach a Flow to every statement of `body`; returns the Flow of the whole."""
        whole, flows = Flow(), []
        for statement in body:
            flow = vars(statement)["flow"] = self._gathered(statement)
            flows.append(flow)
            whole.assigned.update(flow.assigned)
        for flow in reversed(flows):
            whole.first = flow.first | whole.first - flow.killed
            whole.killed = whole.killed | flow.killed
        return whole

    def _gathered(self, statement: ast.stmt) -> Flow:
        own = Flow()
        if isinstance(statement, (ast.Break, ast.Continue)):
            own.killed = set(self.names)  # nothing after it is reached
            return own
        expressions, blocks = _split(statement)
        for expression in expressions:
            self._note(expression, own)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            own.assigned[statement.name] = statement
            own.killed.add(statement.name)
        if isinstance(statement, (ast.Return, ast.Raise)):
            own.killed = set(self.names)
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            stored = Flow()
            self._note(statement.target, stored)
            own.assigned.update(stored.assigned)
        inner = [self._gather(block) for block in blocks]
        for flow in inner:
            own.assigned.update(flow.assigned)
            own.first = own.first | flow.first - own.killed
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            own.first -= set(stored.assigned) - _loaded(statement.iter) - set().union(*(f.first for f in inner[1:]))
        if isinstance(statement, ast.If):
            orelse = inner[1].killed if len(inner) > 1 else set()
            own.killed |= inner[0].killed & orelse
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            own.killed |= inner[0].killed - _exit_marks(statement, self.names)
        return own

    def _note(self, node: ast.AST, flow: Flow) -> None:
        """The reads and assignments of an expression, in the order they are written."""
        for name, place, is_store in _accesses(node):
            if name not in self.names:
                continue
            if is_store:
                flow.assigned[name] = place
                flow.killed.add(name)
            elif name not in flow.killed:
                flow.first.add(name)
        for inner in ast.walk(node) if _has_scope(node) else ():
            if isinstance(inner, _SCOPES):
                self.escaping |= _loaded(inner) & self.names
            if isinstance(inner, ast.FunctionDef):
                self.shared |= _loaded(inner) & self.names

    # --- what is read after a statement, from the outside in ---

    def _live(self, body: Sequence[ast.stmt], after: set[str]) -> set[str]:
        """Mark what is read after each statement of `body`; returns what is read where its exits lead."""
        left_all: set[str] = set()
        for statement in reversed(body):
            flow = flow_at(statement)
            flow.after = after
            flow.left = self._live_inside(statement, flow, after)
            left_all |= flow.left
            after = flow.first | (after - flow.killed) | flow.left
        return left_all

    def _live_inside(self, statement: ast.stmt, flow: Flow, after: set[str]) -> set[str]:
        if isinstance(statement, ast.Break):
            return self.targets[-1].after
        if isinstance(statement, ast.Continue):
            return self.targets[-1].head
        _, blocks = _split(statement)
        if not isinstance(statement, _LOOPS):
            return set().union(*(self._live(block, after) for block in reversed(blocks))) if blocks else set()
        orelse = blocks[1] if len(blocks) > 1 else []
        left = self._live(orelse, after)
        done = after
        for inner in reversed(orelse):
            flow_inside = flow_at(inner)
            done = flow_inside.first | (done - flow_inside.killed)
        flow.again = flow.first | done
        self.targets.append(_Target(after=after, head=flow.again))
        self._live(blocks[0], flow.again)  # its exits lead to what is read after it, or by its next trip
        self.targets.pop()
        flow.after = after | done
        return left

    # --- what is assigned on every path ---

    def _define(self, body: Sequence[ast.stmt], defined: set[str] | None) -> set[str] | None:
        """Mark the reads in `body`; returns what is assigned after it, None where its end is never reached."""
        for statement in body:
            flow = flow_at(statement)
            flow.defined = set(self.names) if defined is None else set(defined)
            flow.kept = self.escaping
            if self.is_compound(statement) and self.is_dynamic(statement) and defined is not None:
                new = flow.assigned.keys() - defined
                self.suspects |= {name for name in new if flow.carries(name)}
            defined = self._statement(statement, defined)
        return defined

    @staticmethod
    def is_compound(statement: ast.stmt) -> bool:
        return isinstance(statement, (ast.If, ast.For, ast.While))

    def _statement(self, statement: ast.stmt, defined: set[str] | None) -> set[str] | None:
        expressions, blocks = _split(statement)
        for expression in expressions:
            defined = self._expression(expression, defined)
        if isinstance(statement, (ast.Return, ast.Raise)):
            return None
        if isinstance(statement, (ast.Break, ast.Continue)):
            if defined is not None and self.targets:
                target = self.targets[-1]
                (target.breaks if isinstance(statement, ast.Break) else target.continues).append(defined)
            return None
        if isinstance(statement, _LOOPS):
            return self._loop(statement, blocks, defined)
        if isinstance(statement, ast.If):
            return _meet([self._define(statement.body, _copy(defined)), self._define(statement.orelse, _copy(defined))])
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return defined if defined is None else defined | ({statement.name} & self.names)
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            return self._define(statement.body, defined)
        if isinstance(statement, ast.Delete) and defined is not None:
            return defined - {target.id for target in statement.targets if isinstance(target, ast.Name)}
        if blocks:  # try, match: each block may be skipped
            ends = [self._define(block, _copy(defined)) for block in blocks]
            return defined if defined is not None else _meet(ends)
        return defined

    def _loop(self, statement: _Loop, blocks: list[list[ast.stmt]], defined: set[str] | None) -> set[str] | None:
        target = _Target()
        self.targets.append(target)
        if isinstance(statement, ast.While):
            end = self._define(blocks[0], _copy(defined))
            endless = isinstance(statement.test, ast.Constant) and bool(statement.test.value)
            done = None if endless else _copy(defined)
        else:
            inside = _copy(defined)
            inside = self._expression(statement.target, inside)
            end = self._define(blocks[0], inside)
            done = _meet([end, *target.continues]) if _surely_runs(statement.iter) else _copy(defined)
        self.targets.pop()
        orelse = blocks[1] if len(blocks) > 1 else []
        return _meet([self._define(orelse, done), *target.breaks])

    def _expression(self, node: ast.AST, defined: set[str] | None) -> set[str] | None:
        for name, place, is_store in _accesses(node):
            if name not in self.names:
                continue
            if is_store:
                defined = defined if defined is None else defined | {name}
            elif isinstance(place, ast.Name):
                vars(place)["proven"] = defined is None or name in defined
        return defined


def _copy(defined: set[str] | None) -> set[str] | None:
    return None if defined is None else set(defined)


def _meet(paths: Sequence[set[str] | None]) -> set[str] | None:
    reached = [path for path in paths if path is not None]
    return set.intersection(*map(set, reached)) if reached else None


def _surely_runs(iterable: ast.expr) -> bool:
    """Whether a loop over `range` of literals runs a trip, whatever `range` is called."""
    if not isinstance(iterable, ast.Call):
        return False
    called = iterable.func.attr if isinstance(iterable.func, ast.Attribute) else getattr(iterable.func, "id", "")
    try:
        bounds = [ast.literal_eval(argument) for argument in iterable.args]
        return called.startswith("range") and len(range(*bounds)) > 0
    except (ValueError, TypeError):
        return False


def _split(statement: ast.stmt) -> tuple[Sequence[ast.AST], list[list[ast.stmt]]]:
    """A statement's own expressions in the order they run, and its blocks. A loop's target is not among them."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement], []
    if isinstance(statement, ast.If):
        return [statement.test], [statement.body, statement.orelse]
    if isinstance(statement, ast.While):
        return [statement.test], [statement.body, statement.orelse]
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return [statement.iter], [statement.body, statement.orelse]
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return list(statement.items), [statement.body]
    if isinstance(statement, ast.Match):
        return [statement.subject], [case.body for case in statement.cases]
    if isinstance(statement, (ast.Try, ast.TryStar)):
        handlers = [handler.body for handler in statement.handlers]
        return [], [statement.body, *handlers, statement.orelse, statement.finalbody]
    if isinstance(statement, ast.Assign):
        return [statement.value, *statement.targets], []
    if isinstance(statement, ast.AugAssign):
        return [statement], []
    if isinstance(statement, ast.AnnAssign):
        return [statement.value, statement.target] if statement.value else [], []
    return [statement], []


Hidden = frozenset[str]  # names of functions and comprehensions around an expression, which are not the variables
Access = tuple[str, Placed, bool]  # name, where, whether it is assigned


def _accesses(node: ast.AST, hidden: Hidden = frozenset()) -> Iterable[Access]:
    """Each variable in an expression or simple statement, in the order they are read and assigned."""
    return _ACCESSES.get(type(node), _of_children)(node, hidden)


def _of_children(node: ast.AST, hidden: Hidden) -> Iterator[Access]:
    for child in ast.iter_child_nodes(node):
        yield from _accesses(child, hidden)


def _of_name(node: ast.Name, hidden: Hidden) -> Iterable[Access]:
    return () if node.id in hidden else ((node.id, node, isinstance(node.ctx, ast.Store)),)


def _of_augmented(node: ast.AugAssign, hidden: Hidden) -> Iterator[Access]:
    yield from _accesses(node.value, hidden)
    if isinstance(node.target, ast.Name):
        yield node.target.id, node.target, False
    yield from _accesses(node.target, hidden)


def _of_walrus(node: ast.NamedExpr, hidden: Hidden) -> Iterator[Access]:
    yield from _accesses(node.value, hidden)
    yield node.target.id, node.target, True


def _of_import(node: ast.Import | ast.ImportFrom, _: Hidden) -> Iterator[Access]:
    for alias in node.names:
        yield (alias.asname or alias.name).partition(".")[0], node, True


def _of_scope(node: _Scope, hidden: Hidden) -> Iterator[Access]:
    """The accesses of a function or class outside its body, and the reads in its body."""
    if isinstance(node, ast.ClassDef):
        outside, inside = [*node.decorator_list, *node.bases], hidden
    else:
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        outside, inside = [*decorators, *defaults], hidden | _own_names(node)
    for child in outside:
        yield from _accesses(child, hidden)
    for child in node.body if isinstance(node.body, list) else [node.body]:
        yield from ((name, place, False) for name, place, stores in _accesses(child, inside) if not stores)


def _of_comprehension(node: _Comprehension, hidden: Hidden) -> Iterator[Access]:
    targets = (name for generator in node.generators for name in ast.walk(generator.target))
    hidden = hidden | {name.id for name in targets if isinstance(name, ast.Name)}
    for generator in node.generators:
        for part in (generator.iter, *generator.ifs):
            yield from _accesses(part, hidden)
    for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
        yield from _accesses(part, hidden)


_ACCESSES: dict[type, Callable[[Any, Hidden], Iterable[Access]]] = {
    ast.Name: _of_name,
    ast.AugAssign: _of_augmented,
    ast.NamedExpr: _of_walrus,
    **dict.fromkeys((ast.Import, ast.ImportFrom), _of_import),
    **dict.fromkeys(_SCOPES, _of_scope),
    **dict.fromkeys(_COMPREHENSIONS, _of_comprehension),
}


def _own_names(node: _Function) -> Hidden:
    """The parameters and variables of a function, which hide the names around it."""
    names = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
    for statement in node.body if isinstance(node.body, list) else []:
        names |= {
            name.id for name in ast.walk(statement) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        }
    return frozenset(names)


def _has_scope(node: ast.AST) -> bool:
    return any(isinstance(inner, _SCOPES) for inner in ast.walk(node))


def _loaded(node: ast.AST) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)}


def _exit_marks(statement: ast.stmt, names: set[str]) -> set[str]:
    """Nothing, unless an exit inside makes every name look assigned."""
    exits = any(isinstance(inner, (ast.Break, ast.Continue, ast.Return, ast.Raise)) for inner in ast.walk(statement))
    return set(names) if exits else set()
