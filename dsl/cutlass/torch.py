"""`cutlass.torch`: torch's names for the types."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.launch.foreign_types import torch_dtype as dtype

__getattr__ = _refuser("cutlass.torch")
