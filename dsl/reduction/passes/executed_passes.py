"""Passes by the report of a run: the lines that ran, and the lines that its finding names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from dsl.reduction.edit import Change, Edit
from dsl.reduction.names import definers, is_needed
from dsl.reduction.passes import slicing_passes
from dsl.reduction.passes.statement_passes import LOOPS, body_instead
from dsl.reduction.passes.value_passes import in_f_string, text_at
from dsl.reduction.program import Function, Program

RAN, FOUND = "ran", "found"
_SILENT = (ast.Pass, ast.Global, ast.Nonlocal, ast.Break, ast.Continue)
_SYNCHRONISES = re.compile(r"barrier|sync|fence|wait|commit|arriv|acquire|release|advance|fill|launch", re.I)


# ** what did not run


def unrun(program: Program) -> Iterator[Edit]:
    """Statements that did not run go; an `if` of which one branch ran becomes it. Needs the lines that ran."""
    if ran := program.seen.get(RAN):
        yield from _of_block(program, program.tree.body, ran)


def _of_block(program: Program, block: Sequence[ast.stmt], ran: frozenset[int]) -> Iterator[Edit]:
    for statement in block:
        if statement in program.claim and not isinstance(statement, Function):
            continue
        if _has_run(statement, ran):
            yield from _conditions(program, statement, ran)
            yield from _of_what_ran(program, statement, ran)
        elif not _is_silent(program, statement) and not _is_answer(program, statement):
            yield program.delete("drop what did not run", statement)


def _of_what_ran(program: Program, statement: ast.stmt, ran: frozenset[int]) -> Iterator[Edit]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if _ran(program, statement.body, ran) is False:
                if statement in program.claim:
                    return
                is_free = not is_needed(program, statement) or _is_overridden(program, statement)
                gone = [statement] if is_free and not _is_protocol(statement) else statement.body
                if not isinstance(gone[0], ast.Pass):
                    yield program.delete(f"`{statement.name}` was not called", *gone)
                return
        case ast.If():
            yield from _branch(program, statement, ran)
        case ast.For() | ast.AsyncFor() | ast.While():
            if _ran(program, statement.body, ran) is False:
                yield program.delete("drop a loop without trips", statement)
                return
        case ast.Try(handlers=handlers, orelse=[], finalbody=[]):
            if all(_ran(program, each.body, ran) is False for each in handlers):
                if edit := body_instead(program, statement, statement.body):
                    edit.about = "only the body of `try`, whose handlers did not run"
                    yield edit
    for each in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(each, name, [])
            if not isinstance(statement, ast.If) or _ran(
                program, block, ran
            ):  # the rest of an `if` goes with its branch
                yield from _of_block(program, block, ran)


def _branch(program: Program, node: ast.If, ran: frozenset[int]) -> Iterator[Edit]:
    """One branch in place of the `if`, where another did not run."""
    first, second = _ran(program, node.body, ran), _ran(program, node.orelse, ran) if node.orelse else None
    is_elif = program.text[program.span(node)[0] :].startswith(b"elif")
    above = program.parent[node]
    if is_elif and isinstance(above, ast.If) and _ran(program, above.body, ran) is False:
        return  # it becomes the first branch, and is seen again
    if first and (second is False or (not node.orelse and _is_settled(program, node))):
        edit = None if is_elif else body_instead(program, node, node.body)
        if edit is None:
            last, end = program.line_end(program.span(node.body[-1])[1]), program.line_end(program.span(node)[1])
            edit = Edit("", node.lineno, [Change(last, end)] if last < end else [])
    elif first is False and second and program.of(node.orelse[0]).startswith("elif"):
        start, following = program.span(node)[0], program.span(node.orelse[0])[0] + (0 if is_elif else 2)
        edit = Edit("", node.lineno, [Change(start, following)])
    elif first is False and second and not is_elif:
        edit = body_instead(program, node, node.orelse)
    elif first is False and second is not True and not is_elif and not (node.orelse and second is None):
        edit = program.delete("", node)
    else:
        return
    if edit is not None:
        edit.about = "only the branch that ran"
        yield edit


def _conditions(program: Program, statement: ast.stmt, ran: frozenset[int]) -> Iterator[Edit]:
    """`a if c else f()` becomes the side that does not call a function which was not called."""
    if hasattr(statement, "body"):
        return
    for node in ast.walk(statement):
        if not isinstance(node, ast.IfExp) or in_f_string(program, node):
            continue
        for side, other in ((node.body, node.orelse), (node.orelse, node.body)):
            match other:
                case ast.Call(func=ast.Name(id=name)):
                    called = [each for each in program.functions if each.name == name]
                    if called and not any(_ran(program, each.body, ran) for each in called):
                        change = program.replacement(node, text_at(program, side, node))
                        yield Edit("only the side that ran", node.lineno, [change])


def _is_settled(program: Program, node: ast.If) -> bool:
    """Whether the compiler takes the branch each time, as it has once: a condition in `const_expr`, in no loop."""
    test = node.test
    if not isinstance(test, ast.Call) or ast.unparse(test.func).rpartition(".")[2] != "const_expr":
        return False
    return not any(isinstance(each, LOOPS) for each in program.around(node))


def _ran(program: Program, block: Sequence[ast.stmt], ran: frozenset[int]) -> bool | None:
    """Whether a block ran; None where nothing in it would tell."""
    if any(_has_run(each, ran) for each in block):
        return True
    return None if all(_is_silent(program, each) for each in block) else False


def _has_run(statement: ast.stmt, ran: frozenset[int]) -> bool:
    """Whether a line of it, or of what is in it, ran."""
    first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
    return any(line in ran for line in range(first, (statement.end_lineno or first) + 1))


def _is_silent(program: Program, statement: ast.stmt) -> bool:
    """Whether a statement may run without an event for its line."""
    match statement:
        case ast.Expr(value=ast.Constant()) | ast.Return(value=None):
            return True
        case ast.AnnAssign(value=None):
            return not isinstance(program.scope(statement), ast.ClassDef)
    return isinstance(statement, _SILENT)


def _is_answer(program: Program, statement: ast.stmt) -> bool:
    """Whether it is the `return` of `run`, which a call before it may reach once it ends."""
    scope = program.scope(statement)
    return isinstance(statement, ast.Return) and isinstance(scope, Function) and scope.name == "run"


def _is_overridden(program: Program, function: Function) -> bool:
    """Whether each class that is derived from the method's own defines a method of its name."""
    owner = program.parent[function]
    name = getattr(owner, "name", "")
    derived = [each for each in program.classes if name in map(ast.unparse, each.bases)]
    return bool(derived) and all(function.name in map(_name, each.body) for each in derived)


