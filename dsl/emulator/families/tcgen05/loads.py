"""Where a tcgen05.ld is complete without a wait: at the first read of one of its registers. PTX ISA 9.7.16.6."""

from __future__ import annotations

from dsl.emulator.families.tcgen05 import emit
from dsl.emulator.ptx.operands import reads, registers
from dsl.emulator.ptx.syntax import Function, Instr

_LEAVES = frozenset({"bra", "brx", "call", "ret", "exit"})


class LoadsInFlight:
    """What checked code tells of loads: those that an instruction completes."""

    def __init__(self, body, functions: list[Function]):
        self.body = body
        self.completed: dict[int, list[Instr]] = {}  # by id of an instruction
        self.at_once: set[int] = set()  # loads that code leaves before it reads or waits
        for function in functions:
            for position, item in enumerate(function.items):
                if isinstance(item, Instr) and _is_load(item):
                    self._follow(item, function.items[position + 1 :])

    def __bool__(self) -> bool:
        return bool(self.completed or self.at_once)

    def _follow(self, load: Instr, after: list) -> None:
        names = {reg.name for reg in registers(load.operands[0])}
        for item in after:
            if not isinstance(item, Instr) or item.opcode in _LEAVES:
                break
            if item.opcode == "tcgen05" and "wait::ld" in item.mods:
                return
            if any(reg.name in names for reg in reads(item)):
                self.completed.setdefault(id(item), []).append(load)
                return
        self.at_once.add(id(load))

    def before(self, instr: Instr) -> None:
        """Tell of `instr`, which comes next."""
        for load in self.completed.get(id(instr), ()):
            emit.waited(self.body, False, load.line)

    def after(self, instr: Instr) -> None:
        """`instr` is emitted."""
        if id(instr) in self.at_once:
            emit.waited(self.body, False, instr.line)


def _is_load(instr: Instr) -> bool:
    return instr.opcode == "tcgen05" and "ld" in instr.mods
