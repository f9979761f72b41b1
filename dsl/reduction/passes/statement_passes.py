"""Passes over statements: delete them, alone and with what needs them; branches, loops and other blocks opened up."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dsl.reduction.edit import Change, Edit
from dsl.reduction.names import defined, is_needed, needing
from dsl.reduction.program import Program

LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPOUND = (
    *LOOPS,
    ast.If,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.Match,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)


def _title(program: Program, statement: ast.stmt) -> str:
    text = program.of(statement).partition("\n")[0]
    return text if len(text) <= 60 else text[:57] + "..."


def _depth(program: Program, statement: ast.stmt) -> int:
    """How many blocks enclose a statement, without classes."""
    around = [each for each in program.around(statement) if isinstance(each, ast.stmt)]
    return sum(not isinstance(each, ast.ClassDef) for each in around)


def _deletable(program: Program, statement: ast.stmt) -> bool:
    block = program.block_of.get(statement)
    if statement in program.claim:
        return False
    if isinstance(statement, ast.Pass) and (block is None or len(block) == 1):
        return False
    return block is not None or program.has_own_lines(statement)


def _deletions(program: Program, statements: Sequence[ast.stmt]) -> Iterator[Edit]:
    """Of those that nothing which stays needs, the last first: what is defined goes after its uses."""
    for statement in reversed(statements):
        if _deletable(program, statement) and not is_needed(program, statement):
            yield program.delete(f"drop `{_title(program, statement)}`", statement)


def compound_statements(program: Program) -> Iterator[Edit]:
    """Delete whole loops, branches, functions and other blocks, the outer ones first."""
    wanted = [each for each in program.statements if isinstance(each, COMPOUND)]
    wanted.sort(key=lambda each: -_depth(program, each))
    yield from _deletions(program, wanted)


def outer_statements(program: Program) -> Iterator[Edit]:
    """Delete statements of the module and of functions' bodies."""
    yield from _deletions(program, [each for each in program.statements if _depth(program, each) <= 1])


def inner_statements(program: Program) -> Iterator[Edit]:
    """Delete statements within loops, branches and other blocks."""
    yield from _deletions(program, [each for each in program.statements if _depth(program, each) > 1])


def statements_with_uses(program: Program) -> Iterator[Edit]:
    """Delete what defines a name with all statements that need it."""
    found = []
    for statement in program.statements:
        if defined(statement) and is_needed(program, statement) and _deletable(program, statement):
            others = needing(program, statement)
            if all(_deletable(program, each) for each in others):
                about = f"drop `{_title(program, statement)}` and {len(others)} statements that need it"
                found.append(program.delete(about, statement, *others))
    yield from sorted(found, key=lambda edit: -edit.bytes_less)


def halves(program: Program) -> Iterator[Edit]:
    """Delete the first or last half of a block, or all of it."""
    for block in sorted(program.blocks, key=len, reverse=True):
        if len(block) >= 4 and block is not program.tree.body and all(_deletable(program, each) for each in block):
            half = len(block) // 2
            yield program.delete("drop all of a block", *block)
            yield program.delete("drop the last half of a block", *block[half:])
            yield program.delete("drop the first half of a block", *block[:half])


def unreachable(program: Program) -> Iterator[Edit]:
    """Delete statements after `return`, `raise`, `break` and `continue`."""
    for block in program.blocks:
        for place, statement in enumerate(block[:-1]):
            if isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
                rest = block[place + 1 :]
                if all(_deletable(program, each) for each in rest):
                    yield program.delete("drop what is never reached", *rest)
                break


# ** blocks opened up


def body_instead(program: Program, owner: ast.stmt, block: list[ast.stmt]) -> Edit | None:
    """The statement becomes one of its blocks."""
    outside, inside = program.indentation(owner), program.indentation(block[0])
    if outside is None or not program.has_own_lines(owner) or inside is None or not inside.startswith(outside):
        return None
    if not all(program.indentation(each) == inside for each in block):
        return None
    start, end = program.line_start(program.span(owner)[0]), program.line_end(program.span(owner)[1])
    first = program.line_start(program.span(block[0])[0])
    last = program.line_end(program.span(block[-1])[1])
    if not first > start:
        return None
    changes = [Change(*place) for place in ((start, first), (last, end)) if place[0] < place[1]]
    return Edit("", owner.lineno, [*changes, *_dedents(program, first, last, len(outside), len(inside))])


def _dedents(program: Program, first: int, last: int, outside: int, inside: int) -> Iterator[Change]:
    """The changes that move lines between two bytes to the outer block's indentation, except for lines of strings."""
    at = first
    while at < last:
        end = program.line_end(at)
        line = program.text[at:end]
        if at not in program.starts_in_strings and not line[:inside].strip(b" \t") and line.strip():
            yield Change(at + outside, at + inside)
        at = end


