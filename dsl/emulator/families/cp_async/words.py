"""Faults of cp.async, in words."""

from __future__ import annotations

from dsl.emulator.diagnosis import places, report
from dsl.emulator.families.cp_async.check import UnfencedCopies
from dsl.emulator.machine import context


def _bad_source_size(launch, instr):
    ctx = launch.ctx
    return f"cp.async of {ctx.access_bytes} bytes has src-size {ctx.address}", "src-size must not exceed cp-size"


def _warn_of_unfenced(launch) -> None:
    """Warn of copies that a tensor core reads with no fence after them."""
    one = launch.checks.order.of(UnfencedCopies).first
    copy, reader = launch.code.sites[one.copy], launch.code.sites[one.reader]
    text = (
        f"in `{launch.entry_name}` the {reader.name.partition('.cta_group')[0]} of "
        f"{places.thread_of(launch, one.block, one.thread)} reads by the async proxy what the cp.async at "
        f"{places.at(launch, copy, reader)} wrote by the generic proxy. PTX asks for fence.proxy.async.shared::cta "
        "between them: after the wait for the copies, before the barrier"
    )
    report.warn(launch, "CP_ASYNC_NOT_FENCED", reader, text)


WARNINGS = {"unfenced copy": _warn_of_unfenced}
# By `detail` of the fault: the message and the fix.
ILLEGAL = {context.BAD_SOURCE_SIZE: _bad_source_size}
