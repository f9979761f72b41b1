"""Passes from classes to functions: attributes of `self` to variables, methods to functions, base classes away."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dsl.reduction.edit import Change, Edit
from dsl.reduction.names import is_within, parameters
from dsl.reduction.program import Function, Program
from dsl.reduction.sequences import item_change


def _own_attributes(program: Program, name: str) -> list[ast.Attribute]:
    return [
        node
        for node in program.attributes.get(name, [])
        if isinstance(node.value, ast.Name) and node.value.id == "self"
    ]


def local_attributes(program: Program) -> Iterator[Edit]:
    """An attribute of `self` that one function alone writes and reads becomes its variable."""
    for name, nodes in program.attributes.items():
        own = _own_attributes(program, name)
        functions = {program.scope(node) for node in own}
        written = any(isinstance(node.ctx, ast.Store) for node in own)
        if len(own) != len(nodes) or len(functions) != 1 or not written:
            continue
        (function,) = functions
        taken = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        if isinstance(function, Function):
            taken |= {each.arg for each in parameters(function)}
        if name not in taken and isinstance(function, Function):
            changes = [program.replacement(node, name) for node in own]
            yield Edit(f"`self.{name}` as a variable", own[0].lineno, changes)


def global_attributes(program: Program) -> Iterator[Edit]:
    """An attribute of `self` becomes a variable of the module."""
    for name, nodes in program.attributes.items():
        own = _own_attributes(program, name)
        writers = {program.scope(node): node for node in own if isinstance(node.ctx, ast.Store)}
        if len(own) != len(nodes) or not writers or name in program.names or name in program.words:
            continue
        if any(each.arg == name for function in program.functions for each in parameters(function)):
            continue
        firsts = [_first_statement(program, function) for function in writers]
        places = [each for each in firsts if each is not None]
        if len(places) < len(firsts) or any(name == each.name for each in [*program.functions, *program.classes]):
            continue
        changes = [program.replacement(node, name) for node in own]
        starts = {change.start for change in changes}
        for statement in places:
            start = program.span(statement)[0]
            if start in starts:
                changes = [each for each in changes if each.start != start]
                end = program.span(next(node for node in own if program.span(node)[0] == start))[1]
                indentation = (program.indentation(statement) or b"").decode()
                changes.append(Change(start, end, f"global {name}\n{indentation}{name}".encode()))
            else:
                before = program.line_start(start)
                indentation = (program.indentation(statement) or b"").decode()
                first = program.text[start : start + 1]
                changes.append(Change(start, start + 1, f"global {name}\n{indentation}".encode() + first))
                del before
        yield Edit(f"`self.{name}` as a variable of the module", own[0].lineno, changes)


def _first_statement(program: Program, function: ast.AST) -> ast.stmt | None:
    if not isinstance(function, Function):
        return None
    first = function.body[0]
    return first if program.indentation(first) is not None else None


def methods(program: Program) -> Iterator[Edit]:
    """A method that needs `self` for nothing but other methods becomes a function of the module, with all others."""
    for owner in program.classes:
        if edit := _as_functions(program, owner):
            yield edit


def _as_functions(program: Program, owner: ast.ClassDef) -> Edit | None:
    """The methods of a class as functions of the module, where no object of it holds anything."""
    functions = [each for each in owner.body if isinstance(each, Function)]
    if not functions or len(functions) != len(owner.body) or owner not in program.tree.body:
        return None
    names = {each.name for each in functions}
    if len(names) != len(functions) or any(name in program.names for name in names - {"__init__", "__call__"}):
        return None
    changes: list[Change] = []
    for function in functions:
        own = parameters(function)
        if (
            not own
            or own[0].arg != "self"
            or any(each.id == "staticmethod" for each in function.decorator_list if isinstance(each, ast.Name))
        ):
            return None
        if function.name == "__init__":
            if len(own) > 1 or not all(isinstance(each, ast.Pass) for each in function.body):
                return None
            changes.append(program.deletion(function))
            continue
        spans = [program.span(each) for each in own]
        change = item_change(program, spans, 0)
        if change is None:
            return None
        changes.append(change)
    for node in program.names.get("self", []):
        parent = program.parent[node]
        if not is_within(program, node, owner):
            continue
        if not isinstance(parent, ast.Attribute) or parent.attr not in names:
            return None
        changes.append(program.replacement(parent, _function_name(owner, parent.attr)))
    calls = _object_calls(program, owner)
    if calls is None:
        return None
    changes += calls
    start, end = program.line_start(program.span(owner)[0]), program.line_end(program.span(owner)[1])
    first = program.line_start(program.span(owner.body[0])[0])
    inner, outer = program.indentation(owner.body[0]), program.indentation(owner)
    if inner is None or outer is None or first <= start:
        return None
    changes.append(Change(start, first))
    at = first
    while at < end:
        following = program.line_end(at)
        if at not in program.starts_in_strings and program.text[at:following].startswith(inner):
            changes.append(Change(at, at + len(inner)))
        at = following
    for function in functions:
        if function.name == "__call__":
            place = program.text.index(b"__call__", program.span(function)[0])
            changes.append(Change(place, place + len(b"__call__"), _function_name(owner, "__call__").encode()))
    return Edit(f"functions in place of the class `{owner.name}`", owner.lineno, changes)


def _function_name(owner: ast.ClassDef, name: str) -> str:
    return f"{owner.name.lower()}_call" if name == "__call__" else name


def _object_calls(program: Program, owner: ast.ClassDef) -> list[Change] | None:
    """The changes of `C()` and `x = C()`; None if it is used otherwise."""
    changes: list[Change] = []
    call_name = _function_name(owner, "__call__")
    for node in program.names.get(owner.name, []):
        call = program.parent[node]
        if not isinstance(call, ast.Call) or call.func is not node or call.args or call.keywords:
            return None
        parent = program.parent[call]
        if isinstance(parent, ast.Attribute):
            changes.append(program.replacement(parent, _function_name(owner, parent.attr)))
        else:
            changes.append(program.replacement(call, call_name))
    return changes


def bases(program: Program) -> Iterator[Edit]:
    """Classes without bases, definitions without decorators."""
    for owner in program.classes:
        if owner.bases and not owner.keywords:
            start, end = program.span(owner.bases[0])[0], program.span(owner.bases[-1])[1]
            before, after = program.text.rfind(b"(", 0, start), program.text.find(b")", end)
            if 0 <= before < after and not program.text[before + 1 : start].strip():
                yield Edit(f"`{owner.name}` without bases", owner.lineno, [Change(before, after + 1)])
    for definition in [*program.functions, *program.classes]:
        for decorator in definition.decorator_list:
            start = program.text.rfind(b"@", 0, program.span(decorator)[0])
            place = Change(program.line_start(start), program.line_end(program.span(decorator)[1]))
            yield Edit(f"`{definition.name}` without a decorator", decorator.lineno, [place])
