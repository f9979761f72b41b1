"""Control flow at trace time: what the rewritten `if`, `for`, `while` and names of an author call.

`unbound` has names that some path has not assigned, `branch` the statements with arms, `loop` those with trips, `heap`
and `join` what both do to the author's objects.
"""

from __future__ import annotations

from dsl.core.control_flow.branches.branch import condition, guard, if_, returned, surely, unless
from dsl.core.control_flow.loops.loop import UNUSED, Range, Trips, counted, for_, unrolled, unrolled_while, while_
from dsl.core.unbound import Name, Unbound, Unread, bound, use

__all__ = [
    "UNUSED",
    "Name",
    "Range",
    "Trips",
    "Unbound",
    "Unread",
    "bound",
    "condition",
    "counted",
    "for_",
    "guard",
    "if_",
    "returned",
    "surely",
    "unless",
    "unrolled",
    "unrolled_while",
    "use",
    "while_",
]
