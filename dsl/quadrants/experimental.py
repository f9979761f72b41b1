"""`qd.experimental`."""

from dsl.quadrants.inlined_function import real_func
from dsl.quadrants.refused_names import refuser

__all__ = ["real_func"]

__getattr__ = refuser("experimental", globals())
