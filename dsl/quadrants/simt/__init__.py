"""`qd.simt`: what threads of a block do together."""

from dsl.core.unsupported import refuser
from dsl.quadrants.simt import block

__all__ = ["block"]
__getattr__ = refuser("quadrants.simt", "docs/quadrants.md says what is")
