"""Faults of multimem addresses, in words."""

from __future__ import annotations

from dsl.emulator.check.numbers import access
from dsl.emulator.diagnosis import places
from dsl.emulator.machine import context


def _not_multimem(launch, instr):
    address, nbytes = launch.ctx.address, launch.ctx.access_bytes
    does = places.verb(instr, access.WRITE * ("ld_reduce" not in instr.mods))
    where = places.place_of(launch, address, min(nbytes, 4))
    opcode = {"ld_reduce": "ld", "st": "st", "red": "red"}[instr.mods[0]]
    return f"`{instr.name}` {does} {where}, which is not a multimem address", (
        f"use `{opcode}` for this memory, or give the address at which a multicast object is mapped "
        "(cuMulticastCreate, cuMulticastBindMem, cuMemMap)"
    )


# By `detail` of the fault: the message and the fix.
ILLEGAL = {context.NOT_MULTIMEM: _not_multimem}
