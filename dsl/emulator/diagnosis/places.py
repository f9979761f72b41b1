"""Places as an author knows them: of memory, of threads, of instructions; and the Fault of one instruction."""

from __future__ import annotations

import re

from dsl.emulator import families
from dsl.emulator.check.numbers import access
from dsl.emulator.diagnosis import cluster_report, frames, report
from dsl.emulator.faults import Fault
from dsl.emulator.machine import memory
from dsl.emulator.ptx.syntax import TYPE_BITS, Instr
from dsl.emulator.ptx.traits import COPY, UPDATES
from dsl.span import short

_LOCAL_NAME, _DISCRIMINATOR = re.compile(r"E(\d+)(?=[A-Za-z_])"), re.compile(r"(?:_\d|__\d+_)?")


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
        return shared_place(launch, address - ctx.smem, element_bytes)
    if (theirs := cluster_report.place_of(launch, address)) is not None:
        return theirs
    for place in families.named("words", "place"):
        if (name := place(launch, address)) is not None:
            return name
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


def shared_place(launch, offset: int, element_bytes: int) -> str:
    """An offset in shared memory: an element of the author's variable where CUDA C++ tells its name."""
    named = _variable_at(launch, offset) if launch.entry_name.startswith("_Z") else None
    if named is None:
        return f"smem+0x{offset:x}"
    name, offset = named
    if element_bytes == 1 and not offset:
        return f"`{name}`"
    return f"byte {offset} of `{name}`" if offset % element_bytes else f"element {offset // element_bytes} of `{name}`"


def _variable_at(launch, offset: int) -> tuple[str, int] | None:
    """The name of the shared variable at an offset, and the offset in it. Dynamic memory is the last."""
    for mangled, (start, nbytes) in launch.program.shared_places(launch.entry_name).items():
        if 0 <= offset - start < (nbytes or launch.smem_dynamic):
            name = _author_name(mangled if isinstance(mangled, str) else mangled[1])
            return (name, offset - start) if name else None
    return None


def _author_name(mangled: str) -> str | None:
    """The name of a variable of a function, `_ZZ...E4name`, by the Itanium C++ ABI; a plain name is one itself."""
    if not mangled.startswith("_Z"):
        return mangled if mangled.isidentifier() and not mangled.startswith("__") else None
    for found in _LOCAL_NAME.finditer(mangled):
        length, rest = int(found[1]), mangled[found.end() :]
        if length <= len(rest) and _DISCRIMINATOR.fullmatch(rest[length:]):
            return rest[:length]
    return None


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
