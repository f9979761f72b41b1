"""Every kind of finding about a running program: level, outcome and meaning. docs/checkers.md shows this table.

A report begins with the name of its kind. An error ends the launch and fails a claim; a warning or a note does neither.
"""

from __future__ import annotations

from typing import NamedTuple

ERROR, WARNING, NOTE = "error", "warning", "note"


class Kind(NamedTuple):
    """`outcome`: what a claim calls it; "" for what fails no claim."""

    level: str
    outcome: str
    meaning: str


KINDS = {
    "OUT_OF_BOUNDS": Kind(ERROR, "out_of_bounds", "an access outside of every allocation"),
    "MISALIGNED": Kind(ERROR, "misaligned", "an access at an address that its width does not divide"),
    "TRAP": Kind(ERROR, "trap", "a `trap` instruction, or an assertion of the kernel that failed"),
    "DEADLOCK": Kind(ERROR, "deadlock", "no thread of a block (or cluster) can continue"),
    "ILLEGAL": Kind(ERROR, "illegal", "an instruction whose operands or threads the PTX ISA forbids"),
    "DIVERGENT_COLLECTIVE": Kind(
        ERROR, "rejected", "a collective that provably not all of its threads reach; found while compiling"
    ),
    "RACE": Kind(ERROR, "race", "two accesses of one place, one of them a write, that nothing orders"),
    "IN_FLIGHT": Kind(ERROR, "race", "an instruction uses a register that a `wgmma` still reads or writes"),
    "NO_WGMMA_FENCE": Kind(ERROR, "race", "a `wgmma` uses registers that were written with no `wgmma.fence` since"),
    "UNDEFINED_READ": Kind(ERROR, "undefined_read", "a read of memory that nobody wrote, whose value matters"),
    "EXITED_BLOCK": Kind(ERROR, "exited_block", "an access to shared memory of a block that may have ended"),
    "BLOCK_NOT_STARTED": Kind(
        ERROR, "block_not_started", "an access to shared memory of a block that may not have begun"
    ),
    "MBARRIER_NOT_VISIBLE": Kind(
        ERROR, "mbarrier_not_visible", "a use of an mbarrier that nothing orders after its `mbarrier.init`"
    ),
    "MBARRIER_NOT_INITIALIZED": Kind(
        ERROR,
        "mbarrier_not_initialized",
        "a use of an mbarrier before its `mbarrier.init` or after its `mbarrier.inval`",
    ),
    "MBARRIER_IN_USE": Kind(
        ERROR, "mbarrier_in_use", "an `mbarrier.init`, an `mbarrier.inval` or data in memory that an mbarrier still has"
    ),
    "BARRIER_COLLISION": Kind(
        ERROR, "barrier_collision", "a named barrier that other warps could have made complete than those that did"
    ),
    "MBARRIER_LAPPED": Kind(
        ERROR,
        "mbarrier_lapped",
        "phases of an mbarrier that nothing orders: one may be missed, or arrivals of two count for one",
    ),
    "MBARRIER_NOT_FENCED": Kind(
        WARNING, "", "a bulk copy signals an mbarrier, with no fence after its `mbarrier.init`; works on GPUs so far"
    ),
    "CP_ASYNC_NOT_FENCED": Kind(
        WARNING, "", "a tensor core of Blackwell reads what `cp.async` wrote, with no `fence.proxy.async` between"
    ),
    "DIVERGENT_BARRIER": Kind(
        ERROR, "divergent_barrier", "a barrier or a collective that not all its threads reach together"
    ),
    "HOST_MEMORY": Kind(
        ERROR, "out_of_bounds", "a kernel gets pageable memory of the host; `python -m dsl` warns unless `--portable`"
    ),
    "RACE_SAME_VALUE": Kind(WARNING, "", "two threads write the same value to one place, and nothing orders them"),
    "WARP_SYNCHRONOUS": Kind(
        WARNING, "", "lanes of a warp exchange values by `volatile` accesses and no barrier of the warp"
    ),
    "BARRIER_NOT_AWAITED": Kind(WARNING, "", "an arrival at a named barrier for which the kernel has no `bar.sync`"),
    "SETMAXNREG_IGNORED": Kind(
        WARNING, "", "a `setmaxnreg` in a kernel that does not name its registers at launch: it has no effect"
    ),
    "PortabilityWarning": Kind(WARNING, "", "the program works here; NVIDIA's compiler rejects it"),
    "BULK_STORE_NOT_AWAITED": Kind(NOTE, "", "a thread exits without a wait for its bulk store out of shared memory"),
    "REDUNDANT_SYNC": Kind(NOTE, "", "a barrier, fence or wait that nothing in this run needs; only with `--notes`"),
    "SYNC_NOT_TRIED": Kind(NOTE, "", "why `--notes` could not try whether a kernel needs all of its synchronisation"),
    "STOPPED": Kind(NOTE, "", "where the warps of a launch were when Ctrl-C or a time limit stopped it"),
}
