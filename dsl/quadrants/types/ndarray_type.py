"""`qd.types.ndarray_type`: the annotation of arrays."""

from dsl.quadrants.annotations import matrix, NdarrayAnnotation as NdarrayType, vector
from dsl.quadrants.refused import refuser
from dsl.quadrants.types.enums import Layout

ndarray = NDArray = NdarrayType
__getattr__ = refuser("types.ndarray_type", globals())
