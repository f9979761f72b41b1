"""Faults of clusters, in words."""

from __future__ import annotations

from dsl.emulator.diagnosis import cluster_report
from dsl.emulator.machine import context


def _bad_rank(launch, instr):
    return cluster_report.no_block(launch, launch.ctx.address)


# By `detail` of the fault: the message and the fix.
ILLEGAL = {
    context.ARRIVED_TWICE: cluster_report.arrived_twice,
    context.NOT_ARRIVED: cluster_report.not_arrived,
    context.BAD_RANK: _bad_rank,
}
