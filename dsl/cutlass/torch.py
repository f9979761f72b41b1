"""`cutlass.torch`: torch's names for the types, its streams, and tensors to test with."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.launch.argument.foreign_types import torch_dtype as dtype
from dsl.launch.argument.torch_tensors import (
    GaussianInitConfig,
    RandomInitConfig,
    ScalarInitConfig,
    TensorInitType,
    convert_cute_tensor,
    create_and_permute_torch_tensor,
    cute_tensor_like,
    get_leading_dim,
    matrix,
)
from dsl.launch.session import default_stream, torch_stream as current_stream

__all__ = [
    "GaussianInitConfig",
    "RandomInitConfig",
    "ScalarInitConfig",
    "TensorInitType",
    "convert_cute_tensor",
    "create_and_permute_torch_tensor",
    "current_stream",
    "cute_tensor_like",
    "default_stream",
    "dtype",
    "get_leading_dim",
    "matrix",
]

__getattr__ = _refuser("cutlass.torch")
