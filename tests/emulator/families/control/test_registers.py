"""setmaxnreg, in pairs: who executes it, in which order, and whether the block has the registers. PTX ISA 9.7.19.5."""

import warnings

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families.control import registers
from dsl.emulator.ptx.parse import parse
from dsl.emulator.ptx.syntax import PtxError

DEC, INC = "setmaxnreg.dec.sync.aligned.u32", "setmaxnreg.inc.sync.aligned.u32"
ROLES = "shr.u32 %r, %t, 7; setp.eq.u32 %p, %r, 0; @%p bra A; {}; bra B; A: {}; B: bar.sync 0;"
ONE_WARP = "shr.u32 %r, %t, 5; setp.eq.u32 %p, %r, 0; "
# the wrong and the right one, its threads, the words of the finding
PAIRS = {
    "one warp of four": (
        f"{ONE_WARP} @%p {DEC} 40; bar.sync 0;", f"{DEC} 40; bar.sync 0;", 128,
        "is not executed by warp 1 of the warpgroup"),
    "one warp with another count": (
        f"{ONE_WARP} @%p {DEC} 40; @!%p {DEC} 48; bar.sync 0;", f"{DEC} 40; bar.sync 0;", 128,
        "is not the setmaxnreg that warp 0 of its warpgroup executes"),
    "twice without a barrier": (
        f"{DEC} 40; {INC} 48;", f"{DEC} 40; bar.sync 0; {INC} 48;", 128,
        "changes the registers again, and has not met warp 1 of its warpgroup since"),
    "twice with a barrier of other warps": (
        f"{DEC} 40; @%p bar.sync 1, 64; bar.warp.sync -1; {INC} 48;", f"{DEC} 40; bar.sync 1, 128; {INC} 48;", 128,
        "changes the registers again"),
    "more is given back than a warp has": (
        f"{DEC} 176;", f"{DEC} 168;", 128, "its warp has 168 registers a thread"),
    "less is asked for than a warp has": (
        ROLES.format(f"{INC} 168", f"{INC} 160"), ROLES.format(f"{INC} 168", f"{DEC} 160"), 256, "can only raise that"),
    "more than the block has": (
        ROLES.format(f"{INC} 240", f"{DEC} 40"), ROLES.format(f"{INC} 232", f"{DEC} 40"), 384,
        "with what the other warps keep it takes 66560, and the block has 64512"),
    "nobody gives back": (
        f"{INC} 176;", f"{INC} 168;", 384, "waits for registers for ever"),
    "they are given back after a barrier that waits for them": (
        ROLES.format(f"{INC} 232; bar.sync 1, 384", f"bar.sync 1, 384; {DEC} 40"),
        ROLES.format(f"{INC} 232; bar.sync 1, 384", f"{DEC} 40; bar.sync 1, 384"), 384,
        "let other warpgroups give back more (setmaxnreg.dec), before anything that waits for this one"),
}  # fmt: skip


def text(body: str, limits: str) -> str:
    return f""".version 8.1
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x) {limits}
{{
  .reg .b32 %t, %r; .reg .pred %p;
  mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 64;
  {body}
  ret;
}}
"""


def outcome(machine, body: str, threads: int, limits: str = ".maxnreg 168") -> str:
    try:
        machine.run(text(body, limits), block=threads, checks=("race",), x=np.zeros(1, np.int32))
    except emulator.Fault as fault:
        assert fault.kind == "illegal"
        return str(fault)
    return ""


@pytest.mark.parametrize("name", PAIRS)
def test_the_wrong_one_is_found_and_the_right_one_is_silent(machine, name):
    wrong, right, threads, words = PAIRS[name]
    assert words in outcome(machine, wrong, threads)
    assert not outcome(machine, right, threads)


@pytest.mark.parametrize("count", [16, 25, 264])
def test_counts_that_ptxas_refuses(machine, count):
    with pytest.raises(PtxError, match="its count must be a multiple of 8 from 24 to 256"):
        outcome(machine, f"{DEC} {count};", 128)


# as `ptxas -v` 13.0 has it with setmaxnreg.inc 256; it reports that it ignores setmaxnreg where this is 0
AT_ENTRY = {
    "": 0, ".maxntid 384": 0, ".reqntid 384": 0, ".minnctapersm 1": 0, ".maxnreg 168": 168, ".maxnreg 100": 104,
    ".maxntid 384 .minnctapersm 1": 168, ".reqntid 384 .minnctapersm 1": 168, ".reqntid 384 .minnctapersm 2": 80,
    ".reqntid 512 .minnctapersm 1": 128, ".reqntid 288 .minnctapersm 1": 168, ".reqntid 416 .minnctapersm 1": 128,
    ".reqntid 160 .minnctapersm 3": 128, ".reqntid 100 .minnctapersm 5": 96, ".reqntid 1024 .minnctapersm 1": 64,
    ".reqntid 640 .minnctapersm 1": 96, ".maxnreg 104 .reqntid 384 .minnctapersm 1": 104,
}  # fmt: skip


@pytest.mark.parametrize("limits", AT_ENTRY)
def test_registers_at_entry(limits):
    assert registers.limit_of(parse(text("", limits)).functions["k"]) == AT_ENTRY[limits]


@pytest.mark.parametrize("count, entry", [(240, 240), (232, 232), (64, 64), (256, 256)])
def test_no_more_at_entry_than_a_setmaxnreg_names(count, entry):
    module = parse(text(ROLES.format(f"{INC} {count}", f"{DEC} 24"), ".reqntid 256 .minnctapersm 1"))
    assert registers.at_entry(module, module.functions["k"]) == entry


def test_one_that_keeps_the_count_needs_no_barrier(machine):
    assert not outcome(machine, f"{DEC} 40; {DEC} 40; bar.sync 0; {INC} 168;", 128)


def test_a_kernel_that_does_not_name_its_registers(machine):
    with pytest.warns(
        emulator.KernelWarning, match="SETMAXNREG_IGNORED: .* executes a setmaxnreg, which has no effect"
    ):
        assert not outcome(machine, f"{INC} 232;", 384, ".reqntid 384")
    with warnings.catch_warnings(action="error"):
        assert not outcome(machine, f"{INC} 168;", 384, ".reqntid 384 .minnctapersm 1")
