"""Products of a warpgroup's fragments: one wgmma for every (m, n, k), accumulated in registers.

A is descriptors (1, M, K) or registers (V, M, K), B descriptors (1, N, K), C and D registers (V, M, N); the modes of
the rest may be missing from the right.
"""

from __future__ import annotations

from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Int8, Int32, Uint8
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.gpu.matrix.wgmma import wgmma
from dsl.layout.int_tuple import text
from dsl.tile.mma.matrix_descriptor import MatrixDescriptor
from dsl.tile.mma.mma import MmaAtom
from dsl.tile.mma.registers import read_register, write_register
from dsl.tile.mma.warpgroup import OperandSource
from dsl.tile.tensor.element_address import element_iterator
from dsl.tile.tensor.tensor import Tensor

_NAMES = {
    Float16: "f16",
    BFloat16: "bf16",
    Float8E4M3FN: "e4m3",
    Float8E5M2: "e5m2",
    Int8: "s8",
    Uint8: "u8",
    Float32: "f32",
    Int32: "s32",
}
_FIX = "tiled_mma.make_fragment_A and _B of partitions of shared memory, make_fragment_C for the sums"


def gemm(atom: MmaAtom, d: Tensor, a: Any, b: Any, c: Tensor) -> None:
    """D = A * B + C. If the atom's field ACCUMULATE is false, the first step in K does not add C.

    Raises DSLUserCodeError where memory, types or shapes do not fit.
    """
    op: Any = atom.op
    _check_registers(op.acc_dtype, d, "D")
    _check_registers(op.acc_dtype, c, "C")
    if op.a_src is OperandSource.RMEM:
        _check_registers(op.a_dtype, a, "A")
    else:
        _check_descriptors(a, "A")
    _check_descriptors(b, "B")
    d, a, b, c = (_with_modes(tensor) for tensor in (d, a, b, c))
    (m, n), (a_m, k), (b_n, b_k) = ([lay.size(t.shape[i]) for i in (1, 2)] for t in (d, a, b))
    c_shape = [lay.size(c.shape[i]) for i in (1, 2)]
    if (a_m, b_n, b_k) != (m, n, k) or c_shape != [m, n]:
        raise DSLUserCodeError(
            f"gemm: A (V, M, K), B (V, N, K), C and D (V, M, N) must agree in M, N and K, got A {text(a.shape)}, "
            f"B {text(b.shape)}, C {text(c.shape)} and D {text(d.shape)}",
            fix="partition all of them with one tiled mma",
        )
    for step in range(k):
        for i in range(m):
            for j in range(n):
                _call(atom, d, (a, (0, i, step)), (b, (0, j, step)), c if step == 0 else d, (0, i, j))


def _call(atom: MmaAtom, d: Tensor, a: tuple, b: tuple, c: Tensor, coord: tuple) -> None:
    op: Any = atom.op
    m, n, k = op.shape_mnk
    types = ".".join(_NAMES[dtype] for dtype in (op.acc_dtype, op.a_dtype, op.b_dtype))
    type_ = mlir.f32 if op.acc_dtype is Float32 else mlir.i32
    count = n // 2 * op.acc_dtype.width // 32
    if op.a_src is OperandSource.RMEM:
        operand: Any = [read_register(a[0], a[1], i, mlir.i32) for i in range(4)]
    else:
        operand = element_iterator(*a).ir()
    sums = [read_register(c, coord, i, type_) for i in range(count)]
    results = wgmma(
        f"m{m}n{n}k{k}.{types}", operand, element_iterator(*b).ir(), sums, atom.fields.accumulate, op.immediates
    )
    for i, value in enumerate(results):
        write_register(d, coord, i, value)


def _with_modes(tensor: Tensor) -> Tensor:
    """The tensor with the modes (V, first, second), of extent 1 where it has none."""
    layout = tensor.layout if isinstance(tensor.layout.shape, tuple) else lay.make_layout((tensor.layout,))
    return tensor.with_layout(lay.append_ones(layout, 3))


def _check_registers(dtype: Any, tensor: Any, name: str) -> None:
    if not isinstance(tensor, Tensor) or not isinstance(tensor.iterator, Pointer):
        raise DSLUserCodeTypeError(
            f"gemm: {name} of a warpgroup must be a tensor in registers, got {type_name(tensor)}", fix=_FIX
        )
    if tensor.memspace is not AddressSpace.rmem or tensor.element_type is not dtype:
        raise DSLUserCodeTypeError(
            f"gemm: {name} of a warpgroup must be registers of {dtype}, got a tensor of {tensor.element_type} in "
            f"{tensor.memspace}",
            fix=_FIX,
        )


def _check_descriptors(tensor: Any, name: str) -> None:
    if not isinstance(tensor, Tensor) or not isinstance(tensor.iterator, MatrixDescriptor):
        raise DSLUserCodeTypeError(
            f"gemm: {name} of a warpgroup must be matrix descriptors of shared memory, got {type_name(tensor)}",
            fix=_FIX,
        )
