"""Which names a statement defines, and which statements need them. Names are compared by their spelling: the result may
be wrong if one name means several things, and then an edit is tried in vain."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dsl.reduction.program import SCOPES, Function, Program


def defined(statement: ast.stmt) -> set[str]:
    """The names that a statement defines; `.x` is an attribute."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {(alias.asname or alias.name).partition(".")[0] for alias in names}
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add("." + node.attr)
    return found


def readers(program: Program, name: str) -> Iterator[ast.AST]:
    """The places where a name is read, or declared `nonlocal`."""
    nodes: list = program.attributes.get(name[1:], []) if name.startswith(".") else program.names.get(name, [])
    yield from (node for node in nodes if isinstance(node.ctx, ast.Load))
    yield from program.declared.get(name, ())


def definers(program: Program) -> dict[str, list[ast.stmt]]:
    """The statements that give each name a value; `.x` is an attribute."""
    found = program.kept.get("definers")
    if found is None:
        found = program.kept["definers"] = {}
        for statement in program.statements:
            for name in _own(program, statement):
                found.setdefault(name, []).append(statement)
    return found


def _own(program: Program, statement: ast.stmt) -> set[str]:
    """The names that a statement defines itself, without the statements within it."""
    if not hasattr(statement, "body"):
        return defined(statement)
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    return {
        node.id
        for child in ast.iter_child_nodes(statement)
        if not isinstance(child, ast.stmt)
        for node in ast.walk(child)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def region(program: Program, statement: ast.stmt, name: str) -> ast.AST:
    """The region in which the name that a statement defines is known: a function, or the module."""
    scope = program.scope(statement)
    if name.startswith(".") or isinstance(scope, ast.ClassDef):
        return program.tree
    return scope


def is_within(program: Program, node: ast.AST, outer: ast.AST) -> bool:
    return node is outer or outer is program.tree or any(each is outer for each in program.around(node))


def uses(program: Program, statement: ast.stmt) -> list[ast.AST]:
    """The places outside a statement that read names which it defines."""
    found = []
    for name in defined(statement):
        where = region(program, statement, name)
        is_member = isinstance(program.scope(statement), ast.ClassDef)
        for spelling in {name, f".{name}"} if is_member else {name}:
            found += [
                node
                for node in readers(program, spelling)
                if is_within(program, node, where) and not is_within(program, node, statement)
            ]
    return found


def is_needed(program: Program, statement: ast.stmt) -> bool:
    """Whether a name that a statement defines is read elsewhere and defined nowhere else."""
    names = defined(statement)
    if not names:
        return False
    known = definers(program)
    for name in names:
        where = region(program, statement, name)
        is_member = isinstance(program.scope(statement), ast.ClassDef)
        others = [
            other
            for other in known.get(name, [])
            if not is_within(program, other, statement)
            and is_within(program, other, where)
            and region(program, other, name) is where
        ]
        if others and not is_member:
            continue
        if _is_parameter(program, where, name):
            continue
        for spelling in {name, f".{name}"} if is_member else {name}:
            for node in readers(program, spelling):
                if is_within(program, node, where) and not is_within(program, node, statement):
                    return True
    return False


def _is_parameter(program: Program, scope: ast.AST, name: str) -> bool:
    if not isinstance(scope, Function):
        return False
    return any(each.arg == name for each in parameters(scope))


def parameters(function: Function) -> list[ast.arg]:
    """All of a function's parameters, in order."""
    own = function.args
    rest = [each for each in (own.vararg, own.kwarg) if each is not None]
    return [*own.posonlyargs, *own.args, *own.kwonlyargs, *rest]


def needing(program: Program, statement: ast.stmt) -> list[ast.stmt]:
    """The innermost statements that read what a statement defines, those that read what they define, and so on."""
    found: dict[ast.stmt, None] = {}
    waiting = [statement]
    while waiting and len(found) <= 400:
        for node in uses(program, waiting.pop()):
            reader = program.statement_of(node)
            if reader is not statement and reader not in found:
                found[reader] = None
                if not isinstance(reader, SCOPES) and not (hasattr(reader, "body")):
                    waiting.append(reader)
    return list(found)
