"""`qd.types.primitive_types`: the element types, and sets of them."""

from dsl.quadrants.functions.annotations import ref
from dsl.quadrants.values import dtypes
from dsl.quadrants.values.dtypes import *  # noqa: F403
from dsl.quadrants.values.dtypes import ALL

__all__ = [
    "ALL",
    "RefType",
    "all_types",
    "integer_type_ids",
    "integer_types",
    "real_type_ids",
    "real_types",
    "ref",
    "type_ids",
]
__all__ += dtypes.__all__

RefType = ref
real_types = {*(dtype for dtype in ALL if dtype.core.is_float), float}
integer_types = {*(dtype for dtype in ALL if dtype.core.is_integer), int, bool}
all_types = real_types | integer_types
type_ids, real_type_ids, integer_type_ids = (
    {id(dtype) for dtype in each} for each in (all_types, real_types, integer_types)
)
