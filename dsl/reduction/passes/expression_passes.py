"""Passes over expressions: parts in place of the whole, constants, plain strings; what constants give is computed."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator

from dsl.emulator.ptx.syntax import PtxError
from dsl.reduction.edit import Change, Edit
from dsl.reduction.names import parameters
from dsl.reduction.passes import ptx_passes
from dsl.reduction.program import Program
from dsl.reduction.ptx_program import PtxProgram


def _parts(node: ast.AST) -> list[ast.expr]:
    """The parts that may replace the whole expression."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.BoolOp(values=values):
            return values
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            return [operand]
        case ast.Call(func=func, args=args):
            of = [func.value] if isinstance(func, ast.Attribute) else []
            return [each for each in args if not isinstance(each, ast.Starred)][:4] + of
        case ast.Subscript(value=value, ctx=ast.Load()):
            return [value]
        case ast.Await(value=value) | ast.NamedExpr(value=value):
            return [value]
    return []


def _is_plain(program: Program, node: ast.AST) -> bool:
    """Whether an expression may be replaced."""
    parent = program.parent.get(node)
    if isinstance(parent, ast.FormattedValue | ast.JoinedStr) or (
        isinstance(node, ast.expr) and id(node) in _in_strings(program)
    ):
        return False
    if isinstance(parent, ast.Call | ast.Attribute) and getattr(parent, "func", getattr(parent, "value", None)) is node:
        return isinstance(parent, ast.Attribute)
    return not isinstance(parent, ast.Expr) or isinstance(node, ast.Call)


def _in_strings(program: Program) -> set[int]:
    """The expressions within f-strings, whose places Python does not always give."""
    found = program.kept.get("in strings")
    if found is None:
        found = program.kept["in strings"] = {
            id(inner)
            for node in program.nodes
            if isinstance(node, ast.JoinedStr)
            for inner in ast.walk(node)
            if inner is not node
        }
    return found


def subexpressions(program: Program) -> Iterator[Edit]:
    """A call becomes one of its arguments, a sum one of its terms, and so on; the outer ones first."""
    for node in program.nodes:
        if isinstance(node, ast.expr) and _is_plain(program, node):
            for part in _parts(node):
                about = f"`{_short(program, part)}` in place of `{_short(program, node)}`"
                yield Edit(about, node.lineno, program.instead(node, part))


def _short(program: Program, node: ast.AST) -> str:
    text = " ".join(program.of(node).split())
    return text if len(text) <= 40 else text[:37] + "..."


def _values(program: Program) -> Iterator[ast.expr]:
    """Computed expressions that a constant may replace."""
    for node in program.nodes:
        if isinstance(node, ast.BinOp | ast.Call | ast.Subscript | ast.Compare | ast.BoolOp | ast.IfExp):
            if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                continue
            parent = program.parent.get(node)
            if _is_plain(program, node) and not isinstance(parent, ast.Expr | ast.Attribute | ast.arg | ast.withitem):
                if node not in getattr(parent, "decorator_list", []):
                    yield node


def zeros(program: Program) -> Iterator[Edit]:
    """A computed value becomes 0, a comparison False."""
    for node in _values(program):
        text = "False" if isinstance(node, ast.Compare | ast.BoolOp) else "0"
        yield Edit(f"{text} in place of `{_short(program, node)}`", node.lineno, [program.replacement(node, text)])


def ones(program: Program) -> Iterator[Edit]:
    """A computed value becomes 1, a comparison True."""
    for node in _values(program):
        text = "True" if isinstance(node, ast.Compare | ast.BoolOp) else "1"
        yield Edit(f"{text} in place of `{_short(program, node)}`", node.lineno, [program.replacement(node, text)])


def strings(program: Program) -> Iterator[Edit]:
    """An f-string, or a long string, becomes an empty one."""
    for node in program.nodes:
        if not isinstance(node, ast.JoinedStr | ast.Constant) or id(node) in _in_strings(program):
            continue
        is_text = isinstance(node, ast.JoinedStr) or (isinstance(node.value, str) and len(node.value) > 12)
        if is_text and not isinstance(program.parent.get(node), ast.Expr):
            yield Edit("an empty string", node.lineno, [program.replacement(node, '""')])


PTX_TEXTS = ptx_passes.functions, ptx_passes.notes, ptx_passes.comments, ptx_passes.runs, ptx_passes.unread
PTX_TEXT_LINES = ptx_passes.instructions, ptx_passes.guards, ptx_passes.labels, ptx_passes.registers, ptx_passes.hints


