"""Passes over what computes: a statement that does something, with all that is computed for it alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from dsl.reduction.edit import Edit
from dsl.reduction.names import definers, is_within, uses
from dsl.reduction.program import Program
from dsl.reduction.sequences import item_change, last_items

_CHECKS = re.compile(r"assert|check|verif|valid|close|compare|equal|print|log|warn", re.I)


def unread(program: Program) -> Iterator[Edit]:
    """Values that nothing reads, each with all that is computed for it alone."""
    for statement in reversed(program.statements):
        if _is_value(program, statement) and not uses(program, statement):
            yield without(program, statement, "which nothing reads")


def effects(program: Program) -> Iterator[Edit]:
    """Statements that do something, such as a copy, a store or a loop, each with all that is computed for it alone."""
    for statement in reversed(program.statements):
        if is_effect(program, statement):
            yield without(program, statement, "with what is computed for it")


def checks(program: Program) -> Iterator[Edit]:
    """Assertions, prints and calls that check, each with all that is computed for it alone.

    While results are checked, only edits that keep them right can be made.
    """
    for statement in reversed(program.statements):
        match statement:
            case ast.Assert():
                checks = True
            case ast.Expr(value=ast.Call(func=function)):
                checks = bool(_CHECKS.search(ast.unparse(function)))
            case _:
                checks = False
        if checks:
            if statement in program.block_of and statement not in program.claim:
                yield without(program, statement, "which checks or prints")
                yield program.delete("drop a check alone", statement)  # what it reads may be what fails


def is_effect(program: Program, statement: ast.stmt) -> bool:
    """Whether a statement does more than give names a value, and may go."""
    if statement not in program.block_of or statement in program.claim:
        return False
    match statement:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.If() | ast.For() | ast.While() | ast.With():
            return True
        case ast.Assign(targets=targets):
            others = [each for each in targets if isinstance(each, ast.Attribute) and not _is_own(each)]
            return bool(others) or any(isinstance(each, ast.Subscript) for each in targets)
    return False


def _is_value(program: Program, statement: ast.stmt) -> bool:
    """Whether a statement only gives names and attributes of `self` a value."""
    match statement:
        case ast.Assign(targets=targets):
            parts = [part for each in targets for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
        case ast.AnnAssign(target=target, value=ast.expr()):
            parts = [target]
        case _:
            return False
    is_plain = all(isinstance(part, ast.Name) or _is_own(part) for part in parts)
    in_class = isinstance(program.scope(statement), ast.ClassDef)  # a field is read by its class too
    return is_plain and not in_class and statement in program.block_of


def _is_own(part: ast.expr) -> bool:
    return isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self"


def optional_arguments(program: Program) -> Iterator[Edit]:
    """Keyword arguments of calls, as `pred=` of a copy, each with all that is computed for it alone."""
    for node in program.nodes:
        if not isinstance(node, ast.Call):
            continue
        items = last_items(node)
        spans = [program.span(each) for each in items]
        for index, item in enumerate(items):
            if not isinstance(item, ast.keyword):
                continue
            change, rest = item_change(program, spans, index), _for_it_alone(program, item)
            if change and rest:
                about = f"drop the argument `{item.arg}`, with what is computed for it"
                yield Edit(about, item.lineno, [change, *map(program.deletion, rest)])


def without(program: Program, statement: ast.stmt, why: str) -> Edit:
    """Delete a statement and each value that only what is deleted reads."""
    text = program.of(statement).partition("\n")[0]
    about = f"drop `{text if len(text) <= 60 else text[:57] + '...'}`, {why}"
    return program.delete(about, statement, *_for_it_alone(program, statement))


def _for_it_alone(program: Program, node: ast.AST) -> list[ast.stmt]:
    """The statements that only give a value to what this part of the program alone reads."""
    gone: dict[Any, None] = {node: None}
    waiting: list[ast.AST] = [node]
    while waiting:
        for definer in _read_in(program, waiting.pop()):
            if any(is_within(program, definer, each) for each in gone):
                continue
            if all(any(is_within(program, use, each) for each in gone) for use in uses(program, definer)):
                gone[definer] = None
                waiting.append(definer)
    return [*gone][1:]


def _read_in(program: Program, part: ast.AST) -> list[ast.stmt]:
    """The statements that only give a value to a name that this part reads."""
    names = set()
    for node in ast.walk(part):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and _is_own(node):
            names.add("." + node.attr)
    found = definers(program)
    return [each for name in sorted(names) for each in found.get(name, []) if _is_value(program, each)]
