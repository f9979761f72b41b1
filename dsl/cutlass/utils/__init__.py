"""`cutlass.utils`."""

from dsl.core.diagnosis.author_traceback import stripped as _stripped
from dsl.cutlass import block as _block, memory as _memory, tensor_utils as _tensor_utils
from dsl.cutlass.cute.viz import print_latex, print_latex_tv
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.cutlass.utils import distributed, hopper_helpers, hopper_helpers as sm90, tensor_helpers
from dsl.launch.argument.float8_tensors import create_cute_tensor_for_fp8, is_fp8_dtype
from dsl.launch.hardware_info import HardwareInfo
from dsl.tile.memory.memory import SmemAllocator
from dsl.tile.mma.hopper import (
    compute_tile_shape_or_override,
    get_smem_layout_atom as sm90_get_smem_layout_atom,
    make_smem_layout_a as sm90_make_smem_layout_a,
    make_smem_layout_b as sm90_make_smem_layout_b,
    make_smem_layout_epi as sm90_make_smem_layout_epi,
    make_trivial_tiled_mma as sm90_make_trivial_tiled_mma,
    sm90_get_smem_store_op,
)
from dsl.tile.scheduler.grouped_scheduler import (
    GroupedGemmGroupSearchState,
    GroupedGemmTileSchedulerHelper,
    GroupedWorkTileInfo,
    GroupSearchResult,
    StaticPersistentGroupTileScheduler,
    create_initial_search_state,
)
from dsl.tile.scheduler.tile_scheduler import (
    PersistentTileSchedulerParams,
    StaticPersistentRuntimeTileScheduler,
    StaticPersistentTileScheduler,
    WorkTileInfo,
)
from dsl.tile.tma.tensor_map_manager import TensorMapManager

__all__ = [
    "GroupSearchResult",
    "GroupedGemmGroupSearchState",
    "GroupedGemmTileSchedulerHelper",
    "GroupedWorkTileInfo",
    "HardwareInfo",
    "PersistentTileSchedulerParams",
    "SmemAllocator",
    "StaticPersistentGroupTileScheduler",
    "StaticPersistentRuntimeTileScheduler",
    "StaticPersistentTileScheduler",
    "TensorMapManager",
    "WorkTileInfo",
    "compute_tile_shape_or_override",
    "create_cute_tensor_for_fp8",
    "create_initial_search_state",
    "distributed",
    "get_smem_capacity_in_bytes",
    "hopper_helpers",
    "is_fp8_dtype",
    "print_latex",
    "print_latex_tv",
    "sm90",
    "sm90_get_smem_layout_atom",
    "sm90_get_smem_store_op",
    "sm90_make_smem_layout_a",
    "sm90_make_smem_layout_b",
    "sm90_make_smem_layout_epi",
    "sm90_make_trivial_tiled_mma",
    "tensor_helpers",
]

get_smem_capacity_in_bytes = SmemAllocator.capacity_in_bytes
_refused = _refuser("cutlass.utils")
_MOVED = {
    "LayoutEnum": _tensor_utils,
    "TensorMapUpdateMode": _tensor_utils,
    "SmemPartition": _memory,
    "block_copy": _block,
}


@_stripped
def __getattr__(name: str) -> object:
    """Names that upstream has here too, and does not list, because they are of another module now."""
    return getattr(_MOVED[name], name) if name in _MOVED else _refused(name)
