"""An entry as regions of straight code, each a loop over the threads of the block that LLVM can vectorise.

Values that are the same for all threads are computed once a region, before its loop; values that are linear in the
thread's index are kept as base and strides, so that an access is checked once for all threads and is a vector load or
store. If that check fails (a fault, or threads in two allocations), or if linear values wrap around, the region runs
thread by thread with every check inline. Registers that differ between threads live in arrays from region to region.
"""

from __future__ import annotations

from contextlib import contextmanager

from dsl.emulator.families import table as isa
from dsl.emulator.ir import affine
from dsl.emulator.ir.affine import FLAT, Linear
from dsl.emulator.ir.body import Frame
from dsl.emulator.ir.builder import Builder
from dsl.emulator.ir.collective import Collective
from dsl.emulator.ir.places import Places
from dsl.emulator.machine import native
from dsl.emulator.ptx.analysis import loops
from dsl.emulator.ptx.known_bits import SetBits, SetBitsHere
from dsl.emulator.ptx.operands import LEAVES, writes
from dsl.emulator.ptx.syntax import Function, Imm, Instr, Module, Reg, Special, Sym
from dsl.emulator.ptx.traits import LOAD, STORE, UPDATES
from dsl.emulator.translate import collectives, leaving_threads, span_checks, uniform_branches, vector_loop
from dsl.emulator.translate.comparison import Comparison
from dsl.emulator.translate.coroutine import Thread
from dsl.emulator.translate.kept_registers import KeptRegisters
from dsl.emulator.translate.region import ALONE, HEAD, LANE, Region
from dsl.emulator.translate.single_thread import SingleThread
from dsl.emulator.translate.uniform_branches import EACH, ONCE, Forms, Plan, predicate_of


