"""Barriers in shared memory that count arrivals and bytes, phase by phase.  PTX ISA: mbarrier (try_wait: sm_90).

A wait names the parity of a phase: the phase with parity 0 ends first. A phase has ended when as many threads arrived
as the barrier was made for, and as many bytes came as were expected.
"""

from __future__ import annotations

from typing import Any

from dsl.core.control_flow.branches.branch import if_
from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Int32, static_int
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.core.phrase import Phrase
from dsl.gpu.inline import ptx

_AGAIN_NS = 10_000_000  # how long the hardware may suspend a waiting thread
MOST_ARRIVALS, MOST_BYTES = (1 << 20) - 1, (1 << 20) - 1  # of a phase.  PTX ISA: mbarrier object


def address_of(barrier: Any) -> mlir.Value:
    """The address of an mbarrier. Raises DSLUserCodeTypeError for another value."""
    if not isinstance(barrier, Pointer):
        raise DSLUserCodeTypeError(
            Phrase("an mbarrier is 8 bytes of shared memory, got {barrier}", barrier=type_name(barrier)),
            id="MBARRIER_TYPE",
            fix=Phrase("smem.allocate_array(cutlass.Int64, 1)", "IN_CUTE"),
        )
    if barrier.space != AddressSpace.smem or barrier.dtype.width != 64:
        raise DSLUserCodeTypeError(
            "an mbarrier is 8 bytes of shared memory",
            id="MBARRIER_TYPE",
            fix="an element of a shared array of 64-bit integers",
        )
    return barrier.address


def init(mbar_ptr: Pointer, cnt: Any) -> None:
    """Make a barrier whose phases end with `cnt` arrivals.  PTX ISA: mbarrier.init."""
    _require(cnt, 1, MOST_ARRIVALS, "arrival count of an mbarrier")
    ptx("mbarrier.init.shared.b64 [$0], $1;", None, "r,r", address_of(mbar_ptr), Int32(cnt))


def init_fence() -> None:
    """Let other threads, and copies, see barriers that this thread made.  PTX ISA: fence.mbarrier_init."""
    ptx("fence.mbarrier_init.release.cluster;", None, "")


def arrive(
    mbar_ptr: Pointer, peer_cta_rank_in_cluster=None, arrive_count=1, *, relaxed: bool = False, scope=None
) -> None:
    """Arrive `arrive_count` times, at the barrier of another block of the cluster where its rank is given.

    PTX ISA: mbarrier.arrive.
    """
    _no_scope(scope)
    _require(arrive_count, 1, MOST_ARRIVALS, "arrive_count")
    if peer_cta_rank_in_cluster is not None:
        order = ".relaxed.cluster" if relaxed else ""
        text = f"mbarrier.arrive{order}.shared::cluster.b64 _, [%dsl_peer], $2;"
        return _at_peer(text, mbar_ptr, peer_cta_rank_in_cluster, arrive_count)
    order = ".relaxed.cta" if relaxed else ""
    ptx(
        _with_state(f"mbarrier.arrive{order}.shared.b64 %dsl_state, [$0], $1;"),
        None,
        "r,r",
        address_of(mbar_ptr),
        Int32(arrive_count),
    )


def arrive_expect_tx(
    mbar_ptr: Pointer, bytes: Any, peer_cta_rank_in_cluster=None, relaxed: bool = False, scope=None
) -> None:
    """Arrive once, and let the phase wait for `bytes` more.  PTX ISA: mbarrier.arrive.expect_tx."""
    _no_scope(scope)
    _require(bytes, 0, MOST_BYTES, "byte count expected by an mbarrier")
    if peer_cta_rank_in_cluster is not None:
        text = "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%dsl_peer], $2;"
        return _at_peer(text, mbar_ptr, peer_cta_rank_in_cluster, bytes)
    order = ".relaxed.cta" if relaxed else ""
    ptx(
        _with_state(f"mbarrier.arrive.expect_tx{order}.shared.b64 %dsl_state, [$0], $1;"),
        None,
        "r,r",
        address_of(mbar_ptr),
        Int32(bytes),
    )


