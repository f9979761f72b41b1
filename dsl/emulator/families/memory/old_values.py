"""Values that a strong load may still read after a later one was written: a polled flag is seen step by step.

PTX ISA 8.10 (coherence, causality): a load may read any write that it does not know to be overwritten. Threads run in
one order here, so a load that waits for a flag would mostly see the last write, and with it learn of all before it. So
a load that a loop polls with, or that is an acquire, reads in a checked run each value that it may still read once,
from the oldest on. A count that is one too low, or a flag that is looked at once, is found in every run: the access
after it has no order.

A thread knows that a value is overwritten if it has seen the end of what the writer did then (clocks, also of execution
alone), has itself read or written a later value, has seen a thread that has, or has run a fence.sc since. A lane sees
what lanes of the same warp have written by then: NVIDIA's cooperative groups let one lane arrive, and all lanes poll.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import NamedTuple

from dsl.emulator.check import order as events
from dsl.emulator.check.clocks import Known
from dsl.emulator.check.numbers import access
from dsl.emulator.machine import context
from dsl.emulator.ptx.syntax import Instr, Vec

MOST_VALUES = 32  # of a place; the oldest is forgotten first
MOST_READS = 128  # of one old value by a loop that counts its looks
SIZE_MASK = 0xFF
Who = tuple[int, int]  # the block and number of a thread


@dataclass(slots=True)
class Value:
    """A value of a place: the clocks that a reader learns, at an acquire and at its next fence.sc; who wrote it, with
    its label and the number of the write. `bits` are known once the next one is written."""

    known: Known
    fences: Known
    writer: Who
    label: int
    number: int
    bits: int = 0


class Old(NamedTuple):
    """A load that read an old value: its site and its place, and the value."""

    site: int
    place: Place
    value: Value

    @property
    def comes_again(self) -> bool:
        """Whether a later write left the same value; nobody knows the bits of the last one."""
        return any(each.bits == self.value.bits for each in self.place.values[:-1] if each.number > self.value.number)

    def hides(self, block: int, thread: int) -> bool:
        """Whether a later value makes more known of what a thread did."""
        known = [each.known.most_of(block, thread) for each in self.place.values if each.number > self.value.number]
        return max(known, default=0) > self.value.known.most_of(block, thread)


class Seen:
    """How far a thread has seen others come, as it is now."""

    def __init__(self, slot, thread: int) -> None:
        self.slot, self.thread = slot, thread
        self._labels: dict[int, list[int]] = {}

    def has_come(self, block: int, other: int, label: int) -> bool:
        """Whether another thread had come so far."""
        if block not in self._labels:
            mine = block == self.slot.block
            labels = self.slot.seen(self.thread) if mine else self.slot.abroad(self.thread).labels(block)
            self._labels[block] = [] if labels is None else labels[self.slot.threads :].tolist()
        labels = self._labels[block]
        return bool(labels) and labels[other] >= label


class Place:
    """The values of some bytes, the last one in memory."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.values = [Value(Known(), Known(), (-1, -1), 0, 0)]
        self.last_read: dict[Who, int] = {}  # by thread: the number of the value that it read last
        # by number and block: each thread that read it, and the first label at which it did
        self.readers: dict[int, dict[int, list[tuple[int, int]]]] = {}
        self.times: dict[Who, int] = {}  # by thread: how often it has read the last of these

    def reads(self, who: Who, label: int, number: int) -> None:
        """A thread has read or written a value."""
        if self.last_read.get(who) != number:
            self.last_read[who] = number
            self.readers.setdefault(number, {}).setdefault(who[0], []).append((who[1], label))

    def add(self, value: Value) -> None:
        """A value is written; one that is too old to be read is forgotten."""
        self.values.append(value)
        del self.values[:-MOST_VALUES]
        for number in [each for each in self.readers if each < self.values[0].number]:
            del self.readers[number]


