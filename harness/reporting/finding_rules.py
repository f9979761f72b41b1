"""The kinds of findings that reports list: their ids, their levels, what they mean, and the page that describes them.

The first part of the table agrees with dsl/finding_kinds.py, which the harness does not import (a test compares them).
Standard library only.
"""

from __future__ import annotations

from typing import NamedTuple

ERROR, WARNING, NOTE = "error", "warning", "note"
CHECKERS, CONTROL_FLOW, GOLDENS, WRITING = (
    "docs/checkers.md", "docs/control-flow.md", "docs/goldens-and-records.md", "docs/writing-a-repro.md",
)  # fmt: skip


class Rule(NamedTuple):
    """`page`: a file of the documentation."""

    level: str
    meaning: str
    page: str = CHECKERS


KINDS = {
    "OUT_OF_BOUNDS": Rule(ERROR, "an access outside of every allocation"),
    "MISALIGNED": Rule(ERROR, "an access at an address that its width does not divide"),
    "TRAP": Rule(ERROR, "a `trap` instruction, or an assertion of the kernel that failed"),
    "DEADLOCK": Rule(ERROR, "no thread of a block (or cluster) can continue"),
    "ILLEGAL": Rule(ERROR, "an instruction whose operands or threads the PTX ISA forbids"),
    "DIVERGENT_COLLECTIVE": Rule(
        ERROR, "a collective that provably not all of its threads reach; found while compiling"
    ),
    "RACE": Rule(ERROR, "two accesses of one place, one of them a write, that nothing orders"),
    "IN_FLIGHT": Rule(ERROR, "an instruction uses a register that a `wgmma` still reads or writes"),
    "NO_WGMMA_FENCE": Rule(ERROR, "a `wgmma` uses registers that were written with no `wgmma.fence` since"),
    "UNDEFINED_READ": Rule(ERROR, "a read of memory that nobody wrote, whose value matters"),
    "EXITED_BLOCK": Rule(ERROR, "an access to shared memory of a block that may have ended"),
    "BLOCK_NOT_STARTED": Rule(ERROR, "an access to shared memory of a block that may not have begun"),
    "MBARRIER_NOT_VISIBLE": Rule(ERROR, "a use of an mbarrier that nothing orders after its `mbarrier.init`"),
    "MBARRIER_NOT_INITIALIZED": Rule(
        ERROR, "a use of an mbarrier before its `mbarrier.init` or after its `mbarrier.inval`"
    ),
    "MBARRIER_IN_USE": Rule(
        ERROR, "an `mbarrier.init`, an `mbarrier.inval` or data in memory that an mbarrier still has"
    ),
    "BARRIER_COLLISION": Rule(ERROR, "a named barrier that other warps could have made complete than those that did"),
    "MBARRIER_LAPPED": Rule(
        ERROR, "phases of an mbarrier that nothing orders: one may be missed, or arrivals of two count for one"
    ),
    "MBARRIER_NOT_FENCED": Rule(
        WARNING, "a bulk copy signals an mbarrier, with no fence after its `mbarrier.init`; works on GPUs so far"
    ),
    "CP_ASYNC_NOT_FENCED": Rule(
        WARNING, "a tensor core of Blackwell reads what `cp.async` wrote, with no `fence.proxy.async` between"
    ),
    "DIVERGENT_BARRIER": Rule(ERROR, "a barrier or a collective that not all its threads reach together"),
    "HOST_MEMORY": Rule(ERROR, "a kernel gets pageable memory of the host; `python -m dsl` warns unless `--portable`"),
    "RACE_SAME_VALUE": Rule(WARNING, "two threads write the same value to one place, and nothing orders them"),
    "WARP_SYNCHRONOUS": Rule(
        WARNING, "lanes of a warp exchange values by `volatile` accesses and no barrier of the warp"
    ),
    "BARRIER_NOT_AWAITED": Rule(WARNING, "an arrival at a named barrier for which the kernel has no `bar.sync`"),
    "SETMAXNREG_IGNORED": Rule(
        WARNING, "a `setmaxnreg` in a kernel that does not name its registers at launch: it has no effect"
    ),
    "PortabilityWarning": Rule(WARNING, "the program works here; NVIDIA's compiler rejects it"),
    "BULK_STORE_NOT_AWAITED": Rule(NOTE, "a thread exits without a wait for its bulk store out of shared memory"),
    "REDUNDANT_SYNC": Rule(NOTE, "a barrier, fence or wait that nothing in this run needs; only with `--notes`"),
    "SYNC_NOT_TRIED": Rule(NOTE, "why `--notes` could not try whether a kernel needs all of its synchronisation"),
    "STOPPED": Rule(NOTE, "where the warps of a launch were when Ctrl-C or a time limit stopped it"),
}
OTHERS = {
    "CLAIM_FAILS": Rule(ERROR, "the result is not what the repro claims", WRITING),
    "CONTRADICTED": Rule(ERROR, "the emulator and hardware give different results", GOLDENS),
    "EXCEPTION": Rule(ERROR, "the program raised an exception of Python", WRITING),
    "TIMEOUT": Rule(ERROR, "the program did not end within its time limit", WRITING),
    "CRASH": Rule(ERROR, "a signal killed the program's process", WRITING),
}


def rule(name: str) -> Rule:
    """The rule of an id; an id that is in no table is one of the compiler's for a program that it rejects."""
    return KINDS.get(name) or OTHERS.get(name) or Rule(ERROR, "the compiler rejects the program", CONTROL_FLOW)
