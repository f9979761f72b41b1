"""Statements and expressions that no kernel has, with what to write in their place."""

from __future__ import annotations

import ast

from dsl.core.syntax.liveness import Placed

# Syntax that no kernel has: what authors call it, and what to write.
IN_FIELD = "keep it in a field: `x = qd.field(qd.i32, shape=())`, then `x[None]`"
_PLAIN = "leave it out: a kernel is a plain function"
UNSUPPORTED = {
    ast.Try: ("try", "check before the operation: `if x != 0:`"),
    ast.TryStar: ("try", "check before the operation: `if x != 0:`"),
    ast.Raise: ("raise", "write `assert`, which qd.init(debug=True) checks"),
    ast.Import: ("import", "import it at the top of the file"),
    ast.ImportFrom: ("import", "import it at the top of the file"),
    ast.Delete: ("del", "leave it out: a name ends with its block"),
    ast.Global: ("global", IN_FIELD),
    ast.Nonlocal: ("nonlocal", IN_FIELD),
    ast.Match: ("match", "write `if` and `elif`"),
    ast.AsyncWith: ("async with", _PLAIN),
    ast.AsyncFor: ("async for", _PLAIN),
    ast.AsyncFunctionDef: ("async def", _PLAIN),
    ast.ClassDef: ("class", "define it before the kernel"),
    ast.Lambda: ("lambda", "define a @qd.func before the kernel"),
    ast.Set: ("A set", "make a list or a tuple"),
    ast.SetComp: ("A set", "make a list: `[... for ... in ...]`"),
    ast.GeneratorExp: ("A generator", "make a list: `[... for ... in ...]`"),
    ast.Yield: ("yield", "write to an element of a field or array"),
    ast.YieldFrom: ("yield from", "write to the elements of a field or array"),
    ast.Await: ("await", _PLAIN),
}


def header(node: Placed) -> Placed:
    """The place of a statement with a body in an error: its first words."""
    if not isinstance(
        node,
        (
            ast.For,
            ast.While,
            ast.If,
            ast.With,
            ast.Match,
            ast.Try,
            ast.FunctionDef,
            ast.ClassDef,
            ast.AsyncFunctionDef,
            ast.AsyncFor,
            ast.AsyncWith,
        ),
    ):
        return node
    last = getattr(node, "iter", None) or getattr(node, "test", None) or getattr(node, "subject", None)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        last = node.items[-1].optional_vars or node.items[-1].context_expr
    start = ast.copy_location(ast.Pass(), node)
    if last is not None:
        start.end_lineno, start.end_col_offset = last.end_lineno, last.end_col_offset
        return start
    words = {ast.FunctionDef: "def ", ast.ClassDef: "class ", ast.AsyncFunctionDef: "async def "}.get(type(node), "try")
    start.end_lineno = node.lineno
    start.end_col_offset = node.col_offset + len((words + getattr(node, "name", "")).encode())
    return start