def _name(statement: ast.stmt) -> str:
    return getattr(statement, "name", "")


def _is_protocol(function: Function) -> bool:
    return function.name.startswith("__") and function.name.endswith("__")


# ** what has nothing to do with a finding


def apart(program: Program) -> Iterator[Edit]:
    """Statements that do something and from which nothing comes to the finding. Needs the lines that it names.

    Those that share a name with it are last: they may write what is read there. Barriers, fences and waits stay.
    """
    kept = _coming(program, program.seen.get(FOUND, frozenset()))
    if not kept:
        return
    names = {node.id for each in kept for node in _header(each) if isinstance(node, ast.Name)}
    near, far = [], []
    waiting = list(reversed(program.tree.body))
    while waiting:
        statement = waiting.pop()
        if statement in kept or not slicing_passes.is_effect(program, statement):
            inner = [each for each in ast.walk(statement) if program.parent.get(each) is statement]
            waiting += reversed([each for each in _blocks_of(inner) if isinstance(each, ast.stmt)])
            continue
        if not _SYNCHRONISES.search(program.of(statement)):
            shares = any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement))
            (near if shares else far).append(slicing_passes.without(program, statement, "apart from the finding"))
    yield from far
    yield from near


def _blocks_of(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield node
        if isinstance(node, ast.ExceptHandler | ast.match_case):
            yield from node.body


def _coming(program: Program, lines: frozenset[int]) -> set[ast.stmt]:
    """The statements at these lines, and all from which a value or the control comes to them."""
    waiting = [each for line in lines if (each := _innermost(program, line)) is not None]
    kept: set[ast.stmt] = set()
    known = definers(program)
    functions = {each.name: each for each in program.functions}
    while waiting:
        statement = waiting.pop()
        if statement in kept:
            continue
        kept.add(statement)
        if isinstance(statement, Function | ast.ClassDef):
            waiting += _users(program, statement.name)
        waiting += [each for each in program.around(statement) if isinstance(each, ast.stmt)]
        for node in _header(statement):
            if isinstance(node, ast.Name | ast.Attribute):
                name = node.id if isinstance(node, ast.Name) else node.attr
                waiting += known.get(name, []) + known.get("." + name, [])
                if name in functions:
                    waiting += [each for each in ast.walk(functions[name]) if isinstance(each, ast.Return)]
    return kept


def _users(program: Program, name: str) -> list[ast.stmt]:
    """The statements that name a function or class, or something that is made of it, as a compiled one is."""
    found: dict[ast.stmt, None] = {}
    waiting, names = [name], {name}
    while waiting:
        name = waiting.pop()
        for node in [*program.names.get(name, []), *program.attributes.get(name, [])]:
            statement = program.statement_of(node)
            found[statement] = None
            more = {
                each.id
                for target in (statement.targets if isinstance(statement, ast.Assign) else [])
                for each in ast.walk(target)
                if isinstance(each, ast.Name)
            }
            waiting += sorted(more - names)
            names |= more
    return [*found]


def _header(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without the statements in it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.stmt)]


def _innermost(program: Program, line: int) -> ast.stmt | None:
    found = [each for each in program.statements if each.lineno <= line <= (each.end_lineno or each.lineno)]
    return found[-1] if found else None
