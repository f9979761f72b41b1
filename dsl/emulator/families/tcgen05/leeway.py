"""Products and shifts in tensor memory that nobody measured on the chip: the C++ sees them by types and forms."""

from __future__ import annotations

from dsl.emulator.dependence.sources import Leeway
from dsl.emulator.machine import context
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.tensor_core.tensor_core import TensorCore

UNMEASURED = Leeway("nobody measured this form on the chip", seen=context.SEEN_UNMEASURED)


def _product(instr: Instr, core: TensorCore, is_read: bool) -> Leeway | None:
    """`tcgen05.mma` of floats, whose types are in descriptors, which registers hold; the rows that a shift moves."""
    return UNMEASURED if "shift" in instr.mods or ("mma" in instr.mods and "kind::i8" not in instr.mods) else None


LEEWAY = {"tcgen05": _product}
