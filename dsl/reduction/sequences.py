"""Lists with commas between their items: arguments, parameters, elements."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from dsl.reduction.edit import Change
from dsl.reduction.program import Program

_BETWEEN = re.compile(rb"\s*,(?:\s|#[^\n]*\n|/\s*,|\*\s*,)*\Z")
_AFTER = re.compile(rb"\s*,[ \t]*")


def last_items(call: ast.Call) -> list[ast.expr | ast.keyword]:
    """The arguments of a call, in order of their places."""
    return sorted([*call.args, *call.keywords], key=lambda each: (each.lineno, each.col_offset))


def item_change(program: Program, spans: Sequence[tuple[int, int]], index: int) -> Change | None:
    """Delete an item and the comma after it. The changes of several items do not overlap.
    None if there is more than a comma between two items."""
    start, end = spans[index]
    if index + 1 < len(spans):
        following = spans[index + 1][0]
        between = program.text[end:following]
        if not _BETWEEN.match(between):
            return None
        if b"*" in between or b"/" in between:
            following = end + between.index(b",") + 1
            while program.text[following : following + 1] == b" ":
                following += 1
        return Change(start, following)
    after = _AFTER.match(program.text, end)
    return Change(start, after.end() if after else end)
