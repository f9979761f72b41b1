"""The barrier of a cluster, and addresses in it, in threads that run alone. PTX ISA 9.7.13.3, 9.7.9.23.

See translate/traced.py.
"""

from __future__ import annotations

from dsl.emulator.families.cluster.emit import map_address
from dsl.emulator.machine.numbers import told
from dsl.emulator.ptx import traits
from dsl.emulator.ptx.operands import reads
from dsl.emulator.ptx.syntax import Instr


def cluster(thread, instr: Instr, why: str, fix: str) -> None:
    """barrier.cluster.arrive, .wait; mapa.shared::cluster."""
    if instr.traits & traits.BARRIER:
        return thread.event(told.BARRIER, instr, NEEDS=thread.needs(instr))
    if instr.opcode != "mapa" or "shared::cluster" not in instr.mods:
        raise thread.refuse(instr, why, fix)
    mark = thread.mark_of(reads(instr))
    map_address(thread, instr)
    return thread.put_mark(instr.operands[0], mark, instr.guard is not None)
