"""Every row of the instruction table has a form, or a reason why it has none."""

import pytest

from dsl.emulator.families import table as isa
from dsl.forms import coverage
from dsl.forms.form import Form


@pytest.mark.slow
def test_every_row_has_a_form_or_a_reason():
    rows = coverage.every_form_by_row()
    without = {opcode for opcode, of_opcode in isa.ROWS.items() for row in of_opcode if id(row) not in rows}
    assert without == set(coverage.WITHOUT)


def test_a_form_is_of_the_rows_of_its_opcode():
    text = "add.s32 %t, %t, 1;\nadd.rn.f32 %d0, %t, %t;\nsub.s32 %t, %t, 1;"
    rows = coverage.forms_by_row([Form("add.rn.f32", text, (), ())])
    sections = [row.section for row in isa.ROWS["add"] if id(row) in rows]
    assert sections == ["9.7.1.1", "9.7.3.3"] and len(rows) == 2
