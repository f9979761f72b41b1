"""`cutlass.cuda`: the driver, as far as host programs touch it."""

from __future__ import annotations

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.launch.session import default_stream, initialize_cuda_context, stream_sync

__all__ = ["default_stream", "initialize_cuda_context", "stream_sync"]

__getattr__ = _refuser("cutlass.cuda")
