"""Families of instructions: a folder holds all about one kind. Layers ask here for what all families have.

rows.py         the forms of its instructions, and how many operands they have
emit.py         their code
numbers.py      what its C++ and Python share; its .cc and .h files
functions.py    the C++ functions that generated code calls
check.py        what checkers keep of it, and the events they get
orderings.py    the order that its instructions make
kept.py         what native code keeps of a block in its slot
words.py        its faults and findings in words
analysis.py     what is known of its results before it runs
leeway.py       its results that the ISA leaves open
traced.py       its accesses in threads that run alone, for the memory model
"""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from types import ModuleType


@functools.cache
def _modules() -> dict[str, list[str]]:
    """The families that have a module, by its name. One listing of the folders serves all parts."""
    found: dict[str, list[str]] = {}
    for file in sorted(Path(__file__).parent.glob("*/*.py")):
        found.setdefault(file.stem, []).append(file.parent.name)
    return found


@functools.cache
def parts(name: str) -> tuple[ModuleType, ...]:
    """The module of this name of each family that has one."""
    return tuple(importlib.import_module(f"{__name__}.{family}.{name}") for family in _modules().get(name, ()))


def named(part: str, name: str) -> list:
    """The objects of this name in that module of each family."""
    return [getattr(each, name) for each in parts(part) if hasattr(each, name)]
