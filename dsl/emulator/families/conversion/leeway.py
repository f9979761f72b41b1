"""Conversions whose result the ISA leaves open. PTX ISA 9.7.9.21."""

from __future__ import annotations

from dsl.emulator.dependence.sources import Leeway
from dsl.emulator.families.conversion.stochastic import FOURS
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.tensor_core.tensor_core import TensorCore

SHARED_BITS = Leeway("how two elements share random bits is open")


def _conversion(instr: Instr, core: TensorCore, is_read: bool) -> Leeway | None:
    """`cvt.rs` to four elements; two of them share 16 random bits."""
    return None if FOURS.isdisjoint(instr.mods) else SHARED_BITS


LEEWAY = {"cvt": _conversion}
