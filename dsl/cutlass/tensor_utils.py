"""`cutlass.tensor_utils`."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.tensor.major import LayoutEnum
from dsl.tile.tma.tensor_map_manager import TensorMapManager, TensorMapUpdateMode

__all__ = ["LayoutEnum", "TensorMapManager", "TensorMapUpdateMode"]

__getattr__ = _refuser("cutlass.tensor_utils")
