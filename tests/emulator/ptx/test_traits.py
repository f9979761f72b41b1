"""Traits of instructions: rows give them, and the table puts them into what was parsed."""

import pytest

from dsl.emulator.families.table import ROWS, prepare, row_of
from dsl.emulator.ptx import operands, traits
from dsl.emulator.ptx.parse import parse

KERNEL = (
    ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .b64 m;\n.visible .entry k(.param .u64 p) {{ {} ret; }}"
)
DECLARED = ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %g<5>; "


def first(body: str):
    return prepare(parse(KERNEL.format(DECLARED + body))).functions["k"].items[0]


def test_every_trait_is_a_bit_that_some_row_has():
    """A group is a sum of them."""
    values = {name: value for name, value in vars(traits).items() if name.isupper()}
    bits = {name: value for name, value in values.items() if value.bit_count() == 1}
    assert len(bits) == len({*bits.values()}) and sum(bits.values()) == (1 << len(bits)) - 1
    given = {row.traits for rows in ROWS.values() for row in rows}
    assert [name for name, bit in bits.items() if not any(bit & each for each in given)] == []
    assert all(value & ~sum(bits.values()) == 0 for value in values.values())


@pytest.mark.parametrize(
    "name, expected",
    [
        ("atom.add.u32", traits.ATOMIC | traits.IDLE_WITH_ZERO),
        ("atom.global.max.s32", traits.ATOMIC),
        ("atom.cas.b32", traits.ATOMIC | traits.IDLE | traits.POLLS),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32", traits.STORE | traits.REMOTE),
        ("mbarrier.inval.b64", traits.MBARRIER | traits.INIT),
        ("bar.arrive", traits.BARRIER | traits.ALIGNED | traits.NO_RESULT | traits.REPEATS),
    ],
)
def test_the_traits_depend_on_the_modifiers(name, expected):
    opcode, *modifiers = name.split(".")
    assert row_of(opcode, tuple(modifiers)).traits == expected


@pytest.mark.parametrize(
    "body, sets, reads",
    [
        ("barrier.sync %r0, %r1;", [], ["%r0", "%r1"]),
        ("bar.red.popc.u32 %r0, %r1, %p0;", ["%r0"], ["%r1", "%p0"]),
        ("nanosleep.u32 %r0;", [], ["%r0"]),
        ("red.global.add.u32 [%g0], %r1;", [], ["%g0", "%r1"]),
        ("atom.global.add.u32 %r0, [%g0], %r1;", ["%r0"], ["%g0", "%r1"]),
        ("@%p0 st.global.u32 [%g0], %r0;", [], ["%p0", "%g0", "%r0"]),
        ("cp.async.bulk.wait_group 0;", [], []),
        ("mbarrier.arrive.shared.b64 _, [m], %r0;", [], ["%r0"]),
        ("shfl.sync.idx.b32 %r0|%p0, %r1, %r2, 31, -1;", ["%r0", "%p0"], ["%r1", "%r2"]),
    ],
)
def test_registers_that_an_instruction_sets_and_reads(body, sets, reads):
    instr = first(body)
    assert [reg.name for reg in operands.writes(instr)] == sets
    assert [reg.name for reg in operands.reads(instr)] == reads
