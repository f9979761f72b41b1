"""Copies of 8x8 matrices between shared memory and the registers of a warp: ldmatrix and stmatrix.

In shared memory a matrix is 8 rows of 16 bytes, and a lane names one row: lane 8 i + r names row r of matrix i. In
registers a lane holds two 16-bit elements of each matrix: of row lane / 4, or of column lane / 4 with `transpose`.
PTX ISA: ldmatrix, stmatrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product as cross
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Int32, Numeric
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.core.phrase import shown
from dsl.gpu.matrix import mma
from dsl.layout import ComposedLayout, Layout
from dsl.layout.int_tuple import flatten_to_tuple, is_constant, text, wrap
from dsl.tile.mma.registers import read_register, write_register
from dsl.tile.tensor.constant import Constant, CopyOp
from dsl.tile.tensor.element_address import element_iterator, static_size
from dsl.tile.tensor.tensor import Tensor

ROW_BITS = 128
# Matrices at once -> (lane, bit) -> bit of the rows, and of the registers, plain and transposed.
_ROWS = {
    1: Layout(((8, 4), 128), ((128, 0), 1)),
    2: Layout(((16, 2), 128), ((128, 0), 1)),
    4: Layout((32, 128), (128, 1)),
}
_REGISTERS = {
    1: Layout((32, 32), (32, 1)),
    2: Layout((32, (32, 2)), (32, (1, 1024))),
    4: Layout((32, (32, 4)), (32, (1, 1024))),
}
_TRANSPOSED = {
    1: Layout(((4, 8), (16, 2)), ((256, 16), (1, 128))),
    2: Layout(((4, 8), (16, 2, 2)), ((256, 16), (1, 128, 1024))),
    4: Layout(((4, 8), (16, 2, 4)), ((256, 16), (1, 128, 1024))),
}


@dataclass(frozen=True)
class MatrixOp(CopyOp, Constant):
    """The common part of ldmatrix and stmatrix: `num_matrices` (1, 2, 4) 8x8 matrices of 16-bit elements at once."""

    transpose: bool = False
    num_matrices: int = 1
    unpack_bits: int | None = None

    thr_id = Layout(32, 1)
    zero_fills = False
    loads = True
    can_transpose = True

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not isinstance(self.transpose, bool):
            raise DSLUserCodeError(
                f"`transpose` of {name} must be True or False, got {shown(self.transpose)}", fix="transpose=True"
            )
        if self.transpose and not self.can_transpose:
            raise DSLUserCodeError(f"{name} does not transpose", fix="transpose=False")
        if self.num_matrices not in (1, 2, 4):
            raise DSLUserCodeError(
                f"{name} moves 1, 2 or 4 matrices at once, got {shown(self.num_matrices)}", fix="num_matrices=4"
            )
        if self.unpack_bits is not None:
            raise DSLUserCodeError(
                f"{name} with unpack_bits, for 4- and 6-bit elements, is not part of this compiler yet",
                fix="leave unpack_bits out",
            )

    def check(self, dtype: type[Numeric], bits: int) -> None:
        """Any element type of whole bytes will do."""

    def bits(self, asked: int, dtype: type[Numeric]) -> int:
        return ROW_BITS

    def layouts(self, dtype: type[Numeric], bits: int) -> tuple[Layout, Layout]:
        """(lane, value) -> element, of source and destination."""
        registers = (_TRANSPOSED if self.transpose else _REGISTERS)[self.num_matrices]
        pair = tuple(lay.recast_layout(dtype.width, 1, each) for each in (_ROWS[self.num_matrices], registers))
        return pair if self.loads else pair[::-1]

    def __str__(self) -> str:
        return (
            f"{type(self).__name__.removesuffix('Op')} Copy Operation\n  number of matrices = {self.num_matrices}"
            + "\n  transposed" * self.transpose
        )


@dataclass(frozen=True)
class LdMatrix8x8x16bOp(MatrixOp):
    """ldmatrix .m8n8.b16: shared memory to registers (sm_75)."""


@dataclass(frozen=True)
class LdMatrix8x16x8bOp(MatrixOp):
    """ldmatrix of rows of 16 8-bit elements: the same instruction, without `transpose`."""

    can_transpose = False


@dataclass(frozen=True)
class StMatrix8x8x16bOp(MatrixOp):
    """stmatrix .m8n8.b16: registers to shared memory (sm_90)."""

    loads = False


def copy_matrices(atom: Any, src: Tensor, dst: Tensor) -> None:
    """One instruction for every row of `src` (ldmatrix) or `dst` (stmatrix) that a lane names.

    Raises DSLUserCodeError where the tensors are not in the memory the instruction moves between, a row is not 16
    contiguous, aligned bytes, or the sides differ in how often the atom fits.
    """
    op = atom.op
    rows, registers = (src, dst) if op.loads else (dst, src)
    names = ("source", "destination") if op.loads else ("destination", "source")
    name = "ldmatrix" if op.loads else "stmatrix"
    for tensor, side, space in ((rows, names[0], AddressSpace.smem), (registers, names[1], AddressSpace.rmem)):
        if tensor.memspace is not space:
            raise DSLUserCodeTypeError(
                f"{name} needs its {side} in {_SPACE_NAMES[space]}, got {tensor.memspace}",
                fix="copy between other memory with cute.nvgpu.CopyUniversalOp()",
            )
    row = ROW_BITS // atom.value_type.width
    register_count = 32 * op.num_matrices // atom.value_type.width
    _check_rows(rows, row, names[0], name)
    shapes = [
        [lay.size(mode) // count for mode, count in zip(_modes(t.shape), (count, *[1] * 16))]
        for t, count in ((rows, row), (registers, register_count))
    ]
    if shapes[0] != shapes[1] or lay.size(_modes(registers.shape)[0]) % register_count:
        raise DSLUserCodeError(
            f"one {name} reads {_count(row if op.loads else register_count)} of each lane and writes "
            f"{_count(register_count if op.loads else row)}, got a source of {text(src.shape)} and a destination of "
            f"{text(dst.shape)}",
            fix="partition the tensor in smem with partition_"
            f"{'S' if op.loads else 'D'} and the fragment with retile of one tiled copy",
        )
    for rest in cross(*map(range, reversed(shapes[0][1:]))):
        for call in range(shapes[0][0]):
            at = [
                (call * count, *reversed(rest)) if isinstance(t.shape, tuple) else call * count
                for t, count in ((rows, row), (registers, register_count))
            ]
            start = element_iterator(rows, at[0])
            _check_alignment(rows, start, names[0], name)
            if op.loads:
                for i, value in enumerate(mma.ldmatrix(start, op.num_matrices, op.transpose)):
                    write_register(registers, at[1], i, value)
            else:
                parts = [read_register(registers, at[1], i, Int32.mlir_type) for i in range(op.num_matrices)]
                mma.stmatrix(start, parts, op.transpose)


_SPACE_NAMES = {AddressSpace.smem: "shared memory", AddressSpace.rmem: "registers"}


def _count(n: int) -> str:
    return f"{n} element" + "s" * (n != 1)


def _modes(shape: Any) -> tuple:
    return wrap(shape)


def _check_rows(tensor: Tensor, row: int, side: str, name: str) -> None:
    static_size(tensor, f"a copy with {name}")
    layout = tensor.layout.outer if isinstance(tensor.layout, ComposedLayout) else tensor.layout
    mode = layout[0] if isinstance(layout.shape, tuple) else layout
    if not is_contiguous(mode, row):
        raise DSLUserCodeError(
            f"{name} moves rows of {row} contiguous elements in shared memory, but the first mode of the "
            f"{side} is {mode}",
            fix="put the contiguous mode where the mma has K, or choose the other `transpose`",
        )
    composed = tensor.layout
    if isinstance(composed, ComposedLayout) and not (
        isinstance(composed.inner, lay.Swizzle) and (1 << composed.inner.base) % row == 0
    ):
        raise DSLUserCodeError(
            f"the layout {composed} of the {side} permutes elements inside a row of {row}",
            fix="use a swizzle whose base covers 16 bytes",
        )


def is_contiguous(mode: Layout, count: int) -> bool:
    """Whether `count` elements from every multiple of `count` on are contiguous."""
    whole = lay.coalesce(mode)
    extent, stride = flatten_to_tuple(whole.shape)[0], flatten_to_tuple(whole.stride)[0]
    return count == 1 or (isinstance(extent, int) and extent % count == 0 and is_constant(stride, 1))


def _check_alignment(tensor: Tensor, row: Pointer, side: str, name: str) -> None:
    """A swizzled tensor's dynamic offset is not looked at: what loops carry of it has no known divisor."""
    alignment_bytes = row.proven_alignment_bytes
    if isinstance(tensor.layout, ComposedLayout) and not isinstance(tensor.layout.offset, int):
        alignment_bytes = tensor.pointer().proven_alignment_bytes
    if alignment_bytes < ROW_BITS // 8:
        raise DSLUserCodeError(
            f"a row of {name} must start at a multiple of 16 bytes, but the addresses of the {side} are only "
            f"known to be multiples of {alignment_bytes}",
            fix="byte_alignment=16 where it is allocated; its strides must be multiples of 16 bytes too",
        )
