"""`qd.types.compound_types`: the types of vectors and matrices."""

from dsl.quadrants.annotations import matrix, vector
from dsl.quadrants.refused_names import refuser

__all__ = ["matrix", "vector"]

__getattr__ = refuser("types.compound_types", globals())
