"""The author's names for the results of a dynamic statement, kept on its op as text for docs/readable-cuda.md.

Names of flags that early exits became (core.exits) begin with `__dsl_`. Nothing of this reaches PTX.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dsl.core import trace
from dsl.core.control_flow.branches.merged_value import Leaf, Maybe, Tree
from dsl.core.ir import mlir

ATTRIBUTE = "dsl.names"


def attribute(parts: Iterable[tuple[str, Any]], count: int) -> dict:
    """The attribute of an op with `count` results, the leaves of `parts` (a name and a part, as merge has them)."""
    if not count or not trace.in_kernel():
        return {}
    names, met = [""] * count, set()
    waiting = list(parts)
    while waiting:
        name, part = waiting.pop()
        if isinstance(part, Maybe):
            part = part.part
        if isinstance(part, Leaf):
            names[part.index] = name
        elif isinstance(part, Tree) and id(part) not in met:
            met.add(id(part))
            waiting += [(part.opened.name(name, position), inner) for position, inner in enumerate(part.parts)]
    return of_values(names)


def of_values(names: Iterable[str]) -> dict:
    """The attribute of an op whose results have `names`."""
    return {ATTRIBUTE: mlir.string_attr(",".join(name.replace(",", "_") for name in names))}


def kept(attributes: dict, places: Sequence[int]) -> dict:
    """`attributes` of an op of which only the results at `places` are left."""
    if ATTRIBUTE not in attributes:
        return attributes
    names = attributes[ATTRIBUTE].value.split(",")
    return {**attributes, **of_values(names[place] for place in places)}
