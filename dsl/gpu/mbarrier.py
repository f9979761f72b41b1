"""Barriers in shared memory that count arrivals and bytes, phase by phase.  PTX ISA: mbarrier (try_wait: sm_90)."""

from __future__ import annotations

from dsl.core import mlir
from dsl.core.dtypes import Boolean, Int32
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.pointer import AddressSpace, Pointer
from dsl.gpu.inline import ptx

_AGAIN_NS = 10_000_000           # how long the hardware may suspend a waiting thread


def _address(barrier: Pointer) -> mlir.Value:
    if not isinstance(barrier, Pointer) or barrier.space != AddressSpace.smem or barrier.dtype.width != 64:
        raise DSLUserCodeTypeError("an mbarrier is 8 bytes of shared memory", id="MBARRIER_TYPE",
                                   fix='an element of a shared array of 64-bit integers')
    return barrier.address


def init(barrier: Pointer, count: object) -> None:
    """Make `barrier` one whose phases end with `count` arrivals.  PTX ISA: mbarrier.init."""
    ptx("mbarrier.init.shared.b64 [$0], $1;", None, "r,r", _address(barrier), Int32(count))


def arrive(barrier: Pointer) -> None:
    """Arrive once.  PTX ISA: mbarrier.arrive."""
    ptx("{ .reg .b64 %dsl_state; mbarrier.arrive.shared.b64 %dsl_state, [$0]; }", None, "r", _address(barrier))


def arrive_expect_tx(barrier: Pointer, n_bytes: object) -> None:
    """Arrive once, and let the phase wait for `n_bytes` more.  PTX ISA: mbarrier.arrive.expect_tx."""
    ptx("{ .reg .b64 %dsl_state; mbarrier.arrive.expect_tx.shared.b64 %dsl_state, [$0], $1; }", None, "r,r",
        _address(barrier),
        Int32(n_bytes))


def try_wait(barrier: Pointer, parity: object) -> Boolean:
    """Whether the phase of `parity` (0 or 1) has ended; waits for a while.  PTX ISA: mbarrier.try_wait.parity."""
    text = ("{ .reg .pred %dsl_p; mbarrier.try_wait.parity.shared.b64 %dsl_p, [$1], $2, " f"{_AGAIN_NS}; "
            "selp.b32 $0, 1, 0, %dsl_p; }")
    return Boolean(ptx(text, Int32, "=r,r,r", _address(barrier), Int32(parity)))
