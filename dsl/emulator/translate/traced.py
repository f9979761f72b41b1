"""An entry whose threads run alone: each access to memory that others see asks Python what it reads, and tells what it
writes. For the memory model (dsl/memory_model), which decides what they can read.

A thread never waits: a barrier is an event among others. The machine code keeps for each register the reads on which
its value depends, as bits by their number in the thread.
"""

from __future__ import annotations

from collections.abc import Iterable

from dsl.emulator import families
from dsl.emulator.machine.context import RANK_SHIFT
from dsl.emulator.machine.numbers import told
from dsl.emulator.ptx import traits
from dsl.emulator.ptx.operands import LEAVES, reads, registers, result, space_of
from dsl.emulator.ptx.syntax import TYPE_BITS, Addr, Instr, Reg, Variable, Vec
from dsl.emulator.translate.coroutine import MARK, PRIVATE, Thread

_ALONE = (
    traits.EXCHANGE | traits.ASYNCHRONOUS | traits.BULK | traits.PRODUCT | traits.TILE_LOAD
    | traits.TILE_STORE | traits.MBARRIER | traits.CLUSTER
)  # fmt: skip
WHY = "the memory model here has no such instruction"
FIX = "`repro run FILE --seed N` runs the kernel in another order"


class Traced(Thread):
    """The IR of one entry's threads, for Python's order_call in the context."""

    checks = frozenset({"outcomes"})

    def __init__(self, module, entry, places, place_of):
        super().__init__(module, entry, places, place_of, quick=True)
        self.coroutine = False
        self.marks: dict[str, str] = {}
        self.record = self.alloca(f"[{told.FIELDS} x i64]")
        self.control = self._mark_named("%control")  # of branches that the thread came by
        self.private = self._mark_named("%private")  # of local memory and of arguments of functions
        self.passed: list[str] = []  # marks of the arguments of a call
        self.returned: list[str] = []  # slots of the marks of its results

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

    def mark_of(self, found: Iterable[Reg]) -> str:
        """The reads on which these registers depend."""
        mark = "0"
        for slot in dict.fromkeys(map(self._mark_slot, found)):
            mark = self.or_(mark, self.get(slot, "i64"), "i64") if mark != "0" else self.get(slot, "i64")
        return mark

    def put_mark(self, operand, mark: str, keeps: bool) -> None:
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
            self.put(self._field(getattr(told, name)), value, "i64")
        record = self.cast("ptrtoint", self.record, "ptr", "i64")
        arguments = f"i32 {what}, i32 {self.threads['linear']}, i64 {record}, i64 {self.site(instr)}"
        answer, on = self.op(f"call i32 @emu_order(ptr %ctx, {arguments})"), self.fresh("on")
        self.do(f"br i1 {self.cmp('eq', answer, 0)}, label %{on}, label %exit")
        self.start(on)

    def needs(self, instr: Instr, found: Iterable[Reg] = ()) -> str:
        """The mark of an access: of its addresses, its guard, the branches before, and the registers `found`."""
        places = [reg for each in instr.operands if isinstance(each, Addr) for reg in registers(each)]
        return self.or_(self.mark_of([*found, *places, *registers(instr.guard)]), self.get(self.control, "i64"), "i64")

    def told_back(self, field: int) -> str:
        """What Python gave back in the record."""
        return self.get(self._field(field), "i64")

    def shared_place(self, instr: Instr, operand: Addr, space: str, size_bytes: int, nbytes: str = "") -> str:
        """The address of `nbytes` of shared memory (default: `size_bytes`), aligned to `size_bytes`. Memory of another
        block has an address in shared::cluster. A fault if the block's own memory has no such place."""
        address = self.address(operand)
        if space == "generic":
            address = self.sub(address, self.load("smem", constant=True), "i64")
            space = "shared"
        if space == "shared":
            return self._own_place(instr, address, size_bytes, nbytes)
        result = self.alloca("i64")
        self.put(result, address, "i64")
        own, after = self.fresh("own"), self.fresh("after")
        self.do(f"br i1 {self.cmp('ult', address, 1 << RANK_SHIFT, 'i64')}, label %{own}, label %{after}")
        self.start(own, keep=True)
        self.put(result, self._own_place(instr, address, size_bytes, nbytes), "i64")
        self.branch(after)
        self.start(after)
        return self.get(result, "i64")

    def _own_place(self, instr: Instr, offset: str, size_bytes: int, nbytes: str) -> str:
        pointer = families.named("traced", "checked_shared")[0](self, instr, offset, size_bytes)
        if nbytes:
            last = self.sub(self.add(offset, nbytes, "i64"), size_bytes, "i64")
            last = self.select(self.cmp("eq", nbytes, 0, "i64"), offset, last, "i64")
            families.named("traced", "checked_shared")[0](self, instr, last, size_bytes)
        return self.cast("ptrtoint", pointer, "ptr", "i64")

    def tell_read(self, instr: Instr, address: str, size_bytes: int) -> tuple[str, str]:
        """The value that it reads, and the mark of the value."""
        private = self.get(self.private, "i64")
        self.event(told.READ, instr, ADDRESS=address, SIZE=str(size_bytes), NEEDS=self.needs(instr), EXTRA=private)
        return self.resize(self.told_back(told.VALUE), 64, size_bytes * 8), self.told_back(told.NEEDS)

    def tell_write(self, instr: Instr, address: str, size_bytes: int, value: str, needs: str, skips: str = "0") -> None:
        """`skips`: not 0 if nothing is written after all."""
        wide = self.resize(value, size_bytes * 8, 64)
        self.event(told.WRITE, instr, ADDRESS=address, SIZE=str(size_bytes), VALUE=wide, NEEDS=needs, EXTRA=skips)
        if space_of(instr) == "generic":
            self._add_mark(self.private, self.told_back(told.NEEDS))

    # ** instructions

    def emit(self, row, instr: Instr) -> None:
        if instr.traits & traits.REMOTE:
            families.named("traced", "async_store")[0](self, instr)
        elif instr.traits & (traits.LOAD | traits.STORE | traits.UPDATES) and space_of(instr) not in PRIVATE:
            families.named("traced", "access")[0](self, instr)
        elif instr.traits & traits.FENCE:
            if "async::generic" in instr.mods:
                raise self.refuse(instr, WHY, FIX)
            self.event(told.FENCE, instr)
        elif instr.traits & traits.MBARRIER and not instr.traits & traits.COPY:
            families.named("traced", "counted")[0](self, instr)
        elif instr.traits & traits.CLUSTER:
            families.named("traced", "cluster")[0](self, instr, WHY, FIX)
        elif instr.traits & traits.EXCHANGE:
            families.named("traced", "exchange")[0](self, instr, WHY, FIX)
        elif instr.traits & traits.BULK and instr.traits & traits.COPY:
            families.named("traced", "bulk_copy")[0](self, instr, WHY, FIX)
        elif instr.traits & traits.BARRIER:
            self._barrier(instr)
        elif instr.traits & traits.COPY and not instr.traits & traits.BULK:
            families.named("traced", "copy")[0](self, instr, WHY, FIX)
        elif row.meets or instr.traits & _ALONE:
            raise self.refuse(instr, WHY, FIX)
        else:
            self._private(row, instr)

    def guarded(self, instr: Instr, row) -> None:
        """Its result depends on the guard, also if the guard does not hold."""
        destination = result(instr)
        for slot in dict.fromkeys(map(self._mark_slot, registers(destination))) if destination is not None else ():
            self._add_mark(slot, self.mark_of(registers(instr.guard)))
        if instr.opcode in ("brx", *LEAVES):
            self._add_mark(self.control, self.mark_of(registers(instr.guard)))
        super().guarded(instr, row)

    def _private(self, row, instr: Instr) -> None:
        """An instruction that only this thread sees."""
        if instr.opcode in ("bra", "brx"):
            self._add_mark(self.control, self.mark_of(reads(instr)))
        if instr.opcode == "call":
            return self._call(row, instr)
        mark = self.mark_of(reads(instr))
        if instr.traits & traits.STORE:
            self._add_mark(self.private, mark)
        if instr.traits & traits.LOAD:
            mark = self.or_(mark, self.get(self.private, "i64"), "i64")
        super().emit(row, instr)
        destination = result(instr)
        if destination is not None:
            self.put_mark(destination, mark, instr.guard is not None)

    def _call(self, row, instr: Instr) -> None:
        """A call, whose registers keep their marks on the way in and out."""
        results = instr.operands[0].items if isinstance(instr.operands[0], Vec) else ()
        arguments = instr.operands[-1].items if isinstance(instr.operands[-1], Vec) else ()
        self.passed, self.returned = [self.mark_of(registers(each)) for each in arguments], []
        super().emit(row, instr)
        for operand, slot in zip(results, self.returned):
            self.put_mark(operand, self.get(slot, "i64"), instr.guard is not None)

    def emit_function(self, function) -> None:
        passed, self.passed = self.passed, []
        for formal, mark in zip(function.params, passed):
            if formal.space == "reg":
                self.put(self._mark_slot(_register(formal)), mark, "i64")
        if len(self.frames) == 1:
            self.event(told.START, next(item for item in function.items if isinstance(item, Instr)))
        returned = [self._mark_slot(_register(each)) for each in function.returns if each.space == "reg"]
        super().emit_function(function)
        self.returned = returned

    def _barrier(self, instr: Instr) -> None:
        if not instr.traits & traits.NO_RESULT:  # a reduction over the threads
            raise self.refuse(instr, WHY, FIX)
        number = self.resize(self.read(instr.operands[0], 32), 32, 64)
        count = self.resize(self.read(instr.operands[1], 32), 32, 64) if len(instr.operands) > 1 else "0"
        self.event(told.BARRIER, instr, VALUE=number, EXTRA=count, NEEDS=self.needs(instr, reads(instr)))

    # ** loops

    def reached(self, label: str) -> None:
        if label in self.polls:
            self.event(told.HEAD, self.polls[label].instr)

    def emit_polls(self) -> None:
        """Each round of a loop that only looks ends with the question whether the thread waits there."""
        pending, self.pending = self.pending, []
        for poll, label, wait, instr in pending:
            if wait is None or not wait.idle:
                self.pending.append((poll, label, wait, instr))
                continue
            self.start(poll)
            self.event(told.ROUND, wait.instr)
            self.branch(label)
        super().emit_polls()


def _register(formal: Variable) -> Reg:
    return Reg(formal.name, TYPE_BITS[formal.type])
