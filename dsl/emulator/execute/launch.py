"""One launch: its slots and workers, the native run, and a fault, what was printed or Ctrl-C out of it."""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import random
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dsl import interrupts
from dsl.emulator.execute import heap, print_format, repeats, slots, workers
from dsl.emulator.execute.code import Code, Entry
from dsl.emulator.execute.printing import DeviceMemory, PrintOrder
from dsl.emulator.execute.program import Program
from dsl.emulator.faults import Fault
from dsl.emulator.machine import context, native
from dsl.emulator.machine.memory import Allocation, Memory
from dsl.emulator.machine.numbers import calls
from dsl.gpu_models import GpuModel

if TYPE_CHECKING:
    from dsl.emulator.check.accesses import Accesses
    from dsl.emulator.check.shadow import Footprint
    from dsl.emulator.execute.attached_checks import Checks
    from dsl.emulator.execute.decisions import Decisions

MAX_STATIC_SMEM_BYTES = 48 * 1024  # of a block's own .shared variables, on any GPU
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
RESERVED_SMEM_BYTES = 1024  # that each block has besides
MAX_KNOWN = 4096  # shapes of launches that are not checked again
LONG_S = 10  # after which somebody may want to know that a launch still runs
SHORT = 1 << 20  # PTX instructions in all: without loops at most a few milliseconds
SHORT_ALONE = 1 << 23  # of a launch that has one worker: tens of milliseconds


def _print(text: str) -> None:
    print(text, end="", flush=True)  # the host's printf writes past Python's buffer


def launch(
    program: Program,
    entry_name: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    params: list[bytes],
    memory: Memory,
    smem_bytes: int = 0,
    cluster: tuple[int, int, int] = (1, 1, 1),
    write=None,
    seed: int = 0,
    checks: tuple[str, ...] = (),
    announce: Callable[[str], None] | None = None,
    cooperative: bool = False,
    gives_way: bool = False,
    decisions: Decisions | None = None,
    earlier: Footprint | None = None,
    leaves: Callable[[Footprint], None] | None = None,
    accessed: Callable[[Accesses], None] | None = None,
) -> None:
    """Run a kernel to its end. `params` holds one bytes object a .param, exactly as long as it.

    `cluster` is the shape of the clusters that blocks run in; where it is one block, what the kernel demands.
    `write(str)` gets printf text (default: standard output). A `seed` chooses the order of blocks, warps and
    lanes, the same each time; `decisions` names the decisions that count. With it, or with `gives_way`,
    threads give way to one another before they touch shared or global memory, and nanosleep lasts.
    Raises Fault; ValueError for a launch that no GPU would accept; KeyboardInterrupt at once on SIGINT. `checks` names
    what is looked for besides: "race", "undefined". `earlier`: what the launch before touched, if it may overlap this
    one; `leaves` gets the same of this launch, if it was checked for races, and `accessed` what it accessed.
    `announce(sentence)` is called once, from another thread, of a launch that takes longer than LONG_S.
    """
    if entry_name not in program.entries:
        raise ValueError(f"the PTX has no entry `{entry_name}`; it has {', '.join(program.entries) or 'none'}")
    entry = program.entries[entry_name]
    cluster = _cluster(entry, cluster)
    shape = entry_name, tuple(grid), tuple(block), tuple(cluster), smem_bytes, tuple(map(len, params))
    plain = not seed and not gives_way and not checks and not cooperative
    if plain and (kept := repeats.take(program, shape)) is not None:
        if kept.fits(memory):
            kept.again(params, announce)
            return
        kept.close()
    was_launched = shape in program.launched
    if not was_launched:
        _check_shape(entry, grid, block, cluster, params, smem_bytes, program.limits)
        if len(program.launched) < MAX_KNOWN:
            program.launched.add(shape)
    prepared = _Launch(
        program,
        entry_name,
        grid,
        block,
        cluster,
        params,
        memory,
        smem_bytes,
        write or _print,
        seed,
        tuple(checks),
        announce,
        cooperative,
        gives_way,
        decisions,
        earlier,
        leaves,
        accessed,
    )
    if plain and was_launched and prepared.may_repeat:
        repeats.Kept(prepared, (program, shape)).first()
    else:
        prepared.run()


