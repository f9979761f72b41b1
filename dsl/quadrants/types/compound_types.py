"""`qd.types.compound_types`: the types of vectors and matrices."""

from dsl.quadrants.annotations import matrix, vector
from dsl.quadrants.refused import refuser

__getattr__ = refuser("types.compound_types", globals())
