"""Which statements of a script stay at module level, and which become the body of run().

Imports, functions, classes and constants stay. Everything else moves, in its order: what makes the inputs, launches
and prints. If a function reads a name that moves, run() assigns it as a global. Statements that a definition
itself needs (for a default, a decorator, the body of a class) stay with it.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from harness.adopt.refusal import at

_PURE_CALLS = {
    "len",
    "range",
    "tuple",
    "list",
    "set",
    "dict",
    "int",
    "float",
    "bool",
    "str",
    "min",
    "max",
    "sum",
    "abs",
}
_PURE = (
    ast.Constant, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Tuple, ast.List, ast.Set,
    ast.Dict, ast.Subscript, ast.IfExp, ast.Slice, ast.Starred, ast.operator, ast.unaryop, ast.cmpop, ast.boolop,
    ast.expr_context,
)  # fmt: skip


@dataclass
class Unit:
    """One statement of the module's level, or of its main guard."""

    node: Any  # a statement of LibCST
    line: int
    stays: bool = False
    is_constant: bool = False

    @cached_property
    def code(self) -> str:
        return cst.Module([self.node]).code

    @cached_property
    def tree(self) -> ast.stmt:
        return ast.parse(self.code).body[0]

    @cached_property
    def _table(self) -> symtable.SymbolTable:
        return symtable.symtable(self.code, "script", "exec")

    @property
    def is_definition(self) -> bool:
        return isinstance(self.tree, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)

    @property
    def is_import(self) -> bool:
        """An import, or a `try` or `if` whose bodies import and assign."""
        if isinstance(self.tree, ast.Import | ast.ImportFrom):
            return True
        if not isinstance(self.tree, ast.Try | ast.If):
            return False
        inside = [one for one in ast.walk(self.tree) if isinstance(one, ast.stmt) and one is not self.tree]
        fits = (ast.Import, ast.ImportFrom, ast.Assign, ast.Pass, ast.Try, ast.If)
        return any(isinstance(one, fits[:2]) for one in inside) and all(isinstance(one, fits) for one in inside)

    @cached_property
    def binds(self) -> set[str]:
        """Names that it gives a value at its level, and those that functions in it declare global."""
        names = {s.get_name() for s in self._table.get_symbols() if s.is_assigned() or s.is_imported()}
        names |= {s.get_name() for s in self._table.get_symbols() if s.is_namespace()}
        return names | {
            s.get_name() for one in _within(self._table) for s in one.get_symbols() if s.is_declared_global()
        }

    @cached_property
    def reads(self) -> set[str]:
        """Names of the module that it reads when it is executed."""
        tables = [self._table, *(one for one in _within(self._table) if _runs_at_once(one))]
        return {s.get_name() for one in tables for s in one.get_symbols() if s.is_referenced()}

    @cached_property
    def reads_later(self) -> set[str]:
        """Names of the module that functions in it read when they are called."""
        return {s.get_name() for one in _within(self._table) for s in one.get_symbols() if s.is_global()}


