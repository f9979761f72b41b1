"""The imports of a captured file, in their order."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable

WIDTH = 120


def grouped(lines: Iterable[str]) -> list[str]:
    """Join import statements of one name each into one for each module, the standard library first."""
    of_module: dict[str, list[str]] = {}
    plain = []
    for line in sorted(lines, key=_order):
        origin, _, names = line.partition(" import ")
        if line.startswith("from "):
            of_module.setdefault(origin, []).append(names)
        else:
            plain.append(line)
    together = [_statement(origin, names) for origin, names in of_module.items()]
    return sorted([*plain, *together], key=_order)


def _order(line: str) -> tuple[int, str]:
    root = line.split()[1].partition(".")[0]
    return (0 if root in sys.stdlib_module_names else 1, line)


def _statement(origin: str, names: list[str]) -> str:
    line = f"{origin} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    rows = textwrap.wrap(", ".join(names), WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return "\n".join([f"{origin} import (", *(f"    {row}" for row in rows), ")"])
