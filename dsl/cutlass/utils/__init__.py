"""`cutlass.utils`."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.cutlass.utils import tensor_helpers
from dsl.launch.eight_bits import create_cute_tensor_for_fp8, is_fp8_dtype
from dsl.tile.major import LayoutEnum
from dsl.tile.memory import SmemAllocator

get_smem_capacity_in_bytes = SmemAllocator.capacity_in_bytes

__getattr__ = _refuser("cutlass.utils")
