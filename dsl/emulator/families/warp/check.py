"""Effects of shuffles on other lanes: undefined values, and the order that a lane has acquired from memory.

PTX ISA 9.7.9.6 gives a shuffle no order of memory. NVIDIA's cooperative groups let one lane acquire, and all lanes read
what that makes known once a shuffle has told them: a GPU acquires for the warp, and no lane goes on before all lanes of
the mask have come. So a shuffle or vote gives its lanes what one of them has acquired, at once or at its next fence.
Accesses of the lanes themselves need a barrier of the warp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dsl.emulator.check.clocks import Known, joined
from dsl.emulator.check.numbers import undefined
from dsl.emulator.families.warp.numbers import shuffled
from dsl.emulator.ir.body import constant
from dsl.emulator.machine import context
from dsl.emulator.ptx.operands import reads
from dsl.emulator.ptx.syntax import Instr, Pair


def _shuffle(body, row, instr: Instr) -> None:
    """A lane that asks for one that takes no part gets an undefined value. Shuffles pass undefined values on, as they
    were read and computed: reductions leave them where nobody needs them. Values that a lane has
    computed of the padding of a structure are defined there."""
    linear = body.threads["linear"]
    _give(body, body.mark(*reads(instr)))
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


def _joined(body, row, instr: Instr) -> None:
    """Lanes get what is computed of the values of all."""
    body.decides(instr, instr.operands[-1], ends=False)
    _give(body, body.mark(instr.operands[1]))
    row.emit(body, instr)
    body.put_mark(instr.operands[0], body.computed_mark(body.load("mark_got", body.threads["linear"])))


def _give(body, mark: str) -> None:
    body.store("mark_given", mark, body.threads["linear"])
    if mark != "0":
        body.unless_padding(mark)


MARKS = {"shfl": _shuffle, "vote": _joined, "match": _joined, "redux": _joined}


def _exchange(slot, first: int, group: int, _: int) -> None:
    """Lanes of a warp have given each other values; `first` is the thread of lane 0."""
    ctx, warp = slot.ctx, first >> 5
    lanes = [first + lane for lane in range(32) if group >> lane & 1]
    giving = [thread for thread in lanes if ctx.learnt[warp] >> (thread - first) & 1]
    if not giving:  # the mask was of an earlier block
        return
    labels, clocks, pending = slot.known[giving].max(axis=0), {}, Known()
    for thread in giving:
        for each in slot.abroad(thread).clocks:
            clocks = joined(clocks, each)
        pending.merge(slot.pending.get(thread, Known()))
    for thread in lanes:
        if _is_new(slot, thread, labels, clocks):
            slot.learn(thread, clocks | {slot.block: labels})
        if pending:
            slot.pending.setdefault(thread, Known()).merge(pending)
    if group == ctx.live[warp] & ~ctx.exited[warp]:
        ctx.learnt[warp] = 0


def _is_new(slot, thread: int, labels: np.ndarray, clocks: dict) -> bool:
    if (labels > np.maximum(slot.known[thread], slot.ctx.epoch - 1)).any():
        return True
    known = slot.abroad(thread)
    return any((mine := known.labels(block)) is None or (theirs > mine).any() for block, theirs in clocks.items())


def events(order) -> dict[int, Any]:
    """The handlers of this family for events of the order of a launch."""
    return {context.ORDER_EXCHANGE: _exchange}
