"""`qd.types`: element types and the annotations made of them."""

from dsl.quadrants.annotations import NdarrayAnnotation as ndarray, ref, Template, matrix, vector
from dsl.quadrants.dtypes import (
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
    is_integral,
    is_real,
    is_signed,
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
from dsl.quadrants.refused import refuser
from dsl.quadrants.types import annotations, compound_types, enums, ndarray_type, primitive_types, utils

NDArray = ndarray
template = Template
__getattr__ = refuser("types", globals())
