"""`qd.types`: element types and the annotations made of them."""

from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.functions.annotations import NdarrayAnnotation as ndarray, Template, matrix, ref, vector
from dsl.quadrants.functions.struct_types import struct
from dsl.quadrants.types import annotations, compound_types, enums, ndarray_type, primitive_types, utils
from dsl.quadrants.values import dtypes
from dsl.quadrants.values.dtypes import *  # noqa: F403
from dsl.quadrants.values.dtypes import is_integral, is_real, is_signed

__all__ = [
    "NDArray",
    "Template",
    "annotations",
    "compound_types",
    "enums",
    "is_integral",
    "is_real",
    "is_signed",
    "matrix",
    "ndarray",
    "ndarray_type",
    "primitive_types",
    "ref",
    "struct",
    "template",
    "utils",
    "vector",
]
__all__ += dtypes.__all__

NDArray = ndarray
template = Template
__getattr__ = refuser("types", globals())
