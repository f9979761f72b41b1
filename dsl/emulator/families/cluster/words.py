"""Faults of clusters, in words."""

from __future__ import annotations

from dsl.emulator.check.numbers import access
from dsl.emulator.diagnosis import cluster_report, places
from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Fix
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


def _not_started(launch) -> Fault:
    """An access to another block's shared memory, where nothing shows that the block has begun."""
    ctx = launch.ctx
    instr = launch.code.sites[ctx.site]
    verb = places.verb(instr, access.WRITE * (instr.opcode != "ld"))
    message = f"{verb} {places.place_of(launch, ctx.address, 1)}, which may not have begun: nothing shows that it has"
    fix = (
        "let the blocks meet before the first access to another one's shared memory: barrier.cluster.arrive and .wait "
        "(cute.arch.cluster_arrive and cluster_wait)"
    )
    edit = propose.right_before(launch, "barrier of the cluster", instr)
    return places.of_one(launch, instr, "BLOCK_NOT_STARTED", message, ctx.block, Fix(fix, edit))


FAULTS = {context.EXITED: _early_exit, context.NOT_STARTED: _not_started}
# By `detail` of the fault: the message and the fix.
ILLEGAL = {
    context.ARRIVED_TWICE: cluster_report.arrived_twice,
    context.NOT_ARRIVED: cluster_report.not_arrived,
    context.BAD_RANK: _bad_rank,
}
