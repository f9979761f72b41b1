"""Barriers in shared memory that count arrivals and bytes.  PTX ISA: mbarrier."""

from __future__ import annotations

from typing import Any

from dsl.core.number.dtypes import Boolean, Int32, Int64, numeric
from dsl.gpu.threads import mbarrier
from dsl.primitives.enums import MBarrierWait, MemOrder, MemScope
from dsl.primitives.operands import between, is_remote, refuse, run, shared, word


def mbarrier_init(addr: Any, count: Any) -> None:
    """Make a barrier whose phases end with `count` arrivals.  PTX ISA: mbarrier.init."""
    between(count, 1, mbarrier.MOST_ARRIVALS, "arrival count of an mbarrier")
    run("mbarrier.init.shared::cta.b64 [$0], $1;", None, shared(addr), Int32(count))


def mbarrier_inval(addr: Any) -> None:
    """Let the barrier's memory be used for something else.  PTX ISA: mbarrier.inval."""
    run("mbarrier.inval.shared::cta.b64 [$0];", None, shared(addr))


def fence_mbarrier_init() -> None:
    """Let other threads, and copies, see barriers that this thread made.  PTX ISA: fence.mbarrier_init."""
    mbarrier.init_fence()


def _order(scope: Any, relaxed: bool | None, default: str = "release") -> str:
    """`.release.cluster`, or nothing if the author gives nothing."""
    if scope is None and not relaxed:
        return ""
    within = "cta" if scope is None else word(scope, MemScope, "scope")
    return f".{'relaxed' if relaxed else default}.{within}"


def _arrive(name: str, addr: Any, amount: Any, scope: Any, relaxed: bool | None) -> Int64 | None:
    at, operand, remote = shared(addr), Int32(amount), is_remote(addr)
    if remote and scope is None and (relaxed or name == "mbarrier.arrive"):
        scope = MemScope.CLUSTER  # as NVIDIA's compiler does
    order = _order(scope, relaxed)
    if remote:
        return run(f"{name}{order}.shared::cluster.b64 _, [$0], $1;", None, at, operand)
    return run(f"{name}{order}.shared::cta.b64 $0, [$1], $2;", Int64, at, operand)


def mbarrier_arrive(addr: Any, *, count: Any = None, scope: Any = None, relaxed: bool | None = None) -> Int64 | None:
    """Arrive `count` times; the phase's state, or None of another block's barrier.  PTX ISA: mbarrier.arrive."""
    times = 1 if count is None else count
    between(times, 1, mbarrier.MOST_ARRIVALS, "arrival count of an mbarrier")
    return _arrive("mbarrier.arrive", addr, times, scope, relaxed)


def mbarrier_arrive_drop(
    addr: Any, *, count: Any = None, scope: Any = None, relaxed: bool | None = None
) -> Int64 | None:
    """Arrive, and take part in no later phase.  PTX ISA: mbarrier.arrive_drop."""
    return _arrive("mbarrier.arrive_drop", addr, 1 if count is None else count, scope, relaxed)


def mbarrier_arrive_expect_tx(
    addr: Any, txcount: Any, *, scope: Any = None, relaxed: bool | None = None
) -> Int64 | None:
    """Arrive once, and let the phase wait for `txcount` more bytes.  PTX ISA: mbarrier.arrive.expect_tx."""
    between(txcount, 0, mbarrier.MOST_BYTES, "byte count expected by an mbarrier")
    return _arrive("mbarrier.arrive.expect_tx", addr, txcount, scope, relaxed)


def mbarrier_arrive_drop_expect_tx(
    addr: Any, txcount: Any, *, scope: Any = None, relaxed: bool | None = None
) -> Int64 | None:
    """`mbarrier_arrive_expect_tx`, and take part in no later phase.  PTX ISA: mbarrier.arrive_drop.expect_tx."""
    return _arrive("mbarrier.arrive_drop.expect_tx", addr, txcount, scope, relaxed)


def mbarrier_arrive_nocomplete(addr: Any, count: Any) -> Int64:
    """Arrive `count` times, which may not end the phase.  PTX ISA: mbarrier.arrive.noComplete."""
    return run("mbarrier.arrive.noComplete.shared::cta.b64 $0, [$1], $2;", Int64, shared(addr), Int32(count))


def mbarrier_arrive_drop_nocomplete(addr: Any, count: Any) -> Int64:
    """`mbarrier_arrive_nocomplete`, and take part in no later phase.  PTX ISA: mbarrier.arrive_drop.noComplete."""
    return run("mbarrier.arrive_drop.noComplete.shared::cta.b64 $0, [$1], $2;", Int64, shared(addr), Int32(count))


