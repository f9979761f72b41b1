"""`qd.types.enums`: layouts and what an index outside an array does."""

import enum

from dsl.quadrants.refused_names import refuser


class Layout(enum.Enum):
    """How the numbers of a field of vectors lie. Here always one vector after the other."""

    AOS, SOA, NULL = 1, 2, 3


class BoundaryMode(enum.Enum):
    """What an index outside an array does."""

    UNSAFE, CLAMP = 1, 2


__getattr__ = refuser("types.enums", globals())
