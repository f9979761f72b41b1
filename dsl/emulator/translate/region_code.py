"""An entry as regions of straight code, each a loop over the threads of the block that LLVM can vectorise.

What is the same for all threads is computed once a region, before its loop; what is linear in the thread's index is
kept as base and strides, so that an access is checked once for all threads and is a vector load or store. Where that
check fails (a fault, or threads in two allocations), and where linear values wrap around, the region runs thread by
thread with every check inline. Registers that differ between threads live in arrays from region to region.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass

from dsl.emulator import context
from dsl.emulator.builder import Builder
from dsl.emulator.emit import control, isa
from dsl.emulator.emit.body import Frame, Places, kinds_of
from dsl.emulator.ptx.syntax import Function, Imm, Instr, Module, Reg, Special, Sym
from dsl.emulator.translate import affine, thread_loops, uniform_branches
from dsl.emulator.translate.affine import FLAT, Linear
from dsl.emulator.translate.coroutine import Thread
from dsl.emulator.translate.single_thread import Given
from dsl.emulator.translate.uniform_branches import EACH, LEAVES, ONCE, Forms, Plan

HEAD, LANE, ALONE = "head", "lane", "alone"  # what is emitted: for the block, for every thread in the loop, for one


@dataclass(slots=True)
class Span:
    """Accesses of a region that one check covers: the same base and strides, constant offsets from `low` to `high`."""

    form: Linear  # 64 bits
    pointer: str
    site: int
    low: int
    high: int


class Lanes(Forms, Thread):
    """The IR of one entry that has a Plan."""

    in_regions = True

    def __init__(self, module: Module, entry: Function, places: Places, place_of, plan: Plan):
        Thread.__init__(self, module, entry, places, place_of)
        Forms.__init__(self)
        self.plan, self.coroutine, self.hits_in_memory = plan, False, True
        self.parameters = {each.name for each in entry.params}
        self.out = self.lines  # what is finished
        self.mode, self.number, self.under = HEAD, 0, None
        self.sites_of: dict[int, int] = {}
        self.arrays: set[str] = set()
        self.kept_prologue = self.prologue
        self.array_allocas = self.allocas  # of the kernel, also while another function is emitted
        self.storage: set[str] = set()
        self.metadata: list[str] = []
        self.last: dict[int, str] = {}
        self.divergent = False
        self.common: list[str] = []  # what every function begins with
        self.cold: list[str] = []  # functions, see alone.py
        self.cold_names: list[tuple[str, str]] = []
        self.cold_text = ""
        self.given: Given | None = None
        self.most_out = 0

    # ** streams

    @contextmanager
    def into(self, lines: list[str], mode: str | None = None):
        """Emit into `lines` for a while."""
        outer, outer_mode = self.lines, self.mode
        self.lines, self.mode = lines, mode or outer_mode
        yield
        self.lines, self.mode = outer, outer_mode

    def op(self, text: str) -> str:
        return super().op(text + _group(text) if self.mode is LANE else text)

    def do(self, text: str) -> None:
        super().do(text + _group(text) if self.mode is LANE else text)

    def loop_metadata(self, rest: str) -> str:
        """What the branch back of a loop ends with."""
        number = 20 + len(self.metadata)
        self.metadata.append(f"!{number} = distinct !{{!{number}, {rest}}}")
        return f", !llvm.loop !{number}"

    def site(self, instr: Instr) -> int:
        if id(instr) not in self.sites_of:
            self.sites_of[id(instr)] = super().site(instr)
        return self.sites_of[id(instr)]

    # ** where registers are kept between regions

    def kept(self, name: str, part: int = 0) -> str:
        """The slot of a base (part 0) or of the stride along an axis (1 to 3)."""
        place = f'%"keep{part}.{name}"'
        if place not in self.storage:
            self.storage.add(place)
            bits = self.plan.bits[name]
            self.array_allocas.append(f"  {place} = alloca i{bits}")
            self.kept_prologue.append(f"  store i{bits} 0, ptr {place}")
        return place

    def array(self, name: str, bits: int) -> str:
        """The array of a register, one element a thread."""
        place = f'%"array.{name}"'
        if place not in self.arrays:
            self.arrays.add(place)
            self.array_allocas.append(f"  {place} = alloca [{context.MAX_THREADS} x i{max(bits, 8)}], align 64")
        if self.given is not None:
            self.given.array(place)
        return place

    def array_get(self, name: str, bits: int, index: str, kind: str = "i64") -> str:
        width = max(bits, 8)
        cell = self.op(f"getelementptr i{width}, ptr {self.array(name, bits)}, {kind} {index}")
        value = self.op(f"load i{width}, ptr {cell}")
        return self.cmp("ne", value, 0, f"i{width}") if bits == 1 else self.resize(value, width, bits)

    def array_put(self, name: str, bits: int, index: str, value: str, kind: str = "i64") -> None:
        width = max(bits, 8)
        cell = self.op(f"getelementptr i{width}, ptr {self.array(name, bits)}, {kind} {index}")
        self.do(f"store i{width} {self.resize(value, bits, width)}, ptr {cell}")

    def stored(self, name: str) -> Linear | None:
        """The form of a register as it is kept; emits loads, or takes an argument."""
        if self.given is not None and name in self.given.forms:
            return self.given.forms[name]
        strides = self.plan.classes.get(name, FLAT)
        if strides is None:
            return None
        if name not in self.plan.classes:
            return Linear("0")
        bits = self.plan.bits[name]
        take = self.get if self.given is None else lambda place, kind: self.given.value(kind, place)
        rows = [take(self.kept(name, i + 1), f"i{bits}") if s == "?" else s for i, s in enumerate(strides)]
        form = Linear(take(self.kept(name), f"i{bits}"), tuple(rows))
        if self.given is not None:
            self.given.forms[name] = form
        return form

    def keep(self, name: str, form: Linear) -> None:
        """Store the form of a register."""
        bits, strides = self.plan.bits[name], self.plan.classes[name]
        self.put(self.kept(name), form.base, f"i{bits}")
        for i, (known, stride) in enumerate(zip(strides, form.strides)):
            if known == "?":
                self.put(self.kept(name, i + 1), stride, f"i{bits}")

    # ** what Forms asks

    def incoming(self, reg: Reg) -> Linear | None:
        with self.into(self.head, HEAD):
            return self.stored(reg.name)

    def symbol(self, symbol: Sym) -> str:
        return self.address_of(symbol)

    def shared_window(self) -> str:
        return self.load("smem", constant=True)

    def predefined(self, operand: Special) -> tuple[str, int]:
        return self.special(operand)

    def extremes(self, form: Linear, bits: int = 64) -> tuple[str, str]:
        """The least and the greatest value over the threads, computed without wrapping in 64 bits."""
        low = high = form.base
        for axis, stride in enumerate(form.strides):
            if stride == 0:
                continue
            reach = self.mul(self.last[axis], stride, "i64")
            if isinstance(stride, int):
                low, high = (low, self.add(high, reach, "i64")) if stride > 0 else (self.add(low, reach, "i64"), high)
                continue
            for how in ("smin", "smax"):
                part = self.op(f"call i64 @llvm.{how}.i64(i64 {reach}, i64 0)")
                low, high = (self.add(low, part, "i64"), high) if how == "smin" else (low, self.add(high, part, "i64"))
        return low, high

    def need_range(self, form: Linear, low: int, high: int) -> None:
        """Threads whose value is outside make it no linear one: then the block goes on thread by thread."""
        least, most = self.extremes(form)
        self.conditions.append(self.cmp("sge", least, low, "i64"))
        self.conditions.append(self.cmp("sle", most, high, "i64"))

    # ** registers of the loop over threads

    def index(self, axis: int, bits: int) -> str:
        """A coordinate of the thread, for the loop's top."""
        wide = f"%l{'xyz'[axis]}{self.number}"
        return wide if bits == 64 else self.op(f"trunc i64 {wide} to i{bits}")

    def spread(self, form: Linear, bits: int) -> str:
        """The value of a form for one thread of the loop."""
        if form.uniform:
            return form.base
        key = form, bits
        if key not in self.spreads:
            with self.into(self.top, LANE):
                self.spreads[key] = self.at(form, [self.index(axis, bits) for axis in range(3)], bits)
        return self.spreads[key]

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
        if reg.name not in self.here:
            self.here.add(reg.name)
            with self.into(self.top, LANE):
                self.put(self.slot(reg), self.array_get(reg.name, reg.bits, f"%pos{self.number}"), f"i{reg.bits}")

    def write(self, operand, value: str, bits: int, signed: bool = False) -> None:
        if self.mode is not HEAD or not isinstance(operand, Reg):
            if self.mode is LANE and isinstance(operand, Reg):
                self.here.add(operand.name)
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
        with self.into(self.head, HEAD):
            place = self.place(operand, space)
            if place is None or (place[1] == 32 and space != "shared"):
                return None
            form, bits = place
            offset = operand.offset if isinstance(operand.base, Reg) else 0
            if not isinstance(operand.base, Reg):
                form, bits = self.of(_moved(operand), 64), 64
            key = space, size_bytes, form, bits
            span = self.spans.get(key)
            if span is None:
                span = self.spans[key] = self._span(instr, form, bits, space, offset)
            span.low, span.high = min(span.low, offset), max(span.high, offset)
        if self.mode is HEAD:
            self.check(self.spans.pop(key), space, size_bytes)
        shift = self.spread(Linear("0", span.form.strides), 64)
        pointer = span.pointer
        for step in (shift, str(offset)):
            if step != "0":
                pointer = self.op(f"getelementptr i8, ptr {pointer}, i64 {step}")
        return pointer

    def _span(self, instr, form: Linear, bits: int, space: str, offset: int) -> Span:
        if bits == 32:  # below the end of shared memory nothing wraps
            strides = tuple(s if isinstance(s, int) else self.resize(s, 32, 64, True) for s in form.strides)
            form = Linear(self.resize(form.base, 32, 64), strides)
        start = self.add(self.shared_window(), form.base, "i64") if space == "shared" else form.base
        return Span(form, self.cast("inttoptr", start, "i64", "ptr"), self.site(instr), offset, offset)

    def check(self, span: Span, space: str, size_bytes: int) -> None:
        """Go to the loop without vectors unless all threads' accesses are legal: one subtract, rotate and compare for
        the lowest and for the highest. See check/bounds.py."""
        shift = size_bytes.bit_length() - 1
        fine = []
        for stride in span.form.strides:
            if isinstance(stride, int):
                if stride % size_bytes:
                    fine.append("false")
            else:
                small = self.add(stride, 1 << 40, "i64")
                fine.append(self.cmp("ult", small, 1 << 41, "i64"))
                if size_bytes > 1:
                    fine.append(self.cmp("eq", self.and_(stride, size_bytes - 1, "i64"), 0, "i64"))
        low, high = self.extremes(span.form)
        ends = [self.add(low, span.low, "i64") if span.low else low, self.add(high, span.high, "i64")]
        single = span.form.uniform and span.low == span.high
        if space == "shared":
            limit = self.lshr(self.load("smem_bytes", constant=True), shift, "i64")
            inside = self._inside(ends, "0", limit, shift, single)
        else:
            base = self.cast("inttoptr", self.load("sites", constant=True), "i64", "ptr")
            cells = (self.op(f"getelementptr i64, ptr {base}, i64 {2 * span.site + i}") for i in range(2))
            lo, limit = (self.get(cell, "i64") for cell in cells)
            inside = self._inside(ends, lo, limit, shift, single)
        flag = inside
        for each in fine:
            flag = self.and_(flag, each, "i1")
        self.bails = True
        after, miss = self.fresh("in"), self.fresh("miss")
        self.do(f"br i1 {flag}, label %{after}, label %{miss}, !prof !1")
        Builder.start(self, miss)
        if space == "shared":
            self.do(f"br label %alone{self.number}")
        else:
            arguments = f"i64 {ends[0]}, i64 {ends[1]}, i64 {size_bytes}, i32 {kinds_of(space)}, i32 {span.site}"
            fits = self.op(f"call i1 @emu_fits(ptr %ctx, {arguments})")
            for each in fine:
                fits = self.and_(fits, each, "i1")
            self.do(f"br i1 {fits}, label %{after}, label %alone{self.number}")
        Builder.start(self, after)

    def _inside(self, ends: list[str], lo: str, limit: str, shift: int, single: bool) -> str:
        flags = []
        for end in ends[:1] if single else ends:
            off = end if lo == "0" else self.sub(end, lo, "i64")
            if shift:
                off = self.op(f"call i64 @llvm.fshl.i64(i64 {off}, i64 {off}, i64 {64 - shift})")
            flags.append(self.cmp("ult", off, limit, "i64"))
        return flags[0] if single else self.and_(*flags, "i1")

    # ** what uniform.walk asks and shows

    def begin(self, position: int) -> None:
        self.number += 1
        self.forms, self.head, self.top, self.lane = {}, [], [], []
        self.conditions: list[str] = []
        self.spans: dict[tuple, Span] = {}
        self.spreads: dict[tuple, str] = {}
        self.here: set[str] = set()
        self.instrs: list[Instr] = []
        self.touched: set[str] = set()
        self.flag, self.leaver, self.bails, self.effects = None, None, False, False
        self.values.clear()
        self.checked.clear()
        self.start_at, self.lines, self.mode = position, self.head, HEAD
        thread_loops.extents(self)

    def guard_of(self, instr: Instr) -> bool:
        form = self.of(instr.guard, 1)
        if form is not None and form.uniform:
            self.flag = form.base
            return True
        self.leaver = instr
        return False

    def step(self, instr: Instr, how) -> None:
        self.instrs.append(instr)
        destinations = uniform_branches.writes(instr)
        if how is EACH:
            self._each(instr, destinations)
        elif isinstance(how, Linear):
            self.forms[instr.operands[0].name] = how
        else:
            if how is ONCE and instr.guard is not None:
                self.under = self.of(instr.guard, 1).base
            try:
                isa.find(instr).emit(self, instr)
            finally:
                self.under = None
        self.touched.update(reg.name for reg in destinations)

    def _each(self, instr: Instr, destinations: list[Reg]) -> None:
        self.effects |= instr.opcode == "st" or instr.opcode in uniform_branches.LOADS
        if instr.guard is not None:
            for reg in destinations:  # what stays where the guard does not hold
                form = self.form(reg)
                if form is None:
                    self._fetch(reg)
                    continue
                value = self.spread(form, reg.bits)
                self.here.add(reg.name)
                with self.into(self.lane, LANE):
                    self.put(self.slot(reg), value, f"i{reg.bits}")
                    self.values[self.slot(reg)] = value
                self.forms[reg.name] = None
        with self.into(self.lane, LANE):
            self.threads = thread_loops.lane_threads(self.number)
            self.instruction(instr)
            self.threads = self.block_threads
        for reg in destinations:
            self.forms[reg.name] = None

    def finish(self, position: int, last: Instr | None) -> None:
        thread_loops.finish(self, position, last)
        self.lines, self.mode = self.out, HEAD
        if last is None or last.opcode not in ("bra", *LEAVES):
            item = self.entry.items[position] if position < len(self.entry.items) else None
            if position == len(self.entry.items):
                self.branch("stop")
            elif not isinstance(item, Instr):
                label = self.label(item.name)
                self.branch(label)
                Builder.start(self, label)
            return
        self._leave(last)

    def _leave(self, last: Instr) -> None:
        """The branch at the end of a region."""
        if self.leaver is not None:
            thread_loops.part(self)
            return
        goal = control.target(self, last, last.operands[0].name) if last.opcode == "bra" else "stop"
        if last.guard is None:
            self.branch(goal)
            control.emit_polls(self)
            Builder.start(self, self.fresh("dead"))
            return
        after = self.fresh("else")
        self.do(f"br i1 {self.get('%branch', 'i1')}, label %{goal}, label %{after}")
        control.emit_polls(self)
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
        thread_loops.start(self, head)
        uniform_branches.walk(self.entry, self)
        text, self.cold_text = thread_loops.text(self, head)
        return text


def _moved(operand):
    """`[symbol + offset]` or `[number + offset]` as one value."""
    base = operand.base
    if isinstance(base, Sym):
        return Sym(base.name, base.offset + operand.offset)
    return Imm(base.value + operand.offset)


def _group(text: str) -> str:
    """What marks an access of the loop as no concern of other threads."""
    plain = text.startswith(("load i", "store i")) and "!" not in text
    return ", !access.group !8" if plain else ""
