"""Faults of branches, in words."""

from __future__ import annotations

from dsl.emulator.check.numbers import access
from dsl.emulator.diagnosis import places, report
from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.diagnosis.race import Race
from dsl.emulator.families.control import recursion, stack
from dsl.emulator.families.control.registers import Ignored
from dsl.emulator.machine import context


def _bad_index(launch, instr):
    return "the branch index is past the end of its list of targets", ""


def _bad_function(launch, instr):
    return "the register has the address of no function that takes these arguments", (
        "call a function whose address this module takes, with the parameters that it has"
    )


def _bad_free(launch, instr):
    return f"free gets {launch.ctx.address:#x}, which no malloc gave, or which is free already", (
        "free each block once, by the address that malloc returned"
    )


def _stack_full(launch, instr):
    return f"the stack of alloca has {stack.SIZE_BYTES} bytes in a function, and this one needs more", (
        "allocate less, or declare a .local array"
    )


def _recursion(launch, instr):
    return f"the functions that call themselves need more than the {recursion.SIZE_BYTES} bytes of stack of a thread", (
        "make the recursion end sooner, or make it a loop"
    )


def race(race: Race) -> tuple[str, str] | None:
    """The message and the fix of a race with the launch before; None of another."""
    if race.launch.ctx.other_block != context.EARLIER_GRID:
        return None
    did = "wrote" if race.its_kind & access.WRITE else "read"
    return f"{race.does}, which the launch before (`{race.launch.earlier.name}`) {did}: it may still run", Fix(
        f"put griddepcontrol.wait (`cute.arch.griddepcontrol_wait()`) before {race.here}, or launch this kernel "
        "without use_pdl",
        propose.right_before(race.launch, "wait for the launch before", race.mine),
    )


_SAME = "let all four warps of the warpgroup execute the same setmaxnreg, in the same order: decide by warp_idx // 4"


def _wrong_way(launch, instr):
    ctx = launch.ctx
    way, other = ("raise", "dec") if "inc" in instr.mods else ("lower", "inc")
    return (
        f"its warp has {ctx.address} registers a thread, and `{instr.text}` can only {way} that",
        f"use setmaxnreg.{other}",
    )


def _other_warp(launch, instr, message: str, fix: str):
    ctx = launch.ctx
    return message.format(
        warp=ctx.other_thread // 32, at=places.at(launch, launch.code.sites[ctx.other_site], instr)
    ), fix


def _no_sync(launch, instr):
    message = "changes the registers again, and has not met warp {warp} of its warpgroup since it did at {at}"
    fix = "put a barrier of the warpgroup's 128 threads between both (`bar.sync 1, 128`, one id a warpgroup)"
    return _other_warp(launch, instr, message, fix)


def _other_count(launch, instr):
    message = "is not the setmaxnreg that warp {warp} of its warpgroup executes, at {at}"
    return _other_warp(launch, instr, message, _SAME)


def _not_all(launch, instr):
    return _other_warp(launch, instr, "is not executed by warp {warp} of the warpgroup", _SAME)


def _no_registers(launch, instr):
    ctx = launch.ctx
    return (
        f"waits for registers for ever: with what the other warps keep it takes {ctx.address}, and the block has "
        f"{ctx.other_label}"
    ), "let other warpgroups give back more (setmaxnreg.dec), before anything that waits for this one; or ask for less"


def _warn_of_ignored(launch) -> None:
    block, thread, site = launch.checks.order.of(Ignored).first
    text = (
        f"in `{launch.entry_name}` {places.thread_of(launch, block, thread)} executes a setmaxnreg, which has no "
        "effect: the kernel does not name its registers at launch. Give it .maxnreg, or .minnctapersm with .reqntid or "
        ".maxntid (`__launch_bounds__(threads, 1)`, `.launch(min_blocks_per_mp=1)`)"
    )
    report.warn(launch, "SETMAXNREG_IGNORED", launch.code.sites[site], text)


WARNINGS = {"ignored": _warn_of_ignored}
# By `detail` of the fault: the message and the fix.
ILLEGAL = {
    context.BAD_INDEX: _bad_index,
    context.WRONG_WAY: _wrong_way,
    context.NO_SYNC: _no_sync,
    context.OTHER_COUNT: _other_count,
    context.NOT_ALL: _not_all,
    context.NO_REGISTERS: _no_registers,
    context.BAD_FUNCTION: _bad_function,
    context.BAD_FREE: _bad_free,
    context.STACK_FULL: _stack_full,
    context.RECURSION: _recursion,
}
