"""Faults of clusters, in words."""

from __future__ import annotations

from dsl.emulator.check.numbers import access
from dsl.emulator.diagnosis import cluster_report, places
from dsl.emulator.faults import Fault
from dsl.emulator.machine import context


def _bad_rank(launch, instr):
    return cluster_report.no_block(launch, launch.ctx.address)


def _early_exit(launch) -> Fault:
    """An access to another block's shared memory which that block does not wait for before it ends."""
    ctx = launch.ctx
    instr = launch.code.sites[ctx.site]
    verb = {"mbarrier": "arrives at"}.get(instr.opcode) or places.verb(instr, access.WRITE * (instr.opcode != "ld"))
    where = f"smem+0x{ctx.address - ctx.smem:x} of block {tuple(ctx.block_index)}"
    message = f"{verb} {where}, which may have exited: it does not wait for this"
    return places.of_one(
        launch, instr, "EXITED_BLOCK", message, ctx.other_block, cluster_report.keep_alive(launch, instr)
    )


FAULTS = {context.EXITED: _early_exit}
# By `detail` of the fault: the message and the fix.
ILLEGAL = {
    context.ARRIVED_TWICE: cluster_report.arrived_twice,
    context.NOT_ARRIVED: cluster_report.not_arrived,
    context.BAD_RANK: _bad_rank,
}
