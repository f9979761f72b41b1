"""`qd.experimental`."""

from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.functions.inlined_function import real_func

__all__ = ["real_func"]

__getattr__ = refuser("experimental", globals())
