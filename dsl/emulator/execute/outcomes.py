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
from dsl.memory_model import relation as rel
from dsl.memory_model.events import End, Event, Kind, Position, Proxy, Trace
from dsl.memory_model.execution import Events
from dsl.memory_model.exploration import Choices, Recorded, explore
from dsl.memory_model.outcomes import Outcome, Search

MOST_THREADS = 16
MOST_READS = 60  # of a thread: a mark has a bit for each
_SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64
)


_REMOTE = 1 << 32  # an address below it that an instruction on shared::cluster has names a block and a place in it
_NEVER = 1 << 30  # after all events of a thread
_ABSENT = 1 << 64  # no value: what a lane gives in an exchange that it has not come to


@dataclass(frozen=True, order=True)
class Place:
    """Bytes that a thread accesses: in global memory (block -1) a host address, else an offset in a block's memory.
    The value that a lane gives in an exchange has a place too: block -2 - n for the n-th warp of the launch."""

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
    copied: dict[Place, list[int]] = field(default_factory=dict)  # by place: what its copies may have left there
    groups: list[list[int]] = field(default_factory=lambda: [[]])  # positions of copies; the last group is open
    bulk_groups: list[list[int]] = field(default_factory=lambda: [[]])
    flight: list[int] = field(default_factory=list)  # positions of the bulk copy that is being told
    met: dict[int, int] = field(default_factory=dict)  # by mask: how many exchanges before, less 1
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
        _check_shape(program.entries[entry_name], grid, block, cluster, params, smem_bytes, program.limits)
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
        self.faults: list[Fault | Unsupported] = []
        self._initial: dict[Place, int] = {}
        self._most_meetings = bound * len(self.sites) + 1  # of a thread
        self.ranks: dict[tuple, int] = {}  # by cluster and rank in it: the block
        clusters = []
        for number, at in enumerate(itertools.product(*map(range, reversed(grid)))):
            parts = [divmod(where, size) for where, size in zip(reversed(at), cluster)]
            clusters.append(tuple(whole for whole, _ in parts))
            (_, x), (_, y), (_, z) = parts
            self.ranks[clusters[-1], (z * cluster[1] + y) * cluster[0] + x] = number
        self.positions = [
            Position(n // self.block_threads, clusters[n // self.block_threads], gpu_of(n // self.block_threads))
            for n in range(self.threads)
        ]
        self.traces, self.is_complete = explore(self.threads, self._run, most, self._is_possible)
        self._refuse_overlaps()
        self.search = Search(self.traces, self.positions, self.initial, lambda place: place.block == -1, most)

    def __iter__(self) -> Iterator[Outcome]:
        """Raises the Fault of an execution that has one, Unsupported where it comes to what the ISA leaves open."""
        for outcome in self.search.outcomes():
            if outcome.fault >= 0:
                raise self.faults[outcome.fault]
            yield outcome
        self.is_complete &= self.search.is_complete

    def initial(self, place: Place) -> int:
        """The value that memory has before the launch; shared memory has 0xFF bytes, as in any launch here."""
        return self._initial[place]

    def _is_possible(self, thread: int, own: tuple[Event, ...], open_ones: set[int]) -> bool:
        """Whether the axioms allow a thread to come so far, whatever others do: see Explorer."""
        places = {event.place for event in own if event.kind <= Kind.WRITE}
        initial = {place: self._initial[place] for place in places}
        events = Events.of_one(own, self.positions[thread], open_ones, initial)
        return any(True for _ in events.allowed(rel.empty(events.size)))

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
        if visits > self.bound or len(recording.reads) + _reads_of(what, fields) > MOST_READS:
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
        elif what == told.BULK:
            self._bulk(recording, ctx, thread, fields, site)
        elif what in (told.LATE_READ, told.LATE_WRITE):
            self._late(recording, ctx, what == told.LATE_READ, fields, site)
        elif what == told.MEET:
            return self._meet(recording, ctx, thread, fields, site)
        elif what == told.COMMIT:
            (recording.bulk_groups if instr.traits & traits.BULK else recording.groups).append([])
        elif what == told.WAIT and instr.traits & traits.BULK:
            self._wait_for_bulk(recording, fields[told.EXTRA], "read" in instr.mods, site)
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

    def _place(self, ctx, address: int, size_bytes: int, site: int, is_source: bool = False) -> Place | None:
        """None for local memory. `is_source`: of a copy, which reads its own block's shared memory or global memory."""
        if address < _REMOTE and not is_source and "shared::cluster" in self.sites[site].name:
            return self._place_of_another(ctx, address, size_bytes, site)
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

    def _place_of_another(self, ctx, address: int, size_bytes: int, site: int) -> Place:
        """The place of an address in shared::cluster that names a block."""
        rank, offset = (address >> context.RANK_SHIFT) - 1, address & (1 << context.RANK_SHIFT) - 1
        block = self.ranks.get((self.positions[ctx.block * self.block_threads].cluster, rank))
        if block is None or offset + size_bytes > ctx.smem_bytes or offset % size_bytes:
            fix = "use the rank of a block of the cluster, and an aligned address in its shared memory"
            raise self._refusal(self.sites[site], f"there is no such place in the shared memory of rank {rank}", fix)
        place = Place(block, offset, size_bytes)
        self._initial[place] = (1 << 8 * size_bytes) - 1
        return place

    def _refusal(self, instr: Instr, why: str, fix: str) -> Unsupported:
        return Unsupported(instr.name, instr.line, self.launch.program.place_of(instr.loc), why, instr.text, fix)

    def _needs(self, recording: _Recording, mask: int) -> frozenset[int]:
        return frozenset(i for n, i in enumerate(recording.reads) if mask >> n & 1)

    def _read(self, recording: _Recording, ctx, thread: int, fields, site: int) -> None:
        size_bytes = fields[told.SIZE]
        place = self._place(ctx, fields[told.ADDRESS], size_bytes, site)
        if place is None:
            data = ctypes.string_at(fields[told.ADDRESS], size_bytes)
            fields[told.VALUE] = int.from_bytes(data, "little")
            fields[told.NEEDS] |= fields[told.EXTRA]
            return
        instr, number = self.sites[site], len(recording.reads)
        value = self._chosen(recording, place)
        order, scope = _strength(instr)
        order = {"acq_rel": "acquire", "release": "relaxed"}.get(order, order)
        needs, is_update = self._needs(recording, fields[told.NEEDS]), _is_update(instr)
        event = Event(
            Kind.READ, place, order, scope, value, needs, site, is_update, region=_region(place),
            is_counted=_is_of_mbarrier(instr),
        )  # fmt: skip
        if instr.traits & traits.ASYNCHRONOUS:  # it signals the mbarrier once its accesses are complete
            if instr.traits & traits.MBARRIER:
                recording.flight = [i for group in recording.groups for i in group]
            now = len(recording.events)
            for i in recording.flight:
                recording.events[i] = replace(recording.events[i], then=(*recording.events[i].then, now, now + 1))
            recording.flight = []
            if instr.traits & traits.BULK:  # an implicit fence of the proxy comes first
                how = {"site": site, "until": _NEVER, "then": (now + 1, now + 2)}
                recording.events.append(Event(Kind.FENCE, order="proxy", proxy=Proxy.ASYNC, **how))
            event = replace(event, until=_NEVER, then=(len(recording.events) + 1,))
        recording.reads.append(len(recording.events))
        recording.events.append(event)
        fields[told.VALUE], fields[told.NEEDS] = value, 1 << number

    def _chosen(self, recording: _Recording, place: Place, *more: int) -> int:
        """The value of the next read, of this place; `more`: what it may see besides."""
        number, own = len(recording.reads), recording.last.get(place, self._initial[place])
        others = dict.fromkeys((*recording.copied.get(place, ()), *more))
        recording.own.append((own, *(value for value in others if value != own)))
        return recording.choices[number] if number < len(recording.choices) else own

    def _copy(self, recording: _Recording, ctx, thread: int, fields, site: int) -> None:
        """A piece of cp.async: a read and a write that come at any time until the thread waits for them."""
        size_bytes, value = fields[told.SIZE], 0
        needs = self._needs(recording, fields[told.NEEDS])
        source = self._place(ctx, fields[told.EXTRA], size_bytes, site, True) if fields[told.EXTRA] else None
        if source is not None:
            value, read = self._chosen(recording, source), len(recording.events)
            recording.reads.append(read)
            recording.groups[-1].append(read)
            recording.events.append(Event(Kind.READ, source, value=value, needs=needs, site=site, until=_NEVER))
            needs |= {read}
        place = self._place(ctx, fields[told.ADDRESS], size_bytes, site)
        assert place is not None, "cp.async writes shared memory"
        recording.copied.setdefault(place, []).append(value)
        recording.groups[-1].append(len(recording.events))
        recording.events.append(Event(Kind.WRITE, place, value=value, needs=needs, site=site, until=_NEVER))

    def _wait(self, recording: _Recording, kept: int) -> None:
        """The thread waits for all groups but the last `kept` that are closed."""
        closed, now = recording.groups[:-1], len(recording.events)
        done = closed[: len(closed) - kept] if kept else closed
        for position in (position for group in done for position in group):
            event = recording.events[position] = replace(recording.events[position], until=now)
            if event.kind == Kind.WRITE:
                recording.copied[event.place].append(recording.last.get(event.place, self._initial[event.place]))
                recording.last[event.place] = event.value
        recording.groups = recording.groups[len(done) :]

    def _bulk(self, recording: _Recording, ctx, thread: int, fields, site: int) -> None:
        """The accesses of a bulk copy, in pieces: by the async proxy, at any time until something ends the copy."""
        needs, piece = self._needs(recording, fields[told.NEEDS]), fields[told.VALUE]
        flight: list[int] = []
        for offset in range(0, fields[told.SIZE], piece):
            source = self._place(ctx, fields[told.EXTRA] + offset, piece, site, True)
            target = self._place(ctx, fields[told.ADDRESS] + offset, piece, site)
            assert source is not None, "a bulk copy reads no local memory"
            assert target is not None, "a bulk copy writes no local memory"
            value, read = self._chosen(recording, source, self._initial[source]), len(recording.events)
            recording.copied.setdefault(target, []).append(value)
            recording.reads.append(read)
            flight += [read, read + 1]
            how = {"site": site, "until": _NEVER, "proxy": Proxy.ASYNC, "value": value}
            recording.events += [
                Event(Kind.READ, source, needs=needs, region=_region(source), then=(read + 1,), **how),
                Event(Kind.WRITE, target, needs=needs | {read}, region=_region(target), **how),
            ]
        if "bulk_group" in self.sites[site].mods:
            recording.bulk_groups[-1] += flight
        else:
            recording.flight = flight

    def _late(self, recording: _Recording, ctx, is_read: bool, fields, site: int) -> None:
        """An access of an asynchronous store, weak, or of an asynchronous reduction, relaxed in the cluster."""
        place, now = self._place(ctx, fields[told.ADDRESS], fields[told.SIZE], site), len(recording.events)
        assert place is not None, "it writes no local memory"
        is_update = bool(self.sites[site].traits & traits.UPDATES)
        how = {"needs": self._needs(recording, fields[told.NEEDS]), "site": site, "is_update": is_update}
        how |= {"order": "relaxed" if is_update else "weak", "scope": "cluster", "until": _NEVER, "region": "shared"}
        recording.flight.append(now)
        if is_read:
            fields[told.VALUE], fields[told.NEEDS] = self._chosen(recording, place), 1 << len(recording.reads)
            recording.reads.append(now)
            recording.events.append(Event(Kind.READ, place, value=fields[told.VALUE], then=(now + 1,), **how))
            return
        recording.copied.setdefault(place, []).append(fields[told.VALUE])
        recording.events.append(Event(Kind.WRITE, place, value=fields[told.VALUE], **how))

    def _wait_for_bulk(self, recording: _Recording, kept: int, only_reads: bool, site: int) -> None:
        """The thread waits for its groups of bulk copies but the last `kept`. A fence of the proxy follows."""
        closed, now = recording.bulk_groups[:-1], len(recording.events)
        for position in (position for group in closed[: max(len(closed) - kept, 0)] for position in group):
            event = recording.events[position]
            if event.until == _NEVER and (event.kind == Kind.READ or not only_reads):
                recording.events[position] = replace(event, until=now)
        recording.events.append(Event(Kind.FENCE, order="proxy", proxy=Proxy.ASYNC, site=site))

    def _meet(self, recording: _Recording, ctx, thread: int, fields, site: int) -> bool:
        """A lane gives its value to the others of its mask, and reads the ones that it asks for; whether it goes on."""
        instr, warp, lane = self.sites[site], thread // 32, thread % 32
        here = (1 << min(32, self.block_threads - 32 * warp)) - 1
        mask, asked = fields[told.ADDRESS] & here, fields[told.EXTRA]
        if not mask >> lane & 1:
            fix = "let the mask have the lane that executes it"
            raise self._refusal(instr, f"lane {lane} is not in its mask", fix)
        number = recording.met[mask] = recording.met.get(mask, -1) + 1
        warp_number = -2 - (ctx.block * -(-self.block_threads // 32) + warp)

        def place_of(which: int) -> Place:
            place = Place(warp_number, (mask * self._most_meetings + number) * 32 + which, 8)
            self._initial[place] = _ABSENT
            return place

        own, needs = place_of(lane), self._needs(recording, fields[told.NEEDS])
        recording.last[own] = fields[told.VALUE]
        recording.events += [
            Event(Kind.WRITE, own, "relaxed", "cta", fields[told.VALUE], needs, site),
            Event(Kind.BARRIER, ("warp", warp, mask), "meet", value=mask << thread - lane, site=site),
        ]
        if not asked & mask and asked:  # a lane that takes no part
            asked = 1 << lane
        given, marks = {}, 0
        for which in (n for n in range(32) if asked & mask & 1 << n):
            place = place_of(which)
            value, at = self._chosen(recording, place), len(recording.reads)
            recording.reads.append(len(recording.events))
            recording.events.append(Event(Kind.READ, place, "relaxed", "cta", value, needs, site))
            if value == _ABSENT:
                why = f"it asks lane {which}, which has exited in some execution"
                self.faults.append(self._refusal(instr, why, "ask lanes that take part"))
                recording.end, recording.fault = End.FAILED, len(self.faults) - 1
                recording.polled = frozenset({len(recording.events) - 1})
                return False
            given[which] = value
            marks |= 1 << at
        combined = families.named("traced", "combined")[0]
        fields[told.VALUE], fields[told.NEEDS] = combined(instr, given, fields[told.VALUE]), marks
        return True

    def _write(self, recording: _Recording, ctx, thread: int, fields, site: int) -> None:
        if fields[told.EXTRA]:  # a compare-and-swap that found another value
            fields[told.NEEDS] = 0
            return
        size_bytes = fields[told.SIZE]
        place, value = self._place(ctx, fields[told.ADDRESS], size_bytes, site), fields[told.VALUE]
        if place is None:
            ctypes.memmove(fields[told.ADDRESS], value.to_bytes(8, "little"), size_bytes)
            return
        mask, fields[told.NEEDS] = fields[told.NEEDS], 0
        instr = self.sites[site]
        order, scope = _strength(instr)
        order = {"acq_rel": "release", "acquire": "relaxed"}.get(order, order)
        needs, is_update = self._needs(recording, mask), _is_update(instr)
        event = Event(
            Kind.WRITE, place, order, scope, value, needs, site, is_update, region=_region(place),
            is_counted=is_update and _is_of_mbarrier(instr),
        )  # fmt: skip
        if instr.traits & traits.ASYNCHRONOUS:
            recording.copied.setdefault(place, []).append(value)
            recording.events.append(replace(event, until=_NEVER))
            return
        recording.last[place] = value
        recording.events.append(event)

    def _fence(self, recording: _Recording, site: int) -> None:
        instr = self.sites[site]
        if "mbarrier_init" in instr.mods:
            recording.events.append(Event(Kind.FENCE, order="mbarriers", scope="cluster", site=site))
            return
        if "proxy" in instr.mods:
            if any(m.startswith("async") for m in instr.mods):
                regions = {r for r in ("global", "shared") for m in instr.mods if r in m.split("::")}
                region = regions.pop() if regions else None
                recording.events.append(Event(Kind.FENCE, order="proxy", proxy=Proxy.ASYNC, site=site, region=region))
            return  # the others are of accesses that the model does not have
        order, scope = _strength(instr)
        recording.events.append(Event(Kind.FENCE, order=order, scope=scope, site=site))

    def _barrier(self, recording: _Recording, thread: int, fields, site: int) -> None:
        instr = self.sites[site]
        place: Any = fields[told.VALUE]
        threads = fields[told.EXTRA]
        if instr.traits & traits.CLUSTER:
            how = "wait" if "wait" in instr.mods else "relaxed" if "relaxed" in instr.mods else "arrive"
            recording.events.append(Event(Kind.BARRIER, "cluster", how, scope="cluster", site=site))
            return
        if "warp" in instr.mods:
            first = thread // 32 * 32
            mask = place & (1 << min(32, self.block_threads - first)) - 1
            place, threads = ("warp", thread // 32, mask), mask.bit_count()
        how = "arrive" if "arrive" in instr.mods else "sync"
        recording.events.append(Event(Kind.BARRIER, place, how, threads=threads, site=site))

    def _uses_of_mbarriers(self) -> dict[Place, set[int]]:
        """The places that instructions for mbarriers access one by one, each with the sites of all its accesses."""
        uses: dict[Place, set[int]] = {}
        counted: set[Place] = set()
        for event in {event for row in self.traces for trace in row for event in trace.events}:
            if event.kind <= Kind.WRITE:
                uses.setdefault(event.place, set()).add(event.site)
                if event.is_counted or event.order == "begins":
                    counted.add(event.place)
        return {place: sites for place, sites in uses.items() if place in counted}

    def _refuse_overlaps(self) -> None:
        """Raise Unsupported for accesses of different bytes that overlap, where one is a write: the PTX ISA leaves open
        what a read then gives. (8.2.1)"""
        places: dict[Place, tuple[bool, int]] = {}
        for trace in (trace for row in self.traces for trace in row):
            for event in trace.events:
                if event.kind <= Kind.WRITE:
                    writes, site = places.get(event.place, (False, event.site))
                    places[event.place] = writes or event.kind == Kind.WRITE, site
        in_memory = sorted(place for place in places if place.block >= -1)
        for one, other in itertools.combinations(in_memory, 2):
            overlap = one.block == other.block and other.address < one.address + one.size_bytes
            if overlap and (places[one][0] or places[other][0]):
                why = "its bytes overlap an access of another size"
                fix = "access each place with one size in all threads"
                raise self._refusal(self.sites[places[other][1]], why, fix)
        for sites in self._uses_of_mbarriers().values():
            of_data = next((site for site in sites if not _is_of_mbarrier(self.sites[site])), None)
            if of_data is not None:
                why, fix = "it accesses the bytes of an mbarrier", "give the mbarrier 8 bytes that no data overlaps"
                raise self._refusal(self.sites[of_data], why, fix)


def _reads_of(what: int, fields) -> int:
    """How many reads an event is at most."""
    if what == told.BULK:
        return fields[told.SIZE] // max(fields[told.VALUE], 1)
    return fields[told.EXTRA].bit_count() if what == told.MEET else 1


def _strength(instr: Instr) -> tuple[str, str]:
    return next(filter(None, (each(instr) for each in families.named("traced", "strength"))))


def _is_of_mbarrier(instr: Instr) -> bool:
    return bool(instr.traits & (traits.MBARRIER | traits.ASYNCHRONOUS))


def _is_update(instr: Instr) -> bool:
    """Whether its read and its write are one step."""
    if instr.traits & traits.MBARRIER:
        return not instr.traits & (traits.INIT | traits.WAIT)
    return bool(instr.traits & (traits.UPDATES | traits.ASYNCHRONOUS))


def _region(place: Place) -> str:
    return "global" if place.block == -1 else "shared"


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
        self.shared.blocks, self.shared.chunk = self.blocks, self.blocks

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
