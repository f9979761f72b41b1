"""The reads of registers at which a tcgen05.ld is complete without a wait. PTX ISA 9.7.16.6."""

from __future__ import annotations

from dsl.emulator.families.tcgen05 import emit
from dsl.emulator.ptx.operands import reads, writes
from dsl.emulator.ptx.syntax import Function, Instr


class LoadsInFlight:
    """The calls in checked code that tell of loads: which of them an instruction completes."""

    def __init__(self, body, functions: list[Function]):
        self.body = body
        self.completed: dict[int, list[Instr]] = {}  # by id of an instruction
        for function in functions:
            self._find([each for each in function.items if isinstance(each, Instr)])

    def __bool__(self) -> bool:
        return bool(self.completed)

    def _find(self, items: list[Instr]) -> None:
        loads: dict[str, list[Instr]] = {}  # by register
        for item in items:
            if item.opcode == "tcgen05" and "ld" in item.mods:
                for register in writes(item):
                    loads.setdefault(register.name, []).append(item)
        for item in items if loads else ():
            found = {id(load): load for register in reads(item) for load in loads.get(register.name, ())}
            if found:
                self.completed[id(item)] = list(found.values())

    def before(self, instr: Instr) -> None:
        """Tell of `instr`, which comes next."""
        for load in self.completed.get(id(instr), ()):
            emit.waited(self.body, False, load.line)

    def after(self, instr: Instr) -> None:
        """`instr` is emitted."""
