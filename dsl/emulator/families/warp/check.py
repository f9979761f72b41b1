"""Undefined values that shuffles make and pass on."""

from __future__ import annotations

from dsl.emulator.check.numbers import undefined
from dsl.emulator.families.warp.numbers import shuffled
from dsl.emulator.ir.body import constant
from dsl.emulator.ptx.operands import reads
from dsl.emulator.ptx.syntax import Instr, Pair


def _shuffle(body, row, instr: Instr) -> None:
    """A lane that asks for one that takes no part gets an undefined value. Shuffles pass such values on: reductions
    leave them where nobody needs them."""
    linear, given = body.threads["linear"], "0"
    sources = [each for each in reads(instr) if body.is_marked(each)]
    if sources:
        mark = body.mark(*sources)
        passes = body.cmp("ne", body.and_(mark, undefined.SHUFFLED, "i64"), 0, "i64")
        given = body.select(passes, mark, 0, "i64")
        body.undefined_finding(instr, body.select(passes, 0, mark, "i64"), ends=False)
    body.store("mark_given", given, linear)
    number = min(body.site(instr), undefined.MOST_SITES) + 1
    row.emit(body, instr)
    destination = instr.operands[0]
    first = destination.first if isinstance(destination, Pair) else destination
    body.put_mark(destination, "0")
    got = body.load("c", linear)
    lane = body.resize(body.lshr(got, shuffled.ASKED_SHIFT), 32, 64)
    mark = body.or_(lane, constant(number << undefined.SITE_SHIFT | undefined.SHUFFLED, 64), "i64")
    absent = body.and_(body.lshr(got, shuffled.ABSENT_BIT), 1)
    body.put_mark(first, body.select(body.cmp("eq", absent, 0), body.load("mark_got", linear), mark, "i64"))


MARKS = {"shfl": _shuffle}
