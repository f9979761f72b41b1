"""Launches that may overlap: what the launch before touched, until griddepcontrol.wait. PTX ISA 9.7.13.13."""

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.check.shadow import Footprint

HEAD = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry NAME(.param .u64 x, .param .u64 y)
{
  .reg .b32 %t, %v; .reg .b64 %x, %y, %o; .reg .b16 %h; .reg .pred %lead;
  mov.u32 %t, %tid.x; setp.eq.u32 %lead, %t, 0; ld.param.u64 %x, [x]; ld.param.u64 %y, [y];
  mul.wide.u32 %o, %t, 4; add.u64 %x, %x, %o; add.u64 %y, %y, %o; mov.u32 %v, 5;
"""
WAIT, SYNC = "griddepcontrol.wait;\n", "bar.sync 0;\n"
LOAD, STORE, LOAD_HALF = "ld.global.u32 %v, [%x];\n", "st.global.u32 [%x], %v;\n", "ld.global.u16 %h, [%x];\n"
LOAD_OTHER, STORE_OTHER = LOAD.replace("%x", "%y"), STORE.replace("%x", "%y")
# name: what the first launch does, and the second one without the order that it lacks and with it; the second one's fault
PAIRS = {
    "a read of what it wrote": (STORE, LOAD, WAIT + LOAD, "reads `x[0]`, which the launch before (`first`) wrote"),
    "a write of what it read": (LOAD, STORE, WAIT + STORE, "writes `x[0]`, which the launch before (`first`) read"),
    "a write of what it wrote": (STORE, STORE, WAIT + STORE, "writes `x[0]`, which the launch before (`first`) wrote"),
    "a write of the same value by the same line": (STORE, STORE, WAIT + STORE, "writes `x[0]`"),
    "the wait comes after the read": (STORE, LOAD + WAIT, WAIT + LOAD, "reads `x[0]`"),
    "one thread waits": (STORE, f"@%lead {WAIT}{LOAD}", f"@%lead {WAIT}{SYNC}{LOAD}", "reads `x[1]`"),
    "narrower accesses": (STORE, LOAD_HALF, WAIT + LOAD_HALF, "which the launch before (`first`) wrote"),
    "other memory": (STORE, STORE_OTHER + LOAD, STORE_OTHER + LOAD_OTHER, "reads `x[0]`"),
    "what both read": (LOAD, STORE, LOAD, "writes `x[0]`"),
}  # fmt: skip


def pair_of(first: str, second: str, checks=("race",)) -> emulator.Fault | None:
    """Two launches of two blocks that may overlap."""
    x, y, left = np.zeros(32, np.uint32), np.zeros(32, np.uint32), []
    memory = emulator.Memory()
    for name, array in {"x": x, "y": y}.items():
        memory.register(array.ctypes.data, array.nbytes, name)
    params = [array.ctypes.data.to_bytes(8, "little") for array in (x, y)]

    def launch(name: str, body: str, blocks: int, earlier: Footprint | None) -> None:
        program = emulator.load(f"{HEAD.replace('NAME', name)}{body}ret;\n}}\n")
        shape = (blocks, 1, 1), (32, 1, 1)
        emulator.launch(program, name, *shape, params, memory, checks=checks, earlier=earlier, leaves=left.append)

    try:
        launch("first", body=first, blocks=1, earlier=None)
        launch("second", body=second, blocks=1, earlier=left[0] if left else None)
    except emulator.Fault as fault:
        return fault
    return None


@pytest.mark.parametrize("name", PAIRS)
def test_the_wrong_one_of_a_pair_is_found(name):
    first, wrong, _, text = PAIRS[name]
    fault = pair_of(first, wrong)
    assert fault is not None and fault.kind == "race" and text in str(fault), str(fault)


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_silent(name):
    first, _, right, _ = PAIRS[name]
    assert pair_of(first, right) is None


def test_launches_that_are_not_checked_for_races_leave_nothing():
    assert pair_of(STORE, LOAD, ("undefined",)) is None


def test_the_text_of_a_race():
    assert str(pair_of(STORE, LOAD)) == (
        "RACE\n"
        "    reads `x[0]`, which the launch before (`first`) wrote: it may still run\n"
        "    in `second`, 4 bytes of `x[0]`\n"
        "    reads    thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): PTX line 9: ld.global.u32 %v, [%x];\n"
        "fix: put griddepcontrol.wait (`cute.arch.griddepcontrol_wait()`) before this instruction, or launch this kernel "
        "without use_pdl"
    )


def test_a_footprint_has_each_byte():
    """Of 6 words: the first one read, the second one written, the third one both; bytes of the fifth."""
    left, x = [], np.zeros(6, np.uint32)
    memory = emulator.Memory()
    memory.register(x.ctypes.data, x.nbytes, "x")
    body = "ld.global.u32 %v, [%x]; st.global.u32 [%x+4], %v; ld.global.u32 %v, [%x+8]; st.global.u32 [%x+8], %v;"
    body += "mov.u16 %h, 1; st.global.u8 [%x+17], %h;"
    program = emulator.load(f"{HEAD.replace('NAME', 'k')}{body} ret;\n}}\n")
    params = [x.ctypes.data.to_bytes(8, "little")] * 2
    emulator.launch(program, "k", (1, 1, 1), (1, 1, 1), params, memory, checks=("race",), leaves=left.append)
    (footprint,) = left
    (touched,) = footprint.touched.values()
    assert touched.tolist() == [1] * 4 + [2] * 8 + [0] * 4 + [0, 2, 0, 0] + [0] * 4
