"""The order that the instructions of this family make: see check/ordering.py."""

from __future__ import annotations

from dsl.emulator.check.numbers import orders
from dsl.emulator.check.ordering import BY_BULK, Ordering

ORDERINGS = (
    Ordering(
        names="clusterlaunchcontrol.try_cancel.async",
        reads="mbarrier::complete_tx::bytes multicast::cluster::all",
        orders="nothing, until the phase of its mbarrier is waited for, in each block that gets the answer",
        source="9.7.13.17 clusterlaunchcontrol.try_cancel: a weak write of 16 bytes by the async proxy, and their "
        "complete_tx",
        kinds=BY_BULK | orders.BLOCKS,
        proxy="async",
        spaces=frozenset({"shared"}),
    ),
)
