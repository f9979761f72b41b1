"""Faults of branches, in words."""

from __future__ import annotations

from dsl.emulator.check.numbers import access
from dsl.emulator.diagnosis.race import Race
from dsl.emulator.machine import context


def _bad_index(launch, instr):
    return "the branch index is past the end of its list of targets", ""


def race(race: Race) -> tuple[str, str] | None:
    """The message and the fix of a race with the launch before; None of another."""
    if race.launch.ctx.other_block != context.EARLIER_GRID:
        return None
    did = "wrote" if race.its_kind & access.WRITE else "read"
    return f"{race.does}, which the launch before (`{race.launch.earlier.name}`) {did}: it may still run", (
        f"put griddepcontrol.wait (`cute.arch.griddepcontrol_wait()`) before {race.here}, or launch this kernel "
        "without use_pdl"
    )


# By `detail` of the fault: the message and the fix.
ILLEGAL = {context.BAD_INDEX: _bad_index}
