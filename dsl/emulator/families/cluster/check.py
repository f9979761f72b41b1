"""The order of blocks of a cluster: their barrier; and how long the shared memory of one is there for the others.
PTX ISA 9.7.13.3.

barrier.cluster.arrive is a release and .wait an acquire; .arrive.relaxed gives only what a fence before it gave. An
access to a block's shared memory has to be ordered before the end of that block.
"""

from __future__ import annotations

from typing import Any

from dsl.emulator.check.clocks import Known
from dsl.emulator.check.numbers import scope
from dsl.emulator.families.cluster.starts import Own, Starts
from dsl.emulator.machine import context


class Barrier:
    """The barrier of the cluster that runs in some slots."""

    def __init__(self, block: int):
        self.block, self.phases = block, 0
        self.arrived, self.complete = Known(), Known()
        self.all_wait: set[int] = set()  # blocks all of whose threads waited as it was completed


class Visits:
    """The last access of each (block, thread) to the shared memory of the block in a slot: label, site, address."""

    def __init__(self, slot):
        self.last: dict[tuple[int, int], tuple[int, int, int]] = {}


class Met:
    """The last phase of the cluster's barrier that a thread of the block in a slot has waited for."""

    def __init__(self, slot):
        self.phase = 0


class Clusters:
    """The clusters of one launch, one after another in each ring of slots."""

    def __init__(self, order):
        self.order, self.starts = order, order.of(Starts)
        self.barriers: dict[int, Barrier] = {}  # by the address of the first block's slot

    def barrier(self, slot) -> Barrier:
        """That of the cluster of a slot."""
        leader = slot.ctx.leader
        block = context.Context.from_address(leader).block
        state = self.barriers.get(leader)
        if state is None or state.block != block:
            state = self.barriers[leader] = Barrier(block)
        return state

    def arrive(self, slot, thread: int, relaxed: int, _: int) -> None:
        state = self.barrier(slot)
        clocks, reach = slot.fences.get(thread, ({}, scope.ALL)) if relaxed else (slot.clock(thread), scope.ALL)
        state.arrived.add(slot.groups(min(reach, scope.CLUSTER)), clocks)
        slot.step(thread)

    def complete(self, slot, *_: int) -> None:
        """All have arrived: who waits is about to go on."""
        state = self.barrier(slot)
        state.complete, state.arrived = state.arrived, Known()
        state.phases += 1
        state.all_wait.clear()
        for member in self.order.members(slot):
            ctx, base = member.ctx, context.CLUSTER_BARRIER * context.MAX_WARPS
            running = (ctx.live[w] & ~ctx.exited[w] & ~ctx.at_barrier[base + w] for w in range(ctx.warps))
            if not any(running):
                state.all_wait.add(member.block)
                clocks = state.complete.seen_by(member.groups(scope.CLUSTER))
                member.learn_together({b: labels for b, labels in clocks.items() if b != member.block})

    def wait(self, slot, thread: int, *_: int) -> None:
        state = self.barrier(slot)
        clocks = state.complete.seen_by(slot.groups(scope.CLUSTER))
        if slot.block in state.all_wait:
            own = clocks.get(slot.block)
            clocks = {} if own is None else {slot.block: own}
        slot.learn(thread, clocks)
        self.starts.learn(slot, thread)
        slot.of(Met).phase = state.phases

    def next_phase(self, slot, thread: int) -> int:
        """The first phase of the barrier whose end shows, however relaxed, that the thread has come as far as now."""
        has_arrived = slot.ctx.at_cluster[thread // 32] >> thread % 32 & 1
        return self.barrier(slot).phases + 1 + has_arrived

    def visit(self, slot, thread: int, address: int, site: int) -> None:
        """A thread touches another block's shared memory: each last time is kept."""
        owner: Any = self.order.owner(slot, address)
        if owner is not None and owner is not slot:
            owner.of(Visits).last[slot.block, thread] = slot.label(thread), site, address
            self.starts.visit(slot, thread, address, site)

    @staticmethod
    def exit(slot, *_: int) -> None:
        """The block has ended: it has touched no block that may not have begun, and each access of others has to be one
        that some thread of it has seen the end of."""
        if slot.ctx.status:
            return
        if (early := slot.of(Own).early) is not None:
            slot.ctx.other_block = early.owner
            slot.report(context.NOT_STARTED, early.thread, early.address, early.site)
            return
        visits = slot.of(Visits).last
        if not visits:
            return
        clocks = slot.of_others()
        for (block, thread), (label, site, address) in visits.items():
            labels = clocks.get(block)
            if labels is None or labels[slot.threads + thread] < label:
                slot.ctx.other_block, slot.ctx.other_thread = block, thread
                slot.report(context.EXITED, thread, address, site, context.EARLY)
                return


def events(order) -> dict:
    """The handlers of a cluster for events of the order of a launch."""
    mine = order.of(Clusters)
    return {
        context.ORDER_CLUSTER_ARRIVE: mine.arrive,
        context.ORDER_CLUSTER_DONE: mine.complete,
        context.ORDER_CLUSTER_WAIT: mine.wait,
        context.ORDER_VISIT: mine.visit,
        context.ORDER_EXIT: mine.exit,
        context.ORDER_ACCESS: mine.starts.access,
    }
