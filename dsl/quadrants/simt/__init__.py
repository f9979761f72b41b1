"""`qd.simt`: what threads of a block, a warp (here a subgroup) and a grid do together."""

from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.simt import block, grid, subgroup, warp

__all__ = ["block", "grid", "subgroup", "warp"]

__getattr__ = refuser("simt", globals())
