"""`from tvm_tirx.script import tirx as T`: tvm_tirx's names."""

from dsl.tirx.errors.unsupported import UnknownName as _UnknownName, module_getattr as _refuser
from dsl.tirx.functions import warp_shuffles as _shuffles
from dsl.tirx.functions.expressions import (
    And as logical_and,
    Not as logical_not,
    Or as logical_or,
    filter as gpu_thread_filter,
)
from dsl.tirx.script import tirx as _shared
from dsl.tirx.syntax.statement_names import thread_return as gpu_thread_return
from dsl.tirx.tvm_tirx import cuda
from dsl.tirx.tvm_tirx.dynamic import deferred as _deferred, dynamic
from dsl.tirx.tvm_tirx.function import function, inline, jit
from dsl.tirx.tvm_tirx.memory import (
    TensorLoad,
    TensorType as Tensor,
    alloc_local,
    alloc_shared,
    alloc_tensor,
    decl_tensor,
    local_scalar,
    tensor_store,
)
from dsl.tirx.tvm_tirx.upstream_names import RENAMED as _RENAMED, T as _UPSTREAM

__all__ = [
    "Tensor",
    "TensorLoad",
    "alloc_local",
    "alloc_shared",
    "alloc_tensor",
    "cuda",
    "decl_tensor",
    "dynamic",
    "function",
    "gpu_storage_sync",
    "gpu_thread_filter",
    "gpu_thread_return",
    "gpu_warp_activemask",
    "gpu_warp_shuffle",
    "gpu_warp_shuffle_down",
    "gpu_warp_shuffle_up",
    "gpu_warp_shuffle_xor",
    "inline",
    "jit",
    "local_scalar",
    "logical_and",
    "logical_not",
    "logical_or",
    "macro",
    "select",
    "smem",
    "tensor_store",
]

# Names that tvm's T has too.
SHARED = tuple(
    name
    for name in _shared.__all__
    if name
    not in {*_RENAMED, *__all__, "attr", "break_loop", "buffer", "buffer_decl", "continue_loop", "filter", "hint"}
)
globals().update({name: getattr(_shared, name) for name in SHARED})
__all__ += [*SHARED]

gpu_storage_sync, gpu_warp_activemask = _shuffles.tvm_storage_sync, _shuffles.tvm_warp_activemask
gpu_warp_shuffle, gpu_warp_shuffle_xor = _shuffles.tvm_warp_shuffle, _shuffles.tvm_warp_shuffle_xor
gpu_warp_shuffle_up, gpu_warp_shuffle_down = _shuffles.tvm_warp_shuffle_up, _shuffles.tvm_warp_shuffle_down
macro, smem, select = inline, alloc_shared, _shared.Select
globals().update(
    {
        name: _deferred(getattr(_shared, name))
        for name in ("ceildiv", "floordiv", "floormod", "truncdiv", "truncmod", "max", "min")
    }
)

_missing = _refuser("T", globals(), _UPSTREAM)


def __getattr__(name: str) -> object:
    if name in _RENAMED:
        raise _UnknownName(
            f"`{name}` is a name of tvm's T, which tvm_tirx's T does not have", id="UNKNOWN_NAME", fix=_RENAMED[name]
        )
    return _missing(name)
