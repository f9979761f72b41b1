"""Print what each dynamic statement carries, while compiling, for those who ask: `set_dynamic_debug(True)`.

A statement is shown once all of it is known, so the statements inside it are shown first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dsl.core.control_flow.branches.merged_value import Leaf, Maybe, Tree
from dsl.core.control_flow.text import trace_output
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.phrase import shown
from dsl.core.state import this_thread
from dsl.span import here

_LINE = "=" * 80
_REGION = "scf.execute_region"  # what a statement's body is traced into


@dataclass
class _Asked:
    """Whether statements are shown, and the deepest level that is: 0 has none around it, None is every one."""

    enabled: bool = False
    max_depth: int | None = None


_asked = _Asked()


def set_dynamic_debug(enabled: bool, max_depth: int | None = None) -> None:
    """Print, or not, what each dynamic statement carries that is traced from now on, down to level `max_depth`."""
    if max_depth is not None and (isinstance(max_depth, bool) or not isinstance(max_depth, int) or max_depth < 0):
        raise DSLUserCodeTypeError(
            f"max_depth of set_dynamic_debug is a level, got {shown(max_depth)}",
            fix="0 shows the outermost statements, None all of them",
        )
    _asked.enabled, _asked.max_depth = bool(enabled), max_depth


def show(word: str, named: Iterable[tuple[str, Any]]) -> None:
    """Print a statement that is traced now: each of `named` (a name and a part, as merge has them) with its types."""
    if not _asked.enabled:
        return
    level = sum(_is_body(block) for block in this_thread.blocks)
    if _asked.max_depth is not None and level > _asked.max_depth:
        return
    place, lines, count = here(), [], 0
    for name, part in named:
        if not name.startswith("__dsl_"):
            inner, leaves = _described(name, part, "  ", set())
            lines, count = lines + inner, count + leaves
    head = [_LINE, f"[Level {level}] '{word}' at {place.file}:{place.line}", f"    {place.source_line().strip()}"]
    trace_output.write("\n".join([*head, *lines, f"  => {count} values are carried", _LINE, ""]))


def _is_body(block: mlir.Block) -> bool:
    owner = block.owner
    return not isinstance(owner, mlir.Block) and owner.operation.name == _REGION


def _described(name: str, part: Any, indent: str, met: set) -> tuple[list[str], int]:
    """The lines of one value, and how many leaves it has; none where nothing of it is carried."""
    if isinstance(part, Maybe):
        part = part.part
    if isinstance(part, Leaf):
        return [f"{indent}{name}: {part.like.ir_type()}"], 1
    if not isinstance(part, Tree) or id(part) in met:
        return [], 0
    met.add(id(part))
    lines, count = [], 0
    for position, inner in enumerate(part.parts):
        below, leaves = _described(part.opened.name(name, position), inner, indent + "  ", met)
        lines, count = lines + below, count + leaves
    return ([f"{indent}{name}: {type(part.like).__name__}", *lines], count) if count else ([], 0)
