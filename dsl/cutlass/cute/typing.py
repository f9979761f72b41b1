"""`cutlass.cute.typing`: types and annotations, and what asks whether a value is one."""

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
from dsl.core.pointer import AddressSpace, Pointer
from dsl.cutlass.cute.annotations import Coord, Int, IntTuple, Shape, Stride, Tile, Tiler, XTuple
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.launch.arguments import SymInt, sym_int, sym_int32, sym_int64
from dsl.layout import ComposedLayout, Layout, ScaledBasis
from dsl.tile.int_tuple import as_numeric, is_int_tuple, is_integer
from dsl.tile.tensor import Tensor

__getattr__ = _refuser("cutlass.cute.typing")
