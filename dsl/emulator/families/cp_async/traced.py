"""cp.async in threads that run alone: its accesses may come at any time until the thread waits, or the arrival that
follows them. PTX ISA 9.7.9.25.2, 9.7.13.15.15

See translate/traced.py.
"""

from __future__ import annotations

from dsl.emulator.check.access import unit_shift
from dsl.emulator.families.cp_async.emit import check_source, source_bytes_of
from dsl.emulator.families.mbarrier.traced import update
from dsl.emulator.families.memory.emit import checked
from dsl.emulator.machine.numbers import told
from dsl.emulator.ptx import traits
from dsl.emulator.ptx.analysis import reachable
from dsl.emulator.ptx.operands import reads, space_of
from dsl.emulator.ptx.syntax import Imm


def copy(thread, instr, why: str, fix: str) -> None:
    """cp.async, .commit_group, .wait_group, .wait_all, cp.async.mbarrier.arrive.noinc."""
    if instr.traits & traits.MBARRIER:
        if "noinc" not in instr.mods:
            raise thread.refuse(instr, why, "add .noinc, and count this arrival in mbarrier.init")
        address = thread.shared_place(instr, instr.operands[0], space_of(instr), 8)
        update(thread, instr, address, "1", "0", thread.needs(instr))
        return None
    if "prefetch" in instr.mods:
        return None  # it fills a cache
    if "wait_group" in instr.mods:
        return thread.event(told.WAIT, instr, EXTRA=thread.resize(thread.read(instr.operands[0], 32), 32, 64))
    if "commit_group" in instr.mods or "wait_all" in instr.mods:
        thread.event(told.COMMIT, instr)
        return thread.event(told.WAIT, instr, EXTRA="0") if "wait_all" in instr.mods else None
    destination, source, size = instr.operands[:3]
    if not isinstance(size, Imm):
        raise thread.malformed(instr, "cp-size must be a number")
    source_bytes = source_bytes_of(thread, instr, size.value)
    target = thread.cast(
        "ptrtoint", checked(thread, instr, thread.address(destination), "shared", size.value), "ptr", "i64"
    )
    origin = thread.address(source)
    check_source(thread, instr, origin, source_bytes, size.value)
    # in pieces as narrow as the narrowest access of the kernel
    piece = 1 << unit_shift(reachable(thread.module, thread.entry))
    needs = thread.needs(instr, reads(instr))
    for offset in range(0, size.value, piece):
        is_read = thread.cmp("ugt", thread.resize(source_bytes, 32, 64), offset, "i64")
        read_at = thread.select(is_read, thread.add(origin, offset, "i64"), 0, "i64")  # 0: it writes zeros
        place = thread.add(target, offset, "i64")
        thread.event(told.COPY, instr, ADDRESS=place, SIZE=str(piece), NEEDS=needs, EXTRA=read_at)
    return None
