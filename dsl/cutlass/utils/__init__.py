"""`cutlass.utils`."""

from dsl.cutlass import tensor_utils as _tensor_utils
from dsl.cutlass.cute.viz import print_latex, print_latex_tv
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.cutlass.utils import tensor_helpers
from dsl.launch.argument.float8_tensors import create_cute_tensor_for_fp8, is_fp8_dtype
from dsl.tile.memory import SmemAllocator

__all__ = [
    "SmemAllocator",
    "create_cute_tensor_for_fp8",
    "get_smem_capacity_in_bytes",
    "is_fp8_dtype",
    "print_latex",
    "print_latex_tv",
    "tensor_helpers",
]

get_smem_capacity_in_bytes = SmemAllocator.capacity_in_bytes
_refused = _refuser("cutlass.utils")


def __getattr__(name: str) -> object:
    """`LayoutEnum` is of `cutlass.tensor_utils`; upstream has it here too, and does not list it."""
    return _tensor_utils.LayoutEnum if name == "LayoutEnum" else _refused(name)
