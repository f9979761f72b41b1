"""`cutlass.utils.blackwell_helpers`: what of it TMA on Hopper needs."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.tma.staged import make_smem_layout

__all__ = ["make_smem_layout"]

__getattr__ = _refuser("cutlass.utils.blackwell_helpers")
