"""`qd.simt`: what threads of a block do together."""

from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.simt import block

__all__ = ["block"]

__getattr__ = refuser("simt", globals())
