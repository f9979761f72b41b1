"""Barriers of a block, a warp and a cluster; fences; what a kernel tells the hardware.  PTX ISA: barrier, fence."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeValueError
from dsl.core.number.dtypes import Boolean, Int32
from dsl.core.number.pointer import AddressSpace
from dsl.core.phrase import shown
from dsl.gpu.inline import intrinsic
from dsl.gpu.threads import launch_control, sync
from dsl.primitives.enums import BarrierRedux, GridDepAction, MemScope, Proxy, SetMaxRegisterAction, SharedSpace
from dsl.primitives.operands import pointer, refuse, run, static, word


def _checked(barrier_id: Any, thread_count: Any = None) -> tuple[Int32, ...]:
    """The operands of a barrier: its id, 0 to 15, and how many threads take part, a multiple of 32."""
    for value, holds, what in (
        (barrier_id, lambda n: 0 <= n <= 15, "barrier id must be 0-15"),
        (thread_count, lambda n: n > 0 and n % 32 == 0, "number of threads at a barrier must be a multiple of 32"),
    ):
        if type(value) is int and not holds(value):
            raise DSLUserCodeValueError(
                f"{what}, got {shown(value)}", fix="barrier 0 of all threads: `barrier_cta_sync(0)`"
            )
    return (Int32(barrier_id),) if thread_count is None else (Int32(barrier_id), Int32(thread_count))


def barrier_cta_sync(barrier_id: Any = 0, *, thread_count: Any = None) -> None:
    """Wait at a barrier for `thread_count` threads, or for all of the block.  PTX ISA: barrier.sync."""
    how = "all" if thread_count is None else "count"
    intrinsic(f"nvvm.barrier.cta.sync.{how}", None, *_checked(barrier_id, thread_count))


def barrier_cta_sync_aligned(barrier_id: Any = 0, *, thread_count: Any = None) -> None:
    """As `barrier_cta_sync`; all threads of a warp come together.  PTX ISA: barrier.sync.aligned."""
    how = "all" if thread_count is None else "count"
    intrinsic(f"nvvm.barrier.cta.sync.aligned.{how}", None, *_checked(barrier_id, thread_count))


def barrier_cta_arrive(barrier_id: Any, thread_count: Any) -> None:
    """Arrive at a barrier without waiting.  PTX ISA: barrier.arrive."""
    intrinsic("nvvm.barrier.cta.arrive.count", None, *_checked(barrier_id, thread_count))


def barrier_cta_arrive_aligned(barrier_id: Any, thread_count: Any) -> None:
    """As `barrier_cta_arrive`; all threads of a warp come together.  PTX ISA: barrier.arrive.aligned."""
    intrinsic("nvvm.barrier.cta.arrive.aligned.count", None, *_checked(barrier_id, thread_count))


def barrier_cta_red(pred: Any, barrier_id: Any, kind: Any, *, thread_count: Any = None) -> Any:
    """Wait at a barrier; whether `pred` holds in all (`and`) or some (`or`) thread, or in how many (`popc`).

    PTX ISA: barrier.red.
    """
    return _reduced("", pred, barrier_id, kind, thread_count)


def barrier_cta_red_aligned(pred: Any, barrier_id: Any, kind: Any, *, thread_count: Any = None) -> Any:
    """As `barrier_cta_red`; all threads of a warp come together.  PTX ISA: barrier.red.aligned."""
    return _reduced(".aligned", pred, barrier_id, kind, thread_count)


def _reduced(aligned: str, pred: Any, barrier_id: Any, kind: Any, thread_count: Any) -> Any:
    name = word(kind, BarrierRedux, "reduction of a barrier")
    operands = (Boolean(pred), *_checked(barrier_id, thread_count))
    numbers = "$2, $3" if thread_count is not None else "$2"
    if name == "popc":
        return run(f"barrier.cta.red.popc{aligned}.u32 $0, {numbers}, $1;", Int32, *operands)
    return run(f"barrier.cta.red.{name}{aligned}.pred %dsl_p, {numbers}, $1;", Boolean, *operands)


def barrier(*, barrier_id: Any = None, number_of_threads: Any = None) -> None:
    """As `barrier_cta_sync_aligned`."""
    barrier_cta_sync_aligned(0 if barrier_id is None else barrier_id, thread_count=number_of_threads)


def bar_warp_sync(mask: Any) -> None:
    """Wait for the lanes of `mask`.  PTX ISA: bar.warp.sync."""
    sync.sync_warp(mask)


# --- of a cluster ---------------------------------------------------------------------------------------------------


def barrier_cluster_arrive() -> None:
    """Arrive at the barrier of the cluster.  PTX ISA: barrier.cluster.arrive."""
    sync.cluster_arrive()


def barrier_cluster_arrive_aligned() -> None:
    """As `barrier_cluster_arrive`; all threads of a warp come together."""
    sync.cluster_arrive(aligned=True)


def barrier_cluster_arrive_relaxed() -> None:
    """As `barrier_cluster_arrive`, and orders no memory."""
    sync.cluster_arrive_relaxed()


def barrier_cluster_arrive_relaxed_aligned() -> None:
    """As `barrier_cluster_arrive_relaxed`; all threads of a warp come together."""
    sync.cluster_arrive_relaxed(aligned=True)


def barrier_cluster_wait() -> None:
    """Wait for all threads of the cluster.  PTX ISA: barrier.cluster.wait."""
    sync.cluster_wait()


def barrier_cluster_wait_aligned() -> None:
    """As `barrier_cluster_wait`; all threads of a warp come together."""
    run("barrier.cluster.wait.aligned;", None)


# --- fences ---------------------------------------------------------------------------------------------------------


def fence_acq_rel(scope: Any) -> None:
    """Order memory accesses as the threads of `scope` see them.  PTX ISA: fence.acq_rel."""
    run(f"fence.acq_rel.{word(scope, MemScope, 'scope')};", None)


def fence_sc_cluster() -> None:
    """Order memory accesses of the cluster sequentially.  PTX ISA: fence.sc."""
    run("fence.sc.cluster;", None)


_MEMBARS = {"cta": "membar.cta", "gpu": "membar.gl", "sys": "membar.sys", "cluster": "fence.sc.cluster"}


def memory_barrier(scope: Any) -> None:
    """Order memory accesses as the threads of `scope` see them.  PTX ISA: membar."""
    run(f"{_MEMBARS[word(scope, MemScope, 'scope')]};", None)


def fence_proxy(kind: Any, *, space: Any = None) -> None:
    """Order accesses of this thread with those through a proxy; `async_shared` has a `space`.  PTX ISA: fence.proxy."""
    name = word(kind, Proxy, "kind of a proxy").replace("_", ".", 1)
    if name in ("tensormap", "generic"):
        raise DSLUserCodeValueError(
            f"fence_proxy has no {name}: it orders both ways",
            fix="fence_proxy_acquire, fence_proxy_release",
            id="FENCE_PROXY",
        )
    of_space = None if space is None else SharedSpace(space).name.removeprefix("shared_")
    sync.fence_proxy(name, space=of_space)


def _between(from_proxy: Any, to_proxy: Any) -> str:
    to = "tensormap" if to_proxy is None else word(to_proxy, Proxy, "to_proxy")
    source = "generic" if from_proxy is None else word(from_proxy, Proxy, "from_proxy")
    if (to, source) != ("tensormap", "generic"):
        raise DSLUserCodeValueError(
            f"a fence between proxies is from generic to tensormap, got {source} to {to}",
            id="FENCE_PROXY",
            fix="leave from_proxy and to_proxy out",
        )
    return "tensormap::generic"


def fence_proxy_acquire(scope: Any, addr: Any, size: Any, *, from_proxy: Any = None, to_proxy: Any = None) -> None:
    """Let copies read the tensor map at `addr`, `size` (128) bytes, as it was released.  PTX ISA: fence.proxy."""
    n_bytes, proxies = static(size, "size"), _between(from_proxy, to_proxy)
    at = pointer(addr).tospace(AddressSpace.generic).toint()
    run(f"fence.proxy.{proxies}.acquire.{word(scope, MemScope, 'scope')} [$0], {n_bytes};", None, at)


def fence_proxy_release(scope: Any, *, from_proxy: Any = None, to_proxy: Any = None) -> None:
    """Let other threads' copies read tensor maps as this thread wrote them.  PTX ISA: fence.proxy."""
    run(f"fence.proxy.{_between(from_proxy, to_proxy)}.release.{word(scope, MemScope, 'scope')};", None)


