"""Faults of cp.async, in words."""

from __future__ import annotations

from dsl.emulator.machine import context


def _bad_source_size(launch, instr):
    ctx = launch.ctx
    return f"cp.async of {ctx.access_bytes} bytes has src-size {ctx.address}", "src-size must not exceed cp-size"


# By `detail` of the fault: the message and the fix.
ILLEGAL = {context.BAD_SOURCE_SIZE: _bad_source_size}
