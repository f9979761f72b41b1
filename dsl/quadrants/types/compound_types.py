"""`qd.types.compound_types`: the types of vectors and matrices."""

from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.functions.annotations import matrix, vector
from dsl.quadrants.functions.struct_types import struct

__all__ = ["matrix", "struct", "vector"]

__getattr__ = refuser("types.compound_types", globals())