def expect_tx(mbar_ptr: Pointer, bytes: Any, peer_cta_rank_in_cluster=None, *, scope=None) -> None:
    """Let the phase wait for `bytes` more, without an arrival.  PTX ISA: mbarrier.expect_tx."""
    _no_scope(scope)
    _require(bytes, 0, MOST_BYTES, "byte count expected by an mbarrier")
    if peer_cta_rank_in_cluster is not None:
        text = "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%dsl_peer], $2;"
        return _at_peer(text, mbar_ptr, peer_cta_rank_in_cluster, bytes)
    ptx("mbarrier.expect_tx.relaxed.cta.shared.b64 [$0], $1;", None, "r,r", address_of(mbar_ptr), Int32(bytes))


def wait(mbar_ptr: Pointer, phase: Any) -> None:
    """Wait until the phase of parity `phase` (0 or 1) has ended.  PTX ISA: mbarrier.try_wait.parity, in a loop."""
    ptx(
        f"{{ .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity.shared.b64 P1, [$0], $1, {_AGAIN_NS}; "
        "@P1 bra.uni DONE; bra.uni LAB_WAIT; DONE: }",
        None,
        "r,r",
        address_of(mbar_ptr),
        Int32(phase),
    )


def try_wait(barrier: Pointer, parity: Any) -> Boolean:
    """Whether the phase of `parity` (0 or 1) has ended; waits for a while.  PTX ISA: mbarrier.try_wait.parity."""
    return _asked(f"mbarrier.try_wait.parity.shared.b64 %dsl_p, [$1], $2, {_AGAIN_NS};", barrier, parity)


def poll(mbar_ptr: Pointer, phase: Any) -> Boolean:
    """As `try_wait`, for as long as the hardware chooses, acquiring.  PTX ISA: mbarrier.try_wait.parity."""
    return _asked("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %dsl_p, [$1], $2;", mbar_ptr, phase)


def test_wait(mbar_ptr: Pointer, phase: Any) -> Boolean:
    """Whether the phase of parity `phase` has ended; never waits.  PTX ISA: mbarrier.test_wait.parity."""
    return _asked("mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %dsl_p, [$1], $2;", mbar_ptr, phase)


def conditional_try_wait(cond: Any, mbar_ptr: Pointer, phase: Any) -> Boolean:
    """`poll` where `cond` holds, True without asking elsewhere."""
    return if_(
        Boolean(cond),
        lambda _: (poll(mbar_ptr, phase),),
        lambda _: (Boolean(True),),
        (Boolean(True),),
        (("the answer", *_NOWHERE),),
    )[0]


def cp_async_arrive_noinc(mbar_ptr: Pointer) -> None:
    """Arrive once this thread's cp.async so far have landed.  PTX ISA: cp.async.mbarrier.arrive.noinc."""
    ptx("cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", None, "r", address_of(mbar_ptr))


_NOWHERE = ("", 0, 0, 0, 0)


def _with_state(text: str) -> str:
    return f"{{ .reg .b64 %dsl_state; {text} }}"


def _at_peer(text: str, barrier: Pointer, rank: Any, amount: Any) -> None:
    """`text` at the barrier's place in block `rank` of the cluster.  PTX ISA: mapa."""
    ptx(
        f"{{ .reg .b32 %dsl_peer; mapa.shared::cluster.u32 %dsl_peer, $0, $1; {text} }}",
        None,
        "r,r,r",
        address_of(barrier),
        Int32(rank),
        Int32(amount),
    )


def _asked(text: str, barrier: Pointer, parity: Any) -> Boolean:
    return Boolean(
        ptx(
            f"{{ .reg .pred %dsl_p; {text} selp.b32 $0, 1, 0, %dsl_p; }}",
            Int32,
            "=r,r,r",
            address_of(barrier),
            Int32(parity),
        )
    )


def _require(amount: Any, least: int, most: int, what: str) -> None:
    static = static_int(amount)
    if static is not None and not least <= static <= most:
        raise DSLUserCodeValueError(
            f"{what} must be {least}-{most}, got {static}", id="MBARRIER_COUNT", fix=f"give {least} to {most}"
        )


def _no_scope(scope: Any) -> None:
    if scope is not None:
        raise DSLUserCodeValueError(
            "the scope of an mbarrier's operation is not chosen here yet",
            id="UNSUPPORTED_NAME",
            fix="leave `scope` out",
        )