def branches(program: Program) -> Iterator[Edit]:
    """An `if` becomes one of its blocks; an `else` goes."""
    for node in program.statements:
        if not isinstance(node, ast.If):
            continue
        is_elif = program.text[program.span(node)[0] :].startswith(b"elif")
        if not is_elif and (edit := body_instead(program, node, node.body)):
            edit.about = "always take the branch"
            yield edit
        if node.orelse and program.of(node.orelse[0]).startswith("elif"):
            start, first = program.span(node)[0], program.span(node.orelse[0])[0]
            following = first + (0 if is_elif else 2)
            yield Edit("drop the first of several branches", node.lineno, [Change(start, following)])
        elif node.orelse:
            if not is_elif and (edit := body_instead(program, node, node.orelse)):
                edit.about = "always take the else"
                yield edit
        if node.orelse:
            last, end = program.line_end(program.span(node.body[-1])[1]), program.line_end(program.span(node)[1])
            if last < end and program.has_own_lines(node.body[-1]):
                yield Edit("drop the else", node.orelse[0].lineno, [Change(last, end)])


def nested_branches(program: Program) -> Iterator[Edit]:
    """`if a:` with nothing but `if b:` in it becomes `if a and b:`."""
    for node in program.statements:
        match node:
            case ast.If(test=test, body=[ast.If(test=inner, orelse=[]) as only], orelse=[]):
                pass
            case _:
                continue
        if program.text.startswith(b"elif", program.span(node)[0]) or not program.has_own_lines(only):
            continue
        start, first = program.span(node)[0], program.line_start(program.span(only)[0])
        outside, inside = program.indentation(node), program.indentation(only.body[0])
        between = program.text[program.span(test)[1] : first].partition(b":")
        if between[2].strip() or outside is None or inside is None or not program.has_own_lines(only.body[0]):
            continue
        body = program.line_start(program.span(only.body[0])[0])
        head = f"if {_term(program, test)} and {_term(program, inner)}:\n".encode()
        indentation = program.indentation(only) or b""
        end = program.line_end(program.span(only)[1])
        dedents = _dedents(program, body, end, len(indentation), len(inside))
        yield Edit("one `if` of two", node.lineno, [Change(start, body, head), *dedents])


def _term(program: Program, test: ast.expr) -> str:
    """A condition as a part of `and`."""
    text = program.of(test)
    plain = "\n" not in text and isinstance(
        test, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Compare | ast.UnaryOp
    )
    return text if plain else f"({text})"


def blocks_opened(program: Program) -> Iterator[Edit]:
    """The body in place of `with`, `try`, `for` and `while`; clauses of `try` and `for` dropped."""
    for node in program.statements:
        if isinstance(node, ast.With | ast.AsyncWith | ast.Try) or (isinstance(node, LOOPS) and not _leaves_loop(node)):
            if edit := body_instead(program, node, node.body):
                edit.about = f"only the body of `{type(node).__name__.lower().removeprefix('async')}`"
                yield edit


def _leaves_loop(loop: ast.stmt) -> bool:
    """Whether the loop contains its own `break` or `continue`."""
    waiting = list(ast.iter_child_nodes(loop))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Break | ast.Continue):
            return True
        if not isinstance(node, (*LOOPS, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)
    return False


def loops(program: Program) -> Iterator[Edit]:
    """A loop's variable becomes a constant, and its body runs once; or its range is one trip."""
    for node in program.statements:
        if not isinstance(node, ast.For):
            continue
        if (
            isinstance(node.target, ast.Name)
            and not _leaves_loop(node)
            and (edit := body_instead(program, node, node.body))
        ):
            header, *rest = edit.changes
            for value in dict.fromkeys((_first_value(program, node.iter), *_later_values(node.iter))):
                line = f"{node.target.id} = {value}\n".encode()
                about = f"run the loop over `{node.target.id}` once, for {value}"
                yield Edit(about, edit.line, (Change(program.span(node)[0], header.end, line), *rest))
        elif not _leaves_loop(node) and (edit := body_instead(program, node, node.body)):
            header, *rest = edit.changes
            line = f"{program.of(node.target)} = next(iter({program.of(node.iter)}))\n".encode()
            about = "run a loop once, for what comes first"
            yield Edit(about, edit.line, (Change(program.span(node)[0], header.end, line), *rest))
        if isinstance(node.iter, ast.Call):
            change = Change(program.span(node.iter.func)[1], program.span(node.iter)[1], b"(1)")
            if program.text[change.start :].startswith(b"(") and program.text[change.start : change.end] != b"(1)":
                yield Edit("one trip of a loop", node.lineno, [change])


MOST_TRIPS = 8


def _later_values(iterated: ast.expr) -> Iterator[str]:
    """The values of a short range of numbers, from the last."""
    match iterated:
        case ast.Call(args=[ast.Constant(value=int() as trips)]) if trips <= MOST_TRIPS:
            yield from map(str, reversed(range(trips)))
        case ast.Call(args=[ast.Constant(value=int() as first), ast.Constant(value=int() as last)]):
            if last - first <= MOST_TRIPS:
                yield from map(str, reversed(range(first, last)))


def _first_value(program: Program, iterated: ast.expr) -> str:
    match iterated:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return f"next(iter({program.of(iterated)}))" if "\n" not in program.of(iterated) else "0"
        case ast.Call(args=[first, _, *_]) if not isinstance(first, ast.Starred):
            return program.of(first) if "\n" not in program.of(first) else "0"
        case ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]) if not isinstance(first, ast.Starred):
            return program.of(first) if "\n" not in program.of(first) else "0"
    return "0"
