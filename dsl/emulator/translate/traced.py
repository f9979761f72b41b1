"""An entry whose threads run alone: each access to memory that others see asks Python what it reads, and tells what it
writes. For the memory model (dsl/memory_model), which decides what they can read.

A thread never waits: a barrier is an event among others. With each register the machine code keeps the reads on which
its value depends, as bits by their number in the thread.
"""

from __future__ import annotations

from dsl.emulator.families.memory import atomics
from dsl.emulator.families.memory.emit import host_address, shape
from dsl.emulator.ptx import traits
from dsl.emulator.ptx.operands import LEAVES, reads, registers, result, space_of
from dsl.emulator.ptx.syntax import FLOATS, SIGNED, SINK, Addr, Instr, Reg, Vec
from dsl.emulator.translate.coroutine import MARK, PRIVATE, Thread

# What a call of Python is about: the second argument of emu_order.
READ, WRITE, FENCE, BARRIER, HEAD, ROUND = range(64, 70)
ADDRESS, SIZE, VALUE, NEEDS, EXTRA, FIELDS = range(6)  # of the record that the fourth argument points to
_ALONE = (
    traits.EXCHANGE | traits.COPY | traits.BULK | traits.REMOTE | traits.PRODUCT | traits.TILE_LOAD
    | traits.TILE_STORE | traits.MBARRIER | traits.CLUSTER
)  # fmt: skip
WHY = "the memory model here has no such instruction"
FIX = "repro run explores the orders of a kernel that has it, with --seeds"


