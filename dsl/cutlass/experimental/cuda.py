"""`cutlass.experimental.cuda`: tensor maps."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.primitives.tensor_map import (
    TensorMap,
    TensorMapDataFormat,
    TensorMapFloatOOBFill,
    TensorMapInterleave,
    TensorMapL2Promotion,
    TensorMapSwizzle,
    create_tensor_map_tiled,
    create_tensor_map_tiled_from_view,
)

__all__ = [
    "TensorMap",
    "TensorMapDataFormat",
    "TensorMapFloatOOBFill",
    "TensorMapInterleave",
    "TensorMapL2Promotion",
    "TensorMapSwizzle",
    "create_tensor_map_tiled",
    "create_tensor_map_tiled_from_view",
]

__getattr__ = _refuser("cutlass.experimental.cuda")
