"""Exchanges between the lanes of a warp in threads that run alone: each gives its value, meets the others, and reads
theirs. PTX ISA 9.7.9.6, 9.7.13.9, 9.7.13.10, 9.7.13.12, 9.7.13.14.

See translate/traced.py. An exchange orders no memory, and no lane goes on before all lanes of its mask have come.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce

from dsl.emulator.families.warp.emit import destinations, reduction
from dsl.emulator.machine.numbers import told
from dsl.emulator.ptx.operands import reads, registers
from dsl.emulator.ptx.syntax import Instr

_OPERATIONS = {
    "add": operator.add, "and": operator.and_, "or": operator.or_, "xor": operator.xor, "umin": min, "umax": max,
    "smin": lambda a, b: min(a, b, key=_signed), "smax": lambda a, b: max(a, b, key=_signed),
}  # fmt: skip


def exchange(thread, instr: Instr, why: str, fix: str) -> None:
    """shfl.sync, vote.sync, match.sync, redux.sync, elect.sync."""
    exchanges = {"shfl": _shuffle, "vote": _vote, "match": _of_all, "redux": _of_all, "elect": _elect}
    if instr.opcode not in exchanges:
        raise thread.refuse(instr, why, fix)
    exchanges[instr.opcode](thread, instr)


def combined(instr: Instr, given: dict[int, int], own: int) -> int:
    """Combine the values of the lanes that a lane asked. `own`: the value that it gave itself. Of a vote:
    a bit for each lane, and above them the lanes that voted."""
    if instr.opcode == "vote":
        return sum((value | 1 << 32) << lane for lane, value in given.items())
    if instr.opcode == "match":
        equal = {lane for lane, value in given.items() if value == own}
        return sum(1 << lane for lane in equal) if "any" in instr.mods or equal == given.keys() else 0
    if instr.opcode == "redux":
        return _reduced(instr, given.values())
    return next(iter(given.values()), 0)


def _reduced(instr: Instr, given: Iterable[int]) -> int:
    if "f32" in instr.mods:
        return _reduced_floats(instr, given)
    return reduce(_OPERATIONS[reduction(instr)[0]], given) & 0xFFFFFFFF


def _reduced_floats(instr: Instr, given: Iterable[int]) -> int:
    """-0 is less than +0, and a NaN counts only with .NaN, or if there is nothing else."""
    mask = 0x7FFFFFFF if "abs" in instr.mods else 0xFFFFFFFF
    given = [bits & mask for bits in given]
    numbers = [bits for bits in given if bits & 0x7FFFFFFF <= 0x7F800000]
    if not numbers or ("NaN" in instr.mods and len(numbers) < len(given)):
        return 0x7FFFFFFF
    return (min if "min" in instr.mods else max)(numbers, key=_float_order)


def _float_order(bits: int) -> int:
    """An integer that has the order of floats."""
    return ~(bits & 0x7FFFFFFF) if bits >> 31 else bits


def _signed(bits: int) -> int:
    return bits - (bits >> 31 << 32)


def _lane(thread) -> str:
    return thread.and_(thread.threads["linear"], 31)


def _meet(thread, instr: Instr, mask: str, value: str, asked: str) -> tuple[str, str]:
    """What `combined` makes of the values that the lanes `asked` (a mask) give, and the mark of them."""
    mask, asked = (thread.resize(each, 32, 64) for each in (mask, asked))
    needs = thread.needs(instr, reads(instr))
    thread.event(told.MEET, instr, ADDRESS=mask, VALUE=value, EXTRA=asked, NEEDS=needs)
    return thread.told_back(told.VALUE), thread.told_back(told.NEEDS)


def _shuffle(thread, instr: Instr) -> None:
    """The source lane as the pseudo-code of the ISA has it. A lane that takes no part gives this lane's own value."""
    a, b, c, mask = (thread.read(each, 32) for each in instr.operands[1:5])
    lane, bits, segment = _lane(thread), thread.and_(b, 31), thread.and_(thread.lshr(c, 8), 31)
    least = thread.and_(lane, segment)
    clamp = thread.and_(thread.and_(c, 31), thread.xor(segment, -1))
    most = thread.or_(least, clamp)
    if "up" in instr.mods:
        wanted, how = thread.sub(lane, bits), "sge"
    elif "down" in instr.mods:
        wanted, how = thread.add(lane, bits), "sle"
    elif "bfly" in instr.mods:
        wanted, how = thread.xor(lane, bits), "sle"
    else:
        wanted, how = thread.or_(least, thread.and_(bits, thread.xor(segment, -1))), "sle"
    inside = thread.cmp(how, wanted, most)
    asked = thread.shl(1, thread.select(inside, thread.and_(wanted, 31), lane))
    value, mark = _meet(thread, instr, mask, thread.resize(a, 32, 64), asked)
    own = thread.mark_of(registers(instr.operands[2:5]))
    first, second = destinations(instr)
    thread.write(first, thread.resize(value, 64, 32), 32)
    thread.put_mark(first, thread.or_(mark, own, "i64"), instr.guard is not None)
    if second is not None:
        thread.write(second, inside, 1)
        thread.put_mark(second, own, instr.guard is not None)


def _vote(thread, instr: Instr) -> None:
    mode = next(m for m in instr.mods if m in ("ballot", "all", "any", "uni"))
    given = thread.cast("zext", thread.read(instr.operands[1], 1), "i1", "i64")
    mask = thread.read(instr.operands[2], 32)
    answer, mark = _meet(thread, instr, mask, given, mask)
    votes, here = thread.resize(answer, 64, 32), thread.resize(thread.lshr(answer, 32, "i64"), 64, 32)
    every, some = thread.cmp("eq", votes, here), thread.cmp("ne", votes, 0)
    if mode == "ballot":
        thread.write(instr.operands[0], votes, 32)
    else:
        either = thread.or_(every, thread.xor(some, "true", "i1"), "i1")
        thread.write(instr.operands[0], {"all": every, "any": some, "uni": either}[mode], 1)
    mark = thread.or_(mark, thread.mark_of(registers(instr.operands[2])), "i64")
    thread.put_mark(instr.operands[0], mark, instr.guard is not None)


def _of_all(thread, instr: Instr) -> None:
    """match.sync, redux.sync: what `combined` makes of the values of all lanes, and of match.all whether it is any."""
    bits = 64 if "b64" in instr.mods else 32
    value, mask = thread.resize(thread.read(instr.operands[1], bits), bits, 64), thread.read(instr.operands[2], 32)
    answer, mark = _meet(thread, instr, mask, value, mask)
    first, second = destinations(instr)
    mark = thread.or_(mark, thread.mark_of(registers(instr.operands[2])), "i64")
    thread.write(first, thread.resize(answer, 64, 32), 32)
    thread.put_mark(first, mark, instr.guard is not None)
    if second is not None:
        thread.write(second, thread.cmp("ne", answer, 0, "i64"), 1)
        thread.put_mark(second, mark, instr.guard is not None)


def _elect(thread, instr: Instr) -> None:
    """The lowest lane of the mask is the leader, as on the device (the ISA leaves the choice open)."""
    mask = thread.read(instr.operands[1], 32)
    _meet(thread, instr, mask, "0", "0")
    leader = thread.op(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 false)")
    pair, mark = instr.operands[0], thread.mark_of(registers(instr.operands[1]))
    for operand, value, bits in ((pair.first, leader, 32), (pair.second, thread.cmp("eq", leader, _lane(thread)), 1)):
        thread.write(operand, value, bits)
        thread.put_mark(operand, mark, instr.guard is not None)
