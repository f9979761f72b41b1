"""The block of a repro's file (PEP 723), its `[tool.repro]` table, for `python -m dsl`. `repro run` checks its keys."""

from __future__ import annotations

import re
import tomllib
from typing import Any

_BLOCK = re.compile(r"^# /// script$(.*?)^# ///$", re.MULTILINE | re.DOTALL)
_IN_CUDA = re.compile(
    r"^\s*(?://|/?\*+)?\s*/// script\s*$(.*?)^\s*(?://|\*)?\s*///\s*(?:\*/\s*)?$", re.MULTILINE | re.DOTALL
)
_SOUGHT = {"race": "race", "undefined_read": "undefined"}  # by outcome: the check that finds it


def table(source: str) -> dict[str, Any]:
    """The table; {} in a file without one. Raises tomllib.TOMLDecodeError."""
    block = _BLOCK.search(source)
    if not block:
        return {}
    lines = [line[2:] if line.startswith("# ") else line[1:] for line in block.group(1).splitlines()]
    return tomllib.loads("\n".join(lines)).get("tool", {}).get("repro", {})


def table_of_cuda(source: str) -> dict[str, Any]:
    """The table of a .cu file, whose block is in comments of C. Raises tomllib.TOMLDecodeError."""
    block = _IN_CUDA.search(source)
    lines = [re.sub(r"^\s*(?://|\*(?!/)) ?", "", line) for line in block[1].splitlines()] if block else []
    return tomllib.loads("\n".join(lines)).get("tool", {}).get("repro", {})


def arch(source: str, is_cuda: bool = False) -> str:
    """The architecture that a repro needs, "" if it names none."""
    try:
        return str((table_of_cuda if is_cuda else table)(source).get("arch", ""))
    except tomllib.TOMLDecodeError:  # the run reports it
        return ""


def checks(source: str) -> str:
    """The default of `--check`, as in `repro run`: all.

    In a repro whose outputs vary it looks only for the outcome that the repro claims.
    """
    try:
        block = table(source)
    except tomllib.TOMLDecodeError:  # the run reports it
        return "all"
    rules = block.get("compare")
    varies = block.get("runs", 1) != 1 or block.get("poison") or (isinstance(rules, dict) and "set" in rules.values())
    return _SOUGHT.get(str(block.get("outcome")), "none") if varies else "all"
