"""`quadrants.lang._ndrange`: the class behind qd.ndrange, which makes its objects."""

from dsl.quadrants.syntax.iterate import ndrange as _Ndrange

__all__ = ["_Ndrange"]
