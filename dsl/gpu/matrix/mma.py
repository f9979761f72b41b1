"""Matrix instructions of a warp.  PTX ISA: Warp Level Matrix Multiply-Accumulate Instructions
(mma, ldmatrix, stmatrix).

Registers are LLVM values: f16 and f16 accumulators travel in pairs (`vector<2xf16>`), bf16, tf32 and 8-bit elements
packed in i32, f32 and s32 accumulators one each.
"""

from __future__ import annotations

from collections.abc import Sequence

from dsl.core import trace
from dsl.core.ir import mlir
from dsl.core.number.pointer import Pointer

ACCUMULATOR = {"f16": mlir.vector(mlir.f16, 2), "f32": mlir.f32, "s32": mlir.i32, "f64": mlir.f64}
OPERAND = {"f16": mlir.vector(mlir.f16, 2), "f64": mlir.f64}  # all others: i32

_SINCE = {"e4m3": "sm_89", "e5m2": "sm_89"}


def _name(m: int, n: int, k: int, ab: str, acc: str) -> str:
    """LLVM's spelling of mma.sync.aligned.mMnNkK.row.col.acc.ab.ab.acc."""
    kinds = f"{acc}.{acc}" if ab == "f16" else f"{acc}.{ab}.{ab}.{acc}" if ab in ("e4m3", "e5m2") else ab
    return f"llvm.nvvm.mma.m{m}n{n}k{k}.row.col.{kinds}"


def mma(
    shape_mnk: tuple[int, int, int],
    ab: str,
    acc: str,
    a: Sequence[mlir.Value],
    b: Sequence[mlir.Value],
    c: Sequence[mlir.Value],
) -> list[mlir.Value]:
    """D = A * B + C, A (M, K) row-major, B (N, K), in registers of a warp; `ab` and `acc` are PTX's types.

    Every thread of the warp must execute it.  PTX ISA: mma.
    """
    trace.kernel().need(_SINCE.get(ab, "sm_80"), f"multiplies matrices of {ab}")
    type_ = ACCUMULATOR[acc]
    result = mlir.intrinsic(_name(*shape_mnk, ab, acc), mlir.struct(*[type_] * len(c)), *a, *b, *c)
    return [mlir.field(result, i, type_) for i in range(len(c))]


def _matrices(count: int, transpose: bool) -> str:
    return f"m8n8.x{count}{'.trans' * transpose}.b16"


def ldmatrix(row: Pointer, count: int, transpose: bool) -> list[mlir.Value]:
    """`count` (1, 2, 4) matrices of 8 rows of 16 bytes; lane 8 i + r holds in `row` the address of row r of matrix i.

    Register i (i32) of lane t is elements 2 (t % 4) and the next of row t / 4 of matrix i; of its column with
    `transpose`. PTX ISA: ldmatrix.
    """
    trace.kernel().need("sm_75", "loads matrices with ldmatrix")
    types = [mlir.i32] * count
    name = f"llvm.nvvm.ldmatrix.sync.aligned.{_matrices(count, transpose)}.p3"
    result = mlir.intrinsic(name, mlir.i32 if count == 1 else mlir.struct(*types), row.address)
    return [result] if count == 1 else [mlir.field(result, i, mlir.i32) for i in range(count)]


def stmatrix(row: Pointer, registers: Sequence[mlir.Value], transpose: bool) -> None:
    """The inverse of `ldmatrix`: registers (i32) of all lanes to the rows.  PTX ISA: stmatrix (sm_90)."""
    trace.kernel().need("sm_90", "stores matrices with stmatrix")
    name = f"llvm.nvvm.stmatrix.sync.aligned.{_matrices(len(registers), transpose)}.p3"
    mlir.intrinsic(name, None, row.address, *registers)
