"""The 32-bit registers (64-bit for Float64) in which a thread holds its part of a matrix, several elements in each."""

from __future__ import annotations

from typing import Any

from dsl import layout as lay
from dsl.core.ir import mlir
from dsl.layout import ComposedLayout
from dsl.tile.tensor.element_address import element_iterator
from dsl.tile.tensor.tensor import Tensor
from dsl.tile.vector.mlir_vector import extract, from_elements

_WIDTH = 32


def _packed(tensor: Tensor, coord: Any, index: int) -> tuple[list[Any], bool]:
    """The coordinates of the elements of register `index` from `coord` on, and whether they are contiguous."""
    count = max(_WIDTH // tensor.element_type.storage_width, 1)
    at = coord[0] if isinstance(coord, tuple) else coord
    places = [at + index * count + i for i in range(count)]
    coords = [(place, *coord[1:]) for place in places] if isinstance(coord, tuple) else places
    layout = tensor.layout
    if count == 1:
        return coords, True
    if isinstance(layout, ComposedLayout) or not lay.is_static(layout):
        return coords, False
    offsets = [layout(each) for each in coords]
    return coords, offsets == list(range(offsets[0], offsets[0] + count))


def read_register(tensor: Tensor, coord: Any, index: int, type_: mlir.Type) -> mlir.Value:
    """Register `index` of the elements from `coord` on along the first mode, as a value of `type_`."""
    coords, together = _packed(tensor, coord, index)
    if together:
        start = element_iterator(tensor, coords[0])
        return mlir.load(start.address, type_, min(start.alignment_bytes, 4))
    stored = tensor.element_type.storage_type()
    parts = [mlir.load(p.address, stored, p.alignment_bytes) for p in (element_iterator(tensor, c) for c in coords)]
    vector = from_elements(parts)
    return vector if vector.type == type_ else mlir.result("llvm.bitcast", type_, vector)


def write_register(tensor: Tensor, coord: Any, index: int, value: mlir.Value) -> None:
    """The inverse of `read_register`."""
    coords, together = _packed(tensor, coord, index)
    if together:
        start = element_iterator(tensor, coords[0])
        mlir.store(value, start.address, min(start.alignment_bytes, 4))
        return
    stored = tensor.element_type.storage_type()
    type_ = mlir.vector(stored, len(coords))
    vector = value if value.type == type_ else mlir.result("llvm.bitcast", type_, value)
    for i, each in enumerate(coords):
        start = element_iterator(tensor, each)
        mlir.store(extract(vector, i), start.address, start.alignment_bytes)
