"""`quadrants.lang._ndrange`: the class of the objects that qd.ndrange makes."""

from dsl.quadrants.syntax.iterate import ndrange as _Ndrange

__all__ = ["_Ndrange"]