class RegionCode(Forms, Thread):
    """The IR of one entry that has a Plan."""

    in_regions = True

    def __init__(self, module: Module, entry: Function, places: Places, place_of, plan: Plan):
        Thread.__init__(self, module, entry, places, place_of)
        Forms.__init__(self)
        self.plan, self.coroutine, self.hits_in_memory = plan, False, True
        own = plan.function, plan.set_bits.writers, plan.set_bits.rules
        self.shared_bits = SetBits(*own, symbols=_shared_symbols(places, entry.name))
        self.parameters = {each.name for each in entry.params}
        self.out = self.lines  # what is finished
        self.mode, self.under = HEAD, None
        self.updates = False  # whether an instruction is emitted that threads apply to the memory of others
        self.position = 0
        self.region, self.after = Region(0, 0), 0
        self.kept = KeptRegisters(self, plan)
        self.single_thread = SingleThread(self)
        self.sites_of: dict[int, int] = {}
        self.grid_loops = loops(plan.function) if _asks_for_grid(plan.function) else []
        self.metadata: list[str] = []
        self.first: list[str] = []  # the first coordinates, by axis, of the threads that are left
        self.last: list[str] = []  # the last ones
        self.cold_text = ""  # the module of the functions that are seldom called

    # ** streams

    @contextmanager
    def into(self, lines: list[str], mode: str | None = None):
        """Emit into `lines` for a while."""
        outer, outer_mode = self.lines, self.mode
        self.lines, self.mode = lines, mode or outer_mode
        yield
        self.lines, self.mode = outer, outer_mode

    def op(self, text: str) -> str:
        return super().op(text + vector_loop.access_group(text) if self.mode is LANE and not self.updates else text)

    def do(self, text: str) -> None:
        super().do(text + vector_loop.access_group(text) if self.mode is LANE and not self.updates else text)

    def loop_metadata(self, rest: str) -> str:
        """The end of the branch back of a loop."""
        number = 20 + len(self.metadata)
        self.metadata.append(f"!{number} = distinct !{{!{number}, {rest}}}")
        return f", !llvm.loop !{number}"

    def site(self, instr: Instr) -> int:
        if id(instr) not in self.sites_of:
            self.sites_of[id(instr)] = super().site(instr)
        return self.sites_of[id(instr)]

    # ** what Forms asks

    def incoming(self, reg: Reg) -> Linear | None:
        with self.into(self.region.head, HEAD):
            return self.kept.form(reg.name)

    def symbol(self, symbol: Sym) -> str:
        return self.address_of(symbol)

    def shared_window(self) -> str:
        return self.load("smem", constant=True)

    def predefined(self, operand: Special) -> tuple[str, int]:
        return self.special(operand)

    def need_range(self, form: Linear, low: int, high: int) -> None:
        """Threads whose value is outside make it no linear one: then the block goes on thread by thread."""
        least, most = span_checks.extremes(self, form)
        self.region.conditions += [self.cmp("sge", least, low, "i64"), self.cmp("sle", most, high, "i64")]

    # ** registers of the loop over threads

    def index(self, axis: int, bits: int) -> str:
        """A coordinate of the thread, for the loop's top."""
        wide = f"%l{'xyz'[axis]}{self.region.number}"
        return wide if bits == 64 else self.op(f"trunc i64 {wide} to i{bits}")

    def spread(self, form: Linear, bits: int) -> str:
        """The value of a form for one thread of the loop."""
        if form.uniform:
            return form.base
        key = form, bits
        spreads = self.region.spreads
        if key not in spreads:
            with self.into(self.region.top, LANE):
                spreads[key] = self.at(form, [self.index(axis, bits) for axis in range(3)], bits)
        return spreads[key]

    def at(self, form: Linear, place: list[str], bits: int) -> str:
        """The value of a form at the coordinates `place`."""
        value = form.base
        for stride, coordinate in zip(form.strides, place):
            if stride != 0:
                part = coordinate if stride == 1 else self.mul(coordinate, stride, f"i{bits}")
                value = part if value == "0" else self.add(value, part, f"i{bits}")
        return value

    def read_reg(self, reg: Reg) -> str:
        if self.mode is ALONE:
            return super().read_reg(reg)
        form = self.form(reg)
        if form is not None:
            return form.base if self.mode is HEAD else self.spread(form, reg.bits)
        self._fetch(reg)
        return super().read_reg(reg)

    def _fetch(self, reg: Reg) -> None:
        """Bring a register that differs between threads into this region's loop."""
        region = self.region
        if reg.name not in region.loaded:
            region.loaded.add(reg.name)
            with self.into(region.top, LANE):
                value = self.kept.load(reg.name, reg.bits, f"%pos{region.number}")
                self.put(self.slot(reg), value, f"i{reg.bits}")

    def write(self, operand, value: str, bits: int, signed: bool = False) -> None:
        if self.mode is not HEAD or not isinstance(operand, Reg):
            if self.mode is LANE and isinstance(operand, Reg):
                self.region.loaded.add(operand.name)
                self.forms[operand.name] = None
            super().write(operand, value, bits, signed)
            return
        form = Linear(self.resize(value, bits, operand.bits, signed))
        if self.under is not None:
            form = affine.choose(self, self.under, form, self.form(operand), operand.bits)
        self.forms[operand.name] = form

    # ** memory

    def linear_pointer(self, instr, operand, space: str, size_bytes: int) -> str | None:
        if self.mode is ALONE:
            return None
        with self.into(self.region.head, HEAD):
            place = self.place(operand, space)
        if place is None and space == "shared":
            return self._inside_static(operand, size_bytes)
        if place is None or (place[1] == 32 and space != "shared"):
            return None
        form, bits = place
        with self.into(self.region.head, HEAD):
            offset = operand.offset if isinstance(operand.base, Reg) else 0
            if not isinstance(operand.base, Reg):
                form, bits = self.of(_moved(operand), 64), 64
            key = space, size_bytes, form, bits
            span = self.region.spans.get(key)
            if span is None:
                span = self.region.spans[key] = span_checks.span(self, instr, form, bits, space, offset)
            span.low, span.high = min(span.low, offset), max(span.high, offset)
        if self.mode is HEAD:
            span_checks.check(self, self.region.spans.pop(key), space, size_bytes)
        shift = self.spread(Linear("0", span.form.strides), 64)
        pointer = span.pointer
        for step in (shift, str(offset)):
            if step != "0":
                pointer = self.op(f"getelementptr i8, ptr {pointer}, i64 {step}")
        return pointer

    def _inside_static(self, operand, size_bytes: int) -> str | None:
        """The pointer for an access of shared memory whose address cannot be outside of the kernel's own variables,
        as `bins[x & 255]`; None where it may be, or may be misaligned."""
        if not isinstance(operand.base, Reg) or operand.offset < 0:
            return None
        before = SetBitsHere(self.shared_bits, self.region.instrs, self.region.writers)
        mask = before.of(operand.base, operand.base.bits)
        if (mask | operand.offset) & (size_bytes - 1) or mask + operand.offset + size_bytes > self.places.smem_static:
            return None
        address = self.add(self.shared_window(), self.address(operand), "i64")
        return self.cast("inttoptr", address, "i64", "ptr")

    def one_place(self, instr: Instr, operand, space: str) -> bool:
        if self.mode is not LANE or instr.guard is not None:
            return False
        with self.into(self.region.head, HEAD):
            place = self.place(operand, space)
        return place is not None and place[0].uniform and (place[1] != 32 or space == "shared")

    def before_threads(self):
        return self.into(self.region.head, HEAD)

    def after_threads(self):
        return self.into(self.region.after)

    # ** what uniform_branches.walk asks and shows

    def begin(self, position: int) -> None:
        self.region, self.forms, self.compared = Region(self.region.number + 1, position), {}, {}
        self.values.clear()
        self.checked.clear()
        self.lines, self.mode = self.region.head, HEAD
        leaves = self.plan.leaves
        self.first = [self.get(f"%first_{axis}", "i64") if leaves else "0" for axis in "xyz"]
        ends = [self.get(f"%end_{axis}", "i64") if leaves else f"%wide_{axis}" for axis in "xyz"]
        self.last = [self.sub(end, 1, "i64") for end in ends]

    def guard_of(self, instr: Instr) -> bool:
        form = self.of(instr.guard, 1)
        if form is not None and form.uniform:
            self.region.branch = form.base
            return True
        self.region.leaver = instr
        self.region.scope = self.plan.scopes[self.position] if self.position in self.plan.parted else None
        return False

    def step(self, instr: Instr, how) -> None:
        destinations = writes(instr)
        for reg in destinations:
            self.region.writers.setdefault(reg.name, []).append(len(self.region.instrs))
        self.region.instrs.append(instr)
        self.note_comparison(instr)
        if how is EACH:
            self._each(instr, destinations)
        elif isinstance(how, Linear):
            self.forms[instr.operands[0].name] = how
        else:
            if how is ONCE and instr.guard is not None:
                self.under = self.of(instr.guard, 1).base
            self.set_widths(instr)
            try:
                isa.find(instr).emit(self, instr)
            finally:
                self.under = None
        self.region.written.update(reg.name for reg in destinations)

    def _each(self, instr: Instr, destinations: list[Reg]) -> None:
        region = self.region
        region.effects |= bool(instr.traits & (LOAD | STORE | UPDATES))
        if instr.guard is not None:
            for reg in destinations:  # what stays where the guard does not hold
                form = self.form(reg)
                if form is None:
                    self._fetch(reg)
                    continue
                value = self.spread(form, reg.bits)
                region.loaded.add(reg.name)
                with self.into(region.lane, LANE):
                    self.put(self.slot(reg), value, f"i{reg.bits}")
                    self.values[self.slot(reg)] = value
                self.forms[reg.name] = None
        with self.into(region.lane, LANE):
            self.threads, self.updates = region.lane_threads(), bool(instr.traits & UPDATES)
            self.instruction(instr)
            self.threads, self.updates = self.block_threads, False
        for reg in destinations:
            self.forms[reg.name] = None

    def outlives(self, name: str) -> bool:
        """Whether code after the region may read a register."""
        return name in self.plan.order and bool(self.after >> self.plan.order[name] & 1)

    def collect(self, position: int, instr: Instr, collective: Collective) -> None:
        self.region.collective, self.region.effects = collective, True
        self.region.written.difference_update(reg.name for reg in writes(instr))
        self.finish(position + 1, None)

    def finish(self, position: int, last: Instr | None) -> None:
        self.after = self.plan.live_after(position, last)
        self._region(position, last)
        self.lines, self.mode = self.out, HEAD
        if self.region.collective is not None:
            collectives.meet(self, self.region.collective)
        if last is None or last.opcode not in ("bra", *LEAVES):
            item = self.entry.items[position] if position < len(self.entry.items) else None
            if position == len(self.entry.items):
                self.branch("stop")
            elif not isinstance(item, Instr):
                label = self.label(item.name)
                self.branch(label)
                Builder.start(self, label)
                self._rejoin(position)
            return
        self._leave(last)

    def _rejoin(self, position: int) -> None:
        """Threads that wait at a label are back; inner scopes come first."""
        ending = [scope for branch in self.plan.parted if (scope := self.plan.scopes[branch]).end == position]
        for scope in sorted(ending, key=lambda each: -each.first):
            leaving_threads.rejoin(self, scope)

    def _region(self, position: int, last: Instr | None) -> None:
        """Put the code of a region after what is finished: its head, its loop, and how to run it without."""
        region, plan = self.region, self.plan
        outs = [(name, bits) for name, bits in plan.names(self.after) if name in region.written]
        with self.into(region.lane, LANE):
            self._lane_end(outs)
        checks = bool(region.checks or region.spans or region.conditions)
        moves = region.effects or region.leaver is not None or any(plan.classes[name] != FLAT for name, _ in outs)
        with self.into(region.head, HEAD):
            self._head_end(outs)
        number, slow = region.number, checks or (plan.degrades and moves)
        with self.into(self.out, HEAD):
            if region.conditions:
                self.put("%wrapped", "false", "i1")
            if slow and plan.degrades:
                degraded = self.get("%degraded", "i1")
                self.do(f"br i1 {degraded}, label %alone{number}, label %head{number}, !prof !2")
                Builder.start(self, f"head{number}")
            self.out += region.head
            if region.effects:
                self.out += vector_loop.loop(
                    number, self.first, leaving_threads.ends(self), region.top + region.lane, self.loop_metadata
                )
                Builder.start(self, f"after{number}")
                self.out += region.after
            if (comparison := self._parting()) is not None:
                leaving_threads.note_all(self, comparison)
            if slow:
                self._slow_way(outs, last)

    def _lane_end(self, outs: list[tuple[str, int]]) -> None:
        """The end of the loop's body: registers that live on go to their arrays, threads note whether they leave."""
        for name, bits in outs:
            if self.plan.classes[name] is None:
                self.region.effects = True
                self.kept.store(name, bits, f"%pos{self.region.number}", self.read_reg(Reg(name, bits)))
        if self.region.collective is not None:
            self.threads = self.region.lane_threads()
            collectives.give(self, self.region.collective, f"%pos{self.region.number}", "i64")
            self.threads = self.block_threads
        if self.region.leaver is not None and self._parting() is None:
            leaving_threads.note(self)

    def _parting(self) -> Comparison | None:
        """The comparison of linear values by which threads leave."""
        return self.compared.get(predicate_of(self.region.leaver)) if self.region.leaver is not None else None

    def _head_end(self, outs: list[tuple[str, int]]) -> None:
        """The end of the head: its checks; linear registers and the branch's flag are kept."""
        region = self.region
        if region.conditions:
            flag = region.conditions[0]
            for each in region.conditions[1:]:
                flag = self.and_(flag, each, "i1")
            self.do(f"br i1 {flag}, label %even{region.number}, label %wrap{region.number}, !prof !1")
            Builder.start(self, f"even{region.number}")
        for (space, size_bytes, *_), accesses in region.spans.items():
            span_checks.check(self, accesses, space, size_bytes)
            if space in ("global", "generic") and any(start <= region.first <= end for start, end in self.grid_loops):
                span_checks.fetch_ahead(self, accesses, size_bytes)
        for name, _ in outs:
            if self.plan.classes[name] is not None:
                self.kept.keep(name, self.forms[name])
        if region.branch is not None:
            self.put("%branch", region.branch, "i1")

    def _slow_way(self, outs: list[tuple[str, int]], last: Instr | None) -> None:
        """The same region thread by thread, where its head's checks failed."""
        number = self.region.number
        self.branch(f"end{number}")
        if self.region.conditions:
            Builder.start(self, f"wrap{number}")
            self.put("%wrapped", "true", "i1")
            self.branch(f"alone{number}")
        Builder.start(self, f"alone{number}")
        self.single_thread.run(outs, last)
        self.branch(f"end{number}")
        Builder.start(self, f"end{number}")

    def _leave(self, last: Instr) -> None:
        """The branch at the end of a region."""
        if self.region.leaver is not None:
            leaving_threads.part(self, last)
            return
        goal = self.target(last, last.operands[0].name) if last.opcode == "bra" else "stop"
        if last.guard is None:
            self.branch(goal)
            self.emit_polls()
            Builder.start(self, self.fresh("dead"))
            return
        after = self.fresh("else")
        self.do(f"br i1 {self.get('%branch', 'i1')}, label %{goal}, label %{after}")
        self.emit_polls()
        Builder.start(self, after)

    # ** the whole

    def module_text(self) -> str:
        frame = Frame(self.entry, 0, leave="stop")
        self.frames.append(frame)
        head = Builder("%h")
        self._entry_values(head)
        self.block_threads = dict(self.threads)
        for variable, offset in zip(self.entry.params, self.places.param_offsets):
            pointer = f"%param{len(frame.params)}"
            head.do(f"{pointer} = getelementptr i8, ptr %params, i64 {offset}")
            frame.params[variable.name] = (pointer, variable.size)
        self.param_slots(self.entry.variables)
        self.label_positions = {item.name: i for i, item in enumerate(self.entry.items) if not isinstance(item, Instr)}
        self._start(head)
        uniform_branches.walk(self.entry, self)
        tail = f"!3 = !{{i64 {max(self.places.param_bytes, 1)}}}\n" + "\n".join(self.metadata) + "\n"
        tail = vector_loop.METADATA + tail
        slow = self.single_thread
        out = f"  %out = alloca [{max(slow.most_out, 1)} x i64]"
        lines = ["define void @block(ptr %ctx) {", "entry:", out, *self.allocas, *self.prologue, *head.lines]
        lines += [*self.out, "stop:", "  ret void", "}", *slow.declarations()]
        self.cold_text = _module(slow.texts, tail) if slow.texts else ""
        return _module(lines, tail)

    def _start(self, head: Builder) -> None:
        """The values that every region needs, before the first."""
        for axis in "xyz":
            head.do(f"%wide_{axis} = zext i32 %n{axis} to i64")
        head.do(f"%threads = load i32, ptr {head.field('threads')}, !invariant.load !0")
        head.do("%wide_threads = zext i32 %threads to i64")
        self.single_thread.common = list(head.lines)
        self.allocas += [f"  %{name} = alloca i1" for name in ("branch", "degraded", "wrapped")]
        head.put("%degraded", "false", "i1")
        if self.plan.leaves:
            leaving_threads.start(self, head)


def _module(lines: list[str], tail: str) -> str:
    text = "\n".join(lines)
    return text + "\n" + native.declarations(text) + tail


def _asks_for_grid(function: Function) -> bool:
    """Whether a loop of it may stride over the grid."""
    operands = (each for item in function.items if isinstance(item, Instr) for each in item.operands)
    return any(isinstance(each, Special) and each.name.startswith("%nctaid") for each in operands)


def _shared_symbols(places: Places, function: str) -> dict[str, int]:
    """The offsets of shared variables, by the names that a function has for them."""
    shared = {key: offset for key, (space, offset) in places.rows.items() if space == "shared"}
    own = {key[1]: offset for key, offset in shared.items() if isinstance(key, tuple) and key[0] == function}
    return {key: offset for key, offset in shared.items() if isinstance(key, str)} | own


def _moved(operand):
    """`[symbol + offset]` or `[number + offset]` as one value."""
    base = operand.base
    if isinstance(base, Sym):
        return Sym(base.name, base.offset + operand.offset)
    return Imm(base.value + operand.offset)
