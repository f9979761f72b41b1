"""The names of compilers: `ours`, `nvidia` (the package where a repro runs), `nvidia==4.6.3` (a release of it).

In 0.1 our compiler was called `embedded`, as its host is. Records, goldens and results with that name are read as
`ours`, here and nowhere else; their files stay as they are.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from harness.terminal import say

OURS, NVIDIA = "ours", "nvidia"
FORMER = "embedded"
_FORMER = re.compile(rf"{FORMER}(?=,|\Z)")  # also in the name of a bisection's version: `embedded, torch==2.9.0`


def current(name: Any) -> Any:
    """The name of today; what is not a name stays."""
    return _FORMER.sub(OURS, name, count=1) if isinstance(name, str) and name.startswith(FORMER) else name


def facts(compiler: Any) -> Any:
    """The facts of a compiler (name, version, ...) from elsewhere, under its name of today."""
    if not isinstance(compiler, dict) or compiler.get("name") != FORMER:
        return compiler
    return compiler | {"name": OURS}


def in_table(table: dict[str, Any]) -> dict[str, Any]:
    """A line of the record, or the provenance of a golden, with the compiler's name of today; itself if it has it."""
    asked, compiler = table.get("asked"), table.get("compiler")
    now = {"asked": current(asked), "compiler": facts(compiler)}
    if now["asked"] is asked and now["compiler"] is compiler:
        return table
    return {key: now.get(key, value) for key, value in table.items()}


def typed(name: str) -> str:
    """A name from a command line; a note about the former one."""
    if name != FORMER:
        return name
    say(f"note: the compiler `{FORMER}` is now `{OURS}`; the old spelling ends with 0.3", file=sys.stderr)
    return OURS