# --- of the launch --------------------------------------------------------------------------------------------------


def griddepcontrol(kind: Any) -> None:
    """Wait for the kernels this one depends on, or let those that depend on it begin.  PTX ISA: griddepcontrol."""
    if word(kind, GridDepAction, "kind of griddepcontrol") == "wait":
        launch_control.griddepcontrol_wait()
    else:
        launch_control.griddepcontrol_launch_dependents()


def setmaxregister(reg_count: int, action: Any) -> None:
    """Have `reg_count` registers a thread from here on, in all threads of a warpgroup.  PTX ISA: setmaxnreg."""
    if word(action, SetMaxRegisterAction, "action") == "increase":
        launch_control.setmaxregister_increase(reg_count)
    else:
        launch_control.setmaxregister_decrease(reg_count)


def exit() -> None:
    """End this thread.  PTX ISA: exit."""
    raise refuse("prims.exit", ": return from the kernel")


def nanosleep(duration: Any) -> None:
    """Rest for about `duration` nanoseconds.  PTX ISA: nanosleep."""
    run("nanosleep.u32 $0;", None, Int32(duration))


def pmevent(event_id: Any = None, *, mask: Any = None) -> None:
    """Trigger one of 16 events of the performance monitor, or those in `mask`, a bit each.  PTX ISA: pmevent."""
    if (event_id is None) == (mask is None):
        raise DSLUserCodeValueError("pmevent takes event_id or mask", fix="pmevent(event_id=3)")
    if event_id is not None and not 0 <= static(event_id, "event_id") < 16:
        raise DSLUserCodeValueError(f"event_id must be 0 to 15, got {shown(event_id)}", fix="pmevent(event_id=3)")
    bits = 1 << static(event_id, "event_id") if mask is None else static(mask, "mask")
    if not 0 <= bits < 1 << 16:
        raise DSLUserCodeValueError(f"mask must have at most 16 bits, got {shown(mask)}", fix="pmevent(mask=0b1010)")
    run(f"pmevent.mask {bits};", None)


def breakpoint() -> None:
    """Stop here in a debugger.  PTX ISA: brkpt."""
    run("brkpt;", None)
