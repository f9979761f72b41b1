"""`cutlass.tensor_utils`."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.major import LayoutEnum

__all__ = ["LayoutEnum"]

__getattr__ = _refuser("cutlass.tensor_utils")
