"""`cutlass.cute.testing`: timing, tuning, conversions of whole tensors, and assertions at run time."""

from dsl.core.control_flow.assertions import assert_
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.launch.argument.torch_tensors import convert
from dsl.launch.call.timing import JitArguments, benchmark, get_workspace_count
from dsl.launch.call.tuning import CantImplementError, autotune_jit, tune

__all__ = [
    "CantImplementError",
    "JitArguments",
    "assert_",
    "autotune_jit",
    "benchmark",
    "convert",
    "get_workspace_count",
    "tune",
]

__getattr__ = _refuser("cutlass.cute.testing")
