"""An outcome of a launch as data: what memory holds, and an execution that gives it, by the author's lines."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from dsl.emulator import families
from dsl.emulator.diagnosis import frames
from dsl.emulator.execute.outcomes import Outcomes, Place
from dsl.emulator.machine import memory
from dsl.emulator.ptx.syntax import SIGNED, Instr, type_of
from dsl.emulator.ptx.traits import COPY, EXCHANGE
from dsl.memory_model import relation as rel
from dsl.memory_model.events import Event, Kind
from dsl.memory_model.outcomes import Outcome

_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}


class Executions:
    """The outcomes of one launch, told in the author's words."""

    def __init__(self, found: Outcomes):
        self.found, self.launch = found, found.launch
        self.allocations = self.launch.allocations
        self._steps: dict[int, list[dict[str, Any]]] = {}  # by identity of an outcome, which its owner keeps

    def final(self, outcome: Outcome) -> list[tuple[str, int]]:
        """The places that the outcome changed, by name, and what they hold, as bits."""
        rows = [
            (self.place(place), place, value) for place, value in outcome.final if self.found.initial(place) != value
        ]
        rows.sort(key=lambda row: (row[0].partition("[")[0], row[1]))
        return [(name, value) for name, _, value in rows]

    def place(self, place: Place) -> str:
        """A place as the author knows it: `name[element]`, or a byte of shared memory."""
        if place.block < -1:
            return f"what lane {place.address % 32} gives"
        if place.block >= 0:
            return f"shared byte {place.address} of block {place.block}"
        near = memory.nearest(self.allocations, place.address)
        if near is None or not 0 <= near[1] < near[0].size_bytes:
            return f"0x{place.address:x}"
        return f"{near[0].label}[{near[1] // place.size_bytes}]"

    def steps(self, outcome: Outcome) -> list[dict[str, Any]]:
        """The events that other threads see, in an order in which reads come after what they read where there is one.

        Each has its thread (block and thread, linear), what it `does`, the place and the value, the number of the step
        `read_from` (None: memory had it before), whether a later step's write is read (`early`), and the earlier step
        whose write is `unseen`.
        """
        if id(outcome) not in self._steps:
            self._steps[id(outcome)] = self._steps_of(outcome)
        return self._steps[id(outcome)]

    def _steps_of(self, outcome: Outcome) -> list[dict[str, Any]]:
        events = outcome.events
        order = [i for i in _in_order(outcome) if not self._is_implicit(events.events[i])]
        numbers = {event: number for number, event in enumerate(order)}
        rows = []
        for i in order:
            event, instr = events.events[i], self.found.sites[events.events[i].site]
            source = outcome.execution.reads_from[i] if event.kind == Kind.READ else -1
            from_step = numbers.get(source)
            rows.append(
                self._where(events.thread[i], event.site)
                | {
                    "does": _does(event),
                    "place": self.place(event.place) if isinstance(event.place, Place) else "",
                    "value": value_of(event, instr) if event.kind <= Kind.WRITE else "",
                    "read_from": from_step,
                    "early": from_step is not None and from_step > numbers[i],
                    "unseen": self._unseen(outcome, i, numbers),
                }
            )
        return rows

    def _is_implicit(self, event: Event) -> bool:
        """Whether it is the fence of a proxy with which a bulk copy ends."""
        return event.kind == Kind.FENCE and bool(self.found.sites[event.site].traits & COPY)

    def _where(self, thread: int, site: int) -> dict[str, Any]:
        """A thread, and the place of an instruction in the author's file, or else in the PTX."""
        instr = self.found.sites[site]
        place = frames.place_of(self.launch, instr)
        block, lane = divmod(thread, self.found.block_threads)
        return {
            "block": block,
            "thread": lane,
            "instruction": instr.name,
            "file": place.file if place else None,
            "line": place.line if place else instr.line,
            "code": place.source_line().strip() if place else instr.text,
        }

    def _unseen(self, outcome: Outcome, read: int, numbers: dict[int, int]) -> int | None:
        """The step that wrote the place before this read, and that it does not see; None."""
        events, execution = outcome.events, outcome.execution
        if events.events[read].kind != Kind.READ:
            return None
        later = execution.coherence[execution.reads_from[read]] & events.writes
        before = (numbers[i] for i in rel.bits(later) if i in numbers and numbers[i] < numbers[read])
        return max(before, default=None)

    def is_interleaving(self, outcome: Outcome) -> bool:
        """Whether some order of the accesses, one after another, gives the outcome."""
        return all(not step["early"] and step["unseen"] is None for step in self.steps(outcome))

    def stuck(self, outcome: Outcome) -> list[dict[str, Any]]:
        """The threads that wait for ever, with their lines."""
        return [self._where(thread, site) for thread, site in outcome.stuck]


def value_of(event: Event, instr: Instr) -> str:
    """The value of an access as a number of the instruction's type."""
    bits = 8 * event.place.size_bytes
    if event.is_counted or event.order == "begins":
        return families.named("traced", "word")[0](event.value)
    if instr.traits & (COPY | EXCHANGE):
        return "0x" + format(event.value, "x") if instr.traits & COPY else str(event.value)
    kind = type_of(instr)
    if kind in _FLOATS:
        return repr(struct.unpack(_FLOATS[kind], event.value.to_bytes(bits // 8, "little"))[0])
    if kind.startswith("bf"):
        return f"0x{event.value:x}"
    is_negative = kind in SIGNED and event.value >> bits - 1
    return str(event.value - (1 << bits) if is_negative else event.value)


def _does(event: Event) -> str:
    if event.kind == Kind.FENCE:
        return "fences"
    if event.kind == Kind.BARRIER:
        return "arrives" if event.order in ("arrive", "relaxed") else "waits"
    return "reads" if event.kind == Kind.READ else "writes"


def _in_order(outcome: Outcome) -> list[int]:
    """The events of all threads, each thread in program order; a read after the write it reads from, and before those
    that are coherence-after it, as far as that goes."""
    events = outcome.events
    waiting = {i for i in range(events.size) if events.started >> i & 1}
    done: list[int] = []

    def ready(i: int, strictly: bool) -> bool:
        if any(events.po[j] >> i & 1 for j in waiting if j != i):
            return False
        return not strictly or not any(j in waiting for j in _before(outcome, i))

    while waiting:
        first = next((i for i in sorted(waiting) if ready(i, True)), None)
        if first is None:
            first = next(i for i in sorted(waiting) if ready(i, False))
        waiting.discard(first)
        done.append(first)
    return done


def _before(outcome: Outcome, i: int) -> Iterator[int]:
    """The events that come before one in an order of memory."""
    events, execution = outcome.events, outcome.execution
    event = events.events[i]
    if event.kind == Kind.READ:
        yield execution.reads_from[i]
    if event.kind == Kind.WRITE:
        for j in rel.bits(events.same_place[i] & events.writes):
            if execution.coherence[j] >> i & 1:
                yield j
        for j in rel.bits(events.same_place[i] & events.reads):
            if j != i and execution.coherence[execution.reads_from[j]] >> i & 1:
                yield j
