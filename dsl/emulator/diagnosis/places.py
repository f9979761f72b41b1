"""Places as an author knows them: of memory, of threads, of instructions; and the Fault of one instruction."""

from __future__ import annotations

from dsl.emulator import families
from dsl.emulator.check.numbers import access
from dsl.emulator.diagnosis import cluster_report, frames, report
from dsl.emulator.faults import Fault
from dsl.emulator.machine import memory
from dsl.emulator.ptx.syntax import TYPE_BITS, Instr
from dsl.emulator.ptx.traits import COPY, UPDATES
from dsl.span import short


def verb(instr: Instr, kind: int) -> str:
    """The verb for an access of a kind by an instruction."""
    for verbs in families.named("words", "VERBS"):
        if instr.opcode in verbs:
            return verbs[instr.opcode](instr)
    if instr.traits & UPDATES:
        return "updates"
    if not kind & access.WRITE:
        return "reads"
    return "copies to" if instr.traits & COPY else "writes"


def element_bytes(instr: Instr) -> int:
    """The bytes of an element of the type that an instruction names."""
    return max(next((TYPE_BITS[m] for m in reversed(instr.mods) if m in TYPE_BITS), 32) // 8, 1)


def place_of(launch, address: int, element_bytes: int) -> str:
    """A host address as the author knows it: `name[element]`, or an offset in shared or local memory."""
    ctx = launch.ctx
    if 0 <= address - ctx.smem < ctx.smem_bytes:
        return f"smem+0x{address - ctx.smem:x}"
    if (theirs := cluster_report.place_of(launch, address)) is not None:
        return theirs
    local_bytes = ctx.local_bytes * ctx.threads
    if 0 <= address - ctx.local < local_bytes:
        return f"local+0x{(address - ctx.local) % ctx.local_bytes:x}"
    neighbour = memory.nearest(launch.all_allocations, address)
    if neighbour is None or not 0 <= neighbour[1] < neighbour[0].size_bytes:
        return f"0x{address:x}"
    allocation, offset = neighbour
    if offset % element_bytes:
        return f"byte {offset} of `{allocation.label}`"
    if allocation.label.isidentifier():
        return f"`{allocation.label}[{offset // element_bytes}]`"
    return f"element {offset // element_bytes} of `{allocation.label}`"


def thread_of(launch, block: int, thread: int) -> str:
    """A thread of a block, both by their linear numbers."""
    where = f"thread {launch.thread_index(thread)} = warp {thread // 32}, lane {thread % 32}"
    return f"{where} of block {block_index(launch, block)}"


def block_index(launch, block: int) -> tuple[int, int, int]:
    """The index of a block."""
    x, y, _ = launch.grid
    return block % x, block // x % y, block // (x * y)


def line_of(launch, instr: Instr) -> str:
    """The line of an instruction, with its file."""
    place = frames.place_of(launch, instr)
    return f"{short(place.file)}:{place.line}" if place else f"PTX line {instr.line}"


def at(launch, instr: Instr, here: Instr) -> str:
    """The place of an instruction, for a report at `here`."""
    there, own = frames.place_of(launch, instr), frames.place_of(launch, here)
    if there is None or own is None or own.file != there.file:
        return line_of(launch, instr)
    return "this line" if own.line == there.line else f"line {there.line}"


def before(launch, here: Instr) -> str:
    """The line of a report, for what must come before it."""
    place = frames.place_of(launch, here)
    return f"line {place.line}" if place is not None else "this instruction"


def of_one(launch, instr: Instr, head: str, message: str, block: int, fix: str) -> Fault:
    """The Fault of one instruction of a thread of a block."""
    thread = launch.ctx.thread
    lines = [f"    in `{launch.entry_name}`, {thread_of(launch, block, thread)}"]
    lines.append(f"    PTX line {instr.line}: {instr.text}")
    return report.error(launch, head, instr, message, lines, fix, block_index(launch, block), thread)
