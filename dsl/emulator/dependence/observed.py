"""Plain accesses that run, or not, by what an atomic or a strong load gave: "am I the last?", then a plain store.

PTX ISA 8.9.5, causality order, rule 2: a write is before what follows a read that observes it. Any code that
happens to come late meets this rule in one run. Only code that asked meets it in every run, so only its accesses count.
"""

from __future__ import annotations

from dsl.emulator.check.access import kind_of
from dsl.emulator.check.numbers import access
from dsl.emulator.dependence.dataflow import Flow, Place, registers_read, registers_written
from dsl.emulator.ptx.syntax import Addr, Function, Instr, Module
from dsl.emulator.ptx.traits import LOAD, UPDATES
from dsl.emulator.tensor_core.tensor_core import TensorCore

MOST = 20  # bits for observers; all observers after these share the last bit


class Questions(Flow):
    """Which instructions run by values of some sources, `of_instruction`: memory passes them on, but global memory."""

    def collect(self, core: TensorCore) -> None:
        self.of_instruction, self.place_bits, self.first_place_bit = {}, {}, MOST

    def held(self, place: Place) -> int:
        return 0

    def asked(self, bits: int) -> int:
        return bits

    def store(self, function: Function, address: Addr, space: str, bits: int, bases: frozenset) -> None:
        if space != "global":
            super().store(function, address, space, bits, bases)

    def call(self, function: Function, instr: Instr, by_control: int) -> None:
        super().call(function, instr, by_control)
        callee = self.callee(instr)
        if callee is not None and by_control:
            self.runs_by(callee, set(self.regions[callee.name].block_of), by_control)

    def deciding(self, function: Function, block: int, instr: Instr) -> int:
        """The sources by which an instruction runs, as bits."""
        return self.control.get((function.name, block), 0) | self.read(function, instr.guard)[0]


class Observations(Questions):
    """`observers`: bits by instruction (id); `accesses`: the observers by which a plain access (id) runs, as bits."""

    def __init__(self, module: Module, entry: Function, core: TensorCore):
        super().__init__(module, entry, core, {})
        self.observers = self.of_instruction
        self.accesses: dict[int, int] = {}
        self._polls = 0  # observers that a loop may wait by
        if self.observers:
            self.run()
            self._polls = ((1 << MOST) - 1) & ~self._retried()
            self.run()
            self._find_accesses()

    def collect(self, core: TensorCore) -> None:
        super().collect(core)
        for function in self.functions:
            items = [item for item in function.items if isinstance(item, Instr)]
            read = {name for item in items for name in registers_read(item)}
            for item in items:
                if is_observer(item) and not read.isdisjoint(registers_written(item.operands[0])):
                    self.of_instruction[id(item)] = 1 << min(len(self.of_instruction), MOST - 1)

    def branch(self, function: Function, block: int, bits: int) -> None:
        super().branch(function, block, bits)
        regions = self.regions[function.name]
        if bits & self._polls and block in (after := regions.after(block)):  # what follows a loop waits for its end
            self.runs_by(function, after, bits & self._polls)

    def _retried(self) -> int:
        """Each cas that is repeated with what it gave, as bits: the end of such a loop shows nothing about others."""
        bits = 0
        for function in self.functions:
            for item in function.items:
                own = self.observers.get(id(item), 0)
                if own and "cas" in item.mods:
                    bits |= own & self.read(function, item.operands[2])[0]
        return bits

    def _find_accesses(self) -> None:
        for function in self.functions:
            for block, item in zip(self.regions[function.name].block_of, function.items, strict=True):
                kind = kind_of(item) if isinstance(item, Instr) else None
                if kind is not None and not kind & access.STRONG:
                    bits = self.deciding(function, block, item)
                    for operand in (each for each in item.operands if isinstance(each, Addr)):
                        bits |= self.read(function, operand)[0]
                    if bits:
                        self.accesses[id(item)] = bits


def is_observer(instr: Instr) -> bool:
    """Whether an instruction reads, strongly, what others may have written. A `red` gives nothing to ask by."""
    kind = kind_of(instr)
    return bool(kind is not None and kind & access.STRONG and instr.operands and not isinstance(instr.operands[0], Addr)
                and instr.traits & (UPDATES | LOAD))  # fmt: skip