def ptx_texts(program: Program) -> Iterator[Edit]:
    """Large edits of the PTX modules that are strings of the program."""
    return _within_ptx(program, PTX_TEXTS)


def ptx_text_lines(program: Program) -> Iterator[Edit]:
    """Small edits of these."""
    return _within_ptx(program, PTX_TEXT_LINES)


def _within_ptx(program: Program, passes: Iterable[Callable[[PtxProgram], Iterable[Edit]]]) -> Iterator[Edit]:
    for node in program.nodes:
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str) and ".version" in node.value):
            continue
        start, end = program.span(node)
        place = program.text.find(node.value.encode(), start, end)
        if place < 0:
            continue  # written with escapes
        try:
            ptx = PtxProgram(node.value)
        except (PtxError, ValueError):
            continue
        for one in passes:
            for edit in one(ptx):
                changes = [Change(place + each.start, place + each.end, each.text) for each in edit.changes]
                yield Edit(edit.about, node.lineno + edit.line - 1, changes)


def types(program: Program) -> Iterator[Edit]:
    """Delete the types of results, parameters and variables, except for `Constexpr` of a parameter."""
    for function in program.functions:
        if function.returns is not None:
            start, end = program.span(function.returns)
            arrow = program.text.rfind(b"->", program.span(function)[0], start)
            if arrow >= 0 and not program.text[arrow + 2 : start].strip():
                place = arrow - (program.text[arrow - 1 : arrow] == b" ")
                yield Edit("drop the type of a result", function.lineno, [program.cut(place, end)])
        for parameter in parameters(function):
            if parameter.annotation is not None and "Constexpr" not in program.of(parameter.annotation):
                place = program.span(parameter)[0] + len(parameter.arg.encode()), program.span(parameter)[1]
                yield Edit("drop the type of a parameter", parameter.lineno, [program.cut(*place)])
    for node in program.nodes:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            place = program.span(node.target)[1], program.span(node.annotation)[1]
            yield Edit("drop the type of a variable", node.lineno, [program.cut(*place)])


_FOLDED = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip


def folded(program: Program) -> Iterator[Edit]:
    """Expressions of constants become their values."""
    for node in program.nodes:
        if isinstance(node, ast.expr) and id(node) not in _in_strings(program):
            match node:
                case ast.BinOp(left=ast.Constant(left), right=ast.Constant(right), op=op) if (
                    type(left) is type(right) is int
                ):
                    yield from _computed(program, node, op, left, right)
                case ast.Compare(left=ast.Constant(left), comparators=[ast.Constant(right)], ops=[op]):
                    yield from _computed(program, node, op, left, right)
                case ast.IfExp(test=ast.Constant(value)):
                    yield _instead(program, node, node.body if value else node.orelse)
                case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value)):
                    yield Edit("a value", node.lineno, [program.replacement(node, str(not value))])
                case ast.BoolOp(values=[ast.Constant(value), *rest]):
                    is_decided = bool(value) == isinstance(node.op, ast.Or)
                    if is_decided or len(rest) == 1:
                        yield _instead(program, node, node.values[0] if is_decided else rest[0])
                case ast.Subscript(value=ast.Dict(keys=keys, values=values), slice=ast.Constant(key)):
                    for each, value in zip(keys, values):
                        if isinstance(each, ast.Constant) and each.value == key:
                            yield _instead(program, node, value)
                case ast.Subscript(value=ast.Tuple(elts=elts) | ast.List(elts=elts), slice=ast.Constant(int(index))):
                    if index < len(elts) and not any(isinstance(each, ast.Starred) for each in elts):
                        yield _instead(program, node, elts[index])
                case ast.Call(
                    func=ast.Name("const_expr") | ast.Attribute(attr="const_expr"), args=[ast.Constant() as value]
                ):
                    yield _instead(program, node, value)


def _instead(program: Program, node: ast.expr, part: ast.expr) -> Edit:
    about = f"`{_short(program, part)}` in place of `{_short(program, node)}`"
    return Edit(about, node.lineno, program.instead(node, part))


def _computed(program: Program, node: ast.expr, op: ast.AST, left, right) -> Iterator[Edit]:
    try:
        value = _FOLDED[type(op)](left, right)
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return
    text = str(value) if not isinstance(value, int) or value >= 0 else f"({value})"
    yield Edit(f"{text} in place of `{_short(program, node)}`", node.lineno, [program.replacement(node, text)])
