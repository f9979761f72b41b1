"""The CuTe DSL surface under upstream's names; `import cutlass` finds it through dsl.alias. It only translates."""

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
    Uint128,
    dtype,
    numeric as as_numeric,
)
from dsl.core.expression import all_, any_, every as and_, max_ as max, min_ as min, not_, some as or_
from dsl.core.errors import DSLUserCodeError
from dsl.core.pointer import AddressSpace, Pointer
from dsl.core.value import select as select_
from dsl.cutlass.cute.annotations import Coord, IntTuple, Shape, Stride, Tile, Tiler
from dsl.cutlass.grammar import Constexpr, const_expr, dsl_user_op, dynamic_expr, range, range_constexpr, range_dynamic
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.cutlass import cuda, cute, memory, pipeline, tensor_utils, testing, torch, utils
from dsl.launch.protocol import extract_mlir_values, new_from_mlir_values, register_jit_arg_adapter
from dsl.launch.arguments import sym_int, sym_int32, sym_int64
from dsl.layout import ComposedLayout, Layout, ScaledBasis, Swizzle
from dsl.tile.tensor import Tensor

__getattr__ = _refuser("cutlass", for_generate="write a `for` statement", yield_out="write a `for` statement")
__version__ = "4.8.1"  # the release whose programs and meanings these are
