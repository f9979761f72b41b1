"""The order that the instructions of this family make: see check/ordering.py."""

from __future__ import annotations

from dsl.emulator.check.numbers import orders, scope
from dsl.emulator.check.ordering import BY_BULK, Ordering

_COPY = (
    "9.7.9.25.4.1 cp.async.bulk, 9.7.9.25.4.2 cp.reduce.async.bulk, 9.7.9.27.1.2 cp.async.bulk.tensor, "
    "9.7.9.27.1.3 cp.reduce.async.bulk.tensor"
)
_WAITS = "9.7.9.27.2.2 cp.async.bulk.wait_group"
_BEGINS = "nothing, until it is waited for: a load by the phase of its mbarrier, a store by its group"

ORDERINGS = (
    Ordering(
        names="cp.async.bulk",
        reads="mbarrier::complete_tx::bytes bulk_group",
        orders=_BEGINS,
        source=f"{_COPY}: accesses by the async proxy, at any time until they are complete",
        differs="kinder: two bulk stores of one place by one block are not compared, since NVIDIA's examples and "
        "Triton store a tile by several warps",
        kinds=BY_BULK,
        proxy="async",
        hides="cp.async.bulk.commit_group cp.async.bulk.wait_group mbarrier.test_wait mbarrier.try_wait "
        "fence.mbarrier_init.release",
    ),
    Ordering(
        names="cp.async.bulk.multicast::cluster cp.async.bulk.shared::cluster.shared::cta",
        reads="mbarrier::complete_tx::bytes",
        orders=f"{_BEGINS}, in each block that gets it",
        source=f"{_COPY}: it signals the mbarrier of each block that it writes to",
        kinds=BY_BULK | orders.BLOCKS,
        proxy="async",
        hides="barrier.cluster.arrive barrier.cluster.arrive.relaxed barrier.cluster.wait cp.async.bulk.commit_group "
        "cp.async.bulk.wait_group mbarrier.test_wait mbarrier.try_wait fence.mbarrier_init.release",
    ),
    Ordering(
        names="cp.async.bulk.commit_group",
        orders="nothing: it closes a group",
        source="9.7.9.27.2.1 cp.async.bulk.commit_group",
        kinds=BY_BULK,
        proxy="async",
    ),
    Ordering(
        names="cp.async.bulk.wait_group",
        orders="the bulk stores of the thread with the thread",
        scope="the thread",
        source=f"{_WAITS}: the groups are complete, their writes too",
        kinds=BY_BULK,
        proxy="async",
    ),
    Ordering(
        names="cp.async.bulk.wait_group.read",
        orders="the reads of shared memory by the bulk stores of the thread with the thread, not their writes",
        scope="the thread",
        source=f"{_WAITS}: with `.read` only their sources have been read",
        kinds=BY_BULK,
        proxy="async",
        spaces=frozenset({"shared"}),
    ),
    Ordering(
        names="cp.async.bulk.prefetch",
        orders="nothing: it fills a cache",
        source="9.7.9.25.4.3 cp.async.bulk.prefetch, 9.7.9.27.1.4 cp.async.bulk.prefetch.tensor",
    ),
    Ordering(
        names="st.async red.async.relaxed",
        reads="mbarrier::complete_tx::bytes",
        orders="nothing, until the phase of its mbarrier is waited for",
        source="9.7.9.12 st.async, 9.7.13.7 red.async: weak or relaxed, and complete once the mbarrier has the bytes",
        kinds=BY_BULK | orders.BLOCKS,
        unsaid=scope.ALL,
        spaces=frozenset({"shared"}),
    ),
)
