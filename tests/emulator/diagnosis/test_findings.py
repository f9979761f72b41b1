"""Whole reports of races and undefined reads, and the warning of a write of one value."""

import numpy as np
import pytest

from dsl.emulator.faults import Fault, SameValueRace
from harness.run import reply
from tests.emulator.diagnosis.one_line_kernel import KERNEL

OTHERS = "kernel.py:3, PTX line 9: st.shared.b32 [s], %t;"


def test_a_race_names_both_accesses(machine):
    with pytest.raises(Fault) as caught:
        machine.run(
            KERNEL.replace("BODY", "st.shared.b32 [s], %t;"), block=32, checks=("race",), out=np.zeros(4, np.int32)
        )
    assert str(caught.value) == (
        "kernel.py:3:7: RACE\n    writes smem+0x0, which another thread wrote at this line: no barrier between\n"
        "    in `k`, 4 bytes of smem+0x0\n"
        f"    writes   thread (1, 0, 0) = warp 0, lane 1 of block (0, 0, 0): {OTHERS}\n"
        f"    wrote    thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): {OTHERS}\n"
        "fix: let one thread write it, or use an atomic"
    )
    told = reply.read(reply.Finding, caught.value.finding)
    assert (told.id, told.file, told.line, told.column, told.kernel) == ("RACE", "kernel.py", 3, 7, "k")
    assert told.message == "writes smem+0x0, which another thread wrote at this line: no barrier between"
    assert (told.fix, told.block, told.thread) == ("let one thread write it, or use an atomic", [0, 0, 0], [1, 0, 0])
    assert [(one.does, one.code, one.line) for one in told.related] == [
        ("writes", "st.shared.b32 [s], %t;", 3),
        ("wrote", "st.shared.b32 [s], %t;", 3),
    ]
    assert told.related[1].text == "wrote: thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): st.shared.b32 [s], %t;"


def test_an_undefined_read_names_where_the_value_was_used(machine):
    body = "ld.shared.b32 %t, [s]; st.global.b32 [%a], %t;"
    with pytest.raises(Fault) as caught:
        machine.run(KERNEL.replace("BODY", body), checks=("undefined",), out=np.zeros(4, np.int32))
    assert str(caught.value) == (
        "kernel.py:3:7: UNDEFINED_READ\n"
        "    reads smem+0x0, which nobody wrote; the value is stored for others to read here\n"
        "    in `k`, thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0)\n"
        "    read at PTX line 9: ld.shared.b32 %t, [s];\n    used at PTX line 9: st.global.b32 [%a], %t;\n"
        "fix: write it first: every thread that shares it must have written its part before"
    )


def test_writes_of_one_value_are_a_warning(machine):
    body = KERNEL.replace("BODY", "st.shared.b32 [s], 7;")
    with pytest.warns(SameValueRace) as caught:
        machine.run(body, block=2, checks=("race",), out=np.zeros(4, np.int32))
    assert [(each.filename, each.lineno) for each in caught] == [("kernel.py", 3)]
    assert "thread (0, 0, 0)" in str(caught[0].message) and "thread (1, 0, 0)" in str(caught[0].message)
