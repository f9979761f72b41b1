"""Annotations of int tuples: what a parameter is for. Python integers in such an argument are static."""

from __future__ import annotations

from dsl.launch.argument.containers import StaticInts


class Int(StaticInts):
    """An integer."""


class XTuple(StaticInts):
    """Anything, or a tuple of XTuples."""


class IntTuple(StaticInts):
    """An integer or a tuple of IntTuples."""


class Shape(StaticInts):
    """Extents."""


class Stride(StaticInts):
    """Distances in elements."""


class Coord(StaticInts):
    """Indices, None where every value is meant."""


class Tile(StaticInts):
    """Extents or layouts, one a mode; None keeps a mode whole."""


class Tiler(StaticInts):
    """A shape, a layout or a tile that cuts a layout into pieces."""
