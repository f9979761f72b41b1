"""`qd.types.ndarray_type`: the annotation of arrays."""

from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.functions.annotations import NdarrayAnnotation as NdarrayType, matrix, vector
from dsl.quadrants.types.enums import Layout

__all__ = ["Layout", "NDArray", "NdarrayType", "matrix", "ndarray", "vector"]

ndarray = NDArray = NdarrayType
__getattr__ = refuser("types.ndarray_type", globals())
