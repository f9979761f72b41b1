"""The order that the instructions of this family make: see check/ordering.py."""

from __future__ import annotations

from dsl.emulator.check.ordering import BY_BULK, Ordering
from dsl.emulator.machine import context

_SHARED = frozenset({"shared"})

ORDERINGS = (
    Ordering(
        names="tcgen05.mma tcgen05.cp tcgen05.shift",
        orders="nothing, until a later `tcgen05.commit` of its thread is waited for: it reads shared memory by the "
        "async proxy, and tensor memory. A thread's operations are done in the order in which it issues them",
        source="9.7.16.10.9.1 tcgen05.mma, 9.7.16.10.9.2 tcgen05.mma.sp, 9.7.16.10.9.3 tcgen05.mma.ws, 9.7.16.10.9.4 "
        "tcgen05.mma.ws.sp, 9.7.16.9.2 tcgen05.cp, 9.7.16.9.3 tcgen05.shift: they are asynchronous; two operations of "
        "one thread are pipelined if the table of 9.7.16.6 has the pair",
        differs="kinder: mma, cp, shift of one thread are in order whatever the pair, as NVIDIA's block-scaled kernels "
        "and Triton's rely on it. Writes of a pair's other block to its own shared or tensor memory need no "
        "scope `.cluster` where their arrival names none, as NVIDIA's pipelines have it: the tensor core there uses "
        "them",
        kinds=BY_BULK,
        proxy="async",
        spaces=_SHARED,
    ),
    Ordering(
        names="tcgen05.commit",
        orders="all `tcgen05.mma`, `tcgen05.cp` and `tcgen05.shift` that its thread has issued, before the arrival at "
        "its mbarrier",
        scope="the cluster",
        source="9.7.16.12.1 tcgen05.commit: the mbarrier tracks the operations of the executing thread before it, and "
        "gets one arrival",
        reads="mbarrier::arrive::one multicast::cluster",
        kinds=BY_BULK,
        proxy="async",
        spaces=_SHARED,
    ),
    Ordering(
        names="tcgen05.ld tcgen05.st",
        orders="nothing, until `tcgen05.wait::ld` or `tcgen05.wait::st`; a load also is complete where one of its "
        "registers is read",
        source="9.7.16.8.2 tcgen05.ld, 9.7.16.8.3 tcgen05.st: they are asynchronous",
        kinds=BY_BULK,
    ),
    Ordering(
        names="tcgen05.wait::ld tcgen05.wait::st",
        orders="the loads, or stores, of tensor memory of the thread before it with what comes after",
        source="9.7.16.8.5 tcgen05.wait",
        kinds=BY_BULK,
    ),
    Ordering(
        names="tcgen05.fence::before_thread_sync",
        orders="nothing that the synchronisation after it does not",
        source="9.7.16.11 tcgen05.fence: it orders asynchronous tcgen05 operations with what follows",
        differs="kinder: most kernels of NVIDIA have none where the wait acquires",
        kinds=BY_BULK,
    ),
    Ordering(
        names="tcgen05.fence::after_thread_sync",
        orders="what the thread has waited for at mbarriers, with `.relaxed` too, with its tcgen05 operations after it",
        source="9.7.16.11 tcgen05.fence",
        differs="kinder: it is needed where the wait is `.relaxed` alone",
        kinds=BY_BULK,
        event=context.ORDER_TENSOR_FENCE,
    ),
    Ordering(
        names="tcgen05.alloc tcgen05.dealloc tcgen05.relinquish_alloc_permit",
        orders="nothing: the address that alloc writes is a generic store of shared memory",
        source="9.7.16.7.1 tcgen05.alloc, dealloc, relinquish_alloc_permit",
        kinds=BY_BULK,
    ),
)