def _within(table: symtable.SymbolTable) -> Iterable[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _within(child)


def _runs_at_once(table: symtable.SymbolTable) -> bool:
    return table.get_type() == "class" or table.get_name() in ("listcomp", "setcomp", "dictcomp", "genexpr")


@dataclass
class Script:
    """A script taken apart. `moved` is the body of run(), `shared` what it assigns as globals."""

    path: str
    module: cst.Module
    units: list[Unit]
    docstring: str = ""
    comment: str = ""
    main: str = ""  # the function whose body is the body of run()
    shared: set[str] = field(default_factory=set)
    positions: Any = None  # of the nodes of `module`

    @property
    def kept(self) -> list[Unit]:
        return [unit for unit in self.units if unit.stays]

    @property
    def moved(self) -> list[Unit]:
        return [unit for unit in self.units if not unit.stays]

    def constant(self, name: str) -> Unit | None:
        """The constant of this name."""
        return next((unit for unit in self.constants if unit.binds == {name}), None)

    @property
    def constants(self) -> list[Unit]:
        return [unit for unit in self.units if unit.is_constant and isinstance(unit.tree, ast.Assign)]


def read(path: str, text: str) -> Script:
    """Take a script apart. Raises NotAdopted."""
    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    except cst.ParserSyntaxError as error:
        raise at(
            path, error.raw_line, "the script is not Python: " + str(error.message).split("\n")[0], "correct it"
        ) from None
    lines: dict[Any, Any] = dict(wrapper.resolve(PositionProvider))
    script = Script(path, wrapper.module, [], positions=lines)
    script.docstring = wrapper.module.get_docstring(clean=False) or ""
    body = list(wrapper.module.body)[1 if script.docstring else 0 :]
    for node in body:
        if _is_guard(node):
            assert isinstance(node, cst.If)
            if node.orelse is not None:
                raise at(path, lines[node].start.line, "the main guard has an `else`", "remove it")
            inside = _statements(node.body)
            if node.leading_lines and inside:
                inside[0] = inside[0].with_changes(leading_lines=[*node.leading_lines, *inside[0].leading_lines])
                lines = {**lines, inside[0]: lines[node]}
        else:
            inside: list[Any] = [node]
        for one in inside:
            script.units += [Unit(part, lines[one].start.line) for part in _single(one)]
    _sort(script)
    _take_main(script, lines)
    return script


def _statements(block: cst.BaseSuite) -> list[Any]:
    if isinstance(block, cst.SimpleStatementSuite):
        return [cst.SimpleStatementLine(block.body)]
    return list(block.body)


def _single(node: cst.BaseStatement) -> list[Any]:
    """`a; b` as two statements."""
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) == 1:
        return [node]
    parts = [node.with_changes(body=[small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)]) for small in node.body]
    return [parts[0], *(part.with_changes(leading_lines=[]) for part in parts[1:])]


def _is_guard(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.If):
        return False
    test = ast.unparse(ast.parse(cst.Module([]).code_for_node(node.test).strip(), mode="eval"))
    return test in ("__name__ == '__main__'", "'__main__' == __name__")


def _sort(script: Script) -> None:
    """Say of each statement whether it stays."""
    units = script.units
    imported = {name for unit in units if unit.is_import for name in unit.binds}
    last_import = max(
        (place for place, unit in enumerate(units) if isinstance(unit.tree, ast.Import | ast.ImportFrom)), default=-1
    )
    bound = [name for unit in units for name in unit.binds]
    constants = set(imported)
    for place, unit in enumerate(units):
        unit.stays = unit.is_import or unit.is_definition or (place < last_import and _sets_up(unit.tree, imported))
        unit.is_constant = not unit.stays and _is_constant(unit, constants, bound)
        if unit.stays or unit.is_constant:
            constants |= unit.binds
    first = next((place for place, unit in enumerate(units) if not (unit.stays or unit.is_constant)), len(units))
    later = {name for unit in units if unit.is_definition for name in unit.reads_later}
    for place, unit in enumerate(units):
        unit.stays = unit.stays or (unit.is_constant and (place < first or bool(unit.binds & later)))
    _keep_what_definitions_need(script)
    moved = {name for unit in script.moved for name in unit.binds}
    script.shared = moved & {name for unit in script.kept for name in unit.reads_later}


