"""Faults of branches, in words."""

from __future__ import annotations

from dsl.emulator.machine import context


def _bad_index(launch, instr):
    return "the branch index is past the end of its list of targets", ""


# By `detail` of the fault: the message and the fix.
ILLEGAL = {context.BAD_INDEX: _bad_index}
