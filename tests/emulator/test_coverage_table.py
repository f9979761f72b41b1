"""docs/ptx-coverage.md is what its command writes, and forgets no instruction."""

from dsl.emulator.emit.isa import ROWS
from tests.emulator import coverage_table


def test_the_page_is_current():
    assert coverage_table.PAGE.read_text() == coverage_table.page(), f"write it anew: {coverage_table.COMMAND}"


def test_every_opcode_of_the_emulator_is_one_of_the_isa():
    assert sorted(coverage_table.OPCODES) == sorted(set(coverage_table.OPCODES))
    assert set(ROWS) <= set(coverage_table.OPCODES)
