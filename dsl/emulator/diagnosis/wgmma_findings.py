"""What checkers found of wgmma, in words: registers and shared memory that it still uses, fences that are missing.

Each gives the message and the fix. `at` is the place of the other access, `here` that of the one that was stopped.
"""

from __future__ import annotations

from dsl.emulator.check.register_flight import NO_FENCE, NO_FENCE_AT_ALL, READS_RESULT, WRITES_OPERAND, WRITES_RESULT
from dsl.emulator.check.wgmma_reads import OF_WGMMA, UNPROXIED

_WAIT = "wgmma.wait_group (`cute.nvgpu.warpgroup.wait_group`)"
_FENCE = "wgmma.fence (`cute.nvgpu.warpgroup.fence`)"
_PROXY = "fence.proxy.async (`cute.arch.fence_proxy`)"


def race(its_kind: int, does: str, who: str, at: str, here: str) -> tuple[str, str]:
    """A race of a wgmma with a write of shared memory; `does` is what the later of both does, and where."""
    if its_kind == OF_WGMMA:
        return f"{does}, which the wgmma at {at} still reads: it was not waited for", (
            f"wait for it before its buffer is released: {_WAIT}, then the arrival at the empty mbarrier (or the "
            f"barrier) that {here} comes after"
        )
    if its_kind & UNPROXIED:
        return f"{does}, which {who} wrote at {at}: no fence.proxy.async between", (
            f"put {_PROXY} after the writes at {at}, before the barrier that {here} comes after"
        )
    if who == "a bulk copy":
        return f"{does}, which the bulk copy at {at} fills: not every warp has waited for it", (
            f"wait in each warp, before {here}, for the phase of the full mbarrier that the copy at {at} signals "
            "(`pipeline.consumer_wait`)"
        )
    return f"{does}, which {who} wrote at {at}: no barrier between", (
        f"put {_PROXY} and then a barrier, or the arrival at the full mbarrier that the warpgroup waits for, between "
        f"{at} and {here}"
    )


def register(what: int, at: str, here: str) -> tuple[str, str]:
    """A register of a wgmma; `what` of check/register_flight.py."""
    return {
        READS_RESULT: (f"reads a register of D, which the wgmma at {at} still writes", f"put {_WAIT} before {here}"),
        WRITES_RESULT: (f"writes a register of D, which the wgmma at {at} still writes", f"put {_WAIT} before {here}"),
        WRITES_OPERAND: (f"writes a register of A, which the wgmma at {at} still reads", f"put {_WAIT} before {here}"),
        NO_FENCE: (
            f"uses a register that was written at {at}: no wgmma.fence between",
            f"put {_FENCE} before {here}, after the last write to its registers",
        ),
        NO_FENCE_AT_ALL: (
            "is the first wgmma, with no wgmma.fence before it",
            f"put {_FENCE} before {here}, after the last write to its registers",
        ),
    }[what]