def _sets_up(tree: ast.stmt, imported: set[str]) -> bool:
    """Whether it only sets something of an imported module, as `os.environ[...] = ...` above an import."""
    if isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Call):
        return _root(tree.value.func) in imported
    return isinstance(tree, ast.Assign) and all(
        isinstance(target, ast.Attribute | ast.Subscript) and _root(target) in imported for target in tree.targets
    )


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_constant(unit: Unit, constants: set[str], bound: Sequence[str]) -> bool:
    """Whether it names a value made of literals, constants and names of imported modules, once."""
    tree = unit.tree
    if isinstance(tree, ast.AnnAssign):
        targets, value = [tree.target], tree.value
    elif isinstance(tree, ast.Assign):
        targets, value = tree.targets, tree.value
    else:
        return False
    if value is None or any(bound.count(name) > 1 for name in unit.binds) or not unit.binds:
        return False
    plain = [t for one in targets for t in (one.elts if isinstance(one, ast.Tuple) else [one])]
    return all(isinstance(target, ast.Name) for target in plain) and all(
        _is_pure(one, constants) for one in ast.walk(value)
    )


def _is_pure(node: ast.AST, constants: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in constants or node.id in _PURE_CALLS
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _PURE_CALLS
    return isinstance(node, (*_PURE, ast.keyword))


def _keep_what_definitions_need(script: Script) -> None:
    """Keep statements whose names a kept statement reads at once, and so on."""
    while True:
        needed = {name for unit in script.kept for name in unit.reads}
        found = [unit for unit in script.moved if unit.binds & needed]
        if not found:
            return
        for unit in found:
            unit.stays = True


def _take_main(script: Script, lines: dict) -> None:
    """If all that moves is a call of one function without arguments, the body of that function is the body of run()."""
    moved = script.moved
    called = _called_alone(moved[0].tree) if len(moved) == 1 else ""
    unit = next((u for u in script.units if isinstance(u.tree, ast.FunctionDef) and u.tree.name == called), None)
    if (
        unit is None
        or not isinstance(unit.node, cst.FunctionDef)
        or unit.node.decorators
        or _takes_arguments(unit.tree)
    ):
        return
    if any(called in other.reads | other.reads_later for other in script.kept):
        return
    body = _statements(unit.node.body)
    tree: ast.FunctionDef = unit.tree  # pyright: ignore[reportAssignmentType] - as the search above ensures
    if any(isinstance(one, ast.Return | ast.Yield | ast.YieldFrom | ast.Nonlocal) for one in ast.walk(tree)):
        if not _returns_at_its_end(tree):
            return
        body = body[:-1]
    docstring = ast.get_docstring(tree, clean=False)
    if docstring:
        body = body[1:]
        script.docstring = script.docstring or docstring
    script.main = called
    script.shared = set()
    parts = [Unit(part, lines[one].start.line) for one in body for part in _single(one)]
    script.units = [other for other in script.units if other is not unit and other is not moved[0]] + parts
    if parts and unit.node.leading_lines:
        first = parts[0].node
        parts[0].node = first.with_changes(leading_lines=[*unit.node.leading_lines[1:], *first.leading_lines])


def _called_alone(tree: ast.stmt) -> str:
    """`main` of `main()`, `sys.exit(main())`, `raise SystemExit(main())`."""
    value = tree.value if isinstance(tree, ast.Expr) else tree.exc if isinstance(tree, ast.Raise) else None
    if isinstance(value, ast.Call) and ast.unparse(value.func) in ("sys.exit", "exit", "SystemExit") and value.args:
        value = value.args[0]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and not value.args and not value.keywords:
        return value.func.id
    return ""


def _takes_arguments(tree: ast.stmt) -> bool:
    assert isinstance(tree, ast.FunctionDef)
    a = tree.args
    return bool(a.args or a.posonlyargs or a.kwonlyargs or a.vararg or a.kwarg)


def _returns_at_its_end(tree: ast.FunctionDef) -> bool:
    """Whether its only return is its last statement, and returns nothing or 0."""
    returns = [one for one in ast.walk(tree) if isinstance(one, ast.Return | ast.Yield | ast.YieldFrom | ast.Nonlocal)]
    last = tree.body[-1]
    if returns != [last] or not isinstance(last, ast.Return):
        return False
    return last.value is None or (isinstance(last.value, ast.Constant) and last.value.value in (None, 0))
