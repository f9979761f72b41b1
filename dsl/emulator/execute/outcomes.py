"""All outcomes of a launch of few threads that the PTX memory model allows. See dsl/memory_model.

Each thread runs alone, again and again, with other values for its reads; memory stays as it was before the launch.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dsl.emulator import families
from dsl.emulator.execute.launch import _check_shape, _Launch
from dsl.emulator.faults import Fault
from dsl.emulator.machine import context
from dsl.emulator.machine.memory import Memory
from dsl.emulator.machine.numbers import told
from dsl.emulator.ptx import traits
from dsl.emulator.ptx.syntax import Instr, Unsupported
from dsl.emulator.translate import traced
from dsl.memory_model.events import End, Event, Kind, Position, Trace
from dsl.memory_model.exploration import Choices, Recorded, explore
from dsl.memory_model.outcomes import Outcome, Search

MOST_THREADS = 16
MOST_READS = 60  # of a thread: a mark has a bit for each
_SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64
)


@dataclass(frozen=True, order=True)
class Place:
    """Bytes that a thread accesses: in global memory (block -1) a host address, else an offset in a block's memory."""

    block: int
    address: int
    size_bytes: int


@dataclass
class _Recording:
    """One run of one thread."""

    choices: Choices
    events: list[Event] = field(default_factory=list)
    own: list[tuple[int, ...]] = field(default_factory=list)
    heads: dict[int, int] = field(default_factory=dict)  # by line of a loop's reading instruction: events before
    visits: dict[int, int] = field(default_factory=dict)
    last: dict[Place, int] = field(default_factory=dict)
    reads: list[int] = field(default_factory=list)  # positions of its reads
    copied: dict[Place, list[int]] = field(default_factory=dict)  # by place that it copies to: all its values there
    groups: list[list[int]] = field(default_factory=lambda: [[]])  # positions of copies; the last group is open
    end: End = End.DONE
    polled: frozenset[int] = frozenset()
    fault: int = -1

    @property
    def result(self) -> Recorded:
        return Recorded(Trace(tuple(self.events), self.end, self.polled, self.fault), self.own)


