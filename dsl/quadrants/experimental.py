"""`qd.experimental`."""

from dsl.quadrants.func import real_func
from dsl.quadrants.refused import refuser

__getattr__ = refuser("experimental", globals())
