"""The instruction table: the rows of all families, by opcode."""

from __future__ import annotations

import functools

from dsl.emulator import families
from dsl.emulator.families.control import pointers, recursion, stack
from dsl.emulator.ir.needs import NOTHING, Need
from dsl.emulator.ir.rows import Row
from dsl.emulator.ptx.syntax import Instr, Module
from dsl.emulator.ptx.unread_elements import without_unread_elements
from dsl.emulator.ptx.used_loads import with_uses

ROWS: dict[str, list[Row]] = {}
# The operands of an opcode, as operand_grammar.read takes them, in rows without their own. Emitters check the rest.
OPERANDS: dict[str, str] = {}
for _family in families.parts("rows"):
    for _row in _family.ROWS:
        for _opcode in _row.opcodes:
            ROWS.setdefault(_opcode, []).append(_row)
    for _text, _opcodes in _family.OPERANDS.items():
        OPERANDS |= dict.fromkeys(_opcodes.split(), _text)


def find(instr) -> Row | None:
    """The row that has a form with the modifiers of an instruction, or None."""
    return row_of(instr.opcode, instr.mods)


def row_of(opcode: str, modifiers: tuple[str, ...]) -> Row | None:
    """The same of an opcode and its modifiers."""
    return _find(opcode, modifiers)[0]


def need(instr) -> Need:
    """The least .target and .version that an instruction needs; nothing if no row has it."""
    return need_of(instr.opcode, instr.mods)


def need_of(opcode: str, modifiers: tuple[str, ...]) -> Need:
    """The same of an opcode and its modifiers."""
    return _find(opcode, modifiers)[2]


def spelled(opcode: str, modifiers: tuple[str, ...]) -> list[tuple[Row, tuple[str, ...], Need]]:
    """The rows with a form that has these modifiers in any order; with the order of the ISA and what the form needs."""
    found = ((row, form, form.sorted(modifiers)) for row in ROWS.get(opcode, ()) for form in row.forms)
    return [(row, ordered, form.need(ordered)) for row, form, ordered in found if ordered is not None]


def problem(instr: Instr) -> str:
    """Why no row has an instruction, of whose opcode there are rows: what its modifiers are in their nearest form; ''
    where one of them is in no row."""
    return problem_of(instr.opcode, instr.mods)


def problem_of(opcode: str, modifiers: tuple[str, ...]) -> str:
    """The same of an opcode and its modifiers."""
    rows = ROWS[opcode]
    if any(all(each not in row.modifiers for row in rows) for each in modifiers):
        return ""
    return min(form.problem(modifiers) for row in rows for form in row.forms)[-1]


def prepare(module: Module) -> Module:
    """Make direct calls of those through registers, and loops of recursive functions; give each instruction that has a
    row its traits, and its modifiers the order that emitters expect; leave out of vector loads what nobody reads, and
    find by which predicate a thread uses what it loads."""
    pointers.resolve(module)
    recursion.resolve(module)
    stack.reserve(module)
    for function in module.functions.values():
        for item in function.items:
            if isinstance(item, Instr):
                row, item.mods, _ = _find(item.opcode, item.mods)
                item.traits = row.traits if row is not None else 0
        function.items = without_unread_elements(function)
        function.items = with_uses(function)
    return module


@functools.cache
def _find(opcode: str, modifiers: tuple[str, ...]) -> tuple[Row | None, tuple[str, ...], Need]:
    for row in ROWS.get(opcode, ()):
        for form in row.forms:
            if (ordered := form.ordered(modifiers)) is not None:
                return row, ordered, form.need(modifiers)
    return None, modifiers, NOTHING
