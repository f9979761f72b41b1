"""Registers that a wgmma reads and writes while it is on its way, in checked code. PTX ISA 9.7.15.5, 9.7.15.7.

Between a wgmma.mma_async and the wgmma.wait_group that covers it, no other instruction may read or write its D, or
write an A that is in registers. A write there by another instruction needs a wgmma.fence before the next wgmma. A move
from register to register is how compilers rename, and split a pair of f16: what holds for the one then holds for the
other. A constant may be
moved in after the fence: compilers put it where it is needed.
"""

from __future__ import annotations

from dsl.emulator.families.warpgroup.register_flight import (
    IS_A,
    NO_FENCE,
    NO_FENCE_AT_ALL,
    NUMBER,
    READS_RESULT,
    WRITES_OPERAND,
    WRITES_RESULT,
)
from dsl.emulator.machine import context
from dsl.emulator.ptx.operands import reads, registers, writes
from dsl.emulator.ptx.syntax import Function, Instr, Reg, Vec


def async_registers(function: Function) -> frozenset[str]:
    """Registers of some wgmma's D or A, and what moves copy from or to them."""
    names: set[str] = set()
    moves = []
    for item in function.items:
        if not isinstance(item, Instr):
            continue
        if "mma_async" in item.mods:
            names.update(reg.name for each in item.operands[:2] if isinstance(each, Vec) for reg in _of(each))
        elif is_move(item):
            moves.append({reg.name for each in item.operands for reg in _of(each)})
    size = -1 if names else 0
    while size != len(names):
        size = len(names)
        for group in moves:
            if not names.isdisjoint(group):
                names.update(group)
    return frozenset(names)


def is_move(instr: Instr) -> bool:
    """Whether it copies registers to registers: one to one, or its halves."""
    return instr.opcode == "mov" and all(_of(each) for each in instr.operands)


def _of(operand) -> list[Reg]:
    return list(registers(operand))