class Outcomes:
    """The outcomes of one launch. `bound`: how often a thread comes by one instruction; `most`: how much is tried.

    Raises Unsupported for an instruction that the model does not have, ValueError for a launch of too many threads.
    """

    def __init__(
        self,
        program,
        entry_name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        params: list[bytes],
        memory: Memory,
        smem_bytes: int = 0,
        cluster: tuple[int, int, int] = (1, 1, 1),
        bound: int = 16,
        most: int | None = 20_000,
        gpu_of: Callable[[int], int] = lambda block: 0,
    ):
        _check_shape(program.entries[entry_name], grid, block, cluster, params, smem_bytes)
        self.threads = math.prod(grid) * math.prod(block)
        if self.threads > MOST_THREADS:
            raise ValueError(
                f"`{entry_name}` has {self.threads} threads; at most {MOST_THREADS} are explored. Launch it with fewer"
            )
        self.bound = bound
        self.block_threads = math.prod(block)
        self.launch = _Traced(self, program, entry_name, grid, block, cluster, params, memory, smem_bytes)
        self.sites: list[Instr] = self.launch.code.sites
        self.recordings: list[_Recording | None] = []
        self.failure: BaseException | None = None
        self.faults: list[Fault] = []
        self._initial: dict[Place, int] = {}
        clusters = [n // math.prod(cluster) for n in range(math.prod(grid))]
        self.positions = [
            Position(n // self.block_threads, clusters[n // self.block_threads], gpu_of(n // self.block_threads))
            for n in range(self.threads)
        ]
        self.traces, self.is_complete = explore(self.threads, self._run, most)
        self._refuse_overlaps()
        self.search = Search(self.traces, self.positions, self.initial, lambda place: place.block < 0, most)

    def __iter__(self) -> Iterator[Outcome]:
        """Raises the Fault of an execution that has one."""
        for outcome in self.search.outcomes():
            if outcome.fault >= 0:
                raise self.faults[outcome.fault]
            yield outcome
        self.is_complete &= self.search.is_complete

    def initial(self, place: Place) -> int:
        """The value that memory has before the launch; shared memory has 0xFF bytes, as in any launch here."""
        return self._initial[place]

    # ** runs

    def _run(self, choices: Sequence[Choices | None]) -> list[Recorded | None]:
        left = list(choices)
        failed: dict[int, Recorded] = {}
        while not self._have_run(left):
            ctx = self.launch.slot.ctx
            thread = ctx.block * self.block_threads + ctx.thread
            recording, left[thread] = self.recordings[thread], None
            assert recording is not None, "a thread that does not run has failed"
            recording.end, recording.fault = End.FAILED, len(self.faults) - 1
            failed[thread] = recording.result
        return [failed.get(n) if each is None else each.result for n, each in enumerate(self.recordings)]

    def _have_run(self, choices: Sequence[Choices | None]) -> bool:
        """Run these threads; False after a fault, which may be of reads that the model does not allow."""
        self.recordings = [None if each is None else _Recording(each) for each in choices]
        try:
            self.launch.once()
        except Fault as fault:
            self.faults.append(fault)
            return False
        if self.failure is not None:
            raise self.failure
        return True

    def told(self, address: int, what: int, thread: int, record: int, site: int) -> int:
        """From machine code: 1 ends the thread. Never raises."""
        if what < told.READ:  # of the machine itself: a block ends
            return 0
        try:
            ctx = context.Context.from_address(address)
            recording = self.recordings[ctx.block * self.block_threads + thread]
            if recording is None or recording.end != End.DONE:
                return 1
            fields = (ctypes.c_uint64 * told.FIELDS).from_address(record)
            return int(not self._tell(recording, ctx, what, thread, fields, site))
        except BaseException as error:
            self.failure = error
            return 1

    def _tell(self, recording: _Recording, ctx, what: int, thread: int, fields, site: int) -> bool:
        """Whether the thread goes on."""
        instr = self.sites[site]
        if what == told.START:
            return True
        if what == told.HEAD:
            recording.heads[instr.line] = len(recording.events)
            return True
        if what == told.ROUND:
            return self._round(recording, recording.heads[instr.line])
        recording.visits[site] = visits = recording.visits.get(site, 0) + 1
        if visits > self.bound or len(recording.reads) >= MOST_READS:
            recording.end = End.CUT
            return False
        if what == told.READ:
            self._read(recording, ctx, thread, fields, site)
        elif what == told.WRITE:
            self._write(recording, ctx, thread, fields, site)
        elif what == told.FENCE:
            self._fence(recording, site)
        elif what == told.COPY:
            self._copy(recording, ctx, thread, fields, site)
        elif what == told.COMMIT:
            recording.groups.append([])
        elif what == told.WAIT:
            self._wait(recording, fields[told.EXTRA])
        else:
            self._barrier(recording, thread, fields, site)
        return True

    def _round(self, recording: _Recording, start: int) -> bool:
        """A round of an idle loop is over: a thread that changed nothing may as well not have begun it."""
        events = recording.events[start:]
        reads = {i for i, event in enumerate(events, start) if event.kind == Kind.READ}
        for i, event in enumerate(events, start):
            if event.kind == Kind.WRITE and not (event.is_update and event.value == recording.events[i - 1].value):
                return True
        recording.end, recording.polled = End.WAITING, frozenset(reads)
        return False

    def _place(self, ctx, thread: int, address: int, size_bytes: int) -> Place | None:
        """None for local memory."""
        if ctx.smem <= address < ctx.smem + ctx.smem_bytes:
            place = Place(ctx.block, address - ctx.smem, size_bytes)
            self._initial[place] = (1 << 8 * size_bytes) - 1  # as launches here begin with
            return place
        if ctx.local and ctx.local <= address < ctx.local + ctx.local_bytes * ctx.threads:
            return None
        place = Place(-1, address, size_bytes)
        if place not in self._initial:
            self._initial[place] = int.from_bytes(ctypes.string_at(address, size_bytes), "little")
        return place

    def _needs(self, recording: _Recording, mask: int) -> frozenset[int]:
        return frozenset(i for n, i in enumerate(recording.reads) if mask >> n & 1)

    def _read(self, recording: _Recording, ctx, thread: int, fields, site: int) -> None:
        size_bytes = fields[told.SIZE]
        place = self._place(ctx, thread, fields[told.ADDRESS], size_bytes)
        if place is None:
            data = ctypes.string_at(fields[told.ADDRESS], size_bytes)
            fields[told.VALUE] = int.from_bytes(data, "little")
            fields[told.NEEDS] |= fields[told.EXTRA]
            return
        instr, number = self.sites[site], len(recording.reads)
        value = self._chosen(recording, place)
        order, scope = _strength(instr)
        order = {"acq_rel": "acquire", "release": "relaxed"}.get(order, order)
        needs, is_update = self._needs(recording, fields[told.NEEDS]), bool(instr.traits & traits.UPDATES)
        recording.reads.append(len(recording.events))
        recording.events.append(Event(Kind.READ, place, order, scope, value, needs, site, is_update))
        fields[told.VALUE], fields[told.NEEDS] = value, 1 << number

    def _chosen(self, recording: _Recording, place: Place) -> int:
        """The value of the next read, of this place."""
        number, own = len(recording.reads), recording.last.get(place, self._initial[place])
        recording.own.append((own, *(value for value in recording.copied.get(place, ()) if value != own)))
        return recording.choices[number] if number < len(recording.choices) else own

    def _copy(self, recording: _Recording, ctx, thread: int, fields, site: int) -> None:
        """A piece of cp.async: a read and a write that come at any time until the thread waits for them."""
        never, size_bytes, value = 1 << 30, fields[told.SIZE], 0
        needs = self._needs(recording, fields[told.NEEDS])
        source = self._place(ctx, thread, fields[told.EXTRA], size_bytes) if fields[told.EXTRA] else None
        if source is not None:
            value, read = self._chosen(recording, source), len(recording.events)
            recording.reads.append(read)
            recording.groups[-1].append(read)
            recording.events.append(Event(Kind.READ, source, value=value, needs=needs, site=site, until=never))
            needs |= {read}
        place = self._place(ctx, thread, fields[told.ADDRESS], size_bytes)
        assert place is not None, "cp.async writes shared memory"
        recording.copied.setdefault(place, [recording.last.get(place, self._initial[place])]).append(value)
        recording.groups[-1].append(len(recording.events))
        recording.events.append(Event(Kind.WRITE, place, value=value, needs=needs, site=site, until=never))

    def _wait(self, recording: _Recording, kept: int) -> None:
        """The thread waits for all groups but the last `kept` that are closed."""
        closed, now = recording.groups[:-1], len(recording.events)
        done = closed[: len(closed) - kept] if kept else closed
        for position in (position for group in done for position in group):
            event = recording.events[position] = replace(recording.events[position], until=now)
            if event.kind == Kind.WRITE:
                recording.last[event.place] = event.value
        recording.groups = recording.groups[len(done) :]

    def _write(self, recording: _Recording, ctx, thread: int, fields, site: int) -> None:
        if fields[told.EXTRA]:  # a compare-and-swap that found another value
            fields[told.NEEDS] = 0
            return
        size_bytes = fields[told.SIZE]
        place, value = self._place(ctx, thread, fields[told.ADDRESS], size_bytes), fields[told.VALUE]
        if place is None:
            ctypes.memmove(fields[told.ADDRESS], value.to_bytes(8, "little"), size_bytes)
            return
        mask, fields[told.NEEDS] = fields[told.NEEDS], 0
        instr = self.sites[site]
        order, scope = _strength(instr)
        order = {"acq_rel": "release", "acquire": "relaxed"}.get(order, order)
        needs, is_update = self._needs(recording, mask), bool(instr.traits & traits.UPDATES)
        recording.last[place] = value
        if place in recording.copied:
            recording.copied[place].append(value)
        recording.events.append(Event(Kind.WRITE, place, order, scope, value, needs, site, is_update))

    def _fence(self, recording: _Recording, site: int) -> None:
        instr = self.sites[site]
        if "proxy" in instr.mods or "mbarrier_init" in instr.mods:  # of accesses that the model does not have
            return
        order, scope = _strength(instr)
        recording.events.append(Event(Kind.FENCE, order=order, scope=scope, site=site))

    def _barrier(self, recording: _Recording, thread: int, fields, site: int) -> None:
        instr = self.sites[site]
        place: Any = fields[told.VALUE]
        threads = fields[told.EXTRA]
        if "warp" in instr.mods:
            first = thread // 32 * 32
            mask = place & (1 << min(32, self.block_threads - first)) - 1
            place, threads = ("warp", thread // 32, mask), mask.bit_count()
        how = "arrive" if "arrive" in instr.mods else "sync"
        recording.events.append(Event(Kind.BARRIER, place, how, threads=threads, site=site))

    def _refuse_overlaps(self) -> None:
        """Raise Unsupported for accesses of different bytes that overlap, where one is a write: the PTX ISA leaves open
        what a read then gives. (8.2.1)"""
        places: dict[Place, tuple[bool, int]] = {}
        for trace in (trace for row in self.traces for trace in row):
            for event in trace.events:
                if event.kind <= Kind.WRITE:
                    writes, site = places.get(event.place, (False, event.site))
                    places[event.place] = writes or event.kind == Kind.WRITE, site
        for one, other in itertools.combinations(sorted(places), 2):
            overlap = one.block == other.block and other.address < one.address + one.size_bytes
            if overlap and (places[one][0] or places[other][0]):
                instr = self.sites[places[other][1]]
                why = "its bytes overlap an access of another size"
                fix = "access each place with one size in all threads"
                raise Unsupported(instr.name, instr.line, self.launch.program.place_of(instr.loc), why, instr.text, fix)


def _strength(instr: Instr) -> tuple[str, str]:
    return families.named("traced", "strength")[0](instr)


class _Traced(_Launch):
    """A launch whose threads run alone, as often as it is asked."""

    def __init__(self, outcomes: Outcomes, program, entry_name, grid, block, cluster, params, memory, smem_bytes):
        self.outcomes = outcomes
        self._told = _SIGNATURE(outcomes.told)
        super().__init__(
            program, entry_name, grid, block, cluster, params, memory, smem_bytes, lambda text: None, 0,
            checks=tuple(sorted(traced.Traced.checks)),
        )  # fmt: skip
        self.cluster_blocks, self.units = 1, self.blocks

    def once(self) -> None:
        """One run."""
        if self.slots:
            self.slots[0].prepare(self)
            self.attach(self.slots[0])
        else:
            self.add_slot()
        self.shared.next_block, self.shared.first_fault = 0, context.NO_FAULT
        self.run_blocks(self.slots[0])

    def _attached_checks(self) -> Any:
        return self

    # as the checkers of a launch

    def attach(self, slot) -> None:
        """Let machine code call Python."""
        slot.ctx.order_call = ctypes.cast(self._told, ctypes.c_void_p).value

    def passed_on(self) -> None:
        """Nothing is checked."""

    def warnings(self) -> Iterator:
        """None."""
        return iter(())
