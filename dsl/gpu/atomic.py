"""Atomic operations on memory that other threads see. All return the old value.  PTX ISA: atom, relaxed, scope gpu."""

from __future__ import annotations

from dsl.core import mlir
from dsl.core.dtypes import Numeric
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.pointer import Pointer, element_bytes

# AtomicBinOp of MLIR's llvm dialect: (signed integers, unsigned, floats)
KINDS = {"exch": (0, 0, None), "add": (1, 1, 11), "sub": (2, 2, None), "and": (3, 3, None), "or": (5, 5, None),
         "xor": (6, 6, None), "max": (7, 9, None), "min": (8, 10, None)}
_MONOTONIC = 2


def update(name: str, pointer: Pointer, value: object) -> Numeric:
    """`*pointer = *pointer name value`, one instruction. Raises DSLUserCodeTypeError where the type has none."""
    dtype = pointer.dtype
    kind = KINDS[name][2 if dtype.is_float else 0 if dtype.signed else 1]
    if kind is None or not dtype.is_float and dtype.width not in (32, 64):
        raise DSLUserCodeTypeError(f"no atomic `{name}` exists for {dtype}", id="ATOMIC_TYPE",
                                   fix="integers of 32 or 64 bits; floats have `add` alone")
    made = mlir.op("llvm.atomicrmw", [dtype.carrier], [pointer.address, dtype(value).ir()],
                   {"bin_op": mlir.int_attr(kind), "ordering": mlir.int_attr(_MONOTONIC),
                    "syncscope": mlir.string_attr("device"),
                    "alignment": mlir.int_attr(element_bytes(dtype))})
    return dtype(made.results[0])


def compare_and_swap(pointer: Pointer, expected: object, value: object) -> Numeric:
    """`*pointer = value` where it is `expected`."""
    dtype = pointer.dtype
    if dtype.width not in (32, 64):
        raise DSLUserCodeTypeError(f"no atomic compare-and-swap exists for {dtype}", id="ATOMIC_TYPE",
                                   fix="elements of 32 or 64 bits")
    bits = mlir.i64 if dtype.width == 64 else mlir.i32
    operands = [dtype(number).ir() for number in (expected, value)]
    if dtype.is_float:
        operands = [mlir.result("arith.bitcast", bits, operand) for operand in operands]
    made = mlir.op("llvm.cmpxchg", [mlir.struct(bits, mlir.i1)], [pointer.address, *operands],
                   {"success_ordering": mlir.int_attr(_MONOTONIC), "failure_ordering": mlir.int_attr(_MONOTONIC),
                    "syncscope": mlir.string_attr("device"), "alignment": mlir.int_attr(element_bytes(dtype))})
    old = mlir.field(made.results[0], 0, bits)
    return dtype(mlir.result("arith.bitcast", dtype.carrier, old) if dtype.is_float else old)
