"""`qd.types.utils`: what kind an element type is."""

from dsl.quadrants.dtypes import is_integral, is_real, is_signed
from dsl.quadrants.refused_names import refuser

__all__ = ["is_integral", "is_real", "is_signed"]

__getattr__ = refuser("types.utils", globals())
