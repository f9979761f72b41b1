"""Undefined values through ldmatrix and mma: each element of D is computed of a row of A and a column of B.

So rows of A past the last one that a kernel has written make rows of D undefined that it does not store.
"""

from __future__ import annotations

from dsl.emulator.check.numbers import undefined
from dsl.emulator.families.matrix.functions import MARKED
from dsl.emulator.families.matrix.numbers import MatrixArea
from dsl.emulator.ir.body import constant
from dsl.emulator.ptx.operands import reads
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.tensor_core.fragments import BITS


def passes_reads(instr: Instr) -> bool:
    """Whether it marks what it reads of memory that nobody wrote, as ldmatrix does for each register."""
    return instr.opcode == "ldmatrix" and "b16" in instr.mods


def _mma(body, row, instr: Instr) -> None:
    types = [each for each in instr.mods if each in BITS]
    if len(types) != 4:  # a kind (kinds.cc)
        body.decides(instr, *reads(instr), ends=False)
        row.emit(body, instr)
        return body.put_mark(instr.operands[0], "0")
    d, a, b, c, *others = instr.operands
    body.decides(instr, *others, ends=False)
    given = [body.mark(*a.items[::2]), body.mark(*a.items[1::2]), body.mark(*b.items)]
    sums = [body.mark(each) for each in c.items]
    if any(each != "0" for each in given):
        got = _met(body, row, instr, given)
    else:
        row.emit(body, instr)
        got = ["0"] * 4
    elements = 2 if BITS[types[-1]] == 16 else 1
    for i, register in enumerate(d.items):
        marks = [sums[i], *got[i * elements : (i + 1) * elements]]
        body.put_mark(register, body.computed_mark(body.joined(marks)))


def _ldmatrix(body, row, instr: Instr) -> None:
    if not passes_reads(instr):
        row.emit(body, instr)
        return body.put_mark(instr.operands[0], "0")
    number = min(body.site(instr), undefined.MOST_SITES) + 1
    count = next(int(each[1]) for each in instr.mods if each in ("x1", "x2", "x4"))
    given = [constant(number << undefined.SITE_SHIFT, 64), str(count), str(int("trans" in instr.mods))]
    for register, mark in zip(instr.operands[0].items, _met(body, row, instr, given)):
        body.put_mark(register, mark)


def _met(body, row, instr: Instr, given: list[str]) -> list[str]:
    """Emit an instruction whose lanes exchange marks too: the four that this lane gets."""
    area = body.exchange_area(MatrixArea)
    for i, mark in enumerate(given):
        body.put_in(area, MatrixArea.marks, mark, "i64", 2 * i)

    def wrap(name: str) -> str:
        body.put_in(area, MatrixArea.unmarked, f"@{name}", "ptr")
        return MARKED[instr.opcode]

    body.wrap = wrap
    row.emit(body, instr)
    body.wrap = None
    return [body.get_from(area, MatrixArea.marks, 2 * i, "i64") for i in range(4)]


MARKS = {"mma": _mma, "ldmatrix": _ldmatrix}
