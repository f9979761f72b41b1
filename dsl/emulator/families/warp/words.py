"""Faults of shfl, vote and other meetings of a warp, in words."""

from __future__ import annotations

from dsl.emulator.diagnosis.ranges import runs
from dsl.emulator.machine import context


def _not_in_mask(launch, instr):
    ctx = launch.ctx
    return (
        f"lane {ctx.thread % 32} executes `{instr.name}` with a member mask 0x{ctx.address & 0xFFFFFFFF:08x} "
        "that does not name it",
        "every executing lane must be in its own mask",
    )


def _partial_warp(launch, instr):
    missing = launch.ctx.address
    lanes = runs([lane for lane in range(32) if missing >> lane & 1])
    return (
        f"`{instr.name}` needs all 32 lanes of the warp, but lane{'s' if ',' in lanes or '-' in lanes else ''} "
        f"{lanes} have left, or are not in the block",
        "launch whole warps, and let no thread return before it",
    )


def _absent_lane(address: int, use: str) -> tuple[str, str]:
    return (
        f"reads lane {address & 31}, which takes no part in the shuffle: it is not in the mask, or has exited. {use}",
        "read a lane that the mask names and that comes to the shuffle, or do not use the value (ask the predicate)",
    )


UNDEFINED = {"shfl": _absent_lane}
WITHOUT_MASK = frozenset({"elect"})  # authors write no mask
# By `detail` of the fault: the message and the fix.
ILLEGAL = {context.PARTIAL_WARP: _partial_warp, context.NOT_IN_MASK: _not_in_mask}
