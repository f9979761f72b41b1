"""A flag between two accesses of a race: one thread writes it after its access, the other reads it before its own.

Only a release and an acquire order what is around them: PTX ISA, memory consistency model.
"""

from __future__ import annotations

from collections.abc import Callable

from dsl.emulator.check import ordering
from dsl.emulator.check.numbers import scope
from dsl.emulator.check.trail import Row
from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.ptx.traits import FENCE, READS, STORE, UPDATES


def fix(
    launch, after: list[Row], before: list[Row], place: Callable[[Row], str], second: Instr, is_one_block: bool
) -> Fix | None:
    """The missing part of a flag; None if there is no flag, or all is there. `after`: the rows of one thread after its
    access, `before`: the rows of the other one before its own, `second`; `place` names the line of a row."""
    sites: list[Instr] = launch.code.sites
    written = {row.value: row for row in reversed(after) if _is_flag(sites[row.site])}
    for read in reversed(before):
        instr = sites[read.site]
        if is_strong(instr) and instr.traits & (READS | UPDATES) and read.value in written:
            return _lacks(launch, after, before, written[read.value], read, place, second, is_one_block)
    return None


def early(sites: list[Instr], writer, before: list[Row], place: Callable[[Row], str]) -> str | None:
    """The fix of a flag that `writer`, a side of a race, has written before its access, and that the other one has read
    in the rows `before` its own; None of another race."""
    line = place(writer.row)
    for read in reversed(before):
        instr = sites[read.site]
        if not is_strong(instr) or not instr.traits & (READS | UPDATES):
            continue
        written = [n for n, row in enumerate(writer.before) if row.value == read.value and _is_flag(sites[row.site])]
        later = any(row.value == read.value and _is_flag(sites[row.site]) for row in writer.after)
        if later or not written or any(place(row) == line for row in writer.before[: written[0]]):
            return None  # it was for an access before this one
        return f"write the flag after {line}: {place(writer.before[written[-1]])} writes it before"
    return None


def _is_flag(instr: Instr) -> bool:
    return is_strong(instr) and _writes(instr)


def _lacks(launch, after, before, write: Row, read: Row, place, second: Instr, is_one_block: bool) -> Fix | None:
    sites = launch.code.sites
    fences = [
        [row for row in after[: after.index(write)] if is_fence(sites[row.site])],
        [row for row in before[before.index(read) :] if is_fence(sites[row.site])],
    ]
    releases = bool(fences[0]) or not ordering.RELEASES.isdisjoint(sites[write.site].mods)
    acquires = bool(fences[1]) or not ordering.ACQUIRES.isdisjoint(sites[read.site].mods)
    lacks, edits = [], []
    fence = "fence of the block" if is_one_block else "fence of the GPU"
    if not releases:
        lacks.append(f"make the write of the flag at {place(write)} a release (a fence before it, or .release)")
        edits.append(propose.change(launch, "a release", sites[write.site])
                     or propose.right_before(launch, fence, sites[write.site]))  # fmt: skip
    if not acquires:
        lacks.append(f"make the read of the flag at {place(read)} an acquire (a fence after it, or .acquire)")
        edits.append(propose.change(launch, "an acquire", sites[read.site])
                     or propose.after(launch, [fence], sites[read.site], second))  # fmt: skip
    if len(edits) == 2 and sites[write.site].line == sites[read.site].line:
        edits = [propose.change(launch, "a release and an acquire", sites[write.site])]
    if not lacks and not is_one_block:
        rows = (write, *fences[0], read, *fences[1])
        narrow = [row for row in rows if ordering.scope_of(sites[row.site]) == scope.CTA]
        lacks += [f"give the flag the scope .gpu at {place(row)}: .cta is for one block" for row in narrow]
        edits += [propose.change(launch, "the scope of the GPU", sites[row.site]) for row in narrow]
    is_known = len(edits) == 1 and write.value != launch.ctx.address  # and the race is not one of the flag itself
    return Fix(" and ".join(lacks), edits[0] if is_known else None) if lacks else None


def is_fence(instr: Instr) -> bool:
    return bool(instr.traits & FENCE) and ordering.of(instr).proxy == "generic"


def is_strong(instr: Instr) -> bool:
    """Whether threads may synchronise by it."""
    is_access = instr.traits & (READS | STORE)
    return bool(instr.traits & UPDATES or (is_access and not ordering.STRONG.isdisjoint(instr.mods)))


def _writes(instr: Instr) -> bool:
    return bool(instr.traits & (UPDATES | STORE))
