"""An entry whose accesses are looked at: what check/ needs to know, told where it happens.

Checked code runs as threads (coroutines, or a loop over threads where they never meet) whatever shape the kernel has
unchecked. It is another program to LLVM: unchecked code does not know of it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from dsl.emulator import families
from dsl.emulator.check import observed_writes, order, ordering, trail
from dsl.emulator.check.access import kind_of, order_kinds, unit_shift
from dsl.emulator.check.numbers import access, orders, undefined
from dsl.emulator.dependence.observed import Observations
from dsl.emulator.ir.body import constant
from dsl.emulator.machine import context
from dsl.emulator.ptx.analysis import reachable
from dsl.emulator.ptx.basic_blocks import is_asked
from dsl.emulator.ptx.control import program_order
from dsl.emulator.ptx.operands import LEAVES, reads, registers, result, space_of
from dsl.emulator.ptx.syntax import TYPE_BITS, Addr, Function, Instr, Module, Pair, Reg, Vec
from dsl.emulator.ptx.traits import ATOMIC, COMPUTES, CONVERTS, COPY, LOAD, MOVES, REDUCTION, STORE, UPDATES
from dsl.emulator.translate.coroutine import MARK, Thread

RACE, UNDEFINED = "race", "undefined"
CHECKS = (RACE, UNDEFINED)


class Checked(Thread):
    """The IR of one entry's threads under `checks`, names of CHECKS."""

    def __init__(self, module: Module, entry: Function, places, place_of, checks, seeded: bool = False):
        super().__init__(module, entry, places, place_of, seeded)
        functions = reachable(module, entry)
        self.checks = frozenset(checks)
        self.race_shift = unit_shift(functions)
        self.order_kinds = order_kinds(functions) if RACE in self.checks else 0
        self.observations = Observations(module, entry, places.tensor_core) if RACE in self.checks else None
        if self.observations and self.observations.accesses:
            self.order_kinds |= orders.OBSERVED
        # by identity of an instruction: kinds of its access in addition to its row
        self.more_kinds: dict[int, int] = {}
        for kinds in families.named("check", "kinds"):
            self.more_kinds |= kinds(functions)
        watches = [watch(self, functions) for watch in families.named("check", "WATCH")] if self.order_kinds else []
        self.watches = {type(each): each for each in watches if each}
        self.marked = {f.name: _may_be_marked(f) for f in functions} if UNDEFINED in self.checks else {}
        self.mark_slots: dict[str, str] = {}
        self.orders = {f.name: program_order(f) for f in functions} if RACE in self.checks else {}
        self.way: tuple = ()  # to the function being emitted: ranks and positions of the calls
        self.places_of_sites: list[tuple] = []
        self.loaded = "0"  # the bytes nobody wrote of the load being emitted
        self.loaded_site, self.loaded_address = 0, ""
        self.writes_rows: Instr | None = None  # whose C++ looks for races

    # ** told by emitters

    def reached(self, label: str) -> None:
        poll = self.polls.get(label)
        is_spin = poll is not None and poll.looks
        if self.orders and label in self.orders[self.frame.function.name][1] and not is_spin:
            self.do(f"call void @emu_round(ptr %ctx, i32 {self.threads['linear']})")

    def site(self, instr: Instr) -> int:
        if self.orders:
            self.places_of_sites.append(self._way_here())
        return super().site(instr)

    def _way_here(self) -> tuple:
        return *self.way, self.orders[self.frame.function.name][0][self.position], self.position

    @property
    def ranks(self) -> list[int]:
        """By site: where it comes in the order in which a thread executes the kernel, loops aside."""
        ranks = [0] * len(self.places_of_sites)
        for rank, site in enumerate(sorted(range(len(ranks)), key=lambda site: (self.places_of_sites[site], site))):
            ranks[site] = rank
        return ranks

    def emit_function(self, function: Function) -> None:
        outer = self.way
        if self.orders and len(self.frames) > 1:
            caller = self.frames[-2].function.name
            self.way = *self.way, self.orders[caller][0][self.position], self.position
        super().emit_function(function)
        self.way = outer

    def _keep_in_trail(self, instr: Instr) -> None:
        """Keep the value that identifies the barrier: its number and count, the mask of a warp, the groups that may be
        left, the address of an mbarrier and the parity that is waited for."""
        if "wait_group" in instr.mods and instr.operands:
            value = self.resize(self.read(instr.operands[0], 32), 32, 64)
        else:
            value = _trails().get(instr.opcode, _nothing)(self, instr)
        where = f"i32 {self.threads['linear']}, i32 {self.site(instr)}, i64 {value}"
        self.do(f"call void @emu_trail(ptr %ctx, {where})")

    def accessed(self, instr: Instr, pointer: str, space: str, size_bytes: int, kind: int | None = None) -> str:
        """`instr` touches `size_bytes` at a host pointer, now. `kind` if its row does not define it."""
        kind, place = kind_of(instr) if kind is None else kind, pointer
        if kind is None or space in ("param", "const"):
            return pointer
        kind |= self.more_kinds.get(id(instr), 0)
        address = self.cast("ptrtoint", pointer, "ptr", "i64")
        site = self.site(instr)
        if RACE in self.checks and space != "local" and self.writes_rows is not instr:
            if self.order_kinds & orders.BY_PLACE and kind & access.STRONG and not kind & access.OBJECT:
                place = self._synchronise(instr, address, kind, pointer, size_bytes)
            if self.order_kinds & orders.OBSERVED:
                kind = self._observing(instr, address, kind, size_bytes)
            plain = kind & access.WRITE and not kind & access.STRONG
            said = self._silent_or(kind, instr, pointer) if instr.traits & STORE and plain else kind
            used = self.select(self.read(instr.used_if, 1), size_bytes, 0) if instr.used_if else size_bytes
            where = f"i32 {self.threads['linear']}, i32 {site}, i64 {address}, i32 {used}, i32 {said}"
            self.stop_unless(self.op(f"call i32 @emu_race(ptr %ctx, {where})"))
        if UNDEFINED in self.checks and not kind & access.OBJECT:
            if not kind & access.WRITE or instr.traits & UPDATES:
                self._reads(instr, address, size_bytes, site)
            if kind & access.WRITE:
                self._writes(instr, address, size_bytes, site)
        return place

    def _observing(self, instr: Instr, address: str, kind: int, size_bytes: int) -> int:
        """Tell of a strong access what it writes and whether somebody asks by it; the kind of a plain one, with the
        observers by which it runs."""
        if self.observations is None:
            return kind
        asked = self.observations.accesses.get(id(instr), 0)
        source = self.observations.observers.get(id(instr), 0)
        if not kind & access.STRONG:
            return kind | asked << access.ASKED_SHIFT
        writes = kind & access.WRITE
        what = observed_writes.STORES if writes else 0
        what |= observed_writes.UPDATES if instr.traits & UPDATES else 0
        if source or writes:
            what |= source << observed_writes.SOURCE_SHIFT | size_bytes << observed_writes.SIZE_SHIFT
            self.ordered(context.ORDER_OBSERVES, address, str(what))
        return kind

    def _silent_or(self, kind: int, instr: Instr, pointer: str) -> str:
        """The kind of a plain store: SILENT too where memory holds its value already."""
        bits = next(TYPE_BITS[m] for m in reversed(instr.mods) if m in TYPE_BITS)
        source = instr.operands[1]
        same = "true"
        for i, item in enumerate(source.items if isinstance(source, Vec) else (source,)):
            place = self.op(f"getelementptr i8, ptr {pointer}, i64 {i * max(bits, 8) // 8}")
            alike = self.cmp("eq", self.get(place, f"i{bits}"), self.read(item, bits), f"i{bits}")
            same = self.and_(same, alike, "i1")
        return self.select(same, kind | access.SILENT, kind)

    def check_of_rows(self, instr: Instr) -> tuple[str, int]:
        if RACE not in self.checks:
            return super().check_of_rows(instr)
        self.writes_rows = instr
        return str(self.site(instr) + 1), access.WRITE | self.more_kinds.get(id(instr), 0)

    def rows_written(self, is_right: str) -> None:
        if RACE in self.checks:
            self.stop_unless(self.get(is_right, "i32"))

    def copied(self, instr: Instr, pointer: str, size_bytes: int) -> None:
        """`instr` writes bytes at a host pointer at some time until this thread waits for it (see `queue`)."""
        if RACE in self.checks:
            kind = access.WRITE | access.ASYNC | access.SILENT
            address = self.cast("ptrtoint", pointer, "ptr", "i64")
            where = f"i32 {self.threads['linear']}, i32 {self.site(instr)}, i64 {address}, i32 {size_bytes}"
            self.stop_unless(self.op(f"call i32 @emu_race(ptr %ctx, {where}, i32 {kind})"))

    def ordered(self, what: int, a: str = "0", b: str = "0") -> None:
        """The thread meets others in a way that orders memory; `a` and `b` are i64."""
        if self.order_kinds & orders.ANY:
            self.op(f"call i32 @emu_order(ptr %ctx, i32 {what}, i32 {self.threads['linear']}, i64 {a}, i64 {b})")

    def _synchronise(self, instr: Instr, address: str, kind: int, pointer: str, size_bytes: int) -> str:
        """Tell of a strong access; where a load is to read."""
        how = order.WRITES if kind & access.WRITE else order.READS
        if instr.traits & UPDATES:
            how |= order.READS | order.MODIFIES
            how |= order.UNASKED * (not is_asked(self.frame.function, instr))
        how |= order.ACQUIRES if how & order.READS and not ordering.ACQUIRES.isdisjoint(instr.mods) else 0
        how |= order.RELEASES if how & order.WRITES and not ordering.RELEASES.isdisjoint(instr.mods) else 0
        how |= ordering.scope_of(instr) << order.SCOPE_SHIFT | size_bytes << order.SIZE_SHIFT
        value = str(how)
        old = [more for each in families.named("check", "reads_old") if (more := each(self, instr, kind)) is not None]
        if old and self.order_kinds & orders.MEMORY:
            where = f"i32 {context.ORDER_OLD}, i32 {self.threads['linear']}, i64 {address}, i64 {how | old[0]}"
            is_old = self.cmp("ne", self.op(f"call i32 @emu_order(ptr %ctx, {where})"), 0)
            value = self.select(is_old, 0, how, "i64")
            pointer = self.select(is_old, self.field("old_value"), pointer, "ptr")
        if "cas" in instr.mods:  # one that fails writes nothing
            bits = next(TYPE_BITS[m] for m in instr.mods if m in TYPE_BITS)
            expected = self.read(instr.operands[-2], bits)
            same = self.cmp("eq", self.get(pointer, f"i{bits}"), expected, f"i{bits}")
            value = self.select(same, how, how & ~(order.WRITES | order.MODIFIES | order.RELEASES), "i64")
        self.ordered(context.ORDER_ACCESS, address, value)
        return pointer

    # ** undefined values

    def _reads(self, instr: Instr, address: str, size_bytes: int, site: int) -> None:
        where = f"i64 {address}, i32 {size_bytes}, i32 {_element_bits(instr) // 8}"
        self.loaded = self.op(f"call i32 @emu_unwritten(ptr %ctx, {where})")
        self.loaded_site, self.loaded_address = site, address
        if instr.traits & UPDATES:  # bits that stay may belong to others: cooperative groups
            bits = instr.traits & REDUCTION and {"b32", "b64"} & {*instr.mods}
            replaces = "exch" in instr.mods or bits
        else:
            replaces = instr.traits & (LOAD | COPY)  # a copy of global memory may take its padding
        if not (replaces or any(each(instr) for each in families.named("check", "passes_reads"))):  # it is combined
            self.undefined_finding(instr, self._mark_of_load(0, size_bytes), undefined.GOES_ON)

    def _writes(self, instr: Instr, address: str, size_bytes: int, site: int) -> None:
        linear, values = self.threads["linear"], []
        if instr.traits & STORE:
            source = instr.operands[1]
            values = list(source.items) if isinstance(source, Vec) else [source]
        marks = [self.mark(each) for each in values]
        parts = [(address, size_bytes, "0")]
        if any(mark != "0" for mark in marks):
            each = size_bytes // len(values)
            parts = [(self.add(address, i * each, "i64"), each, mark) for i, mark in enumerate(marks)]
        for place, nbytes, mark in parts:
            where = f"i32 {linear}, i32 {site}, i64 {place}, i32 {nbytes}, i64 {mark}"
            self.do(f"call void @emu_written(ptr %ctx, {where})")

    def is_marked(self, operand) -> bool:
        names = self.marked.get(self.frame.function.name, ())
        return any(reg.name in names for reg in registers(operand))

    def _mark_slot(self, reg: Reg) -> str:
        slot = self.slot(reg)
        if slot not in self.mark_slots:
            self.mark_slots[slot] = name = slot + MARK
            self.allocas.append(f"  {name} = alloca i64")
        return self.mark_slots[slot]

    def _mark_of(self, reg: Reg) -> str:
        """The mark of a register, as what is known here or from its slot."""
        slot = self._mark_slot(reg)
        if slot not in self.values:
            self.values[slot] = self.get(slot, "i64")
            if slot not in self.frame.loaded:
                self.frame.loaded.add(slot)
                self.prologue.append(f"  store i64 0, ptr {slot}")
        return self.values[slot]

    def _marked_of(self, operands: Iterable[Any]) -> list[Reg]:
        """The registers of operands that may be marked, each once."""
        names = self.marked.get(self.frame.function.name, ())
        rows = {reg.name: reg for each in operands for reg in registers(each) if reg.name in names}
        return list(rows.values())

    def mark(self, *operands) -> str:
        """The mark of what is computed of these."""
        return self.joined([self._mark_of(reg) for reg in self._marked_of(operands)])

    def joined(self, marks: Iterable[str]) -> str:
        """One of these marks, if any is not 0."""
        result = ""
        for each in sorted({*marks} - {"0"}):
            result = self.op(f"call i64 @llvm.umax.i64(i64 {result}, i64 {each})") if result else each
        return result or "0"

    def put_mark(self, operand, mark: str) -> None:
        for reg in self._marked_of([operand]):
            slot = self._mark_slot(reg)
            self.put(slot, mark, "i64")
            self.values[slot] = mark
            self.written.add(slot)

    def decides(self, instr: Instr, *operands, ends: bool = True) -> None:
        """A finding if one of these is marked; where it `ends` the launch, at once."""
        if (mark := self.mark(*operands)) == "0":
            return
        self.undefined_finding(instr, mark, undefined.ENDS if ends else undefined.GOES_ON)
        if ends:  # who comes here has none of them marked
            for reg in self._marked_of(operands):
                self.values[self._mark_slot(reg)] = "0"

    def undefined_finding(self, instr: Instr, mark: str, how: int) -> None:
        """`how`: as numbers.undefined has it."""
        bad, fine = self.fresh("undefined"), self.fresh("defined")
        self.do(f"br i1 {self.cmp('eq', mark, 0, 'i64')}, label %{fine}, label %{bad}, !prof !1")
        self.start(bad, keep=True)
        where = f"i32 {self.threads['linear']}, i32 {self.site(instr)}, i64 {mark}, i32 {how}"
        self.op(f"call i32 @emu_undefined(ptr %ctx, {where})")
        self.branch("stop" if how == undefined.ENDS else fine)
        self.start(fine, keep=True)

    def unless_padding(self, mark: str) -> None:
        """The thread gives another lane no mark of what was computed of padding."""
        bad, fine = self.fresh("computed"), self.fresh("given")
        self.do(f"br i1 {self.cmp('sge', mark, 0, 'i64')}, label %{fine}, label %{bad}, !prof !1")
        self.start(bad, keep=True)
        self.do(f"call void @emu_given(ptr %ctx, i32 {self.threads['linear']})")
        self.branch(fine)
        self.start(fine, keep=True)

    def instruction(self, instr: Instr) -> None:
        if self.marked and instr.guard is not None:
            self.decides(instr, instr.guard)
        super().instruction(instr)

    def emit(self, row, instr: Instr) -> None:
        if RACE in self.checks and trail.is_kept(instr):
            self._keep_in_trail(instr)
        for watch in self.watches.values():
            watch.before(instr)
        self._emit(row, instr)
        for watch in self.watches.values():
            watch.after(instr)

    def _emit(self, row, instr: Instr) -> None:
        if not self.marked:
            return super().emit(row, instr)
        if instr.opcode in _marks():
            return _marks()[instr.opcode](self, row, instr)
        operands = instr.operands
        pure = instr.traits & (COMPUTES | CONVERTS)  # a mark goes from what it reads to what it sets
        mark = self._computed(instr) if pure else "0"
        if not pure:
            self.decides(instr, *(each for each in operands if isinstance(each, Addr)))
            if not (instr.traits & (LOAD | STORE) or instr.opcode in ("call", *LEAVES)):
                self.decides(instr, *reads(instr), ends=instr.opcode in ("bra", "brx"))
        self.loaded = "0"
        super().emit(row, instr)
        if pure and isinstance(operands[0], Vec):
            self._put_parts(operands[0], mark, instr)
        elif pure:
            self.put_mark(operands[0], mark)
        elif instr.traits & (LOAD | ATOMIC):
            self._put_loaded(instr)
        elif instr.opcode != "call" and (destination := result(instr)) is not None:
            self.put_mark(destination, "0")

    def _computed(self, instr: Instr) -> str:
        """The mark of what a pure instruction sets."""
        sources = instr.operands[1:]
        if not any(map(self.is_marked, sources)):
            return "0"
        if (rule := _mark_rules().get(instr.opcode)) is not None:
            return rule(self, instr, *sources)
        mark = self.mark(*sources)
        if isinstance(sources[0], Vec) and mark != "0":  # of parts, which may be written or not
            return self.select(self.cmp("slt", mark, 0, "i64"), mark, 0, "i64")
        if instr.traits & MOVES:
            return mark
        return self.computed_mark(mark)

    def computed_mark(self, mark: str) -> str:
        """The mark of a value that is computed of one with this mark."""
        if mark == "0":
            return mark
        computed = self.or_(mark, constant(undefined.COMPUTED, 64), "i64")
        return self.select(self.cmp("eq", mark, 0, "i64"), 0, computed, "i64")

    def _put_parts(self, destination: Vec, mark: str, instr: Instr) -> None:
        """The marks of the parts of a value: each was read at its own address."""
        bits = _element_bits(instr)
        shuffled = self.and_(mark, undefined.SHUFFLED, "i64")
        is_read = self.and_(self.cmp("ne", mark, 0, "i64"), self.cmp("eq", shuffled, 0, "i64"), "i1")
        for i, item in enumerate(destination.items):
            part = self.add(mark, i * bits // 8 // len(destination.items), "i64")
            self.put_mark(item, self.select(is_read, part, mark, "i64"))

    def _put_loaded(self, instr: Instr) -> None:
        destination = instr.operands[0]
        if isinstance(destination, Pair):
            return
        items = destination.items if isinstance(destination, Vec) else (destination,)
        if self.loaded == "0":
            return self.put_mark(destination, "0")
        each = _element_bits(instr) // 8
        for i, item in enumerate(items):
            if not self.is_marked(item):
                continue
            self.put_mark(item, self._mark_of_load(i * each, each))

    def _mark_of_load(self, first: int, nbytes: int) -> str:
        """The mark of some bytes of the last load."""
        number = min(self.loaded_site, undefined.MOST_SITES) + 1
        part = self.and_(self.loaded, constant(((1 << nbytes) - 1) << first, 32))
        address = self.add(self.loaded_address, first, "i64")
        address = self.and_(address, undefined.ADDRESS_MASK, "i64")
        mark = self.or_(address, constant(number << undefined.SITE_SHIFT, 64), "i64")
        return self.select(self.cmp("eq", part, 0), 0, mark, "i64")


def _element_bits(instr: Instr) -> int:
    """The bits of what one register takes."""
    return next((TYPE_BITS[m] for m in reversed(instr.mods) if m in TYPE_BITS), 32)


def _nothing(body, instr: Instr) -> str:
    return "0"


@functools.cache
def _trails() -> dict:
    """Code for the value that identifies the barrier, by opcode of an instruction that orders threads."""
    return {opcode: value for each in families.named("check", "TRAIL") for opcode, value in each.items()}


@functools.cache
def _marks() -> dict:
    """By opcode: code of instructions that pass undefined values on in their own way."""
    return {opcode: emit for each in families.named("check", "MARKS") for opcode, emit in each.items()}


@functools.cache
def _mark_rules() -> dict:
    """The marks of its operands that a result gets, by opcode of an instruction that only computes."""
    return {opcode: rule for each in families.named("check", "COMPUTED") for opcode, rule in each.items()}


def _may_be_marked(function: Function) -> frozenset[str]:
    """Registers that a load, or what is computed of one, sets."""
    names: set[str] = set()
    size = -1
    while size != len(names):
        size = len(names)
        for item in function.items:
            if not isinstance(item, Instr) or not item.operands:
                continue
            if item.traits & (LOAD | ATOMIC):
                if space_of(item) not in ("param", "const"):
                    names.update(reg.name for reg in registers(item.operands[0]))
            elif item.opcode in _marks():
                names.update(reg.name for reg in registers(item.operands[0]))
            elif item.traits & (COMPUTES | CONVERTS):
                sources = (reg.name for each in item.operands[1:] for reg in registers(each))
                if any(name in names for name in sources):
                    names.update(reg.name for reg in registers(item.operands[0]))
    return frozenset(names)
