"""The instructions by which a kernel decides: branches, ends of loops, addresses, and counts of barriers.

A value counts there if it is computed from a source. That only a branch asked for a source does not count: the branch
itself is one of the uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dsl.emulator.dependence.dataflow import Flow, Pointers, Summary
from dsl.emulator.ptx.operands import LEAVES, given
from dsl.emulator.ptx.syntax import Addr, Function, Instr, Module
from dsl.emulator.ptx.traits import BARRIER, COMPUTES, MBARRIER
from dsl.emulator.tensor_core.tensor_core import TensorCore

BRANCH, LOOP, ADDRESS, COUNT = "branch", "loop", "address", "count"


class Use(NamedTuple):
    """An instruction that decides by a value. `bits`: as of a Summary."""

    what: str
    instr: Instr
    bits: int


class _Values(Flow):
    """The flow of values alone: a branch passes nothing on."""

    def asked(self, bits: int) -> int:
        return 0

    def uses(self) -> Iterator[Use]:
        for function in self.functions:
            for block, item in zip(self.regions[function.name].block_of, function.items, strict=True):
                if isinstance(item, Instr):
                    for what, operands in self._deciding(function, block, item):
                        bits = 0
                        for operand in operands:
                            bits |= self.read(function, operand)[0]
                        if bits:
                            yield Use(what, item, bits)

    def _deciding(self, function: Function, block: int, instr: Instr) -> Iterator[tuple[str, list]]:
        """The decisions of an instruction, each with its operands."""
        if instr.opcode in ("bra", "brx", "call", *LEAVES):
            index = instr.operands[:1] if instr.opcode == "brx" else []
            yield LOOP if self._ends_loop(function, block) else BRANCH, [instr.guard, *index]
            return
        if instr.guard is not None and not instr.traits & COMPUTES:
            yield BRANCH, [instr.guard]
        addresses = [each for each in instr.operands if isinstance(each, Addr)]
        if addresses and "param" not in instr.mods:
            yield ADDRESS, addresses
        if instr.traits & (BARRIER | MBARRIER):
            yield COUNT, [each for each in given(instr) if not isinstance(each, Addr)]

    def _ends_loop(self, function: Function, block: int) -> bool:
        """Whether one way on from a block comes back to it, and another does not."""
        regions = self.regions[function.name]
        back = [block in regions.reach([each]) for each in regions.following[block]]
        return any(back) and not all(back)


def uses_of(module: Module, entry: str, core: TensorCore, pointers: Pointers) -> tuple[Summary, list[Use]]:
    """The uses of an entry, and the sources and places that their bits mean."""
    flow = _Values(module, module.functions[entry], core, pointers)
    return flow.run(), list(flow.uses())
