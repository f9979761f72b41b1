"""The fix for an index outside of what it indexes: the author's own access after a test of its indices."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable, Iterator, Sequence

from dsl.span import Span

ANY_FIX = "keep every index of this line inside its extent, or make what it indexes larger"
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Assert)


def fix(place: Span | None, report: str, extent: Callable[[str, int, int, bool], str], load: str) -> str:
    """The fix for the access at `place` that `report` tells of.

    `extent(base, axis, rank, is_element)` spells an extent of what is indexed, which is an element of an array or a
    variable of one thread if `is_element`. `load` has {access}, {test} and {base}: a load that is made only if a test
    holds.
    """
    statement = _statement(place) if place is not None else None
    if place is None or statement is None:
        return ANY_FIX
    is_write = re.search(r"\^ (write|atomic) of", report) is not None
    accesses = list(_accesses(statement, is_write))
    if "out of bounds of dimension" in report:  # it is the place of the access
        every = [*_accesses(statement, True), *_accesses(statement, False)]
        accesses = [each for each in every if each.lineno == place.line and each.col_offset + 1 == place.column]
        accesses.sort(key=lambda access: len(ast.unparse(access)), reverse=_is_of_element(report))
        accesses = accesses[:1]
        is_write = any(access in list(_accesses(statement, True)) for access in accesses)
    named = [each for each in accesses if f"of `{ast.unparse(each.value)}`" in report]
    tests: dict[str, str] = {}
    for access in named or accesses:
        test = _test(access, report, extent)
        if test is None:
            return ANY_FIX
        tests[ast.unparse(access)] = test
    if not tests:
        return ANY_FIX
    if is_write:
        return f"run it only if the index is inside: `if {' and '.join(dict.fromkeys(tests.values()))}:`"
    guarded = (
        f"`{load.format(access=access, test=test, base=access.partition('[')[0])}`" for access, test in tests.items()
    )
    return f"load only if the index is inside: {', '.join(guarded)}"


def _statement(place: Span) -> ast.stmt | None:
    """The simple statement at a place."""
    lines = linecache.getlines(place.file)
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return None
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, _SIMPLE) and node.lineno <= place.line <= (node.end_lineno or node.lineno)
    ]
    within = [node for node in found if node.lineno < place.line or node.col_offset + 1 <= place.column]
    return max(within or found, key=lambda node: (node.lineno, node.col_offset), default=None)


def _accesses(statement: ast.stmt, is_write: bool) -> Iterator[ast.Subscript]:
    """The subscripts that a statement stores to, or those that it loads."""
    targets: Sequence[ast.expr] = ()
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
        targets = [statement.target]
    stored = []
    for target in targets:
        part: ast.AST = target
        while isinstance(part, (ast.Subscript, ast.Attribute)):
            if isinstance(part, ast.Subscript):
                stored.append(part)
            part = part.value
    if is_write and targets:
        yield from stored
        return
    also_loaded = isinstance(statement, ast.AugAssign) or not targets
    annotation = list(ast.walk(statement.annotation)) if isinstance(statement, ast.AnnAssign) else []
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript) and node not in annotation and (also_loaded or node not in stored):
            yield node


def _test(access: ast.Subscript, report: str, extent: Callable[[str, int, int, bool], str]) -> str | None:
    indices = access.slice.elts if isinstance(access.slice, ast.Tuple) else [access.slice]
    if any(isinstance(index, (ast.Slice, ast.Starred)) or ast.unparse(index) == "None" for index in indices):
        return None
    is_element = _is_of_element(report) or isinstance(access.value, ast.Subscript)
    tests = []
    for axis, index in enumerate(indices):
        text = ast.unparse(index)
        text = text if isinstance(index, (ast.Name, ast.Constant, ast.BinOp, ast.Attribute, ast.Call)) else f"({text})"
        limit = extent(ast.unparse(access.value), axis, len(indices), is_element)
        if not isinstance(index, ast.Constant):
            tests.append(f"{text} >= 0")
        tests.append(f"{text} < {limit}")
    return " and ".join(tests)


def _is_of_element(report: str) -> bool:
    """Whether what is indexed is a vector or matrix, or a variable of one thread."""
    return any(words in report for words in ("local memory", "of the vector", "of the matrix"))
