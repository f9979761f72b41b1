"""Branches, loops, addresses and counts of barriers that open values reach, by line; and those that none reaches."""

import numpy as np
import pytest

from dsl.launch.devices.emulated import Emulated
from dsl.launch.devices.protocol import Launch
from tests.emulator.conftest import HEADER

BEFORE = f"""{HEADER}
.file 1 "kernel.py"
.visible .entry k(.param .u64 a, .param .u64 b) {{
  .shared .align 8 .b8 cells[512]; .shared .align 8 .b64 bar0;
  .reg .b64 %a, %b, %s, %o; .reg .f32 %x, %y, %z; .reg .pred %p, %q; .reg .b32 %i, %j, %n;
  ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; mov.u32 %n, 0; ld.global.f32 %x, [%a];
"""
EX2 = "ex2.approx.f32 %y, %x;\n"  # line 1; it gives 2
BIG = "setp.gt.f32 %p, %y, 0f40A00000;\n"
STORE = "st.global.f32 [%b], %x;\n"
OPEN = "atom.global.add.f32 %y, [%a], 0f3F800000;\n"

REACHED = {
    "a branch": (EX2 + BIG + "@%p bra E;\n" + STORE, [("branch", 3)]),
    "a guard": (EX2 + BIG + "@%p st.global.f32 [%b], %x;", [("branch", 3)]),
    "an exit": (EX2 + BIG + "@%p exit;\n" + STORE, [("branch", 3)]),
    "the number of rounds": (
        EX2 + "L: add.u32 %n, %n, 1;\ncvt.rn.f32.u32 %z, %n;\nsetp.lt.f32 %q, %z, %y;\n@%q bra L;\n" + STORE, [("loop", 5)]),
    "a way out of a loop": (
        EX2 + "L: add.u32 %n, %n, 1;\ncvt.rn.f32.u32 %z, %n;\nsetp.ge.f32 %q, %z, %y;\n@%q bra E;\nbra L;\n", [("loop", 5)]),
    "a branch in a loop": (
        EX2 + BIG + "L: @%p bra D;\n" + STORE + "D: add.u32 %n, %n, 1;\nsetp.lt.u32 %q, %n, 3;\n@%q bra L;", [("branch", 3)]),
    "an address": (
        EX2 + "cvt.rzi.u32.f32 %i, %y;\nmul.wide.u32 %o, %i, 4; add.s64 %b, %b, %o;\n" + STORE, [("address", 4)]),
    "an address in shared memory": (
        EX2 + "cvt.rzi.u32.f32 %i, %y; mad.lo.u32 %i, %i, 4, cells;\nst.shared.f32 [%i], %x;", [("address", 3)]),
    "an element that was selected": (
        EX2 + BIG + "selp.u32 %i, 4, 0, %p; cvt.u64.u32 %o, %i; add.s64 %b, %b, %o;\n" + STORE, [("address", 4)]),
    "the number of a barrier": (EX2 + "cvt.rzi.u32.f32 %i, %y;\nbar.sync %i, 32;", [("count", 3)]),
    "the count of a barrier": (EX2 + "cvt.rzi.u32.f32 %i, %y; mul.lo.u32 %i, %i, 16;\nbar.sync 1, %i;", [("count", 3)]),
    "the count of an mbarrier": (
        EX2 + "cvt.rzi.u32.f32 %i, %y;\nmbarrier.init.shared.b64 [bar0], %i;", [("count", 3)]),
    "through shared memory": (
        EX2 + "st.shared.f32 [cells], %y;\nld.shared.f32 %y, [cells];\n" + BIG + "@%p bra E;\n" + STORE, [("branch", 5)]),
    "an open value": (OPEN + BIG + "@%p bra E;\n" + STORE, [("branch", 3)]),
    "two lines": (EX2 + BIG + "@%p bra E;\n@%p bra E;\n", [("branch", 3), ("branch", 4)]),
}  # fmt: skip
NOT_REACHED = {
    "exact values": "setp.gt.f32 %p, %x, 0f40A00000;\n@%p bra E;\n" + STORE,
    "an approximation that is only stored": EX2 + "st.global.f32 [%b], %y;",
    "a select": EX2 + BIG + "selp.f32 %z, %x, 0f00000000, %p;\nst.global.f32 [%b], %z;",
    "a branch by another value": EX2 + "setp.gt.f32 %p, %x, 0f40A00000;\n@%p bra E;\nst.global.f32 [%b], %y;",
    "a loop by a count": EX2 + "L: add.f32 %y, %y, %y;\nadd.u32 %n, %n, 1;\nsetp.lt.u32 %q, %n, 3;\n@%q bra L;\n"
        "st.global.f32 [%b], %y;",
    "an address by a count, after a branch that is reached": "setp.gt.f32 %p, %x, 0f40A00000;\n@%p bra E;\n" + EX2
        + "mul.wide.u32 %o, %n, 4; add.s64 %b, %b, %o;\nst.global.f32 [%b], %y;",
    "a ticket": "atom.global.add.u32 %i, [%b+4], 1;\nsetp.eq.u32 %p, %i, 9;\n@%p bra E;\nmul.wide.u32 %o, %i, 4;\n"
        "add.s64 %b, %b, %o;\n" + STORE,
    "a clock": "mov.u32 %i, %clock;\nsetp.eq.u32 %p, %i, 9;\n@%p bra E;\n" + STORE,
    "a shuffle of lanes that take part": "shfl.sync.idx.b32 %i|%q, %n, 0, 31, 1;\nsetp.eq.u32 %p, %i, 9;\n@%p bra E;",
    "another array": EX2 + "st.global.f32 [%b], %y;\nld.global.f32 %z, [%a];\nsetp.gt.f32 %p, %z, 0f40A00000;\n@%p bra E;",
}  # fmt: skip


