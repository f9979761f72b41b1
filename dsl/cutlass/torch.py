"""`cutlass.torch`: torch's names for the types, and its streams."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.launch.argument.foreign_types import torch_dtype as dtype
from dsl.launch.session import default_stream, torch_stream as current_stream

__all__ = ["current_stream", "default_stream", "dtype"]

__getattr__ = _refuser("cutlass.torch")
