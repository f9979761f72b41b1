"""The hook of coverage: the byte of a note is set where compiled code comes to it."""

from __future__ import annotations

from dsl.core import trace
from dsl.core.ir import mlir
from dsl.core.state import in_kernel
from dsl.core.syntax import coverage

_MONOTONIC = 2  # LLVM's relaxed order: stores of several threads do not race


def covered(number: int) -> None:
    """Set the byte of the note `number` when this is reached."""
    record = coverage.current()
    assert record is not None
    if not trace.active():
        record.reach(number)
        return
    address = record.address + number
    pointer = mlir.result("llvm.inttoptr", mlir.ptr(1 if in_kernel() else 0), mlir.constant(address, mlir.i64))
    attributes = {"alignment": mlir.int_attr(1), "ordering": mlir.int_attr(_MONOTONIC)}
    mlir.op("llvm.store", [], [mlir.constant(1, mlir.i8), pointer], attributes)