class AsyncRegisters:
    """The state that checked code keeps of such registers: for each its wgmma and its last write, and how many groups
    and fences there were."""

    def __init__(self, body, functions: list[Function]):
        self.body = body
        self.names = {f.name: async_registers(f) for f in functions}
        self.slots: dict[tuple[str, str], str] = {}

    def __bool__(self) -> bool:
        return any(self.names.values())

    def group(self) -> str:
        """The number of the group that the next commit_group closes, as i32."""
        return self.body.get(self._slot("", "groups", "i32"))

    def before(self, instr: Instr) -> None:
        """Tell of `instr`, which comes next."""
        if instr.opcode == "wgmma":
            if "mma_async" in instr.mods:
                self._begins(instr)
            elif "wait_group" in instr.mods:
                self._waits(instr)
            else:
                self._counts("fences" if "fence" in instr.mods else "groups")
        elif not is_move(instr):
            self._other(instr)

    def after(self, instr: Instr) -> None:
        """`instr` is emitted."""
        if instr.opcode == "wgmma" or not instr.operands:
            return
        if is_move(instr):
            self._moved(*(list(filter(self._has, _of(each))) for each in instr.operands))
            return
        constant = instr.opcode == "mov" and not _of(instr.operands[1])
        for reg in filter(self._has, writes(instr)):
            self._put(reg, "flight", "0")
            self._put(reg, "write", "0" if constant else self._mark(instr, self._count("fences")))

    def _moved(self, targets: list[Reg], sources: list[Reg]) -> None:
        """The later state of the sources goes to each target."""
        for kind in ("flight", "write"):
            states = [self._state(reg, kind) for reg in sources]
            if states:
                latest = states[0]
                for state in states[1:]:
                    latest = self.body.op(f"call i64 @llvm.umax.i64(i64 {latest}, i64 {state})")
                for reg in targets:
                    self._put(reg, kind, latest)

    # ** states

    def _slot(self, name: str, kind: str, bits: str = "i64") -> str:
        key = name, kind
        if key not in self.slots:
            slot = self.slots[key] = self.body.alloca(bits)
            self.body.prologue.append(f"  store {bits} 0, ptr {slot}")
        return self.slots[key]

    def _count(self, name: str) -> str:
        return self.body.resize(self.body.get(self._slot("", name, "i32")), 32, 64)

    def _counts(self, name: str) -> None:
        slot = self._slot("", name, "i32")
        self.body.put(slot, self.body.add(self.body.get(slot), 1))

    def _has(self, reg: Reg) -> bool:
        return reg.name in self.names.get(self.body.frame.function.name, ())

    def _state(self, reg: Reg, kind: str) -> str:
        return self.body.get(self._slot(self.body.slot(reg), kind), "i64")

    def _put(self, reg: Reg, kind: str, state: str) -> None:
        self.body.put(self._slot(self.body.slot(reg), kind), state, "i64")

    def _mark(self, instr: Instr, number: str, is_a: bool = False) -> str:
        body = self.body
        low = body.site(instr) + 1 + (IS_A if is_a else 0)
        return body.or_(body.shl(number, NUMBER, "i64"), low, "i64")

    # ** what is looked at

    def _in_flight(self, state: str, also_a: bool) -> str:
        body = self.body
        waited = self._count("waited")
        flies = body.cmp("uge", body.lshr(state, NUMBER, "i64"), waited, "i64")
        flies = body.and_(flies, body.cmp("ne", state, 0, "i64"), "i1")
        if also_a:
            return flies
        is_d = body.cmp("eq", body.and_(state, IS_A, "i64"), 0, "i64")
        return body.and_(flies, is_d, "i1")

    def _fault_if(self, rows: list[tuple[str, str]], instr: Instr, what: str) -> None:
        """A fault where a condition of `rows` (condition, state) holds, with the state of the last one."""
        if not rows:
            return
        body = self.body
        condition, state = rows[0]
        for more, other in rows[1:]:
            condition, state = body.or_(condition, more, "i1"), body.select(more, other, state, "i64")
        bad, fine = body.fresh("in_flight"), body.fresh("settled")
        body.do(f"br i1 {condition}, label %{bad}, label %{fine}, !prof !2")
        body.start(bad, keep=True)
        is_a = body.cmp("ne", body.and_(state, IS_A, "i64"), 0, "i64")
        code = body.select(is_a, WRITES_OPERAND, what, "i64") if what == str(WRITES_RESULT) else what
        where = f"i32 {context.ASYNC_REGISTER}, i32 {body.site(instr)}, i32 {body.threads['linear']}"
        body.do(f"call void @emu_fault(ptr %ctx, {where}, i64 {state}, i64 {code}, i64 0)")
        body.branch("stop")
        body.start(fine, keep=True)

    def _other(self, instr: Instr) -> None:
        for regs, also_a, what in (
            (reads(instr), False, READS_RESULT), (writes(instr), True, WRITES_RESULT),
        ):  # fmt: skip
            states = [self._state(reg, "flight") for reg in {r.name: r for r in regs if self._has(r)}.values()]
            self._fault_if([(self._in_flight(s, also_a), s) for s in states], instr, str(what))

    def _begins(self, instr: Instr) -> None:
        body = self.body
        d, a = (_of(each) if isinstance(each, Vec) else [] for each in instr.operands[:2])
        rows = [(self._in_flight(s, False), s) for s in (self._state(reg, "flight") for reg in a)]
        self._fault_if(rows, instr, str(READS_RESULT))
        fences = self._count("fences")
        none = [(body.cmp("eq", fences, 0, "i64"), "0")]
        self._fault_if(none, instr, str(NO_FENCE_AT_ALL))
        rows = []
        for reg in (*d, *a):
            state = self._state(reg, "write")
            same = body.cmp("eq", body.lshr(state, NUMBER, "i64"), fences, "i64")
            rows.append((body.and_(same, body.cmp("ne", state, 0, "i64"), "i1"), state))
        self._fault_if(rows, instr, str(NO_FENCE))
        number = self._count("groups")
        for regs, is_a in ((a, True), (d, False)):
            for reg in regs:
                self._put(reg, "flight", self._mark(instr, number, is_a))
                self._put(reg, "write", "0")

    def _waits(self, instr: Instr) -> None:
        """The groups below (those closed less N) are complete."""
        body, slot = self.body, self._slot("", "waited", "i32")
        complete = body.sub(self.group(), body.read(instr.operands[0], 32))
        body.put(slot, body.op(f"call i32 @llvm.smax.i32(i32 {body.get(slot)}, i32 {complete})"))
        body.ordered(context.ORDER_WGMMA_WAIT, body.resize(body.get(slot), 32, 64))
