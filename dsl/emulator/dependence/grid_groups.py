"""Traps of cooperative groups: what runs by the address of the grid's workspace, which only a cooperative launch has.

CUDA's header cooperative_groups reads it from %envreg1 and %envreg2 and traps if there is none.
"""

from __future__ import annotations

from dsl.emulator.dependence.observed import Questions
from dsl.emulator.ptx.syntax import Instr, Module, Special
from dsl.emulator.tensor_core.tensor_core import TensorCore

WORKSPACE_REGISTERS = frozenset({"%envreg1", "%envreg2"})


class _Workspace(Questions):
    """One bit: that a value is made of the workspace's address."""

    def collect(self, core: TensorCore) -> None:
        super().collect(core)
        self.of_instruction = {id(item): 1 for function in self.functions for item in function.items if _reads(item)}


def _reads(item) -> bool:
    return isinstance(item, Instr) and any(
        isinstance(each, Special) and each.name in WORKSPACE_REGISTERS for each in item.operands
    )


def asks_for_workspace(module: Module, entry: str, core: TensorCore, line: int) -> bool:
    """Whether the instruction at a PTX line runs by whether the grid has a workspace."""
    flow = _Workspace(module, module.functions[entry], core, {})
    if not flow.of_instruction:
        return False
    flow.run()
    for function in flow.functions:
        for block, item in zip(flow.regions[function.name].block_of, function.items, strict=True):
            if isinstance(item, Instr) and item.line == line:
                return bool(flow.deciding(function, block, item))
    return False
