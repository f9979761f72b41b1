"""The positions of the warps of a launch when it was stopped, by the author's line."""

from __future__ import annotations

from collections import defaultdict

from dsl.emulator.diagnosis import cluster_report, frames
from dsl.emulator.diagnosis.ranges import ranges
from dsl.emulator.machine import context
from dsl.span import Span, short

MOST_BLOCKS = 4  # told of, the lowest first


def text(launch) -> str:
    """The position of each warp of the blocks that had begun; "" if none had."""
    stopped = [slot for slot in launch.slots if slot.ctx.status == context.INTERRUPTED]
    if not stopped:
        return ""
    for cluster in launch.clusters:  # the others of a cluster wait for the one that ran
        if any(slot in stopped for slot in cluster.slots):
            stopped += [slot for slot in cluster.slots if not slot.ctx.status and not cluster_report.is_gone(slot)]
    stopped.sort(key=lambda slot: slot.ctx.block)
    place = next(filter(None, (_place_of(launch, slot.ctx.stopped_site) for slot in stopped)), None)
    blocks = f"{launch.blocks} block{'s' * (launch.blocks > 1)}"
    said = f"`{launch.entry_name}` was stopped: {blocks} of {launch.threads} threads"
    lines = (
        [f"{short(place.file)}:{place.line}:{place.column}: STOPPED", *place.underlined(said).split("\n")]
        if place
        else [said]
    )
    for slot in stopped[:MOST_BLOCKS]:
        launch.slot = slot
        lines += _block(launch)
    if len(stopped) > MOST_BLOCKS:
        lines.append(f"    and {len(stopped) - MOST_BLOCKS} more blocks that were running")
    return "\n".join(lines)


def _place_of(launch, site: int) -> Span | None:
    return frames.place_of(launch, launch.code.sites[site - 1]) if site else None


def _at(launch, site: int) -> str:
    instr = launch.code.sites[site]
    place = frames.place_of(launch, instr)
    where = f"{short(place.file)}:{place.line}, " if place else ""
    return f"{where}PTX line {instr.line}: {instr.text}"


def _block(launch) -> list[str]:
    ctx = launch.ctx
    lines = [f"    block {tuple(ctx.block_index)}:"]
    if not launch.code.meets:
        who = ranges(list(range(ctx.threads)))
        if not ctx.stopped_site:
            return [*lines, f"        {who}: running"]
        if ctx.stopped_thread != context.ALL_THREADS:
            who = ranges([ctx.stopped_thread])
        return [*lines, f"        {who}: in the loop at {_at(launch, ctx.stopped_site - 1)}"]
    running = [ctx.stopped_thread] if ctx.stopped_site else []
    if running:
        lines.append(f"        {ranges(running)}: in the loop at {_at(launch, ctx.stopped_site - 1)}")
    waiting: dict[int, list[int]] = defaultdict(list)
    for thread in sorted({*launch.lanes("in_warp"), *launch.lanes("in_barrier")} - set(running)):
        waiting[ctx.wait_site[thread]].append(thread)
    for site, threads in waiting.items():
        lines.append(f"        {ranges(threads)}: waiting at {_at(launch, site)}")
    for name, what in (("ready", "ready to run"), ("exited", "ended")):
        threads = [each for each in launch.lanes(name) if each not in running]
        if threads:
            lines.append(f"        {ranges(threads)}: {what}")
    return lines if lines[1:] else [*lines, "        not begun"]