def decisions(*bodies: str) -> list[dict]:
    """The decisions by open values of launches of these kernels, one after another on the same arrays."""
    device, a, b = Emulated(), np.ones(64, np.float32), np.zeros(64, np.float32)
    device.look_for("none")
    device.follow_open_results()
    for array, name in ((a, "a"), (b, "b")):
        device.register(array.ctypes.data, array.nbytes, name)
    params = [each.ctypes.data.to_bytes(8, "little") for each in (a, b)]
    for body in bodies:
        lines = "".join(f".loc 1 {number} 1\n{line}\n" for number, line in enumerate(body.splitlines(), 1))
        device.launch(device.load(f"{BEFORE}{lines}E: ret;\n}}\n"), "k", Launch((1, 1, 1), (1, 1, 1)), params)
    return device.open_decisions()


@pytest.mark.parametrize("name", REACHED)
def test_uses_of_an_open_value(name):
    body, places = REACHED[name]
    found = decisions(body)
    assert [(each["what"], each["line"]) for each in found] == places
    assert all(each["file"] == "kernel.py" for each in found)
    assert {one["line"] for each in found for one in each["through"]} == {1}


@pytest.mark.parametrize("name", NOT_REACHED)
def test_no_use_of_an_open_value(name):
    assert decisions(NOT_REACHED[name]) == []


def test_the_source_has_its_bound():
    (found,) = decisions(REACHED["a branch"][0])
    (source,) = found["through"]
    assert (source["instruction"], source["bound"], source["relative"]) == ("ex2.approx.f32", "2 ulp", 2.0**-22)
    (found,) = decisions(REACHED["an open value"][0])
    assert found["through"][0]["bound"] == "the order of the additions is open"


def test_through_memory_from_one_launch_to_the_next():
    later = "ld.global.f32 %z, [%b];\nsetp.gt.f32 %p, %z, 0f40A00000;\n@%p bra E;"
    assert decisions(later) == []
    (found,) = decisions(EX2 + "st.global.f32 [%b], %y;", later)
    assert (found["what"], found["line"]) == ("branch", 3)
    assert [(one["instruction"], one["line"]) for one in found["through"]] == [("ex2.approx.f32", 1)]
    exact = "ld.global.f32 %z, [%a];\nsetp.gt.f32 %p, %z, 0f40A00000;\n@%p bra E;"
    assert decisions(EX2 + "st.global.f32 [%b], %y;", exact) == []


def test_nothing_is_followed_unless_it_is_asked_for():
    assert Emulated().open_decisions() == []
