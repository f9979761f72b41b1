"""`from tvm.script import tirx as T`: TIRx's names."""

from dsl.tirx import tile
from dsl.tirx.errors.public_names import NAMESPACES as _NAMESPACES
from dsl.tirx.errors.unsupported import module_getattr as _refuser
from dsl.tirx.errors.upstream_names import T as _UPSTREAM
from dsl.tirx.functions import (
    cuda,
    expressions as _expressions,
    float_functions as _float_functions,
    integer_functions as _integer_functions,
    operations as _operations,
    warp_shuffles as _warp_shuffles,
)
from dsl.tirx.functions.expressions import *  # noqa: F403
from dsl.tirx.functions.float_functions import *  # noqa: F403
from dsl.tirx.functions.ids import (
    cluster_id,
    cta_id,
    cta_id_in_cluster,
    lane_id,
    launch_thread,
    thread_id,
    thread_id_in_wg,
    warp_id,
    warp_id_in_wg,
    warpgroup_id,
)
from dsl.tirx.functions.integer_functions import *  # noqa: F403
from dsl.tirx.functions.operations import *  # noqa: F403
from dsl.tirx.functions.ptx import NAMESPACE as ptx
from dsl.tirx.functions.warp_shuffles import *  # noqa: F403
from dsl.tirx.memory.memory import (
    alloc_buffer,
    alloc_local,
    alloc_scalar,
    alloc_shared,
    decl_buffer,
    local_scalar,
    match_buffer,
    shared_scalar,
)
from dsl.tirx.syntax.choice import select as Select
from dsl.tirx.syntax.function import (
    BufferType as Buffer,
    OptionalType as Optional,
    constexpr,
    handle,
    inline,
    jit,
    meta_class,
    prim_func,
)
from dsl.tirx.syntax.registers import Meta as meta_var
from dsl.tirx.syntax.statement_names import (
    address_of,
    break_loop,
    continue_loop,
    device_entry,
    grid,
    if_then_else,
    let,
    parallel,
    serial,
    thread_binding,
    thread_return,
    unroll,
    vectorized,
)
from dsl.tirx.values.dtypes import EXPORTED as _DTYPES, cast as _cast, find as _find

__all__ = [
    "Buffer",
    "Cast",
    "Optional",
    "Select",
    "address_of",
    "alloc_buffer",
    "alloc_local",
    "alloc_scalar",
    "alloc_shared",
    "break_loop",
    "buffer",
    "buffer_decl",
    "cast",
    "cluster_id",
    "constexpr",
    "continue_loop",
    "cta_id",
    "cta_id_in_cluster",
    "cuda",
    "decl_buffer",
    "device_entry",
    "grid",
    "handle",
    "if_then_else",
    "inline",
    "jit",
    "lane_id",
    "launch_thread",
    "let",
    "local_scalar",
    "macro",
    "match_buffer",
    "meta_class",
    "meta_var",
    "parallel",
    "prim_func",
    "ptx",
    "serial",
    "shared_scalar",
    "smem",
    "thread_binding",
    "thread_id",
    "thread_id_in_wg",
    "thread_return",
    "tile",
    "unroll",
    "vectorized",
    "warp_id",
    "warp_id_in_wg",
    "warpgroup_id",
]
__all__ += [*_DTYPES, *_expressions.__all__, *_operations.__all__]
__all__ += [*_float_functions.__all__, *_integer_functions.__all__, *_warp_shuffles.__all__]

globals().update(_DTYPES)
buffer, buffer_decl, macro, smem = Buffer, decl_buffer, inline, alloc_shared


def cast(value: object, dtype: object) -> object:
    """`value` as `dtype`, as `T.float32(value)` is."""
    return _cast(value, _find(dtype))


Cast = lambda dtype, value: cast(value, dtype)  # noqa: E731
__getattr__ = _refuser("T", globals(), _UPSTREAM)
_NAMESPACES.update({"T": globals(), "T.cuda": cuda.__dict__, "T.ptx": vars(ptx)})
