"""Which lines of a program ran (standard library only: it runs with the repro)."""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import copy
import functools
import operator
import sys
from collections.abc import Iterator
from typing import Any

NOTES = "__note_line__"  # a name of `builtins`
_FLAGS = (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
_FUTURE = functools.reduce(operator.or_, _FLAGS)
_BLOCKS = ("body", "orelse", "finalbody")


@contextlib.contextmanager
def record(path: str) -> Iterator[set[int]]:
    """Note the first line (1-based) of each statement of the file that runs; the set grows meanwhile.

    `compile` puts a note before each statement of that file. A tracing function (`sys.settrace`) would slow down all
    that is not of the file as well: an attention kernel would take a minute to compile in place of two seconds.
    A kernel's lines run where a compiler of Python traces them, if it compiles what it made of the author's function.
    """
    lines: set[int] = set()
    plain = builtins.compile

    def compile_with_notes(
        source: Any,
        filename: Any,
        mode: str,
        flags: int = 0,
        dont_inherit: bool = False,
        optimize: int = -1,
        **more: Any,
    ) -> Any:
        if not dont_inherit:
            flags |= sys._getframe(1).f_code.co_flags & _FUTURE
        if filename == path and mode == "exec" and not flags & ast.PyCF_ONLY_AST:
            is_tree = isinstance(source, ast.AST)
            tree = copy.deepcopy(source) if is_tree else plain(source, path, mode, flags | ast.PyCF_ONLY_AST, True)
            source = _with_notes(tree)
        return plain(source, filename, mode, flags, True, optimize, **more)

    setattr(builtins, NOTES, lines.add)
    builtins.compile = compile_with_notes
    try:
        yield lines
    finally:
        builtins.compile = plain


def _with_notes(tree: ast.AST) -> ast.AST:
    for node in list(ast.walk(tree)):
        for name in _BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                setattr(node, name, [each for statement in block for each in (*_note(statement), statement)])
    return tree


def _note(statement: ast.stmt) -> list[ast.stmt]:
    """Nothing before what must be the first in its block."""
    match statement:
        case ast.Expr(value=ast.Constant()) | ast.ImportFrom(module="__future__"):
            return []
    call = ast.Call(ast.Name(NOTES, ast.Load()), [ast.Constant(statement.lineno)], [])
    note = ast.copy_location(ast.Expr(call), statement)
    return [ast.fix_missing_locations(note)]