class Traced(Thread):
    """The IR of one entry's threads, for Python's order_call in the context."""

    checks = frozenset({"outcomes"})

    def __init__(self, module, entry, places, place_of):
        super().__init__(module, entry, places, place_of, quick=True)
        self.coroutine = False
        self.marks: dict[str, str] = {}
        self.record = self.alloca(f"[{FIELDS} x i64]")
        self.control = self._mark_named("%control")  # of branches that the thread came by
        self.private = self._mark_named("%private")  # of local memory and of arguments of functions
        self.heads: dict[str, Instr] = {}

    # ** marks: the reads on which a value depends

    def _mark_named(self, name: str) -> str:
        slot = name + MARK
        self.allocas.append(f"  {slot} = alloca i64")
        self.prologue.append(f"  store i64 0, ptr {slot}")
        return slot

    def _mark_slot(self, reg: Reg) -> str:
        slot = self.slot(reg)
        if slot not in self.marks:
            self.marks[slot] = self._mark_named(slot)
        return self.marks[slot]

    def _mark(self, found) -> str:
        mark = "0"
        for slot in dict.fromkeys(map(self._mark_slot, found)):
            mark = self.or_(mark, self.get(slot, "i64"), "i64") if mark != "0" else self.get(slot, "i64")
        return mark

    def _put_mark(self, operand, mark: str, keeps: bool) -> None:
        """`keeps`: whether the instruction is guarded, so the old value may stay."""
        for slot in dict.fromkeys(map(self._mark_slot, registers(operand))):
            value = self.or_(mark, self.get(slot, "i64"), "i64") if keeps else mark
            self.put(slot, value, "i64")

    def _add_mark(self, slot: str, mark: str) -> None:
        self.put(slot, self.or_(self.get(slot, "i64"), mark, "i64"), "i64")

    # ** events

    def _field(self, index: int) -> str:
        return self.op(f"getelementptr i64, ptr {self.record}, i64 {index}")

    def event(self, what: int, instr: Instr, **fields: str) -> None:
        """Tell Python; the thread ends here if the answer is not 0."""
        for name, value in fields.items():
            self.put(self._field(globals()[name]), value, "i64")
        record = self.cast("ptrtoint", self.record, "ptr", "i64")
        arguments = f"i32 {what}, i32 {self.threads['linear']}, i64 {record}, i64 {self.site(instr)}"
        answer, on = self.op(f"call i32 @emu_order(ptr %ctx, {arguments})"), self.fresh("on")
        self.do(f"br i1 {self.cmp('eq', answer, 0)}, label %{on}, label %exit")
        self.start(on)

    def _needs(self, found) -> str:
        return self.or_(self._mark(found), self.get(self.control, "i64"), "i64")

    def _read(self, instr: Instr, address: str, size_bytes: int) -> tuple[str, str]:
        """What it reads, and the mark of that."""
        self.event(READ, instr, ADDRESS=address, SIZE=str(size_bytes), NEEDS=self._needs(self._places(instr)))
        value = self.get(self._field(VALUE), "i64")
        return self.resize(value, 64, size_bytes * 8), self.get(self._field(NEEDS), "i64")

    def _write(self, instr: Instr, address: str, size_bytes: int, value: str, needs: str, skips: str = "0") -> None:
        wide = self.resize(value, size_bytes * 8, 64)
        self.event(WRITE, instr, ADDRESS=address, SIZE=str(size_bytes), VALUE=wide, NEEDS=needs, EXTRA=skips)

    def _places(self, instr: Instr) -> list[Reg]:
        """The registers of its addresses and of its guard."""
        found = [reg for each in instr.operands if isinstance(each, Addr) for reg in registers(each)]
        return [*found, *registers(instr.guard)]

    # ** instructions

    def emit(self, row, instr: Instr) -> None:
        if instr.traits & (traits.LOAD | traits.STORE | traits.UPDATES) and space_of(instr) not in PRIVATE:
            self._access(instr)
        elif instr.traits & traits.FENCE:
            self.event(FENCE, instr)
        elif instr.traits & traits.BARRIER and not instr.traits & traits.CLUSTER:
            self._barrier(instr)
        elif instr.opcode == "nanosleep":
            return
        elif row.meets or instr.traits & _ALONE:
            raise self.refuse(instr, WHY, FIX)
        else:
            self._private(row, instr)

    def _private(self, row, instr: Instr) -> None:
        """An instruction that only this thread sees."""
        if instr.guard is not None and instr.opcode in ("bra", "brx", *LEAVES):
            self._add_mark(self.control, self._mark(registers(instr.guard)))
        if instr.opcode == "brx":
            self._add_mark(self.control, self._mark(reads(instr)))
        mark = self._mark(reads(instr))
        if instr.traits & traits.STORE:
            self._add_mark(self.private, mark)
        if instr.traits & traits.LOAD:
            mark = self.or_(mark, self.get(self.private, "i64"), "i64")
        super().emit(row, instr)
        destination = result(instr)
        if destination is not None and instr.opcode != "call":
            self._put_mark(destination, mark, instr.guard is not None)

    def _access(self, instr: Instr) -> None:
        _, bits, count, size = shape(instr)
        if bits > 64 or "nc" in instr.mods or (instr.traits & traits.UPDATES and count > 1):
            raise self.refuse(instr, WHY, FIX)
        operand = next(each for each in instr.operands if isinstance(each, Addr))
        space = space_of(instr)
        if space == "cluster":
            raise self.refuse(instr, WHY, FIX)
        pointer = host_address(self, instr, operand, space, size)
        address = self.cast("ptrtoint", pointer, "ptr", "i64")
        if instr.traits & traits.UPDATES:
            return self._update(instr, address)
        other = instr.operands[0 if instr.traits & traits.LOAD else 1]
        for i, item in enumerate(other.items if isinstance(other, Vec) else (other,)):
            place = self.add(address, i * bits // 8, "i64")
            if instr.traits & traits.STORE:
                needs = self._needs([*registers(item), *self._places(instr)])
                self._write(instr, place, bits // 8, self.read(item, bits), needs)
                continue
            value, mark = self._read(instr, place, bits // 8)
            self.write(item, value, bits, instr.mods[-1] in SIGNED)
            self._put_mark(item, mark, instr.guard is not None)

    def _update(self, instr: Instr, address: str) -> None:
        kind, bits, _, size = shape(instr)
        if kind.endswith("x2") or (kind in FLOATS and kind not in ("f32", "f64")):
            raise self.refuse(instr, WHY, FIX)
        has_result = bool(instr.traits & traits.ATOMIC)
        values = [each for each in instr.operands[has_result:] if not isinstance(each, Addr)]
        operation = next(m for m in instr.mods if m in atomics.OPERATIONS)
        values = values[: 2 if operation == "cas" else 1]
        old, mark = self._read(instr, address, size)
        operands = [self.read(each, bits) for each in values]
        new = atomics.OPERATIONS[operation](self, instr, kind, old, *operands)
        needs = self._needs([reg for each in (*values, *self._places(instr)) for reg in registers(each)])
        if operation != "exch":
            needs = self.or_(needs, mark, "i64")
        skips = "0"
        if operation == "cas":
            skips = self.cast("zext", self.cmp("ne", old, operands[0], f"i{bits}"), "i1", "i64")
        self._write(instr, address, size, new, needs, skips)
        if has_result and instr.operands[0] is not SINK:
            self.write(instr.operands[0], old, bits, kind in SIGNED)
            self._put_mark(instr.operands[0], mark, instr.guard is not None)

    def _barrier(self, instr: Instr) -> None:
        if "red" in instr.mods:
            raise self.refuse(instr, WHY, FIX)
        number = self.resize(self.read(instr.operands[0], 32), 32, 64)
        count = self.resize(self.read(instr.operands[1], 32), 32, 64) if len(instr.operands) > 1 else "0"
        self.event(BARRIER, instr, VALUE=number, EXTRA=count, NEEDS=self._needs(reads(instr)))

    # ** loops

    def reached(self, label: str) -> None:
        if label in self.polls:
            self.event(HEAD, self.polls[label].instr)

    def emit_polls(self) -> None:
        """Each round of a loop that only looks ends with the question whether the thread waits there."""
        pending, self.pending = self.pending, []
        for poll, label, wait, instr in pending:
            if wait is None or not wait.idle:
                self.pending.append((poll, label, wait, instr))
                continue
            self.start(poll)
            self.event(ROUND, wait.instr)
            self.branch(label)
        super().emit_polls()


