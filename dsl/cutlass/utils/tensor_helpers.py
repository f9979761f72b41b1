"""`cutlass.utils.tensor_helpers`."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.launch.argument.float8_tensors import create_cute_tensor_for_fp8, is_fp8_dtype

__all__ = ["create_cute_tensor_for_fp8", "is_fp8_dtype"]

__getattr__ = _refuser("cutlass.utils.tensor_helpers")
