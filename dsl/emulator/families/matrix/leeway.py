"""Products that nobody measured on the chip."""

from __future__ import annotations

from dsl.emulator.dependence.sources import Leeway
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.tensor_core.tensor_core import TensorCore

UNMEASURED = Leeway("nobody measured this form on the chip")


def _product(instr: Instr, core: TensorCore, is_read: bool) -> Leeway | None:
    """`mma` of 8-bit floats if it is made of instructions of f16: ptxas shows how, no chip was asked. `mma.sp` of
    floats: the elements that there are are summed as in `mma`. Floats of 6 and 4 bits in bytes: no source has them."""
    has_bytes = not {"e4m3", "e5m2"}.isdisjoint(instr.mods)
    is_sparse = not {"sp", "sp::ordered_metadata"}.isdisjoint(instr.mods)
    in_bytes = not {"kind::f8f6f4", "kind::mxf8f6f4"}.isdisjoint(instr.mods)
    if in_bytes and not {"e2m1", "e2m3", "e3m2"}.isdisjoint(instr.mods):
        return UNMEASURED
    if is_sparse and "s32" not in instr.mods:
        return UNMEASURED
    return UNMEASURED if has_bytes and not core.fp8_fraction_bits else None


LEEWAY = {"mma": _product}
