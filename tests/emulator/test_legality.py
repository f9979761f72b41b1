"""The forms of instructions that the emulator has, against NVIDIA's assembler."""

import re

import pytest

from dsl.emulator.families import table as isa
from dsl.emulator.ir import operand_grammar
from dsl.forms import table
from dsl.forms.form import Form
from tests.emulator import legality

QUIRKS = re.compile(r"testp\.f32")  # ptxas takes it without the property that is tested


@pytest.mark.parametrize("most", [4, pytest.param(250, marks=pytest.mark.slow)])
def test_forms_that_ptxas_refuses_do_not_run(ptxas_path, most):
    found = legality.disagreements(legality.changes(most, table.forms()), ptxas_path)
    assert [row for row in found if row[1] or not QUIRKS.match(row[0])] == []


def test_forms_that_are_known_to_be_refused():
    names = "add.sat.u32 mul.u32 shf.wrap.l.b32 ld.relaxed.global.u32 st.nc.global.b32 cvt.u32.f32 set.lt.s16.f32 "
    names += "cvt.rn.ftz.f16.s32 cvt.rz.ftz.sat.f64.u8"
    assert [name for name in names.split() if legality.Change(*parts(name)).runs] == []


def test_the_order_is_free_where_ptxas_does_not_mind():
    names = "add.f32.ftz.rn fma.rn.sat.ftz.f32 ldmatrix.aligned.sync.m8n8.trans.x4.shared.b16 min.NaN.ftz.f16"
    assert [name for name in names.split() if not legality.Change(*parts(name)).runs] == []


def parts(name):
    opcode, *modifiers = name.split(".")
    row = isa.row_of(opcode, tuple(modifiers))
    words = operand_grammar.read((row.operands or isa.OPERANDS[opcode]) if row else "")[0]
    return opcode, tuple(modifiers), Form(name, f"{name} {', '.join('x' for _ in words)};", (), ())
