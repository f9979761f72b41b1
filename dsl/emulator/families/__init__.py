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
import os
from types import ModuleType

_HERE = os.path.dirname(__file__)


@functools.cache
def _folders() -> list[str]:
    return sorted(each for each in os.listdir(_HERE) if "." not in each and each != "__pycache__")


@functools.cache
def parts(name: str) -> tuple[ModuleType, ...]:
    """The module of this name of each family that has one."""
    folders = [each for each in _folders() if os.path.exists(f"{_HERE}/{each}/{name}.py")]
    return tuple(importlib.import_module(f"{__name__}.{each}.{name}") for each in folders)


def named(part: str, name: str) -> list:
    """The objects of this name in that module of each family."""
    return [getattr(each, name) for each in parts(part) if hasattr(each, name)]
