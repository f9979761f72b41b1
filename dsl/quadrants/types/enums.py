"""`qd.types.enums`: layouts of fields, and modes for an index outside an array."""

import enum

from dsl.quadrants.errors.refused_names import refuser


class Layout(enum.Enum):
    """The layout of a field of vectors. Here it is always one vector after the other."""

    AOS, SOA, NULL = 1, 2, 3


class BoundaryMode(enum.Enum):
    """The mode for an index outside an array."""

    UNSAFE, CLAMP = 1, 2


__getattr__ = refuser("types.enums", globals())
