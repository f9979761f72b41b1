"""bar, barrier: threads of a block meet at one of 16 barriers. PTX ISA 9.7.13.1, 9.7.13.2 (bar.warp.sync)."""

from __future__ import annotations

from dsl.emulator.families.barrier import numbers
from dsl.emulator.families.warp import emit as warp
from dsl.emulator.machine.numbers import meeting


def barrier(body, instr):
    """bar[rier][.cta].sync / .red / .arrive [d,] a[, b][, p], and bar.warp.sync."""
    mods = instr.mods
    if "warp" in mods:
        warp.meet(body, instr, meeting.WARP_SYNC, body.read(instr.operands[0], 32))
    elif "arrive" in mods:
        number, count = (body.read(o, 32) for o in instr.operands)
        flag = _call(body, instr, "emu_arrive", number, count)
        body.stop_unless(flag)
    elif "red" in mods:
        _reduce(body, instr)
    else:
        number = body.read(instr.operands[0], 32)
        count = body.read(instr.operands[1], 32) if len(instr.operands) > 1 else "0"
        _wait(body, instr, number, count, str(numbers.barrier.NO_VOTE))


def _call(body, instr, function: str, number: str, count: str, extra: str = "") -> str:
    linear, site = body.threads["linear"], body.site(instr)
    return body.op(f"call i32 @{function}(ptr %ctx, i32 {linear}, i32 {number}, i32 {count}{extra}, i32 {site})")


def _wait(body, instr, number: str, count: str, vote: str) -> None:
    flag = _call(body, instr, "emu_wait_barrier", number, count, f", i32 {vote}")
    body.stop_unless(flag)
    body.suspend()


def _reduce(body, instr) -> None:
    """.popc counts the true predicates; .and and .or combine them."""
    destination, number, *rest = instr.operands
    vote = body.read(rest[-1], 1)
    count = body.read(rest[0], 32) if len(rest) > 1 else "0"
    _wait(body, instr, body.read(number, 32), count, body.cast("zext", vote, "i1", "i32"))
    if "popc" in instr.mods:
        body.write(destination, warp.result(body), 32)
    elif "and" in instr.mods:
        body.write(destination, warp.result_predicate(body), 1)
    else:
        body.write(destination, body.cmp("ne", warp.result(body), 0), 1)
