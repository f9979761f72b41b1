"""The order that the instructions of this family make: see check/ordering.py."""

from __future__ import annotations

from dsl.emulator.check.numbers import orders
from dsl.emulator.check.ordering import THREADS, Ordering

_KINDS = THREADS | orders.MATRICES

ORDERINGS = (
    Ordering(
        names="wgmma.mma_async",
        orders="nothing, until its group is waited for: it reads shared memory by the async proxy, and its registers "
        "are its own",
        source="9.7.15.5.2 wgmma.mma_async: there is no order between it and other accesses but by fences and waits",
        kinds=_KINDS,
        proxy="async",
        spaces=frozenset({"shared"}),
    ),
    Ordering(
        names="wgmma.fence",
        orders="writes of registers by the warpgroup before it, with `wgmma.mma_async` after it",
        scope="the warpgroup",
        source="9.7.15.7.1 wgmma.fence: accesses of registers; memory needs `fence.proxy.async`",
        differs="kinder: reads of a register before a `wgmma` that overwrites it need no fence. A constant that is "
        "moved to an accumulator needs none either, as compilers put it where they like",
        kinds=_KINDS,
        hides="wgmma.fence",
    ),
    Ordering(
        names="wgmma.commit_group",
        orders="nothing: it closes a group",
        source="9.7.15.7.2 wgmma.commit_group",
        kinds=_KINDS,
    ),
    Ordering(
        names="wgmma.wait_group",
        orders="the `wgmma` of the groups, their reads and their registers, with the thread, and by any thread of the "
        "warpgroup with who learns from it",
        scope="the warpgroup",
        source="9.7.15.7.3 wgmma.wait_group: the groups but the last N are complete",
        kinds=_KINDS,
        proxy="async",
        spaces=frozenset({"shared"}),
    ),
)
