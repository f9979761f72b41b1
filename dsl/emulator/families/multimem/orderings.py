"""The order that the instructions of this family make: see check/ordering.py."""

from __future__ import annotations

from dsl.emulator.check.numbers import orders, scope
from dsl.emulator.check.ordering import BY_MEMORY, Ordering

_SCOPE = "`.cta` the block, `.cluster` the cluster, else all"
_SECTION = "9.7.9.14 multimem"

ORDERINGS = (
    Ordering(
        names="multimem.ld_reduce multimem.st", reads="weak", orders="nothing: such accesses are weak", source=_SECTION
    ),
    Ordering(
        names="multimem.ld_reduce.relaxed multimem.st.relaxed multimem.red multimem.red.relaxed",
        orders="as `ld.relaxed`, `st.relaxed` and `red.relaxed` of the memory",
        scope=_SCOPE,
        source=_SECTION,
        unsaid=scope.ALL,
    ),
    Ordering(
        names="multimem.ld_reduce.acquire multimem.st.release multimem.red.release",
        orders="as `ld.acquire`, `st.release` and `red.release` of the memory",
        scope=_SCOPE,
        source=_SECTION,
        unsaid=scope.ALL,
        kinds=BY_MEMORY,
        abroad=orders.BLOCKS,
    ),
)
