"""Races after a load that may read an older value than it read here, and faults of accesses, in words."""

from __future__ import annotations

from dsl.emulator.check.numbers import access
from dsl.emulator.diagnosis import places
from dsl.emulator.diagnosis.race import Race
from dsl.emulator.families.memory.old_values import OldValues
from dsl.emulator.machine import context


def race(race: Race) -> tuple[str, str] | None:
    """The message and the fix of a race of a thread that goes on after a value that others than the writer left."""
    ctx, order = race.launch.ctx, race.launch.checks.order
    old = order.of(OldValues).last.get((ctx.block, ctx.thread)) if order is not None else None
    if old is None or race.its_kind & access.ASYNC or not old.hides(ctx.other_block, ctx.other_thread):
        return None
    load = race.launch.code.sites[old.site]
    if load is race.mine:
        return None
    at = places.at(race.launch, load, race.mine)
    bits = old.value.bits
    message = f"{race.does}, which {race.who} {race.did} at {race.at}: the load at {at} may give {bits}, and the thread"
    if old.comes_again:
        return f"{message} goes on", (
            f"{bits} is written more than once: let its writers wait until {at} has seen it before they write it "
            "again, or let the value only rise"
        )
    return f"{message} goes on", (
        f"wait at {at} until the value is there that the last of the writers leaves; {bits} is there before"
    )


def _bad_fill(launch, instr):
    return f"size of `{instr.name}` must be a multiple of 8 bytes, got {launch.ctx.address}", "round the size up"


# By `detail` of the fault: the message and the fix.
ILLEGAL = {context.BAD_FILL: _bad_fill}
FORGETS = frozenset({"discard"})  # instructions after which a read is undefined
