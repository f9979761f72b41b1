"""Atomics whose result depends on which thread comes first."""

from __future__ import annotations

from dsl.emulator.dependence.sources import ORDER_OF_SUMS, Leeway
from dsl.emulator.ptx.syntax import FLOATS, SINK, Instr
from dsl.emulator.tensor_core.tensor_core import TensorCore

_ORDER_OF_THREADS = Leeway("the order of the threads is open", decides=False)
_SUMMED = FLOATS | {"f16x2", "bf16x2"}


def sums_floats(instr: Instr) -> bool:
    """Whether it adds floats, whose sum depends on the order."""
    return "add" in instr.mods and not _SUMMED.isdisjoint(instr.mods)


def _atomic(instr: Instr, core: TensorCore, is_read: bool) -> Leeway | None:
    if sums_floats(instr):
        return ORDER_OF_SUMS
    swaps = not {"exch", "cas"}.isdisjoint(instr.mods)  # memory depends on the order too
    return _ORDER_OF_THREADS if swaps or (instr.operands[0] != SINK and is_read) else None


def _reduction(instr: Instr, core: TensorCore, is_read: bool) -> Leeway | None:
    return ORDER_OF_SUMS if sums_floats(instr) else None


LEEWAY = {"atom": _atomic, "red": _reduction}
