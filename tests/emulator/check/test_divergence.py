"""Barriers and collectives that not all threads reach together, in pairs with the same kernel put right.
PTX ISA 9.7.13.1 (barrier), 9.7.13.2 (bar.warp.sync), 9.7.9.6 (shfl.sync)."""

import warnings

import pytest

from dsl.emulator.faults import KernelWarning
from tests.emulator.families.barrier.test_check import outcome

ODD = "and.b32 %r1, %t, 1; setp.eq.u32 %p, %r1, 1; "
HALF = "and.b32 %r1, %t, 31; setp.ge.u32 %p, %r1, 16; "
LATER = "mul.wide.u32 %d, %t, 4; ld.param.u64 %out, [out]; add.u64 %d, %d, %out; st.global.u32 [%d], %t;"
# name: (kernel with {at}, {at} of the wrong one, of the right one, threads)
PAIRS = {
    "a barrier in both arms": (ODD + "@%p bra A; {at} bra E; A: {at}", "bar.sync 0;", "", 64),
    "a named barrier in both arms": (
        HALF + "@%p bra A; {at} bra E; A: {at}",
        "bar.sync 1, 64;",
        "barrier.sync 1, 64;",
        64,
    ),
    "both arms, not aligned": (
        ODD + "@%p bra A; {at} bra E; A: {at}",
        "barrier.sync.aligned 0;",
        "barrier.sync 0;",
        64,
    ),
    "a reduction in both arms": (
        ODD + "@%p bra A; {at}.popc.u32 %r2, 0, %p; bra E; A: {at}.popc.u32 %r2, 0, %p;",
        "bar.red",
        "barrier.red",
        64,
    ),
    "arrivals from both arms": (
        "@!%w0 bra S; " + HALF + "@%p bra A; {at} bra E; A: {at} bra E; S: bar.sync 1, 64;",
        "bar.arrive 1, 64;",
        "barrier.arrive 1, 64;",
        64,
    ),
    "half arrives, half waits": (
        "@!%w0 bra S; "
        + HALF
        + "@%p bra A; bar{at}.arrive 1, 64; bra E; A: bar{at}.sync 1, 64; bra E; S: bar.sync 1, 64;",
        "",
        "rier",
        64,
    ),
    "a barrier that odd threads go past": (ODD + "@{at} bra A; bar.sync 0; A: " + LATER, "%p", "!%wide", 64),
    "a barrier that a warp goes past": ("@{at} bra A; bar.sync 0; A: " + LATER, "%w1", "!%wide", 64),
    "a warp's barrier that half goes past": (
        HALF + "@%p bra A; bar.warp.sync {at}; A: " + LATER,
        "-1",
        "0x0000ffff",
        32,
    ),
    "a shuffle that half goes past": (
        HALF + "@%p bra A; shfl.sync.idx.b32 %r2, %t, 0, 31, {at}; A: " + LATER,
        "-1",
        "0x0000ffff",
        32,
    ),
    "a vote that half goes past": (
        HALF + "@%p bra A; vote.sync.any.pred %q, 1, {at}; A: " + LATER,
        "-1",
        "0x0000ffff",
        32,
    ),
    "a loop that half leaves first": (
        HALF
        + "selp.b32 %r3, 1, 3, %p; mov.u32 %r2, 0; L: {at} add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, %r3; @%q bra L; "
        + LATER,
        "bar.sync 0;",
        "",
        32,
    ),
}
# Correct programs: (kernel, threads)
RIGHT = {
    "an early return": ("setp.ge.u32 %p, %t, 40; @%p ret; bar.sync 0; " + LATER, 64),
    "an early return in a branch": ("setp.ge.u32 %p, %t, 40; @!%p bra A; " + LATER + " ret; A: bar.sync 0; " + LATER, 64),
    "all in one if": ("setp.ge.u32 %p, %t, 40; @%p bra E; bar.sync 0; " + LATER, 64),
    "a return in a loop": (
        "mov.u32 %r2, 0; L: " + LATER + " setp.eq.u32 %p, %t, %r2; @%p ret; bar.warp.sync -1; "
        "add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, 40; @%q bra L;", 32),
    "one mask from two places": (HALF + "@%p bra A; bar.warp.sync -1; bra E; A: bar.warp.sync -1;", 32),
    "a shuffle from two places": (
        HALF + "@%p bra A; shfl.sync.bfly.b32 %r2, %t, 16, 31, -1; bra E; A: shfl.sync.bfly.b32 %r2, %t, 16, 31, -1;", 32),
    "halves with their own masks": (
        HALF + "@%p bra A; bar.warp.sync 0x0000ffff; bra E; A: bar.warp.sync 0xffff0000; E2: " + LATER, 32),
    "warps take other arms": ("@%w0 bra A; bar.sync 0; bra E; A: bar.sync 0;", 64),
    "a role that ends first": ("@%w0 bra A; bar.sync 1, 32; bar.sync 0; " + LATER + " bra E; A: " + LATER, 64),
    "a tile of four lanes": (
        "and.b32 %r1, %t, 28; shl.b32 %r2, 15, %r1; shfl.sync.bfly.b32 %r3, %t, 1, 0x1c1f, %r2; bar.warp.sync %r2;", 32),
    "lanes that come together": (
        HALF + "@%p bra E; activemask.b32 %r2; bar.warp.sync %r2; shfl.sync.idx.b32 %r3, %t, 0, 31, %r2;", 32),
    "a stride loop with a ballot": (
        "mov.u32 %r2, %t; L: setp.lt.u32 %p, %r2, 70; vote.sync.ballot.b32 %r3, %p, -1; @!%p bra S; bar.warp.sync %r3; "
        "S: add.u32 %r2, %r2, 32; setp.lt.u32 %q, %r2, 96; @%q bra L; bar.warp.sync -1; " + LATER, 32),
}  # fmt: skip
REGISTERS = ".reg .b64 %out; .reg .f32 %f<4>; .reg .pred %wide; setp.eq.u32 %wide, 1, 1; "


