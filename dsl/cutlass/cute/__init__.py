"""`cutlass.cute`: decorators, layouts, tensors and copies."""

from dsl.core.boundary import guard as _guard
from dsl.core.dtypes import (
    BFloat16,
    Boolean,
    Float,
    Float4E2M1FN,
    Float4E2M1FNx2,
    Float6E2M3FN,
    Float6E2M3FNx4,
    Float6E3M2FN,
    Float6E3M2FNx4,
    Float8E4M3,
    Float8E4M3B11FNUZ,
    Float8E4M3FN,
    Float8E5M2,
    Float8E8M0FNU,
    FloatNV8E5M3FNU,
    Float16,
    Float32,
    Float64,
    Int4,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Integer,
    Numeric,
    NumericMeta,
    TFloat32,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
)
from dsl.core.fast_divisor import (
    FastDivmodDivisor,
    FastDivmodDivisorV2,
    fast_divmod_create_divisor,
    fast_divmod_create_divisor_v2,
)
from dsl.core.pointer import AddressSpace, Pointer
from dsl.cutlass.cute import arch, math, nvgpu, runtime, testing, typing, viz
from dsl.cutlass.cute.annotations import Coord, IntTuple, Shape, Stride, Tile, Tiler, XTuple
from dsl.cutlass.cute.decorators import (
    RDC,
    DeviceTarget,
    EnableAssertions,
    EnableTVMFFI,
    FrontendNext,
    GenerateLineInfo,
    GPUArch,
    KeepCUBIN,
    KeepPTX,
    KeepSASS,
    LinkLibraries,
    NvdisasmOptions,
    OptLevel,
    PtxasOptions,
    RemarkFilter,
    RemarkOutput,
    compile,
    jit,
    kernel,
)
from dsl.cutlass.cute.pointers import make_ptr, recast_ptr
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.gpu.access import CacheEvictionPriority
from dsl.gpu.debug import printf
from dsl.launch.arguments import SymInt, sym_int, sym_int32, sym_int64
from dsl.layout import (
    ComposedLayout,
    E,
    Layout,
    ScaledBasis,
    Swizzle,
    append,
    assume,
    basis_get,
    basis_value,
    blocked_product,
    ceil_div,
    complement,
    cosize,
    crd2idx,
    depth,
    dice,
    elem_less,
    filter_tuple,
    find,
    find_if,
    flat_product,
    flatten_to_tuple,
    front,
    get_nonswizzle_portion,
    get_swizzle_portion,
    has_none as has_underscore,
    idx2crd,
    increment_coord,
    is_congruent,
    is_major,
    is_static,
    is_weakly_congruent,
    leading_dim,
    left_inverse,
    logical_product,
    make_composed_layout,
    make_identity_layout,
    make_layout,
    make_layout_like,
    make_layout_tv,
    make_ordered_layout,
    make_swizzle,
    max_common_layout,
    max_common_vector,
    nullspace,
    prepend,
    product,
    product_each,
    product_like,
    raked_product,
    rank,
    recast_layout,
    repeat,
    repeat_as_tuple,
    repeat_like,
    right_inverse,
    round_up,
    shape,
    shape_div,
    size,
    slice_and_offset,
    tile_to_shape,
    tiled_product,
    transform_apply,
    transform_leaf,
    tuple_cat,
    unflatten,
    unwrap,
    wrap,
    zipped_product,
)
from dsl.tile.algorithm import autovec_copy, basic_copy, basic_copy_if, copy, copy_atom_call
from dsl.tile.atom import CopyAtom, make_copy_atom
from dsl.tile.creation import all_, any_, empty_like, full, full_like, ones_like, where, zeros_like
from dsl.tile.gemm import gemm, mma_atom_call
from dsl.tile.int_tuple import (
    as_numeric,
    get_divisibility,
    get_leaves,
    is_int_tuple,
    is_integer,
    make_layout_image_mask,
    pretty_str,
)
from dsl.tile.memory import size_in_bytes
from dsl.tile.mma import MmaAtom, make_mma_atom
from dsl.tile.struct import struct, union
from dsl.tile.modes import (
    append_ones,
    coalesce,
    composition,
    filter,
    filter_zeros,
    flat_divide,
    flatten,
    get,
    group_modes,
    local_partition,
    local_tile,
    logical_divide,
    prepend_ones,
    select,
    slice_,
    tiled_divide,
    zipped_divide,
)
from dsl.tile.print import print_tensor
from dsl.tile.reduction import ReductionOp
from dsl.tile.ssa import TensorSSA
from dsl.tile.tiled import (
    ThrCopy,
    TiledCopy,
    make_cotiled_copy,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_copy_C,
    make_tiled_copy_C_atom,
    make_tiled_copy_D,
    make_tiled_copy_S,
    make_tiled_copy_tv,
)
from dsl.tile.tiled_mma import ThrMma, TiledMma, make_tiled_mma
from dsl.tile.tensor import (
    Tensor,
    domain_offset,
    make_fragment_like,
    make_identity_tensor,
    make_rmem_tensor,
    make_rmem_tensor_like,
    make_tensor,
    recast_tensor,
)

RoundingMode = math.RoundingMode
globals().update({_name: getattr(math, _name) for _name in math._NAMES})


def _never(values: tuple) -> bool:
    return False


def _integers(values: tuple) -> bool:
    return all(type(value) is int for value in values)


# What upstream refuses in plain Python (CALL_OUTSIDE_JIT), measured.
# Whatever else is of layouts needs one that is made.
_guard(
    globals(),
    portable={
        **dict.fromkeys(
            (
                "crd2idx",
                "elem_less",
                "make_copy_atom",
                "make_identity_layout",
                "make_identity_tensor",
                "make_layout",
                "make_mma_atom",
                "make_ordered_layout",
                "make_swizzle",
                "shape_div",
                "size",
            ),
            _never,
        ),
        **dict.fromkeys(("ceil_div", "idx2crd", "product"), _integers),
    },
)
__getattr__ = _refuser("cutlass.cute")
