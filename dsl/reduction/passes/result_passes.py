"""Passes over what functions return."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dsl.reduction.edit import Edit
from dsl.reduction.names import is_within, readers
from dsl.reduction.passes.definition_passes import calls_of
from dsl.reduction.passes.value_passes import listed
from dsl.reduction.program import Function, Program


def direct_returns(program: Program) -> Iterator[Edit]:
    """`a, b = value` before `return a, b` becomes `return value`."""
    for block in program.blocks:
        for statement, after in zip(block, block[1:]):
            match statement, after:
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value), ast.Return(
                    value=ast.Tuple(elts=parts)
                ):
                    pass
                case _:
                    continue
            names = [each.id for each in targets if isinstance(each, ast.Name)]
            same = [each.id for each in parts if isinstance(each, ast.Name)]
            if names != same or len(names) != len(targets) or len(same) != len(parts) or len({*names}) < len(names):
                continue
            if all(len(_reads(program, name, program.scope(statement))) == 1 for name in names):
                changes = [program.replacement(statement, f"return {listed(program, [value])}")]
                yield Edit("return a value as it is", statement.lineno, [*changes, program.deletion(after)])


def _reads(program: Program, name: str, scope: ast.AST) -> list[ast.AST]:
    return [
        each for each in readers(program, name) if is_within(program, each, scope) or not isinstance(each, ast.Name)
    ]


def returned(program: Program) -> Iterator[Edit]:
    """A function that returns a tuple returns what its calls read of it."""
    for function in program.functions:
        calls = calls_of(program, function)
        if not calls or isinstance(function, ast.AsyncFunctionDef) or function.decorator_list:
            continue
        made = [tuple_ for each in _returns(program, function) for tuple_ in [each.value]]
        taken = [_taken(program, call) for call in calls]
        tuples = [each for each in (*made, *taken) if isinstance(each, ast.Tuple)]
        if not made or len(tuples) < len(made) + len(taken) or len({len(each.elts) for each in tuples}) > 1:
            continue
        if any(isinstance(part, ast.Starred) for each in tuples for part in each.elts):
            continue
        count = len(tuples[0].elts)
        kept = [index for index in range(count) if any(_is_read(program, each.elts[index]) for each in taken if each)]
        kept = kept or [0]
        if len(kept) < count:
            changes = [
                program.replacement(each, listed(program, [each.elts[index] for index in kept])) for each in tuples
            ]
            yield Edit(f"`{function.name}` returns what is read", function.lineno, changes)


def _returns(program: Program, function: Function) -> list[ast.Return]:
    """The `return` statements of a function itself, not of inner functions; none of a generator."""
    own = [each for each in ast.walk(function) if program.parent.get(each) and _function_of(program, each) is function]
    if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in own):
        return []
    return [each for each in own if isinstance(each, ast.Return)]


def _function_of(program: Program, node: ast.AST) -> ast.AST | None:
    return next((each for each in program.around(node) if isinstance(each, Function | ast.Lambda)), None)


def _taken(program: Program, call: ast.Call) -> ast.Tuple | None:
    """The targets to which a call's result goes, if it is unpacked."""
    match program.parent[call]:
        case ast.Assign(targets=[ast.Tuple() as target], value=value) if value is call:
            return target
    return None


def _is_read(program: Program, target: ast.expr) -> bool:
    """Whether anything reads a target; an attribute or an element counts as read."""
    if not isinstance(target, ast.Name):
        return True
    return bool(_reads(program, target.id, program.scope(target)))