def _count_bytes(name: str, addr: Any, txcount: Any, scope: Any) -> None:
    remote = is_remote(addr)
    within = "cluster" if remote else "cta"
    order = f".relaxed.{within if scope is None else word(scope, MemScope, 'scope')}"
    run(f"{name}{order}.shared::{within}.b64 [$0], $1;", None, shared(addr), Int32(txcount))


def mbarrier_expect_tx(addr: Any, txcount: Any, *, scope: Any = None) -> None:
    """Let the phase wait for `txcount` more bytes, without an arrival.  PTX ISA: mbarrier.expect_tx."""
    between(txcount, 0, mbarrier.MOST_BYTES, "byte count expected by an mbarrier")
    _count_bytes("mbarrier.expect_tx", addr, txcount, scope)


def mbarrier_complete_tx(addr: Any, txcount: Any, *, scope: Any = None) -> None:
    """Count `txcount` bytes as there, as a copy does.  PTX ISA: mbarrier.complete_tx."""
    _count_bytes("mbarrier.complete_tx", addr, txcount, scope)


def _waited(scope: Any, order: Any) -> str:
    if scope is None and order is None:
        return ""
    name = "acquire" if order is None else word(order, MemOrder, "order")
    return f".{name}.{'cta' if scope is None else word(scope, MemScope, 'scope')}"


def _asked(how: str, addr: Any, by: Any, scope: Any, order: Any, limit: Any = None) -> Boolean:
    """`how` is test or try; `by` the state of a phase (64 bits), or its parity."""
    number = numeric(by)
    is_state = number is not None and type(number).width == 64
    parity = "" if is_state else ".parity"
    operands = [shared(addr), Int64(by) if is_state else Int32(by), *([] if limit is None else [Int32(limit)])]
    text = f"mbarrier.{how}_wait{parity}{_waited(scope, order)}.shared::cta.b64 %dsl_p, [$1], $2"
    return run(f"{text}{', $3' if limit is not None else ''};", Boolean, *operands)


def mbarrier_try_wait_parity(
    addr: Any, phase: Any, *, time_limit: Any = 10_000_000, scope: Any = None, order: Any = None
) -> Boolean:
    """Whether the phase of parity `phase` has ended; waits up to `time_limit` ns.  PTX ISA: mbarrier.try_wait."""
    return _asked("try", addr, Int32(phase), scope, order, time_limit)


def mbarrier_try_wait_timelimit(
    addr: Any, state: Any, time_limit: Any, *, scope: Any = None, order: Any = None
) -> Boolean:
    """Whether the phase of `state` has ended; waits up to `time_limit` ns.  PTX ISA: mbarrier.try_wait."""
    return _asked("try", addr, Int64(state), scope, order, time_limit)


def mbarrier_try_wait(
    addr: Any, state_or_phase: Any, *, ticks: Any = None, scope: Any = None, relaxed: bool | None = None
) -> Boolean:
    """Whether a phase (its state, Int64, or its parity) has ended; may wait.  PTX ISA: mbarrier.try_wait."""
    return _asked("try", addr, state_or_phase, scope, "relaxed" if relaxed else None, ticks)


def mbarrier_test_wait(addr: Any, state_or_phase: Any, *, scope: Any = None, relaxed: bool | None = None) -> Boolean:
    """Whether a phase (its state, Int64, or its parity) has ended; never waits.  PTX ISA: mbarrier.test_wait."""
    return _asked("test", addr, state_or_phase, scope, "relaxed" if relaxed else None)


def mbarrier_wait(addr: Any, state: Any, kind: Any, *, scope: Any = None, order: Any = None) -> Boolean:
    """Ask (`test`) or wait for (`try`) the phase of `state`."""
    return _asked(word(kind, MBarrierWait, "kind of a wait"), addr, Int64(state), scope, order)


def mbarrier_wait_parity(addr: Any, phase: Any, kind: Any, *, scope: Any = None, order: Any = None) -> Boolean:
    """Ask (`test`) or wait for (`try`) the phase of parity `phase`."""
    return _asked(word(kind, MBarrierWait, "kind of a wait"), addr, Int32(phase), scope, order)


def cp_async_mbarrier_arrive(addr: Any, *, noinc: bool | None = None) -> None:
    """Arrive once this thread's cp.async so far have landed; `noinc`: as one of the arrivals that the barrier counts.

    PTX ISA: cp.async.mbarrier.arrive.
    """
    if is_remote(addr):
        raise refuse("cp_async_mbarrier_arrive at another block's barrier")
    run(f"cp.async.mbarrier.arrive{'.noinc' if noinc else ''}.shared::cta.b64 [$0];", None, shared(addr))