@pytest.mark.parametrize("name", PAIRS)
def test_threads_that_do_not_come_together_are_found(name):
    kernel, wrong, right, threads = PAIRS[name]
    for seed in (0, 3):
        bad = outcome(REGISTERS + kernel.format(at=wrong), threads, seed)
        assert bad is not None and bad.kind == "divergent_barrier", f"{name}, seed {seed}: {bad}"
        good = outcome(REGISTERS + kernel.format(at=right), threads, seed)
        assert good is None, f"{name}, seed {seed}: {good}"


@pytest.mark.parametrize("name", RIGHT)
def test_correct_programs_are_silent(name):
    body, threads = RIGHT[name]
    for seed in (0, 3):
        found = outcome(REGISTERS + body, threads, seed)
        assert found is None, f"{name}, seed {seed}: {found}"


# Old code in which a warp sums its words: lanes ran in step before sm_70.
OLD_SUM = "mov.u32 %r7, m; mad.lo.u32 %r7, %t, 4, %r7; st.volatile.shared.u32 [%r7], %t; {sync} " + " ".join(
    f"ld.volatile.shared.u32 %r1, [%r7]; ld.volatile.shared.u32 %r2, [%r7+{4 * step}]; {{sync}} add.u32 %r1, %r1, %r2; "
    f"st.volatile.shared.u32 [%r7], %r1; {{sync}}"
    for step in (2, 1)
)
FLAG = (
    "mov.u32 %r7, m; setp.eq.u32 %p, %t, 0; @%p st.volatile.shared.u32 [%r7], 1; "
    "L: ld.volatile.shared.u32 %r1, [%r7]; setp.ne.u32 %q, %r1, 1; @%q bra L;"
)


def test_lanes_that_are_thought_to_run_in_step_are_a_warning():
    with pytest.warns(KernelWarning, match="^WARP_SYNCHRONOUS: .* exchange a value at smem.* by volatile accesses"):
        assert outcome(REGISTERS + OLD_SUM.format(sync=""), 4) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for right in (OLD_SUM.format(sync="bar.warp.sync -1;"), FLAG):
            assert outcome(REGISTERS + right, 4) is None
