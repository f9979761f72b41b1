"""`cutlass.cute.testing`: timing and tuning."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.launch.call.timing import JitArguments, benchmark, get_workspace_count
from dsl.launch.call.tuning import CantImplementError, autotune_jit, tune

__all__ = ["CantImplementError", "JitArguments", "autotune_jit", "benchmark", "get_workspace_count", "tune"]

__getattr__ = _refuser("cutlass.cute.testing")