class OldValues:
    """The values of the places of one launch that strong writes change."""

    def __init__(self, order) -> None:
        self.order = order
        self.last: dict[Who, Old] = {}  # by thread: the last load that read an old value
        self.places: dict[tuple, Place] = {}
        self.count = 0
        self.fenced: dict[Who, int] = {}  # by thread: how many writes there were at its last fence.sc

    def written(self, slot, thread: int, address: int, how: int) -> None:
        """A strong write, before it is made and after its reader's clocks are known."""
        if not how & events.WRITES:
            return
        key, size = self.order.key(slot, address), how >> events.SIZE_SHIFT & SIZE_MASK
        place = self.places.get(key)
        if place is None or place.size_bytes != size:
            place = self.places[key] = Place(size)
        place.values[-1].bits = int.from_bytes(ctypes.string_at(address, size), "little")
        self.count += 1
        known = self.order.places[key].known.copy()
        label = slot.label(thread)
        fences = self.order.sc_fences.written(key)
        place.add(Value(known, fences, (slot.block, thread), label, self.count))
        place.reads((slot.block, thread), label, self.count)

    def fence(self, slot, thread: int, _: int, is_sc: int) -> None:
        if is_sc:
            self.fenced[slot.block, thread] = self.count

    def look(self, slot, thread: int, address: int, how: int) -> int:
        """A strong load, before it is made; 1 where it is to read `ctx.old_value`."""
        place = self.places.get(self.order.key(slot, address))
        if place is None or place.size_bytes != how >> events.SIZE_SHIFT & SIZE_MASK:
            return 0
        who, last = (slot.block, thread), place.values[-1]
        mine = place.last_read.get(who)
        again = place.times.get(who, 0) < (MOST_READS if how & events.COUNTED else 1)
        least = 0 if mine is None else mine if again else mine + 1
        value = last if least >= last.number else self._oldest(place, slot, thread, least)
        place.times[who] = 1 if mine != value.number else place.times.get(who, 0) + 1
        place.reads(who, slot.label(thread), value.number)
        if value is last:
            self.last.pop(who, None)
            return 0
        self._learn(value, slot, thread, how)
        self.last[who] = Old(how >> events.SITE_SHIFT, place, value)
        slot.ctx.old_value = value.bits
        return 1

    def _oldest(self, place: Place, slot, thread: int, least: int) -> Value:
        """The oldest value from number `least` on that a thread may still read."""
        fenced, seen = self.fenced.get((slot.block, thread), 0), Seen(slot, thread)
        for number in sorted((each for each in place.readers if each > least), reverse=True):
            if any(seen.has_come(block, *each) for block, rows in place.readers[number].items() for each in rows):
                least = number
                break
        for value in reversed(place.values[1:]):
            if value.number <= least:
                break
            block, other = value.writer
            is_near = block == slot.block and other >> 5 == thread >> 5
            if is_near or value.number <= fenced or seen.has_come(block, other, value.label):
                least = value.number
                break
        return next((each for each in place.values if each.number >= least), place.values[-1])

    def _learn(self, value: Value, slot, thread: int, how: int) -> None:
        groups = slot.groups(how >> events.SCOPE_SHIFT & events.SCOPE_MASK)
        if how & events.ACQUIRES:
            slot.learn(thread, value.known.seen_by(groups))
        else:
            slot.pending.setdefault(thread, Known()).take(value.known, groups)
        self.order.sc_fences.read(slot, thread, value.fences)


def how(body, instr: Instr, kind: int) -> int | None:
    """More bits of ORDER_OLD about a strong load that reads old values: an acquire, or one that a loop polls with. None
    for others: lanes that exchange values by volatile accesses do not wait for them."""
    if instr.opcode != "ld" or not kind & access.STRONG or isinstance(instr.operands[0], Vec) or "b128" in instr.mods:
        return None
    around = [each for each in body.polls.values() if body.position in each.positions]
    waits = any(each.idle for each in around)
    if not waits and "acquire" not in instr.mods and not (around and "relaxed" in instr.mods):
        return None
    counts = around and not waits
    return body.site(instr) << events.SITE_SHIFT | events.COUNTED * bool(counts)


def rows(order) -> dict:
    """The handlers for events of the order of a launch."""
    mine = order.of(OldValues)
    return {
        context.ORDER_ACCESS: lambda *event: mine.written(*event),
        context.ORDER_OLD: mine.look,
        context.ORDER_FENCE: lambda *event: mine.fence(*event),
    }
