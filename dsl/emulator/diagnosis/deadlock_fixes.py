"""Fixes for threads that wait for each other: at an operation of a warp, at barriers, at the cluster's barrier.

A group is a key, (kind, site, ...) as fault_report.py makes it, and its threads.
"""

from __future__ import annotations

import functools

from dsl.emulator import families
from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.diagnosis.places import line_of
from dsl.emulator.diagnosis.ranges import ranges
from dsl.emulator.machine import context
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.ptx.traits import BARRIER, CLUSTER

_ALL_LANES = 0xFFFFFFFF


def of_warps(launch, groups: dict[tuple, list[int]]) -> str | None:
    """An operation of a warp, or of a warpgroup, that not all of its threads come to."""
    for key, threads in groups.items():
        instr: Instr = launch.code.sites[key[1]]
        at = line_of(launch, instr)
        if key[0] == "warpgroup":
            return (
                f"let all 128 threads of warpgroup {key[2]} come to {at}: `{_name(instr)}` is an operation of the "
                "whole warpgroup; ask for the warpgroup in the condition around it"
            )
        if key[0] != "warp":
            continue
        lanes, mask = {each % 32 for each in threads}, key[3]
        same = [other for other in groups if other[0] == "warp" and other[1:3] == key[1:3] and other != key]
        if any(other[3] & mask for other in same):
            its = next(other[3] for other in same if other[3] & mask)
            masks = f"0x{mask:08x} for some, 0x{its:08x} for others"
            return f"give all lanes that meet at {at} one mask: it is {masks}"
        come = sum(1 << lane for lane in lanes)
        if not mask & ~come:
            continue
        if mask != _ALL_LANES:
            absent = ranges([32 * key[2] + lane for lane in range(32) if mask & ~come & 1 << lane])
            return (
                f"let {absent} come to {at} too: the mask of `{_name(instr)}` there, 0x{mask:08x}, names "
                f"{'them' if (mask & ~come).bit_count() > 1 else 'it'}; or name the lanes that come, 0x{come:x}"
            )
        who = ranges(threads).removeprefix(f"warp {key[2]} ")
        text = (
            f"let all lanes of warp {key[2]} come to {at}: `{_name(instr)}` is an operation of the warp, and only "
            f"{who} {'get' if len(lanes) > 1 else 'gets'} there; ask for the warp in the condition around it "
            f"(`if warp == {key[2]}`), not for some of its lanes"
        )
        if instr.opcode in _without_mask():
            return text
        return f"{text}; or name the lanes that come in its mask, 0x{come:x}"
    return None


@functools.cache
def _without_mask() -> frozenset[str]:
    """The operations of a warp whose mask authors do not write."""
    return frozenset().union(*families.named("words", "WITHOUT_MASK"))


def of_grid(launch) -> tuple[str, str] | None:
    """The barrier of a cooperative launch that not all of its blocks come to: what is missing, and the fix."""
    came = launch.workspace.arrived(launch.blocks) if launch.workspace else 0
    if not 0 < came < launch.blocks:
        return None
    return (
        f"{came} of {launch.blocks} blocks have come to the barrier of the grid",
        "let all threads of every block come to each sync of the grid, also those that have nothing to do or end early",
    )


def of_barriers(launch, groups: dict[tuple, list[int]], exited: list[int]) -> str | None:
    """Barriers of a block that threads wait at, and others do not come to."""
    ctx = launch.ctx
    barriers = {key: threads for key, threads in groups.items() if key[0] == "block"}
    for key, threads in barriers.items():
        if key[2] == context.CLUSTER_BARRIER:
            return (
                "let all threads of all blocks of the cluster arrive at its barrier (barrier.cluster.arrive, "
                "cute.arch.cluster_arrive), also those that have nothing to do or end early"
            )
        at, number = line_of(launch, launch.code.sites[key[1]]), key[2]
        others = [other for other in barriers if other[2] != number]
        if others:
            there = line_of(launch, launch.code.sites[others[0][1]])
            if _arrives(launch.code.sites):
                return (
                    f"let somebody arrive first (bar.arrive) at barrier {number} or {others[0][2]}: {ranges(threads)} "
                    f"wait at barrier {number} ({at}), {ranges(barriers[others[0]])} at barrier {others[0][2]} "
                    f"({there}), and each arrives for the other only after its wait"
                )
            return (
                f"let both meet at one barrier: {ranges(threads)} wait at barrier {number} ({at}), "
                f"{ranges(barriers[others[0]])} at barrier {others[0][2]} ({there})"
            )
        count = ctx.barrier_count[number]
        if not count:
            continue
        present = {t for other, ts in barriers.items() for t in ts if other[2] == number}
        come = 32 * len({t // 32 for t in present})
        text = f"let barrier {number} at {at} count the {come} threads that come, not {count}"
        edit = propose.number(launch, launch.code.sites[key[1]], count, come) if len(barriers) == 1 else None
        left = 32 * len({t // 32 for t in exited} - {t // 32 for t in present})
        if left and come + left >= count:
            text += f"; or let {ranges(exited)}, which left, come to it first"
        elif ctx.threads >= count:
            text += f"; or let {count - come} threads more come to it"
        return Fix(text, edit)
    return None


def _arrives(sites: list[Instr]) -> bool:
    """Whether some thread arrives at a named barrier without a wait."""
    return any(each.traits & (BARRIER | CLUSTER) == BARRIER and "arrive" in each.mods for each in sites)


def _name(instr: Instr) -> str:
    return ".".join((instr.opcode, *instr.mods[:1]))
