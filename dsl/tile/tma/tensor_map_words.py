"""The 128 bytes of a tensor map, as a host function writes them: a tensor, and what one copy takes of it.

Words 2 to 15 are those that NVIDIA's compiler (4.8.1, sm_90a) writes: see emulator/families/tensor_map. A map of what
TMA cannot copy, known at run time only, has no flags: a kernel that copies by it stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dsl.core import trace
from dsl.core.ir import mlir
from dsl.core.number.dtypes import BFloat16, Float16, Float32, Float64, Int32, Int64, Numeric, TFloat32
from dsl.core.number.operators import select
from dsl.core.number.pointer import Pointer
from dsl.layout import Swizzle

MAP_BYTES, MAP_ALIGNMENT_BYTES, MOST_MODES = 128, 64, 5
_EVERY, _LARGE, _TF32, _LARGE_BYTES = 1 << 18, 1 << 21, 1 << 16, 1 << 17
_CODES = {Float16: 6, Float32: 7, TFloat32: 7, Float64: 9, BFloat16: 10}
_INTEGER_CODES = {8: 0, 16: 1, 32: 2, 64: 4}


def is_describable(dtype: type[Numeric]) -> bool:
    """Whether TMA copies elements of a type."""
    return dtype in _CODES or (dtype.is_integer and dtype.width in _INTEGER_CODES) or dtype.storage_width == 8


class TensorMap:
    """A pointer to a tensor map: on the host's stack, and in a kernel its parameter."""

    is_leaf = True
    param_bytes, param_alignment_bytes = MAP_BYTES, MAP_ALIGNMENT_BYTES

    def __init__(self, address: mlir.Value):
        self._address, self._owner = address, mlir.current_function()

    def ir(self) -> mlir.Value:
        return mlir.owned(self._address, self._owner)

    def ir_type(self) -> mlir.Type:
        return mlir.ptr()

    def with_ir(self, address: mlir.Value) -> TensorMap:
        return TensorMap(address)

    def type_key(self) -> Any:
        return TensorMap


class Copied(NamedTuple):
    """The operands of one copy: bits of the flags, words 13 to 15, and a number that is 0 if a copy can take them."""

    flags: int
    words: tuple[Any, Any, Any]
    wrong: Any = 0


def tiled(box: Sequence[int]) -> Copied:
    """A box of a tensor."""
    last = [extent - 1 for extent in box] + [0] * (MOST_MODES - len(box))
    return Copied(2, (last[0] << 24, sum(extent << 8 * i for i, extent in enumerate(last[1:])), 0))


_CORNER_BITS = {1: 16, 2: 8, 3: 5}  # by the dimensions of a pixel


def corner_limit(dimensions: int) -> int:
    """The limit n of a corner of pixels with `dimensions` dimensions: it is from -n to n - 1."""
    return 1 << _CORNER_BITS[dimensions] - 1


def columns(channels: int, pixels: int, lower: Sequence[Any], upper: Sequence[Any], steps: Sequence[Any]) -> Copied:
    """A column of pixels, each so many channels: corners and steps of W, H and D, as there are."""
    bits, limit = _CORNER_BITS[len(steps)], corner_limit(len(steps))
    first: Any = channels - 1 << 24
    corners: Any = 0
    wrong: Any = 0
    for i, step in enumerate(steps):
        first = first | (step - 1 & 7) << 3 * (i + 1)
        wrong = wrong | (step - 1 & -8)
    for half, corner in ((0, lower), (16, upper)):
        for i, each in enumerate(corner):
            corners = corners | (each & 2 * limit - 1) << half + bits * i
            wrong = wrong | (each + limit & -2 * limit)
    return Copied(3, (first, corners, pixels - 1), wrong)


def describe(
    start: Pointer, extents: list, strides: list, dtype: type[Numeric], swizzle: Swizzle, copied: Copied
) -> TensorMap:
    """Write the tensor map on the host's stack. The stride of a single element counts for nothing."""
    code = _CODES.get(dtype, _INTEGER_CODES.get(dtype.storage_width))
    flags = (
        _EVERY
        | copied.flags
        | (len(extents) - 1) << 4
        | code << 7
        | swizzle.bits << 13
        | (_TF32 if dtype is TFloat32 else 0)
    )
    bytes_of = dtype.storage_width // 8
    sizes = [Int64(extent) * Int64(stride) * bytes_of for extent, stride in zip(extents, strides)]
    is_large = sizes[0] >= _LARGE_BYTES
    for size in sizes[1:]:
        is_large = is_large | (size >= _LARGE_BYTES)
    steps = [Int64(stride) * bytes_of for stride in strides[1:]]
    odd = start.toint() & 15 | Int64(copied.wrong)
    for extent, step in zip(extents[1:], steps):
        odd = odd | select(Int64(extent) == 1, Int64(0), step & 15)
    word = select(odd == 0, select(is_large, Int32(flags | _LARGE), Int32(flags)), Int32(0))
    words = [
        Int32(word),
        *([Int32(step >> 4) for step in steps] + [0] * 4)[:4],
        0,
        *([Int32(extent) - 1 for extent in extents] + [0] * MOST_MODES)[:MOST_MODES],
        *copied.words,
    ]
    place = trace.entry_alloca(mlir.i8, MAP_BYTES, MAP_ALIGNMENT_BYTES)
    mlir.store(Int64(start.toint()).ir(), place, 8)
    for index, value in enumerate(words, 2):
        if isinstance(value, int) and value >= 1 << 31:
            value -= 1 << 32
        mlir.store(Int32(value).ir(), mlir.gep(place, mlir.i32, index), 4)
    for index in range(8, MAP_BYTES // 8):
        mlir.store(Int64(0).ir(), mlir.gep(place, mlir.i64, index), 8)
    return TensorMap(place)