def check_shape(entry: Entry, grid, block, cluster, params, smem_bytes: int, limits: GpuModel) -> None:
    """Raise ValueError for a launch that a GPU with these limits would not accept."""
    _check_shape(entry, grid, block, _cluster(entry, cluster), params, smem_bytes, limits)


def _cluster(entry: Entry, cluster):
    return entry.cluster if entry.cluster and math.prod(cluster) == 1 else cluster


def _check_shape(entry, grid, block, cluster, params, smem_bytes, limits) -> None:
    for name, value, most in (("grid", grid, MAX_GRID), ("block", block, MAX_BLOCK)):
        if len(value) != 3 or any(not 1 <= v <= m for v, m in zip(value, most)):
            raise ValueError(f"{name}={tuple(value)} is outside (1, 1, 1) to {most}")
    if math.prod(block) > context.MAX_THREADS:
        raise ValueError(f"block={tuple(block)} has {math.prod(block)} threads; a block has at most 1024")
    if len(cluster) != 3 or any(v < 1 for v in cluster) or math.prod(cluster) > limits.most_cluster:
        raise ValueError(f"cluster={tuple(cluster)}: a cluster has 1 to {limits.most_cluster} blocks")
    if any(whole % part for whole, part in zip(grid, cluster)):
        raise ValueError(f"cluster={tuple(cluster)} does not divide grid={tuple(grid)}")
    if entry.cluster is not None and tuple(cluster) != tuple(entry.cluster):
        raise ValueError(f"cluster={tuple(cluster)}, but `{entry.name}` requires {entry.cluster} (.reqnctapercluster)")
    if entry.most_cluster is not None and math.prod(cluster) > entry.most_cluster:
        raise ValueError(
            f"cluster={tuple(cluster)}, but `{entry.name}` allows {entry.most_cluster} blocks (.maxclusterrank)"
        )
    if entry.reqntid is not None and tuple(block) != tuple(entry.reqntid):
        raise ValueError(f"block={tuple(block)}, but `{entry.name}` requires {entry.reqntid} (.reqntid)")
    if entry.static_smem_bytes > MAX_STATIC_SMEM_BYTES:
        raise ValueError(
            f"static shared memory of a block must be at most {MAX_STATIC_SMEM_BYTES} bytes, got "
            f"{entry.static_smem_bytes}; use dynamic shared memory (`.extern .shared`) for more"
        )
    if entry.static_smem_bytes + smem_bytes > limits.smem_bytes:
        raise ValueError(
            f"{entry.static_smem_bytes} static + {smem_bytes} dynamic bytes of shared memory; "
            f"a block has at most {limits.smem_bytes}"
        )
    sizes = [p.size_bytes for p in entry.params]
    if [len(p) for p in params] != sizes:
        raise ValueError(f"`{entry.name}` takes parameters of {sizes} bytes, got {[len(p) for p in params]}")


