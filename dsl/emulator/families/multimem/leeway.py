"""Reductions whose result depends on which thread comes first."""

from __future__ import annotations

from dsl.emulator.dependence.sources import ORDER_OF_SUMS, Leeway
from dsl.emulator.families.memory.leeway import sums_floats
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.tensor_core.tensor_core import TensorCore


def _reduction(instr: Instr, core: TensorCore, is_read: bool) -> Leeway | None:
    return ORDER_OF_SUMS if "red" in instr.mods and sums_floats(instr) else None


LEEWAY = {"multimem": _reduction}
