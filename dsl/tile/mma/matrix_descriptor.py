"""Matrix descriptors: 64 bits that tell a warpgroup's product where in shared memory an operand is, and how it lies.

Bits 0-13 are the address, 16-29 and 32-45 the leading and the stride byte offset, all in units of 16 bytes; bits 62-63
the swizzle.  PTX ISA: Matrix Descriptor Format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int32, Int64, Uint32, is_dynamic
from dsl.core.number.pointer import AddressSpace
from dsl.layout import ComposedLayout, Layout, Swizzle
from dsl.tile.tensor.major import OperandMajorMode
from dsl.tile.tensor.tensor import Tensor

UNIT_BITS = 128
_ADDRESS_MASK, _HIGH_WORD = 0x3FFF, -1 << 32
# Bits of a swizzle -> its code in a descriptor, and the units of 16 bytes in a row.
_CODES, _UNITS = {0: 0, 1: 3, 2: 2, 3: 1}, {0: 1, 1: 2, 2: 4, 3: 8}


class MatrixDescriptor:
    """A descriptor as a tensor's iterator: `+` moves the address by units of 16 bytes."""

    is_leaf = True

    def __init__(self, value: mlir.Value):
        self._value, self._owner = value, mlir.current_function()

    def ir(self) -> mlir.Value:
        return mlir.owned(self._value, self._owner)

    def ir_type(self) -> mlir.Type:
        return mlir.i64

    def with_ir(self, value: mlir.Value) -> MatrixDescriptor:
        return MatrixDescriptor(value)

    def type_key(self) -> Any:
        return MatrixDescriptor

    def __add__(self, units: Any) -> MatrixDescriptor:
        """The same matrix `units` of 16 bytes on: the sum stays within the bits of the address, in the low word."""
        if isinstance(units, int) and units == 0:
            return self
        whole, moved = Int64(self.ir()), Int32(units)
        if not is_dynamic(moved):
            return MatrixDescriptor((whole + moved.value).ir())
        low = Uint32(whole)
        for term in _terms(moved.ir()):
            low = low + Uint32(term)
        return MatrixDescriptor(_of_words(low, whole & _HIGH_WORD).ir())

    def __str__(self) -> str:
        return "smem_desc"

    __repr__ = __str__


def descriptor_tensor(part: Tensor, major: OperandMajorMode, bits: int, what: str) -> Tensor:
    """Descriptors of the matrices in `part`, (V, rest of M or N, rest of K, ...) of shared memory; V is one of them.

    Raises DSLUserCodeError if a descriptor cannot describe their layout.
    """
    if not isinstance(part, Tensor) or part.memspace is not AddressSpace.smem:
        raise DSLUserCodeTypeError(
            f"{what} of a warpgroup takes a partition in shared memory, got {getattr(part, 'type_text', part)}",
            fix="thr_mma.partition_A(sA), with the tensor in shared memory",
        )
    layout, start, swizzle = part.layout, part.pointer(), part.pointer().swizzle
    if isinstance(layout, ComposedLayout):
        swizzle = lay.recast_layout(8, bits, layout).inner
        layout, start = layout.outer, start + layout.offset
    if not isinstance(layout, Layout) or not lay.is_static(layout[0]):
        raise _wrong(part, what, "its first mode is not static")
    swizzle = swizzle or Swizzle(0, 4, 3)
    if not isinstance(swizzle, Swizzle) or swizzle.base != 4 or swizzle.shift != 3 or swizzle.bits > 3:
        raise _wrong(part, what, f"its swizzle is {swizzle}")
    if lay.rank(layout[0]) != 2:
        raise _wrong(part, what, "its first mode is not (M or N, K)")
    offsets = _offsets(lay.recast_layout(UNIT_BITS, bits, layout[0]), major, swizzle.bits)
    if offsets is None:
        raise _wrong(part, what, f"it is not major in {major.value}")
    modes = [lay.recast_layout(UNIT_BITS, bits, layout[i]) for i in range(1, lay.rank(layout))]
    rest = Layout((1, *(mode.shape for mode in modes)), (0, *(mode.stride for mode in modes)))
    leading, stride = offsets
    high = _CODES[swizzle.bits] << 30 | stride
    low = Uint32((start.toint() >> 4) & _ADDRESS_MASK) | leading << 16
    return Tensor(MatrixDescriptor(_of_words(low, (high - (1 << 32) if high >> 31 else high) << 32).ir()), rest)


def _of_words(low: Uint32, high: Int64 | int) -> Int64:
    """`low`, and the upper 32 bits of `high`, whose others are 0."""
    return Int64(low) | high


def _terms(units: mlir.Value) -> Iterator[mlir.Value]:
    """The terms of a sum, the last first.

    A coordinate's last mode is the stage and those before it the product of the stage: with the stage added first, the
    descriptors of a stage are one sum and, once the loop over its products is unrolled, constants on it.
    """
    owner = units.owner
    if not isinstance(owner, mlir.Block) and owner.name == "arith.addi":
        for term in reversed(list(owner.operands)):
            yield from _terms(term)
    else:
        yield units


def _wrong(part: Tensor, what: str, why: str) -> DSLUserCodeError:
    return DSLUserCodeError(
        f"{what}: no matrix descriptor describes {part.layout} of {part.iterator}: {why}",
        fix="a layout of warpgroup.make_smem_layout_atom(kind, dtype), tiled by cute.tile_to_shape",
        id="MATRIX_DESCRIPTOR",
    )


def _offsets(units: Layout, major: OperandMajorMode, swizzle_bits: int) -> tuple[int, int] | None:
    """The leading and the stride offset of (M or N, K) in units of 16 bytes, or None if they do not describe it.

    Swizzled and major in K: 8 rows of one swizzle's width follow one another, and groups of 8 rows are a stride apart.
    Major in M or N: swizzle-wide runs of it are the leading offset apart, groups of 8 along K the stride. Without a
    swizzle the two change places.
    """
    width = _UNITS[swizzle_bits]
    outer_tile, inner_tile = (width, 8) if major is OperandMajorMode.MN else (8, 2)
    outer, inner = (lay.logical_divide(units[i], Layout(tile, 1)) for i, tile in enumerate((outer_tile, inner_tile)))
    strides = [mode.stride for mode in (*outer, *inner)]
    if not all(isinstance(stride, int) and stride >= 0 for stride in strides):
        return None
    within_outer, outer_step, within_inner, inner_step = strides
    if major is OperandMajorMode.MN:
        if within_inner != width or (swizzle_bits and within_outer != 1):
            return None
        return (outer_step, inner_step) if swizzle_bits else (inner_step, outer_step)
    if within_outer != width or (swizzle_bits and within_inner != 1):
        return None
    return within_inner, outer_step
