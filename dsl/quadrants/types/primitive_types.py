"""`qd.types.primitive_types`: the element types, and sets of them."""

from dsl.quadrants.annotations import ref
from dsl.quadrants.dtypes import (
    ALL,
    f16,
    f32,
    f64,
    float16,
    float32,
    float64,
    i8,
    i16,
    i32,
    i64,
    int8,
    int16,
    int32,
    int64,
    u1,
    u8,
    u16,
    u32,
    u64,
    uint1,
    uint8,
    uint16,
    uint32,
    uint64,
)

__all__ = [
    "ALL",
    "RefType",
    "all_types",
    "f16",
    "f32",
    "f64",
    "float16",
    "float32",
    "float64",
    "i8",
    "i16",
    "i32",
    "i64",
    "int8",
    "int16",
    "int32",
    "int64",
    "integer_type_ids",
    "integer_types",
    "real_type_ids",
    "real_types",
    "ref",
    "type_ids",
    "u1",
    "u8",
    "u16",
    "u32",
    "u64",
    "uint1",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

RefType = ref
real_types = {f16, f32, f64, float}
integer_types = {i8, i16, i32, i64, u1, u8, u16, u32, u64, int, bool}
all_types = real_types | integer_types
type_ids, real_type_ids, integer_type_ids = (
    {id(dtype) for dtype in found} for found in (all_types, real_types, integer_types)
)
