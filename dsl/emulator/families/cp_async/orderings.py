"""The order that the instructions of this family make: see check/ordering.py."""

from __future__ import annotations

from dsl.emulator.check.ordering import THREADS, Ordering

_WAITS = "9.7.9.25.3.3 cp.async.wait_group, cp.async.wait_all: its thread sees the copies of the groups, no other does"

ORDERINGS = (
    Ordering(
        names="cp.async",
        orders="nothing, until its thread waits for it",
        source="9.7.9.25.3.1 cp.async: there is no order between it and other accesses but by a wait",
        differs="kinder: data that it wrote need no `fence.proxy.async` before `wgmma` and bulk copies read them; the "
        "ISA asks for one. Before `tcgen05.mma` and `tcgen05.cp` there is a warning, `CP_ASYNC_NOT_FENCED`. Copies of "
        "the same bytes to one place by one instruction are a warning, `RACE_SAME_VALUE`, as NVIDIA's blockwise "
        "products make them",
        hides="fence.proxy.async fence.proxy.async::global fence.proxy.async.global fence.proxy.async::shared::cta "
        "fence.proxy.async.shared::cta fence.proxy.async.shared::cluster",
    ),
    Ordering(
        names="cp.async.commit_group", orders="nothing: it closes a group", source="9.7.9.25.3.2 cp.async.commit_group"
    ),
    Ordering(
        names="cp.async.wait_group cp.async.wait_all",
        orders="the thread's own copies with the thread: a barrier must follow for others",
        scope="the thread",
        source=_WAITS,
    ),
    Ordering(
        names="cp.async.mbarrier.arrive",
        orders="the thread and its own copies before it, with who saw the end of the phase; the thread itself has to "
        "wait for that too",
        reads="noinc",
        scope="the block",
        source="9.7.13.15.15 cp.async.mbarrier.arrive: the system arrives once the copies before it are complete",
        kinds=THREADS,
    ),
)
