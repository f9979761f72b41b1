"""`qd.experimental`."""

from dsl.quadrants.func import real_func
from dsl.quadrants.refused import refuser

__all__ = ["real_func"]

__getattr__ = refuser("experimental", globals())