def resident_blocks(block: tuple[int, int, int], smem_bytes: int, limits: GpuModel) -> int:
    """How many blocks of a shape can wait for each other: those that the GPU holds at once (registers aside)."""
    threads = min(-(-max(math.prod(block), 1) // 32) * 32, limits.sm_threads)
    by_smem = limits.sm_smem_bytes // (smem_bytes + RESERVED_SMEM_BYTES)
    return limits.multiprocessors * min(limits.sm_blocks, limits.sm_threads // threads, by_smem)


def _permutation(blocks: int, chosen: random.Random) -> tuple[int, int]:
    """A step and a start that visit every block once: the step has no factor in common with their number."""
    while math.gcd(step := chosen.randrange(blocks) + 1, blocks) > 1:
        pass
    return step, chosen.randrange(blocks)


_buffers: list[slots.Buffer] = []  # of parameters, for the next launches


class _Launch:
    def __init__(
        self,
        program,
        entry_name,
        grid,
        block,
        cluster,
        params,
        memory,
        smem_bytes,
        write,
        seed,
        checks=(),
        announce=None,
        cooperative=False,
        gives_way=False,
        decisions=None,
        earlier=None,
        leaves=None,
        accessed=None,
    ):
        self.announce, self.earlier, self.leaves, self.accessed = announce, earlier, leaves, accessed
        self.workspace = slots.Workspace() if cooperative else None
        self.program, self.entry_name, self.write = program, entry_name, write
        self.grid, self.block, self.cluster = grid, block, cluster
        self.blocks, self.threads = math.prod(grid), math.prod(block)
        self.decisions = decisions
        self.random, self.gives_way = random.Random(seed) if seed else None, bool(seed or gives_way)
        self.code: Code = (
            program.seeded_code(entry_name, checks)
            if self.gives_way
            else program.code(entry_name, self.blocks * self.threads, checks)
        )
        # Blocks that do not meet run one by one, whatever clusters they are in.
        self.cluster_blocks = math.prod(cluster) if "cluster" in self.code.uses else 1
        self.units = self.blocks // self.cluster_blocks
        self.clusters: list[slots.Cluster] = []
        places = self.code.places
        self.smem_static, self.smem_dynamic = places.smem_static, smem_bytes
        self.memory, self.ranges, self.param_offsets = memory, memory.signature, places.param_offsets
        self.allocations = self._known_allocations()
        self._params = _buffers.pop() if _buffers else slots.Buffer()
        self.param_address = self._params.of(max(places.param_bytes, 1))
        ctypes.memset(self.param_address, 0, places.param_bytes)
        for offset, data in zip(places.param_offsets, params):
            ctypes.memmove(self.param_address + offset, data, len(data))
        # Whether blocks take over clusters of their grid that have not begun
        takes_others = "launch_control" in self.code.uses
        alone = self.code.in_turn or takes_others or self.gives_way or checks or self.units == 1
        self.workers = min(workers.count(), 1 if alone else self.units)
        self.slots: list[slots.Slot] = []
        self.checks = self._attached_checks() if checks else None
        if program.uses_heap and "undefined" not in checks:
            heap.of_process().written_unseen()
        self.mine: slots.Slot | None = None  # of the thread that launches, where it runs blocks itself
        self._others, self._called, self._over = workers.Crew(), False, False
        self._gate = threading.Lock()  # of whether others may begin
        self.slot: Any = None  # the slots.Slot that a report is about
        self.shared = context.Grid()
        self.shared.blocks, self.shared.first_fault = self.units, context.NO_FAULT
        chunk = 1 if takes_others else self.units // (self.workers * 32)
        self.shared.chunk = min(max(chunk, 1), 256)
        if self.random:
            order = _permutation(self.units, self.random)
            if self.decisions is None or self.decisions.take():
                self.shared.block_step, self.shared.block_start = order
        if self.code.spins:
            self._more = _MORE_SIGNATURE(self._another_slot)
            self.shared.more = ctypes.cast(self._more, ctypes.c_void_p).value
        self.prints = PrintOrder(self)

    def is_given(self, address: int) -> bool | None:
        """Whether an address of the heap is in a block that is not freed; None of other addresses."""
        in_heap = any(each.address <= address < each.end for each in heap.allocations(self.program.uses_heap))
        return heap.of_process().is_given(address) if in_heap else None

    def _known_allocations(self) -> list[Allocation]:
        known = self.memory.allocations() + self.program.allocations()
        return [*known, self.workspace.allocation] if self.workspace else known

    # ** the run

    def run(self) -> None:
        """Run it once."""
        try:
            self.run_blocks(self.add_slot())
            if self.checks is not None and self.checks.race:
                if self.leaves is not None:
                    self.leaves(self.checks.footprint())
                if self.accessed is not None:
                    self.accessed(self.checks.accesses())
        finally:
            self.close()

    def close(self) -> None:
        """Give back what it holds."""
        if self.checks is not None:
            self.checks.close()
        slots.give_back(self.slots)
        for cluster in self.clusters:
            cluster.close()
        _buffers.append(self._params)

    @property
    def may_repeat(self) -> bool:
        """Whether it may be made again (repeats.py): it runs in one slot, in this thread, without Python."""
        return self._is_short and not self.code.prints and self.cluster_blocks == 1

    @property
    def _is_short(self) -> bool:
        """Whether it ends soon, and other workers would be of no use."""
        least, most = self.code.size * self.blocks * self.threads, SHORT_ALONE if self.workers == 1 else SHORT
        return not self.code.loops and least <= most and not self.code.order_kinds

    def run_blocks(self, first: slots.Slot) -> None:
        self.began_s = start = time.perf_counter()
        try:
            if self._is_short:
                self._run_units(first)
            else:
                least = self.code.size * self.blocks * self.threads
                self._run_in_workers(first, at_once=least > workers.MANY or self.code.last_s > workers.LONG_S)
            self.prints.finish(self.shared.first_fault)
            for slot in self.slots:
                self.program.seen[self.entry_name] |= slot.ctx.seen
            self.raise_failure()
        except BaseException as error:
            if not isinstance(error, Exception):  # KeyboardInterrupt, or what another signal's handler raised
                self._note_positions(error)
            raise
        finally:
            self.code.last_s = time.perf_counter() - start
            self.code.ran_s += self.code.last_s

    def raise_failure(self) -> None:
        """Raise the error of the lowest block that ended badly."""
        statuses = [(slot.ctx.block, slot) for slot in self.slots if slot.ctx.status not in (0, context.INTERRUPTED)]
        if statuses:
            self.slot = min(statuses, key=lambda row: row[0])[1]
            self.allocations = self._known_allocations()  # by the names of now
            if self.slot.failure is not None:
                raise self.slot.failure
            raise self._fault()
        if any(slot.ctx.status for slot in self.slots):
            raise KeyboardInterrupt
        if self.checks is not None and (slot := self.checks.passed_on()) is not None:
            self.slot = slot
            raise self._fault()
        if self.checks is not None:
            for what, slot in self.checks.warnings():
                self.slot = slot
                self._warn(what)

    # Only launches that need texts of reports, or checks, import them.

    def _attached_checks(self) -> Checks:
        from dsl.emulator.execute.attached_checks import Checks  # noqa: PLC0415

        return Checks(self, self.memory)

    def _note_positions(self, error: BaseException) -> None:
        from dsl.emulator.diagnosis import warp_positions  # noqa: PLC0415

        if where := warp_positions.text(self):
            error.add_note(where)

    def _fault(self) -> Fault:
        """The report about `slot`."""
        from dsl.emulator.diagnosis import fault_report, findings  # noqa: PLC0415

        is_finding = self.slot.ctx.status in context.FINDINGS or self.slot.ctx.detail in (
            context.EARLY,
            context.IN_FLIGHT,
            context.SENDS,
        )
        return findings.fault_of(self) if is_finding else fault_report.fault_of(self)

    def _warn(self, what: str) -> None:
        from dsl.emulator.diagnosis import findings  # noqa: PLC0415

        findings.warn_of(self, what)

    def add_slot(self) -> slots.Slot:
        """A slot for blocks, or the first of those for clusters."""
        if self.cluster_blocks > 1:
            self.clusters.append(slots.Cluster(self, self.cluster_blocks))
            new = self.clusters[-1].slots
        else:
            new = [slots.take()]
            new[0].prepare(self)
        for slot in new:
            if self.checks is not None:
                self.checks.attach(slot)
            slot.ctx.decisions = self.decisions.address if self.decisions is not None else 0
            slot.ctx.order = self.random.randrange(1, 1 << 32) if self.random else 0
            slot.ctx.every, self.shared.slots = self.shared.slots, slot.address
            self.slots.append(slot)
            slot.ctx.stop = self.shared.halt
        return new[0]

    def _another_slot(self, worker: int) -> int:
        """For the blocks a worker begins while others of its only poll memory; 0 when no more fit. Never raises."""
        try:
            if self.shared.halt or len(self.slots) + self.cluster_blocks > resident_blocks(
                self.block, self.smem_static + self.smem_dynamic, self.program.limits
            ):
                return 0
            slot, first = self.add_slot(), context.Context.from_address(worker)
            slot.ctx.next, first.next = first.next, slot.address
            return slot.address
        except Exception:  # no memory for one more
            return 0

    def _run_in_workers(self, first: slots.Slot, at_once: bool) -> None:
        """Run in this thread and in others: these begin `at_once`, or when the launch turns out to be long.

        Kernels that call Python back run in others only: a signal's exception would be lost in the callback.
        """
        elsewhere = self.code.spins or self.code.prints or self.code.order_kinds or self.cluster_blocks > 1
        try:
            if elsewhere:
                self._others.begin(functools.partial(self._run_units, first))
            if at_once:
                self._call_others()
            if not elsewhere:
                self.mine = first
            workers.watch(self)
            if elsewhere:
                self._others.wait()
            else:
                self._run_units(first)
                if self.shared.raised:
                    raise interrupts.raised()
            workers.unwatch(self)
            with self._gate:
                self._over = True
            if self._others.begun:
                self._others.wait()
        except BaseException:
            self._stop()
            raise

    def _run_units(self, first: slots.Slot) -> None:
        """Run blocks, or clusters of blocks that meet, until none is left: the work of one worker."""
        run = _native("emu_run_clusters" if self.cluster_blocks > 1 else "emu_run_grid")
        run(first.address, self.code.block)

    def _call_others(self) -> None:
        """Let the other workers begin, if they have not."""
        with self._gate:
            if self._called or self._over:
                return
            self._called = True
            for _ in range(self.workers - 1):
                slot = self.add_slot()
                self._others.begin(functools.partial(self._run_units, slot))

    def tick(self) -> None:
        """From another thread, every few milliseconds: the launch is long."""
        try:
            self._call_others()
        except MemoryError:  # for the slots: it goes on with the workers it has
            pass
        if self.announce is not None and time.perf_counter() - self.began_s > LONG_S:
            self.announce(f"`{self.entry_name}` has run for {LONG_S} s; Ctrl-C stops it and shows where every warp is")
            self.announce = None
        if self.mine is not None:
            self.mine.ctx.stop = context.ASKED

    def _halt(self) -> None:
        self.shared.halt = 1
        for slot in self.slots:
            slot.ctx.stop = 1

    def _stop(self) -> None:
        """Memory may only be given back once native code has left it, however often Ctrl-C is pressed."""
        while True:
            try:
                workers.unwatch(self)
                with self._gate:
                    self._over = True
                self._halt()
                self._others.wait()
                break
            except KeyboardInterrupt:
                continue
        self.prints.finish(context.NO_FAULT)

    # ** calls from the device

    def from_device(self, slot: slots.Slot, which: int, site: int, thread: int, first: int, second: int) -> int:
        """A call of machine/numbers.calls; a negative answer ends the launch. Never raises: native code called."""
        try:
            if which in (calls.MALLOC, calls.FREE):
                answer = heap.called(slot.ctx, which, site, thread, first, second)
                if which == calls.MALLOC and self.checks is not None and first:
                    self.checks.forget(ctypes.c_uint64.from_address(second).value, first)
                return answer
            read = DeviceMemory([*self.allocations, *slot.own])
            if which == calls.PRINT:
                text, count = print_format.render(read.string, read.bytes, first, second)
                self.prints.write(slot.ctx.block, text)
                return count
            slot.assertion = read.string(first)
            return 0
        except print_format.BadPointer as bad:
            ctx = slot.ctx
            ctx.status, ctx.site, ctx.thread = context.OUT_OF_BOUNDS, site, thread
            ctx.address, ctx.access_bytes = bad.address, bad.nbytes
            return -1
        except BaseException as error:
            slot.failure = error
            slot.ctx.status = context.CALLBACK
            return -1

    # ** for reports, which are about one slot

    @property
    def ctx(self) -> context.Context:
        return self.slot.ctx

    @property
    def mates(self) -> list[slots.Slot]:
        """The slots of its cluster, by rank."""
        return next((each.slots for each in self.clusters if self.slot in each.slots), [self.slot])

    @property
    def assertion(self) -> str | None:
        return self.slot.assertion

    @property
    def all_allocations(self) -> list[Allocation]:
        return sorted([*self.allocations, *self.slot.own], key=lambda each: each.address)

    def thread_index(self, linear: int) -> tuple[int, int, int]:
        x, y, _ = self.block
        return linear % x, linear // x % y, linear // (x * y)

    def lanes(self, name: str) -> list[int]:
        """Linear thread numbers set in one of the scheduler's bit masks."""
        masks = getattr(self.ctx, name)
        return [
            32 * w + lane
            for w, lane in itertools.product(range(self.ctx.warps), range(32))
            if masks[w] >> lane & 1 and 32 * w + lane < self.ctx.threads
        ]


_MORE_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_size_t)


@functools.cache
def _native(name: str):
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(native.address(name))
