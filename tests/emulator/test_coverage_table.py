"""docs/ptx-coverage.md is what its command writes, and forgets no instruction."""

from dsl.emulator.families.table import ROWS
from tests.emulator import coverage_table


def parts(page: str) -> tuple[list[str], dict[str, set[str]]]:
    """The lines without their last column, and the tests of each instruction."""
    lines, tests = [], {}
    for line in page.splitlines():
        if line.startswith("| `"):
            line, files = line.removesuffix(" |").rsplit(" | ", 1)
            tests[line.split("`")[1]] = set(files.split(", ")) - {"none by name"}
        lines.append(line)
    return lines, tests


def test_the_page_is_current():
    """A new test does not make the page wrong; the tests that it names must exist."""
    told, now = (parts(text) for text in (coverage_table.PAGE.read_text(), coverage_table.page()))
    assert told[0] == now[0], f"write it again: {coverage_table.COMMAND}"
    names = {path.stem for path in (coverage_table.ROOT / "tests/emulator").rglob("test_*.py")}
    assert set().union(*told[1].values()) <= names, f"write it again: {coverage_table.COMMAND}"


def test_every_opcode_of_the_emulator_is_one_of_the_isa():
    assert sorted(coverage_table.OPCODES) == sorted(set(coverage_table.OPCODES))
    assert set(ROWS) <= set(coverage_table.OPCODES)
