"""`qd.types.utils`: what kind an element type is."""

from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.values.dtypes import is_integral, is_real, is_signed

__all__ = ["is_integral", "is_real", "is_signed"]

__getattr__ = refuser("types.utils", globals())
